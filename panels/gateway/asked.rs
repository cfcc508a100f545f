//! What each caller or gateway asks, how much of it again, and how much of it ends well.

use headwater_engine::metric::{
    CALLS, CLIENT_ABORTED, CLIENT_ATTEMPTS, CLIENT_DURATION, CLIENT_ORIGINALS, CLIENT_SUCCESSES, ERRORS,
    LOG_REPEATED, LOG_REQUESTS, Metric, REQUESTS, RETRIES, TOLD_OF_THE_WHOLE, UPSTREAM_ACTIVE,
    UPSTREAM_ERRORS, UPSTREAM_REQUESTS, UPSTREAM_RETRIES, Unit,
};
use headwater_engine::quantity::{share, show};
use headwater_engine::{Kind, Snapshot, Subject};

/// Sums of rates with signs: what is told of one number.
pub(super) type Sum = &'static [(f64, Metric)];

/// How it is known which of the attempts have ended: what is under way is neither well nor wasted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// They are counted when they end.
    Counted,
    /// They are counted when they are sent; this gauge tells how many are under way.
    UnderWay(Metric),
    /// This histogram counts originals as they end, and each repetition follows an attempt that has.
    Originals(Metric),
    /// Nobody tells.
    Unknown,
}

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
    /// Which of the attempts have ended.
    ended: Ended,
}

/// Every way, the surest first.
static COUNTINGS: &[Counting] = &[
    Counting {
        needs: &[CLIENT_ORIGINALS, CLIENT_ATTEMPTS],
        of: None,
        originals: &[(1.0, CLIENT_ORIGINALS)],
        attempts: &[(1.0, CLIENT_ATTEMPTS)],
        goodput: &[(1.0, CLIENT_SUCCESSES)],
        ended: Ended::Originals(CLIENT_DURATION),
    },
    Counting {
        needs: &[UPSTREAM_REQUESTS, UPSTREAM_RETRIES],
        of: None,
        originals: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_RETRIES)],
        attempts: &[(1.0, UPSTREAM_REQUESTS)],
        goodput: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_ERRORS)],
        ended: Ended::UnderWay(UPSTREAM_ACTIVE),
    },
    Counting {
        needs: &[CALLS, RETRIES],
        of: None,
        originals: &[(1.0, CALLS)],
        attempts: &[(1.0, CALLS), (1.0, RETRIES)],
        goodput: &[],
        ended: Ended::Unknown,
    },
    Counting {
        needs: &[REQUESTS, RETRIES],
        // How often a service calls others for one request nobody knows.
        of: Some(Kind::Gateway),
        originals: &[(1.0, REQUESTS)],
        attempts: &[(1.0, REQUESTS), (1.0, RETRIES)],
        goodput: &[(1.0, REQUESTS), (-1.0, ERRORS)],
        ended: Ended::Counted,
    },
    Counting {
        needs: &[LOG_REQUESTS, LOG_REPEATED],
        of: None,
        originals: &[(1.0, LOG_REQUESTS), (-1.0, LOG_REPEATED)],
        attempts: &[(1.0, LOG_REQUESTS)],
        goodput: &[],
        ended: Ended::Unknown,
    },
    Counting {
        needs: &[CLIENT_ORIGINALS],
        of: None,
        originals: &[(1.0, CLIENT_ORIGINALS)],
        attempts: &[],
        goodput: &[],
        ended: Ended::Unknown,
    },
    Counting {
        needs: &[UPSTREAM_REQUESTS],
        of: None,
        originals: &[(1.0, UPSTREAM_REQUESTS)],
        attempts: &[],
        goodput: &[(1.0, UPSTREAM_REQUESTS), (-1.0, UPSTREAM_ERRORS)],
        ended: Ended::UnderWay(UPSTREAM_ACTIVE),
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
    /// Whether that is only as many as may be: of what is under way nobody tells.
    is_most: bool,
    /// Attempts a second that ended, well or not.
    ended: Option<f64>,
    /// Requests a second whose caller stopped waiting.
    pub(super) aborted: Option<f64>,
}

impl Asked {
    /// Attempts an original.
    pub(super) fn amplification(&self) -> Option<f64> {
        self.attempts.filter(|_| self.originals > 0.0).map(|attempts| attempts / self.originals)
    }

    /// The share of the attempts that have ended which came to nothing, and whether it may be more: where nobody tells what
    /// has ended, what was asked again and what was given up are known to have.
    pub(super) fn wasted(&self) -> Option<(f64, bool)> {
        let good = self.goodput?;
        let seen = || {
            let again = (self.attempts? - self.originals).max(0.0);
            Some(good + again + self.aborted.unwrap_or(0.0))
        };
        let ended = self.ended.or_else(seen)?;
        Some((share(ended - good, ended)?, self.ended.is_none()))
    }

