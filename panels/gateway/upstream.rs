//! One upstream of a gateway in a row.

use headwater_engine::metric::{
    Bad, Metric, UPSTREAM_ACTIVE, UPSTREAM_EJECTED, UPSTREAM_ERRORS, UPSTREAM_HEALTHY, UPSTREAM_MEAN,
    UPSTREAM_MEMBERS, UPSTREAM_PENDING, UPSTREAM_READY, UPSTREAM_REQUESTS, UPSTREAM_RETRIES,
    UPSTREAM_TIMEOUT, Unit,
};
use headwater_engine::quantity::{share, show};
use headwater_engine::{RemoteText, Snapshot, Subject};

use crate::elsewhere::first_suspect;
use crate::palette::ColorRole;
use crate::strip_bins::Bins;
use crate::table::Row;

/// Metrics that tell of an upstream.
const OF_UPSTREAMS: &[Metric] = &[
    UPSTREAM_REQUESTS,
    UPSTREAM_ERRORS,
    UPSTREAM_MEAN,
    UPSTREAM_EJECTED,
    UPSTREAM_HEALTHY,
    UPSTREAM_READY,
    UPSTREAM_ACTIVE,
];

/// From this share on errors are trouble.
pub(super) const MANY_ERRORS: f64 = 0.05;

/// How an upstream is, from the worst to the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// It gets no requests, or not all of it does.
    Out,
    /// Its readiness check fails.
    Unready,
    /// Many attempts fail.
    Failing,
    /// Nothing fresh is told of it.
    Unknown,
    /// It gets requests and answers them.
    Well,
}

impl State {
    /// The word for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Unready => "unready",
            Self::Failing => "failing",
            Self::Unknown => "unseen",
            Self::Well => "well",
        }
    }

    /// The sign for it: none of those that stand for a verdict, as who is taken out by a gateway may suffer from another.
    pub(super) fn glyph(self) -> &'static str {
        match self {
            Self::Out => "-",
            Self::Unready => "~",
            Self::Failing => "*",
            Self::Unknown => "?",
            Self::Well => "+",
        }
    }

    /// The colour of it.
    pub(super) fn role(self) -> ColorRole {
        match self {
            Self::Out | Self::Unready | Self::Failing => ColorRole::Suspect,
            Self::Unknown => ColorRole::Unknown,
            Self::Well => ColorRole::Text,
        }
    }
}

/// One upstream as one gateway, or one instance of it, sees it.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: String,
    /// What tells it.
    pub(super) gateway: Subject,
    pub(super) part: Option<RemoteText>,
    pub(super) name: String,
    pub(super) requests: Option<f64>,
    pub(super) errors: Option<f64>,
    pub(super) mean: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) retries: Option<f64>,
    pub(super) active: Option<f64>,
    pub(super) pending: Option<f64>,
    pub(super) out: Option<f64>,
    pub(super) ready: Option<f64>,
    pub(super) timeout: Option<f64>,
    /// Who is suspected first, where that is somebody else.
    pub(super) elsewhere: Option<String>,
    /// How many are out over time, as a share of the most.
    pub(super) strip: Vec<Option<f64>>,
}

/// A number of an upstream in words.
pub(super) struct Number {
    /// Its name, at most nine letters.
    pub(super) name: &'static str,
    unit: Unit,
    /// What it is.
    pub(super) help: &'static str,
    of: fn(&Line) -> Option<f64>,
}

impl Number {
    /// The value as text; `None` where nothing fresh is told.
    pub(super) fn show(&self, line: &Line) -> Option<String> {
        (self.of)(line).map(|value| show(value, self.unit))
    }
}

const fn told(name: &'static str, unit: Unit, help: &'static str, of: fn(&Line) -> Option<f64>) -> Number {
    Number { name, unit, help, of }
}

const TIMEOUT: &str = "timeout";

