//! What is known of each shard and node at the moment that is shown.

use std::collections::HashMap;

use headwater_engine::metric::{
    Metric, MetricName, REDIS_ANSWER_TIME, REDIS_CLIENTS, REDIS_COMMANDS, REDIS_CPU, REDIS_EXEC, REDIS_KEYS,
    REDIS_MEMORY, REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT, REDIS_SLOW,
};
use headwater_engine::reading::{Node, NodeHealth, Shard};
use headwater_engine::report::{SubjectVerdict, Verdict};
use headwater_engine::store::Seen;
use headwater_engine::{Moment, Snapshot, Subject};

use super::lens::{Full, LENSES, Lens};
use super::shared_link::{share_link, shared_links};
use crate::data_state::{DataState, source_of};
use crate::strip_bins::{Bins, round_up};
use crate::table::Row;

/// The numbers that rows show, in the order of the METRICS table.
static WANTED: &[Metric] = &[
    REDIS_ANSWER_TIME,
    REDIS_CPU,
    REDIS_EXEC,
    REDIS_COMMANDS,
    REDIS_NET_IN,
    REDIS_NET_OUT,
    REDIS_NET_REPL_IN,
    REDIS_NET_REPL_OUT,
    REDIS_CLIENTS,
    REDIS_MEMORY,
    REDIS_KEYS,
    REDIS_SLOW,
];

/// One shard, or one node of it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The shard or the node.
    pub(super) subject: Subject,
    /// The node that its numbers are of: a shard's are its primary's. `None` when no primary is known.
    pub(super) node: Option<Subject>,
    /// `features#2`, or `primary` and `replica`.
    pub(super) name: String,
    /// How it was judged.
    pub(super) verdict: Verdict,
    /// Why, in one sentence.
    pub(super) reason: String,
    /// How its data stands.
    pub(super) data: DataState,
    /// What the cluster says of the node.
    pub(super) health: Option<NodeHealth>,
    /// Its nodes beside the primary.
    pub(super) replicas: usize,
    /// The link of its node, in bytes a second, where one is declared.
    pub(super) link: Option<f64>,
    /// The strip over time.
    pub(super) strip: Strip,
    /// The deployment's place.
    pub(super) group: usize,
    /// Whether it is marked to be compared.
    pub(super) is_marked: bool,
    /// The nodes whose bytes go over the same link, when there are others than its own.
    pub(super) on_its_link: Vec<Subject>,
    /// Their bytes together.
    pub(super) shared_load: Option<Seen>,
    numbers: [Option<Seen>; 12],
    present_from: Moment,
}

/// What strips show: one for all rows of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// Which number.
    pub(super) lens: &'static Lens,
    /// What a full cell means, in the lens' unit.
    pub(super) full: f64,
    /// Which cells.
    pub(super) bins: Bins,
}

impl Row for Line {
    fn id(&self) -> &str {
        self.subject.as_str()
    }

    fn group(&self) -> usize {
        self.group
    }
}

impl Line {
    /// The newest value of a metric, however old.
    pub(super) fn seen(&self, metric: Metric) -> Option<Seen> {
        let place = WANTED.binary_search(&metric).ok()?;
        self.numbers[place]
    }

    /// The value of a metric, unless it is stale.
    pub(super) fn value(&self, metric: Metric) -> Option<f64> {
        self.seen(metric).filter(|seen| seen.at >= self.present_from).map(|seen| seen.value)
    }

    /// The number of a lens, unless it is stale; a share of a link has its link counted in.
    pub(super) fn through(&self, lens: &Lens) -> Option<f64> {
        self.lensed(lens, |metric| self.value(metric))
    }

    /// The number of a lens as it was last seen.
    pub(super) fn last_through(&self, lens: &Lens) -> Option<f64> {
        self.lensed(lens, |metric| self.seen(metric).map(|seen| seen.value))
    }

    fn lensed(&self, lens: &Lens, value: impl Fn(Metric) -> Option<f64>) -> Option<f64> {
        match (lens.needs_link(), self.shared_load) {
            (false, _) => lens.of(value),
            (true, None) => Some(lens.of(value)? / self.link?),
            (true, Some(load)) => Some(load.value / self.link?),
        }
    }

    /// The node's address, empty when no primary is known.
    pub(super) fn address(&self) -> &str {
        self.node.as_ref().and_then(Subject::address).unwrap_or_default()
    }

    /// The lens over time, in its unit.
    pub(super) fn cells(&self, snapshot: &Snapshot) -> Vec<Option<f64>> {
        let Strip { lens, bins, .. } = self.strip;
        let Some(node) = &self.node else { return vec![] };
        let per_link = if lens.needs_link() { self.link } else { Some(1.0) };
        let Some(per_link) = per_link else { return vec![] };
        let nodes = if lens.needs_link() && !self.on_its_link.is_empty() {
            &self.on_its_link[..]
        } else {
            std::slice::from_ref(node)
        };
        let cells = lens.cells(|metric| {
            let mut sum: Vec<Option<f64>> = vec![];
            for node in nodes {
                let Some(trace) = snapshot.history.trace(node, metric, None) else { continue };
                let own = bins.greatest(trace);
                if sum.is_empty() {
                    sum = own;
                    continue;
                }
                for (sum, more) in sum.iter_mut().zip(own) {
                    *sum = match (*sum, more) {
                        (Some(sum), Some(more)) => Some(sum + more),
                        (sum, more) => sum.or(more),
                    };
                }
            }
            sum
        });
        cells.into_iter().map(|cell| cell.map(|value| value / per_link)).collect()
    }
}

