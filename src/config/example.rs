//! What is generated from the file's types: the JSON schema, the commented example, the effective configuration.

use std::fmt::Write;

use headwater_engine::Settings;
use headwater_engine::settings::Workload;
use serde_json::{Map, Value};

use super::file::{ComponentTable, ConfigFile, WorkloadName};
use super::value::{Size, Span};

/// The JSON schema of the configuration file, pretty-printed.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ConfigFile);
    serde_json::to_string_pretty(&schema).expect("a schema is plain JSON") + "\n"
}

/// A commented example of the configuration file: the usual keys in use, all others commented out.
pub fn example() -> String {
    let schema = schemars::schema_for!(ConfigFile);
    let root = schema.as_value();
    let mut text = String::new();
    push_comment(&mut text, "", root["description"].as_str().unwrap_or_default());
    push_keys(&mut text, root, root, "");
    text
}

/// Writes plain keys first and tables after them, as TOML demands.
fn push_keys(text: &mut String, root: &Value, object: &Value, path: &str) {
    let empty = Map::new();
    let properties = object["properties"].as_object().unwrap_or(&empty);
    for (key, property) in properties.iter().filter(|(_, property)| table_of(root, property).is_none()) {
        text.push('\n');
        push_comment(text, "", property["description"].as_str().unwrap_or_default());
        let usual = if property["x-usual"] == Value::Bool(true) { "" } else { "# " };
        let value = property["examples"].get(0).unwrap_or(&Value::Null);
        let _ = writeln!(text, "{usual}{key} = {}", inline(value));
    }
    for (key, property) in properties {
        let Some((table, is_list)) = table_of(root, property) else { continue };
        text.push('\n');
        push_comment(text, "", property["description"].as_str().unwrap_or_default());
        let keys = table["properties"].as_object().unwrap_or(&empty);
        let is_usual = keys.values().any(|key| key["x-usual"] == Value::Bool(true));
        let usual = if is_usual { "" } else { "# " };
        let (open, close) = if is_list { ("[[", "]]") } else { ("[", "]") };
        let _ = writeln!(text, "{usual}{open}{path}{key}{close}");
        push_keys(text, root, table, path);
    }
}

/// The schema of the table that a property is, or of the tables that it lists, and whether it lists them.
fn table_of<'a>(root: &'a Value, property: &'a Value) -> Option<(&'a Value, bool)> {
    let listed = property["items"]["$ref"].as_str();
    // One that may be absent is said to be a table or nothing.
    let reference = listed.or_else(|| property["anyOf"][0]["$ref"].as_str())?;
    let table = root.pointer(reference.strip_prefix('#')?)?;
    table["properties"].is_object().then_some((table, listed.is_some()))
}

fn push_comment(text: &mut String, indent: &str, comment: &str) {
    for line in comment.lines() {
        let _ = writeln!(text, "{indent}# {line}");
    }
}

/// A JSON value as inline TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let bare = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| {
                    let key = if bare(key) { key.clone() } else { format!("\"{key}\"") };
                    format!("{key} = {}", inline(value))
                })
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// The configuration as it takes effect; the addresses in `file` hold no secret any more.
pub(super) fn effective(file: &ConfigFile, settings: &Settings) -> String {
    let shown = ConfigFile {
        name: Some(settings.name.clone()),
        interval: Some(Span(settings.interval)),
        store_budget: Some(Size(settings.store_budget as u64)),
        proxy: file.proxy.clone(),
        redis: file.redis.clone(),
        metrics: file.metrics.clone(),
        discovery: file.discovery.clone(),
        probe: file.probe.clone(),
        log: file.log.clone(),
        prometheus: file.prometheus.clone(),
        graph: file.graph.clone(),
        changes: file.changes.clone(),
        canary: file.canary.clone(),
        local: file.local.clone(),
        component: settings
            .components
            .iter()
            .map(|component| ComponentTable {
                subject: Some(component.subject.to_string()),
                depends_on: component.depends_on.iter().map(ToString::to_string).collect(),
                objective_p99: component.objective_p99.map(Span),
                timeout: component.timeout.map(Span),
                stages: component.stages.iter().map(|(stage, on)| (stage.clone(), on.to_string())).collect(),
                workload: component.workload.map(|workload| match workload {
                    Workload::Images => WorkloadName::Images,
                    Workload::Text => WorkloadName::Text,
                }),
                baselines: component.baselines.clone(),
                alerts: component.alerts.clone(),
                aliases: component.aliases.iter().map(ToString::to_string).collect(),
                thresholds: component.thresholds.clone(),
            })
            .collect(),
        symptom: settings.symptoms.iter().map(super::symptom::table).collect(),
        thresholds: settings.thresholds.clone(),
    };
    toml::to_string(&shown).expect("a configuration that was read can be written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_example_is_a_configuration_with_and_without_its_comments() {
        let config = Config::parse(&example(), "example").unwrap();
        assert_eq!((config.redis.len(), config.metrics.len()), (1, 1));
        // Every key that is commented out is one that exists, with a value of its form.
        let all: String = example()
            .lines()
            .map(|line| {
                let is_toml = |rest: &&str| rest.contains(" = ") || rest.starts_with('[');
                line.strip_prefix("# ").filter(is_toml).unwrap_or(line).to_owned() + "\n"
            })
            .collect();
        let file: ConfigFile = toml::from_str(&all).unwrap();
        assert!(file.redis[0].password_env.is_some() && !file.thresholds.is_empty());
        assert_eq!(file.local.and_then(|local| local.gpu), Some(true));
    }

    #[test]
    fn what_is_printed_can_be_read_and_means_the_same() {
        let config = Config::parse(&example(), "example").unwrap();
        let again = Config::parse(&config.print(), "printed").unwrap();
        assert_eq!(config.settings, again.settings);
    }
}
