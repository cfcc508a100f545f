//! Whether callers have again what they had before.

use std::time::Duration;

use crate::metric::Unit;
use crate::quantity::show;
use crate::report::Verdict;
use crate::signal::Signal;
use crate::snapshot::Snapshot;
use crate::store::Seen;
use crate::time::Moment;

/// How long callers must be well before it is called a recovery: one calm second says nothing.
const LASTS: Duration = Duration::from_secs(60);

/// Up to this multiple of the usual latency it is usual, as the moving threshold of a baseline has it.
const USUAL_LATENCY: f64 = 1.3;

/// Up to this multiple of the usual share of errors, and below this share in any case, errors are usual: as the rule
/// `error-shift` has it.
const USUAL_ERRORS: f64 = 3.0;
const FEW_ERRORS: f64 = 0.01;

/// Whether what callers saw is over.
#[derive(Clone, Debug, PartialEq)]
pub enum Recovery {
    /// Nothing was wrong that is known of.
    Calm(String),
    /// What is usual has been there for long enough.
    Recovered {
        /// Since when.
        since: Moment,
        /// `recovered since 14:12:07 (p99 180 ms, usual 170 ms, for 60 s)`.
        told: String,
    },
    /// Not yet, for this reason.
    NotYet(String),
    /// It cannot be said, for this reason.
    Unknown(String),
}

impl Recovery {
    /// The sentence for screens and reports.
    pub fn sentence(&self) -> String {
        match self {
            Self::Calm(told) | Self::Recovered { told, .. } => told.clone(),
            Self::NotYet(told) => format!("not yet: {told}"),
            Self::Unknown(told) => format!("unknown: {told}"),
        }
    }
}

/// A signal held against what is usual of it.
struct Held<'a> {
    signal: &'a Signal,
    now: Seen,
    limit: f64,
    /// `usual 170 ms`.
    against: String,
}

impl Held<'_> {
    fn words(&self) -> String {
        let Self { signal, now, against, .. } = self;
        format!("{} {}{}, {against}", signal.row.name, signal.sign, show(now.value, signal.row.unit))
    }

    /// Since when it has been usual without a gap; `None` while it is not.
    fn well_since(&self, at: Moment, longest_gap: Duration) -> Option<Moment> {
        let mut since: Option<Moment> = None;
        for seen in self.signal.trace.newest_first().filter(|seen| seen.at <= at) {
            let is_next = since.unwrap_or(at).since(seen.at) <= longest_gap;
            if seen.value > self.limit || !is_next {
                break;
            }
            since = Some(seen.at);
        }
        since
    }
}

/// Whether callers have what is usual again: latency and errors near their usual values for a minute, and no cause
/// that still acts.
pub fn recovery(snapshot: &Snapshot) -> Recovery {
    let at = snapshot.at;
    let signal = |name: &str| snapshot.signals.iter().find(|signal| signal.row.name == name);
    let is_bad = |report: &crate::report::Report| {
        report.symptom.is_some() || report.suspects.iter().any(|suspect| suspect.verdict == Verdict::Guilty)
    };
    if !is_bad(&snapshot.report)
        && !snapshot.timeline.frames().any(|frame| frame.at <= at && is_bad(&frame.report))
    {
        return match snapshot.signals.iter().any(|signal| signal.now.is_some()) {
            true => Recovery::Calm(format!("nothing to recover from since {}", snapshot.began.clock())),
            false => Recovery::Unknown("no source shows what callers see".to_owned()),
        };
    }
    let Some((signal, now)) = signal("p99").and_then(|signal| Some((signal, signal.now?))) else {
        return Recovery::Unknown("no source shows what callers see now".to_owned());
    };
    let Some(latency) = latency(signal, now, snapshot) else {
        return Recovery::Unknown(format!(
            "p99 {} now, and nothing says what is usual: Headwater was started in the incident, and no \
             objective is declared",
            show(now.value, Unit::Seconds)
        ));
    };
    let mut held = vec![latency];
    held.extend(errors(snapshot));
    let told: Vec<String> = held.iter().map(Held::words).collect();
    let longest_gap = snapshot.settings.stale_after();
    let since: Option<Vec<Moment>> = held.iter().map(|held| held.well_since(at, longest_gap)).collect();
    let Some(since) = since.and_then(|all| all.into_iter().max()) else {
        return Recovery::NotYet(told.join("; "));
    };
    if let Some(cause) =
        snapshot.report.suspects.iter().find(|s| s.verdict == Verdict::Guilty && s.until.is_none())
    {
        return Recovery::NotYet(format!(
            "callers are well since {}, but {} still fires on {}",
            since.clock(),
            cause.rule,
            cause.subject
        ));
    }
    let lasted = at.since(since);
    if lasted < LASTS {
        let (so_far, whole) = (lasted.as_secs(), LASTS.as_secs());
        return Recovery::NotYet(format!("{} for {so_far} s of {whole} s", told.join("; ")));
    }
    let lasted = show(lasted.as_secs_f64().floor(), Unit::Seconds);
    let told = format!("recovered since {} ({}, for {lasted})", since.clock(), told.join("; "));
    Recovery::Recovered { since, told }
}

/// Latency against its usual value, else against the tightest declared objective.
fn latency<'a>(signal: &'a Signal, now: Seen, snapshot: &Snapshot) -> Option<Held<'a>> {
    if let Some(usual) = signal.usual {
        let against = format!("usual {}", show(usual, Unit::Seconds));
        return Some(Held { signal, now, limit: usual * USUAL_LATENCY, against });
    }
    let objectives = snapshot.settings.components.iter().filter_map(|component| component.objective_p99);
    let limit = objectives.min()?.as_secs_f64();
    Some(Held { signal, now, limit, against: format!("objective {}", show(limit, Unit::Seconds)) })
}

/// Errors against their usual share; nothing where no source tells of them.
fn errors(snapshot: &Snapshot) -> Option<Held<'_>> {
    let signal = snapshot.signals.iter().find(|signal| signal.row.name == "errors")?;
    let now = signal.now?;
    let usual = signal.usual.unwrap_or(0.0);
    let against = match signal.usual {
        Some(usual) => format!("usual {}", show(usual, Unit::Ratio)),
        None => format!("limit {}", show(FEW_ERRORS, Unit::Ratio)),
    };
    Some(Held { signal, now, limit: (usual * USUAL_ERRORS).max(FEW_ERRORS), against })
}
