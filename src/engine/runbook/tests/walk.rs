//! How far somebody has come, the clock, and what can be done.

use super::*;

fn act(seconds_ago: i64, kind: ActKind) -> OperatorAct {
    OperatorAct { at: before(seconds_ago), kind }
}

fn begun(seconds_ago: i64, id: &str) -> OperatorAct {
    act(seconds_ago, ActKind::Runbook(id.into()))
}

fn answer(seconds_ago: i64, step: &str, answer: StepAnswer, found: Found) -> OperatorAct {
    let (runbook, title) = ("walk".into(), "a step".into());
    act(
        seconds_ago,
        ActKind::Step(StepAct { runbook, step: step.into(), title, answer, found, seen: vec![] }),
    )
}

/// Steps 1 to 4, of which a bad 2 leads to 4.
fn walk() -> Runbook {
    let step = |id: &str, golden| Step {
        id: id.to_owned(),
        title: id.to_owned(),
        bad_leads_to: (id == "2").then(|| "4".to_owned()),
        golden,
        checks: vec![of_rules(&["shard-hot"])],
        ..Step::default()
    };
    let steps = vec![
        step("1", Some(Piece::Scope)),
        step("2", Some(Piece::Component)),
        step("3", Some(Piece::Component)),
        step("4", Some(Piece::Stop)),
    ];
    Runbook { id: "walk".to_owned(), steps, ..Runbook::default() }
}

/// A moment at which each step's check passes.
fn well() -> Snapshot {
    with_rules(vec![rule("shard-hot", "redis/a#1", "clear", "6 % busy")])
}

fn walked(acts: Vec<OperatorAct>) -> Progress {
    progress(&walk(), &Snapshot { acts: acts.into(), ..well() })
}

#[test]
fn progress_follows_from_the_acts_the_latest_answer_of_each_step_counts() {
    use StepAnswer::{Confirmed, Overridden, Reopened, Skipped};
    let standings =
        |progress: &Progress| -> Vec<&str> { (0..4).map(|place| progress.standing(place).word()).collect() };
    let fresh = walked(vec![]);
    assert_eq!((fresh.began, fresh.due), (None, Some(0)));
    assert_eq!(standings(&fresh), ["open"; 4]);
    let all = vec![
        begun(100, "walk"),
        answer(90, "1", Confirmed, Found::Good),
        answer(80, "2", Confirmed, Found::Bad),
    ];
    let led = walked(all.clone());
    assert_eq!((led.began, led.due, led.open()), (Some(before(100)), Some(3), 2));
    assert_eq!(standings(&led), ["done", "bad", "open", "now"]);
    // An answer that is taken back is due again.
    let back = walked([all.clone(), vec![answer(70, "2", Reopened, Found::Unknown)]].concat());
    assert_eq!((back.due, standings(&back)), (Some(1), vec!["done", "now", "open", "open"]));
    let over = walked(
        [
            all.clone(),
            vec![
                answer(60, "4", Overridden("by hand".into()), Found::Unknown),
                answer(50, "3", Skipped("no time".into()), Found::Unknown),
            ],
        ]
        .concat(),
    );
    assert_eq!((over.due, standings(&over)), (None, vec!["done", "bad", "skip", "noted"]));
    // Another runbook's acts are not this one's, and a new beginning starts anew.
    let other = walked([vec![begun(100, "other")], all.clone()].concat());
    assert_eq!(standings(&other), ["done", "bad", "open", "now"]);
    let anew = walked([all, vec![begun(10, "walk")]].concat());
    assert_eq!((anew.began, standings(&anew)), (Some(before(10)), vec!["now", "open", "open", "open"]));
}

