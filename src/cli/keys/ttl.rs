//! `headwater keys ttl`: when keys expire, by a sample, and in which second a herd of them will.

mod forecast;

use clap::Args;
use headwater_engine::Moment;
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{counted, show, two_digits};
use headwater_engine::reading::ToCome;

use super::scanning::ScanArgs;
use super::{KeysFormat, answer};
use crate::cli::EXIT_UNAVAILABLE;
use crate::cli::output::{Failure, layout};
use crate::report::Layout;
use crate::sources::now;
use forecast::Forecast;

/// How long the bar of a share of one is.
const BAR: f64 = 40.0;

/// How many of the fullest seconds are listed.
const SECONDS: usize = 5;

/// `headwater keys ttl`.
#[derive(Debug, Args)]
pub(in crate::cli) struct TtlArgs {
    #[command(flatten)]
    scan: ScanArgs,
    /// The form of the answer
    #[arg(long, value_enum, default_value_t = KeysFormat::Text)]
    format: KeysFormat,
}

/// What it costs, said before anything is asked.
const COSTS: &str = "expiries: SCAN with MEMORY USAGE, reads only, and PTTL of one key in 64, of small shards of more; each \
                     of these adds a hit, which is counted";

pub(super) async fn run(args: TtlArgs) -> Result<u8, Failure> {
    let scanned = args.scan.scan(1, COSTS).await?;
    scanned.any_looked_at()?;
    let Some(forecast) = Forecast::of(&scanned.scans) else {
        return Err(Failure::new(
            EXIT_UNAVAILABLE,
            "no key said when it expires: there are none, or this user may not use PTTL",
        ));
    };
    let to_come = forecast.to_come(now());
    let mut out = layout(100);
    draw(&forecast, to_come, &mut out);
    scanned.tell(&mut out);
    let second = |at: Moment, share: f64| serde_json::json!({ "at": at, "clock": format!("{} UTC", at.clock()), "share": share });
    let json = serde_json::json!({
        "schema": 1,
        "at": forecast.at,
        "keys": forecast.keys,
        "sampled": forecast.sampled,
        "without_expiry": forecast.without,
        "spans": forecast.spans.iter().map(|(within_s, share)| {
            serde_json::json!({ "within_s": within_s, "share": share })
        }).collect::<Vec<_>>(),
        "herd": match to_come {
            ToCome::Herd { at, share } => Some(second(at, share)),
            ToCome::TooFew | ToCome::Passed | ToCome::Even { .. } => None,
        },
        "seconds": forecast.fullest(usize::MAX).into_iter().map(|(at, share)| second(at, share)).collect::<Vec<_>>(),
        "scans": scanned.to_json(),
    });
    answer(args.format, out, json)
}

fn draw(forecast: &Forecast, to_come: ToCome, out: &mut Layout) {
    let keys = |share: f64| show(two_digits(forecast.keys * share), Unit::Count);
    out.line(&format!(
        "{}, {} of them asked when they expire; shares are of those that do, numbers of keys are estimates",
        counted(forecast.keys as u64, "key"),
        show(forecast.sampled as f64, Unit::Count)
    ));
    let without = forecast.without;
    out.line(&format!("never expire  {:>6}  about {}", show(without, Unit::Ratio), keys(without)));
    for (within_s, share) in &forecast.spans {
        let label = match within_s {
            Some(seconds) => format!("within {}", show(*seconds as f64, Unit::Seconds)),
            None => "later".to_owned(),
        };
        let bar = "#".repeat((share * BAR).ceil() as usize);
        let volatile = keys(share * (1.0 - without));
        out.line(&format!("{label:<15} {:>6}  {bar}  about {volatile}", show(*share, Unit::Ratio)));
    }
    let when = |at: Moment| {
        let left = at.seconds_after(forecast.at);
        let left =
            if left > 0.0 { format!("in {}", show(left, Unit::Seconds)) } else { "already".to_owned() };
        format!("{} UTC ({left})", at.clock())
    };
    match to_come {
        ToCome::Herd { at, share } => {
            out.hang(
                "HERD  ",
                6,
                &format!(
                    "{} of the keys that expire do so in one second, {}: about {} keys. They miss together, and the \
                     server stalls while it removes them: spread their expiries, such as +-10 %",
                    show(share, Unit::Ratio),
                    when(at),
                    keys(share * (1.0 - without))
                ),
            );
            out.line("the fullest seconds");
            for (at, share) in forecast.fullest(SECONDS) {
                out.line(&format!("  {:>6}  {}", show(share, Unit::Ratio), when(at)));
            }
        }
        ToCome::Even { at, share } => out.line(&format!(
            "no herd: the fullest second to come, {}, has {}; a herd has more than {} and stands out from the others",
            when(at),
            show(share, Unit::Ratio),
            show(ToCome::SHARE, Unit::Ratio)
        )),
        ToCome::Passed => out.line("no second of the sample in which keys expire is still to come"),
        ToCome::TooFew if forecast.volatile == 0 => out.line("no key of the sample expires"),
        ToCome::TooFew => out.line(&format!(
            "only {} of the sampled keys expire: too few to tell a herd, which takes {}",
            forecast.volatile,
            ToCome::SAMPLE
        )),
    }
}
