//! What keeps GPUs from being seen or timed: sources of them in trouble, what a driver does not tell, our own benchmark.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use headwater_engine::reading::FaultKind;
use headwater_engine::snapshot::SourceState;
use headwater_engine::{Kind, Snapshot, Subject};

use crate::lines::{Line as Told, Weight};
use crate::palette::ColorRole;

/// Whether a source lists the GPUs of this machine.
fn lists_gpus(source: &Subject) -> bool {
    source.kind() == Kind::Discovery && source.name() == "nvml"
}

/// Whether a source is our own benchmark.
fn times_kernels(source: &Subject) -> bool {
    source.kind() == Kind::Probe && source.name() == "canary"
}

/// What is said of some sources at once: all calls into a driver are made one after the other, so that one that hangs is
/// every GPU's trouble, and a board that fails loses all that are on it.
struct Said<'a> {
    /// Whoever says it best.
    who: &'a Subject,
    /// How many others say it too.
    more: usize,
    text: String,
    rank: Rank,
}

/// What is said first where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// It is in trouble.
    Fault,
    /// It waits for somebody who is.
    HeldUp,
    /// It has not answered for longer than is usual.
    Late,
}

impl Said<'_> {
    /// What is said first, and of whom among several: a GPU that a call hangs at tells more than the list that it holds up.
    fn order(&self) -> (Rank, bool, &Subject) {
        (self.rank, lists_gpus(self.who), self.who)
    }

    fn sentence(&self) -> (String, ColorRole) {
        let (mark, role) = match self.rank {
            Rank::Fault | Rank::HeldUp => ("!", ColorRole::Suspect),
            Rank::Late => ("?", ColorRole::Unknown),
        };
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        (format!("{mark} {}{more}: {}", self.who, self.text), role)
    }
}

/// What a source is in trouble with, if it is, after what those that are told at once have in common.
fn said(state: &SourceState) -> Option<(String, Said<'_>)> {
    let (rank, text) = match (&state.fault, state.late_since) {
        (Some((_, fault)), _) if fault.kind == FaultKind::Busy => (Rank::HeldUp, fault.message.to_string()),
        (Some((_, fault)), _) => (Rank::Fault, fault.message.to_string()),
        (None, Some(since)) => (Rank::Late, format!("asked at {} and not answered yet", since.clock())),
        (None, None) => return None,
    };
    let waits = state
        .fault
        .as_ref()
        .is_some_and(|(_, fault)| matches!(fault.kind, FaultKind::Silent | FaultKind::Busy));
    let is_of_the_driver = lists_gpus(&state.source) || state.asks_the_driver();
    let cause = match rank {
        Rank::Late => "late".to_owned(),
        _ if waits && is_of_the_driver => "the driver".to_owned(),
        _ => text.clone(),
    };
    Some((cause, Said { who: &state.source, more: 0, text, rank }))
}

/// What stands in the way of seeing GPUs, and of timing kernels on this machine's: the worst first, each once.
pub(super) fn blind(snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let is_of_gpus =
        |source: &Subject| source.kind() == Kind::Gpu || lists_gpus(source) || times_kernels(source);
    let states = || snapshot.sources.iter().filter(|state| is_of_gpus(&state.source));
    let mut by_cause: BTreeMap<String, Said<'_>> = BTreeMap::new();
    for (cause, said) in states().filter_map(said) {
        match by_cause.entry(cause) {
            Entry::Vacant(place) => drop(place.insert(said)),
            Entry::Occupied(mut place) => {
                let known = place.get_mut();
                let more = known.more + 1;
                if said.order() < known.order() {
                    *known = said;
                }
                known.more = more;
            }
        }
    }
    let mut all: Vec<Said<'_>> = by_cause.into_values().collect();
    all.sort_by(|one, other| one.order().cmp(&other.order()));
    let mut told: Vec<_> = all.iter().map(Said::sentence).collect();
    told.extend(states().filter(|state| lists_gpus(&state.source)).flat_map(|state| lacks(state, "")));
    told.extend(untimed(snapshot));
    told
}

/// What a source does not offer, each with the reason.
fn lacks<'a>(state: &'a SourceState, when: &'a str) -> impl Iterator<Item = (String, ColorRole)> + 'a {
    state.unavailable.iter().map(move |(what, why)| (format!("? {what}: {why}{when}"), ColorRole::Unknown))
}

/// Kernels that our own benchmark could not time when it was last asked.
fn untimed(snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let Some(state) = snapshot.sources.iter().find(|state| times_kernels(&state.source)) else {
        return vec![];
    };
    let when = state.last_data.map(|last| format!(" (tried at {})", last.clock())).unwrap_or_default();
    lacks(state, &when).collect()
}

/// Why kernels are not timed on the GPUs of this machine, for the page of one.
pub(super) fn of_kernels(gpu: &Subject, snapshot: &Snapshot) -> Vec<Told> {
    if own(gpu, snapshot).is_none() {
        return vec![];
    }
    let canary = snapshot.sources.iter().find(|state| times_kernels(&state.source));
    let fault = canary.and_then(said).map(|(_, said)| (format!("! {}", said.text), ColorRole::Suspect));
    let all = fault.into_iter().chain(untimed(snapshot));
    all.map(|(text, role)| Told::new(Weight::Context, "kernels", text).text_colored(role)).collect()
}

/// What asks the driver about a GPU, where it is one of this machine.
fn own<'a>(gpu: &Subject, snapshot: &'a Snapshot) -> Option<&'a SourceState> {
    snapshot.sources.iter().find(|state| state.source == *gpu && state.asks_the_driver())
}

