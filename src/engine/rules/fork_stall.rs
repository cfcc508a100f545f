//! A fork stopped a node's executing thread.

use std::time::Duration;

use super::hit_but_slow::operation_names;
use super::slow_commands::is_readable;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::State;
use crate::metric::{
    DB_DURATION, DB_TIMEOUTS, Metric, REDIS_ANSWER_TIME, REDIS_EXPIRE_CAPPED, REDIS_FORK_TIME, REDIS_FORKS,
    REDIS_MEMORY, Unit,
};
use crate::peers::typical;
use crate::quantity::show;
use crate::reading::Shard;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "fork-stall",
    title: "a fork stopped a node's executing thread",
    doc: "A node forked, as its count of forks says, and the fork took at least 200 ms; or it took at least 20 ms and \
          in that second callers of it or our own question waited at least half as long (or gave up), and three times as long as \
          in the minute before. Redis copies the page tables of its memory on the thread that executes commands, so \
          everything that it is asked meanwhile waits, and the slow log shows none of it. The time grows with the \
          memory: 10 to 20 ms a GB are usual, and more (huge pages, a virtual machine) only explains. A fork that \
          nobody felt is healthy, and that of a replica which nobody was seen to wait for is a hint: saving there is what \
          replicas are for. Without a new fork the time of the last one convicts nobody, because it does not \
          say when that was.",
    next: "see what forks (a save, a rewrite of the append-only file, a replica's full copy) and whether it repeats: \
           move it to a replica or to a quiet hour, and switch transparent huge pages off",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "stall",
            default: 0.2,
            unit: Unit::Seconds,
            help: "duration of a fork that callers feel, whatever else was seen: many wait no longer for a read",
        },
        Threshold {
            name: "felt",
            default: 0.02,
            unit: Unit::Seconds,
            help: "duration from which a fork counts where somebody was seen to wait for it; shorter is a hiccup",
        },
        Threshold {
            name: "step",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the wait of the minute before that shows that somebody waited",
        },
    ],
    rivals: &[
        RivalRow { rule: "slow-commands", told_by: "the slow log of that second" },
        RivalRow { rule: "expiry-herd", told_by: "keys that expired in that second" },
    ],
    absorbs: &["slow-to-answer", "hit-but-slow"],
    judge,
};

/// How far back forks are looked for: most that repeat do so within a quarter of an hour.
const SPAN: Duration = Duration::from_secs(900);

/// For this long after it what waited for a fork is still in queues.
const LASTS: Duration = Duration::from_secs(10);

/// The minute before a fork, with which its second is compared.
const BEFORE: Duration = Duration::from_secs(60);

/// Forks of one node that are looked at, the newest.
const LOOKED_AT: usize = 20;

/// Look-ups a second from which somebody reads from a node.
const LEAST_READS: f64 = 1.0;

