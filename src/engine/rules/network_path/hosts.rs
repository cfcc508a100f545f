//! The way to one host of a Redis deployment, by the time in which its nodes answer.

use std::collections::BTreeMap;

use super::super::slow_to_answer::node_answer_time;
use super::RULE;
use crate::baseline::Baseline;
use crate::metric::{REDIS_ANSWER_TIME, REDIS_NET_IN, REDIS_NET_OUT, Unit};
use crate::peers::median;
use crate::quantity::{counted, counted_of, show};
use crate::report::{BaselineFrom, Confidence};
use crate::rules::{Breach, Judgement, Limits};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The nodes of each host of a Redis deployment that has several hosts, one of them with several nodes.
pub(super) fn comparable_hosts(scene: &Scene<'_>, redis: &Subject) -> Option<BTreeMap<String, Vec<Subject>>> {
    if redis.kind() != Kind::Redis {
        return None;
    }
    let hosts = scene.world.nodes_by_host(redis);
    (hosts.len() > 1 && hosts.values().any(|nodes| nodes.len() > 1)).then(|| hosts.clone())
}

/// Whether the nodes of one host answer slowly together.
pub(super) fn judge_hosts(
    scene: &Scene<'_>,
    redis: &Subject,
    hosts: &BTreeMap<String, Vec<Subject>>,
    limits: &Limits<'_>,
) -> Judgement {
    if let Some(late) = scene.observer_is_late() {
        return Judgement::Unknown(late);
    }
    let link = scene.settings.component(redis).and_then(|component| component.link);
    let times = |nodes: &[Subject]| -> Vec<(Subject, Seen)> {
        nodes.iter().filter_map(|node| Some((node.clone(), node_answer_time(scene, node)?))).collect()
    };
    let mut unseen = None;
    for (host, nodes) in hosts.iter().filter(|(_, nodes)| nodes.len() > 1) {
        let own = times(nodes);
        let mut others: Vec<f64> = hosts
            .iter()
            .filter(|(other, _)| *other != host)
            .flat_map(|(_, nodes)| times(nodes))
            .map(|(_, seen)| seen.value)
            .collect();
        others.sort_by(f64::total_cmp);
        let Some(elsewhere) = median(&others) else { continue };
        let limit = (elsewhere * limits.of("skew")).max(limits.of("floor"));
        let Some((_, least)) = own.iter().min_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
        else {
            continue;
        };
        // A link carries both ways at once: the fuller one is its load.
        let sum = |metric| -> f64 {
            nodes.iter().filter_map(|node| scene.present(node, metric)).map(|seen| seen.value).sum()
        };
        let bytes = sum(REDIS_NET_OUT).max(sum(REDIS_NET_IN));
        let is_full = link.is_some_and(|link| bytes >= link * limits.of("link"));
        if least.value < limit || is_full {
            continue;
        }
        if own.len() < nodes.len() {
            let silent = nodes.len() - own.len();
            let give = counted_of(silent as u64, nodes.len() as u64, "node", ("gives", "give"));
            unseen = Some(format!("{give} no time to answer at {host}"));
            continue;
        }
        let bytes_words = match link {
            Some(_) => format!("their {} fill no link", show(bytes, Unit::BytesPerSecond)),
            None => format!("they carry {}, and no link is declared", show(bytes, Unit::BytesPerSecond)),
        };
        let peers = Baseline::new(elsewhere, BaselineFrom::Peers);
        return Breach::new(
            format!(
                "all {} at {host} take {} and more to answer, those elsewhere {}; {bytes_words}",
                counted(own.len() as u64, "node"),
                show(least.value, Unit::Seconds),
                show(elsewhere, Unit::Seconds)
            ),
            format!("way to {host} {}", show(least.value, Unit::Seconds)),
            least.value / limit,
            vec![
                evidence(REDIS_ANSWER_TIME, *least, Some(limit), Some(peers)),
                named_evidence(
                    format!("bytes to or from {host}, the greater"),
                    Unit::BytesPerSecond,
                    Seen { value: bytes, at: least.at },
                    link.map(|link| link * limits.of("link")),
                    None,
                ),
            ],
        )
        .with_rival(&RULE.rivals[1])
        .at_most(Confidence::Medium)
        .judged();
    }
    if let Some(unseen) = unseen {
        return Judgement::Unknown(unseen);
    }
    Judgement::Clear("no host's nodes answer slowly together".to_owned())
}
