//! Whether what is known of a source is what is going on now.

use std::borrow::Cow;
use std::time::Duration;

use headwater_engine::reading::FaultKind;
use headwater_engine::snapshot::SourceState;
use headwater_engine::{Kind, Moment, Settings, Snapshot, Subject};

use crate::palette::ColorRole;

/// How a source's data stands at the moment of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum DataState {
    /// It gave data a moment ago.
    Fresh,
    /// Its answer is overdue by this much; the data before it is still worth something.
    Late(Duration),
    /// Its newest data is this old: too old to be what is going on now.
    Stale(Duration),
    /// It could not be read, for a reason of this sort.
    Fault(FaultKind),
    /// It never gave data.
    Never,
}

impl DataState {
    /// The state of a source; one that nobody asked yet never gave data.
    pub(crate) fn of(source: Option<&SourceState>, snapshot: &Snapshot) -> Self {
        Self::at(source, snapshot.at, &snapshot.settings)
    }

    /// The state of a source at a moment.
    pub(crate) fn at(source: Option<&SourceState>, now: Moment, settings: &Settings) -> Self {
        let Some(source) = source else { return Self::Never };
        if let Some((_, fault)) = &source.fault {
            return Self::Fault(fault.kind);
        }
        let age = source.last_data.map(|at| now.since(at));
        match (age, source.late_since) {
            (None, _) => Self::Never,
            (Some(age), _) if age > source.stale_after(settings) => Self::Stale(age),
            (Some(_), Some(since)) => Self::Late(now.since(since)),
            (Some(_), None) => Self::Fresh,
        }
    }

    /// Whether its numbers are what is going on now.
    pub(crate) fn is_present(self) -> bool {
        matches!(self, Self::Fresh | Self::Late(_))
    }

    /// One or two words, at most eight cells: `fresh`, `late 3 s`, `12 s old`, `refused`.
    pub(crate) fn words(self) -> Cow<'static, str> {
        match self {
            Self::Fresh => "fresh".into(),
            Self::Late(by) => format!("late {}", short(by)).into(),
            Self::Stale(age) => format!("{} old", short(age)).into(),
            Self::Never => "no data".into(),
            Self::Fault(kind) => match kind {
                FaultKind::Unreachable => "refused",
                FaultKind::Silent => "silent",
                FaultKind::Auth => "password",
                FaultKind::Denied => "denied",
                FaultKind::Tls => "TLS",
                FaultKind::Http => "HTTP",
                FaultKind::Malformed => "garbled",
                FaultKind::TooLarge => "too big",
                FaultKind::Busy => "busy",
            }
            .into(),
        }
    }

    /// The role of its words.
    pub(crate) fn role(self) -> ColorRole {
        match self {
            Self::Fresh => ColorRole::Faint,
            Self::Late(_) | Self::Fault(_) => ColorRole::Suspect,
            Self::Stale(_) => ColorRole::Stale,
            Self::Never => ColorRole::Unknown,
        }
    }
}

/// `3 s`, `12 m`, `5 h`, `9 d`: four cells.
fn short(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5_999 => format!("{} m", seconds / 60),
        seconds @ 6_000..=172_799 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// Data that is older than so many polling intervals, and than this span, is not what is going on now.
const STALE_INTERVALS: u32 = 3;
const STALE_AFTER: Duration = Duration::from_secs(3);

/// When any target last gave data; Headwater itself is none.
pub(crate) fn last_data(snapshot: &Snapshot) -> Option<Moment> {
    let targets = snapshot.sources.iter().filter(|source| source.source.kind() != Kind::Observer);
    targets.filter_map(|source| source.last_data).max()
}

/// Since when no target has told anything, when that is too long ago; `None` while numbers are fresh and while the
/// first ones are waited for.
pub(crate) fn silence(newest: Option<&Snapshot>, now: Moment) -> Option<Moment> {
    let newest = newest?;
    let last = last_data(newest)?;
    (now.since(last) > STALE_AFTER.max(newest.settings.interval * STALE_INTERVALS)).then_some(last)
}

/// The state of one source in a snapshot, whose sources stand in the order of their names.
pub(crate) fn source_of<'a>(snapshot: &'a Snapshot, subject: &Subject) -> Option<&'a SourceState> {
    let place = snapshot.sources.binary_search_by(|state| state.source.cmp(subject)).ok()?;
    snapshot.sources.get(place)
}

#[cfg(test)]
mod tests {
    use headwater_engine::reading::{Event, Fault, Input, Reading, Value};
    use headwater_engine::{Baselines, Engine, metric};

    use super::*;

    fn state(after: &[&dyn Fn(&mut Reading)], at: i64) -> DataState {
        let node: Subject = "redis/features#0@10.0.0.1:6379".parse().unwrap();
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for (second, fill) in after.iter().enumerate() {
            let mut reading = Reading::new(node.clone(), Moment(second as i64 * 1_000));
            fill(&mut reading);
            engine.take(&Input::Reading(reading));
        }
        engine.take(&Input::Tick(Moment(at)));
        let snapshot = engine.snapshot().unwrap();
        DataState::of(source_of(&snapshot, &node), &snapshot)
    }

    fn answer(reading: &mut Reading) {
        let node = reading.source.clone();
        reading.sample(&node, metric::REDIS_ANSWER_TIME, Value::Gauge(0.001));
    }

    fn late(reading: &mut Reading) {
        reading.events.push(Event::Late(Moment(500)));
    }

    fn refused(reading: &mut Reading) {
        reading.faults.push(Fault { kind: FaultKind::Unreachable, message: "refused".into() });
    }

    #[test]
    fn what_is_late_is_not_yet_stale_and_what_is_refused_is_neither() {
        for (after, at, words) in [
            (&[&answer as &dyn Fn(&mut Reading)][..], 900, "fresh"),
            (&[&answer, &late], 2_600, "late 2 s"),
            (&[&answer, &late], 12_000, "12 s old"),
            (&[&answer], 700_000, "11 m old"),
            (&[&answer], 800_000_000, "9 d old"),
            (&[&answer, &refused], 1_000, "refused"),
            (&[], 1_000, "no data"),
        ] {
            let state = state(after, at);
            assert_eq!(state.words(), words);
            assert_eq!(state.is_present(), words == "fresh" || words.starts_with("late"));
        }
    }
}
