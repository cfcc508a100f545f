//! A shard's network link is full.

use super::slow_to_answer::{answer_times, node_answer_time};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{
    REDIS_ANSWER_TIME, REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT, Unit,
};
use crate::peers::{Peers, typical};
use crate::quantity::show;
use crate::report::{BaselineFrom, Confidence, Evidence, Role};
use crate::scene::{Scene, evidence};
use crate::store::Seen;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "shard-bandwidth",
    title: "a shard's network link is full",
    doc: "The greater of the bytes in and out of one of the shard's nodes, replication included, and summed \
          over the nodes of one host where they share its link, is at least 70 % of the declared link. Without a \
          declared link a plateau tells: bytes a second that stay within 5 % while the node takes three times \
          longer to answer than the others; and bytes three times the others' with slow answers make a suspect \
          only. A full link leaves the CPU idle and the slow log empty, because both look at execution alone.",
    next: "name the keys: a value of a megabyte fills a link at a few reads a second; then read fewer bytes of \
           it, or cache it for 30 s near the reader",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "link",
            default: 0.7,
            unit: Unit::Ratio,
            help: "share of the declared link; above it bursts queue",
        },
        Threshold {
            name: "part",
            default: 0.5,
            unit: Unit::Ratio,
            help: "a node's bytes over those of the busiest node on its host, below which it is a victim of the link",
        },
        Threshold {
            name: "skew",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the others' bytes, or of their time to answer, where no link is declared",
        },
        Threshold {
            name: "flat",
            default: 0.05,
            unit: Unit::Ratio,
            help: "interquartile range over median of the bytes a second below which they count as flat",
        },
        Threshold {
            name: "floor",
            default: 1_000_000.0,
            unit: Unit::BytesPerSecond,
            help: "bytes a second below which no link of a server is full",
        },
    ],
    rivals: &[RivalRow {
        rule: "network-path",
        told_by: "the link's size: declare 'link' for this Redis, and bytes at the limit convict the link",
    }],
    absorbs: &[
        "shard-hot",
        "slow-to-answer",
        "hit-but-slow",
        "slow-commands",
        "big-key",
        "hot-key",
        "co-located-keys",
    ],
    judge,
};

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let weighed = |node: &Subject| {
        let load = link_load(scene, node)?;
        Some(Seen { value: load.value * part_in_it(scene, node).max(LEAST_WEIGHT), at: load.at })
    };
    let Some((node, bytes)) = scene
        .worst_node(shard, weighed)
        .and_then(|(node, _)| link_load(scene, &node).map(|load| (node, load)))
    else {
        return Judgement::Unknown(scene.missing(shard));
    };
    let shown = show(bytes.value, Unit::BytesPerSecond);
    let answers = answer_times(scene, &shard.component_of());
    let link = scene.settings.component(shard).and_then(|component| component.link);
    if let Some(link) = link {
        let share = bytes.value / link;
        if share < limits.of("link") {
            if let Some(missing) = scene.unseen_primary(shard, |node| link_load(scene, node)) {
                return Judgement::Unknown(missing);
            }
            return Judgement::Clear(format!("{shown}, {} of its link", share_of_link(share)));
        }
        let part = part_in_it(scene, &node);
        if part < limits.of("part") {
            return Judgement::Clear(format!("its host's link carries {shown}, most of it for a neighbour"));
        }
        let limit = Baseline::new(link, BaselineFrom::Declared);
        let first = evidence(direction(scene, &node), bytes, Some(link * limits.of("link")), Some(limit));
        return Breach::new(
            format!(
                "{shown} at {}, {} of its {} link{}",
                node.address().unwrap_or("its node"),
                share_of_link(share),
                show(link, Unit::BytesPerSecond),
                answers_sentence(&answers, shard),
            ),
            format!("#{} link full", shard.shard_index().unwrap_or(0)),
            share * part / limits.of("link"),
            with_answers(first, scene, &node, &answers, shard),
        )
        .judged();
    }
    judge_without_link(scene, shard, limits, &Undeclared { node, bytes, answers })
}

/// A share of a link in words: bursts within a sample can be more than a link carries over a second, and nobody believes
/// a link that is fuller than full. Judged is what was measured.
fn share_of_link(share: f64) -> String {
    show(share.min(1.0), Unit::Ratio)
}

/// A node that sends nothing is still looked at when its host's link is full.
const LEAST_WEIGHT: f64 = 0.01;

/// A time to answer below which nothing is slow, as in slow-to-answer.
const SLOW_ANSWER: f64 = 0.005;

struct Undeclared {
    node: Subject,
    bytes: Seen,
    answers: std::rc::Rc<Peers>,
}

