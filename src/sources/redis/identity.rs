//! Which process answers: the same as before, another run, or several behind one address.

use std::time::Duration;

use tokio::time::Instant;

use super::info::Info;

/// What is known of the process behind an address.
#[derive(Debug, Default)]
pub(super) struct Identity {
    run_id: Option<String>,
    /// Earlier runs, with the time when each was seen last.
    earlier: Vec<(String, Instant)>,
    /// Since when the present run alone has answered.
    settled: Option<Instant>,
    uptime: f64,
    alternating: bool,
}

/// What one look at it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The process of the last look, or the first look.
    Same,
    /// Another run: its counters began anew.
    Restarted,
    /// An earlier run is back, so several processes share the address. Said once.
    Alternating,
    /// One run has answered for so long that it is alone again. Said once; its counters are not those of before.
    Settled,
}

/// How many earlier runs are remembered.
const MEMORY: usize = 8;

/// How soon an earlier run has to be back to be a proxy's doing; later it is an operator's, such as a second
/// failover behind one name.
const BACK_WITHIN: Duration = Duration::from_secs(180);

/// How long one run has to answer alone before the address is taken for one server's again.
const SETTLED_AFTER: Duration = Duration::from_secs(300);

impl Identity {
    pub(super) fn see(&mut self, info: &Info<'_>, now: Instant) -> Seen {
        let uptime = info.number("uptime_in_seconds").unwrap_or(0.0);
        let went_back = uptime < self.uptime;
        self.uptime = uptime;
        let Some(run_id) = info.text("run_id") else {
            return if went_back { Seen::Restarted } else { Seen::Same };
        };
        let Some(last) = self.run_id.replace(run_id.to_owned()) else { return Seen::Same };
        if last == run_id {
            let settled = self.settled.is_none_or(|since| now.duration_since(since) >= SETTLED_AFTER);
            if self.alternating && settled {
                self.alternating = false;
                self.earlier.clear();
                return Seen::Settled;
            }
            return Seen::Same;
        }
        self.settled = Some(now);
        self.earlier.retain(|(_, seen)| now.duration_since(*seen) < BACK_WITHIN);
        let is_back = self.earlier.iter().any(|(earlier, _)| earlier == run_id);
        self.earlier.push((last, now));
        if self.earlier.len() > MEMORY {
            self.earlier.remove(0);
        }
        if self.alternating {
            return Seen::Same;
        }
        self.alternating = is_back;
        if is_back { Seen::Alternating } else { Seen::Restarted }
    }

    pub(super) fn is_alternating(&self) -> bool {
        self.alternating
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(identity: &mut Identity, run_id: &str, uptime: u32, now: Instant) -> Seen {
        identity.see(&Info::parse(&format!("run_id:{run_id}\nuptime_in_seconds:{uptime}\n")), now)
    }

    #[test]
    fn a_new_run_is_a_restart_and_an_old_one_coming_back_is_a_proxy() {
        let (mut identity, now) = (Identity::default(), Instant::now());
        assert_eq!(look(&mut identity, "a", 10, now), Seen::Same);
        assert_eq!(look(&mut identity, "a", 11, now), Seen::Same);
        assert_eq!(look(&mut identity, "b", 0, now), Seen::Restarted);
        assert!(!identity.is_alternating());
        assert_eq!(look(&mut identity, "a", 13, now), Seen::Alternating);
        assert_eq!(look(&mut identity, "b", 2, now), Seen::Same);
        assert!(identity.is_alternating());
    }

    #[test]
    fn a_second_failover_days_later_is_no_proxy() {
        let (mut identity, start) = (Identity::default(), Instant::now());
        assert_eq!(look(&mut identity, "a", 10, start), Seen::Same);
        assert_eq!(look(&mut identity, "b", 9, start + Duration::from_secs(10)), Seen::Restarted);
        assert_eq!(look(&mut identity, "a", 90_000, start + Duration::from_secs(90_000)), Seen::Restarted);
        assert!(!identity.is_alternating());
    }

    #[test]
    fn a_proxy_that_is_gone_is_forgotten() {
        let (mut identity, start) = (Identity::default(), Instant::now());
        for run_id in ["a", "b", "a"] {
            look(&mut identity, run_id, 10, start);
        }
        assert_eq!(look(&mut identity, "a", 11, start + SETTLED_AFTER / 2), Seen::Same);
        assert!(identity.is_alternating());
        assert_eq!(look(&mut identity, "a", 12, start + SETTLED_AFTER), Seen::Settled);
        assert!(!identity.is_alternating());
        assert_eq!(look(&mut identity, "b", 12, start + SETTLED_AFTER), Seen::Restarted);
    }

    #[test]
    fn without_a_run_id_a_smaller_uptime_is_a_restart() {
        let mut identity = Identity::default();
        for (uptime, seen) in [(5, Seen::Same), (6, Seen::Same), (1, Seen::Restarted)] {
            assert_eq!(
                identity.see(&Info::parse(&format!("uptime_in_seconds:{uptime}")), Instant::now()),
                seen
            );
        }
    }
}
