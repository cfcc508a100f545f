//! The memory of a GPU is read and written as fast as it can be.

use super::gpus::{BRIEFLY, at, parts, requests};
use super::surge::is_excluded as surge_is_excluded;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_MEMORY_BUSY, GPU_UTILIZATION, REQUESTS, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "hbm-bound",
    title: "a GPU waits for its own memory",
    doc: "Device memory is read or written for at least 85 % of the time, which is about what a copy that does nothing else \
          reaches: more speed is to be had from less traffic and not from more kernels. Tools that tell the share of \
          time and not of cycles say as much when memory is merely touched all the time, and decoding of language models is always so: \
          it is worth the middle where it was less before, and else a suspicion.",
    next: "see whether batches are small, contexts long or embeddings gathered one by one: each reads the same bytes for less work; \
           quantise, batch, or add GPUs by waiting requests",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[Threshold {
        name: "busy",
        default: 0.85,
        unit: Unit::Ratio,
        help: "share of time in which memory is read or written: what a plain copy reaches",
    }],
    rivals: &[
        RivalRow {
            rule: "compute-bound",
            told_by: "share of cycles instead of time, as DCGM's DRAM_ACTIVE has it",
        },
        RivalRow { rule: "surge", told_by: "original requests against their healthy rate" },
    ],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let busy = parts(scene, gpu)
        .into_iter()
        .filter_map(|part| Some((part, scene.mean_over(part, GPU_MEMORY_BUSY, None, BRIEFLY)?)))
        .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let Some((part, busy)) = busy else {
        return Judgement::Unknown(format!("how busy its memory is: {}", scene.missing(gpu)));
    };
    let words = format!("memory read or written {} of the time{}", show(busy.value, Unit::Ratio), at(part));
    if busy.value < limits.of("busy") {
        return Judgement::Clear(words);
    }
    let done = requests(scene, gpu, BRIEFLY);
    let rate = done.map_or(String::new(), |done| format!(", {} done", show(done.value, Unit::PerSecond)));
    let mut numbers = vec![evidence(
        GPU_MEMORY_BUSY,
        busy,
        Some(limits.of("busy")),
        scene.baseline(part, GPU_MEMORY_BUSY, None),
    )];
    let kernels = scene.mean_over(part, GPU_UTILIZATION, None, BRIEFLY);
    numbers.extend(kernels.map(|seen| evidence(GPU_UTILIZATION, seen, None, None)));
    numbers.extend(done.map(|seen| evidence(REQUESTS, seen, None, None)));
    // Decoding reads all weights for every token: such a GPU is always here, so only a rise is more than a suspicion.
    let usual = scene.baseline(part, GPU_MEMORY_BUSY, None);
    let has_risen = usual.is_some_and(|usual| usual.typical < limits.of("busy"));
    let breach = Breach::new(
        format!("{words}{rate}: as fast as it can be"),
        format!("{} memory-bound", part.name()),
        busy.value / limits.of("busy"),
        numbers,
    )
    .with_rival(&RULE.rivals[0])
    .at_most(if has_risen { Confidence::Medium } else { Confidence::Low });
    if surge_is_excluded(scene, gpu) { breach.judged() } else { breach.with_rival(&RULE.rivals[1]).judged() }
}
