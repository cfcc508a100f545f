//! The memory of a GPU is read and written as fast as it can be.

use super::gpus::{BRIEFLY, at, parts, requests};
use super::surge::is_excluded as surge_is_excluded;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_BANDWIDTH, GPU_MEMORY_BUSY, GPU_UTILIZATION, Metric, REQUESTS, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "hbm-bound",
    title: "a GPU waits for its own memory",
    doc: "Device memory moves data in at least 85 % of its cycles, which is about what a copy that does nothing else \
          reaches: more speed is to be had from less traffic and not from more kernels. Decoding of language models is always so: \
          it convicts where it was less before, and else it is a suspicion. Tools that tell the share of time in which memory was \
          touched at all (NVML, DCGM's MEM_COPY_UTIL, nvidia-smi), and not the share of cycles (DCGM's DRAM_ACTIVE), say as much \
          of memory that is hardly used: what they tell clears a GPU, and makes it a suspect at most.",
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
        help: "share of the peak bandwidth, or of time, in which memory is read or written: what a plain copy reaches",
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

/// How busy the memory of a part of a GPU is.
struct Memory<'a> {
    part: &'a Subject,
    busy: Seen,
    /// Which of the two says so.
    metric: Metric,
}

impl<'a> Memory<'a> {
    /// By the share of cycles, else by that of time.
    fn of(scene: &Scene<'_>, part: &'a Subject) -> Option<Self> {
        let told = |metric| Some((metric, scene.mean_over(part, metric, None, BRIEFLY)?));
        let (metric, busy) = told(GPU_BANDWIDTH).or_else(|| told(GPU_MEMORY_BUSY))?;
        Some(Self { part, busy, metric })
    }

    /// Whether what is told is how much the memory does, and not only that it does something.
    fn is_of_cycles(&self) -> bool {
        self.metric == GPU_BANDWIDTH
    }

    fn words(&self) -> String {
        let (share, at) = (show(self.busy.value, Unit::Ratio), at(self.part));
        if self.is_of_cycles() {
            format!("memory at {share} of its peak bandwidth{at}")
        } else {
            format!("memory touched {share} of the time{at}")
        }
    }
}

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let all: Vec<Memory<'_>> =
        parts(scene, gpu).into_iter().filter_map(|part| Memory::of(scene, part)).collect();
    let is_busy = |memory: &Memory<'_>| memory.busy.value >= limits.of("busy");
    // One that is at its limit is not hidden by another that is touched more often.
    let worst = all.iter().max_by(|one, other| {
        let rank = |memory: &Memory<'_>| (is_busy(memory), is_busy(memory) && memory.is_of_cycles());
        rank(one).cmp(&rank(other)).then(one.busy.value.total_cmp(&other.busy.value))
    });
    match worst {
        None => Judgement::Unknown(format!("how busy its memory is: {}", scene.missing(gpu))),
        Some(memory) if is_busy(memory) => bound(scene, gpu, memory, limits),
        Some(memory) => Judgement::Clear(memory.words()),
    }
}

fn bound(scene: &Scene<'_>, gpu: &Subject, memory: &Memory<'_>, limits: &Limits<'_>) -> Judgement {
    let Memory { part, busy, metric } = memory;
    let done = requests(scene, gpu, BRIEFLY);
    let rate = done.map_or(String::new(), |done| format!(", {} done", show(done.value, Unit::PerSecond)));
    let usual = scene.baseline(part, *metric, None);
    let mut numbers = vec![evidence(*metric, *busy, Some(limits.of("busy")), usual)];
    let kernels = scene.mean_over(part, GPU_UTILIZATION, None, BRIEFLY);
    numbers.extend(kernels.map(|seen| evidence(GPU_UTILIZATION, seen, None, None)));
    numbers.extend(done.map(|seen| evidence(REQUESTS, seen, None, None)));
    // Decoding reads all weights for every token: such a GPU is always here, so only a rise is more than a suspicion.
    let has_risen = usual.is_some_and(|usual| usual.typical < limits.of("busy"));
    let (means, worth) = match (memory.is_of_cycles(), has_risen) {
        (true, true) => (": as fast as it can be", Confidence::High),
        (true, false) => (": as fast as it can be", Confidence::Low),
        (false, _) => ("; nobody tells how much it moves meanwhile", Confidence::Low),
    };
    let breach = Breach::new(
        format!("{}{rate}{means}", memory.words()),
        format!("{} memory-bound", part.name()),
        busy.value / limits.of("busy"),
        numbers,
    )
    .at_most(worth);
    let breach = if worth == Confidence::Low { breach.habitual() } else { breach };
    let breach = if memory.is_of_cycles() { breach } else { breach.with_rival(&RULE.rivals[0]) };
    if surge_is_excluded(scene, gpu) { breach.judged() } else { breach.with_rival(&RULE.rivals[1]).judged() }
}
