//! Errors or slow requests use up what the objective allows, fast enough to wake somebody.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{ERRORS, MODEL_DURATION, Metric, REQUEST_DURATION, REQUESTS, Unit};
use crate::quantity::{share, show, times};
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "slo-burn",
    title: "errors or slow requests use up what the objective allows",
    doc: "The share of requests that end in an error, or that take longer than a declared objective of the 99th \
          percentile, is more than 14.4 times what the objective allows over the last \
          hour and the last 5 minutes, or more than 6 times over the last 6 hours and the last 15 minutes (multi-window \
          burn rates, as in Google's SRE workbook). A window counts once half of it was seen: a tool that started \
          during the incident has no hour yet, and then the rule says so. It is a symptom: it accuses nobody.",
    next: "walk the dependencies first: a refusal names its component in the error text",
    watches: Watches::Those {
        kinds: &[Kind::Gateway, Kind::Service],
        which: "that counts its errors, or times its requests and has an objective",
        are: |scene, subject| scene.tells(subject, ERRORS) || timed(scene, subject).is_some(),
    },
    nature: Nature::Symptom,
    exonerates: false,
    role: Role::Victim,
    hold: 2,
    thresholds: &[
        Threshold {
            name: "allowed",
            default: 0.001,
            unit: Unit::Ratio,
            help: "share of requests that may end in an error: an objective of 99.9 %",
        },
        Threshold {
            name: "allowed_slow",
            default: 0.01,
            unit: Unit::Ratio,
            help: "share of requests that may take longer than the objective of the 99th percentile",
        },
        Threshold {
            name: "fast",
            default: 14.4,
            unit: Unit::Ratio,
            help: "multiple of what is allowed over one hour and 5 minutes: 2 % of a month's in an hour",
        },
        Threshold {
            name: "slow",
            default: 6.0,
            unit: Unit::Ratio,
            help: "multiple of what is allowed over 6 hours and 15 minutes: 5 % of a month's in 6 hours",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

/// A pair of windows that must both burn, with the threshold for them.
struct Pair {
    limit: &'static str,
    long: Duration,
    short: Duration,
    words: &'static str,
}

static PAIRS: &[Pair] = &[
    Pair {
        limit: "fast",
        long: Duration::from_secs(3_600),
        short: Duration::from_secs(300),
        words: "over 1 h and 5 min",
    },
    Pair {
        limit: "slow",
        long: Duration::from_secs(21_600),
        short: Duration::from_secs(900),
        words: "over 6 h and 15 min",
    },
];

/// The share of a window that must have been seen.
const SEEN: f64 = 0.5;

/// Seconds of the bins from which windows are made.
const BIN_S: f64 = 10.0;
const COARSE_BIN_S: f64 = 60.0;

/// Something of which the objective allows a share of all requests.
struct Budget {
    /// What uses it up, in words.
    what: String,
    /// The threshold that says how much is allowed.
    allowed: &'static str,
    /// The share of requests in a window, where enough of the window was seen.
    share: fn(&Scene<'_>, &Subject, Moment, Duration) -> Option<f64>,
    /// When it was last counted.
    at: Moment,
}

/// A share that is never allowed to be less: nothing could be divided by it.
const LEAST_ALLOWED: f64 = 1e-6;

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    let budgets = budgets(scene, subject);
    if budgets.is_empty() {
        return Judgement::Unknown(format!(
            "no count of errors and no times of requests: {}",
            scene.missing(subject)
        ));
    }
    let mut seen = vec![];
    for Budget { what, allowed: name, share, at } in budgets {
        let allowed = limits.of(name).max(LEAST_ALLOWED);
        for pair in PAIRS {
            let burn = |span| share(scene, subject, at, span).map(|ratio| ratio / allowed);
            let (Some(long), Some(short)) = (burn(pair.long), burn(pair.short)) else { continue };
            let limit = limits.of(pair.limit);
            let shown = format!("{} what is allowed {}", times(long.min(short)), pair.words);
            if long <= limit || short <= limit {
                seen.push(format!("{what} are {shown}"));
                continue;
            }
            let ratio = |name: &str, value: f64, limit: Option<f64>| {
                named_evidence(name.to_owned(), Unit::Ratio, Seen { value, at }, limit, None)
            };
            return Breach::new(
                format!("{what} are {shown}, limit {limit}x"),
                format!("{what} {} what is allowed", times(long.min(short))),
                long.min(short) / limit,
                vec![
                    ratio("burn rate, long window", long, Some(limit)),
                    ratio("burn rate, short window", short, Some(limit)),
                    ratio("allowed share", allowed, None),
                ],
            )
            .judged();
        }
    }
    if seen.is_empty() {
        return Judgement::Unknown("no burn rate: half of an hour must have been seen".to_owned());
    }
    Judgement::Clear(seen.join(", "))
}

/// What is counted of a subject: its errors, and what is slower than a declared objective.
fn budgets(scene: &Scene<'_>, subject: &Subject) -> Vec<Budget> {
    let errors = scene.total(subject, ERRORS).map(|seen| Budget {
        what: "errors".to_owned(),
        allowed: "allowed",
        share: failing,
        at: seen.at,
    });
    let slow = timed(scene, subject).and_then(|(metric, objective)| {
        Some(Budget {
            what: format!("requests slower than {}", show(objective, Unit::Seconds)),
            allowed: "allowed_slow",
            share: slow,
            at: scene.last_scrape(subject, metric, None)?,
        })
    });
    errors.into_iter().chain(slow).collect()
}

/// The times of a subject's requests and the declared objective for them, where there are both.
fn timed(scene: &Scene<'_>, subject: &Subject) -> Option<(Metric, f64)> {
    let objective = scene.declared_objective(subject)?;
    let told = |metric: &Metric| scene.tells(subject, *metric);
    Some(([REQUEST_DURATION, MODEL_DURATION].into_iter().find(told)?, objective))
}

/// Requests over the objective in a window that ends at a moment, of all; `None` unless enough of it was seen, and without
/// buckets.
fn slow(scene: &Scene<'_>, subject: &Subject, at: Moment, span: Duration) -> Option<f64> {
    let (metric, objective) = timed(scene, subject)?;
    let from = at - span;
    let seen = scene.world.parts(subject).filter_map(|(part, _)| {
        let first = scene.store.gained_from(part, metric, from, at)?;
        Some(at.seconds_after(first.max(from)))
    });
    if seen.fold(0.0, f64::max) < span.as_secs_f64() * SEEN {
        return None;
    }
    scene.distribution_between(subject, metric, None, from, at)?.share_above(objective)
}

/// Errors a request in a window that ends at a moment; `None` unless enough of it was seen.
fn failing(scene: &Scene<'_>, subject: &Subject, at: Moment, span: Duration) -> Option<f64> {
    let from = at - span;
    let errors = summed(scene, subject, ERRORS, from, at)?;
    let requests = summed(scene, subject, REQUESTS, from, at)?;
    share(errors, requests)
}

/// Events of a rate in a window, over all parts; `None` unless enough of the window was seen of one of them.
fn summed(scene: &Scene<'_>, subject: &Subject, metric: Metric, from: Moment, to: Moment) -> Option<f64> {
    let mut sum = 0.0;
    let mut most_seen: f64 = 0.0;
    for (part, _) in scene.world.parts(subject) {
        let Some(points) = scene.store.points(part, metric, None) else { continue };
        let of = |bins: &mut dyn Iterator<Item = crate::store::Bin>, bin_s: f64| {
            bins.filter(|bin| bin.start >= from && bin.start <= to)
                .fold((0.0, 0.0), |(sum, s), bin| (sum + f64::from(bin.mean) * bin_s, s + bin_s))
        };
        let fine = of(&mut points.fine_bins(), BIN_S);
        let coarse = of(&mut points.coarse_bins(), COARSE_BIN_S);
        // Fine bins are exact but are not kept as long.
        let (events, seconds) = if fine.1 >= coarse.1 - COARSE_BIN_S { fine } else { coarse };
        sum += events;
        most_seen = most_seen.max(seconds);
    }
    (most_seen >= to.seconds_after(from) * SEEN).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Input, Reading, Value};
    use crate::settings::{Baselines, Settings};
    use crate::{Engine, Snapshot};

    /// A service with 100 requests and so many errors a second, looked at once a minute for so many minutes.
    fn after(minutes: i64, errors: f64) -> std::sync::Arc<Snapshot> {
        let service: Subject = "service/ranker@h:1".parse().unwrap();
        let settings = Settings { interval: Duration::from_secs(60), ..Settings::default() };
        let mut engine = Engine::new(settings, Baselines::default());
        for minute in 0..=minutes {
            let at = Moment(minute * 60_000);
            let mut reading = Reading::new(service.clone(), at);
            for (metric, rate) in [(REQUESTS, 100.0), (ERRORS, errors)] {
                reading.sample(&service, metric, Value::Counter(rate * 60.0 * minute as f64));
            }
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(at + Duration::from_millis(500)));
        }
        engine.snapshot().unwrap()
    }

    fn told(snapshot: &Snapshot) -> (&'static str, String) {
        let row = snapshot.rules.iter().find(|row| row.rule == RULE.id).unwrap();
        (row.state, row.detail.to_string())
    }

    #[test]
    fn what_an_hour_bears_six_hours_do_not() {
        let (state, seen) = told(&after(170, 0.9));
        assert_eq!((state, seen.as_str()), ("clear", "errors are 9x what is allowed over 1 h and 5 min"));
        let (state, seen) = told(&after(190, 0.9));
        assert_eq!(state, "firing", "{seen}");
        assert_eq!(seen, "errors are 9x what is allowed over 6 h and 15 min, limit 6x");
        let (state, seen) = told(&after(190, 0.5));
        assert_eq!(state, "clear", "{seen}");
        assert!(seen.ends_with("errors are 5x what is allowed over 6 h and 15 min"), "{seen}");
    }
}
