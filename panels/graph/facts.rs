//! What is known of each component and of each call, as the pictures need it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::flow::{Flow, SeenBy, critical_calls};
use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::report::{SubjectVerdict, Verdict};
use headwater_engine::wording::{flow_words, origin_words, verdict_word};
use headwater_engine::{Kind, Snapshot, Subject};
use ratatui::text::Span;

use crate::overview::facts;

/// Verdicts, flows and the critical path of one snapshot.
pub(super) struct Facts<'a> {
    pub(super) snapshot: &'a Snapshot,
    verdicts: BTreeMap<&'a Subject, &'a SubjectVerdict>,
    flows: BTreeMap<(&'a Subject, &'a Subject), &'a Flow>,
    /// The calls from the symptom down to the first suspect.
    critical: BTreeSet<(Subject, Subject)>,
    /// What was worked out before: the numbers of a deployment are looked up shard by shard.
    states: RefCell<BTreeMap<Subject, State>>,
}

/// The second row of a box: the verdict's word, and the number that tells most where there is one.
type State = (&'static str, Option<String>);

impl<'a> Facts<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self {
            snapshot,
            verdicts: snapshot.report.verdicts.iter().map(|row| (&row.subject, row)).collect(),
            flows: snapshot.flows.iter().map(|flow| ((&flow.caller, &flow.callee), flow)).collect(),
            critical: critical_calls(&snapshot.report, &snapshot.graph),
            states: RefCell::default(),
        }
    }

    pub(super) fn row(&self, subject: &Subject) -> Option<&'a SubjectVerdict> {
        self.verdicts.get(subject).copied()
    }

    /// The verdict; unknown while there is none.
    pub(super) fn verdict(&self, subject: &Subject) -> Verdict {
        self.row(subject).map_or(Verdict::Unknown, |row| row.verdict)
    }

    pub(super) fn is_critical(&self, caller: &Subject, callee: &Subject) -> bool {
        self.critical.contains(&(caller.clone(), callee.clone()))
    }

    /// Whether a component is to be looked at: accused, or on the way to who is.
    pub(super) fn is_unhealthy(&self, subject: &Subject) -> bool {
        self.verdict(subject) <= Verdict::Suspect
            || self.critical.iter().any(|(caller, callee)| caller == subject || callee == subject)
    }

    /// The component that the eye should find first: the first suspect, else who suffers.
    pub(super) fn first(&self) -> Option<Subject> {
        let report = &self.snapshot.report;
        let suspect = report.suspects.first().map(|suspect| &suspect.subject);
        let symptom = report.symptom.as_ref().map(|symptom| &symptom.subject);
        suspect.or(symptom).map(Subject::component_of)
    }

    /// The second row of a box.
    pub(super) fn state(&self, subject: &Subject) -> State {
        if let Some(known) = self.states.borrow().get(subject) {
            return known.clone();
        }
        let row = self.row(subject).filter(|row| row.age_s.is_some());
        let number = row.and_then(|row| facts(row, self.snapshot).into_iter().next()).map(|(text, _)| text);
        let state = (verdict_word(self.verdict(subject)), number);
        self.states.borrow_mut().insert(subject.clone(), state.clone());
        state
    }

    /// The cells that a box would like.
    pub(super) fn width(&self, subject: &Subject) -> u16 {
        let (word, number) = self.state(subject);
        let state = number.map_or(0, |number| cells(&number) + 1) + cells(word);
        u16::try_from(2 + cells(name(subject)).max(state)).unwrap_or(u16::MAX)
    }

    /// What goes on a call, from the longest words to the shortest.
    pub(super) fn words(&self, caller: &Subject, callee: &Subject) -> Vec<String> {
        let Some(flow) = self.flows.get(&(caller, callee)) else { return vec![] };
        let rate = flow.rate.map(|rate| show(rate, Unit::PerSecond));
        let failing = flow.failing.filter(|share| *share > 0.0).map(|share| show(share, Unit::Ratio));
        let latency = flow.latency.filter(|(_, seen_by)| *seen_by != SeenBy::CalleeOfAll);
        let latency = latency.map(|(p99, _)| format!("{}{}", p99.sign(), show(p99.number(), Unit::Seconds)));
        let joined =
            |texts: [Option<&String>; 3]| texts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
        let failing = failing.map(|share| format!("{share} err"));
        let mut words = vec![
            joined([rate.as_ref(), failing.as_ref(), latency.as_ref()]),
            joined([failing.as_ref(), latency.as_ref(), None]),
            joined([rate.as_ref(), None, None]),
        ];
        words.retain(|text| !text.is_empty());
        words
    }

    /// A call in a sentence: how it is known, what goes on it, and who says so.
    pub(super) fn sentence(&self, caller: &Subject, callee: &Subject) -> Option<String> {
        let edge = self.snapshot.graph.edge(caller, callee)?;
        let mut texts = vec![origin_words(edge.origin).to_owned()];
        match self.flows.get(&(caller, callee)) {
            Some(flow) => {
                texts.extend(flow_words(flow));
            }
            None if self.snapshot.gone_back_from.is_some() => {
                texts.push("its numbers are not kept".to_owned())
            }
            None => texts.push("no numbers on the way".to_owned()),
        }
        if self.is_critical(caller, callee) {
            texts.push("on the critical path".to_owned());
        }
        Some(format!("{} -> {}: {}", name(caller), name(callee), texts.join(", ")))
    }
}

/// The name in a box: services without their kind, as most are services.
pub(super) fn name(subject: &Subject) -> &str {
    if subject.kind() == Kind::Service { subject.name() } else { subject.as_str() }
}

/// The cells that a text takes.
pub(super) fn cells(text: &str) -> usize {
    Span::raw(text).width()
}
