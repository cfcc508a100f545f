//! What changes look like from outside: JSON lines, a JSON document, the log of git. Pure functions of bytes.

use crate::config::without_secrets;
use crate::written_moment::{EXPECTED, MOMENTS_S, of_number, of_text};
use headwater_engine::reading::{Change, ChangeKind};
use headwater_engine::{Kind, Moment, RemoteText, Subject};
use serde_json::{Map, Value};

/// What stands between the fields of a commit, and between commits, as [`GIT_FORMAT`] has it.
const FIELD: char = '\u{1f}';
const RECORD: char = '\0';

/// The format that git is asked for: hash, moment in Unix seconds, subject.
pub const GIT_FORMAT: &str = "%H%x1f%ct%x1f%s";

/// What a source says of entries that do not say it themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// What they touch.
    pub component: Option<Subject>,
    /// Their sort.
    pub kind: Option<ChangeKind>,
}

/// What could be read of some entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decoded {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// What is wrong with the first entry that is wrong: its number from 1, and what was expected.
    pub first_problem: Option<(usize, String)>,
    /// How many are wrong.
    pub problems: usize,
}

impl Decoded {
    fn take(&mut self, number: usize, read: Result<Change, String>) {
        match read {
            Ok(change) => self.changes.push(change),
            Err(problem) => {
                self.problems += 1;
                self.first_problem.get_or_insert((number, problem));
            }
        }
    }
}

/// One line of a file of JSON lines.
pub fn line(line: &[u8], defaults: &Defaults) -> Result<Change, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| {
        format!(
            "is not JSON (column {}): write {{\"at\": \"2026-01-02T03:04:05Z\", \"title\": \"...\"}}",
            error.column()
        )
    })?;
    entry(&value, defaults)
}

/// A JSON document: an array of entries, or an object that holds one as `items` or `data`. `Err` says why it is none.
pub fn document(bytes: &[u8], defaults: &Defaults) -> Result<Decoded, String> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("is not JSON (line {}, column {})", error.line(), error.column()))?;
    let list = match &value {
        Value::Array(list) => Some(list),
        Value::Object(map) => ["items", "data"].iter().find_map(|key| map.get(*key)?.as_array()),
        _ => None,
    };
    let Some(list) = list else {
        return Err(
            "holds no list of changes: an array was expected, alone or as 'items' or 'data'".to_owned()
        );
    };
    let mut decoded = Decoded::default();
    for (index, value) in list.iter().enumerate() {
        decoded.take(index + 1, entry(value, defaults));
    }
    Ok(decoded)
}

/// The log of git in [`GIT_FORMAT`], with commits apart by NUL.
pub fn git_log(bytes: &[u8], defaults: &Defaults) -> Decoded {
    let mut decoded = Decoded::default();
    let text = String::from_utf8_lossy(bytes);
    let records =
        text.split(RECORD).map(|record| record.trim_matches('\n')).filter(|record| !record.is_empty());
    for (index, record) in records.enumerate() {
        decoded.take(index + 1, commit(record, defaults));
    }
    decoded
}

/// Reads any bytes in every way, and checks what must hold whatever they are: for the fuzzer and its seeds.
///
/// # Panics
/// When it does not hold.
pub fn read_everything(bytes: &[u8]) {
    let defaults = Defaults::default();
    let document = document(bytes, &defaults).unwrap_or_default();
    let log = git_log(bytes, &defaults);
    for decoded in [&document, &log] {
        assert_eq!(decoded.first_problem.is_some(), decoded.problems > 0);
    }
    for change in line(bytes, &defaults).iter().chain(&document.changes).chain(&log.changes) {
        let title = change.title.as_str();
        assert_eq!(RemoteText::new(title).as_str(), title, "cleaning again changes nothing");
        assert!(MOMENTS_S.contains(&(change.at.0 as f64 / 1_000.0)), "{:?}", change.at.0);
    }
}

fn commit(record: &str, defaults: &Defaults) -> Result<Change, String> {
    let mut fields = record.splitn(3, FIELD);
    let (hash, at, title) = (fields.next(), fields.next(), fields.next());
    let at = at.and_then(|at| at.parse().ok()).and_then(of_seconds);
    let (Some(hash), Some(at), Some(title)) = (hash, at, title) else {
        return Err("is no commit as git was asked for it".to_owned());
    };
    let short: String = hash.chars().take(12).collect();
    Ok(Change {
        id: RemoteText::new(&short),
        at,
        component: defaults.component.clone(),
        kind: defaults.kind.unwrap_or(ChangeKind::Commit),
        title: RemoteText::new(&without_secrets(title)),
    })
}

