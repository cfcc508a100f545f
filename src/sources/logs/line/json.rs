//! An object of JSON in each line, by the names that gateways and frameworks give to its fields.

use serde_json::{Map, Value};

use super::{Access, CALLER_WENT_AWAY, attempts, given, route, seconds};

const STATUS: &[&str] =
    &["status", "response_code", "status_code", "http_status", "http.status_code", "code"];
const ROUTE: &[&str] =
    &["route", "http.route", "path", "uri", "request_uri", "url.path", "x_envoy_original_path", "request"];
const ID: &[&str] = &["request_id", "x_request_id", "x-request-id", "req_id", "requestId", "rid"];
const FLAGS: &[&str] = &["response_flags"];
const UPSTREAM: &[&str] = &["upstream_host", "upstream_addr", "upstream_cluster", "upstream"];
const UPSTREAM_STATUS: &[&str] = &["upstream_status"];

/// Names of times with their unit in seconds.
const TIMES: &[(&str, f64)] = &[
    ("request_time", 1.0),
    ("duration_s", 1.0),
    ("duration_seconds", 1.0),
    ("duration_ms", 1e-3),
    ("duration", 1e-3),
    ("latency_ms", 1e-3),
    ("elapsed_ms", 1e-3),
    ("response_time_ms", 1e-3),
    ("latency_s", 1.0),
];
const UPSTREAM_TIMES: &[(&str, f64)] =
    &[("upstream_response_time", 1.0), ("upstream_service_time", 1e-3), ("upstream_duration_ms", 1e-3)];

pub(super) fn read(line: &[u8]) -> Option<Access> {
    let object: Map<String, Value> = serde_json::from_slice(line).ok()?;
    let text = |names: &[&str]| names.iter().find_map(|name| as_text(object.get(*name)?));
    let time = |times: &[(&str, f64)]| {
        times.iter().find_map(|(name, unit)| Some((as_text(object.get(*name)?)?, *unit)))
    };
    let status: u16 = text(STATUS)?.parse().ok().filter(|status| *status < 1_000)?;
    let went_away = text(FLAGS).is_some_and(|flags| flags.split(',').any(|flag| flag == "DC"));
    let (upstream_times, unit) = time(UPSTREAM_TIMES).unwrap_or_default();
    Some(Access {
        route: route(&text(ROUTE).unwrap_or_default()),
        status: if went_away { CALLER_WENT_AWAY } else { status },
        seconds: time(TIMES).and_then(|(text, unit)| with_unit(&text, unit)),
        id: text(ID).and_then(|id| given(&id).map(|id| id.as_bytes().to_vec())),
        attempts: attempts(
            &text(UPSTREAM).unwrap_or_default(),
            &text(UPSTREAM_STATUS).unwrap_or_default(),
            &upstream_times,
            unit,
        ),
    })
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A time whose text may name its unit, as in `12ms`.
fn with_unit(text: &str, unit: f64) -> Option<f64> {
    const WRITTEN: &[(&str, f64)] = &[("ms", 1e-3), ("us", 1e-6), ("\u{b5}s", 1e-6), ("s", 1.0)];
    let written = WRITTEN.iter().find_map(|(word, unit)| Some((text.strip_suffix(word)?, *unit)));
    let (number, unit) = written.unwrap_or((text, unit));
    seconds(number, unit)
}
