//! Levels and totals that no row uses: kept under their own names, within bounds, and of whom they are told.

use std::collections::HashSet;

use headwater_engine::metric::{MetricName, OF_THE_PROCESS};
use headwater_engine::reading::{Sample, Value};
use headwater_engine::{RemoteText, Subject};

use super::named::Named;
use super::page::Page;
use super::{Fate, MOST_FREE_SERIES, Mapper, Mapping};
use crate::config::shown_word;
use crate::sources::metrics::dialect::{Blank, Pattern, SubjectRole};
use crate::sources::metrics::exposition::{FamilyKind, Label, Role};

/// Whom the free series of a family are about.
enum About<'d> {
    /// The page's own target.
    Target,
    /// The subjects of a role, of which an exporter tells.
    Others(SubjectRole, Named<'d>),
    /// The exporter, which is no component.
    Exporter,
}

/// A series that may be kept.
struct Candidate<'p> {
    family: usize,
    /// What tells it from all others of the page.
    id: String,
    subject: Subject,
    name: &'p str,
    part: String,
    value: Value,
}

impl Mapper {
    /// Keeps levels and totals that no row uses, first those that were kept before, up to the limit.
    pub(super) fn keep_free(&mut self, page: &Page<'_, '_>, ignored: &[&Pattern], mapping: &mut Mapping) {
        let is_exporters = self.tells_only_of_others(mapping);
        let mut candidates = vec![];
        for family in 0..page.keys.len() {
            if self.is_spoken_for(page, family, mapping) || page.samples[family].is_empty() {
                continue;
            }
            let fate = match may_be_free(page, family, ignored) {
                Some(fate) => fate,
                None => self.candidates(page, family, (mapping, is_exporters), &mut candidates),
            };
            mapping.fates[family].push(fate);
        }
        let mut room = MOST_FREE_SERIES
            .saturating_sub(candidates.iter().filter(|one| self.free.contains(&one.id)).count());
        let mut kept = HashSet::new();
        for candidate in candidates {
            if !self.free.contains(&candidate.id) {
                if room == 0 {
                    mapping.left_out += 1;
                    continue;
                }
                room -= 1;
            }
            if !kept.insert(candidate.id) {
                // The same series twice, or one that differs only in what is not shown.
                mapping.left_out += 1;
                continue;
            }
            if let Some(Fate::Free(series)) = mapping.fates[candidate.family].last_mut() {
                *series += 1;
            }
            mapping.samples.push(Sample {
                subject: candidate.subject,
                metric: MetricName::from(candidate.name.to_owned()),
                part: (!candidate.part.is_empty()).then(|| RemoteText::new(&candidate.part)),
                value: candidate.value,
            });
        }
        self.free = kept;
    }

