mod actions;
mod changes;
mod recovering;
mod walk;

use super::*;
use crate::engine::Engine;
use crate::metric::{REDIS_ANSWER_TIME, REDIS_FORK_TIME};
use crate::reading::{
    ActKind, Change, ChangeKind, Found, Input, OperatorAct, Reading, StepAct, StepAnswer, Value,
};
use crate::report::{Confidence, KeyEvidence, Role, Since, Suspect, Verdict};
use crate::settings::{Baselines, Settings};
use crate::signal::{SIGNALS, Signal};
use crate::snapshot::{RuleState, Snapshot};
use crate::store::{Caps, Points, Seen};
use crate::subject::Subject;
use crate::time::Moment;

/// 14:07:00 UTC of the first day.
const NOW: Moment = Moment((14 * 3_600 + 7 * 60) * 1_000);

fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

fn before(seconds: i64) -> Moment {
    Moment(NOW.0 - seconds * 1_000)
}

/// Three nodes that answer in so many milliseconds, each told of so many seconds ago, and twice before that.
fn nodes(answers: &[(f64, i64)]) -> Snapshot {
    let answers: Vec<(Vec<f64>, i64)> =
        answers.iter().map(|(answer_ms, age)| (vec![*answer_ms; 3], *age)).collect();
    courses(&answers)
}

/// The same nodes with how each answered from second to second, the newest last.
fn courses(answers: &[(Vec<f64>, i64)]) -> Snapshot {
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    for (place, (course, age)) in answers.iter().enumerate() {
        let node = subject(&format!("redis/features#{place}@10.0.3.{place}:6379"));
        for (ago, answer_ms) in course.iter().rev().enumerate().rev() {
            let mut reading = Reading::new(node.clone(), before(*age + ago as i64));
            reading.sample(&node, REDIS_ANSWER_TIME, Value::Gauge(answer_ms / 1e3));
            reading.sample(&node, REDIS_FORK_TIME, Value::Gauge(0.01));
            engine.take(&Input::Reading(reading));
        }
    }
    engine.take(&Input::Tick(NOW));
    (*engine.snapshot().unwrap()).clone()
}

fn quiet() -> Snapshot {
    nodes(&[])
}

fn expects(expression: &str, on: Option<&str>) -> Check {
    let on = on.map(str::to_owned);
    Check { says: "it is so".to_owned(), expect: Some(expression.to_owned()), on, ..Check::default() }
}

fn of_rules(rules: &[&str]) -> Check {
    let rules = rules.iter().map(|rule| (*rule).to_owned()).collect();
    Check { says: "it is so".to_owned(), rules, ..Check::default() }
}

fn asks(asks: Asks) -> Check {
    Check { says: "it is so".to_owned(), asks: Some(asks), ..Check::default() }
}

#[track_caller]
fn stands(check: &Check, snapshot: &Snapshot, outcome: Outcome, told: &str) {
    let state = evaluate(check, snapshot);
    assert_eq!((state.outcome, state.told.as_str()), (outcome, told));
}

#[test]
fn an_expression_is_told_with_value_limit_and_age_and_never_passes_on_old_numbers() {
    let limit = "redis.answer_time < 5 ms";
    let check = expects(limit, Some("redis/*"));
    stands(
        &check,
        &nodes(&[(0.6, 1), (0.9, 2), (0.7, 1)]),
        Outcome::Passed,
        "redis/features#1@10.0.3.1:6379 redis.answer_time 0.9 ms (2 s old), the worst of 3; limit \
         redis.answer_time < 5 ms",
    );
    stands(
        &check,
        &nodes(&[(0.6, 1), (41.0, 1), (14.0, 1)]),
        Outcome::Failed,
        "redis/features#1@10.0.3.1:6379 redis.answer_time 41 ms (1 s old); it should be redis.answer_time < 5 ms; 1 \
         more",
    );
    stands(
        &check,
        &nodes(&[(0.6, 1), (0.7, 90)]),
        Outcome::Unknown,
        "redis/features#1@10.0.3.1:6379: redis.answer_time is stale: 90 s old",
    );
    // One that is bad is bad, whoever else is not seen.
    assert_eq!(evaluate(&check, &nodes(&[(41.0, 1), (0.7, 90)])).outcome, Outcome::Failed);
    stands(&check, &quiet(), Outcome::Unknown, "no source tells redis.answer_time of redis/*");
    assert_eq!(evaluate(&expects(limit, Some("other/*")), &nodes(&[(0.6, 1)])).outcome, Outcome::Unknown);
    stands(
        &expects("gpu.utilization < 95 %", None),
        &nodes(&[(0.6, 1)]),
        Outcome::Unknown,
        "no source tells gpu.utilization",
    );
    let both = expects("redis.answer_time < 5 ms and redis.fork.last < 200 ms", None);
    assert_eq!(evaluate(&both, &nodes(&[(0.6, 1)])).outcome, Outcome::Passed);
    assert_eq!(evaluate(&expects("nonsense <", None), &nodes(&[(0.6, 1)])).outcome, Outcome::Unknown);
}

