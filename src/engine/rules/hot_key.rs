//! A key on a troubled shard is hot.

mod named;

pub(super) use named::{HotKey, hot_keys};
use named::{hot_slots, tells};

use super::big_key::{ID as BIG_KEY, TROUBLES};
use super::command_mix::apart;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{REDIS_COMMANDS, REDIS_OUR_COMMANDS, Unit};
use crate::quantity::{show, times};
use crate::reading::{KEY_METHODS, KeyMethod, ScanState};
use crate::report::{BaselineFrom, Confidence, KeyEvidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

/// The id of the rule, which others ask for by name.
pub(crate) const ID: &str = "hot-key";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a key on a troubled shard is hot",
    doc: "On a shard in trouble one key has at least 20 % of the shard's operations, or at least 10 % and five times as \
          many as the next. A search that gives shares says so: a second of MONITOR counts operations, HOTKEYS and \
          CLUSTER SLOT-STATS count CPU and bytes, and then it is said of which. Where only a slot is known, the slot and \
          its keys are named. Without such a search a hot key is likely where the shard has too much to do and gets at \
          least twice the commands of the others, of the same kinds, or where nothing big explains it: then the \
          gentlest way that this server offers to name the key is said with its cost, and nobody is convicted. Another \
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
            default: 100.0,
            unit: Unit::Count,
            help: "counted operations below which a share is chance",
        },
        Threshold {
            name: "skew",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the others' commands a second that makes a hot key likely",
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
const LOADED: &[&str] = &["shard-hot", "shard-saturated", "shard-bandwidth"];

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if !scene.findings.stirring(TROUBLES, shard) {
        return Judgement::Clear("the shard is not in trouble, so its keys are not in question".to_owned());
    }
    let hot = hot_keys(scene, shard, limits);
    if let Some(hottest) = hot.first() {
        let more = if hot.len() > 1 { format!(" and {} more", hot.len() - 1) } else { String::new() };
        let share = show(hottest.share, Unit::Ratio);
        let next =
            hottest.next.map_or(String::new(), |next| format!(", the next key {}", show(next, Unit::Ratio)));
        let mut breach = Breach::new(
            format!(
                "{} has {share} of its {}{next}{more}, by {}",
                hottest.key,
                hottest.of,
                hottest.method.row().name
            ),
            format!("{} hot, {share} of {}", hottest.key, hottest.of),
            hottest.share / limits.of("share"),
            vec![named_evidence(
                format!("share of {} that {} has", hottest.of, hottest.key),
                Unit::Ratio,
                Seen { value: hottest.share, at: scene.now },
                Some(limits.of("share")),
                None,
            )],
        )
        .certain()
        // Whether it is the reads or the size of the value that fills the shard, its size says.
        .with_rival(&RULE.rivals[0])
        .at_most(Confidence::Medium);
        breach.keys = hot.iter().take(5).map(|key| key.named(shard)).collect();
        return breach.judged();
    }
    if let Some(judgement) = hot_slot(scene, shard, limits) {
        return judgement;
    }
    let searches =
        || scene.world.keyspace().searches_of(shard, scene.now).filter(|search| tells(search, limits));
    if let Some(search) = searches().find(|search| search.state == ScanState::Complete) {
        let hottest = search.keys.first().and_then(|key| Some((&key.key, key.greatest_share()?)));
        let most = hottest
            .map_or(String::new(), |(key, share)| format!(": {key} has most, {}", show(share, Unit::Ratio)));
        return Judgement::Clear(format!("no key is hot, by {}{most}", search.method.row().name));
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

/// What is said where only a slot is known to be hot.
fn hot_slot(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Option<Judgement> {
    let mut searches =
        scene.world.keyspace().searches_of(shard, scene.now).filter(|search| tells(search, limits));
    let (search, (slot, share, of, _)) =
        searches.find_map(|search| Some((search, hot_slots(search, limits).into_iter().next()?)))?;
    let shown = show(share, Unit::Ratio);
    let known: Vec<&RemoteText> =
        search.keys.iter().filter(|key| key.slot == slot.slot).map(|key| &key.key).collect();
    let names = match known.as_slice() {
        [] => String::new(),
        some => {
            let names: Vec<&str> = some.iter().take(3).map(|key| key.as_str()).collect();
            format!(", {} among them", names.join(", "))
        }
    };
    let keys = if slot.keys == 1 { "1 key".to_owned() } else { format!("{} keys", slot.keys) };
    let mut breach = Breach::new(
        format!(
            "slot {} has {shown} of its {of} with {keys}{names}: which of them, {}",
            slot.slot,
            way_to_name(scene, shard)
        ),
        format!("slot {} hot, {shown} of {of}", slot.slot),
        share / limits.of("share"),
        vec![named_evidence(
            format!("share of {of} that slot {} has", slot.slot),
            Unit::Ratio,
            Seen { value: share, at: scene.now },
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

/// Whether a hot key is likely, by what the shard is asked, against the others.
fn likely(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>, so_far: &str) -> Judgement {
    let way = way_to_name(scene, shard);
    let group =
        scene.shards("commands", &shard.component_of(), |node| asked(scene, node).map(|seen| seen.value));
    let others = group.median_of_others(shard);
    let Some((others, own)) = others.zip(scene.worst_node(shard, |node| asked(scene, node))) else {
        return Judgement::Unknown(format!("{so_far}no other shard to compare its commands with; {way}"));
    };
    let (_, own) = own;
    let Some((distance, command, here, there)) = apart(scene, shard) else {
        return Judgement::Unknown(format!("{so_far}nobody counts its commands by kind; {way}"));
    };
    if distance > limits.of("mix") {
        return Judgement::Clear(format!(
            "its commands are others than those of the other shards ({command} {}, there {}): that speaks for the commands",
            show(here, Unit::Ratio),
            show(there, Unit::Ratio)
        ));
    }
    let skew = own.value / others.max(1.0);
    let is_skewed = skew >= limits.of("skew");
    let big = scene.findings.stirring(&[BIG_KEY], shard);
    let scan = scene.world.keyspace().scan(shard, scene.now);
    if !is_skewed && big {
        return Judgement::Clear(format!(
            "a big key explains it; {} the commands of the others, of the same kinds",
            times(skew)
        ));
    }
    let nothing_big = scan.is_some_and(|scan| scan.state == ScanState::Complete) && !big;
    if !is_skewed && !nothing_big {
        return Judgement::Unknown(format!("{so_far}no scan says yet whether a big key explains it; {way}"));
    }
    let why = if is_skewed {
        format!("{} the commands of the others, of the same kinds", times(skew))
    } else {
        "nothing big explains the load, and its commands are of the same kinds as the others'".to_owned()
    };
    let peers = Baseline::new(others, BaselineFrom::Peers);
    let mut breach = Breach::new(
        format!("{so_far}a hot key is likely: {why}; {way}"),
        "a hot key is likely".to_owned(),
        skew / limits.of("skew"),
        vec![evidence(REDIS_COMMANDS, own, Some(others * limits.of("skew")), Some(peers))],
    )
    .certain()
    .at_most(Confidence::Low);
    breach.keys = read_often(scene, shard);
    if nothing_big { breach.judged() } else { breach.with_rival(&RULE.rivals[0]).judged() }
}

/// Commands a second that a node is sent by others than us.
fn asked(scene: &Scene<'_>, node: &Subject) -> Option<Seen> {
    let all = scene.present(node, REDIS_COMMANDS)?;
    let ours = scene.present(node, REDIS_OUR_COMMANDS).map_or(0.0, |ours| ours.value);
    Some(Seen { value: (all.value - ours).max(0.0), at: all.at })
}

/// The keys that OBJECT FREQ calls the most frequent: it gives no shares.
fn read_often(scene: &Scene<'_>, shard: &Subject) -> Vec<KeyEvidence> {
    let mut searches = scene.world.keyspace().searches_of(shard, scene.now);
    let search = searches.find(|search| search.method == KeyMethod::Frequencies);
    let keys = search.into_iter().flat_map(|search| &search.keys).take(3);
    keys.map(|key| KeyEvidence {
        key: key.key.clone(),
        bytes: None,
        slot: Some(key.slot),
        shard: shard.clone(),
        what: "read most often; its share is not known".to_owned(),
    })
    .collect()
}

/// How a hot key could be named: the gentlest way with shares that a node of the shard offers, with its cost.
fn way_to_name(scene: &Scene<'_>, shard: &Subject) -> String {
    let nodes = scene.world.shard(shard).map_or(&[][..], |shard| &shard.nodes);
    let offers =
        || nodes.iter().filter_map(|node| scene.world.source(&node.subject)).flat_map(|state| &state.offers);
    let mut with_shares = KEY_METHODS.iter().filter(|row| row.gives_shares);
    let open = with_shares
        .clone()
        .find(|row| offers().any(|offer| offer.method == row.method && offer.refusal.is_none()));
    match open {
        Some(row) => {
            let consent = if row.needs_consent { "; it asks for a yes first" } else { "" };
            format!("to name it: {} ({}{consent})", row.name, row.cost)
        }
        None if offers().next().is_some() => {
            let needs = with_shares.next().map_or("", |row| row.needs);
            format!("to name it: no way is open here; it takes {needs}")
        }
        None => "to name it: search for hot keys; the node has not said yet which ways it offers".to_owned(),
    }
}
