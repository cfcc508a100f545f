//! Whether the data stores below a service are idle: in their thread, their bytes, and their time to answer.

use std::time::Duration;

use crate::findings::{Finding, State};
use crate::metric::{REDIS_ANSWER_TIME, REDIS_CLIENTS, Unit};
use crate::peers::typical;
use crate::quantity::show;
use crate::rules::Limits;
use crate::rules::rising::LATELY;
use crate::rules::shard_hot::node_busy;
use crate::rules::slow_to_answer::node_answer_time;
use crate::scene::Scene;
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::wording::baseline_words;

/// What is seen of the stores of a service.
#[derive(Debug)]
pub(super) enum Stores {
    /// Every shard is idle in all three senses.
    Idle(String),
    /// One takes long to answer, with nothing that shows why: how its connections are used tells whose time it is.
    Slow(String),
    /// One is not, with which and why.
    Busy(String),
    /// One was not seen, with what is missing.
    Unseen(String),
}

/// Findings on a shard that make it busy, whatever its numbers are: of its thread, its bytes, and of
/// slots that nobody serves, and pauses in which it does nothing else; those of the last minute too, because who gave up
/// waiting is counted as long. A slow log of ten minutes says nothing of now.
const BUSY: &[&str] =
    &["shard-saturated", "shard-hot", "shard-bandwidth", "slots-uncovered", "fork-stall", "expiry-herd"];

/// The finding that a shard answers us late, which convicts nobody alone.
const LATE: &str = "slow-to-answer";

/// The finding that makes a primary busy; a replica that is gone keeps nobody waiting.
const GONE: &str = "node-unreachable";

/// A count of connections stands still when its interquartile range is at most this share of its median.
const FLAT: f64 = 0.05;
const FLAT_FOR: Duration = Duration::from_secs(30);
const LEAST_POINTS: usize = 5;

/// Whether every shard of every Redis that a service calls is idle.
pub(super) fn of_stores(scene: &Scene<'_>, service: &Subject, limits: &Limits<'_>) -> Stores {
    let stores: Vec<&Subject> = redis_below(scene, service).collect();
    if stores.is_empty() {
        return Stores::Unseen("no Redis is seen below it".to_owned());
    }
    let (mut thread, mut answer, mut unseen, mut slow) = (0.0_f64, 0.0_f64, None, None);
    for shard in stores.iter().flat_map(|store| scene.world.shards(store)).map(|shard| &shard.subject) {
        if let Some(rule) = BUSY.iter().find(|rule| scene.findings.stirring(&[rule], shard)) {
            return Stores::Busy(format!("{shard} is not idle ({rule})"));
        }
        let ended = |rule: &&&str| {
            let until = scene.findings.get(rule, shard).and_then(Finding::until);
            until.is_some_and(|until| scene.now.since(until) <= LATELY)
        };
        if let Some(rule) = BUSY.iter().find(ended) {
            return Stores::Busy(format!("{shard} was not idle in the last minute ({rule})"));
        }
        let primary = scene.primary(shard);
        let gone = primary.and_then(|node| scene.findings.get(GONE, node)).filter(|gone| gone.counts());
        match gone.map(Finding::until) {
            Some(None) => {
                return Stores::Busy(format!("the primary of {shard} is not to be reached ({GONE})"));
            }
            Some(Some(until)) if scene.now.since(until) <= LATELY => {
                return Stores::Busy(format!(
                    "the primary of {shard} was not to be reached in the last minute ({GONE})"
                ));
            }
            _ => {}
        }
        let busy = primary.and_then(|node| node_busy(scene, node));
        let answers = primary.and_then(|node| node_answer_time(scene, node));
        if let Some(busy) = busy.filter(|busy| busy.value >= limits.of("thread")) {
            return Stores::Busy(format!("the thread of {shard} is {} busy", show(busy.value, Unit::Ratio)));
        }
        let usual = primary.and_then(|node| scene.baseline(node, REDIS_ANSWER_TIME, None));
        if let Some(answers) = answers {
            let shown = show(answers.value, Unit::Seconds);
            let is_risen = usual.is_some_and(|usual| {
                answers.value >= limits.of("rise_floor").max(usual.typical * limits.of("rise"))
            });
            if answers.value >= limits.of("answer") || scene.findings.stirring(&[LATE], shard) {
                slow = Some(format!("{shard} answers in {shown}"));
            } else if let Some(usual) = usual.filter(|_| is_risen) {
                let before = show(usual.typical, Unit::Seconds);
                slow = Some(format!("{shard} answers in {shown}, {} {before}", baseline_words(usual.from)));
            } else if usual.is_none() && answers.value >= limits.of("rise_floor") {
                unseen = Some(format!("{shard} answers in {shown}, and nothing says what is usual"));
                continue;
            }
        }
        let bytes = scene.findings.get("shard-bandwidth", shard).map(|finding| &finding.state);
        match (busy, answers, bytes) {
            (Some(busy), Some(answers), Some(State::Clear(_) | State::Ended(_))) => {
                thread = thread.max(busy.value);
                answer = answer.max(answers.value);
            }
            (_, _, Some(State::Unknown(missing))) => unseen = Some(format!("{shard}: {missing}")),
            _ => unseen = Some(format!("{shard}: {}", scene.missing(shard))),
        }
    }
    if scene.observer_is_late().is_some() {
        unseen = scene.observer_is_late();
    }
    match (unseen, slow) {
        (Some(missing), _) => Stores::Unseen(missing),
        (None, Some(why)) => Stores::Slow(why),
        (None, None) if stores.iter().all(|store| scene.world.shards(store).is_empty()) => {
            Stores::Unseen("the shape of its Redis is not known".to_owned())
        }
        (None, None) => Stores::Idle(format!(
            "every shard of {} is idle (busiest thread {}, slowest answer {}, no link full)",
            stores.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            show(thread, Unit::Ratio),
            show(answer, Unit::Seconds)
        )),
    }
}

/// The store below a service whose count of connections stands still, with that count over its primaries; `None` where
/// it moves, or too little was seen.
pub(super) fn flat_connections(scene: &Scene<'_>, service: &Subject) -> Option<(Subject, Seen)> {
    redis_below(scene, service).find_map(|store| {
        let mut sum = 0.0;
        for shard in scene.world.shards(store) {
            let points = scene.store.points(scene.primary(&shard.subject)?, REDIS_CLIENTS, None)?;
            let lately = points.since(scene.now - FLAT_FOR).map(|seen| seen.value);
            let (median, spread, count) = typical(lately)?;
            if count < LEAST_POINTS || spread > median * FLAT {
                return None;
            }
            sum += median;
        }
        (sum > 0.0).then(|| (store.clone(), Seen { value: sum, at: scene.now }))
    })
}

fn redis_below<'a>(scene: &'a Scene<'_>, service: &'a Subject) -> impl Iterator<Item = &'a Subject> {
    scene.graph.callees(service).filter(|callee| callee.kind() == Kind::Redis)
}
