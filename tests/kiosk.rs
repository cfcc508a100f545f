//! A wall for eight hours: no turn is missed, what fails stays in sight, silence is told, and memory is flat.
//!
//! Eight hours at one round in five seconds are 5 760 rounds of the bundled recordings, played as fast as they can be.
//! They are real readings of a real lab; what is made up is that they repeat, with totals that grow on.

mod kiosk {
    pub(crate) mod day;
    pub(crate) mod heap;
    pub(crate) mod tape;
    pub(crate) mod wall;
}

use cap::Cap;
use std::alloc::System;

use kiosk::day::{Day, INTERVAL, Part, ROUNDS, TENTH, part};
use kiosk::heap::is_flat;
use kiosk::wall::Wall;

/// Counts what is held; it refuses nothing.
#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Rounds until an incident must be on the wall, and after its end until it must be off it again.
const SEEN_WITHIN: usize = 24;
const OVER_WITHIN: usize = 24;

/// Intervals until the wall must say that nothing comes any more.
const SILENCE_SEEN_WITHIN: usize = 3;

#[test]
fn eight_hours() {
    let mut day = Day::new();
    let before = HEAP.allocated();
    let mut wall = Wall::new(day.settings());
    // Made in full at once, so that the measuring is no part of what grows.
    let mut held = Vec::with_capacity(ROUNDS);
    let capacity = held.capacity() * size_of::<usize>();
    let mut turns = Turns::default();
    for round in 0..ROUNDS {
        let text = wall.round(&mut day, round);
        turns.take(wall.stays());
        assert_eq!(wall.kiosk.rotations(), turns.expected(), "round {round}");
        what_is_shown(&wall, round, &text);
        held.push(HEAP.allocated() - before - capacity);
        if round == TENTH {
            let kept = wall.snapshot().kept;
            assert!(kept.coarse_for <= INTERVAL * TENTH as u32, "history must be full by now: {kept:?}");
        }
    }
    assert!(turns.expected() > 1_500, "{}", turns.expected());
    assert_eq!(is_flat(&held), Ok(()));

    // The same heights with a leak of a kilobyte a round on top: the same look at them must see it.
    let leaking: Vec<usize> = held.iter().enumerate().map(|(round, bytes)| bytes + round * 1_024).collect();
    assert!(is_flat(&leaking).is_err(), "a leak was not seen");
}

/// What the wall must show in this round.
fn what_is_shown(wall: &Wall, round: usize, text: &str) {
    let says = |words: &str| text.contains(words);
    match part(round) {
        Part::Incident(since) => {
            assert!(wall.is_failing() || since < SEEN_WITHIN, "round {round}: not guilty yet\n{text}");
            assert_eq!(says("while this lasts"), wall.stays(), "round {round}\n{text}");
            if wall.is_failing() {
                assert_eq!(wall.kiosk.showing(), "shards", "round {round}");
            }
        }
        Part::After(since) if since < OVER_WITHIN => {}
        Part::Silent(since) => {
            assert!(!wall.is_failing());
            assert!(says("NO DATA SINCE") || since + 1 < SILENCE_SEEN_WITHIN, "round {round}\n{text}");
        }
        Part::Healthy | Part::After(_) => {
            assert!(!wall.is_failing(), "round {round}\n{text}");
            assert!(!says("NO DATA SINCE"), "round {round}\n{text}");
        }
    }
}

/// Turns that must have been taken: one in fifteen seconds, counted anew after what failed.
#[derive(Default)]
struct Turns {
    before: u64,
    /// Rounds since the first one, and since the last one in which something failed.
    calm: Option<u64>,
}

impl Turns {
    fn take(&mut self, stays: bool) {
        if stays {
            self.before = self.expected();
            self.calm = Some(0);
        } else {
            self.calm = Some(self.calm.map_or(0, |rounds| rounds + 1));
        }
    }

    fn expected(&self) -> u64 {
        let seconds = self.calm.unwrap_or(0) * INTERVAL.as_secs();
        self.before + seconds / headwater_panels::kiosk::TURN.as_secs()
    }
}
