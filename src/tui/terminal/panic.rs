//! What a panic does to the terminal: it is logged, the terminal is given back, and only then it is told.

use std::sync::Once;

use tokio::sync::Notify;

use super::modes;

/// Told of a panic anywhere, also in a task whose end nobody would notice.
static PANICKED: Notify = Notify::const_new();

/// Waits for a panic in any thread.
pub async fn panicked() {
    PANICKED.notified().await;
}

/// From here on a panic gives the terminal back before its message is written.
pub(super) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            tracing::error!("{panic}");
            modes::leave();
            usual(panic);
            PANICKED.notify_one();
        }));
    });
}
