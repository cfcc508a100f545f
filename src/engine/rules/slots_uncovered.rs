//! A part of the keys has no node that serves it.

use std::sync::Arc;

use super::cluster_views::{count, is_clustered, moving, share, shown, too_few, views};
use super::rising::errors;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Watches};
use crate::metric::Unit;
use crate::quantity::{counted, counted_of, show};
use crate::reading::{CLUSTER_IS_DOWN, ClusterView, NodeHealth};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::slot::SLOTS;
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "slots-uncovered",
    title: "a part of the keys has no node that serves it",
    doc: "A node of the cluster sees slots that no node owns, or whose owner has failed: every request for a key in \
          them fails, and with the default cluster-require-full-coverage every other request too. It is told also \
          while that node calls the cluster's state ok, which it does where full coverage is not required. Replies \
          that begin with CLUSTERDOWN are the failure itself, so they convict at once; without them a gap must be seen by two \
          rounds of views, because every failover has one of seconds. A failure too is a state of fail, which a node also has when \
          it sees no majority of the primaries. Slots that are being moved have an owner all the while, and accuse \
          nobody.",
    next: "bring the failed owner back, or make a living replica of it take over (CLUSTER FAILOVER TAKEOVER); give \
           slots that nobody owns to a node",
    watches: Watches::Those { kinds: &[Kind::Redis], which: "that is a cluster", are: is_clustered },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 2,
    thresholds: &[],
    rivals: &[RivalRow {
        rule: "topology-split",
        told_by: "the other nodes' views: slots that most of them see covered are lost to few",
    }],
    absorbs: &["node-unreachable", "replication-broken", "cross-slot"],
    judge,
};

fn judge(scene: &Scene<'_>, cluster: &Subject, _: &Limits<'_>) -> Judgement {
    let views = views(scene, cluster);
    let refusals = refusals(scene, cluster);
    let gap = views
        .iter()
        .filter(|(_, view)| !view.uncovered.is_empty())
        .max_by_key(|(_, view)| count(&view.uncovered));
    if let Some((_, view)) = gap {
        // It is a new observation once every node that sees the gap was asked anew: a failover is over by then.
        let seeing = views.iter().filter(|(_, view)| !view.uncovered.is_empty());
        let at = seeing.map(|(at, _)| *at).min().unwrap_or(scene.now);
        return uncovered(&views, (at, view), refusals.as_ref());
    }
    if let Some(refusals) = refusals {
        if let Some(last) = refusals.last.filter(|last| are_later(&views, *last)) {
            return Judgement::Clear(format!(
                "all {SLOTS} slots have an owner, as seen by {} since the last reply with CLUSTERDOWN at {}",
                nodes(views.len()),
                last.clock()
            ));
        }
        let breach = Breach::new(
            format!("{}, though no view shows slots without an owner now", refusals.said),
            "cluster down".to_owned(),
            10.0,
            vec![refusals.evidence],
        );
        return breach.begun(refusals.since).judged();
    }
    let failing: Vec<_> = views.iter().filter(|(_, view)| !view.says_ok).collect();
    if let Some((at, view)) = failing.first() {
        let few = failing.len() * 2 < views.len();
        let breach = Breach::new(
            format!(
                "{} the cluster's state fail, {} first, though every slot has an owner: no majority of the primaries \
                 is seen",
                counted_of(failing.len() as u64, views.len() as u64, "node", ("calls", "call")),
                view.node.address().unwrap_or("one")
            ),
            "cluster state fail".to_owned(),
            5.0,
            vec![nodes_failing(failing.len(), *at)],
        );
        return if few {
            breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
        } else {
            breach.judged()
        };
    }
    if views.is_empty() {
        return without_views(scene, cluster);
    }
    if let Some(few) = too_few(scene, cluster, &views) {
        return Judgement::Unknown(few);
    }
    let moves = moving(&views).map_or(String::new(), |moves| format!("; {moves}, which alone is no fault"));
    Judgement::Clear(format!("all {SLOTS} slots have an owner, as seen by {}{moves}", nodes(views.len())))
}

fn uncovered(
    views: &[&(Moment, Arc<ClusterView>)],
    (at, view): (Moment, &ClusterView),
    refusals: Option<&Refusals>,
) -> Judgement {
    let slots = count(&view.uncovered);
    let seeing = views.iter().filter(|(_, view)| !view.uncovered.is_empty()).count();
    let says_ok = views.iter().filter(|(_, view)| view.says_ok && !view.uncovered.is_empty()).count();
    let failed: Vec<&str> = view.failed.iter().map(|address| address.as_str()).take(3).collect();
    let who = match failed.is_empty() {
        true => "nobody owns them".to_owned(),
        false => format!("failed: {}", failed.join(", ")),
    };
    let calm = match says_ok {
        0 => String::new(),
        many => format!(
            "; {many} of these {} the state ok all the same",
            if many == 1 { "calls" } else { "call" }
        ),
    };
    let refused = refusals.map_or(String::new(), |refusals| format!("; {}", refusals.said));
    let mut numbers = vec![named_evidence(
        "slots without an owner that serves".to_owned(),
        Unit::Count,
        Seen { value: f64::from(slots), at },
        Some(0.0),
        None,
    )];
    numbers.extend(refusals.map(|refusals| refusals.evidence.clone()));
    let (which, seen) = (
        format!("{} ({}), {}", slot_words(slots), show(share(slots), Unit::Ratio), shown(&view.uncovered)),
        format!("as seen by {seeing} of {}; {who}", nodes(views.len())),
    );
    let (is, was) = if slots == 1 { ("is", "was") } else { ("are", "were") };
    let breach = Breach::new(
        format!("{which}, {is} served by nobody, {seen}{calm}{refused}"),
        format!("{} of the slots uncovered", show(share(slots), Unit::Ratio)),
        10.0,
        numbers,
    );
    let breach = breach.once_over(format!("{which}, {was} served by nobody, {seen}{refused}"));
    let breach = match refusals {
        Some(refusals) => breach.begun(refusals.since),
        None => breach,
    };
    if seeing * 2 < views.len() {
        return breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged();
    }
    breach.judged()
}

