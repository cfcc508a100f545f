//! What holds for every page: no panic, true line numbers, nothing raw comes through, nothing gets lost.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::{Format, decode};
use headwater::sources::metrics::mapping::{Mapper, Target, explain};
use headwater_engine::histogram::{Histogram, Percentile};
use headwater_engine::metric::TTFT;
use headwater_engine::reading::{Reading, Value};
use headwater_engine::store::Store;
use headwater_engine::{Moment, RemoteText, Subject};
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

#[test]
fn a_password_in_a_label_comes_through_nowhere() {
    let address = "http://u:s3cret@h:1/p?token=s3cret";
    let pages = [
        format!("# TYPE own gauge\nown{{instance=\"{address}\"}} 1\n"),
        format!(
            "# TYPE envoy_cluster_upstream_rq_total counter\nenvoy_cluster_upstream_rq_total{{envoy_cluster_name=\"{address}\"}} 1\n"
        ),
        format!(
            "# TYPE traces_service_graph_request_total counter\ntraces_service_graph_request_total{{client=\"a\",server=\"{address}\"}} 1\n"
        ),
        format!(
            "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{{gpu=\"0\",Hostname=\"{address}\"}} 60\n"
        ),
    ];
    for text in pages {
        let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&decode(text.as_bytes(), None));
        assert!(!mapping.samples.is_empty(), "{text}");
        let told = format!("{:?}", mapping.samples);
        assert!(!told.contains("s3cret"), "{text}: {told}");
    }
}

#[test]
fn what_differs_only_in_a_password_is_left_out_and_never_added_up() {
    for (lines, kept, left_out) in [
        ("own{m=\"a:x@h\"} 1\nown{m=\"a:y@h\"} 2\n", vec![1.0], 1),
        ("own{m=\"models:/ranker@best\"} 1\nown{m=\"models:/fraud@best\"} 2\n", vec![1.0, 2.0], 0),
        (
            "hikaricp_connections_active{pool=\"a:x@h\"} 1\nhikaricp_connections_active{pool=\"a:y@h\"} 2\n",
            vec![1.0],
            1,
        ),
        (
            "hikaricp_connections_active{pool=\"a:x@h\",b=\"1\"} 1\n\
             hikaricp_connections_active{pool=\"a:x@h\",b=\"2\"} 2\n",
            vec![3.0],
            0,
        ),
    ] {
        let name = lines.split('{').next().expect("it has a name");
        let page = format!("# TYPE {name} gauge\n{lines}");
        let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&decode(page.as_bytes(), None));
        let value = |value: &Value| match value {
            Value::Gauge(value) | Value::Counter(value) => *value,
            Value::Histogram(_) => f64::NAN,
        };
        let values: Vec<f64> = mapping.samples.iter().map(|sample| value(&sample.value)).collect();
        assert_eq!((values, mapping.left_out), (kept, left_out), "{page}");
    }
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

/// What a page says of how many events there were.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    /// A bucket for `+Inf`, and a count.
    Whole,
    /// No bucket for `+Inf`: the count tells.
    Count,
    /// Neither: nobody knows of what was above the last bound.
    Buckets,
}

/// A histogram of these values as a page has it, read back.
fn read_back(bounds: &[f64], values: &[f64], ending: Ending) -> Histogram {
    let at_most = |bound: f64| values.iter().filter(|value| **value <= bound).count();
    let mut text = "# TYPE x histogram\n".to_owned();
    for bound in bounds {
        text += &format!("x_bucket{{le=\"{bound}\"}} {}\n", at_most(*bound));
    }
    if ending == Ending::Whole {
        text += &format!("x_bucket{{le=\"+Inf\"}} {}\n", values.len());
    }
    if ending != Ending::Buckets {
        text += &format!("x_count {}\n", values.len());
    }
    text += &format!("x_sum {}\n", values.iter().sum::<f64>());
    let page = decode(text.as_bytes(), Some(Format::Text));
    assert!(page.problems.is_empty(), "{:?}", page.problems);
    let families = page.by_family();
    page.histograms(&families[0]).pop().expect("a histogram").histogram
}

