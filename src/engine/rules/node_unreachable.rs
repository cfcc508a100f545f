//! A node does not answer.

use super::cluster_views::views;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::NOTHING_ANSWERS;
use crate::metric::{REDIS_ANSWER_TIME, REDIS_LOADING, REDIS_REACHABLE, Unit};
use crate::quantity::{counted, counted_of, show};
use crate::reading::{ClusterView, FaultKind, NodeHealth};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

pub(super) static RULE: Rule = Rule {
    id: "node-unreachable",
    title: "a node refuses connections, keeps silent, or still loads its data",
    doc: "The node refused the connection, or has not answered for 10 s. A late answer is not absence: below \
          10 s the node is shown as late. What the cluster says of the node is told beside it, because its own \
          view comes seconds later and may be rosier than ours. A node that loads its data answers us alone, and counts \
          as absent. Of a node that only an exporter asks, its page says whether it answers; the exporter's own password or \
          network may be what is wrong, so the node is a suspect at most. So is a replica that is down while its primary \
          answers. When every target goes at once, none of them is accused: whoever looks is the \
          first suspect.",
    next: "see whether the process runs and the port answers from a service's host; if it is a primary, watch \
           that its replica takes over",
    watches: Watches::Nodes,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[Threshold {
        name: "silence",
        default: 10.0,
        unit: Unit::Seconds,
        help: "silence that counts as absence",
    }],
    rivals: &[
        RivalRow {
            rule: "network-path",
            told_by: "a look from another host: only the way from here may be broken",
        },
        RivalRow {
            rule: "network-path",
            told_by: "the exporter's log, and a look with its password from its host: only it may be refused or cut off",
        },
    ],
    absorbs: &["slow-to-answer"],
    judge,
};

fn judge(scene: &Scene<'_>, node: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(state) = scene.world.source(node) else {
        return by_exporter(scene, node);
    };
    let silent_since = state
        .late_since
        .filter(|since| scene.now.since(*since).as_secs_f64() >= limits.of("silence"))
        .or_else(|| {
            let (since, fault) = state.fault.as_ref()?;
            matches!(fault.kind, FaultKind::Unreachable | FaultKind::Silent).then_some(*since)
        });
    let Some(since) = silent_since else {
        return match scene.latest(node, REDIS_ANSWER_TIME) {
            Some(seen) if is_loading(scene, node) => loading(scene, node, seen),
            Some(seen) => Judgement::Clear(format!("answers in {}", show(seen.value, Unit::Seconds))),
            None => Judgement::Unknown(scene.missing(node)),
        };
    };
    if scene.silent_since.is_some() {
        return Judgement::Unknown(NOTHING_ANSWERS.to_owned());
    }
    let why =
        state.fault.as_ref().map_or("no answer".to_owned(), |(_, fault)| fault.message.as_str().to_owned());
    let place = scene.world.shard(&node.parent().unwrap_or_else(|| node.clone()));
    let row = place.and_then(|shard| shard.nodes.iter().find(|row| row.subject == *node));
    let health = row.map(|row| row.health);
    let says = by_views(scene, node, health).unwrap_or_else(|| by_shape(health).to_owned());
    let down = scene.now.seconds_after(state.last_data.unwrap_or(since));
    let primary = row.is_some_and(|row| row.primary);
    let breach = Breach::new(
        format!("unreachable from here: {why}{says}"),
        format!("{} unreachable", node.address().unwrap_or("node")),
        1.0 + down / limits.of("silence"),
        vec![named_evidence(
            "seconds without data".to_owned(),
            Unit::Seconds,
            Seen { value: down, at: scene.now },
            Some(limits.of("silence")),
            None,
        )],
    );
    // One that never answered was so before anybody looked.
    let breach = if state.last_data.is_some() { breach.dated(since) } else { breach.certain() };
    let breach = breach.with_rival(&RULE.rivals[0]);
    if primary { breach.judged() } else { breach.at_most(Confidence::Low).judged() }
}

