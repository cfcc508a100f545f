//! What can go wrong in the lab, and what a diagnosis should say about it: one row a scenario.

use std::time::Duration;

/// One thing that happens in the lab, and what is expected of whoever diagnoses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// What users write.
    pub name: &'static str,
    /// Whether this is the row for `--surge`.
    pub surge: bool,
    /// One line for help.
    pub about: &'static str,
    /// What is done at the fault's second.
    pub fault: Fault,
    /// What a diagnosis should say.
    pub expected: Expected,
}

/// What is done to the parts at the fault's second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Originals rise to this multiple; the parts have the capacity for it.
    Surge(f64),
    /// The new model's feature job writes a value of `bytes` into one user's profile, and a campaign reads that
    /// profile and one item so often that the shard of both is asked for more than its link carries.
    HotPair {
        /// Size of the value.
        bytes: usize,
        /// Hot reads as a multiple of what the link can carry of such values; the seed draws one.
        load: RangeInclusiveF64,
        /// Share of the other requests that ask for the hot item as well.
        item_share: f64,
    },
    /// One of the service's own stages takes this many milliseconds longer; the seed draws stage and number.
    SlowStage {
        /// The stages to draw from.
        stages: &'static [&'static str],
        /// Shortest and longest delay in milliseconds.
        milliseconds: RangeInclusiveF64,
    },
}

/// A closed range that can stand in a constant table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeInclusiveF64(pub f64, pub f64);

/// What a diagnosis should say of a scenario once its fault is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The first suspect, or none: then nothing may be guilty.
    pub first: Option<Suspect>,
    /// Subjects that must be found innocent; `*` stands for any text, and the guilty shard is not meant.
    pub innocent: &'static [&'static str],
    /// Subjects that must stay unknown, because nothing in the lab can show them.
    pub unknown: &'static [&'static str],
}

/// The first suspect that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// The subject; `redis/features#HOT` stands for the hot pair's shard, `*` for any text.
    pub subject: &'static str,
    /// The id of the rule that convicts it.
    pub rule: &'static str,
}

/// No GPU can be seen from the lab: it has no source.
const UNKNOWN: &[&str] = &["gpu/ranker"];

/// Every scenario of the lab.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "healthy",
        surge: false,
        about: "nothing happens",
        fault: Fault::None,
        expected: Expected { first: None, innocent: &["redis/features#*", "queue/ranker"], unknown: UNKNOWN },
    },
    Scenario {
        name: "healthy",
        surge: true,
        about: "users come 2.5 times as often, and the parts can serve them",
        fault: Fault::Surge(2.5),
        expected: Expected { first: None, innocent: &["redis/features#*", "queue/ranker"], unknown: UNKNOWN },
    },
    Scenario {
        name: "hot-shard",
        surge: false,
        about: "a profile of 1.8 MB and a campaign fill the link of one Redis shard",
        fault: Fault::HotPair { bytes: 1_800_000, load: RangeInclusiveF64(1.1, 1.3), item_share: 0.3 },
        expected: Expected {
            first: Some(Suspect { subject: "redis/features#HOT", rule: "shard-bandwidth" }),
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
        },
    },
    Scenario {
        name: "slow-ranker",
        surge: false,
        about: "the service's own code before or after the model takes most of a second longer",
        fault: Fault::SlowStage { stages: &["pre", "post"], milliseconds: RangeInclusiveF64(600.0, 900.0) },
        expected: Expected {
            first: Some(Suspect { subject: "service/ranker", rule: "self-slow" }),
            innocent: &["redis/features", "queue/ranker"],
            unknown: UNKNOWN,
        },
    },
];

impl Scenario {
    /// The scenario of this name, with or without `--surge`.
    pub fn find(name: &str, surge: bool) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name && scenario.surge == surge)
    }

    /// What is to be expected of it in words: `its fault comes after 5 s`, or that nothing happens.
    pub fn outlook(&self, fault_after: Duration) -> String {
        match self.fault {
            Fault::None => self.about.to_owned(),
            Fault::Surge(_) => format!("its surge comes after {} s", fault_after.as_secs()),
            Fault::HotPair { .. } | Fault::SlowStage { .. } => {
                format!("its fault comes after {} s", fault_after.as_secs())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fault_is_announced_where_none_comes() {
        let outlook = |name, surge| Scenario::find(name, surge).unwrap().outlook(Duration::from_secs(5));
        assert_eq!(outlook("healthy", false), "nothing happens");
        assert_eq!(outlook("healthy", true), "its surge comes after 5 s");
        assert_eq!(outlook("hot-shard", false), "its fault comes after 5 s");
    }
}
