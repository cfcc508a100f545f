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
            // Names with dots are ours; whatever else a page exposes has a name without.
            if metric.contains('.') && Metric::by_name(metric).is_none() {
                let known: Vec<&str> = METRICS.iter().map(|row| row.name).collect();
                document.complain(&path, unknown_name("metric", metric, &known));
            } else if !value.is_finite() || *value < 0.0 {
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