    /// Takes the series of a family that may be kept; says what becomes of the family, should there be no room.
    fn candidates<'p>(
        &self,
        page: &'p Page<'p, '_>,
        family: usize,
        (mapping, is_exporters): (&Mapping, bool),
        candidates: &mut Vec<Candidate<'p>>,
    ) -> Fate {
        let blanks = self.blanks(page, family, mapping);
        let about = self.about(page, family, mapping, is_exporters);
        let is_counter = page.exposition.families[family].kind == Some(FamilyKind::Counter);
        let (mut nobodys, mut none, before) = (0, 0, candidates.len());
        for sample in page.samples[family].iter().map(|at| &page.exposition.samples[*at as usize]) {
            if !sample.value.is_finite() || page.exposition.role(sample) != Role::Plain {
                continue;
            }
            if blanks.iter().any(|blank| blank.is_none(sample.value)) {
                none += 1;
                continue;
            }
            let labels = page.exposition.labels(sample);
            let Some(subject) = self.whose(&about, labels) else {
                nobodys += 1;
                continue;
            };
            let (name, part) = (page.exposition.name(sample), joined(labels));
            let value = if is_counter { Value::Counter(sample.value) } else { Value::Gauge(sample.value) };
            candidates.push(Candidate {
                family,
                id: format!("{name}{{{part}}}"),
                subject,
                name,
                part,
                value,
            });
        }
        match (candidates.len() - before, nobodys, none) {
            (0, 1.., _) => Fate::OfNobody,
            (0, 0, 1..) => Fate::NoValue,
            _ => Fate::Free(0),
        }
    }

    /// The subject of a free series; `None` where nobody is meant who is known.
    fn whose(&self, about: &About<'_>, labels: &[Label<'_>]) -> Option<Subject> {
        match about {
            About::Target => Some(self.target.itself.clone()),
            About::Exporter => None,
            About::Others(role, named) => {
                Some(named.subject(labels).ok()?.unwrap_or_else(|| self.target.subject(*role)))
            }
        }
    }

    fn about<'s>(
        &'s self,
        page: &'s Page<'s, '_>,
        family: usize,
        mapping: &Mapping,
        is_exporters: bool,
    ) -> About<'s> {
        for dialect in mapping.spoken.iter().map(|place| &self.dialects.list[*place]) {
            if let Some((_, role)) = dialect.free.iter().find(|(pattern, _)| pattern.fits(&page.keys[family]))
            {
                return About::Others(*role, Named::new(page, dialect, *role, &self.target.asked));
            }
        }
        if is_exporters { About::Exporter } else { About::Target }
    }

    /// What no number of a family means, by the dialects that the page speaks.
    fn blanks(&self, page: &Page<'_, '_>, family: usize, mapping: &Mapping) -> Vec<&Blank> {
        let spoken = mapping.spoken.iter().map(|place| &self.dialects.list[*place]);
        spoken.flat_map(|dialect| dialect.blanks_of(&page.keys[family])).collect()
    }

    /// Whether a page is an exporter's and nothing else: what is told of its own process makes it no component.
    fn tells_only_of_others(&self, mapping: &Mapping) -> bool {
        let is_own = |fate: &Fate| match fate {
            Fate::Mapped(at) | Fate::Added(at) => {
                let dialect = &self.dialects.list[at.dialect];
                !dialect.is_exporter && !OF_THE_PROCESS.contains(&dialect.rows[at.row].metric)
            }
            _ => false,
        };
        self.tells_of_others(mapping) && !mapping.fates.iter().flatten().any(is_own)
    }

    /// Whether a family's numbers are in a metric already, or are known to be no numbers.
    fn is_spoken_for(&self, page: &Page<'_, '_>, family: usize, mapping: &Mapping) -> bool {
        mapping.fates[family].iter().any(|fate| match fate {
            Fate::Mapped(_) | Fate::Added(_) | Fate::SecondChoice(_) => true,
            Fate::NothingFits(at) => {
                let dialect = &self.dialects.list[at.dialect];
                dialect.rows[at.row].meaning.has_sentinels()
                    || dialect.blanks_of(&page.keys[family]).next().is_some()
            }
            _ => false,
        })
    }
}

/// What becomes of a family that no free metric is made of; `None` where one may be.
fn may_be_free(page: &Page<'_, '_>, family: usize, ignored: &[&Pattern]) -> Option<Fate> {
    let (kind, key) = (page.exposition.families[family].kind, &page.keys[family]);
    let is_counter = kind == Some(FamilyKind::Counter);
    // When a series began, as libraries write it beside each: no number of the target.
    let is_created = !is_counter && key.ends_with("_created");
    if is_created || ignored.iter().any(|pattern| pattern.fits(key)) {
        Some(Fate::Ignored)
    } else if !is_counter && !matches!(kind, None | Some(FamilyKind::Gauge | FamilyKind::Untyped)) {
        Some(Fate::Unmapped)
    } else {
        None
    }
}

fn joined(labels: &[Label<'_>]) -> String {
    let one = |label: &Label<'_>| format!("{}={}", label.name, shown_word(&label.value));
    labels.iter().map(one).collect::<Vec<_>>().join(",")
}
