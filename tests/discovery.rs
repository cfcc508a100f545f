//! Targets that come and go: real files, a real HTTP server, a DNS server on a real socket, right and wrong.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use assert_cmd::Command;
use headwater::sources::Outlet;
use headwater::sources::Source as _;
use headwater::sources::directory::Directory;
use headwater::sources::discovery::dns::{Query, Record};
use headwater::sources::discovery::list::LONGEST_LIST;
use headwater::sources::discovery::{DiscoverySource, DiscoverySpec, Naming, Place, spawn_discovery};
use headwater::sources::metrics::MetricsSpec;
use headwater::sources::probe::{ProbeKind, ProbeSource, ProbeSpec};
use headwater_engine::metric::{PROBE_OK, REQUESTS};
use headwater_engine::reading::{Event, FaultKind, Input, Reading, Target, TargetList};
use headwater_engine::snapshot::SourceState;
use headwater_engine::{Baselines, Engine, Moment, Settings, Subject};
use headwater_test_support::PATIENCE;
use headwater_test_support::http::{Server, answer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Fast enough that a test need not wait for a look.
const OFTEN: Duration = Duration::from_millis(50);

fn subject(text: &str) -> Subject {
    text.parse().expect("it is a subject")
}

fn page() -> Server {
    Server::keep_alive(|_| answer("200 OK", "text/plain", "# TYPE queue_depth gauge\nqueue_depth 7\n"))
}

fn ranker() -> Naming {
    let mut naming = Naming::default();
    naming.page.component = Some(subject("service/ranker"));
    naming
}

fn spec(place: Place) -> DiscoverySpec {
    DiscoverySpec { subject: subject("discovery/d"), place, every: OFTEN, naming: ranker(), interval: OFTEN }
}

/// A discovery that is asked by hand.
struct ByHand {
    source: DiscoverySource,
    _readings: mpsc::Receiver<Reading>,
    _stop: tokio_util::sync::DropGuard,
}

fn by_hand(spec: &DiscoverySpec, directory: &Directory) -> ByHand {
    let (send, readings) = mpsc::channel(4_096);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let stop = outlet.stop.clone().drop_guard();
    let source = DiscoverySource::new(spec, directory, outlet).expect("the spec is right");
    ByHand { source, _readings: readings, _stop: stop }
}

impl ByHand {
    /// What one look says: the list if it is a new one, the one fault, and what is left out.
    async fn look(&mut self) -> (Option<TargetList>, Option<(FaultKind, String)>, Option<String>) {
        let reading = self.source.ask().await;
        let list = reading.events.iter().find_map(|event| match event {
            Event::Targets(list) => Some(list.clone()),
            _ => None,
        });
        let lacks = reading.events.iter().find_map(|event| match event {
            Event::Unavailable { why, .. } => Some(why.as_str().to_owned()),
            _ => None,
        });
        assert!(reading.faults.len() <= 1, "{:?}", reading.faults);
        let fault = reading.faults.first().map(|fault| (fault.kind, fault.message.as_str().to_owned()));
        (list, fault, lacks)
    }

    async fn places(&mut self) -> Vec<String> {
        let (list, fault, lacks) = self.look().await;
        assert_eq!((fault, lacks), (None, None));
        names(&list.expect("the list is a new one"))
    }

    async fn fault(&mut self) -> (FaultKind, String) {
        let (list, fault, _) = self.look().await;
        assert_eq!(list, None, "a broken list is no new one");
        fault.expect("something is wrong")
    }
}

fn names(list: &TargetList) -> Vec<String> {
    list.targets.iter().map(|target| target.subject.to_string()).collect()
}

fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).expect("it can be written");
    std::fs::rename(&beside, path).expect("it can be put in its place");
}

