//! How fast a page is decoded, beside `prometheus-parse` on the same bytes, with the values compared first.
//!
//! Criterion times each decoder; the table at the end pairs them run by run in processor time, since only a ratio
//! of neighbours means something on a machine that does other work too. A second table shows whether pages of every
//! size cost the same a byte, in time and in memory, and a third what pages cost that were made to cost much.

use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use headwater::sources::metrics::exposition::decode;
use headwater::sources::metrics::fetch::LONGEST_PAGE;
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

/// Bytes of a generated page for each route, about.
const BYTES_A_ROUTE: usize = 1_690;

/// Rounds of the table; each times both decoders back to back.
const ROUNDS: usize = 31;

/// The environment variable that makes this program tell the memory of one page, by its name, and nothing else.
const MEMORY_OF: &str = "HEADWATER_DECODE_MEMORY";

fn main() {
    if let Ok(name) = std::env::var(MEMORY_OF) {
        return tell_memory(&name).expect("the number can be printed");
    }
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
    growth().expect("the table can be printed");
    malice().expect("the table can be printed");
}

/// Sizes of pages, in MB; beyond 32 MiB no page is fetched, and the last is there to show that nothing bends.
const SIZES: &[usize] = &[1, 4, 16, 32, 100];

/// Rounds for a page of such a size.
const LARGE_ROUNDS: usize = 5;

/// A page as services have them, about so many MB long.
fn sized(megabytes: usize) -> String {
    generated(megabytes * 1_000_000 / BYTES_A_ROUTE)
}

fn growth() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "\n| MB | samples | headwater MB/s | prometheus-parse MB/s | ratio median | memory beside the page, bytes a byte |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for megabytes in SIZES {
        let text = sized(*megabytes);
        let mut rounds: Vec<(f64, f64)> = (0..LARGE_ROUNDS)
            .map(|_| {
                let mine = time(1, || decode(black_box(text.as_bytes()), None).samples.len());
                (mine, time(1, || oracle::parse(black_box(&text)).samples.len()))
            })
            .collect();
        rounds.sort_by(|(a, b), (c, d)| (b / a).total_cmp(&(d / c)));
        let (mine, theirs) = rounds[LARGE_ROUNDS / 2];
        let speed = |seconds: f64| text.len() as f64 / seconds / 1e6;
        let samples = decode(text.as_bytes(), None).samples.len();
        let memory = remembered(&format!("{megabytes} MB"));
        writeln!(
            out,
            "| {:.1} | {samples} | {:.0} | {:.0} | {:.1} | {memory} |",
            text.len() as f64 / 1e6,
            speed(mine),
            speed(theirs),
            theirs / mine
        )?;
    }
    Ok(())
}

/// What a page is made of, and how.
type Malice = (&'static str, fn() -> String);

/// Pages of the greatest length that is fetched, made of what costs most a byte.
const MALICE: &[Malice] = &[
    ("the shortest lines", || "a 1\n".repeat(LONGEST_PAGE / 4)),
    ("one empty label a line", || "a{a=\"\"} 1\n".repeat(LONGEST_PAGE / 10)),
    ("256 empty labels a line", || {
        let labels: String = (0..256).map(|number| format!("{}=\"\",", short(number))).collect();
        format!("a{{{labels}}} 1\n").repeat(LONGEST_PAGE / (labels.len() + 6))
    }),
    ("each line another name", || numbered(|number| format!("a{number} 1\n"))),
    ("each line another TYPE", || numbered(|number| format!("# TYPE a{number} gauge\n"))),
    ("each line wrong", || "!\n".repeat(LONGEST_PAGE / 2)),
    ("an escape at every second byte", || format!("a{{a=\"{}\"}} 1\n", "\\n".repeat(LONGEST_PAGE / 2 - 8))),
];

fn malice() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n| 32 MiB of | samples | headwater MB/s | memory beside the page, bytes a byte |")?;
    writeln!(out, "|---|---|---|---|")?;
    for (name, make) in MALICE {
        let text = make();
        let mut samples = 0;
        let mine = time(1, || {
            samples = decode(black_box(text.as_bytes()), None).samples.len();
            samples
        });
        writeln!(
            out,
            "| {name} | {samples} | {:.0} | {} |",
            text.len() as f64 / mine / 1e6,
            remembered(name)
        )?;
    }
    Ok(())
}

/// Lines by their number, as many as fit.
fn numbered(line: fn(usize) -> String) -> String {
    let mut text = String::with_capacity(LONGEST_PAGE);
    for next in (0..).map(line) {
        if text.len() + next.len() > LONGEST_PAGE {
            break;
        }
        text += &next;
    }
    text
}

/// A label name of one or two letters.
fn short(number: u32) -> String {
    let letter = |number| char::from_u32(u32::from('a') + number).expect("it is a letter");
    match number {
        0..26 => letter(number).to_string(),
        _ => format!("{}{}", letter(number / 26), letter(number % 26)),
    }
}

/// The resident memory at its highest while a page is decoded, beyond what was there, per byte of the page; told by a
/// process of its own, because one that has decoded before has memory to spare.
fn remembered(name: &str) -> String {
    let own = std::env::current_exe().and_then(|path| Command::new(path).env(MEMORY_OF, name).output());
    let told =
        own.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    match String::from_utf8_lossy(&told).trim() {
        "" => "not told by this system".to_owned(),
        told => told.to_owned(),
    }
}

/// What [`remembered`] asks of the process that it starts.
fn tell_memory(name: &str) -> std::io::Result<()> {
    let of_status = |key: &str| -> Option<f64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
    };
    let text = match name.strip_suffix(" MB").and_then(|size| size.parse().ok()) {
        Some(megabytes) => sized(megabytes),
        None => MALICE.iter().find(|(known, _)| *known == name).map(|(_, make)| make()).unwrap_or_default(),
    };
    // Forgets the highest so far.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let before = of_status("VmRSS:");
    black_box(decode(black_box(text.as_bytes()), None));
    if let Some((before, highest)) = before.zip(of_status("VmHWM:")) {
        writeln!(std::io::stdout(), "{:.1}", (highest - before) * 1024.0 / text.len() as f64)?;
    }
    Ok(())
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
        ("fleet, OpenMetrics (generated)".to_owned(), as_openmetrics(&generated(2_000))),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    for name in REAL {
        if let Ok(text) = std::fs::read_to_string(folder.join(name)) {
            pages.push(((*name).to_owned(), text));
        }
    }
    pages
}

/// The same page as OpenMetrics: a counter's family without its suffix, an exemplar at each bucket, and the end.
fn as_openmetrics(text: &str) -> String {
    let mut page = String::with_capacity(2 * text.len());
    for line in text.lines() {
        match line.strip_prefix('#') {
            Some(metadata) => page += &format!("#{}\n", metadata.replacen("_total ", " ", 1)),
            None if line.contains("_bucket{") => {
                page += &format!(
                    "{line} # {{trace_id=\"5e38abde93ed9cbd\"}} 0.08633587921707353 1795968170.028\n"
                );
            }
            None => page += &format!("{line}\n"),
        }
    }
    page + "# EOF\n"
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
