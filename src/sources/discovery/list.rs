//! Lists of targets as files and HTTP servers give them: JSON, or YAML where a file is named so.

use std::collections::BTreeMap;
use std::fmt;

use headwater_engine::RemoteText;
use serde::de::{Deserialize, Deserializer, Visitor};

/// The longest list, in bytes.
pub const LONGEST_LIST: usize = 4 * 1024 * 1024;

/// No list nests half as deep.
const DEEPEST: usize = 16;

/// Targets that share their labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub struct Group {
    /// Addresses, `host:port`.
    pub targets: Vec<String>,
    /// What is said of all of them.
    #[serde(default, deserialize_with = "labels")]
    pub labels: BTreeMap<String, String>,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The groups of a list, or in a few words why it is none; a list that is broken anywhere is none, because half of the
/// targets would seem to have left.
pub fn groups(bytes: &[u8], syntax: Syntax) -> Result<Vec<Group>, String> {
    if bytes.len() > LONGEST_LIST {
        return Err(format!("is longer than {} MiB", LONGEST_LIST / 1024 / 1024));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        // Whoever writes a file in place empties it first.
        return Err("is empty: write [] where there is no target".to_owned());
    }
    match syntax {
        Syntax::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        Syntax::Yaml => {
            let options = serde_saphyr::options! { budget: serde_saphyr::budget! { max_depth: DEEPEST } };
            serde_saphyr::from_str_with_options(text, options)
                .map_err(|error| error.without_snippet().to_string())
        }
    }
    .map_err(|why: String| {
        let why = why.lines().next().unwrap_or_default();
        format!(
            "is no list of targets ({}): write [{{\"targets\": [\"HOST:PORT\"], \"labels\": {{}}}}]",
            RemoteText::new(why)
        )
    })
}

/// Labels, which may be absent.
fn labels<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let labels = Option::<BTreeMap<String, Plain>>::deserialize(from)?.unwrap_or_default();
    Ok(labels.into_iter().map(|(name, value)| (name, value.0)).collect())
}

/// A value of a label: YAML takes `1` for a number and `yes` for a truth, and both are texts here.
struct Plain(String);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PlainVisitor)
    }
}

struct PlainVisitor;

impl Visitor<'_> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Plain, E> {
        Ok(Plain(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Plain, E> {
        Ok(Plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Plain, E> {
        Ok(Plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Plain, E> {
        Ok(Plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Plain, E> {
        Ok(Plain(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain(String::new()))
    }

    fn visit_none<E>(self) -> Result<Plain, E> {
        Ok(Plain(String::new()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labelled(targets: &[&str], labels: &[(&str, &str)]) -> Group {
        Group {
            targets: targets.iter().map(|target| (*target).to_owned()).collect(),
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        }
    }

    #[test]
    fn json_and_yaml_say_the_same() {
        let json = r#"[{"targets":["h:1","[::1]:2"],"labels":{"job":"ranker","shard":"3"}},{"targets":[]}]"#;
        let yaml = "# rankers\n- targets: ['h:1', '[::1]:2']\n  labels:\n    job: ranker\n    shard: 3\n- targets: []\n";
        let expected =
            [labelled(&["h:1", "[::1]:2"], &[("job", "ranker"), ("shard", "3")]), labelled(&[], &[])];
        assert_eq!(groups(json.as_bytes(), Syntax::Json).unwrap(), expected);
        assert_eq!(groups(yaml.as_bytes(), Syntax::Yaml).unwrap(), expected);
        assert_eq!(groups(json.as_bytes(), Syntax::Yaml).unwrap(), expected, "JSON is YAML");
        assert_eq!(groups(b"[]", Syntax::Json).unwrap(), []);
        assert_eq!(
            groups(b"\xef\xbb\xbf- targets: [a]\n  labels:\n", Syntax::Yaml).unwrap(),
            [labelled(&["a"], &[])]
        );
    }

    #[test]
    fn what_is_no_list_says_why() {
        let deep = "[".repeat(100_000);
        let bomb = "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n";
        for (text, said) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("{}", "is no list of targets"),
            ("[1]", "is no list of targets"),
            (r#"[{"labels":{}}]"#, "targets"),
            (r#"[{"targets":"h:1"}]"#, "is no list of targets"),
            (r#"[{"targets":["h:1"],"labels":{"a":{}}}]"#, "is no list of targets"),
            (r#"[{"targets":["h:1"]"#, "is no list of targets"),
            (deep.as_str(), "is no list of targets"),
            (bomb, "is no list of targets"),
        ] {
            for syntax in [Syntax::Json, Syntax::Yaml] {
                let shown: String = text.chars().take(40).collect();
                let why = groups(text.as_bytes(), syntax).unwrap_err();
                assert!(why.contains(said), "{syntax:?} {shown}: {why}");
                assert!(why.chars().count() < 700, "{why}");
            }
        }
        assert_eq!(groups(b"\xff", Syntax::Json).unwrap_err(), "is not UTF-8");
        assert!(
            groups(&vec![b' '; LONGEST_LIST + 1], Syntax::Json).unwrap_err().contains("longer than 4 MiB")
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = groups(&bytes, Syntax::Json);
            let _ = groups(&bytes, Syntax::Yaml);
        }

        #[test]
        fn what_looks_like_a_list_is_read_or_refused(text in "[-\\[\\]{}:\",&* a-z0-9\n]{0,80}") {
            let _ = groups(text.as_bytes(), Syntax::Json);
            let _ = groups(text.as_bytes(), Syntax::Yaml);
        }
    }
}
