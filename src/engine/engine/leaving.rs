//! What has left without anybody saying so.

use super::Engine;
use crate::time::Moment;

impl Engine {
    /// Forgets everything of it.
    pub(super) fn let_go(&mut self, now: Moment) {
        let mut gone = self.world.let_silent_nodes_go(now);
        gone.extend(self.world.let_unlisted_gpus_go(now, &self.settings, &self.store));
        gone.iter().for_each(|gone| self.store.forget(gone));
    }
}
