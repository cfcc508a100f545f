//! Ways to Redis that are not a plain address: maps, proxies, sockets, other families of addresses, load balancers.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::Source as _;
use headwater::sources::metrics::{MetricsSource, MetricsSpec};
use headwater::sources::proxy::ProxySpec;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::reading::{FaultKind, Topology};
use headwater_engine::{Kind, Subject, metric};
use headwater_test_support::socks::{Habits, Proxy};
use headwater_test_support::{Cluster, PATIENCE, Readings, Server, http, node_at, wait_until};
use tokio_util::sync::CancellationToken;

fn target() -> Subject {
    Subject::component(Kind::Redis, "features")
}

fn watch(spec: RedisSpec) -> (RedisTarget, Readings) {
    let (send, readings) = Readings::channel();
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    (RedisTarget::start(spec, Duration::from_millis(200), outlet), readings)
}

fn addresses(topology: &Topology) -> Vec<&str> {
    topology.shards.iter().flat_map(|shard| &shard.nodes).filter_map(|node| node.subject.address()).collect()
}

fn by(proxy: &Proxy) -> ProxySpec {
    let (host, port) = (proxy.address.ip().to_string(), proxy.address.port());
    ProxySpec { host, port, username: None, password: None }
}

/// The fault of a target that cannot be reached.
async fn fault_of(spec: RedisSpec, kind: FaultKind) -> String {
    let (_target, mut readings) = watch(spec);
    readings.until_fault(&target(), kind).await.message.as_str().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_announced_port_is_dialled_at_one_host() {
    // As behind a forward of each port: nodes announce addresses of a network that is not ours.
    let cluster = Cluster::start_with(2, 1, &["--cluster-announce-hostname", "far.example"]);
    let preferred = ["CONFIG", "SET", "cluster-preferred-endpoint-type", "hostname"];
    cluster.servers().for_each(|server| server.run::<()>(&preferred));
    wait_until("every node knows the names of all", || {
        cluster.servers().all(|server| {
            let nodes: String = server.run(&["CLUSTER", "NODES"]);
            nodes.matches("far.example").count() == 4
        })
    });
    let mut spec = RedisSpec::new(target(), vec![cluster.primaries[0].address()]);
    spec.address_map = BTreeMap::from([("*".to_owned(), "127.0.0.1".to_owned())]);
    let (running, mut readings) = watch(spec);
    let topology = running.discovered(PATIENCE).await.expect("the seed tells the shape");
    for server in cluster.servers() {
        let node = node_at(&topology, &format!("far.example:{}", server.port()));
        readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    }
    drop(running);

    // What is out of reach is said with both addresses.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut spec = RedisSpec::new(target(), vec![cluster.primaries[0].address()]);
    let announced = format!("far.example:{}", cluster.primaries[1].port());
    spec.address_map =
        BTreeMap::from([("*".to_owned(), "127.0.0.1".to_owned()), (announced.clone(), closed.to_string())]);
    let (running, mut readings) = watch(spec);
    let topology = running.discovered(PATIENCE).await.expect("the seed tells the shape");
    let fault = readings.until_fault(&node_at(&topology, &announced), FaultKind::Unreachable).await;
    let words = format!("'{announced}' (dialled at '{closed}') refused the connection");
    assert!(fault.message.as_str().contains(&words), "{}", fault.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_looks_names_up_and_carries_every_node() {
    let cluster = Cluster::start(2, 0);
    let name = "redis.inside.example:6379".to_owned();
    let names = BTreeMap::from([(name.clone(), cluster.primaries[0].address())]);
    let login = Some(("me".to_owned(), "word".to_owned()));
    let proxy = Proxy::start(Habits { names, login, promises: false });
    let mut spec = RedisSpec::new(target(), vec![name.clone()]);
    let with_login =
        ProxySpec { username: Some("me".to_owned()), password: Some("word".to_owned().into()), ..by(&proxy) };
    spec.proxy = Some(with_login);
    let (running, mut readings) = watch(spec.clone());
    let topology = running.discovered(PATIENCE).await.expect("the cluster is found through the proxy");
    for server in &cluster.primaries {
        readings.until_sample(&node_at(&topology, &server.address()), metric::REDIS_ANSWER_TIME).await;
        assert!(proxy.asked().contains(&server.address()), "{:?}", proxy.asked());
    }
    assert_eq!(proxy.asked().first(), Some(&name), "the name is looked up by the proxy");
    drop(running);

    spec.proxy = Some(by(&proxy));
    let said = fault_of(spec.clone(), FaultKind::Auth).await;
    assert!(said.contains("wants to know who asks"), "{said}");
    let wrong = Some("wrong-4711".to_owned().into());
    spec.proxy = Some(ProxySpec { username: Some("me".to_owned()), password: wrong, ..by(&proxy) });
    let said = fault_of(spec, FaultKind::Auth).await;
    assert!(said.contains("refused user and password") && !said.contains("4711"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_does_not_get_through_says_why() {
    let proxy = Proxy::start(Habits::default());
    let mut spec = RedisSpec::new(target(), vec!["nobody.example:6379".to_owned()]);
    spec.proxy = Some(by(&proxy));
    let said = fault_of(spec.clone(), FaultKind::Unreachable).await;
    assert!(
        said.contains("'nobody.example:6379' is out of reach") && said.contains("cannot reach its host"),
        "{said}"
    );

    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    spec.seeds = vec![closed.to_string()];
    let said = fault_of(spec.clone(), FaultKind::Unreachable).await;
    assert!(said.contains("was refused the connection there"), "{said}");

    spec.proxy = Some(ProxySpec { port: closed.port(), ..by(&proxy) });
    let said = fault_of(spec.clone(), FaultKind::Unreachable).await;
    assert!(said.contains("refused the connection: start it, as with ssh -N -D"), "{said}");

    // One as of ssh -D gets nowhere only after it has said that it got through.
    let proxy = Proxy::start(Habits { promises: true, ..Habits::default() });
    spec.proxy = Some(by(&proxy));
    let said = fault_of(spec, FaultKind::Unreachable).await;
    assert!(said.contains("ssh -D hangs up like this"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_read_through_the_proxy_and_its_refusals_are_said() {
    let page = http::Server::keep_alive(|_| http::answer("200 OK", "text/plain", "# TYPE up gauge\nup 1\n"));
    let names = BTreeMap::from([("page.inside.example:8000".to_owned(), page.address.to_string())]);
    let proxy = Proxy::start(Habits { names, ..Habits::default() });
    let ask = async |url: &str| {
        let mut spec = MetricsSpec::new(url);
        spec.proxy = Some(by(&proxy));
        MetricsSource::new(&spec).unwrap().ask().await
    };
    let reading = ask("http://page.inside.example:8000/metrics").await;
    assert!(reading.faults.is_empty() && !reading.samples.is_empty(), "{reading:?}");
    let reading = ask("http://other.inside.example:8000/metrics").await;
    let said = reading.faults[0].message.as_str();
    assert!(said.contains("'other.inside.example:8000' is out of reach: the proxy"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_of_this_machine_is_a_server_like_any_other() {
    let server = Server::start(&["--unixsocket", "redis.sock"]);
    let path = server.folder().join("redis.sock").display().to_string();
    let (running, mut readings) = watch(RedisSpec::new(target(), vec![path.clone()]));
    let topology = running.discovered(PATIENCE).await.expect("the server is discovered");
    assert_eq!(addresses(&topology), [path.as_str()]);
    readings.until_sample(&node_at(&topology, &path), metric::REDIS_ANSWER_TIME).await;
    let monitors: String = server.run(&["CLIENT", "LIST"]);
    assert!(
        monitors.lines().any(|line| line.contains("name=headwater") && line.contains("redis.sock")),
        "{monitors}"
    );
    drop(running);

    let absent = server.folder().join("absent.sock").display().to_string();
    let said = fault_of(RedisSpec::new(target(), vec![absent.clone()]), FaultKind::Unreachable).await;
    assert!(said.contains(&format!("there is no socket '{absent}'")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_asked_by_a_socket_has_its_other_nodes_on_the_network() {
    let cluster = Cluster::start_with(2, 0, &["--unixsocket", "redis.sock"]);
    let path = cluster.primaries[0].folder().join("redis.sock").display().to_string();
    let (running, mut readings) = watch(RedisSpec::new(target(), vec![path]));
    let topology = running.discovered(PATIENCE).await.expect("the cluster is discovered");
    for server in &cluster.primaries {
        readings.until_sample(&node_at(&topology, &server.address()), metric::REDIS_ANSWER_TIME).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_ipv6_addresses_is_found_and_watched() {
    if TcpListener::bind("[::1]:0").is_err() {
        eprintln!("SKIPPED: this machine has no IPv6 on its loopback");
        return;
    }
    let options = ["--bind", "127.0.0.1", "::1", "--cluster-announce-ip", "::1"];
    let cluster = Cluster::start_with(2, 0, &options);
    let (running, mut readings) =
        watch(RedisSpec::new(target(), vec![format!("[::1]:{}", cluster.primaries[0].port())]));
    let topology = running.discovered(PATIENCE).await.expect("the cluster is discovered");
    for server in &cluster.primaries {
        let node = node_at(&topology, &format!("[::1]:{}", server.port()));
        readings.until_sample(&node, metric::REDIS_ANSWER_TIME).await;
    }
}
