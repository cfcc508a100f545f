//! A Redis target that is watched for one answer about its keys.

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::reading::{Fault, FaultKind, Reading, Topology};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::heard::Heard;
use crate::cli::EXIT_UNAVAILABLE;
use crate::cli::output::Failure;
use crate::config::Config;
use crate::sources::Outlet;
use crate::sources::redis::{RedisSpec, RedisTarget};

/// How long discovery may take.
const DISCOVERY: Duration = Duration::from_secs(12);

/// How long other seeds may still answer after the first has failed.
const SECOND_CHANCE: Duration = Duration::from_secs(3);

/// How long a node may take to tell its first words.
const FIRST_WORDS: Duration = Duration::from_secs(4);

/// A Redis target that runs beside nothing else.
pub(super) struct Watched {
    pub(super) component: Subject,
    pub(super) target: RedisTarget,
    pub(super) readings: mpsc::Receiver<Reading>,
    /// What was heard so far.
    pub(super) heard: Heard,
}

/// The targets of a command by turns: one that is out of reach takes no answer from the others.
pub(super) struct Turns {
    waiting: std::vec::IntoIter<Watched>,
    has_answered: bool,
    /// What kept the last one that failed from being found; said once it is not all there is to say.
    failure: Option<Failure>,
}

impl Turns {
    pub(super) fn start(config: &Config) -> Result<Self, Failure> {
        let waiting = Watched::start(config)?.into_iter();
        Ok(Self { waiting, has_answered: false, failure: None })
    }

    /// The next target that answers, with its topology.
    pub(super) async fn next(&mut self) -> Option<(Watched, Topology)> {
        while let Some(mut watched) = self.waiting.next() {
            let outcome = watched.wait_for_topology().await;
            self.say_failure();
            match outcome {
                Ok(topology) => {
                    self.has_answered = true;
                    return Some((watched, topology));
                }
                Err(failure) => self.failure = Some(failure),
            }
        }
        if self.has_answered {
            self.say_failure();
        }
        None
    }

    /// What kept targets from being found, where none was.
    pub(super) fn failure(&mut self) -> Option<Failure> {
        self.failure.take().filter(|_| !self.has_answered)
    }

    fn say_failure(&mut self) {
        if let Some(failure) = self.failure.take() {
            failure.say();
        }
    }
}

impl Watched {
    pub(super) fn start(config: &Config) -> Result<Vec<Self>, Failure> {
        if config.redis.is_empty() {
            return Err(Failure::usage(
                "no Redis target: name one such as redis://HOST:6379, or give a --config with a [[redis]] table",
            ));
        }
        let start = |spec: &RedisSpec| {
            let (send, readings) = mpsc::channel(1_024);
            let outlet = Outlet { readings: send, stop: CancellationToken::new() };
            let target = RedisTarget::start(spec.clone(), config.settings.interval, outlet);
            Self { component: spec.component.clone(), target, readings, heard: Heard::default() }
        };
        Ok(config.redis.iter().map(start).collect())
    }

    /// Listens until each of these nodes has told what it tells unasked, or has had the time to.
    pub(super) async fn hear(&mut self, nodes: &[Subject]) {
        let deadline = tokio::time::Instant::now() + FIRST_WORDS;
        while !self.heard.is_complete(nodes) {
            match tokio::time::timeout_at(deadline, self.readings.recv()).await {
                Ok(Some(reading)) => self.heard.take(&reading),
                Ok(None) | Err(_) => break,
            }
        }
    }

    /// The topology, or what kept it from being found.
    pub(super) async fn wait_for_topology(&mut self) -> Result<Topology, Failure> {
        let mut fault: Option<Fault> = None;
        let mut found = std::pin::pin!(self.target.discovered(DISCOVERY));
        let mut give_up = std::pin::pin!(tokio::time::sleep(DISCOVERY));
        loop {
            let topology = tokio::select! {
                biased;
                topology = &mut found => topology,
                Some(reading) = self.readings.recv() => {
                    self.heard.take(&reading);
                    let Some(first) = reading.faults.into_iter().next() else { continue };
                    let pause = if first.kind == FaultKind::Auth { Duration::ZERO } else { SECOND_CHANCE };
                    if fault.is_none() || first.kind == FaultKind::Auth {
                        give_up.as_mut().reset(tokio::time::Instant::now() + pause);
                    }
                    fault = Some(first);
                    continue;
                }
                () = &mut give_up => None,
            };
            // A target that ends has said why, and its last word may still be on the way.
            while topology.is_none() && fault.is_none() {
                let Ok(reading) = self.readings.try_recv() else { break };
                self.heard.take(&reading);
                fault = reading.faults.into_iter().next();
            }
            return topology.ok_or_else(|| {
                let reason = fault.map_or_else(
                    || format!("no answer in {} s", DISCOVERY.as_secs()),
                    |fault| fault.message.to_string(),
                );
                Failure::new(EXIT_UNAVAILABLE, format_args!("{}: {reason}", self.component))
            });
        }
    }
}
