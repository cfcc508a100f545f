//! What a Prometheus remembers of healthy times: real servers with hours of past, and what is asked of them.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use headwater::sources::Outlet;
use headwater::sources::prometheus::{Memory, PrometheusSpec, spawn_prometheus};
use headwater_engine::reading::{Event, History, Reading};
use headwater_engine::{Moment, Settings};
use headwater_test_support::Running;
use headwater_test_support::http::{Server, answer};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long a real server may take to start and to know its past.
const PATIENCE: Duration = Duration::from_secs(60);

/// For how long callers have suffered.
const SUFFERING: Duration = Duration::from_secs(20 * 60);

/// A page of requests that all take most of a second.
fn slow_page() -> Server {
    let scrapes = AtomicU64::new(0);
    Server::keep_alive(move |_| {
        let count = 1_000_000 + 100 * scrapes.fetch_add(1, Ordering::SeqCst);
        let mut page = "# TYPE ranker_request_duration_seconds histogram\n".to_owned();
        for (name, labels, value) in histogram(0, count) {
            let _ = writeln!(page, "{name}{{{labels}}} {value}");
        }
        answer("200 OK", "text/plain; version=0.0.4", &page)
    })
}

/// So many requests of a tenth and of most of a second, as the series of a histogram.
fn histogram(fast: u64, slow: u64) -> Vec<(&'static str, String, f64)> {
    let mut series = vec![];
    for (bound, part) in
        [("0.05", 0), ("0.1", fast), ("0.8", fast), ("1", fast + slow), ("+Inf", fast + slow)]
    {
        let name = "ranker_request_duration_seconds_bucket";
        series.push((name, format!("le=\"{bound}\""), part as f64));
    }
    series.push((
        "ranker_request_duration_seconds_sum",
        String::new(),
        fast as f64 * 0.08 + slow as f64 * 0.9,
    ));
    series.push(("ranker_request_duration_seconds_count", String::new(), (fast + slow) as f64));
    series
}

/// Three hours of the page's past, scraped every 15 s: well, and slow at the end.
fn past(instance: &str) -> Vec<(&'static str, String, f64, i64)> {
    let now = headwater::sources::now().0 / 1_000;
    let (mut fast, mut slow, mut all) = (0, 0, vec![]);
    for at in (now - 3 * 3_600..now - 5).step_by(15) {
        let counted = if at < now - SUFFERING.as_secs() as i64 { &mut fast } else { &mut slow };
        *counted += 150;
        for (name, labels, value) in histogram(fast, slow) {
            let separator = if labels.is_empty() { "" } else { "," };
            all.push((name, format!("job=\"ranker\",instance=\"{instance}\"{separator}{labels}"), value, at));
        }
        all.push(("up", format!("job=\"ranker\",instance=\"{instance}\""), 1.0, at));
    }
    all
}

fn scrapes(folder: &Path, page: &Server) -> String {
    let file = folder.join("scrapes.yml");
    let text = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: ranker\n  static_configs:\n  - targets: ['{}']\n",
        page.address
    );
    std::fs::write(&file, text).expect("a new folder can be written");
    file.display().to_string()
}

