//! The driver logged an error of a GPU, or its memory gave back bad data.

use std::time::Duration;

use super::gpus::{at, parts, risen};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{GPU_ECC, GPU_NVLINK_ERRORS, GPU_REMAP, GPU_XID, GPU_XIDS, Unit};
use crate::quantity::{counted, show};
use crate::report::{Confidence, Evidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;
use crate::xid::{Blame, Hits, Xid, by_code};

pub(super) static RULE: Rule = Rule {
    id: "gpu-error",
    title: "the driver logged an error of a GPU, or its memory gave back bad data",
    doc: "An XID of the last ten minutes: the number that is told changed to another, or more were counted. The catalogue says whose \
          doing each is and whom it hits. One that takes the whole GPU convicts; one that ended a process for bad memory is worth the \
          middle; one that a process made itself accuses the GPU of nothing, and is a suspect so that somebody looks at that \
          process; what hits nobody is told and is clear. Data that could not be corrected and a row that could not be \
          replaced count like the errors that go with them. Errors on its NVLinks beyond a few a second are a suspicion, and worth the \
          middle where links had to be trained anew. A number that stood there from the first look on may be of any day, \
          because exporters keep the last one: it is a suspicion, and so is a row that could not be replaced when anybody first looked, \
          which stays so until the GPU is. Where nothing tells of XIDs, no GPU is cleared of them.",
    next: "do what the catalogue says of this code; read 'journalctl -k | grep -i xid' for the one that came first",
    watches: Watches::Components(&[Kind::Gpu]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 1,
    thresholds: &[
        Threshold {
            name: "lately",
            default: 600.0,
            unit: Unit::Seconds,
            help: "age up to which an error still tells of the present",
        },
        Threshold {
            name: "links",
            default: 10.0,
            unit: Unit::PerSecond,
            help: "errors a second of one kind on its NVLinks that sound links do not have: a few are sent again unseen",
        },
    ],
    rivals: &[RivalRow {
        rule: "self-slow",
        told_by: "the log of the process that met it: whether it fails on any GPU or on this one alone",
    }],
    absorbs: &[],
    judge,
};

/// An error with where and when it was seen.
struct Logged<'a> {
    part: &'a Subject,
    code: u32,
    row: Option<&'static Xid>,
    /// When it was last told.
    last: Moment,
    /// When it was logged; `None` where it was there from the first look on.
    began: Option<Moment>,
}

impl Logged<'_> {
    fn hits(&self) -> Hits {
        self.row.map_or(Hits::Process, |row| row.hits)
    }

    fn words(&self) -> String {
        self.row.map_or_else(|| format!("XID {}, which the catalogue does not have", self.code), Xid::words)
    }

    /// The worst first: whom it hits, whether it was seen to come, and of several the later one.
    fn rank(&self) -> (Hits, bool, Option<Moment>) {
        (self.hits(), self.began.is_some(), self.began)
    }
}

