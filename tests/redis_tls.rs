//! TLS towards Redis: whose certificates are accepted, which of ours are shown, and what is said when that fails.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::client_certificate::ClientCertificate;
use headwater::sources::redis::{RedisSpec, RedisTarget, TlsSpec};
use headwater_engine::reading::{FaultKind, Reading};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::certificates::Authority;
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, value_of};
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

/// An authority that has signed a server's certificate for a name.
fn authority_of(name: &str) -> Authority {
    let authority = Authority::new();
    authority.sign("server", &[name]);
    authority
}

fn start(options: &[String]) -> Server {
    Server::start(&options.iter().map(String::as_str).collect::<Vec<_>>())
}

fn server_of(authority: &Authority) -> Server {
    start(&authority.options("server", false))
}

fn tls_address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.option("--tls-port").expect("the server speaks TLS"))
}

fn tls_spec(seed: String, ca_file: Option<&Path>) -> RedisSpec {
    let mut spec = RedisSpec::new(target(), vec![seed]);
    spec.tls = Some(TlsSpec { ca_file: ca_file.map(Path::to_path_buf), ..TlsSpec::default() });
    spec
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_an_own_authority_works_for_a_whole_cluster() {
    let certificates = authority_of("127.0.0.1");
    let mut options = certificates.options("server", false);
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
    let good = authority_of("127.0.0.1");
    let server = server_of(&good);
    let other = authority_of("127.0.0.1");
    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(&other.path("ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("unknown authority"), "{}", fault.message);

    let misnamed = authority_of("redis.example");
    let server = server_of(&misnamed);
    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(&misnamed.path("ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(
        fault.message.as_str().contains("not for the name '127.0.0.1' but for 'redis.example'"),
        "{}",
        fault.message
    );
    let mut spec = tls_spec(tls_address(&server), None);
    spec.tls = Some(TlsSpec { insecure: true, ..TlsSpec::default() });
    let (_target, mut readings) = watch(spec);
    readings.until("anything is accepted when asked for", answered).await;

    let (_target, mut readings) = watch(tls_spec(tls_address(&server), Some(Path::new("/no/such/ca.pem"))));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("'/no/such/ca.pem'"), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_to_a_plain_port_and_the_reverse_are_named() {
    let certificates = authority_of("127.0.0.1");
    let server = server_of(&certificates);
    let ca_file = certificates.path("ca.pem");
    let (_target, mut readings) = watch(tls_spec(server.address(), Some(&ca_file)));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("speaks plain Redis, not TLS"), "{}", fault.message);

    let (_target, mut readings) = watch(RedisSpec::new(target(), vec![tls_address(&server)]));
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    assert!(fault.message.as_str().contains("speaks TLS, not plain Redis"), "{}", fault.message);
}

fn client(authority: &Authority, file: &str) -> ClientCertificate {
    let path = |end: &str| authority.path(&format!("{file}.{end}"));
    ClientCertificate { cert_file: path("pem"), key_file: path("key") }
}

/// The words of the fault of a target that shows this certificate.
async fn refusal(server: &Server, authority: &Authority, client: Option<ClientCertificate>) -> String {
    let mut spec = tls_spec(tls_address(server), Some(&authority.path("ca.pem")));
    spec.tls.as_mut().expect("it was made with TLS").client = client;
    let (_target, mut readings) = watch(spec);
    readings.until_fault(&target(), FaultKind::Tls).await.message.as_str().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_who_we_are_is_shown_our_certificate_and_says_what_is_wrong_with_it() {
    let authority = authority_of("127.0.0.1");
    authority.sign("headwater", &["headwater.example"]);
    let server = start(&authority.options("server", true));
    let mut spec = tls_spec(tls_address(&server), Some(&authority.path("ca.pem")));
    spec.tls.as_mut().unwrap().client = Some(client(&authority, "headwater"));
    let (_target, mut readings) = watch(spec);
    readings.until("the certificate lets us in", answered).await;

    let said = refusal(&server, &authority, None).await;
    assert!(said.contains("wants a client certificate and got none: set client_cert_file"), "{said}");
    assert!(said.contains("--client-cert"), "{said}");

    let stranger = Authority::new();
    stranger.sign("headwater", &["headwater.example"]);
    let said = refusal(&server, &authority, Some(client(&stranger, "headwater"))).await;
    assert!(
        said.contains("does not accept our client certificate") && said.contains("headwater.pem"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_ours_that_cannot_be_used_is_named_and_no_key_is_shown() {
    let authority = authority_of("127.0.0.1");
    ["one", "two"].iter().for_each(|name| authority.sign(name, &["headwater.example"]));
    let server = start(&authority.options("server", true));
    let (one, two) = (client(&authority, "one"), client(&authority, "two"));
    let mixed = ClientCertificate { cert_file: one.cert_file.clone(), key_file: two.key_file };
    let said = refusal(&server, &authority, Some(mixed)).await;
    assert!(said.contains("does not belong to client_cert_file"), "{said}");

    let secret = authority.path("secret.key");
    std::fs::write(&secret, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LTQ3MTE!!\n-----END PRIVATE KEY-----\n")
        .unwrap();
    let broken = ClientCertificate { cert_file: one.cert_file.clone(), key_file: secret };
    let said = refusal(&server, &authority, Some(broken)).await;
    assert!(said.contains("secret.key' cannot be read") && !said.contains("c2Vj"), "{said}");

    let absent = ClientCertificate { cert_file: authority.path("absent.pem"), key_file: one.key_file };
    let said = refusal(&server, &authority, Some(absent)).await;
    assert!(said.contains("cannot read client_cert_file") && said.contains("absent.pem"), "{said}");
}

/// The announced host of a cluster's node, in a network that is not ours.
fn host(index: usize) -> String {
    format!("node-{index}.redis.example")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_node_is_held_to_its_own_announced_name_wherever_it_is_dialled() {
    let authority = authority_of("127.0.0.1");
    let mut options = authority.options("server", false);
    options
        .extend(["--tls-cluster", "yes", "--cluster-preferred-endpoint-type", "hostname"].map(str::to_owned));
    let cluster = Cluster::start_with(2, 0, &options.iter().map(String::as_str).collect::<Vec<_>>());
    for (index, server) in cluster.primaries.iter().enumerate() {
        authority.sign(&host(index), &[&host(index)]);
        let file = |end: &str| authority.path(&format!("{}.{end}", host(index))).display().to_string();
        let pairs = [
            "CONFIG",
            "SET",
            "tls-cert-file",
            &file("pem"),
            "tls-key-file",
            &file("key"),
            "cluster-announce-hostname",
        ];
        server.run::<()>(&[&pairs[..], &[&host(index)]].concat());
    }
    let told = |server: &Server| server.run::<String>(&["CLUSTER", "NODES"]);
    headwater_test_support::wait_until("every node knows the names of all", || {
        cluster.primaries.iter().all(|server| (0..2).all(|index| told(server).contains(&host(index))))
    });
    let port = |index: usize| cluster.primaries[index].option("--tls-port").unwrap().to_owned();
    let seed = format!("{}:{}", host(0), port(0));
    let mut spec = tls_spec(seed.clone(), Some(&authority.path("ca.pem")));
    spec.address_map =
        BTreeMap::from([(seed, format!("127.0.0.1:{}", port(0))), ("*".to_owned(), "127.0.0.1".to_owned())]);
    let (running, mut readings) = watch(spec.clone());
    let topology = running.discovered(PATIENCE).await.expect("the cluster is discovered");
    for index in 0..2 {
        let node = headwater_test_support::node_at(&topology, &format!("{}:{}", host(index), port(index)));
        readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    }
    drop(running);

    // A node that shows another's certificate is refused, and the others are not.
    let file = |end: &str| authority.path(&format!("{}.{end}", host(0))).display().to_string();
    let swapped = ["CONFIG", "SET", "tls-cert-file", &file("pem"), "tls-key-file", &file("key")];
    cluster.primaries[1].run::<()>(&swapped);
    let (running, mut readings) = watch(spec);
    let topology = running.discovered(PATIENCE).await.expect("the first node tells the shape");
    let [good, bad] = [0, 1]
        .map(|index| headwater_test_support::node_at(&topology, &format!("{}:{}", host(index), port(index))));
    let fault = readings.until_fault(&bad, FaultKind::Tls).await;
    for words in [&host(0), &host(1), "server_name", &format!("dialled at '127.0.0.1:{}'", port(1))] {
        assert!(fault.message.as_str().contains(words), "{} lacks {words}", fault.message);
    }
    readings.until_sample(&good, metric::REDIS_ANSWER_TIME).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_more_name_is_accepted_and_breaks_no_node_with_its_own() {
    let authority = authority_of("features.example");
    authority.sign("own", &["127.0.0.1"]);
    let (shared, own) = (server_of(&authority), start(&authority.options("own", false)));
    for server in [&shared, &own] {
        let mut spec = tls_spec(tls_address(server), Some(&authority.path("ca.pem")));
        spec.tls.as_mut().unwrap().server_name = Some("features.example".to_owned());
        let (_target, mut readings) = watch(spec);
        readings.until("either name is good", answered).await;
    }
    let mut spec = tls_spec(tls_address(&shared), Some(&authority.path("ca.pem")));
    spec.tls.as_mut().unwrap().server_name = Some("others.example".to_owned());
    let (_target, mut readings) = watch(spec);
    let fault = readings.until_fault(&target(), FaultKind::Tls).await;
    let words = "not for the name '127.0.0.1' or 'others.example' but for 'features.example'";
    assert!(fault.message.as_str().contains(words), "{}", fault.message);
}
