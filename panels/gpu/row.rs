//! One GPU, or one that an instance tells of, in a row.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use headwater_engine::gpu_memory::{self, Course, FULL};
use headwater_engine::metric::{
    GPU_ALLOCATION_FAILURES, GPU_CLOCK, GPU_CLOCK_MAX, GPU_MEMORY, GPU_POWER, GPU_POWER_MAX, GPU_TEMPERATURE,
    GPU_THROTTLED, GPU_UTILIZATION, Metric, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::reading::FaultKind;
use headwater_engine::report::{SubjectVerdict, Verdict};
use headwater_engine::snapshot::SourceState;
use headwater_engine::store::Trace;
use headwater_engine::throttle;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Kind, RemoteText, Snapshot, Subject};

use super::errors::{self, Shown};
use super::reading::{self, Launched, Reading};
use crate::strip_bins::Bins;
use crate::table::Row;

/// Allocations that failed within this time tell that memory is asked for.
const LATELY: Duration = Duration::from_secs(60);

/// The cells of a strip, 0 to 1; a gap is a cell without a value.
type Strip = Vec<Option<f64>>;

/// What is said of each subject.
type Verdicts<'a> = BTreeMap<&'a Subject, &'a SubjectVerdict>;

/// What is known of GPUs beside their numbers.
struct Known<'a> {
    verdicts: Verdicts<'a>,
    lost: BTreeSet<&'a Subject>,
}

/// One row.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) gpu: Subject,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    /// Whether its driver says that it is lost.
    pub(super) is_lost: bool,
    pub(super) busy: Option<f64>,
    pub(super) used: Option<f64>,
    pub(super) max: Option<f64>,
    pub(super) course: Course,
    /// Whether what grows may be a server that loads.
    pub(super) may_load: bool,
    /// Whether requests for its memory failed lately.
    pub(super) fails: bool,
    pub(super) temperature: Option<f64>,
    pub(super) power: Option<f64>,
    pub(super) power_max: Option<f64>,
    pub(super) clock: Option<f64>,
    pub(super) clock_max: Option<f64>,
    /// The slowest launch beside its healthy value, whoever times it.
    pub(super) launch: Option<Launched>,
    /// Whether it waits for work.
    pub(super) is_waiting: bool,
    /// The last error that the driver logged.
    pub(super) xid: Option<Shown>,
    /// The reason for which it is held down most, with its share of the time.
    pub(super) held: Option<(String, f64)>,
    pub(super) busy_strip: Strip,
    pub(super) memory_strip: Strip,
    pub(super) held_strip: Strip,
}

impl Line {
    /// Its short name: `host-a:0`, or `ranker 10.0.0.5:8000` of one that an instance tells of.
    pub(super) fn name(&self) -> String {
        match self.gpu.address() {
            Some(address) => format!("{} {address}", self.gpu.name()),
            None => self.gpu.name().to_owned(),
        }
    }

    /// The share of its memory that is used.
    pub(super) fn share(&self) -> Option<f64> {
        Some(self.used? / self.max.filter(|max| *max > 0.0)?)
    }

    /// Whether its memory is as good as full.
    pub(super) fn is_full(&self) -> bool {
        self.share().is_some_and(|share| share >= FULL)
    }

    /// Whether its memory grows, and not as that of a server that loads.
    pub(super) fn leaks(&self) -> bool {
        matches!(self.course, Course::Grows(_)) && !self.may_load
    }

    /// Seconds until its memory is full, where it grows; a server that loads ends before.
    pub(super) fn full_in_s(&self) -> Option<f64> {
        match self.course {
            Course::Grows(growth) if !self.may_load => growth.full_in_s,
            _ => None,
        }
    }

    /// What its numbers say together.
    pub(super) fn reading(&self) -> Reading {
        Reading::of((self.busy, self.is_waiting), self.launch, (self.share(), self.leaks(), self.fails))
    }

    /// The row in words, for the clipboard.
    pub(super) fn words(&self) -> String {
        let numbers = [
            ("busy", self.busy, Unit::Ratio),
            ("memory", self.share(), Unit::Ratio),
            ("temperature", self.temperature, Unit::Celsius),
            ("clock", self.clock, Unit::Hertz),
            ("launch", self.launch.map(|launch| launch.now_s), Unit::Seconds),
        ];
        let told = numbers
            .into_iter()
            .filter_map(|(name, value, unit)| Some(format!("{name} {}", show(value?, unit))));
        let told: Vec<String> = told.collect();
        let told = match (self.is_lost, told.is_empty()) {
            (true, _) => "lost".to_owned(),
            (false, true) => "no number is fresh".to_owned(),
            (false, false) => told.join(", "),
        };
        format!(
            "{} {}: {}; {told}; {}",
            self.id,
            verdict_word(self.verdict),
            self.reason,
            self.reading().means()
        )
    }
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Every GPU that is known or declared, the worst first.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let told: Vec<&Subject> =
        snapshot.history.subjects().filter(|subject| subject.kind() == Kind::Gpu).collect();
    // A fleet has a thousand of them: what each is looked up in is put in order once.
    let bright: BTreeSet<Subject> = told.iter().map(|gpu| gpu.component_of()).collect();
    let is_dark = |component: &&Subject| component.kind() == Kind::Gpu && !bright.contains(component);
    let dark = snapshot.graph.components().filter(is_dark);
    let known = Known {
        verdicts: snapshot.report.verdicts.iter().map(|verdict| (&verdict.subject, verdict)).collect(),
        lost: snapshot.sources.iter().filter(|state| is_lost(state)).map(|state| &state.source).collect(),
    };
    let mut rows: Vec<Line> =
        told.iter().copied().chain(dark).map(|gpu| line(snapshot, &known, gpu)).collect();
    // Whoever is accused first, then the fullest: of a hundred that are alike the one that differs.
    rows.sort_by(|one, other| {
        let share = |line: &Line| Reverse((line.share().unwrap_or(0.0) * 1e6) as u64);
        (one.verdict, share(one), &one.id).cmp(&(other.verdict, share(other), &other.id))
    });
    rows
}

