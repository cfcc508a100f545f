//! The report for a ticket or a chat.

use std::fmt::Write;

use headwater_engine::Snapshot;
use headwater_engine::report::{Report, Suspect};

use super::{
    address, chain, confidence_word, cost, evidence, innocents, keys, names, shape_words, span, troubles,
    unavailable, unjudged, verdict_word,
};

pub(super) fn render(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, snapshot);
    text
}

fn write(out: &mut String, snapshot: &Snapshot) -> std::fmt::Result {
    let report = &snapshot.report;
    writeln!(out, "# {} at {} UTC\n", escaped(&report.name), report.at.clock())?;
    writeln!(out, "**{}**: {}\n", shape_words(report.shape.kind), escaped(&report.shape.sentence))?;
    if let Some(symptom) = &report.symptom {
        writeln!(out, "Symptom: {} ({})\n", escaped(&symptom.sentence), span(symptom.since, None))?;
    }
    let troubles = troubles(snapshot);
    for trouble in &troubles {
        writeln!(out, "- fault: {}", escaped(trouble))?;
    }
    if !troubles.is_empty() {
        writeln!(out)?;
    }
    for suspect in &report.suspects {
        accusation(out, snapshot, suspect)?;
    }
    if let Some(chain) = chain(report) {
        writeln!(out, "**Chain:** {}\n", escaped(&chain))?;
    }
    writeln!(out, "**Next:** {}\n", escaped(&report.next_step))?;
    rest(out, report)?;
    for line in unavailable(snapshot) {
        writeln!(out, "Not read: {}", escaped(&line))?;
    }
    Ok(())
}

fn accusation(out: &mut String, snapshot: &Snapshot, suspect: &Suspect) -> std::fmt::Result {
    let address = address(snapshot, &suspect.subject)
        .map(|address| format!(" ({})", escaped(&address)))
        .unwrap_or_default();
    writeln!(
        out,
        "## {}: {}{address}\n\n{}, {}, by `{}`\n\n{}\n",
        verdict_word(suspect.verdict).to_uppercase(),
        escaped(suspect.subject.as_str()),
        confidence_word(suspect.confidence),
        span(suspect.since, suspect.until),
        suspect.rule,
        escaped(&suspect.sentence)
    )?;
    for line in keys(suspect).chain(evidence(suspect)) {
        writeln!(out, "- {}", escaped(&line))?;
    }
    for rival in &suspect.rivals {
        writeln!(out, "- or `{}`: {}", rival.rule, escaped(&rival.told_by))?;
    }
    writeln!(out)
}

fn rest(out: &mut String, report: &Report) -> std::fmt::Result {
    let innocents = innocents(&report.exonerated);
    if !innocents.is_empty() {
        writeln!(out, "## Innocent\n")?;
        for (subjects, by) in innocents {
            writeln!(out, "- {}: clear of {}", escaped(&names(&subjects)), by.join(", "))?;
        }
        writeln!(out)?;
    }
    let unknown = unjudged(&report.unknown);
    if !unknown.is_empty() {
        writeln!(out, "## Unknown\n")?;
        for (subjects, missing) in unknown {
            writeln!(out, "- {}: {}", escaped(&names(&subjects)), escaped(missing))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "## Verdicts\n\n| verdict | subject | why |\n| --- | --- | --- |")?;
    for row in &report.verdicts {
        let subject = escaped(row.subject.as_str());
        writeln!(out, "| {} | {subject} | {} |", verdict_word(row.verdict), escaped(&row.reason))?;
    }
    writeln!(out, "\nCost of this observation: {}\n", cost(&report.cost))
}

/// Key names and labels must not become links, images, tables or markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '!' | '~' | '@' | '#' => safe.extend(['\\', c]),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("a|b_c [x](y) <b>"), "a\\|b\\_c \\[x\\](y) &lt;b>");
    }
}
