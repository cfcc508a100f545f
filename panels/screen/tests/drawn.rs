//! What stands on the screen, at 80x24 and at every smaller size.

use headwater_widgets::Glyphs;

use super::travel::replay;
use crate::panel::Effect;
use crate::rehearsal::Rehearsal;

#[test]
fn before_the_first_verdict_it_says_who_is_waited_for() {
    let mut desk = Rehearsal::after(1);
    desk.is_before = true;
    desk.status.waiting_for = (0..40).map(|number| format!("redis/r{number}")).collect();
    desk.status.demo = Some("demo: a recording is shown, because redis-server is not in PATH".into());
    desk.status.recording = Some("night.hwr".into());
    insta::assert_snapshot!(desk.below_head(), @r"
    ? connecting; the first verdict comes with the first answers

      waiting for redis/r0
      waiting for redis/r1
      waiting for redis/r2
      waiting for redis/r3
      waiting for redis/r4
      waiting for redis/r5
      waiting for redis/r6
      waiting for redis/r7
      waiting for redis/r8
      waiting for redis/r9
      waiting for redis/r10
      waiting for redis/r11
      waiting for redis/r12
      waiting for redis/r13
      waiting for redis/r14
      waiting for redis/r15
      waiting for redis/r16
      and 23 more
    : command  m mark  n note  ? help  q quit
    ");
    for key in ["2", "space", "[", "]", "y", "/", "esc", "?", "esc", "L", "j", "enter", "}"] {
        assert_eq!(desk.press(key), [], "{key}");
    }
}

#[test]
fn what_a_demo_says_of_itself_stands_once_and_whole() {
    let mut desk = Rehearsal::after(3);
    let text = "demo: a recording of the hot-shard lab, because redis-server is not in PATH";
    desk.status.demo = Some(text.into());
    for (width, below_head) in [(80, 1), (190, 0)] {
        let drawn = desk.drawn(width, 24);
        assert_eq!(drawn.matches(text).count(), 1, "{width}: {drawn}");
        assert_eq!(drawn.matches("demo:").count(), 1, "{width}: {drawn}");
        assert_eq!(desk.screen.body().y, 2 + below_head);
    }
}

#[test]
fn the_bar_tells_what_can_be_pressed_at_any_width() {
    let mut desk = Rehearsal::after(3);
    insta::assert_snapshot!(desk.bar(), @"space freeze  [ earlier  : command  y copy  m mark  n note  ? help  q quit");
    desk.press("2");
    insta::assert_snapshot!(desk.bar(), @"b scan  c compare  enter open  / filter  s sort  space freeze  ? help  q quit");
    desk.status = replay(false);
    insta::assert_snapshot!(desk.bar(), @"b scan  c compare  space pause  . step  + faster  - slower  ? help  q quit");
    desk.press("[");
    insta::assert_snapshot!(desk.bar(), @"[ earlier  ] later  L live  b scan  c compare  space go on  ? help  q quit");
    for width in 0..120 {
        let bar = desk.drawn(width, 24).lines().last().unwrap_or_default().to_owned();
        assert!(width < 16 || bar.contains("? help") && bar.contains("q quit"), "{width}: {bar}");
    }
}

#[test]
fn help_is_made_from_the_tables() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 ?");
    insta::assert_snapshot!(desk.below_head(), @r"
    ┌ Help: Shards ────────────────────────────────────────────────────────────────┐
    │every Redis shard over time, and which one differs                            │
    │                                                                              │
    │On this panel                                                                 │
    │b                    look for big keys on the shard under the cursor, within a│
    │                     budget that is shown first                               │
    │c                    put the row under the cursor beside another one          │
    │                                                                              │
    │In its table                                                                  │
    │up k                 one row up                                               │
    │down j               one row down                                             │
    │pageup               one page up                                              │
    │pagedown             one page down                                            │
    │home g               to the first row                                         │
    │end G                to the last row                                          │
    │enter                open what is under the cursor                            │
    │/                    keep only rows that match an expression                  │
    │s                    sort by the next column                                  │
    │S                    turn the order of the rows round                         │
    │                                                                              │
    └ rows 1-19 of 105   up down: scroll   esc: close ─────────────────────────────┘
    ");
    let mut seen = String::new();
    for _ in 0..12 {
        seen.push_str(&desk.drawn(80, 24));
        desk.press("pagedown");
    }
    for row in crate::action::ACTIONS {
        let is_here = matches!(row.scope, crate::action::Scope::Everywhere | crate::action::Scope::Table);
        // Sentences are broken at blanks; their beginnings stand in one row.
        let beginning: String = row.help.chars().take(30).collect();
        assert!(!is_here || seen.contains(&beginning), "'{}' is missing", row.name);
        assert_eq!(row.scope == crate::action::Scope::Kiosk, row.name == "leave-kiosk");
    }
    assert!(!seen.contains("leave the kiosk"));
    for row in headwater_engine::filter::GRAMMAR {
        assert!(seen.contains(row.form), "'{}' is missing", row.form);
    }
    desk.press("g q");
    assert!(desk.screen.overlay.is_none(), "q leaves the help, not the application");
    desk.press("? 4");
    assert_eq!((desk.screen.name(), desk.screen.overlay.is_some()), ("sources", false));
}

#[test]
fn the_command_line_names_everything() {
    let mut desk = Rehearsal::after(3);
    desk.press(":");
    assert!(desk.below_head().contains("› overview       1 "), "{}", desk.below_head());
    desk.type_in("cop");
    insta::assert_snapshot!(desk.below_head(), @r"
    14:07:02















    ┌ Panels and actions: 3 ───────────────────────────────────────────────────────┐
    │› copy           y            copy the row under the cursor, or the verdict, …│
    │  copy-report    Y            copy the whole report as Markdown               │
    │  compare        c            put the row under the cursor beside another one │
    └ enter: do it   up down: choose   tab: complete   esc: close ─────────────────┘
    :cop
    ");
    desk.press("down");
    assert_eq!(desk.press("enter"), [Effect::CopyReport]);
    desk.press(":");
    desk.type_in("xyzzy");
    assert_eq!(desk.press("enter"), []);
    assert!(desk.drawn(80, 24).contains("nothing is called 'xyzzy'"));
    // 'queue' begins with it as well, but who writes it wants to leave.
    desk.press("esc : q tab");
    assert!(desk.drawn(80, 24).ends_with(":quit"), "{}", desk.drawn(80, 24));
    assert_eq!(desk.press("enter"), [Effect::Quit]);
    desk.press(": up");
    assert_eq!(desk.press("esc"), []);
}

#[test]
fn a_note_and_a_filter_at_80x24() {
    let mut desk = Rehearsal::after(3);
    desk.press("n");
    desk.type_in("shard 2 is at its link, and nobody had looked");
    insta::assert_snapshot!(desk.below_head(), @r"
    14:07:02





         ┌ Note for the write-up ─────────────────────────────────────────────┐
         │shard 2 is at its link, and nobody had looked                       │
         │                                                                    │
         │                                                                    │
         │                                                                    │
         │                                                                    │
         │                                                                    │
         └ enter: save   alt-enter or ctrl-j: next line   esc: put aside ─────┘







    enter save  alt-enter next line  esc put aside
    ");
    assert_eq!(desk.cursor().map(|at| at.y > 5), Some(true));
    desk.press("esc 2 /");
    desk.type_in("a cpu");
    insta::assert_snapshot!(desk.below_head(), @r"
    name                                                                         cpu
    alpha                                                                       20 %
    beta                                                                        90 %
    gamma                                                                       40 %
















    /a cpu
    no row matches this: the rows are those of before; enter takes it all the same
    ");
    desk.type_in(" > 30 MB");
    insta::assert_snapshot!(desk.below_head(), @r"
    name                                                                         cpu
    alpha                                                                       20 %
    beta                                                                        90 %
    gamma                                                                       40 %















    /a cpu > 30 MB
                ^
    bytes do not fit 'cpu', which is a share: write for example '70 %' or '0.7'
    ");
    desk.press("esc /");
    desk.type_in("cpu > (");
    let row = |text: &str| text.lines().last().unwrap_or_default().to_owned();
    assert!(row(&desk.below_head()).starts_with("       ^ "), "{}", desk.below_head());
}

/// What can lie over the panels, with the keys that open it.
const OVERLAYS: &[&str] =
    &["", "?", "2 ?", ":", ": x x x", "n", "n a alt-enter b", "2 /", "2 / a enter", "[", "2 space", "5 / ("];

#[test]
fn everything_is_drawn_at_every_size() {
    for keys in OVERLAYS {
        let mut desk = Rehearsal::after(3);
        desk.glyphs = Glyphs::Ascii;
        desk.press(keys);
        desk.status.demo = Some("demo".into());
        let widths = (0..=24).chain((28..=60).step_by(4));
        for (width, height) in widths.flat_map(|width| (0..=20).map(move |height| (width, height))) {
            let drawn = desk.drawn(width, height);
            assert!(drawn.is_ascii(), "{keys} at {width}x{height}: {drawn}");
            if let Some(at) = desk.cursor() {
                assert!(at.x < width && at.y < height, "{keys} at {width}x{height}: cursor at {at}");
            }
        }
    }
}

#[test]
fn what_is_typed_comes_first_on_a_tiny_screen() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 /");
    desk.type_in("abc");
    assert_eq!(desk.drawn(5, 1), "/abc");
    desk.press("esc :");
    desk.type_in("abc");
    assert_eq!(desk.drawn(5, 1), ":abc");
    desk.press("esc n");
    desk.type_in("abc");
    assert_eq!(desk.drawn(5, 1), "abc");
    assert!(desk.drawn(20, 4).contains("abc"));
}
