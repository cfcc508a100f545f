//! The page of one key: everything that is known of it, whichever way it was found.

use headwater_engine::Subject;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::LargeKind;

use super::pane::Looked;
use super::place::slot_of_key;
use super::seen::age_words;
use crate::lines::{Line, Weight};
use crate::palette::{ColorRole, role_of};

/// All that is known of a key of a shard.
pub(super) fn lines(shard: &Subject, key: &str, looked: &Looked<'_>) -> Vec<Line> {
    let snapshot = looked.snapshot();
    let mut lines = vec![said("key", key.to_owned()).text_colored(ColorRole::Heading)];
    let slot = slot_of_key(snapshot, shard, key).map(|slot| format!("slot {slot} on ")).unwrap_or_default();
    lines.push(said("where", format!("{slot}{shard}")));
    for suspect in &snapshot.report.suspects {
        for evidence in suspect.keys.iter().filter(|evidence| evidence.key.as_str() == key) {
            let text = format!("{}: {} ({})", suspect.rule, evidence.what, suspect.subject);
            lines.push(said("accused", text).colored(role_of(suspect.verdict)));
        }
    }
    for (scan, at) in snapshot.scan_results().filter(|(scan, _)| scan.shard == *shard) {
        if let Some(found) = scan.biggest.iter().chain(&scan.longest).find(|found| found.key.as_str() == key)
        {
            let elements = found.elements.filter(|_| found.kind.as_str() != "string");
            let elements = elements.map(|count| format!(", {}", counted(count, "element")));
            let text = format!(
                "{} {}{}, {}",
                show(found.bytes as f64, Unit::Bytes),
                found.kind,
                elements.unwrap_or_default(),
                age_words(at, snapshot)
            );
            lines.push(said("size", text));
        }
    }
    for (at, search) in &snapshot.searches {
        let found = search.keys.iter().find(|found| found.key.as_str() == key);
        let Some(found) = found.filter(|_| search.shard == *shard) else { continue };
        let share = |share: Option<f64>, of: &str| match share {
            Some(share) => format!("{} of {of}", show(share, Unit::Ratio)),
            None => format!("{of} not told"),
        };
        let text = format!(
            "{}, {}, {}; by {} over {}, {}",
            share(found.operations_share, "operations"),
            share(found.cpu_share, "CPU"),
            share(found.bytes_share, "bytes"),
            search.method.row().name,
            show(search.seconds, Unit::Seconds),
            age_words(*at, snapshot)
        );
        lines.push(said("heat", text));
    }
    for (node, one) in snapshot.large_commands.iter().filter(|(node, _)| shard.contains(node)) {
        if one.key.as_ref().is_none_or(|known| known.as_str() != key) {
            continue;
        }
        let what = match one.kind {
            LargeKind::Reply => "reply",
            LargeKind::Request => "request",
        };
        let ours = if one.excluded { ", our own or an administrator's" } else { "" };
        let text = format!(
            "{} with a {what} of {} at {} UTC on {}, by '{}'{ours}",
            one.command,
            show(one.bytes as f64, Unit::Bytes),
            one.at.clock(),
            node.address().unwrap_or_default(),
            one.client
        );
        lines.push(said("logged", text));
    }
    lines
}

/// A line of a page.
pub(super) fn said(label: &str, text: String) -> Line {
    Line::new(Weight::Core, label, text)
}
