//! One rule on one subject, in a row.

use std::sync::Arc;

use headwater_engine::rules::{Limits, Rule, Threshold, by_id};
use headwater_engine::settings::Settings;
use headwater_engine::snapshot::RuleState;
use headwater_engine::{Snapshot, Subject};

use crate::lines::{self, Weight};
use crate::palette::ColorRole;
use crate::table::Row;

/// How a rule can stand on a subject.
#[derive(Debug)]
pub(super) struct StateRow {
    /// The engine's word for it.
    pub(super) word: &'static str,
    pub(super) glyph: &'static str,
    pub(super) role: ColorRole,
}

const fn state(word: &'static str, glyph: &'static str, role: ColorRole) -> StateRow {
    StateRow { word, glyph, role }
}

/// Every state, the worst first; the last one also stands for what has no row here.
pub(super) static STATES: &[StateRow] = &[
    state("firing", "X", ColorRole::Guilty),
    state("pending", "!", ColorRole::Suspect),
    state("ended", "-", ColorRole::Stale),
    state("unknown", "?", ColorRole::Unknown),
    state("clear", "o", ColorRole::Innocent),
];

/// One rule on one subject. There can be thousands at every frame, so a row is a place in what the snapshot shares.
pub(super) struct Line {
    id: String,
    all: Arc<[RuleState]>,
    place: usize,
    rank: u8,
    settings: Arc<Settings>,
}

impl Line {
    /// How it stands.
    pub(super) fn state(&self) -> &RuleState {
        &self.all[self.place]
    }

    /// The row of its state.
    pub(super) fn stands(&self) -> &'static StateRow {
        &STATES[usize::from(self.rank)]
    }

    /// The place of its state; 0 is the worst.
    pub(super) fn rank(&self) -> u8 {
        self.rank
    }

    /// The limits in force on this subject, in one line; a star marks what is not the default.
    pub(super) fn limits(&self) -> String {
        let Some(rule) = by_id(self.state().rule) else { return String::new() };
        let limits = rule.thresholds.iter().map(|threshold| {
            let value = in_force(rule, threshold, &self.settings, &self.state().subject);
            let mark = if is_default(threshold, value) { "" } else { "*" };
            format!("{} {}{mark}", threshold.name, threshold.show(value))
        });
        limits.collect::<Vec<_>>().join(", ")
    }
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A threshold as it applies to a subject.
pub(super) fn in_force(
    rule: &'static Rule,
    threshold: &Threshold,
    settings: &Settings,
    subject: &Subject,
) -> f64 {
    Limits { rule, settings, subject }.of(threshold.name)
}

/// Whether a value is the one that the rule comes with.
pub(super) fn is_default(threshold: &Threshold, value: f64) -> bool {
    value.total_cmp(&threshold.default).is_eq()
}

/// Every rule on every subject, the worst first.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let mut rows: Vec<Line> = snapshot
        .rules
        .iter()
        .enumerate()
        .map(|(place, state)| Line {
            id: format!("{} {}", state.rule, state.subject),
            all: Arc::clone(&snapshot.rules),
            place,
            rank: STATES.iter().position(|row| row.word == state.state).unwrap_or(STATES.len() - 1) as u8,
            settings: Arc::clone(&snapshot.settings),
        })
        .collect();
    rows.sort_by_key(|row| row.rank);
    rows
}

/// What is said of a row in full, below the table.
pub(super) fn told(row: &Line) -> Vec<lines::Line> {
    let (state, stands) = (row.state(), row.stands());
    let mark = format!("{} {}", stands.glyph, stands.word);
    let seen = if state.detail.is_empty() { "nothing seen yet" } else { &state.detail };
    let mut lines = vec![
        lines::Line::new(Weight::Core, &mark, format!("{} on {}: {seen}", state.rule, state.subject))
            .colored(stands.role),
    ];
    let limits = row.limits();
    if !limits.is_empty() {
        lines.push(lines::Line::new(Weight::Context, "limits", limits));
    }
    lines
}
