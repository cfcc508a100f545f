//! Passes over large arrays: copy, triad, reduction, and rows of a table in no order.

use std::time::{Duration, Instant};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::bench::backend::{GoOn, Runnable, Trouble, compare};
use crate::bench::inputs::{DIMENSION, LOOKUPS, SCALAR, row_of, table_value, value, windows};

/// Floats that one thread works on at a time: small enough to share the work evenly.
const CHUNK: usize = 64 * 1024;

/// Chunks that each thread fills between two looks at the time: a mebibyte.
const FILLED_AT_ONCE: usize = 4;

/// The part of a run, and of the memory to work on, by which is told how long all of it takes: one of so many.
pub(super) const PART: usize = 16;

/// `to = from`.
pub fn copy(from: &[f32], to: &mut [f32]) {
    to.par_chunks_mut(CHUNK).zip(from.par_chunks(CHUNK)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// `sums = first + scalar * second`.
pub fn triad(first: &[f32], second: &[f32], scalar: f32, sums: &mut [f32]) {
    let parts = first.par_chunks(CHUNK).zip(second.par_chunks(CHUNK));
    sums.par_chunks_mut(CHUNK).zip(parts).for_each(|(sums, (first, second))| {
        for ((sum, first), second) in sums.iter_mut().zip(first).zip(second) {
            *sum = first + scalar * second;
        }
    });
}

/// The sum of all values.
pub fn sum(values: &[f32]) -> f64 {
    // Sixteen sums side by side, because one alone waits for each addition.
    let of_chunk = |chunk: &[f32]| {
        let mut sums = [0.0_f32; 16];
        for values in chunk.chunks(16) {
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value;
            }
        }
        sums.iter().map(|sum| f64::from(*sum)).sum::<f64>()
    };
    values.par_chunks(CHUNK).map(of_chunk).sum()
}

/// Floats that are filled between two looks at the time.
pub(super) fn piece(pool: &ThreadPool) -> usize {
    pool.current_num_threads() * FILLED_AT_ONCE * CHUNK
}

/// An array of so many floats, each by its place.
pub(super) fn filled(
    pool: &ThreadPool,
    length: usize,
    of: impl Fn(usize) -> f32 + Sync,
    go_on: GoOn<'_>,
) -> Result<Vec<f32>, Trouble> {
    let mut array = vec![0.0; length];
    let size = piece(pool);
    for (number, piece) in array.chunks_mut(size).enumerate() {
        go_on()?;
        // Filled by the threads that use it, so that the system puts it near them.
        pool.install(|| {
            piece.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
                let first = number * size + chunk * CHUNK;
                for (place, value) in values.iter_mut().enumerate() {
                    *value = of(first + place);
                }
            });
        });
    }
    Ok(array)
}

fn timed(pool: &ThreadPool, times: u32, mut pass: impl FnMut() + Send) -> Duration {
    pool.install(|| {
        let begun = Instant::now();
        (0..times).for_each(|_| pass());
        begun.elapsed()
    })
}

/// Which pass over whole arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Copy,
    Triad,
}

/// Arrays that are read and written from one end to the other.
#[derive(Debug)]
pub(super) struct Streams<'a> {
    pool: &'a ThreadPool,
    pass: Pass,
    first: Vec<f32>,
    second: Vec<f32>,
    written: Vec<f32>,
}

impl<'a> Streams<'a> {
    /// Arrays that are together so many floats.
    pub(super) fn new(
        pool: &'a ThreadPool,
        pass: Pass,
        floats: usize,
        go_on: GoOn<'_>,
    ) -> Result<Self, Trouble> {
        let arrays = if pass == Pass::Copy { 2 } else { 3 };
        let length = floats / arrays;
        let second = if pass == Pass::Copy { 0 } else { length };
        Ok(Self {
            pool,
            pass,
            first: filled(pool, length, value, go_on)?,
            second: filled(pool, second, |place| value(place + 1), go_on)?,
            written: filled(pool, length, |_| 0.0, go_on)?,
        })
    }

    /// Passes over one of so many parts of the arrays.
    fn over(&mut self, parts: usize, times: u32) -> Duration {
        let of = |array: &[f32]| array.len() / parts;
        let (first, second) = (&self.first[..of(&self.first)], &self.second[..of(&self.second)]);
        let length = of(&self.written);
        let written = &mut self.written[..length];
        match self.pass {
            Pass::Copy => timed(self.pool, times, || copy(first, written)),
            Pass::Triad => timed(self.pool, times, || triad(first, second, SCALAR, written)),
        }
    }
}

impl Runnable for Streams<'_> {
    fn work(&self) -> f64 {
        4.0 * (self.first.len() + self.second.len() + self.written.len()) as f64
    }

    fn foretold(&mut self) -> Duration {
        self.over(PART, 1) * PART as u32
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        Ok(self.over(1, times))
    }

    fn check(&mut self, go_on: GoOn<'_>) -> Result<(), Trouble> {
        let expected = |place| match self.pass {
            Pass::Copy => value(place),
            Pass::Triad => value(place) + SCALAR * value(place + 1),
        };
        windows(self.written.len()).try_for_each(|window| {
            go_on()?;
            let found = self.written[window.clone()].iter().copied();
            compare(window.start, found, window.map(expected), 1e-6)
        })
    }
}

