//! From text to a [`Condition`].

use winnow::stream::Location;

use super::condition::{Asked, Condition, Likeness, Order};
use super::token::{
    AND, Input, Meaning, OR, Operator, Read, Wrong, begins_another, blanks, here, in_quotes, is_reserved,
    joins, negates, operator, quoted, takes, word,
};
use super::{FieldKind, FieldRow, measure};
use crate::metric::Unit;

/// The most characters that an expression may have.
const LONGEST: usize = 1_000;

/// The most parentheses and negations within each other: each takes a part of the stack.
const DEEPEST: usize = 32;

/// The most fields that a complaint lists.
const LISTED: usize = 12;

/// Reads an expression over these fields.
pub(super) fn read(text: &str, fields: &[FieldRow]) -> Read<Condition> {
    if let Some((offset, _)) = text.char_indices().nth(LONGEST) {
        let message = format!("an expression has {LONGEST} characters at most");
        return Err(Wrong { offset, message });
    }
    let mut input = Input::new(text);
    blanks(&mut input)?;
    if input.is_empty() {
        return Ok(Condition::All(vec![]));
    }
    let condition = Grammar { fields, depth: 0 }.any(&mut input)?;
    blanks(&mut input)?;
    if input.is_empty() {
        return Ok(condition);
    }
    // Everything but this is taken or complained of before.
    Err(here(&input, "this ')' has no '(' before it"))
}

struct Grammar<'f> {
    fields: &'f [FieldRow],
    depth: usize,
}

impl Grammar<'_> {
    fn any(&mut self, input: &mut Input<'_>) -> Read<Condition> {
        let mut parts = vec![self.all(input)?];
        while joins(OR, input)? {
            parts.push(self.all(input)?);
        }
        Ok(single(parts, Condition::Any))
    }

    fn all(&mut self, input: &mut Input<'_>) -> Read<Condition> {
        let mut parts = vec![self.one(input)?];
        while joins(AND, input)? || begins_another(input)? {
            parts.push(self.one(input)?);
        }
        Ok(single(parts, Condition::All))
    }

    fn one(&mut self, input: &mut Input<'_>) -> Read<Condition> {
        blanks(input)?;
        let start = *input;
        if negates(input) {
            let part = self.deeper(&start, |grammar| grammar.one(input))?;
            return Ok(Condition::Not(Box::new(part)));
        }
        if !takes("(", input) {
            return self.term(input);
        }
        let inner = self.deeper(&start, |grammar| grammar.any(input))?;
        blanks(input)?;
        if takes(")", input) { Ok(inner) } else { Err(here(&start, "this '(' is not closed: add ')'")) }
    }

    /// Keeps the recursion from using up the stack.
    fn deeper<T>(&mut self, start: &Input<'_>, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == DEEPEST {
            let message = format!("parentheses and negations stand within each other {DEEPEST} deep at most");
            return Err(here(start, message));
        }
        self.depth += 1;
        let found = inner(self);
        self.depth -= 1;
        found
    }

    fn term(&mut self, input: &mut Input<'_>) -> Read<Condition> {
        let start = *input;
        let text = match in_quotes(input)? {
            Some(text) => {
                blanks(input)?;
                if operator(input).is_some() {
                    return Err(here(&start, "the field before an operator is written without quotes"));
                }
                text
            }
            None => {
                let word = word(input);
                if word.is_empty() || is_reserved(word) {
                    return Err(nothing_at(&start));
                }
                blanks(input)?;
                let before = *input;
                if let Some((sign, operator)) = operator(input) {
                    return self.comparison(&start, word, &before, sign, operator, input);
                }
                word.to_owned()
            }
        };
        let is_words = |(place, field): (usize, &FieldRow)| (field.kind == FieldKind::Text).then_some(place);
        let places = self.fields.iter().enumerate().filter_map(is_words).collect();
        Ok(Condition::Mentions { text: text.to_lowercase(), places })
    }

    fn comparison(
        &self,
        start: &Input<'_>,
        name: &str,
        before: &Input<'_>,
        sign: &str,
        operator: Operator,
        input: &mut Input<'_>,
    ) -> Read<Condition> {
        let found = self.fields.iter().position(|field| field.name.eq_ignore_ascii_case(name));
        let Some(place) = found else { return Err(here(start, self.unknown_field(name))) };
        let field = &self.fields[place];
        blanks(input)?;
        let condition = match (field.kind, operator.meaning) {
            (FieldKind::Text, Meaning::Order(_)) => {
                let message = format!("'{}' holds words: compare it with =, !=, ~ or !~", field.name);
                return Err(here(before, message));
            }
            (FieldKind::Number(_), Meaning::Holds) => {
                let message = format!("'{}' is a number: compare it with =, !=, >, >=, < or <=", field.name);
                return Err(here(before, message));
            }
            (FieldKind::Text, _) => {
                let (text, is_literal) = value(sign, input)?;
                let likeness = match operator.meaning {
                    Meaning::Holds => Likeness::Holds,
                    _ if !is_literal && text.contains('*') => Likeness::Pattern,
                    _ => Likeness::Same,
                };
                Condition::Words { place, likeness, text: text.to_lowercase() }
            }
            (FieldKind::Number(unit), meaning) => {
                let order = if let Meaning::Order(order) = meaning { order } else { Order::Same };
                Condition::Number { place, order, asked: number(sign, field, unit, input)? }
            }
        };
        Ok(if operator.is_negated { Condition::Not(Box::new(condition)) } else { condition })
    }

    fn unknown_field(&self, name: &str) -> String {
        let written = quoted(name);
        if let Some(meant) = nearest(name, self.fields) {
            return format!("there is no field {written}: did you mean '{meant}'?");
        }
        match self.fields {
            [] => format!("there is no field {written}, nor any other here: write a text to look for"),
            fields => {
                let names: Vec<_> = fields.iter().take(LISTED).map(|field| field.name).collect();
                let more = if fields.len() > LISTED { ", ..." } else { "" };
                format!("there is no field {written}: the fields are {}{more}", names.join(", "))
            }
        }
    }
}

