//! A signal in few words: its value, and how many times its usual one that is.

use headwater_engine::metric::{Bad, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::signal::Signal;

/// From this multiple of the usual value on it is worth saying, and for values that are bad when low, below this.
const TELLING: f64 = 1.3;
const TELLING_LOW: f64 = 0.97;

/// The value, `no source` when nobody ever told, `no data` when nobody does any more.
pub(crate) fn value(signal: &Signal) -> String {
    match signal.now {
        Some(seen) => format!("{}{}", signal.sign, show(seen.value, signal.row.unit)),
        None if signal.trace.latest().is_none() => "no source".to_owned(),
        None => "no data".to_owned(),
    }
}

/// `x13`: how many times its usual value, where that is worse than usual, and `new` where that is nothing at all; empty
/// otherwise.
pub(crate) fn multiple(signal: &Signal) -> String {
    let (Some(now), Some(usual)) = (signal.now.map(|seen| seen.value), signal.usual) else {
        return String::new();
    };
    let is_worse = match signal.row.bad {
        Bad::High => now > usual * TELLING,
        Bad::Low => now < usual * TELLING_LOW,
        Bad::Neither => false,
    };
    if !is_worse {
        return String::new();
    }
    // A multiple of nothing is no number; that it was nothing is the news.
    let is_nothing = usual <= 0.0 || (signal.row.unit == Unit::Ratio && usual < 1e-6);
    if is_nothing { "new".to_owned() } else { format!("x{}", times(now / usual).trim_end_matches('x')) }
}