    /// The share of the requests that were not answered well in the end, and whether it may be more. What is still under way
    /// is no failure: attempts that ended must have come to nothing as well.
    pub(super) fn unanswered(&self) -> Option<(f64, bool)> {
        let (wasted, is_least) = self.wasted()?;
        let unanswered = share((self.originals - self.goodput?).max(0.0), self.originals)?;
        Some(if unanswered < wasted { (unanswered, false) } else { (wasted, is_least) })
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
        let most = if self.is_most { "at most " } else { "" };
        let goodput = match (self.goodput, self.wasted()) {
            // To be wasted at least not at all says nothing.
            (Some(good), None | Some((0.0, true))) => format!("; {most}{} end well", rate(good)),
            (Some(good), Some((wasted, is_least))) => {
                let least = if is_least { "at least " } else { "" };
                format!("; {most}{} end well, {least}{} wasted", rate(good), show(wasted, Unit::Ratio))
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

/// What one component asks, where it is told.
pub(super) fn of(snapshot: &Snapshot, subject: &Subject) -> Option<Asked> {
    let is_told =
        |metrics: &[Metric]| metrics.iter().all(|metric| total(snapshot, subject, *metric).is_some());
    let is_its = |counting: &&Counting| counting.of.is_none_or(|kind| kind == subject.kind());
    let counting = COUNTINGS.iter().filter(is_its).find(|counting| is_told(counting.needs))?;
    let sum = |sum: Sum| {
        let values: Option<Vec<f64>> =
            sum.iter().map(|(sign, metric)| Some(sign * total(snapshot, subject, *metric)?)).collect();
        values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>())
    };
    let (originals, attempts) = (sum(counting.originals)?.max(0.0), sum(counting.attempts));
    let all = attempts.unwrap_or(originals);
    let mut is_most = false;
    let (ended, goodput) = match counting.ended {
        Ended::Counted => (Some(all), sum(counting.goodput)),
        Ended::UnderWay(metric) => {
            // Without the number under way nobody knows what has ended, and only how much of it may be well; and what fails
            // beyond what is sent was sent before.
            let more = under_way(snapshot, subject, metric);
            is_most = more.is_none();
            let good = sum(counting.goodput).map(|good| good - more.unwrap_or(0.0));
            let good = good.filter(|good| more.is_some() || *good >= 0.0);
            (more.map(|more| all - more), good)
        }
        Ended::Originals(metric) => {
            let again = (all - originals).max(0.0);
            (finished(snapshot, subject, metric).map(|done| done + again), sum(counting.goodput))
        }
        Ended::Unknown => (None, sum(counting.goodput)),
    };
    Some(Asked {
        subject: subject.clone(),
        counting,
        originals,
        attempts,
        goodput: goodput.map(|good| good.max(0.0)),
        is_most,
        ended: ended.map(|ended| ended.max(0.0)),
        aborted: match subject.kind() {
            Kind::Client => total(snapshot, subject, CLIENT_ABORTED),
            _ => total(snapshot, subject, headwater_engine::metric::ABORTED),
        },
    })
}

/// How many more a second are under way, over the span that is present; `None` unless all who are asked tell.
fn under_way(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Option<f64> {
    let span = snapshot.present_span();
    let growth = |(by, part, now): Series<'_>| {
        let (now, trace) = (now?, snapshot.history.trace(by, metric, part)?);
        let last = trace.latest_at(snapshot.at)?;
        let then = trace.since(last.at - span).next()?;
        let apart = last.at.since(then.at).as_secs_f64();
        (apart > 0.0).then(|| (now - then.value) / apart)
    };
    let all = series(snapshot, subject, metric);
    let tells = |asked: &Series<'_>| all.iter().any(|(by, part, _)| (*by, *part) == (asked.0, asked.1));
    let asked = series(snapshot, subject, UPSTREAM_REQUESTS);
    if all.is_empty() || !asked.iter().filter(|(.., now)| now.is_some_and(|rate| rate > 0.0)).all(tells) {
        return None;
    }
    all.into_iter().filter(|(.., now)| now.is_some()).map(growth).sum()
}

/// How many a second a histogram counted, over the span that is present.
fn finished(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Option<f64> {
    let rate = |by: &Subject| {
        let scrapes = snapshot.history.scrapes(by, metric, None)?;
        let last = scrapes.last_at(snapshot.at).filter(|last| *last >= snapshot.fresh_from(by, metric))?;
        let (from, gained) = scrapes.gained_since(last - snapshot.present_span(), last)?;
        let apart = last.since(from).as_secs_f64();
        (apart > 0.0).then(|| gained.count / apart)
    };
    snapshot.history.parts(subject).filter_map(rate).reduce(|sum, one| sum + one)
}

/// The sum of the present values of a metric over instances and parts, over the span over which rules take them, so that both
/// say the same; `None` when none is fresh.
pub(super) fn total(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Option<f64> {
    if TOLD_OF_THE_WHOLE.contains(&metric) {
        return snapshot.total_mean(subject, metric);
    }
    let mean = |(by, part, _): Series<'_>| Some(snapshot.present_mean(by, metric, part)?.value);
    series(snapshot, subject, metric).into_iter().filter_map(mean).reduce(|sum, one| sum + one)
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
