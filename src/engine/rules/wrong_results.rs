//! A device computes wrongly, by the results of our own kernels.

use std::collections::BTreeSet;
use std::time::Duration;

use super::gpus::parts;
use super::{Breach, Judgement, Limits, Nature, Rule, Threshold, Watches};
use crate::metric::{KERNEL_WRONG, Unit};
use crate::quantity::{counted, show};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;

pub(super) static RULE: Rule = Rule {
    id: "wrong-results",
    title: "our own kernels give wrong results on a device",
    doc: "Each run of our canary, and each that the screen lets begin, checks every kernel's result on the CPU. One that is wrong is \
          a fault of the device, of its driver, or of our own kernel: it counts for ten minutes also where later ones are right, \
          because a device that computes wrongly seldom does so each time; of a canary that runs seldomer its last run counts. It \
          tells that answers may be wrong and not whom callers wait for, so it is worth the middle at most. Results that are right \
          exonerate nobody: the kernels are few and small.",
    next: "take the device out of service before anything else, because its answers may be wrong; then run 'headwater bench' on it \
           alone, and 'dcgmi diag -r 3' or a memory test",
    watches: Watches::Those {
        kinds: &[Kind::Gpu, Kind::Host],
        which: "on which our own kernels ran",
        are: |scene, device| {
            parts(scene, device).into_iter().any(|part| kernels(scene, part).next().is_some())
        },
    },
    nature: Nature::Mechanism,
    exonerates: false,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[Threshold {
        name: "lately",
        default: 600.0,
        unit: Unit::Seconds,
        help: "age up to which a wrong result still tells of the present",
    }],
    rivals: &[],
    absorbs: &[],
    judge,
};

/// The kernels whose results were checked on a part of a device.
fn kernels(scene: &Scene<'_>, part: &Subject) -> impl Iterator<Item = RemoteText> {
    scene.store.parts(part, KERNEL_WRONG).into_iter().flatten()
}

/// The checks of one kernel on one part of a device.
struct Checked<'a> {
    part: &'a Subject,
    kernel: RemoteText,
    /// How many there were lately.
    checks: u64,
    /// How many of those were wrong.
    wrong: u64,
    /// The newest that was wrong, as far back as is kept, with whether any later one was right.
    last: Option<(Moment, bool)>,
    /// Since when each was wrong up to that one, where an earlier one was right.
    began: Option<Moment>,
}

impl<'a> Checked<'a> {
    fn of(scene: &Scene<'_>, lately: Duration, part: &'a Subject, kernel: RemoteText) -> Option<Self> {
        let results = scene.store.points(part, KERNEL_WRONG, Some(&kernel))?.trace();
        // Of whoever looks seldom the last look counts.
        let newest = scene.latest_part(part, KERNEL_WRONG, Some(&kernel));
        let from = scene.now - lately;
        let from = newest.map_or(from, |newest| from.min(newest.at));
        let mut checked = Self { part, kernel, checks: 0, wrong: 0, last: None, began: None };
        let mut was_right_since = false;
        for (at, _, most) in results.backwards(scene.now) {
            let (is_late, is_wrong) = (at >= from, is_wrong(most));
            if !is_late && checked.last.is_some() {
                break;
            }
            checked.checks += u64::from(is_late);
            checked.wrong += u64::from(is_late && is_wrong);
            if is_wrong {
                checked.last = checked.last.or(Some((at, was_right_since)));
            }
            was_right_since |= !is_wrong;
        }
        checked.began = checked.last.and_then(|(last, _)| results.held_since(last, is_wrong));
        Some(checked)
    }
}

/// Whether a result, or the worst of some, was wrong.
fn is_wrong(told: f64) -> bool {
    told > 0.5
}

fn judge(scene: &Scene<'_>, device: &Subject, limits: &Limits<'_>) -> Judgement {
    let lately = Duration::try_from_secs_f64(limits.of("lately")).unwrap_or_default();
    let all = parts(scene, device).into_iter();
    let all = all.flat_map(|part| kernels(scene, part).map(move |kernel| (part, kernel)));
    let checked: Vec<Checked<'_>> =
        all.filter_map(|(part, kernel)| Checked::of(scene, lately, part, kernel)).collect();
    let mut wrong: Vec<&Checked<'_>> = checked.iter().filter(|one| one.wrong > 0).collect();
    wrong.sort_by(|one, other| other.wrong.cmp(&one.wrong).then_with(|| one.kernel.cmp(&other.kernel)));
    match wrong.first().and_then(|worst| Some((*worst, worst.last?.0))) {
        Some((worst, at)) => breach(device, worst, at, &wrong).judged(),
        None => quiet(&checked, limits),
    }
}

/// What is said where no result was wrong lately. Who found one wrong and looked no more has not found the device well.
fn quiet(checked: &[Checked<'_>], limits: &Limits<'_>) -> Judgement {
    if let Some((one, (at, _))) =
        checked.iter().find_map(|one| Some((one, one.last.filter(|(_, right)| !right)?)))
    {
        return Judgement::Unknown(format!(
            "our own kernel {} gave a wrong result at {}, and has not run since",
            one.kernel,
            at.clock()
        ));
    }
    let ran = checked.iter().filter(|one| one.checks > 0).count() as u64;
    let lately = show(limits.of("lately"), Unit::Seconds);
    Judgement::Clear(match ran {
        0 => format!("no kernel of ours ran in the last {lately}, which says nothing"),
        _ => format!("the results of {} of ours were right, which exonerates nobody", counted(ran, "kernel")),
    })
}

fn breach(device: &Subject, worst: &Checked<'_>, at: Moment, wrong: &[&Checked<'_>]) -> Breach {
    let kernels: BTreeSet<&RemoteText> = wrong.iter().map(|one| &one.kernel).collect();
    let places: BTreeSet<&Subject> = wrong.iter().map(|one| one.part).collect();
    let on = match places.len() {
        1 if worst.part == device => String::new(),
        1 => format!(" on {}", worst.part),
        several => format!(" on {several} of its parts, most often on {}", worst.part),
    };
    let others = match kernels.len() - 1 {
        0 => String::new(),
        more => format!(", and so did {more} more"),
    };
    let seen = Seen { value: worst.wrong as f64 / worst.checks as f64, at };
    let name = format!("{}[{}]", KERNEL_WRONG.name(), worst.kernel);
    let number = named_evidence(name, Unit::Ratio, seen, Some(0.0), None);
    let (kernel, when) = (&worst.kernel, at.clock());
    Breach::new(
        format!(
            "it computes wrongly{on}: our own kernel {kernel} gave a wrong result ({} of {} lately, the last at {when}){others}; \
             answers may be wrong",
            worst.wrong, worst.checks
        ),
        format!("{} computes wrongly", device.name()),
        5.0,
        vec![number],
    )
    .begun(worst.began)
    .once_over(format!("our own kernel {kernel} gave a wrong result, the last at {when}"))
    .at_most(Confidence::Medium)
}
