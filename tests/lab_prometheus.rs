//! Diagnoses of a lab of which Headwater sees only what a real Prometheus has scraped: no page and no Redis is asked
//! directly. The same first suspect as with sources of its own, early and late.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater::lab::scenario::{Fault, Scenario, Variant};
use headwater::lab::{self, HotKeys, Lab, LabOptions};
use headwater_test_support::Running;
use serde_json::Value;

/// When a fault comes whose moment is settled before everything is scraped.
const WITH_ITS_HOUR: Duration = Duration::from_secs(30);

/// How long the first triage looks, beside the time until the fault is felt.
const LOOKED_AT: Duration = Duration::from_secs(28);

/// How long after the fault is felt the second triage begins.
const INTO_THE_INCIDENT: Duration = Duration::from_secs(20);

/// How long Prometheus and the exporter may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// What watches a lab: an exporter for its Redis, and a Prometheus that scrapes everything once a second.
struct Watched {
    _exporter: Running,
    _prometheus: Running,
    config: PathBuf,
}

impl Watched {
    fn start(lab: &Lab, folder: &Path) -> Self {
        let (exporter, exporter_port) = Running::listening("prometheus-redis-exporter", |port| {
            vec!["-redis.addr=".to_owned(), format!("-web.listen-address=127.0.0.1:{port}")]
        });
        let own = lab.config_toml();
        let mut jobs = "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n".to_owned();
        let mut pages = own.lines().filter_map(|line| line.strip_prefix("component = "));
        let urls = own.lines().filter_map(|line| line.strip_prefix("url = "));
        // A component may have several instances, and so several pages.
        let mut places: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for url in urls {
            let component = pages.next().expect("each page has a component").trim_matches('"');
            let (place, path) = url
                .trim_matches('"')
                .strip_prefix("http://")
                .and_then(|url| url.split_once('/'))
                .expect("pages have a path");
            places.entry((component, path)).or_default().push(format!("'{place}'"));
        }
        let mut components = vec![];
        for ((component, path), places) in places {
            let (job, targets) = (component.replace('/', "-"), places.join(", "));
            let _ = writeln!(
                jobs,
                "- job_name: {job}\n  metrics_path: /{path}\n  static_configs:\n  - targets: [{targets}]"
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
        let (prometheus, port) = Running::listening("prometheus", |port| {
            vec![
                format!("--config.file={}", scrapes.display()),
                format!("--storage.tsdb.path={}", folder.join("data").display()),
                format!("--web.listen-address=127.0.0.1:{port}"),
            ]
        });
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

    /// A triage that looks for so long.
    fn triage(&self, length: &str) -> Diagnosis {
        let (config, folder) =
            (self.config.display().to_string(), self.config.parent().expect("it is a file"));
        let recording = folder.join(format!("{length}.rec")).display().to_string();
        let base = ["triage", "--no-baselines", "--format", "json", "--for", length, "--config", &config];
        let output = headwater(&[&base[..], &["--record", &recording]].concat());
        let text = headwater(&["replay", "--format", "text", &recording]);
        Diagnosis {
            code: output.status.code(),
            report: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            text: String::from_utf8_lossy(&text.stdout).into_owned(),
        }
    }
}

/// What one triage said.
struct Diagnosis {
    code: Option<i32>,
    report: Value,
    /// The same as people read it, from its recording.
    text: String,
}

fn headwater(arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

/// The diagnoses of a triage that began before the fault and of one that began well after it, each with when that was,
/// and where the lab's hot keys are.
async fn diagnoses(scenario: &'static Scenario) -> (Vec<(&'static str, Diagnosis)>, HotKeys) {
    // The fault comes when everything is scraped; keys have their expiry from when they are written.
    let has_its_hour = matches!(scenario.fault, Fault::ExpiryHerd { .. });
    let at = if has_its_hour { WITH_ITS_HOUR } else { Duration::from_secs(600) };
    let options = LabOptions { at, ..LabOptions::new(scenario) };
    let lab = lab::start(options).await.expect("the lab starts");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let watched = Arc::new(Watched::start(&lab, folder.path()));
    let waiting = Arc::clone(&watched);
    tokio::task::spawn_blocking(move || waiting.wait()).await.expect("everything is scraped");
    let early = Arc::clone(&watched);
    let felt_after = scenario.felt_after();
    let until_then = if has_its_hour { WITH_ITS_HOUR } else { Duration::ZERO };
    let length = format!("{}s", (until_then + felt_after + LOOKED_AT).as_secs());
    let early = tokio::task::spawn_blocking(move || early.triage(&length));
    if !has_its_hour {
        lab.inject_now();
    }
    let injection = lab.injected().await.expect("the fault is injected");
    // The condition waited for is the fault's age itself.
    tokio::time::sleep_until((injection.at + felt_after + INTO_THE_INCIDENT).into()).await;
    let late = tokio::task::spawn_blocking(move || watched.triage("8s")).await;
    let all = [("before", early.await), ("20 s after", late)];
    let hot = lab.hot_keys();
    lab.stop().await.expect("the lab ends");
    (all.into_iter().map(|(when, said)| (when, said.expect("the triage runs"))).collect(), hot)
}

fn scenario(name: &str, variant: Variant) -> &'static Scenario {
    Scenario::find(name, variant).expect("the scenario is in the table")
}

/// Whom the scenario accuses is found guilty as by sources of its own. A shard has its number from the order in which the
/// exporter's nodes were heard of, so that it is known by its address.
async fn the_same_is_accused(scenario: &'static Scenario) {
    let expected = scenario.expected.first.expect("it accuses somebody");
    let (diagnoses, hot) = diagnoses(scenario).await;
    for (when, Diagnosis { code, report, text }) in diagnoses {
        let first = &report["suspects"][0];
        let subject = first["subject"].as_str().unwrap_or_default();
        match expected.subject.strip_suffix("DRAWN") {
            Some(cluster) => {
                assert!(subject.starts_with(cluster), "{when}: {text}");
                assert!(
                    text.contains(&format!("{subject} ({})", hot.address)),
                    "{when}, {}: {text}",
                    hot.address
                );
            }
            None => assert_eq!(subject, expected.subject, "{when}: {text}"),
        }
        assert_eq!(first["rule"], expected.rule, "{when}: {text}");
        assert_eq!(first["role"], serde_json::to_value(expected.role).expect("a word"), "{when}: {text}");
        assert_eq!((code, &first["verdict"]), (Some(1), &Value::from("guilty")), "{when}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_retry_at_once_are_found() {
    the_same_is_accused(scenario("retry-storm", Variant::Plain)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_takes_the_slow_out_is_found() {
    the_same_is_accused(scenario("failover-storm", Variant::Plain)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_expire_together_are_found() {
    the_same_is_accused(scenario("expiry-herd", Variant::Answers)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_own_code_is_found_slow() {
    for (when, Diagnosis { code, report, text }) in diagnoses(scenario("slow-ranker", Variant::Plain)).await.0
    {
        let first = &report["suspects"][0];
        assert_eq!(first["subject"], "service/ranker", "{when}: {text}");
        assert_eq!(first["rule"], "self-slow", "{when}: {text}");
        assert_eq!((code, &first["verdict"]), (Some(1), &Value::from("guilty")), "{when}: {text}");
        let innocent = report["verdicts"].as_array().into_iter().flatten();
        let queue = innocent.into_iter().find(|row| row["subject"] == "queue/ranker");
        assert_eq!(queue.map(|row| &row["verdict"]), Some(&Value::from("innocent")), "{when}: {text}");
    }
}

/// An exporter tells of each node its bytes, its time and whom it follows: that names the shard, though neither the
/// link's size nor a key.
#[tokio::test(flavor = "multi_thread")]
async fn the_hot_shard_is_named_as_far_as_an_exporter_can_tell() {
    let (diagnoses, hot) = diagnoses(scenario("hot-shard", Variant::Plain)).await;
    for (when, Diagnosis { report, text, .. }) in diagnoses {
        let first = &report["suspects"][0];
        let subject = first["subject"].as_str().unwrap_or_default();
        assert!(subject.starts_with("redis/features#"), "{when}: {text}");
        assert!(text.contains(&format!("{subject} ({})", hot.address)), "{when}, {}: {text}", hot.address);
        assert_eq!(first["rule"], "shard-bandwidth", "{when}: {text}");
        let rivals = first["rivals"].as_array().into_iter().flatten();
        assert!(rivals.into_iter().any(|rival| rival["rule"] == "network-path"), "{when}: {text}");
    }
}
