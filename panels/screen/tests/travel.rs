//! Holding the screen still, going back in time, and steering a replay.

use std::sync::Arc;

use crate::panel::{Effect, Play};
use crate::rehearsal::Rehearsal;
use crate::screen::{Feed, Status};

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

/// What is said of a recording of two minutes that is played.
pub(super) fn replay(is_over: bool) -> Status {
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
    desk.press("[");
    assert!(desk.drawn(100, 24).contains("space play from here"), "{}", desk.drawn(100, 24));
    assert_eq!(desk.press("space"), [seek(88)], "what was gone back to is played again");
    assert!(desk.screen.held().is_none());
    desk.press("{ {");
    assert_eq!(desk.press("{"), [], "a recording has nothing before its beginning");
    assert!(desk.bar().contains("the recording begins here, at 14:07:00"), "{}", desk.bar());
    if let Feed::Replay { from, is_paused, .. } = &mut desk.status.feed {
        *from = headwater_engine::Moment(begin - 300_000);
        *is_paused = true;
    }
    assert_eq!(desk.press("{"), [seek(-60), Effect::Play(Play::Pause)], "what is not kept is played again");
    assert!(desk.screen.held().is_none());
    assert!(desk.bar().contains("played on from 14:06:00"), "{}", desk.bar());
    desk.status = replay(true);
    assert_eq!(desk.press("}"), []);
    assert!(desk.drawn(80, 24).contains("The recording ends here: press [ to go back, q to leave"));
}

#[test]
fn marks_and_notes_are_kept_for_now_and_say_so_when_another_moment_is_shown() {
    let mut desk = Rehearsal::after(30);
    assert_eq!(desk.press("m"), [Effect::Mark(String::new())]);
    assert_eq!(desk.bar(), "marked at 14:07:29");
    desk.press("[ [ m");
    assert!(
        desk.bar().starts_with("marked at 14:07:29 (now, not the moment that is shown; L"),
        "{}",
        desk.bar()
    );
    desk.press("n");
    desk.type_in("cache off");
    assert_eq!(desk.press("enter"), [Effect::Note("cache off".into())]);
    assert!(desk.bar().starts_with("noted at 14:07:29 (now"), "{}", desk.bar());
}
