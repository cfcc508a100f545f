//! A GPU is slowed down while it has work.

use super::gpus::{BRIEFLY, RESTING, at, busy, parts};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    GPU_CLOCK, GPU_CLOCK_MAX, GPU_POWER, GPU_POWER_MAX, GPU_TEMPERATURE, GPU_THROTTLED, GPU_UTILIZATION, Unit,
};
use crate::quantity::show;
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::throttle;

/// The id of the rule, which full batches ask for by name.
pub(super) const ID: &str = "gpu-throttled";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a GPU is slowed down while it has work",
    doc: "For a tenth of the time at least the driver holds the clocks of a busy GPU down for heat, for a power brake or for its power limit, \
          and they are a tenth below their highest; below its power limit alone a quarter, because a GPU at full load runs into that every \
          day. A GPU that rests lowers its clocks by itself and is not judged. Where nobody counts the time, clocks near \
          their highest under load are proof enough that nothing holds them down, and lower ones are none of the opposite.",
    next: "look at temperature, fans and inlet air for heat, at the power supply for a brake, at the limit that was set for \
           power; take load off this GPU meanwhile",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "time",
            default: 0.1,
            unit: Unit::Ratio,
            help: "share of time in which clocks are held down",
        },
        Threshold {
            name: "clock",
            default: 0.9,
            unit: Unit::Ratio,
            help: "share of the highest clock above which nothing is lost",
        },
        Threshold {
            name: "capped",
            default: 0.75,
            unit: Unit::Ratio,
            help: "the same where the power limit alone holds it down",
        },
    ],
    rivals: &[RivalRow {
        rule: "compute-bound",
        told_by: "its clocks against its highest: where nobody tells these, time at the limit may be full load",
    }],
    absorbs: &[],
    judge,
};

/// What is known of a part's clocks.
struct Clocks<'a> {
    part: &'a Subject,
    busy: Option<Seen>,
    now: Option<Seen>,
    max: Option<f64>,
    /// The reason for which it is held down most, with its share of the time; `None` where nobody counts.
    held: Option<(RemoteText, Seen)>,
    counts: bool,
}

impl<'a> Clocks<'a> {
    fn of(scene: &Scene<'_>, part: &'a Subject) -> Self {
        let reasons: Vec<RemoteText> = scene.store.parts(part, GPU_THROTTLED).into_iter().flatten().collect();
        let told: Vec<(RemoteText, Seen)> = reasons
            .into_iter()
            .filter(|reason| throttle::by_name(reason.as_str()).is_none_or(|row| row.costs))
            .filter_map(|reason| {
                Some((reason.clone(), scene.mean_over(part, GPU_THROTTLED, Some(&reason), BRIEFLY)?))
            })
            .collect();
        let counts = !told.is_empty();
        let held = told.into_iter().max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
        let max = scene.latest(part, GPU_CLOCK_MAX).map(|seen| seen.value);
        let usual = || scene.baseline(part, GPU_CLOCK, None).map(|usual| usual.typical);
        Self {
            part,
            busy: busy(scene, part),
            now: scene.mean_over(part, GPU_CLOCK, None, BRIEFLY),
            max: max.or_else(usual).filter(|max| *max > 0.0),
            held,
            counts,
        }
    }

    /// The present clock over the highest.
    fn share(&self) -> Option<f64> {
        Some(self.now?.value / self.max?)
    }

    /// `SM clock 1.41 of 1.98 GHz`, and how warm it is.
    fn words(&self, scene: &Scene<'_>) -> String {
        let clock = match (self.now, self.max) {
            (Some(now), Some(max)) => {
                Some(format!("clock {} of {}", show(now.value, Unit::Hertz), show(max, Unit::Hertz)))
            }
            (Some(now), None) => Some(format!("clock {}", show(now.value, Unit::Hertz))),
            _ => None,
        };
        let warm = scene.latest(self.part, GPU_TEMPERATURE).map(|seen| show(seen.value, Unit::Celsius));
        let told: Vec<String> = clock.into_iter().chain(warm).collect();
        told.join(", ")
    }

