//! What the system and the shell tell the process.

use std::io;

use tokio::signal::unix::{self, SignalKind};

/// A signal that the screen heeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The process should end: SIGTERM, SIGINT or SIGQUIT; ctrl-c is a key and no signal while the terminal is ours.
    Terminate,
    /// The terminal is gone.
    HangUp,
    /// The process stood still and goes on.
    Continue,
    /// The terminal has another size.
    Resize,
}

/// Every signal that ends the process, lets it go on, or tells of the terminal. One that stops it from outside is not
/// heard: the screen is drawn anew when it goes on.
#[derive(Debug)]
pub struct Signals {
    terminate: unix::Signal,
    interrupt: unix::Signal,
    quit: unix::Signal,
    hang_up: unix::Signal,
    go_on: unix::Signal,
    resize: unix::Signal,
}

/// SIGCONT, which has no name in tokio.
const CONTINUE: i32 = rustix::process::Signal::CONT.as_raw();

impl Signals {
    /// Listens from now on. Must be called within a tokio runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            quit: unix::signal(SignalKind::quit())?,
            hang_up: unix::signal(SignalKind::hangup())?,
            go_on: unix::signal(SignalKind::from_raw(CONTINUE))?,
            resize: unix::signal(SignalKind::window_change())?,
        })
    }

    /// Waits for the next one. May be dropped while it waits.
    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Terminate,
            _ = self.interrupt.recv() => Signal::Terminate,
            _ = self.quit.recv() => Signal::Terminate,
            _ = self.hang_up.recv() => Signal::HangUp,
            _ = self.go_on.recv() => Signal::Continue,
            _ = self.resize.recv() => Signal::Resize,
        }
    }

    /// Waits until the process goes on after it stood still.
    pub async fn gone_on(&mut self) {
        self.go_on.recv().await;
    }
}
