//! The report for a ticket or a chat.

use std::fmt::Write;

use headwater_engine::Snapshot;
use headwater_engine::report::{Report, Suspect};

use super::{
    address, all_departures, chain, confidence_word, cost, data_age, evidence, headline_of, histories,
    innocents, keys, loops, names, notes, shape_words, span, stages, troubles, unavailable, unjudged,
    verdict_word,
};

pub(super) fn render(snapshot: &Snapshot) -> String {
    rendered(snapshot, &snapshot.written())
}

/// The same without what the operator marked, noted and did, for what tells it otherwise.
pub(super) fn without_notes(snapshot: &Snapshot) -> String {
    rendered(snapshot, &snapshot.report)
}

fn rendered(snapshot: &Snapshot, report: &Report) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write(&mut text, snapshot, report);
    text
}

fn write(out: &mut String, snapshot: &Snapshot, report: &Report) -> std::fmt::Result {
    let headline = headline_of(snapshot);
    writeln!(out, "# {} at {} UTC: {headline}\n", escaped(&report.name), report.at.clock())?;
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
    let stages: Vec<String> = stages(report).collect();
    if !stages.is_empty() {
        writeln!(
            out,
            "Stages of {}:\n",
            escaped(report.breakdown.as_ref().map_or("", |of| of.subject.as_str()))
        )?;
        for line in &stages {
            writeln!(out, "- {}", escaped(line))?;
        }
        writeln!(out)?;
    }
    for line in loops(report) {
        writeln!(out, "**Loop:** {}\n", escaped(&line))?;
    }
    writeln!(out, "**Next:** {}\n", escaped(&report.next_step))?;
    let notes: Vec<String> = notes(report).collect();
    if !notes.is_empty() {
        writeln!(out, "## Notes\n")?;
        for note in notes {
            writeln!(out, "- {}", escaped(&note))?;
        }
        writeln!(out)?;
    }
    rest(out, report)?;
    for line in all_departures(snapshot) {
        writeln!(out, "Left: {}", escaped(&line))?;
    }
    for line in histories(report) {
        writeln!(out, "Usual: {}", escaped(&line))?;
    }
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
        let age = data_age(row).map_or_else(String::new, |age| format!(" ({age})"));
        writeln!(out, "| {} | {subject} | {}{age} |", verdict_word(row.verdict), escaped(&row.reason))?;
    }
    writeln!(out, "\nCost of this observation: {}\n", cost(&report.cost))
}

/// Key names and labels must not become links, images, tables or markup.
pub(super) fn escaped(text: &str) -> String {
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
    use crate::report::example::incident;

    #[test]
    fn an_incident_is_one_ticket() {
        insta::assert_snapshot!(render(&incident()), @r#"
        # ranker-prod at 14:07:05 UTC: INCIDENT

        **slow only**: p99 2.41 s, errors 0 %

        Symptom: p99 2.41 s, objective 500 ms (since before 14:06:55)

        - fault: client/load\@127.0.0.1:9: connection refused: start it

        ## GUILTY: redis/features\#2 (10.0.3.14:6379)

        high confidence, since before 14:06:55, by `shard-bandwidth`

        23.9 MB/s out, flat at the link (25 MB/s); answers in 41 ms, peers 0.7 ms

        - user:profile:8812\|\`x\` 1.8 MB on redis/features\#2, slot 5333: big string
        - redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
        - or `network-path`: bytes at the limit on this node only

        **Chain:** p99 2.41 s &lt;- feature load mean 1.6 s (70 % of all stages) &lt;- \#2 link full

        **Next:** confirm the keys, then cache them for 30 s near the reader

        ## Notes

        - 14:07:00 UTC note: cache \|off\|
        - 14:07:03 UTC mark

        ## Innocent

        - redis/features\#0 \#1: clear of shard-hot, big-key

        ## Unknown

        - gpu/ranker: no source

        ## Verdicts

        | verdict | subject | why |
        | --- | --- | --- |
        | guilty | redis/features\#2 | 23.9 MB/s out, flat at the link (25 MB/s); answers in 41 ms, peers 0.7 ms |
        | unknown | gpu/ranker | no source |
        | innocent | redis/features\#0 | 97.6 kB/s, 0.39 % of its link (data 12 s old) |

        Cost of this observation: 2 Redis commands a second per node over a minute, 54.1 kB/s in all

        Not read: client/load\@127.0.0.1:9: SLOWLOG: the ACL user may not
        "#);
    }

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("a|b_c [x](y) <b>"), "a\\|b\\_c \\[x\\](y) &lt;b>");
    }
}
