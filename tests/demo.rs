//! The demos on a machine without `redis-server`: the bundled recordings still tell their story.

use std::process::{Command, Output};

use headwater_engine::Report;
use headwater_engine::report::Conclusion;

/// Runs a demo where no server can be started.
fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_headwater"))
        .arg("demo")
        .args(arguments)
        .env("PATH", "/nonexistent")
        .output()
        .expect("headwater runs")
}

/// Whom the demo of a scenario accuses first and by which rule, without any server to start.
fn first_suspect(scenario: &str) -> Option<(String, String)> {
    suspects(scenario).into_iter().next()
}

/// All whom the demo of a scenario accuses, and by which rule.
fn suspects(scenario: &str) -> Vec<(String, String)> {
    let ran = demo(&[scenario, "--format", "json"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("bundled recording") && said.contains("'redis-server' in PATH"), "{said}");
    assert!(!said.contains("starting the lab"), "{said}");
    assert!(said.contains("install Redis 7") && !said.contains("changes nothing"), "{said}");
    let report: Report = serde_json::from_slice(&ran.stdout).expect("the report is JSON");
    assert_eq!(report.conclusion == Conclusion::Guilty, !report.suspects.is_empty(), "{report:?}");
    report.suspects.into_iter().map(|suspect| (suspect.subject.to_string(), suspect.rule)).collect()
}

#[test]
fn a_hot_shard_is_accused_of_its_full_link() {
    let (subject, rule) = first_suspect("hot-shard").expect("somebody is accused");
    assert!(subject.starts_with("redis/features#"), "{subject}");
    assert_eq!(rule, "shard-bandwidth");
}

#[test]
fn a_slow_service_is_accused_of_its_own_code() {
    let accused = ("service/ranker".to_owned(), "self-slow".to_owned());
    assert_eq!(first_suspect("slow-ranker"), Some(accused));
}

#[test]
fn a_herd_of_keys_is_accused_by_its_shard() {
    let (subject, rule) = first_suspect("expiry-herd").expect("somebody is accused");
    assert!(subject.starts_with("redis/features#"), "{subject}");
    assert_eq!(rule, "expiry-herd");
}

#[test]
fn commands_over_several_slots_are_accused_on_the_whole_deployment() {
    let accused = ("redis/features".to_owned(), "cross-slot".to_owned());
    assert_eq!(first_suspect("cross-slot"), Some(accused));
}

#[test]
fn a_pool_without_connections_is_accused_by_the_service_that_has_it() {
    let accused = ("service/ranker".to_owned(), "pool-starved".to_owned());
    assert_eq!(first_suspect("pool-starved"), Some(accused));
}

#[test]
fn a_storm_of_retries_is_told_of_those_who_send_it() {
    let accused = ("client/load".to_owned(), "retry-storm".to_owned());
    let suspects = suspects("retry-storm");
    assert!(suspects.contains(&accused), "{suspects:?}");
}

#[test]
fn memory_that_runs_out_is_told_of_the_gpu_that_has_none_left() {
    let (subject, rule) = first_suspect("gpu-leak").expect("somebody is accused");
    assert_eq!((subject.as_str(), rule.as_str()), ("gpu/simulated:0", "gpu-memory-leak"));
}

#[test]
fn launches_that_come_late_are_told_of_the_machine_and_not_of_its_gpu() {
    let accused = ("host/simulated".to_owned(), "launch-stall".to_owned());
    let suspects = suspects("launch-stall");
    assert_eq!(suspects.first(), Some(&accused));
    assert!(!suspects.iter().any(|(subject, _)| subject.starts_with("gpu/")), "{suspects:?}");
}

#[test]
fn a_healthy_deployment_accuses_nobody() {
    assert_eq!(first_suspect("healthy"), None);
}

#[test]
fn what_a_recording_cannot_do_is_said() {
    let ran = demo(&["hot-shard", "--for", "3s", "--seed", "4", "--no-scan"]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("--for, --seed, --no-scan changes nothing in it"), "{said}");
}

#[test]
fn a_recording_is_not_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("demo.hwr");
    let ran = demo(&["hot-shard", "--record", &file.display().to_string()]);
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(64), "{said}");
    assert!(said.contains("'--record' needs a demo that runs"), "{said}");
    assert!(ran.stdout.is_empty() && !file.exists());
}
