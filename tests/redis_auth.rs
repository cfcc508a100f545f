//! Who is let in, and what is said to whom is not: passwords, ACL users, TLS, full servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use headwater::sources::Outlet;
use headwater::sources::redis::connection::{Access, Connection, Cost, Dial};
use headwater::sources::redis::{RedisSpec, RedisTarget, TlsSpec};
use headwater_engine::reading::{Event, FaultKind, Reading};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, value_of, wait_until};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

fn target() -> Subject {
    Subject::component(Kind::Redis, "features")
}

fn watch(spec: RedisSpec) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn answered(reading: &Reading) -> bool {
    value_of(reading, metric::REDIS_ANSWER_TIME).is_some()
}

/// How often a server refused somebody's password, by its own log.
fn refusals(server: &Server) -> u64 {
    let log: Vec<redis::Value> = server.run(&["ACL", "LOG"]);
    let count = |entry: &redis::Value| {
        let pairs: Vec<(String, redis::Value)> = entry
            .as_map_iter()
            .expect("an entry is a list of fields")
            .map(|(name, value)| (redis::from_redis_value_ref(name).expect("names are text"), value.clone()))
            .collect();
        let field =
            |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let reason: String =
            redis::from_redis_value(field("reason").expect("there is a reason")).expect("text");
        let count: u64 =
            redis::from_redis_value(field("count").expect("there is a count")).expect("a number");
        if reason == "auth" { count } else { 0 }
    };
    log.iter().map(count).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_tried_once_for_the_whole_cluster() {
    let cluster = Cluster::start(3, 1);
    for server in cluster.servers() {
        server.run::<()>(&["ACL", "SETUSER", "watcher", "on", ">right", "+@all", "~*"]);
    }
    let mut spec = RedisSpec::new(target(), cluster.servers().map(Server::address).collect());
    spec.username = Some("watcher".to_owned());
    spec.password = Some("wrong".to_owned().into());
    let (running, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    drop(running);
    assert!(fault.message.as_str().contains("refused the password of user 'watcher'"), "{}", fault.message);
    assert!(fault.message.as_str().contains("password_env"), "{}", fault.message);
    assert!(!fault.message.as_str().contains("wrong"), "{}", fault.message);
    assert!(readings.ended().await, "nothing goes on after the refusal");
    assert_eq!(readings.log.len(), 1, "{:#?}", readings.log);
    assert_eq!(cluster.servers().map(refusals).sum::<u64>(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_is_changed_later_stops_all_nodes_at_the_first_refusal() {
    let mut cluster = Cluster::start(3, 0);
    let set_user = |server: &Server, password: &str| {
        let word = format!(">{password}");
        server.run::<()>(&["ACL", "SETUSER", "watcher", "reset", "on", &word, "+@all", "~*"]);
    };
    cluster.servers().for_each(|server| set_user(server, "first"));
    let mut spec = RedisSpec::new(target(), vec![cluster.primaries[0].address()]);
    spec.username = Some("watcher".to_owned());
    spec.password = Some("first".to_owned().into());
    let (running, mut readings) = watch(spec);
    running.discovered(PATIENCE).await.expect("the right password lets us in");
    readings.until("a node answers", answered).await;
    // A restarted node knows only the default user, as if the user had been taken away.
    cluster.primaries[1].restart();
    readings.until_fault(&target(), FaultKind::Auth).await;
    readings.log.clear();
    drop(running);
    assert!(readings.ended().await, "nothing goes on after the refusal");
    assert_eq!(refusals(&cluster.primaries[1]), 1);
    assert_eq!(refusals(&cluster.primaries[0]) + refusals(&cluster.primaries[2]), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_lost_together_try_a_changed_password_once() {
    let servers: Vec<_> = (0..4).map(|_| Server::start(&["--requirepass", "second"])).collect();
    let mut spec = RedisSpec::new(target(), vec![]);
    spec.password = Some("first".to_owned().into());
    let access = Access::of(&spec).unwrap();
    let cost = Arc::new(Cost::default());
    let dials: Vec<_> = servers
        .iter()
        .map(|server| Dial { shown: server.address(), host: "127.0.0.1".to_owned(), port: server.port() })
        .collect();
    let deadline = Instant::now() + PATIENCE;
    // Paused, they all have the connection before any of them answers.
    servers.iter().for_each(Server::pause);
    let opened = join_all(dials.iter().map(|dial| Connection::open(dial, &access, &cost, deadline)));
    let resumed = async { servers.iter().for_each(Server::resume) };
    let (opened, ()) = tokio::join!(opened, resumed);
    for outcome in opened {
        assert_eq!(outcome.err().map(|trouble| trouble.kind), Some(FaultKind::Auth));
    }
    let refused: usize = servers
        .iter()
        .map(|server| {
            let url = format!("redis://:second@{}/", server.address());
            let mut connection = redis::Client::open(url).unwrap().get_connection().unwrap();
            let log: Vec<redis::Value> = redis::cmd("ACL").arg("LOG").query(&mut connection).unwrap();
            log.len()
        })
        .sum();
    assert_eq!(refused, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_password_is_said_as_such() {
    let server = Server::start(&["--requirepass", "secret"]);
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    assert!(fault.message.as_str().contains("wants a password"), "{}", fault.message);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.password = Some("secret".to_owned().into());
    let (_target, mut readings) = watch(spec);
    readings.until("the password lets us in", answered).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_for_a_server_without_one_is_said_as_such() {
    let server = Server::start(&[]);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.password = Some("needless".to_owned().into());
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Auth).await;
    assert!(fault.message.as_str().contains("remove it"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_not_allowed_costs_only_itself_and_names_the_rule() {
    let server = Server::start(&[]);
    server.run::<()>(&["ACL", "SETUSER", "watcher", "on", ">word", "+info", "+client|setname"]);
    let mut spec = RedisSpec::new(target(), vec![server.address()]);
    spec.username = Some("watcher".to_owned());
    spec.password = Some("word".to_owned().into());
    let (_target, mut readings) = watch(spec);
    let names_rule = |reading: &Reading| {
        reading.events.iter().any(|event| {
            matches!(event, Event::Unavailable { what, why }
                if what.as_str() == "SLOWLOG GET" && why.as_str().contains("ACL SETUSER watcher +slowlog|get"))
        })
    };
    let reading = readings.until("the missing rule is named", names_rule).await;
    assert!(answered(&reading) && reading.faults.is_empty(), "{reading:?}");
    server.run::<()>(&["ACL", "SETUSER", "watcher", "+slowlog|get"]);
    let is_back =
        |event: &Event| matches!(event, Event::Available { what } if what.as_str() == "SLOWLOG GET");
    let granted = readings.until("it is asked again", |reading| reading.events.iter().any(is_back)).await;
    assert!(value_of(&granted, metric::REDIS_SLOW).is_some(), "{granted:?}");
    server.run::<()>(&["ACL", "SETUSER", "watcher", "-info"]);
    let denied = |reading: &Reading| reading.faults.iter().any(|fault| fault.kind == FaultKind::Denied);
    let reading = readings.until("INFO is denied", denied).await;
    assert!(reading.faults[0].message.as_str().contains("ACL SETUSER watcher +info"), "{reading:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_server_says_that_it_is_full() {
    let server = Server::start(&["--maxclients", "1"]);
    let mut holder = None;
    wait_until("the one place is free and taken", || {
        holder = server.connect().ok();
        holder.is_some()
    });
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    let fault = readings.until_fault(&target(), FaultKind::Busy).await;
    assert!(fault.message.as_str().contains("out of connections"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_blocks_everything_is_busy_and_passes() {
    let server = Server::start(&["--busy-reply-threshold", "50"]);
    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![server.address()]));
    readings.until("the node answers", answered).await;
    let mut connection = server.connect().unwrap();
    let script = std::thread::spawn(move || {
        redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut connection).unwrap_err().to_string()
    });
    let busy = |reading: &Reading| reading.faults.iter().any(|fault| fault.kind == FaultKind::Busy);
    let said = readings.until("the script is said", busy).await;
    assert!(said.faults[0].message.as_str().contains("SCRIPT KILL"), "{said:?}");
    server.run::<()>(&["SCRIPT", "KILL"]);
    assert!(script.join().unwrap().contains("killed"));
    readings.until("the node answers again", answered).await;
}

/// A certificate authority and a server certificate for a name, as PEM files.
struct Certificates {
    folder: TempDir,
}

impl Certificates {
    fn of(name: &str) -> Self {
        let mut authority = CertificateParams::new(vec![]).expect("no name is a good name");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A name of its own: a certificate whose issuer has its own name passes for self-signed.
        authority.distinguished_name.push(DnType::CommonName, "authority of the test");
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate().expect("a key can be made");
        let authority_pem = authority.self_signed(&authority_key).expect("it signs itself").pem();
        let issuer = Issuer::new(authority, authority_key);
        let mut server = CertificateParams::new(vec![name.to_owned()]).expect("the name is good");
        server.is_ca = IsCa::ExplicitNoCa;
        let key = KeyPair::generate().expect("a key can be made");
        let certificate = server.signed_by(&key, &issuer).expect("it is signed");
        let folder = TempDir::new().expect("a temporary folder can be made");
        let write =
            |file: &str, text: String| std::fs::write(folder.path().join(file), text).expect("it is written");
        write("ca.pem", authority_pem);
        write("server.pem", certificate.pem());
        write("server.key", key.serialize_pem());
        Self { folder }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn options(&self) -> Vec<String> {
        let file = |name: &str| self.path(name).display().to_string();
        let words = ["--tls-port", "%PORT%", "--tls-auth-clients", "no"].map(str::to_owned);
        let files = [
            "--tls-cert-file".to_owned(),
            file("server.pem"),
            "--tls-key-file".to_owned(),
            file("server.key"),
            "--tls-ca-cert-file".to_owned(),
            file("ca.pem"),
        ];
        words.into_iter().chain(files).collect()
    }

    fn server(&self) -> Server {
        let options = self.options();
        Server::start(&options.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

fn tls_address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.option("--tls-port").expect("the server speaks TLS"))
}

fn tls_spec(seed: String, ca_file: Option<&Path>) -> RedisSpec {
    let mut spec = RedisSpec::new(target(), vec![seed]);
    spec.tls = Some(TlsSpec { ca_file: ca_file.map(Path::to_path_buf), insecure: false });
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_an_own_authority_works_for_a_whole_cluster() {
    let certificates = Certificates::of("127.0.0.1");
    let mut options = certificates.options();
    options.extend(["--tls-cluster", "yes"].map(str::to_owned));
    let cluster = Cluster::start_with(2, 0, &options.iter().map(String::as_str).collect::<Vec<_>>());
    let ca_file = certificates.path("ca.pem");
    let (running, mut readings) = watch(tls_spec(tls_address(&cluster.primaries[0]), Some(&ca_file)));
    let topology = running.discovered(PATIENCE).await.expect("the cluster is discovered");
    for (shard, server) in topology.shards.iter().zip(&cluster.primaries) {
        let node = &shard.nodes[0].subject;
        assert_eq!(node.address().unwrap(), tls_address(server), "the TLS port is dialled");
        readings.until_sample(node, metric::REDIS_ANSWER_TIME).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_authority_and_a_wrong_name_are_told_apart() {
    let good = Certificates::of("127.0.0.1");
    let server = good.server();
    let other = Certificates::of("127.0.0.1");
    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(&other.path("ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("unknown authority"), "{}", fault.message);

    let misnamed = Certificates::of("redis.example");
    let server = misnamed.server();
    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(&misnamed.path("ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("not for the name '127.0.0.1'"), "{}", fault.message);
    let mut spec = tls_spec(tls_address(&server), None);
    spec.tls = Some(TlsSpec { ca_file: None, insecure: true });
    let (_target, mut readings) = watch(spec);
    readings.until("anything is accepted when asked for", answered).await;

    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(Path::new("/no/such/ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("'/no/such/ca.pem'"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_plain_port_and_the_reverse_are_named() {
    let certificates = Certificates::of("127.0.0.1");
    let server = certificates.server();
    let ca_file = certificates.path("ca.pem");
    let (_target, mut readings) = watch(tls_spec(server.address(), Some(&ca_file)));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("speaks plain Redis, not TLS"), "{}", fault.message);

    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![tls_address(&server)]));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("speaks TLS, not plain Redis"), "{}", fault.message);
}
