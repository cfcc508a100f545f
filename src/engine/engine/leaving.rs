//! What has left without anybody saying so.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::Engine;
use crate::findings::State;
use crate::metric::GPU_PROCESS_MEMORY;
use crate::subject::{Kind, Subject};
use crate::time::Moment;
use crate::world::GPU_LEAVES_AFTER;

/// The rule that only says that nobody tells of a GPU any more: for ever, if the GPU were kept for it.
const SILENCE: &str = "gpu-silent";

impl Engine {
    /// Forgets everything of it. While callers suffer, and shortly after, a GPU that is listed no more may be why, and so may one
    /// of which a rule says more than that.
    pub(super) fn let_go(&mut self, now: Moment) {
        self.world.forget_former_names();
        let mut gone = self.world.let_silent_nodes_go(now);
        let is_incident = self.symptom_seen.is_some_and(|seen| now.since(seen) <= GPU_LEAVES_AFTER);
        let accused = LazyCell::new(|| {
            let firing = self.findings.iter().filter(|finding| finding.state == State::Firing);
            let of_gpus =
                firing.filter(|finding| finding.subject.kind() == Kind::Gpu && finding.rule.id != SILENCE);
            of_gpus.map(|finding| &finding.subject).collect::<BTreeSet<&Subject>>()
        });
        let is_held =
            |gpu: &Subject| is_incident || accused.contains(gpu) || accused.contains(&gpu.component_of());
        gone.extend(self.world.let_unlisted_gpus_go(now, &self.settings, &self.store, is_held));
        gone.iter().for_each(|gone| self.store.forget(gone));
        for (gpu, processes) in self.world.let_ended_processes_go(now) {
            self.store.forget_parts(&gpu, GPU_PROCESS_MEMORY, &processes);
        }
    }
}
