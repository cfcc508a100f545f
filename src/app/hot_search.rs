//! Which search for hot keys may run, which comes first, and what is said of it.

use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::reading::{
    HotSearch, KEY_METHODS, KeyHeat, KeyMethod, KeyMethodRow, MethodOffer, ScanState, SlotHeat,
};
use headwater_engine::{Snapshot, Subject, quantity};

use super::told::Told;
use crate::sources::redis::SearchBudget;

/// What whoever looks has agreed to. By itself nothing may run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Permit {
    /// Ways that only read.
    pub reads: bool,
    /// HOTKEYS: the server counts for a while.
    pub hotkeys: bool,
    /// MONITOR for this long.
    pub monitor: Option<Duration>,
}

impl Permit {
    /// Whether this way may run.
    pub fn allows(&self, method: KeyMethod) -> bool {
        match method {
            KeyMethod::Scan => false,
            KeyMethod::SlotStats | KeyMethod::Frequencies => self.reads,
            KeyMethod::Hotkeys => self.hotkeys,
            KeyMethod::Monitor => self.monitor.is_some(),
        }
    }

    /// The cost that was agreed to.
    pub fn budget(&self) -> SearchBudget {
        let usual = SearchBudget::default();
        SearchBudget { monitor: self.monitor.unwrap_or(usual.monitor), ..usual }
    }
}

/// The flag that agrees to a way, where it needs one.
pub fn flag(method: KeyMethod) -> Option<&'static str> {
    match method {
        KeyMethod::Hotkeys => Some("--allow-hotkeys"),
        KeyMethod::Monitor => Some("--allow-monitor 1s"),
        _ => None,
    }
}

/// Every way to find hot keys, the best first: one that gives shares before one that only ranks, and of these the
/// gentlest.
pub fn ways() -> impl Iterator<Item = &'static KeyMethodRow> {
    let giving = |gives: bool| KEY_METHODS.iter().filter(move |row| row.gives_shares == gives);
    giving(true).chain(giving(false)).filter(|row| row.method != KeyMethod::Scan)
}

/// The best way that is offered and allowed.
pub fn best(offers: &[MethodOffer], permit: &Permit, tried: impl Fn(KeyMethod) -> bool) -> Option<KeyMethod> {
    let is_offered = |method| offers.iter().any(|offer| offer.method == method && offer.refusal.is_none());
    ways()
        .map(|row| row.method)
        .find(|method| is_offered(*method) && permit.allows(*method) && !tried(*method))
}

/// What the primary of a shard offers; nothing where it has not told yet.
pub fn offers_of<'a>(snapshot: &'a Snapshot, shard: &Subject) -> &'a [MethodOffer] {
    let mut shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let primary = shards
        .find(|known| known.subject == *shard)
        .and_then(|known| known.nodes.iter().find(|node| node.primary));
    let source =
        primary.and_then(|node| snapshot.sources.iter().find(|source| source.source == node.subject));
    source.map_or(&[], |source| &source.offers)
}

/// What would let the hot keys of a shard be named: flags for what is offered and not agreed to, and what the server
/// would need for the rest.
pub fn to_name_it(offers: &[MethodOffer], permit: &Permit) -> String {
    let refusal_of = |method| offers.iter().find(|offer| offer.method == method).map(|offer| &offer.refusal);
    let part = |row: &KeyMethodRow| match (refusal_of(row.method)?, flag(row.method)) {
        _ if permit.allows(row.method) && refusal_of(row.method)?.is_none() => None,
        (None, Some(flag)) => Some(format!("{flag} ({})", row.cost)),
        (None, None) => Some(format!("{} ({})", row.name, row.cost)),
        (Some(why), _) => Some(format!("{}: {why}", row.name)),
    };
    let parts: Vec<_> = ways().filter_map(part).collect();
    if parts.is_empty() { "the node has not told yet what it offers".to_owned() } else { parts.join("; ") }
}

/// Remembers which searches were spoken of.
#[derive(Debug, Default)]
pub struct SearchProgress {
    told: Told<(Subject, KeyMethod)>,
}

impl SearchProgress {
    /// Notes that the start of a search was told: the next line about it comes after a pause.
    pub fn started(&mut self, shard: &Subject, method: KeyMethod) {
        self.told.started((shard.clone(), method));
    }

    /// The line to say about a search now, if one is due.
    pub fn line(&mut self, search: &HotSearch) -> Option<String> {
        let name = (search.shard.clone(), search.method);
        self.told.is_due(name, search.state.has_ended()).then(|| search_line(search))
    }

    /// Whether the end of a search was told.
    pub fn is_end_told(&self, shard: &Subject, method: KeyMethod) -> bool {
        self.told.is_end_told(&(shard.clone(), method))
    }
}

/// One line about a search: how far it is, and the hottest key or slot so far.
pub fn search_line(search: &HotSearch) -> String {
    let row = search.method.row();
    let counted = match search.counted {
        0 => String::new(),
        counted => {
            let what = if row.gives_shares { "commands" } else { "keys" };
            format!(", {} {what}", quantity::show(counted as f64, Unit::Count))
        }
    };
    let seconds = quantity::show(search.seconds, Unit::Seconds);
    let state = match &search.state {
        ScanState::Running if search.seconds_in_all > 0.0 => {
            format!("{seconds} of {}", quantity::show(search.seconds_in_all, Unit::Seconds))
        }
        ScanState::Running => format!("{seconds} so far"),
        ScanState::Paused => format!("paused after {seconds}"),
        ScanState::Complete => format!("done in {seconds}"),
        ScanState::Stopped(why) => format!("stopped after {seconds} ({why})"),
    };
    let hottest = match (search.keys.first(), search.slots.first()) {
        (Some(key), _) if key.greatest_share().is_some() || key.frequency.is_some() => {
            format!(", hottest {} {}", key.key, heat_words(key))
        }
        (_, Some(slot)) => format!(", hottest {}", slot_words(slot)),
        _ if search.state.has_ended() => ", no hot key found".to_owned(),
        _ => String::new(),
    };
    format!("search of {} by {}: {state}{counted}{hottest}", search.shard, row.name)
}

