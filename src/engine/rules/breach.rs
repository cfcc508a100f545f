//! What a rule says when its limits are passed.

use super::{Judgement, RivalRow};
use crate::report::{Confidence, Evidence, KeyEvidence, Rival};
use crate::subject::Subject;
use crate::time::Moment;

/// A passed limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Breach {
    /// What, how much, against which limit.
    pub sentence: String,
    /// A few words for the chain: `#2 link full`.
    pub short: String,
    /// The numbers, the decisive one first.
    pub evidence: Vec<Evidence>,
    /// How far past the limit, as a multiple of it.
    pub severity: f64,
    /// Keys that make it so.
    pub keys: Vec<KeyEvidence>,
    /// Rivals that the observations at hand do not exclude.
    pub rivals: Vec<Rival>,
    /// The most that this breach is worth, when its observations are weaker than the rule's best.
    pub at_most: Confidence,
    /// When it began, where a counter or a log says so: then it fires at once.
    pub dated: Option<Moment>,
    /// Whether the observation alone rules out chance, so that it need not last to fire.
    pub certain: bool,
    /// Whether it was so already when Headwater first looked, so that nobody knows since when.
    pub before: bool,
    /// Whether callers lose the time for it elsewhere, where they make up for what they did not get here: then little
    /// time spent here is no sign of innocence.
    pub elsewhere: bool,
    /// Components below its subject that would have room but for the load that it makes there: what the rule absorbs
    /// is its doing on them as well.
    pub floods: Vec<Subject>,
    /// Whether some are always so and well, as memory that decoding fills: by itself it is no sign of an incident.
    pub habitual: bool,
    /// When it will hurt if it goes on so, where that is foreseen.
    pub hurts_from: Option<Moment>,
    /// What it is once it is over, where its sentence speaks of the present or of what was still to come. A later
    /// breach of the same run that has none, because less of it is seen by then, leaves what was said.
    pub over: Option<Over>,
}

/// What a breach is once it is over.
#[derive(Clone, Debug, PartialEq)]
pub struct Over {
    /// From this moment on it takes no second look to end; `None` where nobody knows beforehand.
    pub at: Option<Moment>,
    /// What is said then.
    pub sentence: String,
}

impl Breach {
    /// A breach with its decisive number.
    pub fn new(sentence: String, short: String, severity: f64, evidence: Vec<Evidence>) -> Self {
        Self {
            sentence,
            short,
            evidence,
            severity,
            keys: vec![],
            rivals: vec![],
            at_most: Confidence::High,
            dated: None,
            certain: false,
            before: false,
            elsewhere: false,
            floods: vec![],
            habitual: false,
            hurts_from: None,
            over: None,
        }
    }

    /// The same breach, known to have begun at this moment.
    pub fn dated(mut self, at: Moment) -> Self {
        self.dated = Some(at);
        self
    }

    /// The same breach, told by a counter: known to have begun at this moment, or, without one, to have been so before
    /// anybody looked.
    pub fn begun(self, at: Option<Moment>) -> Self {
        match at {
            Some(at) => self.dated(at),
            None => Self { before: true, ..self.certain() },
        }
    }

    /// The same breach, observed beyond chance.
    pub fn certain(mut self) -> Self {
        self.certain = true;
        self
    }

    /// The same breach, for which callers lose the time elsewhere.
    pub fn made_up_for_elsewhere(mut self) -> Self {
        self.elsewhere = true;
        self
    }

    /// The same breach, whose load is what these components below its subject suffer from.
    pub fn flooding(mut self, components: Vec<Subject>) -> Self {
        self.floods = components;
        self
    }

    /// The same breach, which some have every day.
    pub fn habitual(mut self) -> Self {
        self.habitual = true;
        self
    }

    /// The same breach, foreseen to hurt from this moment on.
    pub fn hurting_from(mut self, at: Option<Moment>) -> Self {
        self.hurts_from = at;
        self
    }

    /// The same breach, which is over at this moment and says so.
    pub fn over(mut self, at: Moment, sentence: String) -> Self {
        self.over = Some(Over { at: Some(at), sentence });
        self
    }

    /// The same breach, which says this once it has ended.
    pub fn once_over(mut self, sentence: String) -> Self {
        self.over = Some(Over { at: None, sentence });
        self
    }

    /// The same breach, worth no more than this.
    pub fn at_most(mut self, confidence: Confidence) -> Self {
        self.at_most = confidence;
        self
    }

    /// The same breach with a rival that is not excluded.
    pub fn with_rival(mut self, row: &RivalRow) -> Self {
        self.rivals.push(Rival { rule: row.rule.to_owned(), told_by: row.told_by.to_owned() });
        self
    }

    /// Wrapped as a judgement.
    pub fn judged(self) -> Judgement {
        Judgement::Breach(Box::new(self))
    }
}
