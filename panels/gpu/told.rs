//! What is said of a GPU: below the table in a few sentences, on its page in full.

use std::time::Duration;

use headwater_engine::Snapshot;
use headwater_engine::gpu_memory::Course;
use headwater_engine::metric::{GPU_PROCESS_MEMORY, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::snapshot::GpuLeft;
use headwater_engine::wording::verdict_word;
use headwater_engine::world::machine_of;

use super::health::{self, unseen};
use super::kernels::{self, Kernel};
use super::reading::{Launched, course_words};
use super::row::{Line, parts_of};
use super::trouble;
use crate::lines::{Line as Told, Weight};
use crate::palette::{ColorRole, glyph_of, role_of};

/// Processes that are named on the page of a GPU.
const PROCESSES: usize = 8;

/// That a GPU left is said for so long.
const SAID_FOR: Duration = Duration::from_secs(3_600);

/// What help explains.
pub(super) static WORDS: &[(&str, &str)] = &[
    (
        "busy",
        "the share of time with a kernel running; one kernel on a tenth of the chip counts as much as a full one",
    ),
    (
        "launch",
        "from asking for a kernel to its start: the time of the machine and its driver, a few microseconds",
    ),
    ("full-in", "when memory will be full if it goes on growing as it does: what leaks, or loads"),
    ("held", "how much of the time heat, power or a brake keeps the clocks below what the work asks for"),
    ("xid", "a numbered error of NVIDIA's driver; Enter shows whose doing it is and what to do"),
    ("x", "such an error on every axis of time"),
    ("kernels", "what our own benchmark timed, against what was saved for this model and driver"),
];

/// GPUs that left lately, in one sentence.
pub(super) fn left(snapshot: &Snapshot) -> Option<(String, ColorRole)> {
    let since = snapshot.at - SAID_FOR;
    let lately: Vec<&GpuLeft> = snapshot.gpus_left.iter().filter(|left| left.at >= since).collect();
    let first = lately.first()?;
    let more = match lately.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let text = format!(
        "{} has left: {} tells of it no more since {}{more}",
        first.gpu,
        first.by,
        first.last.clock()
    );
    Some((text, ColorRole::Faint))
}

/// The row under the cursor in a few sentences: its verdict, what its numbers say together, its memory, its kernels.
pub(super) fn row(line: &Line, snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let verdict = format!("{} {}: {}", verdict_word(line.verdict), line.id, line.reason);
    let reading = line.reading();
    let mut told = vec![(verdict, role_of(line.verdict))];
    told.extend(machine(line, snapshot));
    told.push((format!("{}; it cannot say {}", reading.means(), reading.cannot()), reading.role()));
    if let Course::Grows(_) = line.course {
        let role = if line.leaks() { ColorRole::Suspect } else { ColorRole::Text };
        told.push((format!("memory: {}", course_words(line.course, line.may_load)), role));
    }
    if let Some(summary) = kernels::summary(&kernels::of(snapshot, &line.gpu), snapshot) {
        told.push((format!("kernels: {summary}"), ColorRole::Text));
    }
    told.extend(trouble::untold(&line.gpu, snapshot));
    told
}

/// Who is accused in place of a GPU: the machine that it sits in.
fn machine(line: &Line, snapshot: &Snapshot) -> Option<(String, ColorRole)> {
    let machine = machine_of(&line.gpu)?;
    let accused =
        snapshot.report.suspects.iter().find(|one| one.subject == machine && one.until.is_none())?;
    let text = format!("{} is its machine, {machine}, by {}", verdict_word(accused.verdict), accused.rule);
    Some((text, role_of(accused.verdict)))
}

/// Kernels that were timed on processors, for want of a GPU.
pub(super) fn on_processors(snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let machines = kernels::machines(snapshot).into_iter();
    machines
        .filter_map(|machine| {
            let summary = kernels::summary(&kernels::of(snapshot, machine), snapshot)?;
            Some((format!("on the processors of {machine}: {summary}"), ColorRole::Text))
        })
        .collect()
}

/// Everything of one GPU.
pub(super) fn page(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let mark = format!("{} {}", glyph_of(line.verdict), verdict_word(line.verdict));
    let mut lines = vec![Told::new(Weight::Core, &mark, line.reason.clone()).colored(role_of(line.verdict))];
    let beside = |(text, role)| Told::new(Weight::Core, "", text).text_colored(role);
    lines.extend(machine(line, snapshot).map(beside));
    lines.extend(cross_check(line));
    lines.extend(trouble::of_one(&line.gpu, snapshot));
    lines.extend(health::lines(line, snapshot));
    lines.extend(timed(line, snapshot));
    lines.extend(processes(line, snapshot));
    for rule in snapshot.rules.iter().filter(|rule| rule.subject.contains(&line.gpu)) {
        let label = if rule.state == "firing" { "! rule" } else { "rule" };
        let text = format!("{} {}: {}", rule.rule, rule.state, rule.detail);
        lines.push(Told::new(Weight::Detail, label, text));
    }
    lines
}

/// Utilisation beside launches beside memory, with their reading.
fn cross_check(line: &Line) -> Vec<Told> {
    let reading = line.reading();
    let busy = line.busy.map_or("busy ?".to_owned(), |busy| format!("{} busy", show(busy, Unit::Ratio)));
    let launch = match line.launch {
        None => "launch ?".to_owned(),
        Some(Launched { now_s, usual_s: Some(usual), .. }) if usual > 0.0 => {
            format!("launch {}, {} its usual", show(now_s, Unit::Seconds), times(now_s / usual))
        }
        Some(Launched { now_s, .. }) => format!("launch {}", show(now_s, Unit::Seconds)),
    };
    let memory =
        line.share().map_or("memory ?".to_owned(), |share| format!("memory {}", show(share, Unit::Ratio)));
    vec![
        Told::new(Weight::Whole, "together", format!("{busy} x {launch} x {memory}")),
        Told::new(Weight::Whole, "means", reading.means().to_owned()).text_colored(reading.role()),
        Told::new(Weight::Whole, "not told", reading.cannot().to_owned()).text_colored(ColorRole::Faint),
    ]
}

fn timed(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let mut lines = trouble::of_kernels(&line.gpu, snapshot);
    let kernels = kernels::of(snapshot, &line.gpu);
    if kernels.is_empty() && lines.is_empty() {
        return vec![unseen("kernels", "how long kernels take: our own benchmark was not run")];
    }
    let timed = |kernel: &Kernel| {
        let role = if kernel.is_bad() { ColorRole::Suspect } else { ColorRole::Text };
        Told::new(Weight::Context, "kernel", format!("{} {}", kernel.name, kernel.words(snapshot)))
            .text_colored(role)
    };
    lines.extend(kernels.iter().map(timed));
    lines
}

fn processes(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let mut held: Vec<(f64, &str)> = parts_of(snapshot, &line.gpu, GPU_PROCESS_MEMORY)
        .flatten()
        .filter_map(|part| {
            Some((snapshot.present(&line.gpu, GPU_PROCESS_MEMORY, Some(part))?.value, part.as_str()))
        })
        .collect();
    if held.is_empty() {
        return vec![unseen("processes", "which processes hold its memory")];
    }
    held.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let more = held.len().saturating_sub(PROCESSES);
    let mut lines: Vec<Told> = held
        .iter()
        .take(PROCESSES)
        .map(|(bytes, name)| {
            Told::new(Weight::Detail, "process", format!("{} {name}", show(*bytes, Unit::Bytes)))
        })
        .collect();
    if more > 0 {
        lines.push(Told::new(Weight::Detail, "", format!("and {more} more")));
    }
    lines
}
