//! Names and values with `*`, and filters on labels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::sources::metrics::exposition::Label;

/// A text in which `*` stands for anything, also for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pieces: Vec<String>,
}

/// The key by which families are compared: Ray's prefix and the counter's suffix are gone, and `:` and `.` are
/// `_`, because the same metric arrives in all these spellings.
pub fn key_of(family: &str) -> Cow<'_, str> {
    let name = family.strip_prefix("ray_").unwrap_or(family);
    let name = name.strip_suffix("_total").unwrap_or(name);
    if name.contains([':', '.']) { Cow::Owned(name.replace([':', '.'], "_")) } else { Cow::Borrowed(name) }
}

impl Pattern {
    /// A pattern for values.
    pub fn value(text: &str) -> Self {
        Self { pieces: text.split('*').map(str::to_owned).collect() }
    }

    /// A pattern for families; it is compared with [`key_of`] a family.
    pub fn family(text: &str) -> Self {
        Self::value(&key_of(text))
    }

    /// Whether the whole text fits.
    pub fn fits(&self, text: &str) -> bool {
        let (first, rest) = self.pieces.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
        let Some((last, middle)) = rest.split_last() else { return text == first };
        let Some(mut text) = text.strip_prefix(first) else { return false };
        for piece in middle {
            match text.find(piece.as_str()) {
                Some(at) => text = &text[at + piece.len()..],
                None => return false,
            }
        }
        text.ends_with(last.as_str())
    }

    /// The text itself, when it holds no `*`.
    pub fn literal(&self) -> Option<&str> {
        match &self.pieces[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The pattern as it was written.
    pub fn text(&self) -> String {
        self.pieces.join("*")
    }
}

/// One or several names of a label, `a|b`: the first that a series has counts. An empty label is none, as libraries
/// write one where a series of the same family has a value there.
#[derive(Debug)]
pub(in crate::sources::metrics) struct Labels(Vec<String>);

impl Labels {
    pub(in crate::sources::metrics) fn new(text: &str) -> Self {
        Self(text.split('|').map(str::to_owned).collect())
    }

    pub(in crate::sources::metrics) fn of<'p>(&self, labels: &'p [Label<'_>]) -> Option<&'p str> {
        self.0.iter().filter_map(|name| Self::one(labels, name)).find(|value| !value.is_empty())
    }

    /// Whether a label with this name is one of them.
    pub(in crate::sources::metrics) fn names(&self, label: &str) -> bool {
        self.0.iter().any(|name| is_same(label, name))
    }

    /// The value of the label with this name.
    pub(in crate::sources::metrics) fn one<'p>(labels: &'p [Label<'_>], name: &str) -> Option<&'p str> {
        labels.iter().find(|label| is_same(&label.name, name)).map(|label| &*label.value)
    }
}

/// Whether a label has this name, its dots written as `_`: pages with UTF-8 names keep the dots.
fn is_same(label: &str, name: &str) -> bool {
    label == name || (label.len() == name.len() && label.contains('.') && label.replace('.', "_") == name)
}

/// Conditions on labels: `names = "value|value"`, with `*` in values.
#[derive(Debug, Default)]
pub(in crate::sources::metrics) struct LabelFilter(Vec<(Labels, Vec<Pattern>)>);

impl LabelFilter {
    pub(in crate::sources::metrics) fn new(conditions: &BTreeMap<String, String>) -> Self {
        Self(
            conditions
                .iter()
                .map(|(names, values)| (Labels::new(names), values.split('|').map(Pattern::value).collect()))
                .collect(),
        )
    }

    /// Whether every condition holds.
    pub(in crate::sources::metrics) fn all(&self, labels: &[Label<'_>]) -> bool {
        self.0.iter().all(|condition| holds(condition, labels))
    }

    /// Whether some condition holds.
    pub(in crate::sources::metrics) fn any(&self, labels: &[Label<'_>]) -> bool {
        self.0.iter().any(|condition| holds(condition, labels))
    }

    /// Whether the labels that the conditions look at are all there.
    pub(in crate::sources::metrics) fn can_tell(&self, labels: &[Label<'_>]) -> bool {
        self.0.iter().all(|(names, _)| labels.iter().any(|label| names.names(&label.name)))
    }
}

fn holds((names, values): &(Labels, Vec<Pattern>), labels: &[Label<'_>]) -> bool {
    names.of(labels).is_some_and(|value| values.iter().any(|pattern| pattern.fits(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_metric_have_one_key() {
        for spelling in [
            "vllm:num_preemptions_total",
            "ray_vllm_num_preemptions_total",
            "ray_vllm:num_preemptions",
            "vllm.num_preemptions",
        ] {
            assert_eq!(key_of(spelling), "vllm_num_preemptions", "{spelling}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        let fits = |pattern: &str, text: &str| Pattern::value(pattern).fits(text);
        assert!(fits("5*", "503") && fits("5*", "5xx") && !fits("5*", "200"));
        assert!(fits("*_stage_duration_seconds", "inference_stage_duration_seconds"));
        assert!(fits("a*b*c", "a1b2c") && !fits("a*b*c", "acb") && fits("*", ""));
        assert!(fits("abc", "abc") && !fits("abc", "abcd") && !fits("ab*bc", "abc"));
    }
}
