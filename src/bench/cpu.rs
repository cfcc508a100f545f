//! The CPU backend: the same kernels on a pool of threads, for machines without a GPU. What it measures is the host.

pub mod arrays;
mod caches;
pub mod gemm;
mod handover;
mod host;
mod memory;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::backend::{Backend, Opened, Runnable, Trouble};
use super::kernel::KernelId;
use super::report::{DeviceState, Skipped};
use arrays::{Gather, Pass, Reduce, Streams};
use gemm::Product;
use handover::HandOver;

/// The largest set that is worked on, whatever the cache: more would only take longer to fill.
const LARGEST_SET: u64 = 256 * 1024 * 1024;

/// Threads, and the memory that bandwidth is measured over.
#[derive(Debug)]
pub(super) struct Cpu {
    pool: ThreadPool,
    set_bytes: u64,
    /// The processors' times when it was opened.
    begun: Option<host::Times>,
}

impl Cpu {
    /// Starts the threads, one for each core that this process may use. `set_bytes` is the memory to work on; without it
    /// the cache decides.
    pub(super) fn open(set_bytes: Option<u64>) -> Result<(Self, Opened), Trouble> {
        let pool = ThreadPoolBuilder::new()
            .build()
            .map_err(|error| Trouble::Failed(format!("no threads can be started: {error}")))?;
        let threads = pool.current_num_threads() as u32;
        let mut opened = host::look(threads);
        let cache = opened.conditions.cache_bytes;
        // A quarter of what is free stays far from taking what others need, and from the limit at which a container is killed.
        let largest =
            opened.conditions.memory_free_bytes.map_or(LARGEST_SET, |free| LARGEST_SET.min(free / 4));
        let set_bytes = set_bytes.unwrap_or_else(|| super::backend::set_bytes(cache, largest));
        opened.conditions.working_set_bytes = set_bytes;
        if cache.is_some_and(|cache| cache * 2 > set_bytes) {
            opened.notes.push(
                "the cache is large beside what is worked on: bandwidths are partly those of the cache"
                    .to_owned(),
            );
        }
        Ok((Self { pool, set_bytes, begun: host::times() }, opened))
    }
}

impl Backend for Cpu {
    fn lacks(&self, kernel: KernelId) -> Option<String> {
        let is_copy = matches!(
            kernel,
            KernelId::ToDevicePinned
                | KernelId::ToDevicePageable
                | KernelId::ToHostPinned
                | KernelId::ToHostPageable
        );
        is_copy.then(|| Skipped::NO_DEVICE.to_owned())
    }

    fn prepare(&self, kernel: KernelId) -> Result<Box<dyn Runnable + '_>, Trouble> {
        let pool = &self.pool;
        let floats = (self.set_bytes / 4) as usize;
        Ok(match kernel {
            KernelId::Launch | KernelId::LaunchSync | KernelId::LaunchQueue => {
                Box::new(HandOver::new(pool, kernel))
            }
            KernelId::Copy => Box::new(Streams::new(pool, Pass::Copy, floats)),
            KernelId::Triad => Box::new(Streams::new(pool, Pass::Triad, floats)),
            KernelId::Gemm => Box::new(Product::new(pool)),
            KernelId::Gather => Box::new(Gather::new(pool, floats)),
            KernelId::Reduce => Box::new(Reduce::new(pool, floats)),
            KernelId::ToDevicePinned
            | KernelId::ToDevicePageable
            | KernelId::ToHostPinned
            | KernelId::ToHostPageable => {
                return Err(Trouble::NotHere(self.lacks(kernel).unwrap_or_default()));
            }
        })
    }

    /// How busy the processors were since the threads were started, these kernels included.
    fn at_work(&self) -> DeviceState {
        host::state_since(self.begun)
    }
}
