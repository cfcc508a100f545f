//! The rules of OpenMetrics 1.0 that a single line cannot show: order, metadata, and what each type allows.
//!
//! A broken rule is reported with the line that breaks it; the sample is used all the same, since a value that
//! reached us is worth more in an incident than a formality.

mod groups;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use self::groups::Groups;
use super::line::{Keyword, number};
use super::{Exposition, FamilyKind, Label, Metadata, Problems, Sample};

/// Checks a whole page and adds what it finds to the page's problems.
pub(super) fn check(page: &mut Exposition<'_>, metadata: &[Metadata<'_>]) {
    let mut found = Problems::default();
    let mut checker = Checker {
        page,
        found: &mut found,
        families: HashMap::with_capacity_and_hasher(page.families.len(), RandomState::default()),
        spare: Groups::default(),
        name: String::new(),
        block: None,
    };
    let (mut metadata, mut samples) =
        (metadata.iter().peekable(), page.samples.iter().enumerate().peekable());
    // In the order of the page, as the samples are.
    let mut exemplars = page.exemplars.iter().map(|exemplar| exemplar.sample).peekable();
    loop {
        let is_metadata = match (metadata.peek(), samples.peek()) {
            (Some(meta), Some((_, sample))) => meta.line < sample.line,
            (meta, sample) if meta.is_some() || sample.is_some() => meta.is_some(),
            _ => break,
        };
        if is_metadata {
            checker.metadata(metadata.next().expect("peeked"));
        } else {
            let (at, sample) = samples.next().expect("peeked");
            checker.sample(sample, exemplars.next_if_eq(&at).is_some());
        }
    }
    checker.close();
    for problem in found.first {
        page.problems.breach(problem.line, problem.reason);
    }
}

/// The lines of one family, which must stand together.
struct Block<'p> {
    name: &'p str,
    line: u32,
    kind: Option<FamilyKind>,
    has_help: bool,
    unit: Option<&'p str>,
    /// The samples, each with the number of its label set.
    samples: Vec<(&'p Sample, usize)>,
    groups: Groups<'p>,
    last: Option<Last<'p>>,
}

/// The sample before the present one.
struct Last<'p> {
    labels: &'p [Label<'p>],
    part: &'p str,
    group: usize,
    timestamp: Option<f64>,
}

struct Checker<'p> {
    page: &'p Exposition<'p>,
    found: &'p mut Problems,
    /// The families so far with their types.
    families: HashMap<&'p str, FamilyKind, RandomState>,
    /// The memory of the block before, for the next.
    spare: Groups<'p>,
    /// Room for a name that is put together.
    name: String,
    block: Option<Block<'p>>,
}

