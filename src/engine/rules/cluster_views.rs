//! What the nodes of a cluster say of it, as far as it still holds.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::metric::REDIS_ANSWER_TIME;
use crate::quantity::{counted, counted_of};
use crate::reading::ClusterView;
use crate::scene::Scene;
use crate::slot::{SLOTS, slot_of};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The views that still hold, each with its moment: of nodes that answer, and not older than three rounds. The last
/// word of a node that is gone is no view of the present.
pub(super) fn views<'a>(scene: &'a Scene<'_>, cluster: &Subject) -> Vec<&'a (Moment, Arc<ClusterView>)> {
    let holds = |(at, view): &&(Moment, Arc<ClusterView>)| {
        let answers = scene.world.source(&view.node).is_some_and(|state| state.fault.is_none());
        answers && scene.latest(&view.node, REDIS_ANSWER_TIME).is_some() && view.is_fresh(*at, scene.now)
    };
    scene.world.views(cluster).filter(holds).collect()
}

/// What is missing where fewer than half of the primaries that answer give a view: a few speak for no cluster. `None`
/// where enough do.
pub(super) fn too_few(
    scene: &Scene<'_>,
    cluster: &Subject,
    views: &[&(Moment, Arc<ClusterView>)],
) -> Option<String> {
    let seen: BTreeSet<&Subject> = views.iter().map(|(_, view)| &view.node).collect();
    let nodes = scene.world.shards(cluster).iter().flat_map(|shard| &shard.nodes);
    let answers = |node: &Subject| scene.latest(node, REDIS_ANSWER_TIME).is_some();
    let primaries = nodes.filter(|node| node.primary && answers(&node.subject)).map(|node| &node.subject);
    let (given, all) = primaries
        .fold((0_usize, 0_usize), |(given, all), node| (given + usize::from(seen.contains(node)), all + 1));
    (given * 2 < all).then(|| {
        let give = counted_of(given as u64, all as u64, "answering primary", ("gives", "give"));
        format!("{give} a view of the cluster: the others may see another")
    })
}

/// Whether a deployment is a cluster.
pub(super) fn is_clustered(scene: &Scene<'_>, cluster: &Subject) -> bool {
    scene.world.topologies().any(|topology| topology.cluster == *cluster && topology.clustered)
}

/// The slot of a key; `None` where its deployment has no slots, or its name is not known whole.
pub(super) fn slot_of_key(scene: &Scene<'_>, shard: &Subject, key: &RemoteText) -> Option<u16> {
    (is_clustered(scene, &shard.component_of()) && is_whole(key)).then(|| slot_of(key.as_str().as_bytes()))
}

/// Whether a key's name is known to the last byte: nothing was escaped or cut, here or by the server, which cuts at
/// 128 bytes.
fn is_whole(key: &RemoteText) -> bool {
    let name = key.as_str();
    name.len() < 128 && !name.contains(['\\', '…'])
}

/// What is being moved: `slot 100 moves to 10.0.1.1:6379`, or nothing.
pub(super) fn moving(views: &[&(Moment, Arc<ClusterView>)]) -> Option<String> {
    let out =
        views.iter().flat_map(|(_, view)| &view.migrating).map(|(slot, to)| (*slot, format!("to {to}")));
    let into = views
        .iter()
        .flat_map(|(_, view)| &view.importing)
        .map(|(slot, from)| (*slot, format!("from {from}")));
    let mut all: Vec<(u16, String)> = out.chain(into).collect();
    all.sort();
    all.dedup_by_key(|(slot, _)| *slot);
    let (slot, whither) = all.first()?;
    Some(match all.len() {
        1 => format!("slot {slot} is being moved {whither}"),
        more => format!("{more} slots are being moved, slot {slot} {whither}"),
    })
}

/// The slots that any view says are being moved, in order.
pub(super) fn slots_on_the_move(views: &[&(Moment, Arc<ClusterView>)]) -> Vec<u16> {
    let moves = views.iter().flat_map(|(_, view)| view.migrating.iter().chain(&view.importing));
    let slots: BTreeSet<u16> = moves.map(|(slot, _)| *slot).collect();
    slots.into_iter().collect()
}

/// What is left of ranges without some slots, which are in order.
pub(super) fn without(ranges: &[(u16, u16)], slots: &[u16]) -> Vec<(u16, u16)> {
    let mut left = vec![];
    for &(first, last) in ranges {
        let mut next = Some(first);
        for slot in slots.iter().copied().filter(|slot| (first..=last).contains(slot)) {
            let Some(from) = next else { break };
            if from < slot {
                left.push((from, slot - 1));
            }
            next = slot.checked_add(1).filter(|next| *next <= last);
        }
        left.extend(next.map(|from| (from, last)));
    }
    left
}

/// How many slots lie in ranges.
pub(super) fn count(ranges: &[(u16, u16)]) -> u32 {
    ranges.iter().map(|(first, last)| u32::from(last.saturating_sub(*first)) + 1).sum()
}

/// `10923-16383`, `5, 7-9 and 12 more ranges`.
pub(super) fn shown(ranges: &[(u16, u16)]) -> String {
    let words = ranges.iter().take(3).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    let words = words.collect::<Vec<_>>().join(", ");
    match ranges.len().saturating_sub(3) {
        0 => words,
        more => format!("{words} and {}", counted(more as u64, "more range")),
    }
}

/// The slots that lie in both of two lists of ranges.
pub(super) fn common(one: &[(u16, u16)], other: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let pairs = one.iter().flat_map(|a| other.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
    pairs.filter(|(first, last)| first <= last).collect()
}

/// The share of all slots.
pub(super) fn share(slots: u32) -> f64 {
    f64::from(slots) / f64::from(SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted_shortened_and_held_against_each_other() {
        assert_eq!(count(&[(0, 0), (5, 9)]), 6);
        assert_eq!(shown(&[(0, 0), (5, 9)]), "0, 5-9");
        assert_eq!(shown(&[(0, 0), (2, 2), (4, 4), (6, 6)]), "0, 2, 4 and 1 more range");
        assert_eq!(common(&[(0, 10), (20, 30)], &[(5, 22)]), [(5, 10), (20, 22)]);
        assert_eq!(common(&[(0, 4)], &[(5, 9)]), []);
        assert_eq!(without(&[(0, 4), (5, 9)], &[0, 2, 3, 9]), [(1, 1), (4, 4), (5, 8)]);
        assert_eq!(without(&[(7, 7), (16_383, 16_383)], &[7, 16_383]), []);
        assert_eq!(without(&[(7, 9)], &[]), [(7, 9)]);
        assert!((share(count(&[(0, 16_383)])) - 1.0).abs() < 1e-9);
    }
}
