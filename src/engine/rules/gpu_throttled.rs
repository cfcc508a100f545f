//! A GPU is slowed down while it has work.

mod clocks;

use super::gpus::{at, parts};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    GPU_CLOCK, GPU_POWER, GPU_POWER_MAX, GPU_TEMPERATURE, GPU_THROTTLED, GPU_UTILIZATION, Unit,
};
use crate::quantity::show;
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::subject::{Kind, Subject};
use crate::throttle;
use clocks::{Clocks, Held};

/// The id of the rule, which full batches ask for by name.
pub(super) const ID: &str = "gpu-throttled";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a GPU is slowed down while it has work",
    doc: "For a tenth of the time at least the driver holds the clocks of a busy GPU down for heat or for a power brake, and they \
          are a tenth below their highest. Into its power limit a GPU at full load runs every day: that counts where its clock is a \
          quarter below what it has under such load, and is else a mere suspicion. A GPU that rests lowers its clocks by itself \
          and is not judged. Clocks near their highest are proof enough that nothing holds them down; lower ones acquit only \
          where both heat and power are told.",
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
            help: "share of its clock under such load below which its power limit costs something",
        },
    ],
    rivals: &[RivalRow {
        rule: "compute-bound",
        told_by: "its clocks against its highest: where nobody tells these, time at the limit may be full load",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let all: Vec<Clocks<'_>> = parts(scene, gpu).into_iter().map(|part| Clocks::of(scene, part)).collect();
    let all: Vec<&Clocks<'_>> = all.iter().filter(|one| one.is_told()).collect();
    if all.is_empty() {
        return Judgement::Unknown(format!("neither clocks nor throttling: {}", scene.missing(gpu)));
    }
    let worst =
        all.iter().filter_map(|one| Some((*one, one.worst(limits)?))).max_by(|(_, one), (_, other)| {
            one.worth.cmp(&other.worth).then(one.share.value.total_cmp(&other.share.value))
        });
    if let Some((clocks, held)) = worst {
        return slowed(scene, clocks, &held, limits);
    }
    let mut seen = vec![];
    for clocks in all {
        match clocks.cleared(limits) {
            Ok(why) => seen.push(format!("{}{}{why}", clocks.words(scene), at(clocks.part))),
            Err(why) => {
                return Judgement::Unknown(format!("{}{}{why}", clocks.words(scene), at(clocks.part)));
            }
        }
    }
    Judgement::Clear(seen.join("; "))
}

fn slowed(scene: &Scene<'_>, clocks: &Clocks<'_>, held: &Held<'_>, limits: &Limits<'_>) -> Judgement {
    let why = throttle::words(held.reason.as_str());
    let power = scene.latest(clocks.part, GPU_POWER).zip(scene.latest(clocks.part, GPU_POWER_MAX));
    let drawn = power.map_or(String::new(), |(now, max)| {
        format!(", {} of {}", show(now.value, Unit::Watts), show(max.value, Unit::Watts))
    });
    let name = format!("{}[{}]", GPU_THROTTLED.name(), held.reason);
    let mut numbers: Vec<Evidence> =
        vec![named_evidence(name, Unit::Ratio, held.share, Some(limits.of("time")), None)];
    numbers.extend(clocks.now.map(|seen| evidence(GPU_CLOCK, seen, clocks.max, None)));
    for metric in [GPU_TEMPERATURE, GPU_POWER] {
        numbers.extend(scene.latest(clocks.part, metric).map(|seen| evidence(metric, seen, None, None)));
    }
    numbers.extend(clocks.busy.map(|seen| evidence(GPU_UTILIZATION, seen, None, None)));
    let breach = Breach::new(
        format!(
            "held down {} of the time{} by {why}: {}{}{drawn}",
            show(held.share.value, Unit::Ratio),
            at(clocks.part),
            clocks.words(scene),
            held.lost,
        ),
        format!("{} held down by {why}", clocks.part.name()),
        held.share.value / limits.of("time"),
        numbers,
    )
    .at_most(held.worth);
    // Only a power limit is worth so little: full load runs into it every day.
    let breach = if held.worth == Confidence::Low { breach.habitual() } else { breach };
    if held.may_be_load { breach.with_rival(&RULE.rivals[0]).judged() } else { breach.judged() }
}
