//! The command line: one file a command.

mod baselines;
mod bench;
mod cases;
mod config;
mod consent;
mod demo;
mod dialects;
mod doctor;
mod generated;
mod graph;
mod keys;
mod kiosk;
mod log;
mod output;
mod rank;
mod record;
mod report;
mod rules;
mod runbook;
mod target;
mod triage;
mod tui;

use std::io::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::Span;
use crate::lab::{self, LabArgs};
use crate::{open_files, tls};
use output::{Failure, exit};

/// Exit code for wrong arguments or a wrong configuration (EX_USAGE of sysexits).
pub const EXIT_USAGE: u8 = 64;

/// Exit code when no target answers (EX_UNAVAILABLE of sysexits).
pub const EXIT_UNAVAILABLE: u8 = 69;

/// Exit code when the system gives no threads (EX_OSERR of sysexits).
pub const EXIT_SYSTEM: u8 = 71;

/// Exit code after a panic, as Rust's own.
const EXIT_PANIC: u8 = 101;

/// Exit code when the report or a recording cannot be written, as on a full disk (EX_IOERR of sysexits).
pub const EXIT_IO: u8 = 74;

/// Live incident triage of online AI inference: which dependency is guilty, and why.
///
/// Given targets, or a configuration, it shows them on a screen; 'triage' is the same without one. Polls every Redis shard and every metrics page, walks the dependency graph from the deepest dependency up, and
/// says of each component whether it is guilty, suspect, innocent or unknown, with the evidence.
#[derive(Debug, Parser)]
#[command(name = "headwater", version)]
struct Cli {
    /// Log to standard error, for example 'info' or 'headwater=debug'; RUST_LOG does the same
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,

    /// Log to this file instead of standard error
    #[arg(long, global = true, value_name = "FILE")]
    log_file: Option<std::path::PathBuf>,

    #[command(flatten)]
    screen: tui::TuiArgs,

    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at the targets for a while and say who is guilty
    ///
    /// Exit codes: 0 nothing guilty, 1 a subject is guilty, 2 nothing guilty but not everything could be seen,
    /// 64 wrong arguments or configuration, 69 no target answered, 71 the system gives no threads, 74 the report or the
    /// recording cannot be written.
    Triage(triage::TriageArgs),
    /// Show panels in turn on a wall without a keyboard: big type, stays on what fails; ctrl-q leaves
    Kiosk(kiosk::KioskArgs),
    /// Big keys, hot keys, and where keys live
    #[command(subcommand)]
    Keys(keys::KeysCommand),
    /// Record everything that the engine is told, for a replay
    Record(record::RecordArgs),
    /// Play a recording on the screen, or report what the engine says at its end
    Replay(record::ReplayArgs),
    /// Write up the incident of a recording: Markdown and JSON
    Report(report::ReportArgs),
    /// Draw who calls whom, with the verdict on each component
    ///
    /// Looks at the targets for 3 s first, so that verdicts and numbers can be told; '--no-poll' draws what the
    /// configuration and the files of its [[graph]] tables say, and '--replay' what a recording says at its end. Exit
    /// codes: 0 drawn, 64 wrong arguments or configuration.
    Graph(graph::GraphArgs),
    /// Check that every target can be reached and read, and say what would repair it
    Doctor(doctor::DoctorArgs),
    /// Rank what explains a symptom, from exported files: who calls whom, numbers over time, what hurts since when
    ///
    /// Exit codes: 0 ranked, 64 a file is missing or broken, 74 the answer cannot be written.
    Rank(rank::RankArgs),
    /// List the metrics pages that can be read, or explain what is made of one
    ///
    /// Exit codes: 0 listed or explained, 64 wrong arguments or a file that holds no metrics, 69 the address does not answer.
    Dialects(dialects::DialectsArgs),
    /// Time known kernels on this machine's GPU or CPU, and compare with an earlier run
    ///
    /// Launches, memory bandwidth, a matrix product, embedding look-ups and copies to and from the device, in a process of
    /// its own. Exit codes: 0 measured, 64 wrong arguments, 69 the device cannot be used, is better left alone, or computes
    /// wrongly.
    Bench(bench::BenchArgs),
    /// The process that measures
    #[command(hide = true)]
    BenchChild(bench::BenchChildArgs),
    /// List the rules with what they watch and their thresholds
    Rules(rules::RulesArgs),
    /// Explain one rule
    Explain(rules::ExplainArgs),
    /// Runbooks: what to ask in which order, what good looks like, what to do
    #[command(subcommand)]
    Runbook(runbook::RunbookCommand),
    /// Past incidents: find one that looks like this one, or add this one
    #[command(subcommand)]
    Cases(cases::CasesCommand),
    /// Make, print and check configurations
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Run a real Redis cluster and an inference service on loopback, and inject a fault
    Lab(LabArgs),
    /// Run the lab and show it on the screen: the quickest way to see what Headwater says
    Demo(demo::DemoArgs),
    /// Print shell completions
    Completions(generated::CompletionsArgs),
    /// Print the manual page
    Man,
}

