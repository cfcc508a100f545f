//! The rows of all shards, and of the nodes of one.

use std::cell::OnceCell;
use std::rc::Rc;

use headwater_engine::reading::{Node, Shard};
use headwater_engine::{Moment, Snapshot, Subject};

use super::known::Known;
use super::lens::{Full, LENSES, Lens};
use super::line::{Line, Strip};
use super::shared_link::{link_of_node, shared_links};
use crate::strip_bins::{Bins, round_up};

/// The lens in force: the chosen one, else the share of the link where one is declared and the time to answer where
/// none is.
pub(super) fn lens_of(chosen: Option<usize>, snapshot: &Snapshot) -> &'static Lens {
    let is_declared = has_link(snapshot);
    let usual = || LENSES.iter().find(|lens| lens.needs_link() == is_declared);
    let chosen = chosen.and_then(|place| LENSES.get(place)).filter(|lens| is_declared || !lens.needs_link());
    chosen.or_else(usual).unwrap_or(&LENSES[0])
}

/// Whether a link is declared for any deployment.
pub(super) fn has_link(snapshot: &Snapshot) -> bool {
    snapshot.topologies.iter().any(|topology| link_of(snapshot, &topology.cluster).is_some())
}

fn link_of(snapshot: &Snapshot, subject: &Subject) -> Option<f64> {
    snapshot.settings.component(subject)?.link.filter(|link| *link > 0.0)
}

/// The rows of all shards, deployment by deployment, with the numbers of a moment.
pub(super) fn shard_rows(snapshot: &Snapshot, lens: &'static Lens, shown_at: Moment) -> Vec<Line> {
    let blank = blank(snapshot, lens, shown_at);
    let mut lines = vec![];
    for (group, topology) in snapshot.topologies.iter().enumerate() {
        let hosts = shared_links(snapshot, topology, shown_at);
        let link = link_of(snapshot, &topology.cluster);
        for shard in &topology.shards {
            let primary = shard.nodes.iter().find(|node| node.primary);
            lines.push(Line {
                replicas: shard.nodes.len() - usize::from(primary.is_some()),
                group,
                link,
                shared_link: primary.and_then(|node| link_of_node(&node.subject, &hosts)),
                ..blank(&shard.subject, primary)
            });
        }
    }
    lines
}

/// The rows of one shard's nodes, with their newest numbers.
pub(super) fn node_rows(snapshot: &Snapshot, shard: &Shard, lens: &'static Lens) -> Vec<Line> {
    let blank = blank(snapshot, lens, snapshot.at);
    let topology = snapshot.topologies.iter().find(|topology| topology.cluster.contains(&shard.subject));
    let hosts = topology.map(|topology| shared_links(snapshot, topology, snapshot.at)).unwrap_or_default();
    let nodes = shard.nodes.iter().map(|node| Line {
        role: Some(if node.primary { "primary" } else { "replica" }),
        link: link_of(snapshot, &shard.subject),
        shared_link: link_of_node(&node.subject, &hosts),
        ..blank(&node.subject, Some(node))
    });
    nodes.collect()
}

/// A row of which nothing is said but where its numbers come from.
fn blank(
    snapshot: &Snapshot,
    lens: &'static Lens,
    shown_at: Moment,
) -> impl Fn(&Subject, Option<&Node>) -> Line {
    let known = Rc::new(Known::new(snapshot, shown_at));
    let strip = Strip { lens, full: 1.0, bins: Bins::fitting(0, snapshot) };
    move |subject, node| Line {
        known: Rc::clone(&known),
        subject: subject.clone(),
        node: node.map(|node| node.subject.clone()),
        role: None,
        health: node.map(|node| node.health),
        replicas: 0,
        link: None,
        strip,
        group: 0,
        is_marked: false,
        narrow: None,
        shared_link: None,
        numbers: OnceCell::new(),
    }
}

/// Gives all rows strips of so many cells with one scale.
pub(super) fn give_strips(lines: &mut [Line], snapshot: &Snapshot, places: u16) {
    let Some(lens) = lines.first().map(|line| line.strip.lens) else { return };
    let bins = Bins::fitting(places, snapshot);
    let peak = |line: &Line| -> f64 {
        let Some(node) = &line.node else { return 0.0 };
        let traces = snapshot.history.of(node);
        let metrics = lens.sums.iter().copied().flatten();
        let traces = metrics.filter_map(|metric| traces.trace(*metric, None));
        traces.filter_map(|trace| bins.peak(trace, snapshot.at)).fold(0.0, f64::max)
    };
    let full = match lens.full {
        Full::Link => 1.0,
        Full::Fixed(full) => full,
        Full::Greatest(least) => round_up(lines.iter().map(peak).fold(least, f64::max)),
    };
    for line in lines {
        line.strip = Strip { lens, full, bins };
    }
}
