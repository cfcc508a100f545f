//! The words in which a report is told, the same on a screen, in a ticket and in a terminal.

mod calls;

mod loops_and_stages;
mod notes;
mod targets;
mod usual;

use std::collections::{BTreeMap, BTreeSet};

use crate::metric::Unit;
use crate::quantity;
use crate::report::{
    Conclusion, Confidence, Cost, Exonerated, Report, ShapeKind, Since, SubjectVerdict, Suspect, Unjudged,
    Verdict,
};
use crate::{Moment, Snapshot, Subject};

pub use calls::{flow_words, origin_words};

pub use loops_and_stages::{loops, stages};
pub use notes::{notes, notes_with_checks};
pub use targets::{all_departures, departures, lists};
pub use usual::{baseline_words, histories};

/// Up to this age, in seconds, data goes without saying.
const FRESH_S: f64 = 5.0;

/// The word for a verdict.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Guilty => "guilty",
        Verdict::Suspect => "suspect",
        Verdict::Unknown => "unknown",
        Verdict::Innocent => "innocent",
    }
}

/// The words for what a whole report comes to.
pub fn headline(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Guilty => "INCIDENT",
        Conclusion::Clear => "nothing guilty, every source gave fresh data",
        Conclusion::Blind => "nothing guilty, but not everything could be seen",
        Conclusion::NoTarget => "no target answered",
    }
}

/// The words for what a snapshot comes to, with the sources that an all-clear should not be said without.
pub fn headline_of(snapshot: &Snapshot) -> String {
    let conclusion = snapshot.report.conclusion;
    if let Some(since) = snapshot.silent_since() {
        let before = if conclusion == Conclusion::Guilty { "INCIDENT, but " } else { "" };
        return format!("{before}{}", silence(since));
    }
    let all = snapshot.targets().count();
    let troubled = snapshot.targets().filter(|state| state.fault.is_some()).count();
    let late = snapshot.targets().filter(|state| state.fault.is_none() && state.late_since.is_some()).count();
    let counted = |count: usize, is: &str, are: &str| {
        (count > 0).then(|| format!("{count} of {all} sources {}", if count == 1 { is } else { are }))
    };
    let not_well: Vec<String> =
        [counted(troubled, "is in trouble", "are in trouble"), counted(late, "is late", "are late")]
            .into_iter()
            .flatten()
            .collect();
    match conclusion {
        Conclusion::Clear if troubled > 0 => {
            format!("{}: {}", headline(Conclusion::Blind), not_well.join(", "))
        }
        Conclusion::Clear if snapshot.callers_suffer() => match not_well.is_empty() {
            true => "callers suffer, and nobody is found guilty of it".to_owned(),
            false => format!("callers suffer, and nobody is found guilty of it; {}", not_well.join(", ")),
        },
        Conclusion::Clear if !not_well.is_empty() => format!("nothing guilty; {}", not_well.join(", ")),
        Conclusion::Blind => match untold(&snapshot.report).as_slice() {
            [] => headline(conclusion).to_owned(),
            silent => format!("{}: no word from {}", headline(conclusion), names(silent)),
        },
        _ => headline(conclusion).to_owned(),
    }
}

/// The sources of changes and of who calls whom that are not heard.
fn untold(report: &Report) -> Vec<&Subject> {
    report.unknown.iter().map(|row| &row.subject).filter(|subject| subject.kind().names_a_source()).collect()
}

/// `no target answers any more since 14:06:55`.
pub fn silence(since: Moment) -> String {
    format!("no target answers any more since {}", since.clock())
}

/// `data 12 s old`, for data too old to be what is going on now; `None` for fresh data.
pub fn data_age(row: &SubjectVerdict) -> Option<String> {
    row.age_s.filter(|age| *age > FRESH_S).map(|age| format!("data {age:.0} s old"))
}

/// The words for a confidence.
pub fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low confidence",
        Confidence::Medium => "medium confidence",
        Confidence::High => "high confidence",
    }
}

/// The words for a form of failure.
pub fn shape_words(kind: ShapeKind) -> &'static str {
    match kind {
        ShapeKind::Calm => "calm",
        ShapeKind::SlowOnly => "slow only",
        ShapeKind::SlowThenErrors => "slow, then errors",
        ShapeKind::ErrorsOnly => "errors only",
        ShapeKind::Surge => "surge",
        ShapeKind::Storm => "retry storm",
        ShapeKind::BusinessOnly => "business numbers only",
        ShapeKind::Unknown => "no symptom seen",
    }
}

/// `since 14:06:55`, `since before 14:06:55`, `from 14:06:55 until 14:07:20`.
pub fn span(since: Since, until: Option<Moment>) -> String {
    let start = if since.before { "before " } else { "" };
    match until {
        Some(until) => format!("from {start}{} until {}", since.at.clock(), until.clock()),
        None => format!("since {start}{}", since.at.clock()),
    }
}

