//! The grammar of filters and checks: one for `/` on every screen and for the checks of runbooks.
//!
//! ```text
//! filter     = all { ("or" | "|" | "||") all }
//! all        = one { ["and" | "&" | "&&"] one }
//! one        = ("not" | "!") one | "(" filter ")" | comparison | word | quoted
//! comparison = field ("=" | "!=" | ">" | ">=" | "<" | "<=" | "~" | "!~") value
//! ```
//!
//! [`GRAMMAR`] says the same to users. Letters of either case are alike everywhere. A comparison has three outcomes:
//! of what nobody knows it is neither true nor false, and so is its negation; a row is kept when the whole is true.

mod condition;
mod grammar;
mod measure;
mod token;

use std::borrow::Cow;
use std::fmt;

use crate::metric::Unit;
use condition::Condition;

/// One thing that a row can be asked for.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// The name users write.
    pub name: &'static str,
    /// What its values are.
    pub kind: FieldKind,
    /// One sentence for help.
    pub help: &'static str,
}

/// What the values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Words.
    Text,
    /// Numbers of this unit.
    Number(Unit),
}

/// The value of a field in one row.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue<'a> {
    /// Words.
    Text(Cow<'a, str>),
    /// A number in the field's unit.
    Number(f64),
    /// Nobody knows: never equal to anything, never more and never less.
    Absent,
}

/// What can be filtered: its fields by their place in the list that the filter was parsed with.
pub trait Filtered {
    /// The value of the field at this place.
    fn field(&self, place: usize) -> FieldValue<'_>;
}

/// One row of [`GRAMMAR`].
#[derive(Clone, Copy, Debug)]
pub struct GrammarRow {
    /// How it is written, as an example.
    pub form: &'static str,
    /// What it keeps.
    pub help: &'static str,
}

const fn row(form: &'static str, help: &'static str) -> GrammarRow {
    GrammarRow { form, help }
}

/// What can be written, for help: the simplest first.
pub static GRAMMAR: &[GrammarRow] = &[
    row("word", "rows with this text in any field of words; upper and lower case are alike"),
    row("\"two words\"", "the same for a text with blanks, operators or the words and, or, not"),
    row("name = web*", "the whole text; '*' stands for anything, unless the text is in quotes"),
    row("name ~ eb", "a text within the field"),
    row("cpu >= 70 %", "numbers, also with !=, >, < and <=; '=' means what looks the same on the screen"),
    row("out > 20 MB/s", "with the field's unit or another that fits: 0.7, 1.5k, 5 ms, 2 s, 3/s, 14:06"),
    row("one two", "both; also 'one and two' and 'one & two'"),
    row("one or two", "either; also 'one | two'; 'and' binds more closely"),
    row("not one", "the others; also '!one', '!=' and '!~'"),
    row("(one or two) three", "parentheses go first"),
    row("not cpu > 70 %", "what nobody knows is kept by no comparison, and not by its negation"),
];

/// An expression that keeps some rows.
#[derive(Clone, Debug)]
pub struct Filter {
    text: String,
    condition: Condition,
}

/// Why a filter makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterError {
    /// The column of the first character that makes no sense, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}

impl Filter {
    /// Reads an expression over these fields; a blank one keeps every row.
    pub fn parse(text: &str, fields: &[FieldRow]) -> Result<Self, FilterError> {
        match grammar::read(text, fields) {
            Ok(condition) => Ok(Self { text: text.to_owned(), condition }),
            Err(wrong) => {
                let before = text.get(..wrong.offset).unwrap_or(text);
                Err(FilterError { column: before.chars().count() + 1, message: wrong.message })
            }
        }
    }

    /// Whether a row is kept.
    pub fn keeps(&self, row: &dyn Filtered) -> bool {
        self.condition.holds(row) == Some(true)
    }

    /// Whether a row meets it; `None` when what it asks for is not known.
    pub fn judge(&self, row: &dyn Filtered) -> Option<bool> {
        self.condition.holds(row)
    }

