//! What kernels compute on, and what must come of it: the same for every backend, small whole numbers, so that any order of
//! additions gives the same result.

use std::ops::Range;

use super::backend::{Trouble, compare};

/// Floats in one row of the table of embeddings: 512 bytes.
pub(super) const DIMENSION: usize = 128;

/// Rows that one run looks up: 4 MiB of them.
pub(super) const LOOKUPS: u32 = 8_192;

/// The factor of the triad.
pub(super) const SCALAR: f32 = 3.0;

/// Values repeat after so many: a prime, so that a shift by any row or block is seen.
pub(super) const PERIOD: usize = 251;

/// The value at a place of an array.
pub(super) fn value(place: usize) -> f32 {
    (place % PERIOD) as f32
}

/// The value at a place of the table of embeddings.
pub(super) fn table_value(place: usize) -> f32 {
    value(place)
}

/// The number of rows of a table of so many floats: a power of two, at least the rows of one run.
pub(super) fn rows_in(floats: usize) -> u32 {
    let rows = (floats / DIMENSION).clamp(LOOKUPS as usize, 1 << 24) as u32;
    1 << rows.ilog2()
}

/// The row that a look-up reads: each row once before any of them again, in an order without any pattern that a prefetcher
/// could follow. `rows` is a power of two; `assets/kernels/kernels.cu` computes the same.
pub(super) fn row_of(lookup: u32, rows: u32) -> u32 {
    let mask = rows - 1;
    let mut row = lookup & mask;
    row = row.wrapping_mul(0x9e37_79b1) & mask;
    row ^= row >> (rows.ilog2() / 2).max(1);
    row = row.wrapping_mul(0x85eb_ca77) & mask;
    row
}

/// Values of a large array that are checked, twice for each kernel and within its budget: more would take longer than all of its
/// runs.
const CHECKED: usize = 1 << 18;

/// The parts of an array of so many values that are checked: all of it, or of a large one sixteen from its beginning to its
/// end.
pub(super) fn windows(length: usize) -> impl Iterator<Item = Range<usize>> {
    let parts = if length <= CHECKED { 1 } else { 16 };
    let size = length.min(CHECKED) / parts;
    let step = if parts == 1 { 0 } else { (length - size) / (parts - 1) };
    (0..parts).map(move |part| {
        // The last one ends where the array does.
        let start = if part + 1 == parts { length - size } else { part * step };
        start..start + size
    })
}

/// Whether a sum over an array is right; in single precision it may lose a little.
pub(super) fn check_sum(sum: f64, length: usize) -> Result<(), Trouble> {
    let of_first = |count: usize| (count * count.saturating_sub(1) / 2) as f64;
    let expected = (length / PERIOD) as f64 * of_first(PERIOD) + of_first(length % PERIOD);
    // A missing chunk of a thousand values is a part in a hundred thousand of the largest array that is used.
    let is_right = (sum - expected).abs() <= 2e-6 * expected.max(1.0);
    if is_right { Ok(()) } else { Err(Trouble::Wrong(format!("the sum is {sum} instead of {expected}"))) }
}

/// Whether the rows that were looked up from `start` on are those of the table, in some places from the first to the last.
pub(super) fn check_rows(found: &[f32], start: u32, rows: u32) -> Result<(), Trouble> {
    let expected = |place: usize| {
        let lookup = start.wrapping_add((place / DIMENSION) as u32);
        table_value(row_of(lookup, rows) as usize * DIMENSION + place % DIMENSION)
    };
    windows(found.len()).try_for_each(|window| {
        compare(window.start, found[window.clone()].iter().copied(), window.map(expected), 0.0)
    })
}

