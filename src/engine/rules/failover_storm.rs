//! A gateway takes instances out and in again, and each time the rest is washed away.

mod moves;

use std::time::Duration;

use self::moves::Moves;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{UPSTREAM_MEMBERS, UPSTREAM_PANIC, Unit};
use crate::quantity::{counted, times};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, for those that ask whether instances are being moved.
pub(super) const ID: &str = "failover-storm";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "instances are taken out and in again, and the rest carries their load",
    doc: "Within 5 minutes a gateway took instances out and let them in again at least twice, at least two of them where it \
          tells them apart, without their having been started anew. Busy is taken for broken: those that are left get \
          the load of those that are out, are late themselves, and are taken out next. Told by how many are out or get \
          requests, by readiness checks, by how often one was taken out, or by who is asked nothing; a pool that only \
          counts who was taken out does not tell who came back, and the answer is Unknown. Where requests are counted for \
          each instance, their load must have moved to the rest. Instances that were started in this time are a \
          rollout, or crash again and again, and are no storm; where it is not known when they were started, both stay \
          possible. It makes worse what made the first instances late, and may go on when that is over. While it lasts no \
          instance has its equal share, so who is slow and what waits in the queues behind it is its doing; whoever was \
          taken out first is named, and is where to look for what began it.",
    next: "let the gateway take out at most a fifth and never below two, softly (some traffic left) at 5 times the \
           usual mean and whole only after 3 failed checks or 50 % errors; then see what made those late that went first",
    watches: Watches::Those {
        kinds: &[Kind::Gateway],
        which: "that tells which upstreams get requests",
        are: moves::tells,
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
        Threshold {
            name: "moved",
            default: 1.1,
            unit: Unit::Ratio,
            help: "multiple of an equal share that those who are in must carry while others are out, where it is counted",
        },
        Threshold { name: "window", default: 300.0, unit: Unit::Seconds, help: "how far back they count" },
    ],
    rivals: &[RivalRow {
        rule: "recent-change",
        told_by: "when the processes behind the gateway were started: a rolling deploy also takes one out after another",
    }],
    absorbs: &["queue-not-compute", "compute-bound", "no-backpressure", "slow-instance", "retry-storm"],
    judge,
};

fn judge(scene: &Scene<'_>, gateway: &Subject, limits: &Limits<'_>) -> Judgement {
    let window = limits.of("window").clamp(1.0, 86_400.0);
    let Ok(moves) = moves::moves(scene, gateway, scene.now - Duration::from_secs_f64(window)) else {
        return Judgement::Unknown(format!("nothing tells who gets requests: {}", scene.missing(gateway)));
    };
    let Some(moves) = moves else {
        return Judgement::Clear("nobody was taken out".to_owned());
    };
    let least = limits.of("leavings");
    let Some(back) = moves.back else {
        let shown = format!("{:.0} taken out in {window:.0} s", moves.left);
        return match moves.left < least {
            true => Judgement::Clear(shown),
            false => {
                Judgement::Unknown(format!("{shown}, and nothing tells whether and when they came back"))
            }
        };
    };
    let shown = format!("{:.0} taken out and {back:.0} back in {window:.0} s", moves.left);
    if moves.trips < least {
        let is_told = moves.started > 0 && moves.left >= least;
        return Judgement::Clear(if is_told { shown + &started(&moves) } else { shown });
    }
    if moves.travellers.is_some_and(|travellers| travellers < least) {
        return Judgement::Clear(format!("{shown}, always the same one: it may be sick"));
    }
    if let Some(load) = moves.load.filter(|load| *load < limits.of("moved")) {
        return Judgement::Clear(format!(
            "{shown}, and their load stayed with them: the rest carries {} its share",
            times(load)
        ));
    }
    let out = moves.most_out.filter(|out| *out > 0.0);
    let reckoned = || {
        let (all, out) = (moves.members?, out?);
        (all > out).then(|| (format!("with {out:.0} out the rest carries"), all / (all - out)))
    };
    let carried = moves.load.map(|load| ("the rest carries".to_owned(), load)).or_else(reckoned);
    let load = carried.map_or(String::new(), |(who, load)| format!("; {who} {} its share", times(load)));
    let first = match moves.first_out.is_empty() {
        true => String::new(),
        false => format!("; first went {}", moves.first_out.join(", ")),
    };
    let panic = scene.total_of_parts(gateway, UPSTREAM_PANIC).filter(|panic| panic.value > 0.0);
    let panics = if panic.is_some() { "; so few are left that the gateway asks sick ones too" } else { "" };
    let named = |name: &str, value: f64, limit: Option<f64>, unit: Unit| {
        named_evidence(name.to_owned(), unit, Seen { value, at: moves.last }, limit, None)
    };
    let count = |name: &str, value: f64, limit: Option<f64>| named(name, value, limit, Unit::Count);
    let mut numbers = vec![
        count("instances taken out", moves.left, Some(least)),
        count("instances back", back, Some(least)),
    ];
    numbers.extend(out.map(|out| count("instances out at once", out, None)));
    numbers.extend(moves.members.map(|all| count(UPSTREAM_MEMBERS.name(), all, None)));
    numbers.extend(
        moves
            .load
            .map(|load| named("load of those that are in", load, Some(limits.of("moved")), Unit::Ratio)),
    );
    numbers.extend(panic.map(|panic| evidence(UPSTREAM_PANIC, panic, None, None)));
    let breach = Breach::new(
        format!("{shown}, limit {least} each{load}{panics}{first}"),
        format!("taken out and put back {:.0} times", moves.trips),
        moves.trips / least,
        numbers,
    )
    .flooding(behind(scene, gateway))
    .dated(moves.first);
    if moves.knows_starts {
        breach.judged()
    } else {
        breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged()
    }
}

/// Why who leaves and comes back is no storm.
fn started(moves: &Moves) -> String {
    let instances = counted(moves.started as u64, "instance");
    match moves.started {
        _ if moves.starts > moves.started => {
            format!(
                ": {} starts of {instances}: they end and are started again, which is no failover",
                moves.starts
            )
        }
        1 => format!(": a rollout, {instances} was started anew"),
        _ => format!(": a rollout, {instances} were started anew"),
    }
}

/// The services that a gateway calls and their queues: what moves between instances makes those slow that get it, and waits
/// there.
fn behind(scene: &Scene<'_>, gateway: &Subject) -> Vec<Subject> {
    let services = scene.graph.callees(gateway).filter(|callee| callee.kind() == Kind::Service);
    services.flat_map(|service| [service.clone(), Subject::component(Kind::Queue, service.name())]).collect()
}
