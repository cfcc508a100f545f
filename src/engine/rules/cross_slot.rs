//! A cluster refuses or redirects what clients ask, because of where keys live.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::{Finding, State};
use crate::metric::{REDIS_ANSWER_TIME, REDIS_ERRORS, REDIS_OUR_COMMANDS, Unit};
use crate::quantity::show;
use crate::reading::ScanState;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

pub(super) static RULE: Rule = Rule {
    id: "cross-slot",
    title: "the cluster refuses or redirects what clients ask",
    doc: "Replies that only a cluster gives are counted, by the servers themselves. At least one a second, and twice as \
          many as usual, of CROSSSLOT (one command with keys of several slots), CLUSTERDOWN (slots without a server) or \
          TRYAGAIN (keys of one command are split while a slot moves); or MOVED and ASK that are at least 1 % of the \
          commands too: clients with an old map of the slots, or, while callers suffer, slots that move now. Which of \
          them it is says what happened; below 0.1 % of the commands it may be one job of many, and is worth less. Our own commands name no \
          keys, but for scans: what those may have met is left out. A proxy splits such \
          commands in silence: then none of these rise, but commands and bytes a request do, which access-changed \
          sees. Servers older than 6.2 do not count errors, so being clear clears nobody.",
    next: "CROSSSLOT: give keys that are read together one hash tag, or ask for them one by one; MOVED: see which \
           client does not renew its map; ASK and TRYAGAIN: let the move of slots end, or stop it; CLUSTERDOWN: bring \
           back who owns the slots",
    watches: Watches::Those {
        kinds: &[Kind::Redis],
        which: "that is a cluster",
        are: |scene, redis| scene.world.topologies().any(|known| known.cluster == *redis && known.clustered),
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "floor",
            default: 1.0,
            unit: Unit::PerSecond,
            help: "replies a second below which it is a single client's mistake",
        },
        Threshold {
            name: "share",
            default: 0.01,
            unit: Unit::Ratio,
            help: "share of all commands that are redirected from which it is more than clients that learn",
        },
        Threshold {
            name: "much",
            default: 0.001,
            unit: Unit::Ratio,
            help: "share of all commands below which it may be one caller of many, and is worth less",
        },
        Threshold {
            name: "rise",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of the healthy replies of the kind: some callers have them at any time",
        },
    ],
    rivals: &[
        RivalRow { rule: "topology-split", told_by: "whether all nodes name the same owner for each slot" },
        RivalRow { rule: "slots-uncovered", told_by: "whether each slot has an owner that answers" },
        RivalRow { rule: "recent-change", told_by: "what was changed in who sends these commands" },
    ],
    absorbs: &["access-changed"],
    judge,
};

/// A reply of a cluster, with the incident that it tells of.
struct ReplyRow {
    word: &'static str,
    means: &'static str,
    /// Whether it is a redirection, of which some are healthy.
    redirects: bool,
    /// A rule that would explain it, as long as that rule does not say that all is well.
    rival: Option<&'static str>,
}

/// The replies, the gravest first: of several it names the first.
const REPLIES: &[ReplyRow] = &[
    ReplyRow {
        word: "CLUSTERDOWN",
        means: "slots have no server",
        redirects: false,
        rival: Some("slots-uncovered"),
    },
    ReplyRow {
        word: "CROSSSLOT",
        means: "commands name keys of several slots, and are refused",
        redirects: false,
        rival: None,
    },
    ReplyRow {
        word: "TRYAGAIN",
        means: "commands name keys of which a part has moved already",
        redirects: false,
        rival: None,
    },
    ReplyRow { word: "ASK", means: "slots are being moved now", redirects: true, rival: None },
    ReplyRow {
        word: "MOVED",
        means: "clients ask the wrong node: their map of the slots is old",
        redirects: true,
        rival: Some("topology-split"),
    },
];

/// The reply that leads a client after a slot on the move.
const MOVES: &str = "ASK";

/// Whether no caller is known to suffer.
fn is_calm(scene: &Scene<'_>) -> bool {
    let is_symptom =
        |finding: &Finding| finding.rule.nature == Nature::Symptom && finding.state == State::Firing;
    !scene.findings.iter().any(is_symptom)
}

/// The word under which a server says that it has stopped counting errors.
const NOT_COUNTED: &str = "ERRORSTATS_DISABLED";

