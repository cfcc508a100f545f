//! What is generated from the command line's own tables: shell completions and the manual page.

use clap::Args;
use clap_complete::Shell;

use super::output::{Failure, print};

/// `headwater completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(args: CompletionsArgs, command: &mut clap::Command) -> Result<u8, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, command, "headwater", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(super) fn man(command: clap::Command) -> Result<u8, Failure> {
    let mut page = vec![];
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| {
        Failure::new(super::EXIT_IO, format_args!("the manual page cannot be made: {error}"))
    })?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
