use std::time::Duration;

use headwater_engine::Snapshot;
use headwater_engine::reading::{Change, ChangeKind, Event, Fault, FaultKind, Input, Reading};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, drawn, keys, live, subject, text_of};
use crate::palette::Palette;
use crate::panel::Panel;

fn change(snapshot: &Snapshot, id: &str, minutes_ago: u64, component: Option<&str>) -> Change {
    Change {
        id: id.into(),
        at: snapshot.at - Duration::from_secs(minutes_ago * 60),
        component: component.map(subject),
        kind: ChangeKind::Deploy,
        title: format!("title of {id}").as_str().into(),
    }
}

/// An incident with changes; a source tells of them, whether it is well or not.
fn with_changes(fault: Option<&str>, changes: impl Fn(&Snapshot) -> Vec<Change>) -> Snapshot {
    let mut snapshot = (*World::after(Trouble::FullLink, 60)).clone();
    let mut engine = headwater_engine::Engine::new(Default::default(), Default::default());
    let mut reading = Reading::new(subject("change/deploys"), snapshot.at);
    reading.events = changes(&snapshot).into_iter().map(Event::Change).collect();
    reading.faults.extend(fault.map(|text| Fault { kind: FaultKind::Malformed, message: text.into() }));
    engine.take(&Input::Reading(reading));
    engine.take(&Input::Tick(snapshot.at));
    let told = engine.snapshot().unwrap();
    snapshot.changes = std::sync::Arc::clone(&told.changes);
    snapshot.sources = snapshot.sources.iter().chain(told.sources.iter()).cloned().collect();
    snapshot
}

fn deploys(snapshot: &Snapshot) -> Vec<Change> {
    vec![
        change(snapshot, "near", 5, Some("service/ranker")),
        change(snapshot, "other", 120, Some("redis/features#2")),
        change(snapshot, "nameless", 300, None),
        change(snapshot, "last-week", 4 * 24 * 60, Some("gateway/edge")),
    ]
}

struct Hands {
    panel: Box<dyn Panel>,
    snapshot: Snapshot,
}

impl Hands {
    fn over(snapshot: Snapshot) -> Self {
        Self { panel: (ROW.make)(), snapshot }
    }

    fn drawn(&mut self, width: u16, height: u16) -> String {
        drawn(self.panel.as_mut(), &self.snapshot, &Palette::mono(Glyphs::Unicode), width, height)
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut dyn Panel, &View<'_>) -> T) -> T {
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let view = View {
            snapshot: &self.snapshot,
            now: self.snapshot.at,
            palette: &palette,
            keys: &keys,
            is_replay: false,
            library: &headwater_engine::library::EMPTY,
        };
        act(self.panel.as_mut(), &view)
    }
}

#[test]
fn the_newest_stand_first_beside_the_onset_and_the_verdict() {
    let mut hands = Hands::over(with_changes(None, deploys));
    let drawn = hands.drawn(110, 16);
    insta::assert_snapshot!(drawn, @r"
    ─ Changes ──────────────────────────────────────────────────────────────────────────────── 3 in the last day ─
    at (UTC)       age          onset kind   component            title
    14:04:00     5 min   4 min before deploy o service/ranker     title of near
    12:09:00       2 h 119 min before deploy X redis/features#2   title of other
    09:09:00       5 h  4.98 h before deploy - nobody says        title of nameless









    deploy     'title of near' at 14:04:00 UTC, 5 min ago, 4 min before the onset, touched service/ranker
               (innocent)
    ");
    assert_eq!(hands.with(|panel, view| panel.act(Action::Week, view)), Outcome::Done);
    let week = hands.drawn(110, 16);
    assert!(week.contains("title of last-week") && week.contains("in the last week"), "{week}");
    assert!(!drawn.contains("last-week"), "{drawn}");
    hands.with(|panel, view| panel.act(Action::Open, view));
    let page = hands.drawn(80, 20);
    for said in ["deploy: title of near", "before the onset", "service/ranker", "proves nothing"] {
        assert!(page.contains(said), "'{said}' in {page}");
    }
    let copied = hands.with(|panel, view| panel.copied(view)).unwrap();
    assert!(copied.starts_with("deploy 'title of near' at 14:"), "{copied}");
}

#[test]
fn that_there_are_none_is_said_with_why() {
    let mut hands = Hands::over((*World::after(Trouble::FullLink, 60)).clone());
    assert!(hands.drawn(80, 12).contains("no source tells of changes: a [[changes]] table"));
    let mut hands = Hands::over(with_changes(None, |_| vec![]));
    let none = hands.drawn(80, 12);
    assert!(
        none.contains("no change explains it: none in the 24 h before")
            && none.contains("no change in the last day"),
        "{none}"
    );
    let mut hands = Hands::over(with_changes(Some("line 3 is not JSON"), deploys));
    assert!(hands.drawn(80, 16).contains("change/deploys: line 3 is not JSON"));
}

#[test]
fn changes_stand_on_the_axes_of_time() {
    let recent = |snapshot: &Snapshot| vec![change(snapshot, "now", 1, Some("service/ranker"))];
    let snapshot = with_changes(None, recent);
    for (name, width, height) in [("overview", 100, 30), ("shards", 160, 40)] {
        let row = crate::panel::PANELS.iter().find(|row| row.name == name).unwrap();
        let mut panel = (row.make)();
        let palette = Palette::mono(Glyphs::Unicode);
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let keys = keys();
        let view = live(&snapshot, &palette, &keys);
        panel.draw(&view, buffer.area, &mut buffer);
        let with = text_of(&buffer);
        let without = Snapshot { changes: [].into(), ..snapshot.clone() };
        let mut bare = Buffer::empty(buffer.area);
        panel.draw(&View { snapshot: &without, ..view }, bare.area, &mut bare);
        let signs = |text: &str| text.matches(marks::GLYPH).count();
        assert!(signs(&with) > signs(&text_of(&bare)), "{name}: {with}");
    }
}

#[test]
fn a_component_is_opened_with_its_changes_alone() {
    let mut hands = Hands::over(with_changes(None, deploys));
    hands.panel.open(&subject("service/ranker@10.0.0.1:1"));
    let drawn = hands.drawn(110, 16);
    assert!(drawn.contains("title of near") && !drawn.contains("title of other"), "{drawn}");
}

#[test]
fn any_size_will_do() {
    for is_opened in [false, true] {
        let mut hands = Hands::over(with_changes(Some("no"), deploys));
        if is_opened {
            hands.with(|panel, view| panel.act(Action::Open, view));
        }
        for (width, height) in [(0, 0), (1, 1), (3, 2), (20, 5), (300, 80)] {
            hands.drawn(width, height);
        }
    }
}
