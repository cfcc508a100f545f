//! A machine has more to run than it can, and what runs there is slow.

use std::time::Duration;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{
    HOST_CPUS, HOST_LOAD, HOST_RUNNABLE, HOST_SWITCHES, HOST_THROTTLED, STAGE_DURATION, Unit,
};
use crate::quantity::{show, times};
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which slow own code asks for by name.
pub(super) const ID: &str = "host-starved";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a machine has more to run than it can",
    doc: "At least twice as many tasks want to run as there are cores (the run queue, else the load average), or a \
          limit holds the tasks of a container back for a tenth of the time. Three times as many context switches as \
          usual stand beside these as evidence and are not enough alone. Stages of a service on that machine that \
          grow with it make it the cause: at least 1.5 times their usual mean, and longer by a twentieth of the \
          objective. Where they take as long as ever, it is a suspect at most; without their times, or their usual \
          ones, slow own code cannot be told apart.",
    next: "see what else runs there, raise or lift the container's CPU limit, or move the service to another machine",
    watches: Watches::Components(&[Kind::Host]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "runnable",
            default: 2.0,
            unit: Unit::Ratio,
            help: "tasks a core that run or want to",
        },
        Threshold {
            name: "throttled",
            default: 0.1,
            unit: Unit::Ratio,
            help: "share of time in which a limit holds tasks back",
        },
        Threshold {
            name: "switches",
            default: 3.0,
            unit: Unit::Ratio,
            help: "multiple of the usual context switches that is told",
        },
        Threshold {
            name: "grown",
            default: 1.5,
            unit: Unit::Ratio,
            help: "multiple of its usual mean from which a stage has grown with it",
        },
    ],
    rivals: &[RivalRow { rule: "self-slow", told_by: "times of the service's stages beside the run queue" }],
    absorbs: &[],
    judge,
};

fn judge(scene: &Scene<'_>, host: &Subject, limits: &Limits<'_>) -> Judgement {
    let crowd = crowd(scene, host);
    let held = held_back(scene, host);
    if crowd.is_none() && held.is_none() {
        return Judgement::Unknown(format!("no run queue and no throttling: {}", scene.missing(host)));
    }
    let mut told = vec![];
    let mut numbers = vec![];
    let mut severity: f64 = 0.0;
    let mut seen = vec![];
    if let Some(crowd) = &crowd {
        let words = format!("{:.0} tasks for {:.0} cores", crowd.tasks.value, crowd.cores);
        seen.push(words.clone());
        let each = crowd.tasks.value / crowd.cores;
        if each >= limits.of("runnable") {
            severity = severity.max(each / limits.of("runnable"));
            let each = Seen { value: each, at: crowd.tasks.at };
            let limit = Some(limits.of("runnable"));
            numbers.push(named_evidence("tasks a core".to_owned(), Unit::Ratio, each, limit, None));
            told.push(words);
        }
    }
    if let Some((part, share)) = &held {
        let words = format!("{part} held back {} of the time", show(share.value, Unit::Ratio));
        seen.push(words.clone());
        if share.value >= limits.of("throttled") {
            severity = severity.max(share.value / limits.of("throttled"));
            numbers.push(evidence(HOST_THROTTLED, *share, Some(limits.of("throttled")), None));
            told.push(words);
        }
    }
    if told.is_empty() {
        return Judgement::Clear(seen.join(", "));
    }
    let switches = scene.total(host, HOST_SWITCHES).zip(scene.total_baseline(host, HOST_SWITCHES));
    if let Some((now, usual)) = switches.filter(|(_, usual)| usual.typical > 0.0) {
        numbers.push(evidence(HOST_SWITCHES, now, None, Some(usual)));
        let multiple = now.value / usual.typical;
        if multiple >= limits.of("switches") {
            told.push(format!("context switches {} their usual", times(multiple)));
        }
    }
    let short = told.first().cloned().unwrap_or_default();
    let stages = stages(scene, host, limits.of("grown"));
    told.extend(stages.words());
    let breach = Breach::new(told.join(", "), short, severity, numbers);
    match stages {
        Stages::Grown(_) => breach.judged(),
        Stages::AsUsual(_) => breach.at_most(Confidence::Low).judged(),
        Stages::Unknown => breach.with_rival(&RULE.rivals[0]).at_most(Confidence::Medium).judged(),
    }
}