fn entry(value: &Value, defaults: &Defaults) -> Result<Change, String> {
    let Value::Object(map) = value else {
        return Err("is no object: write {\"at\": ..., \"title\": ...}".to_owned());
    };
    let at = at(map)?;
    let title = match map.get("title") {
        Some(Value::String(title)) if !title.trim().is_empty() => {
            RemoteText::new(&without_secrets(title.trim()))
        }
        Some(_) => return Err("'title' is not a text".to_owned()),
        None => return Err("has no 'title': write in one line what was changed".to_owned()),
    };
    let component = match map.get("component") {
        None | Some(Value::Null) => defaults.component.clone(),
        Some(Value::String(name)) => Some(component(name)?),
        Some(_) => return Err("'component' is not a text: write for example \"service/ranker\"".to_owned()),
    };
    let kind = match map.get("kind") {
        None | Some(Value::Null) => defaults.kind.unwrap_or(ChangeKind::Other),
        Some(Value::String(word)) => kind(word),
        Some(_) => return Err("'kind' is not a text: write deploy, config, flag, commit or other".to_owned()),
    };
    let id = match map.get("id") {
        Some(Value::String(id)) => RemoteText::new(id),
        Some(Value::Number(id)) => RemoteText::new(&id.to_string()),
        // The same entry is the same change, whenever it is read.
        _ => RemoteText::new(&format!("{} {title}", at.0)),
    };
    Ok(Change { id, at, component, kind, title })
}

fn at(map: &Map<String, Value>) -> Result<Moment, String> {
    let wrong = |shown: String| format!("'at' = '{shown}' is no moment: write {EXPECTED}");
    let seconds = match map.get("at") {
        None => return Err(format!("has no 'at': write {EXPECTED}")),
        Some(Value::Number(number)) => {
            number.as_f64().and_then(of_number).ok_or_else(|| wrong(number.to_string()))
        }
        Some(Value::String(text)) => {
            let shown = || wrong(RemoteText::new(text.trim()).as_str().chars().take(40).collect());
            of_text(text).ok_or_else(shown)
        }
        Some(_) => return Err(format!("'at' is neither text nor number: write {EXPECTED}")),
    }?;
    of_seconds(seconds).ok_or_else(|| wrong(seconds.to_string()))
}

fn of_seconds(seconds: f64) -> Option<Moment> {
    MOMENTS_S.contains(&seconds).then(|| Moment((seconds * 1_000.0).round() as i64))
}

/// A component as its source names it: `service/ranker`, or a bare name, which is a service's.
fn component(name: &str) -> Result<Subject, String> {
    let name = name.trim();
    if name.is_empty() {
        return Err("'component' is empty: write for example \"service/ranker\", or leave it out".to_owned());
    }
    if !name.contains('/') {
        return Ok(Subject::component(Kind::Service, name));
    }
    let wrong = |reason: &dyn std::fmt::Display| format!("'component': {reason}");
    match name.parse::<Subject>() {
        Ok(subject)
            if subject.kind().names_a_source() || matches!(subject.kind(), Kind::Observer | Kind::Edge) =>
        {
            Err(wrong(&"it is none that could be changed: write for example \"service/ranker\""))
        }
        Ok(subject) => Ok(subject),
        Err(error) => Err(wrong(&error)),
    }
}

