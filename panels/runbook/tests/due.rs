//! Which step is due, what is not seen, and what has become bad since it was answered.

use super::*;

#[test]
fn what_is_not_seen_is_left_unknown_and_says_why() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.does(Action::Confirm);
    stage.does(Action::Confirm);
    let ActKind::Step(step) = stage.does(Action::Confirm) else { panic!("no step") };
    assert_eq!((&step.answer, step.found), (&StepAnswer::Confirmed, Found::Unknown));
    assert_eq!(step.seen[0].as_str(), "it is well: not seen, no source tells gpu.utilization");
    assert_eq!(step.answer_words(), "left unknown");
    assert!(stage.drawn(100, 30).contains("? noted 2   step 2"));
}

#[test]
fn a_step_that_is_not_due_is_confirmed_only_when_that_is_meant() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    stage.does(Action::Confirm);
    stage.act(Action::Right);
    assert_eq!(stage.hint(), "next: press left to go on to step 1, which is due");
    let asked = stage.act(Action::Confirm);
    let Outcome::Wants(Intent::Ask(question, effect)) = asked else { panic!("{asked:?}") };
    assert_eq!(question, "Step 1 step 1 is due. Confirm 2 step 2 before it, as shown: unknown?");
    // Whoever means it goes on from there.
    stage.panel.agreed(&effect);
    stage.records(Outcome::Wants(Intent::Do(effect)));
    assert!(stage.drawn(100, 30).contains("> now   3   step 3"));
}

#[test]
fn a_step_that_becomes_due_while_another_one_is_read_does_not_take_its_place() {
    let mut stage = Stage::after(Trouble::None, 5);
    stage.does(Action::Confirm);
    stage.does(Action::Confirm);
    stage.does(Action::Confirm);
    let third = |stage: &mut Stage| stage.drawn(100, 30).contains("question 3?");
    assert!(third(&mut stage));
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: press e to write the report");
    stage.world.trouble = Trouble::FullLink;
    stage.world.run(20);
    assert!(third(&mut stage), "what is read stays");
    assert_eq!(stage.hint(), "next: press left to go on to step 1, which has become bad");
    assert!(stage.drawn(100, 30).contains("! redo  1   step 1"));
    stage.act(Action::Left);
    stage.act(Action::Left);
    assert!(stage.drawn(100, 30).contains("confirmed good; it is bad now: v answers anew"));
    let ActKind::Step(step) = stage.does(Action::Confirm) else { panic!("no step") };
    assert_eq!((step.step.as_str(), step.found), ("1", Found::Bad));
}

#[test]
fn a_bad_step_at_a_victim_leads_to_whoever_is_accused_first_and_says_so() {
    use headwater_engine::runbook::Check;
    let mut stage = Stage::after(Trouble::FullLink, 20);
    for runbook in &mut stage.library.runbooks {
        runbook.steps.swap(0, 1);
        let first = &mut runbook.steps[0];
        first.checks =
            vec![Check { expect: Some("redis.answer_time < 0.01 ms".to_owned()), ..Check::default() }];
        first.bad_leads_to = Some("3".to_owned());
    }
    stage.does(Action::Confirm);
    assert_eq!(
        stage.hint(),
        "next: press v to confirm what is shown: bad; then step 1, step 1: accused first"
    );
    stage.does(Action::Confirm);
    assert!(stage.drawn(100, 30).contains("> now   1   step 1"));
}
