mod pictures;
mod scans;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{ActKind, Input, OperatorAct, Scan, ScanState};
use headwater_engine::report::Conclusion;
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{BEGAN, Trouble, World, drawn, keys, live, subject};
use crate::panel::Effect;

fn shown(snapshot: &Snapshot, glyphs: Glyphs, width: u16, height: u16) -> String {
    drawn(&mut Overview::default(), snapshot, &Palette::mono(glyphs), width, height)
}

fn at(trouble: Trouble, seconds: i64, width: u16, height: u16) -> String {
    shown(&World::after(trouble, seconds), Glyphs::Unicode, width, height)
}

#[test]
fn the_accusation_and_the_next_step_survive_any_size_that_can_hold_them() {
    let text = at(Trouble::FullLink, 45, 80, 7);
    for part in ["X GUILTY", "redis/features#2", "chain", "next", "not shown"] {
        assert!(text.contains(part), "'{part}' is missing:\n{text}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for (trouble, step) in [(Trouble::FullLink, 1), (Trouble::Nothing, 7)] {
        let snapshot = World::after(trouble, 45);
        for width in (0..90).step_by(step) {
            for height in (0..30).step_by(step) {
                shown(&snapshot, Glyphs::Unicode, width, height);
            }
        }
    }
}

#[test]
fn a_suspect_is_not_headed_by_an_all_clear_and_an_early_beginning_is_said_to_be_earlier() {
    let said = [(Conclusion::Clear, "callers suffer, and nobody"), (Conclusion::Blind, "nothing guilty")];
    for (conclusion, said) in said {
        let text = shown(&World::suspected(conclusion), Glyphs::Unicode, 100, 30);
        assert!(text.contains(&format!("! SUSPECT  {said}")), "{text}");
        assert!(!text.contains("o CLEAR") && !text.contains("o CALM"), "{text}");
    }
    let mut world = World::new();
    world.trouble = Trouble::FullLink;
    world.run(60);
    let text = shown(&world.snapshot(), Glyphs::Unicode, 100, 30);
    assert!(text.contains("began before 14:06:0"), "{text}");
}

#[test]
fn what_moves_the_cursor_and_opens_is_named_whatever_can_be_scanned() {
    for trouble in [Trouble::None, Trouble::FullLink, Trouble::Late] {
        let mut panel = Overview::default();
        drawn(&mut panel, &World::after(trouble, 45), &Palette::mono(Glyphs::Unicode), 80, 24);
        for action in [Action::Open, Action::Up, Action::Down] {
            assert!(panel.actions().contains(&action), "{trouble:?}: {action:?}");
        }
    }
}

#[test]
fn the_cursor_leads_to_the_panel_of_what_it_stands_on() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = Overview::default();
    let shows = |panel, of: &str| Outcome::Wants(Intent::Show(panel, Some(subject(of))));
    assert_eq!(panel.act(Action::Open, &view), shows("shards", "redis/features#2"));
    let mut opened = vec![];
    for _ in 0..5 {
        panel.act(Action::Down, &view);
        opened.push(panel.act(Action::Open, &view));
    }
    assert_eq!(
        opened,
        [
            Outcome::Refused("gpu/ranker: no source; there is nothing to show".to_owned()),
            shows("rules", "queue/ranker"),
            shows("shards", "redis/features#2"),
            shows("rules", "service/ranker"),
            shows("rules", "client/load"),
        ]
    );
    panel.act(Action::Down, &view);
    assert_eq!(panel.cursor, Some(subject("client/load")), "the last row is the last");
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert_eq!((panel.cursor.clone(), panel.act(Action::Back, &view)), (None, Outcome::Ignored));
    let silent = World::after(Trouble::Refused, 5);
    let view = View { snapshot: &silent, ..view };
    panel.open(&subject("redis/features#1"));
    assert_eq!(panel.act(Action::Open, &view), shows("sources", "redis/features"));
}

#[test]
fn what_stands_beside_the_title_is_where_open_leads() {
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    for trouble in [Trouble::FullLink, Trouble::None, Trouble::Refused] {
        let snapshot = World::after(trouble, 45);
        let view = live(&snapshot, &palette, &keys);
        let mut panel = Overview::default();
        for downs in 0..6 {
            let text = drawn(&mut panel, &snapshot, &palette, 120, 30);
            let title = text.lines().next().unwrap_or_default();
            match panel.act(Action::Open, &view) {
                Outcome::Wants(Intent::Show(name, Some(of))) => {
                    let row = PANELS.iter().find(|row| row.name == name).unwrap();
                    let promised = format!("enter: {of} on {} ", row.title);
                    assert!(title.contains(&promised), "{trouble:?} {downs}: '{promised}' in {title}");
                    assert!(panel.short(Action::Open, &view).is_some());
                }
                _ => {
                    assert!(!title.contains("enter:"), "{trouble:?} {downs}: {title}");
                    assert_eq!(panel.short(Action::Open, &view), None);
                }
            }
            panel.act(Action::Down, &view);
        }
    }
}