impl<'p> Checker<'p> {
    fn open(&mut self, name: &'p str, line: u32) -> &mut Block<'p> {
        self.close();
        let groups = std::mem::take(&mut self.spare);
        self.block.insert(Block {
            name,
            line,
            kind: None,
            has_help: false,
            unit: None,
            samples: vec![],
            groups,
            last: None,
        })
    }

    fn metadata(&mut self, meta: &'p Metadata<'_>) {
        let block = match &mut self.block {
            Some(block) if block.name == meta.name => block,
            _ => self.open(&meta.name, meta.line),
        };
        let (is_late, is_repeated) = match meta.keyword {
            Keyword::Help => (!block.samples.is_empty(), std::mem::replace(&mut block.has_help, true)),
            Keyword::Unit => (!block.samples.is_empty(), block.unit.replace(meta.text).is_some()),
            Keyword::Type => {
                let kind = FamilyKind::from_word(meta.text).unwrap_or(FamilyKind::Untyped);
                (!block.samples.is_empty(), block.kind.replace(kind).is_some())
            }
        };
        if is_late {
            self.found.breach(meta.line, "HELP, TYPE and UNIT must stand before the samples");
        }
        if is_repeated {
            self.found.breach(meta.line, "HELP, TYPE or UNIT stands twice");
        }
        if meta.keyword == Keyword::Type
            && FamilyKind::from_word(meta.text).is_some_and(|kind| !is_word(kind, meta.text))
        {
            self.found.breach(meta.line, "the TYPE is not a word of OpenMetrics");
        }
    }

    fn sample(&mut self, sample: &'p Sample, has_exemplar: bool) {
        let page = self.page;
        let name = page.name(sample);
        let suffix = self.block.as_ref().and_then(|block| block.suffix_of(name));
        let suffix = suffix.unwrap_or_else(|| {
            self.open(name, sample.line);
            ""
        });
        let Some(block) = &mut self.block else { return };
        let kind = block.kind.unwrap_or(FamilyKind::Untyped);
        for (is_broken, reason) in value_rules(page, sample, block.name, kind, suffix, has_exemplar) {
            if is_broken {
                self.found.breach(sample.line, reason);
            }
        }
        let labels = page.labels(sample);
        let part = part_label(kind, suffix, block.name);
        let is_same_group = block.last.as_ref().is_some_and(|last| {
            kind == FamilyKind::Info
                || labels
                    .iter()
                    .filter(|l| l.name != part)
                    .eq(last.labels.iter().filter(|l| l.name != last.part))
        });
        let known = block.groups.count;
        let group = match &block.last {
            Some(last) if is_same_group => last.group,
            // Those of an info cannot be told apart.
            _ if kind == FamilyKind::Info => block.groups.number(&[], part),
            _ => block.groups.number(labels, part),
        };
        match &block.last {
            Some(last) if last.group == group => {
                if last.timestamp.is_some() != sample.timestamp.is_some() {
                    self.found.breach(sample.line, "samples with and without timestamp are mixed in a group");
                }
                let is_back = last.timestamp.zip(sample.timestamp).is_some_and(|(before, now)| before > now);
                if is_back && kind != FamilyKind::Info {
                    self.found.breach(sample.line, "timestamps must not go back within a group");
                }
            }
            Some(_) if group < known => {
                self.found.breach(sample.line, "the samples of one label set must stand together");
            }
            _ => {}
        }
        block.last = Some(Last { labels, part, group, timestamp: sample.timestamp });
        block.samples.push((sample, group));
    }

    fn close(&mut self) {
        let Some(mut block) = self.block.take() else { return };
        let kind = block.kind.unwrap_or(FamilyKind::Untyped);
        if self.clashes(block.name, kind) {
            self.found
                .breach(block.line, "the family stands twice, or its name clashes with another's sample");
        }
        if let Some(unit) = block.unit.filter(|unit| !unit.is_empty()) {
            if !block.name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')) {
                self.found.breach(block.line, "the name does not end in its UNIT");
            }
            if matches!(kind, FamilyKind::Info | FamilyKind::StateSet) {
                self.found.breach(block.line, "an info or a stateset has no UNIT");
            }
        }
        if matches!(kind, FamilyKind::Histogram | FamilyKind::GaugeHistogram) {
            self.buckets(&block);
        }
        block.groups.clear();
        self.spare = block.groups;
    }

    /// Adds a family; whether one of its possible names, the bare one and those with a suffix, is another's.
    fn clashes(&mut self, name: &'p str, kind: FamilyKind) -> bool {
        let has = |kind: FamilyKind, suffix: &str| kind.suffixes().iter().any(|(known, _)| *known == suffix);
        let is_longer_of = || {
            let (base, _) = name.rsplit_once('_')?;
            self.families.get(base).filter(|of_base| has(**of_base, &name[base.len()..]))
        };
        let mut is_clash = is_longer_of().is_some();
        for (suffix, _) in kind.suffixes().iter().filter(|(suffix, _)| !suffix.is_empty()) {
            self.name.clear();
            self.name.push_str(name);
            self.name.push_str(suffix);
            is_clash |= self.families.contains_key(self.name.as_str());
        }
        self.families.insert(name, kind).is_some() || is_clash
    }

    /// Checks the buckets of each label set, and that its `_sum` and `_count` agree with them.
    fn buckets(&mut self, block: &Block<'p>) {
        let is_one =
            |a: &(&Sample, usize), b: &(&Sample, usize)| (a.1, a.0.timestamp) == (b.1, b.0.timestamp);
        for group in block.samples.chunk_by(is_one) {
            let mut state = BucketState::default();
            for (sample, _) in group {
                if let Some(reason) = state.add(self.page, sample, block.name) {
                    self.found.breach(sample.line, reason);
                }
            }
            if let Some(reason) = state.verdict() {
                self.found.breach(group[0].0.line, reason);
            }
        }
    }
}

impl Block<'_> {
    /// The suffix with which `name` belongs to this block.
    fn suffix_of(&self, name: &str) -> Option<&'static str> {
        let kind = self.kind.unwrap_or(FamilyKind::Untyped);
        let suffix = name.strip_prefix(self.name)?;
        kind.suffixes().iter().map(|(known, _)| *known).find(|known| *known == suffix)
    }
}

fn is_word(kind: FamilyKind, text: &str) -> bool {
    text == if kind == FamilyKind::Untyped { "unknown" } else { kind.word() }
}

