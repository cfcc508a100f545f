//! What help says, row by row.

use headwater_engine::filter::{FieldKind, FieldRow, GRAMMAR};
use headwater_engine::metric::Unit;
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use ratatui::widgets::Widget;

use super::super::Around;
use crate::action::{ACTIONS, Action, ActionRow, Scope};
use crate::keys::{Command, Keymap};
use crate::palette::{ColorRole, Palette, glyph_of, role_of};
use crate::panel::PANELS;

/// Cells of the keys and names before each sentence: the longest has a gap behind it, and a longer one a row of its own.
const MOST_INDENT: u16 = 26;
const GAP: u16 = 2;

/// A key or a name with a sentence, or a heading.
struct Row {
    label: String,
    text: String,
    role: ColorRole,
}

/// The help of one panel.
pub(super) struct Page {
    rows: Vec<Row>,
}

impl Page {
    /// The help of the panel below.
    pub(super) fn of(around: &Around<'_>) -> Self {
        let keys = around.keys();
        let fields = around.panel.fields();
        let own = around.panel.actions();
        let mut page = Self { rows: vec![] };
        page.text(around.row.help);
        let words = around.panel.words();
        if !words.is_empty() {
            page.heading("Words on it");
            for (word, text) in words {
                page.row((*word).to_owned(), *text, ColorRole::Label);
            }
        }
        page.actions("On this panel", own.iter().map(|action| action.row()), keys);
        if !fields.is_empty() {
            page.actions("In its table", of_scope(Scope::Table, own), keys);
        }
        page.heading("Panels");
        for (place, row) in PANELS.iter().enumerate() {
            let label = format!("{} {}", keys.label(Command::Show(place)), row.title);
            page.row(label.trim_start().to_owned(), row.help, ColorRole::Key);
        }
        if around.shown.status.is_replay() {
            page.actions("In this recording", of_scope(Scope::Replay, own), keys);
        }
        page.actions("Everywhere", of_scope(Scope::Everywhere, own), keys);
        if !fields.is_empty() {
            page.filter(&fields, &keys.key_of(Action::Filter));
        }
        page.signs(around.shown.palette);
        page
    }

    /// How many rows it takes at this width.
    pub(super) fn height(&self, palette: &Palette, width: u16) -> usize {
        let indent = self.indent(width);
        self.rows.iter().map(|row| usize::from(row.hanging(palette, indent).height(width))).sum()
    }

    /// Draws it from this row on.
    pub(super) fn draw(&self, top: usize, palette: &Palette, area: Rect, buffer: &mut Buffer) {
        let indent = self.indent(area.width);
        let mut skipped = 0;
        let mut y = area.y;
        for row in &self.rows {
            let part = row.hanging(palette, indent);
            let height = part.height(area.width);
            let hidden = top.saturating_sub(skipped).min(usize::from(height)) as u16;
            skipped += usize::from(height);
            let room = (height - hidden).min(area.bottom() - y);
            if room == 0 {
                if y == area.bottom() { break } else { continue }
            }
            // A row that is partly out of sight is drawn whole and copied from where it is in sight.
            let mut whole = Buffer::empty(Rect { height, ..area });
            whole.set_style(whole.area, palette.ground);
            part.render(whole.area, &mut whole);
            for line in 0..room {
                for x in area.left()..area.right() {
                    buffer[(x, y + line)] = whole[(x, area.y + hidden + line)].clone();
                }
            }
            y += room;
        }
    }

    /// Where sentences begin: behind the longest key or name, but within the first half of the width.
    fn indent(&self, width: u16) -> u16 {
        let labels = self.rows.iter().filter(|row| row.role != ColorRole::Heading);
        let longest = labels.map(|row| Span::raw(row.label.as_str()).width()).max().unwrap_or(0);
        let wanted = u16::try_from(longest).unwrap_or(u16::MAX).saturating_add(GAP);
        wanted.min(MOST_INDENT).min(width / 2)
    }

