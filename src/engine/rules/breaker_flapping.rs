//! A circuit breaker opens again and again.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{BREAKER_OPEN, BREAKER_REFUSED, Unit};
use crate::quantity::counted;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, Told, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "breaker-flapping",
    title: "a circuit breaker opens again and again",
    doc: "A circuit breaker opened at least 3 times within 5 minutes. Each time it lets callers through, they meet \
          what made it open, and each time it opens, those behind it get errors at once: callers see failures in \
          waves, and what it protects never has a quiet minute. It makes worse what is behind it, and is worth the \
          middle at most. An opening that lies between two readings is not seen.",
    next: "look at what the breaker guards, then let it stay open longer and try with few requests: 50 % errors of at \
           least 20 calls, 30 s open, 3 trials",
    watches: Watches::Those {
        kinds: &[Kind::Client, Kind::Gateway, Kind::Service],
        which: "that tells of circuit breakers",
        are: |scene, component| scene.tells(component, BREAKER_OPEN),
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Amplifier,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "openings",
            default: 3.0,
            unit: Unit::Count,
            help: "openings of one breaker within the window: two may be one fault that was tried once",
        },
        Threshold {
            name: "window",
            default: 300.0,
            unit: Unit::Seconds,
            help: "how far back openings count",
        },
    ],
    rivals: &[RivalRow {
        rule: "slow-instance",
        told_by: "errors and latency of each instance behind it: one sick instance trips a breaker for all",
    }],
    absorbs: &[],
    judge,
};

/// The openings of one breaker.
struct Openings {
    of: Told,
    count: f64,
    first: Moment,
    last: Moment,
}

fn judge(scene: &Scene<'_>, owner: &Subject, limits: &Limits<'_>) -> Judgement {
    let breakers = scene.told(owner, BREAKER_OPEN);
    let is_fresh = |told: &&Told| scene.latest_part(&told.by, BREAKER_OPEN, told.part.as_ref()).is_some();
    if !breakers.iter().any(|told| is_fresh(&told)) {
        return Judgement::Unknown(format!("no state of its breakers: {}", scene.missing(owner)));
    }
    let from = scene.now - Duration::from_secs_f64(limits.of("window").clamp(1.0, 86_400.0));
    let opened = breakers.iter().filter_map(|told| openings(scene, told, from));
    let worst = opened.max_by(|one, other| one.count.total_cmp(&other.count));
    let Some(worst) = worst else {
        return Judgement::Clear("none of its breakers opened".to_owned());
    };
    let name = worst.of.name();
    if worst.count < limits.of("openings") {
        return Judgement::Clear(format!("breaker {name} opened {}", counted(worst.count as u64, "time")));
    }
    let mut numbers = vec![named_evidence(
        "openings of the breaker".to_owned(),
        Unit::Count,
        Seen { value: worst.count, at: worst.last },
        Some(limits.of("openings")),
        None,
    )];
    let refused = scene.present_part(&worst.of.by, BREAKER_REFUSED, worst.of.part.as_ref());
    numbers.extend(refused.map(|seen| evidence(BREAKER_REFUSED, seen, None, None)));
    Breach::new(
        format!(
            "breaker {name} opened {} times in {:.0} s, limit {}",
            worst.count,
            limits.of("window"),
            limits.of("openings")
        ),
        format!("breaker {name} flaps"),
        worst.count / limits.of("openings"),
        numbers,
    )
    .at_most(Confidence::Medium)
    .with_rival(&RULE.rivals[0])
    .dated(worst.first)
    .judged()
}

/// How often a breaker went from letting anything through to letting nothing through.
fn openings(scene: &Scene<'_>, told: &Told, from: Moment) -> Option<Openings> {
    let points = scene.points_since(told, BREAKER_OPEN, from);
    let opened: Vec<Moment> = points
        .windows(2)
        .filter(|pair| pair[0].value < 1.0 && pair[1].value >= 1.0)
        .map(|pair| pair[1].at)
        .collect();
    let (first, last) = (*opened.first()?, *opened.last()?);
    Some(Openings { of: told.clone(), count: opened.len() as f64, first, last })
}
