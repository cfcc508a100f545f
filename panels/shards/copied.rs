//! What is copied of a shard.

use headwater_engine::quantity::show;
use headwater_engine::wording::verdict_word;

use super::lens::LENSES;
use super::line::Line;

/// One row for the clipboard.
pub(super) fn copied_line(line: &Line) -> String {
    let address = match line.subject.address() {
        Some(_) => String::new(),
        None => format!(" {}", line.address()),
    };
    let numbers: Vec<String> = LENSES
        .iter()
        .filter_map(|lens| {
            let value = line.through(lens)?;
            Some(format!("{} {}", lens.name, show(value, lens.unit)))
        })
        .collect();
    let data = line.data().words();
    let word = verdict_word(line.verdict());
    format!("{}{address} {word}: {}; {}; data {data}", line.subject, line.reason(), numbers.join(", "))
}
