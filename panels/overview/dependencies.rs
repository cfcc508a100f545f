//! The dependencies, each with its verdict and the numbers that tell most of its kind.

use headwater_engine::metric::{
    ERRORS, GPU_MEMORY, GPU_UTILIZATION, IN_FLIGHT, Metric, QUEUE_RUNNING, QUEUE_WAITING, REQUESTS, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::report::{SubjectVerdict, Verdict};
use headwater_engine::wording::{data_age, verdict_word};
use headwater_engine::{Kind, Snapshot, Subject, gpu_memory};
use headwater_widgets::{Hanging, apart};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use crate::palette::{ColorRole, Palette, glyph_of, role_of};
use crate::shards::loads;

/// The widest that names may be before they are cut.
const WIDEST_NAME: u16 = 24;

/// Cells of glyph and word.
const MARK: u16 = 11;

/// A reason is shown where it has this many cells.
const LEAST_REASON: u16 = 14;

/// The verdicts on components, those first that call nobody.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<&SubjectVerdict> {
    let mut rows: Vec<&SubjectVerdict> =
        snapshot.report.verdicts.iter().filter(|row| row.subject.is_component()).collect();
    let order = snapshot.graph.dependencies_first();
    rows.sort_by_key(|row| order.iter().position(|subject| *subject == row.subject));
    rows
}

/// Which rows are in sight: the first of them, so that this one is among them.
pub(super) fn first_in_sight(rows: &[&SubjectVerdict], cursor: Option<usize>, height: usize) -> usize {
    let worst = rows.iter().enumerate().min_by_key(|(_, row)| row.verdict).map_or(0, |(place, _)| place);
    let kept = cursor.unwrap_or(worst);
    (kept + 1).saturating_sub(height).min(rows.len().saturating_sub(height))
}

/// What of the dependencies is in sight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// The first in sight.
    pub(super) first: usize,
    /// The one under the cursor.
    pub(super) cursor: Option<usize>,
    /// Rows that each takes: the first with its numbers, the others with its reason.
    pub(super) each: u16,
}

/// Draws the dependencies in sight, as many as there is room for.
pub(super) fn draw(
    rows: &[&SubjectVerdict],
    sight: Sight,
    snapshot: &Snapshot,
    palette: &Palette,
    area: Rect,
    buffer: &mut Buffer,
) {
    let names: Vec<&str> = rows.iter().map(|row| row.subject.as_str()).collect();
    let wide = names.iter().map(|name| Span::raw(*name).width()).max().unwrap_or(0);
    let wide = wide.min(usize::from(WIDEST_NAME.min(area.width / 3)));
    let names = apart(&names, wide, palette.glyphs);
    let places = (area.top()..area.bottom()).step_by(usize::from(sight.each.max(1)));
    for ((place, row), y) in rows.iter().enumerate().skip(sight.first).zip(places) {
        let line = Rect { y, height: 1, ..area };
        let reason_rows = sight.each.saturating_sub(1).min(area.bottom() - y - 1);
        let name = format!("{:<wide$} ", names[place]);
        draw_row(row, name, reason_rows == 0, snapshot, palette, line, buffer);
        if reason_rows > 0 {
            let below = Rect { y: y + 1, height: reason_rows, ..area };
            Hanging::new("", MARK, &row.reason)
                .text_style(palette.style(ColorRole::Faint))
                .glyphs(palette.glyphs)
                .render(below, buffer);
        }
        if sight.cursor == Some(place) {
            let height = 1 + reason_rows;
            buffer.set_style(Rect { height, ..line }, palette.style(ColorRole::Selected));
        }
    }
}

fn draw_row(
    row: &SubjectVerdict,
    name: String,
    is_alone: bool,
    snapshot: &Snapshot,
    palette: &Palette,
    line: Rect,
    buffer: &mut Buffer,
) {
    let mark = format!("{} {:<8} ", glyph_of(row.verdict), verdict_word(row.verdict));
    let mut parts: Vec<(String, ColorRole)> = vec![(mark, role_of(row.verdict)), (name, ColorRole::Text)];
    parts.extend(data_age(row).map(|age| (format!(" {age}"), ColorRole::Stale)));
    let facts = if row.verdict == Verdict::Unknown { vec![] } else { facts(row, snapshot) };
    let wide = |parts: &[(String, ColorRole)]| -> usize {
        parts.iter().map(|(text, _)| Span::raw(text.as_str()).width()).sum()
    };
    // Numbers are told whole or not at all.
    for (text, role) in facts {
        let comma = if parts.len() > 2 && role == ColorRole::Text { "," } else { "" };
        let part = (format!("{comma} {text}"), role);
        if wide(&parts) + wide(std::slice::from_ref(&part)) <= usize::from(line.width) {
            parts.push(part);
        }
    }
    let left = usize::from(line.width).saturating_sub(wide(&parts));
    if !is_alone {
        // The reason stands below.
    } else if parts.len() == 2 {
        parts.push((format!(" {}", row.reason), ColorRole::Text));
    } else if left >= usize::from(LEAST_REASON) {
        parts.push((format!("  {}", row.reason), ColorRole::Faint));
    }
    let mut x = line.x;
    for (text, role) in parts {
        let room = usize::from(line.right().saturating_sub(x));
        let (end, _) = buffer.set_stringn(x, line.y, &text, room, palette.style(role));
        if Span::raw(text.as_str()).width() > room && room > 0 {
            buffer[(line.right() - 1, line.y)].set_symbol(palette.glyphs.ellipsis());
        }
        x = end;
    }
}

