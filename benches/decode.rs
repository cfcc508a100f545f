//! How fast a page is decoded, beside `prometheus-parse` on the same bytes, with the values compared first.
//!
//! Criterion times each decoder; the table at the end pairs them run by run in processor time, since only a ratio
//! of neighbours means something on a machine that does other work too.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use headwater::sources::metrics::exposition::decode;
use headwater_test_support::oracle;
use rustix::time::{ClockId, clock_gettime};

/// Pages that the other decoder reads right, from the real ones.
const REAL: &[&str] = &[
    "dcgm-4-h100x8-template-generated.prom",
    "nvidia_gpu_exporter-1-h200-load.prom",
    "otel-genai-1-python-sdk.prom",
    "tgi-1-v3-generated.prom",
    "odd-4-openmetrics-alltypes.prom",
];

/// Rounds of the table; each times both decoders back to back.
const ROUNDS: usize = 31;

fn main() {
    let pages = pages();
    for (name, text) in &pages {
        assert_eq!(ours(text), oracle::numbers(text), "the decoders disagree on {name}");
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("decode");
    group.sample_size(20).measurement_time(Duration::from_secs(3));
    for (name, text) in &pages {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::new("headwater", name), text, |bencher, text| {
            bencher.iter(|| black_box(decode(black_box(text.as_bytes()), None).samples.len()));
        });
        group.bench_with_input(BenchmarkId::new("prometheus-parse", name), text, |bencher, text| {
            bencher.iter(|| black_box(oracle::parse(black_box(text)).samples.len()));
        });
    }
    group.finish();
    criterion.final_summary();
    table(&pages).expect("the table can be printed");
}

fn table(pages: &[(String, String)]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| page | KiB | samples | headwater MB/s | prometheus-parse MB/s | ratio min | ratio median |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for (name, text) in pages {
        let repeats = (512 * 1024 / text.len()).max(1);
        let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
            .map(|_| {
                let mine = time(repeats, || decode(black_box(text.as_bytes()), None).samples.len());
                let theirs = time(repeats, || oracle::parse(black_box(text)).samples.len());
                (mine, theirs)
            })
            .collect();
        rounds.sort_by(|(a, b), (c, d)| (b / a).total_cmp(&(d / c)));
        let ratio = |at: usize| rounds[at].1 / rounds[at].0;
        let (mine, theirs) = rounds[ROUNDS / 2];
        let speed = |seconds: f64| (text.len() * repeats) as f64 / seconds / 1e6;
        let samples = decode(text.as_bytes(), None).samples.len();
        writeln!(
            out,
            "| {name} | {} | {samples} | {:.0} | {:.0} | {:.1} | {:.1} |",
            text.len() / 1024,
            speed(mine),
            speed(theirs),
            ratio(0),
            ratio(ROUNDS / 2)
        )?;
    }
    Ok(())
}

/// Processor seconds of this thread, so that other work on the machine does not count.
fn time(repeats: usize, mut run: impl FnMut() -> usize) -> f64 {
    let begun = processor_seconds();
    for _ in 0..repeats {
        black_box(run());
    }
    processor_seconds() - begun
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn ours(text: &str) -> Vec<oracle::Number> {
    let page = decode(text.as_bytes(), None);
    let mut numbers: Vec<_> = page
        .samples
        .iter()
        .map(|sample| {
            let labels = page.labels(sample).iter().map(|l| (l.name.to_string(), l.value.to_string()));
            oracle::number(page.name(sample), labels.collect(), sample.value)
        })
        .collect();
    numbers.sort();
    numbers
}

fn pages() -> Vec<(String, String)> {
    let mut pages = vec![
        ("service (generated)".to_owned(), generated(40)),
        ("fleet (generated)".to_owned(), generated(2_000)),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    for name in REAL {
        if let Ok(text) = std::fs::read_to_string(folder.join(name)) {
            pages.push(((*name).to_owned(), text));
        }
    }
    pages
}

/// A page as services have them: counters by route and status, gauges, and histograms.
fn generated(routes: usize) -> String {
    let mut text = String::from("# HELP http_requests_total Requests.\n# TYPE http_requests_total counter\n");
    for route in 0..routes {
        for status in ["200", "404", "503"] {
            text += &format!(
                "http_requests_total{{method=\"POST\",handler=\"/v1/models/{route}/infer\",status=\"{status}\"}} {}\n",
                route * 7 + 3
            );
        }
    }
    text += "# HELP pool_connections Connections.\n# TYPE pool_connections gauge\n";
    for route in 0..routes {
        text += &format!("pool_connections{{pool=\"p{route}\",state=\"used\"}} {}.5\n", route % 9);
    }
    text += "# HELP http_request_duration_seconds Latency.\n# TYPE http_request_duration_seconds histogram\n";
    for route in 0..routes {
        let labels = format!("method=\"POST\",handler=\"/v1/models/{route}/infer\"");
        for (step, bound) in
            ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1.0", "2.5", "+Inf"]
                .iter()
                .enumerate()
        {
            text += &format!(
                "http_request_duration_seconds_bucket{{{labels},le=\"{bound}\"}} {}.0\n",
                step * route
            );
        }
        text += &format!("http_request_duration_seconds_sum{{{labels}}} {}.0312507\n", route * 3);
        text += &format!("http_request_duration_seconds_count{{{labels}}} {}.0\n", 11 * route);
    }
    text
}
