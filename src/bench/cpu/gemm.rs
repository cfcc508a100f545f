//! A matrix product in single precision: panels that are packed once, and tiles that fit into registers.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::bench::backend::{GoOn, Runnable, Trouble, compare};
use crate::bench::inputs::{cells_to_check, left, product, right};

/// Rows and columns of the matrices.
pub const SIZE: usize = 256;

/// Values of a product that are checked between two looks at the time.
const CHECKED_AT_ONCE: usize = 4_096;

/// Multiplies square matrices whose size is a multiple of 32: `out = left * right`. Within a pool of threads it uses all of
/// them, and the widest instructions that this processor has.
pub fn multiply(left: &[f32], right: &[f32], out: &mut [f32], size: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            #[expect(unsafe_code, reason = "many times as fast, and what the processor has is asked first")]
            // SAFETY: the feature that the function is compiled for was just found.
            let tile = |rows: &[f32], panel: &[f32]| unsafe { widest_tile(rows, panel) };
            return tiled(left, right, out, size, tile);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            #[expect(unsafe_code, reason = "many times as fast, and what the processor has is asked first")]
            // SAFETY: both features that the function is compiled for were just found.
            let tile = |rows: &[f32], panel: &[f32]| unsafe { wide_tile(rows, panel) };
            return tiled(left, right, out, size, tile);
        }
    }
    // Other processors of today fuse in their basic instructions, old ones of this kind do not.
    tiled(left, right, out, size, added_up::<4, 16, { cfg!(target_arch = "aarch64") }>);
}

/// Multiplies tile by tile of so many rows and columns, each computed by `tile` from packed rows and a packed panel.
fn tiled<const ROWS: usize, const COLUMNS: usize>(
    left: &[f32],
    right: &[f32],
    out: &mut [f32],
    size: usize,
    tile: impl Fn(&[f32], &[f32]) -> [[f32; COLUMNS]; ROWS] + Sync,
) {
    let panels = packed_columns::<COLUMNS>(right, size);
    out.par_chunks_mut(ROWS * size).enumerate().for_each(|(block, out)| {
        let rows = packed_rows::<ROWS>(&left[block * ROWS * size..][..ROWS * size], size);
        for (column, panel) in panels.chunks_exact(COLUMNS * size).enumerate() {
            let sums = tile(&rows, panel);
            for (row, sums) in out.chunks_exact_mut(size).zip(sums) {
                row[column * COLUMNS..][..COLUMNS].copy_from_slice(&sums);
            }
        }
    });
}

/// Panels of some columns each, so that a tile reads its columns one behind the other.
fn packed_columns<const COLUMNS: usize>(right: &[f32], size: usize) -> Vec<f32> {
    let mut panels = vec![0.0; size * size];
    panels.par_chunks_mut(COLUMNS * size).enumerate().for_each(|(column, panel)| {
        for (to, row) in panel.chunks_exact_mut(COLUMNS).zip(right.chunks_exact(size)) {
            to.copy_from_slice(&row[column * COLUMNS..][..COLUMNS]);
        }
    });
    panels
}

/// Some rows, their values of one column beside each other.
fn packed_rows<const ROWS: usize>(rows: &[f32], size: usize) -> Vec<f32> {
    let mut packed = vec![0.0; rows.len()];
    for (column, to) in packed.chunks_exact_mut(ROWS).enumerate() {
        for (row, to) in to.iter_mut().enumerate() {
            *to = rows[row * size + column];
        }
    }
    packed
}

/// Eight sums of sixteen values each: as many as hide how long one addition takes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn widest_tile(rows: &[f32], panel: &[f32]) -> [[f32; 32]; 4] {
    added_up::<4, 32, true>(rows, panel)
}

/// Eight sums of eight values each.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn wide_tile(rows: &[f32], panel: &[f32]) -> [[f32; 16]; 4] {
    added_up::<4, 16, true>(rows, panel)
}

/// One tile, whose sums the compiler keeps in registers.
#[inline(always)]
fn added_up<const ROWS: usize, const COLUMNS: usize, const FUSED: bool>(
    rows: &[f32],
    panel: &[f32],
) -> [[f32; COLUMNS]; ROWS] {
    let mut sums = [[0.0_f32; COLUMNS]; ROWS];
    for (left, right) in rows.chunks_exact(ROWS).zip(panel.chunks_exact(COLUMNS)) {
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

    /// Multiplies matrices of so many rows and columns.
    fn of_size(&mut self, size: usize, times: u32) -> Duration {
        let cells = size * size;
        let (left, right, out) = (&self.left[..cells], &self.right[..cells], &mut self.out[..cells]);
        self.pool.install(|| {
            let begun = Instant::now();
            (0..times).for_each(|_| multiply(left, right, out, size));
            begun.elapsed()
        })
    }
}

impl Runnable for Product<'_> {
    fn work(&self) -> f64 {
        2.0 * (SIZE as f64).powi(3)
    }

    /// By matrices of a quarter of the size, which are so much less work.
    fn foretold(&mut self) -> Duration {
        self.of_size(SIZE / 4, 1) * 4_u32.pow(3)
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        Ok(self.of_size(SIZE, times))
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        let cells: Vec<(usize, usize)> = cells_to_check(SIZE).collect();
        cells.chunks(CHECKED_AT_ONCE).enumerate().try_for_each(|(piece, cells)| {
            go_on()?;
            let found = cells.iter().map(|(row, column)| self.out[row * SIZE + column]);
            let expected = cells.iter().map(|(row, column)| product(*row, *column, SIZE));
            compare(piece * CHECKED_AT_ONCE, found, expected, 1e-5)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_right_by_whichever_instructions() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut matrices = Product::new(&pool);
        assert!(matrices.check(&|| Ok(())).is_err(), "nothing has run yet");
        matrices.run(1).unwrap();
        assert_eq!(matrices.check(&|| Ok(())), Ok(()));
        matrices.out[SIZE * 3 + 5] += 1.0;
        assert!(matrices.check(&|| Ok(())).is_err());

        // The way of each kind of processor, on whichever this is.
        let expected = matrices.out.clone();
        let mut out = vec![0.0; SIZE * SIZE];
        let mut is_same = |multiplied: &mut dyn FnMut(&mut [f32])| {
            out.fill(0.0);
            multiplied(&mut out);
            out[SIZE * 3 + 5] == expected[SIZE * 3 + 5] - 1.0
                && out[SIZE * SIZE - 1] == expected[SIZE * SIZE - 1]
        };
        let (left, right) = (&matrices.left, &matrices.right);
        assert!(is_same(&mut |out| tiled(left, right, out, SIZE, added_up::<4, 16, false>)));
        assert!(is_same(&mut |out| tiled(left, right, out, SIZE, added_up::<4, 16, true>)));
        assert!(is_same(&mut |out| tiled(left, right, out, SIZE, added_up::<4, 32, true>)));
    }
}
