//! Requests are in the house, and none of them ends.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{Metric, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS, TOKENS_OUT, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// The id of the rule, by which others know that what is busy does nothing.
pub(super) const ID: &str = "no-progress";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "requests wait or run, and none of them ends",
    doc: "For fifteen seconds a service that had requests all the time, waiting or running, ended none of them, and where it tells of \
          tokens gave none. A service that tells of tokens is judged by these, because one answer may take minutes; one that does not \
          is given ten latency objectives as well. No percentile shows this: what never ends is never timed, and an accelerator whose \
          kernel hangs says that it is busy. It is a symptom: it accuses nobody, and that requests end exonerates nobody.",
    next: "look whether the process and its accelerator still work: a kernel, a lock or a call below that never returns",
    watches: Watches::Those {
        kinds: &[Kind::Service],
        which: "that tells how many requests wait or run",
        are: |scene, service| {
            let queue = Subject::component(Kind::Queue, service.name());
            [QUEUE_WAITING, QUEUE_RUNNING].iter().any(|metric| scene.tells(&queue, *metric))
        },
    },
    nature: Nature::Symptom,
    exonerates: false,
    role: Role::Victim,
    hold: 2,
    thresholds: &[
        Threshold {
            name: "time",
            default: 15.0,
            unit: Unit::Seconds,
            help: "time without an end or a token from which nothing goes on: the longest prompt of a batch is read within it",
        },
        Threshold {
            name: "objectives",
            default: 10.0,
            unit: Unit::Count,
            help: "multiple of the latency objective that a service without tokens is given besides",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, service: &Subject, limits: &Limits<'_>) -> Judgement {
    let queue = Subject::component(Kind::Queue, service.name());
    let (waiting, running) = (scene.total(&queue, QUEUE_WAITING), scene.total(&queue, QUEUE_RUNNING));
    let Some(load) = [waiting, running].into_iter().flatten().reduce(sum) else {
        return Judgement::Unknown(format!("how many requests it has: {}", scene.missing(&queue)));
    };
    let (Some(_), ended) = (scene.total(service, REQUESTS), last_of(scene, service, REQUESTS)) else {
        return Judgement::Unknown(format!("no completion rate: {}", scene.missing(service)));
    };
    let has_tokens = scene.total(service, TOKENS_OUT).is_some();
    if load.value < 1.0 {
        return Judgement::Clear("no request waits or runs".to_owned());
    }
    let progress = last_of(scene, service, TOKENS_OUT).filter(|_| has_tokens).max(ended);
    let idle = busy_since(scene, &queue).max(progress).map_or(0.0, |since| scene.now.seconds_after(since));
    let patience = if has_tokens { 0.0 } else { scene.objective(service) * limits.of("objectives") };
    let limit = limits.of("time").max(patience);
    let goes_on = if has_tokens { "a request ended or a token came" } else { "a request ended" };
    if idle < limit {
        return Judgement::Clear(format!("{goes_on} {} ago", show(idle, Unit::Seconds)));
    }
    let count = |seen: Option<Seen>, what| seen.map(|seen| format!("{:.0} {what}", seen.value));
    let those: Vec<String> = count(waiting, "wait").into_iter().chain(count(running, "run")).collect();
    let seen = Seen { value: idle, at: load.at };
    let mut numbers =
        vec![named_evidence("time without progress".to_owned(), Unit::Seconds, seen, Some(limit), None)];
    numbers.extend(waiting.map(|seen| evidence(QUEUE_WAITING, seen, None, None)));
    numbers.extend(running.map(|seen| evidence(QUEUE_RUNNING, seen, None, None)));
    let none = if has_tokens { "no request has ended and no token come" } else { "no request has ended" };
    Breach::new(
        format!("{none} for {}, while {}", show(idle.floor(), Unit::Seconds), those.join(" and ")),
        format!("nothing ends at {}", service.name()),
        idle / limit,
        numbers,
    )
    .judged()
}

fn sum(one: Seen, other: Seen) -> Seen {
    Seen { value: one.value + other.value, at: one.at.max(other.at) }
}

/// When a rate of any part was last seen above nothing, else since when it is told; `None` where it is not.
fn last_of(scene: &Scene<'_>, subject: &Subject, metric: Metric) -> Option<Moment> {
    last(scene, subject, metric, |value| value > 0.0)
}

/// Since when there are requests without a pause: when nothing waited and nothing ran for the last time.
fn busy_since(scene: &Scene<'_>, queue: &Subject) -> Option<Moment> {
    let parts = scene.world.parts(queue).map(|(part, _)| part);
    let of_part = |part: &Subject| {
        let each =
            [QUEUE_WAITING, QUEUE_RUNNING].map(|metric| last(scene, part, metric, |value| value < 1.0));
        each.into_iter().flatten().min()
    };
    parts.filter_map(of_part).min()
}

/// How far back is looked: what lasts longer lasts long enough.
const LOOKED: Duration = Duration::from_secs(600);

/// The newest moment at which a series of any part fits, else that of its oldest point.
fn last(scene: &Scene<'_>, subject: &Subject, metric: Metric, fits: impl Fn(f64) -> bool) -> Option<Moment> {
    let parts = scene.world.parts(subject).map(|(part, _)| part);
    let of_part = |part: &Subject| {
        let points = scene.store.points(part, metric, None)?;
        let mut oldest = None;
        for seen in points.newest_first().take_while(|seen| seen.at >= scene.now - LOOKED) {
            if fits(seen.value) {
                return Some(seen.at);
            }
            oldest = Some(seen.at);
        }
        oldest
    };
    parts.filter_map(of_part).max()
}
