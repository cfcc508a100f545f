//! Loops that keep a failure going: which findings make one, and where it is cheapest to break.

use crate::findings::Finding;
use crate::report::{FeedbackLoop, LoopPart, Role, Suspect};
use crate::rules::{QUEUE_NOT_COMPUTE, RETRY_STORM};
use crate::scene::Scene;
use crate::subject::Subject;

/// A loop that is known.
struct LoopRow {
    name: &'static str,
    how: &'static str,
    /// What each part is seen by: rule ids, of which one is enough. All parts must be there.
    parts: &'static [&'static [&'static str]],
    /// The part at which it is cheapest to break.
    break_at: usize,
    break_by: &'static str,
}

/// Every loop that is known, the more specific before those that they hold. A rule that sees a part of one is added to
/// its parts; a loop is one more row.
static LOOPS: &[LoopRow] = &[
    LoopRow {
        name: "queue and retries",
        how: "requests wait in the queue until their callers give up and ask again, and each asks for a place in it",
        parts: &[&[QUEUE_NOT_COMPUTE], &[RETRY_STORM]],
        break_at: 0,
        break_by: "answer 503 with Retry-After 1 s at 80 % of the queue, so that nobody waits for what he has given \
                   up; then bound the retries",
    },
    LoopRow {
        name: "retry storm",
        how: "slow or failed requests are sent again, and the more are sent the more are slow",
        parts: &[&[RETRY_STORM]],
        break_at: 0,
        break_by: "bound the retries: two or three, after 100, 400 and 900 ms with jitter, and only within a tenth \
                   of the originals",
    },
];

/// The loops that are seen: the first row of which every part is there.
pub(super) fn seen(scene: &Scene<'_>, suspects: &[Suspect]) -> Vec<FeedbackLoop> {
    LOOPS.iter().find_map(|row| of_row(scene, row, suspects)).into_iter().collect()
}

/// What to do about a loop that outlives what began it: its trigger is no longer the handle.
pub(super) fn next_step(loops: &[FeedbackLoop]) -> Option<String> {
    let alone = loops.iter().find(|known| known.outlives_its_trigger())?;
    let trigger = alone.trigger.as_ref()?;
    Some(format!(
        "{} began it and is over; the {} goes on by itself, so break it at {}: {}",
        trigger.subject, alone.name, alone.break_at, alone.break_by
    ))
}

fn of_row(scene: &Scene<'_>, row: &LoopRow, suspects: &[Suspect]) -> Option<FeedbackLoop> {
    let parts: Vec<LoopPart> =
        row.parts.iter().map(|rules| part(scene, rules)).collect::<Option<Vec<_>>>()?;
    let is_part = |subject: &Subject| parts.iter().any(|part| part.subject == *subject);
    // What was convicted as the beginning is the trigger; else what may be it.
    let trigger = suspects
        .iter()
        .filter(|suspect| suspect.role == Role::Trigger && !is_part(&suspect.subject))
        .map(|suspect| LoopPart {
            subject: suspect.subject.clone(),
            rule: suspect.rule.clone(),
            until: suspect.until,
        })
        .next();
    Some(FeedbackLoop {
        name: row.name.to_owned(),
        how: row.how.to_owned(),
        trigger,
        break_at: parts.get(row.break_at)?.subject.clone(),
        break_by: row.break_by.to_owned(),
        parts,
    })
}

/// The worst finding of one of these rules that goes on.
fn part(scene: &Scene<'_>, rules: &[&str]) -> Option<LoopPart> {
    let severity = |finding: &&Finding| finding.breach.as_ref().map_or(0.0, |breach| breach.severity);
    let worst = scene
        .findings
        .iter()
        .filter(|finding| rules.contains(&finding.rule.id) && finding.counts() && finding.until().is_none())
        .max_by(|one, other| severity(one).total_cmp(&severity(other)))?;
    Some(LoopPart { subject: worst.subject.clone(), rule: worst.rule.id.to_owned(), until: None })
}
