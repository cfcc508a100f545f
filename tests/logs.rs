//! Logs that are followed: real files that grow, are renamed, emptied, come late, and hold what no log should.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use headwater::sources::Source;
use headwater::sources::logs::line::Format;
use headwater::sources::logs::{LogSource, LogSpec};
use headwater_engine::metric::{
    ABORTED, ERRORS, LOG_LINES, LOG_MATCHES, LOG_REPEATED, LOG_REQUESTS, LOG_THRICE, LOG_UNREAD, Metric,
    REQUESTS,
};
use headwater_engine::reading::{FaultKind, Reading, Value};

fn source(path: &Path, format: Format) -> LogSource {
    LogSource::new(&LogSpec {
        subject: "log/edge".parse().expect("it is a subject"),
        about: "gateway/edge".parse().expect("it is a subject"),
        file: Some(path.to_owned()),
        format,
        patterns: vec![("full".to_owned(), regex::bytes::Regex::new("no .* left").expect("it is a pattern"))],
        tells_service: true,
    })
}

fn append(path: &Path, bytes: &[u8]) {
    std::fs::File::options()
        .create(true)
        .append(true)
        .open(path)
        .expect("the file opens")
        .write_all(bytes)
        .expect("it takes bytes");
}

fn line(route: &str, status: u16, id: &str) -> String {
    format!("{{\"path\":\"{route}\",\"status\":{status},\"request_time\":0.2,\"request_id\":\"{id}\"}}\n")
}

fn total(reading: &Reading, metric: Metric, part: Option<&str>) -> Option<f64> {
    let sample = reading.samples.iter().find(|sample| {
        sample.metric == metric.into() && sample.part.as_ref().map(|part| part.as_str()) == part
    })?;
    match &sample.value {
        Value::Gauge(value) | Value::Counter(value) => Some(*value),
        Value::Histogram(histogram) => Some(histogram.count),
    }
}

#[tokio::test]
async fn only_what_is_new_is_counted_through_renaming_emptying_and_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    append(&path, line("/old", 500, "x").as_bytes());
    let mut source = source(&path, Format::Json);
    assert_eq!(total(&source.ask().await, LOG_LINES, None), Some(0.0));
    let whole = line("/rank", 200, "a");
    let (first, second) = whole.split_at(20);
    append(&path, first.as_bytes());
    assert_eq!(total(&source.ask().await, REQUESTS, None), Some(0.0), "half a line is none");
    append(&path, second.as_bytes());
    append(&path, line("/rank", 499, "a").as_bytes());
    std::fs::rename(&path, folder.path().join("access.log.1")).unwrap();
    append(&path, line("/rank?again", 503, "a").as_bytes());
    let reading = source.ask().await;
    assert_eq!(reading.faults, []);
    assert_eq!(total(&reading, LOG_REQUESTS, Some("/rank")), Some(3.0));
    assert_eq!(total(&reading, LOG_REPEATED, Some("/rank")), Some(2.0));
    assert_eq!(total(&reading, LOG_THRICE, Some("/rank")), Some(1.0));
    assert_eq!((total(&reading, ERRORS, None), total(&reading, ABORTED, None)), (Some(2.0), Some(1.0)));
    std::fs::write(&path, line("/b", 200, "c")).unwrap();
    assert_eq!(total(&source.ask().await, REQUESTS, None), Some(4.0));
}

#[tokio::test]
async fn a_log_that_comes_late_is_read_from_its_beginning_and_until_then_said_to_be_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.log");
    let mut source = source(&path, Format::Plain);
    let missing = source.ask().await;
    assert_eq!(missing.faults[0].kind, FaultKind::Denied);
    assert!(missing.faults[0].message.as_str().contains("late.log' cannot be read"), "{:?}", missing.faults);
    append(&path, b"x RedisCommandTimeoutException: 2 s\nno memory left\nGPU_MEMORY_FULL\nConnection refused\nslot_mismatch\n");
    let reading = source.ask().await;
    for pattern in ["full", "redis_command_timeout", "gpu_memory_full", "connection_refused", "slot_mismatch"]
    {
        assert_eq!(total(&reading, LOG_MATCHES, Some(pattern)), Some(1.0), "{pattern}");
    }
    assert_eq!(total(&reading, REQUESTS, None), None, "a plain log tells of no request");
}

#[tokio::test]
async fn bytes_that_are_no_log_are_counted_as_unread_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    append(&path, b"");
    let mut source = source(&path, Format::Nginx);
    source.ask().await;
    append(&path, b"\x00\xff\xfe\x1b[2J\n");
    append(&path, &vec![0xff; 200_000]);
    append(&path, b"\n10.0.0.9 - - [01/Jan/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"-\"\n");
    let reading = source.ask().await;
    assert_eq!((total(&reading, LOG_UNREAD, None), total(&reading, REQUESTS, None)), (Some(2.0), Some(1.0)));
    assert_eq!(reading.faults[0].kind, FaultKind::Malformed);
    append(&path, b"10.0.0.9 - - [01/Jan/2026:10:00:00 +0000] \"GET /a HTTP/1.1\" 200 612 \"-\" \"-\"\n");
    assert_eq!(source.ask().await.faults, []);
}

/// A headless pass over a configuration whose log is standard input; what it is fed, and its report.
fn pass_over_standard_input(feed: impl FnOnce(std::process::ChildStdin)) -> serde_json::Value {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("c.toml");
    let text = "[[log]]\nname = \"edge\"\ncomponent = \"gateway/edge\"\nfile = \"-\"\nformat = \"json\"\n";
    std::fs::write(&file, text).expect("it can be written");
    let mut child = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["triage", "--for", "8s", "--format", "json", "--config"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    feed(child.stdin.take().expect("it is piped"));
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("a report is JSON")
}

#[test]
fn standard_input_is_a_log_whose_lines_count_as_they_come() {
    let report = pass_over_standard_input(|mut input| {
        std::thread::spawn(move || {
            // As fast as a small service writes, until nobody reads any more.
            for number in 0.. {
                let status = if number % 4 == 0 { 503 } else { 200 };
                let line = line("/rank", status, &format!("id-{number}"));
                if input.write_all(line.as_bytes()).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    });
    assert_eq!(report["symptom"]["subject"], "gateway/edge", "{report:#}");
    let sentence = report["symptom"]["sentence"].as_str().unwrap();
    assert!(sentence.contains("of requests end in errors, limit 1 %"), "{sentence}");
}

#[test]
fn standard_input_that_ended_is_said_and_stands_in_the_way_of_an_all_clear() {
    let report = pass_over_standard_input(|mut input| {
        input.write_all(line("/rank", 200, "a").as_bytes()).unwrap();
    });
    let unknown = report["unknown"].as_array().unwrap();
    let row = unknown.iter().find(|row| row["subject"] == "log/edge");
    let row = row.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(row["missing"], "standard input has ended: nothing more will come of this log");
}
