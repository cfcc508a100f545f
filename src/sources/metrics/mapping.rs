//! Turns a decoded page into samples of the engine, by dialects.

mod collect;
mod explain;
mod free;
mod named;
mod numbers;
mod page;

use std::collections::HashSet;
use std::sync::Arc;

use headwater_engine::metric::{Form, Metric};
use headwater_engine::reading::{Sample, Value};
use headwater_engine::{Kind, RemoteText, Subject};

use page::Page;

use super::dialect::{Asked, Dialects, Field, PartName, Pattern, Row, SubjectRole};
use super::exposition::{Exposition, FamilyKind};

pub use explain::{Explanation, explain};

/// The most free metrics that one target may bring into the store.
pub const MOST_FREE_SERIES: usize = 200;

/// The most parts (stages, operations) that one metric of a target may have.
pub const MOST_PARTS: usize = 100;

/// The most subjects of one role (GPUs, consumer groups) that the labels of one target's page may name.
pub const MOST_NAMED: usize = 200;

/// The most ways between components that one target may tell of.
pub const MOST_WAYS: usize = 1_000;

/// The subjects that one endpoint tells of.
#[derive(Clone, Debug)]
pub struct Target {
    itself: Subject,
    asked: Asked,
    address: String,
}

impl Target {
    /// The endpoint of a component at an address (host and port).
    pub fn new(component: &Subject, address: &str) -> Self {
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        Self {
            itself: component.component_of().instance(address),
            asked: Asked { component: component.component_of(), host: host.to_owned() },
            address: address.to_owned(),
        }
    }

    /// The host that is asked.
    pub(super) fn host(&self) -> &str {
        &self.asked.host
    }

    /// The subject of a row's numbers where no label names it.
    pub fn subject(&self, role: SubjectRole) -> Subject {
        match role.kind() {
            // A way is named by its series; this is who tells of it.
            None | Some(Kind::Edge) => self.itself.clone(),
            Some(kind) if kind == self.itself.kind() => self.itself.clone(),
            Some(kind) => Subject::component(kind, self.itself.name()).instance(&self.address),
        }
    }
}

/// What came of one page.
#[derive(Debug)]
pub struct Mapping {
    /// The samples, in the order of dialects, rows and page; free metrics last.
    pub samples: Vec<Sample>,
    /// The dialects that the page speaks, as places in [`Dialects::list`].
    pub spoken: Vec<usize>,
    /// What became of each family, one list a family of the page.
    pub fates: Vec<Vec<Fate>>,
    /// Series that were left out because a target may bring only so many, or because they differ from others only in what
    /// is not shown.
    pub left_out: usize,
}

/// What became of one family, by one row or as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A row made a metric of it.
    Mapped(RowAt),
    /// A row added it to the metric that an earlier row gives.
    Added(RowAt),
    /// A row could have used it, but an earlier row gives that metric already.
    SecondChoice(RowAt),
    /// A row names it, but its type is not the one that the metric needs.
    WrongType(RowAt),
    /// A row names it, but no series of it fits or has a value.
    NothingFits(RowAt),
    /// So many of its series are free metrics.
    Free(usize),
    /// None of its numbers is a value: its dialect says that they mean "not supported", "no limit" or the like.
    NoValue,
    /// It is about the exporter whose page it is on, or about somebody whom its labels do not name.
    OfNobody,
    /// A dialect says that nobody wants it.
    Ignored,
    /// No row names it, and only levels and totals become free metrics.
    Unmapped,
}

impl Fate {
    /// Whether something of the family is kept.
    pub fn is_used(self) -> bool {
        match self {
            Self::Mapped(_) | Self::Added(_) => true,
            Self::Free(series) => series > 0,
            _ => false,
        }
    }
}

/// A row of a dialect, by its places in the lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    /// The place in [`Dialects::list`].
    pub dialect: usize,
    /// The place in [`Dialect::rows`](super::dialect::Dialect::rows).
    pub row: usize,
}

