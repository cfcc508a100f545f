//! The verdict in lines: who, why, how far it leads, what is innocent, what is not known, what to do next.

use std::collections::BTreeSet;

use headwater_engine::report::{Conclusion, Report, Suspect, Verdict};
use headwater_engine::runbook::{Recovery, recovery};
use headwater_engine::wording::{
    address, chain, confidence_word, evidence, headline_of, innocents, keys, loops, names, shape_words, span,
    troubles, unjudged, verdict_word,
};
use headwater_engine::{Snapshot, Subject};

use super::search;
use crate::callers::{TELLING, ends_early};
use crate::gauge::value;
use crate::lines::{Line, Weight};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::standing::standing;

/// Everything that the verdict says; `hint` is what the keys lead to.
pub(super) fn lines(view: &View<'_>, hint: Option<String>) -> Vec<Line> {
    let snapshot = view.snapshot;
    let report = &snapshot.report;
    let mut lines = vec![];
    lines.extend(conclusion(snapshot));
    for (place, suspect) in report.suspects.iter().enumerate() {
        accuse(&mut lines, snapshot, suspect, place == 0);
    }
    lines.extend(search::line(view));
    if let Some(chain) = chain(report) {
        lines.push(Line::new(Weight::Whole, "chain", chain));
    }
    lines.extend(loops(report).map(|text| Line::new(Weight::Whole, "loop", text)));
    if let Some(symptom) = &report.symptom {
        let text = format!(
            "{}: {} ({})",
            shape_words(report.shape.kind),
            symptom.sentence,
            span(symptom.since, None)
        );
        lines.push(Line::new(Weight::Context, "callers", text));
    } else if report.conclusion != Conclusion::NoTarget {
        let text = format!("{}: {}", shape_words(report.shape.kind), report.shape.sentence);
        lines.push(Line::new(Weight::Account, "callers", text));
    }
    lines.extend(seems_quicker(snapshot).map(|text| Line::new(Weight::Context, "", text)));
    if let Recovery::Recovered { told, .. } = recovery(snapshot) {
        lines.push(Line::new(Weight::Core, "o well", told).colored(ColorRole::Innocent));
    }
    let innocent = innocent_rows(report).into_iter();
    lines.extend(innocent.map(|row| Line::new(Weight::Whole, "innocent", row).colored(ColorRole::Innocent)));
    label_first(&mut lines, "unknown", unknown_rows(report), ColorRole::Unknown);
    label_first(&mut lines, "trouble", troubles(snapshot), ColorRole::Suspect);
    if report.conclusion == Conclusion::Clear {
        lines.push(Line::new(Weight::Context, "looked at", looked_at(snapshot)));
    }
    let next = match report.conclusion {
        Conclusion::NoTarget if is_connecting(snapshot) => {
            format!("wait for the first answers; if none comes: {}", report.next_step)
        }
        _ => report.next_step.clone(),
    };
    lines.push(Line::new(Weight::Whole, "next", next).text_colored(ColorRole::Heading));
    lines.extend(hint.map(|hint| Line::new(Weight::Context, "", hint).text_colored(ColorRole::Faint)));
    lines
}

/// Why the p99 in the head is below that of first tokens among the signals, where it is.
fn seems_quicker(snapshot: &Snapshot) -> Option<String> {
    let signal = |name: &str| snapshot.signals.iter().find(|signal| signal.row.name == name);
    let (whole, ttft) = signal("p99").zip(signal("TTFT p99"))?;
    let (of_whole, of_ttft) = whole.now.zip(ttft.now)?;
    let (whole, ttft) = (value(whole), value(ttft));
    // Of a bound nobody knows how far the other way it is, and what lies so near may be a matter of buckets.
    let is_known = !ttft.starts_with('<') && !whole.starts_with('>');
    (is_known && of_whole.value * TELLING < of_ttft.value).then(|| ends_early(&whole, &ttft))
}

/// The verdict in two lines, to be pasted into a chat.
pub(super) fn in_two_lines(snapshot: &Snapshot) -> String {
    let report = &snapshot.report;
    let accused = report.suspects.first().map(|suspect| {
        let word = verdict_word(suspect.verdict).to_uppercase();
        format!("{word} {}: {}", head(snapshot, suspect), suspect.sentence)
    });
    let first = accused.unwrap_or_else(|| headline_of(snapshot));
    let chain = chain(report).map(|chain| format!("{chain}; ")).unwrap_or_default();
    format!("{} {} UTC: {first}\n{chain}next: {}", report.name, snapshot.at.clock(), report.next_step)
}

/// Components with a source that never gave anything and of which nothing bad is known either.
pub(crate) fn awaited(snapshot: &Snapshot) -> Vec<&Subject> {
    // There are a thousand verdicts and a few components.
    let is_told = |component: &Subject| {
        snapshot.report.verdicts.iter().any(|row| row.age_s.is_some() && row.subject == *component)
    };
    let is_troubled = |component: &Subject| {
        let mut own = snapshot.sources.iter().filter(|source| component.contains(&source.source));
        // A page that only tells of others has no verdict of its own.
        own.any(|source| source.fault.is_some() || source.late_since.is_some() || source.last_data.is_some())
    };
    let configured = snapshot.settings.components.iter().filter(|component| component.has_source);
    configured
        .map(|component| &component.subject)
        .filter(|component| !is_told(component) && !is_troubled(component))
        .collect()
}

