//! The health of one GPU in lines: its memory, its speed and what holds it down, its errors, its links.

use headwater_engine::metric::{
    GPU_ALLOCATION_FAILURES, GPU_BANDWIDTH, GPU_ECC, GPU_MEMORY_BUSY, GPU_NVLINK_ERRORS, GPU_NVLINK_IN,
    GPU_NVLINK_OUT, GPU_NVLINK_TRAFFIC, GPU_NVLINKS, GPU_PCIE_GENERATION, GPU_PCIE_GENERATION_MAX,
    GPU_PCIE_IN, GPU_PCIE_OUT, GPU_PCIE_REPLAYS, GPU_PCIE_WIDTH, GPU_PCIE_WIDTH_MAX, GPU_REMAP, GPU_REMAPPED,
    GPU_THROTTLED, Metric, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::{Snapshot, throttle};

use super::errors;
use super::reading::course_words;
use super::row::{Line, parts_of};
use crate::lines::{Line as Told, Weight};
use crate::palette::ColorRole;

/// All of it.
pub(super) fn lines(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let all = [memory(line, snapshot), speed(line, snapshot), errors(line, snapshot), links(line, snapshot)];
    all.into_iter().flatten().collect()
}

fn of(line: &Line, snapshot: &Snapshot, metric: Metric) -> Option<f64> {
    snapshot.present(&line.gpu, metric, None).map(|seen| seen.value)
}

/// A line whose number nobody tells.
pub(super) fn unseen(label: &str, what: &str) -> Told {
    Told::new(Weight::Context, label, format!("? nobody tells {what}")).text_colored(ColorRole::Unknown)
}

fn memory(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let (Some(used), Some(max)) = (line.used, line.max) else {
        return vec![unseen("memory", "how much memory is used and there is")];
    };
    let text = format!(
        "{} of {} used; {}",
        show(used, Unit::Bytes),
        show(max, Unit::Bytes),
        course_words(line.course, line.may_load)
    );
    let role = if line.leaks() { ColorRole::Suspect } else { ColorRole::Text };
    let mut lines = vec![Told::new(Weight::Context, "memory", text).text_colored(role)];
    if let Some(failed) = of(line, snapshot, GPU_ALLOCATION_FAILURES).filter(|failed| *failed > 0.0) {
        let text = format!("{} allocations fail", show(failed, Unit::PerSecond));
        lines.push(Told::new(Weight::Account, "! memory", text).colored(ColorRole::Suspect));
    }
    let told = |metric, words: &str| {
        let share = of(line, snapshot, metric)?;
        Some(format!("{} {words}", show(share, Unit::Ratio)))
    };
    let told = [
        told(GPU_BANDWIDTH, "of its peak bandwidth in use"),
        told(GPU_MEMORY_BUSY, "of the time touched at all"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if !told.is_empty() {
        lines.push(Told::new(Weight::Context, "", told.join(", ")));
    }
    lines
}

fn speed(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let pair = |now: Option<f64>, max: Option<f64>, unit| match (now, max) {
        (Some(now), Some(max)) => Some(format!("{} of {}", show(now, unit), show(max, unit))),
        (Some(now), None) => Some(show(now, unit)),
        _ => None,
    };
    let told: Vec<String> = [
        pair(line.clock, line.clock_max, Unit::Hertz),
        pair(line.power, line.power_max, Unit::Watts),
        pair(line.temperature, None, Unit::Celsius),
    ]
    .into_iter()
    .flatten()
    .collect();
    let mut lines = if told.is_empty() {
        vec![unseen("speed", "clocks, power and temperature")]
    } else {
        vec![Told::new(Weight::Context, "speed", told.join(", "))]
    };
    let mut reasons: Vec<(&str, f64)> = parts_of(snapshot, &line.gpu, GPU_THROTTLED)
        .flatten()
        .filter_map(|part| {
            Some((part.as_str(), snapshot.present(&line.gpu, GPU_THROTTLED, Some(part))?.value))
        })
        .collect();
    if reasons.is_empty() {
        lines.push(unseen("held down", "what holds its clocks down"));
        return lines;
    }
    reasons.retain(|(_, share)| *share > 0.0);
    reasons.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let words: Vec<String> = reasons
        .iter()
        .map(|(reason, share)| {
            format!("{} of the time by {}", show(*share, Unit::Ratio), throttle::words(reason))
        })
        .collect();
    let words = if words.is_empty() { "by nothing now".to_owned() } else { words.join(", ") };
    lines.push(Told::new(Weight::Context, "held down", words));
    lines
}

/// The errors that came, and those of its memory.
fn errors(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let mut lines = errors::lines(snapshot, &line.gpu);
    let of_memory = [
        parts_words(line, snapshot, GPU_ECC, "memory errors", Unit::PerSecond),
        parts_words(line, snapshot, GPU_REMAPPED, "rows replaced", Unit::Count),
        of(line, snapshot, GPU_REMAP)
            .filter(|failed| *failed > 0.5)
            .map(|_| "a bad row could not be replaced".to_owned()),
    ];
    let of_memory: Vec<String> = of_memory.into_iter().flatten().collect();
    if !of_memory.is_empty() {
        lines.push(Told::new(Weight::Context, "", of_memory.join("; ")));
    }
    lines
}

fn parts_words(line: &Line, snapshot: &Snapshot, metric: Metric, what: &str, unit: Unit) -> Option<String> {
    let each = parts_of(snapshot, &line.gpu, metric).filter_map(|part| {
        let value = snapshot.present(&line.gpu, metric, part)?.value;
        Some(format!("{}{}", show(value, unit), part.map_or(String::new(), |part| format!(" {part}"))))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("{what}: {}", each.join(", ")))
}

fn links(line: &Line, snapshot: &Snapshot) -> Vec<Told> {
    let now = |metric| of(line, snapshot, metric);
    let of_max = |now: Option<f64>, max: Option<f64>, what: &str| match (now, max) {
        (Some(now), Some(max)) => Some(format!("{what}{now:.0} of {max:.0}")),
        (Some(now), None) => Some(format!("{what}{now:.0}")),
        _ => None,
    };
    let rate =
        |metric, what: &str| now(metric).map(|rate| format!("{} {what}", show(rate, Unit::BytesPerSecond)));
    let pcie = [
        of_max(now(GPU_PCIE_GENERATION), now(GPU_PCIE_GENERATION_MAX), "generation "),
        of_max(now(GPU_PCIE_WIDTH), now(GPU_PCIE_WIDTH_MAX), "lanes "),
        rate(GPU_PCIE_IN, "in"),
        rate(GPU_PCIE_OUT, "out"),
        now(GPU_PCIE_REPLAYS).map(|rate| format!("{} repeated", show(rate, Unit::PerSecond))),
    ];
    let pcie: Vec<String> = pcie.into_iter().flatten().collect();
    let mut lines = match pcie.is_empty() {
        true => vec![unseen("PCIe", "its link to the machine")],
        false => vec![Told::new(Weight::Context, "PCIe", pcie.join(", "))],
    };
    let nvlink = [
        now(GPU_NVLINKS).map(|up| format!("{up:.0} up")),
        rate(GPU_NVLINK_IN, "in"),
        rate(GPU_NVLINK_OUT, "out"),
        rate(GPU_NVLINK_TRAFFIC, "in all"),
        parts_words(line, snapshot, GPU_NVLINK_ERRORS, "errors", Unit::PerSecond),
    ];
    let nvlink: Vec<String> = nvlink.into_iter().flatten().collect();
    if !nvlink.is_empty() {
        lines.push(Told::new(Weight::Context, "NVLink", nvlink.join("; ")));
    }
    lines
}
