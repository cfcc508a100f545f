//! The overview: who is guilty, why, what is innocent, what is not known, and what to do next.

mod lines;

use headwater_engine::Snapshot;
use headwater_engine::report::{Conclusion, Report, Suspect};
use headwater_engine::wording::{
    address, chain, confidence_word, innocents, keys, names, shape_words, span, troubles, unjudged,
    verdict_word,
};
use headwater_widgets::MarkedLine;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use crate::action::Action;
use crate::palette::{ColorRole, Palette, glyph_of, role_of};
use crate::panel::{Outcome, Panel, PanelRow, View};
use lines::{Line, Weight, draw};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "overview",
    title: "Overview",
    short: "Over",
    help: "who is guilty, what shows it, what is innocent, and what to do next",
    make: || Box::new(OverviewPanel),
};

struct OverviewPanel;

impl Panel for OverviewPanel {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        Overview::new(view.snapshot, view.palette).render(area, buffer);
    }

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}

/// The triage of one moment, in the order in which it is read.
///
/// In a small area the accusation, the chain and the next step come first; what had to be left out is counted in the
/// first row.
#[derive(Clone, Copy, Debug)]
pub struct Overview<'a> {
    snapshot: &'a Snapshot,
    palette: &'a Palette,
}

impl<'a> Overview<'a> {
    /// The overview of this snapshot in these colours.
    pub fn new(snapshot: &'a Snapshot, palette: &'a Palette) -> Self {
        Self { snapshot, palette }
    }

    fn lines(&self) -> Vec<Line> {
        let report = &self.snapshot.report;
        let mut lines = vec![];
        let shape = format!("{}: {}", shape_words(report.shape.kind), report.shape.sentence);
        lines.push(Line::new(Weight::Context, "shape", shape));
        if let Some(symptom) = &report.symptom {
            let text = format!("{} ({})", symptom.sentence, span(symptom.since, None));
            lines.push(Line::new(Weight::Context, "symptom", text));
        }
        lines.push(Line::rule());
        for (place, suspect) in report.suspects.iter().enumerate() {
            self.accuse(&mut lines, suspect, place == 0);
        }
        if let Some(chain) = chain(report) {
            lines.push(Line::new(Weight::Core, "chain", chain));
        }
        label_first(&mut lines, "innocent", innocent_rows(report), ColorRole::Innocent);
        label_first(&mut lines, "unknown", unknown_rows(report), ColorRole::Unknown);
        label_first(&mut lines, "trouble", troubles(self.snapshot), ColorRole::Suspect);
        lines.push(Line::new(Weight::Core, "next", report.next_step.clone()));
        lines.push(Line::rule());
        // Shards, nodes and instances have panels of their own.
        for row in report.verdicts.iter().filter(|row| row.subject.parent().is_none()) {
            let mark = format!("{} {}", glyph_of(row.verdict), verdict_word(row.verdict));
            let text = format!("{}: {}", row.subject, row.reason);
            lines.push(Line::new(Weight::Detail, &mark, text).colored(role_of(row.verdict)));
        }
        lines
    }

    /// What is said of one suspect: the first in full, the others with less weight.
    fn accuse(&self, lines: &mut Vec<Line>, suspect: &Suspect, is_first: bool) {
        let place = address(self.snapshot, &suspect.subject).map(|address| format!(" ({address})"));
        let head = format!(
            "{}{}, {}, {}, by {}",
            suspect.subject,
            place.unwrap_or_default(),
            confidence_word(suspect.confidence),
            span(suspect.since, suspect.until),
            suspect.rule
        );
        let weight = |first| if is_first { first } else { Weight::Detail };
        let word = verdict_word(suspect.verdict).to_uppercase();
        let mark = format!("{} {word}", glyph_of(suspect.verdict));
        lines.push(Line::new(weight(Weight::Core), &mark, head).colored(role_of(suspect.verdict)));
        lines.push(Line::new(weight(Weight::Core), "", suspect.sentence.clone()));
        for (place, key) in keys(suspect).enumerate() {
            let key_weight = if place == 0 { Weight::Core } else { Weight::Context };
            lines.push(Line::new(weight(key_weight), "", key));
        }
        for rival in &suspect.rivals {
            lines.push(Line::new(
                weight(Weight::Context),
                "",
                format!("or {}: {}", rival.rule, rival.told_by),
            ));
        }
    }

    fn head(&self, left_out: usize) -> String {
        let report = &self.snapshot.report;
        let more = if left_out > 0 { format!("   +{left_out} not shown") } else { String::new() };
        format!("{} UTC   {}{more}", self.snapshot.at.clock(), report.name)
    }
}

/// The glyph, the word and the colour of what it comes to.
fn conclusion_mark(conclusion: Conclusion) -> (&'static str, &'static str, ColorRole) {
    match conclusion {
        Conclusion::Guilty => ("X", "INCIDENT", ColorRole::Guilty),
        Conclusion::Clear => ("o", "nothing guilty", ColorRole::Innocent),
        Conclusion::Blind => ("?", "not everything seen", ColorRole::Unknown),
        Conclusion::NoTarget => ("?", "no target answers", ColorRole::Unknown),
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

/// Rows of which the first has the label.
fn label_first(lines: &mut Vec<Line>, label: &str, rows: Vec<String>, role: ColorRole) {
    for (place, row) in rows.into_iter().enumerate() {
        let label = if place == 0 { label } else { "" };
        lines.push(Line::new(Weight::Account, label, row).colored(role));
    }
}

impl Widget for Overview<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let below = Rect { y: area.y + 1, height: area.height - 1, ..area };
        let left_out = draw(&self.lines(), self.palette, below, buffer);
        let (glyph, word, role) = conclusion_mark(self.snapshot.report.conclusion);
        MarkedLine::new(glyph, word, &format!("  {}", self.head(left_out)))
            .mark_style(self.palette.style(role))
            .text_style(self.palette.style(ColorRole::Heading))
            .glyphs(self.palette.glyphs)
            .render(Rect { height: 1, ..area }, buffer);
    }
}

#[cfg(test)]
mod tests;
