//! Which process answers: the same as before, another run, or several behind one address.

use super::info::Info;

/// What is known of the process behind an address.
#[derive(Debug, Default)]
pub(super) struct Identity {
    run_id: Option<String>,
    earlier: Vec<String>,
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
}

/// How many earlier runs are remembered.
const MEMORY: usize = 8;

impl Identity {
    pub(super) fn see(&mut self, info: &Info<'_>) -> Seen {
        let uptime = info.number("uptime_in_seconds").unwrap_or(0.0);
        let went_back = uptime < self.uptime;
        self.uptime = uptime;
        let Some(run_id) = info.text("run_id") else {
            return if went_back { Seen::Restarted } else { Seen::Same };
        };
        let Some(last) = self.run_id.replace(run_id.to_owned()) else { return Seen::Same };
        if last == run_id {
            return Seen::Same;
        }
        let is_back = self.earlier.iter().any(|earlier| earlier == run_id);
        self.earlier.push(last);
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

    fn look(identity: &mut Identity, run_id: &str, uptime: u32) -> Seen {
        identity.see(&Info::parse(&format!("run_id:{run_id}\nuptime_in_seconds:{uptime}\n")))
    }

    #[test]
    fn a_new_run_is_a_restart_and_an_old_one_coming_back_is_a_proxy() {
        let mut identity = Identity::default();
        assert_eq!(look(&mut identity, "a", 10), Seen::Same);
        assert_eq!(look(&mut identity, "a", 11), Seen::Same);
        assert_eq!(look(&mut identity, "b", 0), Seen::Restarted);
        assert!(!identity.is_alternating());
        assert_eq!(look(&mut identity, "a", 13), Seen::Alternating);
        assert_eq!(look(&mut identity, "b", 2), Seen::Same);
        assert!(identity.is_alternating());
    }

    #[test]
    fn without_a_run_id_a_smaller_uptime_is_a_restart() {
        let mut identity = Identity::default();
        for (uptime, seen) in [(5, Seen::Same), (6, Seen::Same), (1, Seen::Restarted)] {
            assert_eq!(identity.see(&Info::parse(&format!("uptime_in_seconds:{uptime}"))), seen);
        }
    }
}