/// Whether a percentile says of these values no more than their buckets can tell, and nothing that is not so.
fn is_true(told: Percentile, q: f64, values: &[f64], bounds: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let exact = |rank: f64| sorted[(rank.ceil() as usize).clamp(1, sorted.len()) - 1];
    let holds = |exact: f64| match (told, bounds.partition_point(|bound| *bound < exact)) {
        (Percentile::AtMost(bound), place) => place == 0 && bound == bounds[0],
        (Percentile::Above(bound), place) => place == bounds.len() && bound == bounds[place - 1],
        (Percentile::Value(value), place) => {
            (1..bounds.len()).contains(&place) && (bounds[place - 1]..=bounds[place]).contains(&value)
        }
    };
    // Where a rank is whole but for the last bit of a float, either of two neighbours is the exact one.
    let rank = q * sorted.len() as f64;
    [rank - 1e-9, rank + 1e-9].into_iter().any(|rank| holds(exact(rank)))
}

fn bounds() -> impl Strategy<Value = Vec<f64>> {
    // The first bound may be far above most values, and the last far below.
    prop::collection::btree_set(1_u32..4_000, 1..9)
        .prop_map(|bounds| bounds.into_iter().map(|bound| f64::from(bound) / 1_000.0).collect())
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((1_u32..5_000).prop_map(|value| f64::from(value) / 1_000.0), 0..40)
}

proptest! {
    #[test]
    fn percentiles_of_what_was_gained_are_those_of_the_values_themselves(
        bounds in bounds(),
        scrapes in prop::collection::vec(values(), 2..7),
        restart in prop::option::of(1_usize..6),
        ending in prop::sample::select(&[Ending::Whole, Ending::Count, Ending::Buckets][..]),
        q in (1_u32..1_000).prop_map(|q| f64::from(q) / 1_000.0),
    ) {
        let subject: Subject = "service/x@h:1".parse().expect("a subject");
        let mut store = Store::new(Duration::from_secs(1), 1 << 20);
        let mut total: Vec<f64> = vec![];
        let mut before: Option<Histogram> = None;
        for (place, values) in scrapes.iter().enumerate() {
            if restart == Some(place) {
                total.clear();
            }
            total.extend(values);
            let read = read_back(&bounds, &total, ending);
            // A target that has counted further than before it restarted is found out by its uptime alone.
            let falls = before.as_ref().is_some_and(|before| read.since(before).is_none());
            let mut reading = Reading::new(subject.clone(), Moment(place as i64 * 1_000));
            reading.sample(&subject, TTFT, Value::Histogram(Arc::new(read.clone())));
            store.take(&reading, restart == Some(place) && !falls, None);
            before = Some(read);
        }
        for from in 0..scrapes.len() {
            for to in from + 1..scrapes.len() {
                let first = restart.filter(|at| (from + 1..=to).contains(at)).unwrap_or(from);
                let moment = |place: usize| Moment(place as i64 * 1_000);
                let gained = store.gained(&subject, TTFT, None, moment(from), moment(to));
                if first == to {
                    prop_assert_eq!(gained, None, "nothing can be subtracted from the first scrape of a run");
                    continue;
                }
                let gained = gained.expect("two scrapes of one run");
                let last = bounds[bounds.len() - 1];
                let is_known = |value: &&f64| ending != Ending::Buckets || **value <= last;
                let known: Vec<f64> =
                    scrapes[first + 1..=to].iter().flatten().filter(is_known).copied().collect();
                prop_assert_eq!(gained.count, known.len() as f64);
                match gained.percentile(q) {
                    None => prop_assert!(known.is_empty()),
                    Some(told) => prop_assert!(is_true(told, q, &known, &bounds), "{told:?} of {known:?}"),
                }
                if ending != Ending::Buckets && !known.is_empty() {
                    let mean = known.iter().sum::<f64>() / known.len() as f64;
                    prop_assert!((gained.mean().expect("a sum") - mean).abs() < 1e-6);
                }
            }
        }
    }

    #[test]
    fn percentiles_of_several_instances_are_those_of_all_their_values(
        bounds in bounds(),
        instances in prop::collection::vec(values(), 1..5),
        q in (1_u32..1_000).prop_map(|q| f64::from(q) / 1_000.0),
    ) {
        let of_each = instances.iter().map(|values| read_back(&bounds, values, Ending::Whole));
        let merged = of_each.reduce(|mut sum, one| {
            assert!(sum.merge(&one));
            sum
        });
        let all: Vec<f64> = instances.concat();
        match merged.expect("an instance").percentile(q) {
            None => prop_assert!(all.is_empty()),
            Some(told) => prop_assert!(is_true(told, q, &all, &bounds), "{told:?} of {all:?}"),
        }
    }

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
