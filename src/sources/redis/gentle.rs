//! Asking less of a node that suffers.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::info::Info;
use super::samples::main_thread_seconds;

/// How often the expensive section is asked for while a node suffers.
const RARELY: Duration = Duration::from_secs(5);

/// The share of a core below which a node does so little that its commands, memory, keys and errors are not asked for at
/// every look: together they are most of what a look costs, and none changes fast there.
const CALM: f64 = 0.1;

/// Every so many looks it is asked for all of that then.
const WHILE_CALM: u32 = 4;

/// The longest time since the look before that leaves a number of four looks ago fresh; where looks are further apart, by
/// their interval or because they are answered late, each asks for everything.
const IN_STEP: Duration = Duration::from_millis(1_400);

/// The share of its connections from which on a node is watched closely, whatever else it does.
const MANY_CLIENTS: f64 = 0.5;

/// The first looks ask for everything, because whoever has just begun to look wants to know.
const FIRST_LOOKS: u32 = 10;

/// How long a node is spared after it was last seen to suffer.
const SPARED_FOR: Duration = Duration::from_secs(30);

/// The share of a core above which the main thread is nearly spent.
const BUSY: f64 = 0.9;

/// How many times its median the execution of INFO may take, and the least that matters, in microseconds.
const SLOW_INFO: (f64, f64) = (10.0, 1_000.0);

/// How many looks in a row have to show it: one alone may be the machine's moment, not the node's.
const LOOKS_TO_BELIEVE: u32 = 3;

/// How many looks the median is over.
const LOOKS: usize = 31;

/// How much a look asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Everything.
    All,
    /// Not the statistics of commands: they are many, and the node has enough to do.
    WithoutCommands,
    /// Neither those nor clients, saving, replication, errors, keys and memory.
    Least,
}

/// Watches what asking costs the node itself: execution time by its own count, not the time of the answer, which
/// a full link stretches though the node is idle.
#[derive(Debug, Default)]
pub(super) struct Gentle {
    spare_until: Option<Instant>,
    /// When it was last asked, when last for all, and whether that is not told yet.
    asked_at: Option<Instant>,
    last_full: Option<Instant>,
    awaits_all: bool,
    /// Looks so far, and those since all was told.
    looks: u32,
    since_full: u32,
    /// Whether what is told seldom shows trouble that has to be followed.
    is_unwell: bool,
    /// The share of a core that the main thread used last.
    share: Option<f64>,
    info_calls: Option<(f64, f64)>,
    cpu: Option<(f64, f64)>,
    costs: VecDeque<f64>,
    suffering: u32,
}

impl Gentle {
    /// How much the next look asks for.
    pub(super) fn extent(&mut self, now: Instant) -> Extent {
        self.looks = self.looks.saturating_add(1);
        self.since_full = self.since_full.saturating_add(1);
        let is_after = |span| self.last_full.is_none_or(|last| now.duration_since(last) >= span);
        let is_in_step = self.asked_at.is_some_and(|last| now.duration_since(last) < IN_STEP);
        let does_little = self.share.is_some_and(|share| share < CALM);
        let is_calm = self.looks > FIRST_LOOKS && does_little && is_in_step && !self.is_unwell;
        let (is_due, otherwise) = match (self.is_sparing(now), is_calm) {
            (true, _) => (is_after(RARELY), Extent::WithoutCommands),
            (false, true) => (self.since_full >= WHILE_CALM, Extent::Least),
            (false, false) => (true, Extent::All),
        };
        self.asked_at = Some(now);
        self.awaits_all = is_due;
        if !is_due {
            return otherwise;
        }
        // A node that suffers is not pressed for what it did not answer; one that is calm is.
        self.last_full = Some(now);
        Extent::All
    }

    /// Whether the node is asked less at present.
    pub(super) fn is_sparing(&self, now: Instant) -> bool {
        self.spare_until.is_some_and(|until| now < until)
    }

    /// Until when the node is to be spared, once it has been seen to suffer.
    pub(super) fn spared_until(&self) -> Option<Instant> {
        self.spare_until
    }

