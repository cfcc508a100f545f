//! Past incidents: what was seen, what it was, and what helped.

mod likeness;
mod search;
mod skeleton;

use serde::{Deserialize, Serialize};

use crate::report::{Role, ShapeKind};
use crate::rules::by_id;

pub use likeness::{Alike, Likeness, matches};
pub use search::{Hit, search};
pub use skeleton::skeleton;

/// A past incident, as its TOML file has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its id: the name of its file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What it is called.
    pub title: String,
    /// When it happened, as its teller dates it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// Where the story was told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Words to find it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The form of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeKind>,
    /// What was seen, one observation a line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<String>,
    /// What it was, from the first cause to what callers saw.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root_cause: String,
    /// What stopped it, in the order in which it was done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<String>,
    /// What was done of which nobody has said yet whether it helped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
    /// How it was known to be over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verification: Vec<String>,
    /// What keeps it from coming again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prevention: Vec<String>,
    /// What did not help, or would have made it worse.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub avoid: Vec<String>,
    /// What the rules say of such an incident.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<CaseFinding>,
}

/// A rule that fires in such an incident.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseFinding {
    /// The rule's id: one of the RULES table, or of [`UNBUILT`].
    pub rule: String,
    /// The kind of component that it fires on: `redis`, `service`; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The component's part in the story.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What was seen then, with its numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
}

/// Rules that cases may name although a version may not have them. Such a finding counts neither for nor against
/// a case; one of these that is built since is judged like every other.
pub static UNBUILT: &[&str] = &[];

/// Whether a case may name this rule.
pub fn is_rule(id: &str) -> bool {
    is_watched(id) || UNBUILT.contains(&id)
}

/// Whether this version has the rule, so that its silence means something.
pub fn is_watched(id: &str) -> bool {
    by_id(id).is_some()
}

impl Case {
    /// Its parts as they are read, in the order of their use: a label and its texts.
    pub fn parts(&self) -> Vec<(&'static str, Vec<String>)> {
        let one = |text: &str| if text.is_empty() { vec![] } else { vec![text.to_owned()] };
        let all = vec![
            ("seen", self.symptoms.clone()),
            ("was", one(&self.root_cause)),
            ("stopped by", self.fix.clone()),
            ("tried", self.tried.clone()),
            ("over when", self.verification.clone()),
            ("avoid", self.avoid.clone()),
            ("prevent", self.prevention.clone()),
            ("findings", self.findings.iter().map(CaseFinding::words).collect()),
            ("when", one(&self.when)),
            ("told in", one(&self.source)),
            ("tags", one(&self.tags.join(", "))),
        ];
        all.into_iter().filter(|(_, texts)| !texts.is_empty()).collect()
    }

    /// Changes every text of it, except its id and the ids of rules.
    pub fn map_texts(&mut self, change: impl Fn(&str) -> String) {
        let singles = [&mut self.title, &mut self.when, &mut self.source, &mut self.root_cause];
        let lists = [
            &mut self.tags,
            &mut self.symptoms,
            &mut self.fix,
            &mut self.tried,
            &mut self.verification,
            &mut self.prevention,
            &mut self.avoid,
        ];
        let seen = self.findings.iter_mut().map(|finding| &mut finding.seen);
        for text in singles.into_iter().chain(lists.into_iter().flatten()).chain(seen) {
            *text = change(text);
        }
    }
}

impl CaseFinding {
    /// `shard-bandwidth on redis: the network card full; not watched by this version`.
    pub fn words(&self) -> String {
        let on = self.on.as_ref().map(|on| format!(" on {on}")).unwrap_or_default();
        let seen = if self.seen.is_empty() { String::new() } else { format!(": {}", self.seen) };
        let unwatched = if is_watched(&self.rule) { "" } else { " (not watched by this version)" };
        format!("{}{on}{seen}{unwatched}", self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_the_future_may_be_named_and_is_said_to_be_unwatched() {
        assert!(is_rule("shard-bandwidth") && is_rule("launch-stall") && !is_rule("shard-bandwith"));
        let finding = CaseFinding { rule: "pcie-degraded".to_owned(), ..CaseFinding::default() };
        assert!(is_watched("pcie-degraded") || finding.words().contains("not watched by this version"));
        assert!(UNBUILT.is_sorted());
        let built = UNBUILT.iter().find(|id| is_watched(id));
        assert_eq!(built, None, "a rule that is built is no more in the list of those that are not");
    }
}
