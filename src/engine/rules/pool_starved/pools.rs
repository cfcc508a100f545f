//! The pools of a service: what is in use, who waits, and what its operations need.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::baseline::Baseline;
use crate::metric::{
    DB_DURATION, DB_TIMEOUTS, Metric, POOL_MAX, POOL_PENDING, POOL_TIMEOUTS, POOL_USED, POOL_WAIT, Unit,
};
use crate::quantity::show;
use crate::report::{BaselineFrom, Evidence};
use crate::rules::Limits;
use crate::rules::rising::{LATELY, Rise, rise};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

/// A connection is used while an operation runs: below this share of those in use, they are held for something else.
const HELD: f64 = 0.5;

/// Seconds over which operations are averaged.
const OPERATIONS_S: u64 = 10;

/// A pool of one name, over all instances of a service.
#[derive(Debug, Default)]
pub(super) struct Pool {
    name: Option<RemoteText>,
    /// Whether no other pool of the service is told of. Of several nobody tells which of them an operation runs on.
    pub(super) is_only: bool,
    instances: usize,
    used: Option<Seen>,
    max: Option<Seen>,
    pending: Option<Seen>,
    /// The 99th percentile of the wait.
    pub(super) wait: Option<Seen>,
    /// Waits that were given up lately.
    pub(super) gave_up: Option<Rise>,
    limit_waiting: f64,
    limit_wait: f64,
}

/// The pool that is shortest of connections, one that starves before one that does not; `None` where nothing fresh is told
/// of any. `gave_up` is whether operations are given up.
pub(super) fn fullest(
    scene: &Scene<'_>,
    service: &Subject,
    limits: &Limits<'_>,
    gave_up: bool,
) -> Option<Pool> {
    let mut pools: BTreeMap<Option<RemoteText>, Pool> = BTreeMap::new();
    for (instance, _) in scene.world.parts(service) {
        let metrics = [POOL_USED, POOL_MAX, POOL_PENDING, POOL_TIMEOUTS, POOL_WAIT];
        let mut names: Vec<_> =
            metrics.iter().flat_map(|metric| scene.store.parts(instance, *metric)).collect();
        names.sort();
        names.dedup();
        for name in names {
            let pool = pools.entry(name.clone()).or_insert_with(|| Pool {
                name: name.clone(),
                wait: wait(scene, limits, name.as_ref()),
                ..Pool::default()
            });
            pool.add(scene, instance);
        }
    }
    let mut all: Vec<Pool> = pools.into_values().filter(Pool::is_told).collect();
    let is_only = all.len() == 1;
    for pool in &mut all {
        (pool.limit_waiting, pool.limit_wait) = (limits.of("waiting"), limits.of("wait"));
        pool.is_only = is_only;
    }
    let starves = |pool: &Pool| pool.starves(limits, gave_up);
    all.into_iter().max_by(|one, other| {
        (starves(one).cmp(&starves(other)))
            .then(one.severity().total_cmp(&other.severity()))
            .then(one.share().total_cmp(&other.share()))
    })
}

/// Operations that were given up lately by all instances of a service, a second.
pub(super) fn timed_out(scene: &Scene<'_>, service: &Subject) -> Option<Seen> {
    scene.over_parts(service, |instance| {
        let parts = scene.store.parts(instance, DB_TIMEOUTS);
        let rates =
            parts.iter().filter_map(|part| rise(scene, instance, (DB_TIMEOUTS, part.as_ref()), LATELY));
        Seen::sum(rates.map(|rise| rise.rate))
    })
}

