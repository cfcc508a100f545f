//! One source in a row.

use headwater_engine::metric::{
    REDIS_ANSWER_TIME, REDIS_OUR_BYTES, REDIS_OUR_COMMANDS, SCRAPE_BYTES, SCRAPE_TIME,
};
use headwater_engine::snapshot::SourceState;
use headwater_engine::wording::{departures, lists};
use headwater_engine::{Kind, Snapshot};

use crate::lines;
use crate::overview::awaited;
use crate::palette::ColorRole;
use crate::table::Row;

/// How a source is, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// It cannot be read, and gives nothing.
    Fault,
    /// It gives numbers, and something of it cannot be read.
    Partial,
    /// An answer is overdue and waited for.
    Late,
    /// It gave numbers, and gives none any more, for no known reason.
    Silent,
    /// Nothing has come from it yet.
    Waiting,
    /// Its numbers are those of now.
    Fresh,
}

impl State {
    fn of(source: &SourceState, snapshot: &Snapshot) -> Self {
        // What was told stays true, however long ago.
        let stays = source.source.kind().only_tells();
        let stale_after = source.stale_after(&snapshot.settings);
        let is_fresh = source.last_data.is_some_and(|at| stays || at >= snapshot.at - stale_after);
        match (&source.fault, source.late_since, source.last_data) {
            // Who finds the nodes gives no numbers.
            (None, None, None) if nodes_found(source, snapshot).is_some() => Self::Fresh,
            // What came before the fault tells nothing of what still comes.
            (Some((since, _)), _, Some(last)) if is_fresh && last >= *since => Self::Partial,
            (Some(_), ..) => Self::Fault,
            (None, Some(_), _) => Self::Late,
            (None, None, None) => Self::Waiting,
            (None, None, Some(_)) if is_fresh => Self::Fresh,
            (None, None, Some(_)) => Self::Silent,
        }
    }

    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Partial => "partial",
            Self::Late => "late",
            Self::Silent => "silent",
            Self::Waiting => "waiting",
            Self::Fresh => "fresh",
        }
    }

    /// The glyph for it.
    pub(super) fn glyph(self) -> &'static str {
        match self {
            Self::Fault => "X",
            Self::Partial | Self::Late => "!",
            Self::Silent | Self::Waiting => "?",
            Self::Fresh => "o",
        }
    }

    /// The colour of it.
    pub(super) fn role(self) -> ColorRole {
        match self {
            Self::Fault => ColorRole::Guilty,
            Self::Partial | Self::Late => ColorRole::Suspect,
            Self::Silent | Self::Waiting => ColorRole::Unknown,
            Self::Fresh => ColorRole::Innocent,
        }
    }
}

/// One source.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) state: State,
    /// Seconds since its newest numbers.
    pub(super) age_s: Option<f64>,
    /// Seconds since an answer became overdue.
    pub(super) overdue_s: Option<f64>,
    /// What Headwater itself sends to it, per second.
    pub(super) commands: Option<f64>,
    pub(super) bytes: Option<f64>,
    /// Seconds to its last answer.
    pub(super) fetch_s: Option<f64>,
    pub(super) what: String,
}

impl Line {
    /// The colour of its age.
    pub(super) fn age_role(&self) -> ColorRole {
        if self.state == State::Fresh { ColorRole::Text } else { ColorRole::Stale }
    }
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Every source, the worst first, and what was declared and has given nothing yet.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let targets = snapshot.sources.iter().filter(|source| source.source.kind() != Kind::Observer);
    let mut rows: Vec<Line> = targets.map(|source| line(source, snapshot)).collect();
    for component in awaited(snapshot) {
        if !snapshot.sources.iter().any(|source| component.contains(&source.source)) {
            rows.push(Line {
                id: component.to_string(),
                state: State::Waiting,
                age_s: None,
                overdue_s: None,
                commands: None,
                bytes: None,
                fetch_s: None,
                what: "connecting: nothing has come yet".to_owned(),
            });
        }
    }
    rows.sort_by_key(|row| row.state);
    rows
}

fn line(source: &SourceState, snapshot: &Snapshot) -> Line {
    let present = |metric| snapshot.present(&source.source, metric, None).map(|seen| seen.value);
    let sum = [REDIS_OUR_BYTES, SCRAPE_BYTES].into_iter().filter_map(present);
    let state = State::of(source, snapshot);
    Line {
        id: source.source.to_string(),
        state,
        age_s: source.last_data.map(|at| snapshot.at.seconds_after(at)),
        overdue_s: source.late_since.map(|since| snapshot.at.seconds_after(since)),
        commands: present(REDIS_OUR_COMMANDS),
        bytes: sum.reduce(|sum, value| sum + value),
        fetch_s: present(SCRAPE_TIME).or_else(|| present(REDIS_ANSWER_TIME)),
        what: what(source, state, snapshot),
    }
}

/// How many shards and nodes were found, of a source that looks for them.
fn nodes_found(source: &SourceState, snapshot: &Snapshot) -> Option<(usize, usize)> {
    let topology = snapshot.topologies.iter().find(|topology| topology.cluster == source.source)?;
    Some((topology.shards.len(), topology.shards.iter().map(|shard| shard.nodes.len()).sum()))
}

/// What is said of a row in full, below the table.
pub(super) fn told(row: &Line) -> lines::Line {
    let mark = format!("{} {}", row.state.glyph(), row.state.word());
    let text = if row.what.is_empty() { row.id.clone() } else { format!("{}: {}", row.id, row.what) };
    lines::Line::new(lines::Weight::Core, &mark, text).colored(row.state.role())
}

/// What is to be said of it in one line.
fn what(source: &SourceState, state: State, snapshot: &Snapshot) -> String {
    if let Some((since, fault)) = &source.fault {
        return format!("since {}: {}", since.clock(), fault.message);
    }
    if let Some(since) = source.late_since {
        return format!("late since {}, still waiting", since.clock());
    }
    match (state, source.last_data) {
        (State::Silent, Some(last)) => format!("nothing since {}, and no reason is known", last.clock()),
        (State::Waiting, _) => "connecting: nothing has come yet".to_owned(),
        _ => {
            let lacks = source.unavailable.iter().map(|(what, why)| format!("without {what}: {why}"));
            let finds = nodes_found(source, snapshot)
                .map(|(shards, nodes)| format!("finds the nodes: {nodes} in {shards} shards"));
            let listed =
                source.listed.iter().flat_map(|listed| [lists(listed)].into_iter().chain(departures(listed)));
            let speaks: Vec<&str> = source.dialects.iter().map(|dialect| dialect.as_str()).collect();
            let speaks = (!speaks.is_empty()).then(|| format!("speaks {}", speaks.join(", ")));
            lacks.chain(finds).chain(listed).chain(speaks).collect::<Vec<_>>().join("; ")
        }
    }
}
