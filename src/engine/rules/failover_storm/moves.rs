//! Who left a gateway's rotation and who came back, by whichever of several signs it gives.

mod course;

use std::collections::{BTreeMap, BTreeSet};

use self::course::{Course, course, usual_requests};
use crate::metric::{
    Metric, UPSTREAM_EJECTED, UPSTREAM_EJECTIONS, UPSTREAM_HEALTHY, UPSTREAM_MEMBERS, UPSTREAM_READY,
    UPSTREAM_REQUESTS,
};
use crate::scene::{Scene, Told};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// A metric that tells who gets requests.
pub(super) struct Sign {
    /// The metric.
    pub(super) metric: Metric,
    /// What its series say.
    tells: Tells,
}

/// What a series says of leaving and coming back.
#[derive(Clone, Copy, PartialEq)]
enum Tells {
    /// How many are out.
    Out,
    /// How many get requests.
    In,
    /// How often somebody was taken out. Who is taken out twice has come back in between, where it is one instance.
    Leavings,
    /// How much is asked of one instance: nearly nothing of it while it is out.
    Requests,
}

/// Every sign, the surest first: of each gateway the first that it has counts.
static SIGNS: &[Sign] = &[
    Sign { metric: UPSTREAM_EJECTED, tells: Tells::Out },
    Sign { metric: UPSTREAM_HEALTHY, tells: Tells::In },
    Sign { metric: UPSTREAM_READY, tells: Tells::In },
    Sign { metric: UPSTREAM_EJECTIONS, tells: Tells::Leavings },
    Sign { metric: UPSTREAM_REQUESTS, tells: Tells::Requests },
];

/// Requests a second of the usual instance below which nobody can say who gets none.
const LEAST_REQUESTS: f64 = 1.0;

/// How much earlier than its leaving was seen an instance may have been started, for it to be a rollout.
const SLACK: u32 = 2;

/// What one gateway saw.
pub(super) struct Moves {
    /// Times that somebody left.
    pub(super) left: f64,
    /// Times that somebody came back; `None` where nothing tells.
    pub(super) back: Option<f64>,
    /// Times that somebody went both ways and was not started anew in between.
    pub(super) trips: f64,
    /// How many did; `None` where upstreams are pools.
    pub(super) travellers: Option<f64>,
    /// How many processes were started anew meanwhile.
    pub(super) starts: usize,
    /// Of how many instances.
    pub(super) started: usize,
    /// Whether it is known of everybody who moved when it was started: else it may be a rollout.
    pub(super) knows_starts: bool,
    /// How many were out at once, where the moments are known.
    pub(super) most_out: Option<f64>,
    /// Requests of an instance that was in while others were out, as a multiple of an equal share of all; `None` where
    /// nobody counts them for each instance.
    pub(super) load: Option<f64>,
    /// How many instances there are.
    pub(super) members: Option<f64>,
    /// Who was taken out before any other, where nobody was out when it was first looked at.
    pub(super) first_out: Vec<String>,
    /// The first move.
    pub(super) first: Moment,
    /// The last.
    pub(super) last: Moment,
}

/// What gateways tell: of each its comings and goings since a moment, that of the one that saw most. `Err` where nothing
/// fresh tells of any, `Ok(None)` where nobody moved.
pub(super) fn moves(scene: &Scene<'_>, gateway: &Subject, from: Moment) -> Result<Option<Moves>, ()> {
    let instances = Instances::behind(scene, gateway);
    let told = |sign| Some((sign, told(scene, gateway, &instances, sign)?));
    let (sign, told) = SIGNS.iter().filter_map(told).next().ok_or(())?;
    // Each replica of the gateway sees the same instances go: the one that saw most counts.
    let of_each = told.chunk_by(|one, other| one.by == other.by);
    let seen = of_each.filter_map(|own| of_observer(scene, &instances, sign, own.to_vec(), from));
    Ok(seen.max_by(|one, other| one.trips.total_cmp(&other.trips).then(one.left.total_cmp(&other.left))))
}

