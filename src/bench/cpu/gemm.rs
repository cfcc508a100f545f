//! A matrix product in single precision: panels that are packed once, and tiles that fit into registers.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::bench::backend::{Runnable, Trouble, compare};
use crate::bench::inputs::{cells_to_check, left, product, right};

/// Rows and columns of the tile that is kept in registers.
const TILE: (usize, usize) = (4, 16);

/// Rows and columns of the matrices.
pub const SIZE: usize = 256;

/// Multiplies square matrices of [`TILE`]-fold size, row by row: `out = left * right`. Within a pool of threads it uses all
/// of them.
pub fn multiply(left: &[f32], right: &[f32], out: &mut [f32], size: usize) {
    let panels = packed_columns(right, size);
    out.par_chunks_mut(TILE.0 * size).enumerate().for_each(|(block, out)| {
        let rows = packed_rows(&left[block * TILE.0 * size..][..TILE.0 * size], size);
        for (column, panel) in panels.chunks_exact(TILE.1 * size).enumerate() {
            let sums = tile(&rows, panel);
            for (row, sums) in out.chunks_exact_mut(size).zip(sums) {
                row[column * TILE.1..][..TILE.1].copy_from_slice(&sums);
            }
        }
    });
}

/// Panels of sixteen columns each, so that a tile reads its columns one behind the other.
fn packed_columns(right: &[f32], size: usize) -> Vec<f32> {
    let mut panels = vec![0.0; size * size];
    panels.par_chunks_mut(TILE.1 * size).enumerate().for_each(|(column, panel)| {
        for (to, row) in panel.chunks_exact_mut(TILE.1).zip(right.chunks_exact(size)) {
            to.copy_from_slice(&row[column * TILE.1..][..TILE.1]);
        }
    });
    panels
}

/// Four rows, their values of one column beside each other.
fn packed_rows(rows: &[f32], size: usize) -> Vec<f32> {
    let mut packed = vec![0.0; rows.len()];
    for (column, to) in packed.chunks_exact_mut(TILE.0).enumerate() {
        for (row, to) in to.iter_mut().enumerate() {
            *to = rows[row * size + column];
        }
    }
    packed
}

type Sums = [[f32; TILE.1]; TILE.0];

/// One tile, by the widest instructions that this processor has.
fn tile(rows: &[f32], panel: &[f32]) -> Sums {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        #[expect(
            unsafe_code,
            reason = "twice to four times as fast, and what the processor has is asked first"
        )]
        // SAFETY: both features that the function is compiled for were just found.
        return unsafe { wide_tile(rows, panel) };
    }
    // Other processors of today fuse in their basic instructions, old ones of this kind do not.
    added_up::<{ cfg!(target_arch = "aarch64") }>(rows, panel)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide_tile(rows: &[f32], panel: &[f32]) -> Sums {
    added_up::<true>(rows, panel)
}

#[inline(always)]
fn added_up<const FUSED: bool>(rows: &[f32], panel: &[f32]) -> Sums {
    let mut sums = [[0.0_f32; TILE.1]; TILE.0];
    for (left, right) in rows.chunks_exact(TILE.0).zip(panel.chunks_exact(TILE.1)) {
        for (sums, left) in sums.iter_mut().zip(left) {
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = if FUSED { left.mul_add(*right, *sum) } else { left * right + *sum };
            }
        }
    }
    sums
}

/// Matrices that are multiplied.
#[derive(Debug)]
pub(super) struct Product<'a> {
    pool: &'a ThreadPool,
    left: Vec<f32>,
    right: Vec<f32>,
    out: Vec<f32>,
}

impl<'a> Product<'a> {
    pub(super) fn new(pool: &'a ThreadPool) -> Self {
        let cells = SIZE * SIZE;
        Self {
            pool,
            left: (0..cells).map(left).collect(),
            right: (0..cells).map(right).collect(),
            out: vec![0.0; cells],
        }
    }
}

impl Runnable for Product<'_> {
    fn work(&self) -> f64 {
        2.0 * (SIZE as f64).powi(3)
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        let (left, right, out) = (&self.left, &self.right, &mut self.out);
        Ok(self.pool.install(|| {
            let begun = Instant::now();
            (0..times).for_each(|_| multiply(left, right, out, SIZE));
            begun.elapsed()
        }))
    }

    fn check(&mut self) -> Result<(), Trouble> {
        let found = cells_to_check(SIZE).map(|(row, column)| self.out[row * SIZE + column]);
        compare(found, cells_to_check(SIZE).map(|(row, column)| product(row, column, SIZE)), 1e-5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_right_with_and_without_fused_instructions() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut matrices = Product::new(&pool);
        assert!(matrices.check().is_err(), "nothing has run yet");
        matrices.run(1).unwrap();
        assert_eq!(matrices.check(), Ok(()));
        matrices.out[SIZE * 3 + 5] += 1.0;
        assert!(matrices.check().is_err());

        let (rows, panel): (Vec<f32>, Vec<f32>) =
            ((0..256).map(left).collect(), (0..1_024).map(right).collect());
        assert_eq!(added_up::<true>(&rows, &panel), added_up::<false>(&rows, &panel));
    }
}