/// A node that nobody but an exporter asks: its page says whether the node answers it.
fn by_exporter(scene: &Scene<'_>, node: &Subject) -> Judgement {
    let Some(seen) = scene.latest(node, REDIS_REACHABLE) else {
        return Judgement::Unknown(match scene.world.is_exported(node) {
            true => scene.missing(node),
            false => "not asked yet".to_owned(),
        });
    };
    if seen.value > 0.5 {
        return match scene.latest(node, REDIS_ANSWER_TIME) {
            Some(answers) if is_loading(scene, node) => loading(scene, node, answers),
            _ => Judgement::Clear("answers its exporter".to_owned()),
        };
    }
    // Several at once are rather the exporter's own trouble.
    let nodes = scene.world.shards(&node.component_of()).iter().flat_map(|shard| &shard.nodes);
    let mut others = nodes.map(|row| &row.subject).filter(|other| *other != node).take(COUNTED).peekable();
    let is_alone = others.peek().is_none();
    if !is_alone
        && !others.any(|other| scene.latest(other, REDIS_REACHABLE).is_some_and(|seen| seen.value > 0.5))
    {
        return Judgement::Unknown("no node answers the exporters: their own way may be broken".to_owned());
    }
    let breach = Breach::new(
        "does not answer its exporter, whose page is all that we see of it and whose own password or network may be wrong"
            .to_owned(),
        format!("{} unreachable", node.address().unwrap_or("node")),
        2.0,
        vec![evidence(REDIS_REACHABLE, seen, Some(1.0), None)],
    )
    .with_rival(&RULE.rivals[1]);
    // Nobody but the exporter says so, and what it says may be about itself.
    breach.at_most(Confidence::Low).judged()
}

fn is_loading(scene: &Scene<'_>, node: &Subject) -> bool {
    scene.latest(node, REDIS_LOADING).is_some_and(|seen| seen.value > 0.5)
}

/// A node that answers us and nobody else, because it still loads its data.
fn loading(scene: &Scene<'_>, node: &Subject, answers: Seen) -> Judgement {
    let shard = node.parent().unwrap_or_else(|| node.clone());
    let breach = Breach::new(
        "loads its data: it answers us, and refuses every read with LOADING".to_owned(),
        format!("{} loading", node.address().unwrap_or("node")),
        2.0,
        vec![evidence(REDIS_LOADING, Seen { value: 1.0, at: answers.at }, Some(0.0), None)],
    )
    .certain();
    if scene.primary(&shard) == Some(node) {
        breach.judged()
    } else {
        breach.at_most(Confidence::Low).judged()
    }
}

/// Views that are counted: in a cluster of a thousand nodes a few dozen speak for all.
const COUNTED: usize = 32;

/// What the other nodes say of one, as far as their views hold; `None` where none gives a view, or where they call the
/// node by another address than we do.
fn by_views(scene: &Scene<'_>, node: &Subject, health: Option<NodeHealth>) -> Option<String> {
    let views = views(scene, &node.component_of());
    let others = views.iter().map(|(_, view)| view).filter(|view| view.node != *node);
    let others: Vec<&ClusterView> = others.take(COUNTED).map(|view| &**view).collect();
    let address = node.address()?;
    let names = |list: &[RemoteText]| list.iter().any(|named| named.as_str() == address);
    let failed = others.iter().filter(|view| names(&view.failed)).count();
    let suspecting = others.iter().filter(|view| names(&view.suspected)).count();
    let all = others.len();
    match (failed, suspecting) {
        _ if all == 0 => None,
        (0, 0) if health != Some(NodeHealth::Online) => None,
        (0, 0) => {
            Some(format!(", though the cluster says it is online ({all} of {})", counted(all as u64, "node")))
        }
        (0, some) => {
            Some(format!(", and {} it", counted_of(some as u64, all as u64, "node", ("suspects", "suspect"))))
        }
        (some, _) => {
            Some(format!(", and the cluster says it has failed ({some} of {})", counted(all as u64, "node")))
        }
    }
}

