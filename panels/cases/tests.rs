use headwater_engine::Library;
use headwater_engine::case::{Case, CaseFinding};
use headwater_engine::report::ShapeKind;
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, keys, text_of};
use crate::palette::Palette;
use crate::panel::Panel;
use headwater_engine::filter::Filter;

fn case(id: &str, title: &str, rules: &[&str]) -> Case {
    let finding = |rule: &&str| CaseFinding { rule: (*rule).to_owned(), ..CaseFinding::default() };
    Case {
        id: id.to_owned(),
        title: title.to_owned(),
        shape: Some(ShapeKind::SlowOnly),
        findings: rules.iter().map(finding).collect(),
        fix: vec![format!("what stopped {id}")],
        root_cause: format!("why {id} was"),
        ..Case::default()
    }
}

fn library() -> Library {
    let cases = vec![
        case("hot", "A full link", &["latency-shift", "shard-bandwidth", "shard-hot", "not-built-yet"]),
        case("leak", "Memory leaks", &["gpu-memory-leak"]),
    ];
    Library { cases, ..Library::default() }
}

/// A panel over a deployment, with hands on its keys.
struct Hands {
    panel: Box<dyn Panel>,
    snapshot: std::sync::Arc<headwater_engine::Snapshot>,
    library: Library,
}

impl Hands {
    fn over(trouble: Trouble) -> Self {
        Self { panel: (ROW.make)(), snapshot: World::after(trouble, 60), library: library() }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Panel, &View<'_>) -> T) -> T {
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let view = View {
            snapshot: &self.snapshot,
            now: self.snapshot.at,
            palette: &palette,
            keys: &keys,
            is_replay: false,
            library: &self.library,
        };
        act(self.panel.as_mut(), &view)
    }

    fn drawn(&mut self, width: u16, height: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.with(|panel, view| panel.draw(view, buffer.area, &mut buffer));
        text_of(&buffer)
    }

    fn act(&mut self, action: Action) -> Outcome {
        self.with(|panel, view| panel.act(action, view))
    }
}

#[test]
fn what_looks_like_this_stands_first_with_what_speaks_for_and_against() {
    let mut hands = Hands::over(Trouble::FullLink);
    let drawn = hands.drawn(80, 14);
    assert!(drawn.contains("1 of 2 looks like this"), "{drawn}");
    let rows: Vec<&str> = drawn.lines().skip(2).collect();
    assert!(rows[0].contains('%') && rows[0].contains("A full link"), "{drawn}");
    assert!(rows[1].trim_start().starts_with('-') && rows[1].contains("Memory leaks"), "{drawn}");
    assert!(drawn.contains("stopped by what stopped hot") || drawn.contains("what stopped hot"), "{drawn}");
    assert_eq!(hands.act(Action::Open), Outcome::Done);
    let page = hands.drawn(80, 20);
    for said in [
        "shard-bandwidth here on redis/features#2",
        "shard-hot: then, but clear here",
        "not watched by this version",
        "why hot was",
    ] {
        assert!(page.contains(said), "'{said}' in {page}");
    }
    let copied = hands.with(|panel, view| panel.copied(view)).unwrap();
    assert!(copied.contains("why hot was") && copied.contains("hot: A full link"), "{copied}");
    assert_eq!(hands.act(Action::Back), Outcome::Done);
    assert!(hands.drawn(80, 14).contains("Memory leaks"));
}

#[test]
fn nothing_is_said_to_be_alike_when_nothing_is() {
    let mut hands = Hands::over(Trouble::None);
    assert!(hands.drawn(80, 14).contains("nothing to compare"));
    assert!(matches!(hands.act(Action::SaveCase), Outcome::Refused(_)));
    let mut hands = Hands::over(Trouble::FullLink);
    hands.library.cases.remove(0);
    assert!(hands.drawn(80, 14).contains("no case looks like this"));
    hands.library.cases.clear();
    assert!(hands.drawn(80, 14).contains("no case is known"));
}

#[test]
fn words_are_found_in_all_that_a_case_says() {
    let mut hands = Hands::over(Trouble::FullLink);
    let filter = Filter::parse("gpu-memory-leak why", &hands.panel.fields()).unwrap();
    hands.panel.set_filter(Some(filter));
    let drawn = hands.drawn(80, 14);
    assert!(drawn.contains("Memory leaks") && !drawn.contains("A full link"), "{drawn}");
}

#[test]
fn saving_asks_first_and_says_what_becomes_of_it() {
    let mut hands = Hands::over(Trouble::FullLink);
    let Outcome::Wants(Intent::Ask(text, effect)) = hands.act(Action::SaveCase) else {
        panic!("no question")
    };
    assert_eq!(effect, Effect::SaveCase);
    assert!(text.contains("not over") && text.contains("no passwords"), "{text}");
}

#[test]
fn any_size_will_do() {
    for is_opened in [false, true] {
        let mut hands = Hands::over(Trouble::FullLink);
        if is_opened {
            hands.act(Action::Open);
        }
        for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (300, 80)] {
            hands.drawn(width, height);
        }
    }
}