/// How many operations of a service's stores run at once, on average: their whole time in a second (Little's law).
pub(super) fn operations_at_once(scene: &Scene<'_>, service: &Subject) -> Option<f64> {
    let mut parts: Vec<Option<RemoteText>> = scene
        .world
        .parts(service)
        .flat_map(|(instance, _)| scene.store.parts(instance, DB_DURATION))
        .collect();
    parts.sort();
    parts.dedup();
    let spent = parts.into_iter().filter_map(|part| {
        let at = scene.last_scrape(service, DB_DURATION, part.as_ref())?;
        let from = at - Duration::from_secs(OPERATIONS_S);
        scene.distribution_between(service, DB_DURATION, part.as_ref(), from, at)?.sum
    });
    spent.reduce(|sum, one| sum + one).map(|seconds| seconds / OPERATIONS_S as f64)
}

fn wait(scene: &Scene<'_>, limits: &Limits<'_>, name: Option<&RemoteText>) -> Option<Seen> {
    let observed = scene.p99(limits.subject, POOL_WAIT, name)?.ok()?;
    let p99 = observed.p99;
    // Below a first bound of 50 ms may be microseconds: that says nothing.
    (!p99.is_only_a_bound() || p99.number() < limits.of("wait")).then_some(())?;
    Some(Seen { value: p99.number(), at: observed.at })
}

impl Pool {
    fn add(&mut self, scene: &Scene<'_>, instance: &Subject) {
        let name = self.name.clone();
        let present = |metric: Metric| scene.present_part(instance, metric, name.as_ref());
        let sum = |all: &mut Option<Seen>, one: Option<Seen>| {
            let Some(one) = one else { return };
            *all = Some(all.map_or(one, |all| Seen { value: all.value + one.value, at: all.at.max(one.at) }));
        };
        // A pool without a bound says so by a number below zero, or by one that no pool has.
        let max = present(POOL_MAX).filter(|max| (1.0..1e6).contains(&max.value));
        self.instances += usize::from(max.is_some());
        sum(&mut self.max, max);
        sum(&mut self.used, present(POOL_USED));
        sum(&mut self.pending, present(POOL_PENDING).map(|seen| Seen { value: seen.value.max(0.0), ..seen }));
        let gave_up = rise(scene, instance, (POOL_TIMEOUTS, name.as_ref()), LATELY);
        self.gave_up = match (self.gave_up, gave_up) {
            (Some(all), Some(one)) => Some(Rise {
                rate: Seen { value: all.rate.value + one.rate.value, at: all.rate.at.max(one.rate.at) },
                gained: all.gained + one.gained,
                // `None` is less than any: what one was first seen with began before all.
                began: all.began.min(one.began),
                last: all.last.max(one.last),
            }),
            (one, other) => one.or(other),
        };
    }

    fn is_told(&self) -> bool {
        self.used.or(self.pending).or(self.wait).is_some() || self.gave_up.is_some()
    }

    /// The share in use; of a pool that does not say, that of who waits: one has none to spare.
    fn share(&self) -> f64 {
        match (self.used, self.max) {
            (Some(used), Some(max)) => used.value / max.value,
            _ => 0.0,
        }
    }

    /// Whether somebody waits for want of a connection; `gave_up` is whether operations are given up.
    pub(super) fn starves(&self, limits: &Limits<'_>, gave_up: bool) -> bool {
        let is_full = self.used.is_none() || self.max.is_none() || self.share() >= limits.of("used");
        let waits = self.pending.is_some_and(|pending| pending.value >= self.limit_waiting)
            || self.wait.is_some_and(|wait| wait.value >= self.limit_wait)
            || self.gave_up.is_some();
        let is_surely_full = self.used.is_some() && self.max.is_some() && is_full;
        is_full && (waits || (gave_up && is_surely_full))
    }

    /// How far past its limits the worst of its numbers is.
    pub(super) fn severity(&self) -> f64 {
        let waiting = self.pending.map_or(0.0, |pending| pending.value / self.limit_waiting.max(1e-9));
        let wait = self.wait.map_or(0.0, |wait| wait.value / self.limit_wait.max(1e-9));
        let gave_up = if self.gave_up.is_some() { 2.0 } else { 0.0 };
        waiting.max(wait).max(gave_up)
    }

