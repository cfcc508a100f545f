//! What a ranking costs: a graph of 200 components with ten metrics each, 300 points a metric.

use std::hint::black_box;

use criterion::Criterion;
use headwater_engine::ranking::{Nature, Point, Question, Series, Symptom, rank};

const COMPONENTS: usize = 200;
const CALM: usize = 240;
const BAD: usize = 60;
const METRICS: [&str; 10] = [
    "latency.avg",
    "latency.p50",
    "latency.p90",
    "latency.p99",
    "availability.percent",
    "requests.rate",
    "cpu.percent",
    "memory.bytes",
    "network.receive_bytes",
    "syscalls.read",
];

fn main() {
    let names: Vec<String> = (0..COMPONENTS).map(|component| format!("service-{component}")).collect();
    // Each calls four of the next twenty, so that everything is reached and callers share callees.
    let calls: Vec<(&str, &str)> = (0..COMPONENTS)
        .flat_map(|caller| [1, 3, 8, 20].map(|step| (caller, caller + step)))
        .filter(|(_, callee)| *callee < COMPONENTS)
        .map(|(caller, callee)| (names[caller].as_str(), names[callee].as_str()))
        .collect();
    let points: Vec<(Vec<Point>, Vec<Point>)> =
        (0..COMPONENTS * METRICS.len()).map(|series| values(series as u64)).collect();
    let series: Vec<Series<'_>> = points
        .iter()
        .enumerate()
        .map(|(place, (baseline, window))| {
            let metric = METRICS[place % METRICS.len()];
            let subject = &names[place / METRICS.len()];
            Series { subject, metric, nature: Nature::of(metric), baseline, window }
        })
        .collect();
    let symptom = Symptom { subject: &names[0], metric: METRICS[0] };
    let question = Question { calls: &calls, symptom, series: &series };
    assert_eq!(rank(&question).candidates, COMPONENTS, "everything is reached");
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("ranking, 200 components, 2000 series of 300 points", |bencher| {
        bencher.iter(|| rank(black_box(&question)));
    });
    criterion.final_summary();
}

/// A noisy series around 100 that rises by up to a half in the window; the same in every run.
fn values(series: u64) -> (Vec<Point>, Vec<Point>) {
    let mut state = series.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut noise = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let rise = 1.0 + 0.5 * noise();
    let mut point =
        |step: usize, level: f64| Point { at: step as f64, value: level * (95.0 + 10.0 * noise()) };
    let baseline = (0..CALM).map(|step| point(step, 1.0)).collect();
    (baseline, (CALM..CALM + BAD).map(|step| point(step, rise)).collect())
}
