//! Ways to find out about keys, and what searches for hot keys have found.

use serde::{Deserialize, Serialize};

use super::key::ScanState;
use crate::subject::Subject;
use crate::text::RemoteText;

/// A way to find out about the keys of a shard: a row number of [`KEY_METHODS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyMethod {
    /// SCAN with MEMORY USAGE: big keys and expiries.
    Scan,
    /// CLUSTER SLOT-STATS: which slot is hot, and what keys it holds.
    SlotStats,
    /// HOTKEYS: the server counts for a while.
    Hotkeys,
    /// OBJECT FREQ over a SCAN: which keys are read often, without shares.
    Frequencies,
    /// MONITOR for a second or two: everything that the server is asked.
    Monitor,
}

/// One row of [`KEY_METHODS`].
#[derive(Debug)]
pub struct KeyMethodRow {
    /// Which.
    pub method: KeyMethod,
    /// The name that users see and write.
    pub name: &'static str,
    /// What it finds.
    pub finds: &'static str,
    /// What it costs the server, in the words in which it is asked for.
    pub cost: &'static str,
    /// What would make a server offer it that does not.
    pub needs: &'static str,
    /// Whether it says what share of the shard's work a key is; the others only say which keys are read often.
    pub gives_shares: bool,
    /// Whether it starts something at the server or slows it noticeably, so that each run needs an explicit yes.
    pub needs_consent: bool,
}

/// Every way, the gentlest first.
pub static KEY_METHODS: &[KeyMethodRow] = &[
    KeyMethodRow {
        method: KeyMethod::Scan,
        name: "scan",
        finds: "big keys, keys by pattern, and when keys expire",
        cost: "reads only, on a replica where one answers, at most 1 % of a core",
        needs: "SCAN and MEMORY USAGE allowed for the user",
        gives_shares: false,
        needs_consent: false,
    },
    KeyMethodRow {
        method: KeyMethod::SlotStats,
        name: "slot-stats",
        finds: "the hottest slots by CPU and bytes, and the keys in them",
        cost: "reads only: three calls of 1 to 4 ms within 5 s",
        needs: "a cluster of Redis 8.2 or Valkey 8.0 with cluster-slot-stats-enabled yes",
        gives_shares: true,
        needs_consent: false,
    },
    KeyMethodRow {
        method: KeyMethod::Frequencies,
        name: "frequencies",
        finds: "the keys that are read most often; it cannot say their share",
        cost: "reads only, at most 1 % of a core; adds a hit for each key that is looked at",
        needs: "a maxmemory-policy of the LFU kind",
        gives_shares: false,
        needs_consent: false,
    },
    KeyMethodRow {
        method: KeyMethod::Hotkeys,
        name: "hotkeys",
        finds: "the keys with the greatest shares of CPU and bytes",
        cost: "the server counts a sample of its commands for 10 s; the overhead is not published",
        needs: "Redis 8.6 or a Valkey with HOTKEYS",
        gives_shares: true,
        needs_consent: true,
    },
    KeyMethodRow {
        method: KeyMethod::Monitor,
        name: "monitor",
        finds: "the keys with the greatest shares of operations",
        cost: "every command is sent to us as well: up to half of the server's throughput while it lasts, at most 2 s",
        needs: "MONITOR allowed for the user",
        gives_shares: true,
        needs_consent: true,
    },
];

impl KeyMethod {
    /// This way's row.
    pub fn row(self) -> &'static KeyMethodRow {
        KEY_METHODS.iter().find(|row| row.method == self).unwrap_or(&KEY_METHODS[0])
    }
}

/// Whether a node offers a way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodOffer {
    /// Which.
    pub method: KeyMethod,
    /// Why it does not, and what would make it; `None` where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<RemoteText>,
}

/// The state of a search for hot keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HotSearch {
    /// The shard that is searched.
    pub shard: Subject,
    /// The node that answers.
    pub node: Subject,
    /// How.
    pub method: KeyMethod,
    /// How it stands.
    pub state: ScanState,
    /// How long was counted so far, in seconds.
    pub seconds: f64,
    /// How long will be counted, in seconds; 0 where the end is not a matter of time.
    pub seconds_in_all: f64,
    /// Operations (or keys, where a method looks at keys) that were counted.
    pub counted: u64,
    /// The hottest keys so far, hottest first, at most a few dozen.
    pub keys: Vec<KeyHeat>,
    /// The hottest slots so far, hottest first, at most a few dozen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slots: Vec<SlotHeat>,
}

/// How hot one key is. Shares are of the node's work in the counted time, 0 to 1; `None` where the method cannot say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyHeat {
    /// The key's name.
    pub key: RemoteText,
    /// Its slot; `None` in a server alone, which has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// Share of operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_share: Option<f64>,
    /// Operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// Share of execution time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// Share of bytes in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_share: Option<f64>,
    /// The logarithmic counter of OBJECT FREQ, 0 to 255.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<u64>,
    /// The command that is sent for it most often, where that was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<RemoteText>,
}

/// What a share of a node's work is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareOf {
    /// Its operations.
    Operations,
    /// Its execution time.
    Cpu,
    /// Its bytes in and out.
    Bytes,
}

impl ShareOf {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Cpu => "CPU",
            Self::Bytes => "bytes",
        }
    }
}

impl KeyHeat {
    /// The greatest share that is known of it.
    pub fn greatest_share(&self) -> Option<f64> {
        [self.operations_share, self.cpu_share, self.bytes_share].into_iter().flatten().max_by(f64::total_cmp)
    }

    /// The share by which it is ranked and told, with what it is of: of operations, else of CPU, else of bytes; where
    /// the bytes are what the node is short of, theirs first.
    pub fn share(&self, is_short_of_bytes: bool) -> Option<(f64, ShareOf)> {
        ranked_share(self.operations_share, self.cpu_share, self.bytes_share, is_short_of_bytes)
    }
}

impl SlotHeat {
    /// As [`KeyHeat::share`].
    pub fn share(&self, is_short_of_bytes: bool) -> Option<(f64, ShareOf)> {
        ranked_share(None, self.cpu_share, self.bytes_share, is_short_of_bytes)
    }
}

fn ranked_share(
    operations: Option<f64>,
    cpu: Option<f64>,
    bytes: Option<f64>,
    is_short_of_bytes: bool,
) -> Option<(f64, ShareOf)> {
    let bytes = bytes.map(|share| (share, ShareOf::Bytes));
    let of_work = operations.map(|share| (share, ShareOf::Operations));
    let of_work = of_work.or(cpu.map(|share| (share, ShareOf::Cpu)));
    if is_short_of_bytes { bytes.or(of_work) } else { of_work.or(bytes) }
}

/// How hot one slot is; shares as in [`KeyHeat`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlotHeat {
    /// The slot.
    pub slot: u16,
    /// Keys in it.
    pub keys: u64,
    /// Share of the node's execution time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// Share of the node's bytes in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_share: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_one_row_and_a_name_of_its_own() {
        for (place, row) in KEY_METHODS.iter().enumerate() {
            assert_eq!(row.method.row().name, row.name);
            assert!(KEY_METHODS[..place].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
