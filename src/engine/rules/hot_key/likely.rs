//! Whether a hot key is likely where nothing names one, and how it could be named.

use super::super::command_mix::apart;
use super::super::{Breach, Judgement, Limits};
use super::{BIG_KEY, RULE};
use crate::baseline::Baseline;
use crate::metric::{Metric, REDIS_COMMANDS, REDIS_CPU, REDIS_NET_OUT, Unit};
use crate::quantity::{show, times};
use crate::reading::{KEY_METHODS, KeyMethod, ScanState};
use crate::report::{BaselineFrom, Confidence, KeyEvidence};
use crate::scene::{Scene, evidence};
use crate::subject::Subject;

/// Whether a hot key is likely, by what the shard is asked, against the others.
pub(super) fn likely(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>, so_far: &str) -> Judgement {
    let way = way_to_name(scene, shard);
    let group =
        scene.shards("commands", &shard.component_of(), |node| scene.commands(node).map(|seen| seen.value));
    let others = group.median_of_others(shard);
    let Some((others, own)) = others.zip(scene.worst_node(shard, |node| scene.commands(node))) else {
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
        // Where all shards have as much to do, more load explains it.
        let more = heavier(scene, shard).filter(|(ratio, _)| *ratio >= limits.of("heavier"));
        let Some((ratio, word)) = more else {
            return Judgement::Unknown(format!(
                "{so_far}it has as much to do as the others, with as many commands: nothing speaks for one key; {way}"
            ));
        };
        format!(
            "nothing big explains {} the {word} of the others, and its commands are of the same kinds",
            times(ratio)
        )
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

/// How many times the others' CPU or bytes a shard has, whichever is more, with the word for it.
fn heavier(scene: &Scene<'_>, shard: &Subject) -> Option<(f64, &'static str)> {
    let cluster = shard.component_of();
    let measures: [(&'static str, &'static str, Metric); 2] =
        [("hot-key cpu", "CPU", REDIS_CPU), ("hot-key bytes", "bytes", REDIS_NET_OUT)];
    let ratios = measures.into_iter().filter_map(|(name, word, metric)| {
        let group = scene.shards(name, &cluster, |node| scene.present(node, metric).map(|seen| seen.value));
        let others = group.median_of_others(shard)?;
        let (_, own) = scene.worst_node(shard, |node| scene.present(node, metric))?;
        (others > 0.0).then(|| (own.value / others, word))
    });
    ratios.max_by(|one, other| one.0.total_cmp(&other.0))
}

/// The keys that OBJECT FREQ calls the most frequent: it gives no shares.
fn read_often(scene: &Scene<'_>, shard: &Subject) -> Vec<KeyEvidence> {
    let mut searches = scene.world.keyspace().searches_of(shard, scene.now);
    let search = searches.find(|(_, search)| search.method == KeyMethod::Frequencies);
    let keys = search.into_iter().flat_map(|(_, search)| &search.keys).take(3);
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
pub(super) fn way_to_name(scene: &Scene<'_>, shard: &Subject) -> String {
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
