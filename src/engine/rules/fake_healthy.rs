//! An instance calls itself ready and does not answer.

use std::time::Duration;

use super::slow_instance::ID as SLOW_INSTANCE;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{
    ERRORS, MODEL_DURATION, Metric, PROBE_OK, READY, REQUEST_DURATION, REQUESTS, UPSTREAM_READY, Unit,
};
use crate::quantity::{share, show, times};
use crate::report::{BaselineFrom, Confidence, Evidence, Role, Since};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

pub(super) static RULE: Rule = Rule {
    id: "fake-healthy",
    title: "an instance is called ready and does not answer well",
    doc: "The readiness check of an instance is well while, over the last minute, its mean time to answer is above 5 \
          times the usual, or more than half of its requests fail, or our own last 3 requests failed. So it goes on \
          getting its share of the traffic. A check that asks only for an open port or a 200 from a page that does \
          nothing is the usual reason. While the instance has been slow for less than a minute, an honest check may still \
          turn: then a slow instance stays as a rival. It keeps a failure up and did not begin it: the middle at most.",
    next: "take it out by hand, then let readiness follow success rate, mean time and queue depth of the last minute, \
           never below two instances",
    watches: Watches::InstancesThat {
        kinds: &[Kind::Service],
        which: "of which a readiness check is known",
        are: |scene, instance| readiness(scene, instance, false).is_some(),
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        Threshold { name: "slow", default: 5.0, unit: Unit::Ratio, help: "multiple of the usual mean time" },
        Threshold {
            name: "floor",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of the objective below which a mean time is not slow, whatever was usual",
        },
        Threshold { name: "errors", default: 0.5, unit: Unit::Ratio, help: "share of requests that fail" },
        Threshold {
            name: "checks",
            default: 3.0,
            unit: Unit::Count,
            help: "our own requests that fail in a row",
        },
    ],
    rivals: &[RivalRow {
        rule: "slow-instance",
        told_by: "whether the check turned bad once the instance was late: then it is slow, and the check works",
    }],
    absorbs: &[],
    judge,
};

/// The last minute: what a readiness check should have seen.
const MINUTE: Duration = Duration::from_secs(60);

/// Errors or requests a second below which a share means nothing.
const FLOOR: f64 = 0.5;

fn judge(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some((ready, whose)) = readiness(scene, instance, true) else {
        return Judgement::Unknown(format!("no readiness check: {}", scene.missing(instance)));
    };
    if ready.value < 0.5 {
        return Judgement::Clear(format!("{whose} calls it not ready"));
    }
    let looks: Vec<Look> = LOOKS.iter().filter_map(|look| look(scene, instance, limits)).collect();
    if looks.is_empty() {
        return Judgement::Unknown(format!(
            "called ready, and nothing tells how it answers: {}",
            scene.missing(instance)
        ));
    }
    let Some(worst) = looks.iter().find(|look| look.severity >= 1.0) else {
        let words: Vec<&str> = looks.iter().map(|look| look.shown.as_str()).collect();
        return Judgement::Clear(format!("called ready, and {}", words.join(", ")));
    };
    let mut numbers: Vec<Evidence> = vec![];
    numbers.extend(looks.iter().filter(|look| look.severity >= 1.0).map(|look| look.number.clone()));
    numbers.push(evidence(READY, ready, None, None));
    let breach = Breach::new(
        format!("{whose} calls it ready while {}", worst.shown),
        format!("{} ready but {}", instance.address().unwrap_or("instance"), worst.short),
        worst.severity,
        numbers,
    )
    .at_most(Confidence::Medium);
    if is_just_slow(scene, instance) { breach.with_rival(&RULE.rivals[0]).judged() } else { breach.judged() }
}

/// Whether an instance became slow within the last minute, so that a check which looks at a minute may still turn.
fn is_just_slow(scene: &Scene<'_>, instance: &Subject) -> bool {
    scene.findings.get(SLOW_INSTANCE, instance).is_some_and(|finding| {
        let Since { at, before } = finding.since;
        finding.counts() && !before && scene.now.since(at) < MINUTE
    })
}

/// One way to look at how an instance answers.
struct Look {
    shown: String,
    short: &'static str,
    /// As a multiple of its limit.
    severity: f64,
    number: Evidence,
}

/// A look at an instance; nothing where its numbers are not told.
type Looking = fn(&Scene<'_>, &Subject, &Limits<'_>) -> Option<Look>;

