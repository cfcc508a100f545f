//! What the parts of a component come to together.

use super::Scene;
use crate::baseline::Baseline;
use crate::metric::{
    Metric, REDIS_COMMANDS, REDIS_HITS, REDIS_MISSES, REDIS_OUR_COMMANDS, REDIS_OUR_HITS, TOLD_OF_THE_WHOLE,
};
use crate::report::BaselineFrom;
use crate::store::Seen;
use crate::subject::Subject;

/// Who tells a total.
#[derive(Clone, Copy)]
enum Teller {
    Whole,
    Parts,
}

/// Whether who tells of the whole tells more than all parts together: by more than what two counts of the same requests
/// differ by at any moment, so that the teller does not change with each look.
pub(crate) fn tells_more(whole: f64, parts: f64) -> bool {
    whole > parts * 1.1
}

impl Scene<'_> {
    /// The sum of a rate or level over `subject`'s parts that have it; `None` when no part has it fresh.
    pub fn total(&self, subject: &Subject, metric: Metric) -> Option<Seen> {
        self.total_by(subject, metric, |part| self.present(part, metric))
    }

    /// The sum of what `of` gives of a metric over `subject`'s parts, or what is told of the whole where that is more.
    pub(crate) fn total_by(
        &self,
        subject: &Subject,
        metric: Metric,
        of: impl Fn(&Subject) -> Option<Seen>,
    ) -> Option<Seen> {
        if !TOLD_OF_THE_WHOLE.contains(&metric) {
            return self.over_parts(subject, of);
        }
        self.teller(subject, of).map(|(_, total)| total)
    }

    /// Who tells most of something that is told of parts and of the whole, and how much.
    fn teller(&self, subject: &Subject, of: impl Fn(&Subject) -> Option<Seen>) -> Option<(Teller, Seen)> {
        let parts = self.over_parts(subject, |part| if part == subject { None } else { of(part) });
        let whole =
            of(subject).filter(|whole| parts.is_none_or(|parts| tells_more(whole.value, parts.value)));
        whole.map(|whole| (Teller::Whole, whole)).or(parts.map(|parts| (Teller::Parts, parts)))
    }

    /// Successful look-ups of keys by everybody but Headwater, whose scans would make a bad hit ratio look good.
    pub fn hits(&self, subject: &Subject) -> Option<Seen> {
        self.but_ours(subject, REDIS_HITS, REDIS_OUR_HITS)
    }

    /// Successful and vain look-ups of keys at a node by everybody but Headwater: whether anybody reads there.
    pub fn look_ups(&self, node: &Subject) -> Option<Seen> {
        let (hits, misses) = (self.hits(node)?, self.present(node, REDIS_MISSES)?);
        Some(Seen { value: hits.value + misses.value, ..hits })
    }

    /// Commands a second of a node, or of all parts of a subject, by everybody but Headwater.
    pub fn commands(&self, subject: &Subject) -> Option<Seen> {
        self.but_ours(subject, REDIS_COMMANDS, REDIS_OUR_COMMANDS)
    }

    /// What is left of a total without Headwater's own share of it, over all parts of a subject.
    pub fn but_ours(&self, subject: &Subject, all: Metric, ours: Metric) -> Option<Seen> {
        let others = |part: &Subject| {
            let all = self.present(part, all)?;
            let ours = self.present(part, ours).map_or(0.0, |ours| ours.value);
            Some(Seen { value: (all.value - ours).max(0.0), ..all })
        };
        self.over_parts(subject, others)
    }

    /// What is usual for [`Self::total`]: as declared or told of the whole, else the sum of what is usual for `subject`'s
    /// parts, `None` unless every part with the metric has a baseline. What is usual is asked of whoever tells the present
    /// total: a gateway that also counts what it refuses is no measure of what instances answer.
    pub fn total_baseline(&self, subject: &Subject, metric: Metric) -> Option<Baseline> {
        let own = self.baseline(subject, metric, None);
        if own.is_some_and(|own| own.from == BaselineFrom::Declared) {
            return own;
        }
        let now = || self.teller(subject, |part| self.present(part, metric));
        match TOLD_OF_THE_WHOLE.contains(&metric).then(now).flatten() {
            Some((Teller::Whole, _)) => own,
            Some((Teller::Parts, _)) => self.baseline_of_all_parts(subject, metric),
            None => own.or_else(|| self.baseline_of_all_parts(subject, metric)),
        }
    }

    fn baseline_of_all_parts(&self, subject: &Subject, metric: Metric) -> Option<Baseline> {
        let mut sum: Option<Baseline> = None;
        for (part, _) in self.world.parts(subject).filter(|(part, _)| *part != subject) {
            if self.store.points(part, metric, None).is_none() {
                continue;
            }
            let own = self.baseline(part, metric, None)?;
            sum = Some(match sum {
                None => Baseline { spread: None, ..own },
                Some(sum) => Baseline { typical: sum.typical + own.typical, ..sum },
            });
        }
        sum
    }

    /// The sum over the parts of `subject`, itself included, of what `of` gives.
    pub fn over_parts(&self, subject: &Subject, of: impl Fn(&Subject) -> Option<Seen>) -> Option<Seen> {
        Seen::sum(self.world.parts(subject).filter_map(|(part, _)| of(part)))
    }
}
