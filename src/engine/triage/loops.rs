//! Loops that keep a failure going: which findings make one, and where it is cheapest to break.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::findings::Finding;
use crate::report::{Confidence, FeedbackLoop, LoopPart, Role, Suspect};
use crate::rules::{QUEUE_NOT_COMPUTE, RETRY_STORM};
use crate::scene::Scene;
use crate::subject::Subject;

/// A loop that is known.
struct LoopRow {
    name: &'static str,
    how: &'static str,
    /// What each part is seen by: rule ids, of which one is enough. All parts must be there, and the others must be
    /// linked by calls with the last, at which the loop turns.
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

/// A part that ended so lately may come again at once: where to break a loop must not change from look to look.
const FLICKERS: Duration = Duration::from_secs(30);

/// The loops that are seen, of each turn the first row of which every part is there.
pub(super) fn seen(scene: &Scene<'_>, suspects: &[Suspect]) -> Vec<FeedbackLoop> {
    let mut loops: Vec<FeedbackLoop> = vec![];
    for row in LOOPS {
        let Some((turn, others)) = row.parts.split_last() else { continue };
        for turn in going_on(scene, turn, Duration::ZERO) {
            let is_part = |part: &LoopPart| part.subject == turn.subject && part.rule == turn.rule.id;
            if loops.iter().flat_map(|known| &known.parts).any(is_part) {
                continue;
            }
            let Some(seen) = of_turn(scene, row, turn, others, suspects) else { continue };
            // Two that turn at different callers and break at one place are one to whoever has to break it.
            let is_same = |known: &&mut FeedbackLoop| {
                (&known.name, &known.break_at, &known.trigger) == (&seen.name, &seen.break_at, &seen.trigger)
            };
            match loops.iter_mut().find(is_same) {
                Some(known) => known.parts.extend(seen.parts.into_iter().next_back()),
                None => loops.push(seen),
            }
        }
    }
    loops
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

/// A loop that turns at this finding, its last part.
fn of_turn(
    scene: &Scene<'_>,
    row: &LoopRow,
    turn: &Finding,
    others: &[&[&str]],
    suspects: &[Suspect],
) -> Option<FeedbackLoop> {
    let around = Around::of(scene, &turn.subject);
    let worst = |rules: &&[&str]| {
        let linked =
            going_on(scene, rules, FLICKERS).into_iter().find(|finding| around.contains(&finding.subject));
        linked.map(part)
    };
    let mut parts: Vec<LoopPart> = others.iter().map(worst).collect::<Option<_>>()?;
    parts.push(part(turn));
    let is_part = |subject: &Subject| parts.iter().any(|part| part.subject == *subject);
    // What is out of reach, or was over before callers suffered, began nothing: that is worth little as a suspect.
    let began = |suspect: &&Suspect| {
        suspect.role == Role::Trigger
            && suspect.confidence > Confidence::Low
            && !is_part(&suspect.subject)
            && around.contains(&suspect.subject)
    };
    let trigger = suspects.iter().find(began).map(|suspect| LoopPart {
        subject: suspect.subject.clone(),
        rule: suspect.rule.clone(),
        until: suspect.until,
    });
    Some(FeedbackLoop {
        name: row.name.to_owned(),
        how: row.how.to_owned(),
        trigger,
        break_at: parts.get(row.break_at)?.subject.clone(),
        break_by: row.break_by.to_owned(),
        parts,
    })
}

/// What a component calls and what calls it, itself included: only there can it be in a loop.
struct Around(BTreeSet<Subject>);

impl Around {
    fn of(scene: &Scene<'_>, subject: &Subject) -> Self {
        let component = subject.component_of();
        let (below, above) = (scene.graph.below(&component), scene.graph.above(&component));
        Self(below.into_keys().chain(above.into_keys()).chain([component]).collect())
    }

    fn contains(&self, subject: &Subject) -> bool {
        self.0.contains(&subject.component_of())
    }
}

/// The findings of these rules that go on, or did so this long ago, the worst first.
fn going_on<'a>(scene: &'a Scene<'_>, rules: &[&str], lately: Duration) -> Vec<&'a Finding> {
    let severity = |finding: &Finding| finding.breach.as_ref().map_or(0.0, |breach| breach.severity);
    let goes_on = |finding: &&Finding| {
        rules.contains(&finding.rule.id)
            && finding.counts()
            && finding.until().is_none_or(|until| until + lately > scene.now)
    };
    let mut all: Vec<&Finding> = scene.findings.iter().filter(goes_on).collect();
    all.sort_by(|one, other| severity(other).total_cmp(&severity(one)));
    all
}

fn part(finding: &Finding) -> LoopPart {
    LoopPart { subject: finding.subject.clone(), rule: finding.rule.id.to_owned(), until: None }
}
