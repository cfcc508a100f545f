//! What we see of a shard's nodes beside what the cluster says of them, and what each node says of the whole.

use headwater_engine::Snapshot;
use headwater_engine::quantity::{counted, counted_of};
use headwater_engine::reading::{ClusterView, Node, NodeHealth, Shard};

use crate::data_state::{DataState, source_of};

/// What the cluster calls a node.
fn health_word(health: NodeHealth) -> &'static str {
    match health {
        NodeHealth::Online => "online",
        NodeHealth::Loading => "loading",
        NodeHealth::Suspected => "suspected",
        NodeHealth::Failed => "failed",
        NodeHealth::Unknown => "in a state that is not known here",
    }
}

/// What is seen of a part of a shard, and whether it is trouble by itself, whatever rules say.
pub(super) struct SeenOf {
    /// The sentences.
    pub(super) texts: Vec<String>,
    /// Whether something is wrong that is no matter of how much.
    pub(super) is_trouble: bool,
}

/// Our own view of each node beside the cluster's, then whether the nodes agree on the whole.
pub(super) fn seen(snapshot: &Snapshot, shard: &Shard) -> SeenOf {
    let cluster = shard.subject.component_of();
    let is_clustered =
        snapshot.topologies.iter().any(|topology| topology.cluster == cluster && topology.clustered);
    let views = snapshot.views_of(&cluster);
    let mut texts: Vec<String> =
        shard.nodes.iter().filter_map(|node| troubled(snapshot, node, is_clustered, &views)).collect();
    let is_trouble = !texts.is_empty();
    let apart = disagreement(&views);
    if !is_trouble && !shard.nodes.is_empty() {
        let (answer, them) = match shard.nodes.len() {
            1 => ("its node answers us".to_owned(), "it"),
            2 => ("both nodes answer us".to_owned(), "them"),
            many => (format!("all {many} nodes answer us"), "them"),
        };
        // Where no node gives its view, the shape is what the one said that was asked for it.
        let theirs = match (is_clustered, views.as_slice()) {
            (false, _) => String::new(),
            (true, []) => {
                format!(", and the node that was asked for the cluster's shape calls {them} online")
            }
            (true, [view]) => {
                let node = view.node.address().unwrap_or_default();
                format!(", and the cluster calls {them} online by the view of {node}")
            }
            (true, _) => format!(", and the cluster calls {them} online"),
        };
        let agreed = match views.len() {
            0 | 1 => String::new(),
            many if apart.is_empty() => format!("; {many} nodes agree on who holds which slot"),
            _ => String::new(),
        };
        texts.push(format!("{answer}{theirs}{agreed}"));
    }
    texts.extend(apart);
    SeenOf { texts, is_trouble }
}

/// What is wrong with a node from here or by the cluster; `None` where both find it well.
fn troubled(snapshot: &Snapshot, node: &Node, is_clustered: bool, views: &[&ClusterView]) -> Option<String> {
    let source = source_of(snapshot, &node.subject);
    let data = DataState::of(source, snapshot);
    let address = node.subject.address().unwrap_or_default();
    let says = |who: fn(&ClusterView) -> &Vec<headwater_engine::RemoteText>| {
        views.iter().filter(|view| who(view).iter().any(|known| known.as_str() == address)).count()
    };
    let (failed, suspected) = (says(|view| &view.failed), says(|view| &view.suspected));
    let is_well = data.is_present() && !matches!(data, DataState::Late(_));
    if is_well && node.health == NodeHealth::Online && failed + suspected == 0 {
        return None;
    }
    let ours = match (
        source.and_then(|source| source.fault.as_ref()),
        source.and_then(|source| source.late_since),
    ) {
        (Some((since, fault)), _) => {
            format!("unreachable from here since {}: {}", since.clock(), fault.message)
        }
        (None, Some(since)) => format!("late from here: asked at {} and still waited for", since.clock()),
        (None, None) if is_well => "answers us".to_owned(),
        (None, None) => format!("{} from here", data.words()),
    };
    if !is_clustered {
        return Some(format!("{address}: {ours}"));
    }
    let mut theirs = format!("the cluster says {}", health_word(node.health));
    for (count, word) in [(failed, "failed"), (suspected, "suspected")] {
        if count > 0 {
            let call = counted_of(count as u64, views.len() as u64, "node", ("calls", "call"));
            theirs += &format!("; {call} it {word}");
        }
    }
    Some(format!("{address}: {ours}; {theirs}"))
}