/// Verdicts by subject.
pub(super) struct Verdicts<'a>(HashMap<&'a str, &'a SubjectVerdict>);

impl<'a> Verdicts<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self(snapshot.report.verdicts.iter().map(|row| (row.subject.as_str(), row)).collect())
    }

    /// The verdict on a subject and why; unknown when nobody judged it.
    pub(super) fn of(&self, subject: &Subject) -> (Verdict, String) {
        match self.0.get(subject.as_str()) {
            Some(row) => (row.verdict, row.reason.clone()),
            None => (Verdict::Unknown, "not judged yet".to_owned()),
        }
    }
}

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

/// The rows of all shards, deployment by deployment.
pub(super) fn shard_rows(snapshot: &Snapshot, lens: &'static Lens) -> Vec<Line> {
    let verdicts = Verdicts::new(snapshot);
    let mut lines = vec![];
    for (group, topology) in snapshot.topologies.iter().enumerate() {
        let hosts = shared_links(snapshot, topology);
        let link = link_of(snapshot, &topology.cluster);
        for shard in &topology.shards {
            let primary = shard.nodes.iter().find(|node| node.primary);
            let mut line = line(snapshot, &verdicts, &shard.subject, primary, lens);
            line.name = short_name(&shard.subject);
            line.replicas = shard.nodes.iter().filter(|node| !node.primary).count();
            line.group = group;
            line.link = link;
            share_link(&mut line, &hosts);
            lines.push(line);
        }
    }
    lines
}

/// The rows of one shard's nodes.
pub(super) fn node_rows(snapshot: &Snapshot, shard: &Shard, lens: &'static Lens) -> Vec<Line> {
    let verdicts = Verdicts::new(snapshot);
    let topology = snapshot.topologies.iter().find(|topology| topology.cluster.contains(&shard.subject));
    let hosts = topology.map(|topology| shared_links(snapshot, topology)).unwrap_or_default();
    shard
        .nodes
        .iter()
        .map(|node| {
            let mut line = line(snapshot, &verdicts, &node.subject, Some(node), lens);
            line.name = if node.primary { "primary" } else { "replica" }.to_owned();
            line.link = link_of(snapshot, &shard.subject);
            share_link(&mut line, &hosts);
            line
        })
        .collect()
}

fn line(
    snapshot: &Snapshot,
    verdicts: &Verdicts<'_>,
    subject: &Subject,
    node: Option<&Node>,
    lens: &'static Lens,
) -> Line {
    let (verdict, reason) = verdicts.of(subject);
    let mut numbers = [None; 12];
    if let Some(node) = node {
        for (name, part, trace) in snapshot.history.traces(&node.subject) {
            let (MetricName::Known(metric), None) = (name, part) else { continue };
            let Ok(place) = WANTED.binary_search(metric) else { continue };
            numbers[place] = trace.latest_at(snapshot.at);
        }
    }
    let source = node.and_then(|node| source_of(snapshot, &node.subject));
    Line {
        subject: subject.clone(),
        node: node.map(|node| node.subject.clone()),
        name: String::new(),
        verdict,
        reason,
        data: DataState::of(source, snapshot),
        health: node.map(|node| node.health),
        replicas: 0,
        link: None,
        strip: Strip { lens, full: 1.0, bins: Bins::fitting(0, snapshot) },
        group: 0,
        is_marked: false,
        on_its_link: vec![],
        shared_load: None,
        numbers,
        present_from: snapshot.at - snapshot.settings.stale_after(),
    }
}

/// Gives all rows strips of so many cells with one scale.
pub(super) fn give_strips(lines: &mut [Line], snapshot: &Snapshot, places: u16) {
    let Some(lens) = lines.first().map(|line| line.strip.lens) else { return };
    let bins = Bins::fitting(places, snapshot);
    let peak = |line: &Line| -> f64 {
        let Some(node) = &line.node else { return 0.0 };
        let traces = lens.sums.iter().copied().flatten();
        let traces = traces.filter_map(|metric| snapshot.history.trace(node, *metric, None));
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

/// `features#2`; of a long name the middle is left out, because its number tells shards apart.
fn short_name(shard: &Subject) -> String {
    const ROOM: usize = 12;
    let number = shard.shard_index().map(|index| format!("#{index}")).unwrap_or_default();
    let name = shard.name();
    let room = ROOM.saturating_sub(number.len());
    if name.chars().count() <= room {
        return format!("{name}{number}");
    }
    let start: String = name.chars().take(room.saturating_sub(1)).collect();
    format!("{start}~{number}")
}