#[test]
fn one_hiccup_makes_nothing_bad_and_one_good_answer_nothing_good() {
    let check = expects("redis.answer_time < 5 ms", None);
    let outcome = |course: &[f64]| evaluate(&check, &courses(&[(course.to_vec(), 0)])).outcome;
    assert_eq!(outcome(&[0.6, 0.6, 0.6, 0.6, 10.8]), Outcome::Passed);
    assert_eq!(outcome(&[0.6, 0.6, 0.6, 10.8, 10.8]), Outcome::Passed);
    assert_eq!(outcome(&[0.6, 0.6, 10.8, 10.8, 10.8]), Outcome::Failed);
    assert_eq!(outcome(&[10.8, 10.8, 10.8, 10.8, 0.6]), Outcome::Failed);
    // What was just begun to be looked at is bad once it was bad often enough.
    let told =
        "redis/features#0@10.0.3.0:6379 redis.answer_time 10.8 ms (0 s old), not yet for long enough to say";
    stands(&check, &courses(&[(vec![10.8], 0)]), Outcome::Unknown, told);
    assert_eq!(outcome(&[10.8, 10.8]), Outcome::Unknown);
    assert_eq!(outcome(&[10.8, 10.8, 10.8]), Outcome::Failed);
    assert_eq!(outcome(&[0.6]), Outcome::Passed);
}

fn rule(rule: &'static str, on: &str, state: &'static str, detail: &str) -> RuleState {
    RuleState { rule, subject: subject(on), state, detail: detail.into(), is_blind: state == "unknown" }
}

fn with_rules(rules: Vec<RuleState>) -> Snapshot {
    Snapshot { rules: rules.into(), ..quiet() }
}

#[test]
fn rules_decide_by_the_worst_of_their_subjects_and_are_not_believed_on_what_nobody_sees() {
    let clear = || rule("shard-hot", "redis/a#0", "clear", "6 % busy");
    let check = of_rules(&["shard-hot", "shard-bandwidth"]);
    stands(&check, &with_rules(vec![clear()]), Outcome::Passed, "shard-hot: 6 % busy (redis/a#0)");
    let firing = rule("shard-bandwidth", "redis/a#1", "firing", "24 MB/s");
    stands(&check, &with_rules(vec![clear(), firing.clone()]), Outcome::Failed, "redis/a#1: 24 MB/s");
    let ended = rule("shard-bandwidth", "redis/a#1", "ended", "24 MB/s");
    stands(&check, &with_rules(vec![clear(), ended]), Outcome::Failed, "redis/a#1: 24 MB/s (it has ended)");
    let unknown = |on: &str| rule("shard-hot", on, "unknown", "no answer");
    stands(
        &check,
        &with_rules(vec![clear(), unknown("redis/a#1"), unknown("redis/a#2")]),
        Outcome::Unknown,
        "shard-hot on redis/a#1 #2: no answer",
    );
    let pending = rule("shard-hot", "redis/a#1", "pending", "80 % busy");
    stands(
        &check,
        &with_rules(vec![pending, unknown("redis/a#2")]),
        Outcome::Unknown,
        "shard-hot on redis/a#1: 80 % busy, not yet for long enough to say; 1 more",
    );
    stands(
        &of_rules(&["slow-instance"]),
        &with_rules(vec![clear()]),
        Outcome::Unknown,
        "slow-instance looks at every service instance, from two up, and there is none",
    );
    let only = Check { on: Some("redis/b*".to_owned()), ..check.clone() };
    assert_eq!(evaluate(&only, &with_rules(vec![firing.clone()])).outcome, Outcome::Unknown);
    // Whatever a rule said: of a shard whose data is old it says nothing now.
    let mut old = with_rules(vec![rule("shard-hot", "redis/a#0", "clear", "6 % busy"), firing]);
    let mut report = (*old.report).clone();
    report.verdicts = ["redis/a#0", "redis/a#1"]
        .map(|on| crate::report::SubjectVerdict {
            subject: subject(on),
            verdict: Verdict::Unknown,
            reason: String::new(),
            age_s: Some(40.0),
        })
        .into();
    old.report = std::sync::Arc::new(report);
    stands(&check, &old, Outcome::Unknown, "shard-hot on redis/a#0: data 40 s old; 1 more");
}

