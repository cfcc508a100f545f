//! The driver of a GPU does not answer any more, or tells of the others only.

use std::time::Duration;

use super::gpus::parts;
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::findings::NOTHING_ANSWERS;
use crate::metric::{GPU_MEMORY_MAX, Unit};
use crate::reading::FaultKind;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::snapshot::SourceState;
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;
use crate::world::{GPU_LEAVES_AFTER, is_slice, looks_fail};
use crate::xid::by_code;

pub(super) static RULE: Rule = Rule {
    id: "gpu-silent",
    title: "the driver of a GPU does not answer, or has lost it",
    doc: "Whoever told of this GPU tells of others still and not of it: it is lost, often without any XID; an exporter's page alone \
          is worth the middle, because a GPU that was taken away leaves it too, and after five minutes it has left, unless \
          callers suffer; one that is told of by its slices (MIG) is there, and a slice \
          is unknown at once, and so is a GPU whose exporter says that its own looks fail. One whose driver had logged an error that \
          takes the whole GPU has not left, and the error is named. Or the driver of this machine \
          has not answered Headwater itself for 10 s, as it does when a GPU hangs; one that waits behind a call about another GPU \
          is unknown. An exporter that cannot be asked is the \
          exporter's trouble and no GPU's, and is unknown; while another tool still has numbers of the GPU it is a suspect at \
          most. Two tools that say different things of it are unknown. That it answers clears nobody.",
    next: "run 'timeout 10 nvidia-smi -L' on the machine and read 'journalctl -k | grep -i xid'; take the machine out of service: only a \
           reset or a restart brings a lost GPU back",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 2,
    thresholds: &[Threshold {
        name: "silence",
        default: 10.0,
        unit: Unit::Seconds,
        help: "silence that counts as absence",
    }],
    rivals: &[RivalRow {
        rule: "host-starved",
        told_by: "the run queue of the machine: who looks may get no time to look",
    }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let mut tellers: Vec<(&Subject, Moment)> = scene.world.tellers_of(gpu).collect();
    tellers.sort_by_key(|(_, at)| *at);
    let Some((_, last)) = tellers.last().copied() else {
        return Judgement::Unknown(scene.missing(gpu));
    };
    if scene.silent_since.is_some() {
        return Judgement::Unknown(NOTHING_ANSWERS.to_owned());
    }
    let patience = Duration::try_from_secs_f64(limits.of("silence")).unwrap_or_default();
    let fresh_from = scene.stale_before_of(gpu).min(scene.now - patience);
    let is_told = last >= fresh_from;
    let states = tellers.iter().filter_map(|(source, at)| Some((scene.world.source(source)?, *at)));
    let states: Vec<(&SourceState, Moment)> = states.collect();
    let direct = || states.iter().filter(|(state, _)| state.asks_the_driver());
    let refused = direct().find_map(|(state, at)| Some((refusal(state)?, *at)));
    let hung = || direct().find(|(state, _)| silent_for(scene, state) >= patience.as_secs_f64());
    let is_lost = refused.is_some();
    let trouble = match refused {
        Some((why, at)) => Some((format!("its driver has lost it: {why}"), at)),
        None => hung().map(|(state, at)| {
            let fault = state.fault.as_ref().map(|(_, fault)| fault.message.to_string());
            let why = fault.unwrap_or_else(|| "no answer".to_owned());
            (format!("its driver does not answer: {why}"), *at)
        }),
    };
    if let Some((words, at)) = trouble {
        let breach = breach(scene, gpu, &words, at, limits);
        // It was lost when it last told anything, and not when somebody noticed or its driver logged more of it.
        let breach = if is_lost { breach.dated(at) } else { breach };
        let others = tellers.iter().any(|(source, at)| {
            *at >= fresh_from && scene.world.source(source).is_none_or(|state| !state.asks_the_driver())
        });
        return if others { breach.at_most(Confidence::Low).judged() } else { breach.judged() };
    }
    if is_told {
        let memory = scene.store.latest(gpu, GPU_MEMORY_MAX, None).map(|seen| seen.value);
        return match scene.world.disagreements(gpu, memory, fresh_from).pop() {
            Some(apart) => Judgement::Unknown(apart),
            None => Judgement::Clear("its driver answers".to_owned()),
        };
    }
    if scene.world.slices_told_of(gpu).is_some_and(|at| at >= fresh_from) {
        return Judgement::Clear("its slices (MIG) are told of in its place".to_owned());
    }
    // Who still tells of others lost this one; who tells nothing at all says nothing of it.
    let lost = states.iter().find(|(state, at)| {
        let says = state.last_data.filter(|said| *said >= scene.now - state.stale_after(scene.settings));
        says.is_some_and(|said| said > *at)
    });
    let took = parts(scene, gpu).into_iter().find_map(|part| scene.world.lost_by(part, last));
    let took = took.and_then(|error| Some((error, by_code(error.code)?)));
    match lost {
        Some((state, at)) if looks_fail(scene.store, state, scene.settings, scene.now) => {
            Judgement::Unknown(format!(
                "{} gives no numbers of it since {}, and says that its own looks fail: what it runs or the driver is in trouble",
                state.source,
                at.clock()
            ))
        }
        Some(_) if is_slice(gpu) => Judgement::Unknown(format!(
            "nobody tells of this slice (MIG) since {}: it was taken away, or its GPU is lost",
            last.clock()
        )),
        Some((state, at))
            if !state.asks_the_driver()
                && scene.now.since(*at) > GPU_LEAVES_AFTER
                && took.is_none()
                && !scene.world.is_held(gpu) =>
        {
            Judgement::Unknown(format!(
                "{} tells of it no more since {}: it was taken away, or is lost",
                state.source,
                at.clock()
            ))
        }
        Some((state, at)) => {
            let after = took.map_or(String::new(), |(error, row)| {
                format!(", after {}, at {}", row.words(), error.last.clock())
            });
            let why = format!("{} tells of it no more, and still answers{after}", state.source);
            let told =
                state.fault.as_ref().map_or(String::new(), |(_, fault)| format!(" ({})", fault.message));
            let breach = breach(scene, gpu, &format!("lost: {why}{told}"), *at, limits).dated(*at);
            // Whoever asks the driver itself knows; a page may be another exporter's, or of a GPU that was taken away.
            if state.asks_the_driver() {
                breach.judged()
            } else {
                breach.at_most(Confidence::Medium).judged()
            }
        }
        None => Judgement::Unknown(scene.missing(gpu)),
    }
}

fn breach(scene: &Scene<'_>, gpu: &Subject, words: &str, last: Moment, limits: &Limits<'_>) -> Breach {
    let silence = scene.now.seconds_after(last);
    Breach::new(
        format!("{words}; last heard of at {}", last.clock()),
        format!("{} silent", gpu.name()),
        1.0 + silence / limits.of("silence"),
        vec![named_evidence(
            "seconds without data".to_owned(),
            Unit::Seconds,
            Seen { value: silence, at: scene.now },
            Some(limits.of("silence")),
            None,
        )],
    )
}

/// Why a driver says that it lost a GPU, where it answers at all.
fn refusal(state: &SourceState) -> Option<String> {
    let (_, fault) = state.fault.as_ref().filter(|(_, fault)| fault.kind == FaultKind::Unreachable)?;
    Some(fault.message.to_string())
}

/// For how long a source has got no answer, seconds.
fn silent_for(scene: &Scene<'_>, state: &SourceState) -> f64 {
    let silent = state.fault.as_ref().filter(|(_, fault)| fault.kind == FaultKind::Silent);
    let since = silent.and(state.last_data).or(state.late_since);
    since.map_or(0.0, |since| scene.now.seconds_after(since))
}
