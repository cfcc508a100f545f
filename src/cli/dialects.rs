//! `headwater dialects`: which metrics pages can be read, and what is made of one.

use std::io::Read as _;
use std::path::Path;

use clap::{Args, ValueEnum};
use headwater_engine::metric::{MetricName, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::{Sample, Value};
use headwater_engine::{Kind, RemoteText, Subject};
use serde_json::json;

use super::output::{Failure, print};
use super::target::AccessArgs;
use super::{EXIT_UNAVAILABLE, EXIT_USAGE};
use crate::config::shown_address;
use crate::report::Layout;
use crate::sources::metrics::dialect::{Dialect, Dialects};
use crate::sources::metrics::exposition::{Exposition, Format, decode};
use crate::sources::metrics::fetch::{Address, Fetcher, LONGEST_PAGE};
use crate::sources::metrics::mapping::{Mapper, Mapping, Target, explain};

/// `headwater dialects`.
#[derive(Debug, Args)]
pub(super) struct DialectsArgs {
    /// Say what is made of one metrics page: an address, or a file, also packed with gzip
    #[arg(long, value_name = "URL|FILE")]
    explain: Option<String>,

    /// The form of the answer
    #[arg(long, value_enum, default_value_t = DialectsFormat::Text)]
    format: DialectsFormat,

    #[command(flatten)]
    access: AccessArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DialectsFormat {
    Text,
    Json,
}

pub(super) async fn run(args: DialectsArgs) -> Result<u8, Failure> {
    let dialects = Dialects::built_in();
    let Some(place) = &args.explain else {
        match args.format {
            DialectsFormat::Text => print(&table(dialects))?,
            DialectsFormat::Json => print(&format!("{:#}\n", listed(dialects)))?,
        }
        return Ok(0);
    };
    let is_address = ["http://", "https://"].iter().any(|scheme| place.starts_with(scheme));
    let (target, bytes, format) =
        if is_address { fetched(place, &args.access).await? } else { from_file(place)? };
    let page = decode(&bytes, format);
    if page.samples.is_empty() && page.problems.is_empty() && page.native_histograms == 0 {
        return Err(Failure::usage(format_args!(
            "'{}' holds no metrics: is it the right page?",
            shown(place)
        )));
    }
    let mapping = Mapper::new(dialects, target, None).map(&page);
    match args.format {
        DialectsFormat::Text => print(&explained(dialects, &page, &mapping))?,
        DialectsFormat::Json => print(&format!("{:#}\n", as_json(dialects, &page, &mapping)))?,
    }
    Ok(0)
}

/// Asks an address once, as the source does.
async fn fetched(place: &str, access: &AccessArgs) -> Result<(Target, Vec<u8>, Option<Format>), Failure> {
    let config = access.resolve(&[place.to_owned()])?;
    let Some(spec) = config.metrics.first() else {
        return Err(Failure::usage(format_args!("'{}' is no metrics page", shown(place))));
    };
    let address = Address::parse(&spec.url)?;
    let target = Target::new(&spec.component()?, address.host_and_port());
    let answer = Fetcher::new(address, spec)?.fetch().await;
    let page = answer.map_err(|fault| Failure::new(EXIT_UNAVAILABLE, fault.message))?;
    Ok((target, page.bytes, page.format))
}

/// Reads a file as if `service/ITS-NAME` had served it.
fn from_file(place: &str) -> Result<(Target, Vec<u8>, Option<Format>), Failure> {
    let path = Path::new(place);
    let unread = |error: std::io::Error| {
        Failure::of_file(&error, format_args!("'{}' cannot be read: {error}", shown(place)))
    };
    let limit = LONGEST_PAGE as u64 + 1;
    let mut bytes = vec![];
    std::fs::File::open(path).map_err(unread)?.take(limit).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = vec![];
        let packed = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        packed.take(limit).read_to_end(&mut unpacked).map_err(|error| {
            let sentence = format!("'{}' is packed with gzip and cannot be unpacked: {error}", shown(place));
            Failure::new(EXIT_USAGE, sentence)
        })?;
        bytes = unpacked;
    }
    if bytes.len() > LONGEST_PAGE {
        let most = show(LONGEST_PAGE as f64, Unit::Bytes);
        let sentence =
            format!("'{}' is longer than {most}, which is the longest page that is read", shown(place));
        return Err(Failure::usage(sentence));
    }
    let stem = path.file_stem().map_or_else(|| "page".into(), |stem| stem.to_string_lossy());
    Ok((Target::new(&Subject::component(Kind::Service, &stem), "file"), bytes, None))
}

fn shown(place: &str) -> RemoteText {
    RemoteText::new(&shown_address(place))
}

fn table(dialects: &Dialects) -> String {
    let mut out = Layout::new(100);
    let column = dialects.list.iter().map(|dialect| dialect.id.len()).max().unwrap_or(0) + 2;
    for dialect in &dialects.list {
        out.hang(&dialect.id, column, &dialect.title);
        out.hang("", column, &format!("known by {}", evidence(dialect)));
        out.hang("", column, &format!("gives {}", gives(dialect).join(", ")));
    }
    out.finish()
}

/// What a dialect is recognised by, in words.
fn evidence(dialect: &Dialect) -> String {
    if dialect.evidence.is_empty() {
        return "any family that it maps".to_owned();
    }
    let families: Vec<_> = dialect.evidence.iter().map(|pattern| pattern.text()).collect();
    let label = dialect.evidence_label.as_ref().map(|label| format!(" with the label {label}"));
    families.join(", ") + &label.unwrap_or_default()
}

/// The metrics that a dialect can give, each once.
fn gives(dialect: &Dialect) -> Vec<&'static str> {
    let mut names = vec![];
    for row in &dialect.rows {
        if !names.contains(&row.metric.name()) {
            names.push(row.metric.name());
        }
    }
    names
}

fn listed(dialects: &Dialects) -> serde_json::Value {
    let one = |dialect: &Dialect| {
        let families: Vec<_> = dialect.evidence.iter().map(|pattern| pattern.text()).collect();
        json!({
            "id": dialect.id,
            "title": dialect.title,
            "recognised_by": families,
            "label": dialect.evidence_label,
            "metrics": gives(dialect),
        })
    };
    json!({ "dialects": dialects.list.iter().map(one).collect::<Vec<_>>() })
}

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

fn as_json(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> serde_json::Value {
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

fn explained(dialects: &Dialects, page: &Exposition<'_>, mapping: &Mapping) -> String {
    let mut out = Layout::new(100);
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
        out.hang(
            "free",
            10,
            &format!("{} series that no rule knows by name are kept under their own", free.len()),
        );
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
