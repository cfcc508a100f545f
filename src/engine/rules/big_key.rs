//! A key on a troubled shard is big.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::Unit;
use crate::quantity::show;
use crate::reading::{KeySize, ScanState};
use crate::report::{Confidence, KeyEvidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::Subject;

/// The id of the rule, which others ask for by name.
pub(crate) const ID: &str = "big-key";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a key on a troubled shard is big",
    doc: "On a shard that is hot, saturated, short of bandwidth, slow to answer or busy with slow commands, a \
          scan found a value of at least 512 KiB or a collection of at least 5000 elements. On a shard without \
          trouble a big key is no finding, and alone it convicts nobody, because its size does not say who reads \
          it: it names the key behind what the shard is short of. The scan reads on a replica where there is one, within a budget of \
          server CPU. A deployment that stores KV-cache blocks sets the limit to 16 MiB.",
    next: "see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a \
           smaller encoding; delete it with UNLINK, never with DEL",
    watches: Watches::Shards,
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "bytes",
            default: 524_288.0,
            unit: Unit::Bytes,
            help: "size of a value; half a megabyte takes 5 ms of a gigabit link",
        },
        Threshold {
            name: "critical_bytes",
            default: 1_048_576.0,
            unit: Unit::Bytes,
            help: "size of a value from which a few reads a second fill a link",
        },
        Threshold {
            name: "elements",
            default: 5_000.0,
            unit: Unit::Count,
            help: "elements of a collection; reading it whole blocks the executing thread",
        },
    ],
    rivals: &[RivalRow { rule: "hot-key", told_by: "reads a second of the key" }],
    absorbs: &[],
    judge,
};

/// The troubles that make a big key matter, and that a scan can explain.
pub(crate) const TROUBLES: &[&str] =
    &["shard-hot", "shard-saturated", "shard-bandwidth", "slow-to-answer", "slow-commands"];

fn judge(scene: &Scene<'_>, shard: &Subject, limits: &Limits<'_>) -> Judgement {
    if !scene.findings.stirring(TROUBLES, shard) {
        return Judgement::Clear("the shard is not in trouble, so its keys are not in question".to_owned());
    }
    let Some(scan) = scene.world.keyspace().scan(shard, scene.now) else {
        return Judgement::Unknown("no scan of its keys yet".to_owned());
    };
    let is_big = |key: &&KeySize| {
        key.bytes as f64 >= limits.of("bytes")
            || (key.kind.as_str() != "string"
                && key.elements.is_some_and(|elements| elements as f64 >= limits.of("elements")))
    };
    let big: Vec<&KeySize> = scan.biggest.iter().filter(is_big).collect();
    let Some(biggest) = big.first() else {
        let seen = format!("{} of {} keys looked at, none is big", scan.scanned, scan.total);
        return match &scan.state {
            ScanState::Complete => Judgement::Clear(seen),
            ScanState::Running => Judgement::Unknown(format!("{seen} so far")),
            ScanState::Paused => Judgement::Unknown(format!("{seen} so far; the scan is paused")),
            ScanState::Stopped(why) => Judgement::Unknown(format!("{seen}; the scan ended early: {why}")),
        };
    };
    let critical = if biggest.bytes as f64 >= limits.of("critical_bytes") { ", critical" } else { "" };
    let more = if big.len() > 1 { format!(" and {} more", big.len() - 1) } else { String::new() };
    let mut breach = Breach::new(
        format!("{} holds {}{critical}{more}", biggest.key, show(biggest.bytes as f64, Unit::Bytes)),
        format!("{} {}", biggest.key, show(biggest.bytes as f64, Unit::Bytes)),
        biggest.bytes as f64 / limits.of("bytes"),
        vec![named_evidence(
            format!("bytes of {}", biggest.key),
            Unit::Bytes,
            Seen { value: biggest.bytes as f64, at: scene.now },
            Some(limits.of("bytes")),
            None,
        )],
    )
    .certain()
    // Nothing here says that anybody reads it: alone it convicts nobody.
    .with_rival(&RULE.rivals[0])
    .at_most(Confidence::Low);
    breach.keys = big.iter().take(5).map(|key| named(key, shard)).collect();
    breach.judged()
}

fn named(key: &KeySize, shard: &Subject) -> KeyEvidence {
    let what = match key.elements {
        Some(elements) if key.kind.as_str() != "string" => format!("big {}, {elements} elements", key.kind),
        _ => format!("big {}", key.kind),
    };
    KeyEvidence {
        key: key.key.clone(),
        bytes: Some(key.bytes),
        slot: Some(key.slot),
        shard: shard.clone(),
        what,
    }
}