/// The label that numbers the parts of one group, or `""`.
fn part_label<'p>(kind: FamilyKind, suffix: &str, family: &'p str) -> &'p str {
    match (kind, suffix) {
        (FamilyKind::Histogram | FamilyKind::GaugeHistogram, "_bucket") => "le",
        (FamilyKind::Summary, "") => "quantile",
        (FamilyKind::StateSet, _) => family,
        _ => "",
    }
}

/// The rules for one sample's value and labels, each with whether it is broken.
fn value_rules(
    page: &Exposition<'_>,
    sample: &Sample,
    family: &str,
    kind: FamilyKind,
    suffix: &str,
    has_exemplar: bool,
) -> [(bool, &'static str); 10] {
    use FamilyKind::{Counter, GaugeHistogram, Histogram, Info, StateSet, Summary};
    let value = sample.value;
    let is_histogram = matches!(kind, Histogram | GaugeHistogram);
    let is_quantile = kind == Summary && suffix.is_empty();
    let counts = matches!(suffix, "_total" | "_sum" | "_count" | "_bucket" | "_gcount");
    let is_whole = matches!(suffix, "_bucket" | "_count" | "_gcount");
    let is_bucket = is_histogram && suffix == "_bucket";
    let le = if is_bucket { page.label(sample, "le") } else { None };
    let bound = le.and_then(number).filter(|bound| !bound.is_nan());
    let quantile = if is_quantile { page.label(sample, "quantile").and_then(number) } else { None };
    let may_have_exemplar = is_bucket || (kind == Counter && suffix == "_total");
    [
        (
            is_bucket && !bound.is_some_and(|b| b != f64::INFINITY || le == Some("+Inf")),
            "a bucket needs a label le with a number or +Inf",
        ),
        (
            is_quantile && !quantile.is_some_and(|q| (0.0..=1.0).contains(&q)),
            "a quantile must be from 0 to 1",
        ),
        (is_quantile && value < 0.0, "a quantile's value must not be negative"),
        (
            kind == StateSet && page.label(sample, family).is_none(),
            "a state needs the label of its family's name",
        ),
        (kind == StateSet && value != 0.0 && value != 1.0, "a state must be 0 or 1"),
        (kind == Info && value != 1.0, "an info must be 1"),
        ((counts || suffix == "_gsum") && value.is_nan(), "a counter, sum or count must not be NaN"),
        (counts && value < 0.0, "a counter, sum or count must not be negative"),
        (is_whole && value.is_finite() && value.fract() != 0.0, "a count must be whole"),
        (has_exemplar && !may_have_exemplar, "only buckets and counters may have exemplars"),
    ]
}

/// What one label set of a histogram has shown so far.
#[derive(Default)]
struct BucketState {
    bound: Option<f64>,
    events: f64,
    count: Option<f64>,
    has_sum: bool,
    has_gauge_sum: bool,
    has_negative_gauge_sum: bool,
    has_negative_bound: bool,
}

impl BucketState {
    fn add(&mut self, page: &Exposition<'_>, sample: &Sample, family: &str) -> Option<&'static str> {
        match &page.name(sample)[family.len()..] {
            "_bucket" => {
                let bound = page.label(sample, "le").and_then(number)?;
                self.has_negative_bound |= bound < 0.0;
                let before = self.bound.replace(bound);
                let is_falling = sample.value < std::mem::replace(&mut self.events, sample.value);
                if before.is_some_and(|before| bound <= before) {
                    return Some("buckets must stand in the order of their bounds");
                }
                return is_falling.then_some("a bucket has fewer events than the one before");
            }
            "_count" | "_gcount" => self.count = Some(sample.value),
            "_sum" => self.has_sum = true,
            "_gsum" => {
                self.has_gauge_sum = true;
                self.has_negative_gauge_sum = sample.value < 0.0;
            }
            _ => {}
        }
        None
    }

    fn verdict(&self) -> Option<&'static str> {
        let has_any_sum = self.has_sum || self.has_gauge_sum;
        [
            (self.bound != Some(f64::INFINITY), "the +Inf bucket is missing"),
            (
                self.count.is_some_and(|count| count != self.events),
                "the count is not that of the +Inf bucket",
            ),
            (has_any_sum && self.count.is_none(), "a sum needs a count"),
            (!has_any_sum && self.count.is_some(), "a count needs a sum"),
            (self.has_negative_bound && self.has_sum, "a histogram with negative bounds has no sum"),
            (
                !self.has_negative_bound && self.has_negative_gauge_sum,
                "a sum without negative bounds cannot be negative",
            ),
        ]
        .into_iter()
        .find(|(is_broken, _)| *is_broken)
        .map(|(_, reason)| reason)
    }
}
