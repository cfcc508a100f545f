//! Somebody changed a component shortly before callers began to suffer.

use std::time::Duration;

use super::{ANY_KIND, Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::Finding;
use crate::metric::Unit;
use crate::quantity::show;
use crate::reading::{Change, ChangeKind};
use crate::report::{Confidence, Role, Since};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::tellers;
use crate::time::Moment;

pub(crate) const ID: &str = "recent-change";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "it was changed shortly before callers began to suffer",
    doc: "A deploy, a change of settings, a flag or a commit touched this component within 24 h before callers of it, \
          or what it calls, began to suffer. Two things that follow each other need not be cause and effect: it raises \
          a suspect of low confidence and convicts nobody, and any rule that names a mechanism stands before it. \
          Changes are known only from the sources of [[changes]]; one that names no component accuses none.",
    next: "see what the change touched, and whether it can be taken back at little risk; a new version may only have \
           altered how a dependency is used, so look at the dependencies first",
    watches: Watches::Those {
        kinds: ANY_KIND,
        which: "while any source of changes is configured",
        are: |scene, _| are_told(scene),
    },
    nature: Nature::Circumstance,
    exonerates: false,
    role: Role::Trigger,
    // The symptom that it waits for has lasted already, and a change is no matter of chance.
    hold: 1,
    thresholds: &[Threshold {
        name: "window",
        default: 86_400.0,
        unit: Unit::Seconds,
        help: "how long before the onset a change still counts; slow leaks need hours to show",
    }],
    rivals: &[RivalRow {
        rule: "access-changed",
        told_by: "what each request reads, against its healthy value",
    }],
    absorbs: &[],
    judge,
};

/// Clocks differ, and an onset is dated by rules that look at windows: this long after it a change still counts as before.
pub(crate) const LATE: Duration = Duration::from_secs(30);

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    let untold = tellers::untold(scene.settings, scene.world.sources(), Kind::Change, scene.now);
    let untold = untold.first().map(|row| format!("{}: {}", row.subject, row.missing));
    let Some(onset) = onset(scene, component) else {
        return Judgement::Clear("nobody is seen to suffer whom a change of it could hurt".to_owned());
    };
    let window = limits.of("window");
    let near = |change: &&Change| {
        let before = onset.at.seconds_after(change.at);
        before <= window && change.at <= onset.at + LATE
    };
    let of_it = |change: &&Change| {
        change.component.as_ref().is_some_and(|touched| touched.component_of() == *component)
    };
    let all = || scene.world.changes().iter().filter(near);
    let Some(last) = all().rfind(of_it) else {
        let nameless = all().filter(|change| change.component.is_none()).count();
        let window = show(window, Unit::Seconds);
        let nobody_knows = match nameless {
            0 => String::new(),
            1 => "; 1 change of that time names no component".to_owned(),
            many => format!("; {many} changes of that time name no component"),
        };
        let text = format!("no change touched it in the {window} before callers suffered{nobody_knows}");
        return match untold {
            Some(untold) => Judgement::Unknown(format!("not every change is told: {untold}")),
            None => Judgement::Clear(text),
        };
    };
    let others = all().filter(of_it).count() - 1;
    let before = onset.at.seconds_after(last.at).max(0.0);
    let seen = Seen { value: before, at: last.at };
    Breach::new(
        sentence(last, onset, before, others),
        format!("{} {} before", last.kind.word(), show(before, Unit::Seconds)),
        // The nearer the more suspect, a minute or less most of all.
        (window / before.max(60.0)).max(1.0),
        vec![named_evidence("change before onset".to_owned(), Unit::Seconds, seen, Some(window), None)],
    )
    .at_most(Confidence::Low)
    .judged()
}

/// Whether any source should tell of changes, or does.
fn are_told(scene: &Scene<'_>) -> bool {
    let configured = scene.settings.tellers.iter().map(|teller| &teller.subject);
    configured
        .chain(scene.world.sources().map(|state| &state.source))
        .any(|source| source.kind() == Kind::Change)
}

/// When callers began to suffer whom a change of this component can hurt: those of whatever it is below, or above, of.
fn onset(scene: &Scene<'_>, component: &Subject) -> Option<Since> {
    let hurts = |finding: &&Finding| {
        let service = finding.subject.component_of();
        scene.graph.below(&service).contains_key(component)
            || scene.graph.above(&service).contains_key(component)
    };
    let symptoms = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.nature == Nature::Symptom && finding.counts())
        .filter(hurts);
    symptoms.map(|finding| finding.since).min_by_key(|since| (since.at, !since.before))
}

fn sentence(change: &Change, onset: Since, before: f64, others: usize) -> String {
    let when = match (onset.before, before < 1.0) {
        (true, _) => format!("{} before the first look, when callers suffered already", span(before)),
        (false, true) => "as callers began to suffer".to_owned(),
        (false, false) => format!("{} before callers began to suffer", span(before)),
    };
    let runs = if change.kind == ChangeKind::Commit { "; whether it runs is not known" } else { "" };
    let others = match others {
        0 => String::new(),
        1 => "; 1 more change of it in that time".to_owned(),
        many => format!("; {many} more changes of it in that time"),
    };
    format!(
        "{} '{}' at {}, {when}{runs}{others}",
        change.kind.word(),
        change.title,
        clock(change.at, onset.at)
    )
}

fn span(seconds: f64) -> String {
    // Tenths of a minute are more than a change's own date is worth.
    let rounded = if seconds < 120.0 { seconds.round() } else { (seconds / 60.0).round() * 60.0 };
    show(rounded, Unit::Seconds)
}

/// The time of day; the same one a day earlier is told apart.
fn clock(at: Moment, onset: Moment) -> String {
    let day = |moment: Moment| moment.0.div_euclid(86_400_000);
    let before = if day(at) == day(onset) { "" } else { " the day before" };
    format!("{} UTC{before}", at.clock())
}
