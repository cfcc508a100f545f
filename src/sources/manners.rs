//! When a source is asked again, by what its last reading was.

use std::time::Duration;

use headwater_engine::reading::{FaultKind, Reading};
use rand::Rng;

use super::LONGEST_BACKOFF;

/// When a source asks for the second time, in intervals. All sources begin at once, because the first numbers cannot
/// come too soon; asked in step ever after, targets that share a host would wait for each other and for us, and look
/// slow for it.
const PHASES: std::ops::Range<f64> = 0.5..1.0;

/// How far within its interval each question wanders, and from which one on. A source that is always asked while the
/// same other work goes on here would look slow for it, and a median over its answers would not help.
const WANDERS: std::ops::Range<f64> = 0.0..0.25;
const WANDERS_FROM: u32 = 4;

/// The longest pause of a server that is there but busy: it says no at little cost, and will soon be back.
const LONGEST_WHILE_BUSY: Duration = Duration::from_secs(5);

/// The kinds of fault that cost a connection, a process's time or a full page at each try, with the longest pause
/// that they lead to. After the others, which are a short no, the next tick is soon enough.
const BACKS_OFF: &[(FaultKind, Duration)] = &[
    (FaultKind::Unreachable, LONGEST_BACKOFF),
    (FaultKind::Silent, LONGEST_BACKOFF),
    (FaultKind::Tls, LONGEST_BACKOFF),
    (FaultKind::Malformed, LONGEST_BACKOFF),
    (FaultKind::TooLarge, LONGEST_BACKOFF),
    (FaultKind::Busy, LONGEST_WHILE_BUSY),
];

/// When to ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// At the next tick.
    Tick,
    /// After this pause, with ticks from there.
    After(Duration),
    /// Not at all.
    Never,
}

/// What one source's readings so far mean for its next question.
#[derive(Debug)]
pub(super) struct Manners {
    interval: Duration,
    retries_refusals: bool,
    failures: u32,
    asked: u32,
}

impl Manners {
    pub(super) fn new(interval: Duration, retries_refusals: bool) -> Self {
        Self { interval, retries_refusals, failures: 0, asked: 0 }
    }

    /// How long after its tick to ask.
    pub(super) fn wandering(&self) -> Duration {
        if self.asked < WANDERS_FROM {
            return Duration::ZERO;
        }
        self.interval.mul_f64(rand::rng().random_range(WANDERS))
    }

    /// What to do after one more reading. One that brought data is no failure, whatever else it lacks.
    pub(super) fn after(&mut self, reading: &Reading) -> Next {
        self.asked = self.asked.saturating_add(1);
        let is_first = self.asked == 1;
        if reading.faults.iter().any(|fault| fault.kind == FaultKind::Auth) {
            return match self.retries_refusals {
                true => Next::After(jittered(LONGEST_BACKOFF.max(self.interval))),
                false => Next::Never,
            };
        }
        let longest = reading.faults.iter().filter_map(|fault| longest_backoff(fault.kind)).max();
        match longest.filter(|_| reading.samples.is_empty()) {
            Some(longest) => {
                self.failures = self.failures.saturating_add(1);
                Next::After(backoff_up_to(longest, self.interval, self.failures))
            }
            None => {
                self.failures = 0;
                match is_first {
                    true => Next::After(self.interval.mul_f64(rand::rng().random_range(PHASES))),
                    false => Next::Tick,
                }
            }
        }
    }
}

/// The pause after this many failures in a row, capped at [`LONGEST_BACKOFF`].
pub(crate) fn backoff(interval: Duration, failures: u32) -> Duration {
    backoff_up_to(LONGEST_BACKOFF, interval, failures)
}

/// Doubles from one interval up to the longest pause, which is never shorter than the interval.
fn backoff_up_to(longest: Duration, interval: Duration, failures: u32) -> Duration {
    let doubled = interval.saturating_mul(1 << failures.saturating_sub(1).min(10));
    jittered(doubled.min(longest.max(interval)))
}

