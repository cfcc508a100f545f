//! What each caller or gateway asks, how much of it again, and how much of it ends well.

use headwater_engine::metric::{
    CALLS, CLIENT_ABORTED, CLIENT_ATTEMPTS, CLIENT_ORIGINALS, CLIENT_SUCCESSES, ERRORS, LOG_REPEATED,
    LOG_REQUESTS, Metric, REQUESTS, RETRIES, TOLD_OF_THE_WHOLE, UPSTREAM_ERRORS, UPSTREAM_REQUESTS,
    UPSTREAM_RETRIES, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::{Kind, Snapshot, Subject};

/// Sums of rates with signs: what is told of one number.
pub(super) type Sum = &'static [(f64, Metric)];

/// A way to count: which metrics make originals, attempts and goodput.
#[derive(Debug)]
pub(super) struct Counting {
    /// What must be told for it.
    needs: &'static [Metric],
    /// Of which kind of component alone it can be counted so.
    of: Option<Kind>,
    /// Requests before any was repeated.
    pub(super) originals: Sum,
    /// All attempts; empty where nobody counts what is repeated.
    pub(super) attempts: Sum,
    /// What ended well; empty where nobody tells.
    pub(super) goodput: Sum,
}

/// Every way, the surest first.
static COUNTINGS: &[Counting] = &[
    Counting {
        needs: &[CLIENT_ORIGINALS, CLIENT_ATTEMPTS],
        of: None,
        originals: &[(1.0, CLIENT_ORIGINALS)],
        attempts: &[(1.0, CLIENT_ATTEMPTS)],
        goodput: &[(1.0, CLIENT_SUCCESSES)],
    },
    Counting {
        needs: &[UPSTREAM_REQUESTS, UPSTREAM_RETRIES],
        of: None,
        originals: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_RETRIES)],
        attempts: &[(1.0, UPSTREAM_REQUESTS)],
        goodput: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_ERRORS)],
    },
    Counting {
        needs: &[CALLS, RETRIES],
        of: None,
        originals: &[(1.0, CALLS)],
        attempts: &[(1.0, CALLS), (1.0, RETRIES)],
        goodput: &[],
    },
    Counting {
        needs: &[REQUESTS, RETRIES],
        // How often a service calls others for one request nobody knows.
        of: Some(Kind::Gateway),
        originals: &[(1.0, REQUESTS)],
        attempts: &[(1.0, REQUESTS), (1.0, RETRIES)],
        goodput: &[(1.0, REQUESTS), (-1.0, ERRORS)],
    },
    Counting {
        needs: &[LOG_REQUESTS, LOG_REPEATED],
        of: None,
        originals: &[(1.0, LOG_REQUESTS), (-1.0, LOG_REPEATED)],
        attempts: &[(1.0, LOG_REQUESTS)],
        goodput: &[],
    },
    Counting {
        needs: &[CLIENT_ORIGINALS],
        of: None,
        originals: &[(1.0, CLIENT_ORIGINALS)],
        attempts: &[],
        goodput: &[],
    },
    Counting {
        needs: &[UPSTREAM_REQUESTS],
        of: None,
        originals: &[(1.0, UPSTREAM_REQUESTS)],
        attempts: &[],
        goodput: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_ERRORS)],
    },
];

/// What one component asks at present.
#[derive(Debug)]
pub(super) struct Asked {
    /// The caller or gateway.
    pub(super) subject: Subject,
    /// How it is counted.
    pub(super) counting: &'static Counting,
    /// Requests a second before any was repeated.
    pub(super) originals: f64,
    /// All attempts a second.
    pub(super) attempts: Option<f64>,
    /// Requests a second that ended well.
    pub(super) goodput: Option<f64>,
    /// Requests a second whose caller stopped waiting.
    pub(super) aborted: Option<f64>,
}

impl Asked {
    /// Attempts an original.
    pub(super) fn amplification(&self) -> Option<f64> {
        self.attempts.filter(|_| self.originals > 0.0).map(|attempts| attempts / self.originals)
    }