fn judge_without_link(
    scene: &Scene<'_>,
    shard: &Subject,
    limits: &Limits<'_>,
    seen: &Undeclared,
) -> Judgement {
    let Undeclared { node, bytes, answers } = seen;
    let shown = show(bytes.value, Unit::BytesPerSecond);
    if let Some(missing) = scene.unseen_primary(shard, |node| link_load(scene, node)) {
        return Judgement::Unknown(missing);
    }
    if bytes.value < limits.of("floor") {
        return Judgement::Clear(format!("{shown}: no link is that small"));
    }
    if let Some(late) = scene.observer_is_late() {
        return Judgement::Unknown(late);
    }
    let Some(own) = answers.of(shard) else {
        return Judgement::Unknown(format!("{shown}, but no time to answer and no declared link"));
    };
    let answers_in = show(own, Unit::Seconds);
    let slow = match answers.median_of_others(shard) {
        Some(others) => own >= SLOW_ANSWER && own >= limits.of("skew") * others,
        None if own < SLOW_ANSWER => false,
        None => {
            return Judgement::Unknown(format!(
                "{shown}, answers in {answers_in}, no other shard to compare with: declare its 'link'"
            ));
        }
    };
    if !slow {
        return Judgement::Clear(format!("{shown}, and it answers in {answers_in} (no link declared)"));
    }
    let group =
        scene.shards("bytes", &shard.component_of(), |node| link_load(scene, node).map(|seen| seen.value));
    let others = group.median_of_others(shard).unwrap_or(0.0);
    let peers = Baseline::new(others, BaselineFrom::Peers);
    let numbers = with_answers(
        evidence(direction(scene, node), *bytes, None, Some(peers)),
        scene,
        node,
        answers,
        shard,
    );
    let recent = scene.store.points(node, direction(scene, node), None).and_then(|points| {
        typical(points.since(scene.now - scene.settings.interval * 10).map(|seen| seen.value))
    });
    let flat =
        recent.is_some_and(|(median, spread, points)| points >= 5 && spread <= limits.of("flat") * median);
    let skewed = bytes.value >= limits.of("skew") * others;
    if !flat && !skewed {
        return Judgement::Clear(format!("{shown}, neither flat nor above the others (no link declared)"));
    }
    let how = if flat { "flat" } else { "far above the others" };
    let breach = Breach::new(
        format!("{shown}, {how}{}; no link is declared", answers_sentence(answers, shard)),
        format!("#{} bytes {how}", shard.shard_index().unwrap_or(0)),
        bytes.value / others.max(limits.of("floor")),
        numbers,
    )
    .with_rival(&RULE.rivals[0]);
    breach.at_most(if flat { Confidence::Medium } else { Confidence::Low }).judged()
}

/// The greater of the bytes into and out of a node's link, replication included; where the nodes of a host share
/// its link, those of all of them. Both directions have the whole link each.
fn link_load(scene: &Scene<'_>, node: &Subject) -> Option<Seen> {
    let (input, output) = both_ways(scene, node)?;
    if !shares_a_declared_link(scene, node) {
        return Some(if input.value > output.value { input } else { output });
    }
    let (mut all_in, mut all_out) = (0.0, 0.0);
    for (input, output) in scene.world.on_its_host(node).iter().filter_map(|node| both_ways(scene, node)) {
        all_in += input.value;
        all_out += output.value;
    }
    Some(Seen { value: f64::max(all_in, all_out), at: output.at })
}

/// A node's own bytes as a part of those of the node on its host that moves most: who shares a full link is its
/// victim, who fills it is the cause.
fn part_in_it(scene: &Scene<'_>, node: &Subject) -> f64 {
    let bytes =
        |node: &Subject| both_ways(scene, node).map(|(input, output)| f64::max(input.value, output.value));
    let own = bytes(node).unwrap_or(0.0);
    let neighbours = if shares_a_declared_link(scene, node) { scene.world.on_its_host(node) } else { &[] };
    let greatest = neighbours.iter().filter_map(bytes).fold(own, f64::max);
    if greatest > 0.0 { own / greatest } else { 1.0 }
}

/// Whether a node's link is known and is its host's. Without a declared link a host's sum says nothing: it may be as
/// many links as nodes.
fn shares_a_declared_link(scene: &Scene<'_>, node: &Subject) -> bool {
    let component = scene.settings.component(node);
    component.is_some_and(|component| component.link.is_some() && component.link_shared_by_host)
}

fn both_ways(scene: &Scene<'_>, node: &Subject) -> Option<(Seen, Seen)> {
    let replicated = |client: Seen, metric| Seen {
        value: client.value + scene.present(node, metric).map_or(0.0, |seen| seen.value),
        ..client
    };
    let input = replicated(scene.present(node, REDIS_NET_IN)?, REDIS_NET_REPL_IN);
    let output = replicated(scene.present(node, REDIS_NET_OUT)?, REDIS_NET_REPL_OUT);
    Some((input, output))
}

fn direction(scene: &Scene<'_>, node: &Subject) -> crate::metric::Metric {
    match both_ways(scene, node) {
        Some((input, output)) if input.value > output.value => REDIS_NET_IN,
        _ => REDIS_NET_OUT,
    }
}

fn answers_sentence(answers: &Peers, shard: &Subject) -> String {
    match (answers.of(shard), answers.median_of_others(shard)) {
        (Some(own), Some(others)) => {
            format!("; answers in {}, its peers in {}", show(own, Unit::Seconds), show(others, Unit::Seconds))
        }
        (Some(own), None) => format!("; answers in {}", show(own, Unit::Seconds)),
        _ => String::new(),
    }
}

fn with_answers(
    first: Evidence,
    scene: &Scene<'_>,
    node: &Subject,
    answers: &Peers,
    shard: &Subject,
) -> Vec<Evidence> {
    let mut numbers = vec![first];
    numbers.extend(node_answer_time(scene, node).map(|seen| {
        let others = answers.median_of_others(shard);
        let peers = others.map(|typical| Baseline::new(typical, BaselineFrom::Peers));
        evidence(REDIS_ANSWER_TIME, seen, None, peers)
    }));
    numbers.extend(super::shard_hot::busy_evidence(scene, node, None, None));
    numbers
}
