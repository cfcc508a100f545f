//! The smallest parts of an expression: words, quotes, signs, and where each stands.

use winnow::LocatingSlice;
use winnow::combinator::{alt, delimited, preceded, repeat};
use winnow::error::ParserError;
use winnow::prelude::*;
use winnow::stream::{Location, Stream};
use winnow::token::{any, none_of, take_while};

use super::condition::Order;
use crate::text::RemoteText;

/// Where in the text something makes no sense, and why.
#[derive(Debug)]
pub(super) struct Wrong {
    /// In bytes.
    pub(super) offset: usize,
    pub(super) message: String,
}

pub(super) type Input<'t> = LocatingSlice<&'t str>;

pub(super) type Read<T> = Result<T, Wrong>;

impl ParserError<Input<'_>> for Wrong {
    type Inner = Self;

    fn from_input(input: &Input<'_>) -> Self {
        Self { offset: input.current_token_start(), message: "this makes no sense here".to_owned() }
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

/// What stands between a field and a value, the longest first.
static OPERATORS: &[(&str, Operator)] = &[
    ("==", Operator { meaning: Meaning::Same, is_negated: false }),
    ("=~", Operator { meaning: Meaning::Holds, is_negated: false }),
    ("~=", Operator { meaning: Meaning::Holds, is_negated: false }),
    ("!=", Operator { meaning: Meaning::Same, is_negated: true }),
    ("!~", Operator { meaning: Meaning::Holds, is_negated: true }),
    (">=", Operator { meaning: Meaning::Order(Order::AtLeast), is_negated: false }),
    ("<=", Operator { meaning: Meaning::Order(Order::AtMost), is_negated: false }),
    ("=", Operator { meaning: Meaning::Same, is_negated: false }),
    ("~", Operator { meaning: Meaning::Holds, is_negated: false }),
    (">", Operator { meaning: Meaning::Order(Order::More), is_negated: false }),
    ("<", Operator { meaning: Meaning::Order(Order::Less), is_negated: false }),
];

#[derive(Clone, Copy)]
pub(super) struct Operator {
    pub(super) meaning: Meaning,
    pub(super) is_negated: bool,
}

#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Same,
    Holds,
    Order(Order),
}

/// Words that join, with the signs that do the same.
pub(super) static AND: (&str, &[&str]) = ("and", &["&&", "&"]);

pub(super) static OR: (&str, &[&str]) = ("or", &["||", "|"]);

pub(super) const NOT: &str = "not";

/// Operators that begin with the sign of a negation.
const NEGATED: [&str; 2] = ["!=", "!~"];

/// A text of the operator's in quotes, harmless and short.
pub(super) fn quoted(text: &str) -> String {
    let clean = RemoteText::new(text);
    let short: String = clean.as_str().chars().take(40).collect();
    format!("'{short}{}'", if short.len() < clean.as_str().len() { "..." } else { "" })
}

/// A text in quotes of either kind, in which a backslash makes the next character plain; `None` where none begins.
pub(super) fn in_quotes(input: &mut Input<'_>) -> Read<Option<String>> {
    let start = *input;
    let Some(quote) = input.chars().next().filter(|first| matches!(first, '"' | '\'')) else {
        return Ok(None);
    };
    let letter = alt((preceded('\\', any), none_of(['\\', quote])));
    let text: Result<String, Wrong> = delimited(
        quote,
        repeat(0.., letter).fold(String::new, |text, letter: char| text + letter.encode_utf8(&mut [0; 4])),
        quote,
    )
    .parse_next(input);
    match text {
        Ok(text) if text.is_empty() => Err(here(&start, "nothing stands between these quotes")),
        Ok(text) => Ok(Some(text)),
        Err(_) => Err(here(&start, format!("this quote is not closed: add {quote} at the end"))),
    }
}

/// The word at this place, up to a blank, a parenthesis or an operator; empty where none begins.
pub(super) fn word<'t>(input: &mut Input<'t>) -> &'t str {
    let text: &str = input;
    let ends = |(at, letter): &(usize, char)| {
        letter.is_whitespace()
            || "()&|=<>~".contains(*letter)
            || NEGATED.iter().any(|sign| text[*at..].starts_with(sign))
    };
    let end = text.char_indices().find(ends).map_or(text.len(), |(at, _)| at);
    input.next_slice(end)
}

pub(super) fn blanks(input: &mut Input<'_>) -> Read<()> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

/// Takes a sign where it stands.
pub(super) fn takes(sign: &str, input: &mut Input<'_>) -> bool {
    let stands = input.starts_with(sign);
    if stands {
        input.next_slice(sign.len());
    }
    stands
}

/// Takes a word that joins or negates, in any case.
pub(super) fn takes_word(wanted: &str, input: &mut Input<'_>) -> bool {
    let before = *input;
    let found = word(input).eq_ignore_ascii_case(wanted);
    if !found {
        *input = before;
    }
    found
}

pub(super) fn joins((wanted, signs): (&str, &[&str]), input: &mut Input<'_>) -> Read<bool> {
    blanks(input)?;
    Ok(takes_word(wanted, input) || signs.iter().any(|sign| takes(sign, input)))
}

/// Whether another part follows that a blank joins to the one before.
pub(super) fn begins_another(input: &mut Input<'_>) -> Read<bool> {
    blanks(input)?;
    let mut ahead = *input;
    Ok(!input.is_empty() && !input.starts_with([')', '|']) && !takes_word(OR.0, &mut ahead))
}

pub(super) fn negates(input: &mut Input<'_>) -> bool {
    let is_operator = NEGATED.iter().any(|sign| input.starts_with(sign));
    takes_word(NOT, input) || (!is_operator && takes("!", input))
}

pub(super) fn operator(input: &mut Input<'_>) -> Option<(&'static str, Operator)> {
    OPERATORS.iter().find(|(sign, _)| takes(sign, input)).copied()
}

pub(super) fn is_reserved(word: &str) -> bool {
    [AND.0, OR.0, NOT].iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

pub(super) fn here(input: &Input<'_>, message: impl Into<String>) -> Wrong {
    Wrong { offset: input.current_token_start(), message: message.into() }
}
