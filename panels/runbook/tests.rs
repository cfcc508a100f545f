mod due;
mod ends;
mod stage;

use std::sync::Arc;

use headwater_engine::library::Library;
use headwater_engine::reading::{ActKind, Found, StepAnswer};
use headwater_engine::runbook::Runbook;

use super::*;
use crate::example::Trouble;
use crate::keys::Keymap;
use stage::Stage;

#[track_caller]
fn refused(outcome: Outcome, why: &str) {
    let Outcome::Refused(told) = &outcome else { panic!("{outcome:?}") };
    assert!(told.contains(why), "{told}");
}

#[test]
fn the_hint_names_the_next_key_from_the_beginning_to_the_report() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    assert_eq!(stage.hint(), "next: press v to begin: the clock of the golden five minutes starts");
    refused(stage.act(Action::Override), "the runbook was not begun: v begins it");
    assert_eq!(stage.does(Action::Confirm), ActKind::Runbook("walk".into()));

    assert_eq!(stage.hint(), "next: press v to confirm what is shown: bad; then step 2");
    let ActKind::Step(step) = stage.does(Action::Confirm) else { panic!("no step") };
    assert_eq!((step.step.as_str(), &step.answer, step.found), ("1", &StepAnswer::Confirmed, Found::Bad));
    assert!(step.seen[0].as_str().starts_with("redis/features#2: 23.9 MB/s"), "{:?}", step.seen);

    // What nobody sees passes nothing, and holds nobody up.
    let told = "next: press v to leave it unknown and go on, or o to answer with a note";
    assert_eq!(stage.hint(), told);
    let Outcome::Wants(Intent::AskText(title)) = stage.act(Action::Override) else { panic!("no question") };
    assert!(title.starts_with("2 step 2: what do you know"), "{title}");
    let typed = stage.with(|panel, view| panel.typed("it is idle", view));
    let ActKind::Step(step) = stage.records(typed) else { panic!("no step") };
    assert_eq!((&step.answer, step.found), (&StepAnswer::Overridden("it is idle".into()), Found::Unknown));

    assert_eq!(stage.hint(), "next: press d to record that you did action 1; Headwater does nothing itself");
    let ActKind::Remedy { subject, text } = stage.does(Action::Done) else { panic!("no action") };
    assert_eq!((subject.as_str(), text.as_str()), ("redis/features#2", "cache user:profile:8812"));
    assert_eq!(stage.hint(), "next: press v to confirm what is shown: good");
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: press e to write the report");

    let screen = stage.drawn(100, 30);
    for row in ["X bad   1   step 1", "! noted 2   step 2", "o done  3   step 3", "o component o stop"] {
        assert!(screen.contains(row), "'{row}' in\n{screen}");
    }
    // An answer can be taken back, and then it is due again.
    stage.act(Action::Left);
    refused(stage.act(Action::Confirm), "this step was answered: O takes that back");
    let ActKind::Step(step) = stage.does(Action::Reopen) else { panic!("no step") };
    assert_eq!((step.step.as_str(), &step.answer), ("2", &StepAnswer::Reopened));
    assert_eq!(stage.hint(), told);
}

#[test]
fn a_step_that_is_skipped_says_why() {
    let mut stage = Stage::after(Trouble::None, 5);
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: press v to confirm what is shown: good");
    assert!(matches!(stage.act(Action::Skip), Outcome::Wants(Intent::AskText(_))));
    let typed = stage.with(|panel, view| panel.typed("not ours", view));
    let ActKind::Step(step) = stage.records(typed) else { panic!("no step") };
    assert_eq!((&step.answer, step.found), (&StepAnswer::Skipped("not ours".into()), Found::Good));
    assert!(stage.drawn(100, 30).contains("- skip  1   step 1"));
    // Nobody asked for this.
    assert_eq!(stage.with(|panel, view| panel.typed("x", view)), Outcome::Ignored);
}

#[test]
fn nothing_is_answered_on_what_is_past_or_old() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.does(Action::Confirm);
    let frozen = stage.world.snapshot();
    stage.world.run(20);
    stage.held = Some(frozen);
    refused(stage.act(Action::Confirm), "what is shown is 20 s old");
    assert_eq!(stage.hint(), "next: press space to let the screen go on: what is shown is old");
    let now = stage.world.snapshot();
    stage.held = Some(Arc::new(now.back_to(Moment(now.at.0 - 30_000)).unwrap()));
    refused(stage.act(Action::Skip), "this is the past: return to the present first (L)");
    // At that moment nothing was begun.
    assert!(stage.drawn(100, 30).contains("fits too"));
}

