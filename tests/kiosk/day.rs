//! A working day of inputs, made of two short recordings: totals grow on, targets restart, flap, suffer and fall silent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::{MetricName, PROCESS_START, REDIS_UPTIME};
use headwater_engine::reading::{Event, Fault, FaultKind, Input, Reading, SlowCommand, Value};
use headwater_engine::{Kind, Moment, Settings, Subject};

use super::tape::{Places, Round, Tape};

const HEALTHY: &[u8] = include_bytes!("../../assets/recordings/healthy.hwr");
const HOT_SHARD: &[u8] = include_bytes!("../../assets/recordings/hot-shard.hwr");

/// A round is recorded once a second and played once in this time.
pub(crate) const INTERVAL: Duration = Duration::from_secs(5);

/// Rounds of eight hours, and of a tenth of them: what happens, happens in each tenth at the same place.
pub(crate) const ROUNDS: usize = 5_760;
pub(crate) const TENTH: usize = ROUNDS / 10;

/// A target restarts here, and others refuse for two minutes.
const RESTART: usize = 50;
const FLAPS: &[usize] = &[100, 180];
const FLAPPING: usize = 24;

/// Here the recording with the hot shard is played, and its last rounds again, for five minutes in all.
const INCIDENT: usize = 300;
const SUFFERING: usize = 60;
const AGAIN: usize = 8;

/// In these tenths nothing at all comes for five minutes from here on.
const SILENT_TENTHS: &[usize] = &[3, 7];
const SILENCE: usize = 460;
const SILENT: usize = 60;

/// Entries that a server's slow log keeps unless it is told otherwise, and when a full one was written.
const SLOW_LOG: usize = 128;
const LONG_AGO: Duration = Duration::from_secs(86_400);

/// What happens in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Healthy,
    /// So many rounds of an incident have been, or since its end.
    Incident(usize),
    After(usize),
    /// So many rounds without any answer have been.
    Silent(usize),
}

/// What happens in this round.
pub(crate) fn part(round: usize) -> Part {
    let (tenth, place) = (round / TENTH, round % TENTH);
    match place {
        SILENCE.. if SILENT_TENTHS.contains(&(tenth % 10)) && place < SILENCE + SILENT => {
            Part::Silent(place - SILENCE)
        }
        INCIDENT.. if place < INCIDENT + SUFFERING => Part::Incident(place - INCIDENT),
        INCIDENT.. if place < SILENCE => Part::After(place - INCIDENT - SUFFERING),
        _ => Part::Healthy,
    }
}

/// A total that grows on, whatever recording its steps come from.
#[derive(Default)]
struct Growing {
    /// What was read last, in which round of which recording.
    read: Vec<f64>,
    at: Option<(bool, usize)>,
    step: Vec<f64>,
    total: Vec<f64>,
}

/// The inputs of a day, round by round.
pub(crate) struct Day {
    healthy: Tape,
    hot: Tape,
    growing: Vec<Growing>,
    targets: Vec<Subject>,
    /// When the process of a target started.
    started: BTreeMap<Subject, Moment>,
    slow_commands: u64,
    /// Nodes whose slow log was read.
    met: BTreeSet<Subject>,
}

impl Day {
    pub(crate) fn new() -> Self {
        let mut places = Places::default();
        let healthy = Tape::new(HEALTHY, None, &mut places);
        let hot = Tape::new(HOT_SHARD, Some(&healthy), &mut places);
        let targets = healthy.targets();
        Self {
            healthy,
            hot,
            growing: vec![],
            targets,
            started: BTreeMap::new(),
            slow_commands: 0,
            met: BTreeSet::new(),
        }
    }

    /// What the engine is told before the first round: little memory for history.
    pub(crate) fn settings(&self) -> Settings {
        Settings { interval: INTERVAL, store_budget: 1024 * 1024, ..self.healthy.settings.clone() }
    }

    /// The moment of a round's tick.
    pub(crate) fn moment(&self, round: usize) -> Moment {
        self.healthy.rounds[0].tick + INTERVAL * u32::try_from(round).expect("a round")
    }

    /// The target that refuses in this round.
    fn refusing(&self, round: usize) -> Option<&Subject> {
        let place = round % TENTH;
        let flap = FLAPS.iter().position(|flap| (*flap..flap + FLAPPING).contains(&place))?;
        Some(&self.targets[(round / TENTH * FLAPS.len() + flap) % self.targets.len()])
    }

