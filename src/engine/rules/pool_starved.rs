//! Callers wait for a connection of their own pool while the data store idles.

mod idle;
mod pools;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{DB_TIMEOUTS, POOL_MAX, POOL_PENDING, POOL_TIMEOUTS, POOL_USED, POOL_WAIT, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use idle::{Stores, flat_connections, of_stores};
use pools::{Pool, fullest, operations_at_once, timed_out};

/// The id of the rule, which others ask for by name: a caller's own waiting looks like the slowness of what it calls.
pub(crate) const ID: &str = "pool-starved";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "callers wait for a connection of their own pool while the data store idles",
    doc: "Somebody waits for a connection of a service's pool, or gave up waiting, or the 99th percentile of the wait \
          is at least 50 ms, while at least 95 % of the pool is in use; and every shard of the Redis below it is \
          idle in all three senses: its thread, its bytes against the link, and its time to answer. Where one is not, \
          the pool is its victim, and the rule is clear; only where one answers late, and fewer operations run at once \
          than half of the connections in use, the others are held for something else, and the pool is accused, at \
          medium at most. Where one was not seen, both stay: medium at most. Without \
          numbers of the pool, operations that time out while the connections of an idle Redis stand still make a \
          suspect only. Operations that run at once, on average, tell a pool that is too small from one whose \
          connections are held by code that does not use them; beside another pool they tell nothing, as nobody says \
          which of the two they run on. A pool's size is its service's setting, so the service is accused and not the \
          store.",
    next: "bound the wait for a connection below the objective, then size the pool for operations a second times their \
           time, and see that connections are given back before slow work begins",
    watches: Watches::Those {
        kinds: &[Kind::Service],
        which: "that tells of its connection pool or of operations that it gave up",
        are: |scene, service| tells(scene, service),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "waiting",
            default: 1.0,
            unit: Unit::Count,
            help: "requests that wait for a connection, on the mean of three intervals",
        },
        Threshold {
            name: "used",
            default: 0.95,
            unit: Unit::Ratio,
            help: "share of the pool in use below which whoever waits does not wait for want of connections",
        },
        Threshold {
            name: "wait",
            default: 0.05,
            unit: Unit::Seconds,
            help: "99th percentile of the wait for a connection; a free one is had in microseconds",
        },
        Threshold {
            name: "thread",
            default: 0.7,
            unit: Unit::Ratio,
            help: "share of a shard's thread from which it is not idle, as in shard-hot",
        },
        Threshold {
            name: "answer",
            default: 0.05,
            unit: Unit::Seconds,
            help: "time to answer from which a shard is not idle, however slow its peers are",
        },
        Threshold {
            name: "rise",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of a shard's own usual time to answer from which it is not idle, though all answer alike",
        },
        Threshold {
            name: "rise_floor",
            default: 0.005,
            unit: Unit::Seconds,
            help: "time to answer below which no rise keeps a connection busy",
        },
    ],
    rivals: &[
        RivalRow {
            rule: "shard-bandwidth",
            told_by: "the bytes and times to answer of every shard, and its link: idle shards leave the pool alone",
        },
        RivalRow {
            rule: "network-path",
            told_by: "time to answer from the service's own host: an idle Redis may be far away from it",
        },
    ],
    absorbs: &["self-slow", "deviation", "network-path"],
    judge,
};

/// Names that a service may tell of its pool.
const TELLING: &[crate::metric::Metric] =
    &[POOL_PENDING, POOL_USED, POOL_MAX, POOL_TIMEOUTS, POOL_WAIT, DB_TIMEOUTS];

fn tells(scene: &Scene<'_>, service: &Subject) -> bool {
    scene.world.parts(service).any(|(instance, _)| {
        scene.store.names(instance).any(
            |(name, _)| matches!(name, crate::metric::MetricName::Known(metric) if TELLING.contains(metric)),
        )
    })
}

