//! One instance of a service is slow and the others are not.

use std::time::Duration;

use super::failover_storm::ID as FAILOVER_STORM;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::findings::{Finding, State};
use crate::metric::{MODEL_DURATION, Metric, PER_TOKEN, REQUEST_DURATION, TTFT, Unit};
use crate::quantity::{show, times};
use crate::report::{BaselineFrom, Role};
use crate::scene::{DEFAULT_OBJECTIVE, Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which readiness checks that lie ask for by name.
pub(super) const ID: &str = "slow-instance";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "one instance is slow and the others are not",
    doc: "An instance's 99th percentile of request duration, time to first token or time per token, over at \
          least 200 requests, is at least three times that of the fastest quarter of the other instances, and \
          longer by a fifth of the objective (of half a second at most for the first token, of 50 ms for each further \
          one). With two instances the other one is the comparison; with one there is none, and the rule is not \
          evaluated. While a gateway takes instances out and in again (failover-storm) none is cleared. One that gets at least twice the requests of the others may be slow for that: then a surge stays \
          as a rival. A page without buckets has only a mean, and of that no percentile can be told.",
    next: "take it out of rotation softly, never below two instances, and compare its host, GPU and version",
    watches: Watches::Instances(Kind::Service),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "skew",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the fastest quarter of the others",
        },
        Threshold {
            name: "floor",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of the objective by which it must be slower",
        },
        Threshold {
            name: "load",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the others' requests from which its load may be what makes it slow",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "requests a second per instance" }],
    absorbs: &[],
    judge,
};

/// A duration that is compared, with the scale of a difference that matters, seconds, by the objective of a request.
struct Look {
    metric: Metric,
    scale: fn(f64) -> f64,
}

/// How long a token usually takes at most: an objective is one of whole requests.
const TOKEN_S: f64 = 0.05;

static LOOKS: &[Look] = &[
    Look { metric: REQUEST_DURATION, scale: |objective| objective },
    Look { metric: MODEL_DURATION, scale: |objective| objective },
    Look { metric: TTFT, scale: |objective| objective.min(DEFAULT_OBJECTIVE) },
    Look { metric: PER_TOKEN, scale: |_| TOKEN_S },
];

/// The span over which the load of instances is compared.
const MINUTE: Duration = Duration::from_secs(60);

fn judge(scene: &Scene<'_>, instance: &Subject, limits: &Limits<'_>) -> Judgement {
    let service = instance.component_of();
    let mut seen = vec![];
    let mut is_alone = false;
    for Look { metric, scale } in LOOKS {
        let Some(Ok(own)) = scene.p99(instance, *metric, None) else { continue };
        let all = scene.instances(("p99", *metric), &service, |one| {
            Some(scene.p99(one, *metric, None)?.ok()?.p99.number())
        });
        let Some(fast) = all.quantile_of_others(instance, 0.25).filter(|fast| *fast > 0.0) else {
            is_alone = true;
            continue;
        };
        let value = own.p99.number();
        let floor = scale(scene.objective(&service)) * limits.of("floor");
        let limit = (fast * limits.of("skew")).max(fast + floor);
        let shown = format!("{}{}", own.p99.sign(), show(value, Unit::Seconds));
        if value < limit || own.p99.is_only_a_bound() {
            seen.push(format!("{} p99 {shown}", metric.name()));
            continue;
        }
        let load = load(scene, instance, *metric);
        let is_loaded = load.is_some_and(|load| load >= limits.of("load"));
        let loaded = load
            .filter(|_| is_loaded)
            .map_or(String::new(), |load| format!("; it gets {} the requests of the others", times(load)));
        let peers = Baseline::new(fast, BaselineFrom::Peers);
        let breach = Breach::new(
            format!(
                "p99 {shown}, {} the fastest quarter of the others ({}){loaded}",
                times(value / fast),
                show(fast, Unit::Seconds)
            ),
            format!("{} p99 {shown}", instance.address().unwrap_or("instance")),
            value / limit,
            vec![named_evidence(
                format!("{} p99", metric.name()),
                Unit::Seconds,
                Seen { value, at: own.at },
                Some(limit),
                Some(peers),
            )],
        );
        return if is_loaded { breach.with_rival(&RULE.rivals[0]).judged() } else { breach.judged() };
    }
    if seen.is_empty() {
        let durations: Vec<Metric> = LOOKS.iter().map(|look| look.metric).collect();
        return Judgement::Unknown(match scene.only_a_mean(instance, &durations) {
            Some(only_a_mean) => only_a_mean,
            None if is_alone => "no other instance has 200 requests to compare with".to_owned(),
            None => format!("fewer than 200 requests to compare: {}", scene.missing(instance)),
        });
    }
    // Who was taken out for being slow is asked next to nothing, and who is left gets what it got: of neither can be told
    // who began it.
    match gateway_that_moves_them(scene, &service) {
        Some(gateway) => Judgement::Unknown(format!(
            "{gateway} takes instances out and in again: who of them began it nobody can tell meanwhile ({})",
            seen.join(", ")
        )),
        None => Judgement::Clear(seen.join(", ")),
    }
}

/// The gateway that takes instances of a service out and in again.
fn gateway_that_moves_them<'a>(scene: &'a Scene<'_>, service: &Subject) -> Option<&'a Subject> {
    let above = scene.graph.above(service);
    let moves = |finding: &&Finding| finding.rule.id == FAILOVER_STORM && finding.state == State::Firing;
    let gateways = scene.findings.iter().filter(moves).map(|finding| &finding.subject);
    gateways.into_iter().find(|gateway| above.contains_key(*gateway))
}

/// How many requests an instance gets, as a multiple of what the others do, of these the lower middle.
fn load(scene: &Scene<'_>, instance: &Subject, metric: Metric) -> Option<f64> {
    let peers = scene.instances(("requests", metric), &instance.component_of(), |one| {
        let at = scene.last_scrape(one, metric, None)?;
        Some(scene.distribution_between(one, metric, None, at - MINUTE, at)?.count)
    });
    let usual = peers.median_of_others(instance).filter(|usual| *usual > 0.0)?;
    Some(peers.of(instance)? / usual)
}
