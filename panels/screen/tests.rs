mod asking;
mod drawn;
mod travel;

use headwater_engine::filter::Filter;
use headwater_engine::reading::ActKind;

use super::*;
use crate::rehearsal::{Rehearsal, subject};

#[test]
fn panels_open_by_key_by_name_and_in_turn() {
    let mut desk = Rehearsal::after(3);
    assert_eq!(desk.screen.name(), "overview");
    assert_eq!(desk.press("2"), []);
    assert_eq!(desk.screen.name(), "shards");
    assert!(desk.drawn(80, 24).contains("gamma"));
    desk.press("tab tab");
    assert_eq!(desk.screen.name(), "keys");
    desk.press("shift-tab");
    assert_eq!(desk.screen.name(), "slow-log");
    desk.press(": r u l enter");
    assert_eq!(desk.screen.name(), "rules");
    desk.press("esc");
    assert_eq!(desk.screen.name(), "slow-log", "back leads where one came from");
    desk.press("esc esc esc esc");
    assert_eq!(desk.screen.name(), "overview");
    desk.press("esc");
    assert!(desk.bar().contains("press q to quit"), "{}", desk.bar());
    assert_eq!(desk.press("q"), [Effect::Quit]);
    assert_eq!(desk.press("ctrl-c"), [Effect::Quit]);
}

#[test]
fn escape_and_a_key_that_come_at_once_are_both() {
    let mut desk = Rehearsal::after(3);
    assert_eq!((desk.press("2 alt-m"), desk.screen.name()), (vec![Effect::Mark(String::new())], "overview"));
}

#[test]
fn effects_come_out_of_keys() {
    let mut desk = Rehearsal::after(3);
    assert_eq!(desk.press("m"), [Effect::Mark(String::new())]);
    assert_eq!(desk.press("e"), [Effect::Export]);
    assert_eq!(desk.press("Y"), [Effect::CopyReport]);
    assert_eq!(desk.press("ctrl-l"), [Effect::Redraw]);
    assert_eq!(desk.press("ctrl-z"), [Effect::Suspend]);
    assert_eq!(desk.press("T"), [Effect::NextTheme]);
    assert_eq!(desk.press("M"), [Effect::Mouse(true)]);
    desk.status.has_mouse = true;
    assert_eq!(desk.press("M"), [Effect::Mouse(false)]);
    assert_eq!(desk.press("."), [], "nothing is replayed");
    assert!(desk.bar().contains("replayed"), "{}", desk.bar());
    assert_eq!(desk.press("f11"), [], "a key that is not bound does nothing");
}

#[test]
fn every_action_is_answered() {
    for row in crate::action::ACTIONS {
        let mut desk = Rehearsal::after(3);
        let effects = desk.with(|screen, shown| screen.take(Command::Act(row.action), shown));
        let moves = desk.screen.overlay.is_some()
            || desk.screen.notice.is_some()
            || desk.screen.held.is_some()
            || desk.screen.name() != "overview";
        assert!(!effects.is_empty() || moves, "'{}' came to nothing", row.name);
    }
}

#[test]
fn a_filter_is_kept_or_taken_back() {
    let mut desk = Rehearsal::after(3);
    desk.press("/");
    assert!(desk.bar().contains("Overview has no rows"), "{}", desk.bar());
    desk.press("2 /");
    desk.type_in("alpha");
    assert!(desk.drawn(80, 24).contains("/alpha"));
    assert!(desk.cursor().is_some());
    assert_eq!(desk.panel("shards").filter().map(Filter::as_str), Some("alpha"), "it works while typed");
    desk.press("enter");
    assert_eq!(desk.cursor(), None);
    assert!(desk.bar().ends_with("filter alpha  esc clears it"), "{}", desk.bar());
    desk.press("/");
    desk.type_in(" x");
    desk.press("esc");
    assert_eq!(desk.panel("shards").filter().map(Filter::as_str), Some("alpha"), "esc takes it back");
    desk.press("/ ctrl-j enter");
    assert!(desk.panel("shards").filter().is_none(), "an empty one is none");
    desk.press("/");
    desk.type_in("be");
    desk.press("enter / up up");
    assert!(desk.drawn(80, 24).contains("/alpha"), "up recalls what was typed before");
    desk.press("down down enter");
    assert_eq!(desk.panel("shards").filter().map(Filter::as_str), Some("be"));
    desk.press("esc");
    assert!(desk.panel("shards").filter().is_none(), "esc clears the filter before it leaves the panel");
    assert_eq!(desk.screen.name(), "shards");
}

