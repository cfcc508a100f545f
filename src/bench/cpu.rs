//! The CPU backend: the same kernels on a pool of threads, for machines without a GPU. What it measures is the host.

pub mod arrays;
mod caches;
pub mod gemm;
mod handover;
mod host;
mod memory;

use std::cell::Cell;
use std::time::Duration;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::backend::{Backend, GoOn, Opened, Runnable, Trouble, fitting};
use super::inputs::value;
use super::kernel::KernelId;
use super::report::{DeviceState, Skipped};
use arrays::{Gather, PART, Pass, Reduce, Streams, filled, piece};
use gemm::Product;
use handover::HandOver;

/// The largest set that is worked on, whatever the cache: more would only take longer to fill.
const LARGEST_SET: u64 = 256 * 1024 * 1024;

/// Threads, and the memory that bandwidth is measured over.
#[derive(Debug)]
pub(super) struct Cpu {
    pool: ThreadPool,
    set_bytes: Cell<u64>,
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
        Ok((Self { pool, set_bytes: Cell::new(set_bytes), begun: host::times() }, opened))
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

    /// By a part of the set, of which is filled what an eighth of the time is enough for.
    fn fit(&self, within: Duration, elapsed: &dyn Fn() -> Duration) -> Option<(u64, u64)> {
        let wanted = self.set_bytes.get();
        let (begun, pieces) = (elapsed(), Cell::new(0));
        let spent = || elapsed().saturating_sub(begun);
        let part = wanted as usize / 4 / PART;
        let ended = filled(&self.pool, part, value, &|| {
            if pieces.get() > 0 && spent() > within / 8 {
                return Err(Trouble::Late(String::new()));
            }
            pieces.set(pieces.get() + 1);
            Ok(())
        });
        let took = spent();
        drop(ended);
        let done = part.min(pieces.get() * piece(&self.pool));
        let taken = fitting(wanted, (4 * done as u64, took), within);
        self.set_bytes.set(taken);
        (taken < wanted).then_some((taken, wanted))
    }

    fn prepare(&self, kernel: KernelId, go_on: GoOn<'_>) -> Result<Box<dyn Runnable + '_>, Trouble> {
        let pool = &self.pool;
        let floats = (self.set_bytes.get() / 4) as usize;
        Ok(match kernel {
            KernelId::Launch | KernelId::LaunchSync | KernelId::LaunchQueue => {
                Box::new(HandOver::new(pool, kernel))
            }
            KernelId::Copy => Box::new(Streams::new(pool, Pass::Copy, floats, go_on)?),
            KernelId::Triad => Box::new(Streams::new(pool, Pass::Triad, floats, go_on)?),
            KernelId::Gemm => Box::new(Product::new(pool)),
            KernelId::Gather => Box::new(Gather::new(pool, floats, go_on)?),
            KernelId::Reduce => Box::new(Reduce::new(pool, floats, go_on)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_memory_is_taken_where_filling_all_of_it_would_take_too_long() {
        const MIB: u64 = 1 << 20;
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let cpu = Cpu { pool, set_bytes: Cell::new(64 * MIB), begun: None };
        // Filling two mebibytes, a piece of two threads, takes eight milliseconds.
        let clock = Cell::new(0);
        let elapsed = || {
            clock.set(clock.get() + 1);
            Duration::from_millis(8 * (clock.get() - 1))
        };
        let fit = |within| {
            clock.set(0);
            cpu.fit(Duration::from_millis(within), &elapsed)
        };
        assert_eq!((fit(1_000), cpu.set_bytes.get()), (None, 64 * MIB));
        assert_eq!((fit(150), cpu.set_bytes.get()), (Some((32 * MIB, 64 * MIB)), 32 * MIB));
        // Kernels then work on what was taken.
        let copy = cpu.prepare(KernelId::Copy, &|| Ok(())).unwrap();
        assert_eq!(copy.work(), (32 * MIB) as f64);
        assert_eq!((fit(1), cpu.set_bytes.get()), (Some((4 * MIB, 32 * MIB)), 4 * MIB));
        // What is begun ends where there is no more time.
        let late = || Err(Trouble::Late("too late".to_owned()));
        for kernel in [KernelId::Copy, KernelId::Triad, KernelId::Reduce, KernelId::Gather] {
            assert_eq!(cpu.prepare(kernel, &late).err(), late().err(), "{kernel:?}");
        }
    }
}