/// Whether something is waited for and nothing is known to be in the way.
fn is_connecting(snapshot: &Snapshot) -> bool {
    !awaited(snapshot).is_empty() && troubles(snapshot).is_empty()
}

/// What it comes to, where no accusation says so.
fn conclusion(snapshot: &Snapshot) -> Vec<Line> {
    let report = &snapshot.report;
    let awaited = awaited(snapshot);
    let standing = standing(snapshot);
    let (label, role) = match report.conclusion {
        // An accusation is not over because nobody answers any more, and neither is it what is seen now.
        Conclusion::Guilty if snapshot.silent_since().is_none() => return vec![],
        Conclusion::Guilty => ("? SILENT".to_owned(), ColorRole::Unknown),
        Conclusion::Blind | Conclusion::NoTarget if is_connecting(snapshot) && report.suspects.is_empty() => {
            ("? WAITING".to_owned(), ColorRole::Unknown)
        }
        _ => (format!("{} {}", standing.glyph, standing.label), standing.role),
    };
    let text = match report.conclusion {
        Conclusion::NoTarget if is_connecting(snapshot) => "connecting: nothing has answered yet".to_owned(),
        _ => headline_of(snapshot),
    };
    let mut lines =
        vec![Line::new(Weight::Core, &label, text).colored(role).text_colored(ColorRole::Heading)];
    if is_connecting(snapshot) {
        let text = format!("waiting for the first answer of {}", names(&awaited));
        lines.push(Line::new(Weight::Core, "", text));
    }
    lines
}

/// `redis/features#2 (10.0.3.14:6379), high confidence, since before 14:06:55, by shard-bandwidth`
fn head(snapshot: &Snapshot, suspect: &Suspect) -> String {
    let place = address(snapshot, &suspect.subject).map(|address| format!(" ({address})"));
    format!(
        "{}{}, {}, {}, by {}",
        suspect.subject,
        place.unwrap_or_default(),
        confidence_word(suspect.confidence),
        span(suspect.since, suspect.until),
        suspect.rule
    )
}

/// What is said of one suspect: the first in full, the others with less weight.
fn accuse(lines: &mut Vec<Line>, snapshot: &Snapshot, suspect: &Suspect, is_first: bool) {
    let weight = |first| if is_first { first } else { Weight::Detail };
    let named = match suspect.verdict {
        _ if is_first => Weight::Core,
        Verdict::Guilty => Weight::Context,
        _ => Weight::Detail,
    };
    let word = verdict_word(suspect.verdict).to_uppercase();
    let mark = format!("{} {word}", glyph_of(suspect.verdict));
    lines.push(
        Line::new(named, &mark, head(snapshot, suspect))
            .colored(role_of(suspect.verdict))
            .text_colored(ColorRole::Heading),
    );
    lines.push(Line::new(named, "", suspect.sentence.clone()));
    for (place, key) in keys(suspect).enumerate() {
        // A hot key stands beside the big one: the one alone does not say what to do.
        let key_weight = if place < 2 { Weight::Core } else { Weight::Context };
        lines.push(Line::new(weight(key_weight), "", key));
    }
    for rival in &suspect.rivals {
        let text = format!("or {}, told apart by {}", rival.rule, rival.told_by);
        lines.push(Line::new(weight(Weight::Context), "", text));
    }
    if is_first {
        for number in evidence(suspect) {
            lines.push(Line::new(Weight::Detail, "", number).text_colored(ColorRole::Faint));
        }
    }
}

fn innocent_rows(report: &Report) -> Vec<String> {
    let all: Vec<_> =
        innocents(&report.exonerated).into_iter().map(|(subjects, _)| names(&subjects)).collect();
    if all.is_empty() { vec![] } else { vec![all.join(", ")] }
}

fn unknown_rows(report: &Report) -> Vec<String> {
    let rows = unjudged(&report.unknown).into_iter();
    rows.map(|(subjects, missing)| format!("{}: {missing}", names(&subjects))).collect()
}

/// What an all-clear rests on.
fn looked_at(snapshot: &Snapshot) -> String {
    let sources = snapshot.targets().count();
    let judged = snapshot.rules.iter().filter(|rule| rule.state == "clear").count();
    let rules = distinct(snapshot.rules.iter().map(|rule| rule.rule));
    format!(
        "{sources} sources since {}; {} rules: {judged} of {} judgements clear",
        snapshot.began.clock(),
        rules.len(),
        snapshot.rules.len(),
    )
}

/// The different ones among thousands of names of which few differ.
fn distinct(names: impl Iterator<Item = &'static str>) -> BTreeSet<&'static str> {
    let mut seen: Vec<&'static str> = vec![];
    for name in names {
        // Most are the very same text as one before, and need not be read.
        if !seen.iter().any(|known| std::ptr::eq(*known, name)) {
            seen.push(name);
        }
    }
    seen.into_iter().collect()
}

/// Rows of which the first has the label and must be told; the others are details.
fn label_first(lines: &mut Vec<Line>, label: &str, rows: Vec<String>, role: ColorRole) {
    for (place, row) in rows.into_iter().enumerate() {
        let (label, weight) = if place == 0 { (label, Weight::Account) } else { ("", Weight::Context) };
        lines.push(Line::new(weight, label, row).colored(role));
    }
}
