//! Whether callers have again what they had.

use super::*;

/// A signal with this value from so many seconds ago on, and another one before.
pub(super) fn signal(name: &str, usual: Option<f64>, earlier: f64, since: i64, now: f64) -> Signal {
    let row = SIGNALS.iter().find(|row| row.name == name).unwrap();
    let mut points = Points::default();
    for ago in (0..=120).rev() {
        let value = if ago > since { earlier } else { now };
        points.push(before(ago), value, Caps::beside(1 << 20, 8));
    }
    Signal { row, now: Some(Seen { value: now, at: NOW }), sign: "", usual, trace: points.trace().clone() }
}

/// An incident that was seen, and what callers have now.
pub(super) fn after(signals: Vec<Signal>, suspects: Vec<Suspect>) -> Snapshot {
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

/// The same, of symptoms that stood so at each second of two minutes.
fn after_symptoms(signals: Vec<Signal>, rules: Vec<RuleState>) -> Snapshot {
    let mut snapshot = after(signals, vec![]);
    let frame = snapshot.timeline.frames().next().unwrap().clone();
    for ago in (0..=99).rev() {
        let rules = rules.clone().into();
        let report = std::sync::Arc::clone(&snapshot.report);
        snapshot.timeline.push(crate::timeline::Frame { at: before(ago), rules, report, ..frame.clone() });
    }
    snapshot.rules = rules.into();
    snapshot
}

#[test]
fn who_suffered_must_be_seen_to_be_well() {
    let p99 = || signal("p99", Some(0.17), 2.4, 64, 0.18);
    let well = rule("latency-shift", "service/b", "clear", "p99 180 ms");
    let gone = RuleState { is_blind: true, ..rule("latency-shift", "service/a", "ended", "p99 2 s") };
    assert_eq!(
        recovery(&after_symptoms(vec![p99()], vec![gone, well.clone()])).sentence(),
        "unknown: latency-shift of service/a is not seen any more"
    );
    let ended = rule("latency-shift", "service/a", "ended", "p99 2 s");
    let recovered = after_symptoms(vec![p99()], vec![ended.clone(), well.clone()]);
    assert!(matches!(recovery(&recovered), Recovery::Recovered { since, .. } if since == before(64)));
    // What was forgotten since is held by the report that had it.
    let mut forgotten = after_symptoms(vec![p99()], vec![well.clone()]);
    let mut frame = forgotten.timeline.frames().last().unwrap().clone();
    let mut report = (*frame.report).clone();
    report.symptom = Some(crate::report::Symptom {
        subject: subject("service/a"),
        evidence: crate::scene::named_evidence(
            "p99".to_owned(),
            crate::metric::Unit::Seconds,
            Seen { value: 2.0, at: NOW },
            None,
            None,
        ),
        since: Since { at: before(90), before: false },
        sentence: String::new(),
    });
    (frame.at, frame.report) = (NOW + std::time::Duration::from_millis(1), std::sync::Arc::new(report));
    forgotten.at = frame.at;
    forgotten.timeline.push(frame);
    assert_eq!(recovery(&forgotten).sentence(), "unknown: service/a, which suffered, is not seen any more");
}

#[test]
fn each_kind_of_symptom_is_held_by_its_own_number() {
    let orders = |state| rule("business-symptom", "pipeline/orders", state, "orders 40/s, at least 120/s");
    let p99 = || signal("p99", Some(0.17), 0.17, 120, 0.17);
    assert_eq!(
        recovery(&after_symptoms(vec![p99()], vec![orders("firing")])).sentence(),
        "not yet: pipeline/orders: orders 40/s, at least 120/s"
    );
    // Nobody tells of latency, and nobody needs to.
    let only = after_symptoms(vec![], vec![orders("ended")]);
    assert_eq!(
        recovery(&only).sentence(),
        "recovered since 14:05:21 (business-symptom has ended on pipeline/orders, for 99 s)"
    );
    let failed = rule("error-shift", "service/a", "ended", "20 % fail");
    let errors = signal("errors", Some(0.001), 0.2, 70, 0.001);
    let told = after_symptoms(vec![errors.clone()], vec![failed.clone()]);
    assert!(matches!(recovery(&told), Recovery::Recovered { since, .. } if since == before(70)));
    let stale = Signal { now: None, ..errors };
    assert_eq!(
        recovery(&after_symptoms(vec![p99(), stale], vec![failed])).sentence(),
        "unknown: no source shows now how many requests fail"
    );
}
