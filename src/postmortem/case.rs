//! `case.json`: what hurts, when all was well, and when it hurt.

use std::path::Path;

use headwater_engine::RemoteText;
use serde_json::Value;

use super::PostmortemError;
use crate::written_moment::{EXPECTED, of_number, of_text};

/// What `case.json` says.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) subject: RemoteText,
    pub(super) metric: RemoteText,
    pub(super) baseline: (f64, f64),
    pub(super) window: (f64, f64),
}

impl Case {
    pub(super) fn read(path: &Path) -> Result<Self, PostmortemError> {
        let text = std::fs::read_to_string(path)
            .map_err(|reason| PostmortemError::File { path: path.to_owned(), reason })?;
        let value: Value = serde_json::from_str(&text).map_err(|error| PostmortemError::Broken {
            path: path.to_owned(),
            place: format!("line {}, column {}", error.line(), error.column()),
            found: "this is no JSON".to_owned(),
            expected: "an object with 'symptom', 'baseline' and 'window' is expected".to_owned(),
        })?;
        let key = Key { path, value: &value };
        // When the alert rang is of no use to the ranking, but exporters write it, and nonsense there is worth a word.
        key.moment_or_none("alert_at")?;
        Ok(Self {
            subject: key.text("symptom", "subject", "the component at which the symptom is seen")?,
            metric: key.text("symptom", "metric", "the metric that shows it, as in metrics.csv")?,
            baseline: key.span("baseline")?,
            window: key.span("window")?,
        })
    }
}

/// Reads values by their keys and complains with them.
struct Key<'a> {
    path: &'a Path,
    value: &'a Value,
}

impl Key<'_> {
    fn text(&self, outer: &str, inner: &str, what: &str) -> Result<RemoteText, PostmortemError> {
        let value = &self.value[outer][inner];
        value.as_str().filter(|text| !text.is_empty()).map(RemoteText::new).ok_or_else(|| {
            self.broken(&format!("{outer}.{inner}"), value, &format!("a text is expected: {what}"))
        })
    }

    /// Two moments, the earlier one first.
    fn span(&self, name: &str) -> Result<(f64, f64), PostmortemError> {
        let value = &self.value[name];
        match (moment(&value[0]), moment(&value[1]), value.as_array().map(Vec::len)) {
            (Some(from), Some(to), Some(2)) if from <= to => Ok((from, to)),
            _ => Err(self.broken(
                name,
                value,
                &format!("two moments are expected, the earlier one first: [from, to], each in {EXPECTED}"),
            )),
        }
    }

    /// A moment, or nothing at all.
    fn moment_or_none(&self, name: &str) -> Result<(), PostmortemError> {
        let value = &self.value[name];
        if value.is_null() || moment(value).is_some() {
            return Ok(());
        }
        Err(self.broken(name, value, &format!("a moment is expected, or no such key: {EXPECTED}")))
    }

    fn broken(&self, key: &str, value: &Value, expected: &str) -> PostmortemError {
        let found = match value {
            Value::Null => "it is missing".to_owned(),
            value => format!("{value:.80} cannot be used"),
        };
        PostmortemError::Broken {
            path: self.path.to_owned(),
            place: format!("key '{key}'"),
            found: RemoteText::new(&found).as_str().to_owned(),
            expected: expected.to_owned(),
        }
    }
}

fn moment(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().and_then(of_number),
        Value::String(text) => of_text(text),
        _ => None,
    }
}
