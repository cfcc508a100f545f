//! Actions that stop the bleeding, each with what it costs and how it is undone.

use serde::{Deserialize, Serialize};

use super::aim::Aims;
use super::{Culprit, Places, Step};
use crate::reading::ActKind;
use crate::snapshot::Snapshot;
use crate::text::RemoteText;
use crate::time::Moment;

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
    /// Ids of the rules whose findings it helps against, those first for which it is the first to take; without any it may
    /// always be taken.
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
    /// When it was last recorded as taken since a runbook was begun; `None` while it was not.
    pub done: Option<Moment>,
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

/// The actions of a step that fit: by the order of those whom they are for (the first suspect, what keeps a loop going, the
/// other suspects, their victims), what can be taken back first, then that which names the rule the earliest, then in the
/// order of the step.
pub fn offers<'a>(step: &Step, remedies: &'a [Remedy], snapshot: &Snapshot) -> Vec<Offer<'a>> {
    let aims = Aims::of(snapshot);
    let named = step.remedies.iter().filter_map(|id| remedies.iter().find(|remedy| remedy.id == *id));
    let mut offers: Vec<((usize, bool, usize), Offer<'a>)> = named
        .filter_map(|remedy| {
            let ((place, named), culprit) = match remedy.against.is_empty() {
                true => ((aims.len(), 0), aims.first()),
                false => aims.at(remedy).map(|(rank, culprit)| (rank, Some(culprit)))?,
            };
            let places = Places::of(culprit.cloned());
            let mut offer = Offer { remedy, culprit: culprit.cloned(), places, done: None };
            offer.done = done(&offer, snapshot);
            Some(((place, !remedy.reversible, named), offer))
        })
        .collect();
    offers.sort_by_key(|(rank, _)| *rank);
    offers.into_iter().map(|(_, offer)| offer).collect()
}

/// When an action was last recorded.
fn done(offer: &Offer<'_>, snapshot: &Snapshot) -> Option<Moment> {
    let text = RemoteText::new(&offer.text());
    let taken = snapshot.acts.iter().rev().take_while(|act| !matches!(act.kind, ActKind::Runbook(_)));
    let is_this = |kind: &ActKind| {
        matches!(kind, ActKind::Remedy { subject, text: told } if *told == text
            && offer.culprit.as_ref().is_none_or(|culprit| culprit.subject == *subject))
    };
    taken.filter(|act| is_this(&act.kind)).map(|act| act.at).next()
}
