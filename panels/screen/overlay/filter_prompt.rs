//! The expression that keeps rows, while it is typed.

use headwater_engine::filter::{FieldRow, Filter, FilterError};
use headwater_widgets::Hanging;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Span;
use ratatui::widgets::Widget;
use tui_textarea::Key;

use super::entry::Entry;
use super::{Around, Overlay, Step};
use crate::keys::Stroke;
use crate::palette::{ColorRole, Palette};

/// Rows that a long message may take.
const MOST_OF_MESSAGE: u16 = 3;

/// What an error begins with once it kept a filter from being taken.
const NOT_TAKEN: &str = "not taken: ";

/// What stands before the line.
const MARK: &str = "/";

/// A filter that is typed: rows are kept by it as soon as it makes sense and there are any. Half a word may well match
/// nothing, and an empty table would say less than the rows of before.
pub(in super::super) struct FilterPrompt {
    entry: Entry,
    error: Option<FilterError>,
    /// What is typed and keeps no row; the rows are those of before until `enter` takes it.
    empty: Option<Filter>,
    /// What can be asked for.
    fields: String,
    /// What was in force before.
    before: Option<Filter>,
    /// What was typed earlier on this panel, the newest last, and what is typed now.
    earlier: Vec<String>,
    place: usize,
}

impl FilterPrompt {
    /// Begins with the filter in force.
    pub(in super::super) fn new(
        before: Option<Filter>,
        fields: &[FieldRow],
        mut earlier: Vec<String>,
    ) -> Self {
        let text = before.as_ref().map_or("", Filter::as_str).to_owned();
        let place = earlier.len();
        earlier.push(text.clone());
        let fields: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let fields = fields.join(" ");
        Self { entry: Entry::new(&text), error: None, empty: None, fields, before, earlier, place }
    }

    /// Keeps the rows of what is typed; while it makes no sense, those of what last made sense.
    fn apply(&mut self, around: &mut Around<'_>) {
        let text = self.entry.text();
        self.error = None;
        self.empty = None;
        if text.trim().is_empty() {
            around.panel.set_filter(None);
            return;
        }
        match Filter::parse(text, &around.panel.fields()) {
            Ok(filter) => {
                let former = around.panel.filter().cloned();
                around.panel.set_filter(Some(filter.clone()));
                if !around.has_rows() {
                    around.panel.set_filter(former);
                    self.empty = Some(filter);
                }
            }
            Err(error) => self.error = Some(error),
        }
    }

    /// Goes through what was typed earlier.
    fn recall(&mut self, is_older: bool, around: &mut Around<'_>) {
        let last = self.earlier.len().saturating_sub(1);
        if self.place == last
            && let Some(typed) = self.earlier.last_mut()
        {
            self.entry.text().clone_into(typed);
        }
        self.place = if is_older { self.place.saturating_sub(1) } else { (self.place + 1).min(last) };
        if let Some(text) = self.earlier.get(self.place) {
            self.entry.set(text);
        }
        self.apply(around);
    }

    /// What can be done with what is typed.
    fn help(&self) -> String {
        match self.empty {
            Some(_) => {
                "no row matches this: the rows are those of before; enter takes it all the same".to_owned()
            }
            None => format!("enter keeps, esc undoes, up recalls; fields: {}", self.fields),
        }
    }

    /// The cell below the character that makes no sense, at this width.
    fn caret(&self, error: &FilterError, width: u16) -> u16 {
        let before: String = self.entry.text().chars().take(error.column.saturating_sub(1)).collect();
        let cells = Span::raw(MARK).width() + Span::raw(before).width();
        let caret = u16::try_from(cells).unwrap_or(u16::MAX).saturating_sub(self.entry.scrolled());
        caret.min(width.saturating_sub(1))
    }

    /// The message on the side of the caret that has room; `None` when neither has.
    fn beside_caret(&self, error: &FilterError, width: u16) -> Option<String> {
        let caret = usize::from(self.caret(error, width));
        let wide = Span::raw(error.message.as_str()).width();
        if caret + 2 + wide <= usize::from(width) {
            Some(format!("{:>1$} {2}", "^", caret + 1, error.message))
        } else if wide < caret {
            Some(format!("{}{} ^", " ".repeat(caret - 1 - wide), error.message))
        } else {
            None
        }
    }

    fn draw_error(&self, error: &FilterError, palette: &Palette, area: Rect, buffer: &mut Buffer) {
        let style = palette.style(ColorRole::Error);
        if let Some(text) = self.beside_caret(error, area.width) {
            buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
            return;
        }
        // A lonely caret is worth a row only when the message has one as well.
        let mut rest = area;
        if area.height > 1 {
            buffer.set_stringn(area.x + self.caret(error, area.width), area.y, "^", 1, style);
            rest = Rect { y: area.y + 1, height: area.height - 1, ..area };
        }
        message(error, palette).render(rest, buffer);
    }
}

fn message<'a>(error: &'a FilterError, palette: &Palette) -> Hanging<'a> {
    Hanging::new("", 0, &error.message).text_style(palette.style(ColorRole::Error)).glyphs(palette.glyphs)
}

impl Overlay for FilterPrompt {
    fn press(&mut self, stroke: Stroke, around: &mut Around<'_>) -> Step {
        match stroke.key {
            Key::Esc => {
                around.panel.set_filter(self.before.clone());
                return Step::Close;
            }
            Key::Enter => {
                if let Some(error) = &mut self.error {
                    if !error.message.starts_with(NOT_TAKEN) {
                        error.message.insert_str(0, NOT_TAKEN);
                    }
                    return Step::Stay;
                }
                if let Some(filter) = self.empty.take() {
                    around.panel.set_filter(Some(filter));
                }
                return Step::Filtered(self.entry.text().trim().to_owned());
            }
            Key::Up => self.recall(true, around),
            Key::Down => self.recall(false, around),
            Key::Tab => {}
            _ => {
                if self.entry.press(stroke) {
                    self.apply(around);
                }
            }
        }
        Step::Stay
    }

    fn paste(&mut self, text: &str, around: &mut Around<'_>) {
        self.entry.paste(text);
        self.apply(around);
    }

    fn docked(&self, width: u16) -> u16 {
        let below = match &self.error {
            Some(error) if self.beside_caret(error, width).is_none() => {
                1 + Hanging::new("", 0, &error.message).height(width).min(MOST_OF_MESSAGE)
            }
            Some(_) => 1,
            None => Hanging::new("", 0, &self.help()).height(width).min(MOST_OF_MESSAGE),
        };
        1 + below
    }

    fn draw(&mut self, around: &mut Around<'_>, docked: Rect, _over: Rect, buffer: &mut Buffer) {
        if docked.is_empty() {
            return;
        }
        let palette = around.shown.palette;
        self.entry.draw_behind(MARK, palette, Rect { height: 1, ..docked }, buffer);
        let below = Rect { y: docked.y + 1, height: docked.height - 1, ..docked };
        if below.is_empty() {
            return;
        }
        if let Some(error) = &self.error {
            self.draw_error(error, palette, below, buffer);
            return;
        }
        let text = self.help();
        let role = if self.empty.is_some() { ColorRole::Unknown } else { ColorRole::Faint };
        let style = palette.style(role);
        Hanging::new("", 0, &text).text_style(style).glyphs(palette.glyphs).render(below, buffer);
    }

    fn cursor(&self) -> Option<Position> {
        self.entry.cursor()
    }
}
