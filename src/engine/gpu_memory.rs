//! How the memory of a GPU goes on: flat, growing towards full, or not watched long enough to say.
//!
//! A server that takes its memory when it starts stays flat at 90 % for weeks and is well; one that keeps a little of
//! every request grows without a pause. A growth is looked for on three scales, because a leak may need seconds or hours.

use std::time::Duration;

use crate::metric::{GPU_MEMORY, GPU_MEMORY_MAX};
use crate::store::{Bin, History, Seen, Trace};
use crate::subject::Subject;
use crate::time::Moment;
use crate::trend::Trend;

/// The share of the memory from which on it is as good as full: what is left is in pieces too small to be of use.
pub const FULL: f64 = 0.98;

/// The share below which a failed allocation was too large, and not the memory too small.
pub const NEARLY_FULL: f64 = 0.9;

/// Growth below this share of the whole memory is no growth: buffers come and go.
const LEAST_GROWTH: f64 = 0.002;

/// How steadily it must rise, as Kendall's tau.
const STEADY: f64 = 0.6;

/// What is gained from the third quarter to the last must be at least this share of what a straight line gains.
const STILL: f64 = 0.5;

/// A fall to this share of what was used is a restart or somebody's end: what was before says nothing of now.
const FALL: f64 = 0.8;

/// After a restart a server takes what it needs: so long its growth is no leak.
const SETTLING: Duration = Duration::from_secs(30);

/// Memory that stood still for so many bins of ten seconds was that of a server that had loaded.
const PLATEAU_BINS: usize = 12;

/// The share of the memory below which nothing is loaded: a GPU that stands idle is flat as well.
const IN_USE: f64 = 0.05;

/// No server loads for so long.
const LONGEST_LOAD: Duration = Duration::from_secs(900);

/// A time to full beyond this is none that a trend of half an hour tells.
const FORESEEN_S: f64 = 86_400.0;

/// Memory that is full for so long without a failure that anybody saw does harm to nobody: some take all that there is.
const HARMLESS: Duration = Duration::from_secs(120);

/// One scale on which growth is looked for.
struct Scale {
    span: Duration,
    /// What of it must have been seen, seconds and points.
    least_s: f64,
    least_points: usize,
    is_fine: bool,
}

/// The scales, the shortest first: its slope tells best when the memory will be full.
static SCALES: &[Scale] = &[
    Scale { span: Duration::from_secs(30), least_s: 20.0, least_points: 10, is_fine: true },
    Scale { span: Duration::from_secs(120), least_s: 30.0, least_points: 10, is_fine: true },
    Scale { span: Duration::from_secs(1_800), least_s: 300.0, least_points: 15, is_fine: false },
];

/// Memory that grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Bytes a second.
    pub per_second: f64,
    /// From when on that slope was measured.
    pub slope_from: Moment,
    /// Whether it is no load of a server that begins: it stood still before, or it grows for longer than any load.
    pub is_no_load: bool,
    /// The first point of the longest scale on which it grows.
    pub from: Seen,
    /// The last point.
    pub to: Seen,
    /// Seconds until it is full if it goes on so; `None` where that is more than a day, or it is full.
    pub full_in_s: Option<f64>,
    /// Since when it is full, where it grew until it was.
    pub full_since: Option<Moment>,
}

impl Growth {
    /// Whether it has been full for so long that only failures make it worth anything.
    pub fn has_settled(&self, now: Moment) -> bool {
        self.full_since.is_some_and(|since| now.since(since) > HARMLESS)
    }
}

/// How the memory of a GPU goes on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// Too little of it was seen to tell.
    TooShort,
    /// It stands still, swings, falls, or has levelled off.
    Flat,
    /// It grows, or grew until it was full.
    Grows(Growth),
}

/// The memory in use of a GPU with what there is, at a moment; `None` unless both are told and fresh.
pub fn of(history: &History, gpu: &Subject, at: Moment, fresh_from: Moment) -> Option<(Seen, f64)> {
    let newest = |metric| {
        let seen = history.trace(gpu, metric, None)?.latest_at(at)?;
        (seen.at >= fresh_from).then_some(seen)
    };
    let max = newest(GPU_MEMORY_MAX)?.value;
    newest(GPU_MEMORY).filter(|_| max > 0.0).map(|used| (used, max))
}

