//! The loop between feed and terminal: one owner of the screen.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::{Moment, Snapshot};
use headwater_panels::kiosk::Kiosk;
use headwater_panels::screen::Notice;
use headwater_panels::{Effect, Feed as FeedState, Screen, Shown, Status};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::events::{Happening, events};
use super::feed::{Feed, Learned};
use super::look::Look;
use super::signals::{Signal, Signals};
use super::terminal::{Terminal, hung_up, panicked};
use crate::sources::now;

/// The least time between two frames that nobody pressed a key for.
const FRAME: Duration = Duration::from_millis(100);

/// When nothing comes any more, what is shown grows old all the same and says so this often; a little longer than the
/// time between two snapshots, so that the clock draws no second frame beside each of them.
const CLOCK: Duration = Duration::from_millis(1_200);

/// What is drawn and takes keys: the screen, or a kiosk.
pub trait Face {
    /// Takes what the operator did, and says what is to be done for it.
    fn take(&mut self, happening: Happening, shown: &Shown<'_>) -> Vec<Effect>;

    /// Draws itself; says where the cursor belongs while text is typed.
    fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position>;

    /// Tells a line.
    fn say(&mut self, notice: Notice);

    /// The snapshot that is shown instead of the newest, if any.
    fn held(&self) -> Option<Arc<Snapshot>> {
        None
    }
}

impl Face for Screen {
    fn take(&mut self, happening: Happening, shown: &Shown<'_>) -> Vec<Effect> {
        match happening {
            Happening::Press(stroke) => self.press(stroke, shown),
            Happening::Paste(text) => self.paste(&text, shown),
            Happening::Click(at) => self.click(at, shown),
            Happening::Wheel { is_up } => self.wheel(is_up, shown),
            Happening::Focus => vec![],
        }
    }

    fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        Screen::draw(self, shown, area, buffer);
        self.cursor()
    }

    fn say(&mut self, notice: Notice) {
        self.tell(notice);
    }

    fn held(&self) -> Option<Arc<Snapshot>> {
        Screen::held(self).cloned()
    }
}

impl Face for Kiosk {
    fn take(&mut self, happening: Happening, shown: &Shown<'_>) -> Vec<Effect> {
        match happening {
            Happening::Press(stroke) => self.press(stroke, shown.keys),
            _ => vec![],
        }
    }

    fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        Kiosk::draw(self, shown, area, buffer);
        None
    }

    /// Nobody stands there who could have done something; it is in the log.
    fn say(&mut self, notice: Notice) {
        tracing::warn!("{}", notice.text);
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// The operator wanted to.
    Quit,
    /// A signal asked for it.
    Terminated,
    /// The terminal is closed or cannot be written.
    TerminalGone,
    /// Something panicked; it was told.
    Panicked,
}

/// What is left when the loop has ended and the terminal is as it was.
#[derive(Debug)]
pub struct Ended {
    /// Why.
    pub leave: Leave,
    /// The newest snapshot, `None` when there was none.
    pub last: Option<Arc<Snapshot>>,
    /// Healthy values of the run.
    pub learned: Learned,
}

/// Shows a feed until somebody wants to leave. Fails when the terminal cannot be taken; the feed is ended in any case.
pub async fn run(face: impl Face, feed: Feed, look: Look, has_mouse: bool) -> io::Result<Ended> {
    let (leave, feed) = match open(face, feed, look, has_mouse) {
        Ok(mut run) => {
            let leave = run.until_left().await;
            let Run { feed, terminal, .. } = run;
            // Given back before the feed is ended: that may take a moment.
            drop(terminal);
            (leave, feed)
        }
        Err((error, feed)) => {
            feed.stop().await;
            return Err(error);
        }
    };
    let last = feed.snapshots.borrow().clone();
    let learned = feed.stop().await;
    Ok(Ended { leave, last, learned })
}

pub(super) struct Run<F> {
    pub(super) face: F,
    pub(super) feed: Feed,
    pub(super) terminal: Terminal,
    pub(super) look: Look,
    pub(super) status: Status,
    pub(super) signals: Signals,
    happenings: mpsc::Receiver<io::Result<Happening>>,
    /// What became of effects that took their time.
    pub(super) results: (mpsc::UnboundedSender<Notice>, mpsc::UnboundedReceiver<Notice>),
    drawn: Instant,
    /// When the next frame is due.
    due: Instant,
}

fn open<F: Face>(face: F, feed: Feed, look: Look, has_mouse: bool) -> Result<Run<F>, (io::Error, Feed)> {
    // Signals first: a size that changes after it was asked for is told.
    let opened = Signals::new().and_then(|signals| Ok((signals, Terminal::open(has_mouse)?, events()?)));
    match opened {
        Err(error) => Err((error, feed)),
        Ok((signals, terminal, happenings)) => {
            let now = Instant::now();
            let status = Status { theme: look.theme().to_owned(), has_mouse, ..feed.status.borrow().clone() };
            let results = mpsc::unbounded_channel();
            Ok(Run { face, feed, terminal, look, status, signals, happenings, results, drawn: now, due: now })
        }
    }
}

