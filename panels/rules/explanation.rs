//! A rule explained: what it means, how it stands, its limits, what else it could be, what to do.

use headwater_engine::Snapshot;
use headwater_engine::rules::{Rule, Threshold};

use super::row::{self, in_force, is_default};
use crate::lines::{Line, Weight};
use crate::palette::ColorRole;

/// The explanation of a rule, from where it stands on the subject of `opened`.
pub(super) fn lines(
    rule: &'static Rule,
    opened: &row::Line,
    rows: &[row::Line],
    snapshot: &Snapshot,
) -> Vec<Line> {
    let said = |label: &str, text: String| Line::new(Weight::Core, label, text);
    let mut lines = vec![stands(opened)];
    for threshold in rule.thresholds {
        let text = limit(rule, threshold, opened, snapshot);
        lines.push(said(if lines.len() == 1 { "limits" } else { "" }, text));
    }
    lines.push(said("next", rule.next.to_owned()).text_colored(ColorRole::Heading));
    for rival in rule.rivals {
        lines.push(said("or", format!("{}, told apart by {}", rival.rule, rival.told_by)));
    }
    if !rule.absorbs.is_empty() {
        lines.push(said("explains", rule.absorbs.join(", ")));
    }
    lines.push(said("watches", rule.watches.words()));
    lines.push(said("worth", rule.nature.word().to_owned()));
    if rule.hold > 1 {
        let text = format!("after {} evaluations in a row, unless a counter dates it", rule.hold);
        lines.push(said("fires", text));
    }
    lines.push(said("how", rule.doc.to_owned()));
    let is_other =
        |row: &&row::Line| row.state().rule == rule.id && row.state().subject != opened.state().subject;
    lines.extend(rows.iter().filter(is_other).map(stands));
    lines
}

/// How it stands on one subject.
fn stands(row: &row::Line) -> Line {
    let (state, stands) = (row.state(), row.stands());
    let seen = if state.detail.is_empty() { "nothing seen yet" } else { &state.detail };
    let mark = format!("{} {}", stands.glyph, stands.word);
    Line::new(Weight::Core, &mark, format!("{}: {seen}", state.subject)).colored(stands.role)
}

/// `link 60 %, configured (default 70 %): share of the declared link`.
fn limit(rule: &'static Rule, threshold: &Threshold, opened: &row::Line, snapshot: &Snapshot) -> String {
    let subject = &opened.state().subject;
    let settings = &snapshot.settings;
    let value = in_force(rule, threshold, settings, subject);
    let own = settings.component(subject).and_then(|own| own.thresholds.get(rule.id)?.get(threshold.name));
    let from = match (is_default(threshold, value), own) {
        (true, _) => String::new(),
        (false, Some(_)) => {
            format!(
                ", configured for {} (default {})",
                subject.component_of(),
                threshold.show(threshold.default)
            )
        }
        (false, None) => format!(", configured (default {})", threshold.show(threshold.default)),
    };
    format!("{} {}{from}: {}", threshold.name, threshold.show(value), threshold.help)
}