/// Feeds an engine until something holds of its sources.
async fn until(
    engine: &mut Engine,
    readings: &mut mpsc::Receiver<Reading>,
    what: &str,
    holds: impl Fn(&dyn Fn(&str) -> Option<SourceState>) -> bool,
) {
    let waiting = async {
        while let Some(reading) = readings.recv().await {
            let at = Moment(reading.at.0 + 1);
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at));
            let snapshot = engine.snapshot().expect("a tick makes one");
            let of =
                |name: &str| snapshot.sources.iter().find(|state| state.source.as_str() == name).cloned();
            if holds(&of) {
                return;
            }
        }
    };
    let is_over = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(is_over.is_ok(), "waited in vain until {what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_a_file_has_left_and_is_neither_silent_nor_at_fault() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rankers.yml");
    let (one, other) = (page(), page());
    replace(&file, &format!("- targets: ['{}', '{}']\n", one.address, other.address));
    let (send, mut readings) = mpsc::channel(256);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    spawn_discovery(&spec(Place::Files(vec![file.clone()])), &Directory::default(), outlet.clone()).unwrap();
    let mut engine = Engine::new(Settings::default(), Baselines::default());
    let [first, second] = [&one, &other].map(|page| format!("service/ranker@{}", page.address));
    let gives = |state: Option<SourceState>| state.is_some_and(|state| state.last_data.is_some());
    until(&mut engine, &mut readings, "both pages give numbers", |of| {
        gives(of(&first)) && gives(of(&second))
    })
    .await;

    replace(&file, &format!("- targets: ['{}']\n", other.address));
    until(&mut engine, &mut readings, "the first has left", |of| {
        of("discovery/d")
            .and_then(|state| state.listed)
            .is_some_and(|listed| listed.left.iter().any(|(_, target)| target.subject.as_str() == first))
    })
    .await;
    // One question may be on its way to the server still, and no more than one ever is.
    let before = one.requests.load(std::sync::atomic::Ordering::SeqCst) + 1;
    // Whatever still comes is of the second: the first has no row, and nobody asks it.
    let since = Moment(headwater::sources::now().0 + 500);
    until(&mut engine, &mut readings, "half a second is over", |of| {
        assert_eq!(of(&first), None);
        of(&second).is_some_and(|state| state.last_data > Some(since))
    })
    .await;
    assert!(one.requests.load(std::sync::atomic::Ordering::SeqCst) <= before, "nobody asks it any more");

    replace(&file, "- targets: [");
    until(&mut engine, &mut readings, "the list is broken and the page goes on", |of| {
        let broken = of("discovery/d").and_then(|state| state.fault);
        broken.is_some_and(|(since, fault)| {
            fault.message.as_str().ends_with("its last list stays: 1 target")
                && of(&second).is_some_and(|state| state.last_data > Some(since))
        })
    })
    .await;
    replace(&file, &format!("- targets: ['{}', '{}']\n", one.address, other.address));
    until(&mut engine, &mut readings, "the first is back", |of| {
        gives(of(&first)) && of("discovery/d").is_some_and(|state| state.fault.is_none())
    })
    .await;
    outlet.stop.cancel();
}

#[tokio::test]
async fn hostile_files_cost_only_their_news() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("a.json");
    let yaml = folder.path().join("b.yml");
    replace(&json, r#"[{"targets":["127.0.0.1:1"],"labels":{"zone":"a"}}]"#);
    replace(&yaml, "- targets: ['127.0.0.1:2']\n");
    let patterns = vec![folder.path().join("*.json"), yaml.clone()];
    let mut discovery = by_hand(&spec(Place::Files(patterns)), &Directory::default());
    let both = ["service/ranker@127.0.0.1:1", "service/ranker@127.0.0.1:2"];
    assert_eq!(discovery.places().await, both);
    assert_eq!(discovery.look().await, (None, None, None), "nothing is new");
    let huge = format!("[{}", "{\"targets\":[\"127.0.0.1:1\"]},".repeat(LONGEST_LIST / 20));
    for (text, kind, said) in [
        ("", FaultKind::Malformed, "a.json' is empty"),
        ("[{\"targets\":[\"127.0.0.1", FaultKind::Malformed, "a.json' is no list of targets"),
        ("<html>", FaultKind::Malformed, "a.json' is no list of targets"),
        (huge.as_str(), FaultKind::TooLarge, "a.json' is longer than 4 MiB"),
    ] {
        replace(&json, text);
        let (seen, message) = discovery.fault().await;
        assert_eq!(seen, kind, "{message}");
        assert!(message.contains(said) && message.ends_with("its last list stays: 2 targets"), "{message}");
    }
    std::fs::remove_file(&json).unwrap();
    assert_eq!(discovery.places().await, both[1..], "what a pattern no longer stands for has left");
    std::fs::remove_file(&yaml).unwrap();
    let (kind, message) = discovery.fault().await;
    assert_eq!(kind, FaultKind::Denied);
    assert!(message.contains("cannot be read (No such file"), "{message}");
    // Whoever opens a pipe waits for a writer.
    rustix::fs::mkfifoat(rustix::fs::CWD, &yaml, rustix::fs::Mode::RUSR).unwrap();
    assert!(discovery.fault().await.1.contains("is no file"));
    std::fs::remove_file(&yaml).unwrap();
    replace(&yaml, "- targets: ['127.0.0.1:3']\n");
    assert_eq!(discovery.places().await, ["service/ranker@127.0.0.1:3"]);
}

