use std::sync::Arc;

use super::*;
use crate::engine::Engine;
use crate::metric::{REDIS_CPU, REDIS_NET_OUT};
use crate::quantity::show;
use crate::reading::{ChangeKind, Event, Input, OperatorAct, Reading, StepAnswer, Value};
use crate::report::{Confidence, Evidence, Role, Since, Suspect, Verdict};
use crate::settings::{Baselines, Settings};
use crate::subject::Subject;

fn versions() -> Versions {
    Versions { headwater: "1.2.3".into(), recorded_by: None }
}

fn node() -> Subject {
    "redis/features#2@10.0.0.3:6379".parse().unwrap()
}

fn act(at: i64, kind: ActKind) -> Input {
    Input::Act(OperatorAct { at: Moment(at), kind })
}

/// Ten minutes of a node whose output rises with time, accused at the end.
fn accused(seconds: i64) -> Snapshot {
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    for second in 0..seconds {
        let mut reading = Reading::new(node(), Moment(second * 1_000));
        reading.sample(&node(), REDIS_CPU, Value::Counter(0.1 * second as f64));
        reading.sample(&node(), REDIS_NET_OUT, Value::Counter(1e6 * second as f64));
        engine.take(&Input::Reading(reading));
        engine.take(&Input::Tick(Moment(second * 1_000 + 100)));
    }
    let mut deploys = Reading::new("change/deploys".parse().unwrap(), Moment(seconds * 1_000));
    for (id, at) in [("long ago", -200_000_000), ("just before", 60_000), ("tomorrow", 86_400_000)] {
        deploys.events.push(Event::Change(Change {
            id: id.into(),
            at: Moment(at),
            component: Some("service/ranker".parse().unwrap()),
            kind: ChangeKind::Deploy,
            title: id.into(),
        }));
    }
    engine.take(&Input::Reading(deploys));
    let step = StepAct {
        runbook: "dependencies-first".into(),
        step: "2".into(),
        title: "shard by shard".into(),
        answer: StepAnswer::Confirmed,
        found: crate::reading::Found::Bad,
        seen: vec!["shard-bandwidth fires".into()],
    };
    engine.take(&act(seconds * 1_000 - 400, ActKind::Note("cache off".into())));
    engine.take(&act(seconds * 1_000 - 500, ActKind::Step(step)));
    engine.take(&Input::Tick(Moment(seconds * 1_000)));
    let snapshot = engine.snapshot().unwrap();
    let mut report = (*snapshot.report).clone();
    let number = |metric: &str| Evidence {
        metric: metric.into(),
        value: 1e6,
        unit: crate::metric::Unit::BytesPerSecond,
        limit: None,
        baseline: None,
        baseline_from: None,
        at: snapshot.at,
    };
    report.suspects = vec![Suspect {
        subject: "redis/features#2".parse().unwrap(),
        rule: "shard-bandwidth".into(),
        role: Role::Trigger,
        confidence: Confidence::High,
        verdict: Verdict::Guilty,
        since: Since { at: Moment(seconds * 1_000 - 60_000), before: false },
        until: None,
        unseen_since: None,
        sentence: "full".into(),
        rivals: vec![],
        explains: vec![],
        evidence: vec![number("redis.net.output"), number("redis.net.output"), number("no such number")],
        keys: vec![],
    }];
    Snapshot { report: Arc::new(report), ..(*snapshot).clone() }
}

#[test]
fn it_begins_five_minutes_before_the_onset_and_holds_what_the_evidence_names_once() {
    let written = WriteUp::of(&accused(600), versions());
    assert_eq!(written.from, Moment(240_000));
    let output: Vec<_> = written.series.iter().filter(|series| series.metric == "redis.net.output").collect();
    assert_eq!(output.len(), 1, "{:?}", written.series.iter().map(|one| &one.metric).collect::<Vec<_>>());
    assert_eq!(output[0].subject, Some(node()));
    assert_eq!(output[0].points.first().unwrap().0, Moment(240_000));
    assert!(output[0].points.iter().all(|(_, value)| show(*value, output[0].unit) == "1 MB/s"));
    assert!(written.series.iter().all(|series| series.metric != "redis.cpu.main_thread"));
}

#[test]
fn of_a_long_incident_each_few_points_are_one() {
    let snapshot = accused(1_400);
    let trace = snapshot.history.trace(&node(), REDIS_NET_OUT, None).unwrap();
    let all = trace.since(Moment(0)).count();
    let mut early = (*snapshot.report).clone();
    early.suspects[0].since.at = Moment(300_000);
    let written = WriteUp::of(&Snapshot { report: Arc::new(early), ..snapshot }, versions());
    let points = &written.series.iter().find(|one| one.metric == "redis.net.output").unwrap().points;
    assert!(all > 1_200 && points.len() <= 600 && points.len() > 300, "{all} {}", points.len());
}

#[test]
fn it_tells_the_story_in_the_order_of_time_with_changes_of_the_last_day() {
    let written = WriteUp::of(&accused(600), versions());
    let story: Vec<(ToldKind, &str)> =
        written.timeline.iter().map(|told| (told.kind, told.text.as_str())).collect();
    assert_eq!(story[0], (ToldKind::Change, "service/ranker: just before"));
    assert_eq!(story[1].0, ToldKind::Verdict);
    assert_eq!(
        story[2..4],
        [(ToldKind::Step, "2 shard by shard: confirmed bad"), (ToldKind::Note, "cache off"),],
    );
    assert!(written.timeline.is_sorted_by_key(|told| told.at));
    assert_eq!(written.changes.len(), 1);
    assert_eq!((written.steps.len(), written.steps[0].at), (1, Moment(599_500)));
}

#[test]
fn it_is_a_triage_with_more_beside_it_and_reads_back() {
    let written = WriteUp::of(&accused(600), versions());
    let text = serde_json::to_string(&written).unwrap();
    let report: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(report, written.report);
    assert_eq!(serde_json::from_str::<WriteUp>(&text).unwrap(), written);
}