/// How memory in use went on until a moment, of so many bytes in all. Of what is full it is how it came to be so: that does not
/// fade while it stays full, as far as the points reach back.
pub fn course(used: &Trace, max: f64, until: Moment) -> Course {
    let full_since = used.held_since(until, |used| used >= max * FULL);
    let until = full_since.unwrap_or(until);
    let mut seen_any = false;
    let mut grows: Option<Growth> = None;
    for scale in SCALES {
        let from = until - scale.span;
        // A restart just before the span still counts: what follows it has not settled.
        let looked_from = from - SETTLING;
        let points: Vec<Seen> = if scale.is_fine {
            used.since(looked_from).take_while(|seen| seen.at <= until).collect()
        } else {
            let bins = used.fine_bins().filter(|bin| bin.start >= looked_from && bin.start <= until);
            bins.map(|bin| Seen { at: bin.start, value: f64::from(bin.mean) }).collect()
        };
        let points = since_restart(&points);
        let points = &points[points.partition_point(|seen| seen.at < from)..];
        let is_enough = |points: &[Seen]| {
            let ends = points.first().zip(points.last());
            points.len() >= scale.least_points
                && ends.is_some_and(|(first, last)| last.at.seconds_after(first.at) >= scale.least_s)
        };
        if !is_enough(points) {
            continue;
        }
        seen_any = true;
        let Some(trend) = growing(points, max) else { continue };
        let longer = Growth { from: trend.first, ..grows.unwrap_or_else(|| growth(&trend, max, full_since)) };
        grows = Some(longer);
    }
    match grows {
        Some(growth) => {
            let lasted = growth.to.at.since(growth.from.at);
            let is_no_load = lasted > LONGEST_LOAD || stood_still(used, max, growth.to.at);
            Course::Grows(Growth { is_no_load, ..growth })
        }
        None if seen_any => Course::Flat,
        None => Course::TooShort,
    }
}

fn growth(trend: &Trend, max: f64, full_since: Option<Moment>) -> Growth {
    let left = (max - trend.last.value) / trend.per_second;
    Growth {
        per_second: trend.per_second,
        slope_from: trend.first.at,
        is_no_load: false,
        from: trend.first,
        to: trend.last,
        full_in_s: Some(left).filter(|left| full_since.is_none() && (0.0..=FORESEEN_S).contains(left)),
        full_since,
    }
}

/// The points since the last restart has settled.
fn since_restart(points: &[Seen]) -> &[Seen] {
    let fall = points.windows(2).rposition(|pair| pair[1].value < pair[0].value * FALL);
    let Some(fall) = fall else { return points };
    let settled = points[fall + 1].at + SETTLING;
    &points[points.partition_point(|seen| seen.at < settled)..]
}

/// Whether memory in use stood still since the last restart and before it was full, as that of a server that has loaded.
fn stood_still(used: &Trace, max: f64, until: Moment) -> bool {
    let bins: Vec<Bin> = used.fine_bins().filter(|bin| bin.start <= until).collect();
    let fall = bins.windows(2).rposition(|pair| f64::from(pair[1].mean) < f64::from(pair[0].mean) * FALL);
    bins[fall.map_or(0, |place| place + 1)..].windows(PLATEAU_BINS).any(|bins| {
        let least = bins.iter().map(|bin| f64::from(bin.min)).fold(f64::INFINITY, f64::min);
        let most = bins.iter().map(|bin| f64::from(bin.max)).fold(0.0, f64::max);
        least >= max * IN_USE && most < max * FULL && most - least < max * LEAST_GROWTH
    })
}

