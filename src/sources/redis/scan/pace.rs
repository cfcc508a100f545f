//! How fast a scan may go: its share of the server's core, by the server's own count.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::super::allowed::Release;
use super::super::info::Info;
use super::super::samples::main_thread_seconds;

/// What a batch is taken to cost until the server's own figures are there, in microseconds: one SCAN and each key.
const FIRST_GUESS: (f64, f64) = (40.0, 1.5);

/// How often the server's figures are read.
const MEASURE_EVERY: Duration = Duration::from_secs(1);

/// The first this long may be spent at once: a small shard is scanned before anyone waits.
const HEAD_START: Duration = Duration::from_secs(1);

/// Above this share of a core in others' commands, or where they take twice as much as in their calmest second and
/// this much more, the scan takes this part of its budget.
const BUSY: f64 = 0.7;
const RISEN: f64 = 0.1;
const WHILE_BUSY: f64 = 0.25;

/// Above this share of a core the main thread is nearly spent, and the scan takes this part of its budget.
const SPENT: f64 = 0.9;
const WHILE_SPENT: f64 = 0.1;

/// How many keys one SCAN asks for, at first and at most, and at least where a call takes long.
const BATCH: (u32, u32) = (400, 50);

/// How long one SCAN may keep the server, in microseconds.
const LONGEST_CALL: f64 = 1_000.0;

/// The sections that the pace is measured by.
pub(in crate::sources::redis) const FIGURES: &[&str] = &["commandstats", "cpu"];

/// The sections that a server of this release is asked for: one that knows one at a time gives the first.
pub(in crate::sources::redis) fn figures_of(release: Release) -> &'static [&'static str] {
    if release.knows_several_sections() { FIGURES } else { &FIGURES[..1] }
}

