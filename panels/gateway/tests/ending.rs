//! What ends well, what is wasted, and what is still under way.

use headwater_engine::metric::{CLIENT_DURATION, UPSTREAM_ACTIVE};

use super::super::asked::{self, Asked};
use super::*;

/// Rates a second of a source; those of a gauge are how much it rises.
type Rates<'a> = &'a [(Metric, f64)];

/// Half a minute of one source.
fn told(by: &str, counters: Rates<'_>, gauges: Rates<'_>, ended: Option<f64>) -> Arc<Snapshot> {
    let mut engine = Engine::new(settings(), Baselines::default());
    let by = subject(by);
    for second in 1..=30_i64 {
        let at = BEGAN + Duration::from_secs(second.unsigned_abs());
        let mut reading = Reading::new(by.clone(), at);
        for (metric, rate) in counters {
            let value = Value::Counter(rate * second as f64);
            match by.kind() {
                Kind::Gateway => reading.part(&by, *metric, UPSTREAMS[0], value),
                _ => reading.sample(&by, *metric, value),
            }
        }
        for (metric, rise) in gauges {
            reading.part(&by, *metric, UPSTREAMS[0], Value::Gauge(5_000.0 + rise * second as f64));
        }
        if let Some(rate) = ended {
            let count = rate * second as f64;
            let page = Histogram { bounds: [1.0].into(), counts: [count].into(), count, sum: None };
            reading.sample(&by, CLIENT_DURATION, Value::Histogram(Arc::new(page)));
        }
        engine.take(&Input::Reading(reading));
        engine.take(&Input::Tick(at + Duration::from_millis(500)));
    }
    engine.snapshot().unwrap()
}

fn only(snapshot: &Snapshot) -> Asked {
    let mut all = asked::all(snapshot);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// A gateway of whose attempts more fail than are sent: they were sent before.
const LATE: Rates<'_> = &[(UPSTREAM_REQUESTS, 100.0), (UPSTREAM_ERRORS, 103.0)];

#[test]
fn what_fails_now_and_was_sent_before_leaves_what_ends_well() {
    let snapshot = told("gateway/edge@10.3.0.1:9901", LATE, &[(UPSTREAM_ACTIVE, -55.0)], None);
    let asked = only(&snapshot);
    // 155 attempts a second end, and 103 of them badly.
    assert_eq!(asked.goodput.map(f64::round), Some(52.0), "{asked:?}");
    let (wasted, is_least) = asked.wasted().unwrap();
    assert_eq!(((wasted * 1e3).round(), is_least), (665.0, false), "{asked:?}");
    assert!(!stage(&snapshot).drawn(160, 40).contains("103 %"), "no share is above all");
    assert!(stage(&snapshot).drawn(160, 40).contains("errors 100 %"));
}

#[test]
fn who_does_not_tell_what_is_under_way_does_not_tell_what_ends_well_either() {
    let asked = only(&told("gateway/edge@10.3.0.1:9901", LATE, &[], None));
    assert_eq!((asked.goodput, asked.wasted()), (None, None));
    assert!(asked.words().contains("nobody tells how many end well"), "{}", asked.words());
}

#[test]
fn requests_under_way_are_not_wasted() {
    let waits = |again: f64, ended| {
        let rates = [(CLIENT_ORIGINALS, 80.0), (CLIENT_ATTEMPTS, 80.0 + again), (CLIENT_SUCCESSES, 42.0)];
        only(&told("client/load@10.2.0.1:9000", &rates, &[], ended))
    };
    let percent = |asked: &Asked| asked.wasted().map(|(share, is_least)| ((share * 100.0).round(), is_least));
    assert_eq!(percent(&waits(0.0, Some(42.0))), Some((0.0, false)), "the others wait");
    assert_eq!(percent(&waits(0.0, Some(80.0))), Some((48.0, false)), "the others failed");
    assert_eq!(percent(&waits(42.0, Some(42.0))), Some((50.0, false)), "each is asked twice");
    // Without a count of what ended, what was asked again is known to have.
    assert_eq!(percent(&waits(42.0, None)), Some((50.0, true)));
    assert!(waits(42.0, None).words().ends_with("42/s end well, at least 50 % wasted"));
}
