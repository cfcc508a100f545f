//! What the operator did.

use serde::{Deserialize, Serialize};

use super::hot::KeyMethod;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// What the operator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperatorAct {
    /// When.
    pub at: Moment,
    /// What.
    pub kind: ActKind,
}

/// The sorts of operator acts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActKind {
    /// A mark on the time axis.
    Mark(RemoteText),
    /// A note for the write-up.
    Note(RemoteText),
    /// The runbook with this id was opened: its clock begins.
    Runbook(RemoteText),
    /// A step of a runbook was answered.
    Step(StepAct),
    /// A scan of this shard for big keys was allowed.
    Scan(Subject),
    /// A search of this shard for hot keys was allowed.
    Search {
        /// The shard.
        shard: Subject,
        /// The way that was allowed.
        method: KeyMethod,
    },
    /// The operator says that he took this action on this subject; Headwater itself changes nothing.
    Remedy {
        /// On what.
        subject: Subject,
        /// What was done.
        text: RemoteText,
    },
}

/// An answer to a step of a runbook. It says in words what was seen, so that a recording tells the story without the
/// runbook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepAct {
    /// The runbook's id.
    pub runbook: RemoteText,
    /// The step's id within it.
    pub step: RemoteText,
    /// The step's title.
    pub title: RemoteText,
    /// The answer.
    pub answer: StepAnswer,
    /// What the checks came to at that moment.
    #[serde(default)]
    pub found: Found,
    /// What each check of the step said at that moment, with its number.
    pub seen: Vec<RemoteText>,
}

/// What the checks of a step come to together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Every check passed on fresh data.
    Good,
    /// At least one check failed on fresh data.
    Bad,
    /// None failed, and not all could be seen.
    #[default]
    Unknown,
}

impl Found {
    /// The word for screens and reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Unknown => "unknown",
        }
    }
}

/// The answers to a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAnswer {
    /// What the checks came to was seen and is agreed with: good, bad, or that it is not known.
    Confirmed,
    /// The operator knows better than the checks, for this reason.
    Overridden(RemoteText),
    /// The step was left out, for this reason.
    Skipped(RemoteText),
    /// An earlier answer was taken back.
    Reopened,
}

impl StepAct {
    /// The answer in words: `confirmed bad`, `left unknown`, `skipped: no time`.
    pub fn answer_words(&self) -> String {
        match &self.answer {
            // Who confirms what is not seen has seen that it is not.
            StepAnswer::Confirmed if self.found == Found::Unknown => "left unknown".to_owned(),
            StepAnswer::Confirmed => format!("confirmed {}", self.found.word()),
            StepAnswer::Overridden(why) => format!("overridden: {why}"),
            StepAnswer::Skipped(why) => format!("skipped: {why}"),
            StepAnswer::Reopened => "taken back".to_owned(),
        }
    }
}

impl ActKind {
    /// The same act with each of its texts changed, ids left as they are.
    pub fn map_texts(self, change: impl Fn(&str) -> String) -> Self {
        let change = |text: RemoteText| RemoteText::new(&change(text.as_str()));
        match self {
            Self::Mark(text) => Self::Mark(change(text)),
            Self::Note(text) => Self::Note(change(text)),
            unspoken @ (Self::Runbook(_) | Self::Scan(_) | Self::Search { .. }) => unspoken,
            Self::Remedy { subject, text } => Self::Remedy { subject, text: change(text) },
            Self::Step(step) => {
                let answer = match step.answer {
                    StepAnswer::Overridden(why) => StepAnswer::Overridden(change(why)),
                    StepAnswer::Skipped(why) => StepAnswer::Skipped(change(why)),
                    plain => plain,
                };
                let seen = step.seen.into_iter().map(&change).collect();
                Self::Step(StepAct { answer, seen, ..step })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_that_somebody_typed_is_changed_and_no_id() {
        let step = StepAct {
            runbook: "dependencies-first".into(),
            step: "2".into(),
            title: "shards".into(),
            answer: StepAnswer::Overridden("secret".into()),
            found: Found::Bad,
            seen: vec!["secret".into()],
        };
        let acts = [
            ActKind::Mark("secret".into()),
            ActKind::Note("secret".into()),
            ActKind::Remedy { subject: "redis/a".parse().unwrap(), text: "secret".into() },
            ActKind::Step(StepAct { answer: StepAnswer::Skipped("secret".into()), ..step.clone() }),
            ActKind::Step(step),
        ];
        for act in acts {
            let told = format!("{:?}", act.map_texts(|text| text.replace("secret", "***")));
            assert!(told.contains("***") && !told.contains("secret"), "{told}");
        }
        assert_eq!(ActKind::Runbook("id".into()).map_texts(|_| "x".into()), ActKind::Runbook("id".into()));
    }
}