#[test]
fn a_filter_that_makes_no_sense_keeps_what_last_made_sense() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 /");
    desk.type_in("cpu > 50 %");
    assert!(!desk.below_head().contains("alpha"), "{}", desk.below_head());
    desk.type_in(" and (");
    assert!(!desk.below_head().contains("alpha"), "{}", desk.below_head());
    assert_eq!(desk.press("enter"), []);
    assert!(desk.screen.overlay.is_some(), "it is not kept");
    desk.press("backspace backspace backspace backspace backspace backspace enter");
    assert!(desk.screen.overlay.is_none());
    assert_eq!(desk.panel("shards").filter().map(Filter::as_str), Some("cpu > 50 %"));
    assert!(desk.below_head().contains("beta"));
}

#[test]
fn half_a_filter_that_keeps_no_row_leaves_the_rows_as_they_are() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 /");
    desk.type_in("cup");
    let drawn = desk.below_head();
    assert!(drawn.contains("alpha") && drawn.contains("no row matches this"), "{drawn}");
    desk.type_in(" > banana");
    desk.press("enter");
    let drawn = desk.below_head();
    assert!(drawn.contains("alpha") && drawn.contains("not taken: "), "{drawn}");
    desk.press("ctrl-j enter / ctrl-j");
    desk.type_in("cup");
    desk.press("enter");
    assert!(desk.below_head().contains("no row of 3 matches"), "{}", desk.below_head());
}

#[test]
fn a_long_message_stands_whole_below_the_panel_until_the_next_key() {
    let mut desk = Rehearsal::after(3);
    let (text, body) = ("word ".repeat(30), {
        desk.drawn(80, 24);
        desk.screen.body()
    });
    desk.with(|screen, _| screen.say(format!("{text}end"), false));
    let drawn = desk.drawn(80, 24);
    assert_eq!(drawn.matches("word").count(), 30, "{drawn}");
    assert!(drawn.lines().last().unwrap().ends_with("end"), "{drawn}");
    let covered = body.intersection(Rect { y: 22, height: 2, ..body });
    let room = Rect { height: body.height - covered.height, ..body };
    assert_eq!(desk.screen.body(), room, "the panel makes room for it");
    desk.press("f11");
    assert!(!desk.drawn(80, 24).contains("word"));
    assert_eq!(desk.screen.body(), body, "and has it back");
}

#[test]
fn notes_are_saved_put_aside_and_never_lost_by_quitting() {
    let mut desk = Rehearsal::after(3);
    desk.press("n");
    desk.type_in("shard 2 is slow");
    assert_eq!(desk.press("ctrl-c"), [], "a note that is typed is not thrown away");
    assert!(desk.drawn(80, 24).contains("enter saves it"), "{}", desk.drawn(80, 24));
    desk.press("esc");
    assert!(desk.bar().contains("n takes it up again"));
    desk.press("n alt-enter");
    desk.type_in("q: whose keys?");
    desk.press("ctrl-j");
    let notes = ["shard 2 is slow", "q: whose keys?"].map(|note| Effect::Note(note.to_owned()));
    assert_eq!(desk.press("enter"), notes);
    assert_eq!(desk.press("n enter"), [], "the draft is gone, and an empty note is none");
    desk.press("n");
    assert_eq!(desk.press("ctrl-c"), [Effect::Quit], "an empty note holds nobody");
}

#[test]
fn answers_to_a_runbook_are_not_lost_by_one_key() {
    let mut desk = Rehearsal::after(3);
    let done = || ActKind::Remedy { subject: subject("redis/features#1"), text: "cached".into() };
    desk.deployment.act(done());
    assert_eq!(desk.press("q"), []);
    let asked = desk.drawn(80, 24);
    assert!(asked.contains("lose 1 answer") && asked.contains("e writes"), "{asked}");
    assert_eq!(desk.press("esc"), []);
    assert_eq!(desk.press("q enter"), [Effect::Quit], "whoever means it leaves");
    assert_eq!(desk.press("q ctrl-c"), [Effect::Quit]);
    assert_eq!(desk.press("e q"), [Effect::Export, Effect::Quit], "what was written is not lost");
    desk.deployment.act(done());
    desk.status.recording = Some("incident.hwr".into());
    assert_eq!(desk.press("q"), [Effect::Quit], "what is recorded is not lost");
}

