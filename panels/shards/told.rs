//! What is told of one shard: who accuses it, its keys, its commands, its numbers section by section, every rule.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::reading::{HotSearch, KeyHeat, Shard};
use headwater_engine::report::Suspect;
use headwater_engine::snapshot::RuleState;
use headwater_engine::wording::{confidence_word, evidence, keys, span, verdict_word};
use headwater_engine::{Snapshot, Subject};

use super::facts::{FACTS, Fact};
use super::parts::{self, MOST_NAMED};
use super::seen::{self, SeenOf};
use crate::action::Action;
use crate::big_key_scan::{biggest, progress_words, result_of, running_words, scan_of};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::slow_groups::slow_groups;

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

/// Everything that is told of a shard, the most important first: who accuses it, then what is in trouble, then the rest.
pub(super) fn all(view: &View<'_>, shard: &Shard) -> Vec<Told> {
    let snapshot = view.snapshot;
    let mut lines = vec![];
    let suspects = snapshot.report.suspects.iter();
    for suspect in suspects.filter(|suspect| shard.subject.contains(&suspect.subject)) {
        accusation(&mut lines, suspect);
    }
    let say = |(label, of, rules): &(&'static str, Says, &[&str])| {
        let mut section = of(snapshot, shard);
        section.is_trouble |= fires(rules, snapshot, &shard.subject);
        (*label, section)
    };
    let (troubled, well): (Vec<_>, Vec<_>) =
        SECTIONS.iter().map(say).partition(|(_, section)| section.is_trouble);
    for (label, section) in troubled {
        let from = lines.len();
        continued(&mut lines, &format!("! {label}"), section.texts.into_iter());
        lines[from..].iter_mut().for_each(|line| line.role = ColorRole::Suspect);
    }
    scanned(&mut lines, view, &shard.subject);
    searched(&mut lines, view, &shard.subject);
    for (label, section) in well {
        continued(&mut lines, label, section.texts.into_iter());
    }
    slow(&mut lines, snapshot, &shard.subject);
    rules(&mut lines, snapshot, &shard.subject);
    lines
}

/// What a section says of a shard.
type Says = fn(&Snapshot, &Shard) -> SeenOf;

/// Every section with its label, in the order of the screen, and the rules that judge its numbers: while one of them
/// fires, the section is in trouble, and comes before all others.
static SECTIONS: &[(&str, Says, &[&str])] = &[
    ("seen", seen::seen, &["topology-split"]),
    ("commands", |snapshot, shard| well(parts::commands(snapshot, shard)), &["slow-commands"]),
    ("errors", |snapshot, shard| well(parts::errors(snapshot, shard)), &[]),
    ("stalls", |snapshot, shard| well(parts::stalls(snapshot, shard)), &[]),
    ("clients", |snapshot, shard| facts("clients", snapshot, shard), &["connections-high"]),
    ("memory", |snapshot, shard| facts("memory", snapshot, shard), &["memory-high", "evicting"]),
    ("saves", |snapshot, shard| facts("persistence", snapshot, shard), &["fork-stall"]),
    (
        "replicas",
        |snapshot, shard| {
            let mut said = facts("replication", snapshot, shard);
            said.texts.extend(parts::replicas(snapshot, shard));
            said
        },
        &["replication-broken"],
    ),
    ("expiry", |snapshot, shard| facts("expiry", snapshot, shard), &["expiry-herd"]),
    ("keys", |snapshot, shard| facts("keys", snapshot, shard), &["miss-flood"]),
    ("slots", seen::slots, &["slots-uncovered"]),
];

/// Whether one of these rules fires on a shard, on a node of it, or on the deployment that it belongs to.
fn fires(rules: &[&str], snapshot: &Snapshot, shard: &Subject) -> bool {
    snapshot.rules.iter().any(|rule| {
        rule.state == "firing"
            && rules.contains(&rule.rule)
            && (shard.contains(&rule.subject) || rule.subject == shard.component_of())
    })
}

