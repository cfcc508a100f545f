//! Sources of changes against the real thing: a file that is rotated, a git repository, a server.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use headwater::sources::changes::git::Repository;
use headwater::sources::changes::{ChangesSource, ChangesSpec, Place, spawn_changes};
use headwater::sources::metrics::MetricsSpec;
use headwater::sources::{Outlet, Source};
use headwater_engine::reading::{ChangeKind, Event, FaultKind, Reading};
use headwater_test_support::http::{Server, answer};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

fn spec(place: Place) -> ChangesSpec {
    let component = "service/ranker".parse().ok();
    ChangesSpec { subject: "change/deploys".parse().expect("a subject"), place, component, kind: None }
}

fn titles(reading: &Reading) -> Vec<String> {
    let changes = reading.events.iter().filter_map(|event| match event {
        Event::Change(change) => Some(change.title.as_str().to_owned()),
        _ => None,
    });
    changes.collect()
}

/// A line with the present moment, or one so many days ago.
fn line(title: &str, days_ago: i64) -> String {
    let at = jiff::Timestamp::now().as_second() - days_ago * 86_400;
    format!("{{\"at\": {at}, \"title\": \"{title}\", \"kind\": \"deploy\"}}\n")
}

fn append(path: &Path, text: &str) {
    let mut file = std::fs::File::options().create(true).append(true).open(path).expect("a file");
    file.write_all(text.as_bytes()).expect("a file can be written");
}

#[tokio::test]
async fn a_file_is_followed_through_appending_and_rotation_and_a_bad_line_costs_only_itself() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deploys.jsonl");
    let mut source = ChangesSource::new(&spec(Place::File(path.clone()))).unwrap();
    let missing = source.ask().await;
    assert_eq!(missing.faults[0].kind, FaultKind::Denied);
    assert!(missing.faults[0].message.as_str().contains("deploys.jsonl' cannot be read"));
    append(&path, &(line("old", 9) + &line("one", 1) + "\nnonsense\n" + &line("two", 0)));
    let first = source.ask().await;
    assert_eq!(titles(&first), ["one", "two"], "what is older than eight days is not told");
    let said = first.faults[0].message.as_str();
    assert!(said.contains("deploys.jsonl' line 4 is not JSON") && said.contains("write {\"at\""), "{said}");
    let still = source.ask().await;
    assert_eq!((titles(&still), still.faults.len()), (vec![], 1), "nothing new, and the line is still wrong");
    std::fs::rename(&path, folder.path().join("deploys.jsonl.1")).unwrap();
    append(&path, line("three", 0).trim_end());
    let rotated = source.ask().await;
    assert_eq!(
        (titles(&rotated), rotated.faults.len()),
        (vec!["three".to_owned()], 0),
        "a line may miss its end"
    );
    append(&path, &format!("\n{}", line("four", 0)));
    assert_eq!(titles(&source.ask().await), ["four"]);
}

