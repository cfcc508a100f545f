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
    let Some(ended) = Last::of(scene, service, REQUESTS, |_, most| most > 0.0) else {
        return Judgement::Unknown(format!("no completion rate: {}", scene.missing(service)));
    };
    let token = Last::of(scene, service, TOKENS_OUT, |_, most| most > 0.0);
    if load.value < 1.0 {
        return Judgement::Clear("no request waits or runs".to_owned());
    }
    let has_tokens = token.is_some();
    let progress = token.map_or(ended, |token| ended.max(token));
    // Since when there are requests without a pause, and until when anybody told of progress: time without news is no time
    // without progress.
    let busy = busy_since(scene, &queue);
    let idle = busy.max(Some(progress.at)).map_or(0.0, |since| progress.heard.seconds_after(since).max(0.0));
    let patience = if has_tokens { 0.0 } else { scene.objective(service) * limits.of("objectives") };
    let limit = limits.of("time").max(patience);
    if idle < limit {
        let what = if has_tokens { "a request ended or a token came" } else { "a request ended" };
        return Judgement::Clear(match progress.is_seen {
            true => format!("{what} {} ago", show(scene.now.seconds_after(progress.at), Unit::Seconds)),
            false => "no request has been there for long".to_owned(),
        });
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

/// Since when there are requests without a pause: when nothing waited and nothing ran for the last time, by the parts that tell
/// of it at present.
fn busy_since(scene: &Scene<'_>, queue: &Subject) -> Option<Moment> {
    let is_free = |least: f64, _| least < 1.0;
    let of_part = |part: &Subject| {
        let each = [QUEUE_WAITING, QUEUE_RUNNING].map(|metric| Last::of_part(scene, part, metric, is_free));
        each.into_iter().flatten().map(|last| last.at).min()
    };
    scene.world.parts(queue).filter_map(|(part, _)| of_part(part)).min()
}

/// When something was so for the last time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Last {
    /// Then, else at the oldest that is kept.
    at: Moment,
    /// Whether it was seen then.
    is_seen: bool,
    /// Until when anybody told of it.
    heard: Moment,
}

impl Last {
    /// Of any part that tells of it at present; `fits` is asked with the least and the most of a while.
    fn of(
        scene: &Scene<'_>,
        subject: &Subject,
        metric: Metric,
        fits: impl Fn(f64, f64) -> bool,
    ) -> Option<Self> {
        let each =
            scene.world.parts(subject).filter_map(|(part, _)| Self::of_part(scene, part, metric, &fits));
        each.max()
    }

    fn of_part(
        scene: &Scene<'_>,
        part: &Subject,
        metric: Metric,
        fits: impl Fn(f64, f64) -> bool,
    ) -> Option<Self> {
        let points = scene.store.points(part, metric, None)?.trace();
        let heard = points.latest()?.at;
        if heard < scene.fresh_from(part, metric) {
            return None;
        }
        let mut at = heard;
        for (then, least, most) in points.backwards(heard).take_while(|(at, ..)| *at >= scene.now - LOOKED) {
            at = then;
            if fits(least, most) {
                return Some(Self { at, is_seen: true, heard });
            }
        }
        Some(Self { at, is_seen: false, heard })
    }
}

/// How far back is looked: what lasts longer lasts long enough.
const LOOKED: Duration = Duration::from_secs(3_600);
