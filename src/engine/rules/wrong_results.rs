//! A device computes wrongly, by the results of our own kernels.

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
    doc: "Each run of our benchmark or canary checks every kernel's result on the CPU. One that is wrong is a fault of the device, of \
          its driver, or of our own kernel: it counts for ten minutes also where later ones are right, because a device that computes \
          wrongly seldom does so each time; of a canary that runs seldomer its last run counts. It tells that answers may be wrong and not whom callers wait for, so it is worth the middle \
          at most. Results that are right exonerate nobody: the kernels are few and small.",
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

/// The checks of one kernel lately.
struct Checked<'a> {
    part: &'a Subject,
    kernel: RemoteText,
    checks: u64,
    wrong: u64,
    /// The newest that was wrong.
    last: Option<Moment>,
    /// The oldest that was, where an earlier one was right.
    began: Option<Moment>,
}

impl<'a> Checked<'a> {
    /// `None` where none was since a moment.
    fn since(scene: &Scene<'_>, from: Moment, part: &'a Subject, kernel: RemoteText) -> Option<Self> {
        let results = scene.store.points(part, KERNEL_WRONG, Some(&kernel))?.trace();
        // Of whoever looks seldom the last look counts.
        let newest = scene.latest_part(part, KERNEL_WRONG, Some(&kernel));
        let from = newest.map_or(from, |newest| from.min(newest.at));
        let mut checked = Self { part, kernel, checks: 0, wrong: 0, last: None, began: None };
        for (at, _, most) in results.backwards(scene.now).take_while(|(at, ..)| *at >= from) {
            checked.checks += 1;
            if most > 0.5 {
                checked.wrong += 1;
                checked.last = checked.last.or(Some(at));
                checked.began = Some(at);
            }
        }
        let oldest = checked.began;
        let was_right = |wrong| results.backwards(wrong).any(|(_, least, _)| least < 0.5);
        checked.began = oldest.filter(|wrong| was_right(*wrong));
        (checked.checks > 0).then_some(checked)
    }
}

fn judge(scene: &Scene<'_>, device: &Subject, limits: &Limits<'_>) -> Judgement {
    let lately = Duration::try_from_secs_f64(limits.of("lately")).unwrap_or_default();
    let all = parts(scene, device).into_iter();
    let all = all.flat_map(|part| kernels(scene, part).map(move |kernel| (part, kernel)));
    let checked: Vec<Checked<'_>> =
        all.filter_map(|(part, kernel)| Checked::since(scene, scene.now - lately, part, kernel)).collect();
    let ran = counted(checked.len() as u64, "kernel");
    let mut wrong: Vec<&Checked<'_>> = checked.iter().filter(|one| one.wrong > 0).collect();
    wrong.sort_by(|one, other| other.wrong.cmp(&one.wrong).then_with(|| one.kernel.cmp(&other.kernel)));
    let Some((worst, at)) = wrong.first().and_then(|worst| Some((*worst, worst.last?))) else {
        return if checked.is_empty() {
            Judgement::Unknown(format!(
                "no kernel of ours ran on it in the last {}",
                show(limits.of("lately"), Unit::Seconds)
            ))
        } else {
            Judgement::Clear(format!("the results of {ran} of ours were right, which exonerates nobody"))
        };
    };
    let on = if worst.part == device { String::new() } else { format!(" on {}", worst.part) };
    let others = match wrong.len() - 1 {
        0 => String::new(),
        more => format!(", and so did {more} more"),
    };
    let seen = Seen { value: worst.wrong as f64 / worst.checks as f64, at };
    let number = named_evidence(
        format!("{}[{}]", KERNEL_WRONG.name(), worst.kernel),
        Unit::Ratio,
        seen,
        Some(0.0),
        None,
    );
    Breach::new(
        format!(
            "it computes wrongly{on}: our own kernel {} gave a wrong result ({} of {} lately, the last at {}){others}; answers may \
             be wrong",
            worst.kernel,
            worst.wrong,
            worst.checks,
            at.clock()
        ),
        format!("{} computes wrongly", device.name()),
        5.0,
        vec![number],
    )
    .begun(worst.began)
    .once_over(format!(
        "our own kernel {} gave a wrong result at {}, and none since",
        worst.kernel,
        at.clock()
    ))
    .at_most(Confidence::Medium)
    .judged()
}
