//! From findings to verdicts: the symptom first, then every dependency before what calls it.

mod breakdown;
mod chain;
mod cost;
mod loops;
mod nearness;
mod next_step;
mod searches;
mod shape;
mod suspects;
mod symptom;
mod verdicts;

use std::collections::BTreeSet;

use crate::reach::{is_local, is_target};
use crate::report::{Conclusion, Report, SCHEMA, Suspect, Unjudged, Verdict};
use crate::rules::{BIG_KEY_TROUBLES, LATENCY_SHIFT, Nature};
use crate::scene::Scene;
use crate::snapshot::SourceState;
use crate::subject::{Kind, Subject};
use crate::tellers;
pub use searches::searches_wanted;

/// Evaluations from which on a clear answer means something.
const LEAST_EVALUATIONS: u32 = 3;

/// The triage of one moment.
pub fn report(scene: &Scene<'_>) -> Report {
    let sufferings = symptom::all(scene);
    let suspects = suspects::ranked(scene, &sufferings);
    let loops = loops::seen(scene, &suspects);
    let explained = suspects
        .first()
        .and_then(|first| scene.findings.get(&first.rule, &first.subject))
        .and_then(|finding| nearness::nearest(scene, finding, &sufferings))
        .or(sufferings.first());
    let verdicts = verdicts::of_all(scene, &suspects);
    let exonerated = verdicts::exonerated(scene, &verdicts);
    let untold = [Kind::Change, Kind::Graph, Kind::Discovery, Kind::Probe, Kind::Log]
        .into_iter()
        .flat_map(|kind| tellers::untold(scene.settings, scene.world.sources(), kind, scene.now))
        .collect::<Vec<_>>();
    let conclusion = conclusion(scene, &suspects, &untold);
    let unknown: Vec<Unjudged> = unknown(scene, &verdicts).into_iter().chain(untold).collect();
    Report {
        schema: SCHEMA,
        name: scene.settings.name.clone(),
        at: scene.now,
        conclusion,
        shape: shape::of(scene),
        breakdown: breakdown::of(scene, explained),
        chain: chain::of(scene, explained, &suspects),
        next_step: loops::next_step(&loops)
            .filter(|_| scene.silent_since.is_none())
            .unwrap_or_else(|| next_step::of(scene, conclusion, explained, &suspects, &unknown)),
        loops,
        history: scene.world.histories().spans(scene.now),
        cost: cost::of(scene),
        symptom: sufferings.into_iter().next().map(|worst| worst.symptom),
        verdicts,
        suspects,
        exonerated,
        unknown,
        notes: vec![],
    }
}

/// Shards that are suspected of something a big key would explain, and whose keys nobody has looked at.
pub fn scans_wanted(scene: &Scene<'_>, report: &Report) -> Vec<Subject> {
    let mut wanted = BTreeSet::new();
    for suspect in &report.suspects {
        let in_question = BIG_KEY_TROUBLES.contains(&suspect.rule.as_str()) && suspect.goes_on();
        if in_question
            && suspect.subject.shard_index().is_some()
            && scene.world.keyspace().scan(&suspect.subject, scene.now).is_none()
        {
            wanted.insert(suspect.subject.clone());
        }
    }
    wanted.into_iter().collect()
}

