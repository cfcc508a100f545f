use headwater_engine::metric::Unit;
use headwater_engine::reading::{Node, NodeHealth, Shard, Topology};
use headwater_engine::report::{
    Confidence, Cost, Evidence, Exonerated, KeyEvidence, Link, Rival, Role, SCHEMA, Shape, ShapeKind, Since,
    SubjectVerdict, Symptom, Unjudged, Verdict,
};
use headwater_engine::{Moment, Subject};
use headwater_widgets::Glyphs;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

const AT: Moment = Moment(14 * 3_600_000 + 7 * 60_000 + 20_000);

fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

fn incident() -> Snapshot {
    let shard = subject("redis/features#2");
    let since = Since { at: Moment(AT.0 - 25_000), before: true };
    let evidence = Evidence {
        metric: "http.server.request.duration".into(),
        value: 2.41,
        unit: Unit::Seconds,
        limit: None,
        baseline: None,
        baseline_from: None,
        at: AT,
    };
    let suspect = Suspect {
        subject: shard.clone(),
        rule: "shard-bandwidth".into(),
        role: Role::Trigger,
        confidence: Confidence::High,
        verdict: Verdict::Guilty,
        since,
        until: None,
        sentence: "23.9 MB/s out, flat at its link of 25 MB/s; answers in 41 ms, peers in 0.7 ms".into(),
        rivals: vec![Rival {
            rule: "network-path".into(),
            told_by: "bytes at the limit on this node only".into(),
        }],
        explains: vec![],
        evidence: vec![],
        keys: vec![KeyEvidence {
            key: "user:profile:8812".into(),
            bytes: Some(1_800_000),
            slot: Some(5_474),
            shard: shard.clone(),
            what: "read 13 times a second".into(),
        }],
    };
    let other = Suspect {
        subject: subject("redis/features"),
        rule: "hit-but-slow".into(),
        confidence: Confidence::Low,
        verdict: Verdict::Suspect,
        since: Since { at: Moment(AT.0 - 5_000), before: false },
        sentence: "98.5 % hits, and reads take 520 ms".into(),
        rivals: vec![],
        keys: vec![],
        ..suspect.clone()
    };
    let report = Report {
        schema: SCHEMA,
        name: "ranker-prod".into(),
        at: AT,
        conclusion: Conclusion::Guilty,
        shape: Shape {
            kind: ShapeKind::SlowOnly,
            sentence: "p99 2.41 s, 13x its healthy 0.18 s; errors 0 %".into(),
        },
        symptom: Some(Symptom {
            subject: subject("service/ranker"),
            evidence,
            since,
            sentence: "service/ranker: 99 % of requests take up to 2.41 s".into(),
        }),
        verdicts: [
            ("redis/features#2", Verdict::Guilty, "its link is full"),
            ("redis/features", Verdict::Guilty, "its shard #2 is guilty"),
            ("gpu/ranker", Verdict::Unknown, "no source"),
            ("queue/ranker", Verdict::Innocent, "clear of queue-not-compute"),
        ]
        .map(|(name, verdict, reason)| SubjectVerdict {
            subject: subject(name),
            verdict,
            reason: reason.into(),
            age_s: Some(0.4),
        })
        .into(),
        suspects: vec![suspect, other],
        chain: [
            ("service/ranker", "p99 2.41 s"),
            ("service/ranker", "feature_load 1.6 s (70 %)"),
            ("redis/features", "GET 520 ms"),
            ("redis/features#2", "#2 link full"),
        ]
        .map(|(at, text)| Link { subject: subject(at), text: text.into() })
        .into(),
        exonerated: ["redis/features#0", "redis/features#1", "queue/ranker"]
            .map(|name| Exonerated { subject: subject(name), by: vec!["shard-hot".into()] })
            .into(),
        unknown: vec![Unjudged { subject: subject("gpu/ranker"), missing: "no source".into() }],
        next_step: "confirm the keys, then keep the hot ones in the service for 30 s".into(),
        cost: Cost::default(),
    };
    let node = Node {
        subject: shard.instance("10.0.3.14:6379"),
        id: "n2".into(),
        primary: true,
        health: NodeHealth::Online,
    };
    let topology = Topology {
        cluster: subject("redis/features"),
        clustered: true,
        shards: vec![Shard { subject: shard, slots: vec![], nodes: vec![node] }],
    };
    Snapshot { topologies: [topology].into(), ..Snapshot::of(report) }
}

