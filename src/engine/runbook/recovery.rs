//! Whether callers have again what they had before.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{Report, Verdict};
use crate::rules::{BUSINESS_SYMPTOM, ERROR_SHIFT, LATENCY_SHIFT, Nature, by_id};
use crate::signal::Signal;
use crate::snapshot::{RuleState, Snapshot};
use crate::store::Seen;
use crate::subject::Subject;
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

/// Whether callers have what is usual again: whoever suffered is seen not to, latency and errors are near their usual
/// values for a minute, and no cause still acts.
pub fn recovery(snapshot: &Snapshot) -> Recovery {
    let at = snapshot.at;
    let is_bad = |report: &Report| {
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
    let symptoms = match Symptoms::of(snapshot) {
        Ok(symptoms) => symptoms,
        Err(otherwise) => return otherwise,
    };
    let held = match held(snapshot, &symptoms) {
        Ok(held) => held,
        Err(missing) => return Recovery::Unknown(missing),
    };
    let mut told: Vec<String> = held.iter().map(Held::words).collect();
    told.extend(symptoms.told.clone());
    let longest_gap = snapshot.settings.stale_after();
    let numbers = held.iter().map(|held| held.well_since(at, longest_gap));
    let since: Option<Vec<Moment>> = numbers.chain(symptoms.well_since(snapshot)).collect();
    let Some(since) = since.and_then(|all| all.into_iter().max()) else {
        return Recovery::NotYet(told.join("; "));
    };
    let mut guilty = snapshot.report.suspects.iter().filter(|suspect| suspect.verdict == Verdict::Guilty);
    if let Some(unseen) = guilty.clone().find(|suspect| suspect.unseen_since.is_some()) {
        return Recovery::Unknown(format!(
            "callers are well since {}, and nothing tells whether {} goes on at {}",
            since.clock(),
            unseen.rule,
            unseen.subject
        ));
    }
    if let Some(cause) = guilty.find(|suspect| suspect.goes_on()) {
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

/// The signals that must be usual again; `Err` with what is missing of one that must be seen.
fn held<'a>(snapshot: &'a Snapshot, symptoms: &Symptoms<'_>) -> Result<Vec<Held<'a>>, String> {
    let mut held = vec![];
    let signal = |name: &str| snapshot.signals.iter().find(|signal| signal.row.name == name);
    // What was held before must be held again: a number that is gone is no number that is well.
    let is_gone = |signal: Option<&Signal>| {
        signal.is_some_and(|signal| signal.now.is_none() && signal.trace.newest_first().next().is_some())
    };
    let no_latency = symptoms.rows.is_empty() || symptoms.have(LATENCY_SHIFT);
    match signal("p99").and_then(|signal| Some((signal, signal.now?))) {
        Some((signal, now)) => match latency(signal, now, snapshot) {
            Some(latency) => held.push(latency),
            None if no_latency => {
                return Err(format!(
                    "p99 {} now, and nothing says what is usual: Headwater was started in the incident, and no \
                     objective is declared",
                    show(now.value, Unit::Seconds)
                ));
            }
            None => {}
        },
        None if no_latency || is_gone(signal("p99")) => {
            return Err("no source shows what callers see now".to_owned());
        }
        None => {}
    }
    match errors(snapshot) {
        Some(errors) => held.push(errors),
        None if symptoms.have(ERROR_SHIFT) || is_gone(signal("errors")) => {
            return Err("no source shows now how many requests fail".to_owned());
        }
        None => {}
    }
    Ok(held)
}

/// The rules that saw callers suffer, on those that suffered: as they stand now.
struct Symptoms<'a> {
    rows: Vec<&'a RuleState>,
    /// What they say of numbers that no signal has.
    told: Vec<String>,
}

impl<'a> Symptoms<'a> {
    /// `Err` when one of them goes on, or cannot be seen any more.
    fn of(snapshot: &'a Snapshot) -> Result<Self, Recovery> {
        let suffered: BTreeSet<&Subject> = snapshot
            .timeline
            .frames()
            .filter(|frame| frame.at <= snapshot.at)
            .map(|frame| &frame.report)
            .chain([&snapshot.report])
            .filter_map(|report| Some(&report.symptom.as_ref()?.subject))
            .collect();
        let is_symptom =
            |row: &&RuleState| by_id(row.rule).is_some_and(|rule| rule.nature == Nature::Symptom);
        let of_symptoms: Vec<&RuleState> = snapshot.rules.iter().filter(is_symptom).collect();
        let mut rows: Vec<&RuleState> = vec![];
        for row in &of_symptoms {
            match row.state {
                "firing" | "pending" => {
                    return Err(Recovery::NotYet(format!("{}: {}", row.subject, row.detail)));
                }
                "ended" => rows.push(row),
                _ => {}
            }
        }
        if let Some(row) = rows.iter().find(|row| row.is_blind) {
            return Err(Recovery::Unknown(format!("{} of {} is not seen any more", row.rule, row.subject)));
        }
        // Of an older one, whose end is forgotten, any rule that sees callers will do.
        for subject in suffered {
            if rows.iter().any(|row| row.subject == *subject) {
                continue;
            }
            let well = of_symptoms.iter().find(|row| row.subject == *subject && row.state == "clear");
            match well {
                Some(well) => rows.push(well),
                None => {
                    return Err(Recovery::Unknown(format!(
                        "{subject}, which suffered, is not seen any more"
                    )));
                }
            }
        }
        let stale = |subject: &Subject| snapshot.stale_after(subject).as_secs_f64();
        let is_old = |row: &&&RuleState| {
            let verdict = snapshot.report.verdicts.iter().find(|verdict| verdict.subject == row.subject);
            verdict.and_then(|verdict| verdict.age_s).is_some_and(|age| age > stale(&row.subject))
        };
        if let Some(row) = rows.iter().find(is_old) {
            return Err(Recovery::Unknown(format!(
                "{}, which suffered, gives no data any more",
                row.subject
            )));
        }
        let in_words = rows.iter().filter(|row| row.rule == BUSINESS_SYMPTOM);
        let told = in_words.map(|row| format!("{} has ended on {}", row.rule, row.subject)).collect();
        Ok(Self { rows, told })
    }

    fn have(&self, rule: &str) -> bool {
        self.rows.iter().any(|row| row.rule == rule)
    }

    /// Since when each has been seen to be well, by the frames of the timeline; `None` for one that was not.
    fn well_since(&self, snapshot: &Snapshot) -> impl Iterator<Item = Option<Moment>> {
        let longest_gap = snapshot.settings.stale_after();
        self.rows.iter().map(move |row| {
            let mut since = snapshot.at;
            for frame in snapshot.timeline.frames().rev().filter(|frame| frame.at <= snapshot.at) {
                let then = frame.rules.iter().find(|one| one.rule == row.rule && one.subject == row.subject);
                let is_well =
                    then.is_some_and(|then| matches!(then.state, "clear" | "ended") && !then.is_blind);
                if !is_well || since.since(frame.at) > longest_gap {
                    break;
                }
                since = frame.at;
            }
            Some(since)
        })
    }
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