#[test]
fn pasted_text_goes_where_text_is_typed_and_steers_nothing() {
    let mut desk = Rehearsal::after(3);
    desk.with(|screen, shown| screen.paste("q\nq", shown));
    assert_eq!(desk.screen.name(), "overview");
    desk.press("n");
    desk.with(|screen, shown| screen.paste("one\u{1b}[2J\ntwo", shown));
    let notes = ["one [2J", "two"].map(|note| Effect::Note(note.to_owned()));
    assert_eq!(desk.press("enter"), notes);
    desk.press("2 /");
    desk.with(|screen, shown| screen.paste(&"x\n".repeat(4_000), shown));
    desk.press("enter");
    assert!(desk.panel("shards").filter().is_some_and(|filter| filter.as_str().len() <= 500));
}

#[test]
fn a_question_is_asked_before_something_is_done() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 b");
    assert_eq!(desk.press("q space j"), [], "neither yes nor no");
    for no in ["esc", "n", "N"] {
        assert!(desk.screen.overlay.is_some());
        assert_eq!(desk.press(no), []);
        assert!(desk.screen.overlay.is_none(), "{no}");
        desk.press("b");
    }
    desk.press("esc");
    for yes in ["b enter", "b y", "b Y"] {
        assert!(matches!(desk.press(yes)[..], [Effect::Scan(_)]), "{yes}");
    }
    desk.press("b");
    insta::assert_snapshot!(desk.below_head(), @r"
    name                                                                         cpu
    alpha                                                                       20 %
    beta                                                                        90 %
    gamma                                                                       40 %




            ┌ Shall this be done? ─────────────────────────────────────────┐
            │Scan redis/features#2? It reads 1 000 000 keys and takes at   │
            │most 1 % of a core.                                           │
            └ enter or y: yes   esc or n: no ──────────────────────────────┘









    enter, y do it  esc, n leave it
    ");
}

#[test]
fn the_panel_is_asked_first_and_its_detail_is_left_before_its_filter() {
    let mut desk = Rehearsal::after(3);
    assert_eq!(desk.press("2 j y"), [Effect::Copy("beta".into())]);
    desk.press("c");
    assert_eq!(desk.bar(), "there is nothing to compare with");
    desk.press("/ a enter");
    desk.press("enter esc");
    assert!(desk.panel("shards").filter().is_some(), "esc left the detail alone");
    desk.press("esc");
    assert!(desk.panel("shards").filter().is_none());
    assert_eq!(desk.screen.name(), "shards");
    desk.press("o");
    assert_eq!(desk.screen.name(), "rules", "a panel can open another one");
    desk.press("esc esc");
    assert_eq!(desk.screen.name(), "overview");
    let body = {
        desk.press("2");
        desk.drawn(80, 24);
        desk.screen.body()
    };
    desk.with(|screen, shown| screen.click(Position::new(3, body.y + 3), shown));
    assert_eq!(desk.press("y"), [Effect::Copy("gamma".into())]);
    desk.with(|screen, shown| screen.wheel(true, shown));
    assert_eq!(desk.press("y"), [Effect::Copy("beta".into())]);
    desk.press("1");
    desk.with(|screen, shown| screen.wheel(true, shown));
    assert!(desk.screen.notice.is_none(), "a wheel that moves nothing says nothing");
}

#[test]
fn the_first_hint_stands_until_the_first_key() {
    let mut desk = Rehearsal::after(3);
    desk.with(|screen, shown| screen.hint(first_keys(shown.keys)));
    assert_eq!(desk.bar(), "press enter to look closer, ? for help, q to leave");
    desk.press("j");
    assert!(!desk.bar().contains("to look closer"));
}

#[test]
fn a_click_opens_a_panel_and_the_wheel_moves() {
    let mut desk = Rehearsal::after(3);
    let screen = desk.drawn(80, 24);
    let row = screen.lines().nth(1).unwrap();
    let x = row[..row.find("Rules").unwrap()].chars().count() as u16;
    desk.with(|screen, shown| screen.click(Position::new(x, 1), shown));
    assert_eq!(desk.screen.name(), "rules");
    desk.with(|screen, shown| screen.click(Position::new(79, 23), shown));
    desk.with(|screen, shown| screen.wheel(false, shown));
    desk.press("?");
    desk.with(|screen, shown| screen.wheel(false, shown));
    assert!(desk.drawn(80, 24).contains("rows 2-"), "{}", desk.drawn(80, 24));
    desk.with(|screen, shown| screen.click(Position::new(x, 1), shown));
    assert!(desk.screen.overlay.is_some(), "what lies over the panels takes the clicks too");
}