    /// The places of the fields of numbers that it compares, each once, in order.
    pub fn comparisons(&self) -> Vec<usize> {
        let mut places = vec![];
        self.condition.compared(&mut places);
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The expression as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::condition::{Asked, Likeness, Order};
    use super::*;

    const fn field(name: &'static str, kind: FieldKind) -> FieldRow {
        FieldRow { name, kind, help: "" }
    }

    static FIELDS: &[FieldRow] = &[
        field("name", FieldKind::Text),
        field("cpu", FieldKind::Number(Unit::Ratio)),
        field("out", FieldKind::Number(Unit::BytesPerSecond)),
        field("memory", FieldKind::Number(Unit::Bytes)),
        field("p99", FieldKind::Number(Unit::Seconds)),
        field("calls", FieldKind::Number(Unit::PerSecond)),
        field("waiting", FieldKind::Number(Unit::Count)),
        field("since", FieldKind::Number(Unit::UnixSeconds)),
        field("role", FieldKind::Text),
    ];

    #[derive(Debug)]
    struct Line(Vec<FieldValue<'static>>);

    impl Filtered for Line {
        fn field(&self, place: usize) -> FieldValue<'_> {
            self.0.get(place).cloned().unwrap_or(FieldValue::Absent)
        }
    }

    /// The full shard of an incident; nobody knows how many wait.
    fn shard() -> Line {
        let number = FieldValue::Number;
        Line(vec![
            FieldValue::Text("redis/Features#2".into()),
            number(0.704),
            number(23_912_345.0),
            number(1.8e6),
            number(0.041),
            number(1_420.4),
            FieldValue::Absent,
            number(1_790_000_000.0),
            FieldValue::Text("primary".into()),
        ])
    }

    fn keeps(text: &str, row: &Line) -> bool {
        Filter::parse(text, FIELDS).unwrap_or_else(|error| panic!("'{text}': {error}")).keeps(row)
    }

    fn complaint(text: &str) -> (usize, String) {
        let error = Filter::parse(text, FIELDS).expect_err(text);
        (error.column, error.message)
    }

    #[test]
    fn rows_are_kept_by_what_is_written() {
        for text in [
            "",
            "  ",
            "features",
            "FEATURES#2",
            "feat prim",
            "'features#2'",
            "\"s#2\"",
            "nothing or prim",
            "nothing | prim",
            "not nothing",
            "!nothing",
            "feat !nothing",
            "(nothing or feat) and (prim || nothing) && not(nothing)",
            "NOT nothing AND prim",
            "name = redis/features#2",
            "NAME == redis/features*",
            "name = *feat*#2",
            "name != *#3",
            "name ~ feat",
            "name !~ FEATURES#3",
            "name=redis/features#2 role=primary",
            "cpu > 70 %",
            "cpu>70%",
            "cpu > 0.7 cpu < 0.71",
            "cpu = 70.4%",
            "cpu >= 7e-1",
            "out > 20 MB/s",
            "out > 20MB",
            "out > 190 Mbit/s out < 192Mbit/s",
            "out > 20M",
            "out = 23.9 MB/s",
            "out != 23.8 MB/s",
            "memory > 1.5 MiB",
            "memory > 1_500_000",
            "p99 > 5ms p99 < 2 s",
            "p99 > \"5 ms\"",
            "p99 < 1 min",
            "p99 = 41 ms",
            "calls > 1.4k/s",
            "calls > 3 /s",
            "calls > 1.4k",
            "calls = 1420",
            "calls > 3 features",
            "since > 14:00 since < 15:00",
            "since = 14:13",
            "since = 14:13:20",
            "since = 14:13:20 UTC",
            "waiting > 5 or prim",
        ] {
            assert!(keeps(text, &shard()), "'{text}'");
        }
        for text in [
            "nothing",
            "feat nothing",
            "not feat",
            "name = features",
            "name = \"redis/features*\"",
            "name = redis*#3",
            "name = redis/features#2*#2",
            "cpu > 71 %",
            "cpu > 0.704",
            "out < 20 MB/s",
            "p99 > 50ms",
            "calls > 2/s role = replica",
            "since > 15:00",
            "since = 14:14",
            // 'and' binds more closely than 'or'.
            "nothing and prim or nothing",
        ] {
            assert!(!keeps(text, &shard()), "'{text}'");
        }
    }

    #[test]
    fn what_nobody_knows_is_kept_by_no_comparison_and_not_by_its_negation() {
        for text in [
            "waiting = 0",
            "waiting != 0",
            "waiting > 5",
            "waiting <= 5",
            "not waiting > 5",
            "!(waiting > 5 or nothing)",
            "!(waiting > 5 prim)",
            "not not waiting > 5",
        ] {
            assert!(!keeps(text, &shard()), "'{text}'");
        }
        // What is known decides where it can.
        assert!(keeps("not (waiting > 5 nothing)", &shard()));
        let not_a_number = Line(vec![FieldValue::Absent, FieldValue::Number(f64::NAN)]);
        assert!(!keeps("cpu != 5", &not_a_number) && !keeps("name != x", &not_a_number));
        assert!(keeps("not x", &not_a_number));
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_column() {
        for (text, column, message) in [
            (
                "out > 5ms",
                8,
                "seconds do not fit 'out', which is in bytes a second: write for example '20 MB/s'",
            ),
            (
                "ö out > 5 ms",
                11,
                "seconds do not fit 'out', which is in bytes a second: write for example '20 MB/s'",
            ),
            (
                "p99 > 3/s",
                8,
                "events a second do not fit 'p99', which is in seconds: write for example '5 ms' or '2 s'",
            ),
            (
                "p99 > 3 %",
                9,
                "shares do not fit 'p99', which is in seconds: write for example '5 ms' or '2 s'",
            ),
            (
                "memory > 3 MB/s",
                12,
                "bytes a second do not fit 'memory', which is in bytes: write for example '20 MB'",
            ),
            (
                "cpu > 3k",
                8,
                "thousands do not fit 'cpu', which is a share: write for example '70 %' or '0.7'",
            ),
            ("out > 20 Mb/s", 10, "'Mb/s' may be bits or bytes: write 'MB' or 'Mbit'"),
            ("p99 < 5 MS", 9, "'MS' is no unit: 'p99' is in seconds; write for example '5 ms' or '2 s'"),
            ("out > 20mb", 9, "'mb' may be bits or bytes: write 'MB' or 'Mbit'"),
            ("cpu > 0,7", 8, "',7' is no unit: 'cpu' is a share; write for example '70 %' or '0.7'"),
            ("cpu > much", 7, "'much' is no value of 'cpu', which is a share: write '70 %' or '0.7'"),
            (
                "since > 25:00",
                9,
                "'25:00' is no value of 'since', which is a time of day in UTC: write '14:06' or '14:06:55'",
            ),
            ("cpuu > 5", 1, "there is no field 'cpuu': did you mean 'cpu'?"),
            ("a mem > 5", 3, "there is no field 'mem': did you mean 'memory'?"),
            (
                "colour = red",
                1,
                "there is no field 'colour': the fields are name, cpu, out, memory, p99, calls, waiting, since, role",
            ),
            ("name > x", 6, "'name' holds words: compare it with =, !=, ~ or !~"),
            ("cpu ~ 5", 5, "'cpu' is a number: compare it with =, !=, >, >=, < or <="),
            ("name =", 7, "a value must follow '='"),
            ("cpu > ", 7, "a value must follow '>'"),
            ("name = and x", 8, "a value must follow '=': to ask for 'and', write it in quotes"),
            (
                "> 5",
                1,
                "a field must stand before '>'; to look for a text with this sign, write it in quotes",
            ),
            ("a and", 6, "the expression ends where a word or a comparison must stand"),
            ("not", 4, "the expression ends where a word or a comparison must stand"),
            (
                "and a",
                1,
                "a word or a comparison must stand before 'and'; to look for 'and', write it in quotes",
            ),
            (
                "a or or b",
                6,
                "a word or a comparison must stand before 'or'; to look for 'or', write it in quotes",
            ),
            (
                "a & | b",
                5,
                "a word or a comparison must stand before '|'; to look for '|', write it in quotes",
            ),
            ("()", 2, "a word or a comparison must stand before ')'; to look for ')', write it in quotes"),
            ("a (b or (c)", 3, "this '(' is not closed: add ')'"),
            ("a) b", 2, "this ')' has no '(' before it"),
            ("a \"b c", 3, "this quote is not closed: add \" at the end"),
            ("''", 1, "nothing stands between these quotes"),
            ("\"name\" = x", 1, "the field before an operator is written without quotes"),
        ] {
            assert_eq!(complaint(text), (column, message.to_owned()), "'{text}'");
        }
        assert_eq!(
            Filter::parse("x = 1", &[]).unwrap_err().to_string(),
            "column 1: there is no field 'x', nor any other here: write a text to look for"
        );
    }

    #[test]
    fn length_and_depth_are_bounded() {
        let deep = |count: usize| format!("{}x{}", "(".repeat(count), ")".repeat(count));
        assert!(Filter::parse(&deep(32), FIELDS).is_ok());
        assert_eq!(complaint(&deep(33)).0, 33);
        assert_eq!(complaint(&"!".repeat(999)).0, 33);
        assert!(Filter::parse(&"x ".repeat(500), FIELDS).is_ok());
        assert_eq!(
            complaint(&"ö".repeat(1_001)),
            (1_001, "an expression has 1000 characters at most".to_owned())
        );
    }

    #[test]
    fn every_form_of_the_grammar_can_be_read() {
        for row in GRAMMAR {
            Filter::parse(row.form, FIELDS).unwrap_or_else(|error| panic!("'{}': {error}", row.form));
        }
    }

    /// Writes a condition with every parenthesis, each sign and each text in its longest form.
    fn written(condition: &Condition) -> String {
        let all = |parts: &[Condition], word: &str| {
            let parts: Vec<_> = parts.iter().map(written).collect();
            format!("({})", parts.join(word))
        };
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        match condition {
            Condition::All(parts) => all(parts, " and "),
            Condition::Any(parts) => all(parts, " or "),
            Condition::Not(part) => format!("not ({})", written(part)),
            Condition::Mentions { text, .. } => quoted(text),
            Condition::Words { place, likeness, text } => match likeness {
                Likeness::Same => format!("{} = {}", FIELDS[*place].name, quoted(text)),
                Likeness::Pattern => format!("{} = {text}", FIELDS[*place].name),
                Likeness::Holds => format!("{} ~ {}", FIELDS[*place].name, quoted(text)),
            },
            Condition::Number { place, order, asked } => {
                let sign = match order {
                    Order::Same => "=",
                    Order::More => ">",
                    Order::AtLeast => ">=",
                    Order::Less => "<",
                    Order::AtMost => "<=",
                };
                format!("{} {sign} {}", FIELDS[*place].name, asked.number)
            }
        }
    }

    fn conditions() -> impl Strategy<Value = Condition> {
        let text = || "[a-z\"\\\\ =()!~*ä'.-]{1,6}";
        let numbers = [(1, Unit::Ratio), (2, Unit::BytesPerSecond), (4, Unit::Seconds), (6, Unit::Count)];
        let orders = [Order::Same, Order::More, Order::AtLeast, Order::Less, Order::AtMost];
        let number =
            (0..numbers.len(), 0..orders.len(), -1e9..1e9_f64).prop_map(move |(of, order, number)| {
                let (place, unit) = numbers[of];
                let looks = crate::quantity::show(number, unit);
                Condition::Number { place, order: orders[order], asked: Asked { number, unit, looks } }
            });
        let leaf = prop_oneof![
            text().prop_map(|text| Condition::Mentions { text, places: vec![0, 8] }),
            text().prop_map(|text| Condition::Words { place: 0, likeness: Likeness::Holds, text }),
            text().prop_map(|text| Condition::Words { place: 8, likeness: Likeness::Same, text }),
            "[a-z]{0,3}\\*[a-z*]{0,3}".prop_map(|text| Condition::Words {
                place: 0,
                likeness: Likeness::Pattern,
                text
            }),
            number,
        ];
        leaf.prop_recursive(5, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::All),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Any),
                inner.prop_map(|part| Condition::Not(Box::new(part))),
            ]
        })
    }

    fn rows() -> impl Strategy<Value = Line> {
        let words = prop_oneof![
            Just(FieldValue::Absent),
            "[a-z\"\\\\ =()ä]{0,6}".prop_map(|text| FieldValue::Text(text.into()))
        ];
        let number = prop_oneof![
            Just(FieldValue::Absent),
            Just(FieldValue::Number(f64::NAN)),
            (-1e9..1e9_f64).prop_map(FieldValue::Number)
        ];
        (words.clone(), prop::collection::vec(number, 7), words).prop_map(|(name, numbers, role)| {
            Line(std::iter::once(name).chain(numbers).chain(std::iter::once(role)).collect())
        })
    }

    proptest! {
        #[test]
        fn any_text_is_a_filter_or_a_complaint_about_one_of_its_columns(text in "\\PC{0,60}") {
            if let Err(error) = Filter::parse(&text, FIELDS) {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "{error}");
                prop_assert!(!error.message.is_empty());
            }
        }

        #[test]
        fn any_row_of_pieces_is_a_filter_or_a_complaint(
            pieces in prop::collection::vec(
                prop_oneof![
                    Just("name"), Just("cpu"), Just("="), Just("!="), Just("!"), Just("~"), Just(">"), Just("("),
                    Just(")"), Just("and"), Just("|"), Just("not"), Just("5"), Just("%"), Just("MB/s"), Just("\""),
                    Just("'"), Just("\\"), Just("*"), Just(" "), Just("ä"), Just("14:06"), Just("since"),
                ],
                0..40,
            )
        ) {
            let text = pieces.concat();
            match Filter::parse(&text, FIELDS) {
                Ok(filter) => { filter.keeps(&shard()); }
                Err(error) => {
                    prop_assert!((1..=text.chars().count() + 1).contains(&error.column), "'{text}': {error}");
                }
            }
        }

        #[test]
        fn what_is_written_is_read_back(condition in conditions()) {
            let text = written(&condition);
            let read = grammar::read(&text, FIELDS).map_err(|wrong| format!("'{text}': {}", wrong.message));
            prop_assert_eq!(read, Ok(condition));
        }

        #[test]
        fn a_negation_of_all_is_any_of_the_negations(
            parts in prop::collection::vec(conditions(), 2..4), row in rows()
        ) {
            let not = |part: &Condition| Condition::Not(Box::new(part.clone()));
            let negated: Vec<_> = parts.iter().map(not).collect();
            let all = not(&Condition::All(parts.clone()));
            prop_assert_eq!(all.holds(&row), Condition::Any(negated.clone()).holds(&row));
            let any = not(&Condition::Any(parts));
            prop_assert_eq!(any.holds(&row), Condition::All(negated).holds(&row));
        }

        #[test]
        fn a_row_is_never_kept_by_an_expression_and_by_its_negation(condition in conditions(), row in rows()) {
            let text = written(&condition);
            let (kept, negated) = (keeps(&text, &row), keeps(&format!("not ({text})"), &row));
            prop_assert!(!(kept && negated), "'{text}'");
            // Where all is known, one of the two keeps it.
            let is_known = |value: &FieldValue<'_>| match value {
                FieldValue::Number(number) => !number.is_nan(),
                FieldValue::Text(_) => true,
                FieldValue::Absent => false,
            };
            if row.0.iter().all(is_known) {
                prop_assert!(kept || negated, "'{text}'");
            }
        }

        #[test]
        fn a_pattern_finds_what_its_stars_left_out(
            pieces in prop::collection::vec("[ab]{0,3}", 1..5), gaps in prop::collection::vec("[ab]{0,3}", 5)
        ) {
            let pattern = pieces.join("*");
            let text: String = pieces.iter().zip(&gaps).flat_map(|(piece, gap)| [piece.as_str(), gap]).collect();
            let text = &text[..text.len() - gaps[pieces.len() - 1].len()];
            let row = Line(vec![FieldValue::Text(text.to_owned().into())]);
            prop_assume!(!pattern.is_empty());
            prop_assert!(keeps(&format!("name = {pattern}"), &row), "'{pattern}' and '{text}'");
        }
    }
}
