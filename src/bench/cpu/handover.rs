//! Launches on a CPU: handing an empty task to the pool of threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::bench::backend::{GoOn, Runnable, Trouble};
use crate::bench::kernel::{KernelId, QUEUED};

/// Looks at whether a task has ended before the core is given away: some tens of microseconds.
const SPINS: u32 = 1_000;

/// Empty tasks, handed over in one of three ways.
#[derive(Debug)]
pub(super) struct HandOver<'a> {
    pool: &'a ThreadPool,
    kernel: KernelId,
    asked: u32,
    ended: Arc<AtomicU32>,
}

impl<'a> HandOver<'a> {
    pub(super) fn new(pool: &'a ThreadPool, kernel: KernelId) -> Self {
        Self { pool, kernel, asked: 0, ended: Arc::default() }
    }

    fn hand_over(&mut self) {
        self.asked = self.asked.wrapping_add(1);
        let ended = Arc::clone(&self.ended);
        self.pool.spawn(move || {
            ended.fetch_add(1, Ordering::Release);
        });
    }

    fn wait(&self) {
        // To yield at once would time what other processes do with the core. With one core there is nothing to spin for.
        let mut spins = if self.pool.current_num_threads() > 1 { SPINS } else { 0 };
        while self.ended.load(Ordering::Acquire) != self.asked {
            if spins > 0 {
                spins -= 1;
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

impl Runnable for HandOver<'_> {
    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            let begun = Instant::now();
            match self.kernel {
                KernelId::LaunchQueue => {
                    (0..QUEUED).for_each(|_| self.hand_over());
                    self.wait();
                    took += begun.elapsed() / QUEUED;
                }
                KernelId::LaunchSync => {
                    self.hand_over();
                    self.wait();
                    took += begun.elapsed();
                }
                _ => {
                    self.hand_over();
                    took += begun.elapsed();
                    self.wait();
                }
            }
        }
        Ok(took)
    }

    fn check(&mut self, _go_on: GoOn<'_>) -> Result<(), Trouble> {
        let ended = self.ended.load(Ordering::Acquire);
        if ended == self.asked {
            return Ok(());
        }
        Err(Trouble::Wrong(format!("{ended} of {} tasks ended", self.asked)))
    }
}
