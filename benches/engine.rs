//! What a fleet of a thousand Redis nodes costs the engine: share of one core, and memory.
//!
//! Ten simulated minutes at 1 Hz are fed first, timed in processor time, and the peak of the resident memory is
//! read at their end; then criterion times one simulated second of the same, warm engine: its readings, and its
//! tick with all rules, the triage and the snapshot.

use std::hint::black_box;
use std::io::Write;
use std::time::Duration;

use criterion::{BatchSize, Criterion};

mod engine {
    pub(crate) mod fleet;
}
use engine::fleet::{Fleet, timed};

const SHARDS: usize = 500;
const NODES_A_SHARD: usize = 2;
const SECONDS: u32 = 600;

fn main() {
    let mut fleet = Fleet::new(SHARDS, NODES_A_SHARD);
    let spent = run(&mut fleet, SECONDS);
    report(&fleet, &spent);
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("engine, 1000 nodes");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    let fleet = std::cell::RefCell::new(fleet);
    group.bench_function("readings of one second", |bencher| {
        bencher.iter_batched(
            || fleet.borrow_mut().next_readings(),
            |readings| readings.iter().for_each(|reading| fleet.borrow_mut().engine.take(reading)),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("tick", |bencher| {
        bencher.iter_batched(
            || {
                let readings = fleet.borrow_mut().next_readings();
                readings.iter().for_each(|reading| fleet.borrow_mut().engine.take(reading));
                fleet.borrow().tick()
            },
            |tick| {
                fleet.borrow_mut().engine.take(&tick);
                black_box(fleet.borrow().engine.snapshot())
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// Processor time of every second, readings and tick apart.
struct Spent {
    readings: Vec<Duration>,
    ticks: Vec<Duration>,
}

fn run(fleet: &mut Fleet, seconds: u32) -> Spent {
    let mut spent = Spent { readings: vec![], ticks: vec![] };
    for _ in 0..seconds {
        let readings = fleet.next_readings();
        spent.readings.push(timed(|| readings.iter().for_each(|reading| fleet.engine.take(reading))));
        let tick = fleet.tick();
        spent.ticks.push(timed(|| fleet.engine.take(&tick)));
    }
    spent
}

fn report(fleet: &Fleet, spent: &Spent) {
    let rows = [("readings", &spent.readings), ("tick", &spent.ticks)];
    let mut out = std::io::stdout().lock();
    let mut say = |text: String| writeln!(out, "{text}").expect("standard output");
    say(format!(
        "{} nodes, {} samples a second, {} series, {SECONDS} simulated seconds",
        SHARDS * NODES_A_SHARD,
        fleet.samples,
        fleet.engine.store().series_count()
    ));
    say("| part | mean | median | worst | share of a core |".to_owned());
    say("| --- | --- | --- | --- | --- |".to_owned());
    for (name, times) in rows {
        let mut sorted = times.clone();
        sorted.sort();
        let mean = times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap_or(1);
        say(format!(
            "| {name} | {mean:.1?} | {:.1?} | {:.1?} | {:.1} % |",
            sorted[sorted.len() / 2],
            sorted[sorted.len() - 1],
            mean.as_secs_f64() * 100.0
        ));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown");
    let history = fleet.engine.store().bytes() as f64 / 1e6;
    say(format!("{peak}; history {history:.0} MB of points, bins and scrapes"));
    let snapshot = fleet.engine.snapshot().expect("a snapshot");
    say(format!("conclusion {:?}, {} rule states", snapshot.report.conclusion, snapshot.rules.len()));
}
