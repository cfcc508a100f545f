//! Decodes Prometheus text 0.0.4 and OpenMetrics 1.0: bytes in, families and samples out.
//!
//! One line is the unit of loss: a line that cannot be read is reported with its number and the rest is kept.
//! Everything borrows from the page; only escaped texts are copied. What the page says it is decides how it is
//! read: a text is milliseconds and relaxed, OpenMetrics is seconds and checked against the whole standard.

mod family;
mod histogram;
mod line;
mod number;
mod openmetrics;
mod problem;

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;

pub use family::{Family, FamilyKind, Role};
pub use histogram::HistogramSeries;
pub use problem::{Problem, Problems};

/// The most names of samples, and of families, that one page may have: no server has a hundredth of it, and each costs
/// a hundred times as much memory as a line of a known name.
const MOST_NAMES: usize = 65_536;

/// The most samples that are kept of one page; the longest page that is fetched has 300 000 where its lines are of the
/// usual length.
const MOST_SAMPLES: usize = 2_000_000;

/// The most labels that are kept of one page, in all its samples.
const MOST_LABELS: usize = 4_000_000;

/// The samples, names and families that there is room for at first, beside what the length of a page makes likely: a short
/// one would else ask for memory again and again.
const LEAST: usize = 16;

const TOO_MANY_SAMPLES: &str = "there are more than 2000000 samples, or 4000000 labels of them";
const TOO_MANY_NAMES: &str = "there are more than 65536 metric names";

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text 0.0.4: timestamps in milliseconds, blanks and comments anywhere.
    Text,
    /// OpenMetrics 1.0: timestamps in seconds, `# EOF` at the end, every rule of the standard is checked.
    OpenMetrics,
}

/// A decoded page; indices into its lists are only valid within it.
#[derive(Debug)]
pub struct Exposition<'a> {
    /// How the page was read.
    pub format: Format,
    /// The families, in the order in which the page first names them.
    pub families: Vec<Family<'a>>,
    /// The samples, in the order of the page.
    pub samples: Vec<Sample>,
    /// The exemplars, in the order of the page; nothing uses them but the checks.
    pub exemplars: Vec<Exemplar>,
    /// What was wrong with the page.
    pub problems: Problems,
    /// The number of lines.
    pub lines: u32,
    /// Samples in the native histogram notation, which are skipped.
    pub native_histograms: u32,
    names: Vec<SampleName<'a>>,
    labels: Vec<Label<'a>>,
}

/// One sample; its name and labels are reached through the [`Exposition`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    name: u32,
    labels: Span,
    /// The line it stands in, from 1.
    pub line: u32,
    /// The value; may be NaN or infinite.
    pub value: f64,
    /// Seconds since the Unix epoch, when the page gives a time.
    pub timestamp: Option<f64>,
}

/// A measured example that a bucket or a counter refers to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exemplar {
    /// The index of the sample that it belongs to.
    pub sample: usize,
    labels: Span,
    /// The measured value.
    pub value: f64,
    /// Seconds since the Unix epoch, when given.
    pub timestamp: Option<f64>,
}

/// A label with its value, unescaped; both are remote text as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Label<'a> {
    /// The name.
    pub name: Cow<'a, str>,
    /// The value.
    pub value: Cow<'a, str>,
}

/// A range of the label list.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// One distinct name of samples and what it means in its family.
#[derive(Debug)]
struct SampleName<'a> {
    text: Cow<'a, str>,
    family: u32,
    role: Role,
    has_le: bool,
}

/// Reads a page. `declared` is what the content type says; without it a page that ends in `# EOF` is read as
/// OpenMetrics and any other as text. Never fails: what cannot be read is in [`Exposition::problems`].
pub fn decode(bytes: &[u8], declared: Option<Format>) -> Exposition<'_> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let format = declared.unwrap_or_else(|| {
        if bytes.trim_ascii_end().ends_with(b"\n# EOF") || bytes.trim_ascii() == b"# EOF" {
            Format::OpenMetrics
        } else {
            Format::Text
        }
    });
    let mut reader = Reader::new(format, bytes.len());
    // Checking the whole page at once is several times faster than line by line; only a page that fails pays.
    let whole = std::str::from_utf8(bytes).ok();
    let mut start = 0;
    while start < bytes.len() {
        let end = memchr::memchr(b'\n', &bytes[start..]).map_or(bytes.len(), |offset| start + offset);
        reader.page.lines = reader.page.lines.saturating_add(1);
        match whole.map(|text| &text[start..end]).or_else(|| std::str::from_utf8(&bytes[start..end]).ok()) {
            Some(line) => reader.line(line.strip_suffix('\r').unwrap_or(line)),
            None => reader.page.problems.lost(reader.page.lines, "the line is not UTF-8"),
        }
        start = end + 1;
    }
    reader.finish(bytes.is_empty() || bytes.ends_with(b"\n"))
}

