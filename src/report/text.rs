//! The report for a terminal: the verdict first, then why, then everything else.

use headwater_engine::Snapshot;
use headwater_engine::report::{Report, Suspect, Verdict};

use super::{
    Layout, address, all_departures, chain, confidence_word, cost, data_age, evidence, headline_of,
    histories, innocents, keys, loops, names, notes_with_checks, shape_words, span, stages, troubles,
    unavailable, unjudged, verdict_word,
};

/// The widest that the column of subjects is beside the reasons of verdicts in 80 columns, and what it leaves to those in fewer.
const SUBJECTS: usize = 36;
const REASONS: usize = 33;

/// The column beside the labels.
const INDENT: usize = 9;

pub(super) fn render(snapshot: &Snapshot, columns: usize) -> String {
    let report = &snapshot.written();
    let mut out = Layout::new(columns);
    out.hang("", 0, &format!("{} at {} UTC: {}", report.name, report.at.clock(), headline_of(snapshot)));
    out.hang("", 0, &format!("{}: {}", shape_words(report.shape.kind), report.shape.sentence));
    if let Some(symptom) = &report.symptom {
        out.hang("symptom", INDENT, &format!("{} ({})", symptom.sentence, span(symptom.since, None)));
    }
    for (row, trouble) in troubles(snapshot).into_iter().enumerate() {
        out.hang(if row == 0 { "faults" } else { "" }, INDENT, &trouble);
    }
    let (guilty, others): (Vec<_>, Vec<_>) =
        report.suspects.iter().partition(|suspect| suspect.verdict == Verdict::Guilty);
    for suspect in guilty.into_iter().chain(others) {
        accusation(&mut out, snapshot, suspect);
    }
    out.blank();
    if let Some(chain) = chain(report) {
        out.hang("chain", INDENT, &chain);
    }
    for (row, line) in stages(report).enumerate() {
        out.hang(if row == 0 { "stages" } else { "" }, INDENT, &line);
    }
    for (row, line) in loops(report).enumerate() {
        out.hang(if row == 0 { "loop" } else { "" }, INDENT, &line);
    }
    for (row, (subjects, by)) in innocents(&report.exonerated).into_iter().enumerate() {
        let label = if row == 0 { "innocent" } else { "" };
        out.hang(label, INDENT, &format!("{}: clear of {}", names(&subjects), by.join(", ")));
    }
    for (row, (subjects, missing)) in unjudged(&report.unknown).into_iter().enumerate() {
        let label = if row == 0 { "unknown" } else { "" };
        out.hang(label, INDENT, &format!("{}: {missing}", names(&subjects)));
    }
    out.hang("next", INDENT, &report.next_step);
    for (row, (note, checks)) in notes_with_checks(&snapshot.acts).iter().enumerate() {
        out.hang(if row == 0 { "notes" } else { "" }, INDENT, note);
        for check in checks {
            out.hang("       -", INDENT, check);
        }
    }
    verdicts(&mut out, report, columns);
    out.blank();
    for (row, line) in all_departures(snapshot).into_iter().enumerate() {
        out.hang(if row == 0 { "left" } else { "" }, INDENT, &line);
    }
    for (row, line) in unavailable(snapshot).into_iter().enumerate() {
        out.hang(if row == 0 { "not read" } else { "" }, INDENT, &line);
    }
    for (row, line) in histories(report).enumerate() {
        out.hang(if row == 0 { "usual" } else { "" }, INDENT, &line);
    }
    out.hang("cost", INDENT, &cost(&report.cost));
    out.finish()
}

fn accusation(out: &mut Layout, snapshot: &Snapshot, suspect: &Suspect) {
    let address = address(snapshot, &suspect.subject).map(|address| format!(" ({address})"));
    let head = format!(
        "{}{}, {}, {}",
        suspect.subject,
        address.unwrap_or_default(),
        confidence_word(suspect.confidence),
        span(suspect.since, suspect.until)
    );
    out.blank();
    out.hang(&verdict_word(suspect.verdict).to_uppercase(), INDENT, &head);
    out.hang("", INDENT, &suspect.sentence);
    for key in keys(suspect) {
        out.hang("", INDENT, &key);
    }
    let mut by = format!("by {}", suspect.rule);
    if !suspect.explains.is_empty() {
        by += &format!(", which explains {}", suspect.explains.join(", "));
    }
    out.hang("", INDENT, &by);
    for line in evidence(suspect) {
        out.hang("       -", INDENT, &line);
    }
    for rival in &suspect.rivals {
        out.hang("       ?", INDENT, &format!("or {}: {}", rival.rule, rival.told_by));
    }
}