/// What one row at most may give: a metric of subjects of a role, of parts that are named in one way.
type Slot = (SubjectRole, Metric, Option<&'static str>);

/// Maps the pages of one target, scrape after scrape.
#[derive(Debug)]
pub struct Mapper {
    dialects: &'static Dialects,
    only: Option<Vec<usize>>,
    target: Target,
    bounds: Vec<Arc<[f64]>>,
    free: HashSet<String>,
}

impl Mapper {
    /// A mapper for a target that speaks `only` these dialects (places in the list), or whichever its pages show.
    pub fn new(dialects: &'static Dialects, target: Target, only: Option<Vec<usize>>) -> Self {
        Self { dialects, only, target, bounds: vec![], free: HashSet::new() }
    }

    /// The dialects that are chosen from.
    pub fn dialects(&self) -> &'static Dialects {
        self.dialects
    }

    /// Whose pages it maps.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Maps one page.
    pub fn map(&mut self, exposition: &Exposition<'_>) -> Mapping {
        let page = Page::new(exposition);
        let mut mapping = Mapping {
            samples: vec![],
            spoken: vec![],
            fates: vec![vec![]; exposition.families.len()],
            left_out: 0,
        };
        let mut given = HashSet::new();
        let mut closed = vec![false; exposition.families.len()];
        let mut ignored: Vec<&Pattern> = vec![];
        for (place, dialect) in self.dialects.list.iter().enumerate() {
            let is_asked = self.only.as_ref().is_none_or(|only| only.contains(&place));
            let has_evidence = self.only.is_some() || dialect.evidence.is_empty() || page.shows(dialect);
            let is_guess = dialect.guesses && self.only.is_none() && self.tells_of_others(&mapping);
            if !is_asked || !has_evidence || is_guess {
                continue;
            }
            ignored.extend(&dialect.ignored);
            let before = mapping.samples.len();
            let taken = self.apply(&page, place, &closed, &mut given, &mut mapping);
            if !dialect.evidence.is_empty() || mapping.samples.len() > before {
                mapping.spoken.push(place);
            }
            for family in taken {
                closed[family] = true;
            }
        }
        self.keep_free(&page, &ignored, &mut mapping);
        mapping
    }

    /// Whether the page is an exporter's, as far as its dialects are known.
    fn tells_of_others(&self, mapping: &Mapping) -> bool {
        mapping.spoken.iter().any(|place| self.dialects.list[*place].is_exporter)
    }

    /// Applies one dialect to the families that are not closed; gives those that it names.
    fn apply(
        &mut self,
        page: &Page<'_, '_>,
        place: usize,
        closed: &[bool],
        given: &mut HashSet<Slot>,
        mapping: &mut Mapping,
    ) -> Vec<usize> {
        let dialect = &self.dialects.list[place];
        let mut taken = vec![];
        for (row_place, row) in dialect.rows.iter().enumerate() {
            let at = RowAt { dialect: place, row: row_place };
            let mut has_found = false;
            for family in page.candidates(row) {
                if closed[family] || row.exceptions.iter().any(|pattern| pattern.fits(&page.keys[family])) {
                    continue;
                }
                let slot = (row.role, row.metric, row.part.as_ref().and_then(PartName::written));
                let fate = if !accepts(row, page.exposition.families[family].kind) {
                    Fate::WrongType(at)
                } else if given.contains(&slot) && (has_found || !row.adds) {
                    taken.push(family);
                    Fate::SecondChoice(at)
                } else {
                    taken.push(family);
                    let collected = collect::collect(page, family, dialect, row, &self.target.asked);
                    mapping.left_out += collected.left_out;
                    if collected.series.is_empty() {
                        Fate::NothingFits(at)
                    } else {
                        has_found = true;
                        let is_new = !row.only_adds && given.insert(slot);
                        let own = self.target.subject(row.role);
                        for taken in collected.series {
                            let sample = Sample {
                                subject: taken.subject.unwrap_or_else(|| own.clone()),
                                metric: row.metric.into(),
                                part: taken.part.map(|part| RemoteText::new(&part)),
                                value: self.share_bounds(taken.value),
                            };
                            if is_new || (!add(&mut mapping.samples, &sample) && !row.only_adds) {
                                mapping.samples.push(sample);
                            }
                        }
                        if is_new { Fate::Mapped(at) } else { Fate::Added(at) }
                    }
                };
                mapping.fates[family].push(fate);
            }
        }
        taken
    }

    /// Lets histograms with equal bounds, also of the scrape before, share one list of them.
    fn share_bounds(&mut self, value: Value) -> Value {
        let Value::Histogram(mut histogram) = value else { return value };
        match self.bounds.iter().find(|known| **known == histogram.bounds) {
            Some(known) => Arc::make_mut(&mut histogram).bounds = Arc::clone(known),
            None if self.bounds.len() < MOST_PARTS => self.bounds.push(Arc::clone(&histogram.bounds)),
            None => {}
        }
        Value::Histogram(histogram)
    }
}

/// Whether a family of this type can give this metric.
fn accepts(row: &Row, kind: Option<FamilyKind>) -> bool {
    use FamilyKind::{Counter, Gauge, Histogram, StateSet, Summary, Untyped};
    if kind.is_some_and(|kind| row.typed.contains(&kind)) {
        return true;
    }
    match (row.metric.row().form, row.field) {
        // A sum and a count are two counters; a summary has both, and neither has buckets.
        (Form::Histogram, _) if !row.partners.is_empty() => matches!(kind, None | Some(Counter | Untyped)),
        (Form::Histogram, _) | (_, Field::Count | Field::Sum) => matches!(kind, Some(Histogram | Summary)),
        (Form::Counter, Field::Value) if !row.is_level => matches!(kind, None | Some(Counter | Untyped)),
        (Form::Counter | Form::Gauge, Field::Value) => {
            matches!(kind, None | Some(Gauge | Untyped | StateSet))
        }
    }
}

/// Adds a count or a level to the sample of the same series; says whether there is one.
fn add(samples: &mut [Sample], more: &Sample) -> bool {
    let is_same = |known: &&mut Sample| {
        (&known.subject, &known.metric, &known.part) == (&more.subject, &more.metric, &more.part)
    };
    match (samples.iter_mut().find(is_same).map(|known| &mut known.value), &more.value) {
        (Some(Value::Counter(known)), Value::Counter(more))
        | (Some(Value::Gauge(known)), Value::Gauge(more)) => {
            *known += more;
            true
        }
        _ => false,
    }
}
