//! Playing a recording: one evaluation at a time, forward and back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::reading::{Input, OperatorAct};
use headwater_engine::{Engine, Moment, Snapshot};

use super::{Recording, RecordingError};

/// Where a recording is read from, as often as needed.
#[derive(Clone, Debug)]
pub enum Tape {
    /// A file.
    File(PathBuf),
    /// One that came with the program, with its name.
    Bundled(&'static str, &'static [u8]),
}

impl Tape {
    /// Opens it at its beginning.
    pub fn open(&self) -> Result<Recording, RecordingError> {
        match self {
            Self::File(path) => Recording::open(path),
            Self::Bundled(name, bytes) => Recording::from_reader(Box::new(*bytes), Path::new(name)),
        }
    }

    /// What users call it.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Bundled(name, _) => (*name).to_owned(),
        }
    }

    /// The moments of its first and its last evaluation; `None` when it holds none. Reads all of it; what comes after
    /// damage does not count.
    pub fn span(&self) -> Result<Option<(Moment, Moment)>, RecordingError> {
        let mut span = None;
        for input in self.open()? {
            if let Ok(Input::Tick(at)) = input {
                let (from, _) = span.unwrap_or((at, at));
                span = Some((from, at));
            }
        }
        Ok(span)
    }
}

/// An engine that is fed from a tape.
#[derive(Debug)]
pub struct Player {
    tape: Tape,
    recording: Recording,
    engine: Engine,
    /// Inputs up to and including the next tick, with that tick's moment.
    upcoming: Option<(Vec<Input>, Moment)>,
    /// The tick that was played last.
    at: Option<Moment>,
    /// What the operator of this replay did, so that it is there again after going back.
    acts: Vec<OperatorAct>,
}

impl Player {
    /// A player at the beginning of a tape.
    pub fn new(tape: Tape) -> Result<Self, RecordingError> {
        let recording = tape.open()?;
        let engine = engine_for(&recording);
        Ok(Self { tape, recording, engine, upcoming: None, at: None, acts: vec![] })
    }

    /// The moment of the evaluation that comes next; `None` at the end. An error is the end too.
    pub fn next_at(&mut self) -> Result<Option<Moment>, RecordingError> {
        if self.upcoming.is_none() {
            let mut inputs = vec![];
            for input in self.recording.by_ref() {
                let input = input?;
                let tick = if let Input::Tick(at) = input { Some(at) } else { None };
                inputs.push(input);
                if let Some(at) = tick {
                    self.upcoming = Some((inputs, at));
                    return Ok(Some(at));
                }
            }
            // What was noted after the last evaluation belongs into its report all the same.
            for act in inputs.iter().filter(|input| matches!(input, Input::Act(_))) {
                self.engine.take(act);
            }
        }
        Ok(self.upcoming.as_ref().map(|(_, at)| *at))
    }

    /// Plays up to and including the next evaluation; whether there was one.
    pub fn advance(&mut self) -> Result<bool, RecordingError> {
        self.next_at()?;
        let Some((inputs, at)) = self.upcoming.take() else { return Ok(false) };
        for input in &inputs {
            self.engine.take(input);
        }
        self.at = Some(at);
        Ok(true)
    }

    /// Goes back to the beginning, for a moment that was played already; what the operator did stays done.
    pub fn rewind(&mut self) -> Result<(), RecordingError> {
        self.recording = self.tape.open()?;
        self.engine = engine_for(&self.recording);
        (self.upcoming, self.at) = (None, None);
        for act in &self.acts {
            self.engine.take(&Input::Act(act.clone()));
        }
        Ok(())
    }

    /// Takes a mark or a note of this replay; the recording itself is not changed.
    pub fn act(&mut self, act: OperatorAct) {
        self.engine.take(&Input::Act(act.clone()));
        self.acts.push(act);
    }

    /// The moment of the evaluation that was played last.
    pub fn at(&self) -> Option<Moment> {
        self.at
    }

    /// The snapshot of the evaluation that was played last.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.engine.snapshot()
    }

    /// The version of Headwater that recorded it.
    pub fn recorded_by(&self) -> &str {
        &self.recording.header().headwater
    }

    /// Whether the file ended within a frame or a line, as after a crash; known at the end.
    pub fn is_cut(&self) -> bool {
        self.recording.is_cut()
    }
}

fn engine_for(recording: &Recording) -> Engine {
    let header = recording.header();
    Engine::new(header.settings_in_force(), header.baselines.clone())
}