    /// The inputs of this round, its tick the last.
    pub(crate) fn inputs(&mut self, round: usize) -> Vec<Input> {
        let tick = self.moment(round);
        let part = part(round);
        let mut inputs = vec![];
        if !matches!(part, Part::Silent(_)) {
            let refusing = self.refusing(round).cloned();
            let restarting = (round % TENTH == RESTART && round > TENTH)
                .then(|| self.targets[round / TENTH % self.targets.len()].clone());
            let is_hot = matches!(part, Part::Incident(_));
            let tape = if is_hot { &self.hot } else { &self.healthy };
            let all = tape.rounds.len();
            let place = match part {
                Part::Incident(place) if place >= all => all - AGAIN + (place - all) % AGAIN,
                Part::Incident(place) => place,
                // The shape of the deployment comes at the beginning of a recording.
                _ => round % all,
            };
            let source = &tape.rounds[place];
            for (reading, places) in &source.readings {
                if restarting.as_ref() == Some(&reading.source) {
                    self.started.insert(reading.source.clone(), tick);
                }
                let mut own = retimed(reading, source, tick);
                for (sample, series) in own.samples.iter_mut().zip(places) {
                    if self.growing.len() <= *series {
                        self.growing.resize_with(series + 1, Growing::default);
                    }
                    let growing = &mut self.growing[*series];
                    if restarting.as_ref() == Some(&reading.source) {
                        growing.total.fill(0.0);
                    }
                    match (&sample.metric, &mut sample.value) {
                        (MetricName::Known(REDIS_UPTIME), Value::Gauge(value)) => {
                            let uptime = Duration::from_secs_f64(*value);
                            let started =
                                self.started.entry(reading.source.clone()).or_insert(own.at - uptime);
                            *value = own.at.since(*started).as_secs_f64();
                        }
                        (MetricName::Known(PROCESS_START), Value::Gauge(value)) => {
                            if let Some(started) = self.started.get(&reading.source) {
                                *value = started.0 as f64 / 1_000.0;
                            }
                        }
                        (_, value) => growing.follow(value, (is_hot, place)),
                    }
                }
                let is_node = own.source.kind() == Kind::Redis && own.source.address().is_some();
                if is_node && self.met.insert(own.source.clone()) {
                    own.events.splice(0..0, old_log(tape, own.at));
                }
                self.slow_commands = renumbered(&mut own, self.slow_commands);
                if restarting.as_ref() == Some(&reading.source) {
                    own.events.push(Event::Restarted);
                }
                if refusing.as_ref() == Some(&reading.source) {
                    own = Reading::new(own.source, own.at);
                    let message = "connection refused: start it, or correct its address".into();
                    own.faults.push(Fault { kind: FaultKind::Unreachable, message });
                }
                inputs.push(Input::Reading(own));
            }
        }
        inputs.push(Input::Tick(tick));
        inputs
    }
}

/// The reading as it would have come before another tick.
fn retimed(reading: &Reading, round: &Round, tick: Moment) -> Reading {
    let mut reading = reading.clone();
    let later_ms = tick.0 - round.tick.0;
    reading.at = Moment(reading.at.0 + later_ms);
    reading.source_clock_us =
        reading.source_clock_us.map(|clock| clock.saturating_add_signed(later_ms * 1_000));
    for event in &mut reading.events {
        match event {
            Event::SlowCommand(command) => command.at = Moment(command.at.0 + later_ms),
            Event::Late(since) => *since = Moment(since.0 + later_ms),
            _ => {}
        }
    }
    reading
}

/// What stands in the slow log of a server that has run for long: as many entries as it keeps.
fn old_log(tape: &Tape, at: Moment) -> Vec<Event> {
    let readings = tape.rounds.iter().flat_map(|round| &round.readings);
    let known: Vec<&SlowCommand> = readings
        .flat_map(|(reading, _)| &reading.events)
        .filter_map(|event| if let Event::SlowCommand(command) = event { Some(command) } else { None })
        .collect();
    let old = |command: &SlowCommand| SlowCommand { at: at - LONG_AGO, ..command.clone() };
    known.iter().cycle().take(SLOW_LOG).map(|command| Event::SlowCommand(old(command))).collect()
}

/// Gives each entry of a slow log a number of its own; returns the last.
fn renumbered(reading: &mut Reading, mut last: u64) -> u64 {
    for event in &mut reading.events {
        if let Event::SlowCommand(command) = event {
            last += 1;
            command.id = last;
        }
    }
    last
}

impl Growing {
    /// Puts the grown total in the place of what was read. A round lasts as many times longer than recorded as its
    /// steps are greater, so rates stay what they were.
    fn follow(&mut self, value: &mut Value, at: (bool, usize)) {
        let read = match value {
            Value::Gauge(_) => return,
            Value::Counter(total) => vec![*total],
            Value::Histogram(histogram) => {
                let rest = [histogram.count, histogram.sum.unwrap_or(0.0)];
                histogram.counts.iter().copied().chain(rest).collect()
            }
        };
        if self.total.len() != read.len() {
            (self.total, self.step) = (read.clone(), vec![0.0; read.len()]);
        } else {
            // Where a recording begins anew the last step is taken once more.
            if self.at.is_some_and(|(is_hot, place)| (is_hot, place + 1) == at) {
                let times = INTERVAL.as_secs_f64();
                let steps = read.iter().zip(&self.read).map(|(now, then)| (now - then).max(0.0) * times);
                self.step = steps.collect();
            }
            for (total, step) in self.total.iter_mut().zip(&self.step) {
                *total += step;
            }
        }
        match value {
            Value::Counter(total) => *total = self.total[0],
            Value::Histogram(histogram) => {
                let histogram = Arc::make_mut(histogram);
                let buckets = histogram.counts.len();
                histogram.counts.copy_from_slice(&self.total[..buckets]);
                histogram.count = self.total[buckets];
                histogram.sum = histogram.sum.map(|_| self.total[buckets + 1]);
            }
            Value::Gauge(_) => {}
        }
        (self.read, self.at) = (read, Some(at));
    }
}