#[test]
fn the_letters_under_the_axis_are_told() {
    let mut world = World::new();
    world.run(60);
    let at = world.now();
    world.take(&Input::Act(OperatorAct { at, kind: ActKind::Mark(RemoteText::new("deploy")) }));
    world.run(5);
    let text = shown(&world.snapshot(), Glyphs::Ascii, 120, 30);
    let title = text.lines().find(|line| line.contains("a cell")).unwrap();
    assert!(title.contains("m mark") && !title.contains("note"), "{title}");
    for word in ["err/inst", "stirs", "loop", "judgements clear", "victim", "r d b"] {
        assert!(Overview::default().words().iter().any(|(known, _)| *known == word), "{word}");
    }
}

#[test]
fn what_is_copied_is_the_verdict_in_two_lines() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let copied = Overview::default().copied(&live(&snapshot, &palette, &keys)).unwrap();
    insta::assert_snapshot!(copied, @r#"
    ranker-prod 14:08:45 UTC: GUILTY redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03, by shard-bandwidth: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
    p99 2.9 s <- feature load mean 1.6 s (98.2 % of all stages) <- GET p99 497 ms <- #2 link full <- user:profile:8812 1.8 MB; next: user:profile:8812: see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a smaller encoding; delete it with UNLINK, never with DEL
    "#);
}

/// The same moment, once when it was now and once gone back to from later.
fn then_and_gone_back_to() -> (Arc<Snapshot>, Snapshot) {
    let mut world = World::new();
    world.run(100);
    let then = world.snapshot();
    world.trouble = Trouble::FullLink;
    world.run(30);
    let at = world.now();
    world.take(&Input::Act(OperatorAct { at, kind: ActKind::Mark(RemoteText::new("deploy rolled back")) }));
    world.run(10);
    let back = world.snapshot().back_to(then.at).unwrap();
    (then, back)
}

#[test]
fn who_goes_back_in_time_sees_nothing_that_came_later() {
    let (then, back) = then_and_gone_back_to();
    let rows = |snapshot: &Snapshot| {
        let text = shown(snapshot, Glyphs::Unicode, 80, 21);
        text.lines().take_while(|line| !line.contains("a cell")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (now, later) = (rows(&then), rows(&back));
    assert!(now.len() > 10, "{now:#?}");
    assert_eq!(now, later);
    let axis = shown(&back, Glyphs::Unicode, 80, 21);
    assert!(
        axis.contains("14:07:40 is shown") && !axis.contains("deploy") && !axis.contains("..X"),
        "{axis}"
    );
}

#[test]
fn the_axis_stands_still_while_its_newest_cell_fills() {
    let mut world = World::new();
    world.run(102);
    let strip = |snapshot: &Snapshot| {
        let text = shown(snapshot, Glyphs::Unicode, 80, 24);
        text.lines().skip_while(|line| !line.contains("a cell")).nth(1).unwrap().to_owned()
    };
    let first = world.snapshot();
    assert_eq!((BEGAN + Duration::from_secs(102)).0 % 5_000, 2_000);
    world.run(2);
    assert_eq!(strip(&first), strip(&world.snapshot()));
    world.run(1);
    assert_ne!(strip(&first), strip(&world.snapshot()));
}

#[test]
fn marks_and_notes_stand_below_their_moment() {
    let mut world = World::new();
    world.run(60);
    let at = world.now();
    world.take(&Input::Act(OperatorAct { at, kind: ActKind::Mark(RemoteText::new("canary off")) }));
    world.run(90);
    let text = shown(&world.snapshot(), Glyphs::Unicode, 80, 24);
    assert!(text.contains("m canary off"), "{text}");
}

#[test]
fn what_is_not_shown_of_the_verdict_is_a_page_further() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let mut panel = Overview::default();
    let draw = |panel: &mut Overview| drawn(panel, &snapshot, &palette, 60, 10);
    let first = draw(&mut panel);
    assert!(first.contains("not shown: pagedown"), "{first}");
    let mut seen = String::new();
    let mut last = String::new();
    for _ in 0..12 {
        assert_eq!(panel.act(Action::PageDown, &live(&snapshot, &palette, &keys)), Outcome::Done);
        last = draw(&mut panel);
        seen += &last;
    }
    for line in verdict::lines(&live(&snapshot, &palette, &keys), None) {
        let start: String = line.text().chars().take(30).collect();
        assert!(seen.contains(&start), "'{start}' is on no page:\n{seen}");
    }
    assert!(last.contains("pageup: back") && !last.contains("pagedown"), "{last}");
    panel.act(Action::PageUp, &live(&snapshot, &palette, &keys));
    assert_eq!(draw(&mut panel), first);
}

#[test]
fn the_name_comes_before_everything_on_a_tiny_screen() {
    let text = at(Trouble::FullLink, 45, 20, 3);
    assert!(text.starts_with("X redis/features#2"), "{text}");
}
