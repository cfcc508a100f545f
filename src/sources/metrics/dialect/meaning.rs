//! What a number of a page means before it is one of ours: codes, states and values that are no values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::blank::NoValue;
use super::pattern::Labels;
use crate::sources::metrics::exposition::Label;

/// How the numbers of a row are understood.
#[derive(Debug)]
pub(in crate::sources::metrics) struct Meaning {
    none: NoValue,
    codes: Vec<(f64, f64)>,
    /// The bit of a mask that is meant: 1 where it is set, else 0.
    bit: Option<u32>,
    states: Option<States>,
}

/// What the states of a state set are worth.
#[derive(Debug)]
struct States {
    label: Labels,
    worth: BTreeMap<String, f64>,
}

/// The keys of a row that say what its numbers mean.
#[derive(Debug, Default)]
pub(super) struct MeaningKeys {
    pub(super) sentinels: Vec<f64>,
    pub(super) range: Option<[f64; 2]>,
    pub(super) codes: BTreeMap<String, f64>,
    pub(super) bit: Option<u32>,
    pub(super) states: Option<StatesEntry>,
}

/// `states = { label = "state", worth = { open = 1, half_open = 0.5 } }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatesEntry {
    label: String,
    worth: BTreeMap<String, f64>,
}

impl Meaning {
    /// Checks the keys; the error names the one that makes no sense, with its value and what to write.
    pub(super) fn new(keys: MeaningKeys) -> Result<Self, (&'static str, String, &'static str)> {
        let none = NoValue::new(keys.sentinels, keys.range)?;
        // A number on a page holds whole numbers up to 2^53.
        if let Some(bit) = keys.bit.filter(|bit| *bit > 52) {
            return Err(("bit", bit.to_string(), "is none of a number on a page: write 0 to 52"));
        }
        let code = |(text, means): (String, f64)| match text.parse::<f64>() {
            Ok(code) => Ok((code, means)),
            Err(_) => Err(("codes", text, "is no number: write the number of the page in quotes")),
        };
        let states = keys.states.map(|entry| States { label: Labels::new(&entry.label), worth: entry.worth });
        Ok(Self {
            none,
            codes: keys.codes.into_iter().map(code).collect::<Result<_, _>>()?,
            bit: keys.bit,
            states,
        })
    }

    /// What `value` means; `None` where it means nothing. A state that the row does not name is worth nothing, and
    /// a code that it does not name is unknown.
    pub(in crate::sources::metrics) fn of(&self, value: f64, labels: &[Label<'_>]) -> Option<f64> {
        if !value.is_finite() || self.none.has(value) {
            return None;
        }
        let value =
            if self.codes.is_empty() { value } else { self.codes.iter().find(|(code, _)| *code == value)?.1 };
        let value = match self.bit {
            Some(_) if value < 0.0 => return None,
            Some(bit) => f64::from((value as u64 >> bit & 1) as u8),
            None => value,
        };
        match &self.states {
            None => Some(value),
            Some(states) => {
                let state = states.label.of(labels)?.to_lowercase();
                Some(value * states.worth.get(&state).copied().unwrap_or(0.0))
            }
        }
    }

    /// Whether it knows of values that are no values.
    pub(in crate::sources::metrics) fn has_sentinels(&self) -> bool {
        self.none.is_known()
    }
}
