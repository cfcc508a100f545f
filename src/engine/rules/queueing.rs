//! How long requests wait in a queue and how full its batches are, for the rules that judge queues.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Judgement, Limits, Threshold};
use crate::metric::{
    BATCH_MAX, BATCH_SIZE, GPU_UTILIZATION, Metric, QUEUE_REJECTED, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS,
    Unit,
};
use crate::quantity::{show, times};
use crate::queues::{self, BATCH_SPAN, wait_s};
use crate::report::Evidence;
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// How much longer one instance's wait must be than that of all together to be told instead of it.
const APART: f64 = 1.5;

/// Where fewer than so many ended in three intervals, the rate of completion is in part that of a longer span: none of
/// them says nothing of long requests, and all of them as much as three intervals can.
const SELDOM: f64 = 20.0;
const SELDOM_SPAN: Duration = Duration::from_secs(60);

/// The share of its former length from which a queue counts as no shorter.
const NO_SHORTER: f64 = 0.9;

/// The threshold of what may be spent waiting, for rules that judge a wait by it.
pub(super) const WAIT: Threshold = Threshold {
    name: "wait",
    default: 0.5,
    unit: Unit::Ratio,
    help: "share of the latency objective that may be spent waiting",
};

/// How long a new request will wait: waiting requests over the rate of completion (Little's law). Who was refused at the
/// door never stood in the queue and is no completion.
#[derive(Clone, Debug)]
pub(super) struct Wait {
    pub(super) seconds: f64,
    pub(super) waiting: Seen,
    pub(super) done: Seen,
    /// Whether so few end that this rate is in part that of a minute.
    ends_seldom: bool,
    /// The queue, or the one instance of several that is far worse than all together.
    pub(super) whose: Subject,
}

impl Wait {
    /// The wait of a queue and the longest that it may have, seconds, by the threshold `wait` of whoever asks; else the
    /// answer of a rule that needs a wait that is too long.
    pub(super) fn that_troubles(
        scene: &Scene<'_>,
        queue: &Subject,
        limits: &Limits<'_>,
    ) -> Result<(Self, f64), Judgement> {
        let wait = Self::longest(scene, queue).map_err(Judgement::Unknown)?;
        let service = Subject::component(Kind::Service, queue.name());
        let limit = scene.objective(&service) * limits.of(WAIT.name);
        match wait.is_fine(scene, limit) {
            Some(fine) => Err(Judgement::Clear(fine)),
            None => Ok((wait, limit)),
        }
    }

    /// Of all instances together, or of the worst one where that is far worse; else what is missing.
    fn longest(scene: &Scene<'_>, queue: &Subject) -> Result<Self, String> {
        let Some(waiting) = scene.total(queue, QUEUE_WAITING) else {
            return Err(format!("no queue depth: {}", scene.missing(queue)));
        };
        let service = Subject::component(Kind::Service, queue.name());
        let Some(done) = served(scene, &service, queue) else {
            return Err(format!("no completion rate: {}", scene.missing(&service)));
        };
        let of = |waiting: Seen, (done, ends_seldom): (Seen, bool), whose: &Subject| Self {
            seconds: wait_s(waiting.value, done.value),
            waiting,
            done,
            ends_seldom,
            whose: whose.clone(),
        };
        let all = of(waiting, done, queue);
        let worst = scene
            .world
            .parts(queue)
            .filter_map(|(part, _)| {
                let instance = service.instance(part.address()?);
                Some(of(scene.present(part, QUEUE_WAITING)?, served(scene, &instance, part)?, part))
            })
            .max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        Ok(worst.filter(|worst| worst.seconds > all.seconds * APART).unwrap_or(all))
    }

    /// `26 waiting at 100/s done: a wait of 260 ms`, of one instance with its address before it.
    pub(super) fn words(&self) -> String {
        let whose = self.whose.address().map_or(String::new(), |address| format!("{address}: "));
        let over = if self.ends_seldom { " (few end: in part a mean of the last minute)" } else { "" };
        format!(
            "{whose}{:.0} waiting at {} done{over}: a wait of {}",
            self.waiting.value,
            show(self.done.value, Unit::PerSecond),
            self.shown()
        )
    }

    /// Its length.
    pub(super) fn shown(&self) -> String {
        show(self.seconds, Unit::Seconds)
    }

    /// Why it is no trouble, if it is none: it is short, or it gets shorter.
    fn is_fine(&self, scene: &Scene<'_>, limit: f64) -> Option<String> {
        let shown = format!("{:.0} waiting, a wait of {}", self.waiting.value, self.shown());
        if self.seconds < limit {
            return Some(shown);
        }
        (!self.is_rising(scene)).then(|| format!("{shown}, and falling"))
    }

    /// Whether the queue is no shorter than it was ten intervals ago, or had no past to compare with.
    fn is_rising(&self, scene: &Scene<'_>) -> bool {
        before(scene, &self.whose, QUEUE_WAITING, self.waiting)
            .is_none_or(|before| self.waiting.value >= before.value * NO_SHORTER)
    }

    /// The numbers that show it.
    pub(super) fn evidence(&self, limit: f64) -> Vec<Evidence> {
        let seen = Seen { value: self.seconds, at: self.waiting.at };
        vec![
            named_evidence("waiting time".to_owned(), Unit::Seconds, seen, Some(limit), None),
            evidence(QUEUE_WAITING, self.waiting, None, None),
            evidence(REQUESTS, self.done, None, None),
        ]
    }
}

