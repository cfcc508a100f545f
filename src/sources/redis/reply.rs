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
