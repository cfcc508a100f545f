//! What comes in from the terminal, in the words of the panels.

use std::io;

use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use headwater_panels::{Key, Stroke};
use ratatui::layout::Position;
use tokio::sync::mpsc;

/// Events that may wait for the loop.
const WAITING: usize = 256;

/// Something that the operator or the terminal did.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// A key was pressed.
    Press(Stroke),
    /// A text was pasted.
    Paste(String),
    /// The mouse was clicked on a cell.
    Click(Position),
    /// The wheel was turned by a notch.
    Wheel {
        /// Whether upwards.
        is_up: bool,
    },
    /// The terminal is looked at again.
    Focus,
}

/// Reads events from now on. The thread ends with the process: what reads the terminal stands in a system call that
/// nothing else can end, and when the terminal is closed it never comes back.
pub fn events() -> io::Result<mpsc::Receiver<io::Result<Happening>>> {
    let (send, events) = mpsc::channel(WAITING);
    let read = move || loop {
        let happening = match crossterm::event::read() {
            Ok(event) => happening(event).map(Ok),
            Err(error) => Some(Err(error)),
        };
        let is_last = matches!(happening, Some(Err(_)));
        if let Some(happening) = happening
            && (send.blocking_send(happening).is_err() || is_last)
        {
            return;
        }
    };
    std::thread::Builder::new().name("keys".into()).spawn(read)?;
    Ok(events)
}

/// What an event means here; `None` for what means nothing, such as a key that is let go.
pub fn happening(event: Event) -> Option<Happening> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => stroke(key).map(Happening::Press),
        Event::Paste(text) => Some(Happening::Paste(text)),
        Event::Mouse(MouseEvent { kind, column, row, .. }) => match kind {
            MouseEventKind::Down(MouseButton::Left) => Some(Happening::Click(Position::new(column, row))),
            MouseEventKind::ScrollUp => Some(Happening::Wheel { is_up: true }),
            MouseEventKind::ScrollDown => Some(Happening::Wheel { is_up: false }),
            _ => None,
        },
        Event::FocusGained => Some(Happening::Focus),
        // Another size is a signal, which is listened for from before the first size is asked for.
        Event::FocusLost | Event::Resize(..) => None,
    }
}

fn stroke(event: KeyEvent) -> Option<Stroke> {
    let mut shift = event.modifiers.contains(KeyModifiers::SHIFT);
    let key = match event.code {
        KeyCode::Char(character) => Key::Char(character),
        KeyCode::F(number) => Key::F(number),
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Enter => Key::Enter,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => {
            shift = true;
            Key::Tab
        }
        KeyCode::Delete => Key::Delete,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Esc => Key::Esc,
        _ => return None,
    };
    let (ctrl, alt) =
        (event.modifiers.contains(KeyModifiers::CONTROL), event.modifiers.contains(KeyModifiers::ALT));
    Some(Stroke { key, ctrl, alt, shift }.normal())
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEventState;

    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers, kind: KeyEventKind) -> Option<String> {
        let event = Event::Key(KeyEvent { code, modifiers, kind, state: KeyEventState::NONE });
        happening(event).map(|happening| match happening {
            Happening::Press(stroke) => stroke.to_string(),
            other => format!("{other:?}"),
        })
    }

    #[test]
    fn keys_are_those_that_a_keymap_names() {
        for (code, modifiers, written) in [
            (KeyCode::Char('q'), KeyModifiers::NONE, "q"),
            (KeyCode::Char('S'), KeyModifiers::SHIFT, "S"),
            (KeyCode::Char('c'), KeyModifiers::CONTROL, "ctrl-c"),
            (KeyCode::BackTab, KeyModifiers::SHIFT, "shift-tab"),
            (KeyCode::BackTab, KeyModifiers::NONE, "shift-tab"),
            (KeyCode::F(1), KeyModifiers::NONE, "f1"),
            (KeyCode::Esc, KeyModifiers::NONE, "esc"),
            (KeyCode::Char('x'), KeyModifiers::ALT, "alt-x"),
        ] {
            assert_eq!(pressed(code, modifiers, KeyEventKind::Press).as_deref(), Some(written));
            assert_eq!(pressed(code, modifiers, KeyEventKind::Repeat).as_deref(), Some(written));
            assert_eq!(pressed(code, modifiers, KeyEventKind::Release), None);
        }
        assert_eq!(pressed(KeyCode::CapsLock, KeyModifiers::NONE, KeyEventKind::Press), None);
    }

    #[test]
    fn only_the_left_button_and_the_wheel_of_a_mouse_mean_something() {
        let mouse = |kind| {
            happening(Event::Mouse(MouseEvent { kind, column: 7, row: 3, modifiers: KeyModifiers::NONE }))
        };
        assert_eq!(
            mouse(MouseEventKind::Down(MouseButton::Left)),
            Some(Happening::Click(Position::new(7, 3)))
        );
        assert_eq!(mouse(MouseEventKind::ScrollUp), Some(Happening::Wheel { is_up: true }));
        assert_eq!(mouse(MouseEventKind::Up(MouseButton::Left)), None);
        assert_eq!(mouse(MouseEventKind::Moved), None);
    }
}
