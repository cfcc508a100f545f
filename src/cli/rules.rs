//! `headwater rules` and `headwater explain`.

use clap::Args;

use super::output::{Failure, print};

/// `headwater rules`.
#[derive(Debug, Args)]
pub(super) struct RulesArgs {}

/// `headwater explain`.
#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The rule's id, as 'headwater rules' lists it
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn rules(_args: &RulesArgs) -> Result<u8, Failure> {
    print("")?;
    Ok(0)
}

pub(super) fn explain(args: &ExplainArgs) -> Result<u8, Failure> {
    Err(Failure::usage(format_args!("no rule '{}'", args.id)))
}
