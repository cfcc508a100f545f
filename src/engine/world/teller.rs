//! Sources that only tell: of changes, of who calls whom.

use crate::reading::{Event, FaultKind, Reading};
use crate::snapshot::SourceState;

/// Notes that such a source was heard. It gives no numbers, so any answer is its data; one that can only be read in part
/// was heard too, and its fault stays until an answer has none.
pub(super) fn hear(state: &mut SourceState, reading: &Reading) {
    if reading.events.iter().any(|event| matches!(event, Event::Late(_))) {
        return;
    }
    if reading.faults.iter().all(|fault| fault.kind == FaultKind::Malformed) {
        state.last_data = Some(reading.at);
        state.late_since = None;
    }
    if reading.faults.is_empty() {
        state.fault = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Fault;
    use crate::time::Moment;
    use crate::world::World;

    #[test]
    fn an_answer_without_numbers_is_data_and_ends_a_fault() {
        let source: crate::subject::Subject = "change/deploys".parse().unwrap();
        let mut world = World::default();
        let mut told = |at: i64, fault: Option<FaultKind>| {
            let mut reading = Reading::new(source.clone(), Moment(at));
            reading.faults.extend(fault.map(|kind| Fault { kind, message: "no".into() }));
            world.take(&reading);
            let state = world.source(&source).unwrap();
            (state.last_data.map(|at| at.0), state.fault.as_ref().map(|(since, _)| since.0))
        };
        assert_eq!(told(1, Some(FaultKind::Unreachable)), (None, Some(1)));
        assert_eq!(told(2, Some(FaultKind::Malformed)), (Some(2), Some(2)));
        assert_eq!(told(3, None), (Some(3), None));
        assert_eq!(told(4, Some(FaultKind::Unreachable)), (Some(3), Some(4)));
    }
}
