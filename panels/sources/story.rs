//! All that is known of one source, and of Headwater itself.

use std::time::Duration;

use headwater_engine::metric::{
    LOOP_LAG, Metric, PROBE_TOKENS, PROCESS_CPU, PROCESS_MEMORY, REDIS_ANSWER_TIME, REDIS_OUR_BYTES,
    REDIS_OUR_COMMANDS, SCRAPE_BYTES, SCRAPE_TIME, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::scene::LOOP_LAG_LIMIT;
use headwater_engine::snapshot::{Listed, SourceState};
use headwater_engine::wording::{cost, departures, lists, verdict_word};
use headwater_engine::{Kind, Snapshot, Subject};

use super::row::{State, rows};
use crate::lines::{Line, Weight};
use crate::palette::{ColorRole, role_of};

/// What Headwater notes about its own asking, with the words for it.
const COSTS: &[(Metric, &str)] = &[
    (REDIS_OUR_COMMANDS, "commands sent"),
    (REDIS_OUR_BYTES, "exchanged"),
    (SCRAPE_BYTES, "of its page read"),
    (SCRAPE_TIME, "to fetch its page"),
    (PROBE_TOKENS, "of tokens generated for it, at most"),
    (REDIS_ANSWER_TIME, "to an answer"),
];

/// The whole story of one source.
pub(super) fn lines(id: &str, snapshot: &Snapshot) -> Vec<Line> {
    let mut lines = vec![];
    let Some(row) = rows(snapshot).into_iter().find(|row| row.id == id) else {
        return vec![said("", format!("{id} is no source any more"))];
    };
    let mark = format!("{} {}", row.state.glyph(), row.state.word());
    let age = match row.age_s {
        Some(age) => format!("newest data {} old", show(age, Unit::Seconds)),
        None if row.state == State::Fresh => row.what.clone(),
        None => "it never gave data".to_owned(),
    };
    lines.push(said(&mark, age).colored(row.state.role()));
    let Some(source) = snapshot.sources.iter().find(|source| source.source.as_str() == id) else {
        lines.push(said("", row.what));
        return lines;
    };
    tell_trouble(source, &mut lines);
    tell_cost(source, snapshot, &mut lines);
    if !source.dialects.is_empty() {
        let dialects: Vec<&str> = source.dialects.iter().map(|dialect| dialect.as_str()).collect();
        lines.push(said("speaks", dialects.join(", ")));
    }
    if let Some(listed) = &source.listed {
        tell_targets(listed, &mut lines);
    }
    for (what, why) in &source.unavailable {
        lines.push(said("without", format!("{what}: {why}")));
    }
    let about = |subject: &Subject| subject.contains(&source.source) || source.source.contains(subject);
    for verdict in snapshot.report.verdicts.iter().filter(|row| about(&row.subject)) {
        let text = format!("{}: {}", verdict.subject, verdict.reason);
        lines.push(said(verdict_word(verdict.verdict), text).colored(role_of(verdict.verdict)));
    }
    lines
}

/// Headwater itself: its punctuality, what it uses, what it sends, what it keeps.
pub(super) fn own(snapshot: &Snapshot) -> Vec<Line> {
    let own = Subject::component(Kind::Observer, "headwater");
    let present = |metric: Metric| snapshot.present(&own, metric, None).map(|seen| seen.value);
    let shown = |metric: Metric| present(metric).map(|value| show(value, metric.row().unit));
    let lag = present(LOOP_LAG);
    let is_late = lag.is_some_and(|lag| lag > LOOP_LAG_LIMIT);
    let proves = if is_late { ", so its own timings prove nothing" } else { "" };
    let uses: Vec<String> = [
        shown(LOOP_LAG).map(|lag| format!("its loop is late by {lag}{proves}")),
        shown(PROCESS_CPU).map(|cpu| format!("{cpu} of a core")),
        shown(PROCESS_MEMORY).map(|memory| format!("{memory} of memory")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let role = if is_late || uses.is_empty() { ColorRole::Unknown } else { ColorRole::Label };
    let uses = if uses.is_empty() { "? nobody told".to_owned() } else { uses.join(", ") };
    let kept = &snapshot.kept;
    let span = |span: Duration| show(span.as_secs_f64(), Unit::Seconds);
    vec![
        said(if is_late { "? uses" } else { "uses" }, uses).colored(role),
        said("sends", cost(&snapshot.report.cost)),
        said(
            "keeps",
            format!(
                "{} of {}, {} series: each point for {}, 10 s bins for {}, 1 min bins for {}",
                show(kept.bytes as f64, Unit::Bytes),
                show(kept.budget as f64, Unit::Bytes),
                kept.series,
                span(kept.points_for),
                span(kept.fine_for),
                span(kept.coarse_for)
            ),
        ),
    ]
}

fn said(label: &str, text: String) -> Line {
    Line::new(Weight::Core, label, text)
}

fn tell_trouble(source: &SourceState, lines: &mut Vec<Line>) {
    if let Some(last) = source.last_data {
        lines.push(said("last data", format!("{} UTC", last.clock())));
    }
    if let Some(since) = source.late_since {
        let text = format!(
            "since {}: asked and not answered yet; it is still waited for, and its numbers will count when they come",
            since.clock()
        );
        lines.push(said("late", text).colored(ColorRole::Suspect));
    }
    if let Some((since, fault)) = &source.fault {
        let text = format!("since {}: {}", since.clock(), fault.message);
        lines.push(said("fault", text).colored(ColorRole::Guilty));
    }
}

/// What a discovery lists, each target with where it is asked, and who left.
fn tell_targets(listed: &Listed, lines: &mut Vec<Line>) {
    lines.push(said("targets", format!("since {}: {}", listed.since.clock(), lists(listed))));
    for target in &listed.list.targets {
        let is_there = target.subject.address() == Some(target.place.as_str());
        let place = if is_there { String::new() } else { format!(" at {}", target.place) };
        lines.push(said("", format!("{}{place}", target.subject)));
    }
    for line in departures(listed) {
        lines.push(said("", line));
    }
}

fn tell_cost(source: &SourceState, snapshot: &Snapshot, lines: &mut Vec<Line>) {
    let costs: Vec<String> = COSTS
        .iter()
        .filter_map(|(metric, word)| {
            let seen = snapshot.present(&source.source, *metric, None)?;
            Some(format!("{} {word}", show(seen.value, metric.row().unit)))
        })
        .collect();
    if !costs.is_empty() {
        lines.push(said("asking", costs.join(", ")));
    }
}
