//! Panels that stay as they are whatever becomes of the real ones.

use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use headwater_engine::metric::Unit;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::subject;
use crate::action::Action;
use crate::panel::{Effect, Intent, Outcome, Panel, View};
use crate::table::{Cell, Column, Row, Table, Width};

/// A panel that stays as it is whatever becomes of the real ones: a table of three rows with a detail and a question.
/// It stands in the place of the panel of shards.
pub(super) struct Understudy {
    table: Table<Line>,
    is_detail: bool,
}

struct Line(&'static str, f64);

impl Row for Line {
    fn id(&self) -> &str {
        self.0
    }
}

static LINES: &[Line] = &[Line("alpha", 0.2), Line("beta", 0.9), Line("gamma", 0.4)];

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow { name: "name", kind: FieldKind::Text, help: "what it is called" },
        title: "name",
        width: Width::Rest(6),
        rank: 0,
        cell: |line| Cell::text(line.0),
        draw: None,
    },
    Column {
        field: FieldRow { name: "cpu", kind: FieldKind::Number(Unit::Ratio), help: "share of a core" },
        title: "cpu",
        width: Width::Cells(8),
        rank: 0,
        cell: |line| Cell::number(Some(line.1)),
        draw: None,
    },
];

impl Default for Understudy {
    fn default() -> Self {
        Self { table: Table::new(COLUMNS), is_detail: false }
    }
}

impl Panel for Understudy {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        self.table.draw(LINES, view, area, buffer);
    }

    fn act(&mut self, action: Action, _view: &View<'_>) -> Outcome {
        match action {
            Action::Open => self.is_detail = true,
            Action::Back if self.is_detail => self.is_detail = false,
            Action::Scan => {
                let question =
                    "Scan redis/features#2? It reads 1 000 000 keys and takes at most 1 % of a core.";
                let effect = Effect::Scan(subject("redis/features#2"));
                return Outcome::Wants(Intent::Ask(question.into(), effect));
            }
            Action::Compare => return Outcome::Refused("there is nothing to compare with".into()),
            Action::Skip => return Outcome::Wants(Intent::AskText("why is it left out?".into())),
            Action::Explain => return Outcome::Wants(Intent::Look("rules", Some("state = firing".into()))),
            Action::Group => return Outcome::Wants(Intent::Show("rules", None)),
            _ => return self.table.act(action, LINES),
        }
        Outcome::Done
    }

    fn actions(&self) -> &'static [Action] {
        &[Action::Scan, Action::Compare]
    }

    fn typed(&mut self, text: &str, _view: &View<'_>) -> Outcome {
        match text {
            "refuse" => Outcome::Refused("not now".to_owned()),
            _ => Outcome::Wants(Intent::Do(Effect::Note(text.to_owned()))),
        }
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.table.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.table.filter()
    }

    fn copied(&self, _view: &View<'_>) -> Option<String> {
        self.table.selected(LINES).map(|line| line.0.to_owned())
    }

    fn click(&mut self, at: Position, _view: &View<'_>) -> Outcome {
        if self.table.click(at, LINES) { Outcome::Done } else { Outcome::Ignored }
    }
}

/// A panel without rows, in the place of the first.
pub(super) struct Plain;

impl Panel for Plain {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        buffer.set_stringn(area.x, area.y, view.snapshot.at.clock(), area.width.into(), view.palette.ground);
    }

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}
