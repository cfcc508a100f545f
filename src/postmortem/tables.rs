//! `edges.csv` and `metrics.csv`: columns by name, in any order, others passed over.

use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};
use headwater_engine::RemoteText;
use headwater_engine::ranking::Point;

use super::case::Case;
use super::{PostmortemError, Skipped, SpansByName};
use crate::written_moment::of_text;

/// Who calls whom.
pub(super) fn calls(
    path: &Path,
    skipped: &mut Vec<Skipped>,
) -> Result<Vec<(RemoteText, RemoteText)>, PostmortemError> {
    let mut calls = vec![];
    read(path, ["caller", "callee"], skipped, |[caller, callee]| {
        calls.push((name(caller, "caller")?, name(callee, "callee")?));
        Ok(())
    })?;
    Ok(calls)
}

/// Every series in the spans of the case, and how many rows are in neither.
pub(super) fn series(
    path: &Path,
    case: &Case,
    skipped: &mut Vec<Skipped>,
) -> Result<(SpansByName, usize), PostmortemError> {
    let mut series = SpansByName::new();
    let mut outside = 0;
    let is_within = |(from, to): (f64, f64), at: f64| from <= at && at <= to;
    read(path, ["time", "subject", "metric", "value"], skipped, |[time, subject, metric, value]| {
        let at = number(time, of_text, "time", "no RFC 3339 and no Unix time")?;
        let value = number(value, |text| text.trim().parse().ok(), "value", "no number")?;
        let key = (name(subject, "subject")?, name(metric, "metric")?);
        let (is_calm, is_bad) = (is_within(case.baseline, at), is_within(case.window, at));
        if !is_calm && !is_bad {
            outside += 1;
            return Ok(());
        }
        let span = series.entry(key).or_default();
        // Where the spans overlap, a moment of the incident is not healthy.
        let points = if is_bad { &mut span.window } else { &mut span.baseline };
        points.push(Point { at, value });
        Ok(())
    })?;
    Ok((series, outside))
}

/// Reads the rows of a table; `take` says what is wrong with a row that it does not take.
fn read<const N: usize>(
    path: &Path,
    columns: [&str; N],
    skipped: &mut Vec<Skipped>,
    mut take: impl FnMut([&[u8]; N]) -> Result<(), String>,
) -> Result<(), PostmortemError> {
    let mut reader =
        ReaderBuilder::new().flexible(true).from_path(path).map_err(|error| unreadable(path, error))?;
    let places = places(path, &mut reader, columns)?;
    let mut row = ByteRecord::new();
    let mut all = 0;
    let mut rows = 0;
    let mut first = None;
    while reader.read_byte_record(&mut row).map_err(|error| unreadable(path, error))? {
        all += 1;
        let cells = places.map(|place| row.get(place));
        let taken = match cells.iter().position(Option::is_none) {
            Some(missing) => Err(format!("there is no column '{}'", columns[missing])),
            None => take(cells.map(Option::unwrap_or_default)),
        };
        if let Err(complaint) = taken {
            rows += 1;
            first.get_or_insert((row.position().map_or(0, csv::Position::line), complaint));
        }
    }
    if let Some(first) = first {
        skipped.push(Skipped { path: path.to_owned(), rows, of: all, first });
    }
    Ok(())
}

/// Where the columns stand.
fn places<const N: usize>(
    path: &Path,
    reader: &mut Reader<File>,
    columns: [&str; N],
) -> Result<[usize; N], PostmortemError> {
    let header = reader.byte_headers().map_err(|error| unreadable(path, error))?;
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        let found = header.iter().position(|cell| cell.trim_ascii().eq_ignore_ascii_case(column.as_bytes()));
        *place = found.ok_or_else(|| PostmortemError::Broken {
            path: path.to_owned(),
            place: "line 1".to_owned(),
            found: format!("there is no column '{column}'"),
            expected: format!("a header with these columns is expected: {}", columns.join(",")),
        })?;
    }
    Ok(places)
}

fn unreadable(path: &Path, error: csv::Error) -> PostmortemError {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(reason) => PostmortemError::File { path: path.to_owned(), reason },
        kind => PostmortemError::Broken {
            path: path.to_owned(),
            place: format!("line {line}"),
            found: format!("{kind:?}"),
            expected: "comma-separated values are expected".to_owned(),
        },
    }
}

fn name(cell: &[u8], column: &str) -> Result<RemoteText, String> {
    match cell.trim_ascii() {
        [] => Err(format!("'{column}' is empty")),
        text => Ok(RemoteText::from_bytes(text)),
    }
}

/// A finite number, or what is wrong with it.
fn number(
    cell: &[u8],
    parse: impl Fn(&str) -> Option<f64>,
    column: &str,
    wrong: &str,
) -> Result<f64, String> {
    let text = std::str::from_utf8(cell).unwrap_or_default();
    parse(text)
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("'{column}' is '{}', which is {wrong}", RemoteText::from_bytes(cell)))
}
