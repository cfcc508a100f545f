//! Numbers that say that users or the business suffer: the `[[symptom]]` tables.

use headwater_engine::metric::MetricName;
use headwater_engine::settings::BusinessSymptom;
use headwater_engine::{RemoteText, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::{Document, unknown_name};
use super::resolve::{Components, component_subject};

/// A number that says that users or the business suffer, though no latency may show it.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SymptomTable {
    /// What you call it.
    #[schemars(example = &"orders", extend("x-usual" = true))]
    pub(super) name: Option<String>,

    /// The component whose page tells it; the walk begins here.
    #[schemars(example = &"service/ranker", extend("x-usual" = true))]
    pub(super) subject: Option<String>,

    /// The metric as the page names it. Rates are summed over instances and labels; of levels the worst counts; of a
    /// histogram the 99th percentile.
    #[schemars(example = &"orders_total", extend("x-usual" = true))]
    pub(super) metric: Option<String>,

    /// Its labels as "name=value,name=value", when only these are meant.
    #[schemars(example = &"kind=paid")]
    pub(super) part: Option<String>,

    /// Above this people suffer; of a total, in events a second.
    #[schemars(example = 100.0)]
    pub(super) at_most: Option<f64>,

    /// Below this people suffer; of a total, in events a second.
    #[schemars(example = 0.1, extend("x-usual" = true))]
    pub(super) at_least: Option<f64>,
}

/// The symptoms of the file's tables.
pub(super) fn symptoms(
    tables: &[SymptomTable],
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<BusinessSymptom> {
    let known: Vec<Subject> = components.declared().cloned().collect();
    let symptoms = tables.iter().enumerate().filter_map(|(index, table)| {
        if tables[..index].iter().any(|other| other.name.is_some() && other.name == table.name) {
            let path = ["symptom", &index.to_string(), "name"];
            document.wrong(&path, "stands twice: give each [[symptom]] its own name");
        }
        let symptom = symptom(table, &index.to_string(), &known, document)?;
        components.entry(&symptom.subject);
        Some(symptom)
    });
    symptoms.collect()
}

fn symptom(
    table: &SymptomTable,
    index: &str,
    known: &[Subject],
    document: &mut Document<'_>,
) -> Option<BusinessSymptom> {
    let here = |key: &'static str| ["symptom", index, key];
    let needed = [
        ("name", &table.name, "name = \"orders\""),
        ("subject", &table.subject, "subject = \"service/ranker\""),
        ("metric", &table.metric, "metric = \"orders_total\""),
    ];
    for (key, value, example) in needed {
        if value.is_none() {
            document.complain(
                &["symptom", index],
                format!("[[symptom]] has no '{key}': write for example {example}"),
            );
            return None;
        }
    }
    let subject = component_subject(table.subject.as_deref()?, &here("subject"), document)?;
    if !known.contains(&subject) {
        let names: Vec<&str> = known.iter().map(Subject::as_str).collect();
        document.complain(&here("subject"), unknown_name("component", subject.as_str(), &names));
        return None;
    }
    super::health::complain_of_metric(table.metric.as_deref()?, &here("metric"), document);
    let limits = [("at_most", table.at_most), ("at_least", table.at_least)];
    for (key, limit) in limits {
        if limit.is_some_and(|limit| !limit.is_finite()) {
            document.wrong(&here(key), "is not a limit: write a number");
        }
    }
    match (table.at_most, table.at_least) {
        (None, None) => document.complain(
            &["symptom", index],
            "[[symptom]] has no limit: write at_most = NUMBER where more is worse, at_least = NUMBER where less is",
        ),
        (Some(most), Some(least)) if least >= most => {
            document.wrong(&here("at_least"), "leaves nothing healthy: it must lie below at_most");
        }
        _ => {}
    }
    let clean = |text: &str| RemoteText::new(text).as_str().to_owned();
    Some(BusinessSymptom {
        name: clean(table.name.as_deref()?),
        subject,
        metric: MetricName::from(table.metric.clone()?),
        part: table.part.as_deref().map(RemoteText::new),
        at_most: table.at_most,
        at_least: table.at_least,
    })
}

/// A symptom as its table.
pub(super) fn table(symptom: &BusinessSymptom) -> SymptomTable {
    SymptomTable {
        name: Some(symptom.name.clone()),
        subject: Some(symptom.subject.to_string()),
        metric: Some(symptom.metric.as_str().to_owned()),
        part: symptom.part.as_ref().map(|part| part.as_str().to_owned()),
        at_most: symptom.at_most,
        at_least: symptom.at_least,
    }
}
