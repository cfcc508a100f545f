//! What a metric's name says about it: what is measured, which way is worse, in which unit, as which statistic.

use super::unit;
use crate::metric::{Bad, Metric, Unit};
use crate::quantity;

/// What a metric measures, as far as the ranking cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// How long something took.
    Latency,
    /// How much went wrong.
    Failures,
    /// How much went well.
    Success,
    /// How much was asked: traffic is an effect more often than a cause, so it only weighs the rest.
    Requests,
    /// How much of something local is in use or waits: evidence that no dependency explains away.
    Resource,
    /// Work that follows the traffic, such as bytes and system calls: judged for each request.
    Activity,
    /// Anything else.
    Other,
}

/// Which way is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Worse {
    /// More is worse.
    Up,
    /// Less is worse.
    Down,
    /// Nobody knows: any change counts, and counts half.
    Either,
}

/// On which side of a call a number was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// As the caller sees it, with the way between the two.
    Caller,
    /// As the callee sees it.
    Callee,
}

/// What is known about a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nature {
    /// What it measures.
    pub meaning: Meaning,
    /// Which way is worse.
    pub worse: Worse,
    /// A mean can be multiplied by requests and added up; a percentile cannot.
    pub is_mean: bool,
    /// Failures or successes as a share of the requests, and not as a number of them.
    pub is_share: bool,
    /// Of a call: whose view it is.
    pub side: Option<Side>,
    /// The unit, where the name tells one.
    pub unit: Option<Unit>,
    /// What a value is multiplied by to be in `unit`.
    pub factor: f64,
}

/// Which words mean what. The first row with a word of the name decides, so that `requests.failed` are failures and
/// `network.errors` are no traffic.
const MEANINGS: &[(Meaning, Worse, &[&str])] = &[
    (Meaning::Success, Worse::Down, &["availability", "success", "successes", "successful", "goodput"]),
    (
        Meaning::Failures,
        Worse::Up,
        &[
            "error",
            "errors",
            "fail",
            "fails",
            "failed",
            "failure",
            "failures",
            "fault",
            "faults",
            "exception",
            "exceptions",
            "timeout",
            "timeouts",
            "rejected",
            "refused",
            "aborted",
            "dropped",
            "5xx",
        ],
    ),
    (
        Meaning::Resource,
        Worse::Up,
        &[
            "cpu",
            "memory",
            "mem",
            "heap",
            "rss",
            "disk",
            "io",
            "iops",
            "gc",
            "load",
            "queue",
            "saturation",
            "utilization",
            "utilisation",
            "throttled",
            "pending",
            "waiting",
            "active",
            "inflight",
            "blocked",
            "busy",
            "threads",
        ],
    ),
    // How far somebody is behind is never the time of a request, and of a log it is a number of records.
    (Meaning::Other, Worse::Up, &["lag", "backlog"]),
    (Meaning::Other, Worse::Either, &["size", "length"]),
    (Meaning::Activity, Worse::Up, &["bytes"]),
    (Meaning::Latency, Worse::Up, &["latency", "duration", "delay", "wait", "rtt", "elapsed", "response"]),
    (
        Meaning::Requests,
        Worse::Either,
        &[
            "requests",
            "request",
            "calls",
            "ops",
            "operations",
            "commands",
            "qps",
            "rps",
            "tps",
            "throughput",
            "workload",
            "traffic",
            "hits",
            "invocations",
            "originals",
            "attempts",
        ],
    ),
    (Meaning::Activity, Worse::Up, &["network", "net", "syscalls", "syscall", "packets", "rx", "tx"]),
];

/// Words that turn a row: of what is left, less is worse, whatever it is left of.
const LEFT: &[&str] = &["free", "available", "idle", "remaining", "headroom", "spare", "unused"];

/// A capacity is what is left of something, unless the name says how much of it is used.
const USED: &[&str] = &["used", "usage", "utilization", "utilisation", "saturation"];

/// Words after which a name of a time counts things that took it, and not the time.
const COUNTS: &[&str] = &["count", "code", "codes", "status"];