    fn words(&self) -> String {
        self.name.as_ref().map_or("its pool".to_owned(), |name| format!("its pool '{name}'"))
    }

    /// `32 of 32 connections of its pool in use (4 instances x 8)`.
    fn in_use(&self) -> String {
        let pool = self.words();
        match (self.used, self.max) {
            (Some(used), Some(max)) => {
                let each = max.value / self.instances.max(1) as f64;
                let spread = match self.instances {
                    0 | 1 => String::new(),
                    many => format!(" ({many} instances x {})", show(each, Unit::Count)),
                };
                let (used, max) = (show(used.value, Unit::Count), show(max.value, Unit::Count));
                format!("{used} of {max} connections of {pool} in use{spread}")
            }
            (Some(used), None) => format!("{} connections of {pool} in use", show(used.value, Unit::Count)),
            (None, Some(max)) => format!("{pool} has at most {}", show(max.value, Unit::Count)),
            _ => format!("{pool} tells no size"),
        }
    }

    /// What is seen of a pool that is well.
    pub(super) fn calm(&self, at_once: Option<f64>) -> String {
        let waiting = self.pending.map_or(0.0, |pending| pending.value);
        let who = if waiting > 0.0 {
            format!("{} wait", show(waiting, Unit::Count))
        } else {
            "nobody waits".to_owned()
        };
        let need = at_once.map_or(String::new(), |at_once| {
            format!("; {} operations run at once on average", show(at_once, Unit::Count))
        });
        format!("{}, {who}{need}", self.in_use())
    }

    /// What is seen of a pool that is short of connections.
    pub(super) fn trouble(&self) -> String {
        let mut words = vec![];
        if let Some(pending) = self.pending.filter(|pending| pending.value >= self.limit_waiting) {
            words.push(format!("{} wait for a connection", show(pending.value, Unit::Count)));
        }
        if let Some(wait) = self.wait.filter(|wait| wait.value >= self.limit_wait) {
            words.push(format!("the wait for a connection is {} (p99)", show(wait.value, Unit::Seconds)));
        }
        if let Some(gave_up) = self.gave_up {
            let count = show(gave_up.gained.max(1.0).round(), Unit::Count);
            words.push(format!("{count} gave up waiting for one in the last minute"));
        }
        words.push(self.in_use());
        words.join("; ")
    }

    /// Whether most of the connections in use are held while no operation runs on them; `None` where nobody knows.
    pub(super) fn is_held(&self, at_once: Option<f64>) -> Option<bool> {
        Some(at_once? < self.used?.value * HELD)
    }

    /// Whether the pool is too small, or its connections are held without being used.
    pub(super) fn why(&self, at_once: Option<f64>) -> String {
        let (Some(_), Some(at_once)) = (self.used, at_once) else { return String::new() };
        let shown = show(at_once, Unit::Count);
        if self.is_held(Some(at_once)) == Some(true) {
            return format!(
                "; {shown} operations run at once on average: the others are held by code that does not use them"
            );
        }
        format!("; {shown} operations run at once on average: the pool is too small for them")
    }

    pub(super) fn numbers(&self) -> Vec<Evidence> {
        let size = self.max.map(|max| Baseline::new(max.value, BaselineFrom::Declared));
        let mut numbers = vec![];
        let pending = self.pending.map(|seen| evidence(POOL_PENDING, seen, Some(self.limit_waiting), None));
        let gave_up = self.gave_up.map(|rise| evidence(POOL_TIMEOUTS, rise.rate, Some(0.0), None));
        let wait = self.wait.map(|seen| {
            named_evidence(
                format!("{} p99", POOL_WAIT.name()),
                Unit::Seconds,
                seen,
                Some(self.limit_wait),
                None,
            )
        });
        let used = self.used.map(|seen| evidence(POOL_USED, seen, self.max.map(|max| max.value), size));
        numbers.extend([pending, wait, gave_up, used].into_iter().flatten());
        numbers
    }
}