/// Whether a gateway ever gave any sign.
pub(super) fn tells(scene: &Scene<'_>, gateway: &Subject) -> bool {
    SIGNS.iter().any(|sign| scene.tells(gateway, sign.metric))
}

/// The series of a sign, if any of them is fresh and can tell.
fn told(scene: &Scene<'_>, gateway: &Subject, instances: &Instances, sign: &Sign) -> Option<Vec<Told>> {
    let mut told = scene.told(gateway, sign.metric);
    if sign.tells == Tells::Requests {
        // Other upstreams may have nothing to do for reasons of their own; instances of one service share its requests.
        told.retain(|told| instances.of(told).is_some());
    }
    let is_fresh = |told: &Told| scene.latest_part(&told.by, sign.metric, told.part.as_ref()).is_some();
    let least = if sign.tells == Tells::Requests { 2 } else { 1 };
    (told.len() >= least && told.iter().any(is_fresh)).then_some(told)
}

fn of_observer(
    scene: &Scene<'_>,
    instances: &Instances,
    sign: &Sign,
    told: Vec<Told>,
    from: Moment,
) -> Option<Moves> {
    let shares = (sign.tells == Tells::Requests).then(|| usual_requests(scene, &told, from));
    let courses: Vec<Course> =
        told.into_iter().map(|told| course(scene, instances, sign, told, shares.as_deref(), from)).collect();
    let moments = || courses.iter().flat_map(|course| &course.steps).map(|(at, _)| *at);
    let (first, last) = (moments().min()?, moments().max()?);
    let sum = |of: fn(&Course) -> f64| courses.iter().map(of).sum::<f64>();
    let (left, back) = (sum(Course::left), sum(Course::back));
    let is_count = sign.tells == Tells::Leavings;
    let moved: Vec<&Course> = courses.iter().filter(|course| !course.steps.is_empty()).collect();
    let are_apart = moved.iter().all(|course| course.is_one);
    // Of an upstream under another name than its address nobody knows when it was started.
    let are_known = moved.iter().all(|one| instances.of(&one.told).is_some());
    let slack = scene.settings.interval * SLACK;
    let is_within = |start: &&Moment| **start + slack >= first && **start <= last;
    let meanwhile = |one: &Subject| scene.world.starts(one).iter().filter(is_within).count();
    let starts: Vec<usize> = instances.all().map(meanwhile).filter(|starts| *starts > 0).collect();
    let trips: Vec<f64> = courses
        .iter()
        .map(|course| {
            let own = instances.of(&course.told).map_or(&[][..], |own| scene.world.starts(own));
            course.trips(own, slack)
        })
        .collect();
    let all: f64 = trips.iter().sum();
    let are_told = are_apart && are_known;
    let is_dated = |one: &Subject| !scene.world.starts(one).is_empty();
    let members = members(scene, &courses);
    Some(Moves {
        left,
        back: (!is_count || are_apart).then_some(back),
        // Where instances are not told apart, as many may have been started anew as processes were started at all.
        trips: if are_told { all } else { (all - starts.iter().sum::<usize>() as f64).max(0.0) },
        travellers: are_apart.then(|| trips.iter().filter(|trips| **trips >= 1.0).count() as f64),
        starts: starts.iter().sum(),
        started: starts.len(),
        knows_starts: match are_told {
            true => moved.iter().filter_map(|one| instances.of(&one.told)).all(is_dated),
            false => instances.all().next().is_some() && instances.all().all(is_dated),
        },
        most_out: (!is_count).then(|| most_out(&courses)),
        load: if is_count { None } else { load(scene, instances, &courses, first) },
        members,
        first_out: if are_apart { first_out(&courses, first + slack) } else { vec![] },
        first,
        last,
    })
}

/// Who was taken out by this moment, where all were in at first.
fn first_out(courses: &[Course], by: Moment) -> Vec<String> {
    if courses.iter().any(|course| course.out_at_first > 0.0) {
        return vec![];
    }
    let is_first = |course: &&Course| course.steps.first().is_some_and(|(at, gone)| *gone > 0.0 && *at < by);
    courses.iter().filter(is_first).map(|course| course.told.name()).collect()
}

