//! A big key and a hot key live on one shard.

use super::big_key::{BigKey, RULE as BIG_KEY, TROUBLES, big_keys};
use super::hot_key::{HotKey, RULE as HOT_KEY, hot_keys};
use super::{Breach, Judgement, Limits, Nature, Rule, Watches};
use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{KeyEvidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

/// The id of the rule, which the chain asks for by name.
pub(crate) const ID: &str = "co-located-keys";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a big key and a hot key live on one shard",
    doc: "On a shard in trouble there is a big key (see big-key) and a hot key (see hot-key): each read of the hot one \
          waits behind the bytes of the big one, on one thread and one link. It is said whether they share the slot, or \
          the shard alone. In two slots they can be parted by moving one of them; in one slot only other names part \
          them. More shards alone make a hot key no lighter. Where the two live on different shards it says so, and is \
          clear. It adds to what the shard is short of, and convicts nobody alone.",
    next: "cache the hot key near its readers and shrink the big one; part them by moving a slot only when it is quiet \
           again, and not by adding shards",
    watches: Watches::Shards,
    nature: Nature::Support,
    exonerates: false,
    role: Role::Amplifier,
    hold: 1,
    thresholds: &[],
    rivals: &[],
    absorbs: &["big-key", "hot-key"],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if !scene.findings.stirring(TROUBLES, shard) {
        return Judgement::Clear("the shard is not in trouble, so its keys are not in question".to_owned());
    }
    // The limits are those of the two rules, with what is configured for them.
    let big = |shard: &Subject| big_keys(scene, shard, &Limits { rule: &BIG_KEY, ..*limits });
    let hot = |shard: &Subject| hot_keys(scene, shard, &Limits { rule: &HOT_KEY, ..*limits });
    let (big_here, hot_here) = (big(shard), hot(shard));
    let shards = scene.world.shards(&shard.component_of());
    let others = || shards.iter().map(|other| &other.subject).filter(|other| *other != shard);
    let (biggest, hottest) = match (big_here.first(), hot_here.first()) {
        (Some(biggest), Some(hottest)) => (biggest, hottest),
        (Some(biggest), None) => {
            let elsewhere = others().find_map(|other| Some((other, hot(other).into_iter().next()?)));
            return match elsewhere {
                Some((other, hottest)) => Judgement::Clear(apart(&biggest.key, shard, &hottest.key, other)),
                None => Judgement::Unknown(format!("{} is big; no hot key is known", biggest.key)),
            };
        }
        (None, Some(hottest)) => {
            let elsewhere = others().find_map(|other| Some((other, big(other).into_iter().next()?)));
            return match elsewhere {
                Some((other, biggest)) => Judgement::Clear(apart(&biggest.key, other, &hottest.key, shard)),
                None => Judgement::Unknown(format!("{} is hot; no big key is known", hottest.key)),
            };
        }
        (None, None) => return Judgement::Unknown("neither a big nor a hot key is known".to_owned()),
    };
    // One key may be both; where there is another of either sort, the pair tells more.
    let other_hot = hot_here.iter().find(|hot| hot.key != biggest.key);
    let other_big = big_here.iter().find(|big| big.key != hottest.key);
    match (other_hot, other_big) {
        (Some(hot), _) => of_two(scene, shard, biggest, hot),
        (None, Some(big)) => of_two(scene, shard, big, hottest),
        (None, None) => of_one(shard, biggest, hottest),
    }
}

fn of_two(scene: &Scene<'_>, shard: &Subject, big: &BigKey, hot: &HotKey) -> Judgement {
    let (place, remedy) = place(scene, shard, big.slot, hot.slot);
    let (size, share) = (show(big.bytes as f64, Unit::Bytes), show(hot.share, Unit::Ratio));
    let mut breach = Breach::new(
        format!("{} ({size}) + {} (hot, {share} of {}): {place}; {remedy}", big.key, hot.key, hot.of),
        format!("{} {size} + {} hot: {place}", big.key, hot.key),
        1.0,
        vec![numbers(hot)],
    )
    .certain();
    breach.keys = vec![
        beside(&big.key, Some(big.bytes), big.slot, shard, format!("{place} as {}", hot.key)),
        beside(&hot.key, None, hot.slot, shard, format!("{place} as {}", big.key)),
    ];
    breach.judged()
}

fn of_one(shard: &Subject, big: &BigKey, hot: &HotKey) -> Judgement {
    let (size, share) = (show(big.bytes as f64, Unit::Bytes), show(hot.share, Unit::Ratio));
    let mut breach = Breach::new(
        format!("{} is both big ({size}) and hot ({share} of {})", big.key, hot.of),
        format!("{} {size}, hot", big.key),
        1.0,
        vec![numbers(hot)],
    )
    .certain();
    breach.keys = vec![beside(&big.key, Some(big.bytes), big.slot, shard, "both big and hot".to_owned())];
    breach.judged()
}

fn numbers(hot: &HotKey) -> crate::report::Evidence {
    let seen = Seen { value: hot.share, at: hot.at };
    named_evidence(format!("share of {} that {} has", hot.of, hot.key), Unit::Ratio, seen, None, None)
}

fn beside(
    key: &RemoteText,
    bytes: Option<u64>,
    slot: Option<u16>,
    shard: &Subject,
    what: String,
) -> KeyEvidence {
    KeyEvidence { key: key.clone(), bytes, slot, shard: shard.clone(), what }
}

/// Where the two keys are to each other, and what that means for parting them.
fn place(
    scene: &Scene<'_>,
    shard: &Subject,
    big: Option<u16>,
    hot: Option<u16>,
) -> (&'static str, &'static str) {
    let cluster = shard.component_of();
    if !scene.world.topologies().any(|known| known.cluster == cluster && known.clustered) {
        return ("same server", "a cluster could part them");
    }
    match big.zip(hot) {
        Some((big, hot)) if big == hot => {
            ("same slot", "only other names part them: one slot is on one shard")
        }
        Some(_) => {
            ("same shard, other slot", "moving a slot parts them; more shards alone do not help the hot one")
        }
        None => ("same shard", "more shards alone do not help the hot one"),
    }
}

fn apart(big: &RemoteText, big_on: &Subject, hot: &RemoteText, hot_on: &Subject) -> String {
    format!("neither the same slot nor the same shard: {big} is on {big_on}, {hot} on {hot_on}")
}