/// Every number of an upstream, the most telling first.
pub(super) static NUMBERS: &[Number] = &[
    told("attempts", Unit::PerSecond, "sent to it", |line| line.requests),
    told("errors", Unit::Ratio, "of them failed, time-outs included", Line::error_ratio),
    told("p99", Unit::Seconds, "its slowest hundredth of the last minute, by buckets", |line| line.p99),
    told("mean", Unit::Seconds, "mean time of an attempt, which hides the slow ones", |line| line.mean),
    told("retries", Unit::PerSecond, "that repeat a failed attempt", |line| line.retries),
    told("active", Unit::Count, "attempts under way", |line| line.active),
    told("pending", Unit::Count, "requests that wait for a connection to it", |line| line.pending),
    told("out", Unit::Count, "members that are taken out", |line| line.out),
    told(
        "ready",
        Unit::Ratio,
        "whether its last readiness check went well; of several members the share",
        |line| line.ready,
    ),
    told(TIMEOUT, Unit::Seconds, "how long the gateway waits for it, declared or told", |line| line.timeout),
];

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Line {
    /// The share of attempts that fail.
    pub(super) fn error_ratio(&self) -> Option<f64> {
        share(self.errors?, self.requests?)
    }

    /// How it is.
    pub(super) fn state(&self) -> State {
        // How long a gateway would wait says nothing of who it waits for.
        let is_told = NUMBERS.iter().any(|number| number.name != TIMEOUT && (number.of)(self).is_some());
        match self {
            _ if !is_told => State::Unknown,
            _ if self.out.is_some_and(|out| out > 0.0) => State::Out,
            _ if self.ready.is_some_and(|ready| ready < 0.5) => State::Unready,
            _ if self.error_ratio().is_some_and(|errors| errors >= MANY_ERRORS) => State::Failing,
            _ => State::Well,
        }
    }

    /// Why it is so, in one sentence.
    pub(super) fn why(&self) -> String {
        match self.state() {
            State::Out => format!("{:.0} taken out of rotation", self.out.unwrap_or(0.0)),
            State::Unready => match self.ready {
                // An upstream of several members is told of by the share of them that is ready.
                Some(share) if share > 0.0 => {
                    format!("{} of its members pass their readiness check", show(share, Unit::Ratio))
                }
                _ => "its readiness check fails".to_owned(),
            },
            State::Failing => {
                format!("{} of the attempts fail", show(self.error_ratio().unwrap_or(0.0), Unit::Ratio))
            }
            State::Unknown => "nothing fresh is told of it".to_owned(),
            State::Well => "it gets requests and answers them".to_owned(),
        }
    }

    /// Whether it is of this gateway, or is this instance of a service.
    pub(super) fn is_about(&self, subject: &Subject) -> bool {
        let is_it =
            |part: &RemoteText| Some(part.as_str()) == subject.address() || part.as_str() == subject.name();
        subject.contains(&self.gateway) || self.part.as_ref().is_some_and(is_it)
    }

    /// The present value of a metric of it.
    pub(super) fn present(&self, snapshot: &Snapshot, metric: Metric) -> Option<f64> {
        snapshot.present(&self.gateway, metric, self.part.as_ref()).map(|seen| seen.value)
    }
}

/// Every upstream of every gateway, the worst first.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let mut known: Vec<(Subject, Option<RemoteText>)> = vec![];
    for by in snapshot.history.subjects() {
        for (metric, part, _) in snapshot.history.traces(by) {
            if OF_UPSTREAMS.iter().any(|of| *metric == (*of).into()) {
                known.push((by.clone(), part.cloned()));
            }
        }
    }
    known.sort();
    known.dedup();
    let mut rows: Vec<Line> = known.into_iter().map(|(by, part)| line(snapshot, by, part)).collect();
    rows.sort_by_key(Line::state);
    rows
}

fn line(snapshot: &Snapshot, gateway: Subject, part: Option<RemoteText>) -> Line {
    let now = |metric| snapshot.present(&gateway, metric, part.as_ref()).map(|seen| seen.value);
    let rate = |metric| snapshot.present_mean(&gateway, metric, part.as_ref()).map(|seen| seen.value);
    let time = snapshot.upstream_times.iter().find(|time| time.gateway == gateway && time.upstream == part);
    let name = part.as_ref().map_or_else(|| gateway.name().to_owned(), |part| part.as_str().to_owned());
    let members = now(UPSTREAM_MEMBERS).zip(now(UPSTREAM_HEALTHY));
    let mut line = Line {
        id: format!("{gateway} {name}"),
        name,
        elsewhere: None,
        requests: rate(UPSTREAM_REQUESTS),
        errors: rate(UPSTREAM_ERRORS),
        mean: time.and_then(|time| time.mean).or_else(|| now(UPSTREAM_MEAN)),
        p99: time.and_then(|time| time.p99).map(|p99| p99.number()),
        retries: rate(UPSTREAM_RETRIES),
        active: now(UPSTREAM_ACTIVE),
        pending: now(UPSTREAM_PENDING),
        out: now(UPSTREAM_EJECTED).or_else(|| members.map(|(all, well)| (all - well).max(0.0))),
        ready: now(UPSTREAM_READY),
        timeout: snapshot
            .settings
            .component(&gateway.component_of())
            .and_then(|declared| Some(declared.timeout?.as_secs_f64()))
            .or_else(|| now(UPSTREAM_TIMEOUT)),
        strip: vec![],
        gateway,
        part,
    };
    let first = snapshot.report.suspects.first();
    if !first.is_some_and(|first| line.is_about(&first.subject)) {
        line.elsewhere = first_suspect(snapshot, &line.gateway);
    }
    line
}

/// Gives all rows strips of so many cells: how many were out, or unready, over time; returns what a cell is.
pub(super) fn give_strips(rows: &mut [Line], snapshot: &Snapshot, places: u16) -> String {
    let bins = Bins::fitting(places, snapshot);
    for row in rows.iter_mut() {
        let trace = |metric| snapshot.history.trace(&row.gateway, metric, row.part.as_ref());
        let (trace, bad) = match (trace(UPSTREAM_EJECTED), trace(UPSTREAM_READY)) {
            (Some(out), _) => (Some(out), Bad::High),
            (None, ready) => (ready, Bad::Low),
        };
        let values = trace.map(|trace| bins.greatest(trace)).unwrap_or_default();
        let most = values.iter().flatten().copied().fold(1.0, f64::max);
        let share = |value: f64| if bad == Bad::Low { 1.0 - value.clamp(0.0, 1.0) } else { value / most };
        row.strip = values.into_iter().map(|value| value.map(share)).collect();
    }
    bins.words()
}
