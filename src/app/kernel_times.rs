//! Kernels that are timed once, because somebody asks for it.

use headwater_engine::Subject;
use tokio::task::JoinHandle;

use super::App;
use crate::bench::plan::USUAL_BUDGET;
use crate::bench::{BackendChoice, Plan};
use crate::sources::canary::time_once;

impl App {
    /// Times kernels once: on this GPU, or on what the configuration names, else on the first GPU or the CPU. What it came to, in
    /// one line, and whether that is bad; or why it cannot be done now.
    pub fn time_kernels(&self, gpu: Option<&Subject>) -> Result<JoinHandle<(String, bool)>, String> {
        let mut spec = self.canary.clone();
        // Somebody waits for it: all kernels, and more time for each than the canary takes by itself.
        spec.plan = Plan {
            program: spec.plan.program,
            set_bytes: spec.plan.set_bytes,
            is_forced: spec.plan.is_forced,
            ..Plan::new(spec.plan.backend, USUAL_BUDGET)
        };
        if let Some(gpu) = gpu {
            spec.devices = vec![spec.place_to_time(gpu)?];
            spec.plan.backend = BackendChoice::Cuda;
        }
        time_once(spec, &self.turn, self.outlet.clone())
            .ok_or_else(|| "kernels are being timed already: wait for the result".to_owned())
    }
}
