//! The list of runbooks: those that fit what fires first.

use headwater_engine::runbook::{Fit, Runbook, fit, ranked};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines::{Line, Weight};
use crate::page::Page;
use crate::palette::ColorRole;
use crate::panel::{Outcome, View};

/// The list with its cursor.
pub(super) struct Choice {
    /// The id of the runbook under the cursor: the order changes with what fires.
    cursor: String,
    /// Whether the cursor has moved and is to be brought into sight.
    is_moved: bool,
    page: Page,
}

/// What a key came to.
pub(super) enum Chosen {
    /// It stays open.
    Stay(Outcome),
    /// It is left, with the id of the runbook that was taken.
    Leave(Option<String>),
}

impl Choice {
    /// The list with the cursor on this runbook.
    pub(super) fn of(id: &str) -> Self {
        Self { cursor: id.to_owned(), is_moved: true, page: Page::default() }
    }

    /// Where the cursor stands in the order of this moment.
    fn place(&self, runbooks: &[&Runbook]) -> usize {
        runbooks.iter().position(|runbook| runbook.id == self.cursor).unwrap_or(0)
    }

    pub(super) fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let runbooks = ranked(&view.library.runbooks, view.snapshot);
        let cursor = self.place(&runbooks);
        let lines: Vec<Line> = runbooks
            .iter()
            .enumerate()
            .map(|(place, runbook)| line(runbook, place == cursor, view))
            .collect();
        if std::mem::take(&mut self.is_moved) && !lines.is_empty() {
            self.page.reveal_lines(&lines, cursor..cursor + 1, view.palette, area);
        }
        self.page.draw(
            "Runbooks: those that fit whoever is accused come first",
            &lines,
            view.palette,
            area,
            buffer,
        );
    }

    pub(super) fn act(&mut self, action: Action, view: &View<'_>) -> Chosen {
        let runbooks = ranked(&view.library.runbooks, view.snapshot);
        let last = runbooks.len().saturating_sub(1);
        let cursor = self.place(&runbooks);
        let moved = match action {
            Action::Up => cursor.saturating_sub(1),
            Action::Down => (cursor + 1).min(last),
            Action::Top => 0,
            Action::Bottom => last,
            Action::Open | Action::Confirm => {
                return Chosen::Leave(runbooks.get(cursor).map(|runbook| runbook.id.clone()));
            }
            Action::Back | Action::ChooseRunbook => return Chosen::Leave(None),
            _ => return Chosen::Stay(self.page.act(action)),
        };
        if let Some(runbook) = runbooks.get(moved) {
            self.cursor = runbook.id.clone();
            self.is_moved = true;
        }
        Chosen::Stay(Outcome::Done)
    }
}

fn line(runbook: &Runbook, is_chosen: bool, view: &View<'_>) -> Line {
    let accused = || view.snapshot.report.suspects.first().map(|suspect| &suspect.subject);
    let (fits, why) = match (fit(runbook, view.snapshot), accused()) {
        (Fit::Accused, Some(whom)) => ("! fits", format!("for {whom}. ")),
        (Fit::AtStep(place), Some(whom)) => {
            ("! fits", format!("step {} asks about {whom}. ", runbook.steps[place].id))
        }
        (Fit::Accused | Fit::AtStep(_) | Fit::Fires, _) => ("! fits", String::new()),
        (Fit::Always, _) => ("o always", String::new()),
        (Fit::Beside, _) => {
            (". beside", "what it is for fires, and is not what is accused first. ".to_owned())
        }
        (Fit::NoSign, _) => (". no sign", String::new()),
    };
    let mark = if is_chosen { "> " } else { "" };
    let role = if is_chosen { ColorRole::Heading } else { ColorRole::Text };
    Line::new(Weight::Core, fits, format!("{mark}{}: {why}{} ({})", runbook.title, runbook.about, runbook.id))
        .text_colored(role)
}
