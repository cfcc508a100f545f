//! The operator's hold on a scan or a search: it stands still for as long as it lasts.

use tokio::sync::watch;

/// The hold on one scan or search. Without a handle there is nobody who could let it go on: then nothing holds it.
#[derive(Clone, Debug)]
pub(super) struct Hold(watch::Receiver<bool>);

impl Hold {
    /// The hold that a handle has: it is on while the handle says `true`.
    pub(super) fn new(paused: watch::Receiver<bool>) -> Self {
        Self(paused)
    }

    /// Whether it is on.
    pub(super) fn is_on(&self) -> bool {
        *self.0.borrow() && self.0.has_changed().is_ok()
    }

    /// Waits until it is on, without a handle for ever.
    pub(super) async fn begins(&self) {
        if self.0.clone().wait_for(|is_paused| *is_paused).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until it is off.
    pub(super) async fn ends(&self) {
        // An error: the handle is gone.
        let _ = self.0.clone().wait_for(|is_paused| !is_paused).await;
    }
}