/// Words of a share of all requests.
const SHARES: &[&str] = &["availability", "ratio", "percent", "pct", "share"];

/// Words of a statistic that cannot be added up; `p99` and the like are found by their form.
const NOT_ADDITIVE: &[&str] = &["median", "min", "max", "quantile", "percentile"];

impl Nature {
    /// What a name says. A row of the table of metrics gives its unit and direction, words of the name the rest.
    pub fn of(name: &str) -> Self {
        let lower = name.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
        let mut unit = unit::of(&lower, &words);
        let is_time = unit.is_none_or(|(unit, _)| unit == Unit::Seconds) && !has(COUNTS);
        let (mut meaning, mut worse) = MEANINGS
            .iter()
            .find(|(meaning, _, wanted)| has(wanted) && (is_time || *meaning != Meaning::Latency))
            .map_or((Meaning::Other, Worse::Either), |(meaning, worse, _)| (*meaning, *worse));
        if has(LEFT) || has(&["capacity"]) && !has(USED) {
            (meaning, worse) = match meaning {
                // What is left of a budget of errors, or errors of what is idle: nobody knows.
                Meaning::Success | Meaning::Failures => (Meaning::Other, Worse::Either),
                _ => (Meaning::Resource, Worse::Down),
            };
        }
        if let Some(row) = Metric::by_name(name).map(Metric::row) {
            unit = Some((row.unit, 1.0));
            if meaning == Meaning::Other && row.unit == Unit::Seconds && row.bad == Bad::High {
                meaning = Meaning::Latency;
            }
            worse = match row.bad {
                Bad::High => Worse::Up,
                Bad::Low => Worse::Down,
                Bad::Neither => worse,
            };
        }
        // A rate of failures without a unit is a share far more often than a number in a second.
        let is_rate =
            matches!(meaning, Meaning::Success | Meaning::Failures) && unit.is_none() && has(&["rate"]);
        let side = if has(&["caller", "client"]) {
            Some(Side::Caller)
        } else if has(&["callee", "server"]) {
            Some(Side::Callee)
        } else {
            None
        };
        Self {
            meaning,
            worse,
            is_mean: !has(NOT_ADDITIVE) && !words.iter().any(|word| is_percentile(word)),
            is_share: has(SHARES) || is_rate,
            side,
            unit: unit.map(|(unit, _)| unit),
            factor: unit.map_or(1.0, |(_, by)| by),
        }
    }

    /// A value of this metric as people read it: with its unit where the name tells one.
    pub fn show(self, value: f64) -> String {
        match self.unit {
            Some(unit) => quantity::show(value * self.factor, unit),
            None => three_digits(value),
        }
    }
}