    /// Looks at an answer; says why when the node begins to be spared.
    pub(super) fn watch(&mut self, info: &Info<'_>, now: Instant) -> Option<String> {
        if std::mem::take(&mut self.awaits_all) {
            self.since_full = 0;
            self.is_unwell = is_unwell(info);
        }
        let (slow, busy) = (self.slow_info(info), self.busy_thread(info));
        let Some(reason) = slow.or(busy) else {
            // While the node is spared most looks lack the figures of INFO and say nothing about them.
            if !info.commands.is_empty() {
                self.suffering = 0;
            }
            return None;
        };
        self.suffering += 1;
        if self.suffering < LOOKS_TO_BELIEVE {
            return None;
        }
        let begins = !self.is_sparing(now);
        self.spare_until = Some(now + SPARED_FOR);
        begins.then_some(reason)
    }

    fn slow_info(&mut self, info: &Info<'_>) -> Option<String> {
        let stat = info.commands.iter().find(|command| command.name == "info")?;
        let (calls, usec) = self.info_calls.replace((stat.calls, stat.usec))?;
        if stat.calls <= calls || stat.usec < usec {
            return None;
        }
        let cost = (stat.usec - usec) / (stat.calls - calls);
        let mut sorted: Vec<_> = self.costs.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let median = sorted.get(sorted.len() / 2).copied();
        self.costs.push_back(cost);
        if self.costs.len() > LOOKS {
            self.costs.pop_front();
        }
        let median = median.filter(|median| cost > median * SLOW_INFO.0 && cost > SLOW_INFO.1)?;
        Some(format!(
            "INFO itself takes the node {:.1} ms of execution, {:.1} ms is usual: it is asked every 5 s while that lasts",
            cost / 1e3,
            median / 1e3
        ))
    }

    fn busy_thread(&mut self, info: &Info<'_>) -> Option<String> {
        let seconds = main_thread_seconds(info)?;
        let clock = info.number("server_time_usec")? / 1e6;
        let (before, then) = self.cpu.replace((seconds, clock))?;
        let share = (seconds - before) / (clock - then);
        if share < 0.0 {
            // The server has begun anew, and whoever looks at it does too.
            *self = Self { cpu: self.cpu, ..Self::default() };
            return None;
        }
        self.share = (clock > then).then_some(share);
        (clock > then && share > BUSY).then(|| {
            format!(
                "the main thread uses {:.0} % of a core: it is asked every 5 s while that lasts",
                share * 100.0
            )
        })
    }
}

