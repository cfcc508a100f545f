//! The nodes of a cluster disagree on who owns what.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cluster_views::{
    common, count, is_clustered, moving, shown, slots_on_the_move, too_few, views, without,
};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Watches};
use crate::metric::Unit;
use crate::quantity::{counted, counted_of, show};
use crate::reading::ClusterView;
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "topology-split",
    title: "the nodes of a cluster disagree on who owns what",
    doc: "Each node's own view is held against the others', over three rounds in which every node was asked anew, \
          because views are taken at different moments and a failover takes seconds to be known to all. Two nodes \
          that both say that they own a slot convict: writes go two ways, and those of one are lost. Views that \
          give a slot different owners send clients from node to node. A node that knows fewer nodes, or is at \
          an older epoch, is a suspect at most: it may only be cut off, or forgotten. Two masters in one shard after \
          a failover, one of them failed, is no split, and neither is a slot that is being moved: two owners of other \
          slots are still seen, and nobody says what else views differ by until the move is done. The last word of a \
          node that does not answer any more is not counted, and fewer than half of the primaries speak for no \
          cluster.",
    next: "see which nodes see each other (the cluster's bus is a port of its own, 10000 above); then let \
           redis-cli --cluster check say which slots are in doubt before anything is fixed",
    watches: Watches::Those { kinds: &[Kind::Redis], which: "that is a cluster", are: is_clustered },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[],
    rivals: &[RivalRow {
        rule: "network-path",
        told_by: "whether the nodes that disagree reach each other on the cluster's bus",
    }],
    absorbs: &["cross-slot"],
    judge,
};

type View = (Moment, Arc<ClusterView>);

fn judge(scene: &Scene<'_>, cluster: &Subject, _: &Limits<'_>) -> Judgement {
    let views = views(scene, cluster);
    if let [(_, view)] = views[..]
        && view.known <= 1
    {
        return Judgement::Clear("it has one node, which agrees with itself".to_owned());
    }
    if views.len() < 2 {
        let give = if views.len() == 1 { "gives" } else { "give" };
        return Judgement::Unknown(format!("{} of its nodes {give} a view that still holds", views.len()));
    }
    if let Some(breach) = two_owners(&views, &slots_on_the_move(&views)) {
        return breach.judged();
    }
    let moves = moving(&views);
    match (other_owners(&views).or_else(|| knows_less(&views)), moves) {
        (Some(_), Some(moves)) => {
            Judgement::Unknown(format!("{moves}: until that is done views may differ by it"))
        }
        (Some(breach), None) => breach.judged(),
        (None, moves) => {
            if let Some(few) = too_few(scene, cluster, &views) {
                return Judgement::Unknown(few);
            }
            let known = views.first().map_or(0, |(_, view)| view.known);
            let moves = moves.map_or(String::new(), |moves| format!("; {moves}"));
            Judgement::Clear(format!(
                "{} agree on the owner of every slot, and know {}{moves}",
                counted(views.len() as u64, "node"),
                counted(known, "node")
            ))
        }
    }
}

/// Two nodes that both say that they own a slot, of those that are not on the move.
fn two_owners(views: &[&View], on_the_move: &[u16]) -> Option<Breach> {
    // Of a thousand nodes few pairs lie over each other: in the order of their slots only neighbours can.
    let own = |view: &ClusterView| without(&view.own, on_the_move);
    let mut owned: Vec<((u16, u16), &ClusterView)> =
        views.iter().flat_map(|(_, view)| own(view).into_iter().map(move |range| (range, &**view))).collect();
    owned.sort_by_key(|(range, _)| *range);
    let mut reaches: Option<((u16, u16), &ClusterView)> = None;
    for (range, view) in owned {
        if let Some((before, other)) = reaches
            && before.1 >= range.0
            && other.node != view.node
        {
            let both = common(&own(other), &own(view));
            let [one, two] = [other, view].map(|view| view.node.address().unwrap_or("a node"));
            let slots = counted(u64::from(count(&both)), "slot");
            return Some(Breach::new(
                format!(
                    "{one} and {two} both say that they own {slots}, {}: writes go two ways, and those of one \
                     of them will be lost",
                    shown(&both)
                ),
                format!("{slots} with two owners"),
                10.0,
                vec![number("slots with two owners", f64::from(count(&both)), 0.0, views)],
            ));
        }
        if reaches.is_none_or(|(before, _)| range.1 > before.1) {
            reaches = Some((range, view));
        }
    }
    None
}