/// Every way, the plainest first: the first that is past its limit is told.
static LOOKS: &[Looking] = &[errors, checks, slowness];

/// Whether the instance is called ready, and by whom: a gateway decides on traffic and goes first.
fn readiness(scene: &Scene<'_>, instance: &Subject, fresh: bool) -> Option<(Seen, String)> {
    let address = instance.address()?;
    let latest = |by: &Subject, metric: Metric, part: Option<&RemoteText>| match fresh {
        true => scene.latest_part(by, metric, part),
        false => scene.store.latest(by, metric, part),
    };
    let service = instance.component_of();
    let gateways = scene.graph.callers(&service).filter(|caller| caller.kind() == Kind::Gateway);
    let checks = gateways.flat_map(|gateway| scene.told_at(gateway, UPSTREAM_READY, address));
    let by_gateway = checks
        .filter_map(|told| {
            let by = told.by.component_of().to_string();
            Some((latest(&told.by, UPSTREAM_READY, told.part.as_ref())?, by))
        })
        .max_by_key(|(seen, _)| seen.at);
    by_gateway.or_else(|| Some((latest(instance, READY, None)?, "its own check".to_owned())))
}

fn errors(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Option<Look> {
    let minute = |metric| scene.mean_over(instance, metric, None, MINUTE);
    let (errors, requests) = (minute(ERRORS)?, minute(REQUESTS)?);
    if requests.value < FLOOR {
        return None;
    }
    let seen = Seen { value: share(errors.value, requests.value)?, at: errors.at };
    let limit = limits.of("errors");
    Some(Look {
        shown: format!(
            "{} of its requests fail, limit {}",
            show(seen.value, Unit::Ratio),
            show(limit, Unit::Ratio)
        ),
        short: "failing",
        // More than half, and not half.
        severity: if seen.value > limit { seen.value / limit } else { 0.0 },
        number: named_evidence("error ratio".to_owned(), Unit::Ratio, seen, Some(limit), None),
    })
}

fn checks(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Option<Look> {
    let at = scene.latest(instance, PROBE_OK)?.at;
    let probes = scene.store.points(instance, PROBE_OK, None)?.newest_first();
    let value = probes.take_while(|seen| seen.value < 0.5).count() as f64;
    let limit = limits.of("checks");
    Some(Look {
        shown: format!("our last {value:.0} requests failed, limit {limit:.0}"),
        short: "failing",
        severity: value / limit,
        number: named_evidence(
            "failed requests".to_owned(),
            Unit::Count,
            Seen { value, at },
            Some(limit),
            None,
        ),
    })
}

fn slowness(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Option<Look> {
    [REQUEST_DURATION, MODEL_DURATION].into_iter().find_map(|metric| {
        let at = scene.last_scrape(instance, metric, None)?;
        let value = mean(scene, instance, metric)?;
        let usual = usual_mean(scene, instance, metric)?;
        let service = instance.component_of();
        let floor = scene.objective(&service) * limits.of("floor");
        let limit = (usual.typical * limits.of("slow")).max(floor);
        let [shown, healthy] = [value, usual.typical].map(|seconds| show(seconds, Unit::Seconds));
        Some(Look {
            shown: format!("its mean time is {shown}, {} the usual {healthy}", times(value / usual.typical)),
            short: "slow",
            severity: if value > limit { value / limit } else { 0.0 },
            number: named_evidence(
                format!("{} mean", metric.name()),
                Unit::Seconds,
                Seen { value, at },
                Some(limit),
                Some(usual),
            ),
        })
    })
}

/// The mean time of an instance in its last minute.
fn mean(scene: &Scene<'_>, instance: &Subject, metric: Metric) -> Option<f64> {
    let at = scene.last_scrape(instance, metric, None)?;
    scene.distribution_between(instance, metric, None, at - MINUTE, at)?.mean()
}

/// The usual mean time of an instance: of its own past, else that of the others.
fn usual_mean(scene: &Scene<'_>, instance: &Subject, metric: Metric) -> Option<Baseline> {
    let of_others = || {
        let all = scene.instances(("mean", metric), &instance.component_of(), |one| mean(scene, one, metric));
        Some(Baseline::new(all.quantile_of_others(instance, 0.5)?, BaselineFrom::Peers))
    };
    scene
        .usual_mean(instance, metric, None, MINUTE / 2)
        .or_else(of_others)
        .filter(|usual| usual.typical > 0.0)
}