fn prometheus(folder: &Path, page: &Server) -> (Running, u16) {
    let mut text = String::new();
    let mut samples = past(&page.address.to_string());
    samples.sort_by(|one, other| (one.0, one.3).cmp(&(other.0, other.3)));
    let mut before = "";
    for (name, labels, value, at) in &samples {
        if *name != before {
            before = name;
            let _ = writeln!(text, "# TYPE {name} unknown");
        }
        let _ = writeln!(text, "{name}{{{labels}}} {value} {at}");
    }
    text.push_str("# EOF\n");
    let (file, data) = (folder.join("past.om"), folder.join("data"));
    std::fs::write(&file, text).expect("a new folder can be written");
    let made = Command::new("promtool")
        .args(["tsdb", "create-blocks-from", "openmetrics"])
        .args([&file, &data])
        .output()
        .expect("promtool comes with prometheus");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Running::listening("prometheus", |port| {
        vec![
            format!("--config.file={}", scrapes(folder, page)),
            format!("--storage.tsdb.path={}", data.display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ]
    })
}

fn victoria_metrics(folder: &Path, page: &Server) -> (Running, u16) {
    let (server, port) = Running::listening("victoria-metrics", |port| {
        vec![
            format!("-promscrape.config={}", scrapes(folder, page)),
            format!("-storageDataPath={}", folder.join("data").display()),
            format!("-httpListenAddr=127.0.0.1:{port}"),
        ]
    });
    let mut text = String::new();
    for (name, labels, value, at) in past(&page.address.to_string()) {
        let _ = writeln!(text, "{name}{{{labels}}} {value} {at}000");
    }
    let head = format!(
        "POST /api/v1/import/prometheus HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answered = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.write_all(head.as_bytes())?;
            stream.write_all(text.as_bytes())?;
            let mut said = String::new();
            stream.read_to_string(&mut said)?;
            Ok(said)
        });
        if answered.is_ok_and(|said| said.starts_with("HTTP/1.1 204")) {
            return (server, port);
        }
        assert!(Instant::now() < deadline, "VictoriaMetrics takes no samples");
    }
}

/// The report of a triage of one server.
fn triage(port: u16, arguments: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    let target = format!("prom+http://127.0.0.1:{port}");
    let base = ["triage", &target, "--no-baselines", "--format", "json", "--for", "8s"];
    let output = command.args(base).args(arguments).output().expect("the binary runs");
    report_of(&output)
}

fn report_of(output: &Output) -> Value {
    let report = serde_json::from_slice(&output.stdout);
    assert!(report.is_ok(), "{}", String::from_utf8_lossy(&output.stderr));
    report.unwrap_or_default()
}

/// Triages again until the server remembers its past, which it may read in a while.
fn triage_with_history(port: u16, arguments: &[&str]) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let report = triage(port, arguments);
        if report["history"][0]["values"].as_u64().unwrap_or(0) > 0 && !report["symptom"].is_null() {
            return report;
        }
        assert!(Instant::now() < deadline, "{report:#}");
    }
}

fn holds_its_past_against_it(start: impl Fn(&Path, &Server) -> (Running, u16)) {
    let (folder, page) = (tempfile::tempdir().expect("a folder can be made"), slow_page());
    let (_server, port) = start(folder.path(), &page);
    for arguments in [&["--since", "21min"][..], &[][..]] {
        let report = triage_with_history(port, arguments);
        let symptom = &report["symptom"];
        assert_eq!(symptom["baseline_from"], "history", "{arguments:?}: {report:#}");
        let usual = symptom["baseline"].as_f64().expect("it was just there");
        assert!((0.05..=0.1).contains(&usual), "the healthy time alone is usual: {usual}");
        let value = symptom["value"].as_f64().expect("a symptom has a value");
        assert!((0.8..=1.0).contains(&value), "{report:#}");
        let span = &report["history"][0];
        assert_eq!(span["source"], format!("graph/prometheus-127.0.0.1-{port}"));
        let (from, to) = (span["from"].as_i64(), span["to"].as_i64());
        let (from, to) = (from.expect("it is a moment"), to.expect("it is a moment"));
        let age = (headwater::sources::now().0 - to) / 1_000;
        let least = if arguments.is_empty() { 3_600 } else { 21 * 60 };
        assert!((least..least + 120).contains(&age), "{age} s before now");
        assert!((3_600_000..3_800_000).contains(&(to - from)), "an hour and its first scrape: {}", to - from);
    }
}

#[test]
fn a_real_prometheus_remembers_what_was_usual_before_the_incident() {
    holds_its_past_against_it(prometheus);
}

#[test]
fn a_real_victoria_metrics_remembers_what_was_usual_before_the_incident() {
    holds_its_past_against_it(victoria_metrics);
}

