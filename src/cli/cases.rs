//! `headwater cases`: past incidents, found by words, shown, and added to.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use headwater_engine::case::{Case, search};
use headwater_engine::report::{Report, SCHEMA};
use serde_json::{Value, json};

use super::output::{Failure, layout, print, say};
use super::{EXIT_IO, EXIT_UNAVAILABLE};
use crate::config::unknown_name;
use crate::library::{SaveError, load, save_case};
use crate::recording::{Player, Tape};

/// The column beside the labels.
const INDENT: usize = 11;

/// The forms of the answer.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum CasesFormat {
    #[default]
    Text,
    Json,
}

/// How an answer is written.
#[derive(Debug, Args)]
pub(super) struct FormatArgs {
    /// The form of the answer
    #[arg(long, value_enum, default_value_t)]
    format: CasesFormat,
}

/// `headwater cases`.
#[derive(Debug, Subcommand)]
pub(super) enum CasesCommand {
    /// List all cases
    List {
        #[command(flatten)]
        form: FormatArgs,
    },
    /// Find cases in which every word is the beginning of a word somewhere, the most telling place first
    Search {
        /// The words
        #[arg(value_name = "WORD", required = true)]
        words: Vec<String>,

        #[command(flatten)]
        form: FormatArgs,
    },
    /// Show one case in full
    Show {
        /// Its id, as 'headwater cases list' has it
        #[arg(value_name = "ID")]
        id: String,

        #[command(flatten)]
        form: FormatArgs,
    },
    /// Write an incident as a case into your folder of cases, to be completed by you; no file is ever replaced
    Add {
        /// A recording, or a report as JSON
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

pub(super) fn run(command: CasesCommand) -> Result<u8, Failure> {
    if let CasesCommand::Add { file } = command {
        return add(&file);
    }
    let (library, broken) = load();
    for fault in &broken {
        say(format_args!("left out: {fault}"));
    }
    let cases = &library.cases;
    match command {
        CasesCommand::List { form } => {
            list(&cases.iter().map(|case| (case, None)).collect::<Vec<_>>(), form.format)?;
        }
        CasesCommand::Search { words, form } => {
            let hits = search(cases, &words.join(" "));
            if hits.is_empty() && matches!(form.format, CasesFormat::Text) {
                say(format_args!("no case has all of these words: try fewer, or their beginnings"));
            }
            let rows: Vec<_> = hits.iter().map(|hit| (hit.case, Some(hit.fields.as_slice()))).collect();
            list(&rows, form.format)?;
        }
        CasesCommand::Show { id, form } => match cases.iter().find(|case| case.id == id) {
            Some(case) => match form.format {
                CasesFormat::Text => print(&told(case))?,
                CasesFormat::Json => print(&format!("{:#}\n", value(case)))?,
            },
            None => {
                let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
                return Err(Failure::usage(unknown_name("case", &id, &ids)));
            }
        },
        CasesCommand::Add { .. } => {}
    }
    Ok(0)
}

fn list(rows: &[(&Case, Option<&[&str]>)], format: CasesFormat) -> Result<(), Failure> {
    if matches!(format, CasesFormat::Json) {
        let rows = rows.iter().map(|(case, fields)| {
            let mut row = json!({ "id": case.id, "title": case.title, "when": case.when, "tags": case.tags });
            if let Some(fields) = fields {
                row["found_in"] = json!(fields);
            }
            row
        });
        let told = json!({ "schema": SCHEMA, "cases": rows.collect::<Value>() });
        return print(&format!("{told:#}\n"));
    }
    let mut out = layout(80);
    let column = rows.iter().map(|(case, _)| case.id.chars().count()).max().unwrap_or(0).min(40) + 2;
    for (case, fields) in rows {
        out.hang(&case.id, column, &case.title);
        if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
            out.hang("", column, &format!("found in {}", fields.join(", ")));
        }
    }
    print(&out.finish())
}

/// One case for a terminal of 80 columns.
fn told(case: &Case) -> String {
    let mut out = layout(80);
    out.hang("", 0, &format!("{}: {}", case.id, case.title));
    out.blank();
    for (label, texts) in case.parts() {
        for (row, text) in texts.iter().enumerate() {
            let mark = if texts.len() > 1 { "- " } else { "" };
            out.hang(if row == 0 { label } else { "" }, INDENT, &format!("{mark}{text}"));
        }
    }
    out.finish()
}

fn value(case: &Case) -> Value {
    serde_json::to_value(case).expect("a case is plain values")
}

fn add(file: &Path) -> Result<u8, Failure> {
    let report = report_of(file)?;
    match save_case(&report) {
        Ok(path) => {
            print(&format!("{}\n", path.display()))?;
            say("complete it: title, root_cause, fix, prevention and avoid");
            Ok(0)
        }
        Err(error @ SaveError::NoIncident) => Err(Failure::new(EXIT_UNAVAILABLE, error)),
        Err(error) => Err(Failure::new(EXIT_IO, error)),
    }
}

/// The report of a JSON file, or what the engine says at the end of a recording.
fn report_of(file: &Path) -> Result<Report, Failure> {
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|reason| {
        Failure::of_file(&reason, format_args!("'{name}' cannot be read ({reason}): check the path"))
    })?;
    if bytes.trim_ascii_start().starts_with(b"{") {
        let report = serde_json::from_slice::<Value>(&bytes).and_then(|mut value| {
            // A bundle holds more than the report.
            let inner = value.get_mut("report").map(Value::take);
            serde_json::from_value(inner.unwrap_or(value))
        });
        return report.map_err(|reason| {
            Failure::usage(format_args!(
                "'{name}' is no report of Headwater ({reason}): give what 'e' on the screen or '--format json' wrote"
            ))
        });
    }
    let mut player = Player::new(Tape::File(file.to_owned()))?;
    while player.advance()? {}
    match player.snapshot() {
        Some(snapshot) => Ok(snapshot.written()),
        None => Err(Failure::new(
            EXIT_UNAVAILABLE,
            format_args!("'{name}' holds no evaluation: record for at least 1s"),
        )),
    }
}
