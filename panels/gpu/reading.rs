//! What utilisation, the time of a launch and memory say together, and what they cannot say.
//!
//! Utilisation alone says that some kernel ran. Beside how long the host takes to start one, and beside what memory does,
//! it tells who waits for whom.

use headwater_engine::Subject;
use headwater_engine::gpu_memory::{Course, FULL};
use headwater_engine::metric::Unit;
use headwater_engine::quantity::{foreseen, show};
use headwater_engine::rules::{Limits, by_id};
use headwater_engine::settings::Settings;
use headwater_engine::world::machine_of;

use crate::palette::ColorRole;

/// Utilisation from which a GPU is busy.
const BUSY: f64 = 0.9;

/// The rule that says when launches are slow, and how little busy a GPU is that waits for work.
const LAUNCH_STALL: &str = "launch-stall";

/// The limits of that rule as they are in force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Waits {
    /// Multiple of the usual time of a launch from which it is slow.
    rise: f64,
    /// The time of a launch that is taken for usual where none is known, in seconds.
    usual_s: f64,
    /// Utilisation below which a GPU waits.
    idle: f64,
}

impl Waits {
    /// For a GPU: those of its machine, which the rule judges.
    pub(super) fn in_force(settings: &Settings, gpu: &Subject) -> Option<Self> {
        let rule = by_id(LAUNCH_STALL)?;
        let machine = machine_of(gpu);
        let limits = Limits { rule, settings, subject: machine.as_ref().unwrap_or(gpu) };
        Some(Self { rise: limits.of("rise"), usual_s: limits.of("usual"), idle: limits.of("idle") })
    }
}

/// How busy a GPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Busy {
    Nearly,
    Between,
    Little,
    Unseen,
}

/// How its machine starts kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    Slow,
    Usual,
    Unseen,
}

/// What its memory does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    Full,
    Grows,
    Steady,
    Unseen,
}

/// What three numbers come to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) busy: Busy,
    pub(super) launch: Launch,
    pub(super) memory: Memory,
}

/// A row of the table: what is seen, what it means, what it cannot say. `None` stands for anything.
struct Row {
    busy: Option<Busy>,
    launch: Option<Launch>,
    memory: Option<Memory>,
    means: &'static str,
    cannot: &'static str,
}

/// The first row that fits counts.
static ROWS: &[Row] = &[
    Row {
        busy: None,
        launch: None,
        memory: Some(Memory::Full),
        means: "memory is as good as full: whoever asks for more fails, however busy it is",
        cannot: "whether anybody asks for more: a server that took all at the start never does",
    },
    Row {
        busy: None,
        launch: None,
        memory: Some(Memory::Grows),
        means: "something keeps memory and gives none back: it will be full, and then requests fail",
        cannot: "who keeps it: that is told by the memory of each process",
    },
    Row {
        busy: Some(Busy::Little),
        launch: Some(Launch::Slow),
        memory: None,
        means: "kernels start late and the GPU waits: look at the machine or its driver, not at the GPU",
        cannot: "which of the two, and who holds it up there",
    },
    Row {
        busy: Some(Busy::Between),
        launch: Some(Launch::Slow),
        memory: None,
        means: "kernels start late, and the GPU has gaps: the machine holds it up",
        cannot: "how much of the gaps is that, and how much is a lack of requests",
    },
    Row {
        busy: Some(Busy::Nearly),
        launch: Some(Launch::Slow),
        memory: None,
        means: "launches queue up behind work that runs: the GPU has enough to do",
        cannot: "how much it gets done: utilisation counts that a kernel ran",
    },
    Row {
        busy: Some(Busy::Little),
        launch: Some(Launch::Usual),
        memory: None,
        means: "the GPU waits for work and would start it at once: look at the queue, the batcher and who calls",
        cannot: "why no work comes",
    },
    Row {
        busy: Some(Busy::Little),
        launch: Some(Launch::Unseen),
        memory: None,
        means: "the GPU waits: for work, or for a machine that starts kernels late",
        cannot: "which of the two, because nobody times launches; our own benchmark does",
    },
    Row {
        busy: Some(Busy::Nearly),
        launch: None,
        memory: None,
        means: "a kernel ran nearly all the time",
        cannot: "whether it is at its limit: one kernel on a tenth of the chip looks the same; full batches and a flat rate tell",
    },
    Row {
        busy: Some(Busy::Between),
        launch: None,
        memory: None,
        means: "it works, with gaps",
        cannot: "whether these are batches that are not full or time that the host takes",
    },
    Row {
        busy: Some(Busy::Unseen),
        launch: None,
        memory: None,
        means: "nobody tells how busy it is",
        cannot: "anything of its load",
    },
];

