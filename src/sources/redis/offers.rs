//! Which ways to find out about keys a node offers, and what would make it offer the others.
//!
//! Nothing is tried: a refused command would stand in the server's ACL LOG. What a release knows and what INFO and one
//! CONFIG GET say decide; a way that was refused when somebody ran it is remembered.

use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Event, KEY_METHODS, KeyMethod, MethodOffer};
use redis::Value as Reply;
use tokio::time::Instant;

use super::allowed::{Command, Release};
use super::info::Info;
use super::look::Look;
use super::pulse::Pulse;
use super::reply::{field, text};
use super::trouble::Trouble;

/// The setting without which slots are not counted.
const SLOT_STATS: &str = "cluster-slot-stats-enabled";

/// How often the setting is asked for.
const SETTING_EVERY: Duration = Duration::from_secs(60);

/// What a node has been found to offer.
#[derive(Debug, Default)]
pub(super) struct Offers {
    setting: Option<Setting>,
    /// The policy of the last look that asked for the memory.
    policy: Option<String>,
    told: Vec<MethodOffer>,
}

/// What was last heard of the setting, and from which server.
#[derive(Debug)]
struct Setting {
    asked: Instant,
    release: Release,
    value: Option<String>,
}

/// What decides about offers.
struct Facts<'a> {
    info: &'a Info<'a>,
    release: Release,
    /// [`SLOT_STATS`], where it could be read.
    slot_stats: Option<&'a str>,
    /// What is evicted where memory is full.
    policy: Option<&'a str>,
}

