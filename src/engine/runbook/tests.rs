use super::*;
use crate::engine::Engine;
use crate::metric::{REDIS_ANSWER_TIME, REDIS_FORK_TIME};
use crate::reading::{
    ActKind, Change, ChangeKind, Found, Input, OperatorAct, Reading, StepAct, StepAnswer, Value,
};
use crate::report::{Confidence, KeyEvidence, Role, Since, Suspect, Verdict};
use crate::settings::{Baselines, Settings};
use crate::signal::{SIGNALS, Signal};
use crate::snapshot::RuleState;
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

/// Three nodes that answer in so many milliseconds, each told of so many seconds ago.
fn nodes(answers: &[(f64, i64)]) -> Snapshot {
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    for (place, (answer_ms, age)) in answers.iter().enumerate() {
        let node = subject(&format!("redis/features#{place}@10.0.3.{place}:6379"));
        let mut reading = Reading::new(node.clone(), before(*age));
        reading.sample(&node, REDIS_ANSWER_TIME, Value::Gauge(answer_ms / 1e3));
        reading.sample(&node, REDIS_FORK_TIME, Value::Gauge(0.01));
        engine.take(&Input::Reading(reading));
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

fn rule(rule: &'static str, on: &str, state: &'static str, detail: &str) -> RuleState {
    RuleState { rule, subject: subject(on), state, detail: detail.into() }
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
        checks: vec![asks(Asks::Action)],
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

fn walked(acts: Vec<OperatorAct>) -> Progress {
    progress(&walk(), &Snapshot { acts: acts.into(), ..quiet() })
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
fn what_is_recorded_says_what_the_checks_said() {
    let snapshot = quiet();
    let told = progress(&walk(), &snapshot).act(&walk(), 1, StepAnswer::Confirmed).unwrap();
    let ActKind::Step(act) = told else { panic!("{told:?}") };
    assert_eq!((act.step.as_str(), act.found), ("2", Found::Bad));
    assert_eq!(act.seen[0].as_str(), "it is so: no, no action is recorded yet");
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
    assert_eq!((told.left, told.is_done()), (None, true));
    assert_eq!(seconds(&told), [("scope", Some(10)), ("component", Some(20)), ("stop", Some(50))]);
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
fn actions_fit_the_culprit_and_those_that_can_be_taken_back_come_first() {
    let remedy = |id: &str, reversible, against: &[&str]| Remedy {
        id: id.to_owned(),
        text: format!("{id} {{key}} on {{shard}}"),
        command: Some("redis-cli UNLINK {key}".to_owned()),
        reversible,
        against: against.iter().map(|rule| (*rule).to_owned()).collect(),
        ..Remedy::default()
    };
    let remedies = [
        remedy("split", false, &["big-key"]),
        remedy("always", true, &[]),
        remedy("cache", true, &["shard-bandwidth"]),
        remedy("shed", true, &["queue-not-compute"]),
        remedy("roll-back", true, &["self-slow"]),
    ];
    let ids = ["split", "always", "cache", "shed", "roll-back", "gone"].map(str::to_owned);
    let step = Step { remedies: ids.into(), ..Step::default() };
    let offered = |snapshot: &Snapshot| -> Vec<String> {
        offers(&step, &remedies, snapshot).iter().map(|offer| offer.text()).collect()
    };
    assert_eq!(
        offered(&quiet()),
        ["always the key that is still to be named on the shard that is still to be named"]
    );
    let full = accusing(vec![
        suspect("redis/a#2", "shard-bandwidth", &["slow-to-answer", "big-key"], Some("user:profile:8812")),
        suspect("service/ranker", "self-slow", &[], None),
    ]);
    assert_eq!(
        offered(&full),
        [
            "cache user:profile:8812 on #2",
            "split user:profile:8812 on #2",
            "roll-back the key that is still to be named on the shard that is still to be named",
            "always user:profile:8812 on #2",
        ]
    );
    let first = &offers(&step, &remedies, &full)[0];
    assert_eq!(first.command().unwrap().unwrap(), "redis-cli UNLINK user:profile:8812");
    assert_eq!(first.culprit.as_ref().unwrap().subject, subject("redis/a#2"));
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

/// A signal with this value from so many seconds ago on, and another one before.
fn signal(name: &str, usual: Option<f64>, earlier: f64, since: i64, now: f64) -> Signal {
    let row = SIGNALS.iter().find(|row| row.name == name).unwrap();
    let mut points = Points::default();
    for ago in (0..=120).rev() {
        let value = if ago > since { earlier } else { now };
        points.push(before(ago), value, Caps::beside(1 << 20, 8));
    }
    Signal { row, now: Some(Seen { value: now, at: NOW }), sign: "", usual, trace: points.trace().clone() }
}

/// An incident that was seen, and what callers have now.
fn after(signals: Vec<Signal>, suspects: Vec<Suspect>) -> Snapshot {
    let mut snapshot = accusing(suspects);
    snapshot.timeline = nodes_in_trouble().timeline;
    Snapshot { signals, ..snapshot }
}

/// A timeline in which somebody was guilty.
fn nodes_in_trouble() -> Snapshot {
    let mut snapshot = quiet();
    let mut frame = snapshot.timeline.frames().next().unwrap().clone();
    let mut report = (*snapshot.report).clone();
    report.suspects = vec![suspect("redis/a#2", "shard-bandwidth", &[], None)];
    frame.at = before(100);
    frame.report = std::sync::Arc::new(report);
    snapshot.timeline = crate::timeline::Timeline::default();
    snapshot.timeline.push(frame);
    snapshot
}

#[test]
fn recovery_needs_a_minute_of_what_is_usual_and_no_cause_that_still_acts() {
    let p99 = |since, now| signal("p99", Some(0.17), 2.4, since, now);
    let errors = |now| signal("errors", Some(0.001), 0.023, 90, now);
    let told = |snapshot: &Snapshot| recovery(snapshot).sentence();
    assert_eq!(
        told(&after(vec![p99(64, 0.18), errors(0.001)], vec![])),
        "recovered since 14:05:56 (p99 180 ms, usual 170 ms; errors 0.1 %, usual 0.1 %, for 64 s)"
    );
    assert_eq!(
        told(&after(vec![p99(24, 0.18)], vec![])),
        "not yet: p99 180 ms, usual 170 ms for 24 s of 60 s"
    );
    assert_eq!(told(&after(vec![p99(200, 0.3)], vec![])), "not yet: p99 300 ms, usual 170 ms");
    assert_eq!(
        told(&after(vec![p99(64, 0.18), errors(0.02)], vec![])),
        "not yet: p99 180 ms, usual 170 ms; errors 2 %, usual 0.1 %"
    );
    let still = suspect("redis/a#2", "shard-bandwidth", &[], None);
    assert_eq!(
        told(&after(vec![p99(64, 0.18)], vec![still.clone()])),
        "not yet: callers are well since 14:05:56, but shard-bandwidth still fires on redis/a#2"
    );
    let ended = Suspect { until: Some(before(50)), ..still };
    assert!(told(&after(vec![p99(64, 0.18)], vec![ended])).starts_with("recovered since"));
}

#[test]
fn recovery_is_not_said_of_what_nobody_sees() {
    assert_eq!(recovery(&after(vec![], vec![])).sentence(), "unknown: no source shows what callers see now");
    let unusual = after(vec![signal("p99", None, 2.4, 64, 0.18)], vec![]);
    assert!(
        matches!(recovery(&unusual), Recovery::Unknown(told) if told.contains("no objective is declared"))
    );
    let mut declared = unusual.clone();
    let mut settings = (*declared.settings).clone();
    let mut service = crate::settings::Component::new(subject("service/ranker"));
    service.objective_p99 = Some(std::time::Duration::from_millis(500));
    settings.components.push(service);
    declared.settings = std::sync::Arc::new(settings);
    assert_eq!(
        recovery(&declared).sentence(),
        "recovered since 14:05:56 (p99 180 ms, objective 500 ms, for 64 s)"
    );
    // A gap in what was seen is no calm.
    let mut gap = signal("p99", Some(0.17), 2.4, 120, 0.18);
    let mut points = Points::default();
    for ago in (0..=120).rev().filter(|ago| !(20..50).contains(ago)) {
        points.push(before(ago), 0.18, Caps::beside(1 << 20, 8));
    }
    gap.trace = points.trace().clone();
    assert_eq!(
        recovery(&after(vec![gap], vec![])).sentence(),
        "not yet: p99 180 ms, usual 170 ms for 19 s of 60 s"
    );
    assert!(matches!(recovery(&quiet()), Recovery::Unknown(_)));
    let calm = Snapshot { signals: vec![signal("p99", Some(0.17), 0.17, 120, 0.17)], ..quiet() };
    assert!(matches!(recovery(&calm), Recovery::Calm(_)));
}

#[test]
fn runbooks_that_what_fires_calls_for_come_first() {
    let runbook = |id: &str, when: &[&str]| Runbook {
        id: id.to_owned(),
        when: when.iter().map(|rule| (*rule).to_owned()).collect(),
        ..Runbook::default()
    };
    let all = [runbook("a", &["self-slow"]), runbook("b", &[]), runbook("c", &["shard-hot"])];
    let snapshot = with_rules(vec![
        rule("shard-hot", "redis/a#1", "ended", ""),
        rule("self-slow", "service/a", "unknown", ""),
    ]);
    let ids: Vec<&str> = ranked(&all, &snapshot).iter().map(|runbook| runbook.id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
}
