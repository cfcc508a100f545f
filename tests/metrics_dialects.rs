//! Every dialect keeps the promises of its own file, and the dialects together keep out of each other's way.

mod metrics_dialects {
    mod by_hand;
    mod no_values;
    mod to_the_rules;
}

use std::collections::HashSet;

use headwater::sources::metrics::dialect::{Dialects, Example, SubjectRole, key_of};
use headwater::sources::metrics::exposition::decode;
use headwater::sources::metrics::mapping::{
    Fate, MOST_FREE_SERIES, MOST_NAMED, MOST_PARTS, Mapper, Mapping, Target, explain,
};
use headwater_engine::Subject;
use headwater_engine::metric::{self, Metric, MetricName};
use headwater_engine::reading::Value;

fn target() -> Target {
    let component: Subject = "service/ranker".parse().expect("a subject");
    Target::new(&component, "127.0.0.1:8000")
}

fn map(text: &str) -> Mapping {
    let page = decode(text.as_bytes(), None);
    assert_eq!(page.problems.lost, 0, "{:?}", page.problems.first_lost());
    Mapper::new(Dialects::built_in(), target(), None).map(&page)
}

fn spoken(mapping: &Mapping) -> Vec<&str> {
    mapping.spoken.iter().map(|place| Dialects::built_in().list[*place].id.as_str()).collect()
}

fn known(mapping: &Mapping) -> Vec<String> {
    let mut lines: Vec<_> = mapping
        .samples
        .iter()
        .filter(|sample| matches!(sample.metric, MetricName::Known(_)))
        .map(|sample| {
            let part = sample.part.as_ref().map_or("", |part| part.as_str());
            let (value, sum, bounds) = match &sample.value {
                Value::Gauge(value) | Value::Counter(value) => (*value, None, None),
                Value::Histogram(h) => (h.count, h.sum, Some(h.bounds.to_vec())),
            };
            line(sample.subject.as_str(), sample.metric.as_str(), part, value, sum, bounds)
        })
        .collect();
    lines.sort();
    lines
}

fn expected(example: &Example) -> Vec<String> {
    let mut lines: Vec<_> = example
        .expect
        .iter()
        .map(|row| {
            let part = row.part.as_deref().unwrap_or("");
            let named = row.of.as_ref().zip(row.subject.kind());
            let named = named.map(|(name, kind)| format!("{}/{name}", kind.word()));
            let subject = named.unwrap_or_else(|| target().subject(row.subject).as_str().to_owned());
            line(&subject, &row.metric, part, row.value, row.sum, row.bounds.clone())
        })
        .collect();
    lines.sort();
    lines
}

fn line(
    subject: &str,
    metric: &str,
    part: &str,
    value: f64,
    sum: Option<f64>,
    bounds: Option<Vec<f64>>,
) -> String {
    format!("{subject} {metric}[{part}] = {value} sum {sum:?} bounds {bounds:?}")
}

#[test]
fn every_example_gives_exactly_what_its_file_says() {
    for dialect in &Dialects::built_in().list {
        for example in &dialect.examples {
            let mapping = map(&example.text);
            assert_eq!(known(&mapping), expected(example), "{}: {}", dialect.id, example.about);
            assert!(spoken(&mapping).contains(&dialect.id.as_str()), "{} is not recognised", dialect.id);
            for sample in &mapping.samples {
                if let MetricName::Known(metric) = sample.metric {
                    // A bit of a mask of reasons is a share of time already.
                    let is_level = dialect.rows.iter().any(|row| row.metric == metric && row.is_level);
                    let is_right = is_level && matches!(sample.value, Value::Gauge(_))
                        || matches!(
                            (metric.row().form, &sample.value),
                            (metric::Form::Gauge, Value::Gauge(_))
                                | (metric::Form::Counter, Value::Counter(_))
                                | (metric::Form::Histogram, Value::Histogram(_))
                        );
                    assert!(is_right, "{}: {:?}", dialect.id, sample);
                }
            }
        }
    }
}