/// A fork that was counted while we looked.
struct Fork {
    node: Subject,
    at: Moment,
    took: f64,
}

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let Some(place) = scene.world.shard(shard) else {
        return Judgement::Unknown("no such shard any more".to_owned());
    };
    // Forks are rare: where none was lately, those before need not be looked for.
    let lately = scene.now - LASTS;
    if !place.nodes.iter().any(|node| rose_between(scene, &node.subject, REDIS_FORKS, lately, scene.now)) {
        return without_a_stall(scene, shard, limits);
    }
    let mut stalls: Vec<(Fork, Option<String>)> = vec![];
    for node in &place.nodes {
        for fork in forks(scene, &node.subject) {
            if fork.took >= limits.of("stall") {
                stalls.push((fork, None));
            } else if fork.took >= limits.of("felt")
                && let Some(felt) = felt(scene, shard, &fork, limits)
            {
                stalls.push((fork, Some(felt)));
            }
        }
    }
    stalls.sort_by_key(|(fork, _)| fork.at);
    // Of several just now the one counts for which somebody waits.
    let last = stalls
        .iter()
        .filter(|(fork, _)| fork.at >= lately)
        .max_by_key(|(fork, felt)| (is_waited_for(scene, place, fork, felt.is_some()), fork.at));
    let Some((fork, felt)) = last else { return without_a_stall(scene, shard, limits) };
    let first = stalls.first().map_or(fork.at, |(first, _)| first.at);
    let took = show(fork.took, Unit::Seconds);
    let limit = if felt.is_some() { limits.of("felt") } else { limits.of("stall") };
    let seen = Seen { value: fork.took, at: fork.at };
    let mut numbers = vec![evidence(REDIS_FORK_TIME, seen, Some(limit), None)];
    let memory = scene.latest(&fork.node, REDIS_MEMORY).filter(|memory| memory.value >= 1e8);
    let each = memory.map(|memory| fork.took / (memory.value / 1e9));
    numbers.extend(each.map(|each| {
        let seen = Seen { value: each, at: fork.at };
        named_evidence("time of a fork for each GB".to_owned(), Unit::Seconds, seen, None, None)
    }));
    let moments: Vec<Moment> = stalls.iter().map(|(fork, _)| fork.at).collect();
    let mut breach = Breach::new(
        format!(
            "a fork at {} stopped {} for {took}{}{}{}",
            fork.at.clock(),
            fork.node.address().unwrap_or("its node"),
            each.map_or(String::new(), |each| format!(", {} for each GB", show(each, Unit::Seconds))),
            felt.as_ref().map_or(String::new(), |felt| format!("; {felt}")),
            repeats(&moments),
        ),
        format!("#{} fork {took}", shard.shard_index().unwrap_or(0)),
        fork.took / limit,
        numbers,
    )
    .dated(first);
    if !is_waited_for(scene, place, fork, felt.is_some()) {
        breach = breach.at_most(Confidence::Low);
    } else if felt.is_some() {
        breach = breach.at_most(Confidence::Medium);
    }
    if felt.is_some() {
        for (row, is_excluded) in
            RULE.rivals.iter().zip([no_command_ran(scene, fork), nothing_expired(scene, fork)])
        {
            if !is_excluded {
                breach = breach.with_rival(row);
            }
        }
    }
    breach.judged()
}

/// Whether a count rose between two moments.
fn rose_between(scene: &Scene<'_>, subject: &Subject, count: Metric, from: Moment, to: Moment) -> bool {
    let points = scene.store.points(subject, count, None);
    points.is_some_and(|points| {
        points.since(from).take_while(|seen| seen.at <= to).any(|seen| seen.value > 0.0)
    })
}

/// Whether anybody waits for a node that forks. A replica is there to fork in a primary's place: only those wait who are
/// known to read from it, and to have waited where the primary could have answered them.
fn is_waited_for(scene: &Scene<'_>, shard: &Shard, fork: &Fork, is_felt: bool) -> bool {
    let is_alive = |node: &Subject| scene.latest(node, REDIS_ANSWER_TIME).is_some();
    let mut primaries = shard.nodes.iter().filter(|node| node.primary).map(|node| &node.subject);
    if primaries.clone().any(|primary| *primary == fork.node) {
        return true;
    }
    let is_read = scene.look_ups(&fork.node).is_some_and(|seen| seen.value >= LEAST_READS);
    is_read && (is_felt || !primaries.any(is_alive))
}

/// What is said where no fork stalled lately.
fn without_a_stall(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    let counted = |node: &Subject| scene.latest(node, REDIS_FORKS).and(scene.latest(node, REDIS_FORK_TIME));
    if let Some(missing) = scene.unseen_primary(shard, counted) {
        return Judgement::Unknown(missing);
    }
    let Some((_, longest)) = scene.worst_node(shard, counted) else {
        return Judgement::Unknown(scene.missing(shard));
    };
    let took = show(longest.value, Unit::Seconds);
    // Who came after the callers began to suffer cannot say that the last fork was not what they suffer from.
    let came_late = scene.findings.iter().any(|finding| {
        finding.rule.nature == Nature::Symptom && finding.state == State::Firing && finding.since.before
    });
    if came_late && longest.value >= limits.of("stall") {
        return Judgement::Unknown(format!("the last fork took {took}, and it was before anybody looked"));
    }
    if longest.value <= 0.0 {
        return Judgement::Clear("it has not forked".to_owned());
    }
    Judgement::Clear(format!("no fork that anybody felt; the last took {took}"))
}

/// The forks of a node in the last quarter of an hour, oldest first. Of several within one answer the last is timed.
fn forks(scene: &Scene<'_>, node: &Subject) -> Vec<Fork> {
    let (Some(counted), Some(times)) =
        (scene.store.points(node, REDIS_FORKS, None), scene.store.points(node, REDIS_FORK_TIME, None))
    else {
        return vec![];
    };
    let new =
        counted.newest_first().take_while(|seen| seen.at >= scene.now - SPAN).filter(|seen| seen.value > 0.0);
    let mut forks: Vec<Fork> = new
        .take(LOOKED_AT)
        .filter_map(|seen| {
            let took = times.trace().latest_at(seen.at)?;
            Some(Fork { node: node.clone(), at: seen.at, took: took.value })
        })
        .collect();
    forks.reverse();
    forks
}

