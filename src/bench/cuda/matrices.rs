//! A matrix product by our own tiled kernel.

use std::time::Duration;

use cudarc::driver::{CudaSlice, DriverError, LaunchConfig, PushKernelArg};

use super::Gpu;
use super::kernels::BLOCK;
use crate::bench::backend::{GoOn, Runnable, Trouble, compare};
use crate::bench::inputs::{PERIODS, cells_to_check, product};

/// Rows and columns of the matrices where there are many multiprocessors, and where there are few.
const SIZES: (u32, u32) = (2_048, 512);

/// From so many multiprocessors on the large matrices give each of them enough tiles.
const MANY: u32 = 32;

/// Rows and columns of the tile that one block computes.
const TILE: u32 = 64;

/// Matrices that are multiplied.
pub(super) struct Matrices<'a> {
    gpu: &'a Gpu,
    size: u32,
    left: CudaSlice<f32>,
    right: CudaSlice<f32>,
    out: CudaSlice<f32>,
}

impl<'a> Matrices<'a> {
    pub(super) fn new(gpu: &'a Gpu, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        let size = if gpu.multiprocessors >= MANY { SIZES.0 } else { SIZES.1 };
        let cells = size as usize * size as usize;
        let filled = |period| gpu.functions.filled(&gpu.stream, cells, 0, period, go_on);
        Ok(Self {
            gpu,
            size,
            left: filled(PERIODS.0)?,
            right: filled(PERIODS.1)?,
            out: gpu.stream.alloc_zeros(cells)?,
        })
    }

    fn pass(&mut self) -> Result<(), DriverError> {
        let tiles = self.size / TILE;
        let config =
            LaunchConfig { grid_dim: (tiles, tiles, 1), block_dim: (BLOCK, 1, 1), shared_mem_bytes: 0 };
        let mut launch = self.gpu.stream.launch_builder(&self.gpu.functions.gemm);
        launch.arg(&self.left).arg(&self.right).arg(&mut self.out).arg(&self.size);
        #[expect(unsafe_code, reason = "the types of a kernel's arguments cannot be checked by the compiler")]
        // SAFETY: each matrix has `size` times `size` floats, and `size` is a multiple of the tile that a block computes.
        unsafe {
            launch.launch(config)?;
        }
        Ok(())
    }
}

impl Runnable for Matrices<'_> {
    fn work(&self) -> f64 {
        2.0 * f64::from(self.size).powi(3)
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let gpu = self.gpu;
        Ok(gpu.timed(|| (0..times).try_for_each(|_| self.pass()))?)
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        go_on()?;
        let size = self.size as usize;
        let out = self.gpu.stream.clone_dtoh(&self.out)?;
        self.gpu.stream.synchronize()?;
        let found = cells_to_check(size).map(|(row, column)| out[row * size + column]);
        compare(0, found, cells_to_check(size).map(|(row, column)| product(row, column, size)), 1e-5)
    }
}
