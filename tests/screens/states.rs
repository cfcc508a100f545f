//! The states in which screens are looked at, each made from a recording of the lab.

use std::sync::Arc;
use std::time::Duration;

use headwater::recording::Recording;
use headwater_engine::reading::{Event, Fault, FaultKind, Input, Reading};
use headwater_engine::{Engine, Kind, Moment, Snapshot, Subject};

const HEALTHY: &[u8] = include_bytes!("../../assets/recordings/healthy.hwr");
const HOT_SHARD: &[u8] = include_bytes!("../../assets/recordings/hot-shard.hwr");
const GPU_LEAK: &[u8] = include_bytes!("../../assets/recordings/gpu-leak.hwr");

/// When something begins to go wrong with the sources.
const TROUBLE_AFTER: Duration = Duration::from_secs(12);

/// How long it has gone on when the screen is looked at: long enough to be late, not long enough to be silent.
const TROUBLED_FOR: Duration = Duration::from_secs(6);

/// One state: its name and what the engine says in it.
pub(super) struct State {
    pub(super) name: &'static str,
    pub(super) snapshot: Arc<Snapshot>,
}

/// Every state.
pub(super) fn all() -> Vec<State> {
    vec![
        State { name: "healthy", snapshot: played(HEALTHY, |input| vec![input]) },
        incident(),
        State { name: "late", snapshot: late() },
        State { name: "unreachable", snapshot: unreachable() },
        State { name: "empty", snapshot: empty() },
    ]
}

/// The demo's incident, at the end of its recording.
pub(super) fn incident() -> State {
    State { name: "incident", snapshot: played(HOT_SHARD, |input| vec![input]) }
}

/// The incident of the demo in which a GPU's memory leaks, at the end of its recording.
pub(super) fn leak() -> State {
    State { name: "leak", snapshot: played(GPU_LEAK, |input| vec![input]) }
}

/// What the engine says at the end of a recording of which each input was changed.
fn played(recording: &'static [u8], mut change: impl FnMut(Input) -> Vec<Input>) -> Arc<Snapshot> {
    let recording = Recording::from_reader(Box::new(recording), "bundled".as_ref()).expect("a recording");
    let header = recording.header();
    let mut engine = Engine::new(header.settings_in_force(), header.baselines.clone());
    for input in recording {
        for input in change(input.expect("an input")) {
            engine.take(&input);
        }
    }
    engine.snapshot().expect("an evaluation")
}

fn at(input: &Input) -> Moment {
    match input {
        Input::Reading(reading) => reading.at,
        Input::Act(act) => act.at,
        Input::Tick(at) => *at,
    }
}

/// The first of the recording's nodes stops answering, and is waited for.
fn late() -> Arc<Snapshot> {
    let (mut began, mut quiet, mut is_told) = (None, None::<Subject>, false);
    played(HEALTHY, |input| {
        let since = *began.get_or_insert(at(&input)) + TROUBLE_AFTER;
        if at(&input) > since + TROUBLED_FOR {
            return vec![];
        }
        let Input::Reading(reading) = &input else { return vec![input] };
        let is_node = reading.source.kind() == Kind::Redis && reading.source.address().is_some();
        if at(&input) <= since || !is_node {
            return vec![input];
        }
        let quiet = quiet.get_or_insert_with(|| reading.source.clone());
        if reading.source != *quiet {
            return vec![input];
        }
        let mut late = Reading::new(reading.source.clone(), reading.at);
        late.events.push(Event::Late(since));
        let told = std::mem::replace(&mut is_told, true);
        if told { vec![] } else { vec![Input::Reading(late)] }
    })
}

/// Every target begins to refuse.
fn unreachable() -> Arc<Snapshot> {
    let mut began = None;
    played(HEALTHY, |input| {
        let since = *began.get_or_insert(at(&input)) + TROUBLE_AFTER;
        match input {
            Input::Reading(reading) if reading.at > since && reading.source.kind() != Kind::Observer => {
                let mut refused = Reading::new(reading.source, reading.at);
                let message = "connection refused: start it, or correct its address".into();
                refused.faults.push(Fault { kind: FaultKind::Unreachable, message });
                vec![Input::Reading(refused)]
            }
            other => vec![other],
        }
    })
}

/// Targets are configured and nothing has come from any.
fn empty() -> Arc<Snapshot> {
    let mut ticks = 0;
    played(HEALTHY, |input| {
        let is_kept = matches!(input, Input::Tick(_)) && ticks < 3;
        ticks += usize::from(is_kept);
        if is_kept { vec![input] } else { vec![] }
    })
}