/// Who was seen to wait for a fork, if anybody was: our own question, or callers.
fn felt(scene: &Scene<'_>, shard: &Subject, fork: &Fork, limits: &Limits<'_>) -> Option<String> {
    let interval = scene.settings.interval;
    let (from, to) = (fork.at - interval * 2, fork.at + interval);
    let is_step =
        |during: f64, before: f64, least: f64| during >= least && during >= before * limits.of("step");
    let half = fork.took * 0.5;
    if let Some(answers) = scene.store.points(&fork.node, REDIS_ANSWER_TIME, None) {
        let during =
            answers.since(from).take_while(|seen| seen.at <= to).map(|seen| seen.value).reduce(f64::max);
        let before = answers.since(fork.at - BEFORE).take_while(|seen| seen.at < from).map(|seen| seen.value);
        if let (Some(during), Some((before, ..))) = (during, typical(before))
            && is_step(during, before, half)
        {
            let (during, before) = (show(during, Unit::Seconds), show(before, Unit::Seconds));
            return Some(format!("it answered in {during} then, {before} before"));
        }
    }
    // Where it forks again and again the time before has forks too: its slow reads are those, and the others are usual.
    let (usual, called) = match rose_between(scene, &fork.node, REDIS_FORKS, fork.at - BEFORE, from) {
        true => (0.5, "before (median)"),
        false => (0.99, "before"),
    };
    let callers = scene.graph.above(&shard.component_of()).into_keys();
    callers.filter(|caller| *caller != shard.component_of()).find_map(|caller| {
        // Who gives up early waits no longer than that, however long the fork was.
        let gives_up =
            scene.world.parts(&caller).any(|(part, _)| rose_between(scene, part, DB_TIMEOUTS, from, to));
        let (least, lost) = match gives_up {
            true => (half.min(limits.of("felt")), ", and some were given up"),
            false => (half, ""),
        };
        operation_names(scene, &caller).into_iter().find_map(|name| {
            let read = |quantile, from, to| {
                scene
                    .distribution_between(&caller, DB_DURATION, name.as_ref(), from, to)?
                    .percentile(quantile)
            };
            let (during, before) = (read(0.99, from, to)?, read(usual, fork.at - BEFORE, from)?);
            (!during.is_only_a_bound() && is_step(during.number(), before.number(), least)).then(|| {
                let (during, before) =
                    (show(during.number(), Unit::Seconds), show(before.number(), Unit::Seconds));
                format!("reads of {caller} took {during} (p99) then, {before} {called}{lost}")
            })
        })
    })
}

/// How often forks stalled, where more than one did, and how far apart they are.
fn repeats(at: &[Moment]) -> String {
    let gaps = at.windows(2).map(|pair| pair[1].seconds_after(pair[0]));
    let Some((gap, spread, _)) = typical(gaps) else { return String::new() };
    let every = show(gap.round(), Unit::Seconds);
    if at.len() > 2 && spread <= gap * 0.2 {
        format!("; the last of {}, one every {every}", at.len())
    } else {
        format!("; the last of {} in 15 min", at.len())
    }
}

/// Whether the slow log shows that no command held the thread at that moment.
fn no_command_ran(scene: &Scene<'_>, fork: &Fork) -> bool {
    let near = |at: Moment| at.since(fork.at).max(fork.at.since(at)) <= Duration::from_secs(2);
    is_readable(scene, &fork.node) && !scene.world.slow_logs().of(&fork.node).any(|command| near(command.at))
}

/// Whether the expiry cycles had time enough at that moment.
fn nothing_expired(scene: &Scene<'_>, fork: &Fork) -> bool {
    let Some(capped) = scene.store.points(&fork.node, REDIS_EXPIRE_CAPPED, None) else { return false };
    let interval = scene.settings.interval;
    let mut near =
        capped.since(fork.at - interval).take_while(|seen| seen.at <= fork.at + interval).peekable();
    near.peek().is_some() && near.all(|seen| seen.value <= 0.0)
}
