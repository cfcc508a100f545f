//! How often is asked, and how much of it is asked again: by whichever of several countings there is.

use crate::baseline::Baseline;
use crate::metric::{
    CALLS, CLIENT_ATTEMPTS, CLIENT_ORIGINALS, CLIENT_SUCCESSES, ERRORS, LOG_REPEATED, LOG_REQUESTS,
    LOG_THRICE, Metric, REQUESTS, RETRIES, UPSTREAM_ERRORS, UPSTREAM_REQUESTS, UPSTREAM_RETRIES,
};
use crate::scene::Scene;
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// Requests of a component with their repetitions, all in events a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Requests before any was repeated.
    pub(super) originals: Seen,
    /// What is usual of these.
    pub(super) usual_originals: Option<Baseline>,
    /// All attempts; `None` where nobody counts what is repeated.
    pub(super) attempts: Option<Seen>,
    /// What is usual of these.
    pub(super) usual_attempts: Option<Baseline>,
    /// Whether what ended well is counted of originals, of which some may have been asked a while ago, and not of
    /// attempts.
    pub(super) ends_originals: bool,
    /// Requests that ended well in the end.
    pub(super) successes: Option<Seen>,
    /// What is usual of these.
    pub(super) usual_successes: Option<Baseline>,
    /// The share of request ids with three attempts or more within half a minute, where a log tells.
    pub(super) thrice: Option<Seen>,
    /// The names under which originals, attempts and successes are shown.
    pub(super) names: [&'static str; 3],
}