/// The value of a matrix product at a place, of matrices whose values are [`left`] and [`right`]. Their terms repeat, so that
/// checking a large product takes no longer than computing it.
pub(super) fn product(row: usize, column: usize, size: usize) -> f32 {
    let term = |inner: usize| left(row * size + inner) * right(inner * size + column);
    let sum = |terms: usize| (0..terms).map(term).sum::<f32>();
    let cycle = PERIODS.0 * PERIODS.1;
    (size / cycle) as f32 * sum(cycle) + sum(size % cycle)
}

/// The period of the left matrix, and of the right one.
pub(super) const PERIODS: (usize, usize) = (7, 5);

/// The value at a place of the left matrix.
pub(super) fn left(place: usize) -> f32 {
    (place % PERIODS.0) as f32
}

/// The value at a place of the right matrix.
pub(super) fn right(place: usize) -> f32 {
    (place % PERIODS.1) as f32
}

/// Rows and columns of what one block of threads computes of a product.
const TILE: usize = 64;

/// Cells of a product that are checked: all of a small one; of a large one eight in each tile, in other places of each.
pub(super) fn cells_to_check(size: usize) -> impl Iterator<Item = (usize, usize)> {
    let tiles = size / TILE;
    let is_small = size <= 256;
    let cells = if is_small { TILE * TILE } else { 8 };
    (0..tiles * tiles).flat_map(move |tile| {
        (0..cells).map(move |cell| {
            let (row, column) = if is_small {
                (cell / TILE, cell % TILE)
            } else {
                ((cell * 9 + tile) % TILE, (cell * 23 + tile * 5) % TILE)
            };
            (tile / tiles * TILE + row, tile % tiles * TILE + column)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_read_once_before_any_is_read_again() {
        for rows in [8_192_u32, 131_072] {
            let mut seen = vec![false; rows as usize];
            (0..rows).for_each(|lookup| seen[row_of(lookup + 77, rows) as usize] = true);
            assert!(seen.iter().all(|seen| *seen), "{rows}");
        }
        assert_eq!([rows_in(0), rows_in(16 << 20), rows_in(20 << 20)], [8_192, 131_072, 131_072]);
    }

    #[test]
    fn a_sum_is_that_of_its_values() {
        for length in [1, 250, 251, 252, 100_000] {
            let sum: f64 = (0..length).map(|place| f64::from(value(place))).sum();
            assert_eq!(check_sum(sum, length), Ok(()));
            assert!(check_sum(sum + 1_000.0, length).is_err());
        }
    }

    #[test]
    fn an_array_is_checked_from_its_beginning_to_its_end() {
        for length in [0, 5, CHECKED, CHECKED + 1, 3 * CHECKED + 17, 64 * CHECKED] {
            let windows: Vec<_> = windows(length).collect();
            let checked: usize = windows.iter().map(Range::len).sum();
            assert_eq!(checked, length.min(CHECKED), "{length}");
            assert_eq!((windows[0].start, windows[windows.len() - 1].end), (0, length));
            assert!(windows.windows(2).all(|two| two[0].end <= two[1].start), "{windows:?}");
        }
    }

    #[test]
    fn a_product_is_the_sum_of_all_of_its_terms() {
        for size in [64, 256, 2_048] {
            for (row, column) in [(0, 0), (3, 5), (size - 1, size / 2)] {
                let terms = (0..size).map(|inner| left(row * size + inner) * right(inner * size + column));
                assert_eq!(product(row, column, size), terms.sum::<f32>(), "{size}: {row}, {column}");
            }
        }
    }

    #[test]
    fn the_cells_that_are_checked_meet_every_tile() {
        for size in [256, 512, 2_048] {
            let tiles = size / TILE;
            let mut met = vec![false; tiles * tiles];
            // Each thread of a block computes four rows and four columns.
            let mut threads = [false; 256];
            cells_to_check(size).for_each(|(row, column)| {
                met[row / TILE * tiles + column / TILE] = true;
                threads[row % TILE / 4 * 16 + column % TILE / 4] = true;
            });
            assert!(met.iter().chain(&threads).all(|met| *met), "{size}");
        }
    }
}
