//! Reads one line.

use std::borrow::Cow;

use memchr::memchr2;

use super::Label;
use super::number::number;

/// The most labels that one sample may have; more is an attack or a mistake, and comparing them all would cost.
const MOST_LABELS: usize = 256;

/// The most characters of an exemplar's labels, by the OpenMetrics standard.
const MOST_EXEMPLAR_CHARACTERS: usize = 128;

/// The "reason" for which a native histogram's line is skipped: it is no mistake.
pub(super) const NATIVE_HISTOGRAM: &str = "native histogram";

/// The first word of a metadata line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Help,
    Type,
    Unit,
}

const KEYWORDS: &[(&str, Keyword)] =
    &[("HELP", Keyword::Help), ("TYPE", Keyword::Type), ("UNIT", Keyword::Unit)];

const FIRST_OF_NAME: u8 = 1;
const OF_NAME: u8 = 2;
const FIRST_OF_LABEL: u8 = 4;
const OF_LABEL: u8 = 8;

/// What each byte may be: `[a-zA-Z_:][a-zA-Z0-9_:]*` for metrics, the same without `:` for labels.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        if c.is_ascii_alphabetic() || c == b'_' {
            table[byte] = FIRST_OF_NAME | OF_NAME | FIRST_OF_LABEL | OF_LABEL;
        } else if c == b':' {
            table[byte] = FIRST_OF_NAME | OF_NAME;
        } else if c.is_ascii_digit() {
            table[byte] = OF_NAME | OF_LABEL;
        }
        byte += 1;
    }
    table
};

/// A sample as its line gives it; its labels are the new ones in the list, those of the exemplar last.
pub(super) struct Parsed<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) labels_end: usize,
    pub(super) has_le: bool,
    pub(super) value: f64,
    pub(super) timestamp: Option<f64>,
    pub(super) exemplar: Option<(f64, Option<f64>)>,
}

/// A place in a line.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    strict: bool,
    /// The first rule that the line breaks without being lost.
    pub(super) breach: Option<&'static str>,
}