/// What others call the sorts of change; everything else is [`ChangeKind::Other`].
fn kind(word: &str) -> ChangeKind {
    const WORDS: &[(&str, ChangeKind)] = &[
        ("deploy", ChangeKind::Deploy),
        ("deployment", ChangeKind::Deploy),
        ("release", ChangeKind::Deploy),
        ("rollout", ChangeKind::Deploy),
        ("rollback", ChangeKind::Deploy),
        ("config", ChangeKind::Config),
        ("configuration", ChangeKind::Config),
        ("flag", ChangeKind::Flag),
        ("feature-flag", ChangeKind::Flag),
        ("feature_flag", ChangeKind::Flag),
        ("toggle", ChangeKind::Flag),
        ("commit", ChangeKind::Commit),
    ];
    let word = word.trim().to_ascii_lowercase();
    WORDS.iter().find(|(known, _)| *known == word).map_or(ChangeKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Change, String> {
        line(text.as_bytes(), &Defaults::default())
    }

    #[test]
    fn an_entry_needs_a_moment_and_a_title() {
        let change = read(
            r#"{"at": "2026-01-02T03:04:05+01:00", "title": "v42", "kind": "Rollout", "component": "ranker", "id": 7, "who": "x"}"#,
        )
        .unwrap();
        assert_eq!(change.at, Moment(1_767_319_445_000));
        assert_eq!((change.id.as_str(), change.kind), ("7", ChangeKind::Deploy));
        assert_eq!(change.component.unwrap().as_str(), "service/ranker");
        for at in ["1767319445", "1767319445000", "\"1767319445\"", "1767319445.0"] {
            let change = read(&format!("{{\"at\": {at}, \"title\": \"x\"}}")).unwrap();
            assert_eq!((change.at, change.kind), (Moment(1_767_319_445_000), ChangeKind::Other), "{at}");
            assert_eq!(change.id.as_str(), "1767319445000 x");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_was_expected() {
        for (text, said) in [
            ("{", "is not JSON (column 1)"),
            ("7", "is no object"),
            ("{}", "has no 'at': write RFC 3339"),
            (r#"{"at": "yesterday", "title": "x"}"#, "'at' = 'yesterday' is no moment"),
            (r#"{"at": 1e300, "title": "x"}"#, "is no moment"),
            (r#"{"at": true, "title": "x"}"#, "'at' is neither"),
            (r#"{"at": 1, "title": " "}"#, "'title' is not a text"),
            (r#"{"at": 1}"#, "has no 'title'"),
            (r#"{"at": 1, "title": "x", "component": "tree/x"}"#, "'component': 'tree/x' is not a subject"),
            (r#"{"at": 1, "title": "x", "component": 3}"#, "'component' is not a text"),
            (r#"{"at": 1, "title": "x", "kind": []}"#, "'kind' is not a text"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_document_is_a_list_or_holds_one_and_bad_entries_cost_nothing_else() {
        let defaults = Defaults { component: "service/a".parse().ok(), kind: Some(ChangeKind::Flag) };
        for text in [
            r#"[{"at": 1, "title": "one"}, 5, {"at": 2, "title": "two"}]"#,
            r#"{"items": [{"at": 1, "title": "one"}, 5, {"at": 2, "title": "two"}], "next": null}"#,
            r#"{"data": [{"at": 1, "title": "one"}, 5, {"at": 2, "title": "two"}]}"#,
        ] {
            let decoded = document(text.as_bytes(), &defaults).unwrap();
            assert_eq!((decoded.changes.len(), decoded.problems), (2, 1));
            assert_eq!(decoded.first_problem.as_ref().unwrap().0, 2);
            assert_eq!(decoded.changes[0].kind, ChangeKind::Flag);
            assert_eq!(decoded.changes[1].component, defaults.component);
        }
        assert!(document(b"{\"rows\": []}", &defaults).unwrap_err().contains("'items' or 'data'"));
        assert!(document(b"<html>", &defaults).unwrap_err().contains("line 1"));
    }

    #[test]
    fn commits_are_read_whatever_their_subject_holds() {
        let log = "abcdef0123456789\u{1f}1767319445\u{1f}Fix \u{1b}[31mit\u{1f}all\0\nbroken\0deadbeef\u{1f}1767319446\u{1f}\0";
        let decoded = git_log(log.as_bytes(), &Defaults::default());
        assert_eq!((decoded.changes.len(), decoded.problems), (2, 1));
        assert_eq!(decoded.changes[0].id.as_str(), "abcdef012345");
        assert_eq!(decoded.changes[0].title.as_str(), "Fix \\x1b[31mit\\x1fall");
        assert_eq!(decoded.changes[1].kind, ChangeKind::Commit);
    }

    #[test]
    fn every_seed_of_the_fuzzer_is_digested() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/changes");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            (0..=bytes.len()).for_each(|end| read_everything(&bytes[..end]));
            count += 1;
        }
        assert!(count >= 4, "only {count} seeds");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            read_everything(&bytes);
        }

        #[test]
        fn any_values_are_survived(at in any::<f64>(), title in "\\PC{0,20}", kind in "\\PC{0,9}", component in "\\PC{0,12}") {
            let value = serde_json::json!({ "at": at, "title": title, "kind": kind, "component": component });
            let _ = entry(&value, &Defaults::default());
        }
    }
}
