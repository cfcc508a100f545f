mod drawn;

use headwater_engine::filter::Filter;

use super::*;
use crate::panel::Play;
use crate::rehearsal::Rehearsal;

#[test]
fn panels_open_by_key_by_name_and_in_turn() {
    let mut desk = Rehearsal::after(3);
    assert_eq!(desk.screen.name(), "overview");
    assert_eq!(desk.press("2"), []);
    assert_eq!(desk.screen.name(), "shards");
    assert!(desk.drawn(80, 24).contains("gamma"));
    desk.press("tab tab");
    assert_eq!(desk.screen.name(), "sources");
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
    assert_eq!(desk.screen.panels[1].filter().map(Filter::as_str), Some("alpha"), "it works while typed");
    desk.press("enter");
    assert_eq!(desk.cursor(), None);
    assert!(desk.bar().ends_with("filter alpha  esc clears it"), "{}", desk.bar());
    desk.press("/");
    desk.type_in(" x");
    desk.press("esc");
    assert_eq!(desk.screen.panels[1].filter().map(Filter::as_str), Some("alpha"), "esc takes it back");
    desk.press("/ ctrl-j enter");
    assert!(desk.screen.panels[1].filter().is_none(), "an empty one is none");
    desk.press("/");
    desk.type_in("be");
    desk.press("enter / up up");
    assert!(desk.drawn(80, 24).contains("/alpha"), "up recalls what was typed before");
    desk.press("down down enter");
    assert_eq!(desk.screen.panels[1].filter().map(Filter::as_str), Some("be"));
    desk.press("esc");
    assert!(desk.screen.panels[1].filter().is_none(), "esc clears the filter before it leaves the panel");
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
    assert_eq!(desk.screen.panels[1].filter().map(Filter::as_str), Some("cpu > 50 %"));
    assert!(desk.below_head().contains("beta"));
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
    assert!(desk.screen.panels[1].filter().is_some_and(|filter| filter.as_str().len() <= 500));
}

#[test]
fn the_screen_is_frozen_while_data_go_on() {
    let mut desk = Rehearsal::after(10);
    desk.press("space");
    let at = desk.screen.held().unwrap().at;
    desk.deployment.run(5);
    assert!(desk.drawn(80, 24).contains("FROZEN since 14:07:09, 5 s ago"), "{}", desk.drawn(80, 24));
    assert_eq!(desk.screen.held().unwrap().at, at);
    assert!(desk.drawn(80, 3).contains("FROZEN"), "also on a low screen");
    desk.press("space");
    assert!(desk.screen.held().is_none());
    assert!(!desk.drawn(80, 24).contains("FROZEN"));
}

#[test]
fn time_goes_back_to_the_oldest_frame_and_forward_to_the_present() {
    let mut desk = Rehearsal::after(90);
    assert_eq!(desk.press("]"), []);
    assert!(desk.bar().contains("newest moment"), "{}", desk.bar());
    desk.press("[ [");
    let held = Arc::clone(desk.screen.held().unwrap());
    assert_eq!((held.at.clock(), held.gone_back_from.is_some()), ("14:08:27".into(), true));
    assert!(desk.drawn(80, 24).contains("GONE BACK to 14:08:27, 2 s ago"), "{}", desk.drawn(80, 24));
    desk.press("]");
    assert_eq!(desk.screen.held().unwrap().at.clock(), "14:08:28");
    desk.press("{");
    assert_eq!(desk.screen.held().unwrap().at.clock(), "14:07:28");
    desk.press("{");
    assert_eq!(desk.screen.held().unwrap().at.clock(), "14:07:00", "at most to the first frame");
    desk.press("[");
    assert!(desk.bar().contains("oldest moment that is kept: 14:07:00"), "{}", desk.bar());
    desk.press("{");
    assert!(desk.bar().contains("oldest moment that is kept: 14:07:00"), "{}", desk.bar());
    desk.press("}");
    assert_eq!(desk.screen.held().unwrap().at.clock(), "14:08:00");
    desk.press("}");
    assert!(desk.screen.held().is_none(), "later than the newest is live");
    desk.press("space [");
    assert_eq!(desk.screen.held().unwrap().at.clock(), "14:08:28", "one can go back from a frozen screen");
    desk.press("L");
    assert!(desk.screen.held().is_none());
}

fn replay(is_over: bool) -> Status {
    let feed = Feed::Replay {
        name: "hot-shard.hwr".into(),
        from: crate::rehearsal::BEGIN,
        to: Some(crate::rehearsal::BEGIN + std::time::Duration::from_secs(120)),
        speed: 1.0,
        is_paused: false,
        is_over,
    };
    Status { feed, ..Status::default() }
}

#[test]
fn a_replay_is_paused_stepped_sped_up_and_played_on() {
    let mut desk = Rehearsal::after(30);
    desk.status = replay(false);
    assert_eq!(desk.press("space"), [Effect::Play(Play::Pause)]);
    assert_eq!(desk.press("."), [Effect::Play(Play::Step)]);
    assert_eq!(desk.press("+ -"), [Effect::Play(Play::Speed(2.0)), Effect::Play(Play::Speed(0.5))]);
    let begin = crate::rehearsal::BEGIN.0;
    let seek = |second: i64| Effect::Play(Play::Seek(headwater_engine::Moment(begin + second * 1_000)));
    assert_eq!(desk.press("]"), [seek(30)], "later than what was played plays on");
    assert_eq!(desk.press("}"), [seek(89)]);
    desk.deployment.run(60);
    assert_eq!(desk.press("}"), [seek(120)], "at most to the end");
    assert_eq!(desk.press("["), [], "what was played is at hand");
    assert_eq!(desk.press("]"), [], "and so is the way back");
    assert!(desk.bar().contains("as far as the recording was played"), "{}", desk.bar());
    desk.status = replay(true);
    assert_eq!(desk.press("}"), []);
    assert!(desk.drawn(80, 24).contains("The recording ends here: press [ to go back, q to leave"));
}

#[test]
fn a_question_is_asked_before_something_is_done() {
    let mut desk = Rehearsal::after(3);
    desk.press("2 b");
    assert_eq!(desk.press("y q space"), [], "only enter does it");
    assert_eq!(desk.press("esc"), []);
    assert!(desk.screen.overlay.is_none());
    assert!(matches!(desk.press("b enter")[..], [Effect::Scan(_)]));
    desk.press("b");
    insta::assert_snapshot!(desk.below_head(), @r"
    name                                                                         cpu
    alpha                                                                       20 %
    beta                                                                        90 %
    gamma                                                                       40 %




            ┌ Shall this be done? ─────────────────────────────────────────┐
            │Scan redis/features#2? It reads 1 000 000 keys and takes at   │
            │most 1 % of a core.                                           │
            └ enter: yes   esc: no ────────────────────────────────────────┘









    enter do it  esc leave it
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
    assert!(desk.screen.panels[1].filter().is_some(), "esc left the detail alone");
    desk.press("esc");
    assert!(desk.screen.panels[1].filter().is_none());
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
}

#[test]
fn the_first_hint_stands_until_the_first_key() {
    let mut desk = Rehearsal::after(3);
    desk.with(|screen, shown| screen.hint(first_keys(shown.keys)));
    assert_eq!(desk.bar(), "press 2 for the shards, ? for help, q to leave");
    desk.press("j");
    assert!(!desk.bar().contains("press 2"));
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