#[test]
fn a_victim_does_not_end_the_search_whoever_is_accused_first_is_asked_about_before_it_ends() {
    use StepAnswer::Confirmed;
    let mut walk = walk();
    walk.steps[1].checks = vec![of_rules(&["retry-storm"])];
    let gpu = Check { on: Some("gpu/*".to_owned()), ..of_rules(&["gpu-memory-full"]) };
    walk.steps[2].checks = vec![gpu];
    let due = |accused: Suspect, more: &[OperatorAct]| {
        let bad = [begun(100, "walk"), answer(80, "2", Confirmed, Found::Bad)];
        progress(&walk, &Snapshot { acts: [&bad, more].concat().into(), ..accusing(vec![accused]) }).due
    };
    let gpu = || suspect("gpu/host-a:0", "gpu-memory-full", &[], None);
    let callers = || suspect("client/load", "retry-storm", &[], None);
    assert_eq!(due(gpu(), &[]), Some(2), "the callers suffer");
    assert_eq!(due(callers(), &[]), Some(3), "it is the callers themselves");
    assert_eq!(due(suspect("service/a", "gpu-memory-full", &[], None), &[]), Some(3), "nobody asks about it");
    assert_eq!(due(gpu(), &[answer(70, "3", Confirmed, Found::Bad)]), Some(3), "it was asked about");
    assert_eq!(due(gpu(), &[answer(70, "1", Confirmed, Found::Bad)]), Some(2), "the first step ends nothing");
}

#[test]
fn an_answer_that_was_given_before_it_became_bad_is_to_be_given_anew() {
    use StepAnswer::{Confirmed, Overridden};
    let bad = || with_rules(vec![rule("shard-hot", "redis/a#1", "firing", "90 % busy")]);
    let standings = |answers: Vec<OperatorAct>, snapshot: Snapshot| {
        let all = progress(&walk(), &Snapshot { acts: answers.into(), ..snapshot });
        let words = (0..4).map(|place| all.standing(place).word());
        (words.collect::<Vec<_>>(), all.due, all.open())
    };
    let answers = || {
        let good = |step| answer(90, step, Confirmed, Found::Good);
        let unknown = answer(80, "2", Confirmed, Found::Unknown);
        let noted = answer(70, "3", Overridden("it is by intent".into()), Found::Good);
        vec![begun(100, "walk"), good("1"), unknown, noted]
    };
    assert_eq!(standings(answers(), well()), (vec!["done", "noted", "noted", "now"], Some(3), 1));
    // What is asked next stays so; what was seen before the fault is asked again before the end.
    assert_eq!(standings(answers(), bad()), (vec!["redo", "redo", "noted", "now"], Some(3), 3));
    let last = || answer(60, "4", Confirmed, Found::Bad);
    let all = || [answers(), vec![last()]].concat();
    assert_eq!(standings(all(), bad()), (vec!["redo", "redo", "noted", "bad"], Some(0), 2));
    let anew = |step| answer(50, step, Confirmed, Found::Bad);
    let done = [all(), vec![anew("1"), anew("2")]].concat();
    assert_eq!(standings(done, bad()), (vec!["bad", "bad", "noted", "bad"], None, 0));
    // Its piece of the golden minutes is not done either.
    let snapshot = Snapshot { acts: answers().into(), ..bad() };
    let clock = clock(&walk(), &progress(&walk(), &snapshot), NOW).unwrap();
    assert_eq!(clock.pieces[0], (Piece::Scope, None));
}

#[test]
fn what_is_recorded_says_what_the_checks_said() {
    let snapshot = with_rules(vec![rule("shard-hot", "redis/a#1", "firing", "90 % busy")]);
    let told = progress(&walk(), &snapshot).act(&walk(), 1, StepAnswer::Confirmed).unwrap();
    let ActKind::Step(act) = told else { panic!("{told:?}") };
    assert_eq!((act.step.as_str(), act.found), ("2", Found::Bad));
    assert_eq!(act.seen[0].as_str(), "redis/a#1: 90 % busy; good would be: it is so");
}