impl Reading {
    /// Of numbers at one moment.
    pub(super) fn of(
        busy: Option<f64>,
        launch: Option<(f64, Option<f64>)>,
        share: Option<f64>,
        course: Course,
        waits: Option<Waits>,
    ) -> Self {
        let is_little = |busy: f64| waits.is_some_and(|waits| busy < waits.idle);
        let is_slow = |now: f64, usual: Option<f64>| {
            waits.is_some_and(|waits| now >= usual.unwrap_or(waits.usual_s) * waits.rise)
        };
        let busy = match busy {
            None => Busy::Unseen,
            Some(busy) if busy >= BUSY => Busy::Nearly,
            Some(busy) if is_little(busy) => Busy::Little,
            Some(_) => Busy::Between,
        };
        let launch = match launch {
            None => Launch::Unseen,
            Some((now, usual)) if is_slow(now, usual) => Launch::Slow,
            Some(_) => Launch::Usual,
        };
        let memory = match (share, course) {
            (None, _) => Memory::Unseen,
            (Some(share), _) if share >= FULL => Memory::Full,
            (Some(_), Course::Grows(_)) => Memory::Grows,
            (Some(_), _) => Memory::Steady,
        };
        Self { busy, launch, memory }
    }

    fn row(self) -> Option<&'static Row> {
        let fits = |row: &&Row| {
            row.busy.is_none_or(|busy| busy == self.busy)
                && row.launch.is_none_or(|launch| launch == self.launch)
                && row.memory.is_none_or(|memory| memory == self.memory)
        };
        ROWS.iter().find(fits)
    }

    /// What it means.
    pub(super) fn means(self) -> &'static str {
        self.row().map_or("nothing is seen that could be read", |row| row.means)
    }

    /// What it cannot say.
    pub(super) fn cannot(self) -> &'static str {
        self.row().map_or("anything", |row| row.cannot)
    }

    /// Whether it is worth a look.
    pub(super) fn role(self) -> ColorRole {
        match self {
            Self { memory: Memory::Full | Memory::Grows, .. }
            | Self { launch: Launch::Slow, busy: Busy::Little | Busy::Between, .. } => ColorRole::Suspect,
            Self { busy: Busy::Unseen, .. } => ColorRole::Unknown,
            _ => ColorRole::Text,
        }
    }
}

/// How memory goes on, in words.
pub(super) fn course_words(course: Course) -> String {
    match course {
        Course::TooShort => "? not watched long enough to see whether it grows".to_owned(),
        Course::Flat => "it does not grow".to_owned(),
        Course::Grows(growth) => {
            let ends = match (growth.full_since, growth.full_in_s) {
                (Some(since), _) => format!("full since {}", since.clock()),
                (None, Some(seconds)) => format!("full in {}", foreseen(seconds)),
                (None, None) => "not full within a day".to_owned(),
            };
            format!(
                "it grows by {} since {}: {ends}",
                show(growth.per_second, Unit::BytesPerSecond),
                growth.from.at.clock()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Option<Waits> {
        Waits::in_force(&Settings::default(), &"gpu/host-a:0".parse().unwrap())
    }

    #[test]
    fn a_launch_is_slow_by_the_limits_of_the_rule_as_they_are_configured() {
        let mut settings = Settings::default();
        let machine: Subject = "host/host-a".parse().unwrap();
        settings.thresholds.insert(LAUNCH_STALL.to_owned(), [("rise".to_owned(), 50.0)].into());
        let gpu = "gpu/host-a:0".parse().unwrap();
        assert_eq!(machine_of(&gpu), Some(machine));
        let waits = Waits::in_force(&settings, &gpu);
        let launch = Some((47.6e-6, Some(1.2e-6)));
        let read = |waits| Reading::of(Some(0.18), launch, Some(0.75), Course::Flat, waits).launch;
        assert_eq!((read(usual()), read(waits)), (Launch::Slow, Launch::Usual));
    }

    fn read(busy: f64, launch: Option<(f64, Option<f64>)>) -> &'static str {
        Reading::of(Some(busy), launch, Some(0.75), Course::Flat, usual()).means()
    }

    #[test]
    fn a_gpu_that_waits_is_read_by_how_long_a_launch_takes() {
        assert!(read(0.18, Some((47.6e-6, Some(1.2e-6)))).contains("look at the machine or its driver"));
        assert!(read(0.18, Some((47.6e-6, None))).contains("look at the machine or its driver"));
        assert!(read(0.18, Some((1.2e-6, Some(1.2e-6)))).contains("look at the queue"));
        assert!(read(0.18, None).contains("for work, or for a machine"));
        assert!(read(0.97, Some((47.6e-6, Some(1.2e-6)))).contains("queue up behind work"));
    }

    #[test]
    fn every_combination_has_a_reading() {
        for busy in [None, Some(0.1), Some(0.7), Some(0.95)] {
            for launch in [None, Some((1e-6, None)), Some((1e-3, Some(1e-6)))] {
                for share in [None, Some(0.5), Some(0.99)] {
                    let reading = Reading::of(busy, launch, share, Course::Flat, usual());
                    assert!(reading.row().is_some(), "{reading:?}");
                }
            }
        }
    }
}