/// Runs the command line of this process and gives its exit code.
pub fn main() -> ExitCode {
    let started = Instant::now();
    let matches = match Cli::command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return usage(&error),
    };
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    if let Err(failure) = nothing_before_a_command(&matches) {
        return exit(Err(failure));
    }
    // The first thing in the process: whoever builds a TLS client later finds a provider.
    tls::install_provider();
    open_files::raise_limit();
    let has_screen = match &cli.command {
        None | Some(Command::Kiosk(_)) => true,
        Some(Command::Replay(args)) => args.has_screen(),
        Some(Command::Demo(args)) => args.has_screen(),
        Some(_) => false,
    };
    let ran =
        log::start(cli.log.as_deref(), cli.log_file.as_deref(), has_screen).and_then(|()| run(cli, started));
    exit(ran)
}

/// The options of the screen mean nothing to a command: they are not dropped without a word.
fn nothing_before_a_command(matches: &clap::ArgMatches) -> Result<(), Failure> {
    let Some(command) = matches.subcommand_name() else { return Ok(()) };
    let is_given =
        |id: &clap::Id| matches.value_source(id.as_str()) == Some(clap::parser::ValueSource::CommandLine);
    let root = Cli::command();
    let misplaced = root.get_arguments().find(|option| !option.is_global_set() && is_given(option.get_id()));
    match misplaced {
        None => Ok(()),
        Some(option) => {
            let name = option.get_long().unwrap_or_default();
            Err(Failure::usage(format_args!(
                "'--{name}' stands before '{command}': write it after the command"
            )))
        }
    }
}

fn run(cli: Cli, started: Instant) -> Result<u8, Failure> {
    let Some(command) = cli.command else {
        if cli.screen.names_nothing() {
            let _ = write!(std::io::stderr(), "{}", Cli::command().render_help());
            return Ok(EXIT_USAGE);
        }
        return in_runtime(tui::run(cli.screen));
    };
    match command {
        Command::Triage(args) => in_runtime(triage::run(args, started)),
        Command::Kiosk(args) => in_runtime(kiosk::run(args)),
        Command::Keys(command) => in_runtime(keys::run(command)),
        Command::Record(args) => in_runtime(record::record(args)),
        Command::Replay(args) => in_runtime(record::replay(args)),
        Command::Report(args) => report::run(&args),
        Command::Graph(args) => in_runtime(graph::run(args, started)),
        Command::Doctor(args) => in_runtime(doctor::run(args)),
        Command::Dialects(args) => in_runtime(dialects::run(args)),
        Command::Rank(args) => rank::run(&args),
        Command::Bench(args) => in_runtime(bench::run(args)),
        Command::BenchChild(args) => Ok(bench::child(&args)),
        Command::Rules(args) => rules::rules(&args),
        Command::Explain(args) => rules::explain(&args),
        Command::Runbook(command) => runbook::run(command),
        Command::Cases(command) => cases::run(command),
        Command::Config(command) => config::run(command),
        Command::Lab(args) => in_runtime(async {
            match lab::run(args, &mut std::io::stdout(), &mut std::io::stderr()).await {
                Ok(()) => Ok(0),
                Err(error) => Err(Failure::new(error.exit_code(), error)),
            }
        }),
        Command::Demo(args) => in_runtime(demo::run(args)),
        Command::Completions(args) => generated::completions(args, &mut Cli::command()),
        Command::Man => generated::man(Cli::command()),
    }
}

/// clap's answers: help and version are what was asked for, everything else is a wrong argument.
fn usage(error: &clap::Error) -> ExitCode {
    // A closed pipe is no reason for another exit code.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { EXIT_USAGE } else { 0 })
}

fn in_runtime(command: impl Future<Output = Result<u8, Failure>>) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(EXIT_SYSTEM, format_args!("no threads can be started: {error}")))?;
    let ran = runtime.block_on(command);
    // A name look-up that still hangs must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(200));
    ran
}

/// A span of time as an argument: `10s`, `500ms`, `2min`.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
    text.parse::<Span>().map(|span| span.0)
}

/// Done at ctrl-c or SIGTERM.
pub(crate) async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}
