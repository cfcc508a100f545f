//! When nothing happens from which what is healthy could not be learned.

use super::{Finding, Findings, State};
use crate::report::Confidence;
use crate::rules::{Nature, Rule};

impl Findings {
    /// Whether nothing at all is pending or firing, or has fired, and callers are seen to be well where any are watched:
    /// while too few requests were seen to tell, an incident that is older than this run looks like nothing.
    pub fn calm(&self) -> bool {
        // One that exonerates nobody, such as a probe that is answered, saw no caller.
        let sees_callers = |rule: &Rule| rule.nature == Nature::Symptom && rule.exonerates;
        let symptoms = || self.iter().filter(|finding| sees_callers(finding.rule));
        let is_seen =
            symptoms().next().is_none() || symptoms().any(|finding| matches!(finding.state, State::Clear(_)));
        is_seen && !self.iter().any(Finding::disturbs)
    }
}

impl Finding {
    /// Whether it may be a part of an incident. What is worth a suspicion at most and was so when anybody first looked, or is so
    /// for some every day, is the life of its subject, and no reason to learn nothing of what callers see.
    fn disturbs(&self) -> bool {
        let is_usual = self.rule.nature != Nature::Symptom
            && self.breach.as_ref().is_some_and(|breach| {
                breach.at_most == Confidence::Low && (breach.habitual || self.since.before)
            });
        !is_usual && (self.counts() || self.state == State::Pending)
    }
}
