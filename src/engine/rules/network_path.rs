//! Requests lose their time between two healthy ends.

mod hosts;

use super::{ANY_KIND, Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::graph::Edge;
use crate::metric::{EDGE_CLIENT_DURATION, EDGE_SERVER_DURATION, Metric, Unit};
use crate::quantity::show;
use crate::report::{BaselineFrom, Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::time::Moment;
use hosts::{comparable_hosts, judge_hosts};

pub(super) static RULE: Rule = Rule {
    id: "network-path",
    title: "requests lose their time between two ends",
    doc: "On a call that both ends time (edge.client.duration and edge.server.duration, as service-graph metrics \
          have them) the caller's mean is longer than the callee's by at least 2 ms and by three times what it \
          usually is; without a past, by ten times 2 ms and half of the caller's time. It is attributed to the end \
          more of whose calls have the gap: a single call between two components that have no other accuses the \
          callee. The caller's waiting for a connection lies in the gap too, so pool-starved stays as a rival. \
          Of a Redis deployment on several hosts: all nodes of one host, at least two, take ten times longer to \
          answer than those elsewhere and at least 2 ms, while the bytes are below the declared link; a host that is \
          short of CPU looks the same.",
    next: "look at what all these ways have in common: the host, its switch or zone, the sidecar or proxy in \
           between; retransmits on that host tell a network from a busy CPU",
    watches: Watches::Those {
        kinds: ANY_KIND,
        which: "with a call that both ends time, or a Redis with several nodes on one of several hosts",
        are: |scene, component| {
            calls(scene, component).next().is_some() || comparable_hosts(scene, component).is_some()
        },
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

/// Requests that a mean needs.
const LEAST_REQUESTS: f64 = 20.0;

/// Seconds over which a present mean is taken.
const PRESENT_S: u64 = 10;

/// Without a past a gap must be this many floors, and this share of the caller's time.
const FLOORS_WITHOUT_PAST: f64 = 10.0;
const SHARE_WITHOUT_PAST: f64 = 0.5;

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    let between = judge_calls(scene, component, limits);
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

/// The calls of a component, in either direction, that both ends time.
fn calls<'a>(scene: &'a Scene<'_>, component: &Subject) -> impl Iterator<Item = &'a Edge> {
    let is_timed = |edge: &&Edge| {
        edge.measured.iter().any(|way| {
            [EDGE_CLIENT_DURATION, EDGE_SERVER_DURATION]
                .into_iter()
                .all(|metric| scene.store.last_scrape(way, metric, None).is_some())
        })
    };
    let callees = scene.graph.callees(component).map(|callee| (component.clone(), callee.clone()));
    let callers = scene.graph.callers(component).map(|caller| (caller.clone(), component.clone()));
    let ends: Vec<(Subject, Subject)> = callees.chain(callers).collect();
    ends.into_iter().filter_map(|(caller, callee)| scene.graph.edge(&caller, &callee)).filter(is_timed)
}

/// A call's gap between the caller's mean and the callee's.
struct Gap<'a> {
    edge: &'a Edge,
    gap: f64,
    client: f64,
    usual: Option<Baseline>,
    at: Moment,
}

impl<'a> Gap<'a> {
    fn of(scene: &Scene<'_>, edge: &'a Edge) -> Option<Self> {
        let way = edge.measured.first()?;
        let at = scene.last_scrape(way, EDGE_CLIENT_DURATION, None)?;
        let from = at - std::time::Duration::from_secs(PRESENT_S);
        let (client, server) = means(scene, way, from, at)?;
        let calm = scene.calm.and_then(|(from, to)| means(scene, way, from, to));
        let lifetime = |metric: Metric| {
            let whole = scene.lifetime_distribution(way, metric, None)?;
            whole.mean().filter(|_| whole.count >= LEAST_REQUESTS)
        };
        let usual = calm
            .map(|(client, server)| Baseline::new(client - server, BaselineFrom::Earlier))
            .or_else(|| {
                let gap = lifetime(EDGE_CLIENT_DURATION)? - lifetime(EDGE_SERVER_DURATION)?;
                Some(Baseline::new(gap, BaselineFrom::Lifetime))
            })
            // Two clocks may differ by a little: a gap is never less than none.
            .map(|usual| Baseline { typical: usual.typical.max(0.0), ..usual });
        Some(Self { edge, gap: client - server, client, usual, at })
    }

    fn limit(&self, limits: &Limits<'_>) -> f64 {
        let floor = limits.of("floor");
        match self.usual {
            Some(usual) => (usual.typical * limits.of("rise")).max(usual.typical + floor),
            None => (floor * FLOORS_WITHOUT_PAST).max(self.client * SHARE_WITHOUT_PAST),
        }
    }

    fn is_wide(&self, limits: &Limits<'_>) -> bool {
        self.gap >= self.limit(limits)
    }
}

fn means(scene: &Scene<'_>, way: &Subject, from: Moment, to: Moment) -> Option<(f64, f64)> {
    let mean = |metric| {
        let gained = scene.distribution_between(way, metric, None, from, to)?;
        gained.mean().filter(|_| gained.count >= LEAST_REQUESTS)
    };
    Some((mean(EDGE_CLIENT_DURATION)?, mean(EDGE_SERVER_DURATION)?))
}

/// `None` where no call of the component is timed by both ends.
fn judge_calls(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Option<Judgement> {
    calls(scene, component).next()?;
    let gaps: Vec<Gap<'_>> = calls(scene, component).filter_map(|edge| Gap::of(scene, edge)).collect();
    if gaps.is_empty() {
        return Some(Judgement::Unknown("too few requests on its ways, or stale".to_owned()));
    }
    let wide: Vec<&Gap<'_>> = gaps.iter().filter(|gap| gap.is_wide(limits)).collect();
    // How many of an end's calls have the gap: the end with more of them has it in common.
    let standing = |end: &Subject| {
        let all: Vec<Gap<'_>> = calls(scene, end).filter_map(|edge| Gap::of(scene, edge)).collect();
        let wide = all.iter().filter(|gap| gap.is_wide(limits)).count();
        (wide as f64 / all.len().max(1) as f64, wide)
    };
    let own = standing(component);
    let is_own = |gap: &&&Gap<'_>| {
        let is_callee = gap.edge.callee == *component;
        let other = standing(if is_callee { &gap.edge.caller } else { &gap.edge.callee });
        own > other || (own == other && is_callee)
    };
    let attributed: Vec<&&Gap<'_>> = wide.iter().filter(is_own).collect();
    let Some(worst) = attributed.iter().max_by(|one, other| one.gap.total_cmp(&other.gap)) else {
        let most = gaps.iter().map(|gap| gap.gap).fold(0.0, f64::max);
        let elsewhere = if wide.is_empty() { "" } else { ", the other end has it in common with more" };
        return Some(Judgement::Clear(format!(
            "at most {} on its ways{elsewhere}",
            show(most, Unit::Seconds)
        )));
    };
    Some(breach(component, worst, &attributed, gaps.len(), limits))
}

fn breach(
    component: &Subject,
    worst: &Gap<'_>,
    attributed: &[&&Gap<'_>],
    all: usize,
    limits: &Limits<'_>,
) -> Judgement {
    let usual = worst.usual.map_or(String::new(), |usual| {
        format!(", {} {}", crate::wording::baseline_words(usual.from), show(usual.typical, Unit::Seconds))
    });
    let Edge { caller, callee, .. } = worst.edge;
    let numbers = attributed.iter().map(|gap| {
        named_evidence(
            format!("caller minus callee, {} > {}", gap.edge.caller.name(), gap.edge.callee),
            Unit::Seconds,
            Seen { value: gap.gap, at: gap.at },
            Some(gap.limit(limits)),
            gap.usual,
        )
    });
    let breach = Breach::new(
        format!(
            "{} are lost between {caller} and {callee}{usual}; so on {} of {all} of its ways",
            show(worst.gap, Unit::Seconds),
            attributed.len()
        ),
        format!("way to {} {}", component.name(), show(worst.gap, Unit::Seconds)),
        worst.gap / worst.limit(limits),
        numbers.collect(),
    )
    .with_rival(&RULE.rivals[0]);
    breach.at_most(if worst.usual.is_some() { Confidence::Medium } else { Confidence::Low }).judged()
}
