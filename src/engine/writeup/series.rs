//! The numbers that a report rests on, over time.

use serde::{Deserialize, Serialize};

use crate::metric::{MetricName, Unit};
use crate::snapshot::Snapshot;
use crate::store::Trace;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Points of one series in a write-up; of more, each so many are one.
const MOST_POINTS: usize = 600;

/// A number over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvidenceSeries {
    /// What it is about; absent for a signal, which is about all components of a kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The metric or the signal.
    pub metric: String,
    /// The part, when the metric has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RemoteText>,
    /// The unit of the values.
    pub unit: Unit,
    /// The points, oldest first; a gap is the absence of points.
    pub points: Vec<Point>,
}

/// A moment, in milliseconds since the Unix epoch, and the value then.
pub type Point = (Moment, f64);

/// The signals, then what the evidence of each suspect names, each once.
pub(super) fn of(snapshot: &Snapshot, from: Moment) -> Vec<EvidenceSeries> {
    let points = |trace: &Trace| points(trace, from, snapshot.at);
    let mut all: Vec<EvidenceSeries> = vec![];
    for signal in &snapshot.signals {
        all.push(EvidenceSeries {
            subject: None,
            metric: signal.row.name.to_owned(),
            part: None,
            unit: signal.row.unit,
            points: points(&signal.trace),
        });
    }
    for suspect in &snapshot.report.suspects {
        for evidence in &suspect.evidence {
            let (name, wanted) = parted(&evidence.metric);
            for subject in snapshot.history.parts(&suspect.subject) {
                let traces = snapshot.history.traces(subject);
                let named = traces.filter(|(metric, part, _)| {
                    metric.as_str() == name && part.map(RemoteText::as_str) == wanted
                });
                for (metric, part, trace) in named {
                    let is_known = all.iter().any(|known| {
                        known.subject.as_ref() == Some(subject)
                            && known.metric == metric.as_str()
                            && known.part.as_ref() == part
                    });
                    if !is_known {
                        all.push(EvidenceSeries {
                            subject: Some(subject.clone()),
                            metric: metric.as_str().to_owned(),
                            part: part.cloned(),
                            unit: unit(metric, evidence.unit),
                            points: points(trace),
                        });
                    }
                }
            }
        }
    }
    all.retain(|series| !series.points.is_empty());
    all
}

/// A free metric's unit is the one that the evidence gave it.
fn unit(metric: &MetricName, of_evidence: Unit) -> Unit {
    match metric {
        MetricName::Known(metric) => metric.row().unit,
        MetricName::Free(_) => of_evidence,
    }
}

/// The metric and the part of `metric[part]`.
fn parted(written: &str) -> (&str, Option<&str>) {
    let parted = written.strip_suffix(']').and_then(|rest| rest.split_once('['));
    parted.map_or((written, None), |(name, part)| (name, Some(part)))
}

/// The points within a span, thinned to what can be looked at: of each few the last.
fn points(trace: &Trace, from: Moment, to: Moment) -> Vec<Point> {
    let within: Vec<Point> =
        trace.since(from).take_while(|seen| seen.at <= to).map(|seen| (seen.at, seen.value)).collect();
    let each = within.len().div_ceil(MOST_POINTS).max(1);
    within.chunks(each).filter_map(|few| few.last().copied()).collect()
}
