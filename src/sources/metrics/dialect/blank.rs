//! Numbers that stand where a page has none: "not supported", "no limit", "not yet".

use serde::Deserialize;

use super::{DialectError, Pattern, wrong};

/// Families in which some numbers mean "no value", whoever reads them: a row, or nobody.
#[derive(Debug)]
pub(in crate::sources::metrics) struct Blank {
    families: Vec<Pattern>,
    none: NoValue,
}

/// `[[blank]]`: families, and what no number of theirs means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BlankEntry {
    families: Vec<String>,
    #[serde(default)]
    sentinels: Vec<f64>,
    range: Option<[f64; 2]>,
}

/// Which numbers mean "no value".
#[derive(Debug)]
pub(super) struct NoValue {
    sentinels: Vec<f64>,
    /// The least and the most that a value can be.
    range: Option<[f64; 2]>,
}

impl BlankEntry {
    pub(super) fn check(self, file: &str) -> Result<Blank, DialectError> {
        let none = NoValue::new(self.sentinels, self.range)
            .map_err(|(key, value, fix)| wrong(file, key, &value, fix))?;
        if self.families.is_empty() {
            return Err(wrong(
                file,
                "blank",
                "",
                "names no family: say in which of them these numbers mean none",
            ));
        }
        if !none.is_known() {
            return Err(wrong(
                file,
                "blank",
                &self.families[0],
                "says of no number that it means none: write 'sentinels' or 'range'",
            ));
        }
        Ok(Blank { families: self.families.iter().map(|text| Pattern::family(text)).collect(), none })
    }
}

impl Blank {
    /// Whether it speaks of the family with this key.
    pub(in crate::sources::metrics) fn is_of(&self, key: &str) -> bool {
        self.families.iter().any(|pattern| pattern.fits(key))
    }

    /// Whether a number of such a family means "no value".
    pub(in crate::sources::metrics) fn is_none(&self, value: f64) -> bool {
        self.none.has(value)
    }
}

impl NoValue {
    /// Checks the keys; the error names the one that makes no sense, with its value and what to write.
    pub(super) fn new(
        sentinels: Vec<f64>,
        range: Option<[f64; 2]>,
    ) -> Result<Self, (&'static str, String, &'static str)> {
        if let Some([least, most]) = range
            && least >= most
        {
            return Err(("range", format!("[{least}, {most}]"), "must begin below its end"));
        }
        Ok(Self { sentinels, range })
    }

    /// Whether a number is one of those.
    pub(super) fn has(&self, value: f64) -> bool {
        self.range.is_some_and(|[least, most]| !(least..=most).contains(&value))
            || self.sentinels.contains(&value)
    }

    /// Whether any number is.
    pub(super) fn is_known(&self) -> bool {
        !self.sentinels.is_empty() || self.range.is_some()
    }
}
