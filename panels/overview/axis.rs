//! What was said over the last minutes, where it began, and what the operator marked.

use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::report::{Conclusion, Note, NoteKind};
use headwater_engine::{Moment, Snapshot, xid};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::changes::marks;
use crate::palette::{ColorRole, Palette};
use crate::time_bins::TimeBins;
use crate::title;

/// How far back the axis reaches at least, where so much is kept.
const SPAN: Duration = Duration::from_secs(600);

/// Longer than any two frames are apart that were said without a break.
const FRAMES_APART: Duration = Duration::from_secs(15);

/// Characters of what somebody wrote that stand beside its sign.
const SHORT: usize = 16;

/// What was said in a cell, the worst of it: glyph, word, colour.
type Said = (&'static str, &'static str, ColorRole);

const INCIDENT: Said = ("X", "incident", ColorRole::Guilty);
const SUSPECTED: Said = ("!", "suspect", ColorRole::Suspect);
const UNSEEN: Said = ("?", "not all seen", ColorRole::Unknown);
const CLEAR: Said = (".", "clear", ColorRole::Innocent);

/// From the worst to the best.
const WORST_FIRST: [Said; 4] = [INCIDENT, SUSPECTED, UNSEEN, CLEAR];

/// Draws a title where there is room for it, the strip, and below it what happened when.
pub(super) fn draw(snapshot: &Snapshot, palette: &Palette, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let end = snapshot.gone_back_from.unwrap_or(snapshot.at);
    let bins = TimeBins::covering(from(snapshot, end), end, usize::from(area.width));
    let mut y = area.y;
    if area.height > 2 {
        let cell = show(bins.length_ms as f64 / 1_000.0, Unit::Seconds);
        let mut legend: Vec<String> =
            WORST_FIRST.iter().map(|(glyph, word, _)| format!("{glyph} {word}")).collect();
        let seen = events(snapshot, &bins);
        for (letter, word) in LETTERS {
            let is_seen = seen.iter().any(|(at, glyph, ..)| glyph == letter && bins.place(*at).is_some());
            // What there is no room for is explained in help.
            let wide = legend.iter().map(|part| part.len() + 2).sum::<usize>() + word.len() + ROOM_FOR_TITLE;
            if is_seen && wide <= usize::from(area.width) {
                legend.push(format!("{letter} {word}"));
            }
        }
        title::draw(&format!("Time, {cell} a cell"), &legend.join("  "), palette, area, buffer);
        y += 1;
    }
    for (x, said) in (area.left()..area.right()).zip(strip(snapshot, &bins)) {
        if let Some((glyph, _, role)) = said {
            buffer[(x, y)].set_symbol(glyph).set_style(palette.style(role));
        }
    }
    if y + 1 < area.bottom() {
        draw_events(snapshot, &bins, palette, Rect { y: y + 1, height: 1, ..area }, buffer);
    }
}

/// Where the axis begins: long enough ago to show what was before the incident, never before anything was kept.
fn from(snapshot: &Snapshot, end: Moment) -> Moment {
    let kept = snapshot.timeline.first().map_or(end, |frame| frame.at);
    let lasting = snapshot.report.onset().map_or(Duration::ZERO, |onset| end.since(onset.at));
    kept.max(end - SPAN.max(lasting.saturating_mul(2)))
}

/// What was said in each cell; nothing where nothing was, and nothing later than the moment that is shown.
fn strip(snapshot: &Snapshot, bins: &TimeBins) -> Vec<Option<Said>> {
    let mut worst: Vec<Option<usize>> = vec![None; bins.count];
    let mut frames = snapshot.timeline.frames().filter(|frame| frame.at <= snapshot.at).peekable();
    while let Some(frame) = frames.next() {
        let until = match frames.peek() {
            Some(next) if next.at.since(frame.at) <= FRAMES_APART => next.at - Duration::from_millis(1),
            _ => frame.at,
        };
        let said = match frame.report.conclusion {
            Conclusion::Guilty => 0,
            _ if !frame.report.suspects.is_empty() => 1,
            Conclusion::Blind | Conclusion::NoTarget => 2,
            Conclusion::Clear => 3,
        };
        let first = bins.place(frame.at.max(bins.first));
        if let (Some(first), Some(last)) = (first, bins.place(until)) {
            for cell in &mut worst[first..=last.max(first)] {
                *cell = Some(cell.map_or(said, |known| known.min(said)));
            }
        }
    }
    worst.into_iter().map(|place| Some(WORST_FIRST[place?])).collect()
}

