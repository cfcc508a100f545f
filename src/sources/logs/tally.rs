//! What the requests of an access log add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_engine::Subject;
use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{
    ABORTED, ERRORS, LOG_REPEATED, LOG_REQUESTS, LOG_THRICE, Metric, REQUEST_DURATION, REQUESTS,
    ROUTE_DURATION, UPSTREAM_DURATION, UPSTREAM_ERRORS, UPSTREAM_REQUESTS, UPSTREAM_RETRIES,
};
use headwater_engine::reading::{Reading, Value};

use super::line::{Access, CALLER_WENT_AWAY};
use super::repeats::Repeats;

/// Routes, and upstreams, that are told apart; the others are one.
const MOST_NAMES: usize = 64;
const OTHERS: &str = "others";

/// Requests whose ids are remembered for half a minute: 10 000 a second, in about 15 MiB.
const MOST_REQUESTS: usize = 300_000;

/// Upper bounds of the times, in seconds.
const BOUNDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0,
    7.5, 10.0, 20.0, 30.0, 60.0, 120.0,
];

/// The totals of one access log.
#[derive(Debug)]
pub struct Tally {
    routes: BTreeMap<String, Route>,
    upstreams: BTreeMap<String, Upstream>,
    all: Times,
    requests: u64,
    errors: u64,
    aborted: u64,
    repeats: Repeats,
    has_ids: bool,
    has_attempts: bool,
}

#[derive(Debug)]
struct Route {
    number: u16,
    requests: u64,
    repeated: u64,
    thrice: u64,
    times: Times,
}

#[derive(Debug, Default)]
struct Upstream {
    attempts: u64,
    errors: u64,
    retries: u64,
    times: Times,
}

#[derive(Debug)]
struct Times {
    /// Not cumulative.
    counts: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Default for Times {
    fn default() -> Self {
        Self { counts: vec![0; BOUNDS.len()], count: 0, sum: 0.0 }
    }
}

impl Times {
    fn add(&mut self, seconds: f64) {
        if let Some(bin) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.counts[bin] += 1;
        }
        self.count += 1;
        self.sum += seconds;
    }

    fn value(&self) -> Option<Value> {
        let mut below = 0;
        let counts = self.counts.iter().map(|count| {
            below += count;
            below as f64
        });
        (self.count > 0).then(|| {
            Value::Histogram(Arc::new(Histogram {
                bounds: BOUNDS.into(),
                counts: counts.collect(),
                count: self.count as f64,
                sum: Some(self.sum),
            }))
        })
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            routes: BTreeMap::new(),
            upstreams: BTreeMap::new(),
            all: Times::default(),
            requests: 0,
            errors: 0,
            aborted: 0,
            repeats: Repeats::new(MOST_REQUESTS),
            has_ids: false,
            has_attempts: false,
        }
    }
}

impl Tally {
    /// Counts a request that was there in this second.
    pub fn add(&mut self, second: i64, access: &Access) {
        self.requests += 1;
        self.errors += u64::from(is_error(access.status));
        self.aborted += u64::from(access.status == CALLER_WENT_AWAY);
        let name = known_or_others(&self.routes, &access.route);
        let number = u16::try_from(self.routes.len()).unwrap_or(u16::MAX);
        let route = self.routes.entry(name.to_owned()).or_insert_with(|| Route {
            number,
            requests: 0,
            repeated: 0,
            thrice: 0,
            times: Times::default(),
        });
        route.requests += 1;
        if let Some(seconds) = access.seconds {
            route.times.add(seconds);
            self.all.add(seconds);
        }
        if let Some(id) = &access.id {
            self.has_ids = true;
            let before = self.repeats.note(second, route.number, id);
            route.repeated += u64::from(before > 0);
            route.thrice += u64::from(before == 2);
        }
        for (place, attempt) in access.attempts.iter().enumerate() {
            self.has_attempts |= place > 0;
            let name = known_or_others(&self.upstreams, &attempt.upstream);
            let upstream = self.upstreams.entry(name.to_owned()).or_default();
            upstream.attempts += 1;
            upstream.retries += u64::from(place > 0);
            // Who went away says nothing of the upstream.
            let failed = attempt.status.map_or(access.status != CALLER_WENT_AWAY, |status| status >= 500);
            upstream.errors += u64::from(failed);
            if let Some(seconds) = attempt.seconds {
                upstream.times.add(seconds);
            }
        }
    }

    /// Lets the ids of the past go.
    pub fn pass(&mut self, second: i64) {
        self.repeats.pass(second);
    }

