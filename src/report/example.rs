//! A snapshot with everything in it, for the tests of the report's forms.

use headwater_engine::metric::Unit;
use headwater_engine::reading::{ActKind, Fault, FaultKind, Node, NodeHealth, OperatorAct, Shard, Topology};
use headwater_engine::report::{
    BaselineFrom, Conclusion, Confidence, Cost, Evidence, Exonerated, KeyEvidence, Link, Report, Rival, Role,
    SCHEMA, Shape, ShapeKind, Since, SubjectVerdict, Suspect, Symptom, Unjudged, Verdict,
};
use headwater_engine::snapshot::SourceState;
use headwater_engine::{Moment, RemoteText, Snapshot, Subject};

/// 14:07:05 on some day.
pub(super) const AT: Moment = Moment(50_825_000);

pub(super) fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

fn number(metric: &str, value: f64, unit: Unit) -> Evidence {
    Evidence { metric: metric.into(), value, unit, limit: None, baseline: None, baseline_from: None, at: AT }
}

fn act(at: i64, kind: ActKind) -> OperatorAct {
    OperatorAct { at: Moment(at), kind }
}

/// The incident of the design's own example.
pub(crate) fn incident() -> Snapshot {
    let since = Since { at: Moment(50_815_000), before: true };
    let link = |text: &str| Link { subject: subject("redis/features#2"), text: text.into() };
    let row = |name: &str, verdict, reason: &str, age_s| SubjectVerdict {
        subject: subject(name),
        verdict,
        reason: reason.into(),
        age_s,
    };
    let sentence = "23.9 MB/s out, flat at the link (25 MB/s); answers in 41 ms, peers 0.7 ms";
    let suspect = Suspect {
        subject: subject("redis/features#2"),
        rule: "shard-bandwidth".into(),
        role: Role::Trigger,
        confidence: Confidence::High,
        verdict: Verdict::Guilty,
        since,
        until: None,
        unseen_since: None,
        sentence: sentence.into(),
        rivals: vec![Rival {
            rule: "network-path".into(),
            told_by: "bytes at the limit on this node only".into(),
        }],
        explains: vec!["slow-to-answer".into()],
        evidence: vec![Evidence {
            limit: Some(17.5e6),
            baseline: Some(25e6),
            baseline_from: Some(BaselineFrom::Declared),
            ..number("redis.net.output", 23.9e6, Unit::BytesPerSecond)
        }],
        keys: vec![KeyEvidence {
            key: "user:profile:8812|`x`".into(),
            bytes: Some(1_800_000),
            slot: Some(5_333),
            shard: subject("redis/features#2"),
            what: "big string".into(),
        }],
    };
    let report = Report {
        schema: SCHEMA,
        name: "ranker-prod".into(),
        at: AT,
        conclusion: Conclusion::Guilty,
        shape: Shape { kind: ShapeKind::SlowOnly, sentence: "p99 2.41 s, errors 0 %".into() },
        symptom: Some(Symptom {
            subject: subject("service/ranker"),
            evidence: number("http.server.request.duration", 2.41, Unit::Seconds),
            since,
            sentence: "p99 2.41 s, objective 500 ms".into(),
        }),
        verdicts: vec![
            row("redis/features#2", Verdict::Guilty, sentence, Some(0.4)),
            row("gpu/ranker", Verdict::Unknown, "no source", None),
            row("redis/features#0", Verdict::Innocent, "97.6 kB/s, 0.39 % of its link", Some(12.0)),
        ],
        suspects: vec![suspect],
        chain: vec![
            link("p99 2.41 s"),
            link("feature load mean 1.6 s (70 % of all stages)"),
            link("#2 link full"),
        ],
        exonerated: ["redis/features#0", "redis/features#1"]
            .map(|name| Exonerated { subject: subject(name), by: vec!["shard-hot".into(), "big-key".into()] })
            .into(),
        unknown: vec![Unjudged { subject: subject("gpu/ranker"), missing: "no source".into() }],
        next_step: "confirm the keys, then cache them for 30 s near the reader".into(),
        history: vec![],
        cost: Cost { redis_commands_per_node_per_s: 2.0, bytes_per_s: 54_100.0 },
        breakdown: None,
        loops: vec![],
        notes: vec![],
    };
    let shard = subject("redis/features#2");
    let node = Node {
        subject: shard.instance("10.0.3.14:6379"),
        id: "a".into(),
        primary: true,
        health: NodeHealth::Online,
    };
    let fault = Fault { kind: FaultKind::Unreachable, message: "connection refused: start it".into() };
    Snapshot {
        topologies: [Topology {
            cluster: subject("redis/features"),
            clustered: true,
            shards: vec![Shard { subject: shard, slots: vec![], nodes: vec![node] }],
        }]
        .into(),
        sources: [SourceState {
            source: subject("client/load@127.0.0.1:9"),
            last_data: None,
            every: None,
            late_since: None,
            fault: Some((AT, fault)),
            dialects: vec![],
            unavailable: vec![("SLOWLOG".into(), "the ACL user may not".into())],
            offers: vec![],
            listed: None,
        }]
        .into(),
        acts: [
            act(50_820_000, ActKind::Note("cache |off|".into())),
            act(50_823_000, ActKind::Mark(RemoteText::new(""))),
        ]
        .into(),
        ..Snapshot::of(report)
    }
}
