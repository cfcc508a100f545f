//! The comings and goings of one upstream, read from one series.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::{Instances, Sign, Tells};
use crate::metric::{UPSTREAM_MEMBERS, UPSTREAM_READY, UPSTREAM_REQUESTS};
use crate::scene::{Scene, Told};
use crate::store::Seen;
use crate::time::Moment;

/// Requests that an instance would get between two looks below which getting none is chance: of ten, one time in
/// twenty thousand.
const LEAST_EXPECTED: f64 = 10.0;

/// The share of what the usual instance gets below which one is out.
const OUT: f64 = 0.1;

/// The share of it from which one is in again.
const IN: f64 = 0.3;

/// How long before its first sight an instance that was out then may have been started, for its return to be the end of
/// that start: large models take minutes to load.
const LOADS_FOR: Duration = Duration::from_secs(600);

/// How far back a leaving is looked for.
const KEPT_FOR: Duration = Duration::from_secs(3_600);

/// The comings and goings of one upstream: an instance, or a pool of them.
pub(super) struct Course {
    /// Who tells of it, and under which name.
    pub(super) told: Told,
    /// Whether it is a single instance.
    pub(super) is_one: bool,
    /// How many were out when the span began.
    pub(super) out_at_first: f64,
    /// From when on a start is what an absence at that time was for: shortly before it began, where that was seen.
    pub(super) absent_since: Moment,
    /// When how many left, or, below zero, came back.
    pub(super) steps: Vec<(Moment, f64)>,
}

impl Course {
    /// How often somebody left.
    pub(super) fn left(&self) -> f64 {
        self.steps.iter().map(|(_, gone)| gone.max(0.0)).sum()
    }

    /// How often somebody came back.
    pub(super) fn back(&self) -> f64 {
        self.steps.iter().map(|(_, gone)| (-gone).max(0.0)).sum()
    }

    /// How often somebody went both ways: of one instance every second move, whichever was seen first, but not those of
    /// an absence in which it was started anew; of a pool as many as left and came back after those that were out at
    /// first. A start counts from `slack` before the leaving, which is seen later than it happens; of who was out at first, from
    /// as long before as a model may load.
    pub(super) fn trips(&self, starts: &[Moment], slack: Duration) -> f64 {
        if !self.is_one {
            return self.left().min((self.back() - self.out_at_first).max(0.0));
        }
        let is_restart = |from: Option<Moment>, to: Option<Moment>| {
            let earliest = from.unwrap_or(self.absent_since) - slack;
            starts.iter().any(|start| *start >= earliest && to.is_none_or(|to| *start <= to))
        };
        let (mut moves, mut left) = (0_u32, None);
        for (at, gone) in &self.steps {
            if *gone > 0.0 {
                left = Some(*at);
                continue;
            }
            let seen = if left.is_some() { 2 } else { 1 };
            moves += if is_restart(left.take(), Some(*at)) { 0 } else { seen };
        }
        if left.is_some() && !is_restart(left, None) {
            moves += 1;
        }
        f64::from(moves / 2)
    }
}

/// Reads what one series of a sign says since a moment; `usual` is what its neighbours get, for a sign of requests.
pub(super) fn course(
    scene: &Scene<'_>,
    instances: &Instances,
    sign: &Sign,
    told: Told,
    usual: Option<&[Seen]>,
    from: Moment,
) -> Course {
    let points = scene.points_since(&told, sign.metric, from);
    let one = UPSTREAM_MEMBERS;
    let says_one =
        scene.store.latest(&told.by, one, told.part.as_ref()).is_some_and(|seen| seen.value <= 1.0);
    let is_named =
        sign.metric == UPSTREAM_READY || told.part.as_ref().is_some_and(|part| is_address(part.as_str()));
    // A cluster may be ready in part, and have several out.
    let is_yes_or_no = || points.iter().all(|seen| seen.value == 0.0 || seen.value == 1.0);
    let is_one = says_one
        || instances.of(&told).is_some()
        || is_named && (matches!(sign.tells, Tells::Leavings | Tells::Requests) || is_yes_or_no());
    let level = |sense: f64| -> Vec<(Moment, f64)> {
        let moved = |pair: &[Seen]| (pair[1].at, (pair[1].value - pair[0].value) * sense);
        points.windows(2).map(moved).filter(|(_, gone)| *gone != 0.0).collect()
    };
    let first = points.first().map_or(0.0, |seen| seen.value);
    let absent_since = absent_since(scene, sign, &told, (from, first));
    let (out_at_first, steps) = match sign.tells {
        Tells::Out => (first, level(1.0)),
        // Of members that get requests nobody knows how many there should be.
        Tells::In => (if is_one { (1.0 - first).max(0.0) } else { 0.0 }, level(-1.0)),
        Tells::Leavings => (0.0, leavings(&points, is_one)),
        Tells::Requests => (0.0, absences(&points, usual.unwrap_or_default())),
    };
    Course { told, is_one, out_at_first, absent_since, steps }
}