#[test]
fn a_past_that_was_as_bad_is_no_healthy_one() {
    let (folder, page) = (tempfile::tempdir().expect("a folder can be made"), slow_page());
    let (_server, port) = prometheus(folder.path(), &page);
    // Somebody errs: the incident did not begin now.
    let report = triage_with_history(port, &["--since", "1s"]);
    assert_eq!(report["symptom"]["subject"], "service/ranker", "{report:#}");
    let usual = report["symptom"]["baseline"].as_f64();
    assert!(usual.is_none_or(|usual| usual < 0.5), "most of that hour was well: {report:#}");
}

const CLOCK: &str = r#"{"status":"success","data":{"resultType":"scalar","result":[0,"0"]}}"#;

/// A server of one target that notes what it is asked, and answers a question for the past with `past`.
fn noting(past: &'static str) -> (Server, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(vec![]));
    let notes = Arc::clone(&asked);
    let server = Server::by_path(move |path| {
        notes.lock().expect("nobody panics with it").push(path.to_owned());
        let now = headwater::sources::now().0 as f64 / 1_000.0;
        match path {
            path if path.contains("query=time") => {
                let clock = CLOCK.replace('0', &format!("{now:.3}"));
                answer("200 OK", "application/json", &clock)
            }
            path if path.contains("query_range") => answer("200 OK", "application/json", past),
            path if path.starts_with("/api/v1/query") => {
                let body = format!(
                    r#"{{"status":"success","data":{{"resultType":"matrix","result":[{{"metric":{{"__name__":"queue_depth","job":"a\"b","instance":"h:1"}},"values":[[{:.3},"3"]]}}]}}}}"#,
                    now - 1.0
                );
                answer("200 OK", "application/json", &body)
            }
            _ => answer("404 Not Found", "text/plain", ""),
        }
    });
    (server, asked)
}

