//! What bytes look like that came instead of a metrics page.

/// What bytes without a single metric are, in words that follow "serves" or "is".
pub fn likeness(bytes: &[u8]) -> &'static str {
    match bytes.trim_ascii_start() {
        [] => "an empty page",
        [b'<', ..] => "HTML",
        [b'{' | b'[', ..] => "JSON",
        [0x1f, 0x8b, ..] => "a packed file (gzip) that it does not call so",
        _ => "no line that is a metric",
    }
}

/// Whether bytes are HTML or XML, of which lines such as `nginx 1` would pass as metrics.
pub fn is_markup(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().starts_with(b"<")
}
