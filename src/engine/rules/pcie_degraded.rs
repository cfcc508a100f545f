//! The link between a GPU and its machine is narrower or slower than it could be.

use super::gpus::{BRIEFLY, RESTING, at, busy, parts, risen};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    GPU_PCIE_GENERATION, GPU_PCIE_GENERATION_MAX, GPU_PCIE_IN, GPU_PCIE_OUT, GPU_PCIE_REPLAYS,
    GPU_PCIE_WIDTH, GPU_PCIE_WIDTH_MAX, GPU_UTILIZATION, Unit,
};
use crate::quantity::{counted, show};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "pcie-degraded",
    title: "the link between a GPU and its machine is less than it could be",
    doc: "While the GPU works, its PCIe link has fewer lanes or a lower generation than the GPU and its slot can have together, or \
          transfers are repeated more often than once a second. A link that rests falls back by itself and is not judged. It convicts where \
          its bytes fill half of what such a link carries; where nobody counts bytes, lanes that are missing are worth the middle. Where \
          few bytes cross it, or only its generation is lower and nobody counts them, it is a suspect for later: a generation also falls \
          back between two bursts.",
    next: "reseat the GPU or its riser, look at the slot and the kernel's PCI log, and move the service to another GPU until then",
    watches: Watches::Those {
        kinds: &[Kind::Gpu],
        which: "whose PCIe link is told",
        are: |scene, gpu| {
            parts(scene, gpu).into_iter().any(|part| {
                [GPU_PCIE_GENERATION, GPU_PCIE_WIDTH, GPU_PCIE_REPLAYS]
                    .into_iter()
                    .any(|metric| scene.store.points(part, metric, None).is_some())
            })
        },
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "filled",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of what the link carries now from which it is what transfers wait for",
        },
        Threshold {
            name: "replays",
            default: 1.0,
            unit: Unit::PerSecond,
            help: "repeated transfers a second that a sound link does not have",
        },
    ],
    rivals: &[RivalRow {
        rule: "network-path",
        told_by: "bytes over PCIe: where few cross it, what is slow is elsewhere",
    }],
    absorbs: &[],
    judge,
};

/// Bytes a second of one lane in one direction, by generation, after what the encoding costs.
const LANE: &[f64] = &[0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9];

/// A link as it is and as it could be.
struct Link<'a> {
    part: &'a Subject,
    generation: Option<(Seen, f64)>,
    width: Option<(Seen, f64)>,
    bytes: Option<Seen>,
    is_resting: Option<bool>,
}

impl<'a> Link<'a> {
    fn of(scene: &Scene<'_>, part: &'a Subject) -> Option<Self> {
        let pair = |now, max| {
            let max = scene.latest(part, max).filter(|max| max.value >= 1.0)?.value;
            Some((scene.latest(part, now).filter(|now| now.value >= 1.0)?, max))
        };
        let flow = |metric| scene.mean_over(part, metric, None, BRIEFLY);
        let bytes = [flow(GPU_PCIE_IN), flow(GPU_PCIE_OUT)].into_iter().flatten();
        let link = Self {
            part,
            generation: pair(GPU_PCIE_GENERATION, GPU_PCIE_GENERATION_MAX),
            width: pair(GPU_PCIE_WIDTH, GPU_PCIE_WIDTH_MAX),
            bytes: bytes.max_by(|one, other| one.value.total_cmp(&other.value)),
            is_resting: busy(scene, part).map(|busy| busy.value < RESTING),
        };
        (link.generation.is_some() || link.width.is_some()).then_some(link)
    }

    fn is_less(&self) -> bool {
        [self.generation, self.width].into_iter().flatten().any(|(now, max)| now.value < max)
    }

    fn has_lost_lanes(&self) -> bool {
        self.width.is_some_and(|(now, max)| now.value < max)
    }

    /// How much its bytes fill it, and where nobody counts them, what it lost.
    fn hurt(&self) -> f64 {
        let left = [self.generation, self.width].into_iter().flatten().map(|(now, max)| now.value / max);
        self.filled().unwrap_or_else(|| 1.0 - left.product::<f64>())
    }

    /// The share of its bytes of what such a link carries one way.
    fn filled(&self) -> Option<f64> {
        let (generation, width) = (self.generation?.0.value, self.width?.0.value);
        let lane = LANE.get((generation as usize).checked_sub(1)?)?;
        Some(self.bytes?.value / (lane * width))
    }

