//! What a node does not offer at present: said when it begins, asked for again after a while, taken back when it
//! is there again.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Event, Reading};
use tokio::time::Instant;

/// How long what a node does not offer is left alone: rights are granted and forks are replaced while we watch.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The things that one node lacks.
#[derive(Debug, Default)]
pub(super) struct Lacks {
    known: BTreeMap<&'static str, Lack>,
}

#[derive(Debug)]
struct Lack {
    why: String,
    until: Instant,
}

impl Lacks {
    /// Whether a thing may be asked for: it is not lacking, or has been for long enough to try again.
    pub(super) fn may_ask(&self, what: &str, now: Instant) -> bool {
        self.known.get(what).is_none_or(|lack| now >= lack.until)
    }

    /// Notes that a thing is lacking; the reading says so when that or the reason is new.
    pub(super) fn begin(&mut self, reading: &mut Reading, what: &'static str, why: &str, now: Instant) {
        let lack = Lack { why: why.to_owned(), until: now + AGAIN_AFTER };
        if self.known.insert(what, lack).is_none_or(|before| before.why != why) {
            let (what, why) = (RemoteText::new(what), RemoteText::new(why));
            reading.events.push(Event::Unavailable { what, why });
        }
    }

    /// Notes that a thing is there; the reading says so when it was lacking.
    pub(super) fn end(&mut self, reading: &mut Reading, what: &str) {
        if self.known.remove(what).is_some() {
            reading.events.push(Event::Available { what: RemoteText::new(what) });
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::{Kind, Moment, Subject};

    use super::*;

    #[test]
    fn a_lack_is_said_once_tried_again_after_a_while_and_taken_back() {
        let mut lacks = Lacks::default();
        let start = Instant::now();
        let mut reading = Reading::new(Subject::component(Kind::Redis, "features"), Moment(0));
        assert!(lacks.may_ask("SLOWLOG GET", start));
        for why in ["denied", "denied", "unknown"] {
            lacks.begin(&mut reading, "SLOWLOG GET", why, start);
        }
        let said = |why: &str| Event::Unavailable { what: "SLOWLOG GET".into(), why: why.into() };
        assert_eq!(reading.events, [said("denied"), said("unknown")]);
        assert!(!lacks.may_ask("SLOWLOG GET", start + AGAIN_AFTER / 2));
        assert!(lacks.may_ask("SLOWLOG GET", start + AGAIN_AFTER));
        reading.events.clear();
        lacks.end(&mut reading, "SLOWLOG GET");
        lacks.end(&mut reading, "SLOWLOG GET");
        assert_eq!(reading.events, [Event::Available { what: "SLOWLOG GET".into() }]);
    }
}