/// Calm that is long enough to say what is usual.
const LEAST_CALM: Duration = Duration::from_secs(30);

struct Crowd {
    tasks: Seen,
    cores: f64,
}

/// Tasks that run or want to, against the cores that there are.
fn crowd(scene: &Scene<'_>, host: &Subject) -> Option<Crowd> {
    let cores = scene.total(host, HOST_CPUS).filter(|cores| cores.value >= 1.0)?.value;
    let tasks = scene.total(host, HOST_RUNNABLE).or_else(|| scene.total(host, HOST_LOAD))?;
    Some(Crowd { tasks, cores })
}

/// The container that a limit holds back most, with its share of the time.
fn held_back(scene: &Scene<'_>, host: &Subject) -> Option<(String, Seen)> {
    scene
        .world
        .parts(host)
        .flat_map(|(subject, _)| {
            scene.store.parts(subject, HOST_THROTTLED).into_iter().filter_map(move |part| {
                let share = scene.present_part(subject, HOST_THROTTLED, part.as_ref())?;
                Some((part.map_or("tasks".to_owned(), |part| part.to_string()), share))
            })
        })
        .max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))
}

/// How the own stages of services on a machine stand beside their usual.
enum Stages {
    /// One has grown, in words.
    Grown(String),
    /// None has, of this service.
    AsUsual(Subject),
    /// Nobody tells, or nobody knows what is usual.
    Unknown,
}

impl Stages {
    fn words(&self) -> Option<String> {
        match self {
            Self::Grown(words) => Some(words.clone()),
            Self::AsUsual(service) => Some(format!("but the stages of {service} take as long as ever")),
            Self::Unknown => None,
        }
    }
}

/// Share of the objective below which a stage that grew is no trouble.
const FELT: f64 = 0.05;

/// What the stages that services spend on a machine, and in nothing that they call, come to.
fn stages(scene: &Scene<'_>, host: &Subject, multiple: f64) -> Stages {
    let above = scene.graph.above(host);
    let services = above.keys().filter(|caller| caller.kind() == Kind::Service);
    // One stage that is as ever acquits the machine only where no other is in the dark.
    let (mut as_usual, mut is_dark) = (None, false);
    for service in services {
        let says_which =
            scene.settings.component(service).is_some_and(|declared| !declared.stages.is_empty());
        if !says_which && scene.graph.callees(service).any(|callee| callee != host) {
            is_dark = true;
            continue;
        }
        let own = scene.stages(service).into_iter();
        for stage in own.filter(|stage| stage.spent_in.as_ref().is_none_or(|spent_in| spent_in == host)) {
            let usual = scene.usual_mean(service, STAGE_DURATION, Some(&stage.name), LEAST_CALM);
            let Some(usual) = usual.map(|usual| usual.typical).filter(|usual| *usual > 0.0) else {
                is_dark = true;
                continue;
            };
            let floor = usual + scene.objective(service) * FELT;
            if stage.mean >= (usual * multiple).max(floor) {
                return Stages::Grown(format!(
                    "stage {} of {service} takes {}, {} its usual {}",
                    stage.name,
                    show(stage.mean, Unit::Seconds),
                    times(stage.mean / usual),
                    show(usual, Unit::Seconds)
                ));
            }
            as_usual.get_or_insert_with(|| service.clone());
        }
    }
    as_usual.filter(|_| !is_dark).map_or(Stages::Unknown, Stages::AsUsual)
}
