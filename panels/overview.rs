//! The overview: who is guilty, why, what is innocent, what is not known, and what to do next.

mod axis;
mod dependencies;
mod heights;
mod search;
mod signals;
mod verdict;
mod ways;
mod words;

pub(crate) use dependencies::facts;
pub(crate) use verdict::awaited;
pub(crate) use ways::way_to;

use headwater_engine::report::{SubjectVerdict, Suspect, Verdict};
use headwater_engine::{Kind, Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::lines;
use crate::palette::{ColorRole, Palette};
use crate::panel::{Intent, Outcome, PANELS, Panel, PanelRow, View};
use crate::title;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "overview",
    title: "Overview",
    short: "Over",
    help: "who is guilty, what shows it, what is innocent, and what to do next",
    is_for_walls: true,
    make: || Box::new(Overview::default()),
};

/// From this width on dependencies and signals stand side by side.
const SIDE_BY_SIDE: u16 = 76;

use heights::{WITH_TITLE, shared_out};
use ways::{count_left_out, cut};

/// Rows that one dependency and one signal may take.
const MOST_ROWS_EACH: u16 = 3;

#[derive(Debug, Default)]
struct Overview {
    /// The dependency under the cursor; none until the cursor is moved.
    cursor: Option<Subject>,
    /// Where the rows of dependencies stand, and the first of them that is in sight.
    rows_at: Rect,
    first: usize,
    /// Rows that each takes.
    each: u16,
    /// What can be done about a scan at the moment that was last drawn.
    offered: &'static [Action],
    /// The line of the verdict that stands first once pages are turned, and the first one that does not fit then.
    from: Option<usize>,
    further: usize,
    /// Whether lines of the verdict were left out when it was last drawn.
    is_cut: bool,
}

impl Panel for Overview {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        self.rows_at = Rect::ZERO;
        if area.is_empty() {
            return;
        }
        let (snapshot, palette) = (view.snapshot, view.palette);
        // Where the verdict has a title, what the keys lead to stands there.
        let hint = self.hint(view);
        let (above, within) = if area.height >= WITH_TITLE { (hint, None) } else { (None, hint) };
        self.offered = search::offered(view);
        let lines = verdict::lines(view, within);
        let dependencies = dependencies::rows(snapshot);
        let rows = shared_out(&lines, dependencies.len(), palette, area);
        let mut below = area;
        let title_row = cut(&mut below, rows.title);
        let more = self.draw_verdict(&lines, view, cut(&mut below, rows.verdict), buffer);
        let aside: Vec<String> = above.into_iter().chain((!more.is_empty()).then(|| more.clone())).collect();
        title::draw("Verdict", &aside.join("   "), palette, title_row, buffer);
        if rows.title == 0 {
            count_left_out(&more, palette, Rect { height: rows.verdict, ..area }, buffer);
        }
        let (left, right) = if is_side_by_side(area.width) {
            let both = cut(&mut below, rows.dependencies);
            let right = (both.width * 2 / 5).clamp(32, 70);
            let left = Rect { width: both.width - right - 1, ..both };
            (left, Rect { x: left.right() + 1, width: right, ..both })
        } else {
            (cut(&mut below, rows.dependencies), cut(&mut below, rows.signals))
        };
        self.draw_dependencies(&dependencies, view, left, buffer);
        signals::draw(snapshot, palette, right, buffer);
        axis::draw(snapshot, palette, cut(&mut below, rows.axis), buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        if let Action::PageDown | Action::PageUp = action
            && (self.is_cut || self.from.is_some())
        {
            self.turn_page(action == Action::PageDown);
            return Outcome::Done;
        }
        let rows = dependencies::rows(view.snapshot);
        let place = self.place(&rows);
        let last = rows.len().saturating_sub(1);
        let to = match action {
            Action::Up => place.map_or(last, |place| place.saturating_sub(1)),
            Action::Down => place.map_or(0, |place| place + 1),
            Action::Top | Action::PageUp => 0,
            Action::Bottom | Action::PageDown => last,
            Action::Open => {
                return match self.way(view.snapshot) {
                    Ok((panel, subject)) => Outcome::Wants(Intent::Show(panel, Some(subject))),
                    Err(why) => Outcome::Refused(why),
                };
            }
            Action::Scan | Action::SearchHot | Action::PauseScan | Action::CancelScan => {
                return search::steer(action, view);
            }
            Action::Back if self.cursor.is_some() => {
                self.cursor = None;
                return Outcome::Done;
            }
            _ => return Outcome::Ignored,
        };
        self.cursor = rows.get(to.min(last)).map(|row| row.subject.clone());
        Outcome::Done
    }