#[test]
fn every_family_that_a_row_names_is_shown_by_an_example_of_its_dialect() {
    let mut missing = vec![];
    for (place, dialect) in Dialects::built_in().list.iter().enumerate() {
        // What comes out of an example has exactly the values that its file says: another test sees to that.
        let mut shown = HashSet::new();
        for example in &dialect.examples {
            let page = decode(example.text.as_bytes(), None);
            let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&page);
            for (family, fate) in page
                .families
                .iter()
                .zip(&mapping.fates)
                .flat_map(|(family, fates)| fates.iter().map(move |fate| (family, fate)))
            {
                if let Fate::Mapped(at) | Fate::Added(at) = fate
                    && at.dialect == place
                {
                    let key = key_of(&family.name);
                    let names = &dialect.rows[at.row].families;
                    shown.insert((at.row, names.iter().position(|name| name.fits(&key))));
                }
            }
        }
        for (number, row) in dialect.rows.iter().enumerate() {
            for (name, family) in row.families.iter().enumerate() {
                if !shown.contains(&(number, Some(name))) {
                    missing.push(format!("{}: {} as {}", dialect.id, family.text(), row.metric.name()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "no example shows\n{}", missing.join("\n"));
}

#[test]
fn a_key_that_no_dialect_has_is_an_error_that_names_the_file() {
    let file = "id = \"x\"\ntitle = \"X\"\npriority = 1\ncolour = \"red\"\n";
    let error = Dialects::parse(&[("x.toml", file)]).unwrap_err().to_string();
    assert!(error.contains("'x.toml'") && error.contains("colour"), "{error}");
    let row = "id = \"x\"\ntitle = \"X\"\npriority = 1\n[[row]]\nfamilies = [\"a\"]\nmetric = \"no.such\"\n[[example]]\nabout = \"a\"\ntext = \"\"\nexpect = []\n";
    let error = Dialects::parse(&[("x.toml", row)]).unwrap_err().to_string();
    assert!(error.contains("'no.such'") && error.contains("METRICS"), "{error}");
}

const ENGINE: &str = "# TYPE vllm:num_requests_waiting gauge\n\
    vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 3\n";

#[test]
fn a_target_can_speak_several_dialects() {
    let text = format!(
        "{ENGINE}# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7e9\n\
         # TYPE http_requests_total counter\nhttp_requests_total{{status=\"2xx\"}} 5\n\
         # TYPE vllm:request_success_total counter\n\
         vllm:request_success_total{{finished_reason=\"stop\",model_name=\"m\"}} 4\n"
    );
    let mapping = map(&text);
    assert_eq!(spoken(&mapping), ["http-server", "vllm", "process"]);
    // The HTTP layer counts refusals too; the engine's own total is not added to it.
    assert!(known(&mapping).iter().any(|line| line.contains("service.requests[] = 5 ")));
    assert!(known(&mapping).iter().any(|line| line.contains("service.errors[] = 0 ")));
}

#[test]
fn a_router_in_front_of_vllm_is_not_taken_for_an_engine() {
    let mapping = map("# TYPE vllm:num_requests_waiting gauge\n\
                       vllm:num_requests_waiting{server=\"http://e1\",model_name=\"m\"} 3\n");
    assert!(spoken(&mapping).is_empty() && known(&mapping).is_empty(), "{:?}", mapping.samples);
}

#[test]
fn two_families_of_one_meaning_are_never_mixed() {
    let one = "# TYPE a_request_duration_seconds histogram\n\
               a_request_duration_seconds_bucket{le=\"1\"} 5\na_request_duration_seconds_count 5\n";
    let other = one.replace("a_request", "b_request").replace('5', "7");
    for (first, count) in [(format!("{one}{other}"), "= 5 "), (format!("{other}{one}"), "= 7 ")] {
        let mapping = map(&first);
        let durations: Vec<_> = known(&mapping)
            .into_iter()
            .filter(|line| line.contains("http.server.request.duration"))
            .collect();
        assert_eq!(durations.len(), 1);
        assert!(durations[0].contains(count), "{durations:?}");
    }
}

#[test]
fn what_the_type_says_goes_before_what_the_name_says() {
    // vLLM's iteration_tokens_total is a histogram and no counter.
    let mapping = map("# TYPE x_requests_total gauge\nx_requests_total{code=\"200\"} 5\n");
    assert!(known(&mapping).is_empty());
    assert!(matches!(mapping.samples[0].value, Value::Gauge(value) if value == 5.0));
}

#[test]
fn free_metrics_are_bounded_and_the_same_ones_stay() {
    let page = |range: std::ops::Range<usize>| {
        let series: String = range.map(|n| format!("things{{n=\"{n}\"}} {n}\n")).collect();
        format!("# TYPE things gauge\n{series}things_created 1.7e9\n")
    };
    let mut mapper = Mapper::new(Dialects::built_in(), target(), None);
    let first = mapper.map(&decode(page(0..300).as_bytes(), None));
    assert_eq!((first.samples.len(), first.left_out), (MOST_FREE_SERIES, 100));
    // New series at the top of the page do not push out those that were kept.
    let text = page(1_000..1_300) + &page(0..300);
    let second = mapper.map(&decode(text.as_bytes(), None));
    assert_eq!(first.samples, second.samples);
    assert!(first.samples.iter().all(|sample| sample.metric.as_str() == "things"));
}

#[test]
fn parts_are_bounded() {
    let text: String = (0..MOST_PARTS + 50)
        .map(|n| {
            format!("x_stage_duration_seconds_bucket{{stage=\"{n}\",le=\"1\"}} 1\nx_stage_duration_seconds_count{{stage=\"{n}\"}} 1\n")
        })
        .collect();
    let mapping = map(&format!("# TYPE x_stage_duration_seconds histogram\n{text}"));
    assert_eq!((mapping.samples.len(), mapping.left_out), (MOST_PARTS, 50));
}

#[test]
fn hostile_labels_come_out_harmless() {
    let mapping = map("# TYPE x_stage_duration_seconds histogram\n\
        x_stage_duration_seconds_bucket{stage=\"\x1b]0;pwned\x07\",le=\"1\"} 1\n\
        # TYPE free gauge\nfree{a=\"\u{202e}gpj.exe\x1b[2J\"} 1\n");
    assert_eq!(mapping.samples.len(), 2);
    for sample in &mapping.samples {
        let part = sample.part.as_ref().unwrap().as_str();
        assert!(part.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{part:?}");
    }
}

#[test]
fn milliseconds_become_seconds() {
    let file = "id = \"ms\"\ntitle = \"ms\"\npriority = 1\n\
        [[row]]\nfamilies = [\"took_ms\"]\nmetric = \"queue.wait\"\nscale = 0.001\n\
        [[example]]\nabout = \"a\"\ntext = \"\"\nexpect = []\n";
    let dialects = Box::leak(Box::new(Dialects::parse(&[("ms.toml", file)]).unwrap()));
    let page = decode(
        b"# TYPE took_ms histogram\ntook_ms_bucket{le=\"500\"} 2\ntook_ms_sum 800\ntook_ms_count 3\n",
        None,
    );
    let mapping = Mapper::new(dialects, target(), None).map(&page);
    let Value::Histogram(histogram) = &mapping.samples[0].value else { panic!("{:?}", mapping.samples) };
    assert_eq!((&histogram.bounds[..], histogram.sum, histogram.count), (&[0.5][..], Some(0.8), 3.0));
}

/// Reads one dialect, with these rows, that is spoken by whoever has a family of them.
fn dialect(rows: &str) -> Result<Dialects, String> {
    let text = format!(
        "id = \"own\"\ntitle = \"Own\"\npriority = 1\n{rows}\n\
         [[example]]\nabout = \"a\"\ntext = \"\"\nexpect = []\n"
    );
    Dialects::parse(&[("own.toml", &text)]).map_err(|error| error.to_string())
}

#[test]
fn a_row_that_adds_counts_one_family_of_its_own_on_top() {
    let rows = "[[row]]\nfamilies = [\"seen_total\"]\nmetric = \"service.errors\"\n\
                [[row]]\nfamilies = [\"unseen_total\", \"old_unseen_total\"]\nmetric = \"service.errors\"\nadd = true\n";
    let dialects: &'static Dialects = Box::leak(Box::new(dialect(rows).unwrap()));
    let seen = "# TYPE seen_total counter\nseen_total 4\n";
    let unseen = "# TYPE unseen_total counter\nunseen_total 2\n";
    let old = "# TYPE old_unseen_total counter\nold_unseen_total 2\n";
    for (text, errors) in [
        (format!("{seen}{unseen}{old}"), 6.0),
        (format!("{unseen}{seen}"), 6.0),
        (format!("{seen}{old}"), 6.0),
        (format!("{unseen}{old}"), 2.0),
        (seen.to_owned(), 4.0),
    ] {
        let page = decode(text.as_bytes(), None);
        let mapping = Mapper::new(dialects, target(), None).map(&page);
        let values: Vec<_> = mapping.samples.iter().map(|sample| &sample.value).collect();
        assert_eq!(values, [&Value::Counter(errors)], "{text}");
    }
    let page = format!("{seen}{unseen}");
    let page = decode(page.as_bytes(), None);
    let mapping = Mapper::new(dialects, target(), None).map(&page);
    assert_eq!(
        explain(dialects, &page, &mapping)[1].fates,
        ["is added to service.errors (dialect own), which a family that goes first gives"]
    );
}

#[test]
fn labels_name_subjects_where_the_dialect_says_so() {
    let rows = "[subject.gpu]\nname = \"{Hostname|hostname|@host}:{gpu}\"\n\
                [subject.host]\nname = \"{@name|nodename|@host}\"\nfrom = \"uname_info\"\n\
                [[row]]\nfamilies = [\"busy\"]\nmetric = \"gpu.utilization\"\nsubject = \"gpu\"\n\
                [[row]]\nfamilies = [\"load\"]\nmetric = \"host.load\"\nsubject = \"host\"\n\
                [[row]]\nfamilies = [\"disk\"]\nmetric = \"host.disk.busy\"\nsubject = \"host\"\npart_text = \"{ns}/{dev}\"\n";
    let dialects: &'static Dialects = Box::leak(Box::new(dialect(rows).unwrap()));
    let text = "# TYPE busy gauge\nbusy{Hostname=\"a\",gpu=\"0\"} 1\nbusy{gpu=\"1\"} 2\nbusy{Hostname=\"a\"} 3\n\
                # TYPE load gauge\nload 4\n\
                # TYPE disk counter\ndisk{ns=\"x\",dev=\"sda\"} 5\ndisk{dev=\"sdb\"} 6\n";
    let named = "# TYPE uname_info gauge\nuname_info{nodename=\"node-7\"} 1\n";
    let subjects = |component: &str, text: &str| {
        let target = Target::new(&component.parse().unwrap(), "10.0.0.5:9400");
        let mapping = Mapper::new(dialects, target, None).map(&decode(text.as_bytes(), None));
        let known = mapping.samples.iter().filter(|sample| matches!(sample.metric, MetricName::Known(_)));
        known
            .map(|sample| {
                format!("{}[{}]", sample.subject, sample.part.as_ref().map_or("", |part| part.as_str()))
            })
            .collect::<Vec<_>>()
    };
    let gpus = ["gpu/a:0[]", "gpu/10.0.0.5:1[]"];
    assert_eq!(
        subjects("service/x", &format!("{text}{named}")),
        [&gpus[..], &["host/node-7[]", "host/node-7[x/sda]"]].concat()
    );
    assert_eq!(
        subjects("host/mine", &format!("{text}{named}")),
        [&gpus[..], &["host/mine[]", "host/mine[x/sda]"]].concat()
    );
    assert_eq!(
        subjects("service/x", text),
        [&gpus[..], &["host/10.0.0.5[]", "host/10.0.0.5[x/sda]"]].concat()
    );
}

#[test]
fn named_subjects_are_bounded_and_those_left_out_are_counted() {
    let rows = "[subject.kafka]\nname = \"{group}\"\n\
                [[row]]\nfamilies = [\"lag\"]\nmetric = \"kafka.consumer.lag\"\nsubject = \"kafka\"\npart = \"topic\"\n";
    let dialects: &'static Dialects = Box::leak(Box::new(dialect(rows).unwrap()));
    let series: String = (0..MOST_NAMED + 7)
        .map(|n| format!("lag{{group=\"g{n}\",topic=\"a\"}} {n}\nlag{{group=\"g{n}\",topic=\"b\"}} {n}\n"))
        .collect();
    let page = format!("# TYPE lag gauge\n{series}");
    let mapping = Mapper::new(dialects, target(), None).map(&decode(page.as_bytes(), None));
    assert_eq!((mapping.samples.len(), mapping.left_out), (2 * MOST_NAMED, 14));
}

#[test]
fn a_subject_that_nothing_names_is_an_error_that_says_what_to_write() {
    let row = "[[row]]\nfamilies = [\"a\"]\nmetric = \"edge.requests\"\nsubject = \"edge\"\n";
    let own = "[[row]]\nfamilies = [\"a\"]\nmetric = \"gpu.xid\"\nsubject = \"gpu\"\n";
    for (rows, part) in [
        (row.to_owned(), "subject 'edge' is missing"),
        (format!("[subject.edge]\nname = \"x\"\n{row}"), "needs 'caller' and 'callee'"),
        (format!("[subject.gpu]\ncaller = \"x\"\n{own}"), "needs 'caller' and 'callee'"),
        (format!("[subject.itself]\nname = \"x\"\n{own}"), "is the target"),
    ] {
        let error = dialect(&rows).map(|_| ()).unwrap_err();
        assert!(error.contains("own.toml") && error.contains(part), "{error}");
    }
}

#[test]
fn keys_that_make_no_sense_for_a_metric_are_named() {
    for (metric, keys, part) in [
        ("queue.wait", "add = true", "add 'queue.wait'"),
        ("queue.waiting", "count = [\"b\"]", "count 'queue.waiting'"),
        ("queue.wait", "over = [\"b\"]", "over 'queue.wait'"),
        ("queue.waiting", "typed = [\"sum\"]", "typed 'sum'"),
        ("queue.waiting", "range = [1.0, 0.0]", "range '[1, 0]'"),
        ("queue.waiting", "codes = { up = 1.0 }", "codes 'up'"),
    ] {
        let rows = format!("[[row]]\nfamilies = [\"a\"]\nmetric = \"{metric}\"\n{keys}\n");
        let error = dialect(&rows).map(|_| ()).unwrap_err();
        assert!(error.contains("own.toml") && error.contains(part), "{error}");
    }
}

/// What one row makes of a page: part, value, sum, one a sample.
fn taken(row: &str, text: &str) -> Vec<(String, f64, Option<f64>)> {
    let dialects: &'static Dialects =
        Box::leak(Box::new(dialect(&format!("[[row]]\n{row}")).expect("the row is right")));
    let mapping = Mapper::new(dialects, target(), None).map(&decode(text.as_bytes(), None));
    let known = mapping.samples.iter().filter(|sample| matches!(sample.metric, MetricName::Known(_)));
    known
        .map(|sample| {
            let part = sample.part.as_ref().map_or(String::new(), |part| part.as_str().to_owned());
            match &sample.value {
                Value::Gauge(value) | Value::Counter(value) => (part, *value, None),
                Value::Histogram(h) => {
                    assert!(h.bounds.is_empty() && h.counts.is_empty(), "{h:?}");
                    (part, h.count, h.sum)
                }
            }
        })
        .collect()
}

fn one(value: f64, sum: Option<f64>) -> Vec<(String, f64, Option<f64>)> {
    vec![(String::new(), value, sum)]
}

#[test]
fn a_summary_has_a_count_and_a_sum_and_no_buckets() {
    let row = "families = [\"took_us\"]\nmetric = \"queue.wait\"\nscale = 0.001\n";
    let page = "# TYPE took_us summary\ntook_us{m=\"a\",quantile=\"0.99\"} 3\n\
                took_us_sum{m=\"a\"} 8000\ntook_us_count{m=\"a\"} 4\n\
                took_us_sum{m=\"b\"} 2000\ntook_us_count{m=\"b\"} 1\ntook_us_count{m=\"c\"} 9\n";
    assert_eq!(taken(row, page), one(5.0, Some(10.0)));
    assert_eq!(
        taken("families = [\"took_us\"]\nmetric = \"service.requests\"\nfield = \"count\"\n", page),
        one(14.0, None)
    );
    assert_eq!(
        taken("families = [\"took_us\"]\nmetric = \"gen_ai.tokens.output\"\nfield = \"sum\"\n", page),
        one(10_000.0, None)
    );
}

#[test]
fn buckets_go_before_a_summary_of_the_same_meaning() {
    let summary = "# TYPE a_request_duration_seconds summary\na_request_duration_seconds_sum 1\na_request_duration_seconds_count 1\n";
    let buckets = "# TYPE b_request_duration_seconds histogram\nb_request_duration_seconds_bucket{le=\"1\"} 7\nb_request_duration_seconds_count 7\n";
    let lines = known(&map(&format!("{summary}{buckets}")));
    assert!(lines.iter().any(|line| line.contains("http.server.request.duration[] = 7 ")), "{lines:?}");
    let lines = known(&map(summary));
    let mean = "http.server.request.duration[] = 1 sum Some(1.0) bounds Some([])";
    assert!(lines.iter().any(|line| line.contains(mean)), "{lines:?}");
}

#[test]
fn a_sum_finds_the_count_with_its_labels() {
    let row = "families = [\"took_us\"]\nmetric = \"queue.wait\"\ncount = [\"done\"]\nscale = 1e-6\n";
    let page = "# TYPE took_us counter\ntook_us{m=\"a\",v=\"1\"} 2000000\ntook_us{m=\"b\",v=\"1\"} 1000000\ntook_us{m=\"c\"} 5\n\
                # TYPE done counter\ndone{v=\"1\",m=\"a\"} 3\ndone{m=\"b\",v=\"1\"} 4\ndone{m=\"d\"} 9\n";
    assert_eq!(taken(row, page), one(7.0, Some(3.0)));
    assert_eq!(taken(row, &page.replace("done", "other")), []);
    let twice = format!("{page}# TYPE took_us counter\ntook_us{{m=\"a\",v=\"1\"}} 2000000\n");
    assert_eq!(taken(row, &twice), one(7.0, Some(3.0)));
    // A gauge has no events that a sum could be of.
    assert_eq!(taken(row, &page.replace("took_us counter", "took_us gauge")), []);
}

#[test]
fn a_share_is_one_family_over_another() {
    let row =
        "families = [\"used\"]\nmetric = \"gen_ai.kv_cache.usage\"\nover = [\"most\"]\naggregate = \"max\"\n";
    let page = "# TYPE used gauge\nused{e=\"0\"} 30\nused{e=\"1\"} 90\nused{e=\"2\"} 5\n\
                # TYPE most gauge\nmost{e=\"0\"} 40\nmost{e=\"1\"} 180\nmost{e=\"2\"} 0\n";
    assert_eq!(taken(row, page), one(0.75, None));
}

#[test]
fn a_row_can_say_that_the_type_of_a_page_is_wrong() {
    let row = "families = [\"hits\"]\nmetric = \"service.cache.hits\"\n";
    let page = "# TYPE hits gauge\nhits 30\n";
    assert_eq!(taken(row, page), []);
    assert_eq!(taken(&format!("{row}typed = [\"gauge\"]\n"), page), one(30.0, None));
}

#[test]
fn codes_states_and_ranges_say_what_a_number_means() {
    let row = "families = [\"state\"]\nmetric = \"service.breaker.open\"\npart = \"name\"\n";
    let page = "# TYPE state gauge\nstate{name=\"a\",state=\"open\"} 0\nstate{name=\"a\",state=\"half_open\"} 1\n\
                state{name=\"b\",state=\"OPEN\"} 1\nstate{name=\"b\",state=\"closed\"} 0\n\
                state{name=\"c\",state=\"closed\"} 1\nstate{name=\"d\"} 1\n";
    let part = |part: &str, value| (part.to_owned(), value, None);
    let states = "states = { label = \"state\", worth = { open = 1.0, half_open = 0.5 } }\n";
    assert_eq!(taken(&format!("{row}{states}"), page), [part("a", 0.5), part("b", 1.0), part("c", 0.0)]);
    let codes = "codes = { \"0\" = 1.0, \"2\" = 0.0 }\n";
    let page = "# TYPE state gauge\nstate{name=\"a\"} 0\nstate{name=\"b\"} 2\nstate{name=\"c\"} 7\n";
    assert_eq!(taken(&format!("{row}{codes}"), page), [part("a", 1.0), part("b", 0.0)]);
    let range = "range = [0.0, 1e12]\n";
    let page = "# TYPE state gauge\nstate{name=\"a\"} 9223372036854775794\nstate{name=\"b\"} -1\nstate{name=\"c\"} NaN\nstate{name=\"d\"} 3\n";
    assert_eq!(taken(&format!("{row}{range}"), page), [part("d", 3.0)]);
}

#[test]
fn ranks_that_repeat_one_number_count_once() {
    let row = "families = [\"waiting\"]\nmetric = \"queue.waiting\"\nrepeated = \"tp_rank|pp_rank\"\nunless = { priority = \"*\" }\n";
    let page = "# TYPE waiting gauge\nwaiting{dp_rank=\"0\",tp_rank=\"0\"} 5\nwaiting{dp_rank=\"0\",tp_rank=\"1\"} 6\n\
                waiting{dp_rank=\"1\",tp_rank=\"0\",priority=\"\"} 10\nwaiting{dp_rank=\"1\",tp_rank=\"0\",priority=\"3\"} 10\n\
                waiting{dp_rank=\"2\"} NaN\n";
    assert_eq!(taken(row, page), one(16.0, None));
}

#[test]
fn when_a_series_began_is_no_metric_but_a_count_of_created_things_is() {
    let mapping = map(
        "# TYPE things_created gauge\nthings_created 1.7e9\n# TYPE orders_created_total counter\norders_created_total 5\n",
    );
    let names: Vec<_> = mapping.samples.iter().map(|sample| sample.metric.as_str()).collect();
    assert_eq!(names, ["orders_created_total"]);
}

#[test]
fn bounds_are_shared_between_scrapes() {
    let text = b"# TYPE request_duration_seconds histogram\nrequest_duration_seconds_bucket{le=\"1\"} 2\n";
    let mut mapper = Mapper::new(Dialects::built_in(), target(), None);
    let bounds = |mapping: &Mapping| match &mapping.samples[0].value {
        Value::Histogram(histogram) => histogram.bounds.as_ptr(),
        other => panic!("{other:?}"),
    };
    let (first, second) = (mapper.map(&decode(text, None)), mapper.map(&decode(text, None)));
    assert_eq!(bounds(&first), bounds(&second));
}

#[test]
fn every_family_can_be_explained() {
    let text = format!(
        "{ENGINE}# TYPE s summary\ns_count 1\n# TYPE free gauge\nfree 1\n# TYPE vllm:x_created gauge\nvllm:x_created 1\n# TYPE empty gauge\n"
    );
    let page = decode(text.as_bytes(), None);
    let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&page);
    let fates: Vec<_> = explain(Dialects::built_in(), &page, &mapping)
        .into_iter()
        .map(|explanation| format!("{} {}", explanation.family, explanation.fates.join("; ")))
        .collect();
    assert_eq!(
        fates,
        [
            "vllm:num_requests_waiting becomes queue.waiting of the queue (dialect vllm)",
            "s is not mapped; only levels and totals become free metrics",
            "free is a free metric with 1 series",
            "vllm:x_created is ignored: nobody needs it in an incident",
            "empty has no samples",
        ]
    );
}

#[test]
fn roles_lead_to_subjects_of_the_target() {
    let subjects: Vec<_> = [SubjectRole::Itself, SubjectRole::Queue, SubjectRole::Gpu, SubjectRole::Client]
        .map(|role| target().subject(role).as_str().to_owned())
        .into();
    assert_eq!(
        subjects,
        [
            "service/ranker@127.0.0.1:8000",
            "queue/ranker@127.0.0.1:8000",
            "gpu/ranker@127.0.0.1:8000",
            "client/ranker@127.0.0.1:8000"
        ]
    );
    assert!(Metric::by_name("queue.waiting").is_some());
}

fn real(file: &str) -> Option<Mapping> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions").join(file);
    let Ok(bytes) = std::fs::read(&path) else {
        skipped(&path);
        return None;
    };
    let page = decode(&bytes, None);
    Some(Mapper::new(Dialects::built_in(), target(), None).map(&page))
}

#[expect(clippy::print_stderr, reason = "a skipped proof must be seen")]
fn skipped(path: &std::path::Path) {
    eprintln!("SKIPPED: no real input at {}: this test proved nothing", path.display());
}

#[test]
fn an_overloaded_vllm_is_read_as_such() {
    let Some(mapping) = real("vllm-2-v0.33-generated-overload.prom") else { return };
    assert_eq!(spoken(&mapping), ["vllm", "process"]);
    let number = |name: &str| {
        let sample = mapping.samples.iter().find(|sample| sample.metric.as_str() == name).unwrap();
        match &sample.value {
            Value::Gauge(value) | Value::Counter(value) => *value,
            Value::Histogram(histogram) => histogram.count,
        }
    };
    // Engine 0 has 148 waiting and a KV cache at 0.987; the fullest counts for the cache, all for the queue.
    assert!(number("queue.waiting") >= 148.0);
    assert!((number("gen_ai.kv_cache.usage") - 0.987).abs() < 0.001);
    assert_eq!(number("gen_ai.preemptions"), 377.0);
    assert!(number("service.errors") > 0.0 && number("service.errors") < number("service.requests"));
    let e2e = mapping.samples.iter().find(|sample| sample.metric == metric::MODEL_DURATION.into()).unwrap();
    let Value::Histogram(e2e) = &e2e.value else { panic!("{e2e:?}") };
    assert_eq!(e2e.bounds[0], 0.3);
    assert_eq!(mapping.left_out, 0);
    let names: Vec<_> = mapping.samples.iter().map(|sample| sample.metric.as_str()).collect();
    assert!(!names.iter().any(|name| name.ends_with("_created") || name.ends_with("_info")), "{names:?}");
}

#[test]
fn ray_vllm_of_2024_is_the_same_dialect() {
    let Some(mapping) = real("vllm-3-ray-v0-2024.prom") else { return };
    assert_eq!(spoken(&mapping), ["vllm"]);
    let lines = known(&mapping);
    for metric in
        ["queue.waiting", "queue.running", "gen_ai.kv_cache.usage", "gen_ai.server.time_to_first_token"]
    {
        assert!(lines.iter().any(|line| line.contains(metric)), "{metric} is missing in {lines:?}");
    }
}

#[test]
fn no_page_of_a_real_server_is_beyond_the_mapper() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    let Ok(entries) = std::fs::read_dir(&folder) else { return skipped(&folder) };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "prom"));
    assert!(paths.len() >= 20, "only {} pages in {}", paths.len(), folder.display());
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let page = decode(&bytes, None);
        let mapping = Mapper::new(Dialects::built_in(), target(), None).map(&page);
        let mut seen = HashSet::new();
        for sample in &mapping.samples {
            let key = (sample.subject.clone(), sample.metric.clone(), sample.part.clone());
            assert!(seen.insert(key), "{}: two values for one series: {sample:?}", path.display());
        }
        for (family, explanation) in explain(Dialects::built_in(), &page, &mapping).iter().enumerate() {
            assert!(!explanation.fates.is_empty(), "{}: family {family} has no fate", path.display());
        }
    }
}

#[test]
fn a_family_that_no_row_can_use_stays_a_free_metric() {
    let mapping = map("# TYPE x_requests_total counter\nx_requests_total{kind=\"a\"} 5\n");
    assert!(spoken(&mapping).is_empty());
    assert_eq!(mapping.samples.len(), 1);
    assert_eq!(mapping.samples[0].metric.as_str(), "x_requests_total");
}