/// A few words each, with the role of their colour.
pub(crate) type Facts = Vec<(String, ColorRole)>;

/// The telling numbers of a component of its kind.
pub(crate) fn facts(row: &SubjectVerdict, snapshot: &Snapshot) -> Facts {
    let subject = &row.subject;
    match subject.kind() {
        Kind::Redis => redis(subject, snapshot),
        Kind::Queue => {
            let count = |metric, word| level(subject, metric, word, snapshot);
            plain([count(QUEUE_WAITING, "waiting"), count(QUEUE_RUNNING, "in batches")])
        }
        Kind::Service => {
            // With one service alone the slowest service is this one.
            let is_alone = snapshot
                .report
                .verdicts
                .iter()
                .all(|other| other.subject.kind() != Kind::Service || subject.contains(&other.subject));
            let p99 = snapshot.signals.iter().find(|signal| is_alone && signal.row.name == "p99");
            let p99 = p99.filter(|signal| signal.now.is_some());
            plain([
                p99.map(|signal| format!("p99 {}", crate::gauge::value(signal))),
                own_stages(subject, snapshot),
                level(subject, IN_FLIGHT, "active", snapshot),
            ])
        }
        Kind::Gateway => plain([
            Some(format!("{} up", instances(subject, snapshot))),
            snapshot.total(subject, REQUESTS).map(|rate| show(rate, Unit::PerSecond)),
            snapshot.total(subject, ERRORS).map(|rate| format!("errors {}", show(rate, Unit::PerSecond))),
        ]),
        Kind::Gpu => {
            let busiest = largest(subject, GPU_UTILIZATION, snapshot);
            let fullest = fullest_memory(subject, snapshot);
            plain([
                busiest.map(|busy| format!("max {} busy", show(busy, Unit::Ratio))),
                fullest.map(|share| format!("memory {}", show(share, Unit::Ratio))),
            ])
        }
        _ => vec![],
    }
}

/// Numbers that all matter as much.
fn plain<const N: usize>(texts: [Option<String>; N]) -> Facts {
    texts.into_iter().flatten().map(|text| (text, ColorRole::Text)).collect()
}

fn level(subject: &Subject, metric: Metric, word: &str, snapshot: &Snapshot) -> Option<String> {
    snapshot.total(subject, metric).map(|value| format!("{} {word}", show(value, Unit::Count)))
}

fn largest(subject: &Subject, metric: Metric, snapshot: &Snapshot) -> Option<f64> {
    let parts = snapshot.history.parts(subject);
    parts.filter_map(|part| snapshot.present(part, metric, None)).map(|seen| seen.value).reduce(f64::max)
}

/// The used share of the fullest memory of a GPU and its parts.
fn fullest_memory(subject: &Subject, snapshot: &Snapshot) -> Option<f64> {
    let share = |part: &Subject| {
        let fresh_from = snapshot.fresh_from(part, GPU_MEMORY);
        let (used, max) = gpu_memory::of(&snapshot.history, part, snapshot.at, fresh_from)?;
        Some(used.value / max)
    };
    snapshot.history.parts(subject).filter_map(share).reduce(f64::max)
}

/// Parts with an address that give data.
fn instances(subject: &Subject, snapshot: &Snapshot) -> usize {
    let fresh = |part: &&Subject| {
        let stale_after = snapshot.stale_after(part);
        let mut traces = snapshot.history.traces(part);
        traces.any(|(_, _, trace)| {
            let newest = trace.latest_at(snapshot.at);
            newest.is_some_and(|seen| snapshot.at.since(seen.at) <= stale_after)
        })
    };
    snapshot.history.parts(subject).filter(|part| part.address().is_some()).filter(fresh).count()
}

/// What the rule about a service's own code has seen of it.
fn own_stages(subject: &Subject, snapshot: &Snapshot) -> Option<String> {
    let state = snapshot.rules.iter().find(|row| row.rule == "self-slow" && row.subject == *subject)?;
    (state.state == "clear").then(|| state.detail.split(',').next().unwrap_or_default().to_owned())
}

/// How full the fullest shard is, of what is fullest, and beside it the mean that hides it.
fn redis(subject: &Subject, snapshot: &Snapshot) -> Facts {
    let loads = loads(snapshot, subject).into_iter();
    let Some(load) = loads.max_by(|one, other| one.max.total_cmp(&other.max)) else {
        return vec![];
    };
    let unseen = load.shards - load.seen;
    let of = if unseen > 0 {
        format!("of {}, {unseen} not seen", load.seen)
    } else {
        format!("of {} shards", load.shards)
    };
    vec![
        (format!("{} max {}", load.word, whole(load.max)), ColorRole::Text),
        (format!("avg {}", whole(load.mean)), ColorRole::Faint),
        (of, ColorRole::Faint),
    ]
}

/// A share in whole percents.
fn whole(share: f64) -> String {
    show((share * 100.0).round() / 100.0, Unit::Ratio)
}
