//! The real binary as users meet it: exit codes, sentences, and nothing that should not be printed.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::Command;
use headwater::recording::Recording;
use headwater_engine::Input;
use headwater_engine::slot::slot_of;
use headwater_test_support::{Cluster, Ran, Server, ServerRelease, wait_until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The longest that any of these commands may take; a pass that has nothing to wait for ends long before.
const PATIENCE: Duration = Duration::from_secs(90);

/// A home of its own for each test: no configuration of the developer's, no saved healthy values.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder can be made"))
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("a file can be written");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        command.args(arguments).timeout(PATIENCE);
        for variable in
            ["RUST_LOG", "HEADWATER_REDIS_USERNAME", "HEADWATER_REDIS_PASSWORD", "HEADWATER_BEARER_TOKEN"]
        {
            command.env_remove(variable);
        }
        command
            // What runs beside the tests is not what they look at.
            .env("HEADWATER_LOCAL", "off")
            .env("HOME", self.0.path())
            .env("XDG_CONFIG_HOME", self.0.path())
            .env("XDG_STATE_HOME", self.0.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().expect("headwater runs"))
    }
}

/// A loopback port where nothing listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Serves the same answer to everyone, as long as the process lives.
fn page(status: &'static str, kind: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    let address = listener.local_addr().expect("a bound socket has an address");
    let answer = move |mut stream: TcpStream| {
        let mut request = [0; 4_096];
        let _ = stream.read(&mut request);
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
    };
    std::thread::spawn(move || listener.incoming().flatten().for_each(answer));
    format!("http://{address}/metrics")
}

const MIXED_PAGE: &str = "# TYPE vllm:num_requests_waiting gauge\n\
    vllm:num_requests_waiting{model_name=\"m\"} 3\n\
    # TYPE vllm:request_queue_time_seconds summary\n\
    vllm:request_queue_time_seconds_sum{model_name=\"m\"} 3\n\
    vllm:request_queue_time_seconds_count{model_name=\"m\"} 12\n\
    # TYPE own_info gauge\nown_info 1\nown_gauge 7\nbroken{ 1\n";

/// What `dialects --explain` must say of [`MIXED_PAGE`], wherever it comes from.
fn assert_explained(ran: &Ran) {
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
    let said = ran.json();
    assert_eq!(
        (&said["dialects"], &said["samples"]),
        (&serde_json::json!(["vllm"]), &serde_json::json!(5)),
        "{said}"
    );
    let row = |list: &str, key: &str, name: &str| {
        let found = said[list].as_array().expect("a list").iter().find(|row| row[key] == name).cloned();
        assert!(found.is_some(), "no {name} in {list} of {said}");
        found.unwrap_or_default()
    };
    let waiting = row("mapped", "metric", "queue.waiting");
    assert_eq!(
        (waiting["value"].as_f64(), waiting["unit"].as_str()),
        (Some(3.0), Some("count")),
        "{waiting}"
    );
    assert!(waiting["subject"].as_str().is_some_and(|subject| subject.starts_with("queue/")), "{waiting}");
    let wait = row("mapped", "metric", "queue.wait");
    assert_eq!((wait["value"].as_f64(), wait["unit"].as_str()), (Some(0.25), Some("seconds")), "{wait}");
    assert_eq!((wait["events"].as_f64(), wait["buckets"].as_u64()), (Some(12.0), Some(0)), "{wait}");
    assert_eq!(row("free", "metric", "own_gauge")["value"], 7.0);
    assert_eq!(row("dropped", "family", "own_info")["line"], 7);
    let broken = said["dropped"].as_array().and_then(|list| list.last()).cloned().unwrap_or_default();
    assert_eq!(broken["line"], 9, "{said}");
    assert!(broken["why"].as_str().is_some_and(|why| why.contains("cannot be read")), "{said}");
}

#[test]
fn a_page_is_explained_from_an_address_a_file_and_a_packed_file() {
    let home = Home::new();
    let plain = home.file("mixed.prom", MIXED_PAGE);
    let packed = home.path("mixed.prom.gz");
    let file = std::fs::File::create(&packed).expect("a file can be made");
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
    encoder.write_all(MIXED_PAGE.as_bytes()).and_then(|()| encoder.finish()).expect("a file can be packed");
    let served = page("200 OK", "text/plain", MIXED_PAGE);
    for place in [&plain, &packed, &served] {
        assert_explained(&home.run(&["dialects", "--explain", place, "--format", "json"]));
    }
    let text = home.run(&["dialects", "--explain", &plain]);
    assert!(text.out.contains("mapped    queue/mixed@file queue.waiting: 3"), "{}", text.out);
    assert!(text.out.contains("no buckets: only a mean"), "{}", text.out);
    assert!(text.out.contains("free      own_gauge: 1 series\n"), "{}", text.out);
    let nothing = home.file("empty.prom", "");
    let html = "<html><body><h1>Welcome</h1>\nnginx 1\n</body></html>\n";
    let markup = home.file("welcome.html", html);
    let served = page("200 OK", "text/html", html);
    let prose = home.file("prose.txt", "see the other page\n");
    let cut = home.path("cut.gz");
    std::fs::write(&cut, [0x1f, 0x8b, 8, 0]).expect("a file can be written");
    for (place, code, sentence) in [
        (nothing, 64, "holds an empty page, not metrics"),
        (markup, 64, "welcome.html' holds HTML, not metrics: is it the right page?"),
        (served, 64, "holds HTML, not metrics"),
        (home.file("page.json", "{\"status\": \"ok\"}\n"), 64, "holds JSON"),
        (prose, 64, "holds no line that is a metric (line 1 cannot be read: "),
        (cut, 64, "cannot be unpacked"),
        (home.path("absent.prom"), 64, "cannot be read"),
        (format!("http://127.0.0.1:{}/metrics", closed_port()), 69, "refused"),
    ] {
        let ran = home.run(&["dialects", "--explain", &place]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.err.contains(sentence), "{ran:?}");
    }
}