/// Requests that left a queue a second, served by a service or an instance: those that ended, without the refused. And
/// whether so few did that the rate is in part that of a minute: the fewer, the more, so that one more or less does not
/// make a wait jump.
fn served(scene: &Scene<'_>, service: &Subject, queue: &Subject) -> Option<(Seen, bool)> {
    let rate = |of: &Subject, metric| {
        let lately = scene.total(of, metric)?;
        let events = lately.value * scene.settings.interval.as_secs_f64() * 3.0;
        let weight = (events / SELDOM).clamp(0.0, 1.0);
        let minute = scene.total_over(of, metric, SELDOM_SPAN).filter(|_| weight < 1.0);
        let value =
            minute.map_or(lately.value, |minute| weight * lately.value + (1.0 - weight) * minute.value);
        Some((Seen { value, ..lately }, minute.is_some()))
    };
    let (ended, ends_seldom) = rate(service, REQUESTS)?;
    let refused = rate(queue, QUEUE_REJECTED).map_or(0.0, |(refused, _)| refused.value);
    Some((Seen { value: (ended.value - refused).max(0.0), ..ended }, ends_seldom))
}

/// What a number of a subject came to ten intervals ago, over those of its parts that still tell it: the last that was
/// known then, else the first that is.
pub(super) fn before(scene: &Scene<'_>, subject: &Subject, metric: Metric, now: Seen) -> Option<Seen> {
    let then = now.at - scene.settings.interval * 10;
    scene.over_parts(subject, |part| {
        scene.latest(part, metric)?;
        let points = scene.store.points(part, metric, None)?;
        points.trace().latest_at(then).or_else(|| points.trace().oldest())
    })
}

/// The accelerators behind a queue.
pub(super) fn accelerators(scene: &Scene<'_>, queue: &Subject) -> BTreeSet<Subject> {
    queues::accelerators(scene.graph, queue)
}

/// How busy the busiest accelerator behind a queue is at present.
pub(super) fn busiest_accelerator(scene: &Scene<'_>, queue: &Subject) -> Option<Seen> {
    let gpus = accelerators(scene, queue);
    let parts = gpus.iter().flat_map(|gpu| scene.world.parts(gpu));
    // One that is told of no more may be the busy one.
    let told = parts.filter(|(part, _)| scene.store.latest(part, GPU_UTILIZATION, None).is_some());
    let seen = told.map(|(part, _)| (part.clone(), scene.present(part, GPU_UTILIZATION)));
    queues::busiest(queue, seen.collect()).and_then(|(_, seen)| seen)
}

/// How full batches are.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    /// Requests in a batch.
    pub(super) mean: Seen,
    /// Requests that it may hold; where nobody says, only the size is known.
    pub(super) most: Option<Seen>,
    /// The mean size before, where batches are counted: the oldest of the last half minute.
    pub(super) before: Option<f64>,
}

impl Fill {
    /// Of a queue or of one instance of it: the mean size of the last ten seconds' batches, else what runs at present.
    pub(super) fn of(scene: &Scene<'_>, queue: &Subject) -> Option<Self> {
        let limit = |part: &Subject| scene.present(part, BATCH_MAX);
        let counted = scene.last_scrape(queue, BATCH_SIZE, None).and_then(|at| {
            let mean = |from, to| scene.distribution_between(queue, BATCH_SIZE, None, from, to)?.mean();
            let value = mean(at - BATCH_SPAN, at)?;
            let before = mean(at - BATCH_SPAN * 3, at - BATCH_SPAN * 2);
            Some((Seen { value, at }, before))
        });
        if let Some((mean, before)) = counted {
            // A mean of batches is held against the limit of one batch, whoever of the instances has it.
            let one = scene.world.parts(queue).filter_map(|(part, _)| limit(part));
            let most = one.reduce(|one, other| if other.value > one.value { other } else { one });
            return Some(Self { mean, most, before });
        }
        // What runs where nobody says how much may fills nothing.
        let mean = scene.over_parts(queue, |part| limit(part).and(scene.present(part, QUEUE_RUNNING)))?;
        let most = scene.over_parts(queue, |part| scene.present(part, QUEUE_RUNNING).and(limit(part)));
        Some(Self { mean, most, before: None })
    }

    /// How full batches are, 0 to 1.
    pub(super) fn share(&self) -> Option<f64> {
        self.most.filter(|most| most.value > 0.0).map(|most| self.mean.value / most.value)
    }

    /// `batches hold 1.2 of 8 (15 %)`.
    pub(super) fn words(&self) -> String {
        match (self.share(), self.most) {
            (Some(share), Some(most)) => {
                format!(
                    "batches hold {} of {:.0} ({})",
                    few(self.mean.value),
                    most.value,
                    show(share, Unit::Ratio)
                )
            }
            _ => format!("batches hold {}", few(self.mean.value)),
        }
    }

    /// The numbers that show it.
    pub(super) fn evidence(&self, limit: Option<f64>) -> Vec<Evidence> {
        let mut numbers = vec![];
        if let Some(value) = self.share() {
            let seen = Seen { value, at: self.mean.at };
            numbers.push(named_evidence("batch fill".to_owned(), Unit::Ratio, seen, limit, None));
        }
        numbers.push(named_evidence("mean batch".to_owned(), Unit::Count, self.mean, None, None));
        numbers.extend(self.most.map(|most| evidence(BATCH_MAX, most, None, None)));
        numbers
    }
}

/// A small mean with one digit where it has any: `1.2`, `8`.
fn few(mean: f64) -> String {
    let shown = format!("{mean:.1}");
    shown.strip_suffix(".0").map_or(shown.clone(), str::to_owned)
}

/// `3.0x its usual 10/s`, for a rate beside its healthy value.
pub(super) fn against_usual(now: Seen, usual: f64) -> String {
    format!("{} its usual {}", times(now.value / usual), show(usual, Unit::PerSecond))
}