/// Whether the driver of a GPU says that it is lost.
fn is_lost(state: &SourceState) -> bool {
    let is_gone = state.fault.as_ref().is_some_and(|(_, fault)| fault.kind == FaultKind::Unreachable);
    is_gone && state.source.kind() == Kind::Gpu && state.asks_the_driver()
}

/// Whether a request for its memory failed within the last minute.
fn fails_lately(snapshot: &Snapshot, gpu: &Subject) -> bool {
    let failures = snapshot.history.trace(gpu, GPU_ALLOCATION_FAILURES, None);
    let lately = |trace: &Trace| {
        trace.since(snapshot.at - LATELY).any(|rate| rate.at <= snapshot.at && rate.value > 0.0)
    };
    failures.is_some_and(lately)
}

fn line(snapshot: &Snapshot, known: &Known<'_>, gpu: &Subject) -> Line {
    let of = |metric: Metric| snapshot.present(gpu, metric, None).map(|seen| seen.value);
    let memory = gpu_memory::of(&snapshot.history, gpu, snapshot.at, snapshot.fresh_from(gpu, GPU_MEMORY));
    let trace = snapshot.history.trace(gpu, GPU_MEMORY, None);
    let course = match (memory, trace) {
        (Some((_, max)), Some(trace)) => gpu_memory::course(trace, max, snapshot.at),
        _ => Course::TooShort,
    };
    let busy = of(GPU_UTILIZATION);
    let (launch, is_waiting) = reading::launch(snapshot, gpu, busy);
    let (verdict, reason) = verdict(&known.verdicts, gpu);
    Line {
        id: gpu.to_string(),
        verdict,
        reason,
        is_lost: known.lost.contains(gpu),
        busy,
        used: memory.map(|(used, _)| used.value).or_else(|| of(GPU_MEMORY)),
        max: memory.map(|(_, max)| max),
        course,
        fails: fails_lately(snapshot, gpu),
        may_load: matches!(course, Course::Grows(growth) if snapshot.may_load(gpu, &growth)),
        temperature: of(GPU_TEMPERATURE),
        power: of(GPU_POWER),
        power_max: of(GPU_POWER_MAX),
        clock: of(GPU_CLOCK),
        clock_max: of(GPU_CLOCK_MAX),
        launch,
        is_waiting,
        xid: errors::shown(snapshot, gpu),
        held: held(snapshot, gpu),
        busy_strip: vec![],
        memory_strip: vec![],
        held_strip: vec![],
        gpu: gpu.clone(),
    }
}

/// The names of the parts of a metric that a subject has.
pub(super) fn parts_of<'a>(
    snapshot: &'a Snapshot,
    subject: &Subject,
    metric: Metric,
) -> impl Iterator<Item = Option<&'a RemoteText>> + 'a {
    let wanted = metric.into();
    snapshot.history.traces(subject).filter(move |(name, ..)| **name == wanted).map(|(_, part, _)| part)
}

/// The reason for which a GPU is held down most, of those that cost it something.
fn held(snapshot: &Snapshot, gpu: &Subject) -> Option<(String, f64)> {
    let reasons = parts_of(snapshot, gpu, GPU_THROTTLED).flatten();
    let costs = |reason: &&RemoteText| throttle::by_name(reason.as_str()).is_none_or(|row| row.costs);
    let each = reasons.filter(costs).filter_map(|reason| {
        let share = snapshot.present(gpu, GPU_THROTTLED, Some(reason))?.value;
        Some((reason.to_string(), share))
    });
    each.max_by(|(_, one), (_, other)| one.total_cmp(other))
}

/// The verdict on a GPU: its own, else that of the component that it belongs to.
fn verdict(verdicts: &Verdicts<'_>, gpu: &Subject) -> (Verdict, String) {
    let row = verdicts.get(gpu).or_else(|| verdicts.get(&gpu.component_of()));
    row.map_or((Verdict::Unknown, "no rule looks at it yet".to_owned()), |row| {
        (row.verdict, row.reason.clone())
    })
}

/// Gives all rows strips of so many cells; returns what a cell is.
pub(super) fn give_strips(rows: &mut [Line], snapshot: &Snapshot, wide: u16, narrow: u16) -> String {
    let (bins, short) = (Bins::fitting(wide, snapshot), Bins::fitting(narrow, snapshot));
    for row in rows.iter_mut() {
        let cells = |metric, part: Option<&RemoteText>, bins: &Bins| {
            let trace = snapshot.history.trace(&row.gpu, metric, part);
            trace.map(|trace| bins.greatest(trace)).unwrap_or_default()
        };
        let max = row.max.unwrap_or(f64::INFINITY);
        let busy = cells(GPU_UTILIZATION, None, &bins);
        let memory = cells(GPU_MEMORY, None, &short);
        let held = row.held.as_ref().map(|(reason, _)| RemoteText::new(reason));
        let held = held.map(|reason| cells(GPU_THROTTLED, Some(&reason), &short)).unwrap_or_default();
        row.busy_strip = busy;
        row.memory_strip = memory.into_iter().map(|cell| cell.map(|used| used / max)).collect();
        row.held_strip = held;
    }
    bins.words()
}
