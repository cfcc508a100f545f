//! Whether callers have again what they had.

use super::*;

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
