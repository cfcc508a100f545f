//! When all was calm, and since when nobody suffers any more.

use std::time::Duration;

use super::Engine;
use crate::rules::Nature;
use crate::time::Moment;

/// Findings that ended are kept for this long after the last symptom.
const KEPT_AFTER_SYMPTOM: Duration = Duration::from_secs(600);

impl Engine {
    /// Notes calm and symptoms, and lets go of an incident that is over.
    pub(super) fn keep_time(&mut self, now: Moment) {
        if self.findings.calm() {
            let since = self.calm.filter(|_| self.calm_lasts).map_or(now, |(since, _)| since);
            self.calm = Some((since, now));
            self.calm_lasts = true;
        } else {
            self.calm_lasts = false;
            self.disturbed = true;
        }
        let suffering = self.findings.iter().any(|finding| {
            finding.rule.nature == Nature::Symptom && finding.counts() && finding.until().is_none()
        });
        self.symptom_seen = suffering.then_some(now).or(self.symptom_seen);
        if self.symptom_seen.is_none_or(|seen| now.since(seen) > KEPT_AFTER_SYMPTOM) {
            self.findings.forget_ended(now, KEPT_AFTER_SYMPTOM);
        }
    }
}