/// +-25 %, so that many sources do not come back in step.
fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::rng().random_range(0.75..1.25))
}

fn longest_backoff(kind: FaultKind) -> Option<Duration> {
    BACKS_OFF.iter().find(|(known, _)| *known == kind).map(|(_, longest)| *longest)
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric;
    use headwater_engine::reading::{Fault, Value};
    use headwater_engine::{Kind, Moment, RemoteText, Subject};

    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    fn reading(fault: Option<FaultKind>, has_data: bool) -> Reading {
        let subject = Subject::component(Kind::Service, "ranker");
        let mut reading = Reading::new(subject.clone(), Moment::default());
        let message = RemoteText::new("no");
        reading.faults.extend(fault.map(|kind| Fault { kind, message }));
        if has_data {
            reading.sample(&subject, metric::REQUESTS, Value::Counter(1.0));
        }
        reading
    }

    /// The pause after ten such readings in a row, in seconds.
    fn tenth_pause(kind: FaultKind, has_data: bool) -> Option<f64> {
        let mut manners = Manners::new(INTERVAL, true);
        let next = (0..10).map(|_| manners.after(&reading(Some(kind), has_data))).last();
        match next.unwrap() {
            Next::After(pause) => Some(pause.as_secs_f64()),
            Next::Tick => None,
            Next::Never => panic!("{kind:?} ends a source that retries"),
        }
    }

    #[test]
    fn each_kind_of_fault_leads_to_the_pause_of_its_row() {
        for kind in [
            FaultKind::Unreachable,
            FaultKind::Silent,
            FaultKind::Tls,
            FaultKind::Malformed,
            FaultKind::TooLarge,
            FaultKind::Auth,
        ] {
            let pause = tenth_pause(kind, false).unwrap();
            assert!((22.5..37.5).contains(&pause), "{kind:?}: {pause}");
        }
        let pause = tenth_pause(FaultKind::Busy, false).unwrap();
        assert!((3.75..6.25).contains(&pause), "{pause}");
        for kind in [FaultKind::Denied, FaultKind::Http] {
            assert_eq!(tenth_pause(kind, false), None, "{kind:?}");
        }
    }

    #[test]
    fn a_reading_with_data_is_no_failure_and_ends_a_row_of_failures() {
        for (kind, _) in BACKS_OFF {
            assert_eq!(tenth_pause(*kind, true), None, "{kind:?}");
        }
        let mut manners = Manners::new(INTERVAL, false);
        for _ in 0..10 {
            manners.after(&reading(Some(FaultKind::Silent), false));
        }
        assert_eq!(manners.after(&reading(None, true)), Next::Tick);
        let Next::After(pause) = manners.after(&reading(Some(FaultKind::Silent), false)) else { panic!() };
        assert!(pause < INTERVAL.mul_f64(1.25), "{pause:?}");
    }

    #[test]
    fn only_a_source_that_retries_survives_a_refusal() {
        let refusal = reading(Some(FaultKind::Auth), false);
        assert_eq!(Manners::new(INTERVAL, false).after(&refusal), Next::Never);
        assert!(matches!(Manners::new(INTERVAL, true).after(&refusal), Next::After(_)));
    }

    #[test]
    fn a_failing_target_is_never_asked_more_often_than_a_healthy_one() {
        let rare = Duration::from_secs(60);
        let mut manners = Manners::new(rare, true);
        for kind in [FaultKind::Busy, FaultKind::Silent, FaultKind::Auth] {
            let Next::After(pause) = manners.after(&reading(Some(kind), false)) else { panic!("{kind:?}") };
            assert!(pause >= rare.mul_f64(0.75), "{kind:?}: {pause:?}");
        }
    }

    #[test]
    fn the_second_question_comes_out_of_step() {
        let mut manners = Manners::new(INTERVAL, false);
        let Next::After(phase) = manners.after(&reading(None, true)) else { panic!() };
        assert!((INTERVAL / 2..INTERVAL).contains(&phase), "{phase:?}");
        assert_eq!(manners.after(&reading(None, true)), Next::Tick);
    }
}
