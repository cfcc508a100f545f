//! The terminal: taken, drawn on, and given back as it was, whatever ends the process.
//!
//! A frame is the difference to the one before, written in one piece by a thread of its own: a terminal that does not
//! take what is sent, as over a stuck link, delays neither keys nor signals. While it is busy nothing is drawn.

mod modes;
mod panic;
mod writer;

use std::io;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use crossterm::{QueueableCommand, event};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

pub use modes::{hung_up, is_terminal};
pub use panic::panicked;
use writer::Writer;

/// A terminal that is ours until it is dropped.
#[derive(Debug)]
pub struct Terminal {
    /// What it shows now, as far as was sent.
    shown: Buffer,
    /// What is being drawn.
    next: Buffer,
    cursor: Option<Position>,
    /// Whether what it shows is not known: all of it is sent.
    is_unknown: bool,
    has_mouse: bool,
    writer: Writer,
}

impl Terminal {
    /// Takes the terminal of standard input and output, and the mouse when it is wanted.
    pub fn open(has_mouse: bool) -> io::Result<Self> {
        let (width, height) = crossterm::terminal::size()?;
        panic::install_hook();
        // The theme obeys NO_COLOR. crossterm would too: it leaves out colours and keeps the sequence that they stood in,
        // which resets bold and reversed.
        crossterm::style::force_color_output(true);
        // Before the terminal is taken: without it nobody could give it back.
        let writer = Writer::start()?;
        modes::enter(has_mouse)?;
        let area = Rect::new(0, 0, width, height);
        Ok(Self {
            shown: Buffer::empty(area),
            next: Buffer::empty(area),
            cursor: None,
            is_unknown: true,
            has_mouse,
            writer,
        })
    }

    /// Takes the size that the terminal has now; all of it is drawn anew.
    pub fn resize(&mut self) -> io::Result<()> {
        let (width, height) = crossterm::terminal::size()?;
        self.next = Buffer::empty(Rect::new(0, 0, width, height));
        self.is_unknown = true;
        Ok(())
    }

    /// Has everything sent with the next frame, whatever is shown already.
    pub fn forget(&mut self) {
        self.is_unknown = true;
    }

    /// Whether what was sent last is still on its way; until [`Terminal::written`] nothing can be drawn.
    pub fn is_busy(&self) -> bool {
        self.writer.is_busy()
    }

    /// Waits until what was sent is written. May be dropped while it waits.
    pub async fn written(&mut self) -> io::Result<()> {
        self.writer.written().await
    }

    /// Draws a frame and sends what differs from the last one; nothing when nothing does. `draw` says where the cursor
    /// belongs, if anywhere.
    pub fn draw(&mut self, draw: impl FnOnce(Rect, &mut Buffer) -> Option<Position>) -> io::Result<()> {
        self.next.reset();
        let area = self.next.area;
        let cursor = draw(area, &mut self.next).filter(|at| area.contains(*at));
        if self.is_unknown {
            self.shown = Buffer::empty(area);
        }
        let changes = self.shown.diff(&self.next);
        if changes.is_empty() && cursor == self.cursor && !self.is_unknown {
            return Ok(());
        }
        let mut frame = CrosstermBackend::new(self.writer.buffer());
        frame.queue(BeginSynchronizedUpdate)?;
        if self.is_unknown {
            frame.queue(Clear(ClearType::All))?;
        }
        // Before cells are sent, so that the cursor is not seen to run over them.
        if self.cursor.is_some() || self.is_unknown {
            frame.queue(Hide)?;
        }
        if !changes.is_empty() {
            frame.draw(changes.into_iter())?;
        }
        if let Some(Position { x, y }) = cursor {
            frame.queue(MoveTo(x, y))?.queue(Show)?;
        }
        frame.queue(EndSynchronizedUpdate)?;
        self.writer.send();
        std::mem::swap(&mut self.shown, &mut self.next);
        self.next.resize(area);
        self.cursor = cursor;
        self.is_unknown = false;
        Ok(())
    }

    /// Sends something that is no frame.
    pub fn send(&mut self, command: &impl crossterm::Command) -> io::Result<()> {
        self.writer.buffer().queue(command)?;
        self.writer.send();
        Ok(())
    }

    /// Takes the mouse, or gives it back so that text can be selected.
    pub fn take_mouse(&mut self, has_mouse: bool) -> io::Result<()> {
        self.has_mouse = has_mouse;
        if has_mouse { self.send(&event::EnableMouseCapture) } else { self.send(&event::DisableMouseCapture) }
    }

    /// Gives the terminal back for a while.
    pub fn leave(&mut self) {
        modes::leave();
    }

    /// Takes the terminal again, after [`Terminal::leave`] or after the process stood still: whatever was done with it
    /// in between.
    pub fn take_again(&mut self) -> io::Result<()> {
        modes::leave();
        modes::enter(self.has_mouse)?;
        self.resize()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        modes::leave();
    }
}