#[tokio::test]
async fn targets_that_are_none_or_known_already_are_left_out_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    let directory = Directory::default();
    directory.tell(
        &subject("observer/headwater"),
        vec![Target { subject: subject("service/ranker@127.0.0.1:9"), place: "127.0.0.1:9".into() }],
    );
    let mut discovery = by_hand(&spec(Place::Files(vec![file.clone()])), &directory);
    replace(&file, r#"[{"targets":["127.0.0.1:1","no address","127.0.0.1:1","127.0.0.1:9"]}]"#);
    let (list, fault, lacks) = discovery.look().await;
    assert_eq!((names(&list.unwrap()), fault), (vec!["service/ranker@127.0.0.1:1".to_owned()], None));
    assert_eq!(lacks.as_deref(), Some("2 targets left out: 'no address' is no address"));
    replace(&file, "[]");
    assert_eq!(discovery.places().await, [""; 0]);
}

#[tokio::test]
async fn a_list_over_http_is_asked_with_its_own_token_and_each_failure_has_its_words() {
    let told = Arc::new(Mutex::new(answer("200 OK", "application/json", r#"[{"targets":["127.0.0.1:1"]}]"#)));
    let says = Arc::clone(&told);
    let server = Server::by_head(move |head| {
        let is_let_in = head.lines().any(|line| line.eq_ignore_ascii_case("authorization: Bearer sesame"));
        match is_let_in {
            true => says.lock().unwrap().clone(),
            false => answer("401 Unauthorized", "text/plain", "no"),
        }
    });
    let mut list = MetricsSpec::new(&server.url("/targets"));
    let mut refused = by_hand(&spec(Place::Http(Box::new(list.clone()))), &Directory::default());
    assert_eq!(refused.fault().await.0, FaultKind::Auth);
    list.bearer = Some("sesame".to_owned().into());
    let mut discovery = by_hand(&spec(Place::Http(Box::new(list))), &Directory::default());
    assert_eq!(discovery.places().await, ["service/ranker@127.0.0.1:1"]);
    let huge = format!("[{}", "{\"targets\":[\"127.0.0.1:1\"]},".repeat(LONGEST_LIST / 20));
    for (status, kind, body, fault, said) in [
        ("200 OK", "text/html", "<html>sign in</html>", FaultKind::Malformed, "serves HTML, not a list"),
        ("200 OK", "application/json", "{\"targets\":1}", FaultKind::Malformed, "is no list of targets"),
        ("200 OK", "text/event-stream", "data: 1", FaultKind::Malformed, "an event stream"),
        ("200 OK", "application/json", &huge, FaultKind::TooLarge, "sends no end of a list"),
        ("500 Internal Server Error", "text/plain", "", FaultKind::Http, "500"),
    ] {
        *told.lock().unwrap() = answer(status, kind, body);
        let (seen, message) = discovery.fault().await;
        assert_eq!(seen, fault, "{message}");
        assert!(message.contains(said) && message.ends_with("its last list stays: 1 target"), "{message}");
    }
    *told.lock().unwrap() = answer("200 OK", "application/json", "[]");
    assert_eq!(discovery.places().await, [""; 0]);
    // As a Prometheus asks for it.
    let head = server.last_request().to_ascii_lowercase();
    assert!(head.contains("x-prometheus-refresh-interval-seconds: 0.05\r\n"), "{head}");
    assert!(head.contains("accept: application/json\r\n"), "{head}");
}

/// A DNS server that says of each question what a test wants: its code, and records as type and data.
struct Dns {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    /// How it was asked: over TCP, or by datagrams for answers up to so many bytes.
    asked: Arc<Mutex<Vec<Asked>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    UpTo(u16),
    OverTcp,
}

#[derive(Clone, Default)]
struct Says {
    code: u8,
    is_cut: bool,
    is_noise: bool,
    /// Neither a record nor that there is none.
    is_unsaid: bool,
    /// It knows nothing of longer answers.
    is_old: bool,
    records: Vec<(u16, Vec<u8>)>,
}

impl Dns {
    fn start() -> Self {
        // Both sockets need the same port.
        let (udp, tcp) = (0..50)
            .find_map(|_| {
                let udp = UdpSocket::bind("127.0.0.1:0").expect("loopback works");
                let tcp = TcpListener::bind(udp.local_addr().expect("loopback works")).ok()?;
                Some((udp, tcp))
            })
            .expect("some port is free for both");
        let says: Arc<Mutex<Says>> = Arc::default();
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let address = udp.local_addr().expect("loopback works");
        let server = Self { address, says: Arc::clone(&says), asked: Arc::clone(&asked) };
        let (over_tcp, asked_over_tcp) = (Arc::clone(&says), Arc::clone(&asked));
        std::thread::spawn(move || {
            let mut bytes = [0; 512];
            while let Ok((length, from)) = udp.recv_from(&mut bytes) {
                let told = says.lock().expect("no test panics with it held").clone();
                let (question, longest) = read(&bytes[..length]);
                asked.lock().expect("no test panics with it held").push(Asked::UpTo(longest));
                let answer = match told.is_noise {
                    true => b"noise".to_vec(),
                    false if told.is_old && longest > SHORT => {
                        Says { code: 1, ..Says::default() }.message(&question, false)
                    }
                    false => {
                        let whole = told.message(&question, told.is_cut);
                        match whole.len() > usize::from(longest) {
                            true => told.message(&question, true),
                            false => whole,
                        }
                    }
                };
                let _ = udp.send_to(&answer, from);
            }
        });
        std::thread::spawn(move || {
            for mut stream in tcp.incoming().flatten() {
                let mut length = [0; 2];
                stream.read_exact(&mut length).expect("loopback works");
                let mut asked = vec![0; usize::from(u16::from_be_bytes(length))];
                stream.read_exact(&mut asked).expect("loopback works");
                asked_over_tcp.lock().expect("no test panics with it held").push(Asked::OverTcp);
                let told = over_tcp.lock().expect("no test panics with it held").message(&asked, false);
                stream.write_all(&(told.len() as u16).to_be_bytes()).expect("loopback works");
                stream.write_all(&told).expect("loopback works");
            }
        });
        server
    }

    fn say(&self, says: Says) {
        *self.says.lock().expect("no test panics with it held") = says;
    }

    /// How it was asked since this was last called.
    fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().expect("no test panics with it held"))
    }

    fn query(&self, name: &str, record: Record, port: u16) -> DiscoverySpec {
        let server = Some(self.address);
        spec(Place::Dns(Query { name: name.to_owned(), record, port, server }))
    }
}

/// The longest answer of old, in bytes.
const SHORT: u16 = 512;

/// A question without what asks for a longer answer, and the longest answer that it wants.
fn read(asked: &[u8]) -> (Vec<u8>, u16) {
    if asked[11] == 0 {
        return (asked.to_vec(), SHORT);
    }
    let (question, option) = asked.split_at(asked.len() - 11);
    assert_eq!(option[..3], [0, 0, 41]);
    let mut question = question.to_vec();
    question[11] = 0;
    (question, u16::from_be_bytes([option[3], option[4]]))
}

impl Says {
    fn message(&self, asked: &[u8], is_cut: bool) -> Vec<u8> {
        let mut bytes = asked.to_vec();
        let records = if is_cut { &[][..] } else { &self.records };
        bytes[2] = if is_cut { 0x82 } else { 0x80 };
        bytes[3] = self.code;
        bytes[7] = records.len() as u8;
        for (kind, data) in records {
            bytes.extend([0xc0, 12]);
            bytes.extend(kind.to_be_bytes());
            bytes.extend([0, 1, 0, 0, 0, 30]);
            bytes.extend((data.len() as u16).to_be_bytes());
            bytes.extend(data);
        }
        if self.records.is_empty() && !self.is_unsaid {
            // The zone's own record: it is the one that knows.
            bytes[9] = 1;
            bytes.extend([0xc0, 12, 0, 6, 0, 1, 0, 0, 0, 30, 0, 0]);
        }
        bytes
    }
}

#[tokio::test]
async fn dns_names_addresses_and_services_and_what_was_resolved_is_said() {
    let dns = Dns::start();
    let mut addresses = by_hand(&dns.query("ranker.test.", Record::A, 8_000), &Directory::default());
    let a = |last: u8| (1, vec![127, 0, 0, last]);
    dns.say(Says { records: vec![a(6), a(5)], ..Says::default() });
    let (list, ..) = addresses.look().await;
    let list = list.unwrap();
    assert_eq!(names(&list), ["service/ranker@127.0.0.5:8000", "service/ranker@127.0.0.6:8000"]);
    let expected = format!("A records of ranker.test., by {}: 127.0.0.5:8000, 127.0.0.6:8000", dns.address);
    assert_eq!(list.found.as_str(), expected);
    // What does not fit into a datagram is asked for again.
    dns.say(Says { records: vec![a(7)], is_cut: true, ..Says::default() });
    assert_eq!(addresses.places().await, ["service/ranker@127.0.0.7:8000"]);
    dns.say(Says { code: 2, ..Says::default() });
    let (kind, message) = addresses.fault().await;
    assert_eq!(kind, FaultKind::Busy);
    assert!(
        message.contains("the server cannot say (code 2)") && message.ends_with("stays: 1 target"),
        "{message}"
    );
    // That there is no such name is an answer: the last target has left.
    dns.say(Says { code: 3, ..Says::default() });
    assert_eq!(addresses.places().await, [""; 0]);

    let mut services = by_hand(&dns.query("_m._tcp.ranker.test.", Record::Srv, 0), &Directory::default());
    let service = |port: u16| {
        let host = b"\x09localhost\x00";
        (33, [&[0, 0, 0, 0][..], &port.to_be_bytes(), host].concat())
    };
    dns.say(Says { records: vec![service(8_000), service(8_001)], ..Says::default() });
    assert_eq!(services.places().await, ["service/ranker@localhost:8000", "service/ranker@localhost:8001"]);
    dns.say(Says { is_noise: true, ..Says::default() });
    let (kind, message) = services.fault().await;
    assert_eq!(kind, FaultKind::Silent);
    assert!(message.contains("no answer from 127.0.0.1"), "{message}");
}

#[tokio::test]
async fn longer_answers_are_asked_for_and_what_says_nothing_ends_no_target() {
    let dns = Dns::start();
    let mut addresses = by_hand(&dns.query("ranker.test.", Record::A, 8_000), &Directory::default());
    let records = |count: u8| (0..count).map(|last| (1, vec![127, 0, 0, last])).collect::<Vec<_>>();
    dns.say(Says { records: records(60), ..Says::default() });
    assert_eq!(addresses.places().await.len(), 60);
    assert_eq!(
        dns.asked(),
        [Asked::UpTo(1_232)],
        "60 records are longer than 512 bytes, and come in one datagram"
    );
    dns.say(Says { records: records(200), ..Says::default() });
    assert_eq!(addresses.places().await.len(), 200);
    assert_eq!(dns.asked(), [Asked::UpTo(1_232), Asked::OverTcp]);
    dns.say(Says { records: records(3), is_old: true, ..Says::default() });
    assert_eq!(addresses.places().await.len(), 3);
    assert_eq!(dns.asked(), [Asked::UpTo(1_232), Asked::UpTo(SHORT)]);
    // A server that knows nothing of the name says no more than that.
    dns.say(Says { is_unsaid: true, ..Says::default() });
    let (kind, message) = addresses.fault().await;
    assert_eq!(kind, FaultKind::Malformed);
    assert!(message.contains("no SOA") && message.ends_with("its last list stays: 3 targets"), "{message}");
    dns.say(Says::default());
    assert_eq!(addresses.places().await, [""; 0], "that there is no record is an answer");

    let mut services = by_hand(&dns.query("_m._tcp.ranker.test.", Record::Srv, 0), &Directory::default());
    let service = |host: &[u8]| (33, [&[0, 0, 0, 0, 0x1f, 0x40][..], host].concat());
    dns.say(Says { records: vec![service(b"\x09localhost\0"), service(b"\x03a@b\0")], ..Says::default() });
    let (list, fault, lacks) = services.look().await;
    assert_eq!((names(&list.unwrap()), fault), (vec!["service/ranker@localhost:8000".to_owned()], None));
    assert_eq!(lacks.as_deref(), Some("1 record left out: no host and port that can be asked"));
}

#[tokio::test]
async fn this_machines_resolver_knows_its_own_names() {
    let query = Query { name: "localhost".into(), record: Record::A, port: 1, server: None };
    let mut discovery = by_hand(&spec(Place::Dns(query)), &Directory::default());
    assert_eq!(discovery.places().await, ["service/ranker@127.0.0.1:1"]);
}

#[tokio::test]
async fn a_probe_is_of_the_instance_that_is_found_at_its_address_while_it_is_there() {
    let server = Server::by_path(|_| answer("200 OK", "text/plain", "ok"));
    let directory = Directory::default();
    let mut probe = ProbeSpec::new(
        subject("probe/p"),
        subject("service/elsewhere"),
        &server.url("/ready"),
        ProbeKind::Http,
    );
    probe.is_of_anybody = true;
    let mut source = ProbeSource::new(&probe).unwrap().beside(&directory);
    let finder = subject("discovery/d");
    let mut about = async |listed: &[&str]| {
        let place = server.address.to_string();
        let targets =
            listed.iter().map(|name| Target { subject: subject(name), place: place.as_str().into() });
        directory.tell(&finder, targets.collect());
        let reading = source.ask().await;
        let told = reading.samples.iter().find(|sample| sample.metric == PROBE_OK.into()).unwrap();
        told.subject.to_string()
    };
    assert_eq!(about(&[]).await, "service/elsewhere");
    assert_eq!(about(&["service/ranker@pod-7"]).await, "service/ranker@pod-7");
    assert_eq!(about(&[]).await, "service/elsewhere");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_leaves_the_numbers_of_requests_to_a_page_that_is_found() {
    use headwater::sources::logs::line::Format;
    use headwater::sources::logs::{LogSource, LogSpec};
    let folder = tempfile::tempdir().unwrap();
    let directory = Directory::default();
    let mut source = LogSource::new(&LogSpec {
        subject: subject("log/l"),
        about: subject("service/ranker"),
        file: Some(folder.path().join("access.log")),
        format: Format::Json,
        patterns: vec![],
        tells_service: true,
    })
    .beside(&directory);
    std::fs::write(folder.path().join("access.log"), "").unwrap();
    let tells = |reading: &Reading| reading.samples.iter().any(|sample| sample.metric == REQUESTS.into());
    assert!(tells(&source.ask().await));
    let found = Target { subject: subject("service/ranker@h:1"), place: "h:1".into() };
    directory.tell(&subject("discovery/d"), vec![found]);
    assert!(!tells(&source.ask().await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_of_lists_alone_gives_a_verdict_and_a_doctors_word() {
    let folder = tempfile::tempdir().unwrap();
    let page = page();
    let list = folder.path().join("rankers.json");
    replace(&list, &format!(r#"[{{"targets":["{}"],"labels":{{"job":"ranker"}}}}]"#, page.address));
    let file = folder.path().join("c.toml");
    std::fs::write(&file, "[[discovery]]\nfiles = [\"*.json\"]\nname = \"rankers\"\n").unwrap();
    let run = |arguments: &'static [&'static str]| {
        let file = file.clone();
        tokio::task::spawn_blocking(move || {
            let mut command = Command::cargo_bin("headwater").unwrap();
            let output = command.args(arguments).arg("--config").arg(file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            (output.status.code(), said.split_whitespace().collect::<Vec<_>>().join(" "))
        })
    };
    let (code, said) = run(&["triage", "--for", "5s"]).await.unwrap();
    assert!(said.contains("queue/ranker"), "{said}");
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(&["doctor"]).await.unwrap();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("ok discovery/rankers: list: lists 1 target:"), "{said}");
    assert!(said.contains(&format!("ok service/ranker@{}: page:", page.address)), "{said}");
    replace(&list, "[]");
    let (code, said) = run(&["doctor"]).await.unwrap();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("lists no target"), "{said}");
    let (code, said) = run(&["triage", "--for", "4s"]).await.unwrap();
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains("discovery/rankers: it lists no target"), "{said}");
}
