//! Passes over device memory: copy, triad, reduction, and rows of a table in no order.

use std::time::Duration;

use cudarc::driver::{CudaSlice, DriverError, PushKernelArg};

use super::Gpu;
use super::kernels::{BLOCK, BLOCKS, grid};
use crate::bench::backend::{GoOn, Runnable, Trouble, compare};
use crate::bench::inputs::{
    DIMENSION, LOOKUPS, PERIOD, SCALAR, check_rows, check_sum, rows_in, value, windows,
};

/// Which pass over whole arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Copy,
    Triad,
}

/// Arrays that are read and written from one end to the other.
pub(super) struct Streamed<'a> {
    gpu: &'a Gpu,
    pass: Pass,
    first: CudaSlice<f32>,
    second: Option<CudaSlice<f32>>,
    written: CudaSlice<f32>,
}

impl<'a> Streamed<'a> {
    pub(super) fn new(gpu: &'a Gpu, pass: Pass, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        let arrays = if pass == Pass::Copy { 2 } else { 3 };
        // Threads take four floats each, and an index of 32 bits is enough for the largest set.
        let length = gpu.floats / arrays / 4 * 4;
        let filled = |shift| gpu.functions.filled(&gpu.stream, length, shift, PERIOD, go_on);
        Ok(Self {
            gpu,
            pass,
            first: filled(0)?,
            second: (pass == Pass::Triad).then(|| filled(1)).transpose()?,
            written: gpu.stream.alloc_zeros(length)?,
        })
    }

    fn pass(&mut self) -> Result<(), DriverError> {
        let fours = (self.first.len() / 4) as u32;
        let functions = &self.gpu.functions;
        let function = if self.pass == Pass::Copy { &functions.copy } else { &functions.triad };
        let mut launch = self.gpu.stream.launch_builder(function);
        launch.arg(&self.first);
        if let Some(second) = &self.second {
            launch.arg(second);
        }
        launch.arg(&mut self.written);
        if self.second.is_some() {
            launch.arg(&SCALAR);
        }
        launch.arg(&fours);
        #[expect(unsafe_code, reason = "the types of a kernel's arguments cannot be checked by the compiler")]
        // SAFETY: the arguments are those that kernels.cu declares, in its order; each array has four times `fours` floats, and
        // threads beyond them do nothing.
        unsafe {
            launch.launch(grid(fours.div_ceil(BLOCK).max(1)))?;
        }
        Ok(())
    }
}

impl Runnable for Streamed<'_> {
    fn work(&self) -> f64 {
        let read = self.first.len() + self.second.as_ref().map_or(0, CudaSlice::len);
        4.0 * (read + self.written.len()) as f64
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let gpu = self.gpu;
        Ok(gpu.timed(|| (0..times).try_for_each(|_| self.pass()))?)
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        let expected = |place| match self.pass {
            Pass::Copy => value(place),
            Pass::Triad => value(place) + SCALAR * value(place + 1),
        };
        windows(self.written.len()).try_for_each(|window| {
            go_on()?;
            let found = self.gpu.stream.clone_dtoh(&self.written.slice(window.clone()))?;
            self.gpu.stream.synchronize()?;
            compare(window.start, found.into_iter(), window.map(expected), 1e-6)
        })
    }
}

/// An array that is added up.
pub(super) struct Reduced<'a> {
    gpu: &'a Gpu,
    values: CudaSlice<f32>,
    sums: CudaSlice<f32>,
}

impl<'a> Reduced<'a> {
    pub(super) fn new(gpu: &'a Gpu, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        let values = gpu.functions.filled(&gpu.stream, gpu.floats / 4 * 4, 0, PERIOD, go_on)?;
        Ok(Self { gpu, values, sums: gpu.stream.alloc_zeros(BLOCKS as usize)? })
    }

    fn pass(&mut self) -> Result<(), DriverError> {
        let fours = (self.values.len() / 4) as u32;
        let mut launch = self.gpu.stream.launch_builder(&self.gpu.functions.reduce);
        launch.arg(&self.values).arg(&mut self.sums).arg(&fours);
        #[expect(unsafe_code, reason = "the types of a kernel's arguments cannot be checked by the compiler")]
        // SAFETY: headwater_reduce reads four times `fours` floats, which the array has, and writes one float a block.
        unsafe {
            launch.launch(grid(BLOCKS))?;
        }
        Ok(())
    }
}

impl Runnable for Reduced<'_> {
    fn work(&self) -> f64 {
        4.0 * self.values.len() as f64
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let gpu = self.gpu;
        Ok(gpu.timed(|| (0..times).try_for_each(|_| self.pass()))?)
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        go_on()?;
        let sums = self.gpu.stream.clone_dtoh(&self.sums)?;
        self.gpu.stream.synchronize()?;
        check_sum(sums.iter().map(|sum| f64::from(*sum)).sum(), self.values.len())
    }
}

/// A table of which rows are looked up.
pub(super) struct Gathered<'a> {
    gpu: &'a Gpu,
    table: CudaSlice<f32>,
    found: CudaSlice<f32>,
    rows: u32,
    /// The place in the order of rows at which the next run begins, so that no run finds its rows in the cache.
    next: u32,
}

impl<'a> Gathered<'a> {
    pub(super) fn new(gpu: &'a Gpu, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        let rows = rows_in(gpu.floats);
        let table = gpu.functions.filled(&gpu.stream, rows as usize * DIMENSION, 0, PERIOD, go_on)?;
        let found = gpu.stream.alloc_zeros(LOOKUPS as usize * DIMENSION)?;
        Ok(Self { gpu, table, found, rows, next: 0 })
    }

    fn pass(&mut self) -> Result<(), DriverError> {
        let bits = (self.rows.ilog2() / 2).max(1);
        let mut launch = self.gpu.stream.launch_builder(&self.gpu.functions.gather);
        launch.arg(&self.table).arg(&mut self.found).arg(&self.rows).arg(&bits).arg(&self.next).arg(&LOOKUPS);
        #[expect(unsafe_code, reason = "the types of a kernel's arguments cannot be checked by the compiler")]
        // SAFETY: rows are taken below `rows`, a power of two of which the table has so many, and `LOOKUPS` rows are written.
        unsafe {
            launch.launch(grid(LOOKUPS / (BLOCK / 32)))?;
        }
        self.next = self.next.wrapping_add(LOOKUPS) % (1 << 30);
        Ok(())
    }
}

impl Runnable for Gathered<'_> {
    fn work(&self) -> f64 {
        // Each value of a row is read once and written once.
        8.0 * self.found.len() as f64
    }

    fn table_bytes(&self) -> Option<u64> {
        Some(4 * self.table.len() as u64)
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let gpu = self.gpu;
        Ok(gpu.timed(|| (0..times).try_for_each(|_| self.pass()))?)
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        go_on()?;
        let found = self.gpu.stream.clone_dtoh(&self.found)?;
        self.gpu.stream.synchronize()?;
        check_rows(&found, self.next.wrapping_sub(LOOKUPS), self.rows)
    }
}
