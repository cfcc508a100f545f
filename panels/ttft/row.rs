//! One instance, or all of a service together, in a row.

use std::cell::RefCell;

use headwater_engine::histogram::Percentile;
use headwater_engine::metric::{
    MODEL_DURATION, Metric, PROBE_TTFT, REQUEST_DURATION, REQUEST_MAX, REQUEST_MEAN, TTFT, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::report::Verdict;
use headwater_engine::spread::Spread;
use headwater_engine::store::Seen;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Kind, Snapshot, Subject};

use super::heat::Cells;
use crate::elsewhere::first_suspect;
use crate::table::Row;

/// What is shown of an instance: the first of these that it tells.
static MEASURES: &[Measure] = &[
    Measure { metric: TTFT, word: "TTFT", says: "time to the first token" },
    Measure { metric: MODEL_DURATION, word: "model", says: "end-to-end time of a model request" },
    Measure { metric: REQUEST_DURATION, word: "request", says: "time to answer a whole request" },
];

/// A time that a page tells.
#[derive(Debug)]
pub(super) struct Measure {
    pub(super) metric: Metric,
    /// Its name in a column.
    pub(super) word: &'static str,
    /// What it is.
    pub(super) says: &'static str,
}

impl Measure {
    /// The longest acceptable 99th percentile of whole requests of a component, in seconds, where one is declared; there is
    /// none of a first token.
    pub(super) fn objective(&self, subject: &Subject, snapshot: &Snapshot) -> Option<f64> {
        let declared = snapshot.settings.component(subject).filter(|_| self.metric != TTFT)?;
        Some(declared.objective_p99?.as_secs_f64())
    }
}

/// What a page keeps of the times that it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Buckets: percentiles and a heat map.
    Buckets,
    /// A count and a sum, or a mean of the server's own: nothing but a mean can be told.
    Mean,
    /// It once told and does not any more, or nothing was asked lately.
    Nothing,
    /// Nothing but what our own probe waited.
    Probe,
}

/// One row.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) id: String,
    pub(super) subject: Subject,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    /// Who is suspected first, where that is somebody else.
    pub(super) elsewhere: Option<String>,
    pub(super) measure: Option<&'static Measure>,
    pub(super) kept: Kept,
    pub(super) spread: Option<Spread>,
    pub(super) mean: Option<f64>,
    pub(super) max: Option<f64>,
    /// The 99th percentile of whole requests, where the row itself shows something else.
    pub(super) whole: Option<Percentile>,
    /// What our own probe of it last waited for its first token.
    pub(super) probed: Option<Seen>,
    /// The instances that are put together here; the subject itself for a single one.
    pub(super) of: Vec<Subject>,
    /// The time axes that were drawn of it, by what they are of and how many cells they have.
    pub(super) cells: RefCell<Vec<(Metric, usize, Cells)>>,
}

impl Line {
    /// Its short name: `all 5 of ranker`, or `ranker 10.0.0.5:8000` of an instance.
    pub(super) fn name(&self) -> String {
        match (self.subject.address(), self.of.len()) {
            (Some(address), _) => format!("{} {address}", self.subject.name()),
            (None, all) if all > 1 => format!("{}, all {all}", self.subject.name()),
            (None, _) => self.subject.name().to_owned(),
        }
    }

    /// `TTFT`, with `mean` where nothing else is kept of it.
    pub(super) fn word(&self) -> String {
        match (self.measure, self.kept) {
            (Some(measure), Kept::Mean) => format!("{} mean", measure.word),
            (Some(measure), _) => measure.word.to_owned(),
            (None, _) => "probe".to_owned(),
        }
    }

    /// The queue that its requests wait in first, where one is told of.
    pub(super) fn queue(&self, snapshot: &Snapshot) -> Option<Subject> {
        let all = Subject::component(Kind::Queue, self.subject.name());
        let own = self.subject.address().map(|address| all.instance(address));
        let told: Vec<&Subject> = snapshot.history.parts(&all).collect();
        own.filter(|own| told.contains(&own)).or_else(|| told.first().map(|first| (*first).clone()))
    }

