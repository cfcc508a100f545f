//! Dialects: which exposed family means which of our metrics, as data.
//!
//! A dialect is one TOML file in `assets/dialects/`: how it is recognised, its rows, and an example with what must
//! come out of it, which a test checks. Dialects apply in the order of their `priority`, rows in the order of the
//! file; the first row that finds something for a metric of a subject gives it alone, so that two families are
//! never mixed in one series, and a family that one dialect maps is closed to the later ones. The exception says
//! `add = true`: such a row adds its count to what an earlier row has given, because it counts what that one cannot
//! see, or gives it alone where there is none; with `only_adds = true` it gives nothing alone, because a part of a sum
//! is no sum.

mod blank;
mod file;
mod meaning;
mod naming;
mod pattern;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use headwater_engine::Kind;
use headwater_engine::metric::Metric;
use serde::Deserialize;
use thiserror::Error;

use super::exposition::FamilyKind;

pub(super) use blank::Blank;
pub(super) use meaning::Meaning;
pub(super) use naming::{Asked, Naming, PartName};
pub(super) use pattern::{LabelFilter, Labels};
pub use pattern::{Pattern, key_of};

include!(concat!(env!("OUT_DIR"), "/dialect_files.rs"));

/// All dialects, in the order in which they apply.
#[derive(Debug)]
pub struct Dialects {
    /// The dialects, most specific first.
    pub list: Vec<Dialect>,
}

/// One dialect, ready to be applied.
#[derive(Debug)]
pub struct Dialect {
    /// The id that users write.
    pub id: String,
    /// The name that users read.
    pub title: String,
    /// Where it applies: families of which one is enough evidence; none means that any mapped family is.
    pub evidence: Vec<Pattern>,
    /// The label that a family of evidence must have.
    pub evidence_label: Option<String>,
    /// Families that are not even kept as free metrics.
    pub ignored: Vec<Pattern>,
    /// Families whose free metrics are about the subjects of a role, and not about the target.
    pub(super) free: Vec<(Pattern, SubjectRole)>,
    /// What no number of a family means.
    pub(super) blanks: Vec<Blank>,
    /// What is mapped.
    pub rows: Vec<Row>,
    /// Whether it is that of an exporter, which tells of others: on its pages no dialect that guesses is read.
    pub is_exporter: bool,
    /// Whether it goes by names that many pages have, also those of exporters for their own requests.
    pub guesses: bool,
    /// Examples with what must come out of them.
    pub examples: Vec<Example>,
    /// Series with such a label belong to somebody else.
    pub(super) foreign: LabelFilter,
    /// Which labels name the subjects of a role; those of other roles are the target's own.
    pub(super) names: BTreeMap<SubjectRole, Naming>,
}

impl Dialect {
    /// What no number of the family with this key means, whoever reads it.
    pub(super) fn blanks_of(&self, key: &str) -> impl Iterator<Item = &Blank> {
        self.blanks.iter().filter(move |blank| blank.is_of(key))
    }
}

/// One mapping of a dialect.
#[derive(Debug)]
pub struct Row {
    /// The families, best first.
    pub families: Vec<Pattern>,
    /// Families that match and are not meant.
    pub exceptions: Vec<Pattern>,
    /// What they become.
    pub metric: Metric,
    /// What the metric is about.
    pub role: SubjectRole,
    /// What of a histogram or summary is taken.
    pub field: Field,
    /// How series that end up in one are put together.
    pub aggregate: Aggregate,
    /// Whether its counts go on top of an earlier row's instead of giving way to it.
    pub adds: bool,
    /// Whether its counts are nothing where no earlier row gave any.
    pub only_adds: bool,
    /// Whether it is a share or a level already, where the metric is a rate of totals: one bit of a mask of reasons.
    pub is_level: bool,
    /// What a value is multiplied with to be in the metric's unit.
    pub scale: f64,
    /// Types that pages wrongly declare and that are taken all the same.
    pub typed: Vec<FamilyKind>,
    /// The families of which one completes each value, by equal labels: the number of events of a sum, or, of a
    /// ratio, what the value is a share of.
    pub partners: Vec<Pattern>,
    /// Whether the partner is what the value is a share of.
    pub is_ratio: bool,
    pub(super) meaning: Meaning,
    /// Labels whose values repeat one number, as each rank of an engine does.
    pub(super) repeated: Option<Labels>,
    pub(super) part: Option<PartName>,
    /// Whether a series without the label of a part is about the whole, instead of not being meant.
    pub(super) takes_unnamed: bool,
    pub(super) only: LabelFilter,
    pub(super) without: LabelFilter,
}