    fn is_resting(&self) -> bool {
        self.busy.is_some_and(|busy| busy.value < RESTING)
    }
}

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let all: Vec<Clocks<'_>> = parts(scene, gpu).into_iter().map(|part| Clocks::of(scene, part)).collect();
    let all: Vec<&Clocks<'_>> = all.iter().filter(|one| one.counts || one.now.is_some()).collect();
    if all.is_empty() {
        return Judgement::Unknown(format!("neither clocks nor throttling: {}", scene.missing(gpu)));
    }
    let worst = all
        .iter()
        .filter_map(|one| Some((*one, breached(one, limits)?)))
        .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    if let Some((clocks, share)) = worst {
        return slowed(scene, clocks, share, limits);
    }
    let mut seen = vec![];
    for clocks in all {
        let words = clocks.words(scene);
        let is_fast = clocks.share().is_some_and(|share| share >= limits.of("clock"));
        if clocks.is_resting() {
            seen.push(format!("{words}{}, at rest", at(clocks.part)));
        } else if clocks.counts || is_fast {
            seen.push(format!("{words}{}, not held down", at(clocks.part)));
        } else {
            return Judgement::Unknown(format!("{words}, and nothing tells whether anything holds it down"));
        }
    }
    Judgement::Clear(seen.join("; "))
}

/// The share of time for which a busy part is held down, where that costs it something.
fn breached(clocks: &Clocks<'_>, limits: &Limits<'_>) -> Option<Seen> {
    let (reason, share) = clocks.held.as_ref()?;
    let is_power = throttle::by_name(reason.as_str()).is_some_and(|row| row.is_power_limit);
    let fast = limits.of(if is_power { "capped" } else { "clock" });
    let costs = clocks.share().is_none_or(|share| share < fast);
    (share.value >= limits.of("time") && costs && !clocks.is_resting()).then_some(*share)
}

fn slowed(scene: &Scene<'_>, clocks: &Clocks<'_>, share: Seen, limits: &Limits<'_>) -> Judgement {
    let reason = clocks.held.as_ref().map_or("", |(reason, _)| reason.as_str());
    let why = throttle::words(reason);
    let lost = clocks
        .share()
        .map_or(String::new(), |share| format!(", {} below its highest", show(1.0 - share, Unit::Ratio)));
    let power = scene.latest(clocks.part, GPU_POWER).zip(scene.latest(clocks.part, GPU_POWER_MAX));
    let drawn = power.map_or(String::new(), |(now, max)| {
        format!(", {} of {}", show(now.value, Unit::Watts), show(max.value, Unit::Watts))
    });
    let name = format!("{}[{reason}]", GPU_THROTTLED.name());
    let mut numbers: Vec<Evidence> =
        vec![named_evidence(name, Unit::Ratio, share, Some(limits.of("time")), None)];
    numbers.extend(clocks.now.map(|seen| evidence(GPU_CLOCK, seen, clocks.max, None)));
    for metric in [GPU_TEMPERATURE, GPU_POWER] {
        numbers.extend(scene.latest(clocks.part, metric).map(|seen| evidence(metric, seen, None, None)));
    }
    numbers.extend(clocks.busy.map(|seen| evidence(GPU_UTILIZATION, seen, None, None)));
    let breach = Breach::new(
        format!(
            "held down {} of the time{} by {why}: {}{lost}{drawn}",
            show(share.value, Unit::Ratio),
            at(clocks.part),
            clocks.words(scene),
        ),
        format!("{} held down by {why}", clocks.part.name()),
        share.value / limits.of("time"),
        numbers,
    );
    match clocks.share() {
        Some(_) => breach.judged(),
        None => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged(),
    }
}
