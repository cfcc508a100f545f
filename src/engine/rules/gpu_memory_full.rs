//! A GPU has no memory left.

use super::gpus::{at, lines_of_full_memory, may_load, parts};
use super::rising::{LATELY, Rise, rise};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::gpu_memory::{Course, FULL, Growth, NEARLY_FULL, course};
use crate::metric::{
    GPU_ALLOCATION_FAILURES, GPU_MEMORY, GPU_MEMORY_MAX, GPU_PROCESS_MEMORY, LOG_MATCHES, Unit,
};
use crate::quantity::{counted, show};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which the leak that fills a memory asks for by name.
pub(super) const ID: &str = "gpu-memory-full";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a GPU has no memory left",
    doc: "Allocations of its memory failed within the last minute, or lines of a log of a service on it said so, and it is \
          nine tenths full: then requests fail for want of memory. Memory that grew into its last fiftieth without a \
          failure that anybody saw is worth the middle. Full memory alone is no fault: a server that takes its memory when it starts \
          stays flat at nine tenths for weeks, and may load for minutes. Each memory is judged by itself. Flat in the last fiftieth, with nothing that tells of allocations, is unknown.",
    next: "free memory now: restart the service on this GPU one instance at a time, or admit fewer and shorter requests; \
           then see which process grew, and go back to the build before if it leaks",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "full",
            default: FULL,
            unit: Unit::Ratio,
            help: "share of the memory from which what is left is in pieces too small to be of use",
        },
        Threshold {
            name: "failing",
            default: NEARLY_FULL,
            unit: Unit::Ratio,
            help: "share of the memory below which a failed allocation was too large, and not the memory too small",
        },
    ],
    rivals: &[RivalRow {
        rule: "surge",
        told_by: "original requests against their healthy rate: more at once need more memory",
    }],
    absorbs: &[],
    judge,
};

/// Memory in use of a GPU or of a part of it.
pub(super) struct Used<'a> {
    pub(super) part: &'a Subject,
    pub(super) used: Seen,
    pub(super) max: f64,
    /// Whether it is the fullest of its GPU.
    pub(super) is_fullest: bool,
}

impl Used<'_> {
    /// The used share.
    pub(super) fn share(&self) -> f64 {
        self.used.value / self.max
    }

    /// `16.3 GB of 16.3 GB used (100 %)`.
    pub(super) fn words(&self) -> String {
        let (used, max) = (show(self.used.value, Unit::Bytes), show(self.max, Unit::Bytes));
        format!("{used} of {max} used ({})", show(self.share(), Unit::Ratio))
    }

    /// How it goes on.
    pub(super) fn course(&self, scene: &Scene<'_>) -> Course {
        let points = scene.store.points(self.part, GPU_MEMORY, None);
        points.map_or(Course::TooShort, |points| course(points.trace(), self.max, scene.now))
    }

    /// The numbers that show it.
    pub(super) fn evidence(&self, full: f64) -> Vec<Evidence> {
        let max = Seen { value: self.max, at: self.used.at };
        vec![
            evidence(GPU_MEMORY, self.used, Some(self.max * full), None),
            evidence(GPU_MEMORY_MAX, max, None, None),
        ]
    }
}

/// The memory of a part; `None` unless both what is used and what there is are told.
fn memory<'a>(scene: &Scene<'_>, part: &'a Subject) -> Option<Used<'a>> {
    let max = scene.latest(part, GPU_MEMORY_MAX).filter(|max| max.value > 0.0)?.value;
    Some(Used { part, used: scene.latest(part, GPU_MEMORY)?, max, is_fullest: false })
}

/// The memories of a GPU and its parts, the fullest first.
pub(super) fn memories<'a>(scene: &'a Scene<'_>, gpu: &Subject) -> Vec<Used<'a>> {
    let mut all: Vec<Used<'a>> =
        parts(scene, gpu).into_iter().filter_map(|part| memory(scene, part)).collect();
    all.sort_by(|one, other| other.share().total_cmp(&one.share()));
    if let Some(fullest) = all.first_mut() {
        fullest.is_fullest = true;
    }
    all
}

/// The gravest of what is said of each memory, the first of several that are as grave; `None` of none.
pub(super) fn gravest(judgements: impl Iterator<Item = Judgement>) -> Option<Judgement> {
    let grave = |judgement: &Judgement| match judgement {
        Judgement::Clear(_) => (0, Confidence::Low, 0.0),
        Judgement::Unknown(_) => (1, Confidence::Low, 0.0),
        Judgement::Breach(breach) => (2, breach.at_most, breach.severity),
    };
    judgements.reduce(|worst, one| if grave(&one) > grave(&worst) { one } else { worst })
}

