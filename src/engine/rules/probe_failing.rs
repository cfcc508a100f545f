//! What Headwater asks itself, as a caller would, is not answered.

use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{PROBE_OK, READY, Unit};
use crate::quantity::counted;
use crate::report::Role;
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, by which the shape of a failure is told.
pub(crate) const ID: &str = "probe-failing";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "our own requests are not answered as they should be",
    doc: "The last 3 of our own requests to a component failed: refused, without an answer, or answered with another \
          status or without the words that a good answer holds. Where single instances are asked, at least half of \
          those that do not call themselves not ready must fail, because callers are sent to the others; where all \
          call themselves not ready, nobody is served. A token of ours that is refused counts for nothing. It is a \
          symptom: it accuses nobody, and that our requests are answered exonerates nobody, because they are few and \
          small.",
    next: "walk the dependencies first; the words of the refusal stand with the probe on the Sources panel",
    watches: Watches::Those {
        kinds: &[Kind::Gateway, Kind::Service, Kind::Dependency],
        which: "that is probed",
        are: |scene, subject| scene.world.parts(subject).any(|(part, _)| is_probed(scene, part)),
    },
    nature: Nature::Symptom,
    exonerates: false,
    role: Role::Victim,
    hold: 2,
    thresholds: &[
        Threshold {
            name: "checks",
            default: 3.0,
            unit: Unit::Count,
            help: "requests that fail in a row: one may be lost on the way",
        },
        Threshold {
            name: "share",
            default: 0.5,
            unit: Unit::Ratio,
            help: "share of the probed instances, without those that are not ready: whoever has two and loses one \
                   feels it",
        },
    ],
    rivals: &[],
    absorbs: &[],
    judge,
};

/// What was seen of one address that is asked.
struct Probed {
    fails: f64,
    at: crate::time::Moment,
    is_ready: bool,
}

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    if scene.silent_since.is_some() {
        return Judgement::Unknown("nothing can be reached from here".to_owned());
    }
    let least = limits.of("checks").max(1.0);
    // The component's own address is the way in for all; without an answer there, it does not matter who is well.
    if let Some(entry) = probed(scene, subject) {
        if entry.fails >= least {
            return breach("our last", entry.fails, entry.at, limits);
        }
        return Judgement::Clear("our own requests are answered".to_owned());
    }
    let instances: Vec<Probed> =
        scene.world.parts(subject).filter_map(|(part, _)| probed(scene, part)).collect();
    if instances.is_empty() {
        return Judgement::Unknown(format!("no answer to our own requests: {}", missing(scene, subject)));
    }
    let in_use: Vec<&Probed> = instances.iter().filter(|one| one.is_ready).collect();
    let asked: Vec<&Probed> = if in_use.is_empty() { instances.iter().collect() } else { in_use };
    let failing: Vec<&&Probed> = asked.iter().filter(|one| one.fails >= least).collect();
    let words = format!("{} of {}", failing.len(), counted(asked.len() as u64, "probed instance"));
    let share = failing.len() as f64 / asked.len() as f64;
    match failing.iter().map(|one| one.at).max() {
        Some(at) if share >= limits.of("share") => {
            let fails = failing.iter().map(|one| one.fails).fold(f64::INFINITY, f64::min);
            breach(&format!("{words}: our last"), fails, at, limits)
        }
        Some(_) => Judgement::Clear(format!("{words} does not answer our own requests")),
        None => Judgement::Clear("our own requests are answered".to_owned()),
    }
}

fn breach(who: &str, fails: f64, at: crate::time::Moment, limits: &Limits<'_>) -> Judgement {
    let least = limits.of("checks");
    let evidence = named_evidence(
        "failed requests of ours".to_owned(),
        Unit::Count,
        Seen { value: fails, at },
        Some(least),
        None,
    );
    Breach::new(
        format!("{who} {} failed, limit {least:.0}", counted(fails as u64, "request")),
        format!("{} of ours failed", counted(fails as u64, "request")),
        fails / least.max(1.0),
        vec![evidence],
    )
    .judged()
}

fn is_probed(scene: &Scene<'_>, part: &Subject) -> bool {
    scene.store.points(part, PROBE_OK, None).is_some()
}

/// How many of the last requests to this very address failed in a row; `None` without a fresh answer.
fn probed(scene: &Scene<'_>, part: &Subject) -> Option<Probed> {
    let at = scene.latest(part, PROBE_OK)?.at;
    let points = scene.store.points(part, PROBE_OK, None)?.newest_first();
    let fails = points.take_while(|seen| seen.value < 0.5).count() as f64;
    let is_ready = scene.latest(part, READY).is_none_or(|seen| seen.value >= 0.5);
    Some(Probed { fails, at, is_ready })
}

/// What is missing of the parts that were probed once.
fn missing(scene: &Scene<'_>, subject: &Subject) -> String {
    let once = scene.world.parts(subject).find(|(part, _)| is_probed(scene, part));
    let last = once.and_then(|(part, _)| scene.store.latest(part, PROBE_OK, None));
    match last {
        Some(seen) => format!("stale: the last one {:.0} s ago", scene.now.seconds_after(seen.at)),
        None => scene.missing(subject),
    }
}
