//! The write-up of an incident, for whoever was asleep: the triage, how it went, what was done, the numbers over time.

use std::fmt::Write;

use headwater_engine::quantity::show;
use headwater_engine::writeup::{Answered, EvidenceSeries, Point, Told, Versions, WriteUp};
use headwater_engine::{Moment, Snapshot};
use headwater_widgets::Sparkline;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::markdown::{self, escaped};

/// The cells of a number over time.
const CELLS: u16 = 40;

/// Points that are this many times as far apart as usual have a gap between them.
const LONGEST_APART: f64 = 1.5;

/// The versions that stand in what this process writes. A recording of the same version is not told of: its write-up is
/// the one that the screen gave.
pub fn versions(recorded_by: Option<&str>) -> Versions {
    let headwater = env!("CARGO_PKG_VERSION");
    let recorded_by = recorded_by.filter(|by| *by != headwater).map(str::to_owned);
    Versions { headwater: headwater.to_owned(), recorded_by }
}

/// The write-up as Markdown.
pub fn markdown(snapshot: &Snapshot, written: &WriteUp) -> String {
    let report = markdown::without_notes(snapshot);
    // Whoever reads it on another day sees the day first.
    let (title, report) = report.split_once("\n\n").unwrap_or((&report, ""));
    let mut text = format!("{title}\n\n{}\n\n{}\n\n", head(written), report.trim_end());
    // Writing to a String cannot fail.
    let _ = rest(&mut text, written);
    text
}

/// The write-up as pretty-printed JSON: the fields of a triage, and more beside them.
pub fn json(written: &WriteUp) -> String {
    serde_json::to_string_pretty(written).expect("a write-up is plain values") + "\n"
}

fn rest(out: &mut String, written: &WriteUp) -> std::fmt::Result {
    writeln!(out, "**Recovery:** {}\n", escaped(&written.recovery))?;
    story(out, &written.timeline)?;
    steps(out, &written.steps)?;
    numbers(out, written)
}

/// When, and by which version.
fn head(written: &WriteUp) -> String {
    let Versions { headwater, recorded_by } = &written.versions;
    let by = recorded_by.as_ref().map_or(String::new(), |by| format!(" from a recording by {by}"));
    let (from, until) = (date(written.from), date(written.report.at));
    format!("From {from} to {until} UTC; written by Headwater {headwater}{by}.")
}

fn story(out: &mut String, timeline: &[Told]) -> std::fmt::Result {
    if timeline.is_empty() {
        return Ok(());
    }
    writeln!(out, "## How it went\n\n| time (UTC) | | |\n| --- | --- | --- |")?;
    for told in timeline {
        writeln!(out, "| {} | {} | {} |", date(told.at), told.kind.word(), escaped(&told.text))?;
    }
    writeln!(out)
}

fn steps(out: &mut String, steps: &[Answered]) -> std::fmt::Result {
    if steps.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Steps\n")?;
    for Answered { at, act } in steps {
        let answer = escaped(&act.answer_words());
        let step = format!("{} {}", act.step, act.title);
        writeln!(
            out,
            "- {} **{}** ({}): {answer}",
            at.clock(),
            escaped(&step),
            escaped(act.runbook.as_str())
        )?;
        for seen in &act.seen {
            writeln!(out, "  - {}", escaped(seen.as_str()))?;
        }
    }
    writeln!(out)
}

/// Each number as a line of columns with its bounds, in a block where columns stand below each other.
fn numbers(out: &mut String, written: &WriteUp) -> std::fmt::Result {
    if written.series.is_empty() {
        return Ok(());
    }
    let (from, until) = (written.from, written.report.at);
    writeln!(out, "## Numbers, {} to {}\n\n```text", from.clock(), until.clock())?;
    for series in &written.series {
        let least = series.points.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
        let most = series.points.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max);
        let last = series.points.last().map_or(f64::NAN, |(_, value)| *value);
        let [least, most, last] = [least, most, last].map(|value| show(value, series.unit));
        writeln!(
            out,
            "{} {}  {least} to {most}, last {last}",
            columns(&series.points, from, until),
            name(series)
        )?;
    }
    writeln!(out, "```\n")
}

/// A fence of the block must not be ended by a name.
fn name(series: &EvidenceSeries) -> String {
    let part = series.part.as_ref().map(|part| format!("[{part}]")).unwrap_or_default();
    let subject = series.subject.as_ref().map(|subject| format!("{subject} ")).unwrap_or_default();
    format!("{subject}{}{part}", series.metric).replace('`', "'")
}

/// A series in cells of equal time: in each the last point that was known by its end, unless it is older than points
/// of this series are apart.
fn columns(points: &[Point], from: Moment, until: Moment) -> String {
    let whole_ms = until.since(from).as_millis().max(1) as f64;
    let apart_ms = match points {
        [first, .., last] => last.0.since(first.0).as_millis() as f64 / (points.len() - 1) as f64,
        _ => 0.0,
    };
    let cell_ms = whole_ms / f64::from(CELLS);
    let known_ms = cell_ms.max(LONGEST_APART * apart_ms);
    let cells: Vec<Option<f64>> = (1..=CELLS)
        .map(|cell| {
            let end_ms = from.0 as f64 + cell_ms * f64::from(cell);
            let known = points.partition_point(|(at, _)| at.0 as f64 <= end_ms);
            let (at, value) = points.get(known.checked_sub(1)?)?;
            (end_ms - at.0 as f64 <= known_ms).then_some(*value)
        })
        .collect();
    let mut buffer = Buffer::empty(Rect::new(0, 0, CELLS, 1));
    Sparkline::new(&cells).render(buffer.area, &mut buffer);
    buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
}

/// `2026-11-29 14:07:05`: a write-up is read on another day.
fn date(at: Moment) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map_or_else(|_| at.clock(), |at| at.strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example::incident;

    #[test]
    fn a_write_up_is_the_ticket_with_how_it_went() {
        let snapshot = incident();
        let written = WriteUp::of(&snapshot, versions(Some("0.0.1")));
        let text = markdown(&snapshot, &written);
        assert!(!text.contains("## Notes"), "{text}");
        let head = "From 1970-01-01 14:07:05 to 1970-01-01 14:07:05 UTC; written by Headwater 0.1.0 from a recording by 0.0.1.";
        assert_eq!(text.lines().nth(2), Some(head));
        let (_, rest) = text.split_once("Cost of this observation").unwrap();
        insta::assert_snapshot!(rest, @r"
        : 2 Redis commands a second per node over a minute, 54.1 kB/s in all

        Not read: client/load\@127.0.0.1:9: SLOWLOG: the ACL user may not

        **Recovery:** unknown: service/ranker, which suffered, is not seen any more

        ## How it went

        | time (UTC) | | |
        | --- | --- | --- |
        | 1970-01-01 14:06:55 | symptom | service/ranker began to suffer |
        | 1970-01-01 14:07:00 | note | cache \|off\| |
        | 1970-01-01 14:07:03 | mark |  |
        ");
    }

    #[test]
    fn a_number_over_time_stands_in_its_cells() {
        let points: Vec<Point> = (0..20).map(|second| (Moment(second * 1_000), second as f64)).collect();
        let drawn = columns(&points, Moment(0), Moment(40_000));
        assert_eq!(drawn.chars().count(), 40);
        assert!(drawn.starts_with("▁▁") && drawn.ends_with(&" ".repeat(19)), "{drawn}");
        assert!(!drawn.trim_end().contains(' '), "points two cells apart leave no gap: {drawn}");
    }
}