/// Why a node does not offer a way; `None` where it does.
type Refusal = fn(&Facts<'_>) -> Option<String>;

/// One line each.
const REFUSALS: &[(KeyMethod, Refusal)] = &[
    (KeyMethod::Scan, |_| None),
    (KeyMethod::SlotStats, no_slot_stats),
    (KeyMethod::Frequencies, no_frequencies),
    (KeyMethod::Hotkeys, no_hotkeys),
    (KeyMethod::Monitor, |_| None),
];

impl Offers {
    /// Puts what the node offers into the reading when that is new; asks the node one thing now and then.
    pub(super) async fn look(&mut self, look: &mut Look<'_>, pulse: &Pulse) -> Result<(), Trouble> {
        let (info, release) = (look.info, look.info.release());
        let is_due = self
            .setting
            .as_ref()
            .is_none_or(|last| last.release != release || look.now >= last.asked + SETTING_EVERY);
        if is_due && counts_slots(info, release) {
            let reply = look.ask_quietly(Command::ConfigGet(SLOT_STATS)).await?;
            let value = reply.as_ref().and_then(read_setting);
            self.setting = Some(Setting { asked: look.now, release, value });
        }
        if let Some(policy) = info.text("maxmemory_policy") {
            self.policy = Some(policy.to_owned());
        }
        let slot_stats = self.setting.as_ref().and_then(|setting| setting.value.as_deref());
        let facts = Facts { info, release, slot_stats, policy: self.policy.as_deref() };
        let offers: Vec<_> = KEY_METHODS
            .iter()
            .map(|row| MethodOffer {
                method: row.method,
                refusal: pulse
                    .refusal(row.method)
                    .or_else(|| refusal(row.method, &facts))
                    .map(|why| RemoteText::new(&why)),
            })
            .collect();
        if offers != self.told {
            look.reading.events.push(Event::Offers(offers.clone()));
            self.told = offers;
        }
        Ok(())
    }
}

fn refusal(method: KeyMethod, facts: &Facts<'_>) -> Option<String> {
    REFUSALS.iter().find(|(known, _)| *known == method).and_then(|(_, refusal)| refusal(facts))
}

/// Reads the reply to CONFIG GET of [`SLOT_STATS`]; `None` where the server has no such setting or does not tell it.
pub(super) fn read_setting(reply: &Reply) -> Option<String> {
    field(reply, SLOT_STATS).and_then(text).map(|value| value.into_owned())
}

fn counts_slots(info: &Info<'_>, release: Release) -> bool {
    info.is_clustered() && release.knows_command("CLUSTER SLOT-STATS")
}

fn no_slot_stats(facts: &Facts<'_>) -> Option<String> {
    if !facts.info.is_clustered() {
        return Some("it is no part of a cluster and has no slots".to_owned());
    }
    if !facts.release.knows_command("CLUSTER SLOT-STATS") {
        return Some(format!("{} does not count slots: Redis 8.2 and Valkey 8.0 do", facts.info.product()));
    }
    // Redis 8.6 takes a list of what is counted instead of a yes. Where the setting cannot be read it may be on.
    let is_off = facts.slot_stats.is_some_and(|value| value.eq_ignore_ascii_case("no"));
    is_off.then(|| format!("it does not count: CONFIG SET {SLOT_STATS} yes makes it"))
}

fn no_frequencies(facts: &Facts<'_>) -> Option<String> {
    match facts.policy {
        Some(policy) if policy.contains("lfu") => None,
        Some(policy) => Some(format!(
            "its maxmemory-policy {policy} counts no reads: one of the LFU kind such as allkeys-lfu does, and changes \
             what is evicted"
        )),
        None => Some("it does not say its maxmemory-policy; one of the LFU kind is needed".to_owned()),
    }
}

fn no_hotkeys(facts: &Facts<'_>) -> Option<String> {
    let has_it = facts.release.knows_command("HOTKEYS GET");
    (!has_it).then(|| format!("{} has no HOTKEYS: Redis 8.6 has", facts.info.product()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(info: &str, method: KeyMethod, slot_stats: Option<&str>) -> Option<String> {
        let info = Info::parse(info);
        let release = info.release();
        let policy = info.text("maxmemory_policy");
        refusal(method, &Facts { info: &info, release, slot_stats, policy })
    }

    #[test]
    fn each_way_has_its_line() {
        for row in KEY_METHODS {
            assert!(REFUSALS.iter().any(|(method, _)| *method == row.method), "{}", row.name);
        }
    }

    #[test]
    fn slots_are_counted_by_new_clusters_that_are_told_to() {
        let ways = |info, setting| refused(info, KeyMethod::SlotStats, setting);
        let says = |info, setting, words: &str| {
            let why = ways(info, setting).unwrap();
            assert!(why.contains(words), "{why}");
        };
        says("redis_version:8.2.3\n", Some("yes"), "no part of a cluster");
        says("redis_version:7.0.15\ncluster_enabled:1\n", None, "Redis 7.0.15 does not count slots");
        says(
            "redis_version:8.2.3\ncluster_enabled:1\n",
            Some("no"),
            "CONFIG SET cluster-slot-stats-enabled yes",
        );
        says("redis_version:7.2.4\nvalkey_version:7.2.5\ncluster_enabled:1\n", None, "Valkey 7.2.5");
        for setting in [None, Some("yes"), Some("cpu net")] {
            assert_eq!(ways("redis_version:8.6.0\ncluster_enabled:1\n", setting), None, "{setting:?}");
        }
        assert_eq!(ways("redis_version:7.2.4\nvalkey_version:8.1.8\ncluster_enabled:1\n", Some("yes")), None);
    }

    #[test]
    fn frequencies_need_a_policy_of_their_kind() {
        let ways = |info| refused(info, KeyMethod::Frequencies, None);
        assert_eq!(ways("maxmemory_policy:volatile-lfu\n"), None);
        assert!(ways("maxmemory_policy:noeviction\n").unwrap().contains("allkeys-lfu"));
        assert!(ways("redis_version:7.0.0\n").unwrap().contains("does not say"));
    }

    #[test]
    fn hotkeys_differ_by_product() {
        let ways = |info| refused(info, KeyMethod::Hotkeys, None);
        assert_eq!(ways("redis_version:8.6.0\n"), None);
        assert!(ways("redis_version:8.4.9\n").unwrap().contains("Redis 8.6 has"));
        assert!(ways("redis_version:7.2.4\nvalkey_version:9.1.2\n").unwrap().contains("Valkey 9.1.2"));
        assert_eq!(ways("redis_version:7.2.4\nvalkey_version:10.0.0\n"), None);
    }
}