/// What the driver does not tell of a GPU, by the reason: in one sentence.
pub(super) fn untold(gpu: &Subject, snapshot: &Snapshot) -> Option<(String, ColorRole)> {
    let state = own(gpu, snapshot)?;
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (what, why) in &state.unavailable {
        // The name of the call stands on the page.
        let reason = why.as_str().rsplit_once(" (").map_or(why.as_str(), |(reason, _)| reason);
        by_reason.entry(reason).or_default().push(what.as_str());
    }
    let each = by_reason.iter().map(|(reason, all)| format!("{} ({reason})", all.join(", ")));
    let each = each.collect::<Vec<_>>().join("; ");
    (!each.is_empty()).then(|| (format!("? not told: {each}"), ColorRole::Unknown))
}

/// The trouble with a GPU, and what its driver does not tell of it, for its page.
pub(super) fn of_one(gpu: &Subject, snapshot: &Snapshot) -> Vec<Told> {
    let Some(state) = own(gpu, snapshot) else { return vec![] };
    let trouble = said(state).map(|(_, said)| {
        let (label, role) = match said.rank {
            Rank::Fault | Rank::HeldUp => ("! driver", ColorRole::Suspect),
            Rank::Late => ("? driver", ColorRole::Unknown),
        };
        Told::new(Weight::Account, label, said.text).colored(role)
    });
    let lacks = state.unavailable.iter().map(|(what, why)| {
        Told::new(Weight::Detail, "without", format!("{what}: {why}")).text_colored(ColorRole::Unknown)
    });
    trouble.into_iter().chain(lacks).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use headwater_engine::reading::{Fault, Input, Reading};
    use headwater_widgets::Glyphs;

    use super::*;
    use crate::example::{World, drawn, subject};
    use crate::palette::Palette;

    /// What the panel shows, in one line, of sources with these faults, in a terminal of 80 columns.
    fn told_with_faults(faults: &[(&str, FaultKind, &str)], height: u16) -> String {
        let mut world = World::new();
        world.run(5);
        for (source, kind, message) in faults {
            let mut reading = Reading::new(subject(source), world.now());
            reading.faults.push(Fault { kind: *kind, message: (*message).into() });
            world.take(&Input::Reading(reading));
        }
        world.take(&Input::Tick(world.now() + Duration::from_millis(1)));
        let palette = Palette::mono(Glyphs::Unicode);
        let mut panel = (super::super::ROW.make)();
        let screen = drawn(panel.as_mut(), &world.snapshot(), &palette, 80, height);
        screen.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn one_driver_that_hangs_is_told_once_by_the_gpu_that_it_hangs_at() {
        let held_up =
            "not seen, because the NVIDIA driver hangs: 'nvmlX' of GPU 1 has not answered for 10.1 s";
        let screen = told_with_faults(
            &[
                ("gpu/host-a:0", FaultKind::Busy, held_up),
                (
                    "gpu/host-a:1",
                    FaultKind::Silent,
                    "the NVIDIA driver hangs: 'nvmlX' of GPU 1 has not answered for 10 s",
                ),
                ("gpu/host-a:2", FaultKind::Busy, held_up),
                (
                    "discovery/nvml",
                    FaultKind::Silent,
                    "the NVIDIA driver hangs: 'nvmlX' has not answered for 9 s",
                ),
            ],
            21,
        );
        assert_eq!(
            screen.matches("! gpu/host-a").count() + screen.matches("! discovery/nvml").count(),
            1,
            "{screen}"
        );
        assert!(
            screen.contains("! gpu/host-a:1 and 3 more: the NVIDIA driver hangs: 'nvmlX' of GPU 1"),
            "{screen}"
        );
    }

    #[test]
    fn what_is_in_trouble_is_told_whole_and_what_there_is_no_room_for_is_counted() {
        let long = "this GPU is lost: it has fallen off the bus, or cannot be reached any more, and that is a long sentence";
        let faults = [
            ("gpu/host-a:0", FaultKind::Unreachable, "this GPU is lost"),
            ("gpu/host-a:1", FaultKind::Unreachable, "this GPU is lost"),
            ("gpu/host-a:2", FaultKind::Denied, long),
            ("gpu/host-a:3", FaultKind::Malformed, "'nvmlX' failed: unknown"),
            ("probe/canary", FaultKind::Malformed, "the benchmark's process crashed (signal 6)"),
        ];
        let screen = told_with_faults(&faults, 21);
        for words in [
            "! gpu/host-a:0 and 1 more: this GPU is lost",
            long,
            "! gpu/host-a:3: 'nvmlX' failed: unknown",
            "! probe/canary: the benchmark's process crashed (signal 6)",
        ] {
            assert!(screen.contains(words), "no '{words}' in {screen}");
        }
        let screen = told_with_faults(&faults, 12);
        assert!(screen.contains("this GPU is lost") && screen.contains(long), "{screen}");
        assert!(screen.contains("! and 2 more: the panel of sources tells all"), "{screen}");
        // Where the first alone is longer than the room, it is cut, and not how many there are besides.
        let endless = format!("{long}; {long}; {long}; {long}; {long}");
        let two = [
            ("gpu/host-a:0", FaultKind::Denied, endless.as_str()),
            ("gpu/host-a:3", FaultKind::Malformed, "'nvmlX' failed: unknown"),
        ];
        let screen = told_with_faults(&two, 9);
        assert!(screen.contains("! and 1 more: the panel of sources tells all"), "{screen}");
    }
}
