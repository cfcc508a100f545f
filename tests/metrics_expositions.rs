//! The decoder against the official OpenMetrics suite and against pages of real servers.

use std::path::{Path, PathBuf};

use headwater::sources::metrics::exposition::{Exposition, FamilyKind, Format, decode};

#[expect(clippy::print_stderr, reason = "a skipped proof must be seen")]
/// The folder of real inputs, or `None`, loudly, where the checkout stands alone.
fn expositions() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/expositions");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no real inputs at {}: this test proved nothing", folder.display());
        return None;
    }
    Some(folder)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder can be listed")
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("names are plain")
}

/// Files of the suite that must be rejected but are accepted on purpose, with the reason.
const ACCEPTED_ON_PURPOSE: &[(&str, &str)] = &[];

#[test]
fn the_openmetrics_suite_is_judged_as_it_says() {
    let Some(folder) = expositions() else { return };
    let files = files(&folder.join("openmetrics-conformance"), "om");
    assert!(files.len() >= 200, "the suite is not whole: {} files", files.len());
    let mut wrong = vec![];
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        let page = decode(&bytes, Some(Format::OpenMetrics));
        let is_accepted_on_purpose = ACCEPTED_ON_PURPOSE.iter().any(|(file, _)| *file == name(path));
        let must_fail = name(path).starts_with("bad_") && !is_accepted_on_purpose;
        if page.problems.is_empty() == must_fail {
            wrong.push(format!("{}: {:?}", name(path), page.problems));
        }
        for problem in &page.problems.first {
            assert!((1..=page.lines.max(1)).contains(&problem.line), "{}: {problem:?}", name(path));
        }
    }
    assert!(wrong.is_empty(), "{} of {} judged wrong:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

/// Bad lines of the real pages: everything else must be read whole.
const LOST_LINES: &[(&str, usize, u32)] = &[("odd-11-truncated-mid-line.prom", 1, 232)];

#[test]
fn pages_of_real_servers_are_read_whole() {
    let Some(folder) = expositions() else { return };
    let files = files(&folder, "prom");
    assert!(files.len() >= 25, "only {} pages", files.len());
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        let page = decode(&bytes, None);
        let (lost, line) = LOST_LINES
            .iter()
            .find(|(file, ..)| *file == name(&path))
            .map_or((0, None), |(_, lost, line)| (*lost, Some(*line)));
        assert_eq!(page.problems.lost, lost, "{}: {:?}", name(&path), page.problems.first_lost());
        assert_eq!(page.problems.first_lost().map(|problem| problem.line), line, "{}", name(&path));
        // A line is a comment, blank, lost, or a sample: nothing vanishes in between.
        let text = String::from_utf8_lossy(&bytes);
        let expected = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')).count();
        assert_eq!(page.samples.len() + lost, expected, "{}", name(&path));
    }
}

#[test]
fn the_index_agrees_on_families_and_samples() {
    let Some(folder) = expositions() else { return };
    let index = std::fs::read_to_string(folder.join("INDEX.md")).unwrap();
    let mut checked = 0;
    for row in index.lines().filter_map(|line| line.strip_prefix("| ")) {
        // `| file.prom (bytes/families/samples) |`
        let Some((file, numbers)) = row.split_once(" (").filter(|(file, _)| file.ends_with(".prom")) else {
            continue;
        };
        let numbers: Vec<usize> = numbers
            .split(')')
            .next()
            .map(|inside| inside.split('/').filter_map(|number| number.parse().ok()).collect())
            .unwrap_or_default();
        let (Ok(bytes), [_, families, samples]) = (std::fs::read(folder.join(file)), numbers.as_slice())
        else {
            continue;
        };
        let page = decode(&bytes, None);
        assert_eq!((page.families.len(), page.samples.len()), (*families, *samples), "{file}");
        checked += 1;
    }
    assert!(checked >= 8, "only {checked} rows of the index could be checked");
}

fn value(page: &Exposition<'_>, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    page.samples
        .iter()
        .find(|sample| {
            page.name(sample) == name
                && labels.iter().all(|(label, value)| page.label(sample, label) == Some(value))
        })
        .map(|sample| sample.value)
}

