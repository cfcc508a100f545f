//! What is said in words below the picture: the component under the cursor, the call that led there, cycles.

use headwater_engine::Subject;
use headwater_engine::wording::{data_age, verdict_word};

use super::facts::{Facts, name};
use crate::lines::{Line, Weight};
use crate::palette::{ColorRole, glyph_of, role_of};

/// The lines about a component, with the call to or from `along`.
pub(super) fn lines(facts: &Facts<'_>, focus: &Subject, along: Option<&Subject>) -> Vec<Line> {
    let verdict = facts.verdict(focus);
    let label = format!("{} {}", glyph_of(verdict), verdict_word(verdict));
    let mut lines = vec![Line::new(Weight::Core, &label, component(facts, focus)).colored(role_of(verdict))];
    if let Some(sentence) = call(facts, focus, along) {
        lines.push(Line::new(Weight::Whole, "call", sentence));
    }
    if let Some(cycles) = cycles(facts) {
        lines.push(Line::new(Weight::Account, "cycle", cycles).text_colored(ColorRole::Suspect));
    }
    lines
}

/// Why a component has its verdict.
fn component(facts: &Facts<'_>, focus: &Subject) -> String {
    let Some(row) = facts.row(focus) else {
        return format!("{focus}: nothing was seen of it");
    };
    let age = data_age(row).map(|age| format!(", {age}")).unwrap_or_default();
    format!("{focus}: {}{age}", row.reason)
}

/// The call that the cursor came along; else the critical one, the one to the first callee, from the first caller.
pub(super) fn call(facts: &Facts<'_>, focus: &Subject, along: Option<&Subject>) -> Option<String> {
    let graph = &facts.snapshot.graph;
    let walked =
        along.and_then(|other| facts.sentence(other, focus).or_else(|| facts.sentence(focus, other)));
    let critical = || {
        let from = graph.callers(focus).find(|caller| facts.is_critical(caller, focus));
        from.and_then(|caller| facts.sentence(caller, focus))
    };
    let first = || {
        let from = graph.callers(focus).next().and_then(|caller| facts.sentence(caller, focus));
        from.or_else(|| graph.callees(focus).next().and_then(|callee| facts.sentence(focus, callee)))
    };
    walked.or_else(critical).or_else(first)
}

/// `a -> b -> a`, for each group of components that call each other in a circle.
pub(super) fn cycles(facts: &Facts<'_>) -> Option<String> {
    let told = |cycle: &Vec<Subject>| {
        let names: Vec<&str> = cycle.iter().chain(cycle.first()).map(name).collect();
        names.join(" -> ")
    };
    let cycles: Vec<String> = facts.snapshot.graph.cycles().iter().map(told).collect();
    (!cycles.is_empty()).then(|| cycles.join(", "))
}
