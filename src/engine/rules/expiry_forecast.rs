//! Many keys of a shard will expire in one second.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{REDIS_KEYS_VOLATILE, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "expiry-forecast",
    title: "many keys of a shard will expire in one second",
    doc: "Of the keys that a scan sampled and that expire at all, more than 5 % do so in one second that is still to \
          come. It is a warning of a herd (see expiry-herd) with its time, and convicts nobody: what has not happened \
          yet is no cause. It needs a sample of at least 200 such keys, not older than 15 minutes.",
    next: "before that second, write the keys anew with lifetimes that have 10 % of chance in them, or warm the cache \
           from one place",
    watches: Watches::Shards,
    nature: Nature::Circumstance,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "share",
            default: 0.05,
            unit: Unit::Ratio,
            help: "share of the expiring keys in one second; lifetimes of an hour with chance have 0.1 %",
        },
        Threshold {
            name: "sample",
            default: 200.0,
            unit: Unit::Count,
            help: "sampled keys that expire below which a share is chance",
        },
    ],
    rivals: &[RivalRow { rule: "expiry-herd", told_by: "whether the second has come" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let scan = scene.world.keyspace().scan(shard, scene.now);
    let Some(expiries) = scan.and_then(|scan| scan.expiries.as_ref()) else {
        return Judgement::Unknown("nobody sampled when its keys expire".to_owned());
    };
    let volatile = expiries.volatile();
    if (volatile as f64) < limits.of("sample") {
        return Judgement::Unknown(format!("only {volatile} of the sampled keys expire: too few to tell"));
    }
    let to_come = expiries.seconds.iter().filter(|second| second.at > scene.now);
    let Some(herd) = to_come.max_by_key(|second| (second.keys, std::cmp::Reverse(second.at))) else {
        return Judgement::Clear("no sampled second of expiry is still to come".to_owned());
    };
    let share = herd.keys as f64 / volatile as f64;
    let shown = show(share, Unit::Ratio);
    if share <= limits.of("share") {
        return Judgement::Clear(format!("no second holds more than {shown} of the keys that expire"));
    }
    let all = scene.primary(shard).and_then(|primary| scene.latest(primary, REDIS_KEYS_VOLATILE));
    let about = all
        .map_or(String::new(), |all| format!(", about {}", show((all.value * share).round(), Unit::Count)));
    let left = herd.at.seconds_after(scene.now);
    let seen = Seen { value: share, at: expiries.at };
    Breach::new(
        format!(
            "{shown} of the keys that expire{about} will do so at {} UTC, in {}",
            herd.at.clock(),
            show(left.round(), Unit::Seconds)
        ),
        format!("#{} herd at {}", shard.shard_index().unwrap_or(0), herd.at.clock()),
        share / limits.of("share"),
        vec![named_evidence(
            "share of expiring keys in one second".to_owned(),
            Unit::Ratio,
            seen,
            Some(limits.of("share")),
            None,
        )],
    )
    .certain()
    .at_most(Confidence::Low)
    .judged()
}