fn well(texts: Vec<String>) -> SeenOf {
    SeenOf { texts, is_trouble: false }
}

/// The numbers of a section in one sentence, those that are marked first.
fn facts(section: &str, snapshot: &Snapshot, shard: &Shard) -> SeenOf {
    let own = FACTS.iter().filter(|fact| fact.section == section);
    let known: Vec<_> = own.filter_map(|fact| Some((fact, fact.value(snapshot, shard)?))).collect();
    let (worse, others): (Vec<_>, Vec<_>) = known.into_iter().partition(|(fact, value)| fact.worries(*value));
    let is_trouble = !worse.is_empty();
    let words = |(fact, value): &(&Fact, f64)| format!("{} {}", fact.name, fact.show(*value));
    let texts: Vec<String> =
        worse.iter().map(words).map(|text| format!("! {text}")).chain(others.iter().map(words)).collect();
    let texts = if texts.is_empty() { vec![] } else { vec![texts.join(", ")] };
    SeenOf { texts, is_trouble }
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
    let is_past = view.snapshot.gone_back_from.is_some();
    let start = view.keys.key_of(Action::Scan);
    let Some(scan) = scan_of(view.snapshot, shard) else {
        if is_past {
            return lines.push(told("big keys", "no scan was known at this moment"));
        }
        let wanted =
            if view.snapshot.scans_wanted.contains(shard) { "; a scan would tell more here" } else { "" };
        lines.push(told("big keys", format!("not looked for yet{wanted}: {start} asks, with its cost")));
        return;
    };
    let words = match scan.state.has_ended() {
        true if is_past => progress_words(scan),
        true => format!("{}; {start}: again", progress_words(scan)),
        false => running_words(scan, view.keys),
    };
    lines.push(told("big keys", words));
    let scan = result_of(view.snapshot, shard).unwrap_or(scan);
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

/// The hottest keys that searches have named, or how one is searched for.
fn searched(lines: &mut Vec<Told>, view: &View<'_>, shard: &Subject) {
    let searches =
        || view.snapshot.searches.iter().map(|(_, search)| search).filter(|search| search.shard == *shard);
    let is_short_of_bytes = view.snapshot.short_of_bytes().contains(shard);
    let words = |search: &HotSearch, key: &KeyHeat| {
        let share = key.share(is_short_of_bytes).map_or_else(
            || "its share is not known".to_owned(),
            |(share, of)| format!("{} of {}", show(share, Unit::Ratio), of.word()),
        );
        let slot = key.slot.map(|slot| format!("slot {slot}, ")).unwrap_or_default();
        format!("{} {share}, {slot}by {}", key.key, search.method.row().name)
    };
    let named = searches().flat_map(|search| search.keys.iter().take(3).map(move |key| words(search, key)));
    let named: Vec<String> = named.take(MOST_NAMED).collect();
    let key = view.keys.key_of(Action::SearchHot);
    let is_past = view.is_replay || view.snapshot.gone_back_from.is_some();
    let text = match (named.is_empty(), searches().next().is_some()) {
        (false, _) => return continued(lines, "hot keys", named.into_iter()),
        (true, true) => "searched for, and none named so far".to_owned(),
        (true, false) if is_past || key.is_empty() => "not searched for".to_owned(),
        (true, false) => format!("not searched for yet: {key} asks, with its cost"),
    };
    lines.push(told("hot keys", text));
}

/// The states of rules, the worst first; the clear ones share a line.
static STATES: &[(&str, &str, ColorRole)] = &[
    ("firing", "X firing", ColorRole::Guilty),
    ("pending", "! pending", ColorRole::Suspect),
    ("ended", "! ended", ColorRole::Suspect),
    ("unknown", "? unknown", ColorRole::Unknown),
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
    let mut clear: Vec<&str> =
        own.iter().filter(|rule| rule.state == "clear").map(|rule| rule.rule).collect();
    clear.dedup();
    if !clear.is_empty() {
        lines.push(told("o clear", clear.join(", ")).colored(ColorRole::Innocent));
    }
}
