//! A gateway takes instances out and in again, and each time the rest is washed away.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    Metric, PROCESS_START, UPSTREAM_EJECTED, UPSTREAM_HEALTHY, UPSTREAM_MEMBERS, UPSTREAM_READY, Unit,
};
use crate::quantity::times;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, Told, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "failover-storm",
    title: "instances are taken out and in again, and the rest carries their load",
    doc: "Within 5 minutes a gateway took instances out at least twice, and they came back at least twice, without \
          having been started anew. Busy is taken for broken: those that are left get the load of those that are out, \
          are late themselves, and are taken out next. Instances that were started in this time are a rollout and no \
          storm; where no start times are known, both stay possible. It makes worse what made the first instances late.",
    next: "let the gateway take out at most a fifth and never below two, softly (some traffic left) at 5 times the \
           usual mean and whole only after 3 failed checks or 50 % errors; then see what made the first one late",
    watches: Watches::Those {
        kinds: &[Kind::Gateway],
        which: "that tells which upstreams get requests",
        are: |scene, gateway| SIGNS.iter().any(|sign| scene.tells(gateway, sign.metric)),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "leavings",
            default: 2.0,
            unit: Unit::Count,
            help: "times that an instance is taken out, and times that one comes back: a single one may be sick",
        },
        Threshold { name: "window", default: 300.0, unit: Unit::Seconds, help: "how far back they count" },
    ],
    rivals: &[RivalRow {
        rule: "recent-change",
        told_by: "when the processes behind the gateway were started: a rolling deploy also takes one out after another",
    }],
    absorbs: &[],
    judge,
};

/// A metric that tells who gets requests.
struct Sign {
    metric: Metric,
    /// How many leave when it rises by one.
    leaving: f64,
}

/// What tells of leaving and coming back, the surest first: of each gateway the first that it has counts.
static SIGNS: &[Sign] = &[
    Sign { metric: UPSTREAM_EJECTED, leaving: 1.0 },
    Sign { metric: UPSTREAM_HEALTHY, leaving: -1.0 },
    Sign { metric: UPSTREAM_READY, leaving: -1.0 },
];

/// The comings and goings at one gateway.
#[derive(Default)]
struct Moves {
    left: f64,
    back: f64,
    most_out: f64,
    first: Option<Moment>,
    last: Option<Moment>,
}

fn judge(scene: &Scene<'_>, gateway: &Subject, limits: &Limits<'_>) -> Judgement {
    let from = scene.now - Duration::from_secs_f64(limits.of("window").clamp(1.0, 86_400.0));
    let Some((sign, told)) = signs(scene, gateway) else {
        return Judgement::Unknown(format!("nothing tells who gets requests: {}", scene.missing(gateway)));
    };
    // Each replica of the gateway sees the same instances go: the one that saw most counts.
    let mut observers: Vec<&Subject> = told.iter().map(|told| &told.by).collect();
    observers.dedup();
    let moves = observers
        .into_iter()
        .map(|by| moves(scene, sign, told.iter().filter(|told| told.by == *by), from))
        .max_by(|one, other| one.left.min(one.back).total_cmp(&other.left.min(other.back)))
        .unwrap_or_default();
    let shown =
        format!("{:.0} taken out and {:.0} back in {:.0} s", moves.left, moves.back, limits.of("window"));
    let (Some(first), Some(last)) = (moves.first, moves.last) else {
        return Judgement::Clear("nobody was taken out".to_owned());
    };
    if moves.left.min(moves.back) < limits.of("leavings") {
        return Judgement::Clear(shown);
    }
    let starts = starts(scene, gateway);
    let begun = starts.iter().filter(|start| **start >= from.0 as f64 / 1_000.0).count();
    if begun as f64 >= limits.of("leavings") {
        return Judgement::Clear(format!("{shown}: a rollout, {begun} instances were started anew"));
    }
    let members = members(scene, gateway, sign, &told);
    let each = members.filter(|all| *all > moves.most_out).map(|all| all / (all - moves.most_out));
    let load = each.map_or(String::new(), |each| {
        format!("; with {:.0} out the rest carries {} its share", moves.most_out, times(each))
    });
    let count = |name: &str, value: f64, limit: Option<f64>| {
        named_evidence(name.to_owned(), Unit::Count, Seen { value, at: last }, limit, None)
    };
    let limit = Some(limits.of("leavings"));
    let mut numbers = vec![
        count("instances taken out", moves.left, limit),
        count("instances back", moves.back, limit),
        count("instances out at once", moves.most_out, None),
    ];
    numbers.extend(members.map(|all| count(UPSTREAM_MEMBERS.name(), all, None)));
    let breach = Breach::new(
        format!("{shown}, limit {} each{load}", limits.of("leavings")),
        format!("{:.0} out and in again", moves.left.min(moves.back)),
        moves.left.min(moves.back) / limits.of("leavings"),
        numbers,
    )
    .dated(first);
    if starts.is_empty() {
        breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
    } else {
        breach.judged()
    }
}