    /// A percentile, where there are events enough for it.
    pub(super) fn percentile(&self, q: f64) -> Option<Percentile> {
        self.spread.as_ref()?.percentile(q)
    }

    /// Everything that its page measures, what it shows first.
    pub(super) fn measures(&self, snapshot: &Snapshot) -> impl Iterator<Item = &'static Measure> {
        let told = |measure: &&Measure| {
            self.measure.is_some_and(|own| own.metric == measure.metric)
                || self.of.iter().any(|of| snapshot.history.scrapes(of, measure.metric, None).is_some())
        };
        MEASURES.iter().filter(told)
    }

    /// How long something took lately at its instances together.
    pub(super) fn spread_of(&self, measure: &Measure, snapshot: &Snapshot) -> Option<Spread> {
        snapshot.spread_together(&self.of, measure.metric)
    }

    /// The number by which rows are put in order: the highest percentile that is known, else the mean.
    fn slowness(&self) -> f64 {
        let percentile = [0.99, 0.9, 0.5].into_iter().find_map(|q| self.percentile(q));
        let number = percentile.map(Percentile::number).or(self.mean);
        number.or(self.probed.map(|probed| probed.value)).unwrap_or(-1.0)
    }

    /// The row in words, for the clipboard.
    pub(super) fn words(&self) -> String {
        let percentiles = [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")].into_iter().filter_map(|(q, name)| {
            let value = self.percentile(q)?;
            Some(format!("{name} {}", shown(value)))
        });
        let others = [
            ("mean", self.mean),
            ("max", self.max),
            ("whole requests p99", self.whole.map(Percentile::number)),
            ("probed", self.probed.map(|seen| seen.value)),
        ];
        let others = others
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", show(value?, Unit::Seconds))));
        let told: Vec<String> = percentiles.chain(others).collect();
        let told = if told.is_empty() { "nothing fresh is told".to_owned() } else { told.join(", ") };
        let verdict = verdict_word(self.verdict);
        let elsewhere = self.elsewhere.as_ref().map_or_else(String::new, |whose| format!("; {whose}"));
        format!("{} {}: {}; {verdict}: {}{elsewhere}", self.name(), self.word(), told, self.reason)
    }

    /// The 99th percentiles of whole requests and of first tokens, where the first is below the second.
    pub(super) fn whole_below_ttft(&self) -> Option<(Percentile, Percentile)> {
        let is_ttft = self.measure.is_some_and(|measure| measure.metric == TTFT);
        let (whole, ttft) = self.whole.zip(self.percentile(0.99)).filter(|_| is_ttft)?;
        (whole.number() < ttft.number()).then_some((whole, ttft))
    }
}

/// The id of the row that tells of a subject: of a queue that of the service whose it is.
pub(super) fn id_of(subject: &Subject) -> String {
    let service = match subject.kind() {
        Kind::Queue | Kind::Gpu => Subject::component(Kind::Service, subject.name()),
        _ => return subject.to_string(),
    };
    subject.address().map_or(service.clone(), |address| service.instance(address)).to_string()
}

/// A percentile with the sign of what is known of it.
pub(super) fn shown(value: Percentile) -> String {
    format!("{}{}", value.sign(), show(value.number(), Unit::Seconds))
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Every instance that tells how long something takes, and before those of one service all of them together; the
/// slowest service and instance first.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let kinds = [Kind::Service, Kind::Gateway];
    let told = snapshot.history.subjects().filter(|subject| kinds.contains(&subject.kind()));
    let mut services: Vec<(Subject, Vec<Line>)> = vec![];
    for line in told.filter_map(|subject| line(snapshot, subject)) {
        let service = line.subject.component_of();
        match services.last_mut().filter(|(known, _)| *known == service) {
            Some((_, lines)) => lines.push(line),
            None => services.push((service, vec![line])),
        }
    }
    for (service, lines) in &mut services {
        // A probe of the whole service stands beside its instances.
        if lines.len() > 1 {
            lines.retain(|line| line.kept != Kept::Probe || line.subject != *service);
        }
        lines.sort_by(|one, other| other.slowness().total_cmp(&one.slowness()));
        if let Some(all) = together(snapshot, service, lines) {
            lines.insert(0, all);
        }
    }
    let slowest = |lines: &[Line]| lines.iter().map(Line::slowness).fold(-1.0, f64::max);
    services.sort_by(|(_, one), (_, other)| slowest(other).total_cmp(&slowest(one)));
    services.into_iter().flat_map(|(_, lines)| lines).collect()
}