/// The trend of points that rise steadily, by enough, and still in their last quarter.
fn growing(points: &[Seen], max: f64) -> Option<Trend> {
    let quarter = (points.len() / 4).max(1);
    let mean = |points: &[Seen]| points.iter().map(|seen| seen.value).sum::<f64>() / points.len() as f64;
    let quarters: Vec<f64> = points.rchunks_exact(quarter).take(4).map(mean).collect();
    let &[last, third, _, first] = quarters.as_slice() else { return None };
    // A cheap look first: nearly every memory stands still.
    let gained = last - first;
    if gained < max * LEAST_GROWTH || last - third < gained / 3.0 * STILL {
        return None;
    }
    Trend::through(points).filter(|trend| trend.per_second > 0.0 && trend.steadiness >= STEADY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::GPU_MEMORY;
    use crate::reading::{Reading, Value};
    use crate::store::Store;

    const MAX: f64 = 16.28e9;

    /// What is said at the last second of a memory that is in use like this.
    fn said(of: impl Fn(f64) -> f64, seconds: i64) -> Course {
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut store = Store::new(Duration::from_secs(1), 4 << 20);
        for second in 0..=seconds {
            let mut reading = Reading::new(gpu.clone(), Moment(second * 1_000));
            reading.sample(&gpu, GPU_MEMORY, Value::Gauge(of(second as f64)));
            store.take(&reading, false, None);
        }
        let history = store.history();
        course(history.trace(&gpu, GPU_MEMORY, None).unwrap(), MAX, Moment(seconds * 1_000))
    }

    fn growth_of(course: Course) -> Growth {
        match course {
            Course::Grows(growth) => growth,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_leak_says_when_the_memory_will_be_full() {
        let grown = growth_of(said(|second| 12.1e9 + 40e6 * second, 60));
        let left = (MAX - (12.1e9 + 40e6 * 60.0)) / 40e6;
        let told = grown.full_in_s.unwrap();
        assert!((told / left - 1.0).abs() < 0.02, "{told} and not {left}");
        assert_eq!(grown.from.at, Moment(0));
        // One that begins in the middle of what was seen is measured by its own slope.
        let late = growth_of(said(|second| 12.1e9 + 40e6 * (second - 80.0).max(0.0), 110));
        assert!((late.per_second / 40e6 - 1.0).abs() < 0.1, "{late:?}");
        // Steps, as of an exporter that looks every ten seconds.
        let stepped = growth_of(said(|second| 12.1e9 + 4e6 * (second / 10.0).floor() * 10.0, 120));
        assert!((stepped.per_second / 4e6 - 1.0).abs() < 0.2, "{stepped:?}");
    }

    #[test]
    fn a_slow_leak_shows_on_the_long_scale() {
        let grown = growth_of(said(|second| 12.1e9 + 0.05e6 * second, 1_500));
        assert!((grown.per_second / 0.05e6 - 1.0).abs() < 0.1, "{grown:?}");
    }

    #[test]
    fn a_server_that_took_its_memory_at_the_start_does_not_leak() {
        assert_eq!(said(|_| MAX * 0.9, 300), Course::Flat);
        assert_eq!(said(|second| MAX * 0.9 + 20e6 * (second * 0.7).sin(), 300), Course::Flat);
        assert_eq!(said(|second| MAX * 0.5 + 1e9 * (1.0 - (-second / 10.0).exp()), 300), Course::Flat);
        assert_eq!(said(|_| MAX * 0.9, 10), Course::TooShort);
    }

    #[test]
    fn loading_after_a_restart_is_no_leak_and_a_leak_after_it_is() {
        let restarted = |second: f64| if second < 60.0 { 12e9 } else { (second - 60.0).min(25.0) * 480e6 };
        assert!(!matches!(said(restarted, 84), Course::Grows(_)));
        let leaks_again = move |second: f64| restarted(second) + 30e6 * (second - 60.0).max(0.0);
        assert!((growth_of(said(leaks_again, 180)).per_second / 30e6 - 1.0).abs() < 0.1);
    }

    #[test]
    fn growth_after_a_plateau_is_no_load_and_growth_from_an_idle_gpu_may_be_one() {
        let from_idle = |second: f64| 0.1e9 + 80e6 * (second - 150.0).max(0.0);
        assert!(!growth_of(said(from_idle, 200)).is_no_load, "an idle GPU is flat too");
        let late = growth_of(said(|second| 12.1e9 + 40e6 * (second - 150.0).max(0.0), 205));
        assert!(late.is_no_load);
        assert!(late.slope_from > late.from.at, "{late:?}");
        let restarted = |second: f64| if second < 150.0 { 12.1e9 } else { (second - 150.0) * 80e6 };
        assert!(!growth_of(said(restarted, 240)).is_no_load, "what was before a restart does not count");
        assert!(growth_of(said(|second| 2e9 + 2e6 * second, 1_000)).is_no_load, "nothing loads so long");
    }

    #[test]
    fn what_grew_until_it_was_full_is_told_so() {
        let grown = growth_of(said(|second| (12.1e9 + 80e6 * second).min(16.278e9), 80));
        assert_eq!((grown.full_in_s, grown.full_since.is_some()), (None, true));
        assert!((grown.per_second / 80e6 - 1.0).abs() < 0.1, "{grown:?}");
        assert_eq!(said(|_| 16.278e9, 120), Course::Flat);
    }

    #[test]
    fn what_is_full_is_told_by_how_it_became_so_for_as_long_as_it_stays_full() {
        let leak = |second: f64| (12.1e9 + 80e6 * second).min(16.278e9);
        for seconds in [80, 170, 600, 1_700] {
            let grown = growth_of(said(leak, seconds));
            // 98 % of it is reached after 48.2 s.
            assert_eq!(grown.full_since, Some(Moment(49_000)), "after {seconds} s: {grown:?}");
            assert!((grown.per_second / 80e6 - 1.0).abs() < 0.1, "after {seconds} s: {grown:?}");
            assert_eq!(grown.has_settled(Moment(seconds * 1_000)), seconds > 169, "after {seconds} s");
        }
        // Memory that was given back is full no longer.
        assert_eq!(said(|second| if second < 300.0 { leak(second) } else { 9e9 }, 420), Course::Flat);
        // A slow one is remembered by its bins, for longer than there are points.
        let slow = growth_of(said(|second| (15e9 + 1e6 * second).min(16.278e9), 4_000));
        assert!((slow.per_second / 1e6 - 1.0).abs() < 0.1, "{slow:?}");
    }
}