fn most_out(courses: &[Course]) -> f64 {
    let mut steps: Vec<(Moment, f64)> = courses.iter().flat_map(|course| course.steps.clone()).collect();
    steps.sort_by_key(|(at, _)| *at);
    let mut out: f64 = courses.iter().map(|course| course.out_at_first).sum();
    let mut most = out;
    for (_, gone) in steps {
        out += gone;
        most = most.max(out);
    }
    most
}

/// What one that was in got while others were out, as a multiple of an equal share: over all scrapes through which nobody
/// moved and somebody was out. `None` where instances are not told apart, or nobody counts their requests.
fn load(scene: &Scene<'_>, instances: &Instances, courses: &[Course], first: Moment) -> Option<f64> {
    let apart = courses.iter().all(|course| course.is_one || instances.of(&course.told).is_some());
    if !apart || courses.len() < 2 {
        return None;
    }
    let requests: Vec<Vec<Seen>> =
        courses.iter().map(|course| scene.points_since(&course.told, UPSTREAM_REQUESTS, first)).collect();
    let mut moments: Vec<Moment> =
        courses.iter().flat_map(|course| &course.steps).map(|(at, _)| *at).collect();
    moments.sort_unstable();
    let (mut sum, mut count) = (0.0, 0.0);
    for pair in requests.iter().max_by_key(|points| points.len())?.windows(2) {
        let (from, to) = (pair[0].at, pair[1].at);
        let next = moments.partition_point(|at| *at <= from);
        if moments.get(next).is_some_and(|at| *at <= to) {
            continue;
        }
        let is_in = |course: &Course| {
            let moved: f64 = course.steps.iter().filter(|(at, _)| *at <= from).map(|(_, gone)| gone).sum();
            course.out_at_first + moved < 0.5
        };
        let asked = requests.iter().map(|points| course::at(points, to));
        let asked: Vec<(bool, f64)> = courses
            .iter()
            .zip(asked)
            .map(|(one, seen)| (is_in(one), seen.map_or(0.0, |seen| seen.value)))
            .collect();
        let all: f64 = asked.iter().map(|(_, rate)| rate).sum();
        let inside: Vec<f64> = asked.iter().filter(|(is_in, _)| *is_in).map(|(_, rate)| *rate).collect();
        let share = all / courses.len() as f64;
        if inside.len() < courses.len() && !inside.is_empty() && share >= LEAST_REQUESTS {
            sum += inside.iter().sum::<f64>() / inside.len() as f64 / share;
            count += 1.0;
        }
    }
    (count > 0.0).then(|| sum / count)
}

/// How many instances there are behind a gateway: as it says, else the instances that it tells apart.
fn members(scene: &Scene<'_>, courses: &[Course]) -> Option<f64> {
    let by = &courses.first()?.told.by;
    let parts = scene.store.parts(by, UPSTREAM_MEMBERS);
    let said = parts.iter().filter_map(|part| scene.latest_part(by, UPSTREAM_MEMBERS, part.as_ref()));
    let sum: f64 = said.map(|seen| seen.value).sum();
    match sum {
        sum if sum > 0.0 => Some(sum),
        _ => (courses.len() > 1).then_some(courses.len() as f64),
    }
}

/// The instances behind a gateway, by their addresses.
pub(super) struct Instances {
    by_address: BTreeMap<String, Subject>,
}

impl Instances {
    fn behind(scene: &Scene<'_>, gateway: &Subject) -> Self {
        let services: BTreeSet<&Subject> =
            scene.graph.callees(gateway).filter(|callee| callee.kind() == Kind::Service).collect();
        let parts = services.into_iter().flat_map(|service| scene.world.parts(service));
        let addressed = parts.filter_map(|(part, _)| Some((part.address()?.to_owned(), part.clone())));
        Self { by_address: addressed.collect() }
    }

    fn all(&self) -> impl Iterator<Item = &Subject> {
        self.by_address.values()
    }

    /// The instance that an upstream is, where it is named by the address of one.
    fn of(&self, told: &Told) -> Option<&Subject> {
        self.by_address.get(told.address()?)
    }
}
