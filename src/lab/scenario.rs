//! What can go wrong in the lab, and what a diagnosis should say about it: one row a scenario.

mod table;

use std::time::Duration;

use headwater_engine::report::Role;
pub use table::SCENARIOS;

/// One thing that happens in the lab, and what is expected of whoever diagnoses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenario {
    /// What users write.
    pub name: &'static str,
    /// Which form of it this is.
    pub variant: Variant,
    /// Which parts there are.
    pub shape: Shape,
    /// One line for help.
    pub about: &'static str,
    /// What is done at the fault's second.
    pub fault: Fault,
    /// What a diagnosis should say.
    pub expected: Expected,
}

/// A form of a scenario: the plain one, or with what its option adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As its name says.
    Plain,
    /// `--surge`: more users.
    Surge,
    /// `--saving`: a small snapshot now and then.
    Saving,
    /// `--fleet`: a gateway and five instances.
    Fleet,
    /// `--backoff`: clients that wait before they try again.
    Backoff,
    /// `--answers`: a cache of answers instead of features.
    Answers,
}

impl Variant {
    /// What follows the scenario's name where it is written: ` --surge`, or nothing.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Surge => " --surge",
            Self::Saving => " --saving",
            Self::Fleet => " --fleet",
            Self::Backoff => " --backoff",
            Self::Answers => " --answers",
        }
    }
}

/// Which parts a lab has. Its configuration tells this and nothing else of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Users, one instance of the service, Redis, and an exporter that tells of the instance's GPU, which is simulated.
    Single,
    /// Users, a gateway before five instances, and Redis; nothing tells of their GPUs.
    Fleet,
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
    /// On one shard, which the seed draws, everything expires in one second, at the fault and at every end of a
    /// window after it; what the service then misses it computes anew, and keeps until the window's end as well.
    ExpiryHerd {
        /// Keys of other services that expire with the first window; with each later one half as many do. Redis
        /// hurries only while most of what it samples has expired, so keys of later windows must be fewer.
        keys: usize,
        /// How many windows have such keys.
        windows: u32,
        /// Length of a window.
        every: Duration,
        /// Whether what the service misses are the model's answers, which it otherwise finds in a cache, and not
        /// features: then the model has to answer again.
        answers: bool,
    },
    /// The service's new client reads a request's keys with one command wherever they lie, which a cluster refuses;
    /// it serves this share of the requests, and the seed draws one.
    ReadsTogether {
        /// Least and greatest share.
        share: RangeInclusiveF64,
    },
    /// The service's new code keeps a Redis connection for longer than its reads need, so long that the requests ask
    /// for this multiple of what the pool can serve; the seed draws one.
    HeldConnections {
        /// Least and greatest multiple.
        load: RangeInclusiveF64,
    },
    /// The model takes longer for some seconds, and users who get no answer in time try again at once, twice.
    Slowdown {
        /// How many times as long it takes.
        times: f64,
        /// For how many seconds; the seed draws a number.
        seconds: RangeInclusiveF64,
        /// Whether users wait before they try again, longer each time.
        backoff: bool,
    },
    /// So many instances of the service, which the seed draws, take several times as long for each request; their
    /// ports still accept connections.
    Chokes {
        /// How many.
        instances: usize,
        /// How many times as long; the seed draws a number.
        times: RangeInclusiveF64,
    },
    /// The service's new release does not free all that it allocates for a request: so much stays that the GPU's memory is
    /// full after this many seconds of the usual load; the seed draws a number.
    MemoryLeak {
        /// Least and greatest number of seconds.
        seconds: RangeInclusiveF64,
    },
    /// The host is late with every kernel that it launches for the model: each takes so many microseconds instead of a little
    /// more than one; the seed draws a number.
    LaunchStall {
        /// Least and greatest number of microseconds.
        microseconds: RangeInclusiveF64,
    },
    /// One shard, which the seed draws, holds so much data beside its features and saves a snapshot again and again.
    Snapshots {
        /// Bytes of data, written before anybody looks.
        bytes: usize,
        /// After how long the child that saves is killed, as by a host that has too little memory for both; `None`
        /// where it may end.
        killed_after: Option<Duration>,
        /// The pause between the end of one snapshot and the next.
        pause: Duration,
        /// How long the service waits for a Redis command, from the start on; `None` is patient. Online features have
        /// short limits, and then a fork that slows nobody below the objective still fails requests.
        patience: Option<Duration>,
    },
}

/// A closed range that can stand in a constant table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeInclusiveF64(pub f64, pub f64);

/// What a diagnosis should say of a scenario once its fault is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// The first suspect, or none: then nothing may be guilty, but for what `passes`.
    pub first: Option<Suspect>,
    /// Ids of rules that may find somebody guilty while the fault lasts, and that have ended by the time the triage does:
    /// who came later finds nobody guilty.
    pub passes: &'static [&'static str],
    /// Subjects that must be found innocent; `*` stands for any text, and the guilty shard is not meant.
    pub innocent: &'static [&'static str],
    /// Subjects that must stay unknown, because nothing in the lab can show them.
    pub unknown: &'static [&'static str],
    /// Subjects that nothing may accuse: they are innocent, or unknown for a stated reason.
    pub unaccused: &'static [&'static str],
}

/// The first suspect that is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// The subject; `redis/features#DRAWN` stands for the shard that the seed draws, `*` for any text.
    pub subject: &'static str,
    /// The id of the rule that convicts it; `*` stands for any text.
    pub rule: &'static str,
    /// Its part in the story.
    pub role: Role,
}

impl Scenario {
    /// The scenario of this name in this form.
    pub fn find(name: &str, variant: Variant) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name && scenario.variant == variant)
    }

    /// The name of the scenario that has this form, or of the first that has.
    pub fn with(variant: Variant) -> &'static str {
        SCENARIOS.iter().find(|scenario| scenario.variant == variant).map_or("none", |scenario| scenario.name)
    }

    /// The longest that its fault is there before users feel it; most are felt at once.
    pub fn felt_after(&self) -> Duration {
        match self.fault {
            Fault::MemoryLeak { seconds } => Duration::from_secs_f64(seconds.1),
            _ => Duration::ZERO,
        }
    }

    /// What is to be expected of it in words: `its fault comes after 5 s`, or that nothing happens.
    pub fn outlook(&self, fault_after: Duration) -> String {
        let what = match self.fault {
            Fault::None => return self.about.to_owned(),
            Fault::Surge(_) => "surge",
            Fault::Snapshots { .. } if self.expected.first.is_none() => "first snapshot",
            _ => "fault",
        };
        let felt = self.felt_after();
        let felt = match felt.is_zero() {
            true => String::new(),
            false => format!(", and users feel it within {} s more", felt.as_secs()),
        };
        format!("its {what} comes after {} s{felt}", fault_after.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fault_is_announced_where_none_comes() {
        let outlook = |name, variant| Scenario::find(name, variant).unwrap().outlook(Duration::from_secs(5));
        assert_eq!(outlook("healthy", Variant::Plain), "nothing happens");
        assert_eq!(outlook("healthy", Variant::Surge), "its surge comes after 5 s");
        assert_eq!(outlook("hot-shard", Variant::Plain), "its fault comes after 5 s");
        assert_eq!(
            outlook("gpu-leak", Variant::Plain),
            "its fault comes after 5 s, and users feel it within 32 s more"
        );
    }
}
