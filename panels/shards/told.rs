//! What is told of one shard: who accuses it, its keys, its scan, every rule, its slow and its costly commands.

use headwater_engine::metric::{MetricName, REDIS_COMMAND_CALLS, REDIS_COMMAND_TIME, Unit};
use headwater_engine::quantity::show;
use headwater_engine::reading::Shard;
use headwater_engine::report::Suspect;
use headwater_engine::snapshot::RuleState;
use headwater_engine::wording::{confidence_word, evidence, keys, span, verdict_word};
use headwater_engine::{RemoteText, Snapshot, Subject};

use crate::action::Action;
use crate::big_key_scan::{biggest, progress_words, running_words, scan_of};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::slow_groups::slow_groups;

/// Keys of a scan, groups of slow commands and commands that are named.
const MOST_NAMED: usize = 5;

/// A label with a sentence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// What it is about, or nothing when it goes on from the line before.
    pub(super) label: String,
    /// The sentence.
    pub(super) text: String,
    /// The role of the label.
    pub(super) role: ColorRole,
}

fn told(label: &str, text: impl Into<String>) -> Told {
    Told { label: label.to_owned(), text: text.into(), role: ColorRole::Label }
}

impl Told {
    fn colored(self, role: ColorRole) -> Self {
        Self { role, ..self }
    }
}

/// Everything that is told of a shard, the most important first.
pub(super) fn all(view: &View<'_>, shard: &Shard) -> Vec<Told> {
    let snapshot = view.snapshot;
    let mut lines = vec![];
    let suspects = snapshot.report.suspects.iter();
    for suspect in suspects.filter(|suspect| shard.subject.contains(&suspect.subject)) {
        accusation(&mut lines, suspect);
    }
    scanned(&mut lines, view, &shard.subject);
    slow(&mut lines, snapshot, &shard.subject);
    costly(&mut lines, snapshot, shard);
    rules(&mut lines, snapshot, &shard.subject);
    lines.extend(slots(shard));
    lines
}

fn accusation(lines: &mut Vec<Told>, suspect: &Suspect) {
    let mark = format!("{} {}", glyph_of(suspect.verdict), verdict_word(suspect.verdict));
    let when = span(suspect.since, suspect.until);
    let text =
        format!("{}: {} ({}, {when})", suspect.rule, suspect.sentence, confidence_word(suspect.confidence));
    lines.push(told(&mark, text).colored(role_of(suspect.verdict)));
    continued(lines, "keys", keys(suspect));
    continued(lines, "evidence", evidence(suspect));
    for rival in &suspect.rivals {
        lines.push(told("or", format!("{}: {}", rival.rule, rival.told_by)));
    }
}

/// Lines of which the first has the label.
fn continued(lines: &mut Vec<Told>, label: &str, texts: impl Iterator<Item = String>) {
    for (place, text) in texts.enumerate() {
        lines.push(told(if place == 0 { label } else { "" }, text));
    }
}

fn scanned(lines: &mut Vec<Told>, view: &View<'_>, shard: &Subject) {
    if view.snapshot.gone_back_from.is_some() {
        lines.push(told("big keys", "scans are not kept for the past"));
        return;
    }
    let start = view.keys.key_of(Action::Scan);
    let Some(scan) = scan_of(view.snapshot, shard) else {
        let wanted =
            if view.snapshot.scans_wanted.contains(shard) { "; a scan would tell more here" } else { "" };
        lines.push(told("big keys", format!("not looked for yet{wanted}: {start} asks, with its cost")));
        return;
    };
    let words = match scan.state.has_ended() {
        true => format!("{}; {start}: again", progress_words(scan)),
        false => running_words(scan, view.keys),
    };
    lines.push(told("big keys", words));
    lines.extend(biggest(scan, MOST_NAMED).map(|key| told("", key)));
    if scan.biggest.is_empty() && scan.state.has_ended() {
        lines.push(told("", "no key was found"));
    }
}

fn slow(lines: &mut Vec<Told>, snapshot: &Snapshot, shard: &Subject) {
    let entries = snapshot.slow_commands.iter().filter(|(node, _)| shard.contains(node));
    let groups = slow_groups(entries).into_iter().filter(|group| !group.is_excluded).take(MOST_NAMED);
    let texts: Vec<String> = groups
        .map(|group| {
            let [total, longest] = [group.total, group.longest].map(|seconds| show(seconds, Unit::Seconds));
            let newest = group.newest.clock();
            format!(
                "{} {}  {} times, {total} in all, at most {longest}, last {newest}",
                group.command, group.pattern, group.count
            )
        })
        .collect();
    if texts.is_empty() {
        lines.push(told(
            "slow log",
            "no entry is known: commands may still be slow below its threshold, or wait",
        ));
    }
    continued(lines, "slow log", texts.into_iter());
}

/// The commands that take the most of the primary's time.
fn costly(lines: &mut Vec<Told>, snapshot: &Snapshot, shard: &Shard) {
    let Some(primary) = shard.nodes.iter().find(|node| node.primary) else { return };
    let present = |metric, part: &RemoteText| {
        snapshot.present(&primary.subject, metric, Some(part)).map(|seen| seen.value)
    };
    let parts = snapshot.history.traces(&primary.subject).filter_map(|(name, part, _)| match name {
        MetricName::Known(REDIS_COMMAND_TIME) => part,
        _ => None,
    });
    let mut costs: Vec<(&RemoteText, f64)> =
        parts.filter_map(|part| Some((part, present(REDIS_COMMAND_TIME, part)?))).collect();
    costs.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let words = costs.iter().take(MOST_NAMED).filter(|(_, share)| *share > 0.0).map(|(command, share)| {
        let calls = present(REDIS_COMMAND_CALLS, command)
            .map(|calls| format!(" at {}", show(calls, Unit::PerSecond)));
        format!("{command} {}{}", show(*share, Unit::Ratio), calls.unwrap_or_default())
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        lines.push(told("commands", format!("share of time: {}", words.join(", "))));
    }
}

/// The states of rules, the worst first; the clear ones share a line.
static STATES: &[(&str, &str, ColorRole)] = &[
    ("firing", "X firing", ColorRole::Guilty),
    ("pending", "! pending", ColorRole::Suspect),
    ("ended", "! ended", ColorRole::Suspect),
    ("unknown", "? unknown", ColorRole::Unknown),
    ("clear", "o clear", ColorRole::Innocent),
];

fn rules(lines: &mut Vec<Told>, snapshot: &Snapshot, shard: &Subject) {
    let own: Vec<&RuleState> = snapshot.rules.iter().filter(|rule| shard.contains(&rule.subject)).collect();
    for (state, label, role) in STATES {
        for rule in own.iter().filter(|rule| rule.state == *state) {
            let of = match rule.subject.address() {
                Some(address) => format!(" ({address})"),
                None => String::new(),
            };
            lines.push(told(label, format!("{}{of}: {}", rule.rule, rule.detail)).colored(*role));
        }
    }
}

fn slots(shard: &Shard) -> Option<Told> {
    let count: u32 = shard.slots.iter().map(|(first, last)| u32::from(last.saturating_sub(*first)) + 1).sum();
    if count == 0 {
        return None;
    }
    let ranges: Vec<String> = shard
        .slots
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    Some(told("slots", format!("{count} of 16384: {}", ranges.join(", "))))
}
