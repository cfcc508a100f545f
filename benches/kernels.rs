//! The CPU backend of the benchmark beside what is known to be good: copy and triad beside plain loops as STREAM has them, the
//! matrix product beside `matrixmultiply`. Both run in turn in the same process on as many threads, so that only the ratio
//! counts: above 1 ours is faster. Then every kernel of the benchmark as `headwater bench` times it, twice in the same process:
//! what the second run differs by, beside the noise that both stated.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::hint::black_box;
use std::time::Instant;

use headwater::bench::child::cpu_times;
use headwater::bench::cpu::{arrays, gemm};
use headwater::bench::plan::USUAL_BUDGET;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use rayon::ThreadPoolBuilder;

/// Pairs of runs; the first is not counted.
const PAIRS: usize = 31;

/// Floats in each array: three of them are 192 MiB, more than most caches hold.
const LENGTH: usize = 16 * 1024 * 1024;

/// The factor of the triad.
const SCALAR: f32 = 3.0;

fn main() {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    println!("| kernel | threads | ours | the other | ratio min | ratio median |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for threads in [1, all] {
        within_pool(threads, || streams(threads));
    }
    for size in [gemm::SIZE, 512, 1_024] {
        within_pool(1, || product(size));
    }
    repeated();
}

/// Two runs of every kernel, each within the usual budget.
fn repeated() {
    let [first, second] = [(); 2].map(|()| cpu_times(USUAL_BUDGET).expect("a CPU can be measured"));
    println!("\n| kernel | first | second | second / first | stated noise | |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first.name, second.name, "both runs timed the same");
        let noise = first.noise.zip(second.noise).map(|(first, second)| first + second);
        println!(
            "| {} | {} | {} | {:.2} | {} | {} |",
            first.name,
            show(first.median, Unit::Seconds),
            show(second.median, Unit::Seconds),
            second.median / first.median,
            noise.map_or_else(|| "?".to_owned(), |noise| show(noise / first.median, Unit::Ratio)),
            second.change_since(first).word(),
        );
    }
}

/// Both are called from a thread of the pool: to wake one up takes longer than a small product.
fn within_pool(threads: usize, work: impl FnOnce() + Send) {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started").install(work);
}

fn streams(threads: usize) {
    let first: Vec<f32> = (0..LENGTH).map(|place| (place % 251) as f32).collect();
    let second: Vec<f32> = (0..LENGTH).map(|place| (place % 241) as f32).collect();
    let (mut ours, mut theirs) = (vec![0.0_f32; LENGTH], vec![0.0_f32; LENGTH]);
    let bytes = (8 * LENGTH) as f64;
    compared(
        "copy, beside a plain loop",
        threads,
        bytes,
        "GB/s",
        || {
            arrays::copy(&first, &mut ours);
            black_box(&ours);
        },
        || {
            on_threads(threads, &mut theirs, |from, out| {
                for (to, from) in out.iter_mut().zip(&first[from..]) {
                    *to = *from;
                }
            });
        },
    );
    assert_eq!(ours, theirs, "both copied the same");
    compared(
        "triad, beside a plain loop",
        threads,
        1.5 * bytes,
        "GB/s",
        || {
            arrays::triad(&first, &second, SCALAR, &mut ours);
            black_box(&ours);
        },
        || {
            on_threads(threads, &mut theirs, |from, out| {
                for ((to, first), second) in out.iter_mut().zip(&first[from..]).zip(&second[from..]) {
                    *to = first + SCALAR * second;
                }
            });
        },
    );
    assert_eq!(ours, theirs, "both computed the same");
}

/// Gives each thread one piece of the array, as STREAM does.
fn on_threads(threads: usize, out: &mut [f32], pass: impl Fn(usize, &mut [f32]) + Sync) {
    let share = out.len().div_ceil(threads);
    if threads == 1 {
        pass(0, out);
    } else {
        std::thread::scope(|scope| {
            for (piece, out) in out.chunks_mut(share).enumerate() {
                let pass = &pass;
                scope.spawn(move || pass(piece * share, out));
            }
        });
    }
    black_box(out);
}

fn product(size: usize) {
    let left: Vec<f32> = (0..size * size).map(|place| (place % 7) as f32).collect();
    let right: Vec<f32> = (0..size * size).map(|place| (place % 5) as f32).collect();
    let (mut ours, mut theirs) = (vec![0.0_f32; size * size], vec![0.0_f32; size * size]);
    let operations = 2.0 * (size as f64).powi(3);
    let name = format!("product of {size} x {size}, beside matrixmultiply");
    compared(
        &name,
        1,
        operations,
        "GFLOP/s",
        || {
            gemm::multiply(&left, &right, &mut ours, size);
            black_box(&ours);
        },
        || {
            let stride = size as isize;
            #[expect(unsafe_code, reason = "the other library takes pointers")]
            // SAFETY: each matrix has `size` rows of `size` floats beside each other, and the result overlaps neither factor.
            unsafe {
                matrixmultiply::sgemm(
                    size,
                    size,
                    size,
                    1.0,
                    left.as_ptr(),
                    stride,
                    1,
                    right.as_ptr(),
                    stride,
                    1,
                    0.0,
                    theirs.as_mut_ptr(),
                    stride,
                    1,
                );
            }
            black_box(&theirs);
        },
    );
    assert_eq!(ours, theirs, "whole numbers have the same sum in any order");
}

/// Runs both in turn and prints their medians and the ratio of neighbours.
fn compared(
    name: &str,
    threads: usize,
    work: f64,
    unit: &str,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) {
    let timed = |what: &mut dyn FnMut()| {
        let begun = Instant::now();
        what();
        begun.elapsed().as_secs_f64()
    };
    let mut pairs: Vec<(f64, f64)> =
        (0..=PAIRS).map(|_| (timed(&mut ours), timed(&mut theirs))).skip(1).collect();
    let median = |of: &dyn Fn(&(f64, f64)) -> f64, pairs: &[(f64, f64)]| {
        let mut values: Vec<f64> = pairs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let ratio = |(ours, theirs): &(f64, f64)| theirs / ours;
    let rate = |time: f64| work / time / 1e9;
    let (ours, theirs) = (median(&|pair| pair.0, &pairs), median(&|pair| pair.1, &pairs));
    let middle = median(&ratio, &pairs);
    pairs.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    println!(
        "| {name} | {threads} | {:.1} {unit} | {:.1} {unit} | {:.2} | {middle:.2} |",
        rate(ours),
        rate(theirs),
        pairs.first().map_or(0.0, ratio),
    );
}
