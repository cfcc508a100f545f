//! The list of runbooks: those that fit what fires first.

use headwater_engine::runbook::{Runbook, ranked};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::lines::{Line, Weight};
use crate::page::Page;
use crate::palette::ColorRole;
use crate::panel::{Outcome, View};

/// The list with its cursor.
pub(super) struct Choice {
    cursor: usize,
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
    pub(super) fn of(id: &str, view: &View<'_>) -> Self {
        let runbooks = ranked(&view.library.runbooks, view.snapshot);
        let cursor = runbooks.iter().position(|runbook| runbook.id == id).unwrap_or(0);
        Self { cursor, page: Page::default() }
    }

    pub(super) fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let runbooks = ranked(&view.library.runbooks, view.snapshot);
        let lines: Vec<Line> = runbooks
            .iter()
            .enumerate()
            .map(|(place, runbook)| line(runbook, place == self.cursor, view))
            .collect();
        self.page.draw("Runbooks: those that fit what fires come first", &lines, view.palette, area, buffer);
    }

    pub(super) fn act(&mut self, action: Action, view: &View<'_>) -> Chosen {
        let runbooks = ranked(&view.library.runbooks, view.snapshot);
        let last = runbooks.len().saturating_sub(1);
        self.cursor = match action {
            Action::Up => self.cursor.saturating_sub(1),
            Action::Down => (self.cursor + 1).min(last),
            Action::Top => 0,
            Action::Bottom => last,
            Action::Open | Action::Confirm => {
                return Chosen::Leave(runbooks.get(self.cursor).map(|runbook| runbook.id.clone()));
            }
            Action::Back | Action::ChooseRunbook => return Chosen::Leave(None),
            _ => return Chosen::Stay(self.page.act(action)),
        };
        self.page.reveal(u16::try_from(self.cursor).unwrap_or(u16::MAX), 1);
        Chosen::Stay(Outcome::Done)
    }
}

fn line(runbook: &Runbook, is_chosen: bool, view: &View<'_>) -> Line {
    let fits = match (runbook.is_called_for(view.snapshot), runbook.when.is_empty()) {
        (true, _) => "! fits",
        (_, true) => "o always",
        _ => ". no sign",
    };
    let mark = if is_chosen { "> " } else { "" };
    let role = if is_chosen { ColorRole::Heading } else { ColorRole::Text };
    Line::new(Weight::Core, fits, format!("{mark}{}: {} ({})", runbook.title, runbook.about, runbook.id))
        .text_colored(role)
}
