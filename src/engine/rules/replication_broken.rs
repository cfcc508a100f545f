//! A replica does not follow its primary.

use std::time::Duration;

use super::rising::{errors, rise};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    REDIS_FULL_SYNCS, REDIS_MISSES, REDIS_REPLICA_BEHIND, REDIS_REPLICA_LAG, REDIS_REPLICAS,
    REDIS_REPLICATION_DOWN, REDIS_REPLICATION_LAG, REDIS_REPLICATION_UP, REDIS_SYNCING, Unit,
};
use crate::quantity::{counted, show};
use crate::reading::NodeHealth;
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "replication-broken",
    title: "a replica does not follow its primary",
    doc: "A replica says that its link to the primary is down, or it or its primary counts more than 10 s since they \
          heard each other, or the primary has fewer replicas than the deployment has or than it had a quarter of an \
          hour ago, or whole copies are sent again and again (three in ten minutes, and more than there are \
          replicas). Reads from such a replica are old, or fail with MASTERDOWN where it may not serve stale data: \
          those replies convict. Repeated copies load the primary and its link and are worth the middle. \
          Otherwise it makes nobody slow, but there is nobody to take over: a suspect at most.",
    next: "read the replica's log for why the link broke; where copies repeat, give the primary a larger backlog and \
           its replicas a larger output buffer",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "lag",
            default: 10.0,
            unit: Unit::Seconds,
            help: "seconds without a word from the other side; an idle primary speaks every 10 s by default",
        },
        Threshold {
            name: "syncs",
            default: 3.0,
            unit: Unit::Count,
            help: "whole copies in ten minutes: one is how a replica begins",
        },
    ],
    rivals: &[RivalRow {
        rule: "network-path",
        told_by: "whether both answer from here as ever: then only the way between the two may be broken",
    }],
    absorbs: &[],
    judge,
};

/// The span in which whole copies are counted, and the one in which a replica that is gone was there.
const SYNCS_IN: Duration = Duration::from_secs(600);
const LOST_IN: Duration = Duration::from_secs(900);

/// Look-ups a second above which somebody reads from a replica: our own are fewer.
const READ: f64 = 1.0;

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(place) = scene.world.shard(shard) else {
        return Judgement::Unknown("no such shard any more".to_owned());
    };
    let replicas: Vec<&Subject> =
        place.nodes.iter().filter(|node| !node.primary).map(|node| &node.subject).collect();
    let primary = scene.primary(shard);
    let broken = replicas.iter().find_map(|replica| link_down(scene, shard, replica));
    let late = || {
        let own = replicas.iter().find_map(|replica| lags(scene, shard, replica, limits));
        own.or_else(|| primary.and_then(|primary| lags_by_primary(scene, shard, primary, limits)))
    };
    let copied = || primary.and_then(|primary| copies(scene, shard, primary, limits));
    let lost = || primary.and_then(|primary| lost(scene, shard, primary));
    if let Some(breach) = broken.or_else(late).or_else(copied).or_else(lost) {
        return breach.judged();
    }
    let connected = primary.and_then(|primary| scene.latest(primary, REDIS_REPLICAS));
    let links =
        replicas.iter().filter(|replica| scene.latest(replica, REDIS_REPLICATION_UP).is_some()).count();
    match connected {
        Some(seen) if seen.value <= 0.0 && replicas.is_empty() => {
            Judgement::Clear("it has no replica".to_owned())
        }
        Some(seen) => {
            let follow = if seen.value == 1.0 { "follows" } else { "follow" };
            Judgement::Clear(format!("{} of its replicas {follow}", show(seen.value, Unit::Count)))
        }
        None if links > 0 && links == replicas.len() => {
            let follow = if links == 1 { "follows" } else { "follow" };
            Judgement::Clear(format!("{} {follow}", counted(links as u64, "replica")))
        }
        None if primary.is_some_and(|primary| scene.latest(primary, REDIS_REPLICATION_UP).is_some()) => {
            Judgement::Clear("it follows a primary that is not watched".to_owned())
        }
        None => Judgement::Unknown(scene.missing(shard)),
    }
}