fn nodes(count: usize) -> String {
    counted(count as u64, "node")
}

fn slot_words(slots: u32) -> String {
    counted(u64::from(slots), "slot")
}

/// Nodes that answer nothing because they hold the cluster for failed.
struct Refusals {
    said: String,
    /// `None` where that was before anybody looked.
    since: Option<Moment>,
    /// The last one that was seen, where that is past.
    last: Option<Moment>,
    evidence: Evidence,
}

/// Whether every node was asked for its view after this moment: then what it says of the slots is newer.
fn are_later(views: &[&(Moment, Arc<ClusterView>)], last: Moment) -> bool {
    !views.is_empty() && views.iter().all(|(at, _)| *at > last)
}

fn refusals(scene: &Scene<'_>, cluster: &Subject) -> Option<Refusals> {
    let nodes =
        || scene.world.shards(cluster).iter().flat_map(|shard| &shard.nodes).map(|node| &node.subject);
    let to_us = nodes().find_map(|node| {
        let state = scene.world.source(node)?;
        let (since, fault) = state.fault.as_ref()?;
        // One that never answered otherwise said so before anybody looked.
        let since = state.last_data.map(|_| *since);
        fault.message.as_str().contains(CLUSTER_IS_DOWN).then_some((node, since))
    });
    let rising = nodes().filter_map(|node| Some((node, errors(scene, node, "CLUSTERDOWN")?)));
    let worst = rising.max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained));
    if let Some((node, rise)) = worst {
        return Some(Refusals {
            said: format!(
                "{} with CLUSTERDOWN lately at {}",
                counted(rise.gained.max(1.0).round() as u64, "reply"),
                node.address().unwrap_or("a node")
            ),
            since: rise.began,
            last: Some(rise.last),
            evidence: named_evidence(
                "redis.errors CLUSTERDOWN".to_owned(),
                Unit::PerSecond,
                rise.rate,
                Some(0.0),
                None,
            ),
        });
    }
    let (node, since) = to_us?;
    Some(Refusals {
        said: format!("Headwater too was answered CLUSTERDOWN by {}", node.address().unwrap_or("a node")),
        since,
        last: None,
        evidence: nodes_failing(1, scene.now),
    })
}

fn nodes_failing(nodes: usize, at: Moment) -> Evidence {
    let seen = Seen { value: nodes as f64, at };
    named_evidence("nodes whose state is fail".to_owned(), Unit::Count, seen, Some(0.0), None)
}

/// What the shape alone shows, where no node gives its view: slots of shards whose primary has failed, and slots of
/// none.
fn without_views(scene: &Scene<'_>, cluster: &Subject) -> Judgement {
    if scene.world.last_data(cluster).is_none_or(|at| at < scene.stale_before_of(cluster)) {
        return Judgement::Unknown(scene.missing(cluster));
    }
    if scene.world.views(cluster).next().is_some() {
        return Judgement::Unknown("no node that answers gives its view of the cluster any more".to_owned());
    }
    let shards = scene.world.shards(cluster);
    let serves = |shard: &&crate::reading::Shard| {
        shard.nodes.iter().any(|node| node.primary && node.health != NodeHealth::Failed)
    };
    let served: u32 = shards.iter().filter(serves).map(|shard| count(&shard.slots)).sum();
    let slots = u32::from(SLOTS).saturating_sub(served);
    if slots == 0 {
        return Judgement::Clear(format!("all {SLOTS} slots have an owner, by the shape of the cluster"));
    }
    let failed =
        shards.iter().flat_map(|shard| &shard.nodes).filter(|node| node.health == NodeHealth::Failed);
    let failed: Vec<&str> = failed.filter_map(|node| node.subject.address()).take(3).collect();
    let who = if failed.is_empty() { String::new() } else { format!("; failed: {}", failed.join(", ")) };
    Breach::new(
        format!(
            "{} ({}) without a node that serves, by the shape of the cluster{who}",
            slot_words(slots),
            show(share(slots), Unit::Ratio)
        ),
        format!("{} of the slots uncovered", show(share(slots), Unit::Ratio)),
        10.0,
        vec![named_evidence(
            "slots without an owner that serves".to_owned(),
            Unit::Count,
            Seen { value: f64::from(slots), at: scene.now },
            Some(0.0),
            None,
        )],
    )
    .judged()
}
