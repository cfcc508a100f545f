//! Results for tests.

use super::{BenchReport, Conditions, KernelResult, SCHEMA};

/// A kernel that took this long, and did this work.
pub(in crate::bench) fn kernel(name: &str, median: f64, work: f64) -> KernelResult {
    KernelResult {
        name: name.to_owned(),
        unit: "s".to_owned(),
        median,
        iqr: Some(median / 100.0),
        noise: Some(median / 80.0),
        min: median * 0.9,
        batches: 20,
        rounds: 5,
        runs: 100,
        baseline: None,
        baseline_at: None,
        baseline_noise: None,
        ratio: None,
        change: None,
        cold: median * 3.0,
        is_steady: true,
        work,
        table_bytes: None,
        rate: (work > 0.0).then(|| work / median),
        rate_unit: (work > 0.0).then(|| "B/s".to_owned()),
        wrong: None,
        at: None,
    }
}

/// A result of the CPU with these kernels.
pub(in crate::bench) fn report(kernels: Vec<KernelResult>) -> BenchReport {
    BenchReport {
        schema: SCHEMA,
        backend: "cpu".to_owned(),
        device: "a model".to_owned(),
        index: 0,
        slice: None,
        driver: None,
        at: "2026-01-02T03:04:05Z".to_owned(),
        kernels,
        skipped: vec![],
        conditions: Conditions::default(),
        notes: vec![],
    }
}
