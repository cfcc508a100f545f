//! Reports: what a triage says, as text for a terminal, as Markdown for a ticket, as JSON for programs.

#[cfg(test)]
pub(crate) mod example;
pub mod files;
pub mod graph;
mod layout;
mod markdown;
mod text;
pub mod writeup;

use headwater_engine::Snapshot;
use headwater_engine::report::Report;
use headwater_engine::wording::{
    address, all_departures, chain, confidence_word, cost, data_age, evidence, headline_of, histories,
    innocents, keys, loops, names, notes, notes_with_checks, shape_words, span, stages, troubles,
    unavailable, unjudged, verdict_word,
};

pub use layout::Layout;

/// The forms of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal, of 80 columns at most.
    #[default]
    Text,
    /// For programs: the stable shape of schema 1.
    Json,
    /// Markdown, for a ticket or a chat.
    #[value(name = "md", alias = "markdown")]
    Markdown,
}

/// The columns of the form for a terminal, where it is not narrower.
pub const COLUMNS: usize = 80;

/// Writes a report in one form; ends with a line feed.
pub fn render(snapshot: &Snapshot, format: Format) -> String {
    render_within(snapshot, format, COLUMNS)
}

/// The same for a terminal of so many columns, which only the form for one goes by.
pub fn render_within(snapshot: &Snapshot, format: Format, columns: usize) -> String {
    match format {
        Format::Text => text::render(snapshot, columns),
        Format::Json => json(&snapshot.written()),
        Format::Markdown => markdown::render(snapshot),
    }
}

/// The report as pretty-printed JSON.
fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report is plain values") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_get_marks_and_notes_and_no_field_without_any() {
        let mut snapshot = example::incident();
        let value = |snapshot: &Snapshot| -> serde_json::Value {
            serde_json::from_str(&render(snapshot, Format::Json)).unwrap()
        };
        let expected = serde_json::json!([
            { "at": 50_820_000, "kind": "note", "text": "cache |off|" },
            { "at": 50_823_000, "kind": "mark", "text": "" },
        ]);
        assert_eq!(value(&snapshot)["notes"], expected);
        snapshot.acts = [].into();
        assert_eq!(value(&snapshot).get("notes"), None);
        for format in [Format::Text, Format::Markdown] {
            assert!(!render(&snapshot, format).to_lowercase().contains("note"), "{format:?}");
        }
    }
}