fn by_shape(health: Option<NodeHealth>) -> &'static str {
    match health {
        Some(NodeHealth::Online) => ", though the cluster says it is online",
        Some(NodeHealth::Failed) => ", and the cluster says it has failed",
        Some(NodeHealth::Suspected) => ", and the cluster suspects it",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Engine;
    use crate::metric::{REDIS_ANSWER_TIME, REDIS_REACHABLE};
    use crate::reading::{Event, ExportedNode, Input, Reading, Value};
    use crate::report::{Confidence, Verdict};
    use crate::settings::{Baselines, Settings};
    use crate::snapshot::Snapshot;
    use crate::subject::Subject;
    use crate::text::RemoteText;
    use crate::time::Moment;

    /// What exporters say for six seconds, of which the nodes that are `down` answer theirs for three.
    fn told(down: &[&str]) -> std::sync::Arc<Snapshot> {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        for second in 0..6 {
            for (address, follows) in [("a:1", None), ("b:1", Some("a:1")), ("c:1", None)] {
                let node: Subject = format!("redis/f@{address}").parse().unwrap();
                let mut reading = Reading::new(node.clone(), Moment(second * 1_000));
                let is_up = second < 3 || !down.contains(&address);
                reading.sample(&node, REDIS_REACHABLE, Value::Gauge(f64::from(u8::from(is_up))));
                if is_up {
                    reading.sample(&node, REDIS_ANSWER_TIME, Value::Gauge(0.001));
                    let follows = follows.map(RemoteText::new);
                    let primary = follows.is_none();
                    reading.events.push(Event::Exported(ExportedNode {
                        node,
                        primary,
                        port: Some(1),
                        follows,
                    }));
                }
                engine.take(&Input::Reading(reading));
            }
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        engine.snapshot().unwrap()
    }

    /// What the rule says of each node.
    fn states(down: &[&str]) -> Vec<(String, &'static str)> {
        let snapshot = told(down);
        let rows = snapshot.rules.iter().filter(|row| row.rule == super::RULE.id);
        rows.map(|row| (row.subject.to_string(), row.state)).collect()
    }

    #[test]
    fn a_node_that_does_not_answer_its_exporter_is_unreachable_unless_none_does() {
        let of = |down: &[&str]| states(down).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
        let nodes: Vec<String> = states(&[]).into_iter().map(|(node, _)| node).collect();
        assert_eq!(nodes, ["redis/f#0@a:1", "redis/f#0@b:1", "redis/f#1@c:1"]);
        assert_eq!(of(&[]), ["clear"; 3]);
        assert_eq!(of(&["a:1"]), ["firing", "clear", "clear"]);
        assert_eq!(of(&["c:1"]), ["clear", "clear", "firing"]);
        assert_eq!(of(&["a:1", "b:1", "c:1"]), ["unknown"; 3]);
    }

    #[test]
    fn a_primary_of_which_only_its_exporter_says_so_is_a_suspect_at_most() {
        let snapshot = told(&["a:1"]);
        let [suspect] = snapshot.report.suspects.as_slice() else { panic!("{:?}", snapshot.report.suspects) };
        assert_eq!((suspect.subject.as_str(), suspect.confidence), ("redis/f#0@a:1", Confidence::Low));
        assert_ne!(suspect.verdict, Verdict::Guilty);
        assert!(
            suspect.sentence.contains("whose own password or network may be wrong"),
            "{}",
            suspect.sentence
        );
        let [rival] = suspect.rivals.as_slice() else { panic!("{:?}", suspect.rivals) };
        assert!(rival.told_by.contains("the exporter's log"), "{}", rival.told_by);
    }
}
