//! Two hundred pages that are scraped by one process, of which one is dead and one never answers.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use headwater::sources::metrics::{MetricsSpec, spawn_metrics};
use headwater::sources::{LONGEST_WAIT, Outlet};
use headwater_engine::reading::FaultKind;
use headwater_test_support::PATIENCE;
use headwater_test_support::http::{Server, answer};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const HEALTHY: usize = 198;

/// Short enough that a healthy page is asked twice before the silent one is given up.
const INTERVAL: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_pages_are_read_whatever_one_dead_and_one_silent_target_do() {
    assert!(INTERVAL * 2 < LONGEST_WAIT);
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
    let bad = [silent_address, dead_address].map(|address| format!("http://{address}/metrics"));
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
    let expected =
        [(silent_address.to_string(), FaultKind::Silent), (dead_address.to_string(), FaultKind::Unreachable)];
    assert_eq!(faults, expected.into());
    // While one question was outstanding, all others were asked and asked again.
    assert_eq!(answers.len(), HEALTHY);
    assert!(answers.values().all(|count| *count >= 2), "{answers:?}");
    futures::future::join_all(tasks).await;
}