/// An array that is added up.
#[derive(Debug)]
pub(super) struct Reduce<'a> {
    pool: &'a ThreadPool,
    values: Vec<f32>,
    sum: f64,
}

impl<'a> Reduce<'a> {
    pub(super) fn new(pool: &'a ThreadPool, floats: usize, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        Ok(Self { pool, values: filled(pool, floats, value, go_on)?, sum: 0.0 })
    }

    /// Adds up one of so many parts of the array.
    fn over(&mut self, parts: usize, times: u32) -> Duration {
        let (values, total) = (&self.values[..self.values.len() / parts], &mut self.sum);
        timed(self.pool, times, || *total = sum(std::hint::black_box(values)))
    }
}

impl Runnable for Reduce<'_> {
    fn work(&self) -> f64 {
        4.0 * self.values.len() as f64
    }

    fn foretold(&mut self) -> Duration {
        self.over(PART, 1) * PART as u32
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        Ok(self.over(1, times))
    }

    fn check(&mut self, _go_on: GoOn<'_>) -> Result<(), Trouble> {
        crate::bench::inputs::check_sum(self.sum, self.values.len())
    }
}

/// A table of which rows are looked up.
#[derive(Debug)]
pub(super) struct Gather<'a> {
    pool: &'a ThreadPool,
    table: Vec<f32>,
    rows: u32,
    found: Vec<f32>,
    /// The place in the order of rows at which the next run begins, so that no run finds its rows in the cache.
    next: u32,
}

impl<'a> Gather<'a> {
    pub(super) fn new(pool: &'a ThreadPool, floats: usize, go_on: GoOn<'_>) -> Result<Self, Trouble> {
        let rows = crate::bench::inputs::rows_in(floats);
        let table = filled(pool, rows as usize * DIMENSION, table_value, go_on)?;
        let found = filled(pool, LOOKUPS as usize * DIMENSION, |_| 0.0, go_on)?;
        Ok(Self { pool, table, rows, found, next: 0 })
    }

    /// Looks up one of so many parts of the rows.
    fn over(&mut self, parts: usize, times: u32) -> Duration {
        let length = self.found.len() / parts;
        let (table, rows, next) = (&self.table, self.rows, &mut self.next);
        let found = &mut self.found[..length];
        timed(self.pool, times, || {
            let start = *next;
            found.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, found)| {
                let first = start.wrapping_add((chunk * CHUNK / DIMENSION) as u32);
                for (lookup, found) in (first..).zip(found.chunks_exact_mut(DIMENSION)) {
                    let row = row_of(lookup, rows) as usize * DIMENSION;
                    found.copy_from_slice(&table[row..row + DIMENSION]);
                }
            });
            *next = start.wrapping_add((length / DIMENSION) as u32) % (1 << 30);
        })
    }
}

impl Runnable for Gather<'_> {
    fn work(&self) -> f64 {
        // Each value of a row is read once and written once.
        8.0 * self.found.len() as f64
    }

    fn table_bytes(&self) -> Option<u64> {
        Some(4 * self.table.len() as u64)
    }

    fn foretold(&mut self) -> Duration {
        self.over(PART, 1) * PART as u32
    }

    fn run(&mut self, times: u32) -> Result<Duration, Trouble> {
        Ok(self.over(1, times))
    }

    fn check(&mut self, _go_on: GoOn<'_>) -> Result<(), Trouble> {
        let start = self.next.wrapping_sub(LOOKUPS);
        crate::bench::inputs::check_rows(&self.found, start, self.rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pass_gives_the_right_result_and_a_wrong_one_is_seen() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // No multiple of a chunk, so that the last one is short.
        let floats = 3 * CHUNK + 12_345;
        let new = |pass| Streams::new(&pool, pass, floats, &|| Ok(())).unwrap();
        let mut streams = [new(Pass::Copy), new(Pass::Triad)];
        for stream in &mut streams {
            assert!(stream.check(&|| Ok(())).is_err(), "nothing has run yet");
            stream.run(2).unwrap();
            assert_eq!(stream.check(&|| Ok(())), Ok(()));
            stream.written[floats / 4] += 1.0;
            assert!(stream.check(&|| Ok(())).is_err());
        }
        let mut reduce = Reduce::new(&pool, floats, &|| Ok(())).unwrap();
        reduce.run(1).unwrap();
        assert_eq!(reduce.check(&|| Ok(())), Ok(()));
        reduce.values[5] += 1_000.0;
        reduce.run(1).unwrap();
        assert!(reduce.check(&|| Ok(())).is_err());
        let mut gather = Gather::new(&pool, floats, &|| Ok(())).unwrap();
        gather.run(3).unwrap();
        assert_eq!(gather.check(&|| Ok(())), Ok(()));
        gather.found[7] += 1.0;
        assert!(gather.check(&|| Ok(())).is_err());
    }
}
