//! Requests lose their time between two healthy ends.

mod hosts;
mod ways;

use std::cmp::Ordering;

use super::{ANY_KIND, Breach, Judgement, Limits, Nature, POOL_STARVED, RivalRow, Rule, Threshold, Watches};
use crate::findings::State;
use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use hosts::{comparable_hosts, judge_hosts};
pub(crate) use ways::Ways;
use ways::{Gap, are_timed};

pub(super) static RULE: Rule = Rule {
    id: "network-path",
    title: "requests lose their time between two ends",
    doc: "On a call that both ends time (edge.client.duration and edge.server.duration, as service-graph metrics \
          have them) the caller's mean is longer than the callee's by at least 2 ms and by three times what it \
          usually is; without a past, by ten times 2 ms and half of the caller's time. It is attributed to the end \
          more of whose calls have the gap; of a single call, or where both ends have as many, nothing tells which end \
          it is: the callee is a suspect at most. \
          The caller's waiting for a connection lies in the gap too: where pool-starved fires on the caller the gap is \
          its own, where it is clear there is no such rival, and where the pool is not seen it stays one. \
          Of a Redis deployment on several hosts: all nodes of one host, at least two, take ten times longer to \
          answer than those elsewhere and at least 2 ms, while the bytes are below the declared link; a host that is \
          short of CPU looks the same.",
    next: "look at what all these ways have in common: the host, its switch or zone, the sidecar or proxy in \
           between; retransmits on that host tell a network from a busy CPU",
    watches: Watches::Those {
        kinds: ANY_KIND,
        which: "with a call that both ends time, or a Redis with several nodes on one of several hosts",
        are: |scene, component| are_timed(scene, component) || comparable_hosts(scene, component).is_some(),
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "floor",
            default: 0.002,
            unit: Unit::Seconds,
            help: "gap, or time to answer, below which no way is slow",
        },
        Threshold { name: "rise", default: 3.0, unit: Unit::Ratio, help: "multiple of the usual gap" },
        Threshold {
            name: "skew",
            default: 10.0,
            unit: Unit::Ratio,
            help: "multiple of the time to answer of the nodes on other hosts",
        },
        Threshold {
            name: "link",
            default: 0.7,
            unit: Unit::Ratio,
            help: "share of the declared link from which its bytes explain slow answers, as in shard-bandwidth",
        },
    ],
    rivals: &[
        RivalRow { rule: "pool-starved", told_by: "callers that wait for a connection of their pool" },
        RivalRow { rule: "host-starved", told_by: "run queue and throttling of that host" },
    ],
    absorbs: &["slow-to-answer", "hit-but-slow", "deviation"],
    judge,
};

/// An end is convicted by no fewer ways that have it in common: of one, either end may be the cause.
const WAYS_IN_COMMON: usize = 2;

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    let between = judge_calls(scene, component);
    let answers =
        comparable_hosts(scene, component).map(|hosts| judge_hosts(scene, component, &hosts, limits));
    match (between, answers) {
        (Some(Judgement::Breach(breach)), _) | (_, Some(Judgement::Breach(breach))) => breach.judged(),
        (Some(Judgement::Unknown(missing)), _) | (_, Some(Judgement::Unknown(missing))) => {
            Judgement::Unknown(missing)
        }
        (one, other) => {
            let seen = [one, other].into_iter().flatten().filter_map(|judgement| match judgement {
                Judgement::Clear(seen) => Some(seen),
                _ => None,
            });
            Judgement::Clear(seen.collect::<Vec<_>>().join("; "))
        }
    }
}

/// `None` where no call of the component is timed by both ends.
fn judge_calls(scene: &Scene<'_>, component: &Subject) -> Option<Judgement> {
    let own = Ways::of(scene, component)?;
    if own.gaps.is_empty() {
        return Some(Judgement::Unknown("too few requests on its ways, or stale".to_owned()));
    }
    let wide: Vec<&Gap> = own.gaps.iter().filter(|gap| gap.is_wide()).collect();
    // The end with more of the wide ways has them in common.
    let against_other = |gap: &Gap| {
        let other = if gap.callee == *component { &gap.caller } else { &gap.callee };
        let other = Ways::of(scene, other).map_or((0.0, 0), |ways| ways.standing);
        own.standing.partial_cmp(&other).unwrap_or(Ordering::Equal)
    };
    let (mut attributed, mut in_common, mut either) = (vec![], 0, None);
    for gap in &wide {
        match against_other(gap) {
            Ordering::Greater => {
                attributed.push(*gap);
                in_common += 1;
            }
            Ordering::Equal if gap.callee == *component => attributed.push(*gap),
            Ordering::Equal => either = Some(*gap),
            Ordering::Less => {}
        }
    }
    let Some(worst) = attributed.iter().max_by(|one, other| one.gap.total_cmp(&other.gap)) else {
        if let Some(gap) = either {
            return Some(Judgement::Unknown(format!(
                "{} are lost between it and {}, and nothing tells which end it is",
                show(gap.gap, Unit::Seconds),
                gap.callee
            )));
        }
        let most = own.gaps.iter().map(|gap| gap.gap).fold(0.0, f64::max);
        let elsewhere = if wide.is_empty() { "" } else { ", the other end has it in common with more" };
        return Some(Judgement::Clear(format!(
            "at most {} on its ways{elsewhere}",
            show(most, Unit::Seconds)
        )));
    };
    if scene.findings.stirring(&[POOL_STARVED], &worst.caller) {
        return Some(Judgement::Clear(format!(
            "{} are lost between {} and {}, and the former waits for its own pool",
            show(worst.gap, Unit::Seconds),
            worst.caller,
            worst.callee
        )));
    }
    let pool = scene.findings.get(POOL_STARVED, &worst.caller);
    let pool_is_clear = pool.is_some_and(|finding| matches!(finding.state, State::Clear(_)));
    Some(breach(component, worst, &attributed, own.gaps.len(), (in_common, pool_is_clear)))
}

/// `in_common` counts the ways of which this end has more than the other; then whether the caller's pool is known to be
/// well.
fn breach(
    component: &Subject,
    worst: &Gap,
    attributed: &[&Gap],
    all: usize,
    (in_common, pool_is_clear): (usize, bool),
) -> Judgement {
    let usual = worst.usual.map_or(String::new(), |usual| {
        format!(", {} {}", crate::wording::baseline_words(usual.from), show(usual.typical, Unit::Seconds))
    });
    let Gap { caller, callee, .. } = worst;
    let numbers = attributed.iter().map(|gap| {
        named_evidence(
            format!("caller minus callee, {} > {}", gap.caller.name(), gap.callee),
            Unit::Seconds,
            Seen { value: gap.gap, at: gap.at },
            Some(gap.limit),
            gap.usual,
        )
    });
    let is_one_sided = in_common >= WAYS_IN_COMMON;
    let either = if is_one_sided { "" } else { "; nothing tells which of its two ends it is" };
    let breach = Breach::new(
        format!(
            "{} are lost between {caller} and {callee}{usual}; so on {} of {all} of its ways{either}",
            show(worst.gap, Unit::Seconds),
            attributed.len()
        ),
        format!("way to {} {}", component.name(), show(worst.gap, Unit::Seconds)),
        worst.gap / worst.limit,
        numbers.collect(),
    );
    let breach = if pool_is_clear { breach } else { breach.with_rival(&RULE.rivals[0]) };
    let is_sure = is_one_sided && worst.usual.is_some();
    breach.at_most(if is_sure { Confidence::Medium } else { Confidence::Low }).judged()
}