    /// The share of what is sent that ends in nothing.
    pub(super) fn wasted(&self) -> Option<f64> {
        let sent = self.attempts.unwrap_or(self.originals);
        self.goodput.filter(|_| sent > 0.0).map(|good| (1.0 - good / sent).clamp(0.0, 1.0))
    }

    /// All of it in one sentence.
    pub(super) fn words(&self) -> String {
        let rate = |value: f64| show(value, Unit::PerSecond);
        let offered = match (self.attempts, self.amplification()) {
            (Some(attempts), Some(each)) => {
                format!(
                    "{} originals, {} attempts: {each:.2} an original",
                    rate(self.originals),
                    rate(attempts)
                )
            }
            _ => {
                format!("{} requests, surge or storm: nobody counts what is sent again", rate(self.originals))
            }
        };
        let goodput = match (self.goodput, self.wasted()) {
            (Some(good), Some(wasted)) => {
                format!("; {} end well, {} wasted", rate(good), show(wasted, Unit::Ratio))
            }
            _ => "; nobody tells how many end well".to_owned(),
        };
        let aborted = self.aborted.filter(|aborted| *aborted > 0.0);
        let aborted =
            aborted.map_or(String::new(), |aborted| format!("; {} given up by callers", rate(aborted)));
        format!("{}: {offered}{goodput}{aborted}", self.subject)
    }
}

/// Everybody who asks, callers first.
pub(super) fn all(snapshot: &Snapshot) -> Vec<Asked> {
    let mut asked: Vec<Asked> =
        snapshot.graph.components().filter_map(|subject| of(snapshot, subject)).collect();
    asked.sort_by_key(|asked| asked.subject.kind());
    asked
}

fn of(snapshot: &Snapshot, subject: &Subject) -> Option<Asked> {
    let is_told =
        |metrics: &[Metric]| metrics.iter().all(|metric| total(snapshot, subject, *metric).is_some());
    let is_its = |counting: &&Counting| counting.of.is_none_or(|kind| kind == subject.kind());
    let counting = COUNTINGS.iter().filter(is_its).find(|counting| is_told(counting.needs))?;
    let sum = |sum: Sum| {
        let values: Option<Vec<f64>> =
            sum.iter().map(|(sign, metric)| Some(sign * total(snapshot, subject, *metric)?)).collect();
        values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>().max(0.0))
    };
    Some(Asked {
        subject: subject.clone(),
        counting,
        originals: sum(counting.originals)?,
        attempts: sum(counting.attempts),
        goodput: sum(counting.goodput),
        aborted: match subject.kind() {
            Kind::Client => total(snapshot, subject, CLIENT_ABORTED),
            _ => total(snapshot, subject, headwater_engine::metric::ABORTED),
        },
    })
}

/// The sum of the present values of a metric over instances and parts; `None` when none is fresh.
pub(super) fn total(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Option<f64> {
    if TOLD_OF_THE_WHOLE.contains(&metric) {
        return snapshot.total(subject, metric);
    }
    series(snapshot, subject, metric).into_iter().filter_map(|(_, _, now)| now).reduce(|sum, one| sum + one)
}

/// A series with who tells it, its part and its present value.
type Series<'a> = (&'a Subject, Option<&'a headwater_engine::RemoteText>, Option<f64>);

/// Every series of a metric within a component.
pub(super) fn series<'a>(snapshot: &'a Snapshot, subject: &'a Subject, metric: Metric) -> Vec<Series<'a>> {
    let mut all = vec![];
    for by in snapshot.history.parts(subject) {
        let fresh_from = snapshot.fresh_from(by, metric);
        for (name, part, trace) in snapshot.history.traces(by) {
            if *name == metric.into() {
                let now = trace.latest_at(snapshot.at).filter(|seen| seen.at >= fresh_from);
                all.push((by, part, now.map(|seen| seen.value)));
            }
        }
    }
    all
}
