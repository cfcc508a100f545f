//! Empty kernels: what it takes to ask for one, to wait for one, and to have many done in a row.

use std::time::{Duration, Instant};

use cudarc::driver::{DriverError, result};

use super::Gpu;
use crate::bench::backend::{GoOn, Runnable, Trouble};
use crate::bench::kernel::{KernelId, QUEUED};

/// An empty kernel, asked for in one of three ways.
pub(super) struct Launches<'a> {
    gpu: &'a Gpu,
    kernel: KernelId,
}

impl<'a> Launches<'a> {
    pub(super) fn new(gpu: &'a Gpu, kernel: KernelId) -> Result<Self, DriverError> {
        gpu.context.bind_to_thread()?;
        Ok(Self { gpu, kernel })
    }

    /// Asks by the driver's own call: the safe one asks for the thread's context each time, which would be measured too.
    fn launch(&self) -> Result<(), DriverError> {
        let (function, stream) = (self.gpu.functions.empty.cu_function(), self.gpu.stream.cu_stream());
        #[expect(unsafe_code, reason = "what is timed must be this one call")]
        // SAFETY: the function belongs to a module that lives as long as the GPU, takes no argument and touches no memory;
        // the stream is of the context that this thread is bound to.
        unsafe {
            result::launch_kernel(function, (1, 1, 1), (1, 1, 1), 0, stream, &mut [])
        }
    }
}

impl Runnable for Launches<'_> {
    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let stream = &self.gpu.stream;
        let mut took = Duration::ZERO;
        for _ in 0..times {
            match self.kernel {
                KernelId::LaunchQueue => {
                    took += self.gpu.timed(|| (0..QUEUED).try_for_each(|_| self.launch()))? / QUEUED;
                }
                KernelId::LaunchSync => {
                    let begun = Instant::now();
                    self.launch()?;
                    stream.synchronize()?;
                    took += begun.elapsed();
                }
                _ => {
                    let begun = Instant::now();
                    self.launch()?;
                    took += begun.elapsed();
                    // A full queue would make the next one wait.
                    stream.synchronize()?;
                }
            }
        }
        Ok(took)
    }

    /// An empty kernel leaves nothing; that all of them ended without an error is what can be known.
    fn check(&mut self, _go_on: GoOn<'_>) -> Result<(), Trouble> {
        Ok(self.gpu.stream.synchronize()?)
    }
}
