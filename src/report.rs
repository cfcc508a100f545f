//! Reports: what a triage says, as text for a terminal, as Markdown for a ticket, as JSON for programs.

#[cfg(test)]
mod example;
mod layout;
mod markdown;
mod text;

use headwater_engine::Snapshot;
use headwater_engine::report::Report;
use headwater_engine::wording::{
    address, chain, confidence_word, cost, data_age, evidence, headline_of, innocents, keys, names,
    shape_words, span, troubles, unavailable, unjudged, verdict_word,
};

pub use layout::Layout;

/// The forms of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For a terminal of 80 columns.
    #[default]
    Text,
    /// For programs: the stable shape of schema 1.
    Json,
    /// Markdown, for a ticket or a chat.
    #[value(name = "md", alias = "markdown")]
    Markdown,
}

/// Writes a report in one form; ends with a line feed.
pub fn render(snapshot: &Snapshot, format: Format) -> String {
    match format {
        Format::Text => text::render(snapshot),
        Format::Json => json(&snapshot.report),
        Format::Markdown => markdown::render(snapshot),
    }
}

/// The report as pretty-printed JSON.
pub fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).expect("a report is plain values") + "\n"
}
