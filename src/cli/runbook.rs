//! `headwater runbook`: list, show and check runbooks.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use headwater_engine::Library;
use headwater_engine::report::SCHEMA;
use headwater_engine::runbook::{Asks, Check, Remedy, Runbook, Step};
use serde_json::{Value, json};

use super::output::{Failure, layout, print, say};
use crate::config::unknown_name;
use crate::library::{load, runbook_of, runbook_text};
use crate::report::Layout;

/// The column beside the labels.
const INDENT: usize = 10;

/// `headwater runbook`.
#[derive(Debug, Subcommand)]
pub(super) enum RunbookCommand {
    /// List all runbooks with what calls for them
    List {
        /// The form of the list
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
    /// Show one runbook, step by step, with its actions
    Show(ShowArgs),
    /// Check a file: every problem with its line and its fix
    Check {
        /// The runbook
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// `headwater runbook show`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Its id, as 'headwater runbook list' has it
    #[arg(value_name = "ID")]
    id: String,

    /// The form; toml is what a runbook of your own can begin with
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    format: ShowFormat,
}

/// The forms of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ListFormat {
    /// For reading.
    Text,
    /// For programs.
    Json,
}

/// The forms of one runbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ShowFormat {
    /// For reading.
    Text,
    /// For programs.
    Json,
    /// The file itself.
    Toml,
}

pub(super) fn run(command: RunbookCommand) -> Result<u8, Failure> {
    if let RunbookCommand::Check { file } = &command {
        let runbook = runbook_of(file)?;
        let checks: usize = runbook.steps.iter().map(|step| step.checks.len()).sum();
        let text = format!(
            "{}: right: '{}', {} steps, {checks} checks\n",
            file.display(),
            runbook.title,
            runbook.steps.len()
        );
        print(&text)?;
        return Ok(0);
    }
    let (library, broken) = load();
    for fault in &broken {
        say(format_args!("left out: {fault}"));
    }
    match command {
        RunbookCommand::List { format: ListFormat::Text } => print(&list(&library.runbooks))?,
        RunbookCommand::List { format: ListFormat::Json } => {
            let rows: Value = library.runbooks.iter().map(row).collect();
            print(&format!("{:#}\n", json!({ "schema": SCHEMA, "runbooks": rows })))?;
        }
        RunbookCommand::Show(args) => show(&args, &library)?,
        RunbookCommand::Check { .. } => {}
    }
    Ok(0)
}

fn show(args: &ShowArgs, library: &Library) -> Result<(), Failure> {
    let Some(runbook) = library.runbooks.iter().find(|runbook| runbook.id == args.id) else {
        let ids: Vec<&str> = library.runbooks.iter().map(|runbook| runbook.id.as_str()).collect();
        return Err(Failure::usage(unknown_name("runbook", &args.id, &ids)));
    };
    match args.format {
        ShowFormat::Text => print(&told(runbook, &library.remedies)),
        ShowFormat::Json => {
            let named: Vec<&Remedy> = named(runbook, &library.remedies);
            print(&format!("{:#}\n", json!({ "runbook": runbook, "remedies": named })))
        }
        ShowFormat::Toml => print(&runbook_text(&runbook.id, library)),
    }
}

/// The actions that a runbook names, each once.
fn named<'a>(runbook: &Runbook, remedies: &'a [Remedy]) -> Vec<&'a Remedy> {
    let is_named = |remedy: &&Remedy| runbook.steps.iter().any(|step| step.remedies.contains(&remedy.id));
    remedies.iter().filter(is_named).collect()
}

fn row(runbook: &Runbook) -> Value {
    json!({
        "id": runbook.id,
        "title": runbook.title,
        "about": runbook.about,
        "when": runbook.when,
        "steps": runbook.steps.iter().map(|step| json!({ "id": step.id, "title": step.title })).collect::<Value>(),
    })
}

fn list(runbooks: &[Runbook]) -> String {
    let mut out = layout(80);
    let column = runbooks.iter().map(|runbook| runbook.id.chars().count()).max().unwrap_or(0) + 2;
    for runbook in runbooks {
        out.hang(&runbook.id, column, &format!("{}: {}", runbook.title, runbook.about));
        let when = match runbook.when.as_slice() {
            [] => "always applies".to_owned(),
            rules => format!("when {} fires", rules.join(" or ")),
        };
        out.hang("", column, &format!("{when}; {} steps", runbook.steps.len()));
    }
    out.finish()
}

/// One runbook for a terminal of 80 columns.
fn told(runbook: &Runbook, remedies: &[Remedy]) -> String {
    let mut out = layout(80);
    out.hang("", 0, &format!("{}: {}", runbook.title, runbook.about));
    for step in &runbook.steps {
        out.blank();
        tell(step, remedies, &mut out);
    }
    out.finish()
}

fn tell(step: &Step, remedies: &[Remedy], out: &mut Layout) {
    out.hang("", 0, &format!("{} {}: {}", step.id, step.title, step.question));
    out.hang("  why", INDENT, &step.why);
    for check in &step.checks {
        out.hang("  check", INDENT, &format!("{} ({})", check.says, asked(check)));
    }
    out.hang("  look", INDENT, &format!("panel {}{}", step.panel, filter(step)));
    out.hang("  good is", INDENT, &step.good);
    out.hang("  if bad", INDENT, &step.if_bad);
    out.hang("  if good", INDENT, &step.if_good);
    for id in &step.remedies {
        let Some(remedy) = remedies.iter().find(|remedy| remedy.id == *id) else { continue };
        out.hang("  do", INDENT, &remedy.text);
        let gate = remedy.gate.as_ref().map(|gate| ("only if", gate));
        let command = remedy.command.as_ref().map(|command| ("command", command));
        let parts = [("effect", &remedy.effect), ("risk", &remedy.risk), ("undo", &remedy.undo)];
        for (label, text) in gate.into_iter().chain(parts).chain(command) {
            out.hang("", INDENT, &format!("{label}: {text}"));
        }
    }
    for avoid in &step.avoid {
        out.hang("  avoid", INDENT, avoid);
    }
}

fn filter(step: &Step) -> String {
    step.filter.as_ref().map_or_else(String::new, |filter| format!(", filter {filter}"))
}

/// What a check evaluates.
fn asked(check: &Check) -> String {
    let on = check.on.as_ref().map_or_else(String::new, |on| format!(" on {on}"));
    match (check.asks, &check.expect) {
        (Some(Asks::Shape), _) => "the form of the failure".to_owned(),
        (Some(Asks::Scope), _) => "the rules that see symptoms".to_owned(),
        (Some(Asks::Changes), _) => "changes of the day before".to_owned(),
        (Some(Asks::Action), _) => "actions that you recorded".to_owned(),
        (Some(Asks::Recovery), _) => "callers against what is usual, for a minute".to_owned(),
        (None, Some(expression)) => format!("{expression}{on}"),
        (None, None) => format!("{}{on}", check.rules.join(", ")),
    }
}
