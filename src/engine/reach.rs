//! Whether anything can be seen from here: when every target goes at once, the one who looks is the first suspect.

use crate::reading::FaultKind;
use crate::settings::Settings;
use crate::snapshot::SourceState;
use crate::subject::Kind;
use crate::time::Moment;

/// Since when no target gives anything any more though at least two did: the moment of the last answer of all. `None`
/// while any of them answers, if only with an error, and while the first answers are awaited.
///
/// One target that goes says nothing of the others; two that go together have little in common but who asks them.
pub fn all_silent_since<'a>(
    sources: impl IntoIterator<Item = &'a SourceState>,
    settings: &Settings,
    now: Moment,
) -> Option<Moment> {
    let (mut told, mut last) = (0, None);
    for state in sources.into_iter().filter(|state| is_target(state)) {
        // What never gave anything, as a seed that only tells of others, is no witness.
        let Some(at) = state.last_data else { continue };
        let is_out_of_reach = match &state.fault {
            Some((_, fault)) => matches!(fault.kind, FaultKind::Unreachable | FaultKind::Silent),
            None => at < now - state.stale_after(settings),
        };
        if !is_out_of_reach {
            return None;
        }
        told += 1;
        last = last.max(Some(at));
    }
    last.filter(|_| told > 1)
}

/// Whether a source is something that is watched over a network: neither Headwater itself or the machine that it runs on,
/// nor one that only tells, nor a log, which is read here however far away its writer is.
pub fn is_target(state: &SourceState) -> bool {
    let kind = state.source.kind();
    kind != Kind::Observer && kind != Kind::Log && !kind.only_tells() && !is_local(state)
}

/// Whether a source is the machine that Headwater runs on or a GPU of it, which has no address: no network stands between.
pub fn is_local(state: &SourceState) -> bool {
    matches!(state.source.kind(), Kind::Gpu | Kind::Host) && state.source.address().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Fault;

    /// What is older than five seconds is stale.
    const NOW: Moment = Moment(10_000);

    fn state(source: &str, last_data: Option<i64>, fault: Option<FaultKind>) -> SourceState {
        SourceState {
            source: source.parse().unwrap(),
            last_data: last_data.map(Moment),
            every: None,
            late_since: None,
            fault: fault.map(|kind| (Moment(8_000), Fault { kind, message: "gone".into() })),
            dialects: vec![],
            unavailable: vec![],
            offers: vec![],
            listed: None,
        }
    }

    fn since(states: &[SourceState]) -> Option<Moment> {
        all_silent_since(states, &Settings::default(), NOW)
    }

    #[test]
    fn all_that_ever_answered_must_be_out_of_reach() {
        let node = |fault| state("redis/a#0@h:1", Some(7_000), fault);
        let page = |last, fault| state("service/a@h:2", Some(last), fault);
        let (refused, silent) = (Some(FaultKind::Unreachable), Some(FaultKind::Silent));
        let others = [
            state("observer/headwater", Some(9_000), None),
            state("log/edge", Some(9_000), None),
            state("host/this-one", Some(9_000), None),
            state("gpu/this-one:0", Some(9_000), None),
            state("redis/a", None, None),
        ];
        let with_others = |mut states: Vec<SourceState>| {
            states.extend(others.clone());
            since(&states)
        };
        assert_eq!(with_others(vec![node(refused), page(6_000, silent)]), Some(Moment(7_000)));
        assert_eq!(with_others(vec![node(refused), page(4_000, None)]), Some(Moment(7_000)));
        assert_eq!(with_others(vec![node(refused), page(6_000, None)]), None, "one answers");
        assert_eq!(
            with_others(vec![node(refused), page(6_000, Some(FaultKind::Http))]),
            None,
            "an error is one"
        );
        assert_eq!(with_others(vec![node(refused)]), None, "one alone proves nothing of the others");
        assert_eq!(with_others(vec![]), None);
    }
}