/// What woke the loop.
enum Woken {
    Signal(Signal),
    Happening(Option<io::Result<Happening>>),
    Written(io::Result<()>),
    Data(bool),
    Notice(Notice),
    Due,
    Leave(Leave),
}

impl<F: Face> Run<F> {
    async fn until_left(&mut self) -> Leave {
        let mut hung_up = std::pin::pin!(hung_up());
        let mut panicked = std::pin::pin!(panicked());
        loop {
            let is_busy = self.terminal.is_busy();
            let feed = &mut self.feed;
            let woken = tokio::select! {
                biased;
                () = &mut panicked => Woken::Leave(Leave::Panicked),
                () = &mut hung_up => Woken::Leave(Leave::TerminalGone),
                signal = self.signals.next() => Woken::Signal(signal),
                happening = self.happenings.recv() => Woken::Happening(happening),
                written = self.terminal.written() => Woken::Written(written),
                changed = feed.snapshots.changed() => Woken::Data(changed.is_ok()),
                changed = feed.status.changed() => Woken::Data(changed.is_ok()),
                Some(notice) = feed.notices.recv() => Woken::Notice(notice),
                Some(notice) = self.results.1.recv() => Woken::Notice(notice),
                () = until(self.due, is_busy) => Woken::Due,
            };
            let left = match woken {
                Woken::Leave(leave) => Some(leave),
                Woken::Signal(signal) => self.heed(signal),
                Woken::Happening(Some(Ok(happening))) => self.take(happening).await,
                Woken::Happening(_) | Woken::Written(Err(_)) => Some(Leave::TerminalGone),
                Woken::Written(Ok(())) => None,
                // The feed has ended by itself, which only a panic makes it do.
                Woken::Data(false) => Some(Leave::Panicked),
                Woken::Data(true) => {
                    self.due = self.due.min(self.drawn + FRAME);
                    None
                }
                Woken::Notice(notice) => {
                    self.face.say(notice);
                    self.due = Instant::now();
                    None
                }
                Woken::Due => self.draw().err().map(|_| Leave::TerminalGone),
            };
            if let Some(leave) = left {
                return leave;
            }
        }
    }

    fn heed(&mut self, signal: Signal) -> Option<Leave> {
        match signal {
            Signal::Terminate => Some(Leave::Terminated),
            Signal::HangUp => Some(Leave::TerminalGone),
            // Whoever let the process go on may have used the terminal in between.
            Signal::Continue => self.take_again(),
            Signal::Resize => {
                self.due = Instant::now();
                self.terminal.resize().err().map(|_| Leave::TerminalGone)
            }
        }
    }

    pub(super) fn take_again(&mut self) -> Option<Leave> {
        self.due = Instant::now();
        self.terminal.take_again().err().map(|_| Leave::TerminalGone)
    }

    async fn take(&mut self, happening: Happening) -> Option<Leave> {
        self.due = Instant::now();
        if happening == Happening::Focus {
            // What others wrote over the screen meanwhile is wiped away.
            self.terminal.forget();
        }
        let effects = self.with_shown(|face, shown| face.take(happening, shown));
        for effect in effects {
            if let Some(leave) = self.perform(effect).await {
                return Some(leave);
            }
        }
        None
    }

    fn draw(&mut self) -> io::Result<()> {
        self.drawn = Instant::now();
        self.due = self.drawn + CLOCK;
        let Self { face, terminal, feed, look, status, .. } = self;
        take_status(status, feed);
        let newest = feed.snapshots.borrow_and_update().clone();
        let shown = shown(newest.as_ref(), look, status);
        terminal.draw(|area, buffer| face.draw(&shown, area, buffer))
    }

    fn with_shown<T>(&mut self, act: impl FnOnce(&mut F, &Shown<'_>) -> T) -> T {
        take_status(&mut self.status, &self.feed);
        let newest = self.feed.snapshots.borrow().clone();
        act(&mut self.face, &shown(newest.as_ref(), &self.look, &self.status))
    }
}

/// Takes over what the feed says of itself.
fn take_status(status: &mut Status, feed: &Feed) {
    let (theme, has_mouse) = (std::mem::take(&mut status.theme), status.has_mouse);
    *status = Status { theme, has_mouse, ..feed.status.borrow().clone() };
}

fn shown<'a>(newest: Option<&'a Arc<Snapshot>>, look: &'a Look, status: &'a Status) -> Shown<'a> {
    Shown {
        newest,
        now: time(newest.map(Arc::as_ref), status),
        palette: look.palette(),
        keys: look.keys(),
        status,
        library: look.library(),
    }
}

/// What the time is where the feed is: in a recording it stands still with it.
pub(super) fn time(newest: Option<&Snapshot>, status: &Status) -> Moment {
    match status.feed {
        FeedState::Live { .. } => now(),
        FeedState::Replay { from, .. } => newest.map_or(from, |snapshot| snapshot.at),
    }
}

/// Waits until a frame is due; for ever while the last one is still on its way.
async fn until(due: Instant, is_busy: bool) {
    if is_busy { pending().await } else { tokio::time::sleep_until(due).await }
}
