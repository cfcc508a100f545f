//! Small readers over a reply, whatever protocol version it came in.

use std::borrow::Cow;

use redis::Value;

/// The bytes of a string reply of any kind.
pub(super) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::BulkString(bytes) => Some(bytes),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.as_bytes()),
        Value::Okay => Some(b"OK"),
        Value::Attribute { data, .. } => bytes(data),
        _ => None,
    }
}

/// The text of a string reply; bytes that are not UTF-8 are replaced.
pub(super) fn text(value: &Value) -> Option<Cow<'_, str>> {
    bytes(value).map(String::from_utf8_lossy)
}

/// A whole number, also when it came as a string.
pub(super) fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(number) => Some(*number),
        other => text(other)?.parse().ok(),
    }
}

/// The elements of an array or a set.
pub(super) fn items(value: &Value) -> Option<&[Value]> {
    match value {
        Value::Array(items) | Value::Set(items) => Some(items),
        Value::Attribute { data, .. } => items(data),
        _ => None,
    }
}

/// The value of a field in a map, or in the flat array that protocol version 2 sends instead.
pub(super) fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Map(pairs) => {
            pairs.iter().find(|(key, _)| bytes(key) == Some(name.as_bytes())).map(|(_, value)| value)
        }
        Value::Attribute { data, .. } => field(data, name),
        flat => items(flat)?
            .chunks_exact(2)
            .find(|pair| bytes(&pair[0]) == Some(name.as_bytes()))
            .map(|pair| &pair[1]),
    }
}

/// The pairs of a map, or of the flat array that protocol version 2 sends instead.
pub(super) fn pairs(value: &Value) -> Vec<(&Value, &Value)> {
    match value {
        Value::Map(pairs) => pairs.iter().map(|(key, value)| (key, value)).collect(),
        Value::Attribute { data, .. } => pairs(data),
        flat => items(flat).unwrap_or_default().chunks_exact(2).map(|pair| (&pair[0], &pair[1])).collect(),
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::reading::LargeKind;
    use proptest::prelude::*;

    use super::super::command_times::read_histograms;
    use super::super::commandlog::to_event;
    use super::super::scan::read_scan;
    use super::super::slowlog::{Progress, read_slowlog};
    use super::super::stalls::read_stalls;
    use super::super::topology::{combine, read_shards, read_slots};
    use super::*;

    const WORDS: &[&str] = &[
        "slots",
        "nodes",
        "id",
        "endpoint",
        "ip",
        "port",
        "role",
        "master",
        "health",
        "fail",
        "calls",
        "histogram_usec",
        "?",
        "",
    ];

    /// Any reply, with the words in it that readers look for.
    fn any_reply() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<i64>().prop_map(Value::Int),
            (0_i64..20_000).prop_map(Value::Int),
            prop::collection::vec(any::<u8>(), 0..12).prop_map(Value::BulkString),
            prop::sample::select(WORDS).prop_map(|word| Value::BulkString(word.into())),
            prop::sample::select(WORDS).prop_map(|word| Value::SimpleString(word.to_owned())),
        ];
        leaf.prop_recursive(5, 64, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
                prop::collection::vec((inner.clone(), inner.clone()), 0..6).prop_map(Value::Map),
                inner.prop_map(|data| Value::Attribute { data: Box::new(data), attributes: vec![] }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_reply_is_read_without_a_panic(reply in any_reply()) {
            let _ = read_scan(&reply);
            let _ = (read_histograms(&reply), read_stalls(&reply));
            for shards in [read_shards(&reply), read_slots(&reply)] {
                let _ = combine(shards, &[]);
            }
            for entry in read_slowlog(&reply).unwrap_or_default() {
                let _ = Progress::default().take(vec![entry.clone()]);
                let _ = entry.to_event(true);
                let _ = to_event(&entry, LargeKind::Request);
            }
        }

        #[test]
        fn maps_and_flat_arrays_are_the_same(
            pairs in prop::collection::vec(("[a-z]{1,6}", any_reply()), 0..6),
            name in "[a-z]{1,6}",
        ) {
            let key = |name: &String| Value::BulkString(name.clone().into_bytes());
            let flat = Value::Array(pairs.iter().flat_map(|(name, value)| [key(name), value.clone()]).collect());
            let map = Value::Map(pairs.iter().map(|(name, value)| (key(name), value.clone())).collect());
            prop_assert_eq!(field(&flat, &name), field(&map, &name));
        }
    }
}