#[test]
fn an_action_shows_what_it_costs_and_its_command_is_copied_whole_or_not_at_all() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.act(Action::Right);
    stage.act(Action::Right);
    let screen = stage.drawn(100, 40);
    for part in [
        "> do 1   cache user:profile:8812 (can be taken back)",
        "only if it may",
        "effect  it helps",
        "risk    it hurts",
        "undo    stop it",
        "do 2   unlink user:profile:8812 (cannot be taken back in a hurry)",
        "avoid      restart first",
    ] {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed(&screen).contains(&squeezed(part)), "'{part}' in\n{screen}");
    }
    // The first has no command: what the step says is copied by the screen.
    assert_eq!(stage.act(Action::Copy), Outcome::Ignored);
    assert!(
        stage
            .with(|panel, view| panel.copied(view))
            .unwrap()
            .starts_with("3 step 3: no action is recorded yet")
    );
    stage.act(Action::Down);
    let copied = Effect::Copy("redis-cli -h 10.0.3.14 UNLINK user:profile:8812".to_owned());
    assert_eq!(stage.act(Action::Copy), Outcome::Wants(Intent::Do(copied)));
}

#[test]
fn the_panel_of_the_step_stands_beside_it_where_there_is_room_and_opens_where_there_is_none() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    let wide = stage.drawn(160, 40);
    assert!(wide.contains("redis/features") && wide.contains("│"), "{wide}");
    // Its filter is in force: the shards that are well are left out.
    assert!(wide.contains("features#2") && !wide.contains("features#0"), "{wide}");
    // A line parts the list from the step, and another one the step from the panel.
    for (width, lines) in [(160, 2), (100, 1), (80, 1), (75, 0)] {
        let row = stage.drawn(width, 40).lines().nth(3).unwrap_or_default().matches('│').count();
        assert_eq!(row, lines, "{width}");
    }
    let look = Intent::Look("shards", Some("link > 70 %".to_owned()));
    assert_eq!(stage.act(Action::Open), Outcome::Wants(look));
}

#[test]
fn explanations_are_open_for_whoever_is_led_and_a_key_away_for_others() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    assert!(!stage.drawn(100, 30).contains("because of 1"));
    stage.panel.explain();
    let led = stage.drawn(100, 30);
    for part in ["because of 1", "look at user:profile:8812", "if good", "you have seen"] {
        assert!(led.contains(part), "'{part}' in\n{led}");
    }
    stage.act(Action::Explain);
    assert!(!stage.drawn(100, 30).contains("because of 1"));
}

#[test]
fn the_runbook_that_fits_what_fires_is_offered_first_and_can_be_taken() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    assert!(stage.drawn(100, 30).contains("B: 'Runbook full-link' fits too"));
    stage.act(Action::ChooseRunbook);
    let list = stage.drawn(100, 30);
    let rows: Vec<&str> = list.lines().skip(1).take(2).collect();
    assert!(rows[0].starts_with("! fits     Runbook full-link"), "{list}");
    let walk = "! fits     > Runbook walk: step 1 asks about redis/features#2";
    assert!(rows[1].starts_with(walk), "{list}");
    stage.act(Action::Up);
    stage.act(Action::Open);
    assert_eq!(stage.does(Action::Confirm), ActKind::Runbook("full-link".into()));
    stage.act(Action::ChooseRunbook);
    stage.act(Action::Back);
    assert!(stage.drawn(100, 30).contains("Runbook full-link"));
}

#[test]
fn it_can_be_drawn_at_any_size_and_without_any_runbook() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.panel.explain();
    for (width, height) in
        [(0, 0), (1, 1), (3, 2), (20, 3), (60, 5), (76, 9), (129, 20), (130, 20), (300, 90)]
    {
        stage.drawn(width, height);
        stage.act(Action::ChooseRunbook);
        stage.drawn(width, height);
        stage.act(Action::Back);
    }
    stage.library = Library::default();
    assert!(stage.drawn(80, 24).contains("there is no runbook"));
    assert_eq!(stage.act(Action::Confirm), Outcome::Ignored);
}

