//! Whatever comes in, the engine does not panic, says no number that is not one, and says the same twice.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{METRICS, MetricName, REQUEST_DURATION};
use headwater_engine::reading::{
    Event, Fault, FaultKind, Input, KeySize, Node, NodeHealth, Reading, Scan, ScanState, Shard, SlowCommand,
    Topology, Value,
};
use headwater_engine::settings::{Component, Settings};
use headwater_engine::{Baselines, Engine, Moment, RemoteText, Subject};
use proptest::collection::vec;
use proptest::prelude::*;

const SUBJECTS: &[&str] = &[
    "redis/features#0@10.0.0.1:6379",
    "redis/features#0@10.0.0.2:6379",
    "redis/features#1@10.0.1.1:6379",
    "redis/features#12@10.0.1.1:6380",
    "redis/features",
    "redis/features-old#0@10.9.0.1:6379",
    "service/ranker@10.1.0.1:8000",
    "service/ranker@10.1.0.2:8000",
    "service/ranker",
    "queue/ranker@10.1.0.1:8000",
    "gpu/ranker@10.1.0.1:8000",
    "client/load@10.2.0.1:9000",
    "gateway/edge",
    "observer/headwater",
    "edge/ranker>redis/features",
];

fn subject() -> impl Strategy<Value = Subject> {
    (0..SUBJECTS.len()).prop_map(|index| SUBJECTS[index].parse().expect("a subject"))
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0..1e3_f64,
        2 => 0.0..1e12_f64,
        1 => prop_oneof![
            Just(f64::NAN),
            Just(f64::INFINITY),
            Just(f64::NEG_INFINITY),
            Just(0.0),
            Just(-1.0),
            Just(f64::MAX),
            Just(f64::MIN_POSITIVE),
        ],
    ]
}

fn metric() -> impl Strategy<Value = MetricName> {
    let known = (0..METRICS.len()).prop_map(|row| MetricName::from(METRICS[row].name.to_owned()));
    prop_oneof![9 => known, 1 => Just(MetricName::from("my_own".to_owned()))]
}

fn histogram() -> impl Strategy<Value = Value> {
    (vec(number(), 0..4), vec(number(), 0..4), number(), proptest::option::of(number())).prop_map(
        |(bounds, counts, count, sum)| {
            let counts = bounds.iter().zip(counts.iter().chain(std::iter::repeat(&0.0)));
            let counts = counts.map(|(_, count)| *count).collect();
            Value::Histogram(Arc::new(Histogram { bounds: bounds.into(), counts, count, sum }))
        },
    )
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![2 => number().prop_map(Value::Gauge), 2 => number().prop_map(Value::Counter), 1 => histogram()]
}

/// Moments that mostly go on, and at times leap back or far ahead.
fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![
        20 => (0_i64..90_000).prop_map(|ms| Moment(1_772_633_160_000 + ms)),
        1 => any::<i64>().prop_map(Moment),
    ]
}

fn topology() -> impl Strategy<Value = Event> {
    (0_usize..4, any::<bool>()).prop_map(|(shards, primary)| {
        let cluster: Subject = "redis/features".parse().expect("a subject");
        let shards = (0..shards).map(|index| {
            let subject = cluster.shard(index);
            let node = |address: &str, primary| Node {
                subject: subject.instance(address),
                id: RemoteText::new(address),
                primary,
                health: NodeHealth::Online,
            };
            let address = format!("10.0.{index}.1:6379");
            Shard {
                nodes: vec![node(&address, primary), node("10.0.0.2:6379", false)],
                slots: vec![(0, 100)],
                subject,
            }
        });
        Event::Topology(Topology { shards: shards.collect(), clustered: true, cluster })
    })
}

