//! Actions that stop the bleeding, each with what it costs and how it is undone.

use serde::{Deserialize, Serialize};

use super::culprit::{Culprit, of};
use super::{Places, Step};
use crate::snapshot::Snapshot;

/// An action. Headwater takes none itself: it says what helps, what it risks, and which command does it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remedy {
    /// Its id: the name of its file.
    #[serde(default)]
    pub id: String,
    /// What to do, in one sentence.
    pub text: String,
    /// What it changes, and how soon.
    pub effect: String,
    /// What may go wrong.
    pub risk: String,
    /// How it is taken back.
    pub undo: String,
    /// What must be so before it is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// A command to copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Whether it can be taken back within a minute.
    pub reversible: bool,
    /// Ids of the rules whose findings it helps against; without any it may always be taken.
    #[serde(default, rename = "for")]
    pub against: Vec<String>,
}

impl Remedy {
    /// Replaces every text by what this makes of it.
    pub fn map_texts(&mut self, map: impl Fn(&str) -> String) {
        let Self { text, effect, risk, undo, gate, command, .. } = self;
        let all = [text, effect, risk, undo].into_iter().chain(gate).chain(command);
        all.for_each(|text| *text = map(text));
    }
}

/// An action that fits what was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer<'a> {
    /// The action.
    pub remedy: &'a Remedy,
    /// Whom it is aimed at; `None` when nobody is accused and it may always be taken.
    pub culprit: Option<Culprit>,
    /// What its placeholders stand for.
    pub places: Places,
}

impl Offer<'_> {
    /// What to do, with its placeholders filled.
    pub fn text(&self) -> String {
        self.places.fill(&self.remedy.text)
    }

    /// The command, or why it is not complete; `None` where there is none.
    pub fn command(&self) -> Option<Result<String, String>> {
        self.remedy.command.as_deref().map(|command| self.places.command(command))
    }
}

/// The actions of a step that fit: by the order of the suspects, what can be taken back first, then in the order of
/// the step, whose author has ranked them.
pub fn offers<'a>(step: &Step, remedies: &'a [Remedy], snapshot: &Snapshot) -> Vec<Offer<'a>> {
    let suspects: Vec<Culprit> =
        snapshot.report.suspects.iter().map(|suspect| of(suspect, snapshot)).collect();
    let named = step.remedies.iter().filter_map(|id| remedies.iter().find(|remedy| remedy.id == *id));
    let mut offers: Vec<(usize, bool, Offer<'a>)> = named
        .filter_map(|remedy| {
            let helps = |culprit: &Culprit| remedy.against.iter().any(|rule| culprit.rules.contains(rule));
            let place = match remedy.against.is_empty() {
                true => suspects.len(),
                false => suspects.iter().position(helps)?,
            };
            let culprit = suspects.get(place).or(suspects.first()).cloned();
            let places = Places::of(culprit.clone());
            Some((place, !remedy.reversible, Offer { remedy, culprit, places }))
        })
        .collect();
    offers.sort_by_key(|(place, is_final, _)| (*place, *is_final));
    offers.into_iter().map(|(.., offer)| offer).collect()
}
