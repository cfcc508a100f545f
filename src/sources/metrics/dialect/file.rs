//! A dialect file as it is written, and what is checked of it before it is a [`Dialect`].

use std::collections::BTreeMap;

use headwater_engine::metric::{Form, Metric};
use serde::Deserialize;

use super::meaning::{self, Meaning};
use super::pattern::{LabelFilter, Labels};
use super::{
    Aggregate, Dialect, DialectError, Example, Field, PartName, Pattern, Row, SubjectRole, blank, naming,
    wrong,
};
use crate::sources::metrics::exposition::FamilyKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DialectFile {
    id: String,
    title: String,
    pub(super) priority: i64,
    #[serde(default)]
    exporter: bool,
    #[serde(default)]
    guesses: bool,
    #[serde(default)]
    recognise: Recognise,
    #[serde(default)]
    unless: BTreeMap<String, String>,
    #[serde(default)]
    ignore: Vec<String>,
    #[serde(default)]
    free: Vec<FreeEntry>,
    #[serde(default)]
    blank: Vec<blank::BlankEntry>,
    #[serde(default)]
    subject: BTreeMap<SubjectRole, naming::NamingEntry>,
    row: Vec<RowEntry>,
    example: Vec<Example>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recognise {
    #[serde(default)]
    any: Vec<String>,
    label: Option<String>,
}

/// `[[free]]`: whom the families that no row can use are about, on the page of an exporter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FreeEntry {
    families: Vec<String>,
    subject: SubjectRole,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowEntry {
    families: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    metric: String,
    #[serde(default)]
    subject: SubjectRole,
    part: Option<String>,
    part_text: Option<String>,
    #[serde(default)]
    unnamed: bool,
    #[serde(default, rename = "where")]
    only: BTreeMap<String, String>,
    #[serde(default)]
    unless: BTreeMap<String, String>,
    #[serde(default)]
    field: Field,
    #[serde(default)]
    aggregate: Aggregate,
    #[serde(default)]
    add: bool,
    #[serde(default)]
    only_adds: bool,
    #[serde(default)]
    sentinels: Vec<f64>,
    range: Option<[f64; 2]>,
    #[serde(default)]
    codes: BTreeMap<String, f64>,
    bit: Option<u32>,
    #[serde(default)]
    level: bool,
    states: Option<meaning::StatesEntry>,
    #[serde(default)]
    typed: Vec<String>,
    #[serde(default)]
    count: Vec<String>,
    #[serde(default)]
    over: Vec<String>,
    repeated: Option<String>,
    #[serde(default = "one")]
    scale: f64,
}

fn one() -> f64 {
    1.0
}

impl DialectFile {
    pub(super) fn check(self, file: &str) -> Result<Dialect, DialectError> {
        if self.row.is_empty() {
            return Err(wrong(file, "row", "", "is missing: a dialect maps at least one family"));
        }
        if self.example.is_empty() {
            return Err(wrong(file, "example", "", "is missing: a dialect shows what comes out of it"));
        }
        let has_ways = self.row.iter().any(|row| row.subject == SubjectRole::Edge);
        if has_ways && !self.subject.contains_key(&SubjectRole::Edge) {
            return Err(wrong(
                file,
                "subject",
                "edge",
                "is missing: say which labels name caller and callee",
            ));
        }
        let names = self.subject.into_iter().map(|(role, entry)| Ok((role, entry.check(file, role)?)));
        Ok(Dialect {
            evidence: patterns(&self.recognise.any),
            evidence_label: self.recognise.label,
            ignored: patterns(&self.ignore),
            free: self.free.iter().flat_map(FreeEntry::check).collect(),
            blanks: self.blank.into_iter().map(|entry| entry.check(file)).collect::<Result<_, _>>()?,
            foreign: LabelFilter::new(&self.unless),
            names: names.collect::<Result<_, _>>()?,
            rows: self.row.into_iter().map(|row| row.check(file)).collect::<Result<_, _>>()?,
            is_exporter: self.exporter,
            guesses: self.guesses,
            examples: self.example,
            id: self.id,
            title: self.title,
        })
    }
}

impl FreeEntry {
    fn check(&self) -> impl Iterator<Item = (Pattern, SubjectRole)> {
        patterns(&self.families).into_iter().map(|pattern| (pattern, self.subject))
    }
}

impl RowEntry {
    fn check(self, file: &str) -> Result<Row, DialectError> {
        let metric = Metric::by_name(&self.metric)
            .ok_or_else(|| wrong(file, "metric", &self.metric, "is not in the METRICS table"))?;
        if self.families.is_empty() {
            return Err(wrong(file, "families", "", "is empty: name at least one family"));
        }
        if !self.scale.is_finite() || self.scale <= 0.0 {
            return Err(wrong(file, "scale", &self.scale.to_string(), "must be a positive number"));
        }
        if (self.add || self.only_adds) && metric.row().form == Form::Histogram {
            return Err(wrong(file, "add", &self.metric, "is a histogram: only counts and levels add up"));
        }
        if !self.count.is_empty() && metric.row().form != Form::Histogram {
            return Err(wrong(
                file,
                "count",
                &self.metric,
                "is no histogram: only a sum has a count beside it",
            ));
        }
        if !self.over.is_empty() && metric.row().form != Form::Gauge {
            return Err(wrong(file, "over", &self.metric, "is no level: only a level is a share of another"));
        }
        let kind = |word: &String| {
            FamilyKind::from_word(word).ok_or_else(|| {
                wrong(file, "typed", word, "is no type: write counter, gauge, histogram or summary")
            })
        };
        let meaning = Meaning::new(meaning::MeaningKeys {
            sentinels: self.sentinels,
            range: self.range,
            codes: self.codes,
            bit: self.bit,
            states: self.states,
        })
        .map_err(|(key, value, fix)| wrong(file, key, &value, fix))?;
        let part = match (self.part, self.part_text) {
            (Some(labels), None) => Some(PartName::Label(Labels::new(&labels))),
            (None, Some(text)) => Some(PartName::text(text)),
            (None, None) => None,
            (Some(part), Some(_)) => {
                return Err(wrong(file, "part", &part, "stands beside 'part_text': keep one of them"));
            }
        };
        Ok(Row {
            families: patterns(&self.families),
            exceptions: patterns(&self.except),
            metric,
            role: self.subject,
            field: self.field,
            aggregate: self.aggregate,
            adds: self.add || self.only_adds,
            only_adds: self.only_adds,
            is_level: self.level,
            typed: self.typed.iter().map(kind).collect::<Result<_, _>>()?,
            is_ratio: !self.over.is_empty(),
            partners: patterns(if self.over.is_empty() { &self.count } else { &self.over }),
            meaning,
            repeated: self.repeated.as_deref().map(Labels::new),
            scale: self.scale,
            part,
            takes_unnamed: self.unnamed,
            only: LabelFilter::new(&self.only),
            without: LabelFilter::new(&self.unless),
        })
    }
}

fn patterns(texts: &[String]) -> Vec<Pattern> {
    texts.iter().map(|text| Pattern::family(text)).collect()
}
