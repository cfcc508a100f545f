//! A key on a troubled shard is hot.

mod likely;
mod named;

use likely::{likely, way_to_name};
pub(crate) use named::is_named;
pub(super) use named::{HotKey, hot_keys};
use named::{clears, hot_slots, measures, tells};

use std::time::Duration;

use super::big_key::{ID as BIG_KEY, TROUBLES};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::State;
use crate::metric::Unit;
use crate::quantity::{self, show};
use crate::reading::KeyHeat;
use crate::report::{Confidence, KeyEvidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// The id of the rule, which others ask for by name.
pub(crate) const ID: &str = "hot-key";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a key on a troubled shard is hot",
    doc: "On a shard in trouble one key has at least 20 % of the shard's operations, or at least 10 % and five times as \
          many as the next. A search that gives shares says so: a second of MONITOR counts operations, HOTKEYS and \
          CLUSTER SLOT-STATS count CPU and bytes, and then it is said of which. Where only a slot is known, the slot and \
          its keys are named. Without such a search a hot key is likely where the shard has too much to do and gets at \
          least one and a half times the commands of the others, of the same kinds, or twice their CPU or bytes and \
          nothing big: then \
          the gentlest way that this server offers to name the key is said with its cost, and nobody is convicted. Another \
          mix of commands speaks for the commands. OBJECT FREQ tells keys that are read often and not their share.",
    next: "keep the key in the memory of its readers for 30 s; then write it as copies that are read by chance. More \
           shards do not help: one key lives on one shard",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "share",
            default: 0.2,
            unit: Unit::Ratio,
            help: "share of its shard's work from which a key is hot whatever the others are",
        },
        Threshold {
            name: "least_share",
            default: 0.1,
            unit: Unit::Ratio,
            help: "share from which a key is hot that stands out from the next",
        },
        Threshold {
            name: "stands_out",
            default: 5.0,
            unit: Unit::Ratio,
            help: "multiple of the next key's share from which it stands out",
        },
        Threshold {
            name: "sample",
            default: 50.0,
            unit: Unit::Count,
            help: "counted operations below which a share is chance; the lower end of the share's Wilson interval (95 %) \
                   must also be above half of the limit, and no key is called hot only from twice as many on",
        },
        Threshold {
            // Even keys on few shards lie within a tenth of each other; a full link holds back what a hot key would add.
            name: "skew",
            default: 1.5,
            unit: Unit::Ratio,
            help: "multiple of the others' commands a second that makes a hot key likely",
        },
        Threshold {
            name: "heavier",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the others' CPU or bytes that makes a hot key likely where nothing is big",
        },
        Threshold {
            name: "mix",
            default: 0.25,
            unit: Unit::Ratio,
            help: "share of the commands that are others than those of the other shards, above which commands explain it",
        },
    ],
    rivals: &[
        RivalRow { rule: BIG_KEY, told_by: "the sizes of its keys, by a scan" },
        RivalRow {
            rule: "slow-commands",
            told_by: "the commands that this shard executes, against the others'",
        },
    ],
    absorbs: &[],
    judge,
};

/// The troubles of load, which a hot key makes.
pub(crate) const LOADED: &[&str] = &["shard-hot", "shard-saturated", "shard-bandwidth"];