    fn actions(&self) -> &'static [Action] {
        self.offered
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let does_something = match action {
            Action::Open => self.way(view.snapshot).is_ok(),
            Action::Scan | Action::SearchHot | Action::PauseScan | Action::CancelScan => {
                search::steer(action, view).does_something()
            }
            _ => true,
        };
        does_something.then(|| action.row().short)
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        words::WORDS
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        Some(verdict::in_two_lines(view.snapshot))
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        if !self.rows_at.contains(at) {
            return Outcome::Ignored;
        }
        let rows = dependencies::rows(view.snapshot);
        let Some(row) = rows.get(self.first + usize::from((at.y - self.rows_at.y) / self.each.max(1))) else {
            return Outcome::Ignored;
        };
        self.cursor = Some(row.subject.clone());
        Outcome::Done
    }

    fn open(&mut self, subject: &Subject) {
        self.cursor = Some(subject.component_of());
    }
}

impl Overview {
    /// Draws what matters most, or the page that was turned to; returns what is not shown, and the key that shows it.
    fn draw_verdict(
        &mut self,
        lines: &[lines::Line],
        view: &View<'_>,
        area: Rect,
        buffer: &mut Buffer,
    ) -> String {
        let key = |action| view.keys.key_of(action);
        if let Some(from) = self.from.filter(|from| *from < lines.len()) {
            self.further = lines::draw_from(from, lines, view.palette, area, buffer);
            let left = lines.len() - self.further;
            self.is_cut = left > 0;
            let down = if left > 0 { format!("+{left} {}   ", key(Action::PageDown)) } else { String::new() };
            return format!("{down}{}: back", key(Action::PageUp));
        }
        self.from = None;
        let left_out = lines::draw(lines, view.palette, area, buffer);
        self.is_cut = left_out > 0;
        match key(Action::PageDown) {
            _ if left_out == 0 => String::new(),
            key if key.is_empty() => format!("+{left_out} not shown"),
            key => format!("+{left_out} not shown: {key}"),
        }
    }

    /// Goes through the lines of the verdict in full, and back to what matters most.
    fn turn_page(&mut self, is_down: bool) {
        self.from = match self.from {
            _ if !is_down => None,
            None => Some(0),
            Some(from) => Some(if self.is_cut { self.further.max(from + 1) } else { from }),
        };
    }

    fn draw_dependencies(
        &mut self,
        rows: &[&SubjectVerdict],
        view: &View<'_>,
        area: Rect,
        buffer: &mut Buffer,
    ) {
        let mut below = area;
        let title_row = cut(&mut below, 1);
        let all = u16::try_from(rows.len()).unwrap_or(u16::MAX).max(signals::COUNT);
        self.each = (below.height / all.max(1)).clamp(1, MOST_ROWS_EACH);
        let height = usize::from(below.height / self.each);
        let cursor = self.place(rows);
        self.first = dependencies::first_in_sight(rows, cursor, height);
        self.rows_at = below;
        let hidden = rows.len().saturating_sub(height);
        let more = if hidden > 0 { format!("+{hidden} more") } else { String::new() };
        title::draw("Dependencies, upstream first", &more, view.palette, title_row, buffer);
        let sight = dependencies::Sight { first: self.first, cursor, each: self.each };
        dependencies::draw(rows, sight, view.snapshot, view.palette, below, buffer);
    }

    fn place(&self, rows: &[&SubjectVerdict]) -> Option<usize> {
        let cursor = self.cursor.as_ref()?;
        rows.iter().position(|row| row.subject == *cursor)
    }
}

fn is_side_by_side(width: u16) -> bool {
    width >= SIDE_BY_SIDE
}

#[cfg(test)]
mod tests;