/// Reads a number and the unit that belongs to it, also after a blank.
fn number(sign: &str, field: &FieldRow, unit: Unit, input: &mut Input<'_>) -> Read<Asked> {
    let start = *input;
    let offset = start.current_token_start();
    let (mut text, is_literal) = value(sign, input)?;
    if !is_literal && !measure::has_unit(&text) {
        let end = *input;
        blanks(input)?;
        let gap = input.current_token_start() - end.current_token_start();
        let next = word(input);
        if !next.is_empty() && measure::is_unit(next) {
            text = format!("{text}{}{next}", " ".repeat(gap));
        } else {
            *input = end;
        }
    }
    // In a quoted text places are not those of the expression.
    let place = |within: usize| if is_literal { offset } else { offset + within };
    measure::read(&text, field, unit).map_err(|wrong| Wrong { offset: place(wrong.offset), ..wrong })
}

/// A value after an operator, and whether it was in quotes.
fn value(sign: &str, input: &mut Input<'_>) -> Read<(String, bool)> {
    let start = *input;
    if let Some(text) = in_quotes(input)? {
        return Ok((text, true));
    }
    let word = word(input);
    if word.is_empty() || is_reserved(word) {
        let message = match word {
            "" => format!("a value must follow '{sign}'"),
            _ => format!("a value must follow '{sign}': to ask for {}, write it in quotes", quoted(word)),
        };
        return Err(here(&start, message));
    }
    Ok((word.to_owned(), false))
}

/// One part is itself.
fn single(mut parts: Vec<Condition>, several: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            several(parts)
        }
        None => Condition::All(vec![]),
    }
}

/// Where a word or a comparison had to begin and does not.
fn nothing_at(start: &Input<'_>) -> Wrong {
    let mut ahead = *start;
    let message = if start.is_empty() {
        "the expression ends where a word or a comparison must stand".to_owned()
    } else if let Some((sign, _)) = operator(&mut ahead) {
        format!("a field must stand before '{sign}'; to look for a text with this sign, write it in quotes")
    } else {
        let found = match word(&mut ahead) {
            "" => start.chars().next().map(String::from).unwrap_or_default(),
            word => word.to_owned(),
        };
        format!(
            "a word or a comparison must stand before '{found}'; to look for '{found}', write it in quotes"
        )
    };
    here(start, message)
}

/// The field that was probably meant: one that begins so, or one that is a few letters away.
fn nearest(name: &str, fields: &[FieldRow]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let begins = |field: &&FieldRow| name.len() > 1 && field.name.starts_with(&name);
    if let Some(field) = fields.iter().find(begins) {
        return Some(field.name);
    }
    let away = fields.iter().map(|field| (distance(&name, field.name), field.name));
    let (distance, field) = away.min_by_key(|(distance, _)| *distance)?;
    (distance <= (name.chars().count() / 3).max(1)).then_some(field)
}

/// How many letters must be put in, taken out or changed to make one word of the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (column, against) in other.chars().enumerate() {
            let changed = corner + usize::from(letter != against);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}
