//! What those do who call: whether they suffer, and how long they wait for an answer.

use super::Scene;
use crate::findings::State;
use crate::metric::{CLIENT_TIMEOUT, UPSTREAM_TIMEOUT};
use crate::rules::{LATENCY_SHIFT, Nature, RULES};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

/// How long somebody waits for an answer.
#[derive(Clone, Debug)]
pub(crate) struct Patience {
    /// Seconds; of a declared one the moment is the present.
    pub(crate) seconds: Seen,
    /// For which upstream, where that is told apart.
    pub(crate) upstream: Option<RemoteText>,
}

impl Scene<'_> {
    /// Whether anything that callers feel stirs at a component or above it.
    pub(crate) fn callers_suffer(&self, component: &Subject) -> bool {
        let symptoms: Vec<&str> =
            RULES.iter().filter(|rule| rule.nature == Nature::Symptom).map(|rule| rule.id).collect();
        self.graph.above(component).keys().any(|caller| self.findings.stirring(&symptoms, caller))
    }

    /// Whether callers of a component are seen to be well: the time that they wait is known and as it should be, and nothing
    /// that they feel stirs.
    pub(crate) fn callers_are_well(&self, component: &Subject) -> bool {
        let above = self.graph.above(component);
        let is_seen = self.findings.iter().any(|finding| {
            finding.rule.id == LATENCY_SHIFT
                && matches!(finding.state, State::Clear(_))
                && above.contains_key(&finding.subject)
        });
        is_seen && !self.callers_suffer(component)
    }

    /// How long a component waits for what it calls: the declared time-out, else what its pages tell.
    pub(crate) fn patience(&self, component: &Subject) -> Vec<Patience> {
        let declared = self.settings.component(component).and_then(|declared| declared.timeout);
        if let Some(timeout) = declared {
            let seconds = Seen { value: timeout.as_secs_f64(), at: self.now };
            return vec![Patience { seconds, upstream: None }];
        }
        let metric = if component.kind() == Kind::Client { CLIENT_TIMEOUT } else { UPSTREAM_TIMEOUT };
        let told = self.told(component, metric).into_iter();
        told.filter_map(|told| {
            let seconds = self.latest_part(&told.by, metric, told.part.as_ref())?;
            Some(Patience { seconds, upstream: told.part })
        })
        // Nought is usually written for a time-out that is switched off.
        .filter(|patience| patience.seconds.value > 0.0)
        .collect()
    }

    /// Whether it is known how long a component waits.
    pub(crate) fn has_patience(&self, component: &Subject) -> bool {
        let is_declared =
            self.settings.component(component).is_some_and(|declared| declared.timeout.is_some());
        is_declared || [CLIENT_TIMEOUT, UPSTREAM_TIMEOUT].iter().any(|metric| self.tells(component, *metric))
    }
}
