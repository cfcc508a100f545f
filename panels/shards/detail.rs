//! One shard: its nodes, the chosen number over time, and everything that is told of it.

use headwater_engine::reading::Shard;
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Snapshot, Subject};
use headwater_widgets::{Hanging, MarkedLine, Progress, Sparkline};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::head::{self, draw_texts};
use super::line::Line;
use super::list::left_out;
use super::rows::{give_strips, lens_of, node_rows};
use super::told::{self, Told};
use super::{Shards, put, row_of};
use crate::action::Action;
use crate::big_key_scan::{bar_words, put_beside_bar, scan_of, share};
use crate::changes::marks;
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::{Outcome, View};

/// The column of the sentences.
const INDENT: u16 = 10;

/// From this width on sentences stand in two columns with so many cells between them: everything of a shard on one screen.
const WIDTH_FOR_COLUMNS: u16 = 130;
const GAP: u16 = 2;

/// Below this height there is no trend; above it, it has a quarter of the rows.
const HEIGHT_FOR_TREND: u16 = 16;

impl Shards {
    /// Draws one shard.
    pub(super) fn draw_shard(&mut self, view: &View<'_>, shard: &Shard, area: Rect, buffer: &mut Buffer) {
        let mut rest = area;
        draw_head(view, shard, row_of(&mut rest), buffer);
        let snapshot = view.snapshot;
        let mut lines = node_rows(snapshot, shard, lens_of(self.lens, snapshot));
        self.nodes.leave_out(left_out(snapshot, &lines));
        let many = u16::try_from(lines.len()).unwrap_or(u16::MAX);
        let table = take(&mut rest, many.saturating_add(1).min(area.height / 3).max(2));
        give_strips(&mut lines, snapshot, self.nodes.cells_of(super::columns::STRIP, table.width));
        self.nodes.draw(&lines, view, table, buffer);
        if area.height >= HEIGHT_FOR_TREND && !lines.is_empty() {
            // The trend has more cells than a strip in the table.
            give_strips(&mut lines, snapshot, rest.width);
            draw_trend(view, &lines[0], take(&mut rest, area.height / 4 + 2), buffer);
        }
        let running = scan_of(snapshot, &shard.subject).filter(|scan| !scan.state.has_ended());
        if let Some((scan, share)) = running.and_then(|scan| Some((scan, share(scan)?))) {
            let bar = row_of(&mut rest);
            let style = |role| view.palette.style(role);
            put("scan", ColorRole::Label, view, bar, buffer);
            let bar =
                Rect { x: bar.x.saturating_add(INDENT), width: bar.width.saturating_sub(INDENT), ..bar };
            let bar = put_beside_bar(&bar_words(&scan.state, share), view, bar, buffer);
            Progress::new(Some(share))
                .glyphs(view.palette.glyphs)
                .styles(style(ColorRole::Trend), style(ColorRole::Faint))
                .render(bar, buffer);
        }
        self.draw_told(view, &told::all(view, shard), rest, buffer);
    }

    /// Draws sentences from the first that is not scrolled away, in two columns where there is room for them; what does
    /// not fit is counted in the last row.
    fn draw_told(&mut self, view: &View<'_>, lines: &[Told], area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        let columns = Self::columns(view, lines, area);
        let width = (area.width - GAP * (columns - 1)) / columns;
        let heights: Vec<u16> = lines.iter().map(|line| of(line, view).height(width)).collect();
        // Lines from this one on that columns of this height hold.
        let shown_from = |from: usize, height: u16| {
            let mut shown = from;
            for _ in 0..columns {
                let mut left = height;
                while let Some(wanted) =
                    heights.get(shown).filter(|wanted| left > 0 && (**wanted <= left || left == height))
                {
                    left = left.saturating_sub(*wanted);
                    shown += 1;
                }
            }
            shown
        };
        let fits = shown_from(0, area.height) == lines.len();
        // The last line stays in sight.
        self.scrolled = if fits { 0 } else { self.scrolled.min(lines.len().saturating_sub(1)) };
        let room = if fits || area.height < 2 { area.height } else { area.height - 1 };
        let mut shown = self.scrolled;
        for column in 0..columns {
            let mut rest = Rect { x: area.x + column * (width + GAP), width, height: room, ..area };
            while let Some((line, wanted)) = lines.get(shown).zip(heights.get(shown)) {
                let is_last = column + 1 == columns;
                if rest.height == 0 || (*wanted > rest.height && rest.height < room && !is_last) {
                    break;
                }
                of(line, view).render(take(&mut rest, *wanted), buffer);
                shown += 1;
            }
        }
        if room < area.height {
            let [down, up] = [Action::PageDown, Action::PageUp].map(|action| view.keys.key_of(action));
            let text = format!(
                "lines {} to {shown} of {}   {down}: further   {up}: back",
                self.scrolled + 1,
                lines.len()
            );
            put(&text, ColorRole::Faint, view, Rect { y: area.bottom() - 1, height: 1, ..area }, buffer);
        }
    }

