//! Reports: what a triage says, as text for a terminal, as Markdown for a ticket, as JSON for programs.

mod layout;
mod markdown;
mod text;

use std::collections::BTreeMap;

use headwater_engine::metric::Unit;
use headwater_engine::quantity;
use headwater_engine::report::{
    Confidence, Cost, Exonerated, Report, ShapeKind, Since, Suspect, Unjudged, Verdict,
};
use headwater_engine::{Moment, Snapshot, Subject};

pub use layout::Layout;

/// The forms of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal of 80 columns.
    Text,
    /// For programs: the stable shape of schema 1.
    Json,
    /// Markdown, for a ticket or a chat.
    #[value(name = "md", alias = "markdown")]
    Markdown,
}

/// Writes a report in one form; ends with a line feed.
pub fn render(snapshot: &Snapshot, format: Format) -> String {
    match format {
        Format::Text => text::render(snapshot),
        Format::Json => json(&snapshot.report),
        Format::Markdown => markdown::render(snapshot),
    }
}

/// The report as pretty-printed JSON.
pub fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report is plain values") + "\n"
}

/// The word for a verdict.
fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Guilty => "guilty",
        Verdict::Suspect => "suspect",
        Verdict::Unknown => "unknown",
        Verdict::Innocent => "innocent",
    }
}

fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low confidence",
        Confidence::Medium => "medium confidence",
        Confidence::High => "high confidence",
    }
}

fn shape_words(kind: ShapeKind) -> &'static str {
    match kind {
        ShapeKind::Calm => "calm",
        ShapeKind::SlowOnly => "slow only",
        ShapeKind::SlowThenErrors => "slow, then errors",
        ShapeKind::ErrorsOnly => "errors only",
        ShapeKind::Surge => "surge",
        ShapeKind::Storm => "retry storm",
        ShapeKind::Unknown => "no symptom source",
    }
}

/// `since 14:06:55`, `since before 14:06:55`, `14:06:55 to 14:07:20`.
fn span(since: Since, until: Option<Moment>) -> String {
    let start = if since.before { "before " } else { "" };
    match until {
        Some(until) => format!("from {start}{} until {}", since.at.clock(), until.clock()),
        None => format!("since {start}{}", since.at.clock()),
    }
}

/// The address of a shard's primary, as the topology has it.
fn address(snapshot: &Snapshot, subject: &Subject) -> Option<String> {
    if subject.address().is_some() {
        return None;
    }
    let shards = snapshot.topologies.iter().flat_map(|topology| &topology.shards);
    let shard = shards.into_iter().find(|shard| shard.subject == *subject)?;
    let primary = shard.nodes.iter().find(|node| node.primary)?;
    primary.subject.address().map(str::to_owned)
}

/// The chain as one line: `p99 2.41 s < feature load 1.6 s (70 %) < ...`.
fn chain(report: &Report) -> Option<String> {
    let links: Vec<&str> = report.chain.iter().map(|link| link.text.as_str()).collect();
    (!links.is_empty()).then(|| links.join(" < "))
}

/// The numbers of a suspect, one a line: metric, value, limit, baseline with its origin.
fn evidence(suspect: &Suspect) -> impl Iterator<Item = String> {
    suspect.evidence.iter().map(|evidence| {
        let value = quantity::show(evidence.value, evidence.unit);
        let mut line = format!("{} {value}", evidence.metric);
        if let Some(limit) = evidence.limit {
            line += &format!(", limit {}", quantity::show(limit, evidence.unit));
        }
        if let Some(baseline) = evidence.baseline {
            line += &format!(", normally {}", quantity::show(baseline, evidence.unit));
        }
        if let Some(from) = evidence.baseline_from {
            let word = serde_json::to_value(from).ok();
            line += &format!(" ({})", word.as_ref().and_then(|word| word.as_str()).unwrap_or("?"));
        }
        line
    })
}

/// The keys of a suspect, one a line.
fn keys(suspect: &Suspect) -> impl Iterator<Item = String> {
    suspect.keys.iter().map(|key| {
        let size = key.bytes.map(|bytes| format!(" {}", quantity::show(bytes as f64, Unit::Bytes)));
        format!("{}{} on {}, slot {}: {}", key.key, size.unwrap_or_default(), key.shard, key.slot, key.what)
    })
}

/// Subjects that were exonerated by the same rules, in one row: parts of a subject that is in the row itself are
/// left out.
fn innocents(exonerated: &[Exonerated]) -> Vec<(Vec<&Subject>, &[String])> {
    let whole = exonerated.iter().map(|row| (&row.subject, row.by.as_slice()));
    grouped(whole)
}

/// Subjects for which the same is missing, in one row.
fn unjudged(unknown: &[Unjudged]) -> Vec<(Vec<&Subject>, &str)> {
    grouped(unknown.iter().map(|row| (&row.subject, row.missing.as_str())))
}

/// Groups by what is said, in the order of first mention.
fn grouped<'a, K: Ord + Copy>(rows: impl Iterator<Item = (&'a Subject, K)>) -> Vec<(Vec<&'a Subject>, K)> {
    let mut groups: Vec<(Vec<&Subject>, K)> = vec![];
    let mut known: BTreeMap<K, usize> = BTreeMap::new();
    for (subject, said) in rows {
        let index = *known.entry(said).or_insert_with(|| {
            groups.push((vec![], said));
            groups.len() - 1
        });
        let (subjects, _) = &mut groups[index];
        if !subjects.iter().any(|whole| whole.contains(subject)) {
            subjects.push(subject);
        }
    }
    groups
}

/// Subjects in few words: `redis/features#0 #2, queue/ranker`.
fn names(subjects: &[&Subject]) -> String {
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

/// What is wrong with the sources, one a line: present faults with their reason, and answers that are overdue.
fn troubles(snapshot: &Snapshot) -> Vec<String> {
    let mut lines = vec![];
    for source in &snapshot.sources {
        if let Some((_, fault)) = &source.fault {
            lines.push(format!("{}: {}", source.source, fault.message));
        } else if let Some(since) = source.late_since {
            lines.push(format!("{}: no answer since {}, still waiting", source.source, since.clock()));
        }
    }
    lines
}

/// What targets do not offer, one a line, each said once whatever the number of nodes.
fn unavailable(snapshot: &Snapshot) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&Subject>)> = vec![];
    for source in &snapshot.sources {
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

fn cost(cost: &Cost) -> String {
    format!(
        "{} Redis commands per node, {} in all",
        quantity::show(cost.redis_commands_per_node_per_s, Unit::PerSecond),
        quantity::show(cost.bytes_per_s, Unit::BytesPerSecond)
    )
}
