//! The accelerator does all it can, and more is asked of it.

use super::queueing::{Fill, WAIT, Wait, accelerators, against_usual, before, busiest_accelerator};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches, gpu_throttled};
use crate::metric::{CLIENT_ORIGINALS, GPU_UTILIZATION, Metric, REQUESTS, TOKENS_OUT, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "compute-bound",
    title: "batches are full, no more is done, and requests wait",
    doc: "The wait in the queue is at least half the latency objective and does not fall, batches are at least nine \
          tenths full, and tokens a second (else requests a second) do not rise. Utilisation alone never says so: it \
          counts that a kernel ran, not how much it did; but an accelerator that is less than half busy is not the \
          limit. Without a source for it, batches of too low a limit look the same, and the confidence is medium.",
    next: "shed load from 80 % of the queue on, then add instances by the number of waiting requests; see whether \
           prompts or answers became longer",
    watches: Watches::Components(&[Kind::Queue]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "fill",
            default: 0.9,
            unit: Unit::Ratio,
            help: "share of a batch from which it is full",
        },
        WAIT,
        Threshold {
            name: "flat",
            default: 1.1,
            unit: Unit::Ratio,
            help: "multiple of what was done ten intervals ago up to which no more is done",
        },
        Threshold {
            name: "idle",
            default: 0.5,
            unit: Unit::Ratio,
            help: "utilisation below which the accelerator is not the limit",
        },
    ],
    rivals: &[
        RivalRow { rule: "queue-not-compute", told_by: "GPU utilisation" },
        RivalRow { rule: "surge", told_by: "original requests against their healthy rate" },
        RivalRow { rule: "gpu-throttled", told_by: "clocks and throttle reasons of the accelerator" },
    ],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, queue: &Subject, limits: &Limits<'_>) -> Judgement {
    let (wait, limit) = match Wait::that_troubles(scene, queue, limits) {
        Ok(troubles) => troubles,
        Err(judgement) => return judgement,
    };
    let full = Fill::of(scene, &wait.whose).and_then(|fill| fill.share().map(|share| (fill, share)));
    let Some((fill, share)) = full else {
        return Judgement::Unknown(format!(
            "a wait of {}, and no page says how full batches are and what they may hold",
            wait.shown()
        ));
    };
    if share < limits.of("fill") {
        return Judgement::Clear(format!("{}: there is room in them", fill.words()));
    }
    let busy = busiest_accelerator(scene, &wait.whose);
    if let Some(idle) = busy.filter(|seen| seen.value < limits.of("idle")) {
        return Judgement::Clear(format!(
            "{}, but the accelerator is only {} busy",
            fill.words(),
            show(idle.value, Unit::Ratio)
        ));
    }
    let (metric, done, then) = done(scene, &wait);
    if then.is_some_and(|then| done.value > then.value * limits.of("flat")) {
        return Judgement::Clear(format!(
            "{}, and more is done than before: {}",
            fill.words(),
            shown(metric, done)
        ));
    }
    let originals = originals(scene, queue);
    let asked = originals
        .and_then(|(now, usual)| {
            Some(format!("; {} ask, {}", shown(REQUESTS, now), against_usual(now, usual?)))
        })
        .unwrap_or_default();
    let mut numbers = fill.evidence(Some(limits.of("fill")));
    numbers.extend(wait.evidence(limit));
    if metric != REQUESTS {
        numbers.push(evidence(metric, done, None, None));
    }
    numbers.extend(busy.map(|seen| evidence(GPU_UTILIZATION, seen, None, None)));
    numbers.extend(originals.map(|(now, _)| evidence(CLIENT_ORIGINALS, now, None, None)));
    let mut breach = Breach::new(
        format!("{}, flat at {}, while {}{asked}", fill.words(), shown(metric, done), wait.words()),
        format!("batches full, flat at {}", shown(metric, done)),
        wait.seconds / limit,
        numbers,
    );
    if originals.is_none_or(|(_, usual)| usual.is_none()) {
        breach = breach.with_rival(&RULE.rivals[1]);
    }
    // What is held down does less than it could: then it is not too little that there is.
    let is_held =
        accelerators(scene, &wait.whose).iter().any(|gpu| scene.findings.stirring(&[gpu_throttled::ID], gpu));
    if is_held {
        breach = breach.with_rival(&RULE.rivals[2]);
    }
    match busy {
        Some(_) => breach.judged(),
        None => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged(),
    }
}

/// What is done a second, now and ten intervals ago: tokens where they are counted, else requests.
fn done(scene: &Scene<'_>, wait: &Wait) -> (Metric, Seen, Option<Seen>) {
    let component = Subject::component(Kind::Service, wait.whose.name());
    let service = wait.whose.address().map_or(component.clone(), |address| component.instance(address));
    let counts = [&service, &wait.whose];
    let tokens = counts.into_iter().find_map(|subject| Some((subject, scene.total(subject, TOKENS_OUT)?)));
    match tokens {
        Some((subject, now)) => (TOKENS_OUT, now, before(scene, subject, TOKENS_OUT, now)),
        None => {
            let now = scene.total(&service, REQUESTS).unwrap_or(wait.done);
            (REQUESTS, now, before(scene, &service, REQUESTS, now))
        }
    }
}

/// What all callers of the queue ask for a second, and what is usual where that is known of each of them.
fn originals(scene: &Scene<'_>, queue: &Subject) -> Option<(Seen, Option<f64>)> {
    let above = scene.graph.above(queue);
    let clients = above.keys().filter(|subject| subject.kind() == Kind::Client);
    let each = clients.filter_map(|client| {
        let usual = scene.total_baseline(client, CLIENT_ORIGINALS).map(|usual| usual.typical);
        Some((scene.total(client, CLIENT_ORIGINALS)?, usual))
    });
    let (now, usual) = each.reduce(|(sum, usual), (one, other)| {
        let sum = Seen { value: sum.value + one.value, at: sum.at.max(one.at) };
        (sum, usual.zip(other).map(|(usual, other)| usual + other))
    })?;
    Some((now, usual.filter(|usual| *usual > 0.0)))
}

fn shown(metric: Metric, seen: Seen) -> String {
    let what = if metric == TOKENS_OUT { " tokens" } else { "" };
    format!("{}{what}", show(seen.value, Unit::PerSecond))
}