fn event() -> impl Strategy<Value = Event> {
    let slow = (any::<u64>(), moment(), 0_u64..100_000, any::<bool>()).prop_map(|(id, at, ms, excluded)| {
        Event::SlowCommand(SlowCommand {
            id,
            at,
            took: Duration::from_millis(ms),
            command: RemoteText::new("HGETALL"),
            key: Some(RemoteText::new("k\x1b[31m")),
            arguments: vec![],
            client: RemoteText::new(""),
            excluded,
        })
    });
    let scan = (any::<u64>(), proptest::option::of(any::<u64>())).prop_map(|(bytes, elements)| {
        let shard: Subject = "redis/features#0".parse().expect("a subject");
        let key = RemoteText::new("big");
        let kind = RemoteText::new("hash");
        Event::Scan(Scan {
            scanned: bytes,
            total: 1,
            state: ScanState::Complete,
            biggest: vec![KeySize { key, slot: Some(3), kind, bytes, elements }],
            ..Scan::begun(shard.clone(), shard.instance("10.0.0.1:6379"))
        })
    });
    prop_oneof![
        4 => topology(),
        2 => moment().prop_map(Event::Late),
        1 => Just(Event::Restarted),
        2 => slow,
        1 => scan,
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    let sample = (subject(), metric(), proptest::option::of("[a-z]{0,3}"), value());
    let fault = prop_oneof![Just(FaultKind::Unreachable), Just(FaultKind::Silent), Just(FaultKind::Auth)];
    (
        subject(),
        moment(),
        proptest::option::of(any::<u64>()),
        vec(sample, 0..24),
        vec(event(), 0..3),
        proptest::option::weighted(0.1, fault),
    )
        .prop_map(|(source, at, source_clock_us, samples, events, fault)| {
            let mut reading = Reading::new(source, at);
            reading.source_clock_us = source_clock_us;
            for (subject, metric, part, value) in samples {
                match part {
                    Some(part) => reading.part(&subject, metric, &part, value),
                    None => reading.sample(&subject, metric, value),
                }
            }
            reading.events = events;
            reading.faults =
                fault.map(|kind| Fault { kind, message: RemoteText::new("it failed") }).into_iter().collect();
            reading
        })
}

fn inputs() -> impl Strategy<Value = Vec<Input>> {
    let input = prop_oneof![3 => reading().prop_map(Input::Reading), 1 => moment().prop_map(Input::Tick)];
    vec(input, 1..60)
}

fn settings(link: Option<f64>) -> Settings {
    let mut redis = Component::new("redis/features".parse().expect("a subject"));
    (redis.has_source, redis.link) = (true, link);
    let mut service = Component::new("service/ranker".parse().expect("a subject"));
    service.depends_on = vec![redis.subject.clone()];
    Settings { components: vec![redis, service], ..Settings::default() }
}

/// The report after all inputs, as users get it.
fn told(inputs: &[Input], settings: &Settings) -> Option<String> {
    let mut engine = Engine::new(settings.clone(), Baselines::default());
    for input in inputs {
        engine.take(input);
    }
    let learned = serde_json::to_string(&engine.learned()).expect("baselines are plain values");
    let report = serde_json::to_string(&engine.snapshot()?.report).expect("a report is plain values");
    Some(report + &learned)
}

/// Every number of the report that can be written; JSON has no word for the others and writes null, so they are
/// looked for before.
fn numbers(report: &headwater_engine::Report) -> Vec<f64> {
    let suspects = report.suspects.iter().flat_map(|suspect| &suspect.evidence);
    let evidence = suspects.chain(report.symptom.iter().map(|symptom| &symptom.evidence));
    let mut numbers: Vec<f64> = evidence
        .flat_map(|row| [Some(row.value), row.limit, row.baseline])
        .chain(report.verdicts.iter().map(|row| row.age_s))
        .flatten()
        .collect();
    numbers.extend([report.cost.redis_commands_per_node_per_s, report.cost.bytes_per_s]);
    numbers
}

#[test]
fn without_buckets_the_mean_is_told_and_no_percentile() {
    let mut engine = Engine::new(settings(None), Baselines::default());
    let source: Subject = SUBJECTS[6].parse().expect("a subject");
    for second in 0..40_u32 {
        let at = Moment(1_772_633_160_000 + i64::from(second) * 1_000);
        let mut reading = Reading::new(source.clone(), at);
        let count = f64::from(second) * 50.0;
        let whole = Histogram { bounds: [].into(), counts: [].into(), count, sum: Some(count * 0.25) };
        reading.sample(&source, REQUEST_DURATION, Value::Histogram(Arc::new(whole)));
        engine.take(&Input::Reading(reading));
        engine.take(&Input::Tick(at));
    }
    let snapshot = engine.snapshot().expect("it ticked");
    let shift =
        snapshot.rules.iter().find(|state| state.rule == "latency-shift").expect("it watches services");
    assert_eq!(shift.state, "unknown");
    assert!(shift.detail.contains("only a mean, 250 ms"), "{}", shift.detail);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_input_is_survived_and_told_in_numbers(
        inputs in inputs(),
        link in proptest::option::of(number()),
    ) {
        let mut engine = Engine::new(settings(link.filter(|link| link.is_finite())), Baselines::default());
        for input in &inputs {
            engine.take(input);
            let Some(snapshot) = engine.snapshot() else { continue };
            let numbers = numbers(&snapshot.report);
            prop_assert!(numbers.iter().all(|number| number.is_finite()), "{:?}", snapshot.report);
            for word in [&snapshot.report.shape.sentence, &snapshot.report.next_step] {
                prop_assert!(!word.contains("NaN") && !word.contains("not a number"), "{word}");
            }
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_report(inputs in inputs()) {
        let settings = settings(None);
        prop_assert_eq!(told(&inputs, &settings), told(&inputs, &settings));
    }
}