fn drawn(snapshot: &Snapshot, palette: Palette, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| frame.render_widget(Overview::new(snapshot, &palette), frame.area())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_incident_at_80x24() {
    insta::assert_snapshot!(drawn(&incident(), Palette::mono(Glyphs::Unicode), 80, 24), @r#"
    X INCIDENT   14:07:20 UTC   ranker-prod
    shape      slow only: p99 2.41 s, 13x its healthy 0.18 s; errors 0 %
    symptom    service/ranker: 99 % of requests take up to 2.41 s (since before
               14:06:55)
    ────────────────────────────────────────────────────────────────────────────────
    X GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since before
               14:06:55, by shard-bandwidth
               23.9 MB/s out, flat at its link of 25 MB/s; answers in 41 ms, peers
               in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2, slot 5474: read 13
               times a second
               or network-path: bytes at the limit on this node only
    ! SUSPECT  redis/features, low confidence, since 14:07:15, by hit-but-slow
               98.5 % hits, and reads take 520 ms
    chain      p99 2.41 s < feature_load 1.6 s (70 %) < GET 520 ms < #2 link full
    innocent   redis/features#0 #1, queue/ranker
    unknown    gpu/ranker: no source
    next       confirm the keys, then keep the hot ones in the service for 30 s
    ────────────────────────────────────────────────────────────────────────────────
    X guilty   redis/features: its shard #2 is guilty
    ? unknown  gpu/ranker: no source
    o innocent queue/ranker: clear of queue-not-compute
    "#);
}

#[test]
fn an_incident_at_60x16_without_colour_in_ascii() {
    insta::assert_snapshot!(drawn(&incident(), Palette::mono(Glyphs::Ascii), 60, 16), @r#"
    X INCIDENT   14:07:20 UTC   ranker-prod   +6 not shown
    shape      slow only: p99 2.41 s, 13x its healthy 0.18 s;~
    symptom    service/ranker: 99 % of requests take up to 2.41~
    X GUILTY   redis/features#2 (10.0.3.14:6379), high
               confidence, since before 14:06:55, by
               shard-bandwidth
               23.9 MB/s out, flat at its link of 25 MB/s;
               answers in 41 ms, peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2,
               slot 5474: read 13 times a second
    chain      p99 2.41 s < feature_load 1.6 s (70 %) < GET 520
               ms < #2 link full
    innocent   redis/features#0 #1, queue/ranker
    unknown    gpu/ranker: no source
    next       confirm the keys, then keep the hot ones in the
               service for 30 s
    "#);
}

#[test]
fn a_calm_deployment() {
    let mut snapshot = incident();
    std::sync::Arc::make_mut(&mut snapshot.report).verdicts.retain(|row| row.verdict == Verdict::Innocent);
    snapshot = Snapshot::of(Report {
        conclusion: Conclusion::Clear,
        shape: Shape { kind: ShapeKind::Calm, sentence: "p99 0.17 s, no errors".into() },
        symptom: None,
        suspects: vec![],
        chain: vec![],
        unknown: vec![],
        next_step: "nothing to do".into(),
        ..(*snapshot.report).clone()
    });
    insta::assert_snapshot!(drawn(&snapshot, Palette::mono(Glyphs::Unicode), 60, 7), @r#"
    o nothing guilty   14:07:20 UTC   ranker-prod
    shape      calm: p99 0.17 s, no errors
    ────────────────────────────────────────────────────────────
    innocent   redis/features#0 #1, queue/ranker
    next       nothing to do
    ────────────────────────────────────────────────────────────
    o innocent queue/ranker: clear of queue-not-compute
    "#);
}

#[test]
fn the_accusation_and_the_next_step_survive_any_size_that_can_hold_them() {
    let text = drawn(&incident(), Palette::mono(Glyphs::Ascii), 80, 7);
    for part in ["X GUILTY", "redis/features#2", "chain", "next", "not shown"] {
        assert!(text.contains(part), "'{part}' is missing:\n{text}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for width in 0..30 {
        for height in 0..12 {
            drawn(&incident(), Palette::mono(Glyphs::Unicode), width, height);
        }
    }
}