/// A way to count: what it gives, or nothing where its numbers are not there.
type Counting = fn(&Scene<'_>, &Subject) -> Option<Asked>;

/// Every way to count repetitions, the surest first: who repeats, who passes it on, who sees it come.
static COUNTINGS: &[Counting] = &[by_caller, by_gateway, by_own_retries, by_log];

/// The metrics of which any says that repetitions are counted.
pub(super) const REPETITIONS: &[Metric] = &[CLIENT_ATTEMPTS, UPSTREAM_RETRIES, RETRIES, LOG_REPEATED];

/// What a component asks, by the surest counting that it has.
pub(super) fn asked(scene: &Scene<'_>, subject: &Subject) -> Option<Asked> {
    let all = || COUNTINGS.iter().filter_map(|count| count(scene, subject));
    all().find(|asked| asked.attempts.is_some()).or_else(|| all().next())
}

/// What is asked of a service that nobody is seen to call: request ids of its log, else what it answers, of which nobody
/// knows how much is asked again.
pub(super) fn answered(scene: &Scene<'_>, service: &Subject) -> Option<Asked> {
    let by_log = by_log(scene, service).filter(|asked| asked.attempts.is_some());
    by_log.or_else(|| unsorted(scene, service))
}

/// What a service answers, however much of it is asked again.
fn unsorted(scene: &Scene<'_>, service: &Subject) -> Option<Asked> {
    let originals = scene.total(service, REQUESTS)?;
    let usual = scene.total_baseline(service, REQUESTS);
    Some(Asked {
        originals,
        usual_originals: usual,
        attempts: None,
        usual_attempts: None,
        ends_originals: false,
        successes: scene.total(service, ERRORS).map(|errors| less(originals, Some(errors))),
        usual_successes: usual
            .zip(scene.total_baseline(service, ERRORS))
            .map(|(usual, errors)| usual_less(usual, errors.typical)),
        thrice: None,
        names: [REQUESTS.name(), "attempts", "requests that ended well"],
    })
}

fn by_caller(scene: &Scene<'_>, client: &Subject) -> Option<Asked> {
    Some(Asked {
        originals: scene.total(client, CLIENT_ORIGINALS)?,
        usual_originals: scene.total_baseline(client, CLIENT_ORIGINALS),
        attempts: scene.total(client, CLIENT_ATTEMPTS),
        usual_attempts: scene.total_baseline(client, CLIENT_ATTEMPTS),
        ends_originals: true,
        successes: scene.total(client, CLIENT_SUCCESSES),
        usual_successes: scene.total_baseline(client, CLIENT_SUCCESSES),
        thrice: None,
        names: [CLIENT_ORIGINALS.name(), CLIENT_ATTEMPTS.name(), CLIENT_SUCCESSES.name()],
    })
}

/// What a gateway sends on holds its own retries.
fn by_gateway(scene: &Scene<'_>, gateway: &Subject) -> Option<Asked> {
    let total = |metric| scene.total_of_parts(gateway, metric);
    let usual = |metric| scene.baseline_of_parts(gateway, metric);
    let attempts = total(UPSTREAM_REQUESTS)?;
    let retries = total(UPSTREAM_RETRIES);
    let usual_retries = match retries {
        Some(_) => usual(UPSTREAM_RETRIES).map(|again| again.typical),
        None => Some(0.0),
    };
    Some(Asked {
        originals: less(attempts, retries),
        usual_originals: usual(UPSTREAM_REQUESTS)
            .zip(usual_retries)
            .map(|(all, again)| usual_less(all, again)),
        attempts: retries.map(|_| attempts),
        usual_attempts: usual(UPSTREAM_REQUESTS),
        ends_originals: false,
        successes: total(UPSTREAM_ERRORS).map(|errors| less(attempts, Some(errors))),
        usual_successes: usual(UPSTREAM_REQUESTS)
            .zip(usual(UPSTREAM_ERRORS))
            .map(|(all, errors)| usual_less(all, errors.typical)),
        thrice: None,
        names: ["original requests", UPSTREAM_REQUESTS.name(), "attempts that ended well"],
    })
}

/// A component that counts what it repeats towards others. A gateway sends on each request that it answers; how often a
/// service calls others for one request only itself can tell, and without that its retries can be held against nothing.
fn by_own_retries(scene: &Scene<'_>, component: &Subject) -> Option<Asked> {
    let answered = unsorted(scene, component)?;
    let is_gateway = component.kind() == Kind::Gateway;
    let calls = scene.total_of_parts(component, CALLS).filter(|_| !is_gateway);
    let Some(retries) = scene.total_of_parts(component, RETRIES).filter(|_| is_gateway || calls.is_some())
    else {
        return Some(answered);
    };
    let originals = calls.unwrap_or(answered.originals);
    let usual_originals = match calls {
        Some(_) => scene.baseline_of_parts(component, CALLS),
        None => answered.usual_originals,
    };
    let usual_retries = scene.baseline_of_parts(component, RETRIES);
    let [_, attempts, well] = answered.names;
    Some(Asked {
        originals,
        usual_originals,
        attempts: Some(Seen { value: originals.value + retries.value, ..retries }),
        usual_attempts: usual_originals
            .zip(usual_retries)
            .map(|(all, again)| usual_less(all, -again.typical)),
        names: [if calls.is_some() { CALLS.name() } else { REQUESTS.name() }, attempts, well],
        ..answered
    })
}

/// Request ids that come again.
fn by_log(scene: &Scene<'_>, subject: &Subject) -> Option<Asked> {
    let attempts = scene.total_of_parts(subject, LOG_REQUESTS)?;
    let repeated = scene.total_of_parts(subject, LOG_REPEATED);
    let originals = less(attempts, repeated);
    let usual = scene.baseline_of_parts(subject, LOG_REQUESTS);
    let thrice = scene.total_of_parts(subject, LOG_THRICE).filter(|_| originals.value > 0.0);
    Some(Asked {
        originals,
        usual_originals: usual
            .zip(scene.baseline_of_parts(subject, LOG_REPEATED))
            .map(|(all, again)| usual_less(all, again.typical)),
        attempts: repeated.map(|_| attempts),
        usual_attempts: usual,
        ends_originals: false,
        successes: None,
        usual_successes: None,
        thrice: thrice.map(|seen| Seen { value: seen.value / originals.value, ..seen }),
        names: ["request ids", LOG_REQUESTS.name(), "requests that ended well"],
    })
}

fn less(all: Seen, part: Option<Seen>) -> Seen {
    Seen { value: (all.value - part.map_or(0.0, |part| part.value)).max(0.0), ..all }
}

fn usual_less(all: Baseline, part: f64) -> Baseline {
    Baseline { typical: (all.typical - part).max(0.0), spread: None, ..all }
}
