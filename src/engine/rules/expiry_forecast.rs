//! Many keys of a shard will expire in one second.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{REDIS_KEYS_VOLATILE, Unit};
use crate::quantity::{show, two_digits};
use crate::reading::{ScanState, ToCome};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "expiry-forecast",
    title: "many keys of a shard will expire in one second",
    doc: "Of the keys that a scan sampled and that expire at all, more than 5 % do so in one second that is still to \
          come, at least five times as many as in the median second and about 1000 of the shard's keys: short lifetimes \
          that are written evenly fill each second and are no herd. It is a warning of a herd (see expiry-herd) with \
          its time, and convicts nobody: what has not happened yet is no cause. Once its second has come it ends, and \
          expiry-herd says what it did. It needs a sample of at least 200 such \
          keys, not older than 15 minutes, and says nothing of a shard without one.",
    next: "before that second, write the keys anew with lifetimes that have 10 % of chance in them, or warm the cache \
           from one place",
    watches: Watches::SampledShards,
    nature: Nature::Circumstance,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[Threshold {
        name: "keys",
        default: 1_000.0,
        unit: Unit::Count,
        help: "keys of the shard in that second below which no server is held up, where it counts its expiring keys",
    }],
    rivals: &[RivalRow { rule: "expiry-herd", told_by: "whether the second has come" }],
    absorbs: &[],
    judge,
};

/// Whether a scan sampled lately when enough of a shard's keys expire, or is still at it.
pub(crate) fn has_sample(scene: &Scene<'_>, shard: &Subject) -> bool {
    let Some((_, scan)) = scene.world.keyspace().scan(shard, scene.now) else { return false };
    let goes_on = matches!(scan.state, ScanState::Running | ScanState::Paused);
    scan.expiries.as_ref().is_some_and(|expiries| goes_on || expiries.volatile() >= ToCome::SAMPLE)
}

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let scan = scene.world.keyspace().scan(shard, scene.now);
    let Some(expiries) = scan.and_then(|(_, scan)| scan.expiries.as_ref()) else {
        return Judgement::Unknown("nobody sampled when its keys expire".to_owned());
    };
    let (at, share) = match expiries.to_come(scene.now) {
        ToCome::Herd { at, share } => (at, share),
        ToCome::Even { share, .. } if share > ToCome::SHARE => {
            let shown = show(share, Unit::Ratio);
            return Judgement::Clear(format!(
                "the fullest second holds {shown} of the keys that expire, and others nearly as many: lifetimes are short"
            ));
        }
        ToCome::Even { share, .. } => {
            let shown = show(share, Unit::Ratio);
            return Judgement::Clear(format!("no second holds more than {shown} of the keys that expire"));
        }
        ToCome::Passed => {
            return Judgement::Clear("no sampled second of expiry is still to come".to_owned());
        }
        ToCome::TooFew => {
            return Judgement::Unknown(format!(
                "only {} of the sampled keys expire so far: too few to tell",
                expiries.volatile()
            ));
        }
    };
    let all = scene.primary(shard).and_then(|primary| scene.latest(primary, REDIS_KEYS_VOLATILE));
    let keys = all.map(|all| (all.value * share).round());
    // It is an estimate by a sample: more digits would promise more.
    let about =
        keys.map_or(String::new(), |keys| format!(", about {},", show(two_digits(keys), Unit::Count)));
    let shown = show(share, Unit::Ratio);
    if keys.is_some_and(|keys| keys < limits.of("keys")) {
        return Judgement::Clear(format!(
            "{shown} of the keys that expire{about} do so at {} UTC: too few to hold a server up",
            at.clock()
        ));
    }
    let left = at.seconds_after(scene.now);
    let seen = Seen { value: share, at: expiries.at };
    Breach::new(
        format!(
            "{shown} of the keys that expire{about} will do so at {} UTC, in {}",
            at.clock(),
            show(left.round(), Unit::Seconds)
        ),
        format!("#{} herd at {}", shard.shard_index().unwrap_or(0), at.clock()),
        share / ToCome::SHARE,
        vec![named_evidence(
            "share of expiring keys in one second".to_owned(),
            Unit::Ratio,
            seen,
            Some(ToCome::SHARE),
            None,
        )],
    )
    .certain()
    .at_most(Confidence::Low)
    .hurting_from(Some(at))
    .over(at, format!("{shown} of the keys that expire{about} were forecast to do so at {} UTC", at.clock()))
    .judged()
}
