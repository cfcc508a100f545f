//! What we see of a shard's nodes beside what the cluster says of them, and what each node says of the whole.

use headwater_engine::reading::{ClusterView, Node, NodeHealth, Shard};
use headwater_engine::{Snapshot, Subject};

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

/// What nodes of a deployment say of the whole.
fn views<'a>(snapshot: &'a Snapshot, cluster: &Subject) -> Vec<&'a ClusterView> {
    snapshot.views.iter().map(|(_, view)| view).filter(|view| cluster.contains(&view.node)).collect()
}

/// What is seen of the nodes of a shard, and whether it is trouble.
pub(super) struct SeenOf {
    /// The sentences.
    pub(super) texts: Vec<String>,
    /// Whether something is not as it should be.
    pub(super) is_trouble: bool,
}

/// Our own view of each node beside the cluster's, then whether the nodes agree on the whole.
pub(super) fn seen(snapshot: &Snapshot, shard: &Shard) -> SeenOf {
    let cluster = shard.subject.component_of();
    let views = views(snapshot, &cluster);
    let mut texts: Vec<String> =
        shard.nodes.iter().filter_map(|node| troubled(snapshot, node, &views)).collect();
    texts.extend(disagreement(&views));
    let is_trouble = !texts.is_empty();
    if !is_trouble && !shard.nodes.is_empty() {
        let nodes = match shard.nodes.len() {
            1 => "its node answers us, and the cluster calls it online".to_owned(),
            many => format!("all {many} nodes answer us, and the cluster calls them online"),
        };
        let agreed = match views.len() {
            0 | 1 => String::new(),
            many => format!("; {many} nodes agree on who holds which slot"),
        };
        texts.push(format!("{nodes}{agreed}"));
    }
    SeenOf { texts, is_trouble }
}

/// What is wrong with a node from here or by the cluster; `None` where both find it well.
fn troubled(snapshot: &Snapshot, node: &Node, views: &[&ClusterView]) -> Option<String> {
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
    let mut theirs = format!("the cluster says {}", health_word(node.health));
    for (count, word) in [(failed, "failed"), (suspected, "suspected")] {
        if count > 0 {
            theirs += &format!("; {count} of {} nodes call it {word}", views.len());
        }
    }
    Some(format!("{address}: {ours}; {theirs}"))
}

/// In what the nodes of a cluster differ.
fn disagreement(views: &[&ClusterView]) -> Vec<String> {
    let mut texts = vec![];
    let mut owners: Vec<u64> = views.iter().map(|view| view.owners).collect();
    owners.sort_unstable();
    owners.dedup();
    if owners.len() > 1 {
        let count = |of: u64| views.iter().filter(|view| view.owners == of).count();
        let most = owners.iter().map(|of| count(*of)).max().unwrap_or(0);
        texts.push(format!(
            "{} of {} nodes give slots to other owners than the rest",
            views.len() - most,
            views.len()
        ));
    }
    let not_ok = views.iter().filter(|view| !view.says_ok).count();
    if not_ok > 0 {
        texts.push(format!("{not_ok} of {} nodes call the state of the cluster not ok", views.len()));
    }
    texts
}

/// The slots of a shard, and those of them that are on their way or that nobody answers for.
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
    let own = texts.len();
    let views = views(snapshot, &shard.subject.component_of());
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
    SeenOf { is_trouble: texts.len() > own, texts }
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
        let many = if all.len() == 1 { "1 slot".to_owned() } else { format!("{} slots", all.len()) };
        words(
            many,
            format!("{}{more}", all.iter().take(MOST_RANGES).cloned().collect::<Vec<_>>().join(", ")),
            other,
        )
    };
    others.into_iter().map(of).collect()
}
