//! `headwater keys`: where keys live, which are big, which are hot, and when they expire.

mod big;
mod following;
mod heard;
mod hot;
mod place;
mod scanning;
mod ttl;
mod watched;

use clap::Subcommand;
use clap::builder::RangedU64ValueParser;

use super::output::{Failure, print};
use crate::report::Layout;

/// `headwater keys`.
#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Say where keys live: slot, shard, primary, what they share, and whether their slots are moving
    Place(place::PlaceArgs),
    /// Name the biggest keys: by what servers count anyway, then by a scan within a budget of their CPU
    ///
    /// Exit codes: 0 a shard was scanned, at least in part, 64 wrong arguments or configuration, 69 no target answered or
    /// no shard could be scanned.
    Big(big::BigArgs),
    /// Say when keys expire, and in which second a herd of them will
    ///
    /// Exit codes: 0 keys were asked, 64 wrong arguments or configuration, 69 no target answered, no shard could be scanned
    /// or no key could be asked.
    Ttl(ttl::TtlArgs),
    /// Name the hottest keys in the gentlest way that the server offers; what slows it needs a flag
    ///
    /// Exit codes: 0 a way ran, 64 wrong arguments or configuration, 69 no target answered or no way that is allowed may
    /// run.
    Hot(hot::HotArgs),
}

/// The forms of the answer.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum KeysFormat {
    Text,
    Json,
}

pub(super) async fn run(command: KeysCommand) -> Result<u8, Failure> {
    match command {
        KeysCommand::Place(args) => place::run(args).await,
        KeysCommand::Big(args) => big::run(args).await,
        KeysCommand::Ttl(args) => ttl::run(args).await,
        KeysCommand::Hot(args) => hot::run(args).await,
    }
}

/// A share of a core: `1%` or `0.01`.
fn share(text: &str) -> Result<f64, String> {
    let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / divisor);
    share
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| "write a share of one core such as '1%' or '0.05', up to '100%'".to_owned())
}

/// A number from 1 to the most that is kept.
fn at_most<const MOST: u64>() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MOST)
}

fn answer(format: KeysFormat, text: Layout, json: serde_json::Value) -> Result<u8, Failure> {
    match format {
        KeysFormat::Text => print(&text.finish())?,
        KeysFormat::Json => print(&format!("{json:#}\n"))?,
    }
    Ok(0)
}
