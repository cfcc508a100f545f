//! The source of Prometheus servers: against real ones that scrape a real page, and against one that says what a test wants.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use headwater::sources::prometheus::{ComponentSelector, PrometheusSource, PrometheusSpec};
use headwater_engine::metric::{QUEUE_WAITING, REQUEST_DURATION, REQUESTS};
use headwater_engine::reading::{Event, FaultKind, Input, Reading, Value};
use headwater_engine::{Baselines, Engine, Settings};
use headwater_test_support::http::{Server, answer};
use headwater_test_support::{Running, free_port};

/// How long a real server may take to start and to scrape twice.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page that grows with each scrape.
fn page() -> Server {
    let scrapes = AtomicU64::new(0);
    Server::keep_alive(move |_| {
        let count = 100 * (scrapes.fetch_add(1, Ordering::SeqCst) + 1);
        let mut page = "# TYPE queue_depth gauge\nqueue_depth 7\n".to_owned();
        page.push_str("# TYPE ranker_request_duration_seconds histogram\n");
        for (bound, part) in [("0.1", count / 2), ("1", count), ("+Inf", count)] {
            let _ = writeln!(page, "ranker_request_duration_seconds_bucket{{le=\"{bound}\"}} {part}");
        }
        let _ = writeln!(page, "ranker_request_duration_seconds_sum {count}");
        let _ = writeln!(page, "ranker_request_duration_seconds_count {count}");
        answer("200 OK", "text/plain; version=0.0.4", &page)
    })
}

fn scrapes(folder: &Path, page: &Server) -> String {
    let file = folder.join("scrapes.yml");
    let text = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: ranker\n  static_configs:\n  - targets: ['{}']\n    \
         labels: {{zone: a}}\n- job_name: dead\n  static_configs:\n  - targets: ['127.0.0.1:1']\n",
        page.address
    );
    std::fs::write(&file, text).expect("a new folder can be written");
    file.display().to_string()
}

/// Asks until so many readings of the page's target have come.
async fn readings_of(source: &mut PrometheusSource, subject: &str, count: usize) -> Vec<Reading> {
    let deadline = Instant::now() + PATIENCE;
    let mut all = vec![];
    let of_it = |all: &[Reading]| all.iter().filter(|reading| reading.source.as_str() == subject).count();
    while of_it(&all) < count {
        assert!(Instant::now() < deadline, "{all:?}");
        all.extend(source.ask().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    all
}

fn value(reading: &Reading, metric: impl Into<headwater_engine::metric::MetricName>) -> Option<f64> {
    let metric = metric.into();
    reading.samples.iter().find(|sample| sample.metric == metric).map(|sample| match &sample.value {
        Value::Gauge(value) | Value::Counter(value) => *value,
        Value::Histogram(histogram) => histogram.count,
    })
}

/// What the doctor says of a server, and its exit code.
fn doctor(port: u16) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = command.args(["doctor", &format!("prom+http://127.0.0.1:{port}")]).output();
    let output = output.expect("the binary runs");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).replace('\n', " ").replace("          ", " "),
    )
}

#[test]
fn the_doctor_says_that_a_server_is_out_of_reach() {
    let (code, said) = doctor(free_port());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.starts_with("FAILED") && said.contains(": server: "), "{said}");
}