#[test]
fn wrong_arguments_are_64_with_the_fix() {
    let home = Home::new();
    let wrong = home.file("wrong.toml", "[[redis]]\nname = \"f\"\nurl = \"redis://h\"\nlink = \"fast\"\n");
    let not_ours = home.file("text", "hello");
    for (arguments, sentence) in [
        (&["tirage"][..], "unknown command 'tirage': did you mean 'triage'?"),
        (&[], "Usage: headwater"),
        (&["redis://h"], "are no terminal: look at the same targets with 'headwater triage'"),
        (&["--theme", "dark", "triage", "redis://h"], "'--theme' stands before 'triage': write it after"),
        (&["triage", "--fro", "3s"], "unexpected argument '--fro'"),
        (&["triage", "--for", "soon"], "'soon' is not a span of time: write for example '1s'"),
        (&["triage", "--format", "yaml"], "[possible values: text, json, md]"),
        (&["triage", "127.0.0.1:6379"], "'127.0.0.1:6379' is not a target: write redis://HOST:6379"),
        (&["triage"], "no target: name some"),
        (&["triage", "redis://h", "--config", &wrong], "'--config' and targets exclude each other"),
        (
            &["triage", "--config", &wrong],
            "wrong.toml:4: 'link' = 'fast' is not a bandwidth: write for example '200Mbit/s'",
        ),
        (&["triage", "--config", "/nonexistent.toml"], "'headwater config init' prints an example"),
        (&["config", "check", &wrong], "wrong.toml:4: 'link' = 'fast'"),
        (&["triage", "redis://h", "--log", "a=b=c"], "is not a log filter"),
        (
            &["triage", "redis://h", "--redis-password-file", "/nonexistent"],
            "password file '/nonexistent' cannot be read",
        ),
        (&["triage", "redis://h", "--record", "/nonexistent/a"], "recording '/nonexistent/a' cannot be used"),
        (&["triage", "--config", &wrong, "--insecure"], "'--insecure' is for bare targets"),
        (&["triage", "--config", &wrong, "--proxy", "socks5h://h"], "'--proxy' is for bare targets"),
        (&["triage", "redis://h", "--proxy", "http://h:1"], "is not an address of a SOCKS5 proxy"),
        (&["triage", "redis://h", "--client-cert", "a.pem"], "--client-key <FILE>"),
        (&["triage", "--config", &wrong, "--redis-username", "u"], "write username = \"NAME\""),
        (&["replay", "/nonexistent/\x1b[31m"], "recording '/nonexistent/\u{fffd}[31m' cannot be used"),
        (&["replay", &not_ours], "is not a recording of headwater"),
        (&["replay", &not_ours, "--speed=-1"], "is not a speed"),
        (&["runbook", "show", "hot-shart"], "unknown runbook 'hot-shart': did you mean 'hot-shard'?"),
        (&["runbook", "check", "/nonexistent"], "/nonexistent: cannot be read"),
        (&["demo", "--walkthrough", "--for", "1s"], "'--walkthrough' needs a screen"),
        (&["replay", &not_ours, "--walkthrough"], "'--walkthrough' needs a screen"),
        (&["explain", "shard-hott"], "unknown rule 'shard-hott': did you mean 'shard-hot'?"),
        (&["keys", "big", "redis://h", "--budget", "200%"], "write a share of one core such as '1%'"),
        (&["keys", "place", "redis://h"], "no key"),
        (
            &["keys", "place", "redis+sentinel://:word-4711@h:26379/main", "redis+unix:///run/r.sock"],
            "no key",
        ),
        (
            &["keys", "place", "k", "--config", &home.file("m.toml", "[[metrics]]\nurl = \"http://h\"\n")],
            "no Redis target",
        ),
        (&["lab", "hot-shrad"], "[possible values: "),
        (&["completions", "tcsh"], "[possible values: "),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(64), "{arguments:?}: {ran:?}");
        assert!(ran.err.contains(sentence), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn screens_need_a_terminal_and_names_that_there_are() {
    let home = Home::new();
    for (arguments, told) in [
        (&["redis://127.0.0.1:1"][..], "headwater triage"),
        (&["kiosk", "redis://127.0.0.1:1"], "headwater triage"),
        (&["kiosk", "redis://127.0.0.1:1", "--panels", "shard"], "shards"),
        (&["kiosk", "redis://127.0.0.1:1", "--every", "0s"], "1s or more"),
    ] {
        let ran = home.run(arguments);
        assert_eq!(ran.code, Some(64), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(told), "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn a_full_disk_is_74_and_no_wrong_argument() {
    let ran = Home::new().run(&["triage", "redis://h", "--record", "/dev/full"]);
    assert_eq!(ran.code, Some(74), "{ran:?}");
    assert!(ran.err.contains("No space left on device"), "{ran:?}");
}

#[test]
fn an_older_log_file_becomes_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let log = home.file("a.log", "an older file");
    std::fs::set_permissions(&log, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(home.run(&["rules", "--log-file", &log]).code, Some(0));
    assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_generated_is_complete() {
    let home = Home::new();
    let init = home.run(&["config", "init"]);
    let example = home.file("example.toml", &init.out);
    let schema = home.run(&["config", "schema"]).json();
    assert!(schema["properties"]["redis"].is_object(), "{schema}");
    let checked = home.run(&["config", "check", &example]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""), "{checked:?}");
    let printed = home.run(&["config", "print", "--config", &example]);
    assert!(printed.out.contains("subject = \"queue/ranker\""), "{printed:?}");
    let rules = home.run(&["rules"]);
    for rule in headwater_engine::rules::RULES {
        assert!(rules.out.lines().any(|line| line.starts_with(rule.id)), "{}", rule.id);
        let explained = home.run(&["explain", rule.id]);
        assert_eq!(explained.code, Some(0));
        for threshold in rule.thresholds {
            assert!(explained.out.contains(&format!("\n{} = ", threshold.name)), "{}", explained.out);
        }
    }
    assert_eq!(
        home.run(&["rules", "--format", "json"]).json().as_array().map(Vec::len),
        Some(headwater_engine::rules::RULES.len())
    );
    let dialects = home.run(&["dialects"]);
    assert!(dialects.out.lines().any(|line| line.starts_with("vllm ")), "{}", dialects.out);
    let listed = home.run(&["dialects", "--format", "json"]).json();
    let known = headwater::sources::metrics::dialect::Dialects::built_in().list.len();
    assert_eq!(listed["dialects"].as_array().map(Vec::len), Some(known));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(home.run(&["completions", shell]).out.contains("triage"), "{shell}");
    }
    assert!(home.run(&["man"]).out.contains(".TH headwater"));
    assert_eq!(home.run(&["--version"]).out, format!("headwater {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(home.run(&["--help"]).code, Some(0));
}

#[test]
fn a_keymap_is_printed_with_what_a_file_changes() {
    let home = Home::new();
    let printed = home.run(&["config", "keymap"]);
    assert!(printed.out.contains("\nquit = [\"q\", \"ctrl-c\"]"), "{}", printed.out);
    let file = home.file("mine.toml", "freeze = [\"q\"]\n");
    let changed = home.run(&["config", "keymap", "--keymap", &file]);
    assert!(changed.out.contains("\nquit = [\"ctrl-c\"]"), "{}", changed.out);
    std::fs::create_dir(home.path("headwater")).unwrap();
    home.file("headwater/keymap.toml", "freze = [\"q\"]\n");
    let wrong = home.run(&["config", "keymap"]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.err);
    assert!(wrong.err.contains("keymap.toml:1: there is no action or panel 'freze'"), "{}", wrong.err);
}

#[test]
fn themes_are_listed_printed_and_checked() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("headwater/themes")).unwrap();
    home.file("headwater/themes/mine.toml", "from = \"light\"\n");
    let names = home.run(&["config", "theme"]);
    assert_eq!(names.out, "colour-blind\ndark\nhigh-contrast\nlight\nmine\nmono\n");
    let dark = home.file("copy.toml", &home.run(&["config", "theme", "dark"]).out);
    assert_eq!(home.run(&["config", "theme", &dark]).code, Some(0));
    assert!(home.run(&["config", "theme", "mine"]).out.contains("right"));
    home.file("headwater/themes/mine.toml", "[roles]\ntext = { fg = \"red\" }\n");
    let wrong = home.run(&["config", "theme", "mine"]);
    assert_eq!(wrong.code, Some(64), "{}", wrong.err);
    assert!(wrong.err.contains("mine.toml:2: 'fg' = 'red' is not a colour"), "{}", wrong.err);
    let unknown = home.run(&["config", "theme", "drak"]);
    assert!(unknown.err.contains("unknown theme 'drak': did you mean 'dark'?"), "{}", unknown.err);
}

#[test]
fn the_usual_configuration_is_found_without_arguments() {
    let home = Home::new();
    std::fs::create_dir(home.path("headwater")).unwrap();
    home.file("headwater/config.toml", "name = \"mine\"\n[[redis]]\nname = \"f\"\nurl = \"redis://h\"\n");
    assert!(home.run(&["config", "print"]).out.contains("name = \"mine\""));
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let home = Home::new();
    for arguments in [&["config", "schema"][..], &["--help"], &["rules"], &["man"], &["completions", "bash"]]
    {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"))
            .args(arguments)
            .env("HOME", home.0.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn a_healthy_server_is_0_and_its_replay_says_the_same() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let (target, recording) = (format!("redis://{}", server.address()), home.path("a.hw"));
    for format in ["json", "text", "md"] {
        let live = home.run(&["triage", &target, "--for", "4s", "--format", format, "--record", &recording]);
        assert_eq!(live.code, Some(0), "{live:?}");
        let replayed = home.run(&["replay", &recording, "--format", format]);
        assert_eq!((replayed.code, replayed.out.as_str()), (Some(0), live.out.as_str()), "{format}");
    }
    let report = home.run(&["replay", &recording, "--format", "json"]).json();
    assert_eq!(report["schema"], 1);
    assert_eq!(report["conclusion"], "clear");
    for line in home.run(&["replay", &recording]).out.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_recording_is_written_up_into_files_and_on_paper() {
    let home = Home::new();
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/recordings/hot-shard.hwr");
    let (json, md) = (
        home.run(&["report", recording, "--format", "json"]),
        home.run(&["report", recording, "--format", "md"]),
    );
    let guilty = json.json()["suspects"][0]["subject"].as_str().unwrap().replace('#', "\\#");
    for part in [guilty.as_str(), "## How it went", "## Numbers", "INCIDENT: guilty"] {
        assert!(md.out.contains(part), "no '{part}' in {}", md.out);
    }
    assert_eq!(json.json()["versions"]["headwater"], env!("CARGO_PKG_VERSION"));
    assert!(json.json()["series"].as_array().unwrap().len() > 5);
    let folder = home.path("written");
    let told = home.run(&["report", recording, "--into", &folder]);
    assert_eq!(told.code, Some(0), "{told:?}");
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let is_json = file.extension().is_some_and(|ending| ending == "json");
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            if is_json { &json.out } else { &md.out }.as_str()
        );
    }
    // Seconds into the recording nothing was wrong yet.
    let from = json.json()["from"].as_i64().unwrap() + 4_000;
    let early = jiff::Timestamp::from_millisecond(from).unwrap().to_string();
    let before = home.run(&["report", recording, "--format", "json", "--at", &early]);
    assert_eq!(before.json()["suspects"].as_array().unwrap().len(), 0);
    for (arguments, told) in [
        (&["report", recording, "--at", "soon"][..], "is no time"),
        (&["report", recording, "--at", "2020-01-01T00:00:00Z"], "not within the recording"),
        (&["report", "README.md"], "README.md"),
    ] {
        let wrong = home.run(arguments);
        assert!(wrong.code == Some(64) && wrong.err.contains(told), "{wrong:?}");
    }
}

#[test]
fn a_recording_that_was_cut_is_replayed_and_said() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let (target, recording) = (format!("redis://{}", server.address()), home.path("a.hw"));
    let recorded = home.run(&["record", &recording, &target, "--for", "5s"]);
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
    let bytes = std::fs::read(&recording).unwrap();
    std::fs::write(&recording, &bytes[..bytes.len() - 3]).unwrap();
    let replayed = home.run(&["replay", &recording, "--format", "json"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    assert!(replayed.err.contains("ends in the middle of a line"), "{replayed:?}");
    assert_eq!(replayed.json()["conclusion"], "clear");
}

#[test]
fn an_interrupted_triage_says_what_it_knows() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let (target, recording) = (format!("redis://{}", server.address()), home.path("a.hw"));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args([
            "triage",
            &target,
            "--for",
            "1h",
            "--format",
            "json",
            "--no-baselines",
            "--record",
            &recording,
        ])
        .env("HEADWATER_LOCAL", "off")
        .env("HOME", home.0.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("four evaluations are recorded", || {
        child.try_wait().unwrap().is_none()
            && Recording::open(Path::new(&recording)).is_ok_and(|inputs| {
                inputs.flatten().filter(|input| matches!(input, Input::Tick(_))).count() >= 4
            })
    });
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["conclusion"], "clear");
}

#[test]
fn a_recording_that_cannot_go_on_is_said_and_the_triage_goes_on() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let (target, pipe) = (format!("redis://{}", server.address()), home.path("pipe"));
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        // The header is read, then nobody listens any more.
        move || std::fs::File::open(pipe).unwrap().read(&mut [0; 16]).unwrap()
    });
    let ran = home.run(&["triage", &target, "--for", "4s", "--format", "json", "--record", &pipe]);
    assert_eq!(reader.join().unwrap(), 16);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("Broken pipe") && ran.err.contains("check the path"), "{ran:?}");
    assert_eq!(ran.json()["conclusion"], "clear");
}