/// Since when a level is what it is at a moment, as far as its past is kept; where it never was another, from as long before as
/// a model may load.
fn absent_since(scene: &Scene<'_>, sign: &Sign, told: &Told, (from, level): (Moment, f64)) -> Moment {
    let past = scene.points_since(told, sign.metric, from - KEPT_FOR);
    let before: Vec<&Seen> = past.iter().filter(|seen| seen.at < from).collect();
    match before.iter().rposition(|seen| seen.value != level) {
        Some(other) => before.get(other + 1).map_or(from, |seen| seen.at),
        None => before.first().map_or(from, |seen| seen.at) - LOADS_FOR,
    }
}

/// The leavings behind a rate; of one instance with a return before each but the first, at an unknown moment.
fn leavings(points: &[Seen], is_one: bool) -> Vec<(Moment, f64)> {
    let mut steps = vec![];
    for pair in points.windows(2) {
        let times = (pair[1].value * pair[1].at.seconds_after(pair[0].at)).round();
        if !is_one && times > 0.0 {
            steps.push((pair[1].at, times));
            continue;
        }
        for _ in 0..times.clamp(0.0, 100.0) as u32 {
            if !steps.is_empty() {
                steps.push((pair[1].at, -1.0));
            }
            steps.push((pair[1].at, 1.0));
        }
    }
    steps
}

/// When an instance got next to nothing of what the others got, and when it got requests again.
fn absences(points: &[Seen], usual: &[Seen]) -> Vec<(Moment, f64)> {
    let mut steps = vec![];
    let mut is_out = false;
    for seen in points {
        let Some(usual) = at(usual, seen.at) else { continue };
        if !is_out && seen.value < usual.value * OUT {
            steps.push((seen.at, 1.0));
            is_out = true;
        } else if is_out && seen.value > usual.value * IN {
            steps.push((seen.at, -1.0));
            is_out = false;
        }
    }
    steps
}

/// The mean of what instances get at each moment at which it is enough to tell who gets nothing.
pub(super) fn usual_requests(scene: &Scene<'_>, told: &[Told], from: Moment) -> Vec<Seen> {
    let all: Vec<Vec<Seen>> =
        told.iter().map(|told| scene.points_since(told, UPSTREAM_REQUESTS, from)).collect();
    let Some(longest) = all.iter().max_by_key(|points| points.len()) else { return vec![] };
    let mean = |moment: Moment| {
        let values = all.iter().filter_map(|points| at(points, moment));
        values.map(|seen| seen.value).sum::<f64>() / told.len() as f64
    };
    let means = longest.windows(2).map(|pair| {
        let mean = Seen { value: mean(pair[1].at), at: pair[1].at };
        (mean, mean.value * mean.at.seconds_after(pair[0].at))
    });
    means.filter(|(_, expected)| *expected >= LEAST_EXPECTED).map(|(mean, _)| mean).collect()
}

/// The point of a moment, of points in the order of time.
pub(super) fn at(points: &[Seen], moment: Moment) -> Option<&Seen> {
    points.binary_search_by_key(&moment, |seen| seen.at).ok().map(|place| &points[place])
}

/// Whether a name is the address of one instance: a URL, as routers of inference servers write it, or numbers. A name with
/// a port may be that of a pool.
fn is_address(name: &str) -> bool {
    let is_url = name.split_once("://").is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty());
    is_url || name.parse::<SocketAddr>().is_ok() || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_is_the_end_of_a_start_only_where_that_was_not_long_ago() {
        let course = Course {
            told: Told { by: "gateway/edge".parse().unwrap(), part: None },
            is_one: true,
            out_at_first: 1.0,
            absent_since: Moment(-600_000),
            steps: vec![(Moment(4_000), -1.0), (Moment(8_000), 1.0)],
        };
        let trips = |started: i64| course.trips(&[Moment(started)], Duration::from_secs(2));
        assert_eq!(trips(-7_200_000), 1.0, "it ran for hours before it was taken out");
        assert_eq!(trips(-60_000), 0.0, "it was loading when it was first seen");
        assert_eq!(trips(3_000), 0.0);
    }
}