impl<'a> Exposition<'a> {
    /// The full name of a sample, suffixes such as `_bucket` included.
    pub fn name(&self, sample: &Sample) -> &str {
        &self.names[sample.name as usize].text
    }

    /// The labels of a sample, in the order of the page.
    pub fn labels(&self, sample: &Sample) -> &[Label<'a>] {
        self.span(sample.labels)
    }

    /// The labels of an exemplar, in the order of the page.
    pub fn exemplar_labels(&self, exemplar: &Exemplar) -> &[Label<'a>] {
        self.span(exemplar.labels)
    }

    /// The index of a sample's family in [`Exposition::families`].
    pub fn family(&self, sample: &Sample) -> usize {
        self.names[sample.name as usize].family as usize
    }

    /// What a sample is within its family.
    pub fn role(&self, sample: &Sample) -> Role {
        self.names[sample.name as usize].role
    }

    /// The value of a sample's label.
    pub fn label(&self, sample: &Sample, name: &str) -> Option<&str> {
        self.labels(sample).iter().find(|label| label.name == name).map(|label| &*label.value)
    }

    fn span(&self, span: Span) -> &[Label<'a>] {
        &self.labels[span.start as usize..span.end as usize]
    }
}

/// A HELP, TYPE or UNIT line, kept for the checks of OpenMetrics.
struct Metadata<'a> {
    line: u32,
    keyword: line::Keyword,
    name: Cow<'a, str>,
    text: &'a str,
}

/// Collects a page line by line.
struct Reader<'a> {
    page: Exposition<'a>,
    name_index: HashMap<Cow<'a, str>, u32, RandomState>,
    family_index: HashMap<Cow<'a, str>, u32, RandomState>,
    metadata: Vec<Metadata<'a>>,
    last_name: u32,
    last_family: u32,
    ended: bool,
}

impl<'a> Reader<'a> {
    fn new(format: Format, size: usize) -> Self {
        // About a hundred bytes a line and three labels each, from the pages that real servers give.
        let names = LEAST + size / 512;
        let page = Exposition {
            format,
            families: Vec::with_capacity(names),
            samples: Vec::with_capacity(LEAST + size / 96),
            exemplars: vec![],
            problems: Problems::default(),
            lines: 0,
            native_histograms: 0,
            names: Vec::with_capacity(names),
            labels: Vec::with_capacity(size / 40),
        };
        let index = || HashMap::with_capacity_and_hasher(names, RandomState::default());
        Self {
            page,
            name_index: index(),
            family_index: index(),
            metadata: Vec::with_capacity(if format == Format::OpenMetrics { 2 * LEAST } else { 0 }),
            last_name: u32::MAX,
            last_family: u32::MAX,
            ended: false,
        }
    }

    fn line(&mut self, text: &'a str) {
        let strict = self.page.format == Format::OpenMetrics;
        let number = self.page.lines;
        if self.ended {
            return self.page.problems.lost(number, "there is text after # EOF");
        }
        let mut cursor = line::Cursor::new(text, strict);
        let first = cursor.skip_blanks();
        match first {
            None if strict => self.page.problems.breach(number, "a blank line is not allowed"),
            None => {}
            Some(b'#') => self.comment(text.trim_start_matches([' ', '\t'])),
            Some(_) => self.sample(&mut cursor),
        }
        if strict && first.is_some() && text.starts_with([' ', '\t']) {
            self.page.problems.breach(number, "a line must not begin with a blank");
        }
    }