fn verdicts(out: &mut Layout, report: &Report, columns: usize) {
    if report.verdicts.is_empty() {
        return;
    }
    out.blank();
    let widest = report.verdicts.iter().map(|row| row.subject.as_str().chars().count()).max().unwrap_or(0);
    let subject_width = widest.clamp(7, SUBJECTS.min(columns.saturating_sub(INDENT + 2 + REASONS)).max(7));
    let column = INDENT + subject_width + 2;
    out.line(&format!("{:<INDENT$}{:<subject_width$}  why", "verdict", "subject"));
    for row in &report.verdicts {
        let stale = data_age(row).map(|age| format!(" ({age})"));
        let label = format!("{:<INDENT$}{:<subject_width$}", verdict_word(row.verdict), row.subject);
        let why = if is_told_above(report, &row.reason) { "see above" } else { &row.reason };
        out.hang(&label, column, &(why.to_owned() + &stale.unwrap_or_default()));
    }
}

/// Whether a verdict's reason stands in full in an accusation or under the unknown.
fn is_told_above(report: &Report, reason: &str) -> bool {
    report.suspects.iter().any(|suspect| reason.contains(&suspect.sentence))
        || report.unknown.iter().any(|row| row.missing == reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::COLUMNS;
    use crate::report::example::incident;
    use headwater_engine::Subject;

    #[test]
    fn an_incident_reads_from_the_verdict_down() {
        insta::assert_snapshot!(render(&incident(), COLUMNS), @r#"
        ranker-prod at 14:07:05 UTC: INCIDENT
        slow only: p99 2.41 s, errors 0 %
        symptom  p99 2.41 s, objective 500 ms (since before 14:06:55)
        faults   client/load@127.0.0.1:9: connection refused: start it

        GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since before
                 14:06:55
                 23.9 MB/s out, flat at the link (25 MB/s); answers in 41 ms, peers
                 0.7 ms
                 user:profile:8812|`x` 1.8 MB on redis/features#2, slot 5333: big string
                 by shard-bandwidth, which explains slow-to-answer
               - redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
               ? or network-path: bytes at the limit on this node only

        chain    p99 2.41 s <- feature load mean 1.6 s (70 % of all stages) <- #2 link
                 full
        innocent redis/features#0 #1: clear of shard-hot, big-key
        unknown  gpu/ranker: no source
        next     confirm the keys, then cache them for 30 s near the reader
        notes    14:07:00 UTC note: cache |off|
                 14:07:03 UTC mark

        verdict  subject           why
        guilty   redis/features#2  see above
        unknown  gpu/ranker        see above
        innocent redis/features#0  97.6 kB/s, 0.39 % of its link (data 12 s old)

        not read client/load@127.0.0.1:9: SLOWLOG: the ACL user may not
        cost     2 Redis commands a second per node over a minute, 54.1 kB/s in all
        "#);
    }

    #[test]
    fn a_step_that_was_answered_has_a_line_for_each_of_its_checks() {
        use headwater_engine::Moment;
        use headwater_engine::reading::{ActKind, Found, OperatorAct, StepAct, StepAnswer};
        let mut snapshot = incident();
        let step = StepAct {
            runbook: "walk".into(),
            step: "2.1".into(),
            title: "Answer time".into(),
            answer: StepAnswer::Confirmed,
            found: Found::Bad,
            seen: vec![
                "every node answers within 5 ms: yes, 0.7 ms (1 s old), the worst of 3; limit 5 ms".into(),
                "#2 is slow".into(),
            ],
        };
        snapshot.acts = vec![OperatorAct { at: Moment(50_820_000), kind: ActKind::Step(step) }].into();
        let text = render(&snapshot, COLUMNS);
        let told = "notes    14:07:00 UTC step: 2.1 Answer time: confirmed bad\n       \
                    - every node answers within 5 ms: yes, 0.7 ms (1 s old), the worst of 3;\n         limit 5 ms\n       \
                    - #2 is slow\n";
        assert!(text.contains(told), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let mut snapshot = incident();
        for columns in [40, 60, COLUMNS] {
            // A name as long as pods have them leaves no room for a word beside it.
            let mut report = (*snapshot.report).clone();
            let row = &mut report.verdicts[0];
            row.subject = Subject::component(row.subject.kind(), &"n".repeat(columns - 15));
            snapshot.report = report.into();
            let text = render(&snapshot, columns);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
        }
    }
}
