//! Features are older than they may be.

use super::consumer_lag::ID as CONSUMER_LAG;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::findings::State;
use crate::metric::{FEATURE_AGE, Unit};
use crate::quantity::show;
use crate::report::{BaselineFrom, Role};
use crate::scene::{Scene, Told, evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

pub(super) static RULE: Rule = Rule {
    id: "feature-stale",
    title: "features are older than they may be",
    doc: "The newest features that were written are older than 1.2 times the objective for their age. Answers come \
          as fast as ever and are made of what was true then. The objective is what 'alerts' names for \
          'pipeline.feature_age', else the declared or learned healthy age; without one nobody can say what is old.",
    next: "look at what feeds it: the consumer's lag, then checkpoints, then what writes the features",
    watches: Watches::Those {
        kinds: &[Kind::Pipeline, Kind::Service, Kind::Redis, Kind::Dependency],
        which: "that tells the age of features",
        are: |scene, component| scene.tells(component, FEATURE_AGE),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[Threshold {
        name: "multiple",
        default: 1.2,
        unit: Unit::Ratio,
        help: "multiple of the objective: a fifth more is a late run, and not yet a stopped one",
    }],
    rivals: &[RivalRow {
        rule: "consumer-lag",
        told_by: "lag of the group that feeds it: then what is written is old already when it comes",
    }],
    absorbs: &["declared-limit", "deviation"],
    judge,
};

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    let ages = scene.told(component, FEATURE_AGE).into_iter().filter_map(|told| {
        let seen = scene.latest_part(&told.by, FEATURE_AGE, told.part.as_ref())?;
        let objective = objective(scene, component, &told);
        Some((seen, told.name(), objective))
    });
    let past =
        |objective: Option<Baseline>, age: f64| objective.map_or(0.0, |known| age / known.typical.max(1e-9));
    let ages: Vec<_> = ages.collect();
    let worst =
        ages.iter().max_by(|one, other| past(one.2, one.0.value).total_cmp(&past(other.2, other.0.value)));
    let is_late = |(seen, _, objective): &&(Seen, String, Option<Baseline>)| {
        past(*objective, seen.value) > limits.of("multiple")
    };
    // Of which nobody can say how old they may be, those are not cleared by others that are fresh.
    let unbounded = || ages.iter().find(|(_, _, objective)| objective.is_none());
    let Some((seen, name, objective)) = worst.filter(is_late).or_else(unbounded).or(worst) else {
        return Judgement::Unknown(format!("no age of features: {}", scene.missing(component)));
    };
    let age = show(seen.value, Unit::Seconds);
    let Some(objective) = objective else {
        return Judgement::Unknown(format!(
            "{name} is {age} old, and no objective says how old it may be: name one in 'alerts' as \
             'pipeline.feature_age'"
        ));
    };
    let wanted = show(objective.typical, Unit::Seconds);
    let limit = objective.typical * limits.of("multiple");
    if seen.value <= limit {
        return Judgement::Clear(format!("{name} is {age} old, objective {wanted}"));
    }
    let breach = Breach::new(
        format!("{name} is {age} old, objective {wanted}, limit {}", show(limit, Unit::Seconds)),
        format!("features {age} old"),
        seen.value / limit,
        vec![evidence(FEATURE_AGE, *seen, Some(limit), Some(*objective))],
    );
    let below = scene.graph.below(component);
    let mut groups = below.keys().filter(|callee| callee.kind() == Kind::Kafka);
    let is_behind = |group: &Subject| {
        let finding = scene.findings.get(CONSUMER_LAG, group);
        !finding.is_some_and(|finding| matches!(finding.state, State::Clear(_)))
    };
    if groups.any(is_behind) {
        return breach.with_rival(&RULE.rivals[0]).judged();
    }
    breach.judged()
}

/// How old the features may be.
fn objective(scene: &Scene<'_>, component: &Subject, told: &Told) -> Option<Baseline> {
    let declared = scene.settings.component(component);
    let alert = declared.and_then(|declared| declared.alerts.get(FEATURE_AGE.name()));
    let lasting = |known: &Baseline| {
        matches!(known.from, BaselineFrom::Declared | BaselineFrom::History | BaselineFrom::Disk)
    };
    alert
        .map(|age| Baseline::new(*age, BaselineFrom::Declared))
        .or_else(|| scene.baseline(&told.by, FEATURE_AGE, told.part.as_ref()).filter(lasting))
        .filter(|known| known.typical > 0.0)
}