/// In what the views of a cluster's nodes differ. While slots move or a replica takes over they do so for a moment:
/// when that is trouble, the rule says.
fn disagreement(views: &[&ClusterView]) -> Vec<String> {
    let mut texts = vec![];
    let mut owners: Vec<u64> = views.iter().map(|view| view.owners).collect();
    owners.sort_unstable();
    owners.dedup();
    if owners.len() > 1 {
        let count = |of: u64| views.iter().filter(|view| view.owners == of).count();
        let most = owners.iter().map(|of| count(*of)).max().unwrap_or(0);
        texts.push(format!(
            "{} slots to other owners than the rest",
            counted_of((views.len() - most) as u64, views.len() as u64, "node", ("gives", "give"))
        ));
    }
    let not_ok = views.iter().filter(|view| !view.says_ok).count();
    if not_ok > 0 {
        let call = counted_of(not_ok as u64, views.len() as u64, "node", ("calls", "call"));
        texts.push(format!("{call} the state of the cluster not ok"));
    }
    texts
}

/// The slots of a shard, and those of them that are on their way or that nobody answers for. To move slots is work and
/// no trouble; whether those that nobody answers for are, the rule says.
pub(super) fn slots(snapshot: &Snapshot, shard: &Shard) -> SeenOf {
    let count: u32 = shard.slots.iter().map(|(first, last)| u32::from(last.saturating_sub(*first)) + 1).sum();
    let mut texts = vec![];
    let range = |(first, last): &(u16, u16)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    if count > 0 {
        let ranges: Vec<String> = shard.slots.iter().map(range).collect();
        texts.push(format!("{count} of 16384: {}", ranges.join(", ")));
    }
    let views = snapshot.views_of(&shard.subject.component_of());
    for view in views.iter().filter(|view| shard.subject.contains(&view.node)) {
        let node = view.node.address().unwrap_or_default();
        texts.extend(moved(&view.migrating, |many, slots, other| {
            format!("{node} gives {many} away to {other}: {slots}")
        }));
        texts.extend(moved(&view.importing, |many, slots, other| {
            format!("{node} takes {many} from {other}: {slots}")
        }));
    }
    let mut uncovered: Vec<(u16, u16)> =
        views.iter().flat_map(|view| view.uncovered.iter().copied()).collect();
    uncovered.sort_unstable();
    uncovered.dedup();
    if !uncovered.is_empty() {
        let ranges: Vec<String> = uncovered.iter().take(MOST_RANGES).map(range).collect();
        texts.push(format!("no node of the cluster answers for {}", ranges.join(", ")));
    }
    SeenOf { texts, is_trouble: false }
}

/// Ranges and slots that are named.
const MOST_RANGES: usize = 6;

/// Slots on their way, by the other node.
fn moved(
    slots: &[(u16, headwater_engine::RemoteText)],
    words: impl Fn(String, String, &str) -> String,
) -> Vec<String> {
    let mut others: Vec<&str> = slots.iter().map(|(_, other)| other.as_str()).collect();
    others.sort_unstable();
    others.dedup();
    let of = |other: &str| {
        let all: Vec<String> = slots
            .iter()
            .filter(|(_, known)| known.as_str() == other)
            .map(|(slot, _)| slot.to_string())
            .collect();
        let more = if all.len() > MOST_RANGES { ", ..." } else { "" };
        let many = counted(all.len() as u64, "slot");
        words(
            many,
            format!("{}{more}", all.iter().take(MOST_RANGES).cloned().collect::<Vec<_>>().join(", ")),
            other,
        )
    };
    others.into_iter().map(of).collect()
}
