//! The state in which a terminal is while it is ours, and the way back.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use crossterm::QueueableCommand;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    EnableMouseCapture,
};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, poll};

/// Whether the terminal is ours; locked by whoever writes to it, so that nothing is written after it was given back.
static IS_OURS: Mutex<bool> = Mutex::new(false);

/// How long a frame that is being written is waited for before the terminal is given back without a word.
const LONGEST_WAIT: Duration = Duration::from_millis(300);

/// Whether there is a terminal to draw on and to read keys from.
pub fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Waits until the other end of the terminal is closed.
pub async fn hung_up() {
    let (gone, is_gone) = tokio::sync::oneshot::channel();
    // A thread of its own that no runtime waits for: it stands in one system call until the end.
    let watch = move || {
        let stdin = io::stdin();
        let mut terminal = [PollFd::new(&stdin, PollFlags::empty())];
        while let Ok(0) | Err(rustix::io::Errno::INTR) = poll(&mut terminal, None) {}
        let _ = gone.send(());
    };
    if std::thread::Builder::new().name("hangup".into()).spawn(watch).is_err() || is_gone.await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Takes the terminal.
pub(super) fn enter(has_mouse: bool) -> io::Result<()> {
    let mut is_ours = IS_OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    enable_raw_mode()?;
    *is_ours = true;
    let mut out = vec![];
    out.queue(EnterAlternateScreen)?.queue(EnableBracketedPaste)?.queue(EnableFocusChange)?.queue(Hide)?;
    if has_mouse {
        out.queue(EnableMouseCapture)?;
    }
    write(&out).inspect_err(|_| {
        *is_ours = false;
        let _ = disable_raw_mode();
    })
}

/// Gives the terminal back as it was. Does nothing when it is not ours.
pub(super) fn leave() {
    let was_ours = lock_soon().map(|mut is_ours| std::mem::take(&mut *is_ours));
    if was_ours == Some(false) {
        return;
    }
    // A terminal that does not take the frame that is being written would not take this either.
    if was_ours.is_some() {
        let _ = write(&way_back());
    }
    let _ = disable_raw_mode();
}

/// Writes while the terminal is ours, and else not.
pub(super) fn write_while_ours(bytes: &[u8]) -> io::Result<()> {
    let is_ours = IS_OURS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if *is_ours { write(bytes) } else { Ok(()) }
}

fn way_back() -> Vec<u8> {
    let mut out = vec![];
    let all = |out: &mut Vec<u8>| -> io::Result<()> {
        out.queue(EndSynchronizedUpdate)?
            .queue(DisableMouseCapture)?
            .queue(DisableFocusChange)?
            .queue(DisableBracketedPaste)?
            .queue(ResetColor)?
            .queue(Show)?
            .queue(LeaveAlternateScreen)?;
        Ok(())
    };
    // A Vec takes all bytes.
    let _ = all(&mut out);
    out
}

fn lock_soon() -> Option<MutexGuard<'static, bool>> {
    let deadline = Instant::now() + LONGEST_WAIT;
    loop {
        match IS_OURS.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(guard)) => return Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
