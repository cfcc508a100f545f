//! What an expression means, and whether a row meets it.

use super::{FieldValue, Filtered};
use crate::metric::Unit;
use crate::quantity::show;

/// What a row must meet.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    /// Every one of these: true when there is none.
    All(Vec<Condition>),
    /// At least one of these.
    Any(Vec<Condition>),
    /// The opposite.
    Not(Box<Condition>),
    /// A text within one of the fields of words at these places.
    Mentions {
        /// In lower case.
        text: String,
        /// The places of the fields.
        places: Vec<usize>,
    },
    /// A comparison of a field of words.
    Words {
        /// The place of the field.
        place: usize,
        /// How it is compared.
        likeness: Likeness,
        /// In lower case.
        text: String,
    },
    /// A comparison of a field of numbers.
    Number {
        /// The place of the field.
        place: usize,
        /// How it is compared.
        order: Order,
        /// With what.
        asked: Asked,
    },
}

/// How words are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The whole text.
    Same,
    /// The whole text, where `*` stands for anything.
    Pattern,
    /// A part of the text.
    Holds,
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The same on the screen.
    Same,
    /// More.
    More,
    /// More, or exactly this.
    AtLeast,
    /// Less.
    Less,
    /// Less, or exactly this.
    AtMost,
}

/// The number that a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// In the field's unit; of a time of day, the seconds since midnight.
    pub(super) number: f64,
    /// The field's unit.
    pub(super) unit: Unit,
    /// How the field looks when it is this number; of a time of day, how it begins.
    pub(super) looks: String,
}

impl Condition {
    /// Whether a row meets this; `None` when what it asks for is not known.
    pub(super) fn holds(&self, row: &dyn Filtered) -> Option<bool> {
        match self {
            Self::All(parts) => decided(parts, row, false),
            Self::Any(parts) => decided(parts, row, true),
            Self::Not(part) => part.holds(row).map(|holds| !holds),
            // A text is looked for in what is there: where there is nothing, it is not found.
            Self::Mentions { text, places } => Some(places.iter().any(|place| match row.field(*place) {
                FieldValue::Text(words) => words.to_lowercase().contains(text.as_str()),
                _ => false,
            })),
            Self::Words { place, likeness, text } => match row.field(*place) {
                FieldValue::Text(words) => Some(likeness.holds(&words.to_lowercase(), text)),
                _ => None,
            },
            Self::Number { place, order, asked } => match row.field(*place) {
                FieldValue::Number(value) if !value.is_nan() => Some(order.holds(value, asked)),
                _ => None,
            },
        }
    }
}

/// The outcome that one part decides for all, else its opposite; unknown while an unknown part could decide.
fn decided(parts: &[Condition], row: &dyn Filtered, deciding: bool) -> Option<bool> {
    let mut outcome = Some(!deciding);
    for part in parts {
        match part.holds(row) {
            Some(holds) if holds == deciding => return Some(deciding),
            Some(_) => {}
            None => outcome = None,
        }
    }
    outcome
}

impl Condition {
    /// Adds the places of the fields of numbers that are compared.
    pub(super) fn compared(&self, places: &mut Vec<usize>) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.compared(places)),
            Self::Not(part) => part.compared(places),
            Self::Number { place, .. } => places.push(*place),
            Self::Mentions { .. } | Self::Words { .. } => {}
        }
    }
}

impl Likeness {
    fn holds(self, words: &str, text: &str) -> bool {
        match self {
            Self::Same => words == text,
            Self::Pattern => matches_pattern(words, text),
            Self::Holds => words.contains(text),
        }
    }
}

/// Whether the pieces between the stars stand in the text in their order: the first at its start, the last at its end.
fn matches_pattern(words: &str, pattern: &str) -> bool {
    let Some((first, others)) = pattern.split_once('*') else { return words == pattern };
    let (middle, last) = others.rsplit_once('*').unwrap_or(("", others));
    let inner = words.strip_prefix(first).and_then(|rest| rest.strip_suffix(last));
    // The earliest place of each piece leaves the most to the next.
    let found = |rest: &str, piece: &str| rest.find(piece).map(|at| rest.len() - at - piece.len());
    inner.is_some_and(|inner| {
        let left =
            middle.split('*').try_fold(inner.len(), |left, piece| found(&inner[inner.len() - left..], piece));
        left.is_some()
    })
}

impl Order {
    fn holds(self, value: f64, asked: &Asked) -> bool {
        if self == Self::Same {
            let looks = show(value, asked.unit);
            return match asked.unit {
                Unit::UnixSeconds => looks.starts_with(&asked.looks),
                _ => looks == asked.looks,
            };
        }
        let value = match asked.unit {
            Unit::UnixSeconds => value.rem_euclid(86_400.0),
            _ => value,
        };
        match self {
            Self::Same => false,
            Self::More => value > asked.number,
            Self::AtLeast => value >= asked.number,
            Self::Less => value < asked.number,
            Self::AtMost => value <= asked.number,
        }
    }
}
