//! The RULES table: every way in which Headwater can accuse, in the order of their strength.
//!
//! A rule is one file: what it watches, its thresholds with their reasons, its rivals, what it explains, and a
//! pure function of a [`Scene`]. To add one, write the file and add its line to [`RULES`].

mod access_changed;
mod asked;
mod batch_starved;
mod big_key;
mod breach;
mod breaker_flapping;
mod business_symptom;
mod checkpoint_slow;
mod cluster_views;
mod co_located_keys;
mod command_mix;
mod compute_bound;
mod connections_high;
mod consumer_lag;
mod cross_slot;
mod declared_limit;
mod deviation;
mod error_shift;
mod evicting;
mod expiry_forecast;
mod expiry_herd;
mod failover_storm;
mod fake_healthy;
mod feature_stale;
mod fork_stall;
mod gpu_error;
mod gpu_memory_full;
mod gpu_memory_leak;
mod gpu_silent;
mod gpu_throttled;
mod gpus;
mod hbm_bound;
mod hit_but_slow;
mod host_starved;
mod hot_key;
mod kv_cache_pressure;
mod late_flow;
mod latency_shift;
mod launch_stall;
mod memory_high;
mod miss_flood;
mod network_path;
mod no_backpressure;
mod no_progress;
mod node_unreachable;
mod pcie_degraded;
mod pool_starved;
mod probe_failing;
mod queue_not_compute;
mod queueing;
mod recent_change;
mod replication_broken;
mod retry_storm;
mod rising;
mod self_slow;
mod shard_bandwidth;
mod shard_hot;
mod shard_saturated;
mod skew;
mod slo_burn;
mod slots_uncovered;
mod slow_commands;
mod slow_instance;
mod slow_to_answer;
mod surge;
mod timeout_mismatch;
mod topology_split;
mod watches;
mod wrong_results;

use crate::metric::Unit;
use crate::quantity;
use crate::report::Role;
use crate::scene::Scene;
use crate::subject::Subject;

pub use breach::Breach;
pub(crate) use watches::ANY_KIND;
pub use watches::Watches;

/// Every rule. A rule may look at the findings of the rules above it, of the same evaluation. Among suspects of
/// equal confidence the one whose rule stands higher is named first.
pub static RULES: &[&Rule] = &[
    &latency_shift::RULE,
    &error_shift::RULE,
    &slo_burn::RULE,
    &probe_failing::RULE,
    &no_progress::RULE,
    &business_symptom::RULE,
    &slots_uncovered::RULE,
    &topology_split::RULE,
    &node_unreachable::RULE,
    &fork_stall::RULE,
    &expiry_herd::RULE,
    &shard_saturated::RULE,
    &shard_bandwidth::RULE,
    &shard_hot::RULE,
    &slow_to_answer::RULE,
    &slow_commands::RULE,
    &big_key::RULE,
    &hot_key::RULE,
    &co_located_keys::RULE,
    &cross_slot::RULE,
    &miss_flood::RULE,
    &memory_high::RULE,
    &evicting::RULE,
    &connections_high::RULE,
    &replication_broken::RULE,
    &pool_starved::RULE,
    &gpu_error::RULE,
    &wrong_results::RULE,
    &gpu_silent::RULE,
    &gpu_memory_leak::RULE,
    &gpu_memory_full::RULE,
    &launch_stall::RULE,
    &gpu_throttled::RULE,
    &pcie_degraded::RULE,
    &hbm_bound::RULE,
    &queue_not_compute::RULE,
    &kv_cache_pressure::RULE,
    &batch_starved::RULE,
    &compute_bound::RULE,
    &no_backpressure::RULE,
    &host_starved::RULE,
    &network_path::RULE,
    &consumer_lag::RULE,
    &checkpoint_slow::RULE,
    &feature_stale::RULE,
    &declared_limit::RULE,
    &slow_instance::RULE,
    &hit_but_slow::RULE,
    &access_changed::RULE,
    &skew::RULE,
    &surge::RULE,
    &retry_storm::RULE,
    &failover_storm::RULE,
    &fake_healthy::RULE,
    &breaker_flapping::RULE,
    &timeout_mismatch::RULE,
    &self_slow::RULE,
    &deviation::RULE,
    &recent_change::RULE,
    &expiry_forecast::RULE,
];

pub(crate) use big_key::{ID as BIG_KEY, TROUBLES as BIG_KEY_TROUBLES};
pub(crate) use business_symptom::ID as BUSINESS_SYMPTOM;
pub(crate) use co_located_keys::ID as CO_LOCATED_KEYS;
pub(crate) use command_mix::Mixes;
pub(crate) use error_shift::ID as ERROR_SHIFT;
pub(crate) use expiry_forecast::has_sample;
pub(crate) use expiry_herd::ID as EXPIRY_HERD;
pub(crate) use hit_but_slow::{
    operations as client_operations, operations_between as client_operations_between,
};
pub(crate) use hot_key::{ID as HOT_KEY, LOADED, is_named as hot_key_is_named};
pub(crate) use latency_shift::ID as LATENCY_SHIFT;
pub(crate) use network_path::Ways;
pub(crate) use pool_starved::ID as POOL_STARVED;
pub(crate) use probe_failing::ID as PROBE_FAILING;
pub(crate) use queue_not_compute::ID as QUEUE_NOT_COMPUTE;
pub(crate) use recent_change::{ID as RECENT_CHANGE, LATE as CHANGE_IS_LATE};
pub(crate) use retry_storm::ID as RETRY_STORM;

