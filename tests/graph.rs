//! Who calls whom, from real servers, real files and the real binary.

use assert_cmd::Command;
use headwater::config::{Config, Place};
use headwater::sources::Source;
use headwater::sources::calls::CallsSource;
use headwater::sources::metrics::{MetricsSource, MetricsSpec};
use headwater_engine::flow::SeenBy;
use headwater_engine::reading::{Event, FaultKind, Origin, Reading};
use headwater_engine::{Baselines, Engine, Input, Moment, Settings};
use headwater_test_support::http::{Server, answer};
use tempfile::TempDir;

/// A source of the only import of a configuration.
fn source(table: &str) -> CallsSource {
    let config =
        Config::parse(&format!("[[graph]]\n{table}"), "hw.toml").expect("the configuration is right");
    let import = config.imports.first().expect("one import");
    let spec = match &import.place {
        Place::Server(spec) => Some(spec),
        Place::File(..) => None,
    };
    CallsSource::new(import, spec.expect("a server")).expect("the address is right")
}

fn calls(reading: &Reading) -> Vec<String> {
    let told = reading.events.iter().find_map(|event| match event {
        Event::Calls(calls) => {
            Some(calls.iter().map(|call| format!("{} > {}", call.caller, call.callee)).collect())
        }
        _ => None,
    });
    told.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_for_the_present_and_what_it_cannot_tell_is_a_fault() {
    let server = Server::keep_alive(|number| match number {
        0 => answer("200 OK", "application/json", r#"{"data":[{"parent":"a","child":"b","callCount":1}]}"#),
        1 => answer(
            "200 OK",
            "application/json",
            "{\"data\":[\n{\"parent\":\"a\",\"child\":\"b\"},\n{\"parent\":\"a\"}]}",
        ),
        2 => answer("200 OK", "text/html", "<html>log in</html>"),
        _ => answer("404 Not Found", "text/plain", ""),
    });
    let mut source = source(&format!("format = \"jaeger\"\nurl = \"http://{}\"\n", server.address));
    assert_eq!(
        source.subject().as_str(),
        format!("graph/jaeger-{}@{0}", server.address).replacen(':', "-", 1)
    );

    let whole = source.ask().await;
    assert_eq!((calls(&whole), whole.faults.len()), (vec!["service/a > service/b".to_owned()], 0));
    let asked = server.last_request();
    assert!(asked.starts_with("GET /api/dependencies?") && asked.contains("endTs="), "{asked}");
    assert!(asked.contains("lookback=86400000"), "{asked}");

    let partly = source.ask().await;
    assert_eq!(calls(&partly), ["service/a > service/b"]);
    let fault = &partly.faults[0];
    assert_eq!(fault.kind, FaultKind::Malformed);
    assert!(
        fault.message.as_str().contains(":3: 'child' is missing: expected the name"),
        "{}",
        fault.message
    );

    let page = source.ask().await;
    assert!(page.events.is_empty(), "what was known is not wiped out: {:?}", page.events);
    assert!(page.faults[0].message.as_str().contains("no list of calls"), "{}", page.faults[0].message);
    let gone = source.ask().await;
    assert!(
        gone.faults[0].message.as_str().contains("whole address of its dependencies"),
        "{:?}",
        gone.faults
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_that_are_written_stay_as_they_are() {
    let server = Server::keep_alive(|_| answer("200 OK", "application/json", "[]"));
    let url = server.url("/zipkin/api/v2/dependencies?lookback=600000");
    let mut source = source(&format!("format = \"zipkin\"\nurl = \"{url}\"\n"));
    for _ in 0..2 {
        let reading = source.ask().await;
        assert_eq!((reading.faults.len(), reading.events.len()), (0, 1));
        let asked = server.last_request();
        assert!(asked.starts_with("GET /zipkin/api/v2/dependencies?"), "{asked}");
        assert_eq!(
            (asked.matches("lookback=600000").count(), asked.matches("endTs=").count()),
            (1, 1),
            "{asked}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_graph_page_gives_calls_with_the_views_of_both_ends() {
    let server = Server::keep_alive(|number| {
        let total = (number + 1) * 300;
        let side = |side: &str, slow: &str| {
            format!(
                "# TYPE traces_service_graph_request_{side}_seconds histogram\n\
                 traces_service_graph_request_{side}_seconds_bucket{{client=\"web\",server=\"api\",le=\"{slow}\"}} {total}\n\
                 traces_service_graph_request_{side}_seconds_bucket{{client=\"web\",server=\"api\",le=\"+Inf\"}} {total}\n\
                 traces_service_graph_request_{side}_seconds_sum{{client=\"web\",server=\"api\"}} 1\n\
                 traces_service_graph_request_{side}_seconds_count{{client=\"web\",server=\"api\"}} {total}\n"
            )
        };
        let failed = total / 10;
        let page = format!(
            "# TYPE traces_service_graph_request_total counter\n\
             traces_service_graph_request_total{{client=\"web\",server=\"api\"}} {total}\n\
             traces_service_graph_request_total{{client=\"api\",server=\"db\",connection_type=\"database\"}} {total}\n\
             # TYPE traces_service_graph_request_failed_total counter\n\
             traces_service_graph_request_failed_total{{client=\"web\",server=\"api\"}} {failed}\n{}{}",
            side("client", "0.5"),
            side("server", "0.1")
        );
        answer("200 OK", "text/plain", &page)
    });
    let mut spec = MetricsSpec::new(&server.url("/metrics"));
    spec.component = Some("graph/tempo".parse().unwrap());
    let mut source = MetricsSource::new(&spec).unwrap();
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    for second in 1..=30 {
        // The engine's seconds are its own: nobody waits for them.
        let reading = Reading { at: Moment(second * 1_000), ..source.ask().await };
        assert!(reading.faults.is_empty(), "{:?}", reading.faults);
        engine.take(&Input::Reading(reading));
        engine.take(&Input::Tick(Moment(second * 1_000)));
    }
    let snapshot = engine.snapshot().unwrap();
    let edges: Vec<String> = snapshot
        .graph
        .edges()
        .map(|edge| format!("{} > {} {:?}", edge.caller, edge.callee, edge.origin))
        .collect();
    assert_eq!(edges, ["service/api > dependency/db Observed", "service/web > service/api Observed"]);
    let flow = &snapshot.flows[1];
    assert_eq!(
        (flow.rate.map(f64::round), flow.failing.map(|share| (share * 100.0).round())),
        (Some(300.0), Some(10.0))
    );
    let (p99, seen_by) = flow.latency.unwrap();
    assert!(seen_by == SeenBy::Caller && p99.number() > 0.1 && p99.number() <= 0.5, "{flow:?}");
    assert!(
        snapshot.graph.edge(&"service/web".parse().unwrap(), &"service/api".parse().unwrap()).unwrap().origin
            == Origin::Observed
    );
}

struct Home(TempDir);

impl Home {
    /// A folder with a configuration that imports two files, one of which is broken in part.
    fn new() -> Self {
        let home = Self(TempDir::new().expect("a temporary folder can be made"));
        home.file(
            "deps.json",
            r#"[{"parent":"web","child":"api","callCount":3},{"parent":"api","child":"cache:6379"}]"#,
        );
        home.file("compose.yaml", "services:\n  web:\n    depends_on: [worker, nobody]\n  worker: {}\n");
        home.file(
            "hw.toml",
            "name = \"shop\"\n[[redis]]\nname = \"cache\"\nurl = \"redis://127.0.0.1:1\"\n\
             [[graph]]\nformat = \"zipkin\"\nfile = \"deps.json\"\n[[graph]]\nformat = \"compose\"\nfile = \"compose.yaml\"\n",
        );
        home
    }

    fn file(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a file can be written");
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headwater"));
        let command = command.args(arguments).current_dir(self.0.path()).env("HOME", self.0.path());
        let output =
            command.env_remove("XDG_CONFIG_HOME").env_remove("RUST_LOG").output().expect("headwater runs");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }
}

#[test]
fn structure_is_drawn_without_asking_anybody() {
    let (code, out, err) = Home::new().run(&["graph", "--config", "hw.toml", "--no-poll"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(
        out,
        "shop: 4 components, 3 calls\n\n\
         ? service/web unknown\n\
         -> ? service/api unknown  (traffic seen)\n   \
         -> ? redis/cache unknown  (traffic seen)\n\n\
         ? service/worker unknown\n\
         -> ? redis/cache unknown  (supposed: nothing tells of it)\n"
    );
    assert_eq!(
        err,
        "compose.yaml:3: 'depends_on' of 'web' names 'nobody': expected a service of this file\n"
    );
}

#[test]
fn a_graph_of_targets_that_do_not_answer_says_so_and_is_no_success() {
    let (code, out, err) = Home::new().run(&["graph", "--config", "hw.toml", "--for", "1s"]);
    assert_eq!(code, Some(69), "{err}");
    assert!(out.starts_with("shop: 4 components, 3 calls"), "{out}");
    for told in ["redis/cache: ", "graph/compose-compose: ", "names 'nobody'", "no target answered"] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

#[test]
fn imports_alone_are_a_graph_without_a_target() {
    let home = Home::new();
    home.file("hw.toml", "[[graph]]\nformat = \"zipkin\"\nfile = \"deps.json\"\n");
    let (code, _, err) = home.run(&["graph", "--config", "hw.toml", "--for", "1s"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn every_form_can_be_read_by_its_reader() {
    let home = Home::new();
    let form = |form: &str| home.run(&["graph", "--config", "hw.toml", "--no-poll", "--format", form]).1;
    let json: serde_json::Value = serde_json::from_str(&form("json")).unwrap();
    assert_eq!(json["edges"][0]["origin"], "observed");
    assert!(form("dot").starts_with("digraph \"shop\" {\n  rankdir=LR;\n"));
    assert!(form("mermaid").starts_with("graph LR\n  n0[\"redis/cache<br/>unknown\"]\n"));
}

#[test]
fn a_broken_import_is_an_error_of_the_check_and_stops_nothing() {
    let home = Home::new();
    let (code, _, err) = home.run(&["config", "check", "hw.toml"]);
    assert_eq!(code, Some(64));
    assert!(err.contains("compose.yaml:3: 'depends_on' of 'web' names 'nobody'"), "{err}");
    home.file("compose.yaml", "services:\n  web: {}\n");
    let (code, out, err) = home.run(&["config", "check", "hw.toml"]);
    assert_eq!(
        (code, out.contains("2 import(s), 0 source(s) of changes"), err),
        (Some(0), true, String::new())
    );
    let (code, out, _) = home.run(&["doctor", "--config", "hw.toml"]);
    assert_eq!(code, Some(1), "nobody answers at the cache");
    assert!(out.contains("graph/zipkin-deps: calls: 2 calls between components"), "{out}");
}

#[test]
fn a_recording_tells_who_is_guilty_in_its_graph() {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/recordings/hot-shard.hwr");
    let (code, out, err) = Home::new().run(&["graph", "--replay", recording]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("-> X redis/features guilty  (declared"), "{out}");
    let (code, _, err) = Home::new().run(&["graph", "--replay", recording, "--no-poll"]);
    assert_eq!(code, Some(64), "{err}");
}

#[test]
fn every_seed_of_the_fuzzer_is_digested() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/imports");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        count += 1;
        for format in headwater::imports::FORMATS {
            let import = headwater::imports::Import::of(format, &text);
            let lines = 1..=text.lines().count() + 1;
            assert!(
                import.problems.iter().all(|problem| problem.line.is_none_or(|line| lines.contains(&line)))
            );
        }
    }
    assert!(count >= 6, "only {count} seeds");
}