fn link_down(scene: &Scene<'_>, shard: &Subject, replica: &Subject) -> Option<Breach> {
    let link = scene.latest(replica, REDIS_REPLICATION_UP).filter(|seen| seen.value < 0.5)?;
    let down = scene.latest(replica, REDIS_REPLICATION_DOWN);
    let lasted = down.map_or(String::new(), |seen| format!(" for {}", show(seen.value, Unit::Seconds)));
    let syncs = scene.latest(replica, REDIS_SYNCING).is_some_and(|seen| seen.value > 0.0);
    let copying = if syncs { "; it is copying the whole data" } else { "" };
    let mut numbers = vec![evidence(REDIS_REPLICATION_UP, link, Some(1.0), None)];
    numbers.extend(down.map(|seen| evidence(REDIS_REPLICATION_DOWN, seen, None, None)));
    let short = format!("#{} replica without primary", shard.shard_index().unwrap_or(0));
    let said = format!("replica {} has had no link to its primary{lasted}{copying}", address(replica));
    let breach = of_replica(scene, replica, said, short, numbers);
    Some(match down {
        Some(down) if breach.dated.is_none() => {
            breach.dated(Moment(link.at.0 - (down.value * 1_000.0) as i64))
        }
        _ => breach,
    })
}

fn lags(scene: &Scene<'_>, shard: &Subject, replica: &Subject, limits: &Limits<'_>) -> Option<Breach> {
    let lag = scene.latest(replica, REDIS_REPLICATION_LAG).filter(|lag| lag.value > limits.of("lag"))?;
    let shown = show(lag.value, Unit::Seconds);
    Some(of_replica(
        scene,
        replica,
        format!("replica {} has not heard its primary for {shown}", address(replica)),
        format!("#{} replica {shown} behind", shard.shard_index().unwrap_or(0)),
        vec![evidence(REDIS_REPLICATION_LAG, lag, Some(limits.of("lag")), None)],
    ))
}

/// A replica that its primary has not heard, which may be one that is not watched.
fn lags_by_primary(
    scene: &Scene<'_>,
    shard: &Subject,
    primary: &Subject,
    limits: &Limits<'_>,
) -> Option<Breach> {
    let parts = scene.store.parts(primary, REDIS_REPLICA_LAG).into_iter().flatten();
    let fresh = parts.filter_map(|part| {
        let points = scene.store.points(primary, REDIS_REPLICA_LAG, Some(&part))?;
        let seen = points.latest().filter(|seen| seen.at >= scene.fresh_from(primary, REDIS_REPLICA_LAG))?;
        Some((part, seen))
    });
    let worst = fresh.filter(|(_, seen)| seen.value > limits.of("lag"));
    let (replica, lag): (RemoteText, Seen) =
        worst.max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))?;
    let shown = show(lag.value, Unit::Seconds);
    let behind = scene.present_part(primary, REDIS_REPLICA_BEHIND, Some(&replica));
    let bytes = behind.map_or(String::new(), |seen| format!(", {} behind", show(seen.value, Unit::Bytes)));
    let numbers = vec![evidence(REDIS_REPLICA_LAG, lag, Some(limits.of("lag")), None)];
    let said = format!("primary {} has not heard its replica {replica} for {shown}{bytes}", address(primary));
    let short = format!("#{} replica {shown} behind", shard.shard_index().unwrap_or(0));
    let known =
        scene.world.shard(shard)?.nodes.iter().find(|node| node.subject.address() == Some(replica.as_str()));
    Some(match known {
        Some(node) => of_replica(scene, &node.subject, said, short, numbers),
        None => Breach::new(said, short, lag.value / limits.of("lag"), numbers).at_most(Confidence::Low),
    })
}

