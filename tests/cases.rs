//! `headwater cases` as users meet it, and the likeness of real incidents to the built-in cases.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use headwater::library;
use headwater::recording::{Player, Tape};
use headwater::report::{Format, render};
use headwater_engine::Snapshot;
use headwater_engine::case::matches;
use serde_json::Value;
use tempfile::TempDir;

fn headwater(home: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
    command.args(arguments).env_remove("RUST_LOG").env("HOME", home.path());
    command.env("XDG_CONFIG_HOME", home.path()).env("XDG_STATE_HOME", home.path());
    command.output().expect("headwater runs")
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn recording(name: &str) -> String {
    format!("{}/assets/recordings/{name}.hwr", env!("CARGO_MANIFEST_DIR"))
}

/// What the engine says at the end of a demo's recording.
fn end_of(name: &str) -> std::sync::Arc<Snapshot> {
    let mut player = Player::new(Tape::File(recording(name).into())).expect("a recording");
    while player.advance().expect("an input") {}
    player.snapshot().expect("an evaluation")
}

#[test]
fn cases_are_listed_found_and_shown() {
    let home = TempDir::new().unwrap();
    let (code, listed, _) = said(&headwater(&home, &["cases", "list"]));
    assert_eq!(code, Some(0));
    for id in ["failover-storm", "gpu-memory-leak", "hot-shard", "ranking-own-code"] {
        assert!(listed.contains(id), "{listed}");
    }
    let (_, found, _) = said(&headwater(&home, &["cases", "search", "retry", "cach", "--format", "json"]));
    let rows: Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&rows["schema"], &rows["cases"][0]["id"]), (&1.into(), &"failover-storm".into()), "{found}");
    assert!(rows["cases"][0]["found_in"].as_array().is_some_and(|fields| !fields.is_empty()), "{found}");
    let (code, found, complaint) = said(&headwater(&home, &["cases", "search", "zeppelin"]));
    assert_eq!((code, found.as_str()), (Some(0), ""));
    assert!(complaint.contains("no case has all of these words"), "{complaint}");
    let (_, shown, _) = said(&headwater(&home, &["cases", "show", "hot-shard"]));
    for words in ["180 ms", "2.4 s", "TTL 30 s", "user:profile:{id}", "98.5 %"] {
        assert!(
            shown.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
            "'{words}' in {shown}"
        );
    }
    let (_, shown, _) = said(&headwater(&home, &["cases", "show", "gpu-memory-leak"]));
    assert!(!shown.contains("not watched by this version"), "{shown}");
    let (code, _, complaint) = said(&headwater(&home, &["cases", "show", "hot-shart"]));
    assert_eq!(code, Some(64));
    assert!(complaint.contains("did you mean 'hot-shard'?"), "{complaint}");
}

#[test]
fn an_incident_is_added_from_a_recording_and_from_its_report_and_then_found() {
    let home = TempDir::new().unwrap();
    let report = home.path().join("report.json");
    std::fs::write(&report, render(&end_of("hot-shard"), Format::Json)).unwrap();
    let mut paths = vec![];
    for file in [recording("hot-shard"), report.display().to_string()] {
        let (code, path, complaint) = said(&headwater(&home, &["cases", "add", &file]));
        assert_eq!(code, Some(0), "{complaint}");
        let path = path.trim().to_owned();
        assert!(Path::new(&path).starts_with(home.path().join("headwater/cases")), "{path}");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        paths.push(path);
    }
    assert_ne!(paths[0], paths[1], "no file is replaced");
    let (_, listed, complaint) = said(&headwater(&home, &["cases", "search", "shard-bandwidth", "saved"]));
    assert_eq!(
        (listed.matches("shard-bandwidth-redis-features").count(), complaint.as_str()),
        (2, ""),
        "{listed}"
    );
    let (code, _, complaint) = said(&headwater(&home, &["cases", "add", &recording("healthy")]));
    assert_eq!(code, Some(69));
    assert!(complaint.contains("nothing to save"), "{complaint}");
    std::fs::write(&report, "{\"schema\": 1}").unwrap();
    let (code, _, complaint) = said(&headwater(&home, &["cases", "add", &report.display().to_string()]));
    assert_eq!(code, Some(64));
    assert!(complaint.contains("is no report of Headwater"), "{complaint}");
}

#[test]
fn a_broken_case_is_told_with_its_line_and_the_rest_is_there() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("headwater/cases");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.toml"), "title = \"a\"\n[[findings]]\nrule = \"shard-hott\"\n").unwrap();
    let (code, listed, complaint) = said(&headwater(&home, &["cases", "list"]));
    assert_eq!(code, Some(0));
    assert!(
        complaint.contains("mine.toml:3: unknown rule 'shard-hott': did you mean 'shard-hot'?"),
        "{complaint}"
    );
    assert!(listed.contains("hot-shard") && !listed.contains("mine"), "{listed}");
}

#[test]
fn real_incidents_look_like_the_cases_that_tell_of_them() {
    let cases = library::built_in().cases;
    let first = |name: &str| {
        let snapshot = end_of(name);
        let alike = matches(&snapshot.report, &snapshot.rules, &cases);
        alike.first().map(|likeness| likeness.case.id.clone())
    };
    assert_eq!(first("hot-shard").as_deref(), Some("hot-shard"));
    assert_eq!(first("slow-ranker").as_deref(), Some("ranking-own-code"));
    assert_eq!(first("healthy"), None);
}
