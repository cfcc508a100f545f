//! Headers that users have sent: with every request of every source that asks over HTTP, and shown nowhere.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Arc, Mutex};

use headwater_test_support::http::{Server, answer};

const KEY: &str = "k3y-of-the-api";

#[test]
fn own_headers_go_with_every_request_and_what_is_secret_of_them_shows_nowhere() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = {
        let asked = Arc::clone(&asked);
        move |head: &str| asked.lock().expect("nobody panics with it").push(head.to_ascii_lowercase())
    };
    let page = || answer("200 OK", "text/plain", "queue_depth 3\n");
    let noted = note.clone();
    let found = Server::by_head(move |head| {
        noted(head);
        page()
    });
    let list = format!(r#"[{{"targets":["{}"],"labels":{{"__metrics_path__":"/found"}}}}]"#, found.address);
    let server = Server::by_head(move |head| {
        note(head);
        match head.split(' ').nth(1).unwrap_or_default() {
            "/list" => answer("200 OK", "application/json", &list),
            "/repeats" => answer("403 Forbidden", "text/plain", &format!("no {KEY} here")),
            _ => page(),
        }
    });
    let folder = tempfile::tempdir().expect("a folder can be made");
    let key = folder.path().join("key");
    std::fs::write(&key, format!("{KEY}\n")).expect("a new folder can be written");
    let headers = "headers = { X-Scope-OrgID = \"ranking\", X-API-Key = { env = \"HEADWATER_TEST_KEY\" } }";
    let by_file =
        format!("{{ X-Scope-OrgID = \"ranking\", X-API-Key = {{ file = \"{}\" }} }}", key.display());
    let text = format!(
        "[[metrics]]\nurl = \"{page}\"\n{headers}\n[[metrics]]\nurl = \"{repeats}\"\n{headers}\n\
         [[prometheus]]\nurl = \"{root}\"\ninterval = \"1s\"\n{headers}\n\
         [[discovery]]\nurl = \"{list}\"\nlist_headers = {by_file}\nheaders = {by_file}\n\
         [[probe]]\nurl = \"{ready}\"\ncomponent = \"service/ranker\"\nkind = \"ready\"\n{headers}\n",
        page = server.url("/metrics"),
        repeats = server.url("/repeats"),
        root = server.url("/prom"),
        list = server.url("/list"),
        ready = server.url("/ready"),
    );
    let config = folder.path().join("c.toml");
    std::fs::write(&config, text).expect("a new folder can be written");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        let command = command.args(arguments).arg("--config").arg(&config).env("HEADWATER_TEST_KEY", KEY);
        let output = command.output().expect("the binary runs");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let told = run(&["triage", "--no-baselines", "--format", "json", "--for", "3s"]);
    assert!(!told.contains(KEY), "{told}");
    let asked = asked.lock().expect("nobody panics with it");
    let mut paths = BTreeSet::new();
    for head in asked.iter() {
        assert!(head.contains("\r\nx-scope-orgid: ranking\r\n"), "{head}");
        assert!(head.contains(&format!("\r\nx-api-key: {KEY}\r\n")), "{head}");
        let path = head.split([' ', '?']).nth(1).unwrap_or_default();
        paths.insert(if path.starts_with("/prom/") { "/prom" } else { path });
    }
    for path in ["/found", "/list", "/metrics", "/prom", "/ready", "/repeats"] {
        assert!(paths.contains(path), "{path} is not among {paths:?}");
    }
}