/// What a row's numbers are about, as seen from the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubjectRole {
    /// The target itself.
    #[default]
    Itself,
    /// Its queue and batcher.
    Queue,
    /// Its GPU.
    Gpu,
    /// The caller that it is.
    Client,
    /// The gateway that it is.
    Gateway,
    /// The Redis node that it tells of.
    Redis,
    /// A consumer group of a message log.
    Kafka,
    /// A data pipeline.
    Pipeline,
    /// The machine that it runs on or tells of.
    Host,
    /// The way between a caller and a callee, which the labels of each series name.
    Edge,
}

impl SubjectRole {
    /// The kind of its subjects; `None` for the target itself, whose kind the configuration says.
    pub fn kind(self) -> Option<Kind> {
        Some(match self {
            Self::Itself => return None,
            Self::Queue => Kind::Queue,
            Self::Gpu => Kind::Gpu,
            Self::Client => Kind::Client,
            Self::Gateway => Kind::Gateway,
            Self::Redis => Kind::Redis,
            Self::Kafka => Kind::Kafka,
            Self::Pipeline => Kind::Pipeline,
            Self::Host => Kind::Host,
            Self::Edge => Kind::Edge,
        })
    }
}

/// Which number of a family a row takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// The value, or the whole histogram.
    #[default]
    Value,
    /// The number of events of a histogram or summary.
    Count,
    /// The sum of a histogram or summary.
    Sum,
}

/// How several series become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aggregate {
    /// They add up.
    #[default]
    Sum,
    /// The largest counts.
    Max,
    /// The last of the page counts.
    Last,
    /// How many series there are, whatever their values: cores, of which each has a series of its own.
    Count,
}

/// A sample page of a dialect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What the example shows, in a few words.
    pub about: String,
    /// The page.
    pub text: String,
    /// All known metrics that must come out of it, and no other.
    pub expect: Vec<Expected>,
}

/// One number that must come out of an example.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The metric's name.
    pub metric: String,
    /// What it is about.
    #[serde(default)]
    pub subject: SubjectRole,
    /// The subject's name where labels name it: what stands after `kind/`.
    pub of: Option<String>,
    /// Its part.
    pub part: Option<String>,
    /// The value of a gauge or counter; of a histogram, the number of events.
    pub value: f64,
    /// The sum of a histogram.
    pub sum: Option<f64>,
    /// The bounds of a histogram.
    pub bounds: Option<Vec<f64>>,
}

/// Why a dialect file cannot be used.
#[derive(Debug, Error)]
pub enum DialectError {
    /// Not the TOML it should be.
    #[error("dialect file '{file}' cannot be read: {reason}")]
    Toml {
        /// The file.
        file: String,
        /// The parser's words, with line and column.
        reason: String,
    },
    /// A row that makes no sense.
    #[error("dialect file '{file}': {what} '{value}' {fix}")]
    Value {
        /// The file.
        file: String,
        /// The key.
        what: &'static str,
        /// The value.
        value: String,
        /// What is wrong and what to write.
        fix: &'static str,
    },
}

impl Dialects {
    /// The dialects that Headwater brings along.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: LazyLock<Dialects> = LazyLock::new(|| {
            Dialects::parse(DIALECT_FILES)
                .expect("a test reads the embedded dialects before they are shipped")
        });
        &BUILT_IN
    }

    /// Reads dialect files, given as name and text.
    pub fn parse(files: &[(&str, &str)]) -> Result<Self, DialectError> {
        let mut ordered = vec![];
        let mut ids = HashSet::new();
        for (name, text) in files {
            let file: file::DialectFile = toml::from_str(text).map_err(|error| DialectError::Toml {
                file: (*name).to_owned(),
                reason: error.to_string().trim().to_owned(),
            })?;
            let (priority, dialect) = (file.priority, file.check(name)?);
            if !ids.insert(dialect.id.clone()) {
                return Err(wrong(name, "id", &dialect.id, "stands in two files: give each its own"));
            }
            ordered.push((priority, dialect));
        }
        ordered.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.id.cmp(&y.id)));
        Ok(Self { list: ordered.into_iter().map(|(_, dialect)| dialect).collect() })
    }

    /// The place of a dialect in [`Dialects::list`].
    pub fn position(&self, id: &str) -> Option<usize> {
        self.list.iter().position(|dialect| dialect.id == id)
    }
}

fn wrong(file: &str, what: &'static str, value: &str, fix: &'static str) -> DialectError {
    DialectError::Value { file: file.to_owned(), what, value: value.to_owned(), fix }
}