fn triage_of(server: &Server, config: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("c.toml");
    let text = format!("[[prometheus]]\nurl = \"{}\"\ninterval = \"1s\"\n{config}", server.url(""));
    std::fs::write(&file, text).expect("a new folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    let base =
        ["triage", "--no-baselines", "--format", "json", "--for", "3s", "--since", "10min", "--config"];
    let output = command.args(base).arg(&file).output().expect("the binary runs");
    report_of(&output)
}

#[test]
fn one_target_is_asked_for_once_with_its_labels_and_a_past_can_be_left_alone() {
    let (server, asked) = noting(r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#);
    let report = triage_of(&server, "select = '{zone=\"x\"}'\n");
    assert!(report["history"].is_null(), "{report:#}");
    let ranges: Vec<String> = asked
        .lock()
        .expect("nobody panics with it")
        .iter()
        .filter(|path| path.contains("query_range"))
        .cloned()
        .collect();
    let [range] = ranges.as_slice() else { panic!("{ranges:?}") };
    let decoded = range.replace("%22", "\"").replace("%7B", "{").replace("%7D", "}").replace("%5C", "\\");
    let decoded = decoded.replace("%3D", "=").replace("%2C", ",").replace("%3A", ":");
    assert!(decoded.contains(r#"{zone="x",job="a\"b",instance="h:1"}"#), "{decoded}");
    assert!(decoded.contains("step=60"), "{decoded}");

    let (server, asked) = noting(r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#);
    let recording = tempfile::tempdir().expect("a folder can be made");
    let recorded = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["record", "--for", "3s", "--since", "2h"])
        .arg(recording.path().join("past.rec"))
        .arg(format!("prom+{}", server.url("")))
        .output()
        .expect("the binary runs");
    assert!(recorded.status.success(), "{}", String::from_utf8_lossy(&recorded.stderr));
    let asked = asked.lock().expect("nobody panics with it");
    let end =
        asked.iter().find_map(|path| path.split("&end=").nth(1)?.split('&').next()?.parse::<f64>().ok());
    let ago = headwater::sources::now().0 as f64 / 1_000.0 - end.expect("its past is asked for");
    assert!((7_200.0..7_300.0).contains(&ago), "{ago} s ago");
    drop(asked);

    let (server, asked) = noting("{}");
    triage_of(&server, "history = false\n");
    assert!(!asked.lock().expect("nobody panics with it").iter().any(|path| path.contains("query_range")));
}

/// A server of targets that come one after another, which is too busy for the first questions for their past.
struct Growing {
    server: Server,
    instances: Arc<Mutex<Vec<&'static str>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Growing {
    /// `refuse` says how the question of a number, from 0, with this path is refused.
    fn start(refuse: fn(usize, &str) -> Option<&'static str>) -> Self {
        Self::telling(refuse, matrix)
    }

    /// The same with another answer for these targets at these moments.
    fn telling(refuse: fn(usize, &str) -> Option<&'static str>, past: fn(&[&str], &[f64]) -> String) -> Self {
        let instances: Arc<Mutex<Vec<&'static str>>> = Arc::new(Mutex::new(vec!["h:1"]));
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (there, notes) = (Arc::clone(&instances), Arc::clone(&asked));
        let server = Server::by_path(move |path| {
            let there = there.lock().expect("nobody panics with it").clone();
            let now = headwater::sources::now().0 as f64 / 1_000.0;
            if path.contains("query=time") {
                return answer("200 OK", "application/json", &CLOCK.replace('0', &format!("{now:.3}")));
            }
            if path.starts_with("/api/v1/query?") {
                return matrix(&there, &[now - 1.0]);
            }
            if !path.contains("query_range") {
                return answer("404 Not Found", "text/plain", "");
            }
            let mut notes = notes.lock().expect("nobody panics with it");
            let path = path.replace("%3A", ":");
            notes.push(path.clone());
            if let Some(refusal) = refuse(notes.len() - 1, &path) {
                return answer(refusal, "text/plain", "");
            }
            let number = |name: &str| path.split(name).nth(1)?.split('&').next()?.parse::<f64>().ok();
            let [start, end, step] =
                ["start=", "end=", "step="].map(|name| number(name).expect("it is asked for"));
            let steps = ((end - start) / step) as u32;
            let moments: Vec<f64> = (0..=steps).map(|index| start + f64::from(index) * step).collect();
            // Whatever it is asked for, each target is told apart by what it is called.
            past(&there, &moments)
        });
        Self { server, instances, asked }
    }

    /// Begins to look at these targets and their past, without a pause between two looks.
    fn look(&self, instances: &[&'static str]) -> (mpsc::Receiver<Reading>, CancellationToken) {
        *self.instances.lock().expect("nobody panics with it") = instances.to_vec();
        let mut spec = PrometheusSpec::new(&self.server.url(""));
        spec.interval = Duration::from_millis(100);
        let mut memory = Memory::new(&Settings::default(), None);
        (memory.again_after, memory.pause) = (Duration::ZERO, Duration::from_millis(1));
        let (send, readings) = mpsc::channel(64);
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        let stop = outlet.stop.clone();
        spawn_prometheus(&spec, memory, outlet).expect("the spec is right");
        (readings, stop)
    }

    /// The targets whose past was asked for so far, in their order.
    fn asked(&self) -> Vec<String> {
        let asked = self.asked.lock().expect("nobody panics with it");
        let instance = |path: &String| Some(path[path.find("h:")?..].chars().take(3).collect());
        asked.iter().filter_map(instance).collect()
    }

    /// Whose past is told in one look before it is said that something of it cannot be told, and why.
    async fn told_until_it_lacks(&self, since: Option<Moment>) -> (Vec<String>, String) {
        let mut spec = PrometheusSpec::new(&self.server.url(""));
        spec.interval = Duration::from_millis(100);
        let (send, mut readings) = mpsc::channel(64);
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        spawn_prometheus(&spec, Memory::new(&Settings::default(), since), outlet.clone())
            .expect("the spec is right");
        let mut subjects = vec![];
        let said = async {
            loop {
                let reading = readings.recv().await.expect("the source goes on");
                for event in reading.events {
                    match event {
                        Event::History(history) => {
                            subjects.extend(history.rows.iter().map(|row| row.subject.to_string()));
                        }
                        Event::Unavailable { why, .. } => return why.as_str().to_owned(),
                        _ => {}
                    }
                }
            }
        };
        let why = tokio::time::timeout(PATIENCE, said).await.expect("it is said");
        outlet.stop.cancel();
        (subjects, why)
    }
}

/// A queue of 3 at each of these targets at these moments.
fn matrix(instances: &[&str], moments: &[f64]) -> String {
    let values: Vec<String> = moments.iter().map(|at| format!("[{at:.3},\"3\"]")).collect();
    let values = values.join(",");
    let series: Vec<String> = instances
        .iter()
        .map(|instance| {
            format!(
                r#"{{"metric":{{"__name__":"queue_depth","job":"j","instance":"{instance}"}},"values":[{values}]}}"#
            )
        })
        .collect();
    let series = series.join(",");
    let body = format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{series}]}}}}"#);
    answer("200 OK", "application/json", &body)
}

