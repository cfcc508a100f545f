//! Each request reads more from Redis than it used to.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{Metric, REDIS_COMMANDS, REDIS_NET_OUT, REQUESTS, Unit};
use crate::quantity::{show, times};
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "access-changed",
    title: "each request reads more from Redis than it used to",
    doc: "Redis commands, or bytes sent, per request of the services above are at least 1.5 times their healthy \
          value. A new model or client changed how it reads; the traffic itself may be the same. It says why a \
          shard became short of something, and accuses nobody by itself.",
    next: "look at what changed in the model or client that reads from it in the last 24 h",
    watches: Watches::Components(&[Kind::Redis]),
    nature: Nature::Circumstance,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold { name: "rise", default: 1.5, unit: Unit::Ratio, help: "multiple of the healthy value" },
        Threshold {
            name: "requests",
            default: 1.0,
            unit: Unit::PerSecond,
            help: "requests a second below which a share per request means nothing",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "requests a second against their healthy value" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, redis: &Subject, limits: &Limits<'_>) -> Judgement {
    let services: Vec<Subject> =
        scene.graph.above(redis).into_keys().filter(|caller| caller.kind() == Kind::Service).collect();
    // Only services with both a present and a healthy rate can be compared with themselves.
    let (both, others): (Vec<Subject>, Vec<Subject>) =
        services.into_iter().partition(|service| scene.total_baseline(service, REQUESTS).is_some());
    let services = if both.is_empty() { others } else { both };
    let requests = services
        .iter()
        .filter_map(|service| scene.total(service, REQUESTS))
        .reduce(|sum, one| Seen { value: sum.value + one.value, at: sum.at });
    let healthy_requests = services
        .iter()
        .filter_map(|service| scene.total_baseline(service, REQUESTS))
        .map(|b| b.typical)
        .sum();
    let Some(requests) = requests else {
        return Judgement::Unknown("no service above it counts its requests".to_owned());
    };
    if requests.value < limits.of("requests") {
        return Judgement::Unknown("too few requests to share by".to_owned());
    }
    let rises: Vec<_> = [REDIS_COMMANDS, REDIS_NET_OUT]
        .into_iter()
        .filter_map(|metric| rise(scene, redis, metric, requests, healthy_requests))
        .collect();
    let Some(greatest) = rises.iter().max_by(|one, other| one.times.total_cmp(&other.times)) else {
        return Judgement::Unknown(format!("no healthy value to compare with: {}", scene.missing(redis)));
    };
    let shown = format!(
        "{} {} a request, {} its healthy {}",
        show(greatest.now.value, greatest.unit),
        greatest.word,
        times(greatest.times),
        show(greatest.healthy.typical, greatest.unit)
    );
    if greatest.times < limits.of("rise") {
        return Judgement::Clear(shown);
    }
    Breach::new(
        shown,
        format!("{} {} a request", times(greatest.times), greatest.word),
        greatest.times / limits.of("rise"),
        vec![named_evidence(
            format!("{} a request", greatest.word),
            greatest.unit,
            greatest.now,
            Some(greatest.healthy.typical * limits.of("rise")),
            Some(greatest.healthy),
        )],
    )
    .judged()
}

struct Rise {
    word: &'static str,
    unit: Unit,
    now: Seen,
    healthy: Baseline,
    times: f64,
}

fn rise(
    scene: &Scene<'_>,
    redis: &Subject,
    metric: Metric,
    requests: Seen,
    healthy_requests: f64,
) -> Option<Rise> {
    let total = scene.total(redis, metric)?;
    let healthy = scene.total_baseline(redis, metric)?;
    let typical = healthy.typical / healthy_requests;
    if !typical.is_finite() || typical <= 0.0 {
        return None;
    }
    let now = Seen { value: total.value / requests.value, at: total.at };
    let (word, unit) =
        if metric == REDIS_NET_OUT { ("read", Unit::Bytes) } else { ("commands", Unit::Count) };
    Some(Rise { word, unit, now, healthy: Baseline { typical, ..healthy }, times: now.value / typical })
}
