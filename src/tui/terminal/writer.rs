//! The thread that writes to the terminal, one piece at a time.

use std::io;

use tokio::sync::mpsc;

use super::modes;

/// The writing end.
#[derive(Debug)]
pub(super) struct Writer {
    buffer: Vec<u8>,
    pieces: mpsc::UnboundedSender<Vec<u8>>,
    written: mpsc::UnboundedReceiver<io::Result<Vec<u8>>>,
    /// Pieces on their way; a frame is only drawn when there is none, so there are never many.
    waiting: usize,
}

impl Writer {
    pub(super) fn start() -> io::Result<Self> {
        let (pieces, mut to_write) = mpsc::unbounded_channel::<Vec<u8>>();
        let (done, written) = mpsc::unbounded_channel();
        let work = move || {
            while let Some(mut piece) = to_write.blocking_recv() {
                let result = modes::write_while_ours(&piece).map(|()| {
                    piece.clear();
                    piece
                });
                if done.send(result).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("terminal".into()).spawn(work)?;
        Ok(Self { buffer: vec![], pieces, written, waiting: 0 })
    }

    /// Where the next piece is put together.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Sends what was put together.
    pub(super) fn send(&mut self) {
        // Without the thread nothing is waited for: its error was told.
        if self.pieces.send(std::mem::take(&mut self.buffer)).is_ok() {
            self.waiting += 1;
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.waiting > 0
    }

    /// Waits until one piece is written; for ever when none is on its way.
    pub(super) async fn written(&mut self) -> io::Result<()> {
        if self.waiting == 0 {
            return std::future::pending().await;
        }
        let result = self.written.recv().await;
        self.waiting -= 1;
        let piece = result.unwrap_or_else(|| Err(io::Error::other("the terminal's writer has ended")))?;
        // The room is used again, unless something is being put together already.
        if self.buffer.is_empty() && self.waiting == 0 {
            self.buffer = piece;
        }
        Ok(())
    }
}