/// What the server had done at one moment.
#[derive(Debug)]
struct Figures {
    at: Instant,
    /// Calls and microseconds of every command.
    commands: BTreeMap<String, (f64, f64)>,
    /// Calls of ours, by our names.
    ours: BTreeMap<&'static str, u64>,
    /// Seconds of CPU of the main thread.
    cpu_s: Option<f64>,
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
    /// The least share of a core that others' commands took.
    calmest: f64,
    batch: u32,
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
            calmest: f64::INFINITY,
            batch: BATCH.0,
        }
    }

    /// Whether the server's figures are due.
    pub(in crate::sources::redis) fn wants_measure(&self, now: Instant) -> bool {
        self.last.as_ref().is_none_or(|last| now.duration_since(last.at) >= MEASURE_EVERY)
    }

    /// How many keys the next SCAN may ask for.
    pub(in crate::sources::redis) fn batch(&self) -> u32 {
        self.batch
    }

    /// Takes the server's figures with what we have called until now; returns the seconds of CPU that our commands have
    /// taken since the last ones. Others may send the same commands: of their time we take the part of our calls. Where
    /// the server tells nothing of one of our commands, the guess stands, corrected as it was before.
    pub(in crate::sources::redis) fn measure(
        &mut self,
        info: &Info<'_>,
        ours: &BTreeMap<&'static str, u64>,
        now: Instant,
    ) -> f64 {
        self.earn(now);
        let figures = Figures {
            at: now,
            commands: info.commands.iter().map(|c| (c.name.to_owned(), (c.calls, c.usec))).collect(),
            ours: ours.clone(),
            cpu_s: main_thread_seconds(info),
        };
        let mut spent = 0.0;
        if let Some(last) = self.last.replace(figures)
            && let Some(figures) = &self.last
        {
            let (told, all) = figures.since(&last);
            let guessed = self.guessed * self.correction;
            spent = told.unwrap_or(guessed);
            self.batch = figures.batch(&last, self.batch);
            if self.guessed > 0.0 && told.is_some() {
                // The difference to what was taken off already.
                self.credit -= spent - guessed;
                self.correction = (spent / self.guessed).clamp(0.1, 100.0);
            }
            let seconds = now.duration_since(last.at).as_secs_f64().max(0.001);
            let others = (all - spent).max(0.0) / seconds;
            let thread = figures.cpu_s.zip(last.cpu_s).map_or(0.0, |(now, then)| (now - then) / seconds);
            self.slowed = match () {
                () if thread > SPENT => WHILE_SPENT,
                () if others > BUSY || others > 2.0 * self.calmest + RISEN => WHILE_BUSY,
                () => 1.0,
            };
            self.calmest = self.calmest.min(others);
        }
        self.guessed = 0.0;
        spent
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

impl Figures {
    /// Seconds that our commands and all commands took since earlier figures. Counters that were set back say nothing;
    /// `None` where one of our commands was sent and is not among what was counted, as in the INFO of some forks.
    fn since(&self, last: &Self) -> (Option<f64>, f64) {
        let all: f64 = self
            .commands
            .iter()
            .map(|(name, (_, usec))| usec - last.commands.get(name).map_or(0.0, |(_, usec)| *usec))
            .filter(|usec| *usec > 0.0)
            .sum();
        let sent = |(name, calls): (&&'static str, &u64)| {
            let sent = calls.saturating_sub(last.ours.get(name).copied().unwrap_or(0));
            (sent > 0).then_some((*name, sent))
        };
        let took = |(name, sent): (&str, u64)| {
            let (counted, usec) = self.grown(last, name).filter(|(counted, _)| *counted > 0.0)?;
            Some(usec * (sent as f64 / counted).min(1.0))
        };
        let ours: Option<f64> = self.ours.iter().filter_map(sent).map(took).sum();
        (ours.map(|usec| usec / 1e6), all / 1e6)
    }

    /// By how many calls and microseconds a command has grown; before 7.0 subcommands are not told apart.
    fn grown(&self, last: &Self, name: &str) -> Option<(f64, f64)> {
        let name = name.to_ascii_lowercase().replace(' ', "|");
        let container = name.split('|').next().unwrap_or_default();
        let known = if self.commands.contains_key(&name) { name.as_str() } else { container };
        let (calls, usec) = self.commands.get(known)?;
        let (calls_then, usec_then) = last.commands.get(known).copied().unwrap_or_default();
        Some((calls - calls_then, usec - usec_then)).filter(|(calls, usec)| *calls >= 0.0 && *usec >= 0.0)
    }

    /// How many keys the next SCAN may ask for, by how long the last ones kept the server.
    fn batch(&self, last: &Self, batch: u32) -> u32 {
        match self.grown(last, "SCAN") {
            Some((calls, usec)) if calls > 0.0 && usec / calls > LONGEST_CALL => (batch / 2).max(BATCH.1),
            Some((calls, usec)) if calls > 0.0 && usec / calls < LONGEST_CALL / 4.0 => {
                (batch * 2).min(BATCH.0)
            }
            _ => batch,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server says that has spent so many microseconds on a scan, and on everything.
    fn figures(pace: &mut Pace, scanning: f64, all: f64, at: Instant) -> f64 {
        figures_of(pace, scanning, all, 0.0, at)
    }

    fn figures_of(pace: &mut Pace, scanning: f64, all: f64, cpu: f64, at: Instant) -> f64 {
        let calls = scanning / 100.0;
        let text = format!(
            "cmdstat_scan:calls={calls},usec={scanning}\ncmdstat_get:calls=1,usec={}\n\
             used_cpu_user_main_thread:{cpu}\nused_cpu_sys_main_thread:0\n",
            all - scanning
        );
        let ours = BTreeMap::from([("SCAN", calls as u64)]);
        pace.measure(&Info::parse(&text), &ours, at)
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
        let spent = figures(&mut pace, 19_000.0, 19_000.0, start);
        assert!((spent - 0.019).abs() < 1e-9);
        assert!(pace.credit < guessed - 0.018, "{} after {guessed}", pace.credit);
        assert!((pace.correction - 100.0).abs() < 1e-6);
        let wait = pace.next_at().duration_since(Instant::now());
        assert!(wait > Duration::from_millis(500), "{wait:?}");
    }

    #[test]
    fn a_node_whose_others_get_busy_is_scanned_at_a_quarter_and_a_spent_one_at_a_tenth() {
        let start = Instant::now();
        let at = |second: u64| start + Duration::from_secs(second);
        let mut pace = Pace::new(0.01, start);
        figures(&mut pace, 0.0, 0.0, at(0));
        figures(&mut pace, 0.0, 800_000.0, at(1));
        assert!((pace.slowed - 0.25).abs() < 1e-9, "busy");
        figures(&mut pace, 0.0, 900_000.0, at(2));
        assert!((pace.slowed - 1.0).abs() < 1e-9, "calm");
        figures(&mut pace, 0.0, 1_300_000.0, at(3));
        assert!((pace.slowed - 0.25).abs() < 1e-9, "from a tenth of a core to two fifths");
        figures_of(&mut pace, 0.0, 1_400_000.0, 0.95, at(4));
        assert!((pace.slowed - 0.1).abs() < 1e-9, "the thread is spent on something else");
    }

    #[test]
    fn what_others_spend_on_the_same_commands_is_not_ours() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        let mut look = |calls: u32, usec: u32, ours: u64| {
            let text = format!("cmdstat_memory:calls={calls},usec={usec}\n");
            pace.measure(&Info::parse(&text), &BTreeMap::from([("MEMORY USAGE", ours)]), start)
        };
        assert!(look(100, 1_000, 0).abs() < 1e-12);
        assert!((look(140, 3_000, 10) - 0.000_5).abs() < 1e-9, "10 of 40 calls");
        assert!(look(0, 0, 20).abs() < 1e-12, "the statistics were set back");
    }

    #[test]
    fn figures_that_say_nothing_of_our_commands_give_no_credit_back() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        let mut sent = 0;
        let mut look = |pace: &mut Pace, text: &str| {
            pace.spent(400);
            let (credit, correction) = (pace.credit, pace.correction);
            sent += 400;
            let calls = BTreeMap::from([("MEMORY USAGE", sent), ("SCAN", sent / 400)]);
            let spent = pace.measure(&Info::parse(text), &calls, start);
            (pace.credit - credit, pace.correction - correction, spent)
        };
        let counted = |calls: u32, usec: u32| {
            format!(
                "cmdstat_memory|usage:calls={calls},usec={usec}\ncmdstat_scan:calls={calls},usec={usec}\n"
            )
        };
        look(&mut pace, "");
        // Neither none at all, nor only one of ours, nor ones that were set back.
        for text in ["", "cmdstat_get:calls=9,usec=9\n", "cmdstat_scan:calls=9,usec=9\n", ""] {
            let (credit, correction, spent) = look(&mut pace, text);
            assert!(credit.abs() < 1e-12 && correction.abs() < 1e-12, "'{text}': {credit} {correction}");
            assert!(spent > 0.0, "what was guessed is what it has cost");
        }
        look(&mut pace, &counted(1_000, 5_000));
        let (_, correction, _) = look(&mut pace, &counted(2_000, 90_000));
        assert!(correction > 1.0, "figures of ours count again");
        let (credit, correction, _) = look(&mut pace, &counted(10, 10));
        assert!(credit.abs() < 1e-12 && correction.abs() < 1e-12, "the statistics were set back");
    }

    #[test]
    fn a_server_that_needs_long_for_a_scan_is_asked_for_fewer_keys_at_once() {
        let start = Instant::now();
        let mut pace = Pace::new(0.01, start);
        let mut batches = vec![];
        for (calls, usec) in [(0, 0), (10, 20_000), (20, 60_000), (30, 90_000), (40, 92_000), (50, 93_000)] {
            let text = format!("cmdstat_scan:calls={calls},usec={usec}\n");
            pace.measure(&Info::parse(&text), &BTreeMap::new(), start);
            batches.push(pace.batch());
        }
        assert_eq!(batches, [400, 200, 100, 50, 100, 200]);
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