#[test]
fn an_unreachable_redis_is_69_with_the_reason() {
    let home = Home::new();
    let target = format!("redis://127.0.0.1:{}", closed_port());
    let ran = home.run(&["triage", &target, "--for", "2s"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(
        ran.out.contains("no target answered") && ran.out.contains("refused the connection"),
        "{}",
        ran.out
    );
    let placed = home.run(&["keys", "place", "k", &target]);
    assert_eq!(placed.code, Some(69), "{placed:?}");
    assert!(placed.err.contains("refused the connection"), "{placed:?}");
}

#[test]
fn a_deployment_that_is_down_takes_no_answer_from_the_other() {
    let (home, server) = (Home::new(), Server::start(&["--maxmemory-policy", "allkeys-lfu"]));
    server.run::<()>(&["SET", "k", "v"]);
    let table =
        |name: &str, place: &str| format!("[[redis]]\nname = \"{name}\"\nurl = \"redis://{place}\"\n");
    let closed = format!("127.0.0.1:{}", closed_port());
    let (up, down) = (table("up", &server.address()), table("down", &closed));
    for (name, tables) in [("after.toml", up.clone() + &down), ("before.toml", down.clone() + &up)] {
        let config = home.file(name, &tables);
        for asked in [&["place", "k"][..], &["big"], &["hot"]] {
            let mut words = vec!["keys"];
            words.extend(asked);
            words.extend(["--config", &config, "--format", "json"]);
            let ran = home.run(&words);
            assert_eq!(ran.code, Some(0), "{words:?}: {ran:?}");
            assert!(ran.out.contains("redis/up") && ran.json().is_object(), "{words:?}: {}", ran.out);
            assert_eq!(ran.err.matches("redis/down: ").count(), 1, "{words:?}: {}", ran.err);
        }
    }
    let ran = home.run(&["keys", "place", "k", "--config", &home.file("none.toml", &down)]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert_eq!(ran.err.matches("redis/down: ").count(), 1, "{ran:?}");
}

#[test]
fn a_wrong_password_is_69_tried_once_and_never_shown() {
    let (home, server) = (Home::new(), Server::start(&["--requirepass", "right-4711"]));
    let address = server.address();
    // An hour is never waited: the only target has refused for good.
    let ran =
        home.run(&["triage", &format!("redis://:wrong-4711@{address}"), "--for", "1h", "--log", "debug"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.out.contains("refused the password") && ran.out.contains("not tried again"), "{}", ran.out);
    let doctor = home.run(&["doctor", &format!("redis://{address}")]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(
        doctor.out.contains("HEADWATER_REDIS_PASSWORD") && doctor.out.contains("--redis-password-file"),
        "a bare target has no password_env: {}",
        doctor.out
    );
    let from_environment = Ran::of(
        home.command(&["triage", &format!("redis://{address}"), "--for", "1h"])
            .env("HEADWATER_REDIS_PASSWORD", "wrong-4711")
            .output()
            .unwrap(),
    );
    assert_eq!(from_environment.code, Some(69));
    assert!(
        ran.err.contains("WARN") && ran.err.contains("refused the password"),
        "the log has the fault: {ran:?}"
    );
    let file = home.file("pw", "right-4711\n");
    let right =
        home.run(&["triage", &format!("redis://{address}"), "--for", "4s", "--redis-password-file", &file]);
    assert_eq!(right.code, Some(0), "{right:?}");
    for ran in [&ran, &from_environment, &right] {
        assert!(!ran.out.contains("4711") && !ran.err.contains("4711"), "{ran:?}");
    }
    let mut connection =
        redis::Client::open(format!("redis://:right-4711@{address}/")).unwrap().get_connection().unwrap();
    let log: Vec<redis::Value> = redis::cmd("ACL").arg("LOG").query(&mut connection).unwrap();
    // The two wrong runs stand in one entry, because Redis counts equal ones.
    let count = format!("{log:?}");
    assert_eq!(log.len(), 1, "{count}");
    assert!(count.contains("int(2)"), "each run tried the password once: {count}");
}

#[test]
fn tls_to_a_plain_port_is_69_with_the_fix() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let ran = home.run(&["triage", &format!("rediss://{}", server.address()), "--for", "2s"]);
    assert_eq!(ran.code, Some(69), "{ran:?}");
    assert!(ran.out.contains("write redis:// instead of"), "{}", ran.out);
}

#[test]
fn a_page_that_is_no_metrics_page_is_said_and_the_rest_goes_on() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let redis = format!("redis://{}", server.address());
    for (page, word) in [
        (page("200 OK", "text/html", "<!DOCTYPE html><html><body>nginx 1</body></html>"), "HTML"),
        (page("500 Internal Server Error", "text/plain", "boom"), "500"),
        (page("404 Not Found", "text/plain", "not here"), "404"),
        (page("200 OK", "text/plain", ""), "empty"),
    ] {
        let alone = home.run(&["triage", &page, "--for", "2s"]);
        assert_eq!(alone.code, Some(69), "{word}: {alone:?}");
        assert!(alone.out.contains(word), "{word}: {}", alone.out);
        let beside = home.run(&["triage", &page, &redis, "--for", "2s"]);
        assert_eq!(beside.code, Some(2), "{word}: {beside:?}");
        assert!(beside.out.contains(word), "{word}: {}", beside.out);
    }
}

#[test]
fn keys_are_placed_and_big_ones_found() {
    let (home, cluster) = (Home::new(), Cluster::start(3, 1));
    let target = format!("redis://{}", cluster.primaries[0].address());
    let (one, other) = ("{user:8812}:profile", "{user:8812}:features");
    let placed = home.run(&["keys", "place", one, other, "foo", "esc\x1b[31m", &target, "--format", "json"]);
    assert_eq!(placed.code, Some(0), "{placed:?}");
    let deployment = &placed.json()["deployments"][0];
    assert_eq!(deployment["pairs"][0]["relation"], "same slot");
    let slot: i64 = cluster.primaries[0].run(&["CLUSTER", "KEYSLOT", "foo"]);
    assert_eq!(deployment["keys"][2]["slot"], slot);
    assert_eq!(
        deployment["keys"][2]["primary"].as_str().map(|node| node.ends_with(&cluster.primaries[2].address())),
        Some(true)
    );

    let owner = cluster
        .primaries
        .iter()
        .find(|server| server.try_run::<()>(&["SET", one, &"x".repeat(1_300_000)]).is_ok());
    assert!(owner.is_some(), "one of the primaries owns the key");
    let big = home.run(&["keys", "big", &target, "--budget", "50%", "--format", "json"]);
    assert_eq!(big.code, Some(0), "{big:?}");
    let first = &big.json()["keys"][0];
    assert_eq!(first["key"], one, "{big:?}");
    assert!(first["bytes"].as_u64().is_some_and(|bytes| bytes >= 1_300_000), "{first}");
    let text = home.run(&["keys", "big", &target, "--shard", "9"]);
    assert_eq!(text.code, Some(64), "{text:?}");
    assert!(text.err.contains("no shard '9': use one of redis/"), "{text:?}");
}

#[test]
fn a_search_of_keys_that_could_look_at_none_is_69_with_the_reason() {
    let (home, server) = (Home::new(), Server::start(&[]));
    server.run::<()>(&["SET", "k", "v"]);
    server.run::<()>(&["ACL", "SETUSER", "few", "on", ">word", "~*", "+@all", "-scan"]);
    let target = format!("redis://few:word@{}", server.address());
    for words in [["keys", "big"], ["keys", "ttl"]] {
        let ran = home.run(&[words[0], words[1], &target]);
        assert_eq!(ran.code, Some(69), "{ran:?}");
        assert!(
            ran.err.contains("no shard could be scanned: redis/") && ran.err.to_lowercase().contains("scan"),
            "{ran:?}"
        );
        assert!(!ran.out.contains("by bytes"), "{ran:?}");
    }
    server.run::<()>(&["CONFIG", "SET", "requirepass", "right"]);
    // The end of the target and its reason come from two tasks: whichever is first, the reason is said.
    for words in [["keys", "big"], ["keys", "ttl"], ["keys", "hot"]].repeat(4) {
        let ran = home.run(&[words[0], words[1], &format!("redis://:wrong@{}", server.address())]);
        assert_eq!(ran.code, Some(69), "{ran:?}");
        assert!(ran.err.contains("refused the password"), "{ran:?}");
    }
}

#[test]
fn big_keys_are_ranked_by_bytes_elements_and_pattern_with_the_cost_first() {
    let (home, server) = (Home::new(), Server::start_release(ServerRelease::Redis82, &[]));
    server.run::<()>(&["SET", "blob:7", &"x".repeat(700_000)]);
    for member in 0..6_000 {
        server.run::<()>(&["SADD", "members:9", &format!("member {member}")]);
    }
    let target = format!("redis://{}", server.address());
    let big = home.run(&["keys", "big", &target, "--budget", "50%"]);
    assert_eq!(big.code, Some(0), "{big:?}");
    assert!(big.err.contains("INFO keysizes") && big.err.contains("at most 50 % of a core"), "{}", big.err);
    for line in [
        "1 key of 524 kB and more among the strings, the biggest of at least 524 kB",
        "1 key of 4096 elements and more among the sets",
        "by elements, of keys of 8 KiB and more",
        "6000 elements",
        "blob:*  1 key,",
        "hits (left out of hit ratios)",
    ] {
        assert!(big.out.contains(line), "{line}: {}", big.out);
    }
    assert!(!big.out.contains("slot"), "a server alone has none: {}", big.out);
    let json = home.run(&["keys", "big", &target, "--budget", "50%", "--format", "json"]).json();
    assert_eq!(json["longest"][0]["key"], "members:9", "{json}");
    assert_eq!(
        (&json["patterns"][0]["keys"], &json["scans"][0]["orphans"]),
        (&1.into(), &0.into()),
        "{json}"
    );
}

#[test]
fn a_herd_is_told_with_its_second_and_its_share() {
    let (home, server) = (Home::new(), Server::start(&[]));
    let target = format!("redis://{}", server.address());
    let empty = home.run(&["keys", "ttl", &target]);
    assert_eq!(empty.code, Some(69), "{empty:?}");
    assert!(empty.err.contains("no key said when it expires"), "{}", empty.err);
    let (now, _): (i64, i64) = server.run(&["TIME"]);
    for key in 0..240 {
        let at = if key < 120 { now + 7_200 } else { now + 10_000 + key * 60 };
        server.run::<()>(&["SET", &format!("k{key}"), "v", "PXAT", &(at * 1_000 + 500).to_string()]);
    }
    for key in 0..160 {
        server.run::<()>(&["SET", &format!("eternal:{key}"), "v"]);
    }
    let ttl = home.run(&["keys", "ttl", &target]);
    assert_eq!(ttl.code, Some(0), "{ttl:?}");
    assert!(ttl.err.contains("PTTL of one key in 64"), "{}", ttl.err);
    for words in
        ["never expire", "40 %", "HERD", "50 % of the keys that expire do so in one second", " UTC (in "]
    {
        assert!(ttl.out.contains(words), "{words}: {}", ttl.out);
    }
    let json = home.run(&["keys", "ttl", &target, "--format", "json"]).json();
    let at = json["herd"]["at"].as_i64().unwrap();
    assert!((at / 1_000 - (now + 7_200)).abs() <= 1, "{json}");
    assert_eq!((json["sampled"].as_u64(), json["herd"]["share"].as_f64()), (Some(400), Some(0.5)), "{json}");
}

#[test]
fn a_slot_on_its_way_is_said() {
    let (home, cluster) = (Home::new(), Cluster::start(3, 0));
    let key = (0..).map(|id| format!("k{id}")).find(|key| slot_of(key.as_bytes()) < 5_000).unwrap();
    let slot = slot_of(key.as_bytes()).to_string();
    let (from, to) = (&cluster.primaries[0], &cluster.primaries[1]);
    let [from_id, to_id] = [from, to].map(|server| server.run::<String>(&["CLUSTER", "MYID"]));
    to.run::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    from.run::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    let target = format!("redis://{}", to.address());
    let placed = home.run(&["keys", "place", &key, &target]);
    assert_eq!(placed.code, Some(0), "{placed:?}");
    assert!(placed.out.contains(&format!("slot {slot} is moving from {}", from.address())), "{}", placed.out);
    let json = home.run(&["keys", "place", &key, "{other}", &target, "--format", "json"]).json();
    let keys = &json["deployments"][0]["keys"];
    assert_eq!(keys[0]["moving"]["to"], to.address(), "{json}");
    assert!(keys[1]["moving"].is_null(), "{json}");
}

#[test]
fn the_doctor_says_what_is_wrong_with_a_page() {
    let home = Home::new();
    let good = page("200 OK", "text/plain", "up 1\n");
    let healthy = home.run(&["doctor", &good]);
    assert_eq!(healthy.code, Some(0), "{healthy:?}");
    let html = page("200 OK", "text/html", "<html></html>");
    let sick = home.run(&["doctor", &html, &good]);
    assert_eq!(sick.code, Some(1), "{sick:?}");
    assert!(sick.out.contains("HTML") && sick.out.contains("1 of 2 checks passed"), "{sick:?}");
}

#[test]
fn the_doctor_says_which_rules_stay_blind_and_what_a_log_lacks() {
    let home = Home::new();
    let mean = "# TYPE http_request_duration_seconds summary\n\
                http_request_duration_seconds_sum 3\nhttp_request_duration_seconds_count 9\n";
    let address = page("200 OK", "text/plain", mean);
    let line = r#"10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /rank HTTP/1.1" 200 12 "-" "curl""#;
    let log = home.file("access.log", &format!("{line}\n{line}\nnot of this format\n"));
    let config = format!(
        "[[metrics]]\ncomponent = 'service/ranker'\nurl = '{address}'\n\
         [[log]]\nname = 'access'\ncomponent = 'service/ranker'\nfile = '{log}'\nformat = 'nginx'\n"
    );
    let config = home.file("hw.toml", &config);
    let seen = home.run(&["doctor", "--config", &config]);
    let flat = seen.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "2 of its last 3 lines are in its format, 0 with an id: write the request's id into each line",
        "add service/ranker: no buckets of the time that requests take",
        "add service/ranker: nothing counts what is asked again: a rise is 'surge or storm'",
        "these rules cannot judge without it: queue-not-compute, batch-starved, compute-bound, no-backpressure",
    ] {
        assert!(flat.contains(words), "no '{words}' in {}", seen.out);
    }
}

#[test]
fn the_doctor_tells_what_a_target_is_and_offers_and_what_a_configuration_would_add() {
    let home = Home::new();
    let server = Server::start(&[]);
    let target = format!("redis://10.255.255.1:{}", server.port());
    let map = format!("10.255.255.1:{}={}", server.port(), server.address());
    let seen = home.run(&["doctor", &target, "--address-map", &map]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    let flat = seen.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Redis 7",
        "SLOWLOG GET: allowed",
        "keys by slot-stats: not offered: it is no part of a cluster",
        "ACL SETUSER headwater on >PASSWORD %R~* -@all +auth",
        &format!("dialled '{}'", server.address()),
        "write link = \"10Gbit/s\"",
        "nothing shows what callers suffer",
    ] {
        assert!(flat.contains(words), "no '{words}' in {}", seen.out);
    }
    let json = home.run(&["doctor", &target, "--address-map", &map, "--format", "json"]);
    let told: Value = serde_json::from_str(&json.out).expect("it is JSON");
    assert_eq!(told["schema"], 1);
    let checks = told["checks"].as_array().expect("there are checks");
    assert!(
        checks.iter().all(|check| check["ok"] == true) && told["advice"].as_array().is_some(),
        "{told:#}"
    );
    let lines =
        checks.iter().filter(|check| check["what"].as_str().is_some_and(|what| what.starts_with("ACL")));
    assert!(lines.filter_map(|check| check["fix"].as_str()).all(|line| !line.contains('…')), "{told:#}");
}

#[test]
fn the_doctor_says_what_is_wrong_with_a_server() {
    let home = Home::new();
    let (open, closed) = (Server::start(&[]), Server::start(&["--requirepass", "right-4711"]));
    let healthy = home.run(&["doctor", &format!("redis://{}", open.address())]);
    assert_eq!(healthy.code, Some(0), "{healthy:?}");
    let html = page("200 OK", "text/html", "<html></html>");
    let sick = home.run(&["doctor", &format!("redis://:wrong-4711@{}", closed.address()), &html]);
    assert_eq!(sick.code, Some(1), "{sick:?}");
    assert!(sick.out.contains("password") && sick.out.contains("HTML"), "{sick:?}");
    assert!(!sick.out.contains("4711"), "{sick:?}");
}

#[test]
fn healthy_values_are_saved_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (home, server) = (Home::new(), Server::start(&[]));
    let target = format!("redis://{}", server.address());
    let damaged = home.file("damaged.json", "{");
    let ran = home.run(&["triage", &target, "--for", "4s", "--baselines", &damaged]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("are damaged and not used"), "{ran:?}");
    home.run(&["triage", &target, "--for", "2s", "--no-baselines"]);
    assert!(!Path::new(&home.path("headwater")).exists(), "--no-baselines writes nothing");
    // Values are saved once there are enough of them, which with short intervals is soon.
    let often = format!("interval = \"200ms\"\n[[redis]]\nname = \"f\"\nurl = \"{target}\"\n");
    let config = home.file("often.toml", &often);
    let file = home.path("learned.json");
    let ran = home.run(&["triage", "--config", &config, "--for", "9s", "--baselines", &file]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let saved = std::fs::metadata(&file).expect("a healthy run saves its values");
    assert_eq!(saved.permissions().mode() & 0o777, 0o600);
    let again = home.run(&["triage", "--config", &config, "--for", "4s", "--baselines", &file]);
    assert_eq!((again.code, again.err.as_str()), (Some(0), ""), "{again:?}");
}

#[test]
fn runbooks_are_listed_shown_and_checked_and_a_broken_one_costs_nothing_else() {
    let home = Home::new();
    let listed = home.run(&["runbook", "list"]);
    assert_eq!((listed.code, listed.err.as_str()), (Some(0), ""), "{listed:?}");
    assert!(listed.out.starts_with("dependencies-first"), "{}", listed.out);
    let rows = home.run(&["runbook", "list", "--format", "json"]).json();
    let ids: Vec<_> =
        rows["runbooks"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(rows["schema"], 1);
    assert!(ids.contains(&"hot-shard") && ids.contains(&"slow-own-code"), "{ids:?}");

    let shown = home.run(&["runbook", "show", "hot-shard"]);
    for part in ["Which key", "risk: ", "undo: ", "avoid", "redis-cli"] {
        assert!(shown.out.contains(part), "'{part}' in\n{}", shown.out);
    }
    let value = home.run(&["runbook", "show", "hot-shard", "--format", "json"]).json();
    assert_eq!(value["runbook"]["step"][0]["id"], "1");
    assert!(value["remedies"].as_array().is_some_and(|remedies| !remedies.is_empty()));

    // What is printed as TOML is a runbook to begin with.
    let text = home.run(&["runbook", "show", "dependencies-first", "--format", "toml"]).out;
    let own = home.file("mine.toml", &text);
    let checked = home.run(&["runbook", "check", &own]);
    assert_eq!((checked.code, checked.err.as_str()), (Some(0), ""), "{checked:?}");
    assert!(checked.out.contains("right: 'Dependencies first', 17 steps"), "{}", checked.out);

    let broken = home.file("broken.toml", &text.replacen("slow-to-answer", "slow-to-anser", 1));
    let checked = home.run(&["runbook", "check", &broken]);
    assert_eq!(checked.code, Some(64));
    let told = "unknown rule 'slow-to-anser': did you mean 'slow-to-answer'?";
    assert!(checked.err.contains("broken.toml:") && checked.err.contains(told), "{}", checked.err);

    let folder = home.path("headwater/runbooks");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(&broken, format!("{folder}/broken.toml")).unwrap();
    std::fs::copy(&own, format!("{folder}/mine.toml")).unwrap();
    let listed = home.run(&["runbook", "list"]);
    assert_eq!(listed.code, Some(0));
    assert!(listed.out.contains("mine") && listed.out.contains("hot-shard"), "{}", listed.out);
    assert!(listed.err.contains("left out: ") && listed.err.contains(told), "{}", listed.err);
}