    /// How many columns sentences stand in: one where all fit into it.
    fn columns(view: &View<'_>, lines: &[Told], area: Rect) -> u16 {
        let all: usize = lines.iter().map(|line| usize::from(of(line, view).height(area.width))).sum();
        if area.width < WIDTH_FOR_COLUMNS || all <= usize::from(area.height) { 1 } else { 2 }
    }

    /// Actions on one shard: the cursor goes over its nodes, pages over what is told of it.
    pub(super) fn act_in_shard(&mut self, action: Action, shard: &Subject, snapshot: &Snapshot) -> Outcome {
        const PAGE: usize = 5;
        match action {
            Action::PageDown => self.scrolled += PAGE,
            Action::PageUp => self.scrolled = self.scrolled.saturating_sub(PAGE),
            _ => {
                let shard = super::shard_of(snapshot, shard);
                let lens = lens_of(self.lens, snapshot);
                let lines = shard.map(|shard| node_rows(snapshot, shard, lens)).unwrap_or_default();
                return self.nodes.act(action, &lines);
            }
        }
        Outcome::Done
    }
}

fn of<'a>(line: &'a Told, view: &View<'_>) -> Hanging<'a> {
    Hanging::new(&line.label, INDENT, &line.text)
        .label_style(view.palette.style(line.role))
        .text_style(view.palette.style(ColorRole::Text))
        .glyphs(view.palette.glyphs)
}

fn draw_head(view: &View<'_>, shard: &Shard, area: Rect, buffer: &mut Buffer) {
    let verdicts = &view.snapshot.report.verdicts;
    let judged = verdicts.iter().find(|row| row.subject == shard.subject);
    let (verdict, reason) =
        judged.map_or((Verdict::Unknown, "not judged yet"), |row| (row.verdict, row.reason.as_str()));
    let text = format!("{}: {reason}", shard.subject);
    MarkedLine::new(glyph_of(verdict), verdict_word(verdict), &text)
        .mark_style(view.palette.style(role_of(verdict)))
        .text_style(view.palette.style(ColorRole::Heading))
        .glyphs(view.palette.glyphs)
        .render(area, buffer);
}

/// The chosen number of the primary over time, with its scale above and the operator's marks below.
fn draw_trend(view: &View<'_>, primary: &Line, area: Rect, buffer: &mut Buffer) {
    let mut rest = area;
    draw_texts(&head::legend(view, &primary.strip, primary.link, None), view, row_of(&mut rest), buffer);
    let curve = take(&mut rest, area.height.saturating_sub(2));
    let cells = primary.cells(view.snapshot);
    Sparkline::new(&cells)
        .ceiling(primary.strip.full)
        .glyphs(view.palette.glyphs)
        .style(view.palette.style(ColorRole::Trend))
        .render(curve, buffer);
    draw_axis(view, primary, rest, buffer);
}

/// When the first cell begins, the changes and errors, the marks, and when the last cell ends.
fn draw_axis(view: &View<'_>, line: &Line, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let bins = line.strip.bins;
    let faint = view.palette.style(ColorRole::Faint);
    let width = usize::from(area.width);
    let acts = view.snapshot.acts.iter().map(|act| act.at);
    let signs: Vec<usize> =
        acts.chain(marks::all(view.snapshot).map(|(at, ..)| at)).filter_map(|at| bins.place(at)).collect();
    // A sign over a digit makes another time of it: where one stands, the time gives way.
    let mut put = |x: u16, time: String| {
        let from = usize::from(x - area.x);
        if !signs.iter().any(|sign| (from..from + time.len()).contains(sign)) {
            buffer.set_stringn(x, area.y, time, width, faint);
        }
    };
    put(area.x, bins.start().clock());
    let end = view.snapshot.at.clock();
    if let Some(x) = area.right().checked_sub(end.len() as u16).filter(|x| *x > area.x + 9) {
        put(x, end);
    }
    marks::draw(view.snapshot, |at| bins.place(at), view.palette, area, buffer);
    for act in view.snapshot.acts.iter() {
        let place = bins.place(act.at).and_then(|place| u16::try_from(place).ok());
        if let Some(x) = place.map(|place| area.x.saturating_add(place)).filter(|x| *x < area.right()) {
            buffer[(x, area.y)].set_symbol("^").set_style(view.palette.style(ColorRole::Mark));
        }
    }
}

/// Takes so many rows from the top of an area.
fn take(rest: &mut Rect, rows: u16) -> Rect {
    let taken = Rect { height: rest.height.min(rows), ..*rest };
    rest.y += taken.height;
    rest.height -= taken.height;
    taken
}
