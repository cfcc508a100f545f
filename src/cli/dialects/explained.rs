//! What is made of one metrics page, in words and as JSON.

use headwater_engine::RemoteText;
use headwater_engine::metric::{MetricName, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{Sample, Value};
use serde_json::json;

use crate::cli::output::layout;
use crate::sources::metrics::dialect::Dialects;
use crate::sources::metrics::exposition::Exposition;
use crate::sources::metrics::mapping::{Mapping, explain};

/// The ids of the dialects that a page speaks.
fn spoken<'d>(dialects: &'d Dialects, mapping: &Mapping) -> Vec<&'d str> {
    mapping.spoken.iter().map(|place| dialects.list[*place].id.as_str()).collect()
}

/// Something of a page that became nothing.
struct Dropped {
    line: u32,
    family: Option<RemoteText>,
    samples: usize,
    why: String,
}

/// What was dropped, in the order of the page: lines that cannot be read, and families that nothing was made of.
fn dropped(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> Vec<Dropped> {
    let lost = page.problems.first.iter().filter(|problem| problem.is_lost);
    let mut dropped: Vec<_> = lost
        .map(|problem| Dropped {
            line: problem.line,
            family: None,
            samples: 1,
            why: format!("the line cannot be read: {}", problem.reason),
        })
        .collect();
    let explanations = explain(dialects, page, mapping);
    for ((fates, samples), explanation) in mapping.fates.iter().zip(page.by_family()).zip(explanations) {
        let Some(first) = samples.first().filter(|_| !fates.iter().any(|fate| fate.is_used())) else {
            continue;
        };
        dropped.push(Dropped {
            line: page.samples[*first as usize].line,
            family: Some(explanation.family),
            samples: samples.len(),
            why: explanation.fates.join("; "),
        });
    }
    dropped.sort_by_key(|dropped| dropped.line);
    dropped
}

/// A value as it is so far: a total instead of its rate, and of a histogram the mean of all its events.
fn so_far(sample: &Sample) -> (Option<f64>, Unit) {
    let unit = sample.metric.unit();
    match &sample.value {
        Value::Gauge(value) => (Some(*value), unit),
        Value::Counter(value) => {
            let total = match unit {
                Unit::BytesPerSecond => Unit::Bytes,
                // Seconds of work a second are a share.
                Unit::Ratio => Unit::Seconds,
                _ => Unit::Count,
            };
            (Some(*value), total)
        }
        Value::Histogram(histogram) => (histogram.mean(), unit),
    }
}

pub(super) fn as_json(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> serde_json::Value {
    let one = |sample: &Sample| {
        let (value, unit) = so_far(sample);
        let mut row = json!({
            "subject": sample.subject,
            "metric": sample.metric.as_str(),
            "value": value,
            "unit": unit,
        });
        if let Some(part) = &sample.part {
            row["part"] = json!(part);
        }
        if let Value::Histogram(histogram) = &sample.value {
            row["events"] = json!(histogram.count);
            row["sum"] = json!(histogram.sum);
            row["buckets"] = json!(histogram.bounds.len());
        }
        row
    };
    let (known, free): (Vec<_>, Vec<_>) =
        mapping.samples.iter().partition(|sample| matches!(sample.metric, MetricName::Known(_)));
    let dropped: Vec<_> = dropped(dialects, page, mapping)
        .into_iter()
        .map(|dropped| {
            json!({
                "line": dropped.line,
                "family": dropped.family,
                "samples": dropped.samples,
                "why": dropped.why,
            })
        })
        .collect();
    json!({
        "dialects": spoken(dialects, mapping),
        "samples": page.samples.len(),
        "mapped": known.into_iter().map(one).collect::<Vec<_>>(),
        "free": free.into_iter().map(one).collect::<Vec<_>>(),
        "dropped": dropped,
    })
}

pub(super) fn explained(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> String {
    let mut out = layout(100);
    let spoken = match &spoken(dialects, mapping)[..] {
        [] => "none that is known".to_owned(),
        ids => ids.join(", "),
    };
    out.hang("dialects", 10, &spoken);
    out.hang("samples", 10, &page.samples.len().to_string());
    let (known, free): (Vec<_>, Vec<_>) =
        mapping.samples.iter().partition(|sample| matches!(sample.metric, MetricName::Known(_)));
    for sample in known {
        let part = sample.part.as_ref().map(|part| format!(" [{part}]")).unwrap_or_default();
        let (value, unit) = so_far(sample);
        let value = value.map_or_else(|| "no event yet".to_owned(), |value| show(value, unit));
        let value = match &sample.value {
            Value::Gauge(_) => value,
            Value::Counter(_) => format!("{value} so far"),
            Value::Histogram(whole) if whole.bounds.is_empty() => {
                format!("mean {value} of {} events; no buckets: only a mean", show(whole.count, Unit::Count))
            }
            Value::Histogram(whole) => format!("mean {value} of {} events", show(whole.count, Unit::Count)),
        };
        out.hang("mapped", 10, &format!("{} {}{part}: {value}", sample.subject, sample.metric.as_str()));
    }
    if !free.is_empty() {
        let all = format!("{} series that no rule knows by name are kept under their own:", free.len());
        out.hang("free", 10, &all);
    }
    for (name, series) in counted(&free) {
        out.hang("free", 10, &format!("{name}: {series} series"));
    }
    if mapping.left_out > 0 {
        out.hang("left out", 10, &format!("{} series, beyond limits or alike when shown", mapping.left_out));
    }
    for dropped in dropped(dialects, page, mapping) {
        let family = dropped.family.map(|family| format!("{family} ")).unwrap_or_default();
        out.hang("dropped", 10, &format!("line {}: {family}{}", dropped.line, dropped.why));
    }
    out.finish()
}

/// How many series each name has, in the order of the page.
fn counted<'s>(free: &[&'s Sample]) -> Vec<(&'s str, usize)> {
    let mut counted: Vec<(&str, usize)> = vec![];
    for name in free.iter().map(|sample| sample.metric.as_str()) {
        match counted.last_mut().filter(|(known, _)| *known == name) {
            Some((_, series)) => *series += 1,
            None => counted.push((name, 1)),
        }
    }
    counted
}