fn line(snapshot: &Snapshot, subject: &Subject) -> Option<Line> {
    let of = |metric| snapshot.present(subject, metric, None);
    let measure = MEASURES.iter().find(|measure| {
        let own = || snapshot.history.trace(subject, REQUEST_MEAN, None).is_some();
        snapshot.history.scrapes(subject, measure.metric, None).is_some()
            || (measure.metric == REQUEST_DURATION && own())
    });
    let probed = of(PROBE_TTFT).or_else(|| snapshot.present(&subject.component_of(), PROBE_TTFT, None));
    if measure.is_none() && of(PROBE_TTFT).is_none() {
        return None;
    }
    let spread = measure.and_then(|measure| snapshot.spread(subject, measure.metric, None));
    let whole = snapshot.spread(subject, REQUEST_DURATION, None);
    let is_request = measure.is_some_and(|measure| measure.metric == REQUEST_DURATION);
    let own = |metric| of(metric).filter(|_| is_request).map(|seen| seen.value);
    let mean = spread.as_ref().and_then(|spread| spread.gained.mean()).or_else(|| own(REQUEST_MEAN));
    let kept = match (&spread, mean) {
        _ if measure.is_none() => Kept::Probe,
        (Some(spread), _) if spread.has_buckets() => Kept::Buckets,
        (_, Some(_)) => Kept::Mean,
        _ => Kept::Nothing,
    };
    let (verdict, reason) = verdict(snapshot, subject);
    Some(Line {
        id: subject.to_string(),
        verdict,
        reason,
        elsewhere: first_suspect(snapshot, subject),
        measure,
        kept,
        spread,
        mean,
        max: own(REQUEST_MAX),
        whole: whole.filter(|_| !is_request).and_then(|whole| whole.percentile(0.99)),
        probed,
        of: vec![subject.clone()],
        cells: RefCell::default(),
        subject: subject.clone(),
    })
}

/// All instances of a service in one row; `None` where there are not two that tell the same.
fn together(snapshot: &Snapshot, service: &Subject, lines: &[Line]) -> Option<Line> {
    let measure = lines.first()?.measure?;
    let same = |line: &&Line| {
        line.kept == Kept::Buckets && line.measure.is_some_and(|own| own.metric == measure.metric)
    };
    let of: Vec<&Line> = lines.iter().filter(same).collect();
    if of.len() < 2 || lines.iter().any(|line| line.subject == *service) {
        return None;
    }
    let of: Vec<Subject> = of.into_iter().map(|line| line.subject.clone()).collect();
    let spread = snapshot.spread_together(&of, measure.metric)?;
    let has_whole = measure.metric != REQUEST_DURATION;
    let whole = if has_whole { snapshot.spread_together(&of, REQUEST_DURATION) } else { None };
    let (verdict, reason) = verdict(snapshot, service);
    Some(Line {
        id: service.to_string(),
        verdict,
        reason,
        elsewhere: first_suspect(snapshot, service),
        measure: Some(measure),
        kept: Kept::Buckets,
        mean: spread.gained.mean(),
        spread: Some(spread),
        max: None,
        whole: whole.and_then(|whole| whole.percentile(0.99)),
        probed: snapshot.present(service, PROBE_TTFT, None),
        of,
        cells: RefCell::default(),
        subject: service.clone(),
    })
}

/// The verdict on an instance: its own, else that of its service.
fn verdict(snapshot: &Snapshot, subject: &Subject) -> (Verdict, String) {
    let of = |subject: &Subject| snapshot.report.verdicts.iter().find(|row| row.subject == *subject);
    let row = of(subject).or_else(|| of(&subject.component_of()));
    row.map_or((Verdict::Unknown, "no rule looks at it yet".to_owned()), |row| {
        (row.verdict, row.reason.clone())
    })
}
