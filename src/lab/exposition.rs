//! Counting and writing Prometheus text 0.0.4, as the Python client of an inference server does.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::histogram::Histogram;

/// Bounds in seconds from 1 ms on, for stages and requests.
pub(super) const FINE: &[f64] = &[
    0.001, 0.002, 0.003, 0.005, 0.007_5, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5,
    0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0,
];

/// The bounds of vLLM's end-to-end latency: nothing below 0.3 s can be told apart.
pub(super) const VLLM_END_TO_END: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
    960.0, 1920.0, 7680.0,
];

/// The bounds of vLLM's time to first token.
pub(super) const VLLM_FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
    80.0, 160.0, 640.0, 2560.0,
];

/// Sizes of batches.
pub(super) const BATCH_SIZES: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];

/// A histogram that counts.
#[derive(Debug)]
pub(super) struct Recorder(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    bounds: Arc<[f64]>,
    /// Not cumulative; the last is for what is above every bound.
    buckets: Vec<u64>,
    sum: f64,
}

impl Recorder {
    /// An empty histogram.
    pub(super) fn new(bounds: &[f64]) -> Self {
        Self(Mutex::new(Counts { bounds: bounds.into(), buckets: vec![0; bounds.len() + 1], sum: 0.0 }))
    }

    /// Counts a duration in seconds.
    pub(super) fn record(&self, duration: Duration) {
        self.record_number(duration.as_secs_f64());
    }

    /// Counts a number.
    pub(super) fn record_number(&self, number: f64) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = counts.bounds.partition_point(|bound| *bound < number);
        counts.buckets[bucket] += 1;
        counts.sum += number;
    }

    /// What was counted so far.
    pub(super) fn histogram(&self) -> Histogram {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        let mut cumulative: Vec<f64> = counts
            .buckets
            .iter()
            .map(|bucket| {
                total += bucket;
                total as f64
            })
            .collect();
        let count = cumulative.pop().unwrap_or(0.0);
        let bounds = Arc::clone(&counts.bounds);
        Histogram { bounds, counts: cumulative.into(), count, sum: Some(counts.sum) }
    }
}

/// A page of Prometheus text while it is written.
#[derive(Debug, Default)]
pub(super) struct Page(String);

impl Page {
    /// Writes a line that nobody reads as a number.
    pub(super) fn comment(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# {text}");
    }

    /// Begins a family of series.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}");
        self.kind(name, kind);
    }

    /// Begins a family of series that is not explained.
    pub(super) fn kind(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
    }

    /// Writes one sample; `labels` is what stands between the braces, or empty.
    pub(super) fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }

    /// A family with a single sample.
    pub(super) fn single(&mut self, name: &str, kind: &str, help: &str, labels: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, labels, value);
    }

    /// Writes the samples of one histogram.
    pub(super) fn histogram(&mut self, name: &str, labels: &str, histogram: &Histogram) {
        let before = if labels.is_empty() { String::new() } else { format!("{labels},") };
        for (bound, count) in histogram.bounds.iter().zip(&histogram.counts) {
            let _ = writeln!(self.0, "{name}_bucket{{{before}le=\"{bound:?}\"}} {count}");
        }
        let _ = writeln!(self.0, "{name}_bucket{{{before}le=\"+Inf\"}} {}", histogram.count);
        self.sample(&format!("{name}_sum"), labels, histogram.sum.unwrap_or(0.0));
        self.sample(&format!("{name}_count"), labels, histogram.count);
    }

    /// The text.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_own_bound_and_a_page_reads_as_prometheus_text() {
        let recorder = Recorder::new(&[0.5, 1.0]);
        for number in [0.5, 0.75, 4.0] {
            recorder.record_number(number);
        }
        let mut page = Page::default();
        page.family("vllm:x_seconds", "histogram", "Help.");
        page.histogram("vllm:x_seconds", "model_name=\"m\"", &recorder.histogram());
        assert_eq!(
            page.into_text(),
            "# HELP vllm:x_seconds Help.\n# TYPE vllm:x_seconds histogram\n\
             vllm:x_seconds_bucket{model_name=\"m\",le=\"0.5\"} 1\n\
             vllm:x_seconds_bucket{model_name=\"m\",le=\"1.0\"} 2\n\
             vllm:x_seconds_bucket{model_name=\"m\",le=\"+Inf\"} 3\n\
             vllm:x_seconds_sum{model_name=\"m\"} 5.25\nvllm:x_seconds_count{model_name=\"m\"} 3\n"
        );
    }
}