/// Allocations that failed lately on a GPU, in words with the numbers: those of one memory alone, or all. What does not say
/// which memory it means is counted to the fullest.
pub(super) fn failures(
    scene: &Scene<'_>,
    gpu: &Subject,
    of: Option<&Used<'_>>,
) -> Option<(String, Rise, Evidence)> {
    let is_meant = |part: &Subject| {
        of.is_none_or(|of| of.part == part || (of.is_fullest && memory(scene, part).is_none()))
    };
    let meant = parts(scene, gpu).into_iter().filter(|part| is_meant(part));
    let risen = meant
        .filter_map(|part| Some((part, rise(scene, part, (GPU_ALLOCATION_FAILURES, None), LATELY)?)))
        .max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained));
    if let Some((part, rise)) = risen {
        let count = counted(rise.gained.max(1.0).round() as u64, "allocation");
        let number = evidence(GPU_ALLOCATION_FAILURES, rise.rate, Some(0.0), None);
        return Some((format!("{count} failed{} lately", at(part)), rise, number));
    }
    if of.is_some_and(|of| !of.is_fullest) {
        return None;
    }
    let (service, rise) = lines_of_full_memory(scene, gpu)?;
    let count = counted(rise.gained.max(1.0).round() as u64, "line");
    let number = named_evidence(
        format!("{}[gpu_memory_full]", LOG_MATCHES.name()),
        Unit::PerSecond,
        rise.rate,
        Some(0.0),
        None,
    );
    Some((format!("{count} of the log of {service} said lately that memory ran out"), rise, number))
}

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let each = memories(scene, gpu).into_iter().map(|used| judge_memory(scene, gpu, &used, limits));
    gravest(each).unwrap_or_else(|| match failures(scene, gpu, None) {
        Some((words, rise, number)) => failed(gpu, &words, &rise, vec![number], String::new()),
        None => Judgement::Unknown(format!("how full its memory is: {}", scene.missing(gpu))),
    })
}

fn judge_memory(scene: &Scene<'_>, gpu: &Subject, used: &Used<'_>, limits: &Limits<'_>) -> Judgement {
    let failures = failures(scene, gpu, Some(used));
    let words = used.words();
    if let Some((what, rise, number)) = failures {
        if used.share() >= limits.of("failing") {
            let mut numbers = vec![number];
            numbers.extend(used.evidence(limits.of("full")));
            let told = format!("; {words}{}{}", at(used.part), process(scene, used));
            return failed(gpu, &what, &rise, numbers, told);
        }
        return Judgement::Clear(format!(
            "{words}; {what}, though there is room: they asked for more than there is"
        ));
    }
    if used.share() < limits.of("full") {
        return Judgement::Clear(words);
    }
    match used.course(scene) {
        Course::Grows(growth) if !growth.has_settled(scene.now) && !may_load(scene, used.part, &growth) => {
            grew_full(scene, used, &growth, limits)
        }
        _ if tells_failures(scene, gpu) => {
            Judgement::Clear(format!("{words} and flat, and no allocation fails"))
        }
        Course::Flat | Course::Grows(_) => {
            Judgement::Unknown(format!("{words} and flat; nothing tells whether allocations fail"))
        }
        Course::TooShort => {
            Judgement::Unknown(format!("{words}; not watched long enough to see whether it grows"))
        }
    }
}

fn failed(gpu: &Subject, what: &str, rise: &Rise, numbers: Vec<Evidence>, told: String) -> Judgement {
    Breach::new(
        format!("no memory left: {what}{told}"),
        format!("{} out of memory", gpu.name()),
        10.0,
        numbers,
    )
    .begun(rise.began)
    .judged()
}

fn grew_full(scene: &Scene<'_>, used: &Used<'_>, growth: &Growth, limits: &Limits<'_>) -> Judgement {
    let mut numbers = used.evidence(limits.of("full"));
    let rate = Seen { value: growth.per_second, at: growth.to.at };
    numbers.push(named_evidence("growth".to_owned(), Unit::BytesPerSecond, rate, None, None));
    Breach::new(
        format!(
            "{}{}: it grew into its last {} from {} at {}; nobody saw an allocation fail yet{}",
            used.words(),
            at(used.part),
            show(1.0 - limits.of("full"), Unit::Ratio),
            show(growth.from.value, Unit::Bytes),
            growth.from.at.clock(),
            process(scene, used),
        ),
        format!("{} memory full", used.part.name()),
        used.share() / limits.of("full"),
        numbers,
    )
    .with_rival(&RULE.rivals[0])
    .at_most(Confidence::Medium)
    .judged()
}

/// Whether anything tells of allocations on a GPU, so that their silence means something.
pub(super) fn tells_failures(scene: &Scene<'_>, gpu: &Subject) -> bool {
    parts(scene, gpu).into_iter().any(|part| scene.latest(part, GPU_ALLOCATION_FAILURES).is_some())
}

/// The process that holds most of a memory, where anybody tells.
fn process(scene: &Scene<'_>, used: &Used<'_>) -> String {
    let all = scene.store.parts(used.part, GPU_PROCESS_MEMORY).into_iter();
    let held = all.filter_map(|name| {
        Some((scene.latest_part(used.part, GPU_PROCESS_MEMORY, name.as_ref())?.value, name?))
    });
    let most = held.max_by(|(one, _), (other, _)| one.total_cmp(other));
    most.map_or(String::new(), |(bytes, name)| format!("; {name} holds {}", show(bytes, Unit::Bytes)))
}