/// How hot a key is, in words: every share that is known of it, or its rank's number.
pub fn heat_words(key: &KeyHeat) -> String {
    let shares = [
        (key.operations_share, "of operations"),
        (key.cpu_share, "of CPU time"),
        (key.bytes_share, "of bytes"),
    ];
    let mut parts = share_words(&shares);
    parts.extend(key.per_second.map(|rate| quantity::show(rate, Unit::PerSecond)));
    parts.extend(key.frequency.map(|counter| format!("counter {counter} of 255, share unknown")));
    parts.extend(key.command.as_ref().map(|command| format!("mostly {command}")));
    if parts.is_empty() { "share unknown".to_owned() } else { parts.join(", ") }
}

/// How hot a slot is, in words, and how near that comes to a key.
pub fn slot_words(slot: &SlotHeat) -> String {
    let shares = [(slot.cpu_share, "of CPU time"), (slot.bytes_share, "of bytes")];
    let shares = share_words(&shares);
    let keys = match slot.keys {
        1 => "its only key".to_owned(),
        keys => format!("one of its {keys} keys or several"),
    };
    format!("slot {}: {}, {keys}", slot.slot, shares.join(", "))
}

/// The shares that are known, each with what it is a share of.
fn share_words(shares: &[(Option<f64>, &str)]) -> Vec<String> {
    let word =
        |(share, of): &(Option<f64>, &str)| Some(format!("{} {of}", quantity::show((*share)?, Unit::Ratio)));
    shares.iter().filter_map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(refused: &[KeyMethod]) -> Vec<MethodOffer> {
        let offer = |row: &KeyMethodRow| MethodOffer {
            method: row.method,
            refusal: refused.contains(&row.method).then(|| "it is off".into()),
        };
        KEY_METHODS.iter().map(offer).collect()
    }

    #[test]
    fn what_gives_shares_comes_first_and_nothing_runs_without_leave() {
        let none = |_| false;
        assert_eq!(best(&offers(&[]), &Permit::default(), none), None);
        let reads = Permit { reads: true, ..Permit::default() };
        assert_eq!(best(&offers(&[]), &reads, none), Some(KeyMethod::SlotStats));
        let off = offers(&[KeyMethod::SlotStats]);
        assert_eq!(best(&off, &reads, none), Some(KeyMethod::Frequencies));
        let all = Permit { monitor: Some(Duration::from_secs(1)), hotkeys: true, ..reads };
        assert_eq!(best(&off, &all, none), Some(KeyMethod::Hotkeys));
        assert_eq!(best(&off, &all, |method| method == KeyMethod::Hotkeys), Some(KeyMethod::Monitor));
        assert_eq!(best(&[], &all, none), None, "a node that told nothing offers nothing");
    }

    #[test]
    fn what_would_name_the_key_is_said() {
        let off = offers(&[KeyMethod::SlotStats, KeyMethod::Frequencies, KeyMethod::Hotkeys]);
        let said = to_name_it(&off, &Permit { reads: true, ..Permit::default() });
        assert!(
            said.starts_with("slot-stats: it is off; hotkeys: it is off; --allow-monitor 1s ("),
            "{said}"
        );
        assert!(said.ends_with("frequencies: it is off"), "{said}");
        assert!(to_name_it(&[], &Permit::default()).contains("not told yet"));
    }

    #[test]
    fn a_search_is_told_with_its_hottest_key_or_slot() {
        let shard: Subject = "redis/features#1".parse().unwrap();
        let key = KeyHeat {
            key: "user:7".into(),
            slot: Some(5),
            operations_share: Some(0.62),
            per_second: Some(1_240.0),
            cpu_share: None,
            bytes_share: None,
            frequency: None,
            command: Some("GET".into()),
        };
        let mut search = HotSearch {
            shard: shard.clone(),
            node: shard.clone(),
            method: KeyMethod::Monitor,
            state: ScanState::Complete,
            seconds: 1.0,
            seconds_in_all: 1.0,
            counted: 2_000,
            keys: vec![key],
            slots: vec![],
        };
        assert_eq!(
            search_line(&search),
            "search of redis/features#1 by monitor: done in 1 s, 2000 commands, hottest user:7 62 % of operations, 1240/s, \
             mostly GET"
        );
        search.keys.clear();
        search.counted = 0;
        search.method = KeyMethod::SlotStats;
        search.slots = vec![SlotHeat { slot: 5, keys: 12, cpu_share: Some(0.5), bytes_share: None }];
        let line = search_line(&search);
        assert!(line.ends_with("hottest slot 5: 50 % of CPU time, one of its 12 keys or several"), "{line}");
        let mut progress = SearchProgress::default();
        progress.started(&shard, KeyMethod::SlotStats);
        assert!(progress.line(&search).is_some() && progress.line(&search).is_none());
        assert!(progress.is_end_told(&shard, KeyMethod::SlotStats));
    }
}