#[test]
fn what_other_parsers_lose_is_read() {
    let text = "\u{feff}# TYPE vllm:num_requests_running gauge\r\n\
                vllm:num_requests_running{model_name=\"m\"} 3.0\r\n\
                :tensorflow:serving:request_count{status=\"OK\",} 1.15e+011\n\
                a{} 1\n\
                a {x=\"1\"} 2\n\
                b{path=\"/v1/{id}/x\",q=\"x,role=admin\", url=\"http://h/?q=1\"} 3\n\
                c{msg=\"say \\\"hi\\\" \\\\ l1\\nl2 \\z\"} Nan\n\
                d 03.0 1700000000123\n\
                {\"my.metric\",\"my.label\"=\"é\"} 4\n\
                native{x=\"1\"} {count:5,sum:2,schema:0}\n\
                # EOF of nothing, just a comment\n";
    let page = decode(text.as_bytes(), None);
    assert!(page.problems.is_empty(), "{:?}", page.problems);
    assert_eq!((page.format, page.native_histograms, page.samples.len()), (Format::Text, 1, 8));
    assert_eq!(value(&page, "vllm:num_requests_running", &[("model_name", "m")]), Some(3.0));
    assert_eq!(value(&page, ":tensorflow:serving:request_count", &[("status", "OK")]), Some(1.15e11));
    assert_eq!(value(&page, "a", &[]), Some(1.0));
    assert_eq!(value(&page, "a", &[("x", "1")]), Some(2.0));
    let b = [("path", "/v1/{id}/x"), ("q", "x,role=admin"), ("url", "http://h/?q=1")];
    assert_eq!(value(&page, "b", &b), Some(3.0));
    assert!(value(&page, "c", &[("msg", "say \"hi\" \\ l1\nl2 \\z")]).is_some_and(f64::is_nan));
    assert_eq!(value(&page, "my.metric", &[("my.label", "é")]), Some(4.0));
    let d = page.samples.iter().find(|sample| page.name(sample) == "d").unwrap();
    assert_eq!((d.value, d.timestamp), (3.0, Some(1_700_000_000.123)));
}

#[test]
fn timestamps_are_seconds_in_openmetrics() {
    let page = decode(b"# TYPE a gauge\na 1 1700000000.5\n# EOF\n", None);
    assert_eq!((page.format, page.samples[0].timestamp), (Format::OpenMetrics, Some(1_700_000_000.5)));
}

#[test]
fn text_may_be_loose_in_form_but_a_lost_timestamp_is_noted() {
    for (text, breaches) in
        [("a {x=\"1\"} 1\n", 0), ("a{x=\"1\", } 1 \n", 0), ("a 1 1.5\n", 1), ("a { x=\"1\"} 1 1.5\n", 1)]
    {
        let page = decode(text.as_bytes(), None);
        assert_eq!((page.problems.lost, page.problems.breaches), (0, breaches), "'{text}'");
        assert_eq!(page.samples[0].value, 1.0, "'{text}'");
        let is_noted = page.problems.first.iter().any(|problem| problem.reason.contains("milliseconds"));
        assert_eq!(is_noted, breaches > 0, "'{text}': {:?}", page.problems);
    }
}

#[test]
fn each_bad_line_is_named_and_the_rest_is_kept() {
    let bad: &[(&str, &str)] = &[
        ("my.metric 1", "not allowed"),
        ("0a 1", "begin"),
        ("a", "value is missing"),
        ("a zzz", "not a number"),
        ("a 0x10", "not a number"),
        ("a 1_000", "not a number"),
        ("a 1 zzz", "milliseconds"),
        ("a 1 99999999999999999999", "milliseconds"),
        ("a 1 2 3", "after the timestamp"),
        ("a{x=\"1\",x=\"2\"} 1", "twice"),
        ("a{x=1} 1", "double quotes"),
        ("a{x=\"1\",,y=\"2\"} 1", "label name"),
        ("a{x=\"1\"", "cut off"),
        ("a{x=\"1", "cut off"),
        ("{x=\"1\"} 1", "metric name is missing"),
        ("# TYPE a meh", "TYPE"),
    ];
    for (line, reason) in bad {
        let text = format!("before 1\n\n{line}\nafter 2\n");
        let page = decode(text.as_bytes(), None);
        let problem = page.problems.first_lost().unwrap_or_else(|| panic!("'{line}' was accepted"));
        assert_eq!((problem.line, page.problems.lost), (3, 1), "'{line}'");
        assert!(problem.reason.contains(reason), "'{line}': {}", problem.reason);
        assert_eq!(page.samples.len(), 2, "'{line}'");
    }
    let page = decode(b"a 1\nb{x=\"\xff\"} 2\nc 3\n", None);
    assert_eq!((page.problems.first_lost().unwrap().line, page.samples.len()), (2, 2));
}