/// What a replica that does not follow means for who reads from it.
fn of_replica(
    scene: &Scene<'_>,
    replica: &Subject,
    said: String,
    short: String,
    mut numbers: Vec<Evidence>,
) -> Breach {
    if let Some(refused) = errors(scene, replica, "MASTERDOWN") {
        numbers.push(named_evidence(
            "redis.errors MASTERDOWN".to_owned(),
            Unit::PerSecond,
            refused.rate,
            Some(0.0),
            None,
        ));
        let count = show(refused.gained.max(1.0).round(), Unit::Count);
        let said = format!("{said}; {count} reads failed with MASTERDOWN lately");
        // Reads fail since they do; that the link was down before hurt nobody.
        return Breach::new(said, short, 5.0, numbers).begun(refused.began);
    }
    // Our own scans prefer replicas: they are no readers.
    let reads: Option<f64> = [scene.hits(replica), scene.present(replica, REDIS_MISSES)]
        .into_iter()
        .flatten()
        .map(|seen| seen.value)
        .reduce(|sum, one| sum + one);
    let meaning = match reads {
        Some(reads) if reads > READ => {
            format!("; it answers {} reads with data as old as that", show(reads, Unit::PerSecond))
        }
        Some(_) => "; nobody reads from it, but it could not take over without loss".to_owned(),
        None => String::new(),
    };
    let breach = Breach::new(format!("{said}{meaning}"), short, 2.0, numbers);
    breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Low)
}

/// Whole copies that are sent again and again.
fn copies(scene: &Scene<'_>, shard: &Subject, primary: &Subject, limits: &Limits<'_>) -> Option<Breach> {
    let rise = rise(scene, primary, (REDIS_FULL_SYNCS, None), SYNCS_IN)?;
    let replicas = scene.latest(primary, REDIS_REPLICAS).map_or(0.0, |seen| seen.value);
    let count = rise.gained.round();
    if count < limits.of("syncs") || count <= replicas {
        return None;
    }
    let shown = counted(count as u64, "time");
    let numbers = vec![named_evidence(
        "whole copies to replicas in 10 min".to_owned(),
        Unit::Count,
        Seen { value: count, at: rise.rate.at },
        Some(limits.of("syncs")),
        None,
    )];
    let breach = Breach::new(
        format!(
            "primary {} sent the whole data to replicas {shown} in 10 min, for {} that follow: each copy costs a \
             fork and its link",
            address(primary),
            show(replicas, Unit::Count)
        ),
        format!("#{} copied {shown}", shard.shard_index().unwrap_or(0)),
        count / limits.of("syncs"),
        numbers,
    );
    Some(breach.begun(rise.began).at_most(Confidence::Medium))
}

/// A primary that has fewer replicas than the deployment has, or than it had.
fn lost(scene: &Scene<'_>, shard: &Subject, primary: &Subject) -> Option<Breach> {
    let now = scene.latest(primary, REDIS_REPLICAS)?;
    let follows =
        |node: &Subject| scene.latest(node, REDIS_REPLICATION_UP).is_some_and(|seen| seen.value > 0.5);
    let nodes = &scene.world.shard(shard)?.nodes;
    let others = || nodes.iter().filter(|node| !node.primary && node.health != NodeHealth::Failed);
    let listed = others().count() as f64;
    let had = scene.store.points(primary, REDIS_REPLICAS, None)?;
    let had = had.since(scene.now - LOST_IN).map(|seen| seen.value).fold(0.0, f64::max);
    let missing: Vec<&str> = others()
        .filter(|node| !follows(&node.subject))
        .filter_map(|node| node.subject.address())
        .take(3)
        .collect();
    let is_short = now.value < listed && !missing.is_empty();
    if !is_short && now.value >= had {
        return None;
    }
    let of = had.max(if is_short { listed } else { 0.0 });
    let which = match missing.is_empty() {
        true => String::new(),
        false => format!(", without {}", missing.join(", ")),
    };
    let breach = Breach::new(
        format!(
            "primary {} has {} of {}{which}: there is less to take over",
            address(primary),
            show(now.value, Unit::Count),
            counted(of as u64, "replica")
        ),
        format!("#{} lost a replica", shard.shard_index().unwrap_or(0)),
        1.0,
        vec![evidence(REDIS_REPLICAS, now, Some(of), None)],
    );
    Some(breach.at_most(Confidence::Low))
}

fn address(node: &Subject) -> &str {
    node.address().unwrap_or("of this shard")
}
