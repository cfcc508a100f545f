//! Whether a hot key is likely where nothing names one, and how it could be named.

use super::super::command_mix::apart;
use super::super::{Breach, Judgement, Limits};
use super::{BIG_KEY, RULE};
use crate::baseline::Baseline;
use crate::metric::{Metric, REDIS_COMMANDS, REDIS_CPU, REDIS_NET_OUT, Unit};
use crate::peers::median;
use crate::quantity::{show, times};
use crate::reading::{KEY_METHODS, KeyMethod, ScanState};
use crate::report::{BaselineFrom, Confidence, KeyEvidence};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::Subject;

/// Whether a hot key is likely, by what the shard is asked, against the others.
pub(super) fn likely(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>, so_far: &str) -> Judgement {
    let way = way_to_name(scene, shard);
    let others = others(scene, shard, "hot-key commands", REDIS_COMMANDS, |node| scene.commands(node));
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
    let skew = own.value / others.work.max(1.0);
    if !others.are_known && skew > COMPARABLE {
        return Judgement::Unknown(format!(
            "{so_far}the others have nearly nothing to do, and nobody knows what they usually have; {way}"
        ));
    }
    let theirs = others.whose("commands");
    let is_skewed = skew >= limits.of("skew");
    let big = scene.findings.stirring(&[BIG_KEY], shard);
    let scan = scene.world.keyspace().scan(shard, scene.now);
    if !is_skewed && big {
        return Judgement::Clear(format!(
            "a big key explains it; {} {theirs}, of the same kinds",
            times(skew)
        ));
    }
    let nothing_big = scan.is_some_and(|(_, scan)| scan.state == ScanState::Complete) && !big;
    if !is_skewed && !nothing_big {
        return Judgement::Unknown(format!("{so_far}no scan says yet whether a big key explains it; {way}"));
    }
    let why = if is_skewed {
        format!("{} {theirs}, of the same kinds", times(skew))
    } else {
        // Where all shards have as much to do, more load explains it.
        let more = heavier(scene, shard).filter(|(ratio, _)| *ratio >= limits.of("heavier"));
        let Some((ratio, theirs)) = more else {
            return Judgement::Unknown(format!(
                "{so_far}it has as much to do as the others, with as many commands: nothing speaks for one key; {way}"
            ));
        };
        format!("nothing big explains {} {theirs}, and its commands are of the same kinds", times(ratio))
    };
    let peers = Baseline::new(others.work, BaselineFrom::Peers);
    let mut breach = Breach::new(
        format!("{so_far}a hot key is likely: {why}; {way}"),
        "a hot key is likely".to_owned(),
        skew / limits.of("skew"),
        vec![evidence(REDIS_COMMANDS, own, Some(others.work * limits.of("skew")), Some(peers))],
    )
    .certain()
    .at_most(Confidence::Low);
    breach.keys = read_often(scene, shard);
    if nothing_big { breach.judged() } else { breach.with_rival(&RULE.rivals[0]).judged() }
}

/// From this multiple on the others stand still, and what a shard does more than they says nothing of its keys: all
/// callers may wait for the one shard.
const COMPARABLE: f64 = 50.0;

/// Shards that usually do more than this multiple of what they do now are idle.
const IDLE: f64 = 2.0;

/// What the other shards have to do.
struct Others {
    /// The median over them of what each has to do; where they are idle, of what each usually has: callers that wait for
    /// one shard leave the others idle, and a multiple of nothing is none.
    work: f64,
    /// Whether that is what they usually have.
    is_usual: bool,
    /// Whether it is known what they usually have.
    are_known: bool,
}

impl Others {
    /// `the commands of the others`, or `the usual commands of the others`.
    fn whose(&self, what: &str) -> String {
        format!("the {}{what} of the others", if self.is_usual { "usual " } else { "" })
    }
}

fn others(
    scene: &Scene<'_>,
    shard: &Subject,
    name: &'static str,
    metric: Metric,
    of: impl Fn(&Subject) -> Option<Seen>,
) -> Option<Others> {
    let cluster = shard.component_of();
    let now = scene.shards(name, &cluster, |node| of(node).map(|seen| seen.value)).median_of_others(shard)?;
    let mut usual: Vec<f64> = (scene.world.shards(&cluster).iter())
        .filter(|other| other.subject != *shard)
        .filter_map(|other| {
            let nodes = other.nodes.iter().filter_map(|node| scene.past(&node.subject, metric, None));
            nodes.map(|usual| usual.typical).reduce(f64::max)
        })
        .collect();
    usual.sort_by(f64::total_cmp);
    let usual = median(&usual);
    let is_usual = usual.is_some_and(|usual| usual > now * IDLE);
    Some(Others { work: usual.filter(|_| is_usual).unwrap_or(now), is_usual, are_known: usual.is_some() })
}

/// How many times the others' CPU or bytes a shard has, whichever is more, with whose that is.
fn heavier(scene: &Scene<'_>, shard: &Subject) -> Option<(f64, String)> {
    let measures: [(&'static str, &'static str, Metric); 2] =
        [("hot-key cpu", "CPU", REDIS_CPU), ("hot-key bytes", "bytes", REDIS_NET_OUT)];
    let ratios = measures.into_iter().filter_map(|(name, word, metric)| {
        let others = others(scene, shard, name, metric, |node| scene.present(node, metric))?;
        let (_, own) = scene.worst_node(shard, |node| scene.present(node, metric))?;
        let ratio = own.value / others.work;
        let is_comparable = others.work > 0.0 && (others.are_known || ratio <= COMPARABLE);
        is_comparable.then(|| (ratio, others.whose(word)))
    });
    ratios.max_by(|(one, _), (other, _)| one.total_cmp(other))
}

/// The keys that OBJECT FREQ calls the most frequent: it gives no shares.
fn read_often(scene: &Scene<'_>, shard: &Subject) -> Vec<KeyEvidence> {
    let mut searches = scene.world.keyspace().searches_of(shard, scene.now);
    let search = searches.find(|(_, search)| search.method == KeyMethod::Frequencies);
    let keys = search.into_iter().flat_map(|(_, search)| &search.keys).take(3);
    keys.map(|key| KeyEvidence {
        key: key.key.clone(),
        bytes: None,
        slot: key.slot,
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
