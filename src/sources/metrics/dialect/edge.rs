//! The two ends of a way, by the labels of a series.

use std::collections::BTreeMap;

use headwater_engine::graph::named;
use headwater_engine::{Kind, Subject};
use serde::Deserialize;

use super::pattern::Labels;
use crate::sources::metrics::exposition::Label;

/// Which labels name caller and callee, and what kind of thing the callee is.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::sources::metrics) struct Ends {
    caller: String,
    callee: String,
    /// The label that tells the kind of the callee.
    kind: Option<String>,
    /// Our kinds by the values of that label; a callee of any other value is a service.
    #[serde(default)]
    kinds: BTreeMap<String, String>,
}

impl Ends {
    /// The way that a series is about; `None` where a label is missing or empty.
    pub(in crate::sources::metrics) fn way(&self, labels: &[Label<'_>]) -> Option<Subject> {
        let of = |name: &str| Labels::new(name).of(labels).filter(|value| !value.trim().is_empty());
        let (caller, callee) = (of(&self.caller)?, of(&self.callee)?);
        let kind = self.kind.as_deref().and_then(of).and_then(|value| self.kinds.get(value));
        let kind = kind.and_then(|word| Kind::from_word(word)).unwrap_or(Kind::Service);
        Some(Subject::edge(&named(Kind::Service, caller), &named(kind, callee)))
    }
}