#[test]
fn the_bar_names_only_the_keys_that_are_taken() {
    const ANSWERS: [Action; 5] =
        [Action::Confirm, Action::Override, Action::Skip, Action::Reopen, Action::Done];
    let mut stage = Stage::after(Trouble::FullLink, 20);
    let named = |stage: &mut Stage| {
        stage.drawn(100, 30);
        stage.with(|panel, view| ANSWERS.map(|action| panel.short(action, view)))
    };
    assert_eq!(named(&mut stage), [Some("begin"), None, None, None, None]);
    stage.does(Action::Confirm);
    assert_eq!(named(&mut stage), [Some("confirm"), Some("override"), Some("skip"), None, None]);
    stage.does(Action::Confirm);
    // The second step cannot be seen.
    assert_eq!(named(&mut stage), [Some("confirm"), Some("override"), Some("skip"), None, None]);
    stage.act(Action::Left);
    assert_eq!(named(&mut stage), [None, None, None, Some("reopen"), None]);
    stage.act(Action::Right);
    stage.act(Action::Right);
    assert_eq!(named(&mut stage)[4], Some("done it"));
    let now = stage.world.snapshot();
    stage.held = Some(Arc::new(now.back_to(Moment(now.at.0 - 1_000)).unwrap()));
    assert_eq!(named(&mut stage), [None; 5], "nothing is answered in the past");
}

#[test]
fn words_that_cannot_be_taken_yet_stay_asked_for() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.does(Action::Confirm);
    stage.act(Action::Override);
    let frozen = stage.world.snapshot();
    stage.world.run(20);
    stage.held = Some(frozen);
    let typed = stage.with(|panel, view| panel.typed("cache off", view));
    refused(typed, "what is shown is 20 s old");
    stage.held = None;
    let typed = stage.with(|panel, view| panel.typed("cache off", view));
    let ActKind::Step(step) = stage.records(typed) else { panic!("no step") };
    assert_eq!(step.answer, StepAnswer::Overridden("cache off".into()));
}

#[test]
fn an_action_is_recorded_a_second_time_only_when_that_is_meant() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.does(Action::Confirm);
    stage.act(Action::Right);
    stage.act(Action::Right);
    let kind = stage.does(Action::Done);
    let Outcome::Wants(Intent::Ask(question, effect)) = stage.act(Action::Done) else { panic!("not asked") };
    assert!(question.contains("was recorded at") && question.contains("once more?"), "{question}");
    assert_eq!(effect, Effect::Act(kind));
    stage.act(Action::Down);
    stage.does(Action::Done);
}

#[test]
fn the_page_of_another_runbook_begins_at_its_top() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.panel.explain();
    let top = |stage: &mut Stage| stage.drawn(60, 8).contains("question 1?");
    assert!(top(&mut stage));
    stage.act(Action::PageDown);
    assert!(!top(&mut stage));
    stage.act(Action::ChooseRunbook);
    stage.act(Action::Up);
    stage.act(Action::Open);
    assert!(top(&mut stage), "its first step is called 1 too");
}

#[test]
fn the_runbook_under_the_cursor_is_in_sight_and_stays_the_same_when_the_order_changes() {
    let mut stage = Stage::after(Trouble::None, 5);
    let long = |runbook: &mut Runbook| runbook.about = "many words that need some rows ".repeat(6);
    stage.library.runbooks.iter_mut().for_each(long);
    stage.act(Action::ChooseRunbook);
    for action in [Action::Bottom, Action::Top, Action::Down] {
        stage.act(action);
        assert!(stage.drawn(40, 9).contains("> Runbook"), "{}", stage.drawn(40, 9));
    }
    let marked = |stage: &mut Stage| {
        let screen = stage.drawn(100, 40);
        screen.lines().find(|row| row.contains("> ")).map(|row| row.contains("walk")).unwrap()
    };
    stage.act(Action::Top);
    assert!(marked(&mut stage), "without a sign the one that always applies is first");
    stage.world.trouble = Trouble::FullLink;
    stage.world.run(20);
    assert!(marked(&mut stage), "another one is first now");
}

#[test]
fn an_action_without_a_key_is_named_by_its_command() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.keys = Keymap::new(vec![]);
    assert_eq!(stage.hint(), "next: press :confirm to begin: the clock of the golden five minutes starts");
}

#[test]
fn what_stands_beside_the_title_is_shortened_where_it_does_not_fit() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    // " Runbook walk " with its rule and "B: 'Runbook full-link' fits too" with its blanks, to the cell.
    let first = |stage: &mut Stage, width| stage.drawn(width, 20).lines().next().unwrap().to_owned();
    let whole = 12 + 4 + 31 + 3;
    assert!(first(&mut stage, whole).contains("B: 'Runbook full-link' fits too"));
    assert!(first(&mut stage, whole - 1).contains("B: 1 fit"));
}
