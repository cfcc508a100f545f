//! What holds for every page: no panic, true line numbers, nothing raw comes through, nothing gets lost.

use std::collections::BTreeMap;
use std::path::Path;

use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::{Format, decode};
use headwater::sources::metrics::mapping::{Mapper, Target, explain};
use headwater_engine::{RemoteText, Subject};
use headwater_test_support::oracle;
use proptest::prelude::*;

fn target() -> Target {
    let component: Subject = "service/x".parse().expect("a subject");
    Target::new(&component, "h:1")
}

/// Reads and maps any bytes in every format, and checks what must hold whatever they are.
fn exercise(bytes: &[u8]) {
    for format in [None, Some(Format::Text), Some(Format::OpenMetrics)] {
        let page = decode(bytes, format);
        let lines = bytes.split(|byte| *byte == b'\n').count();
        assert!(page.lines as usize <= lines);
        for problem in &page.problems.first {
            assert!((1..=page.lines.max(1)).contains(&problem.line), "{problem:?}");
        }
        assert!(page.samples.windows(2).all(|pair| pair[0].line < pair[1].line));
        let mut mapper = Mapper::new(Dialects::built_in(), target(), None);
        let mapping = mapper.map(&page);
        let explanations = explain(Dialects::built_in(), &page, &mapping);
        assert_eq!(explanations.len(), page.families.len());
        for sample in &mapping.samples {
            let metric = sample.metric.as_str();
            assert_eq!(RemoteText::new(metric).as_str(), metric);
            let part = sample.part.as_ref().map_or("", |part| part.as_str());
            assert_eq!(RemoteText::new(part).as_str(), part, "cleaning again changes nothing");
        }
        assert_eq!(mapping.samples, mapper.map(&page).samples, "the same page gives the same samples");
    }
}

#[test]
fn every_seed_of_the_fuzzer_is_digested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/exposition");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        exercise(&bytes);
        for cut in 0..bytes.len() {
            exercise(&bytes[..cut]);
        }
        count += 1;
    }
    assert!(count >= 8, "only {count} seeds");
}

/// Pieces of pages, so that random texts come close to real ones.
const PIECES: &[&str] = &[
    "# TYPE ",
    "# HELP ",
    "# UNIT ",
    "# EOF",
    "a",
    "a_total",
    "a_bucket",
    "a_count",
    "a_sum",
    "vllm:x",
    "le",
    "quantile",
    "{",
    "}",
    "\"",
    "=",
    ",",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\\",
    "\\n",
    "1",
    "-1",
    "+Inf",
    "NaN",
    "0.5",
    "1e9",
    "# {",
    "counter",
    "gauge",
    "histogram",
    "summary",
    "info",
    "stateset",
    "gaugehistogram",
    "é",
    "\u{202e}",
    "\u{1b}[2J",
    "le=\"1\"",
    "le=\"+Inf\"",
    "\"a.b\"",
    "x_stage_duration_seconds_bucket",
    "stage=\"s\"",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..60).prop_map(|pieces| pieces.concat())
}

#[derive(Clone, Debug)]
struct Series {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
    timestamp: Option<i64>,
}

fn series(name: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = Series> {
    let labels = prop::collection::btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,8}", value, 0..6);
    let timestamp = prop::option::of(0..4_000_000_000_000_i64);
    (name, labels, any::<f64>(), timestamp).prop_map(|(name, labels, value, timestamp)| Series {
        name,
        labels,
        value,
        timestamp,
    })
}

fn page(series: &[Series]) -> String {
    let mut text = String::new();
    for one in series {
        let labels: Vec<_> = one
            .labels
            .iter()
            .map(|(name, value)| {
                let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                format!("{name}=\"{value}\"")
            })
            .collect();
        let timestamp = one.timestamp.map_or(String::new(), |at| format!(" {at}"));
        text += &format!("{}{{{}}} {}{timestamp}\n", one.name, labels.join(","), one.value);
    }
    text
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        exercise(&bytes);
    }

    #[test]
    fn nearly_pages_are_survived(text in soup()) {
        exercise(text.as_bytes());
    }

    #[test]
    fn what_is_written_is_read_back(
        written in prop::collection::vec(series("[a-zA-Z_:][a-zA-Z0-9_:]{0,12}", any::<String>()), 0..12),
    ) {
        let text = page(&written);
        let read = decode(text.as_bytes(), Some(Format::Text));
        prop_assert!(read.problems.is_empty(), "{:?}", read.problems);
        prop_assert_eq!(read.samples.len(), written.len());
        for (sample, one) in read.samples.iter().zip(&written) {
            prop_assert_eq!(read.name(sample), &one.name);
            let labels: BTreeMap<_, _> =
                read.labels(sample).iter().map(|l| (l.name.to_string(), l.value.to_string())).collect();
            prop_assert_eq!(&labels, &one.labels);
            prop_assert!(sample.value == one.value || (sample.value.is_nan() && one.value.is_nan()));
            prop_assert_eq!(sample.timestamp, one.timestamp.map(|at| at as f64 / 1_000.0));
        }
    }

    #[test]
    fn the_other_decoder_agrees_where_it_is_right(
        written in prop::collection::vec(series("[a-z][a-z0-9]{0,9}", "[a-zA-Z0-9/._-]{1,9}"), 0..12),
    ) {
        let text = page(&written).replace("{}", "");
        let read = decode(text.as_bytes(), Some(Format::Text));
        let mut numbers: Vec<_> = read
            .samples
            .iter()
            .map(|sample| {
                let labels = read.labels(sample).iter().map(|l| (l.name.to_string(), l.value.to_string()));
                oracle::number(read.name(sample), labels.collect(), sample.value)
            })
            .collect();
        numbers.sort();
        prop_assert_eq!(numbers, oracle::numbers(&text));
    }

    #[test]
    fn a_broken_line_costs_only_itself(
        before in series("[a-z]{1,9}", any::<String>()),
        after in series("[a-z]{1,9}", any::<String>()),
        broken in "[0-9]x[^\n]{0,20}",
    ) {
        let text = format!("{}{broken}\n{}", page(&[before]), page(&[after]));
        let read = decode(text.as_bytes(), Some(Format::Text));
        prop_assert_eq!((read.samples.len(), read.problems.lost), (2, 1));
        prop_assert_eq!(read.problems.first_lost().map(|problem| problem.line), Some(2));
    }
}