#[test]
fn checks_together_are_bad_before_they_are_unknown_and_a_step_without_any_cannot_pass() {
    let state = |outcome| CheckState { outcome, says: String::new(), told: String::new() };
    let all = |outcomes: &[Outcome]| found(&outcomes.iter().map(|one| state(*one)).collect::<Vec<_>>());
    use Outcome::{Failed, Passed, Unknown};
    assert_eq!(all(&[]), Found::Unknown);
    assert_eq!(all(&[Passed, Passed]), Found::Good);
    assert_eq!(all(&[Passed, Unknown]), Found::Unknown);
    assert_eq!(all(&[Unknown, Failed, Passed]), Found::Bad);
}

#[test]
fn changes_of_the_day_before_are_told_and_no_source_is_not_no_change() {
    let at = |hours: i64| Moment(NOW.0 - hours * 3_600_000);
    let change = |hours, title: &str| Change {
        id: title.into(),
        at: at(hours),
        component: Some(subject("service/ranker")),
        kind: ChangeKind::Deploy,
        title: title.into(),
    };
    let unseen = "no source tells of changes: ask who changed what in the last 24 h";
    stands(&asks(Asks::Changes), &quiet(), Outcome::Unknown, unseen);
    let changed = |changes: Vec<Change>| Snapshot { changes: changes.into(), ..quiet() };
    stands(
        &asks(Asks::Changes),
        &changed(vec![change(30, "old"), change(5, "v41"), change(2, "v42")]),
        Outcome::Failed,
        "12:07:00 UTC deploy of service/ranker: v42; 1 more",
    );
    stands(&asks(Asks::Changes), &changed(vec![change(30, "old")]), Outcome::Unknown, unseen);
}

fn suspect(on: &str, rule: &str, explains: &[&str], key: Option<&str>) -> Suspect {
    let keys = key.map(|key| KeyEvidence {
        key: key.into(),
        bytes: Some(1_800_000),
        slot: Some(1),
        shard: subject(on),
        what: "big string".to_owned(),
    });
    Suspect {
        subject: subject(on),
        rule: rule.to_owned(),
        role: Role::Trigger,
        confidence: Confidence::High,
        verdict: Verdict::Guilty,
        since: Since { at: before(60), before: false },
        until: None,
        unseen_since: None,
        sentence: "it is full".to_owned(),
        rivals: vec![],
        explains: explains.iter().map(|rule| (*rule).to_owned()).collect(),
        evidence: vec![],
        keys: keys.into_iter().collect(),
    }
}

fn accusing(suspects: Vec<Suspect>) -> Snapshot {
    let mut snapshot = quiet();
    let mut report = (*snapshot.report).clone();
    report.suspects = suspects;
    snapshot.report = std::sync::Arc::new(report);
    snapshot
}

#[test]
fn runbooks_that_fit_whoever_is_accused_come_first_then_those_that_what_fires_calls_for() {
    let runbook = |id: &str, when: &[&str]| Runbook {
        id: id.to_owned(),
        when: when.iter().map(|rule| (*rule).to_owned()).collect(),
        ..Runbook::default()
    };
    let walk = Runbook {
        steps: vec![Step { checks: vec![of_rules(&["gpu-memory-full"])], ..Step::default() }],
        ..runbook("b", &[])
    };
    let all = [runbook("a", &["self-slow"]), walk, runbook("c", &["shard-hot"])];
    let snapshot = with_rules(vec![
        rule("shard-hot", "redis/a#1", "ended", ""),
        rule("self-slow", "service/a", "unknown", ""),
    ]);
    let ids = |snapshot: &Snapshot| -> Vec<(String, Fit)> {
        ranked(&all, snapshot).iter().map(|runbook| (runbook.id.clone(), fit(runbook, snapshot))).collect()
    };
    let told = |ids: [(&str, Fit); 3]| ids.map(|(id, fit)| (id.to_owned(), fit)).to_vec();
    assert_eq!(ids(&snapshot), told([("c", Fit::Fires), ("b", Fit::Always), ("a", Fit::NoSign)]));
    let accusing = |suspect| Snapshot { report: accusing(vec![suspect]).report, ..snapshot.clone() };
    // A victim's runbook is not what the incident calls for.
    let gpu = accusing(suspect("gpu/host-a:0", "gpu-memory-full", &[], None));
    assert_eq!(ids(&gpu), told([("b", Fit::AtStep(0)), ("c", Fit::Beside), ("a", Fit::NoSign)]));
    let explaining = accusing(suspect("redis/a#1", "shard-bandwidth", &["shard-hot"], None));
    assert_eq!(ids(&explaining), told([("c", Fit::Accused), ("b", Fit::Always), ("a", Fit::NoSign)]));
}
