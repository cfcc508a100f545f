//! The SIGNALS table: the few numbers that say how callers are and what works for them, each with its past.

use crate::metric::{
    Bad, CLIENT_ATTEMPTS, CLIENT_ORIGINALS, ERRORS, MODEL_DURATION, Metric, QUEUE_WAITING, REDIS_MISSES,
    REQUEST_DURATION, REQUESTS, TTFT, Unit,
};
use crate::peers::median;
use crate::quantity;
use crate::scene::Scene;
use crate::store::{Caps, Points, Seen, Trace};
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// Points of the past that make a usual value.
const LEAST_USUAL: usize = 30;

/// One row of [`SIGNALS`].
#[derive(Debug)]
pub struct SignalRow {
    /// The name users see.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: Unit,
    /// Which way is worse.
    pub bad: Bad,
    /// One sentence for help.
    pub help: &'static str,
    /// Whether it is one of the five that stand on the overview; the others stand in the head of every screen.
    pub is_one_of_five: bool,
    /// Its present value; `None` when no source tells.
    of: fn(&Scene<'_>) -> Option<Value>,
}

/// A value, and the sign before it where only a bound is known.
type Value = (Seen, &'static str);

/// Every signal.
pub static SIGNALS: &[SignalRow] = &[
    SignalRow {
        name: "p99",
        unit: Unit::Seconds,
        bad: Bad::High,
        help: "99th percentile of requests, of the slowest service",
        is_one_of_five: false,
        of: |scene| {
            let of = |metric| slowest(scene, Kind::Service, metric);
            of(REQUEST_DURATION).or_else(|| of(MODEL_DURATION))
        },
    },
    SignalRow {
        name: "errors",
        unit: Unit::Ratio,
        bad: Bad::High,
        help: "requests that end in an error, a refusal or an abort, of all services together",
        is_one_of_five: false,
        of: |scene| exact(share(total(scene, Kind::Service, ERRORS), total(scene, Kind::Service, REQUESTS))),
    },
    SignalRow {
        name: "requests",
        unit: Unit::PerSecond,
        bad: Bad::Neither,
        help: "requests that finish, of all services together",
        is_one_of_five: false,
        of: |scene| exact(total(scene, Kind::Service, REQUESTS)),
    },
    SignalRow {
        name: "queue",
        unit: Unit::Count,
        bad: Bad::High,
        help: "requests that wait for a place in a batch, in the longest queue",
        is_one_of_five: true,
        of: |scene| {
            let waiting = each(scene, Kind::Queue).filter_map(|queue| scene.total(queue, QUEUE_WAITING));
            exact(waiting.max_by(|one, other| one.value.total_cmp(&other.value)))
        },
    },
    SignalRow {
        name: "TTFT p99",
        unit: Unit::Seconds,
        bad: Bad::High,
        help: "99th percentile of the time to the first token, of the slowest service",
        is_one_of_five: true,
        of: |scene| slowest(scene, Kind::Service, TTFT),
    },
    SignalRow {
        name: "hit ratio",
        unit: Unit::Ratio,
        bad: Bad::Low,
        help: "key look-ups that find their key, of the Redis deployment with the least",
        is_one_of_five: true,
        of: |scene| {
            let ratio = |redis: &Subject| {
                let hits = scene.hits(redis)?;
                let misses = scene.total(redis, REDIS_MISSES)?;
                share(Some(hits), Some(Seen { value: hits.value + misses.value, at: misses.at }))
            };
            let ratios = each(scene, Kind::Redis).filter_map(ratio);
            exact(ratios.min_by(|one, other| one.value.total_cmp(&other.value)))
        },
    },
    SignalRow {
        name: "err/inst",
        unit: Unit::Ratio,
        bad: Bad::High,
        help: "requests that end in an error, of the instance with the most",
        is_one_of_five: true,
        of: |scene| {
            let ratio = |part: &Subject| share(scene.present(part, ERRORS), scene.present(part, REQUESTS));
            let parts = each(scene, Kind::Service).flat_map(|service| scene.world.parts(service));
            let ratios = parts.filter_map(|(part, _)| ratio(part));
            exact(ratios.max_by(|one, other| one.value.total_cmp(&other.value)))
        },
    },
    SignalRow {
        name: "retries",
        unit: Unit::Ratio,
        bad: Bad::High,
        help: "attempts beyond the first, as a share of original requests",
        is_one_of_five: true,
        of: |scene| {
            let originals = total(scene, Kind::Client, CLIENT_ORIGINALS)?;
            let attempts = total(scene, Kind::Client, CLIENT_ATTEMPTS)?;
            let beyond = Seen { value: (attempts.value - originals.value).max(0.0), at: attempts.at };
            exact(multiple(Some(beyond), Some(originals)))
        },
    },
];

/// One signal at one moment.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Which.
    pub row: &'static SignalRow,
    /// Its value; `None` when no source tells.
    pub now: Option<Seen>,
    /// `""`, or `"<= "` or `"> "` where only a bound is known.
    pub sign: &'static str,
    /// The median of the latest calm span before anything was wrong, when that was long enough.
    pub usual: Option<f64>,
    /// Its values, one an evaluation.
    pub trace: Trace,
}

impl Signal {
    /// The signal as it stood at an earlier moment, beside what was known then; its trace goes on to the present.
    pub(crate) fn back_to(&self, at: Moment, beside: Option<&Beside>) -> Self {
        let now = self.trace.latest_at(at).filter(|seen| at.since(seen.at) < STANDS_FOR);
        let Beside { sign, usual } = beside.cloned().unwrap_or_default();
        Self { now, sign, usual, ..self.clone() }
    }