/// Writes what happened below its cell, the most important first, each where nothing stands yet.
fn draw_events(snapshot: &Snapshot, bins: &TimeBins, palette: &Palette, row: Rect, buffer: &mut Buffer) {
    let mut taken = vec![false; usize::from(row.width)];
    for (at, glyph, text, role) in events(snapshot, bins) {
        let Some(place) = bins.place(at) else { continue };
        let full = format!("{glyph}{text}");
        let wide = Span::raw(full.as_str()).width();
        // What does not fit to the right of its cell ends there instead.
        let (start, shown, cells) = if place + wide <= taken.len() {
            (place, full, wide)
        } else if wide <= place + 1 {
            (place + 1 - wide, format!("{}{glyph}", text.trim_start().to_owned() + " "), wide)
        } else {
            (place, glyph.to_owned(), 1)
        };
        let is_free = |from: usize, cells: usize| {
            taken.get(from..from + cells).is_some_and(|cells| cells.iter().all(|cell| !cell))
        };
        let (start, shown, cells) = match is_free(start, cells) {
            true => (start, shown, cells),
            false => (place, glyph.to_owned(), 1),
        };
        if !is_free(start, cells) {
            continue;
        }
        let x = row.x + u16::try_from(start).unwrap_or(0);
        buffer.set_stringn(x, row.y, &shown, cells, palette.style(role));
        let until = (start + cells + 1).min(taken.len());
        taken[start..until].fill(true);
    }
}

/// What the letters below the strip stand for.
const LETTERS: &[(&str, &str)] = &[
    ("m", "mark"),
    ("n", "note"),
    ("r", "runbook"),
    ("d", "action"),
    ("b", "scan"),
    (marks::GLYPH, "change"),
    (marks::ERROR, "XID"),
];

/// Cells that the title of the axis may take beside its legend.
const ROOM_FOR_TITLE: usize = 30;

/// What stands below the strip: its moment, its glyph, its words, its colour.
fn events<'a>(snapshot: &Snapshot, bins: &TimeBins) -> Vec<(Moment, &'a str, String, ColorRole)> {
    let mut events = vec![];
    if snapshot.gone_back_from.is_some() {
        events.push((snapshot.at, "^", format!(" {} is shown", snapshot.at.clock()), ColorRole::Banner));
    }
    if let Some(onset) = snapshot.report.onset() {
        let before = if onset.before { "before " } else { "" };
        let text = format!(" began {before}{}", onset.at.clock());
        events.push((onset.at, "^", text, ColorRole::Guilty));
    }
    for act in snapshot.acts.iter().rev() {
        let note = Note::of(act);
        let glyph = match note.kind {
            NoteKind::Mark => "m",
            NoteKind::Note => "n",
            NoteKind::Runbook | NoteKind::Step => "r",
            NoteKind::Remedy => "d",
            NoteKind::Scan => "b",
        };
        let short: String = note.text.chars().take(SHORT).collect();
        events.push((act.at, glyph, format!(" {short}"), ColorRole::Mark));
    }
    for change in snapshot.changes.iter().rev() {
        let short: String = change.title.as_str().chars().take(SHORT).collect();
        events.push((change.at, marks::GLYPH, format!(" {short}"), ColorRole::Mark));
    }
    for (gpu, error) in snapshot.gpu_errors.seen() {
        let name = xid::by_code(error.code).map_or(String::new(), |row| format!(" {}", row.name));
        let text = format!(" XID {}{name} on {}", error.code, gpu.name());
        events.push((error.at, marks::ERROR, text, ColorRole::Suspect));
    }
    let kept = snapshot.timeline.first().map_or(bins.first, |frame| frame.at).max(bins.first);
    events.push((kept, "", kept.clock(), ColorRole::Faint));
    events
}
