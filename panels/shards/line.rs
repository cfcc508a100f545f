//! One row: a shard or a node, with what is known of it at the moment that is shown.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

use headwater_engine::metric::{
    Metric, REDIS_ANSWER_TIME, REDIS_CLIENTS, REDIS_COMMANDS, REDIS_CPU, REDIS_EXEC, REDIS_KEYS,
    REDIS_MEMORY, REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT, REDIS_SLOW,
};
use headwater_engine::reading::NodeHealth;
use headwater_engine::report::Verdict;
use headwater_engine::store::Seen;
use headwater_engine::{Snapshot, Subject};

use super::known::Known;
use super::lens::Lens;
use super::shared_link::SharedLink;
use crate::data_state::DataState;
use crate::shard_name::{short_name, whole_name};
use crate::strip_bins::Bins;
use crate::table::Row;

/// How many numbers rows show.
pub(super) const NUMBERS: usize = 12;

/// The numbers that rows show, in the order of the METRICS table.
static WANTED: [Metric; NUMBERS] = [
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

/// The cells of a shard's name in tables.
pub(super) const NAME_ROOM: usize = 12;

/// One shard, or one node of it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// What it is read from.
    pub(super) known: Rc<Known>,
    /// The shard or the node.
    pub(super) subject: Subject,
    /// The node that its numbers are of: a shard's are its primary's. `None` when no primary is known.
    pub(super) node: Option<Subject>,
    /// What a node is called: `primary` or `replica`; `None` for a shard, which is called by its number.
    pub(super) role: Option<&'static str>,
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
    /// Where there is no room for a column of verdicts: the cells of the name with the sign of its verdict.
    pub(super) narrow: Option<usize>,
    /// The nodes whose bytes go over the same link, when there are others than its own.
    pub(super) shared_link: Option<Rc<SharedLink>>,
    /// All numbers, once the row is in sight.
    pub(super) numbers: OnceCell<Box<[Option<Seen>; NUMBERS]>>,
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

    fn look_up(&self) {
        self.numbers.get_or_init(|| {
            let seen = self.seen();
            let mut numbers = Box::new([None; NUMBERS]);
            for (number, metric) in numbers.iter_mut().zip(WANTED) {
                *number = seen(metric);
            }
            numbers
        });
    }
}

impl Line {
    /// The newest values of metrics, however old.
    pub(super) fn seen(&self) -> impl Fn(Metric) -> Option<Seen> {
        let numbers = self.numbers.get();
        let node = self.node.as_ref().filter(|_| numbers.is_none());
        let traces = node.map(|node| self.known.history.of(node));
        move |metric| {
            let place = WANTED.binary_search(&metric).ok()?;
            match numbers {
                Some(numbers) => numbers[place],
                None => traces?.trace_near(metric, &self.known.places[place])?.latest_at(self.known.shown_at),
            }
        }
    }

    /// The values of metrics that are not stale.
    pub(super) fn present(&self) -> impl Fn(Metric) -> Option<f64> {
        let (seen, from) =
            (self.seen(), self.known.present_from(self.node.as_ref().unwrap_or(&self.subject)));
        move |metric| seen(metric).filter(|seen| seen.at >= from).map(|seen| seen.value)
    }

    /// The number of a lens, unless it is stale; a share of a link has its link counted in.
    pub(super) fn through(&self, lens: &Lens) -> Option<f64> {
        self.lensed(lens, |line| lens.of(line.present()))
    }

    /// The number of a lens as it was last seen.
    pub(super) fn last_through(&self, lens: &Lens) -> Option<f64> {
        self.lensed(lens, |line| {
            let seen = line.seen();
            lens.of(|metric| seen(metric).map(|seen| seen.value))
        })
    }

    fn lensed(&self, lens: &Lens, own: impl Fn(&Self) -> Option<f64>) -> Option<f64> {
        if !lens.needs_link() {
            return own(self);
        }
        let load = match self.shared_link.as_ref().and_then(|shared| shared.load) {
            Some(load) => load.value,
            None => own(self)?,
        };
        // Bursts within a sample can be more than a link carries; nobody believes a link that is fuller than full.
        Some((load / self.link?).min(1.0))
    }

    /// `features#2`, or `primary` and `replica`.
    pub(super) fn name(&self) -> Cow<'static, str> {
        self.role.map_or_else(|| whole_name(&self.subject).into(), Cow::Borrowed)
    }

    /// The name in so many cells, with `*` before that of a shard which is marked: the mark is seen without colour too.
    pub(super) fn shown_name(&self, room: usize) -> Cow<'static, str> {
        match (self.role, self.is_marked) {
            (Some(role), _) => role.into(),
            (None, true) => format!("*{}", short_name(&self.subject, room.saturating_sub(1))).into(),
            (None, false) => short_name(&self.subject, room).into(),
        }
    }

    /// How it was judged.
    pub(super) fn verdict(&self) -> Verdict {
        self.known.verdict(&self.subject).map_or(Verdict::Unknown, |row| row.verdict)
    }

    /// Why, in one sentence.
    pub(super) fn reason(&self) -> &str {
        self.known.verdict(&self.subject).map_or("not judged yet", |row| &row.reason)
    }

    /// How its data stands.
    pub(super) fn data(&self) -> DataState {
        self.node.as_ref().map_or(DataState::Never, |node| self.known.data(node))
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
        let nodes = match &self.shared_link {
            Some(shared) if lens.needs_link() => &shared.nodes[..],
            _ => std::slice::from_ref(node),
        };
        let traces: Vec<_> = nodes.iter().map(|node| snapshot.history.of(node)).collect();
        let cells = lens.cells(|metric| {
            let mut sum: Vec<Option<f64>> = vec![];
            for trace in traces.iter().filter_map(|traces| traces.trace(metric, None)) {
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