fn judge(scene: &Scene<'_>, service: &Subject, limits: &Limits<'_>) -> Judgement {
    let gave_up = timed_out(scene, service);
    let Some(pool) = fullest(scene, service, limits, gave_up.is_some()) else {
        return match gave_up {
            _ if scene.world.last_data(service).is_none_or(|at| at < scene.stale_before_of(service)) => {
                Judgement::Unknown(scene.missing(service))
            }
            Some(gave_up) => without_pool(scene, service, limits, gave_up),
            None => Judgement::Clear("no operation of its data stores was given up lately".to_owned()),
        };
    };
    let at_once = pool.is_only.then(|| operations_at_once(scene, service)).flatten();
    if !pool.starves(limits, gave_up.is_some()) {
        return Judgement::Clear(pool.calm(at_once));
    }
    let idle = of_stores(scene, service, limits);
    let is_held = pool.is_held(at_once) == Some(true);
    match &idle {
        // Connections on which no operation runs are not held by a store that answers late.
        Stores::Slow(_) if is_held => {}
        Stores::Busy(why) | Stores::Slow(why) => {
            return Judgement::Clear(format!("{}; but {why}: the pool is its victim", pool.trouble()));
        }
        Stores::Idle(_) | Stores::Unseen(_) => {}
    }
    starved(scene, service, (&pool, at_once), &idle, gave_up)
}

fn starved(
    scene: &Scene<'_>,
    service: &Subject,
    (pool, at_once): (&Pool, Option<f64>),
    idle: &Stores,
    gave_up: Option<Seen>,
) -> Judgement {
    let gave = gave_up.map_or(String::new(), |seen| {
        format!("; {} operations are given up", show(seen.value, Unit::PerSecond))
    });
    let stores = match idle {
        Stores::Idle(how) => format!("while {how}"),
        Stores::Unseen(missing) => format!("and whether what it calls is idle is not known: {missing}"),
        Stores::Slow(why) => format!("and though {why}, that is not what takes its connections"),
        Stores::Busy(why) => why.clone(),
    };
    let why = pool.why(at_once);
    let objective = scene.declared_objective(service);
    let unbounded = match (pool.wait, objective) {
        (Some(wait), Some(objective)) if wait.value >= objective => {
            format!("; it waits longer than its callers want to ({})", show(objective, Unit::Seconds))
        }
        _ => String::new(),
    };
    let mut numbers = pool.numbers();
    numbers.extend(gave_up.map(|seen| evidence(DB_TIMEOUTS, seen, Some(0.0), None)));
    numbers.extend(flat_connections(scene, service).map(|(_, seen)| of_clients(seen)));
    let breach = Breach::new(
        format!("{}, {stores}{why}{unbounded}{gave}", pool.trouble()),
        format!("{} waits for its pool", service.name()),
        pool.severity(),
        numbers,
    );
    let breach = match pool.gave_up {
        Some(rise) => breach.begun(rise.began),
        None => breach,
    };
    match idle {
        Stores::Idle(_) => breach.judged(),
        _ => breach
            .with_rival(&RULE.rivals[0])
            .with_rival(&RULE.rivals[1])
            .at_most(Confidence::Medium)
            .judged(),
    }
}

/// Operations are given up and nothing shows the pool: what the store's own count of connections says of it.
fn without_pool(scene: &Scene<'_>, service: &Subject, limits: &Limits<'_>, gave_up: Seen) -> Judgement {
    let said = format!("{} operations are given up", show(gave_up.value, Unit::PerSecond));
    match of_stores(scene, service, limits) {
        Stores::Busy(why) | Stores::Slow(why) => Judgement::Clear(format!("{said}; but {why}: they are its victims")),
        Stores::Unseen(missing) => Judgement::Unknown(format!("{said}; neither its pool nor its store is seen: {missing}")),
        Stores::Idle(how) => match flat_connections(scene, service) {
            None => Judgement::Unknown(format!("{said} while {how}, and nothing shows its pool")),
            Some((store, seen)) => Breach::new(
                format!(
                    "{said} while {how}, and the connections of {store} stand still at {}: they may wait in its pool, \
                     which tells nothing",
                    show(seen.value, Unit::Count)
                ),
                format!("{} gives up while its store idles", service.name()),
                1.0,
                vec![evidence(DB_TIMEOUTS, gave_up, Some(0.0), None), of_clients(seen)],
            )
            .with_rival(&RULE.rivals[1])
            .at_most(Confidence::Low)
            .judged(),
        },
    }
}

fn of_clients(seen: Seen) -> Evidence {
    named_evidence("connections of the store, standing still".to_owned(), Unit::Count, seen, None, None)
}
