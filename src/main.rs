//! The `headwater` command.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use headwater::lab::{self, LabArgs};

#[derive(Parser)]
#[command(name = "headwater", version)]
enum Command {
    /// Real parts on loopback, and a fault at a set second
    Lab(LabArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Lab(args) = Command::parse();
    match lab::run(args, &mut std::io::stdout(), &mut std::io::stderr()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may read it; the exit code says it as well.
            let _ = writeln!(std::io::stderr(), "headwater: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
