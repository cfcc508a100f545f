//! XID events: what the driver says of errors on a GPU, by code.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use headwater_engine::metric::{GPU_XID, GPU_XIDS};
use headwater_engine::reading::Value;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};

use super::session::{Looking, Told};
use super::trouble::{Sense, sense};

/// Events of this last span are counted as late ones, as NVIDIA's exporter does.
const WINDOW: Duration = Duration::from_secs(300);

/// Events that are taken in one look; a GPU that has more has told enough.
const MOST_AT_ONCE: usize = 64;

/// Events that are remembered, and codes that are told of.
const MOST_KEPT: usize = 1_024;
const MOST_CODES: usize = 16;

/// The code of an event of which the driver does not know it.
const UNKNOWN_CODE: u64 = 999;

/// What is missing without events.
const EVENTS: &str = "XID events";

/// The XID events of one GPU since Headwater began to listen.
#[derive(Debug, Default)]
pub(super) struct Xids {
    last: Option<(Instant, u64)>,
    seen: VecDeque<(Instant, u64)>,
    /// Every code that came, so that one that comes no more goes back to 0.
    codes: Vec<u64>,
    /// Whether somebody listens: who does not has not heard that there is none.
    is_heard: bool,
}

impl Xids {
    fn note(&mut self, at: Instant, code: u64) {
        self.last = Some((at, code));
        self.seen.push_back((at, code));
        if self.seen.len() > MOST_KEPT {
            self.seen.pop_front();
        }
        if !self.codes.contains(&code) && self.codes.len() < MOST_CODES {
            self.codes.push(code);
        }
    }

    /// Tells the last code and how many of each came of late. Of a GPU that is lost what was heard stands for as long as
    /// it is of late; then nothing is known of it any more.
    pub(super) fn tell(&mut self, at: Instant, is_lost: bool, told: &mut Vec<Told>) {
        while self.seen.front().is_some_and(|(seen, _)| at.saturating_duration_since(*seen) > WINDOW) {
            self.seen.pop_front();
        }
        if (is_lost && self.seen.is_empty()) || (self.last.is_none() && !self.is_heard) {
            return;
        }
        let mut tell = |metric, part, value: f64| {
            told.push(Told { slice: None, metric, part, value: Value::Gauge(value) });
        };
        tell(GPU_XID, None, self.last.map_or(0.0, |(_, code)| code as f64));
        let mut counts: BTreeMap<u64, f64> = self.codes.iter().map(|code| (*code, 0.0)).collect();
        for (_, code) in &self.seen {
            counts.entry(*code).and_modify(|count| *count += 1.0);
        }
        for (code, count) in counts {
            tell(GPU_XIDS, Some(code.to_string()), count);
        }
    }
}

/// Where the events of one GPU come in, or why they do not. Each GPU has a set of its own, because one that refuses takes
/// the whole set with it.
pub(super) struct Listening<'nvml>(Result<EventSet<'nvml>, (&'static str, NvmlError)>);

/// Asks for the XID events of a GPU from now on.
pub(super) fn listen<'nvml>(
    nvml: &'nvml Nvml,
    device: &Device<'nvml>,
    looking: &Looking<'_>,
) -> Listening<'nvml> {
    const CREATE: &str = "nvmlEventSetCreate";
    const REGISTER: &str = "nvmlDeviceRegisterEvents";
    // The wrapper frees the set, and panics where that cannot be done.
    if let Err(error) = &nvml.lib().nvmlEventSetFree {
        return Listening(Err(("nvmlEventSetFree", NvmlError::FailedToLoadSymbol(error.to_string()))));
    }
    looking.calling(CREATE);
    let set = match nvml.create_event_set() {
        Ok(set) => set,
        Err(error) => return Listening(Err((CREATE, error))),
    };
    looking.calling(REGISTER);
    let registered = device.register_events(EventTypes::CRITICAL_XID_ERROR, set);
    Listening(registered.map_err(|error| (REGISTER, error.error)))
}

impl Listening<'_> {
    /// Whether it could not be asked for, for a reason that may pass.
    pub(super) fn has_failed(&self) -> bool {
        self.0.as_ref().is_err_and(|(_, error)| !matches!(sense(error), Sense::Lacking(_)))
    }

    /// Takes the events that have come.
    pub(super) fn hear(&self, looking: &mut Looking<'_>) -> Option<Sense> {
        const WAIT: &str = "nvmlEventSetWait_v2";
        let set = match &self.0 {
            Ok(set) => set,
            Err((call, error)) => {
                looking.memory.xids.is_heard = false;
                return Some(looking.note(EVENTS, call, error));
            }
        };
        looking.calling(WAIT);
        let at = looking.at;
        for _ in 0..MOST_AT_ONCE {
            match set.wait(0) {
                Ok(event) => match event.event_data {
                    Some(XidError::Value(code)) => looking.memory.xids.note(at, code),
                    Some(XidError::Unknown) => looking.memory.xids.note(at, UNKNOWN_CODE),
                    None => {}
                },
                Err(NvmlError::Timeout) => break,
                // The GPU itself is asked next, and says whether it is lost.
                Err(error) if matches!(sense(&error), Sense::Lost(_)) => break,
                Err(error) => {
                    looking.memory.xids.is_heard = false;
                    return Some(looking.note(EVENTS, WAIT, &error));
                }
            }
        }
        looking.memory.xids.is_heard = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(xids: &mut Xids, at: Instant, is_lost: bool) -> Vec<(Option<String>, f64)> {
        let mut told = vec![];
        xids.tell(at, is_lost, &mut told);
        let number = |value: Value| match value {
            Value::Gauge(number) => number,
            other => panic!("{other:?}"),
        };
        told.into_iter().map(|one| (one.part, number(one.value))).collect()
    }

    #[test]
    fn none_is_told_only_by_whom_listens_and_a_code_goes_back_to_none_of_late() {
        let (mut xids, start) = (Xids::default(), Instant::now());
        assert_eq!(told(&mut xids, start, false), []);
        xids.is_heard = true;
        assert_eq!(told(&mut xids, start, false), [(None, 0.0)]);
        xids.note(start, 31);
        xids.note(start, 31);
        xids.note(start, 94);
        let part = |code: &str| Some(code.to_owned());
        assert_eq!(told(&mut xids, start, false), [(None, 94.0), (part("31"), 2.0), (part("94"), 1.0)]);
        let later = start + WINDOW + Duration::from_secs(1);
        assert_eq!(told(&mut xids, later, false), [(None, 94.0), (part("31"), 0.0), (part("94"), 0.0)]);
    }

    #[test]
    fn of_a_lost_gpu_the_last_events_stand_for_a_while() {
        let (mut xids, start) = (Xids { is_heard: true, ..Xids::default() }, Instant::now());
        assert_eq!(told(&mut xids, start, true), []);
        xids.note(start, 79);
        assert_eq!(told(&mut xids, start, true), [(None, 79.0), (Some("79".to_owned()), 1.0)]);
        assert_eq!(told(&mut xids, start + WINDOW + Duration::from_secs(1), true), []);
    }
}
