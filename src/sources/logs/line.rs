//! One line of an access log, in the formats that gateways write.

mod envoy;
mod json;
mod nginx;

use std::borrow::Cow;

use headwater_engine::reading::Reading;
use headwater_engine::{Kind, Moment, RemoteText, Subject};

use super::tally::Tally;

/// Attempts of one request that are told; no gateway tries as often.
const MOST_ATTEMPTS: usize = 16;

/// The format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An object of JSON in each line.
    Json,
    /// What nginx and ingress-nginx write, with or without times at the end.
    Nginx,
    /// What Envoy and Istio write.
    Envoy,
    /// Any lines: only patterns are looked for.
    Plain,
}

/// One request, as its line tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// The path without its query, ids in it shown as `*`.
    pub route: String,
    /// The status, 499 when the caller went away.
    pub status: u16,
    /// Seconds to the whole answer.
    pub seconds: Option<f64>,
    /// The request's id.
    pub id: Option<Vec<u8>>,
    /// Every attempt at an upstream, in order.
    pub attempts: Vec<Attempt>,
}

/// One attempt at an upstream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// The upstream's address or name.
    pub upstream: String,
    /// The status that it gave; `None` when it gave none.
    pub status: Option<u16>,
    /// Seconds to its answer.
    pub seconds: Option<f64>,
}

/// The status of a request whose caller went away.
pub const CALLER_WENT_AWAY: u16 = 499;

/// Reads a line; `None` when it is not in this format.
pub fn read(format: Format, line: &[u8]) -> Option<Access> {
    let text: Cow<'_, str> = String::from_utf8_lossy(line);
    match format {
        Format::Json => json::read(line),
        Format::Nginx => nginx::read(&text),
        Format::Envoy => envoy::read(&text),
        Format::Plain => None,
    }
}

/// Reads each line of any bytes in every format and counts what it tells, and checks what must hold whatever the bytes
/// are: for the fuzzer and its seeds.
///
/// # Panics
/// When it does not hold.
pub fn read_everything(bytes: &[u8]) {
    for format in [Format::Json, Format::Nginx, Format::Envoy, Format::Plain] {
        let mut tally = Tally::default();
        for (second, line) in (0..).zip(bytes.split(|byte| *byte == b'\n')) {
            let Some(access) = read(format, line.trim_ascii()) else { continue };
            assert!(access.status < 1_000 && access.attempts.len() <= MOST_ATTEMPTS, "{access:?}");
            let attempts = access.attempts.iter().filter_map(|attempt| attempt.seconds);
            assert!(attempts.chain(access.seconds).all(|time| time >= 0.0 && time.is_finite()), "{access:?}");
            // A route has no query: it may hold a secret, and there are as many as requests.
            assert!(!access.route.is_empty() && !access.route.contains('?'), "{access:?}");
            tally.add(second, &access);
        }
        let about = Subject::component(Kind::Gateway, "edge");
        let mut reading = Reading::new(about.clone(), Moment(0));
        tally.tell(&about, true, &mut reading);
        for name in reading.samples.iter().filter_map(|sample| sample.part.as_ref()) {
            assert_eq!(
                RemoteText::new(name.as_str()).as_str(),
                name.as_str(),
                "cleaning again changes nothing"
            );
        }
    }
}

/// The route of a request line such as `GET /a/7?x=1 HTTP/1.1`, or of a bare path.
fn route(request: &str) -> String {
    let path = match request.split_once(' ') {
        Some((_, rest)) => rest.split(' ').next().unwrap_or(rest),
        None => request,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    let parts: Vec<&str> = path.split('/').take(8).map(|part| if is_id(part) { "*" } else { part }).collect();
    let route = parts.join("/");
    if route.is_empty() { "/".to_owned() } else { route }
}

/// Whether a part of a path names one thing among many: a number, a UUID, a hash.
fn is_id(part: &str) -> bool {
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    digits > 0 && (digits == part.len() || (is_hex && part.len() >= 8) || part.len() > 40)
}

/// Seconds, unless the text is no number.
fn seconds(text: &str, unit: f64) -> Option<f64> {
    let value: f64 = text.trim().parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value * unit)
}

/// The words of a line: quoted ones whole, without their quotes, brackets of times too.
fn words(text: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => Some('"'),
            '[' => Some(']'),
            _ => None,
        };
        let (word, after) = match end {
            Some(end) => {
                let inner = &rest[1..];
                match closing(inner, end) {
                    Some(at) => (&inner[..at], &inner[at + 1..]),
                    None => (inner, ""),
                }
            }
            None => rest.split_at(bare_end(rest)),
        };
        words.push(word);
        rest = after.trim_start();
    }
    words
}

/// Where a bare word ends: at a blank, but not inside of quotes, as in `urt="0.1, 0.2"`.
fn bare_end(text: &str) -> usize {
    let mut is_quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => return at,
            _ => {}
        }
    }
    text.len()
}

/// Where a quote ends; one after a backslash does not end it.
fn closing(text: &str, end: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if end == '"' => is_escaped = true,
            c if c == end => return Some(at),
            _ => {}
        }
    }
    None
}

/// What a word says when it is not the `-` of nothing.
fn given(word: &str) -> Option<&str> {
    (!matches!(word, "" | "-")).then_some(word)
}

/// Attempts from lists such as `10.0.0.1:80, 10.0.0.2:80`, which belong together by their order.
fn attempts(upstreams: &str, statuses: &str, times: &str, unit: f64) -> Vec<Attempt> {
    let list = |text: &str| -> Vec<String> {
        text.split([',', ' ']).filter(|word| !matches!(*word, "" | ":")).map(str::to_owned).collect()
    };
    let (statuses, times) = (list(statuses), list(times));
    list(upstreams)
        .into_iter()
        .enumerate()
        .filter(|(_, upstream)| upstream != "-")
        .take(MOST_ATTEMPTS)
        .map(|(place, upstream)| Attempt {
            upstream,
            status: statuses.get(place).and_then(|status| status.parse().ok()),
            seconds: times.get(place).and_then(|time| seconds(time, unit)),
        })
        .collect()
}

#[cfg(test)]
mod tests;
