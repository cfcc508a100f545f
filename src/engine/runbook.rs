//! Runbooks: what to ask in which order, what good looks like, and what to do.
//!
//! A runbook is a plain value that the application reads from TOML. Its checks evaluate themselves against a snapshot;
//! how far somebody has come in it follows from the acts that are recorded, so it replays and goes back in time.

mod accused;
mod aim;
mod check;
mod clock;
mod culprit;
mod fit;
mod measures;
mod placeholder;
mod progress;
mod recovery;
mod remedy;

use serde::{Deserialize, Serialize};

pub use check::{CheckState, Outcome, evaluate, found};
pub use clock::{Clock, GOLDEN, Piece, clock};
pub use culprit::{Culprit, culprit};
pub use fit::{Fit, fit, ranked};
pub use measures::{field_names, fields, parse_expectation, parse_subjects};
pub use placeholder::{PLACEHOLDERS, Places, placeholders_in};
pub use progress::{Answer, Progress, Standing, progress};
pub use recovery::{Recovery, recovery};
pub use remedy::{Offer, Remedy, offers};

/// A list of questions in the order in which they are asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runbook {
    /// Its id: the name of its file.
    #[serde(default)]
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What it is for, in one or two sentences.
    pub about: String,
    /// Ids of the rules that call for it; without any it always applies.
    #[serde(default)]
    pub when: Vec<String>,
    /// The steps.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// One question of a runbook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its id within the runbook, as people say it: `2.4`.
    pub id: String,
    /// A few words for the list of steps.
    pub title: String,
    /// The question that it answers.
    pub question: String,
    /// Why that matters, for whoever has never seen such an incident.
    pub why: String,
    /// The panel that shows it.
    pub panel: String,
    /// The filter in force on that panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// What must be so.
    #[serde(default, rename = "check")]
    pub checks: Vec<Check>,
    /// What good looks like, and what the numbers mean.
    pub good: String,
    /// What to do when it is bad.
    pub if_bad: String,
    /// What to do when it is good.
    pub if_good: String,
    /// The step to go to when it was confirmed bad; without it the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_leads_to: Option<String>,
    /// Ids of the actions that may help here.
    #[serde(default)]
    pub remedies: Vec<String>,
    /// What not to do, each with its reason.
    #[serde(default)]
    pub avoid: Vec<String>,
    /// Which of the golden five minutes it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub golden: Option<Piece>,
}

/// Something that evaluates itself: rules, an expression over metrics, or a question to the whole snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What is so when it passes, in a few words.
    pub says: String,
    /// Ids of rules that must be clear on every subject that they watch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// What must hold of every subject that has these metrics, in the grammar of filters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<String>,
    /// The subjects that are asked, with `*` for anything; all without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// What is asked of everything together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Asks>,
}

/// Questions to a whole snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// Whether callers are as usual: the form of the failure.
    Shape,
    /// Which services and instances are hit.
    Scope,
    /// Whether nothing was changed in the day before it began.
    Changes,
    /// Whether an action was taken since the runbook was begun.
    Action,
    /// Whether callers have what is usual again, for a minute.
    Recovery,
}

impl Step {
    /// Whether one of its checks asks this of the whole snapshot.
    pub fn asks(&self, what: Asks) -> bool {
        self.checks.iter().any(|check| check.asks == Some(what))
    }
}

impl Runbook {
    /// The place of the step with this id.
    pub fn step(&self, id: &str) -> Option<usize> {
        self.steps.iter().position(|step| step.id == id)
    }

    /// Replaces every text by what this makes of it.
    pub fn map_texts(&mut self, map: impl Fn(&str) -> String) {
        let each = |text: &mut String| *text = map(text);
        [&mut self.title, &mut self.about].into_iter().for_each(each);
        for step in &mut self.steps {
            let Step { id, title, question, why, good, if_bad, if_good, filter, avoid, checks, .. } = step;
            [id, title, question, why, good, if_bad, if_good]
                .into_iter()
                .chain(filter)
                .chain(avoid)
                .for_each(each);
            for check in checks {
                std::iter::once(&mut check.says).chain(&mut check.expect).chain(&mut check.on).for_each(each);
            }
        }
    }
}

#[cfg(test)]
mod tests;