fn conclusion(scene: &Scene<'_>, suspects: &[Suspect], untold: &[Unjudged]) -> Conclusion {
    if suspects.iter().any(|suspect| suspect.verdict == Verdict::Guilty) {
        return Conclusion::Guilty;
    }
    let targets = || scene.world.sources().filter(|state| is_target(state));
    let told = |state: &SourceState| state.last_data.is_some();
    let has_log = scene.world.sources().any(|state| state.source.kind() == Kind::Log && told(state));
    let local = || scene.world.sources().filter(|state| is_local(state));
    // Who asks about this machine alone has asked for no other target.
    let is_alone =
        targets().next().is_none() && !scene.settings.components.iter().any(|known| known.has_source);
    let is_any_heard = targets().any(told) || has_log || (is_alone && local().any(told));
    if !is_any_heard {
        return Conclusion::NoTarget;
    }
    let is_stale = |subject: &Subject| {
        scene.world.last_data(subject).is_none_or(|at| at < scene.stale_before_of(subject))
    };
    let configured = scene.settings.components.iter().filter(|component| component.has_source);
    // One shard's fresh numbers do not stand for another's: each primary has slots of its own.
    let primaries =
        scene.world.topologies().flat_map(|topology| &topology.shards).flat_map(|shard| &shard.nodes);
    // What only tells of others is judged as a page, below.
    let configured = configured.map(|component| &component.subject);
    let mut configured = configured.filter(|component| !scene.world.tells_only_of_others(component));
    let blind = configured.any(is_stale)
        || primaries.filter(|node| node.primary).any(|node| is_stale(&node.subject))
        // A deployment's nodes are judged above; every other page speaks for an instance of its own.
        || targets()
            // A probe has a pace of its own, and is among the untold when it fails.
            .filter(|state| !matches!(state.source.kind(), Kind::Redis | Kind::Probe))
            .any(|state| state.last_data.is_none_or(|at| at < scene.now - state.stale_after(scene.settings)))
        || local().any(|state| match state.last_data {
            Some(at) => at < scene.now - state.stale_after(scene.settings),
            None => state.fault.is_some(),
        })
        // Their silence hides no component, but "every source gave fresh data" would be untrue.
        || !untold.is_empty();
    // Something is wrong and nothing shows whether anybody suffers: that is no all-clear.
    let unproven = !suspects.is_empty() && !sees_symptoms(scene);
    // Rules need three looks in a row: who looked for less has not looked.
    let looked = scene.evaluations >= LEAST_EVALUATIONS;
    if scene.silent_since.is_some() || blind || unproven || !looked {
        Conclusion::Blind
    } else {
        Conclusion::Clear
    }
}

/// Whether any source shows what callers see.
fn sees_symptoms(scene: &Scene<'_>) -> bool {
    scene.findings.iter().any(|finding| {
        let is_seen = !matches!(finding.state, crate::findings::State::Unknown(_));
        // A rule that exonerates nobody shows that somebody suffers, and not that nobody does.
        finding.rule.nature == Nature::Symptom && is_seen && (finding.rule.exonerates || finding.counts())
    })
}

/// Whether anybody shows how long callers wait: a count of errors alone does not show that nobody suffers.
fn sees_latency(scene: &Scene<'_>) -> bool {
    scene.findings.iter().any(|finding| {
        finding.rule.id == LATENCY_SHIFT && !matches!(finding.state, crate::findings::State::Unknown(_))
    })
}

/// Whether there is a source that should show what callers see, be it silent.
fn has_symptom_source(scene: &Scene<'_>) -> bool {
    let shows = |kind| matches!(kind, Kind::Service | Kind::Gateway | Kind::Client);
    // The page of an exporter is asked as if it were a service, and shows nobody's requests.
    let is_one = |component: &Subject| !scene.world.tells_only_of_others(component);
    scene.settings.has_declared_symptom_source()
        || scene.settings.symptom_sources().any(|component| is_one(&component.subject))
        || scene
            .world
            .sources()
            .any(|state| shows(state.source.kind()) && is_one(&state.source.component_of()))
}

fn unknown(scene: &Scene<'_>, verdicts: &[crate::report::SubjectVerdict]) -> Vec<Unjudged> {
    let subjects = verdicts
        .iter()
        .filter(|row| row.verdict == Verdict::Unknown)
        .map(|row| Unjudged { subject: row.subject.clone(), missing: row.reason.clone() });
    // Circumstances never decide a verdict, but a reader should know which of them nobody could look at.
    let circumstances = scene.findings.iter().filter_map(|finding| match &finding.state {
        crate::findings::State::Unknown(missing)
            if matches!(finding.rule.nature, Nature::Symptom | Nature::Circumstance)
                && finding.rule.exonerates
                && !missing.is_empty() =>
        {
            Some(Unjudged {
                subject: finding.subject.clone(),
                missing: format!("{}: {missing}", finding.rule.id),
            })
        }
        _ => None,
    });
    let mut unknown: Vec<Unjudged> = subjects.collect();
    for row in circumstances {
        if !unknown.iter().any(|known| known.subject == row.subject) {
            unknown.push(row);
        }
    }
    unknown
}
