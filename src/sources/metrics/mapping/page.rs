//! A page by its families, as dialects look them up.

use std::borrow::Cow;
use std::collections::HashMap;

use headwater_engine::metric::Form;

use crate::sources::metrics::dialect::{Dialect, Naming, Pattern, Row, key_of};
use crate::sources::metrics::exposition::{Exposition, FamilyKind, Label};

/// A page with what is needed to look families up.
pub(super) struct Page<'p, 'a> {
    pub(super) exposition: &'p Exposition<'a>,
    /// The samples of each family, as places on the page.
    pub(super) samples: Vec<Vec<u32>>,
    /// The key of each family.
    pub(super) keys: Vec<Cow<'p, str>>,
    by_key: HashMap<Cow<'p, str>, Vec<usize>>,
}

impl<'p, 'a> Page<'p, 'a> {
    pub(super) fn new(exposition: &'p Exposition<'a>) -> Self {
        let samples = exposition.by_family();
        let keys: Vec<_> = exposition.families.iter().map(|family| key_of(&family.name)).collect();
        let mut by_key: HashMap<_, Vec<usize>> = HashMap::new();
        for (family, key) in keys.iter().enumerate().filter(|(family, _)| !samples[*family].is_empty()) {
            by_key.entry(key.clone()).or_default().push(family);
        }
        Self { exposition, samples, keys, by_key }
    }

    /// The labels of the series of a family, each by what the label that `naming` joins by says; of several with one
    /// value the first counts.
    pub(super) fn labels_by_joint<'s>(
        &'s self,
        family: &Pattern,
        naming: &Naming,
    ) -> HashMap<&'s str, &'s [Label<'a>]> {
        let mut found = HashMap::new();
        for at in self.matching(family).first().into_iter().flat_map(|family| &self.samples[*family]) {
            let labels = self.exposition.labels(&self.exposition.samples[*at as usize]);
            if let Some(joint) = naming.joint(labels) {
                found.entry(joint).or_insert(labels);
            }
        }
        found
    }

    /// The families with samples that a pattern fits, in the order of the page.
    pub(super) fn matching(&self, pattern: &Pattern) -> Vec<usize> {
        match pattern.literal() {
            Some(key) => self.by_key.get(key).cloned().unwrap_or_default(),
            None => (0..self.keys.len())
                .filter(|family| !self.samples[*family].is_empty() && pattern.fits(&self.keys[*family]))
                .collect(),
        }
    }

    /// The labels of the first series of a family; none when the page has not got it.
    pub(super) fn first_labels(&self, family: &Pattern) -> &[Label<'_>] {
        let first = self.matching(family).first().and_then(|family| self.samples[*family].first());
        first.map_or(&[], |at| self.exposition.labels(&self.exposition.samples[*at as usize]))
    }

    /// The families that a row names, best first; those that keep no buckets come after those that do.
    pub(super) fn candidates(&self, row: &Row) -> Vec<usize> {
        let mut families: Vec<_> = row.families.iter().flat_map(|pattern| self.matching(pattern)).collect();
        if row.metric.row().form == Form::Histogram {
            families
                .sort_by_key(|family| self.exposition.families[*family].kind == Some(FamilyKind::Summary));
        }
        families
    }

    pub(super) fn shows(&self, dialect: &Dialect) -> bool {
        dialect.evidence.iter().flat_map(|pattern| self.matching(pattern)).any(|family| {
            let mut samples = self.samples[family].iter().map(|at| &self.exposition.samples[*at as usize]);
            samples.any(|sample| {
                !dialect.foreign.any(self.exposition.labels(sample))
                    && dialect
                        .evidence_label
                        .as_ref()
                        .is_none_or(|label| self.exposition.label(sample, label).is_some())
            })
        })
    }
}
