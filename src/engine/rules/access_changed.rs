//! Each request reads more from Redis than it used to.

use super::command_mix::calls;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{
    Metric, REDIS_COMMAND_CALLS, REDIS_COMMANDS, REDIS_NET_OUT, REDIS_OUR_BYTES, REQUESTS, Unit,
};
use crate::quantity::{show, times};
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

pub(super) static RULE: Rule = Rule {
    id: "access-changed",
    title: "each request reads more from Redis than it used to",
    doc: "Redis commands, or bytes sent, per request of the services above are at least 1.5 times their healthy \
          value; the command that rose most is named. A new model or client changed how it reads; the traffic itself \
          may be the same. It says why a shard became short of something, and accuses nobody by itself. A proxy that \
          splits commands with several keys looks the same; a flood of misses, a herd and commands that a cluster \
          refuses explain it where they are seen.",
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
    rivals: &[
        RivalRow { rule: "surge", told_by: "requests a second against their healthy value" },
        RivalRow {
            rule: "cross-slot",
            told_by: "whether a proxy stands before it: it splits commands with several keys in silence",
        },
    ],
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
    let requests = Seen::sum(services.iter().filter_map(|service| scene.total(service, REQUESTS)));
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
    let risen = risen_command(scene, redis, requests.value, healthy_requests);
    let mut numbers = vec![named_evidence(
        format!("{} a request", greatest.word),
        greatest.unit,
        greatest.now,
        Some(greatest.healthy.typical * limits.of("rise")),
        Some(greatest.healthy),
    )];
    let of_command = risen.map_or(String::new(), |(command, now, healthy)| {
        let (a_request, usual) = (show(now.value, Unit::Count), show(healthy.typical, Unit::Count));
        numbers.push(named_evidence(format!("{command} a request"), Unit::Count, now, None, Some(healthy)));
        format!("; {command} most: {a_request} a request, usually {usual}")
    });
    let breach = Breach::new(
        format!("{shown}{of_command}"),
        format!("{} {} a request", times(greatest.times), greatest.word),
        greatest.times / limits.of("rise"),
        numbers,
    );
    // What says that it is a cluster is no proxy that hides one.
    let is_cluster = scene.world.topologies().any(|known| known.cluster == *redis && known.clustered);
    if is_cluster { breach.judged() } else { breach.with_rival(&RULE.rivals[1]).judged() }
}

/// The command of which each request sends most more than usual, with its calls a request now and usually.
fn risen_command(
    scene: &Scene<'_>,
    redis: &Subject,
    requests: f64,
    healthy_requests: f64,
) -> Option<(RemoteText, Seen, Baseline)> {
    if healthy_requests <= 0.0 {
        return None;
    }
    let nodes = || scene.world.parts(redis).map(|(node, _)| node);
    let risen = calls(scene, redis).into_iter().filter_map(|(command, now)| {
        let of_node = |node| scene.baseline(node, REDIS_COMMAND_CALLS, Some(&command));
        let healthy = nodes().filter_map(of_node).reduce(|sum, one| Baseline {
            typical: sum.typical + one.typical,
            spread: None,
            ..sum
        })?;
        let healthy = Baseline { typical: healthy.typical / healthy_requests, ..healthy };
        let seen = Seen { value: now / requests, at: scene.now };
        (seen.value > healthy.typical).then_some((command, seen, healthy))
    });
    let more = |(_, now, healthy): &(RemoteText, Seen, Baseline)| now.value - healthy.typical;
    risen.max_by(|one, other| more(one).total_cmp(&more(other)))
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
    // A scan of ours is no caller that reads more.
    let total = if metric == REDIS_NET_OUT {
        scene.but_ours(redis, REDIS_NET_OUT, REDIS_OUR_BYTES)?
    } else {
        scene.commands(redis)?
    };
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
