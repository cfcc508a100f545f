//! Diagnoses of a lab of which Headwater sees only what a real Prometheus has scraped: no page and no Redis is asked
//! directly. The same first suspect as with sources of its own, early and late.

use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headwater::lab::scenario::{Scenario, Variant};
use headwater::lab::{self, Lab, LabOptions};
use serde_json::Value;

/// How long after the fault the second triage begins.
const INTO_THE_INCIDENT: Duration = Duration::from_secs(20);

/// How long Prometheus and the exporter may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A real server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(binary: &str, arguments: &[String]) -> Running {
    let child = Command::new(binary).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    Running(child.unwrap_or_else(|error| panic!("'scripts/test tools' installs {binary}: {error}")))
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    free.local_addr().expect("a bound socket has an address").port()
}

/// What watches a lab: an exporter for its Redis, and a Prometheus that scrapes everything once a second.
struct Watched {
    _exporter: Running,
    _prometheus: Running,
    config: PathBuf,
}

impl Watched {
    fn start(lab: &Lab, folder: &Path) -> Self {
        let (exporter_port, port) = (free_port(), free_port());
        let exporter = start(
            "prometheus-redis-exporter",
            &["-redis.addr=".to_owned(), format!("-web.listen-address=127.0.0.1:{exporter_port}")],
        );
        let own = lab.config_toml();
        let mut jobs = "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n".to_owned();
        let mut components = vec![];
        let mut pages = own.lines().filter_map(|line| line.strip_prefix("component = "));
        let urls = own.lines().filter_map(|line| line.strip_prefix("url = "));
        for url in urls {
            let component = pages.next().expect("each page has a component").trim_matches('"');
            let (place, path) = url
                .trim_matches('"')
                .strip_prefix("http://")
                .and_then(|url| url.split_once('/'))
                .expect("pages have a path");
            let job = component.replace('/', "-");
            let _ = writeln!(
                jobs,
                "- job_name: {job}\n  metrics_path: /{path}\n  static_configs:\n  - targets: ['{place}']"
            );
            components.push(format!("\"{component}\" = {{ job = \"{job}\" }}"));
        }
        let nodes: Vec<_> =
            lab.counters().links.into_iter().map(|link| format!("'{}'", link.address)).collect();
        let _ = writeln!(
            jobs,
            "- job_name: redis-features\n  metrics_path: /scrape\n  static_configs:\n  - targets: [{}]\n  relabel_configs:\n  \
             - source_labels: [__address__]\n    target_label: __param_target\n    replacement: 'redis://$1'\n  \
             - source_labels: [__address__]\n    target_label: instance\n  \
             - target_label: __address__\n    replacement: '127.0.0.1:{exporter_port}'",
            nodes.join(", ")
        );
        components.push("\"redis/features\" = { job = \"redis-features\" }".to_owned());
        let scrapes = folder.join("prometheus.yml");
        std::fs::write(&scrapes, jobs).expect("a new folder can be written");
        let prometheus = start(
            "prometheus",
            &[
                format!("--config.file={}", scrapes.display()),
                format!("--storage.tsdb.path={}", folder.join("data").display()),
                format!("--web.listen-address=127.0.0.1:{port}"),
            ],
        );
        let declared = own.find("[[component]]").expect("the lab declares its components");
        let config = folder.join("prometheus.toml");
        let text = format!(
            "name = \"lab\"\ninterval = \"1s\"\n\n[[prometheus]]\nurl = \"http://127.0.0.1:{port}\"\ninterval = \"1s\"\n\
             components = {{ {} }}\n\n{}",
            components.join(", "),
            &own[declared..]
        );
        std::fs::write(&config, text).expect("a new folder can be written");
        Self { _exporter: exporter, _prometheus: prometheus, config }
    }

    /// Waits until something was scraped of everything.
    fn wait(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let output = headwater(&["doctor", "--config", &self.config.display().to_string()]);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.success() {
                return;
            }
            assert!(Instant::now() < deadline, "{said}");
        }
    }

    fn triage(&self, arguments: &[&str]) -> (Option<i32>, Value, String) {
        let config = self.config.display().to_string();
        let base = ["triage", "--no-baselines", "--format", "json", "--config", &config];
        let output = headwater(&[&base[..], arguments].concat());
        let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), report, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn headwater(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

/// The reports of a triage that began before the fault and of one that began well after it.
async fn diagnoses(name: &str) -> Vec<(&'static str, Option<i32>, Value, String)> {
    let scenario = Scenario::find(name, Variant::Plain).expect("the scenario is in the table");
    let options = LabOptions { at: Duration::from_secs(600), ..LabOptions::new(scenario) };
    let lab = lab::start(options).await.expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let watched = std::sync::Arc::new(Watched::start(&lab, folder.path()));
    let waiting = std::sync::Arc::clone(&watched);
    tokio::task::spawn_blocking(move || waiting.wait()).await.expect("everything is scraped");
    let early = std::sync::Arc::clone(&watched);
    let early = tokio::task::spawn_blocking(move || early.triage(&["--for", "28s"]));
    lab.inject_now();
    let injection = lab.injected().await.expect("the fault is injected");
    tokio::time::sleep_until((injection.at + INTO_THE_INCIDENT).into()).await;
    let late = std::sync::Arc::clone(&watched);
    let late = tokio::task::spawn_blocking(move || late.triage(&["--for", "8s"])).await;
    let mut all = vec![];
    for (when, outcome) in [("before", early.await), ("20 s after", late)] {
        let (code, report, said) = outcome.expect("the triage runs");
        all.push((when, code, report, said));
    }
    lab.stop().await.expect("the lab ends");
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_own_code_is_found_slow() {
    for (when, code, report, said) in diagnoses("slow-ranker").await {
        if let Ok(file) = std::env::var("HEADWATER_SEEN") {
            let _ = std::fs::write(
                format!("{file}-{}.json", when.replace(' ', "-")),
                format!("{report:#}\n{said}"),
            );
        }
        let first = &report["suspects"][0];
        assert_eq!(first["subject"], "service/ranker", "{when}: {report:#}\n{said}");
        assert_eq!(first["rule"], "self-slow", "{when}: {report:#}");
        assert_eq!((code, &first["verdict"]), (Some(1), &Value::from("guilty")), "{when}: {report:#}");
    }
}
