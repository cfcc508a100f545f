//! Copies between the host and the device.

use std::time::{Duration, Instant};

use cudarc::driver::{CudaSlice, DriverError, PinnedHostSlice};

use super::Gpu;
use crate::bench::backend::{GoOn, Runnable, Trouble, compare};
use crate::bench::inputs::{PERIOD, value, windows};

/// Floats in one copy: 16 MiB, long enough that starting it does not count.
const LENGTH: usize = 4 * 1024 * 1024;

/// Floats of the host's array that are filled between two looks at the time.
const PIECE: usize = 256 * 1024;

/// The way of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ToDevice,
    ToHost,
}

/// The sort of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host {
    Pinned,
    Pageable,
}

enum Memory {
    Pinned(PinnedHostSlice<f32>),
    Pageable(Vec<f32>),
}

/// One array on the host and one on the device.
pub(super) struct Transfer<'a> {
    gpu: &'a Gpu,
    way: Way,
    host: Memory,
    device: CudaSlice<f32>,
}

impl<'a> Transfer<'a> {
    pub(super) fn new(gpu: &'a Gpu, way: Way, host: Host, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        go_on()?;
        let length = LENGTH.min(gpu.floats);
        let mut host = match host {
            Host::Pageable => Memory::Pageable(vec![0.0; length]),
            Host::Pinned => {
                #[expect(unsafe_code, reason = "page-locked memory comes uninitialised")]
                // SAFETY: every value is written below, before any is read. No flag: the CPU reads this memory too, and
                // write-combined memory is slow to read.
                let memory = unsafe { gpu.context.alloc_pinned_with_flags::<f32>(length, 0) }?;
                Memory::Pinned(memory)
            }
        };
        let (values, device) = match way {
            Way::ToDevice => (true, gpu.stream.alloc_zeros(length)?),
            Way::ToHost => (false, gpu.functions.filled(&gpu.stream, length, 0, PERIOD, go_on)?),
        };
        let slice = match &mut host {
            Memory::Pinned(memory) => memory.as_mut_slice()?,
            Memory::Pageable(memory) => memory,
        };
        for (number, piece) in slice.chunks_mut(PIECE).enumerate() {
            go_on()?;
            for (place, written) in piece.iter_mut().enumerate() {
                *written = if values { value(number * PIECE + place) } else { 0.0 };
            }
        }
        Ok(Self { gpu, way, host, device })
    }

    fn copy(&mut self) -> Result<(), DriverError> {
        let stream = &self.gpu.stream;
        match (self.way, &mut self.host) {
            (Way::ToDevice, Memory::Pinned(host)) => stream.memcpy_htod(host, &mut self.device),
            (Way::ToDevice, Memory::Pageable(host)) => stream.memcpy_htod(host, &mut self.device),
            (Way::ToHost, Memory::Pinned(host)) => stream.memcpy_dtoh(&self.device, host),
            (Way::ToHost, Memory::Pageable(host)) => stream.memcpy_dtoh(&self.device, host),
        }
    }
}

impl Runnable for Transfer<'_> {
    fn work(&self) -> f64 {
        4.0 * self.device.len() as f64
    }

    /// By the host's clock: of a copy from plain memory the host does a part itself, which the device does not see.
    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        self.gpu.stream.synchronize()?;
        let begun = Instant::now();
        for _ in 0..times {
            self.copy()?;
        }
        self.gpu.stream.synchronize()?;
        Ok(begun.elapsed())
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        let (gpu, device, host) = (self.gpu, &self.device, &self.host);
        windows(device.len()).try_for_each(|window| {
            go_on()?;
            let expected = window.clone().map(value);
            match (self.way, host) {
                (Way::ToDevice, _) => {
                    let arrived = gpu.stream.clone_dtoh(&device.slice(window.clone()))?;
                    gpu.stream.synchronize()?;
                    compare(window.start, arrived.into_iter(), expected, 0.0)
                }
                (Way::ToHost, Memory::Pinned(arrived)) => {
                    compare(window.start, arrived.as_slice()?[window].iter().copied(), expected, 0.0)
                }
                (Way::ToHost, Memory::Pageable(arrived)) => {
                    compare(window.start, arrived[window].iter().copied(), expected, 0.0)
                }
            }
        })
    }
}