/// Whether a node that does little has something that changes from look to look all the same.
fn is_unwell(info: &Info<'_>) -> bool {
    let clients = info.number("connected_clients").zip(info.number("maxclients"));
    info.number("loading") == Some(1.0)
        || info.text("master_link_status") == Some("down")
        || clients.is_some_and(|(now, most)| most > 0.0 && now >= most * MANY_CLIENTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_thread_is_spent_is_asked_less_and_told_once() {
        let mut gentle = Gentle::default();
        let start = Instant::now();
        let look = |second: u32, cpu: f64| {
            format!(
                "server_time_usec:{second}000000\nused_cpu_user_main_thread:{cpu}\nused_cpu_sys_main_thread:0\n"
            )
        };
        let at = |second: u32| start + Duration::from_secs(u64::from(second));
        assert_eq!(gentle.extent(at(1)), Extent::All);
        assert_eq!(gentle.watch(&Info::parse(&look(1, 0.0)), at(1)), None);
        assert_eq!(gentle.watch(&Info::parse(&look(2, 0.95)), at(2)), None);
        assert_eq!(gentle.watch(&Info::parse(&look(3, 1.90)), at(3)), None);
        assert_eq!(gentle.extent(at(4)), Extent::All);
        assert!(gentle.watch(&Info::parse(&look(4, 2.85)), at(4)).unwrap().contains("95 %"));
        assert_eq!(gentle.watch(&Info::parse(&look(5, 3.80)), at(5)), None);
        assert_eq!([5, 6, 8].map(|second| gentle.extent(at(second))), [Extent::WithoutCommands; 3]);
        assert_eq!(gentle.extent(at(9)), Extent::All);
        let calm = format!("{}cmdstat_info:calls=1,usec=80\n", look(40, 4.0));
        assert_eq!(gentle.watch(&Info::parse(&calm), at(40)), None);
        assert_eq!([40, 41].map(|second| gentle.extent(at(second))), [Extent::All; 2]);
        assert_eq!(gentle.watch(&Info::parse(&look(41, 4.95)), at(41)), None, "it has to last again");
    }

    /// Looks at a node at these seconds, whose main thread has used so much by then; what each look asked for.
    fn extents(gentle: &mut Gentle, start: Instant, looks: &[(f64, f64)], more: &str) -> Vec<Extent> {
        let mut look = |(second, cpu): &(f64, f64)| {
            let at = start + Duration::from_secs_f64(*second);
            let extent = gentle.extent(at);
            let clock = second * 1e6;
            let text = format!(
                "server_time_usec:{clock}\nused_cpu_user_main_thread:{cpu}\nused_cpu_sys_main_thread:0\n{more}"
            );
            assert_eq!(gentle.watch(&Info::parse(&text), at), None);
            extent
        };
        looks.iter().map(&mut look).collect()
    }

    /// So many calm looks, a second apart each.
    fn calm(seconds: std::ops::RangeInclusive<u32>) -> Vec<(f64, f64)> {
        seconds.map(|second| (f64::from(second), 0.01 * f64::from(second))).collect()
    }

    const EVERY_FOURTH: [Extent; 4] = [Extent::Least, Extent::Least, Extent::Least, Extent::All];

    #[test]
    fn a_node_that_does_little_is_asked_for_all_at_every_fourth_look_and_a_busy_one_at_each() {
        let (mut gentle, start) = (Gentle::default(), Instant::now());
        let calm = extents(&mut gentle, start, &calm(1..=18), "");
        assert_eq!(calm[..10], [Extent::All; 10], "at first everything is wanted");
        assert_eq!(calm[10..], [EVERY_FOURTH, EVERY_FOURTH].concat());
        let busy = extents(&mut gentle, start, &[(19.0, 0.7), (20.0, 1.2), (21.0, 1.7)], "");
        assert_eq!(busy, [Extent::Least, Extent::All, Extent::All], "once it is seen to be busy");
    }

    #[test]
    fn looks_that_are_far_apart_ask_for_everything_lest_a_number_grow_stale() {
        let (mut gentle, start) = (Gentle::default(), Instant::now());
        extents(&mut gentle, start, &calm(1..=10), "");
        let slow: Vec<(f64, f64)> = (0..6).map(|look| (11.5 + 1.5 * f64::from(look), 0.2)).collect();
        assert_eq!(extents(&mut gentle, start, &slow, ""), [Extent::All; 6]);
    }

    #[test]
    fn what_was_asked_for_in_vain_is_asked_for_again() {
        let (mut gentle, start) = (Gentle::default(), Instant::now());
        extents(&mut gentle, start, &calm(1..=13), "");
        let at = |second: f64| start + Duration::from_secs_f64(second);
        assert_eq!([14.0, 14.2].map(|second| gentle.extent(at(second))), [Extent::All; 2], "nobody answered");
    }

    #[test]
    fn a_node_that_begins_anew_or_has_trouble_is_followed_closely() {
        let (mut gentle, start) = (Gentle::default(), Instant::now());
        extents(&mut gentle, start, &calm(1..=12), "");
        let anew = extents(&mut gentle, start, &[(13.0, 0.001), (14.0, 0.002), (15.0, 0.003)], "");
        assert_eq!(anew, [Extent::Least, Extent::All, Extent::All]);
        for trouble in ["loading:1\n", "master_link_status:down\n", "connected_clients:60\nmaxclients:100\n"]
        {
            let mut gentle = Gentle::default();
            assert_eq!(extents(&mut gentle, start, &calm(1..=20), trouble), [Extent::All; 20], "{trouble}");
        }
    }
}