    fn comment(&mut self, text: &'a str) {
        let number = self.page.lines;
        let strict = self.page.format == Format::OpenMetrics;
        if strict && text == "# EOF" {
            self.ended = true;
            return;
        }
        match line::metadata(text, strict) {
            Ok(Some(_)) if self.page.families.len() >= MOST_NAMES => {
                self.page.problems.lost(number, TOO_MANY_NAMES);
            }
            Ok(Some((keyword, name, rest))) => {
                let family = self.family_of(name.clone());
                let known = &mut self.page.families[family as usize];
                match keyword {
                    line::Keyword::Type => match FamilyKind::from_word(rest) {
                        Some(kind) if known.kind.is_none() => known.kind = Some(kind),
                        Some(kind) if known.kind != Some(kind) => self
                            .page
                            .problems
                            .breach(number, "the family has another TYPE already; the first one holds"),
                        Some(_) => {}
                        None => self.page.problems.lost(number, "the TYPE is not known"),
                    },
                    line::Keyword::Help => known.help = known.help.or(Some(rest)),
                    line::Keyword::Unit => known.unit = known.unit.or(Some(rest)),
                }
                if strict {
                    self.metadata.push(Metadata { line: number, keyword, name, text: rest });
                }
            }
            Ok(None) if strict => {
                self.page.problems.breach(number, "a comment must be HELP, TYPE, UNIT or EOF");
            }
            Ok(None) => {}
            Err(reason) => self.page.problems.lost(number, reason),
        }
    }

    fn sample(&mut self, cursor: &mut line::Cursor<'a>) {
        let number = self.page.lines;
        let start = self.page.labels.len();
        if self.page.samples.len() >= MOST_SAMPLES || start >= MOST_LABELS {
            return self.page.problems.lost(number, TOO_MANY_SAMPLES);
        }
        match cursor.sample(&mut self.page.labels) {
            Ok(parsed) => {
                let Some(name) = self.name_of(parsed.name) else {
                    self.page.labels.truncate(start);
                    return self.page.problems.lost(number, TOO_MANY_NAMES);
                };
                self.names_mut(name).has_le |= parsed.has_le;
                let labels = Span { start: start as u32, end: parsed.labels_end as u32 };
                let sample =
                    Sample { name, labels, line: number, value: parsed.value, timestamp: parsed.timestamp };
                self.page.samples.push(sample);
                if let Some((value, timestamp)) = parsed.exemplar {
                    let labels = Span { start: parsed.labels_end as u32, end: self.page.labels.len() as u32 };
                    let sample = self.page.samples.len() - 1;
                    self.page.exemplars.push(Exemplar { sample, labels, value, timestamp });
                }
                if let Some(breach) = cursor.breach {
                    self.page.problems.breach(number, breach);
                }
            }
            Err(line::NATIVE_HISTOGRAM) => {
                self.page.labels.truncate(start);
                self.page.native_histograms += 1;
            }
            Err(reason) => {
                self.page.labels.truncate(start);
                self.page.problems.lost(number, reason);
            }
        }
    }

    fn names_mut(&mut self, name: u32) -> &mut SampleName<'a> {
        &mut self.page.names[name as usize]
    }

    /// The place of a name; `None` when there are too many.
    fn name_of(&mut self, name: Cow<'a, str>) -> Option<u32> {
        // Lines of one family stand together, so the name is nearly always the one before.
        if self.page.names.get(self.last_name as usize).is_some_and(|last| last.text == name) {
            return Some(self.last_name);
        }
        let names = &mut self.page.names;
        self.last_name = match self.name_index.get(&name) {
            Some(known) => *known,
            None if names.len() >= MOST_NAMES => return None,
            None => {
                let place = names.len() as u32;
                self.name_index.insert(name.clone(), place);
                names.push(SampleName { text: name, family: u32::MAX, role: Role::Plain, has_le: false });
                place
            }
        };
        Some(self.last_name)
    }

    fn family_of(&mut self, name: Cow<'a, str>) -> u32 {
        // HELP and TYPE of one family stand together.
        if self.page.families.get(self.last_family as usize).is_some_and(|last| last.name == name) {
            return self.last_family;
        }
        if let Some(known) = self.family_index.get(&name) {
            self.last_family = *known;
            return *known;
        }
        let index = self.page.families.len() as u32;
        self.page.families.push(Family { name: name.clone(), kind: None, help: None, unit: None });
        self.family_index.insert(name, index);
        self.last_family = index;
        index
    }

    fn finish(mut self, ends_with_newline: bool) -> Exposition<'a> {
        // Only now are all types known: a TYPE may stand after its samples, or between them.
        family::resolve(&mut self);
        if self.page.format == Format::OpenMetrics {
            openmetrics::check(&mut self.page, &self.metadata);
            if !self.ended {
                self.page
                    .problems
                    .lost(self.page.lines.max(1), "the page ends without # EOF: it was cut off");
            }
        } else if !ends_with_newline && !self.page.problems.is_lost(self.page.lines) {
            self.page.problems.breach(self.page.lines, "the last line has no end: the page may be cut off");
        }
        self.page.problems.sort();
        self.page
    }
}
