//! What is known of a component's health and names: what it answers with, healthy values, alerts, aliases.

use headwater_engine::Subject;
use headwater_engine::metric::{METRICS, Metric};
use headwater_engine::settings::{Component, Workload};

use super::file::{ComponentTable, WorkloadName};
use super::place::{Document, unknown_name};
use super::resolve::{Components, component_subject};

/// Takes what a table says of its component's health and names.
pub(super) fn declare(
    table: &ComponentTable,
    index: &str,
    declared: &mut Component,
    document: &mut Document<'_>,
) {
    for (key, values, what) in [
        ("baselines", &table.baselines, "is not a healthy value: write a number from 0"),
        ("alerts", &table.alerts, "is not a value that a metric can have: write a number from 0"),
    ] {
        for (metric, value) in values {
            let path = ["component", index, key, metric];
            if !complain_of_metric(metric, &path, document) && (!value.is_finite() || *value < 0.0) {
                document.wrong(&path, what);
            }
        }
    }
    declared.baselines.clone_from(&table.baselines);
    declared.alerts.clone_from(&table.alerts);
    declared.workload = table.workload.map(|name| match name {
        WorkloadName::Images => Workload::Images,
        WorkloadName::Text => Workload::Text,
    });
    for (position, alias) in table.aliases.iter().enumerate() {
        let position = position.to_string();
        let path = ["component", index, "aliases", &position];
        match component_subject(alias, &path, document) {
            Some(alias) if alias == declared.subject => document.wrong(&path, "is its own name: remove it"),
            Some(alias) => declared.aliases.push(alias),
            None => {}
        }
    }
}

/// Complains about a name that no metric can have; whether it did.
pub(super) fn complain_of_metric(metric: &str, path: &[&str], document: &mut Document<'_>) -> bool {
    // Names with dots are ours; whatever else a page exposes has a name without.
    if metric.contains('.') {
        if Metric::by_name(metric).is_some() {
            return false;
        }
        let known: Vec<&str> = METRICS.iter().map(|row| row.name).collect();
        document.complain(path, unknown_name("metric", metric, &known));
        return true;
    }
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let is_name = metric.chars().all(is_of_name) && !metric.starts_with(|c: char| c.is_ascii_digit());
    if metric.is_empty() || !is_name {
        let sentence =
            format!("'{metric}' is no name of a metric: write it as the page does, without labels");
        document.complain(path, sentence);
        return true;
    }
    false
}

/// Complains about an alias that is a component of its own, or another component's alias too.
pub(super) fn complain_of_aliases(
    tables: &[ComponentTable],
    components: &Components,
    document: &mut Document<'_>,
) {
    for (index, table) in tables.iter().enumerate() {
        for (position, alias) in table.aliases.iter().enumerate() {
            let path = ["component", &index.to_string(), "aliases", &position.to_string()];
            let is_declared = components.declared().map(Subject::as_str).any(|known| known == alias);
            let others = tables.iter().filter(|other| other.subject != table.subject);
            if is_declared && table.subject.as_ref() != Some(alias) {
                document.wrong(&path, "is a component of its own: keep one of the two names");
            } else if others.flat_map(|other| &other.aliases).any(|other| other == alias) {
                document.wrong(&path, "is an alias of two components: keep it at one");
            }
        }
    }
}