    /// `generation 3 of 5, 8 of 16 lanes`.
    fn words(&self) -> String {
        let generation = self.generation.map(|(now, max)| format!("generation {:.0} of {max:.0}", now.value));
        let width = self.width.map(|(now, max)| format!("{:.0} of {max:.0} lanes", now.value));
        let told: Vec<String> = generation.into_iter().chain(width).collect();
        format!("PCIe {}{}", told.join(", "), at(self.part))
    }

    fn evidence(&self) -> Vec<Evidence> {
        let rows = [(GPU_PCIE_WIDTH, self.width), (GPU_PCIE_GENERATION, self.generation)];
        let mut numbers: Vec<Evidence> = rows
            .into_iter()
            .filter_map(|(metric, row)| {
                let (now, max) = row?;
                Some(evidence(metric, now, Some(max), None))
            })
            .collect();
        numbers.extend(self.bytes.map(|seen| evidence(GPU_PCIE_IN, seen, None, None)));
        numbers
    }
}

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let all = parts(scene, gpu);
    let links: Vec<Link<'_>> = all.iter().filter_map(|part| Link::of(scene, part)).collect();
    let replays =
        risen(scene, gpu, GPU_PCIE_REPLAYS, None).filter(|(_, rise)| rise.rate.value >= limits.of("replays"));
    let repeated = replays.as_ref().map_or(String::new(), |(_, rise)| {
        format!("; {} repeated lately", counted(rise.gained.round() as u64, "transfer"))
    });
    let less = links.iter().filter(|link| link.is_less() && link.is_resting != Some(true));
    let worst = less.max_by(|one, other| {
        let rank = |link: &Link<'_>| (link.is_resting.is_some(), link.has_lost_lanes());
        rank(one).cmp(&rank(other)).then(one.hurt().total_cmp(&other.hurt()))
    });
    match worst {
        // A generation falls at rest by itself, lanes do not.
        Some(link) if link.is_resting.is_none() && !link.has_lost_lanes() => {
            return Judgement::Unknown(format!(
                "{}, and nothing tells whether it rests: then it falls back by itself",
                link.words()
            ));
        }
        Some(link) => return degraded(scene, link, limits, &repeated),
        None => {}
    }
    if let Some((part, rise)) = replays {
        return Breach::new(
            format!(
                "its PCIe link repeats transfers{}: {} a second",
                at(&part),
                show(rise.rate.value, Unit::Count)
            ),
            format!("{} PCIe repeats", gpu.name()),
            rise.rate.value / limits.of("replays"),
            vec![evidence(GPU_PCIE_REPLAYS, rise.rate, Some(limits.of("replays")), None)],
        )
        .at_most(Confidence::Low)
        .judged();
    }
    match links.first() {
        Some(link) if link.is_less() => Judgement::Clear(format!("{}, at rest", link.words())),
        Some(link) => Judgement::Clear(link.words()),
        None if all.iter().any(|part| scene.latest(part, GPU_PCIE_REPLAYS).is_some()) => {
            Judgement::Clear("no transfer over PCIe is repeated".to_owned())
        }
        None => Judgement::Unknown(format!("its PCIe link: {}", scene.missing(gpu))),
    }
}

fn degraded(scene: &Scene<'_>, link: &Link<'_>, limits: &Limits<'_>, repeated: &str) -> Judgement {
    let filled = link.filled();
    let flow = match (link.bytes, filled) {
        (Some(bytes), Some(filled)) => format!(
            ", and {} fill {} of what it carries so",
            show(bytes.value, Unit::BytesPerSecond),
            show(filled, Unit::Ratio)
        ),
        _ => String::new(),
    };
    let mut numbers = link.evidence();
    numbers.extend(
        scene.latest(link.part, GPU_UTILIZATION).map(|seen| evidence(GPU_UTILIZATION, seen, None, None)),
    );
    let share = link.filled().zip(link.bytes);
    numbers.extend(share.map(|(value, seen)| {
        let seen = Seen { value, at: seen.at };
        named_evidence("link filled".to_owned(), Unit::Ratio, seen, Some(limits.of("filled")), None)
    }));
    let works = if link.is_resting.is_some() { " while it works" } else { ", and nothing tells its load" };
    let breach = Breach::new(
        format!("{}{works}{flow}{repeated}", link.words()),
        format!("{} link degraded", link.part.name()),
        filled.map_or(1.0, |filled| filled / limits.of("filled")),
        numbers,
    );
    if link.is_resting.is_none() {
        return breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Low).judged();
    }
    match filled {
        Some(filled) if filled >= limits.of("filled") => breach.judged(),
        None if link.has_lost_lanes() => {
            breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
        }
        _ => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Low).judged(),
    }
}