/// The subjects of the next past that is told.
async fn next_past(readings: &mut mpsc::Receiver<Reading>) -> Vec<String> {
    let told = async {
        loop {
            let reading = readings.recv().await.expect("the source goes on");
            for event in reading.events {
                assert!(!matches!(event, Event::Unavailable { .. }), "{event:?}");
                if let Event::History(history) = event {
                    return history.rows.iter().map(|row| row.subject.to_string()).collect();
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("a past is told")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_asked_again_and_who_comes_later_has_a_past_too() {
    let growing =
        Growing::start(|number, _| ["503 Service Unavailable", "429 Too Many Requests"].get(number).copied());
    let mut spec = PrometheusSpec::new(&growing.server.url(""));
    spec.interval = Duration::from_millis(100);
    let mut memory = Memory::new(&Settings::default(), None);
    memory.again_after = Duration::ZERO;
    let (send, mut readings) = mpsc::channel(64);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    spawn_prometheus(&spec, memory, outlet.clone()).expect("the spec is right");
    assert_eq!(next_past(&mut readings).await, ["queue/j@h:1"]);
    let asked = || growing.asked.lock().expect("nobody panics with it").clone();
    assert!(asked().len() == 3 && asked().iter().all(|path| path.contains("h:1")), "{:?}", asked());
    growing.instances.lock().expect("nobody panics with it").push("h:2");
    assert_eq!(next_past(&mut readings).await, ["queue/j@h:2"]);
    assert!(asked().len() == 4 && asked()[3].contains("h:2"), "{:?}", asked());
    outlet.stop.cancel();
}

/// The subjects of the pasts that are told up to the one of this subject.
async fn pasts_until(readings: &mut mpsc::Receiver<Reading>, subject: &str) -> Vec<String> {
    let mut told = vec![];
    let all = async {
        while !told.iter().any(|known| known == subject) {
            for event in readings.recv().await.expect("the source goes on").events {
                if let Event::History(history) = event {
                    told.extend(history.rows.iter().map(|row| row.subject.to_string()));
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("it is told");
    told.dedup();
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_is_too_heavy_for_the_server_takes_no_others_past() {
    let growing = Growing::start(|_, path| path.contains("h:1").then_some("503 Service Unavailable"));
    let (mut readings, stop) = growing.look(&["h:1", "h:2"]);
    assert_eq!(pasts_until(&mut readings, "queue/j@h:2").await, ["queue/j@h:2"]);
    stop.cancel();
}

/// As [`matrix`], with so much white space that three answers are more than one look may have.
fn long_matrix(instances: &[&str], moments: &[f64]) -> String {
    let told = matrix(instances, moments);
    let (head, body) = told.split_once("\r\n\r\n").expect("it is an answer");
    let kind = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap_or_default();
    answer("200 OK", kind, &format!("{}{body}", " ".repeat(24 * 1024 * 1024)))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_before_a_look_has_had_enough_is_told_and_never_asked_for_again() {
    let growing = Growing::telling(|_, _| None, long_matrix);
    let (mut readings, stop) = growing.look(&["h:1", "h:2", "h:3", "h:4"]);
    let told = pasts_until(&mut readings, "queue/j@h:3").await;
    assert_eq!(told, ["queue/j@h:1", "queue/j@h:2", "queue/j@h:3"]);
    assert_eq!(growing.asked(), ["h:1", "h:2", "h:3"]);
    assert_eq!(pasts_until(&mut readings, "queue/j@h:4").await, ["queue/j@h:4"]);
    assert_eq!(growing.asked()[..4], ["h:1", "h:2", "h:3", "h:4"]);
    stop.cancel();
}

/// A hundred requests more at each moment, at each of these targets.
fn requests(instances: &[&str], moments: &[f64]) -> String {
    let series = |instance: &&str, name: &str, bound: &str, each: usize| {
        let values: Vec<String> =
            moments.iter().enumerate().map(|(index, at)| format!("[{at:.3},\"{}\"]", index * each)).collect();
        format!(
            r#"{{"metric":{{"__name__":"http_request_duration_seconds_{name}","job":"j","instance":"{instance}"{bound}}},"values":[{}]}}"#,
            values.join(",")
        )
    };
    let all: Vec<String> = instances
        .iter()
        .flat_map(|instance| {
            [
                series(instance, "bucket", r#","le":"0.1""#, 90),
                series(instance, "bucket", r#","le":"+Inf""#, 100),
                series(instance, "sum", "", 5),
                series(instance, "count", "", 100),
            ]
        })
        .collect();
    let body =
        format!(r#"{{"status":"success","data":{{"resultType":"matrix","result":[{}]}}}}"#, all.join(","));
    answer("200 OK", "application/json", &body)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_usual_of_all_together_is_told_once_the_last_of_them_could_be_read() {
    let growing = Growing::telling(|number, _| (number == 0).then_some("400 Bad Request"), requests);
    let (mut readings, stop) = growing.look(&["h:1", "h:2"]);
    let told = pasts_until(&mut readings, "service/j").await;
    assert_eq!(told, ["service/j@h:2", "service/j@h:1", "service/j"]);
    assert_eq!(growing.asked(), ["h:1", "h:2", "h:1", "h:1", "h:2"]);
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_patience_helps_against_is_asked_once() {
    let growing = Growing::start(|_, _| Some("400 Bad Request"));
    let (told, why) = growing.told_until_it_lacks(None).await;
    assert!(told.is_empty() && why.contains("400"), "{told:?} {why}");
    assert_eq!(growing.asked.lock().expect("nobody panics with it").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_whose_past_cannot_be_read_costs_the_others_nothing() {
    let growing = Growing::start(|_, path| path.contains("h:1").then_some("400 Bad Request"));
    growing.instances.lock().expect("nobody panics with it").push("h:2");
    let (told, why) = growing.told_until_it_lacks(None).await;
    assert!(told == ["queue/j@h:2"] && why.contains("400"), "{told:?} {why}");
    assert_eq!(growing.asked.lock().expect("nobody panics with it").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_usual_at_another_time_of_day_is_not_asked_for_and_that_is_said() {
    let growing = Growing::start(|_, _| None);
    let since = headwater::sources::now() - History::SPEAKS_FOR - Duration::from_secs(60);
    let (told, why) = growing.told_until_it_lacks(Some(since)).await;
    assert!(told.is_empty() && why.contains("more than 6 h ago"), "{told:?} {why}");
    assert_eq!(growing.asked.lock().expect("nobody panics with it").len(), 0);
}

#[test]
fn a_past_that_cannot_be_had_costs_nothing_but_itself_and_is_said() {
    let (server, _) = noting(r#"{"status":"error","error":"query processing would load too many samples"}"#);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("c.toml");
    let text = format!("[[prometheus]]\nurl = \"{}\"\ninterval = \"1s\"\n", server.url(""));
    std::fs::write(&file, text).expect("a new folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    let output = command
        .args(["triage", "--no-baselines", "--for", "3s", "--config"])
        .arg(&file)
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("usual values from its past"), "{said}");
    assert!(said.contains("too many samples"), "{said}");
    assert!(!said.contains("faults"), "{said}");
}
