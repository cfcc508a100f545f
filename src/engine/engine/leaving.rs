//! What has left without anybody saying so.

use super::Engine;
use crate::metric::GPU_PROCESS_MEMORY;
use crate::time::Moment;

impl Engine {
    /// Forgets everything of it.
    pub(super) fn let_go(&mut self, now: Moment) {
        let mut gone = self.world.let_silent_nodes_go(now);
        gone.extend(self.world.let_unlisted_gpus_go(now, &self.settings, &self.store));
        gone.iter().for_each(|gone| self.store.forget(gone));
        for (gpu, processes) in self.world.let_ended_processes_go(now) {
            self.store.forget_parts(&gpu, GPU_PROCESS_MEMORY, &processes);
        }
    }
}
