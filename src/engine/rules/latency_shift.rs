//! Callers wait longer than they should.

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{CLIENT_DURATION, MODEL_DURATION, Metric, REQUEST_DURATION, TTFT, Unit};
use crate::quantity::{show, times};
use crate::report::{BaselineFrom, Role};
use crate::scene::{DEFAULT_OBJECTIVE, Observed, Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// Durations in the order in which they are trusted: finer buckets and nearer to the caller first.
pub(crate) const DURATIONS: &[Metric] = &[CLIENT_DURATION, REQUEST_DURATION, MODEL_DURATION, TTFT];

/// Share of events above the objective from which a 99th percentile above it is no chance: with 200 events,
/// five in a hundred above is five times what the percentile allows.
const CERTAIN_SHARE: f64 = 0.05;

/// The id of the rule, which the walk asks for by name.
pub(crate) const ID: &str = "latency-shift";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "requests take longer than they should",
    doc: "The 99th percentile over at least 200 requests (the window widens from 3 s to 5 min until it holds \
          them) is above the objective (the declared one, else 200 ms for a workload of text that is scored, else half a second; none for a service that generates tokens, whose \
          answers take as long as they are), or well above its healthy value: by at least 20 %, by 3 robust standard \
          deviations, and by a fifth of the objective. The healthy value is the declared one, what a Prometheus \
          remembers, that of earlier runs, of this run before the incident, or of the target's life before first contact. Where the first \
          bucket is too wide to tell, only the bound is known and the rule says so. It is a symptom: it accuses \
          nobody.",
    next: "walk the dependencies first: whatever this service waits for is looked at before the service itself",
    watches: Watches::Components(&[Kind::Client, Kind::Gateway, Kind::Service]),
    nature: Nature::Symptom,
    exonerates: true,
    role: Role::Victim,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "rise",
            default: 1.2,
            unit: Unit::Ratio,
            help: "multiple of the healthy 99th percentile from which a rise counts",
        },
        Threshold {
            name: "robust_z",
            default: 3.0,
            unit: Unit::Ratio,
            help: "robust standard deviations above the healthy value",
        },
        Threshold {
            name: "floor",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of the objective below which a rise is no incident",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    let mut most_events = None;
    for metric in DURATIONS {
        match scene.p99(subject, *metric, None) {
            Some(Ok(observed)) => return judge_p99(scene, subject, *metric, &observed, limits),
            Some(Err(events)) => most_events = most_events.max(Some(events as u64)),
            None => {}
        }
    }
    Judgement::Unknown(match (most_events, scene.only_a_mean(subject, DURATIONS)) {
        (_, Some(only_a_mean)) => only_a_mean,
        (Some(events), _) => format!("{events} requests in the last 5 min: a 99th percentile needs 200"),
        (None, None) => format!("no latency histogram: {}", scene.missing(subject)),
    })
}

fn judge_p99(
    scene: &Scene<'_>,
    subject: &Subject,
    metric: Metric,
    observed: &Observed,
    limits: &Limits<'_>,
) -> Judgement {
    let p99 = observed.p99.number();
    let shown = format!("{}{}", observed.p99.sign(), show(p99, Unit::Seconds));
    let declared = scene.declared_objective(subject);
    // How long a generation may take depends on its length: half a second is no objective for one.
    let is_generation = scene.last_scrape(subject, MODEL_DURATION, None).is_some();
    let objective = declared.unwrap_or(if is_generation { f64::INFINITY } else { DEFAULT_OBJECTIVE });
    // A life, or a past of which nobody said that it was healthy, that misses the objective itself holds the incident.
    let is_told = |from: BaselineFrom| !matches!(from, BaselineFrom::Lifetime | BaselineFrom::History);
    let baseline = scene
        .baseline_p99(subject, metric, None)
        .filter(|healthy| is_told(healthy.from) || healthy.typical <= objective);
    let evidence = |limit: f64| {
        let seen = Seen { value: p99, at: observed.at };
        vec![named_evidence(format!("{} p99", metric.name()), Unit::Seconds, seen, Some(limit), baseline)]
    };
    let compared = baseline.map_or_else(String::new, |baseline| {
        format!(", {} its healthy {}", times(p99 / baseline.typical), show(baseline.typical, Unit::Seconds))
    });
    // Only a bound is known when the first bucket holds it: above the objective or not, nobody can say.
    let only_bound = observed.p99.is_only_a_bound();
    if p99 > objective && !only_bound {
        let sentence = format!("p99 {shown}, objective {}{compared}", show(objective, Unit::Seconds));
        let breach = Breach::new(sentence, format!("p99 {shown}"), p99 / objective, evidence(objective));
        let above = observed.gained.share_above(objective).unwrap_or(0.0);
        return if above >= CERTAIN_SHARE { breach.certain().judged() } else { breach.judged() };
    }
    let scale =
        if objective.is_finite() { objective } else { baseline.map_or(0.0, |healthy| healthy.typical) };
    if let Some(healthy) = baseline.filter(|_| !only_bound) {
        let limit = (healthy.typical * limits.of("rise"))
            .max(healthy.typical + scale * limits.of("floor"))
            .max(healthy.typical + healthy.spread.unwrap_or(0.0) / 1.349 * limits.of("robust_z"))
            .max(healthy.moving.unwrap_or(0.0));
        if p99 > limit {
            let sentence = format!("p99 {shown}{compared}");
            return Breach::new(sentence, format!("p99 {shown}"), p99 / limit, evidence(limit)).judged();
        }
    }
    if objective.is_infinite() && baseline.is_none() {
        return Judgement::Unknown(format!(
            "p99 {shown}, but no healthy value yet and no 'objective_p99' declared to hold it against"
        ));
    }
    let against = if objective.is_finite() {
        format!(", objective {}", show(objective, Unit::Seconds))
    } else {
        String::new()
    };
    Judgement::Clear(format!("p99 {shown}{against}{compared}"))
}
