//! The kernel's own words under `/proc`: text in, numbers out.

/// The kernel tells processor time in hundredths of a second on every machine that Headwater runs on.
const TICKS_A_SECOND: f64 = 100.0;

/// What a processor does, in the order of the columns. What guests use is a part of what users use.
const MODES: &[&str] = &["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// Columns in which nothing was done.
const AT_REST: &[&str] = &["idle", "iowait"];

/// `/proc/stat`.
#[derive(Debug, PartialEq)]
pub(super) struct Stat {
    /// Seconds of all cores together by mode, those at rest left out.
    pub(super) modes: Vec<(&'static str, f64)>,
    /// Each core's number, with the seconds in which it was busy.
    pub(super) cores: Vec<(u32, f64)>,
    /// Tasks that run or want to.
    pub(super) runnable: Option<f64>,
    /// Context switches since the machine was started.
    pub(super) switches: Option<f64>,
}

/// Reads `/proc/stat`; `None` when it has no line about the processors.
pub(super) fn stat(text: &str) -> Option<Stat> {
    let mut stat = Stat { modes: vec![], cores: vec![], runnable: None, switches: None };
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match (words.next(), words.clone().next()) {
            (Some("cpu"), _) => stat.modes = modes(words),
            (Some("ctxt"), Some(count)) => stat.switches = number(count),
            (Some("procs_running"), Some(count)) => stat.runnable = number(count),
            (Some(word), _) => {
                if let Some(core) = word.strip_prefix("cpu").and_then(|core| core.parse().ok()) {
                    stat.cores.push((core, modes(words).iter().map(|(_, seconds)| seconds).sum()));
                }
            }
            (None, _) => {}
        }
    }
    (!stat.modes.is_empty()).then_some(stat)
}

/// The seconds of the modes in which something is done.
fn modes<'a>(columns: impl Iterator<Item = &'a str>) -> Vec<(&'static str, f64)> {
    MODES
        .iter()
        .zip(columns)
        .filter(|(mode, _)| !AT_REST.contains(mode))
        .filter_map(|(mode, ticks)| Some((*mode, number(ticks)? / TICKS_A_SECOND)))
        .collect()
}

/// The load average over one minute, of `/proc/loadavg`.
pub(super) fn load(text: &str) -> Option<f64> {
    number(text.split_ascii_whitespace().next()?)
}

/// The memory that can still be had, and all of it, in bytes, of `/proc/meminfo`.
pub(crate) fn memory(text: &str) -> Option<(f64, f64)> {
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(number(line.trim().strip_suffix("kB")?.trim_end())? * 1_024.0)
    };
    Some((of("MemAvailable")?, of("MemTotal")?))
}

fn number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STAT: &str = "cpu  7000 100 3000 900000 500 10 20 30 400 0\n\
                        cpu0 4000 0 1000 450000 0 0 0 0 0 0\n\
                        cpu12 3000 100 2000 450000 0 0 0 0 0 0\n\
                        intr 1 2 3\nctxt 123456\nbtime 1\nprocesses 9\nprocs_running 5\nprocs_blocked 1\n";

    #[test]
    fn time_is_told_by_mode_and_by_core_without_rest_and_without_guests_twice() {
        let stat = stat(STAT).unwrap();
        let modes =
            [("user", 70.0), ("nice", 1.0), ("system", 30.0), ("irq", 0.1), ("softirq", 0.2), ("steal", 0.3)];
        assert_eq!(stat.modes, modes);
        assert_eq!(stat.cores, [(0, 50.0), (12, 51.0)]);
        assert_eq!((stat.runnable, stat.switches), (Some(5.0), Some(123_456.0)));
    }

    #[test]
    fn load_and_memory_are_read_in_their_units() {
        assert_eq!(load("5.50 2.00 1.00 3/456 789\n"), Some(5.5));
        let text = "MemTotal:       16000 kB\nMemFree:  1 kB\nMemAvailable:    4000 kB\n";
        assert_eq!(memory(text), Some((4_096_000.0, 16_384_000.0)));
        assert_eq!(memory("MemTotal: 16000 kB\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in any::<String>(), lines in proptest::collection::vec("(cpu|cpu[0-9]{1,12}|ctxt|MemTotal:|) [ -9a-zA-Z]{0,20}", 0..8)) {
            for text in [text, lines.join("\n")] {
                let seen = stat(&text);
                let all = seen.iter().flat_map(|stat| stat.modes.iter().map(|(_, seconds)| *seconds));
                prop_assert!(all.chain(load(&text)).chain(memory(&text).map(|(free, _)| free)).all(f64::is_finite));
            }
        }
    }
}