    /// Tells the totals; those of the service itself where nobody else tells them.
    pub fn tell(&self, about: &Subject, tells_service: bool, reading: &mut Reading) {
        let count = |number: u64| Value::Counter(number as f64);
        if tells_service {
            let totals = [(REQUESTS, self.requests), (ERRORS, self.errors), (ABORTED, self.aborted)];
            for (metric, total) in totals {
                reading.sample(about, metric, count(total));
            }
            if let Some(value) = self.all.value() {
                reading.sample(about, REQUEST_DURATION, value);
            }
        }
        for (name, route) in &self.routes {
            let mut part = |metric: Metric, value| reading.part(about, metric, name, value);
            part(LOG_REQUESTS, count(route.requests));
            if self.has_ids {
                part(LOG_REPEATED, count(route.repeated));
                part(LOG_THRICE, count(route.thrice));
            }
            if let Some(value) = route.times.value().filter(|_| tells_service) {
                part(ROUTE_DURATION, value);
            }
        }
        for (name, upstream) in &self.upstreams {
            let mut part = |metric: Metric, value| reading.part(about, metric, name, value);
            part(UPSTREAM_REQUESTS, count(upstream.attempts));
            part(UPSTREAM_ERRORS, count(upstream.errors));
            if self.has_attempts {
                part(UPSTREAM_RETRIES, count(upstream.retries));
            }
            if let Some(value) = upstream.times.value() {
                part(UPSTREAM_DURATION, value);
            }
        }
    }
}

/// A failure of the server, a refusal for want of room, or a caller who went away.
fn is_error(status: u16) -> bool {
    status == 0 || status >= 500 || status == 429 || status == CALLER_WENT_AWAY
}

fn known_or_others<'n, T>(known: &BTreeMap<String, T>, name: &'n str) -> &'n str {
    if known.len() < MOST_NAMES || known.contains_key(name) { name } else { OTHERS }
}

#[cfg(test)]
mod tests {
    use super::super::line::Attempt;
    use super::*;

    fn told(tally: &Tally, metric: Metric, part: Option<&str>) -> Option<f64> {
        let about: Subject = "gateway/edge".parse().unwrap();
        let mut reading = Reading::new(about.clone(), headwater_engine::Moment(0));
        tally.tell(&about, true, &mut reading);
        let sample = reading.samples.iter().find(|sample| {
            sample.metric == metric.into() && sample.part.as_ref().map(|part| part.as_str()) == part
        })?;
        match &sample.value {
            Value::Gauge(value) | Value::Counter(value) => Some(*value),
            Value::Histogram(histogram) => Some(histogram.count),
        }
    }

    fn request(route: &str, status: u16, id: &str) -> Access {
        Access {
            route: route.to_owned(),
            status,
            id: Some(id.into()),
            seconds: Some(0.2),
            ..Access::default()
        }
    }

    #[test]
    fn repeats_errors_and_attempts_add_up() {
        let mut tally = Tally::default();
        for (status, id) in [(200, "a"), (503, "b"), (499, "b"), (200, "b")] {
            tally.add(10, &request("/rank", status, id));
        }
        let attempt =
            |upstream: &str, status| Attempt { upstream: upstream.to_owned(), status, seconds: Some(0.1) };
        let mut retried = request("/rank", 200, "c");
        retried.attempts = vec![attempt("h:1", Some(502)), attempt("h:2", Some(200))];
        tally.add(11, &retried);
        let expected = [
            (REQUESTS, None, 5.0),
            (ERRORS, None, 2.0),
            (ABORTED, None, 1.0),
            (REQUEST_DURATION, None, 5.0),
            (LOG_REQUESTS, Some("/rank"), 5.0),
            (LOG_REPEATED, Some("/rank"), 2.0),
            (LOG_THRICE, Some("/rank"), 1.0),
            (UPSTREAM_ERRORS, Some("h:1"), 1.0),
            (UPSTREAM_ERRORS, Some("h:2"), 0.0),
            (UPSTREAM_RETRIES, Some("h:2"), 1.0),
            (UPSTREAM_DURATION, Some("h:2"), 1.0),
        ];
        for (metric, part, value) in expected {
            assert_eq!(told(&tally, metric, part), Some(value), "{metric:?} {part:?}");
        }
        tally.pass(60);
        assert_eq!(tally.repeats.held(), 0);
    }

    #[test]
    fn names_are_bounded() {
        let mut tally = Tally::default();
        for number in 0..1_000 {
            tally.add(1, &request(&format!("/r{number}"), 200, "x"));
        }
        assert_eq!(tally.routes.len(), MOST_NAMES + 1);
        assert_eq!(told(&tally, LOG_REQUESTS, Some(OTHERS)), Some(1_000.0 - MOST_NAMES as f64));
    }
}
