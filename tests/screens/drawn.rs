//! A screen drawn into a buffer, and the buffer as text.

use headwater::keymap;
use headwater::theme::{Depth, Theme};
use headwater_panels::{Action, Command, PANELS, Palette, Screen, Shown, Status};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::states::State;

/// The palette of a built-in theme in true colour, with every character.
pub(super) fn palette(theme: &str) -> Palette {
    Theme::built_in(theme).expect("a theme of this name").palette(Depth::True, Glyphs::Unicode)
}

/// The whole screen with this panel open, as users see it.
pub(super) fn drawn(state: &State, panel: &str, palette: &Palette, width: u16, height: u16) -> Buffer {
    drawn_after(state, panel, &[], palette, width, height)
}

/// The same after these actions.
pub(super) fn drawn_after(
    state: &State,
    panel: &str,
    actions: &[Action],
    palette: &Palette,
    width: u16,
    height: u16,
) -> Buffer {
    assert!(PANELS.iter().any(|row| row.name == panel), "no panel '{panel}'");
    drawn_by(state, palette, width, height, |screen, shown| {
        screen.take(Command::by_name(panel).expect("a panel's name"), shown);
        for action in actions {
            screen.take(Command::Act(*action), shown);
        }
    })
}

/// The screen that users see first, with this said in its last row.
pub(super) fn hinted(state: &State, hint: &str, palette: &Palette, width: u16, height: u16) -> Buffer {
    drawn_by(state, palette, width, height, |screen, _| screen.hint(hint.to_owned()))
}

fn drawn_by(
    state: &State,
    palette: &Palette,
    width: u16,
    height: u16,
    prepare: impl FnOnce(&mut Screen, &Shown<'_>),
) -> Buffer {
    let keys = keymap::built_in();
    let status = Status::default();
    let library = headwater::library::built_in();
    let newest = Some(&state.snapshot);
    let shown =
        Shown { newest, now: state.snapshot.at, palette, keys: &keys, status: &status, library: &library };
    let mut screen = Screen::new();
    prepare(&mut screen, &shown);
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    screen.draw(&shown, buffer.area, &mut buffer);
    buffer
}

/// The characters, a row a line.
pub(super) fn text(buffer: &Buffer) -> String {
    let rows = rows(buffer).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The styles, a letter a cell, and what each letter stands for.
pub(super) fn styles(buffer: &Buffer) -> String {
    let mut known: Vec<Style> = vec![];
    let mut grid = String::new();
    for row in rows(buffer) {
        let mut line = String::new();
        for cell in row {
            let style = cell.style();
            let place = known.iter().position(|one| *one == style).unwrap_or_else(|| {
                known.push(style);
                known.len() - 1
            });
            line.push(letter(place));
        }
        grid += line.trim_end_matches(letter(0));
        grid.push('\n');
    }
    let legend =
        known.iter().enumerate().map(|(place, style)| format!("{} {}\n", letter(place), words(style)));
    grid + &legend.collect::<String>()
}

fn rows(buffer: &Buffer) -> impl Iterator<Item = &[ratatui::buffer::Cell]> {
    buffer.content.chunks(usize::from(buffer.area.width))
}

fn letter(place: usize) -> char {
    let letters = ['.'].into_iter().chain('a'..='z').chain('A'..='Z').chain('0'..='9');
    letters.into_iter().nth(place).unwrap_or('?')
}

fn words(style: &Style) -> String {
    let colour = |colour: Option<ratatui::style::Color>| colour.map_or("-".to_owned(), |c| c.to_string());
    let modifiers = match style.add_modifier {
        modifiers if modifiers == Modifier::empty() => String::new(),
        modifiers => format!(" {modifiers:?}"),
    };
    format!("{} on {}{modifiers}", colour(style.fg), colour(style.bg))
}