type Read<T> = Result<T, &'static str>;

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, strict: bool) -> Self {
        Self { text, at: 0, strict, breach: None }
    }

    /// Goes over blanks and gives the byte after them, or `None` at the end.
    pub(super) fn skip_blanks(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    /// Reads a sample from the first byte of its name to the end of the line.
    pub(super) fn sample(&mut self, labels: &mut Vec<Label<'a>>) -> Read<Parsed<'a>> {
        let first_label = labels.len();
        let mut name = match self.take_while(FIRST_OF_NAME, OF_NAME) {
            "" if self.peek() == Some(b'{') => None,
            "" => return Err("a metric name must begin with a letter, '_' or ':'"),
            name => Some(Cow::Borrowed(name)),
        };
        match self.peek() {
            Some(b'{') => self.labels(labels, &mut name)?,
            Some(b' ' | b'\t') => {
                let after_name = self.at;
                if self.skip_blanks() == Some(b'{') {
                    self.note("a blank must not stand before '{'");
                    self.labels(labels, &mut name)?;
                } else {
                    self.at = after_name;
                }
            }
            None => return Err("the value is missing"),
            Some(_) => return Err("a metric name holds a character that is not allowed"),
        }
        let name = name.ok_or("the metric name is missing")?;
        let labels_end = labels.len();
        let has_le = labels[first_label..].iter().any(|label| label.name == "le");
        self.gap();
        if self.peek() == Some(b'{') {
            return Err(NATIVE_HISTOGRAM);
        }
        let value = number(self.word()).ok_or("the value is missing or not a number")?;
        let mut parsed = Parsed { name, labels_end, has_le, value, timestamp: None, exemplar: None };
        if self.peek().is_none() {
            return Ok(parsed);
        }
        self.gap();
        if !matches!(self.peek(), None | Some(b'#')) {
            parsed.timestamp = self.timestamp()?;
            if self.peek().is_some() {
                self.gap();
            }
        }
        match self.peek() {
            None if self.text.ends_with([' ', '\t']) => self.note("a line must not end with a blank"),
            None => {}
            Some(b'#') => match self.exemplar(labels) {
                Ok(exemplar) => parsed.exemplar = Some(exemplar),
                Err(reason) => {
                    labels.truncate(labels_end);
                    self.breach = Some(reason);
                }
            },
            Some(_) => return Err("there is text after the timestamp"),
        }
        Ok(parsed)
    }

    fn labels(&mut self, labels: &mut Vec<Label<'a>>, metric: &mut Option<Cow<'a, str>>) -> Read<()> {
        let first_label = labels.len();
        self.at += 1;
        loop {
            match self.inner_blanks() {
                Some(b'}') => {
                    if labels.len() > first_label && self.strict {
                        self.note("a comma must not stand before '}'");
                    }
                    break;
                }
                Some(b'"') => {
                    let name = self.quoted("a quoted name is not closed")?;
                    if self.inner_blanks() == Some(b'=') {
                        self.at += 1;
                        self.value(labels, first_label, name)?;
                    } else if metric.is_none() {
                        *metric = Some(name);
                    } else {
                        return Err("a label has no '='");
                    }
                }
                _ => {
                    let name = self.take_while(FIRST_OF_LABEL, OF_LABEL);
                    if name.is_empty() {
                        return Err("a label name must begin with a letter or '_'");
                    }
                    if self.inner_blanks() != Some(b'=') {
                        return Err("a label has no '='");
                    }
                    self.at += 1;
                    self.value(labels, first_label, Cow::Borrowed(name))?;
                }
            }
            match self.inner_blanks() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                None => return Err("the labels are not closed: the line is cut off"),
                Some(_) => return Err("a ',' or '}' is missing after a label"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn value(&mut self, labels: &mut Vec<Label<'a>>, first_label: usize, name: Cow<'a, str>) -> Read<()> {
        if self.inner_blanks() != Some(b'"') {
            return Err("a label value is not in double quotes");
        }
        let value = self.quoted("a label value is not closed: the line is cut off")?;
        if labels[first_label..].iter().any(|label| label.name == name) {
            return Err("a label stands twice");
        }
        if labels.len() - first_label == MOST_LABELS {
            return Err("there are more than 256 labels");
        }
        labels.push(Label { name, value });
        Ok(())
    }

    /// Reads a quoted text; of the escapes `\\`, `\"` and `\n` mean something, any other stays as it is.
    fn quoted(&mut self, unclosed: &'static str) -> Read<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        let start = self.at;
        let mut unescaped: Option<String> = None;
        let mut copied = start;
        loop {
            self.at += memchr2(b'"', b'\\', &bytes[self.at..]).ok_or(unclosed)?;
            if bytes[self.at] == b'"' {
                let tail = &self.text[copied..self.at];
                self.at += 1;
                return Ok(match unescaped {
                    None => Cow::Borrowed(tail),
                    Some(mut text) => {
                        text.push_str(tail);
                        Cow::Owned(text)
                    }
                });
            }
            let meaning = match bytes.get(self.at + 1) {
                Some(b'\\') => '\\',
                Some(b'"') => '"',
                Some(b'n') => '\n',
                Some(_) => {
                    self.at += 1;
                    continue;
                }
                None => return Err(unclosed),
            };
            let text = unescaped.get_or_insert_default();
            text.push_str(&self.text[copied..self.at]);
            text.push(meaning);
            self.at += 2;
            copied = self.at;
        }
    }

    fn timestamp(&mut self) -> Read<Option<f64>> {
        let word = self.word();
        if self.strict {
            let seconds = number(word).filter(|seconds| seconds.is_finite());
            return seconds.map(Some).ok_or("the timestamp is not a number of seconds");
        }
        if let Ok(milliseconds) = word.parse::<i64>() {
            return Ok(Some(milliseconds as f64 / 1_000.0));
        }
        match number(word) {
            Some(other) if other.is_finite() && word.contains('.') => {
                self.note_loss("the timestamp is not whole milliseconds; the value counts as of now");
                Ok(None)
            }
            _ => Err("the timestamp is not a number of milliseconds"),
        }
    }

    fn exemplar(&mut self, labels: &mut Vec<Label<'a>>) -> Read<(f64, Option<f64>)> {
        const MALFORMED: &str = "the exemplar cannot be read; the value was kept";
        let first_label = labels.len();
        self.at += 1;
        self.gap();
        if self.peek() != Some(b'{') {
            return Err(MALFORMED);
        }
        let mut name = None;
        self.labels(labels, &mut name).map_err(|_| MALFORMED)?;
        if name.is_some() {
            return Err(MALFORMED);
        }
        let length = |of: fn(&str) -> usize| -> usize {
            labels[first_label..].iter().map(|label| of(&label.name) + of(&label.value)).sum()
        };
        // Counting characters costs, and there are never more of them than bytes.
        if length(str::len) > MOST_EXEMPLAR_CHARACTERS
            && length(|text| text.chars().count()) > MOST_EXEMPLAR_CHARACTERS
        {
            self.note("an exemplar's labels are longer than 128 characters");
        }
        self.gap();
        let value = number(self.word()).ok_or(MALFORMED)?;
        if self.peek().is_none() {
            return Ok((value, None));
        }
        self.gap();
        if self.peek().is_none() {
            self.note("a line must not end with a blank");
            return Ok((value, None));
        }
        let timestamp = number(self.word()).filter(|seconds| seconds.is_finite()).ok_or(MALFORMED)?;
        if self.peek().is_some() {
            self.note("a line must not end with a blank");
            if self.skip_blanks().is_some() {
                return Err(MALFORMED);
            }
        }
        Ok((value, Some(timestamp)))
    }

    /// Goes over the blanks between two parts of a line; the strict form is one space.
    fn gap(&mut self) {
        let start = self.at;
        self.skip_blanks();
        if self.strict && &self.text[start..self.at] != " " {
            self.note("parts of a line must be separated by one space");
        }
    }

    /// Goes over blanks inside braces, where the strict form has none.
    fn inner_blanks(&mut self) -> Option<u8> {
        let start = self.at;
        let next = self.skip_blanks();
        if self.at > start {
            self.note("a blank must not stand between labels");
        }
        next
    }

    /// Notes a breach of form that costs nothing; text 0.0.4 allows these.
    fn note(&mut self, reason: &'static str) {
        if self.strict {
            self.note_loss(reason);
        }
    }

    /// Notes that a part of the line was lost, which is worth a word in any format.
    fn note_loss(&mut self, reason: &'static str) {
        self.breach = self.breach.or(Some(reason));
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Reads up to the next blank or the end.
    fn word(&mut self) -> &'a str {
        let rest = &self.text.as_bytes()[self.at..];
        let length = rest.iter().position(|byte| matches!(byte, b' ' | b'\t')).unwrap_or(rest.len());
        let word = &self.text[self.at..self.at + length];
        self.at += length;
        word
    }

    fn take_while(&mut self, first: u8, rest: u8) -> &'a str {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes.get(start).is_some_and(|byte| CLASS[usize::from(*byte)] & first != 0) {
            self.at += 1;
            while bytes.get(self.at).is_some_and(|byte| CLASS[usize::from(*byte)] & rest != 0) {
                self.at += 1;
            }
        }
        &self.text[start..self.at]
    }
}

/// Reads a `# HELP`, `# TYPE` or `# UNIT` line: keyword, name, the rest. `Ok(None)` is any other comment.
pub(super) fn metadata(text: &str, strict: bool) -> Read<Option<(Keyword, Cow<'_, str>, &str)>> {
    const NO_NAME: &str = "the metric name is missing or not allowed";
    let Some(after) = text.strip_prefix('#').and_then(|rest| rest.strip_prefix([' ', '\t'])) else {
        return Ok(None);
    };
    let after = if strict { after } else { after.trim_start_matches([' ', '\t']) };
    let word = after.split([' ', '\t']).next().unwrap_or("");
    let Some((_, keyword)) = KEYWORDS.iter().find(|(known, _)| *known == word) else {
        return Ok(None);
    };
    let mut cursor = Cursor::new(after, strict);
    cursor.at = word.len();
    let gap = cursor.at;
    let name = match cursor.skip_blanks() {
        Some(b'"') => cursor.quoted(NO_NAME)?,
        _ => Cow::Borrowed(cursor.take_while(FIRST_OF_NAME, OF_NAME)),
    };
    if name.is_empty() || !matches!(cursor.peek(), None | Some(b' ' | b'\t')) {
        return Err(NO_NAME);
    }
    if strict && (cursor.peek() != Some(b' ') || !after[gap..].starts_with(' ')) {
        return Err("the text after the name is missing");
    }
    let rest = after.get(cursor.at + 1..).unwrap_or("");
    // A HELP text may begin with blanks that belong to it; a TYPE or UNIT may not.
    let rest = if strict || *keyword == Keyword::Help { rest } else { rest.trim_matches([' ', '\t']) };
    Ok(Some((*keyword, name, rest)))
}