#[tokio::test]
async fn a_spawned_source_tells_what_is_appended() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("deploys.jsonl");
    append(&path, &line("one", 0));
    let (send, mut readings) = mpsc::channel(16);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let tasks = spawn_changes(&[spec(Place::File(path.clone()))], &outlet).unwrap();
    let mut told = vec![];
    let all = async {
        while told.len() < 2 {
            let reading = readings.recv().await.expect("a reading");
            told.extend(titles(&reading));
            if told == ["one"] {
                append(&path, &(line("two", 0) + "broken\n"));
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("both are told");
    assert_eq!(told, ["one", "two"]);
    outlet.stop.cancel();
    for task in tasks {
        task.await.unwrap();
    }
}

/// Runs git in a repository with nothing of the developer's configuration.
fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn the_log_of_a_repository_is_told_once_and_by_branch() {
    let folder = TempDir::new().unwrap();
    git(folder.path(), &["init", "-q", "-b", "main"]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "first; rm -rf $(x)\n\nbody"]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "second"]);
    git(folder.path(), &["branch", "release"]);
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "on main"]);
    let repository = |branch: Option<&str>| Repository {
        path: folder.path().to_owned(),
        branch: branch.map(str::to_owned),
    };
    let mut source = ChangesSource::new(&spec(Place::Git(repository(Some("release"))))).unwrap();
    let reading = source.ask().await;
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let mut told = titles(&reading);
    told.sort();
    assert_eq!(told, ["first; rm -rf $(x)", "second"]);
    let Event::Change(change) = &reading.events[0] else { panic!("no change") };
    assert_eq!(
        (change.kind, change.component.as_ref().map(|it| it.as_str())),
        (ChangeKind::Commit, Some("service/ranker"))
    );
    git(folder.path(), &["branch", "-f", "release", "main"]);
    assert_eq!(titles(&source.ask().await), ["on main"], "what was told is not told again");
    let mut wrong = ChangesSource::new(&spec(Place::Git(repository(Some("nowhere"))))).unwrap();
    let said = wrong.ask().await.faults[0].message.as_str().to_owned();
    assert!(said.contains("is the branch right?"), "{said}");
    let elsewhere = Repository { path: folder.path().join("nothing"), branch: None };
    let mut none = ChangesSource::new(&spec(Place::Git(elsewhere))).unwrap();
    let said = none.ask().await.faults[0].message.as_str().to_owned();
    assert!(said.contains("write the folder of a repository as 'git'"), "{said}");
}

#[test]
fn the_doctor_and_the_check_know_changes_and_no_variable_of_git_names_another_repository() {
    let home = TempDir::new().unwrap();
    for (folder, commits) in [("own", 2), ("other", 1)] {
        let folder = home.path().join(folder);
        std::fs::create_dir(&folder).unwrap();
        git(&folder, &["init", "-q", "-b", "main"]);
        for _ in 0..commits {
            git(&folder, &["commit", "-q", "--allow-empty", "-m", "x"]);
        }
    }
    let config = "[[metrics]]\nurl = \"http://127.0.0.1:1/metrics\"\n\
                  [[changes]]\nname = \"code\"\ngit = \"own\"\n[[changes]]\nname = \"flags\"\nfile = \"flags.jsonl\"\n";
    std::fs::write(home.path().join("hw.toml"), config).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
            .args(arguments)
            .current_dir(home.path())
            .env("GIT_DIR", home.path().join("other/.git"))
            .env_remove("RUST_LOG")
            .output()
            .expect("headwater runs");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, out, _) = run(&["doctor", "--config", "hw.toml"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("change/code: changes: 2 changes in the last 8 days"), "{out}");
    assert!(out.contains("FAILED  change/flags: changes: 'flags.jsonl' cannot be read"), "{out}");
    let (code, out, err) = run(&["config", "check", "hw.toml"]);
    assert_eq!((code, out.contains("2 source(s) of changes")), (Some(0), true), "{out}");
    assert_eq!(err, "change/flags: 'flags.jsonl': no such file yet: check the path\n");
}

#[tokio::test]
async fn a_server_gives_a_document_and_its_token_is_sent() {
    let document = format!(
        "{{\"items\": [{}, {{\"title\": \"no moment\"}}, {}]}}",
        line("one", 0).trim_end(),
        line("two", 0).trim_end()
    );
    let server = Server::keep_alive(move |number| {
        let body = if number < 2 { document.as_str() } else { "{\"rows\": []}" };
        answer("200 OK", "application/json", body)
    });
    let mut at = MetricsSpec::new(&server.url("/changes"));
    at.bearer = Some(SecretString::from("s3cret".to_owned()));
    let mut source = ChangesSource::new(&spec(Place::Server(Box::new(at)))).unwrap();
    let reading = source.ask().await;
    assert_eq!(titles(&reading), ["one", "two"]);
    let said = reading.faults[0].message.as_str();
    assert!(said.contains("entry 2 has no 'at'") && said.contains("/changes"), "{said}");
    assert!(server.last_request().contains("s3cret"));
    assert_eq!(titles(&source.ask().await), Vec::<String>::new());
    let said = source.ask().await.faults[0].message.as_str().to_owned();
    assert!(said.contains("'items' or 'data'"), "{said}");
}