#[test]
fn the_clock_tells_the_pieces_that_are_done_and_is_quiet_after_five_minutes() {
    use StepAnswer::{Confirmed, Skipped};
    let clock_at = |acts: Vec<OperatorAct>| {
        let snapshot = Snapshot { acts: acts.into(), ..quiet() };
        clock(&walk(), &progress(&walk(), &snapshot), NOW)
    };
    assert_eq!(clock_at(vec![]), None);
    let told = clock_at(vec![
        begun(100, "walk"),
        answer(90, "1", Confirmed, Found::Good),
        answer(80, "2", Confirmed, Found::Good),
    ])
    .unwrap();
    assert_eq!(told.left.map(|left| left.as_secs()), Some(200));
    let seconds = |clock: &Clock| -> Vec<(&str, Option<u64>)> {
        clock.pieces.iter().map(|(piece, done)| (piece.word(), done.map(|done| done.as_secs()))).collect()
    };
    // A component that was looked at and is well is not the component that was looked for.
    assert_eq!(seconds(&told), [("scope", Some(10)), ("component", None), ("stop", None)]);
    let all = vec![
        begun(400, "walk"),
        answer(390, "1", Skipped("known".into()), Found::Unknown),
        answer(380, "2", Confirmed, Found::Bad),
        answer(350, "4", Confirmed, Found::Good),
    ];
    let told = clock_at(all).unwrap();
    // Who skips a piece has not done it, nor who leaves it unknown.
    assert_eq!((told.left, told.is_done()), (None, false));
    let unknown = clock_at(vec![begun(100, "walk"), answer(90, "1", Confirmed, Found::Unknown)]).unwrap();
    assert_eq!(unknown.pieces[0], (Piece::Scope, None));
    assert_eq!(seconds(&told), [("scope", None), ("component", Some(20)), ("stop", Some(50))]);
}

#[test]
fn an_action_counts_from_the_beginning_of_the_runbook_on() {
    let done =
        |seconds| act(seconds, ActKind::Remedy { subject: subject("redis/a#2"), text: "cache it".into() });
    let with = |acts: Vec<OperatorAct>| Snapshot { acts: acts.into(), ..quiet() };
    stands(
        &asks(Asks::Action),
        &with(vec![done(90), begun(80, "walk")]),
        Outcome::Failed,
        "no action is recorded yet",
    );
    stands(
        &asks(Asks::Action),
        &with(vec![begun(80, "walk"), done(60), done(30)]),
        Outcome::Passed,
        "14:06:30 UTC redis/a#2: cache it; 1 more",
    );
}

#[test]
fn who_says_that_callers_have_not_recovered_is_asked_again_after_the_next_action_and_once_they_have() {
    use StepAnswer::Confirmed;
    let mut walk = walk();
    walk.steps[3].checks = vec![asks(Asks::Recovery)];
    let taken =
        |seconds| act(seconds, ActKind::Remedy { subject: subject("redis/a#2"), text: "cache it".into() });
    let due = |answered: Found, more: Vec<OperatorAct>| {
        let steps = ["1", "2", "3"].map(|step| answer(90, step, Confirmed, Found::Good));
        let acts =
            [vec![begun(100, "walk")], steps.to_vec(), vec![answer(60, "4", Confirmed, answered)], more];
        progress(&walk, &Snapshot { acts: acts.concat().into(), ..well() }).due
    };
    assert_eq!(due(Found::Bad, vec![]), None);
    assert_eq!(due(Found::Bad, vec![taken(50)]), Some(3));
    assert_eq!(due(Found::Good, vec![taken(50)]), None);
    assert_eq!(due(Found::Bad, vec![taken(50), answer(40, "4", Confirmed, Found::Bad)]), None);
    // Callers are well now.
    let acts = vec![begun(100, "walk"), answer(60, "4", Confirmed, Found::Bad)];
    let p99 = recovering::signal("p99", Some(0.17), 2.4, 64, 0.18);
    let over = Snapshot { acts: acts.into(), ..recovering::after(vec![p99], vec![]) };
    assert_eq!(progress(&walk, &over).due, Some(3));
}