/// Views that give slots other owners than most do.
fn other_owners(views: &[&View]) -> Option<Breach> {
    let apart = against_most(views, |view| view.owners)?;
    Some(
        Breach::new(
            format!(
                "{} slots other owners than most do: {}; clients that ask there are sent to the wrong node",
                counted_of(apart.len() as u64, views.len() as u64, "node", ("gives", "give")),
                names(&apart)
            ),
            format!("other owners seen by {}", counted(apart.len() as u64, "node")),
            2.0,
            vec![number("nodes that see other owners", apart.len() as f64, 0.0, views)],
        )
        .with_rival(&RULE.rivals[0])
        .at_most(Confidence::Medium),
    )
}

/// Nodes that know fewer nodes than most do, or are at an older epoch.
fn knows_less(views: &[&View]) -> Option<Breach> {
    let most = views.iter().map(|(_, view)| view.known).max()?;
    let few: Vec<&ClusterView> =
        views.iter().map(|(_, view)| &**view).filter(|view| view.known < most).collect();
    if let Some(least) = few.iter().map(|view| view.known).min() {
        return Some(lesser(
            format!(
                "{} fewer nodes: {}: {least} of {most}",
                counted_of(few.len() as u64, views.len() as u64, "node", ("knows", "know")),
                names(&few)
            ),
            format!("{} with fewer nodes", counted(few.len() as u64, "view")),
            number("nodes that are known least", least as f64, most as f64, views),
        ));
    }
    let newest = views.iter().map(|(_, view)| view.epoch).max()?;
    let old: Vec<&ClusterView> =
        views.iter().map(|(_, view)| &**view).filter(|view| view.epoch < newest).collect();
    let oldest = old.iter().map(|view| view.epoch).min()?;
    Some(lesser(
        format!(
            "{} at an older epoch: {} at {oldest}, the newest is {newest}",
            counted_of(old.len() as u64, views.len() as u64, "node", ("is", "are")),
            names(&old)
        ),
        format!("{} at an older epoch", counted(old.len() as u64, "node")),
        number("oldest epoch", oldest as f64, newest as f64, views),
    ))
}

fn lesser(sentence: String, short: String, evidence: Evidence) -> Breach {
    Breach::new(sentence, short, 1.0, vec![evidence]).at_most(Confidence::Low)
}

/// The views that differ from what most say; where two sides are equal in number, those of the greater value. `None`
/// where all say the same.
fn against_most<'a>(views: &[&'a View], of: impl Fn(&ClusterView) -> u64) -> Option<Vec<&'a ClusterView>> {
    let mut sides: BTreeMap<u64, Vec<&ClusterView>> = BTreeMap::new();
    for (_, view) in views {
        sides.entry(of(view)).or_default().push(view);
    }
    let most = sides.iter().rev().max_by_key(|(_, side)| side.len()).map(|(value, _)| *value)?;
    sides.remove(&most);
    let apart: Vec<&ClusterView> = sides.into_values().flatten().collect();
    (!apart.is_empty()).then_some(apart)
}

/// A number dated by the oldest of the views that it rests on: it is a new observation once all were asked anew.
fn number(name: &str, value: f64, limit: f64, views: &[&View]) -> Evidence {
    let at = views.iter().map(|(at, _)| *at).min().unwrap_or_default();
    named_evidence(name.to_owned(), Unit::Count, Seen { value, at }, Some(limit), None)
}

fn names(views: &[&ClusterView]) -> String {
    let named: Vec<&str> = views.iter().filter_map(|view| view.node.address()).take(3).collect();
    match views.len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), show(more as f64, Unit::Count)),
    }
}
