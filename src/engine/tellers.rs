//! Sources that are no component: of changes, of who calls whom, probes and logs. Which of them cannot be relied on at
//! present.

use crate::report::Unjudged;
use crate::settings::{STALE_INTERVALS, Settings, Teller};
use crate::snapshot::SourceState;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// The tellers of this kind that gave no data, are in fault or fell silent, each with why. A configured one is known by
/// its table; one that is only heard, as in a recording of an earlier version, by what it said.
pub(crate) fn untold<'a>(
    settings: &'a Settings,
    sources: impl Iterator<Item = &'a SourceState>,
    kind: Kind,
    now: Moment,
) -> Vec<Unjudged> {
    let heard: Vec<&SourceState> = sources.filter(|state| state.source.kind() == kind).collect();
    let configured = || settings.tellers.iter().filter(|teller| teller.subject.kind() == kind);
    let mut untold = vec![];
    let mut row = |subject: &Subject, missing: Option<String>| {
        untold.extend(missing.map(|missing| Unjudged { subject: subject.clone(), missing }));
    };
    for teller in configured() {
        // One component may have several pages, each of which tells a part.
        let mut states = heard.iter().filter(|state| teller.subject.contains(&state.source)).peekable();
        let untold = match states.peek() {
            None => missing(None, Some(teller), now),
            Some(_) => states.find_map(|state| missing(Some(state), Some(teller), now)),
        };
        row(&teller.subject, untold);
    }
    for state in heard.iter().filter(|state| !configured().any(|one| one.subject.contains(&state.source))) {
        row(&state.source, missing(Some(state), None, now));
    }
    untold
}

/// Why a teller cannot be relied on; `None` when it can.
fn missing(state: Option<&SourceState>, teller: Option<&Teller>, now: Moment) -> Option<String> {
    if let Some((_, fault)) = state.and_then(|state| state.fault.as_ref()) {
        return Some(fault.message.as_str().to_owned());
    }
    let Some(last) = state.and_then(|state| state.last_data) else {
        return Some("it has not answered yet".to_owned());
    };
    if state.and_then(|state| state.listed.as_ref()).is_some_and(|listed| listed.list.targets.is_empty()) {
        return Some("it lists no target".to_owned());
    }
    let fresh_for = teller?.every? * STALE_INTERVALS;
    (last < now - fresh_for).then(|| format!("it last answered at {} UTC", last.clock()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::reading::{Fault, FaultKind};

    fn state(source: &str, last_data: Option<i64>, fault: bool) -> SourceState {
        let fault = fault.then(|| Fault { kind: FaultKind::Denied, message: "no repository".into() });
        SourceState {
            source: source.parse().unwrap(),
            last_data: last_data.map(Moment),
            every: None,
            late_since: None,
            fault: fault.map(|fault| (Moment(0), fault)),
            dialects: vec![],
            unavailable: vec![],
            offers: vec![],
            listed: None,
        }
    }

    fn told(tellers: &[(&str, Option<u64>)], states: &[SourceState], kind: Kind) -> Vec<String> {
        let tellers = tellers.iter().map(|(subject, every)| Teller {
            subject: subject.parse().unwrap(),
            every: every.map(Duration::from_secs),
        });
        let settings = Settings { tellers: tellers.collect(), ..Settings::default() };
        let rows = untold(&settings, states.iter(), kind, Moment(1_000_000));
        rows.iter().map(|row| format!("{}: {}", row.subject, row.missing)).collect()
    }

    #[test]
    fn a_teller_is_fresh_within_five_of_its_own_intervals() {
        let states = [state("graph/jaeger-h-1@h:1", Some(750_000), false)];
        assert_eq!(told(&[("graph/jaeger-h-1", Some(60))], &states, Kind::Graph), [""; 0]);
        assert_eq!(
            told(&[("graph/jaeger-h-1", Some(10))], &states, Kind::Graph),
            ["graph/jaeger-h-1: it last answered at 00:12:30 UTC"]
        );
        let of_a_file = [state("graph/compose-a", Some(0), false)];
        assert_eq!(told(&[("graph/compose-a", None)], &of_a_file, Kind::Graph), [""; 0], "is read once");
    }

    #[test]
    fn one_in_fault_and_one_that_never_spoke_are_named_whether_configured_or_only_heard() {
        let states = [state("change/code", Some(999_000), true), state("change/old", None, false)];
        assert_eq!(
            told(&[("change/code", Some(30)), ("change/flags", Some(30))], &states, Kind::Change),
            [
                "change/code: no repository",
                "change/flags: it has not answered yet",
                "change/old: it has not answered yet"
            ]
        );
        assert_eq!(told(&[("change/code", Some(30))], &states, Kind::Graph), [""; 0], "another kind");
    }
}
