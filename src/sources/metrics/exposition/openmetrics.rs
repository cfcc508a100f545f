//! The rules of OpenMetrics 1.0 that a single line cannot show: order, metadata, and what each type allows.
//!
//! A broken rule is reported with the line that breaks it; the sample is used all the same, since a value that
//! reached us is worth more in an incident than a formality.

mod groups;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use self::groups::Groups;
use super::line::Keyword;
use super::number::number;
use super::{Exposition, FamilyKind, Label, Metadata, Problems, Sample};

/// Checks a whole page and adds what it finds to the page's problems.
pub(super) fn check(page: &mut Exposition<'_>, metadata: &[Metadata<'_>]) {
    let mut found = Problems::default();
    let mut checker = Checker {
        page,
        found: &mut found,
        families: HashMap::with_capacity_and_hasher(page.families.len(), RandomState::default()),
        spare: Spare::default(),
        bases: HashMap::default(),
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

/// All suffixes that any type gives to the samples of a family.
const SUFFIXES: &[&str] = &["_total", "_created", "_count", "_sum", "_bucket", "_gcount", "_gsum", "_info"];

/// The lines of one family, which must stand together.
struct Block<'p> {
    name: &'p str,
    line: u32,
    kind: Option<FamilyKind>,
    has_help: bool,
    unit: Option<&'p str>,
    groups: Groups<'p>,
    /// The suffixes of the names that were seen since its TYPE was last told: it has few names and many samples.
    suffixes: Vec<(u32, &'static str)>,
    last: Option<Last<'p>>,
    /// Of a histogram, the label set that the last sample was of.
    buckets: Option<Buckets>,
}

/// What one label set of a histogram has shown so far, in the samples of one moment that stand together.
struct Buckets {
    /// The number of the label set.
    group: usize,
    timestamp: Option<f64>,
    /// The first line.
    line: u32,
    state: BucketState,
}

/// What one block leaves to the next: emptied, with their memory.
type Spare<'p> = (Groups<'p>, Vec<(u32, &'static str)>);

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
    spare: Spare<'p>,
    /// Of families whose name ends in what may be a suffix: what stands before it, with the suffixes.
    bases: HashMap<&'p str, Vec<&'p str>, RandomState>,
    block: Option<Block<'p>>,
}

impl<'p> Checker<'p> {
    fn open(&mut self, name: &'p str, line: u32) -> &mut Block<'p> {
        self.close();
        let (groups, suffixes) = std::mem::take(&mut self.spare);
        self.block.insert(Block {
            name,
            line,
            kind: None,
            has_help: false,
            unit: None,
            groups,
            suffixes,
            last: None,
            buckets: None,
        })
    }

    fn metadata(&mut self, meta: &'p Metadata<'_>) {
        let block = match &mut self.block {
            Some(block) if block.name == meta.name => block,
            _ => self.open(&meta.name, meta.line),
        };
        let is_late = block.last.is_some();
        let is_repeated = match meta.keyword {
            Keyword::Help => std::mem::replace(&mut block.has_help, true),
            Keyword::Unit => block.unit.replace(meta.text).is_some(),
            Keyword::Type => {
                block.suffixes.clear();
                let kind = FamilyKind::from_word(meta.text).unwrap_or(FamilyKind::Untyped);
                block.kind.replace(kind).is_some()
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
        let suffix = self.block.as_mut().and_then(|block| block.suffix_of(page, sample));
        let suffix = suffix.unwrap_or_else(|| {
            self.open(page.name(sample), sample.line);
            ""
        });
        let Some(block) = &mut self.block else { return };
        let kind = block.kind.unwrap_or(FamilyKind::Untyped);
        let labels = page.labels(sample);
        let is_bucket = is_histogram(kind) && suffix == "_bucket";
        let le = if is_bucket { page.label(sample, "le") } else { None };
        let bound = le.and_then(number).filter(|bound| !bound.is_nan());
        let looked_at =
            LookedAt { page, sample, family: block.name, kind, suffix, le: le.zip(bound), has_exemplar };
        looked_at.check(|reason| self.found.breach(sample.line, reason));
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
        if is_histogram(kind) {
            let is_same = |buckets: &Buckets| (buckets.group, buckets.timestamp) == (group, sample.timestamp);
            if !block.buckets.as_ref().is_some_and(is_same) {
                let (timestamp, line) = (sample.timestamp, sample.line);
                let next = Buckets { group, timestamp, line, state: BucketState::default() };
                judge(block.buckets.replace(next), self.found);
            }
            let broken =
                block.buckets.as_mut().and_then(|these| these.state.add(suffix, bound, sample.value));
            if let Some(reason) = broken {
                self.found.breach(sample.line, reason);
            }
        }
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
        judge(block.buckets, self.found);
        block.groups.clear();
        block.suffixes.clear();
        self.spare = (block.groups, block.suffixes);
    }

    /// Adds a family; whether one of its possible names, the bare one and those with a suffix, is another's.
    fn clashes(&mut self, name: &'p str, kind: FamilyKind) -> bool {
        let has = |kind: FamilyKind, suffix: &str| kind.suffixes().iter().any(|(known, _)| *known == suffix);
        let mut is_clash =
            self.bases.get(name).is_some_and(|those| those.iter().any(|those| has(kind, those)));
        let ending = name.rfind('_').map(|at| name.split_at(at));
        if let Some((base, suffix)) = ending.filter(|(_, suffix)| SUFFIXES.contains(suffix)) {
            is_clash |= self.families.get(base).is_some_and(|of_base| has(*of_base, suffix));
            self.bases.entry(base).or_default().push(suffix);
        }
        self.families.insert(name, kind).is_some() || is_clash
    }
}

/// Checks the buckets of a label set that is over, and that its `_sum` and `_count` agree with them.
fn judge(buckets: Option<Buckets>, found: &mut Problems) {
    if let Some((line, reason)) = buckets.and_then(|buckets| Some((buckets.line, buckets.state.verdict()?))) {
        found.breach(line, reason);
    }
}

impl Block<'_> {
    /// The suffix with which a sample belongs to this block.
    fn suffix_of(&mut self, page: &Exposition<'_>, sample: &Sample) -> Option<&'static str> {
        if let Some((_, suffix)) = self.suffixes.iter().find(|(name, _)| *name == sample.name) {
            return Some(suffix);
        }
        let kind = self.kind.unwrap_or(FamilyKind::Untyped);
        let rest = page.name(sample).strip_prefix(self.name)?;
        let suffix = kind.suffixes().iter().map(|(known, _)| *known).find(|known| *known == rest)?;
        self.suffixes.push((sample.name, suffix));
        Some(suffix)
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

fn is_histogram(kind: FamilyKind) -> bool {
    matches!(kind, FamilyKind::Histogram | FamilyKind::GaugeHistogram)
}

/// A sample with what its family says of it.
struct LookedAt<'p> {
    page: &'p Exposition<'p>,
    sample: &'p Sample,
    family: &'p str,
    kind: FamilyKind,
    suffix: &'static str,
    /// The label `le` of a bucket, where it is a number.
    le: Option<(&'p str, f64)>,
    has_exemplar: bool,
}

impl LookedAt<'_> {
    /// Tells each rule for a sample's value and labels that is broken.
    fn check(&self, mut breach: impl FnMut(&'static str)) {
        use FamilyKind::{Counter, Info, StateSet, Summary};
        let Self { page, sample, family, kind, suffix, .. } = *self;
        let mut tell = |is_broken: bool, reason: &'static str| {
            if is_broken {
                breach(reason);
            }
        };
        let value = sample.value;
        let is_bucket = is_histogram(kind) && suffix == "_bucket";
        let is_bound = self.le.is_some_and(|(text, bound)| bound != f64::INFINITY || text == "+Inf");
        tell(is_bucket && !is_bound, "a bucket needs a label le with a number or +Inf");
        if kind == Summary && suffix.is_empty() {
            let quantile = page.label(sample, "quantile").and_then(number);
            let is_share = quantile.is_some_and(|quantile| (0.0..=1.0).contains(&quantile));
            tell(!is_share, "a quantile must be from 0 to 1");
            tell(value < 0.0, "a quantile's value must not be negative");
        }
        if kind == StateSet {
            tell(page.label(sample, family).is_none(), "a state needs the label of its family's name");
            tell(value != 0.0 && value != 1.0, "a state must be 0 or 1");
        }
        tell(kind == Info && value != 1.0, "an info must be 1");
        let may_have_exemplar = is_bucket || (kind == Counter && suffix == "_total");
        tell(self.has_exemplar && !may_have_exemplar, "only buckets and counters may have exemplars");
        if suffix.is_empty() {
            return;
        }
        let is_whole = matches!(suffix, "_bucket" | "_count" | "_gcount");
        let counts = is_whole || matches!(suffix, "_total" | "_sum");
        tell((counts || suffix == "_gsum") && value.is_nan(), "a counter, sum or count must not be NaN");
        tell(counts && value < 0.0, "a counter, sum or count must not be negative");
        tell(is_whole && value.is_finite() && value.fract() != 0.0, "a count must be whole");
    }
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
    /// Takes a sample; of a bucket `bound` is its upper bound. What it breaks, if anything.
    fn add(&mut self, suffix: &str, bound: Option<f64>, value: f64) -> Option<&'static str> {
        match suffix {
            "_bucket" => {
                let bound = bound?;
                self.has_negative_bound |= bound < 0.0;
                let before = self.bound.replace(bound);
                let is_falling = value < std::mem::replace(&mut self.events, value);
                if before.is_some_and(|before| bound <= before) {
                    return Some("buckets must stand in the order of their bounds");
                }
                return is_falling.then_some("a bucket has fewer events than the one before");
            }
            "_count" | "_gcount" => self.count = Some(value),
            "_sum" => self.has_sum = true,
            "_gsum" => {
                self.has_gauge_sum = true;
                self.has_negative_gauge_sum = value < 0.0;
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