fn judge(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Judgement {
    let lately = Duration::try_from_secs_f64(limits.of("lately")).unwrap_or_default();
    let mut logged: Vec<Logged<'_>> =
        parts(scene, gpu).into_iter().flat_map(|part| logged(scene, part, lately)).collect();
    logged.sort_by_key(Logged::rank);
    let coded = logged.pop_if(|worst| worst.hits() > Hits::Nobody).map(|worst| accused(gpu, &worst, &logged));
    // What a code is worth more for is what the code says of it; what is only suspected hides no proof.
    let worst = match coded {
        Some(breach) if breach.at_most > Confidence::Low => Some(breach),
        coded => [coded, of_memory(scene, gpu), of_row(scene, gpu), of_links(scene, gpu, limits)]
            .into_iter()
            .flatten()
            .reduce(|worst, one| if one.at_most > worst.at_most { one } else { worst }),
    };
    worst.map_or_else(|| quiet(scene, gpu, &logged), Breach::judged)
}

/// Data of its memory that could not be corrected.
fn of_memory(scene: &Scene<'_>, gpu: &Subject) -> Option<Breach> {
    let (part, rise) = risen(scene, gpu, GPU_ECC, Some(&RemoteText::new("uncorrected")))?;
    let count = counted(rise.gained.max(1.0).round() as u64, "error");
    let number = evidence(GPU_ECC, rise.rate, Some(0.0), None);
    let words = format!("its memory gave back bad data{}: {count} that could not be corrected", at(&part));
    Some(without_code(gpu, words, number).begun(rise.began))
}

/// A row of its memory that could not be replaced. The flag stays until the GPU is: of an old one nothing follows for today.
fn of_row(scene: &Scene<'_>, gpu: &Subject) -> Option<Breach> {
    let flagged = |part| Some((part, scene.latest(part, GPU_REMAP).filter(|seen| seen.value > 0.5)?));
    let (part, seen) = parts(scene, gpu).into_iter().find_map(flagged)?;
    let number = evidence(GPU_REMAP, seen, Some(0.0), None);
    let words = format!("a bad row of its memory could not be replaced{}", at(part));
    Some(match failed_at(scene, part) {
        Some(at) => without_code(gpu, format!("{words} at {}", at.clock()), number)
            .dated(at)
            .at_most(Confidence::Medium),
        None => without_code(gpu, format!("{words}, since before anybody looked"), number)
            .begun(None)
            .at_most(Confidence::Low),
    })
}

/// Kinds of error on NVLinks, the worst first: a link that had to be trained anew, data that came wrong, what was sent again.
const LINK_ERRORS: &[&str] = &["recovery", "crc_data", "replay", "crc_flit"];

/// What errors on its NVLinks are worth; `None` where they have no more than sound ones.
fn of_links(scene: &Scene<'_>, gpu: &Subject, limits: &Limits<'_>) -> Option<Breach> {
    let (kind, (part, rise)) = LINK_ERRORS.iter().find_map(|kind| {
        let risen = risen(scene, gpu, GPU_NVLINK_ERRORS, Some(&RemoteText::new(kind)))?;
        (risen.1.rate.value >= limits.of("links")).then_some((*kind, risen))
    })?;
    let number = named_evidence(
        format!("{}[{kind}]", GPU_NVLINK_ERRORS.name()),
        Unit::PerSecond,
        rise.rate,
        Some(limits.of("links")),
        None,
    );
    let rate = show(rise.rate.value, Unit::PerSecond);
    let breach = Breach::new(
        format!(
            "its NVLinks{} have {rate} errors ({kind}): what is spread over several GPUs waits for them; look at \
             'nvidia-smi nvlink -e', and reseat or replace the bridge or the board",
            at(&part)
        ),
        format!("{} NVLink errors", gpu.name()),
        rise.rate.value / limits.of("links"),
        vec![number],
    );
    let worth = if kind == LINK_ERRORS[0] { Confidence::Medium } else { Confidence::Low };
    Some(breach.begun(rise.began).at_most(worth))
}

/// When the memory of a part was first seen to have a row that could not be replaced; `None` where it had from the first look on.
fn failed_at(scene: &Scene<'_>, part: &Subject) -> Option<Moment> {
    let flag = scene.store.points(part, GPU_REMAP, None)?.trace();
    flag.held_since(flag.latest()?.at, |least| least > 0.5)
}

fn without_code(gpu: &Subject, words: String, number: Evidence) -> Breach {
    let sentence = format!("{words}; drain it, reset it, and replace it if it comes again");
    Breach::new(sentence, format!("{} memory errors", gpu.name()), 5.0, vec![number])
}

fn accused(gpu: &Subject, worst: &Logged<'_>, others: &[Logged<'_>]) -> Breach {
    let told = worst.row.map_or(String::new(), |row| {
        format!(": {} ({}'s doing). Do: {}", row.meaning, row.blame.word(), row.action)
    });
    let when = match worst.began {
        Some(at) => format!(" at {}", at.clock()),
        None => ", there since before anybody looked and maybe of another day".to_owned(),
    };
    let beside: Vec<String> = others.iter().map(|other| other.code.to_string()).collect();
    let beside = if beside.is_empty() { String::new() } else { format!("; also XID {}", beside.join(", ")) };
    let severity = if worst.hits() == Hits::Gpu { 10.0 } else { 2.0 };
    let code = Seen { value: f64::from(worst.code), at: worst.last };
    let breach = Breach::new(
        format!("{}{}{when}{told}{beside}", worst.words(), at(worst.part)),
        format!("{} XID {}", gpu.name(), worst.code),
        severity,
        vec![named_evidence(GPU_XID.name().to_owned(), Unit::Count, code, Some(0.0), None)],
    )
    .begun(worst.began);
    let blame = worst.row.map(|row| row.blame);
    let most = match (worst.hits(), blame) {
        (Hits::Gpu, _) if worst.began.is_some() => Confidence::High,
        (_, Some(Blame::Hardware)) if worst.began.is_some() => Confidence::Medium,
        _ => Confidence::Low,
    };
    let breach = breach.at_most(most);
    if blame == Some(Blame::Application) { breach.with_rival(&RULE.rivals[0]) } else { breach }
}

fn quiet(scene: &Scene<'_>, gpu: &Subject, notices: &[Logged<'_>]) -> Judgement {
    let all = parts(scene, gpu);
    let xids = all
        .iter()
        .any(|part| scene.latest(part, GPU_XID).is_some() || !scene.store.parts(part, GPU_XIDS).is_empty());
    let uncorrected = RemoteText::new("uncorrected");
    let memory = all.iter().any(|part| scene.latest_part(part, GPU_ECC, Some(&uncorrected)).is_some());
    let seen = match (xids, memory) {
        (true, true) => "no XID lately and no memory error",
        (true, false) => "no XID lately",
        (false, true) => {
            return Judgement::Unknown("no memory error, and nothing tells of XIDs".to_owned());
        }
        (false, false) => {
            return Judgement::Unknown(format!("neither XIDs nor memory errors: {}", scene.missing(gpu)));
        }
    };
    match notices.last() {
        Some(notice) => Judgement::Clear(format!("{} was noted, which hits nobody", notice.words())),
        None => Judgement::Clear(seen.to_owned()),
    }
}

/// The errors of a part of the last while, each code once.
fn logged<'a>(scene: &Scene<'_>, part: &'a Subject, lately: Duration) -> Vec<Logged<'a>> {
    let newest = scene.world.gpu_errors().newest_of(part).into_iter();
    let late = newest.filter(|error| error.last >= scene.now - lately);
    late.map(|error| Logged {
        part,
        code: error.code,
        row: by_code(error.code),
        last: error.last,
        began: error.is_seen.then_some(error.at),
    })
    .collect()
}