/// `p50`, `p999`, `q95`, `99th`.
fn is_percentile(word: &str) -> bool {
    let number = word.strip_prefix(['p', 'q']).or_else(|| word.strip_suffix("th"));
    number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// A number without a unit: three significant digits, whatever its size.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() || size == 0.0 || size >= 1.0 {
        return quantity::show(value, Unit::Count);
    }
    if size < 1e-6 {
        return format!("{value:.1e}");
    }
    let places = (2.0 - size.log10().floor()) as usize;
    let text = format!("{value:.places$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_measured_and_which_way_is_worse() {
        for (name, meaning, worse) in [
            ("latency.avg", Meaning::Latency, Worse::Up),
            ("http.server.request.duration", Meaning::Latency, Worse::Up),
            ("redis.answer_time", Meaning::Latency, Worse::Up),
            ("availability.percent", Meaning::Success, Worse::Down),
            ("goodput", Meaning::Success, Worse::Down),
            ("requests.failed", Meaning::Failures, Worse::Up),
            ("network.errors", Meaning::Failures, Worse::Up),
            ("requests.sum", Meaning::Requests, Worse::Either),
            ("service.requests.active", Meaning::Resource, Worse::Up),
            ("process.cpu.time", Meaning::Resource, Worse::Up),
            ("memory.mib", Meaning::Resource, Worse::Up),
            ("network.receive_bytes", Meaning::Activity, Worse::Up),
            ("redis.keyspace.misses", Meaning::Other, Worse::Up),
            ("retrievals.empty", Meaning::Other, Worse::Either),
            ("memory_available_bytes", Meaning::Resource, Worse::Down),
            ("cpu_idle_percent", Meaning::Resource, Worse::Down),
            ("cpu.usage_idle", Meaning::Resource, Worse::Down),
            ("disk_free_bytes", Meaning::Resource, Worse::Down),
            ("pool_idle_threads", Meaning::Resource, Worse::Down),
            ("queue_capacity", Meaning::Resource, Worse::Down),
            ("ratelimit.requests.remaining", Meaning::Resource, Worse::Down),
            ("replicas.available", Meaning::Resource, Worse::Down),
            ("queue.capacity_used", Meaning::Resource, Worse::Up),
            ("memory_used_bytes", Meaning::Resource, Worse::Up),
            ("error_budget_remaining", Meaning::Other, Worse::Either),
            ("availability.avg", Meaning::Success, Worse::Down),
            ("http_response_size_bytes", Meaning::Other, Worse::Either),
            ("http_request_size_bytes", Meaning::Other, Worse::Either),
            ("response_bytes", Meaning::Activity, Worse::Up),
            ("http_response_seconds", Meaning::Latency, Worse::Up),
            ("response.time", Meaning::Latency, Worse::Up),
            ("http.response.status", Meaning::Other, Worse::Either),
            ("request_duration_seconds_count", Meaning::Requests, Worse::Either),
            ("consumer.lag", Meaning::Other, Worse::Up),
            ("replication_lag_seconds", Meaning::Other, Worse::Up),
            ("", Meaning::Other, Worse::Either),
        ] {
            let nature = Nature::of(name);
            assert_eq!((nature.meaning, nature.worse), (meaning, worse), "{name}");
        }
    }

    #[test]
    fn a_percentile_is_no_mean_and_a_share_is_no_number() {
        for (name, is_mean) in
            [("latency.avg", true), ("latency", true), ("latency.p99", false), ("latency_max", false)]
        {
            assert_eq!(Nature::of(name).is_mean, is_mean, "{name}");
        }
        assert!(Nature::of("availability.avg").is_share);
        assert!(Nature::of("success_rate").is_share && !Nature::of("requests.rate").is_share);
        assert!(!Nature::of("errors_per_second").is_share);
        assert!(!Nature::of("errors.sum").is_share && Nature::of("errors.ratio").is_share);
        assert_eq!(Nature::of("latency.caller_p50").side, Some(Side::Caller));
        assert_eq!(Nature::of("latency.callee_p50").side, Some(Side::Callee));
    }

    #[test]
    fn values_are_shown_in_the_unit_of_the_name() {
        for (name, value, text) in [
            ("latency.avg", 0.094_58, "0.0946"),
            ("latency.ms", 94.55, "94.5 ms"),
            ("latency.seconds", 2.41, "2.41 s"),
            ("memory.mib", 15.57, "16.3 MB"),
            ("availability.percent", 95.07, "95.1 %"),
            ("cpu.millicores", 16.9, "16.9"),
            ("latency.avg", 0.0, "0"),
            ("latency.avg", 1e-9, "1.0e-9"),
            ("http_response_size_bytes", 16e6, "16 MB"),
            ("consumer.lag", 16.0, "16"),
            ("network.bytes_per_second", 16e6, "16 MB/s"),
            ("rx_bytes/s", 16e6, "16 MB/s"),
            ("disk.mb_per_sec", 16.0, "16 MB/s"),
            ("requests_per_sec", 16.0, "16/s"),
            ("ops/s", 16.0, "16/s"),
            ("errors_per_minute", 960.0, "16/s"),
            ("cpu_seconds_per_second", 0.5, "0.5"),
            ("seconds_per_request", 0.5, "500 ms"),
            ("latency_s", 2.41, "2.41 s"),
            ("http_request_duration_seconds", 2.41, "2.41 s"),
            ("latency.avg", f64::NAN, "not a number"),
        ] {
            assert_eq!(Nature::of(name).show(value), text, "{name} {value}");
        }
    }
}
