//! One change in a row, beside what is going on.

use std::time::Duration;

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::reading::{Change, ChangeKind};
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Kind, Moment, Snapshot};

use crate::lines::{self, Weight};
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::table::Row;

/// How long before the onset a change is near.
const NEAR: Duration = Duration::from_secs(86_400);

/// One change.
pub(super) struct Line {
    pub(super) change: Change,
    pub(super) age_s: f64,
    pub(super) age: String,
    /// Seconds before the onset, below 0 after it; `None` without one.
    pub(super) before_s: Option<f64>,
    /// `4 min before`.
    pub(super) before: String,
    /// What it touched; empty when nobody says.
    pub(super) component: String,
    /// The same with the sign of its verdict.
    pub(super) judged: String,
    verdict: Option<Verdict>,
}

impl Row for Line {
    fn id(&self) -> &str {
        self.change.id.as_str()
    }
}

impl Line {
    fn new(change: &Change, snapshot: &Snapshot) -> Self {
        let onset = snapshot.report.onset();
        let before_s = onset.map(|onset| onset.at.seconds_after(change.at));
        let component = change.component.as_ref().map(|it| it.as_str().to_owned()).unwrap_or_default();
        let verdict = verdict(change, snapshot);
        let judged = match verdict {
            Some(verdict) => format!("{} {component}", glyph_of(verdict)),
            None if component.is_empty() => "- nobody says".to_owned(),
            None => format!("? {component}"),
        };
        let age_s = snapshot.at.seconds_after(change.at);
        Self {
            age: span(age_s),
            before: match before_s {
                None => "-".to_owned(),
                Some(before) if before >= 0.0 => format!("{} before", span(before)),
                Some(after) => format!("{} after", span(-after)),
            },
            change: change.clone(),
            age_s,
            before_s,
            component,
            judged,
            verdict,
        }
    }

    /// The moment in Unix seconds.
    pub(super) fn at_s(&self) -> f64 {
        self.change.at.0 as f64 / 1_000.0
    }

    /// Whether it came before the onset, and not long before.
    fn is_near(&self) -> bool {
        self.before_s.is_some_and(|before| (0.0..=NEAR.as_secs_f64()).contains(&before))
    }

    /// The colour of how it lies to the onset.
    pub(super) fn before_role(&self) -> ColorRole {
        if self.is_near() { ColorRole::Suspect } else { ColorRole::Faint }
    }

    /// The colour of what it touched.
    pub(super) fn component_role(&self) -> ColorRole {
        match self.verdict {
            Some(verdict) => role_of(verdict),
            None => ColorRole::Unknown,
        }
    }

    /// What is said of it below the table.
    pub(super) fn told(&self) -> lines::Line {
        lines::Line::new(Weight::Core, self.change.kind.word(), self.sentence()).colored(self.before_role())
    }

    /// One row of text.
    pub(super) fn words(&self) -> String {
        format!("{} {}", self.change.kind.word(), self.sentence())
    }

    /// `'v42' at 14:03:05 UTC, 4 min before the onset, touched service/ranker (guilty)`.
    fn sentence(&self) -> String {
        let onset =
            if self.before_s.is_some() { format!(", {} the onset", self.before) } else { String::new() };
        let touched = match (self.component.as_str(), self.verdict) {
            ("", _) => "; nobody says what it touched".to_owned(),
            (component, Some(verdict)) => format!(", touched {component} ({})", verdict_word(verdict)),
            (component, None) => format!(", touched {component}, of which nothing is known"),
        };
        format!("'{}' at {} UTC, {} ago{onset}{touched}", self.change.title, self.change.at.clock(), self.age)
    }

    /// The whole change as a page.
    pub(super) fn lines(&self, snapshot: &Snapshot) -> Vec<lines::Line> {
        let line = |label: &str, text: String| lines::Line::new(Weight::Core, label, text);
        let mut told =
            vec![line("says", self.change.title.as_str().to_owned()).text_colored(ColorRole::Heading)];
        told.push(line("at", format!("{} UTC, {} ago", self.change.at.clock(), self.age)));
        if self.before_s.is_some() {
            told.push(line("onset", format!("{} the onset", self.before)).text_colored(self.before_role()));
        }
        match (self.component.as_str(), self.verdict) {
            ("", _) => told.push(line("touched", "nobody says what".to_owned())),
            (component, None) => {
                told.push(line("touched", format!("{component}, of which nothing is known")))
            }
            (component, Some(verdict)) => {
                told.push(line("touched", component.to_owned()));
                let reason = reason(&self.change, snapshot).unwrap_or_default();
                let mark = format!("{} {}", glyph_of(verdict), verdict_word(verdict));
                told.push(line(&mark, reason).colored(role_of(verdict)));
            }
        }
        if self.change.kind == ChangeKind::Commit {
            told.push(line("runs", "whether this commit runs is not known".to_owned()));
        }
        told.push(line("id", self.change.id.as_str().to_owned()));
        if self.is_near() {
            let text = "that it came just before proves nothing: look at the dependencies first, then whether it can be \
                        taken back at little risk";
            told.push(line("mind", text.to_owned()).text_colored(ColorRole::Faint));
        }
        told
    }
}

/// The changes of the last days up to the moment shown, the newest first.
pub(super) fn rows(snapshot: &Snapshot, days: u64) -> Vec<Line> {
    let oldest = snapshot.at - Duration::from_secs(days * 86_400);
    // One that is announced for later has not happened yet.
    let past = snapshot.changes.iter().rev().skip_while(|change| change.at > snapshot.at);
    let changes = past.take_while(|change| change.at >= oldest);
    changes.map(|change| Line::new(change, snapshot)).collect()
}

/// Whether any source tells of changes.
pub(super) fn is_watched(snapshot: &Snapshot) -> bool {
    sources(snapshot).next().is_some() || !snapshot.changes.is_empty()
}

/// That no change lies near before the onset; `None` when one does, and without an onset.
pub(super) fn unexplained(snapshot: &Snapshot) -> Option<String> {
    let onset: Moment = snapshot.report.onset()?.at;
    let is_near = |change: &Change| change.at <= onset && change.at >= onset - NEAR;
    let none = !snapshot.changes.iter().any(is_near);
    none.then(|| format!("no change explains it: none in the 24 h before {} UTC", onset.clock()))
}

/// What is wrong with the sources of changes.
pub(super) fn faults(snapshot: &Snapshot) -> impl Iterator<Item = String> + '_ {
    sources(snapshot).filter_map(|state| {
        let (_, fault) = state.fault.as_ref()?;
        Some(format!("? {}: {}", state.source, fault.message))
    })
}

fn sources(snapshot: &Snapshot) -> impl Iterator<Item = &headwater_engine::snapshot::SourceState> {
    snapshot.sources.iter().filter(|state| state.source.kind() == Kind::Change)
}

fn verdict(change: &Change, snapshot: &Snapshot) -> Option<Verdict> {
    let component = change.component.as_ref()?;
    let row = snapshot.report.verdicts.iter().find(|row| row.subject == *component)?;
    Some(row.verdict)
}

fn reason(change: &Change, snapshot: &Snapshot) -> Option<String> {
    let component = change.component.as_ref()?;
    let row = snapshot.report.verdicts.iter().find(|row| row.subject == *component)?;
    Some(row.reason.clone())
}

/// A span of time in whole seconds, and from two minutes on in whole minutes, so that rows stand still.
fn span(seconds: f64) -> String {
    let rounded = if seconds.abs() < 120.0 { seconds.trunc() } else { (seconds / 60.0).trunc() * 60.0 };
    show(rounded, Unit::Seconds)
}
