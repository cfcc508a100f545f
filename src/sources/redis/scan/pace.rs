//! How fast a scan may go: its share of the server's core, by the server's own count.

use std::time::Duration;

use tokio::time::Instant;

use super::super::info::Info;

/// What a batch is taken to cost until the server's own figures are there, in microseconds: one SCAN and each key.
const FIRST_GUESS: (f64, f64) = (40.0, 1.5);

/// What asking for the figures costs, in microseconds.
const MEASURE_COST: f64 = 100.0;

/// How often the server's figures are read.
const MEASURE_EVERY: Duration = Duration::from_secs(1);

/// The first this long may be spent at once: a small shard is scanned before anyone waits.
const HEAD_START: Duration = Duration::from_secs(1);

/// Above this share of a core in commands the node is busy and the scan takes a quarter of its budget.
const BUSY: f64 = 0.7;

/// Time in commands since the server started, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Figures {
    at: Instant,
    scanning: f64,
    all: f64,
}

/// The pace of one scan.
#[derive(Debug)]
pub(in crate::sources::redis) struct Pace {
    share: f64,
    slowed: f64,
    /// Seconds of CPU earned by waiting, as of `earned_at`.
    credit: f64,
    earned_at: Instant,
    last: Option<Figures>,
    /// Seconds taken to be spent since the last figures.
    guessed: f64,
    /// What a guessed second was worth by the figures.
    correction: f64,
}

impl Pace {
    pub(in crate::sources::redis) fn new(share: f64, now: Instant) -> Self {
        let share = share.clamp(0.000_1, 1.0);
        Self {
            share,
            slowed: 1.0,
            credit: HEAD_START.as_secs_f64() * share,
            earned_at: now,
            last: None,
            guessed: 0.0,
            correction: 1.0,
        }
    }

    /// Whether the server's figures are due.
    pub(in crate::sources::redis) fn wants_measure(&self, now: Instant) -> bool {
        self.last.is_none_or(|last| now.duration_since(last.at) >= MEASURE_EVERY)
    }

    /// Takes the server's figures.
    pub(in crate::sources::redis) fn measure(&mut self, info: &Info<'_>, now: Instant) {
        self.earn(now);
        self.credit -= MEASURE_COST / 1e6;
        let is_ours =
            |name: &str| ["scan", "memory", "memory|usage", "object", "object|freq"].contains(&name);
        let scanning = info.commands.iter().filter(|c| is_ours(c.name)).map(|c| c.usec).sum::<f64>();
        let figures = Figures { at: now, scanning, all: info.commands.iter().map(|c| c.usec).sum() };
        if let Some(last) = self.last.replace(figures) {
            let spent = (figures.scanning - last.scanning) / 1e6;
            if self.guessed > 0.0 && spent >= 0.0 {
                // The difference to what was taken off already.
                self.credit -= spent - self.guessed * self.correction;
                self.correction = (spent / self.guessed).clamp(0.1, 100.0);
            }
            let seconds = figures.at.duration_since(last.at).as_secs_f64();
            let busy = (figures.all - last.all) / 1e6 / seconds.max(0.001);
            self.slowed = if busy > BUSY { 0.25 } else { 1.0 };
        }
        self.guessed = 0.0;
    }

    /// Takes off what a batch of so many keys costs.
    pub(in crate::sources::redis) fn spent(&mut self, keys: usize) {
        let guess = (FIRST_GUESS.0 + FIRST_GUESS.1 * keys as f64) / 1e6;
        self.guessed += guess;
        self.credit -= guess * self.correction;
    }

    /// When the next batch may go out.
    pub(in crate::sources::redis) fn next_at(&mut self) -> Instant {
        let now = Instant::now();
        self.earn(now);
        if self.credit >= 0.0 {
            return now;
        }
        now + Duration::from_secs_f64((-self.credit / (self.share * self.slowed)).min(60.0))
    }

    fn earn(&mut self, now: Instant) {
        let waited = now.duration_since(self.earned_at).as_secs_f64();
        self.earned_at = now;
        let most = HEAD_START.as_secs_f64() * self.share;
        self.credit = (self.credit + waited * self.share * self.slowed).min(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(pace: &mut Pace, scanning: f64, all: f64, at: Instant) {
        let text =
            format!("cmdstat_scan:calls=1,usec={scanning}\ncmdstat_get:calls=1,usec={}\n", all - scanning);
        pace.measure(&Info::parse(&text), at);
    }

    #[test]
    fn a_scan_that_costs_more_than_guessed_waits_longer() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        assert!(pace.wants_measure(start));
        figures(&mut pace, 0.0, 0.0, start);
        pace.spent(100);
        let guessed = pace.credit;
        // 190 microseconds were guessed and 19 milliseconds were spent.
        figures(&mut pace, 19_000.0, 19_000.0, start);
        assert!(pace.credit < guessed - 0.018, "{} after {guessed}", pace.credit);
        assert!((pace.correction - 100.0).abs() < 1e-6);
        let wait = pace.next_at().duration_since(Instant::now());
        assert!(wait > Duration::from_millis(500), "{wait:?}");
    }

    #[test]
    fn a_busy_node_is_scanned_at_a_quarter() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        figures(&mut pace, 0.0, 0.0, start);
        figures(&mut pace, 0.0, 800_000.0, start + Duration::from_secs(1));
        assert!((pace.slowed - 0.25).abs() < 1e-9);
        figures(&mut pace, 0.0, 900_000.0, start + Duration::from_secs(2));
        assert!((pace.slowed - 1.0).abs() < 1e-9);
    }

    #[test]
    fn over_time_the_share_is_kept() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        let (mut clock, mut spent) = (start, 0.0);
        for _ in 0..2_000 {
            pace.spent(100);
            spent += (FIRST_GUESS.0 + FIRST_GUESS.1 * 100.0) / 1e6;
            pace.earn(clock);
            if pace.credit < 0.0 {
                clock += Duration::from_secs_f64(-pace.credit / pace.share);
            }
        }
        let share = spent / clock.duration_since(start).as_secs_f64();
        assert!((0.009..0.011).contains(&share), "{share}");
    }
}