#[test]
fn a_page_of_nothing_but_names_stays_small() {
    let text: String = (0..70_000).map(|number| format!("n{number} 1\n")).collect();
    let typed: String = (0..70_000).map(|number| format!("# TYPE n{number} gauge\n")).collect();
    let page = decode(text.as_bytes(), None);
    assert_eq!((page.samples.len(), page.problems.lost), (65_536, 70_000 - 65_536));
    assert_eq!(page.problems.first_lost().unwrap().line, 65_537);
    // A name that is known is still read.
    let page = decode(format!("{text}n7 2\n").as_bytes(), None).samples.len();
    assert_eq!(page, 65_537);
    let page = decode(typed.as_bytes(), None);
    assert_eq!((page.families.len(), page.problems.lost), (65_536, 70_000 - 65_536));
}

#[test]
fn a_page_of_very_many_lines_is_read_up_to_a_limit() {
    let page = "a 1\n".repeat(2_000_010);
    let page = decode(page.as_bytes(), None);
    assert_eq!((page.samples.len(), page.problems.lost, page.lines), (2_000_000, 10, 2_000_010));
    assert_eq!(page.problems.first_lost().unwrap().line, 2_000_001);
}

#[test]
fn histograms_are_put_together_whatever_the_order() {
    let text = "h_count{m=\"a\"} 9\n\
                h_bucket{le=\"+Inf\",m=\"a\"} 9\n\
                h_bucket{m=\"a\",le=\"1\"} 5\n\
                h_bucket{m=\"b\",le=\"0.5\"} 1\n\
                h_bucket{m=\"a\",le=\"0.5\"} 2\n\
                h_sum{m=\"a\"} 7.5\n\
                # TYPE h histogram\n\
                h_created{m=\"a\"} 1.7e9\n";
    for text in
        [text.to_owned(), text.replace("# TYPE h histogram\n", "").replace("h_created{m=\"a\"} 1.7e9\n", "")]
    {
        let page = decode(text.as_bytes(), None);
        let family = page.families.iter().position(|family| family.name == "h").unwrap();
        assert_eq!(page.families[family].kind, Some(FamilyKind::Histogram));
        let series = page.histograms(&page.by_family()[family]);
        assert_eq!(series.len(), 2);
        let a = series.iter().find(|series| series.labels == [("m", "a")]).unwrap();
        assert_eq!((&a.histogram.bounds[..], &a.histogram.counts[..]), (&[0.5, 1.0][..], &[2.0, 5.0][..]));
        assert_eq!((a.histogram.count, a.histogram.sum), (9.0, Some(7.5)));
        let b = series.iter().find(|series| series.labels == [("m", "b")]).unwrap();
        assert_eq!((b.histogram.count, b.histogram.sum), (1.0, None));
    }
}

#[test]
fn a_type_that_is_told_between_the_samples_of_a_family_holds_for_those_after_it() {
    let judged = |text: &str| -> Vec<(u32, &'static str)> {
        let page = decode(text.as_bytes(), Some(Format::OpenMetrics));
        page.problems.first.iter().map(|problem| (problem.line, problem.reason)).collect()
    };
    // What was a total of the counter is a family of its own after the family has become a gauge, and stands twice then.
    let text = "# TYPE a counter\na_total{x=\"1\"} 1\na_total{x=\"2\"} 1\n# TYPE a gauge\na_total{x=\"3\"} 1\na 1\n# EOF\n";
    assert_eq!(
        judged(text),
        [
            (4, "the family has another TYPE already; the first one holds"),
            (4, "HELP, TYPE and UNIT must stand before the samples"),
            (4, "HELP, TYPE or UNIT stands twice"),
            (6, "the family stands twice, or its name clashes with another's sample"),
        ]
    );
}