/// Rules that accuse a target of what whoever looks at it may have done himself.
pub(crate) const SEEN_FROM_HERE: &[&str] = &["node-unreachable", "slow-to-answer"];

/// The rule with this id.
pub fn by_id(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// One row of [`RULES`].
#[derive(Debug)]
pub struct Rule {
    /// The name users see and write.
    pub id: &'static str,
    /// What it means when it fires, in one line.
    pub title: &'static str,
    /// How it decides, what it cannot see, and what else it could be: the text of `headwater explain`.
    pub doc: &'static str,
    /// What to do when it names the first suspect.
    pub next: &'static str,
    /// What it is evaluated on.
    pub watches: Watches,
    /// What a finding of it is worth.
    pub nature: Nature,
    /// Whether being clear speaks for the subject. Our own timings, a log that sees execution alone, and keys
    /// that nobody looked at, do not.
    pub exonerates: bool,
    /// The part its subject has in the story.
    pub role: Role,
    /// Evaluations in a row that a breach must last before it fires, unless a counter dates it.
    pub hold: u32,
    /// The limits, each overridable in the configuration for all or for one component.
    pub thresholds: &'static [Threshold],
    /// Other explanations of the same observations.
    pub rivals: &'static [RivalRow],
    /// Ids of rules whose findings on the same subject, its parts or its whole this one explains, and those on what its
    /// breach says that it floods.
    pub absorbs: &'static [&'static str],
    /// The judgement.
    pub judge: fn(&Scene<'_>, &Subject, &Limits<'_>) -> Judgement,
}

/// What a finding of a rule is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// What callers see; it accuses nobody.
    Symptom,
    /// It names how its subject makes things slow, and convicts when there is a symptom that it explains.
    Mechanism,
    /// It supports other findings and convicts nothing alone.
    Support,
    /// A deviation without a mechanism, or a circumstance: a suspect at most.
    Circumstance,
}

impl Nature {
    /// The word for help and docs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Symptom => "symptom",
            Self::Mechanism => "mechanism",
            Self::Support => "support",
            Self::Circumstance => "circumstance",
        }
    }
}

/// A limit of a rule.
#[derive(Debug)]
pub struct Threshold {
    /// Its name in the configuration.
    pub name: &'static str,
    /// Its value unless the configuration says otherwise.
    pub default: f64,
    /// Its unit.
    pub unit: Unit,
    /// What it limits and why it is where it is.
    pub help: &'static str,
}

impl Threshold {
    /// A value of this limit as text: a ratio of one and more by default is a multiple, not a share.
    pub fn show(&self, value: f64) -> String {
        match self.unit {
            Unit::Ratio if self.default > 1.0 => quantity::times(value),
            unit => quantity::show(value, unit),
        }
    }
}

/// Another explanation of the same observations.
#[derive(Debug)]
pub struct RivalRow {
    /// Its rule id.
    pub rule: &'static str,
    /// The observation that tells the two apart.
    pub told_by: &'static str,
}

/// A rule's thresholds as they apply to one subject.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Whose thresholds.
    pub rule: &'static Rule,
    /// What was declared.
    pub settings: &'a crate::settings::Settings,
    /// The subject that is judged.
    pub subject: &'a Subject,
}

impl Limits<'_> {
    /// The threshold with this name: the component's own, else the configuration's, else the rule's default.
    pub fn of(&self, name: &str) -> f64 {
        let row = self.rule.thresholds.iter().find(|threshold| threshold.name == name);
        let own =
            self.settings.component(self.subject).and_then(|c| c.thresholds.get(self.rule.id)?.get(name));
        let general = self.settings.thresholds.get(self.rule.id).and_then(|values| values.get(name));
        own.or(general).copied().or(row.map(|row| row.default)).unwrap_or(f64::INFINITY)
    }
}

/// What a rule says of one subject at one moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// Evaluated on fresh data, and nothing is wrong; the text says what was seen.
    Clear(String),
    /// The limits are passed.
    Breach(Box<Breach>),
    /// It could not be evaluated; the text says what is missing.
    Unknown(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sound() {
        for (place, rule) in RULES.iter().enumerate() {
            assert_eq!(
                RULES.iter().filter(|other| other.id == rule.id).count(),
                1,
                "'{}' stands twice",
                rule.id
            );
            assert!(rule.hold > 0 && !rule.doc.is_empty() && !rule.next.is_empty(), "{}", rule.id);
            assert!(!rule.watches.kinds().is_empty(), "{} watches nothing", rule.id);
            for absorbed in rule.absorbs {
                assert!(by_id(absorbed).is_some(), "{} absorbs '{absorbed}', which is no rule", rule.id);
            }
            for (index, threshold) in rule.thresholds.iter().enumerate() {
                let twice = rule.thresholds[..index].iter().any(|other| other.name == threshold.name);
                assert!(!twice, "{} has two thresholds '{}'", rule.id, threshold.name);
            }
            assert!(
                place == 0 || rule.nature != Nature::Symptom || RULES[place - 1].nature == Nature::Symptom
            );
        }
    }
}
