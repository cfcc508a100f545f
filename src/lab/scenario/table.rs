//! The scenarios, one row each.

use std::time::Duration;

use headwater_engine::report::Role;

use super::{Expected, Fault, RangeInclusiveF64, Scenario, Shape, Suspect, Variant};

/// Nothing tells of the machine that launches the kernels.
const UNKNOWN: &[&str] = &["host/simulated"];

/// The GPU, which is at fault where it says so and nowhere else.
const GPU: &[&str] = &["gpu/simulated:0"];

/// Every scenario of the lab.
pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "healthy",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "nothing happens",
        fault: Fault::None,
        expected: Expected {
            first: None,
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "healthy",
        variant: Variant::Surge,
        shape: Shape::Single,
        about: "users come 2.5 times as often, and the parts can serve them",
        fault: Fault::Surge(2.5),
        expected: Expected {
            first: None,
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "healthy",
        variant: Variant::Saving,
        shape: Shape::Single,
        about: "one shard saves a snapshot of 20 MB now and then",
        fault: Fault::Snapshots {
            bytes: 20_000_000,
            killed_after: None,
            pause: Duration::from_secs(8),
            patience: None,
        },
        expected: Expected {
            first: None,
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "healthy",
        variant: Variant::Fleet,
        shape: Shape::Fleet,
        about: "a gateway before five instances, and nothing happens",
        fault: Fault::None,
        expected: Expected {
            first: None,
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: &["gpu/ranker"],
            unaccused: &[],
        },
    },
    Scenario {
        name: "hot-shard",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "a profile of 1.8 MB and a campaign fill the link of one Redis shard",
        fault: Fault::HotPair { bytes: 1_800_000, load: RangeInclusiveF64(1.1, 1.3), item_share: 0.7 },
        expected: Expected {
            first: Some(Suspect {
                subject: "redis/features#DRAWN",
                rule: "shard-bandwidth",
                role: Role::Trigger,
            }),
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "slow-ranker",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "the service's own code before or after the model takes most of a second longer",
        fault: Fault::SlowStage { stages: &["pre", "post"], milliseconds: RangeInclusiveF64(600.0, 900.0) },
        expected: Expected {
            first: Some(Suspect { subject: "service/ranker", rule: "self-slow", role: Role::Trigger }),
            passes: &[],
            innocent: &["redis/features", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "expiry-herd",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "everything on one Redis shard expires in the same second, every 24 s, and is computed anew",
        fault: Fault::ExpiryHerd {
            keys: 400_000,
            windows: 3,
            every: Duration::from_secs(24),
            answers: false,
        },
        expected: Expected {
            first: Some(Suspect {
                subject: "redis/features#DRAWN",
                rule: "expiry-herd",
                role: Role::Trigger,
            }),
            passes: &[],
            innocent: &["redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "expiry-herd",
        variant: Variant::Answers,
        shape: Shape::Single,
        about: "the answers of the model that one Redis shard keeps expire in the same second: all go to the queue",
        fault: Fault::ExpiryHerd { keys: 400_000, windows: 3, every: Duration::from_secs(24), answers: true },
        expected: Expected {
            first: Some(Suspect {
                subject: "redis/features#DRAWN",
                rule: "expiry-herd",
                role: Role::Trigger,
            }),
            passes: &[],
            innocent: &["redis/features#*"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "cross-slot",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "a new client of the service reads keys of different slots with one command",
        fault: Fault::ReadsTogether { share: RangeInclusiveF64(0.2, 0.4) },
        expected: Expected {
            first: Some(Suspect { subject: "redis/features", rule: "cross-slot", role: Role::Trigger }),
            passes: &[],
            innocent: &["queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "pool-starved",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "new code of the service keeps its Redis connections for longer than it needs them",
        fault: Fault::HeldConnections { load: RangeInclusiveF64(1.1, 1.3) },
        expected: Expected {
            first: Some(Suspect { subject: "service/ranker", rule: "pool-starved", role: Role::Trigger }),
            passes: &[],
            innocent: &["redis/features", "redis/features#*", "queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "retry-storm",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "the model is slow for some seconds, users try again at once, and their storm outlives the cause",
        fault: Fault::Slowdown { times: 10.0, seconds: RangeInclusiveF64(2.5, 3.5), backoff: false },
        expected: Expected {
            first: Some(Suspect { subject: "client/load", rule: "retry-storm", role: Role::Amplifier }),
            passes: &[],
            innocent: &["redis/features#*"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "retry-storm",
        variant: Variant::Backoff,
        shape: Shape::Single,
        about: "the model is slow for some seconds, users wait before they try again, and all is well again",
        fault: Fault::Slowdown { times: 10.0, seconds: RangeInclusiveF64(2.5, 3.5), backoff: true },
        expected: Expected {
            first: None,
            passes: &["queue-not-compute"],
            innocent: &["redis/features#*"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
    Scenario {
        name: "failover-storm",
        variant: Variant::Plain,
        shape: Shape::Fleet,
        about: "two of five instances choke and stay ready; the gateway takes the slow out and overloads the rest",
        fault: Fault::Chokes { instances: 2, times: RangeInclusiveF64(6.0, 9.0) },
        expected: Expected {
            first: Some(Suspect { subject: "gateway/edge", rule: "failover-storm", role: Role::Amplifier }),
            passes: &[],
            innocent: &["redis/features#*"],
            unknown: &["gpu/ranker"],
            unaccused: &[],
        },
    },
    Scenario {
        name: "gpu-leak",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "a new release leaves a little GPU memory behind with each request, until there is none (simulated GPU)",
        fault: Fault::MemoryLeak { seconds: RangeInclusiveF64(26.0, 32.0) },
        expected: Expected {
            first: Some(Suspect { subject: "gpu/simulated:0", rule: "gpu-memory-*", role: Role::Trigger }),
            passes: &[],
            innocent: &["redis/features#*"],
            unknown: UNKNOWN,
            unaccused: &[],
        },
    },
    Scenario {
        name: "launch-stall",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "the host is late with launching kernels: the GPU idles while requests wait for it (simulated GPU)",
        fault: Fault::LaunchStall { microseconds: RangeInclusiveF64(46.0, 50.0) },
        expected: Expected {
            first: Some(Suspect { subject: "host/simulated", rule: "launch-stall", role: Role::Trigger }),
            passes: &[],
            innocent: &["redis/features#*"],
            unknown: &[],
            unaccused: GPU,
        },
    },
    Scenario {
        name: "fork-stall",
        variant: Variant::Plain,
        shape: Shape::Single,
        about: "one Redis shard with 6 GB of data tries to save a snapshot again and again (needs 8 GB of memory)",
        fault: Fault::Snapshots {
            bytes: 6_000_000_000,
            killed_after: Some(Duration::from_millis(100)),
            pause: Duration::from_millis(100),
            patience: Some(Duration::from_millis(50)),
        },
        expected: Expected {
            first: Some(Suspect { subject: "redis/features#DRAWN", rule: "fork-stall", role: Role::Trigger }),
            passes: &[],
            innocent: &["queue/ranker"],
            unknown: UNKNOWN,
            unaccused: GPU,
        },
    },
];