    fn row(&mut self, label: String, text: impl Into<String>, role: ColorRole) {
        let text = text.into();
        let fits = Span::raw(label.as_str()).width() + usize::from(GAP) <= usize::from(MOST_INDENT);
        if fits || text.is_empty() {
            self.rows.push(Row { label, text, role });
            return;
        }
        self.rows.push(Row { label, text: String::new(), role });
        self.rows.push(Row { label: " ".to_owned(), text, role });
    }

    fn text(&mut self, text: &str) {
        self.row(String::new(), text, ColorRole::Text);
    }

    fn heading(&mut self, text: &str) {
        self.text("");
        self.row(text.to_owned(), "", ColorRole::Heading);
    }

    fn actions<'a>(&mut self, title: &str, rows: impl Iterator<Item = &'a ActionRow>, keys: &Keymap) {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return;
        }
        self.heading(title);
        for row in rows {
            let strokes = keys.strokes(Command::Act(row.action)).map(|stroke| stroke.to_string());
            let all = strokes.collect::<Vec<_>>().join(" ");
            let label = if all.is_empty() { format!(":{}", row.name) } else { all };
            self.row(label, row.help, ColorRole::Key);
        }
    }

    fn filter(&mut self, fields: &[FieldRow], key: &str) {
        self.heading("Filter");
        self.row(key.to_owned(), Action::Filter.row().help, ColorRole::Key);
        for row in GRAMMAR {
            self.row(row.form.to_owned(), row.help, ColorRole::Label);
        }
        for field in fields {
            let unit = match field.kind {
                FieldKind::Text => "words",
                FieldKind::Number(unit) => example(unit),
            };
            self.row(field.name.to_owned(), format!("{} ({unit})", field.help), ColorRole::Label);
        }
    }

    fn signs(&mut self, palette: &Palette) {
        self.heading("Signs");
        for (verdict, text) in [
            (Verdict::Guilty, "convicted by evidence that is shown beside it"),
            (Verdict::Suspect, "something is wrong with it, but it is not proven to be the cause"),
            (Verdict::Unknown, "not seen well enough to be judged; never taken for innocent"),
            (Verdict::Innocent, "looked at by every rule that watches it, and found in order"),
        ] {
            let label = format!("{} {}", glyph_of(verdict), verdict_word(verdict));
            self.row(label, text, role_of(verdict));
        }
        self.row("-".to_owned(), "nobody tells this number; never the same as 0", ColorRole::Text);
        let shades = palette.glyphs.shades().concat();
        self.row(
            shades,
            "from little to much, the newest at the right; blank where nothing is known",
            ColorRole::Text,
        );
        self.row("dim".to_owned(), "a value that is too old to be what is going on now", ColorRole::Stale);
    }
}

impl Row {
    fn hanging(&self, palette: &Palette, indent: u16) -> Hanging<'_> {
        let is_heading = self.role == ColorRole::Heading;
        // What has no sentence beside it may be as long as the row.
        let (label, text, role) = match self.text.is_empty() {
            true => ("", self.label.as_str(), self.role),
            false => (self.label.as_str(), self.text.as_str(), ColorRole::Text),
        };
        let indent = if label.is_empty() || is_heading { 0 } else { indent };
        Hanging::new(label, indent, text)
            .label_style(palette.style(self.role))
            .text_style(palette.style(role))
            .glyphs(palette.glyphs)
    }
}

/// How a number of a unit is written in a filter.
fn example(unit: Unit) -> &'static str {
    match unit {
        Unit::Ratio => "such as 70 %",
        Unit::Bytes => "such as 5 MB",
        Unit::BytesPerSecond => "such as 20 MB/s",
        Unit::Seconds => "such as 40 ms",
        Unit::PerSecond => "such as 100/s",
        Unit::Count => "such as 1000",
        Unit::Celsius => "such as 80",
        Unit::Watts => "such as 300",
        Unit::Hertz => "such as 1.5G",
        Unit::UnixSeconds => "such as 14:06",
    }
}

/// Actions of a scope that the panel does not list as its own.
fn of_scope(scope: Scope, own: &'static [Action]) -> impl Iterator<Item = &'static ActionRow> {
    ACTIONS.iter().filter(move |row| row.scope == scope && !own.contains(&row.action))
}
