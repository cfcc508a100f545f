//! The readings of a source, awaited by what they say.

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::metric::Metric;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Topology, Value};
use tokio::sync::mpsc;

use crate::PATIENCE;

/// Readings as they arrive, with a log of those that went by.
#[derive(Debug)]
pub struct Readings {
    receiver: mpsc::Receiver<Reading>,
    /// What went by so far.
    pub log: Vec<Reading>,
}

impl Readings {
    /// A channel for readings and its listening end.
    pub fn channel() -> (mpsc::Sender<Reading>, Self) {
        let (send, receiver) = mpsc::channel(1_024);
        (send, Self { receiver, log: vec![] })
    }

    /// Waits for a reading that fits.
    ///
    /// # Panics
    /// When none comes within [`PATIENCE`], with `what` was awaited.
    pub async fn until(&mut self, what: &str, mut fits: impl FnMut(&Reading) -> bool) -> Reading {
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let reading = self.receiver.recv().await.unwrap_or_else(|| panic!("ended before {what}"));
                self.log.push(reading.clone());
                if fits(&reading) {
                    return reading;
                }
            }
        });
        match found.await {
            Ok(reading) => reading,
            Err(_) => {
                panic!(
                    "no reading in which {what}; the last ones: {:#?}",
                    self.log.iter().rev().take(3).collect::<Vec<_>>()
                )
            }
        }
    }

    /// Waits for a reading of this source with a sample of this metric.
    pub async fn until_sample(&mut self, source: &Subject, metric: Metric) -> Reading {
        let what = format!("{source} gives {metric:?}");
        self.until(&what, |reading| reading.source == *source && value_of(reading, metric).is_some()).await
    }

    /// Waits for a fault of this source.
    pub async fn until_fault(&mut self, source: &Subject, kind: FaultKind) -> Fault {
        let what = format!("{source} has a fault {kind:?}");
        let fault_of = |reading: &Reading| reading.faults.iter().find(|fault| fault.kind == kind).cloned();
        let reading =
            self.until(&what, |reading| reading.source == *source && fault_of(reading).is_some()).await;
        fault_of(&reading).expect("it was just there")
    }

    /// Waits for a topology that fits.
    pub async fn until_topology(&mut self, what: &str, fits: impl Fn(&Topology) -> bool) -> Topology {
        let topology_of = |reading: &Reading| {
            reading.events.iter().find_map(|event| match event {
                Event::Topology(topology) => Some(topology.clone()),
                _ => None,
            })
        };
        let reading =
            self.until(what, |reading| topology_of(reading).is_some_and(|topology| fits(&topology))).await;
        topology_of(&reading).expect("it was just there")
    }

    /// Takes what still comes into the log and says whether the sender is gone after it, within [`PATIENCE`].
    pub async fn ended(&mut self) -> bool {
        let drained = tokio::time::timeout(PATIENCE, async {
            while let Some(reading) = self.receiver.recv().await {
                self.log.push(reading);
            }
        });
        drained.await.is_ok()
    }

    /// Takes what has arrived into the log and goes on listening for a while.
    pub async fn listen_for(&mut self, span: Duration) {
        let deadline = tokio::time::Instant::now() + span;
        while let Ok(Some(reading)) = tokio::time::timeout_at(deadline, self.receiver.recv()).await {
            self.log.push(reading);
        }
    }
}

/// The first value of a metric in a reading, whatever its part.
pub fn value_of(reading: &Reading, metric: Metric) -> Option<f64> {
    let sample = reading.samples.iter().find(|sample| sample.metric == metric.into())?;
    match &sample.value {
        Value::Gauge(value) | Value::Counter(value) => Some(*value),
        Value::Histogram(_) => None,
    }
}

/// The subject of the node at an address.
///
/// # Panics
/// When the topology has none.
pub fn node_at(topology: &Topology, address: &str) -> Subject {
    let mut nodes = topology.shards.iter().flat_map(|shard| &shard.nodes);
    match nodes.find(|node| node.subject.address() == Some(address)) {
        Some(node) => node.subject.clone(),
        None => panic!("no node at {address} in {topology:#?}"),
    }
}
