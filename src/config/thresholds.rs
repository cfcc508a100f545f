//! Which rules and thresholds a configuration may name, and which values they may have.

use headwater_engine::metric::Unit;
use headwater_engine::rules::{RULES, Threshold, by_id};

/// The thresholds of a rule; `None` when there is no such rule.
pub(super) fn of_rule(rule: &str) -> Option<&'static [Threshold]> {
    Some(by_id(rule)?.thresholds)
}

/// The ids of all rules.
pub(crate) fn rule_ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).collect()
}

/// What is wrong with a value of a threshold; completes "'link' = '70' ".
pub(super) fn wrong_value(threshold: &Threshold, value: f64) -> Option<String> {
    // A ratio whose default is above 1 is a multiple of something and has no upper end.
    let is_share = threshold.unit == Unit::Ratio && threshold.default <= 1.0;
    let is_number = value.is_finite() && value >= 0.0;
    match (is_share, is_number) {
        (true, true) if value > 1.0 && value <= 100.0 => {
            Some(format!("is a share: write {} for {value} %", value / 100.0))
        }
        (true, _) if !is_number || value > 1.0 => Some("is a share: write a number from 0 to 1".to_owned()),
        (false, false) => Some("is not a threshold: write a number from 0".to_owned()),
        _ => None,
    }
}
