//! The FACTS table: every number of a shard that one screen shows and two shards are compared by.

use headwater_engine::metric::*;
use headwater_engine::quantity::show;
use headwater_engine::reading::Shard;
use headwater_engine::{Snapshot, Subject};

/// One row of [`FACTS`].
#[derive(Debug)]
pub(super) struct Fact {
    /// The part of the screen that it stands in: rows of one part follow each other.
    pub(super) section: &'static str,
    /// What it is called there.
    pub(super) name: &'static str,
    /// Its unit.
    pub(super) unit: Unit,
    of: fn(&Numbers<'_>) -> Option<f64>,
    whose: Whose,
    /// What 0 and 1 mean, where it is no quantity.
    flag: Option<[&'static str; 2]>,
    worry: Worry,
    /// Which way of two shards is the worse.
    pub(super) bad: Bad,
}

/// The present numbers of a node.
type Numbers<'a> = dyn Fn(Metric) -> Option<f64> + 'a;

/// Whose number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Primary,
    /// The greatest of the replicas.
    ReplicasMost,
    /// The least of the replicas.
    ReplicasLeast,
}

/// Which values are marked wherever they are seen. What is too much of a quantity is for rules to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Worry {
    Never,
    AboveZero,
    Zero,
}

const fn fact(
    section: &'static str,
    name: &'static str,
    unit: Unit,
    of: fn(&Numbers<'_>) -> Option<f64>,
) -> Fact {
    Fact {
        section,
        name,
        unit,
        of,
        whose: Whose::Primary,
        flag: None,
        worry: Worry::Never,
        bad: Bad::Neither,
    }
}

impl Fact {
    const fn of_replicas(self, whose: Whose) -> Self {
        Self { whose, ..self }
    }

    const fn flag(self, no: &'static str, yes: &'static str) -> Self {
        Self { flag: Some([no, yes]), ..self }
    }

    /// Marks what is wrong at any time: whoever is seen so has failed somebody.
    const fn worry(self, worry: Worry) -> Self {
        let bad = match worry {
            Worry::Never => self.bad,
            Worry::AboveZero => Bad::High,
            Worry::Zero => Bad::Low,
        };
        Self { worry, bad, ..self }
    }

    /// More is worse.
    const fn high(self) -> Self {
        Self { bad: Bad::High, ..self }
    }

    /// Less is worse.
    const fn low(self) -> Self {
        Self { bad: Bad::Low, ..self }
    }

    /// The present number of a shard; `None` where nobody tells it or it is stale.
    pub(super) fn value(&self, snapshot: &Snapshot, shard: &Shard) -> Option<f64> {
        let of = |node: &Subject| {
            let traces = snapshot.history.of(node);
            let from = snapshot.at - snapshot.stale_after(node);
            (self.of)(&|metric| {
                let seen = traces.trace(metric, None)?.latest_at(snapshot.at)?;
                (seen.at >= from).then_some(seen.value)
            })
        };
        let nodes = |is_primary: bool| shard.nodes.iter().filter(move |node| node.primary == is_primary);
        let values = nodes(self.whose == Whose::Primary).filter_map(|node| of(&node.subject));
        match self.whose {
            Whose::ReplicasLeast => values.reduce(f64::min),
            _ => values.reduce(f64::max),
        }
    }

    /// A value as it is written.
    pub(super) fn show(&self, value: f64) -> String {
        match self.flag {
            Some([no, yes]) => if value < 1.0 { no } else { yes }.to_owned(),
            None => show(value, self.unit),
        }
    }

    /// Whether it says yes or no.
    pub(super) fn is_flag(&self) -> bool {
        self.flag.is_some()
    }

    /// Whether a value is marked wherever it is seen.
    pub(super) fn worries(&self, value: f64) -> bool {
        match self.worry {
            Worry::Never => false,
            Worry::AboveZero => value > 0.0,
            Worry::Zero => value < 1.0,
        }
    }
}

fn share(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = part.zip(whole)?;
    (whole > 0.0).then_some(part / whole)
}

/// Hits of callers over their look-ups; our own are no caller's.
fn hit_ratio(of: &Numbers<'_>) -> Option<f64> {
    let own = of(REDIS_OUR_HITS).unwrap_or(0.0);
    let hits = (of(REDIS_HITS)? - own).max(0.0);
    share(Some(hits), of(REDIS_MISSES).map(|misses| hits + misses))
}

/// Every fact, section by section, the section that matters most in an incident first.
pub(super) static FACTS: &[Fact] = &[
    fact("clients", "connected", Unit::Count, |of| of(REDIS_CLIENTS)).high(),
    fact("clients", "limit", Unit::Count, |of| of(REDIS_CLIENTS_MAX)),
    fact("clients", "of the limit", Unit::Ratio, |of| share(of(REDIS_CLIENTS), of(REDIS_CLIENTS_MAX))).high(),
    fact("clients", "refused", Unit::PerSecond, |of| of(REDIS_REJECTED)).worry(Worry::AboveZero),
    fact("clients", "new", Unit::PerSecond, |of| of(REDIS_CONNECTIONS)).high(),
    fact("clients", "blocked", Unit::Count, |of| of(REDIS_CLIENTS_BLOCKED)).high(),
    fact("memory", "used", Unit::Bytes, |of| of(REDIS_MEMORY)).high(),
    fact("memory", "limit", Unit::Bytes, |of| of(REDIS_MEMORY_MAX)),
    fact("memory", "of the limit", Unit::Ratio, |of| share(of(REDIS_MEMORY), of(REDIS_MEMORY_MAX))).high(),
    fact("memory", "at the limit", Unit::Ratio, |of| of(REDIS_MEMORY_EVICTS))
        .flag("writes fail", "keys are evicted"),
    fact("memory", "evicted", Unit::PerSecond, |of| of(REDIS_EVICTED)).high(),
    fact("memory", "held over used", Unit::Ratio, |of| of(REDIS_FRAGMENTATION)).high(),
    fact("memory", "resident", Unit::Bytes, |of| of(REDIS_MEMORY_RSS)).high(),
    fact("memory", "in client buffers", Unit::Bytes, |of| of(REDIS_MEMORY_CLIENTS)).high(),
    fact("persistence", "saving", Unit::Ratio, |of| of(REDIS_SAVING)).flag("no", "now"),
    fact("persistence", "last save", Unit::Ratio, |of| of(REDIS_SAVE_OK))
        .flag("failed", "ok")
        .worry(Worry::Zero),
    fact("persistence", "last fork", Unit::Seconds, |of| of(REDIS_FORK_TIME)).high(),
    fact("persistence", "fork per GB", Unit::Seconds, |of| {
        share(of(REDIS_FORK_TIME), of(REDIS_MEMORY).map(|bytes| bytes / 1e9))
    })
    .high(),
    fact("persistence", "forks", Unit::PerSecond, |of| of(REDIS_FORKS)),
    fact("persistence", "copied for it", Unit::Bytes, |of| of(REDIS_COW)).high(),
    fact("persistence", "appends that waited", Unit::PerSecond, |of| of(REDIS_FSYNC_DELAYED)).high(),
    fact("persistence", "loading", Unit::Ratio, |of| of(REDIS_LOADING))
        .flag("no", "now")
        .worry(Worry::AboveZero),
    fact("replication", "link", Unit::Ratio, |of| of(REDIS_REPLICATION_UP))
        .of_replicas(Whose::ReplicasLeast)
        .flag("down", "up")
        .worry(Worry::Zero),
    fact("replication", "heard the primary", Unit::Seconds, |of| of(REDIS_REPLICATION_LAG))
        .high()
        .of_replicas(Whose::ReplicasMost),
    fact("replication", "down for", Unit::Seconds, |of| of(REDIS_REPLICATION_DOWN))
        .high()
        .of_replicas(Whose::ReplicasMost),
    fact("replication", "full copy", Unit::Ratio, |of| of(REDIS_SYNCING))
        .of_replicas(Whose::ReplicasMost)
        .flag("no", "now"),
    fact("replication", "replicas connected", Unit::Count, |of| of(REDIS_REPLICAS)).low(),
    fact("replication", "full copies", Unit::PerSecond, |of| of(REDIS_FULL_SYNCS)).high(),
    fact("expiry", "expired", Unit::PerSecond, |of| of(REDIS_EXPIRED)),
    fact("expiry", "cycles cut short", Unit::PerSecond, |of| of(REDIS_EXPIRE_CAPPED)).high(),
    fact("expiry", "of its time", Unit::Ratio, |of| of(REDIS_EXPIRE_TIME)).high(),
    fact("expiry", "expired and still there", Unit::Ratio, |of| of(REDIS_EXPIRE_STALE)).high(),
    fact("expiry", "keys with an expiry", Unit::Ratio, |of| share(of(REDIS_KEYS_VOLATILE), of(REDIS_KEYS))),
    fact("keys", "keys", Unit::Count, |of| of(REDIS_KEYS)),
    fact("keys", "hit ratio", Unit::Ratio, hit_ratio).low(),
    fact("keys", "hits", Unit::PerSecond, |of| of(REDIS_HITS)),
    fact("keys", "misses", Unit::PerSecond, |of| of(REDIS_MISSES)).high(),
    fact("keys", "our own look-ups", Unit::PerSecond, |of| of(REDIS_OUR_HITS)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_whole_and_names_unique_within_them() {
        let mut sections: Vec<&str> = FACTS.iter().map(|fact| fact.section).collect();
        sections.dedup();
        for (place, section) in sections.iter().enumerate() {
            assert!(!sections[..place].contains(section), "'{section}' is torn apart");
        }
        for (place, fact) in FACTS.iter().enumerate() {
            let is_same = |other: &&Fact| other.section == fact.section && other.name == fact.name;
            assert!(!FACTS[..place].iter().any(|other| is_same(&other)), "{} {}", fact.section, fact.name);
        }
    }

    #[test]
    fn our_own_look_ups_are_no_callers_hits() {
        let of = |metric| match metric {
            REDIS_HITS => Some(100.0),
            REDIS_OUR_HITS => Some(60.0),
            REDIS_MISSES => Some(10.0),
            _ => None,
        };
        assert_eq!(hit_ratio(&of), Some(0.8));
        assert_eq!(hit_ratio(&|metric| of(metric).filter(|_| metric != REDIS_MISSES)), None);
    }
}
