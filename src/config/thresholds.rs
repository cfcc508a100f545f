//! Which rules and thresholds a configuration may name.

use headwater_engine::rules::{RULES, by_id};

/// The threshold names of a rule; `None` when there is no such rule.
pub(super) fn of_rule(rule: &str) -> Option<Vec<&'static str>> {
    Some(by_id(rule)?.thresholds.iter().map(|threshold| threshold.name).collect())
}

/// The ids of all rules.
pub(super) fn rule_ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).collect()
}