/// A search that told something within this time is of the present, and its moment need not be said.
const JUST_NOW: Duration = Duration::from_secs(60);

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if !scene.findings.stirring(TROUBLES, shard) {
        return Judgement::Clear("the shard is not in trouble, so its keys are not in question".to_owned());
    }
    let hot = hot_keys(scene, shard, limits);
    if let Some(hottest) = hot.first() {
        let more = if hot.len() > 1 { format!(" and {} more", hot.len() - 1) } else { String::new() };
        let share = show(hottest.share, Unit::Ratio);
        let (counted, is_old) = told(scene, shard, hottest.at);
        let next =
            hottest.next.map_or(String::new(), |next| format!(", the next key {}", show(next, Unit::Ratio)));
        let mut breach = Breach::new(
            format!(
                "{} has {share} of its {}{next}{more}, by {}{counted}",
                hottest.key,
                hottest.of,
                hottest.method.row().name
            ),
            format!("{} hot, {share} of {}", hottest.key, hottest.of),
            hottest.share / limits.of("share"),
            vec![named_evidence(
                format!("share of {} that {} has", hottest.of, hottest.key),
                Unit::Ratio,
                Seen { value: hottest.share, at: hottest.at },
                Some(limits.of("share")),
                None,
            )],
        )
        .certain()
        // Whether it is the reads or the size of the value that fills the shard, its size says.
        .with_rival(&RULE.rivals[0])
        // Where the shard has not too much to do, a key that has much of the little is no explanation.
        .at_most(match !is_old && scene.findings.stirring(LOADED, shard) {
            true => Confidence::Medium,
            false => Confidence::Low,
        });
        breach.keys = hot.iter().take(5).map(|key| key.named(shard)).collect();
        return breach.judged();
    }
    if let Some(judgement) = hot_slot(scene, shard, limits) {
        return judgement;
    }
    let searches =
        || scene.world.keyspace().searches_of(shard, scene.now).filter(|(_, search)| tells(search, limits));
    if let Some((at, search)) = searches().find(|(_, search)| clears(search, limits)) {
        let (counted, is_old) = told(scene, shard, at);
        let shares = |key: &KeyHeat| {
            let known = measures(scene, shard).iter().filter_map(|by_bytes| key.share(*by_bytes));
            known.map(|(share, _)| share).max_by(f64::total_cmp)
        };
        let hottest = search.keys.iter().filter_map(|key| Some((&key.key, shares(key)?)));
        let most = hottest
            .max_by(|(_, one), (_, other)| one.total_cmp(other))
            .map_or(String::new(), |(key, share)| format!(": {key} has most, {}", show(share, Unit::Ratio)));
        let said = format!("no key is hot, by {}{counted}{most}", search.method.row().name);
        return if is_old { Judgement::Unknown(said) } else { Judgement::Clear(said) };
    }
    let so_far = searches().next().map_or("", |_| "no key is hot so far; ");
    if !scene.findings.stirring(LOADED, shard) {
        return Judgement::Unknown(format!(
            "{so_far}nobody looked which keys are hot; {}",
            way_to_name(scene, shard)
        ));
    }
    likely(scene, shard, limits, so_far)
}

/// When a search counted, in words where that was not just now, and whether that was before the trouble began: then it
/// tells of another time.
fn told(scene: &Scene<'_>, shard: &Subject, at: Moment) -> (String, bool) {
    let began = scene.findings.iter().filter(|finding| {
        TROUBLES.contains(&finding.rule.id)
            && finding.subject == *shard
            && matches!(finding.state, State::Pending | State::Firing)
    });
    let began = began.map(|finding| finding.since.at).min();
    match began.is_some_and(|began| at < began) {
        true => (format!(" at {} UTC, before the trouble began", at.clock()), true),
        false if scene.now.since(at) > JUST_NOW => (format!(" at {} UTC", at.clock()), false),
        false => (String::new(), false),
    }
}

/// What is said where only a slot is known to be hot.
fn hot_slot(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Option<Judgement> {
    let mut searches =
        scene.world.keyspace().searches_of(shard, scene.now).filter(|(_, search)| tells(search, limits));
    let measures = measures(scene, shard);
    let (at, search, (slot, share, of, _)) = searches.find_map(|(at, search)| {
        let hot = measures.iter().flat_map(|by_bytes| hot_slots(search, *by_bytes, limits));
        Some((at, search, hot.max_by(|one, other| one.1.total_cmp(&other.1))?))
    })?;
    let (counted, _) = told(scene, shard, at);
    let shown = show(share, Unit::Ratio);
    let known: Vec<&RemoteText> =
        search.keys.iter().filter(|key| key.slot == Some(slot.slot)).map(|key| &key.key).collect();
    let names = match known.as_slice() {
        [] => String::new(),
        some => {
            let names: Vec<&str> = some.iter().take(3).map(|key| key.as_str()).collect();
            format!(", {} among them", names.join(", "))
        }
    };
    let keys = quantity::counted(slot.keys, "key");
    let mut breach = Breach::new(
        format!(
            "slot {} has {shown} of its {of} with {keys}{names}{counted}: which of them, {}",
            slot.slot,
            way_to_name(scene, shard)
        ),
        format!("slot {} hot, {shown} of {of}", slot.slot),
        share / limits.of("share"),
        vec![named_evidence(
            format!("share of {of} that slot {} has", slot.slot),
            Unit::Ratio,
            Seen { value: share, at },
            Some(limits.of("share")),
            None,
        )],
    )
    .certain()
    .with_rival(&RULE.rivals[0])
    .at_most(Confidence::Low);
    breach.keys = known
        .into_iter()
        .take(3)
        .map(|key| KeyEvidence {
            key: key.clone(),
            bytes: None,
            slot: Some(slot.slot),
            shard: shard.clone(),
            what: format!("in the slot with {shown} of {of}"),
        })
        .collect();
    Some(breach.judged())
}
