//! Spreads the time of a run over its kernels. Each is timed in several rounds with the others between them, because what batches
//! one after the other agree on may be gone a second later; what is then left goes to the noisiest.

mod clock;
mod timed;

use std::time::Duration;

use super::backend::{Backend, Trouble};
use super::kernel::{Kernel, Work};
use super::line::Line;
use super::meter::Allowance;
use super::report::Skipped;
use clock::Clock;
use timed::Timed;

/// Rounds that each kernel has, where the budget allows it.
const PLANNED: usize = 5;

/// Rounds after which more would not tell more.
const MOST: usize = 60;

/// Times kernels within a budget and tells each when all is done. Kernels that the device lacks are asked for first, so that
/// their share is the others'. Of memory is taken what can be filled within the first kernel's share that works on it, and what
/// does not fit into what is left is skipped.
pub(super) fn measure_all(
    backend: &dyn Backend,
    kernels: &[&'static Kernel],
    budget: Duration,
    elapsed: &dyn Fn() -> Duration,
    tell: &mut dyn FnMut(&Line),
) -> Result<(), Trouble> {
    let skip = |tell: &mut dyn FnMut(&Line), kernel: &Kernel, why: String, for_lack_of_time: bool| {
        tell(&Line::Skipped(Skipped { name: kernel.name.to_owned(), why, for_lack_of_time }));
    };
    let mut here = vec![];
    for kernel in kernels {
        match backend.lacks(kernel.id) {
            Some(why) => skip(tell, kernel, why, false),
            None => here.push(*kernel),
        }
    }
    let clock = Clock::new(backend, budget, here.len(), elapsed);
    let mut timed: Vec<Timed> = vec![];
    let mut is_fitted = false;
    for (place, kernel) in here.iter().enumerate() {
        let (not_begun, begun) = ((here.len() - place) as u32, timed.len() as u32);
        if clock.left().is_zero() {
            skip(tell, kernel, format!("the budget was spent{MORE}"), true);
            continue;
        }
        if kernel.work == Work::Bytes && !std::mem::replace(&mut is_fitted, true) {
            let fitted = clock.fit(clock.left() / not_begun);
            fitted.into_iter().for_each(|(taken, wanted)| tell(&Line::Fitted(taken, wanted)));
        }
        let left = clock.left();
        tell(&Line::Begun(kernel.name.to_owned()));
        let planned = not_begun * PLANNED as u32 + begun * (PLANNED as u32 - 1);
        let allowed = Allowance { usual: left / planned, most: left / not_begun };
        match clock.first(kernel, allowed) {
            Ok(first) => timed.push(first),
            Err(Trouble::Late(why)) => skip(tell, kernel, why + MORE, true),
            Err(Trouble::NotHere(why) | Trouble::Wrong(why)) => skip(tell, kernel, why, false),
            Err(Trouble::Failed(why)) => return Err(failed(kernel, &why)),
        }
    }
    while let Some(place) = next(&timed, clock.left()) {
        let planned: usize = timed.iter().map(|timed| PLANNED.saturating_sub(timed.series.rounds())).sum();
        let (share, next) = (clock.left() / planned.max(1) as u32, &mut timed[place]);
        let usual = if planned > 0 { share } else { next.cost() };
        tell(&Line::Begun(next.kernel.name.to_owned()));
        match clock.another(next, Allowance { usual, most: clock.left() }) {
            Ok(()) => {}
            // What serves requests may have taken its memory meanwhile, or its time; what was seen of it stands.
            Err(Trouble::NotHere(_) | Trouble::Late(_)) => next.is_over = true,
            Err(Trouble::Wrong(why) | Trouble::Failed(why)) => return Err(failed(next.kernel, &why)),
        }
    }
    for timed in timed {
        tell(&Line::Timed(timed.result()));
    }
    Ok(())
}

/// What to do about too little time.
const MORE: &str = ": give more with '--budget'";

fn failed(kernel: &Kernel, why: &str) -> Trouble {
    Trouble::Failed(format!("{}: {why}", kernel.name))
}

/// The kernel that has the next round: the one with the fewest until all have had those that were planned, then the noisiest, in
/// proportion to the rounds that it has had. One whose round would not end in what is left has none.
fn next(timed: &[Timed], left: Duration) -> Option<usize> {
    let wants = |place: &usize| timed[*place].is_wanting() && timed[*place].cost() <= left;
    let order = |place: &usize| {
        let rounds = timed[*place].series.rounds();
        (rounds.min(PLANNED), -timed[*place].noise() / rounds as f64)
    };
    let first = |one: &usize, other: &usize| {
        let (one, other) = (order(one), order(other));
        one.0.cmp(&other.0).then(if one.0 < PLANNED {
            std::cmp::Ordering::Equal
        } else {
            one.1.total_cmp(&other.1)
        })
    };
    (0..timed.len()).filter(wants).min_by(first)
}

#[cfg(test)]
mod tests;
