//! The event loop: one owner of the engine, fed by sources and by a clock.
//!
//! ```text
//! sources --Reading--> bounded channel --> App::step --> recorder --> engine --> snapshot
//!                                  1 Hz tick --^
//! ```

mod awaited;
pub mod hot_search;
mod kernel_times;
pub mod scan_progress;
pub mod suspension;
pub mod told;
pub mod triage;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Input, KeyMethod, OperatorAct, Reading, Value};
use headwater_engine::{Baselines, Engine, Snapshot, Subject};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use awaited::Awaited;

use crate::config::Config;
use crate::recording::{Recorder, RecordingError};
use crate::sources::calls::spawn_imports;
use crate::sources::canary::{CanarySpec, Turn, spawn_canary};
use crate::sources::changes::spawn_changes;
use crate::sources::directory::Directory;
use crate::sources::discovery::spawn_discovery;
use crate::sources::host::spawn_host;
use crate::sources::logs::spawn_logs;
use crate::sources::metrics::{MetricsSpecError, spawn_metrics};
use crate::sources::nvml::spawn_nvml;
use crate::sources::observer::spawn_observer;
use crate::sources::probe::spawn_probes;
use crate::sources::prometheus::{Memory, spawn_prometheus};
use crate::sources::redis::{RedisTarget, ScanBudget, ScanHandle, SearchBudget};
use crate::sources::{Outlet, now};

/// How often everything is evaluated, whatever the polling interval.
pub const TICK: Duration = Duration::from_secs(1);

/// How long after the polls of a second it is evaluated: by then healthy targets have answered, so that a verdict
/// rests on this second's numbers and not on the last one's.
const AFTER_ANSWERS: Duration = Duration::from_millis(250);

/// Readings that may wait for the loop; sources wait when it is full, so memory stays bounded.
const WAITING_READINGS: usize = 1_024;

/// What one turn of the loop did.
#[derive(Debug)]
pub enum Step {
    /// The engine took a reading.
    Read,
    /// The engine evaluated everything.
    Evaluated(Arc<Snapshot>),
}

/// The running application without a screen: sources, engine, and the recorder when there is one.
#[derive(Debug)]
pub struct App {
    engine: Engine,
    readings: mpsc::Receiver<Reading>,
    ticks: Interval,
    recorder: Option<Recorder>,
    recording_error: Option<RecordingError>,
    outlet: Outlet,
    redis: Vec<(Subject, RedisTarget)>,
    canary: CanarySpec,
    turn: Turn,
    /// Targets that have given nothing yet.
    awaited: Awaited,
    tasks: Vec<JoinHandle<()>>,
}

impl App {
    /// Starts a source for every target. The first evaluation comes a little more than one [`TICK`] later. Must be called within a
    /// tokio runtime.
    pub fn start(
        config: &Config,
        baselines: Baselines,
        recorder: Option<Recorder>,
    ) -> Result<Self, MetricsSpecError> {
        let (send, readings) = mpsc::channel(WAITING_READINGS);
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        let interval = config.settings.interval;
        let mut tasks = vec![spawn_observer(interval.max(TICK), outlet.clone())];
        for spec in &config.metrics {
            match spawn_metrics(spec.clone(), interval, outlet.clone()) {
                Ok(task) => tasks.push(task),
                Err(error) => {
                    outlet.stop.cancel();
                    return Err(error);
                }
            }
        }
        let directory = Directory::of_pages(&config.metrics);
        for spec in &config.discoveries {
            match spawn_discovery(spec, &directory, outlet.clone()) {
                Ok(task) => tasks.push(task),
                Err(error) => {
                    outlet.stop.cancel();
                    return Err(error);
                }
            }
        }
        for spec in &config.prometheus {
            let memory = Memory::new(&config.settings, config.since);
            match spawn_prometheus(spec, memory, outlet.clone()) {
                Ok(task) => tasks.push(task),
                Err(error) => {
                    outlet.stop.cancel();
                    return Err(error);
                }
            }
        }
        match spawn_imports(&config.imports, &outlet) {
            Ok(imports) => tasks.extend(imports),
            Err(error) => {
                outlet.stop.cancel();
                return Err(error);
            }
        }
        match spawn_changes(&config.changes, &outlet) {
            Ok(changes) => tasks.extend(changes),
            Err(error) => {
                outlet.stop.cancel();
                return Err(error);
            }
        }
        match spawn_probes(&config.probes, &directory, &outlet) {
            Ok(probes) => tasks.extend(probes),
            Err(error) => {
                outlet.stop.cancel();
                return Err(error);
            }
        }
        let turn = Turn::default();
        tasks.extend(config.canary.iter().map(|spec| spawn_canary(spec, &turn, outlet.clone())));
        tasks.extend(spawn_logs(&config.logs, &directory, &outlet));
        tasks.extend(config.local.gpu.iter().map(|gpu| spawn_nvml(gpu, interval, outlet.clone())));
        tasks.extend(config.local.host.iter().map(|host| spawn_host(host, interval, outlet.clone())));
        let redis = config
            .redis
            .iter()
            .map(|spec| (spec.component.clone(), RedisTarget::start(spec.clone(), interval, outlet.clone())))
            .collect();
        let mut ticks = tokio::time::interval_at(Instant::now() + TICK + AFTER_ANSWERS, TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let engine = Engine::new(config.settings.clone(), baselines);
        Ok(Self {
            engine,
            readings,
            ticks,
            recorder,
            recording_error: None,
            outlet,
            redis,
            canary: config
                .canary
                .clone()
                .unwrap_or_else(|| CanarySpec::usual(&config.local.name, config.local.nvml_library())),
            turn,
            awaited: Awaited::of(config),
            tasks,
        })
    }

    /// Waits for the next reading or tick and gives it to the engine. May be dropped while it waits: nothing is
    /// lost.
    pub async fn step(&mut self) -> Step {
        loop {
            let input = tokio::select! {
                biased;
                Some(reading) = self.readings.recv() => {
                    log(&reading);
                    Input::Reading(with_finite_numbers(reading))
                }
                _ = self.ticks.tick() => Input::Tick(now()),
            };
            self.take(&input);
            match input {
                Input::Tick(_) => {
                    if let Some(snapshot) = self.engine.snapshot() {
                        return Step::Evaluated(snapshot);
                    }
                }
                _ => return Step::Read,
            }
        }
    }

    /// The snapshot of the last evaluation with what the operator did since.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.engine.snapshot()
    }