async fn reads_what_a_real_server_scraped(
    binary: &str,
    product: &str,
    arguments: impl Fn(&Path, &str, u16) -> Vec<String>,
) {
    let (folder, page) = (tempfile::tempdir().expect("a folder can be made"), page());
    let file = scrapes(folder.path(), &page);
    let (_server, port) = Running::listening(binary, |port| arguments(folder.path(), &file, port));
    let mut spec = PrometheusSpec::new(&format!("http://127.0.0.1:{port}"));
    let labels = [("zone".to_owned(), "a".to_owned())].into();
    spec.components
        .push(ComponentSelector { component: "service/rank-api".parse().expect("it is a subject"), labels });
    let mut source = PrometheusSource::new(&spec).expect("the spec is right");
    let subject = format!("service/rank-api@{}", page.address);
    let all = readings_of(&mut source, &subject, 4).await;
    let own: Vec<&Reading> = all.iter().filter(|reading| reading.source.as_str() == subject).collect();
    assert!(own.windows(2).all(|pair| pair[0].at < pair[1].at), "each scrape is told once, in its order");
    let last = own.last().expect("four were awaited");
    assert_eq!(value(last, QUEUE_WAITING), Some(7.0), "{last:?}");
    let queue =
        last.samples.iter().find(|sample| sample.metric == QUEUE_WAITING.into()).expect("it was awaited");
    assert_eq!(queue.subject.as_str(), format!("queue/rank-api@{}", page.address));
    assert_eq!(queue.part, None);
    let counts: Vec<f64> = own.iter().filter_map(|reading| value(reading, REQUEST_DURATION)).collect();
    assert!(counts.len() >= 4 && counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
    assert_eq!(value(last, REQUESTS), value(last, REQUEST_DURATION));
    let every = last.every.expect("several scrapes show how far apart they are").as_secs_f64();
    assert!((0.5..3.0).contains(&every), "{every}");
    let dead = all
        .iter()
        .find(|reading| reading.source.as_str() == "service/dead@127.0.0.1:1")
        .expect("it was awaited");
    assert_eq!(dead.faults[0].kind, FaultKind::Unreachable);
    let said = dead.faults[0].message.as_str();
    assert!(said.starts_with(product) && said.contains("up is 0"), "{dead:?}");

    let (code, said) = doctor(port);
    assert_eq!(code, Some(1), "one target is down: {said}");
    assert!(said.contains("server: answers, with what it scraped of 2 targets"), "{said}");
    assert!(said.contains(&format!("service/ranker@{}: page: ", page.address)), "{said}");
    assert!(said.contains("FAILED  service/dead@127.0.0.1:1: page: "), "{said}");

    let mut engine = Engine::new(Settings::default(), Baselines::default());
    for reading in own {
        engine.take(&Input::Reading(reading.clone()));
    }
    let rate = engine
        .store()
        .latest(&subject.parse().expect("it was awaited"), REQUESTS, None)
        .expect("it was awaited")
        .value;
    assert!((30.0..300.0).contains(&rate), "{rate} a second over the server's own clock");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_prometheus_gives_what_it_scraped() {
    reads_what_a_real_server_scraped("prometheus", "Prometheus", |folder, file, port| {
        let data = folder.join("data").display().to_string();
        vec![
            format!("--config.file={file}"),
            format!("--storage.tsdb.path={data}"),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ]
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_victoria_metrics_gives_what_it_scraped() {
    reads_what_a_real_server_scraped("victoria-metrics", "VictoriaMetrics", |folder, file, port| {
        let data = folder.join("data").display().to_string();
        vec![
            format!("-promscrape.config={file}"),
            format!("-storageDataPath={data}"),
            format!("-httpListenAddr=127.0.0.1:{port}"),
        ]
    })
    .await;
}

const CLOCK: &str = r#"{"status":"success","data":{"resultType":"scalar","result":[1000,"1000"]}}"#;

/// A server that answers a question for samples with `samples`.
fn stand_in(samples: impl Fn() -> String + Send + Sync + 'static) -> Server {
    Server::by_path(move |path| match path {
        path if path.starts_with("/prefix/api/v1/query?query=time") => {
            answer("200 OK", "application/json", CLOCK)
        }
        path if path.starts_with("/prefix/api/v1/query") => samples(),
        _ => answer("404 Not Found", "text/plain", ""),
    })
}

async fn first(server: &Server) -> (Reading, Vec<Reading>) {
    let spec = PrometheusSpec::new(&server.url("/prefix"));
    let mut readings = PrometheusSource::new(&spec).expect("the spec is right").ask().await;
    (readings.remove(0), readings)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_another_is_translated_and_doubts_are_told() {
    let server = stand_in(|| {
        let series = r#"{"metric":{"__name__":"queue_depth","job":"a/b","instance":"h:1"},"values":[[990,"3"],[995,"4"]]}"#;
        let sum = r#"{"metric":{"__name__":"job:x:sum","job":"a"},"values":[[990,"3"]]}"#;
        let body = format!(
            r#"{{"status":"success","warnings":["a store is away"],"data":{{"resultType":"matrix","result":[{series},{sum}]}}}}"#
        );
        answer("200 OK", "application/json", &body)
    });
    let (own, targets) = first(&server).await;
    assert!(own.faults.is_empty(), "{:?}", own.faults);
    let told =
        |event: &Event| matches!(event, Event::Unavailable { why, .. } if why.as_str() == "a store is away");
    assert!(own.events.iter().any(told), "{:?}", own.events);
    let left_out = |event: &Event| matches!(event, Event::Unavailable { why, .. } if why.as_str().starts_with("1 series lack"));
    assert!(own.events.iter().any(left_out), "{:?}", own.events);
    let [one, other] = targets.as_slice() else { panic!("{targets:?}") };
    assert_eq!(other.source.as_str(), "service/a-b@h:1");
    assert_eq!((value(one, QUEUE_WAITING), value(other, QUEUE_WAITING)), (Some(3.0), Some(4.0)));
    assert_eq!(other.at.0 - one.at.0, 5_000);
    assert_eq!(other.every, Some(Duration::from_secs(5)));
    let age = headwater::sources::now().0 - other.at.0;
    assert!((4_000..60_000).contains(&age), "five seconds old there, {age} ms here");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_said_in_one_sentence() {
    for (status, body, kind, said) in [
        (
            "400 Bad Request",
            r#"{"status":"error","error":"parse error at char 7"}"#,
            FaultKind::Http,
            "parse error at char 7",
        ),
        ("422 Unprocessable Entity", r#"{"error":"too many samples"}"#, FaultKind::Http, "too many samples"),
        ("503 Service Unavailable", r#"{"error":"query timed out"}"#, FaultKind::Busy, "query timed out"),
        ("200 OK", "{}", FaultKind::Malformed, "refuses the question"),
        ("200 OK", "<html>", FaultKind::Malformed, "does not answer as the API"),
        ("200 OK", CLOCK, FaultKind::Malformed, "'select' must be a selector"),
    ] {
        let server = stand_in(move || answer(status, "application/json", body));
        let (own, targets) = first(&server).await;
        assert!(targets.is_empty());
        assert_eq!(own.faults[0].kind, kind, "{status}");
        assert!(own.faults[0].message.as_str().contains(said), "{status}: {}", own.faults[0].message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_sent_and_never_told() {
    let server =
        Server::by_head(|head| match head.to_ascii_lowercase().contains("authorization: basic ywxwojpz") {
            true => answer("200 OK", "application/json", CLOCK),
            false => answer("401 Unauthorized", "text/plain", ""),
        });
    let mut spec = PrometheusSpec::new(&server.url(""));
    let refused = PrometheusSource::new(&spec).unwrap().ask().await;
    assert_eq!(refused[0].faults[0].kind, FaultKind::Auth);
    spec.server.username = Some("alp".to_owned());
    spec.server.password = Some(":s3".to_owned().into());
    assert!(!format!("{spec:?}").contains(":s3"));
    let taken = PrometheusSource::new(&spec).unwrap().ask().await;
    assert_eq!(
        taken[0].faults[0].kind,
        FaultKind::Malformed,
        "it is let in, and then told of what is no samples"
    );
}