/// The surest sign of which anything is fresh, with its series.
fn signs(scene: &Scene<'_>, gateway: &Subject) -> Option<(&'static Sign, Vec<Told>)> {
    SIGNS.iter().find_map(|sign| {
        let told = scene.told(gateway, sign.metric);
        let is_fresh = |told: &Told| scene.latest_part(&told.by, sign.metric, told.part.as_ref()).is_some();
        told.iter().any(is_fresh).then_some((sign, told))
    })
}

/// What went and came back, as one gateway saw it.
fn moves<'a>(scene: &Scene<'_>, sign: &Sign, told: impl Iterator<Item = &'a Told>, from: Moment) -> Moves {
    let mut steps: Vec<(Moment, f64)> = vec![];
    let mut out = 0.0;
    for told in told {
        let points = scene.points_since(told, sign.metric, from);
        // Who was out before the window is out at its beginning; of members that get requests nobody knows how many.
        out += points.first().filter(|_| sign.leaving > 0.0).map_or(0.0, |seen| seen.value);
        let moved = |pair: &[Seen]| (pair[1].at, (pair[1].value - pair[0].value) * sign.leaving);
        steps.extend(points.windows(2).map(moved).filter(|(_, gone)| *gone != 0.0));
    }
    steps.sort_by_key(|(at, _)| *at);
    let mut moves = Moves { most_out: out, ..Moves::default() };
    for (at, gone) in steps {
        out += gone;
        moves.left += gone.max(0.0);
        moves.back += (-gone).max(0.0);
        moves.most_out = moves.most_out.max(out);
        moves.first = moves.first.or(Some(at));
        moves.last = Some(at);
    }
    moves
}

/// When the processes behind a gateway were started, in seconds since the epoch.
fn starts(scene: &Scene<'_>, gateway: &Subject) -> Vec<f64> {
    let behind = scene.graph.callees(gateway).filter(|callee| callee.kind() == Kind::Service);
    let instances = behind.flat_map(|service| scene.world.parts(service));
    instances
        .filter_map(|(instance, _)| scene.latest(instance, PROCESS_START))
        .map(|seen| seen.value)
        .collect()
}

/// How many instances there are behind a gateway: as it says, else the parts that it tells apart.
fn members(scene: &Scene<'_>, gateway: &Subject, sign: &Sign, told: &[Told]) -> Option<f64> {
    let one = told.first().map(|told| &told.by)?;
    let said = scene.told(gateway, UPSTREAM_MEMBERS);
    let of_one = said.iter().filter(|said| said.by == *one);
    let sum: f64 = of_one
        .filter_map(|said| scene.latest_part(&said.by, UPSTREAM_MEMBERS, said.part.as_ref()))
        .map(|seen| seen.value)
        .sum();
    let apart = told.iter().filter(|told| told.by == *one).count() as f64;
    match sum {
        sum if sum > 0.0 => Some(sum),
        _ => (sign.metric != UPSTREAM_HEALTHY && apart > 1.0).then_some(apart),
    }
}
