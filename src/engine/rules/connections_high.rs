//! A Redis node takes no more connections, or soon will not.

use super::rising::{LATELY, most, rise};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{REDIS_CLIENTS, REDIS_CLIENTS_MAX, REDIS_CONNECTIONS, REDIS_REJECTED, Unit};
use crate::quantity::{show, times};
use crate::reading::{FaultKind, OUT_OF_CONNECTIONS};
use crate::report::{BaselineFrom, Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::time::Moment;
use crate::wording::baseline_words;

pub(super) static RULE: Rule = Rule {
    id: "connections-high",
    title: "a Redis node takes no more connections, or soon will not",
    doc: "Connections were refused in the last minute, or Headwater itself was told 'max number of clients \
          reached': both convict, also where no shard is known yet because nobody was let in. At least 80 % of \
          maxclients in use is a suspect, and so are new connections at three times the usual rate and at least 20 a \
          second, which cost the thread time and are mostly clients that gave up waiting and came again. All kinds are counted, replicas and the cluster's own too, because \
          the limit is on their sum. Headwater keeps its connections open, so it still sees a node that is full.",
    next: "see who holds them (CLIENT LIST by name and address), close what idles, and raise maxclients if the host \
           allows as many files",
    watches: Watches::ShardsOrShut,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "used",
            default: 0.8,
            unit: Unit::Ratio,
            help: "share of maxclients from which one deploy that opens its pools twice fills it",
        },
        Threshold {
            name: "churn",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the usual new connections",
        },
        Threshold {
            name: "floor",
            default: 20.0,
            unit: Unit::PerSecond,
            help: "new connections a second below which they cost nothing",
        },
    ],
    rivals: &[RivalRow {
        rule: "pool-starved",
        told_by: "rejected_connections: while it stands still, the limit that callers meet is their own pool's",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if let Some(refused) = refused_us(scene, shard).or_else(|| refused_others(scene, shard)) {
        return refused.judged(scene, shard, limits);
    }
    let fullest = scene.worst_node(shard, |node| share(scene, node).map(|(share, _)| share));
    if let Some((node, used)) = fullest.as_ref().filter(|(_, used)| used.value >= limits.of("used")) {
        return Breach::new(
            format!("{} at {}; none was refused yet", held(scene, node), address(node)),
            format!("#{} connections {}", shard.shard_index().unwrap_or(0), show(used.value, Unit::Ratio)),
            used.value / limits.of("used"),
            numbers(scene, node, limits),
        )
        .at_most(Confidence::Low)
        .judged();
    }
    if let Some(churn) = churn(scene, shard, limits) {
        return churn;
    }
    if scene.world.shard(shard).is_none() {
        return Judgement::Unknown(scene.missing(shard));
    }
    if let Some(missing) = scene.unseen_primary(shard, |node| scene.latest(node, REDIS_CLIENTS)) {
        return Judgement::Unknown(missing);
    }
    let most_held =
        || scene.worst_node(shard, |node| scene.latest(node, REDIS_CLIENTS)).map(|(node, _)| node);
    match fullest.map(|(node, _)| node).or_else(most_held) {
        Some(node) => Judgement::Clear(held(scene, &node)),
        None => Judgement::Unknown(scene.missing(shard)),
    }
}

/// A node that refuses connections.
struct Refused {
    node: Subject,
    first: Evidence,
    /// When the first was refused; `None` where that was before anybody looked.
    since: Option<Moment>,
    said: String,
}

impl Refused {
    fn judged(self, scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
        let mut all = vec![self.first];
        all.extend(numbers(scene, &self.node, limits));
        let holds =
            Some(held(scene, &self.node)).filter(|_| scene.latest(&self.node, REDIS_CLIENTS).is_some());
        let holds = holds.map_or(String::new(), |holds| format!("; {holds}"));
        let short = match shard.shard_index() {
            Some(index) => format!("#{index} out of connections"),
            None => format!("{} out of connections", shard.name()),
        };
        let breach = Breach::new(
            format!("refuses connections at {}: {}{holds}", address(&self.node), self.said),
            short,
            10.0,
            all,
        );
        breach.begun(self.since).judged()
    }
}

/// The node that refused Headwater itself a connection for want of room.
fn refused_us(scene: &Scene<'_>, shard: &Subject) -> Option<Refused> {
    // Before anybody was let in, nobody told of shards and nodes.
    let nodes = scene.world.shard(shard).map_or(&[][..], |shard| &shard.nodes);
    std::iter::once(shard).chain(nodes.iter().map(|node| &node.subject)).find_map(|node| {
        let state = scene.world.source(node)?;
        let (since, fault) = state.fault.as_ref()?;
        let is_full = fault.kind == FaultKind::Busy && fault.message.as_str().contains(OUT_OF_CONNECTIONS);
        is_full.then(|| Refused {
            node: node.clone(),
            first: named_evidence(
                "seconds refused to Headwater".to_owned(),
                Unit::Seconds,
                Seen { value: scene.now.seconds_after(*since), at: scene.now },
                Some(0.0),
                None,
            ),
            // One that never let us in was full before anybody looked.
            since: state.last_data.map(|_| *since),
            said: "Headwater too was told 'max number of clients reached'".to_owned(),
        })
    })
}

/// The node whose counter of refused connections rose lately.
fn refused_others(scene: &Scene<'_>, shard: &Subject) -> Option<Refused> {
    let (node, rise) = most(scene, shard, |node| rise(scene, node, (REDIS_REJECTED, None), LATELY))?;
    Some(Refused {
        first: evidence(REDIS_REJECTED, rise.rate, Some(0.0), None),
        since: rise.began,
        said: format!("{} in the last minute", show(rise.gained.max(1.0).round(), Unit::Count)),
        node,
    })
}

/// What is said of a node to which clients come and go more than usual; `None` where they do not.
fn churn(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Option<Judgement> {
    let (node, new) = scene.worst_node(shard, |node| scene.present(node, REDIS_CONNECTIONS))?;
    if new.value < limits.of("floor") {
        return None;
    }
    let shown = show(new.value, Unit::PerSecond);
    let Some(usual) = scene.baseline(&node, REDIS_CONNECTIONS, None) else {
        return Some(Judgement::Unknown(format!(
            "{shown} new connections, and nothing says how many are usual"
        )));
    };
    let limit = limits.of("floor").max(usual.typical * limits.of("churn"));
    if new.value < limit {
        return None;
    }
    let mut all = vec![evidence(REDIS_CONNECTIONS, new, Some(limit), Some(usual))];
    all.extend(numbers(scene, &node, limits));
    let breach = Breach::new(
        format!(
            "{shown} new connections at {} ({}), {} {}; {}: clients come and go",
            address(&node),
            times(new.value / usual.typical.max(1.0)),
            baseline_words(usual.from),
            show(usual.typical, Unit::PerSecond),
            held(scene, &node),
        ),
        format!("#{} {shown} new connections", shard.shard_index().unwrap_or(0)),
        new.value / limit,
        all,
    );
    Some(breach.at_most(Confidence::Low).judged())
}

/// The used share of a node's limit with the limit; `None` without a limit, or without fresh numbers.
fn share(scene: &Scene<'_>, node: &Subject) -> Option<(Seen, f64)> {
    let held = scene.latest(node, REDIS_CLIENTS)?;
    let max = scene.latest(node, REDIS_CLIENTS_MAX).filter(|max| max.value > 0.0)?.value;
    Some((Seen { value: held.value / max, at: held.at }, max))
}

/// `9000 of 10 k connections in use (90 %)`.
fn held(scene: &Scene<'_>, node: &Subject) -> String {
    let count = scene.latest(node, REDIS_CLIENTS).map_or(0.0, |seen| seen.value);
    let shown = show(count, Unit::Count);
    match share(scene, node) {
        Some((share, max)) => {
            format!(
                "{shown} of {} connections in use ({})",
                show(max, Unit::Count),
                show(share.value, Unit::Ratio)
            )
        }
        None => format!("{shown} connections in use, no limit is told"),
    }
}

fn numbers(scene: &Scene<'_>, node: &Subject, limits: &Limits<'_>) -> Vec<Evidence> {
    let max = scene.latest(node, REDIS_CLIENTS_MAX).map(|seen| seen.value);
    let limit = max.map(|max| Baseline::new(max, BaselineFrom::Declared));
    let held = scene.latest(node, REDIS_CLIENTS);
    let held = held.map(|seen| evidence(REDIS_CLIENTS, seen, max.map(|max| max * limits.of("used")), limit));
    held.into_iter().collect()
}

fn address(node: &Subject) -> &str {
    node.address().unwrap_or(node.as_str())
}
