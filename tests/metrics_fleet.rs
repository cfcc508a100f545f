//! Two hundred pages that are scraped by one process, of which one is dead, one never answers and one never ends.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use headwater::sources::metrics::{MetricsSpec, spawn_metrics};
use headwater::sources::{LONGEST_WAIT, Outlet};
use headwater_engine::reading::FaultKind;
use headwater_test_support::PATIENCE;
use headwater_test_support::http::{Server, answer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const HEALTHY: usize = 197;

/// As a fleet is scraped; short enough that a healthy page is asked twice before the silent one is given up.
const INTERVAL: Duration = Duration::from_secs(5);

/// A page without end, as fast as anybody takes it.
fn endless() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
    let address = listener.local_addr().expect("a bound socket has an address");
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let lines = "queue_depth 7\n".repeat(5_000);
            let mut request = [0; 4096];
            let is_asked = socket.read(&mut request).is_ok_and(|read| read > 0);
            let mut is_taken =
                is_asked && socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n").is_ok();
            while is_taken {
                is_taken = socket.write_all(lines.as_bytes()).is_ok();
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_pages_are_read_whatever_a_dead_a_silent_and_an_endless_target_do() {
    assert!(INTERVAL * 2 <= LONGEST_WAIT);
    let servers: Vec<Server> = (0..HEALTHY)
        .map(|number| {
            let page = format!("# TYPE queue_depth gauge\nqueue_depth {number}\n");
            Server::keep_alive(move |_| answer("200 OK", "text/plain; version=0.0.4", &page))
        })
        .collect();
    // Connections to it are made, and nobody ever takes them up.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap();
    let dead_address = {
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        closed.local_addr().unwrap()
    };
    let (send, mut readings) = mpsc::channel(1_024);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let endless_address = endless();
    let bad =
        [silent_address, dead_address, endless_address].map(|address| format!("http://{address}/metrics"));
    let pages = servers.iter().map(|server| server.url("/metrics"));
    let tasks: Vec<_> = bad
        .into_iter()
        .chain(pages)
        .map(|url| spawn_metrics(MetricsSpec::new(&url), INTERVAL, outlet.clone()).unwrap())
        .collect();
    let (mut answers, mut faults) = (BTreeMap::new(), BTreeMap::new());
    let is_done = tokio::time::timeout(PATIENCE, async {
        while let Some(reading) = readings.recv().await {
            let address = reading.source.address().unwrap().to_owned();
            match reading.faults.first() {
                None if reading.samples.is_empty() => {}
                None => *answers.entry(address).or_insert(0) += 1,
                Some(fault) => {
                    let is_silence = fault.kind == FaultKind::Silent;
                    faults.insert(address, fault.kind);
                    if is_silence {
                        return;
                    }
                }
            }
        }
    })
    .await;
    outlet.stop.cancel();
    assert!(is_done.is_ok(), "the silent target is given up");
    let expected = [
        (silent_address, FaultKind::Silent),
        (dead_address, FaultKind::Unreachable),
        (endless_address, FaultKind::TooLarge),
    ];
    assert_eq!(faults, expected.map(|(address, kind)| (address.to_string(), kind)).into());
    // While one question was outstanding, all others were asked and asked again.
    assert_eq!(answers.len(), HEALTHY);
    assert!(answers.values().all(|count| *count >= 2), "{answers:?}");
    futures::future::join_all(tasks).await;
}