/// The address of a shard's primary, as the topology has it.
pub fn address(snapshot: &Snapshot, subject: &Subject) -> Option<String> {
    if subject.address().is_some() {
        return None;
    }
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let shard = shards.into_iter().find(|shard| shard.subject == *subject)?;
    let primary = shard.nodes.iter().find(|node| node.primary)?;
    primary.subject.address().map(str::to_owned)
}

/// The chain as one line, effects before causes: `p99 2.41 s <- feature load mean 1.6 s (70 % of all stages) <- ...`.
pub fn chain(report: &Report) -> Option<String> {
    let links: Vec<&str> = report.chain.iter().map(|link| link.text.as_str()).collect();
    (!links.is_empty()).then(|| links.join(" <- "))
}

/// The numbers of a suspect, one a line: metric, value, limit, and what it is compared with.
pub fn evidence(suspect: &Suspect) -> impl Iterator<Item = String> {
    suspect.evidence.iter().map(|evidence| {
        let value = quantity::show(evidence.value, evidence.unit);
        let mut line = format!("{} {value}", evidence.metric);
        if let Some(limit) = evidence.limit {
            line += &format!(", limit {}", quantity::show(limit, evidence.unit));
        }
        if let Some(baseline) = evidence.baseline {
            let from = evidence.baseline_from.map_or("normally", baseline_words);
            line += &format!(", {from} {}", quantity::show(baseline, evidence.unit));
        }
        line
    })
}

/// The keys of a suspect, one a line.
pub fn keys(suspect: &Suspect) -> impl Iterator<Item = String> {
    suspect.keys.iter().map(|key| {
        let size = key.bytes.map(|bytes| format!(" {}", quantity::show(bytes as f64, Unit::Bytes)));
        {
            let slot = key.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default();
            format!("{}{} on {}{slot}: {}", key.key, size.unwrap_or_default(), key.shard, key.what)
        }
    })
}

/// Subjects that were exonerated by the same rules, in one row: parts of a subject that is exonerated by the same and
/// perhaps more are left out.
pub fn innocents(exonerated: &[Exonerated]) -> Vec<(Vec<&Subject>, &[String])> {
    let by: BTreeMap<&str, &[String]> =
        exonerated.iter().map(|row| (row.subject.as_str(), row.by.as_slice())).collect();
    let goes_with = |row: &Exonerated, whole: &str| {
        by.get(whole).is_some_and(|of_whole| row.by.iter().all(|rule| of_whole.contains(rule)))
    };
    let above = |row: &Exonerated, whole: &str| whole != row.subject.as_str() && goes_with(row, whole);
    let rows = exonerated.iter().filter(|row| !row.subject.wholes().any(|whole| above(row, whole)));
    grouped(rows.map(|row| (&row.subject, row.by.as_slice())))
}

/// Subjects for which the same is missing, in one row.
pub fn unjudged(unknown: &[Unjudged]) -> Vec<(Vec<&Subject>, &str)> {
    grouped(unknown.iter().map(|row| (&row.subject, row.missing.as_str())))
}

/// Subjects in few words: `redis/features#0 #2, queue/ranker`.
pub fn names(subjects: &[&Subject]) -> String {
    const MANY: usize = 8;
    if subjects.len() > MANY {
        return format!("{} and {} more", names(&subjects[..MANY - 1]), subjects.len() + 1 - MANY);
    }
    let mut text = String::new();
    let mut component = None;
    for subject in subjects {
        let own = subject.component_of();
        let part = &subject.as_str()[own.as_str().len()..];
        if component.as_ref() == Some(&own) && !part.is_empty() {
            text += &format!(" {part}");
        } else {
            text += &format!("{}{subject}", if text.is_empty() { "" } else { ", " });
        }
        component = Some(own);
    }
    text
}

/// What is wrong with the sources, one a line: present faults with their reason, each said once whatever the number of
/// sources, then answers that are overdue.
pub fn troubles(snapshot: &Snapshot) -> Vec<String> {
    let faulty = snapshot.sources.iter().filter_map(|source| Some((source, &source.fault.as_ref()?.1)));
    let mut lines: Vec<String> =
        grouped(faulty.map(|(source, fault)| (&source.source, fault.message.as_str())))
            .into_iter()
            .map(|(subjects, message)| format!("{}: {message}", names(&subjects)))
            .collect();
    for source in snapshot.sources.iter().filter(|source| source.fault.is_none()) {
        if let Some(since) = source.late_since {
            lines.push(format!("{}: no answer since {}, still waiting", source.source, since.clock()));
        }
    }
    lines
}

