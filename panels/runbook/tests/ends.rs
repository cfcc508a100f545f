//! The end of the way: while callers suffer the next action, and then the report.

use headwater_engine::runbook::{Asks, Check, Step};

use super::*;

/// A walk that asks at its end whether callers have recovered, begun and answered up to there.
fn at_the_end(trouble: Trouble) -> Stage {
    let mut stage = Stage::after(trouble, 20);
    for runbook in &mut stage.library.runbooks {
        let check =
            Check { asks: Some(Asks::Recovery), says: "callers are well".to_owned(), ..Check::default() };
        let last = runbook.steps[1].clone();
        runbook.steps.push(Step {
            id: "4".to_owned(),
            title: "Verify".to_owned(),
            checks: vec![check],
            golden: None,
            bad_leads_to: None,
            ..last
        });
        runbook.steps[0].bad_leads_to = Some("3".to_owned());
    }
    stage.does(Action::Confirm);
    stage.does(Action::Confirm);
    stage
}

#[test]
fn while_callers_suffer_the_next_action_is_named_until_none_is_left_and_then_the_report() {
    let mut stage = at_the_end(Trouble::FullLink);
    stage.does(Action::Done);
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: wait a minute, or press v to confirm: not yet; then step 3, action 2");
    assert!(!stage.drawn(80, 24).contains("all in"), "it burns");
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: it is not over: press left for step 3, and take action 2");
    assert!(stage.drawn(100, 24).contains("not over after 0:0"), "{}", stage.drawn(100, 24));
    stage.act(Action::Left);
    assert!(stage.drawn(100, 30).contains("> do 2"), "{}", stage.drawn(100, 30));
    assert_eq!(stage.hint(), "next: press d to record that you did action 2; Headwater does nothing itself");
    let ActKind::Remedy { text, .. } = stage.does(Action::Done) else { panic!("no action") };
    assert_eq!(text.as_str(), "unlink user:profile:8812");
    // Whether that helped is asked again.
    assert_eq!(stage.hint(), "next: press right to go on to step 4, which is due");
    stage.act(Action::Right);
    assert_eq!(stage.hint(), "next: wait a minute, or press v to confirm: not yet");
    stage.does(Action::Confirm);
    assert_eq!(
        stage.hint(),
        "next: press e to write the report; no action is left; step 2 is left open (left 2 times)"
    );
    let written = stage.world.snapshot().acts_until();
    stage.panel.written("written to this folder: headwater-ranker.md and .json", written);
    let told = "next: press q to leave; the report is written to this folder: headwater-ranker.md and .json";
    assert_eq!(stage.hint(), told);
    // Nothing is cut where it needs a second row.
    let narrow = stage.drawn(80, 24);
    assert!(narrow.contains("next: press q to leave") && narrow.contains("and .json"), "{narrow}");
    // The key that is named leads there.
    stage.act(Action::Left);
    stage.act(Action::Left);
    assert!(stage.drawn(100, 30).contains("question 2?"));
    // What is answered now does not stand in that report.
    let before = stage.world.snapshot().acts_until();
    stage.does(Action::Confirm);
    assert_eq!(stage.hint(), "next: press e to write the report; no action is left");
    // Nor does what was answered while it was being written.
    stage.panel.written("written to this folder: headwater-ranker.md and .json", before);
    assert_eq!(stage.hint(), "next: press e to write the report; no action is left");
}

#[test]
fn every_hint_is_whole_at_80_columns() {
    let mut stage = at_the_end(Trouble::FullLink);
    let keys = [
        Action::Done,
        Action::Confirm,
        Action::Confirm,
        Action::Left,
        Action::Done,
        Action::Right,
        Action::Confirm,
    ];
    for key in keys {
        let (wide, narrow) = (stage.drawn(200, 30), stage.drawn(80, 24));
        let whole = wide.lines().last().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<&str> = narrow.lines().skip_while(|row| !row.starts_with("next: ")).collect();
        let told = rows.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(told, whole);
        if matches!(key, Action::Left | Action::Right) { drop(stage.act(key)) } else { drop(stage.does(key)) }
    }
}

#[test]
fn the_bad_checks_of_a_step_are_read_first() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    let full = stage.library.runbooks[1].steps[0].checks[0].clone();
    let of = |expect: &str| Check { expect: Some(expect.to_owned()), rules: vec![], ..full.clone() };
    for runbook in &mut stage.library.runbooks {
        runbook.steps[0].checks =
            vec![of("redis.answer_time < 1 s"), of("gpu.utilization < 90 %"), full.clone()];
    }
    let screen = stage.drawn(100, 40);
    let place = |label: &str| screen.find(label).unwrap_or_else(|| panic!("'{label}' in\n{screen}"));
    assert!(place("X bad ") < place("? unknown") && place("? unknown") < place("o good"), "{screen}");
}

#[test]
fn a_scan_is_let_begin_from_any_step_of_the_accused_shard() {
    let mut stage = Stage::after(Trouble::FullLink, 20);
    let asked = |stage: &mut Stage| stage.act(Action::Scan);
    let Outcome::Wants(Intent::Ask(_, Effect::Scan(shard))) = asked(&mut stage) else { panic!("not asked") };
    assert_eq!(shard.as_str(), "redis/features#2");
    let mut calm = Stage::after(Trouble::None, 20);
    refused(asked(&mut calm), "a scan would tell nothing more");
}