    /// How many targets have given no data yet.
    pub fn awaited_count(&self) -> usize {
        self.awaited.subjects().len()
    }

    /// The names of the targets that have given no data yet.
    pub fn awaited(&self) -> Vec<String> {
        self.awaited.subjects().iter().map(ToString::to_string).collect()
    }

    /// Gives what the operator did to the engine; it shows in [`App::snapshot`] at once.
    pub fn act(&mut self, act: OperatorAct) {
        self.take(&Input::Act(act));
    }

    /// Starts a scan for big keys of one shard; `None` when no Redis target knows that shard.
    pub fn scan(&self, shard: &Subject, budget: ScanBudget) -> Option<ScanHandle> {
        let component = shard.component_of();
        let (_, target) = self.redis.iter().find(|(subject, _)| *subject == component)?;
        target.scan(shard, budget)
    }

    /// Goes on with a scan of one shard that was ended early a while ago; `None` when there is none.
    pub fn resume_scan(&self, shard: &Subject, budget: ScanBudget) -> Option<ScanHandle> {
        let component = shard.component_of();
        let (_, target) = self.redis.iter().find(|(subject, _)| *subject == component)?;
        target.resume(shard, budget)
    }

    /// Starts a search for hot keys of one shard; `None` when no Redis target knows that shard. Whoever calls it has been
    /// told the way's cost and has said yes.
    pub fn search(&self, shard: &Subject, method: KeyMethod, budget: SearchBudget) -> Option<ScanHandle> {
        let component = shard.component_of();
        let (_, target) = self.redis.iter().find(|(subject, _)| *subject == component)?;
        target.search(shard, method, budget)
    }

    /// Healthy values learned in this run, or `None` when anything was pending or firing in it.
    pub fn learned(&self) -> Option<Baselines> {
        self.engine.learned()
    }

    /// Why recording ended early, once; the rest goes on without it.
    pub fn recording_error(&mut self) -> Option<RecordingError> {
        self.recording_error.take()
    }

    /// Ends all sources and waits for them a moment.
    pub async fn stop(mut self) {
        self.outlet.stop.cancel();
        self.readings.close();
        let all = futures::future::join_all(self.tasks.drain(..));
        let _ = tokio::time::timeout(Duration::from_millis(500), all).await;
    }

    fn take(&mut self, input: &Input) {
        if let Some(recorder) = &mut self.recorder {
            // What the operator did is never lost, whatever ends the process.
            let is_kept = matches!(input, Input::Tick(_) | Input::Act(_));
            let written =
                recorder.record(input).and_then(|()| if is_kept { recorder.flush() } else { Ok(()) });
            if let Err(error) = written {
                self.recording_error = Some(error);
                self.recorder = None;
            }
        }
        if let Input::Reading(reading) = input {
            self.awaited.hear(reading);
        }
        self.engine.take(input);
    }
}

fn log(reading: &Reading) {
    tracing::debug!(source = %reading.source, samples = reading.samples.len(), events = reading.events.len(), "reading");
    for fault in &reading.faults {
        tracing::warn!(source = %reading.source, kind = ?fault.kind, "{}", fault.message);
    }
}

/// Drops numbers that say nothing (NaN, infinities): JSON has no word for them, so they could not be replayed.
fn with_finite_numbers(mut reading: Reading) -> Reading {
    let is_finite = |value: &Value| match value {
        Value::Gauge(number) | Value::Counter(number) => number.is_finite(),
        Value::Histogram(histogram) => {
            histogram.count.is_finite()
                && histogram.sum.is_none_or(f64::is_finite)
                && histogram.counts.iter().chain(histogram.bounds.iter()).all(|number| number.is_finite())
        }
    };
    reading.samples.retain(|sample| is_finite(&sample.value));
    reading
}

#[cfg(test)]
mod tests {
    use headwater_engine::histogram::Histogram;
    use headwater_engine::metric::MetricName;

    use super::*;

    #[test]
    fn numbers_that_say_nothing_are_left_out_and_the_rest_is_kept() {
        let subject: Subject = "service/a@h:1".parse().unwrap();
        let mut reading = Reading::new(subject.clone(), now());
        let histogram = |sum| {
            Value::Histogram(Arc::new(Histogram {
                bounds: [1.0].into(),
                counts: [2.0].into(),
                count: 2.0,
                sum,
            }))
        };
        for (index, value) in [
            Value::Gauge(f64::NAN),
            Value::Gauge(1.0),
            Value::Counter(f64::INFINITY),
            histogram(Some(f64::NAN)),
            histogram(None),
        ]
        .into_iter()
        .enumerate()
        {
            reading.sample(&subject, MetricName::from(index.to_string()), value);
        }
        let kept: Vec<_> = with_finite_numbers(reading)
            .samples
            .iter()
            .map(|sample| sample.metric.as_str().to_owned())
            .collect();
        assert_eq!(kept, ["1", "4"]);
    }
}