    /// What is known of its value beside the number.
    pub(crate) fn beside(&self) -> Beside {
        Beside { sign: self.sign, usual: self.usual }
    }
}

/// What is known of a signal's value beside the number itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Beside {
    /// The sign before it.
    sign: &'static str,
    /// Its usual value.
    usual: Option<f64>,
}

/// A value of a signal stands until the next evaluation; after this long there was none.
const STANDS_FOR: std::time::Duration = std::time::Duration::from_secs(3);

/// The past of every signal.
#[derive(Debug)]
pub(crate) struct Signals {
    rows: Vec<Points>,
    caps: Caps,
}

impl Signals {
    /// The past of no moment yet, beside a history of so many bytes.
    pub(crate) fn beside(history_bytes: usize) -> Self {
        let rows = SIGNALS.iter().map(|_| Points::default()).collect();
        Self { rows, caps: Caps::beside(history_bytes, SIGNALS.len()) }
    }

    /// Looks at every signal.
    pub(crate) fn take(&mut self, scene: &Scene<'_>) -> Vec<Signal> {
        let rows = SIGNALS.iter().zip(&mut self.rows);
        rows.map(|(row, past)| {
            let (now, sign) = (row.of)(scene).map_or((None, ""), |(seen, sign)| (Some(seen), sign));
            if let Some(seen) = now {
                past.push(scene.now, seen.value, self.caps);
            }
            Signal { row, now, sign, usual: usual(past, scene.calm), trace: past.trace().clone() }
        })
        .collect()
    }
}

fn usual(past: &Points, calm: Option<(Moment, Moment)>) -> Option<f64> {
    let (from, to) = calm?;
    let mut values: Vec<f64> =
        past.since(from).take_while(|seen| seen.at <= to).map(|seen| seen.value).collect();
    values.sort_by(f64::total_cmp);
    if values.len() < LEAST_USUAL { None } else { median(&values) }
}

fn each<'a>(scene: &'a Scene<'_>, kind: Kind) -> impl Iterator<Item = &'a Subject> {
    scene.graph.components().filter(move |component| component.kind() == kind)
}

fn exact(seen: Option<Seen>) -> Option<Value> {
    seen.map(|seen| (seen, ""))
}

fn slowest(scene: &Scene<'_>, kind: Kind, metric: Metric) -> Option<Value> {
    let observed = |component| scene.p99(component, metric, None)?.ok();
    let slowest = each(scene, kind)
        .filter_map(observed)
        .max_by(|one, other| one.p99.number().total_cmp(&other.p99.number()))?;
    Some((Seen { value: slowest.p99.number(), at: slowest.at }, slowest.p99.sign()))
}

fn total(scene: &Scene<'_>, kind: Kind, metric: Metric) -> Option<Seen> {
    each(scene, kind)
        .filter_map(|component| scene.total(component, metric))
        .reduce(|sum, one| Seen { value: sum.value + one.value, at: sum.at.max(one.at) })
}

/// What a part is of a whole.
fn share(part: Option<Seen>, whole: Option<Seen>) -> Option<Seen> {
    let (part, whole) = (part?, whole?);
    Some(Seen { value: quantity::share(part.value, whole.value)?, at: part.at.max(whole.at) })
}

/// How many times as much one is as the other; unlike a share it may be above 1.
fn multiple(one: Option<Seen>, other: Option<Seen>) -> Option<Seen> {
    let (one, other) = (one?, other.filter(|other| other.value > 0.0)?);
    Some(Seen { value: one.value / other.value, at: one.at.max(other.at) })
}
