//! The words for where time is lost and for what keeps itself going.

use super::baseline_words;
use crate::metric::Unit;
use crate::quantity;
use crate::report::Report;

/// Where the requests that suffer spend their time: a line for each stage, one for what they say of the slowest, and one
/// for each route or model that is slow.
pub fn stages(report: &Report) -> impl Iterator<Item = String> {
    let seconds = |value: f64| quantity::show(value, Unit::Seconds);
    let breakdown = report.breakdown.as_ref();
    let stages = breakdown.into_iter().flat_map(|breakdown| &breakdown.stages).map(move |stage| {
        let spent_in =
            stage.spent_in.as_ref().map_or_else(|| "its own".to_owned(), |spent| format!("in {spent}"));
        let p99 = stage.p99_s.map_or(String::new(), |p99| format!(", p99 {}", seconds(p99)));
        let usual = stage.usual_s.map_or(String::new(), |usual| {
            let from = stage.usual_from.map_or("normally", baseline_words);
            format!(", {from} {}", seconds(usual))
        });
        format!(
            "{} {} ({} of all stages), {spent_in}{p99}{usual}",
            stage.name.as_str().replace('_', " "),
            seconds(stage.mean_s),
            quantity::show(stage.share, Unit::Ratio)
        )
    });
    let slowest = breakdown.filter(|breakdown| !breakdown.stages.is_empty()).map(move |breakdown| {
        let order = if breakdown.overlaps {
            "stages run beside each other"
        } else {
            "stages run one after the other"
        };
        format!(
            "{order}: by them the slowest requests take about {} to {}, an estimate",
            seconds(breakdown.p99_at_least_s),
            seconds(breakdown.p99_at_most_s)
        )
    });
    let routes = breakdown.into_iter().flat_map(|breakdown| &breakdown.routes).map(move |route| {
        let usual = route.usual_s.map_or(String::new(), |usual| {
            let from = route.usual_from.map_or("normally", baseline_words);
            format!(", {from} {}", seconds(usual))
        });
        format!(
            "{}: p99 {} at {}{usual}",
            route.name,
            seconds(route.p99_s),
            quantity::show(route.requests_per_s, Unit::PerSecond)
        )
    });
    stages.chain(slowest).chain(routes)
}

/// What keeps itself going, one a line: `retry storm, begun by redis/features#2 (over since 14:07:20): ...; break it at
/// client/load: ...`.
pub fn loops(report: &Report) -> impl Iterator<Item = String> {
    report.loops.iter().map(|known| {
        let begun = known.trigger.as_ref().map_or(String::new(), |trigger| {
            let over =
                trigger.until.map_or(String::new(), |until| format!(" (over since {})", until.clock()));
            format!(", begun by {}{over}", trigger.subject)
        });
        format!("{}{begun}: {}; break it at {}: {}", known.name, known.how, known.break_at, known.break_by)
    })
}