fn judge(scene: &Scene<'_>, redis: &Subject, limits: &Limits<'_>) -> Judgement {
    let nodes: Vec<&Subject> =
        scene.world.shards(redis).iter().flat_map(|shard| &shard.nodes).map(|node| &node.subject).collect();
    if !nodes.iter().any(|node| scene.latest(node, REDIS_ANSWER_TIME).is_some()) {
        return Judgement::Unknown(scene.missing(redis));
    }
    let commands = scene.commands(redis).map_or(0.0, |seen| seen.value);
    let is_calm = is_calm(scene);
    let mut may_be_ours = None;
    let mut passed: Vec<(&ReplyRow, Seen, f64)> = vec![];
    let mut most: Option<(&ReplyRow, f64)> = None;
    for row in REPLIES {
        let part = RemoteText::new(row.word);
        let counted = nodes.iter().filter_map(|node| replies(scene, node, &part));
        let Some(seen) = Seen::sum(counted) else { continue };
        if most.is_none_or(|(_, value)| seen.value > value) {
            most = Some((row, seen.value));
        }
        // A server leads clients after slots on the move by design: that is no trouble unless callers feel it.
        if seen.value < limits.of("floor") || (is_calm && row.word == MOVES) {
            continue;
        }
        let healthy: f64 = nodes
            .iter()
            .filter_map(|node| match row.redirects {
                true => scene.baseline(node, REDIS_ERRORS, Some(&part)),
                false => scene.past(node, REDIS_ERRORS, Some(&part)),
            })
            .map(|healthy| healthy.typical)
            .sum();
        let of_commands = if row.redirects { commands * limits.of("share") } else { 0.0 };
        let limit = of_commands.max(healthy * limits.of("rise")).max(limits.of("floor"));
        let ours: f64 = nodes.iter().map(|node| ours_at_most(scene, node, row)).sum();
        if seen.value - ours >= limit {
            passed.push((row, seen, limit));
        } else if seen.value >= limit {
            may_be_ours = Some((row, seen));
        }
    }
    if let (None, Some((row, seen))) = (passed.first(), may_be_ours) {
        return Judgement::Unknown(format!(
            "{} {}, and a scan of ours that runs now may have got them",
            row.word,
            show(seen.value, Unit::PerSecond)
        ));
    }
    let Some((row, seen, limit)) = passed.first() else { return without_any(scene, redis, &nodes, most) };
    let worst = nodes
        .iter()
        .filter_map(|node| Some((node, replies(scene, node, &RemoteText::new(row.word))?)))
        .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value));
    let place = worst.map_or(String::new(), |(node, seen)| {
        let rate = show(seen.value, Unit::PerSecond);
        format!(", most at {} ({rate})", node.address().unwrap_or("a node"))
    });
    let beside: Vec<String> = passed[1..]
        .iter()
        .map(|(row, seen, _)| format!("{} {}", row.word, show(seen.value, Unit::PerSecond)))
        .collect();
    let beside = if beside.is_empty() { String::new() } else { format!("; beside it {}", beside.join(", ")) };
    let numbers = passed.iter().map(|(row, seen, limit)| {
        named_evidence(
            format!("{}[{}]", REDIS_ERRORS.name(), row.word),
            Unit::PerSecond,
            *seen,
            Some(*limit),
            None,
        )
    });
    let breach = Breach::new(
        format!("{} {}{place}: {}{beside}", row.word, show(seen.value, Unit::PerSecond), row.means),
        format!("{} {}", row.word, show(seen.value, Unit::PerSecond)),
        seen.value / limit,
        numbers.collect(),
    );
    let breach = match seen.value < commands * limits.of("much") {
        true => breach.at_most(Confidence::Medium),
        false => breach,
    };
    let open = row.rival.filter(|rule| !is_clear(scene, rule, redis));
    match open.and_then(|rule| RULE.rivals.iter().find(|known| known.rule == rule)) {
        Some(rival) => breach.at_most(Confidence::Medium).with_rival(rival).judged(),
        None => breach.judged(),
    }
}

fn without_any(
    scene: &Scene<'_>,
    redis: &Subject,
    nodes: &[&Subject],
    most: Option<(&ReplyRow, f64)>,
) -> Judgement {
    let stopped = RemoteText::new(NOT_COUNTED);
    if let Some(node) =
        nodes.iter().find(|node| scene.store.latest(node, REDIS_ERRORS, Some(&stopped)).is_some())
    {
        return Judgement::Unknown(format!("{node} met too many kinds of errors and counts none any more"));
    }
    let unseen =
        scene.world.shards(redis).iter().find_map(|shard| {
            scene.unseen_primary(&shard.subject, |node| scene.latest(node, REDIS_ANSWER_TIME))
        });
    match (unseen, most) {
        (Some(missing), _) => Judgement::Unknown(missing),
        (None, Some((row, value))) => {
            Judgement::Clear(format!("{} {}, no more than usual", row.word, show(value, Unit::PerSecond)))
        }
        (None, None) => Judgement::Clear("no reply of a kind that only clusters give".to_owned()),
    }
}

/// Replies of one kind at a node.
fn replies(scene: &Scene<'_>, node: &Subject, part: &RemoteText) -> Option<Seen> {
    scene.present_part(node, REDIS_ERRORS, Some(part))
}

/// How many of these replies a scan of ours may have got at most. Its questions name one key each, so they are never
/// refused for naming several, and it knows of keys that were MOVED.
fn ours_at_most(scene: &Scene<'_>, node: &Subject, row: &ReplyRow) -> f64 {
    let scan = node.parent().and_then(|shard| scene.world.keyspace().newest_scan(&shard));
    let Some(scan) = scan.filter(|scan| scan.node == *node && scan.state == ScanState::Running) else {
        return 0.0;
    };
    if !row.redirects || (row.word == "MOVED" && scan.orphans == 0) {
        return 0.0;
    }
    scene.present(node, REDIS_OUR_COMMANDS).map_or(0.0, |ours| ours.value)
}

/// Whether a rule was evaluated on all of a deployment, and nothing of it stirs.
fn is_clear(scene: &Scene<'_>, rule: &str, redis: &Subject) -> bool {
    let mut of_it = scene
        .findings
        .iter()
        .filter(|finding| finding.rule.id == rule && redis.contains(&finding.subject))
        .peekable();
    of_it.peek().is_some() && of_it.all(|finding| matches!(finding.state, State::Clear(_)))
}