/// What targets do not offer, one a line, each said once whatever the number of nodes.
pub fn unavailable(snapshot: &Snapshot) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&Subject>)> = vec![];
    for source in snapshot.sources.iter() {
        for (what, why) in &source.unavailable {
            let line = format!("{what}: {why}");
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, subjects)) => subjects.push(&source.source),
                None => lines.push((line, vec![&source.source])),
            }
        }
    }
    lines.into_iter().map(|(line, subjects)| format!("{}: {line}", names(&subjects))).collect()
}

/// What the observation costs, in one line.
pub fn cost(cost: &Cost) -> String {
    format!(
        "{} Redis commands a second per node over a minute, {} in all",
        quantity::show(cost.redis_commands_per_node_per_s, Unit::Count),
        quantity::show(cost.bytes_per_s, Unit::BytesPerSecond)
    )
}

/// Groups by what is said, in the order of first mention; parts of what is in a group already are left out of it.
fn grouped<'a, K: Ord + Copy>(rows: impl Iterator<Item = (&'a Subject, K)>) -> Vec<(Vec<&'a Subject>, K)> {
    let mut groups: Vec<(Vec<&Subject>, K)> = vec![];
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    let mut members: Vec<BTreeSet<&str>> = vec![];
    let mut last: Option<(K, usize)> = None;
    for (subject, said) in rows {
        // A thousand shards may be in one group: of each the same is said as of the one before, and each is looked for
        // by its wholes, not among all the others.
        let group = match last {
            Some((before, group)) if before == said => group,
            _ => *known.entry(said).or_insert_with(|| {
                groups.push((vec![], said));
                members.push(BTreeSet::new());
                groups.len() - 1
            }),
        };
        last = Some((said, group));
        if !subject.wholes().any(|whole| members[group].contains(whole)) {
            members[group].insert(subject.as_str());
            groups[group].0.push(subject);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Baselines, Engine, Input, Settings};

    fn subject(text: &str) -> Subject {
        text.parse().unwrap()
    }

    #[test]
    fn parts_of_one_component_are_named_in_few_words() {
        let all = ["redis/features#0", "redis/features#2", "queue/ranker", "redis/other#0"].map(subject);
        assert_eq!(
            names(&all.iter().collect::<Vec<_>>()),
            "redis/features#0 #2, queue/ranker, redis/other#0"
        );
        assert_eq!(names(&[]), "");
        let many: Vec<_> = (0..20).map(|index| subject("redis/features").shard(index)).collect();
        assert_eq!(names(&many.iter().collect::<Vec<_>>()), "redis/features#0 #1 #2 #3 #4 #5 #6 and 13 more");
    }

    #[test]
    fn an_all_clear_is_not_said_while_nobody_tells_of_changes() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        engine.take(&Input::Tick(Moment(1_000)));
        let calm = engine.snapshot().unwrap().report.as_ref().clone();
        let silent = Unjudged { subject: subject("change/code"), missing: "no repository".to_owned() };
        let blind = Report { conclusion: Conclusion::Blind, unknown: vec![silent], ..calm };
        assert_eq!(
            headline_of(&Snapshot::of(blind)),
            "nothing guilty, but not everything could be seen: no word from change/code"
        );
    }

    #[test]
    fn subjects_of_which_the_same_is_said_share_a_row_and_parts_go_with_their_whole() {
        let row =
            |text: &str, missing: &str| Unjudged { subject: subject(text), missing: missing.to_owned() };
        let unknown = [
            row("gpu/ranker", "no source"),
            row("redis/a", "no answer"),
            row("redis/a#1", "no answer"),
            row("host/a", "no source"),
        ];
        let rows: Vec<_> =
            unjudged(&unknown).into_iter().map(|(subjects, missing)| (names(&subjects), missing)).collect();
        assert_eq!(
            rows,
            [("gpu/ranker, host/a".to_owned(), "no source"), ("redis/a".to_owned(), "no answer")]
        );
    }

    #[test]
    fn a_part_is_named_with_its_whole_though_more_rules_look_at_the_whole() {
        let row = |text: &str, by: &[&str]| Exonerated {
            subject: subject(text),
            by: by.iter().map(ToString::to_string).collect(),
        };
        let all = [
            row("redis/a", &["slots-uncovered", "shard-hot"]),
            row("redis/a#0", &["shard-hot"]),
            row("redis/b#0", &["shard-hot"]),
        ];
        let rows: Vec<String> = innocents(&all).into_iter().map(|(subjects, _)| names(&subjects)).collect();
        assert_eq!(rows, ["redis/a", "redis/b#0"]);
    }

    #[test]
    fn a_span_says_when_it_may_be_older_and_when_it_ended() {
        let at = Moment(3_600_000);
        assert_eq!(span(Since { at, before: true }, None), "since before 01:00:00");
        assert_eq!(
            span(Since { at, before: false }, Some(Moment(3_660_000))),
            "from 01:00:00 until 01:01:00"
        );
    }
}
