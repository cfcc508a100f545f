//! What utilisation, the time of a launch and memory say together, and what they cannot say.
//!
//! Utilisation alone says that some kernel ran. Beside how long the host takes to start one, and beside what memory does,
//! it tells who waits for whom.

use headwater_engine::gpu_memory::{Course, FULL, NEARLY_FULL};
use headwater_engine::launches::UsualLaunch;
use headwater_engine::metric::{GPU_LAUNCH, Unit};
use headwater_engine::quantity::{foreseen, show};
use headwater_engine::rules::{Limits, by_id};
use headwater_engine::world::machine_of;
use headwater_engine::{Snapshot, Subject};

use super::row::parts_of;
use crate::palette::ColorRole;

/// Utilisation from which a GPU is busy.
const BUSY: f64 = 0.9;

/// The rule that says when launches are slow, and how little busy a GPU is that waits for work.
const LAUNCH_STALL: &str = "launch-stall";

/// How long launches take on a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Launched {
    /// At present, in seconds.
    pub(super) now_s: f64,
    /// The healthy time, in seconds, where anybody knows it.
    pub(super) usual_s: Option<f64>,
    /// Whether the rule takes it for slow.
    pub(super) is_slow: bool,
}

/// The slowest of the launches that are timed on a GPU, beside what is usual there, and whether a GPU that is so busy waits for
/// work: as the rule takes it, by the limits of its machine as they are in force.
pub(super) fn launch(snapshot: &Snapshot, gpu: &Subject, busy: Option<f64>) -> (Option<Launched>, bool) {
    let Some(rule) = by_id(LAUNCH_STALL) else { return (None, false) };
    let machine = machine_of(gpu);
    let limits = Limits { rule, settings: &snapshot.settings, subject: machine.as_ref().unwrap_or(gpu) };
    let timed = parts_of(snapshot, gpu, GPU_LAUNCH).filter_map(|part| {
        Some((snapshot.present(gpu, GPU_LAUNCH, part)?.value, snapshot.launches.usual(gpu, part)))
    });
    let slowness = |(now, usual): &(f64, UsualLaunch)| now / usual.typical_s(&limits);
    let slowest = timed.max_by(|one, other| slowness(one).total_cmp(&slowness(other)));
    let launch = slowest.map(|(now_s, usual)| Launched {
        now_s,
        usual_s: usual.launch.map(|usual| usual.typical),
        is_slow: now_s >= usual.slow_from_s(&limits),
    });
    // What it was before tells more only where launches are slow: a GPU may be little busy on any day.
    let usual = match (launch, slowest) {
        (Some(Launched { is_slow: true, .. }), Some((_, usual))) => usual,
        _ => UsualLaunch::default(),
    };
    (launch, busy.is_some_and(|busy| usual.is_waiting(busy, &limits)))
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
    Fails,
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
        memory: Some(Memory::Fails),
        means: "memory is as good as full, and allocations fail: so do the requests that need some, however busy it is",
        cannot: "who holds it: that is told by the memory of each process",
    },
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
    /// Of numbers at one moment: how busy it is and whether it waits, its launches, how full its memory is, whether it
    /// leaks and whether allocations fail.
    pub(super) fn of(
        (busy, is_waiting): (Option<f64>, bool),
        launch: Option<Launched>,
        (share, leaks, fails): (Option<f64>, bool, bool),
    ) -> Self {
        let busy = match busy {
            None => Busy::Unseen,
            Some(busy) if busy >= BUSY => Busy::Nearly,
            Some(_) if is_waiting => Busy::Little,
            Some(_) => Busy::Between,
        };
        let launch = match launch {
            None => Launch::Unseen,
            Some(Launched { is_slow: true, .. }) => Launch::Slow,
            Some(_) => Launch::Usual,
        };
        let memory = match share {
            None => Memory::Unseen,
            Some(share) if share >= NEARLY_FULL && fails => Memory::Fails,
            Some(share) if share >= FULL => Memory::Full,
            Some(_) if leaks => Memory::Grows,
            Some(_) => Memory::Steady,
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
            Self { memory: Memory::Fails | Memory::Full | Memory::Grows, .. }
            | Self { launch: Launch::Slow, busy: Busy::Little | Busy::Between, .. } => ColorRole::Suspect,
            Self { busy: Busy::Unseen, .. } => ColorRole::Unknown,
            _ => ColorRole::Text,
        }
    }
}

/// How memory goes on, in words.
pub(super) fn course_words(course: Course, may_load: bool) -> String {
    let growth = match course {
        Course::TooShort => return "? not watched long enough to see whether it grows".to_owned(),
        Course::Flat => return "it does not grow".to_owned(),
        Course::Grows(growth) => growth,
    };
    let by = format!("by {}", show(growth.per_second, Unit::BytesPerSecond));
    let since = growth.from.at.clock();
    match (growth.full_since, growth.full_in_s) {
        (Some(full), _) => format!("it grew {by} from {since} on, and is full since {}", full.clock()),
        _ if may_load => format!("it grows {by} since {since}, as it does while a server loads"),
        (None, Some(seconds)) => {
            format!("it grows {by} since {since}: full in {}", foreseen(seconds))
        }
        (None, None) => format!("it grows {by} since {since}: not full within a day"),
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric::GPU_UTILIZATION;
    use headwater_engine::reading::{Input, Value};
    use headwater_engine::settings::Component;

    use super::*;
    use crate::example::{World, subject};

    const SLOW: Option<Launched> = Some(Launched { now_s: 47.6e-6, usual_s: Some(1.2e-6), is_slow: true });
    const USUAL: Option<Launched> = Some(Launched { now_s: 1.2e-6, usual_s: Some(1.2e-6), is_slow: false });

    fn read(busy: f64, launch: Option<Launched>) -> &'static str {
        Reading::of((Some(busy), busy < 0.5), launch, (Some(0.75), false, false)).means()
    }

    #[test]
    fn a_gpu_that_waits_is_read_by_how_long_a_launch_takes() {
        assert!(read(0.18, SLOW).contains("look at the machine or its driver"));
        assert!(read(0.7, SLOW).contains("the machine holds it up"));
        assert!(read(0.18, USUAL).contains("look at the queue"));
        assert!(read(0.18, None).contains("for work, or for a machine"));
        assert!(read(0.97, SLOW).contains("queue up behind work"));
    }

    #[test]
    fn every_combination_has_a_reading() {
        for busy in [None, Some(0.1), Some(0.7), Some(0.95)] {
            for launch in [None, USUAL, SLOW] {
                for share in [None, Some(0.5), Some(0.99)] {
                    let is_waiting = busy.is_some_and(|busy| busy < 0.5);
                    for fails in [false, true] {
                        let reading = Reading::of((busy, is_waiting), launch, (share, false, fails));
                        assert!(reading.row().is_some(), "{reading:?}");
                        // Whoever sees that they fail knows that somebody asks.
                        assert!(!fails || !reading.cannot().contains("asks for more"), "{reading:?}");
                    }
                }
            }
        }
    }

    /// What is read of a GPU that is 42 % busy, in a world in which that was declared to be its usual.
    fn read_of(usual_busy: f64, thresholds: &[(&str, f64)]) -> Reading {
        let gpu = subject("gpu/host-a:0");
        let mut world = World::with(|settings| {
            let mut declared = Component::new(gpu.clone());
            declared.baselines.insert(GPU_LAUNCH.name().to_owned(), 1.2e-6);
            declared.baselines.insert(GPU_UTILIZATION.name().to_owned(), usual_busy);
            settings.components.push(declared);
            let own = thresholds.iter().map(|(name, value)| ((*name).to_owned(), *value));
            settings.thresholds.insert(LAUNCH_STALL.to_owned(), own.collect());
        });
        for _ in 0..5 {
            let mut reading = headwater_engine::Reading::new(gpu.clone(), world.now());
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.42));
            reading.sample(&gpu, GPU_LAUNCH, Value::Gauge(47.6e-6));
            world.take(&Input::Reading(reading));
            world.run(1);
        }
        let snapshot = world.snapshot();
        let rows = super::super::row::rows(&snapshot);
        rows.iter().find(|row| row.gpu == gpu).unwrap().reading()
    }

    #[test]
    fn what_was_usual_is_what_the_rule_learned_of_calm_times() {
        let gpu = subject("gpu/host-a:0");
        let mut world = World::new();
        for second in 0..45 {
            let (busy, launch) = if second < 40 { (0.9, 1.2e-6) } else { (0.42, 47.6e-6) };
            let mut reading = headwater_engine::Reading::new(gpu.clone(), world.now());
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(busy));
            reading.sample(&gpu, GPU_LAUNCH, Value::Gauge(launch));
            world.take(&Input::Reading(reading));
            world.run(1);
        }
        let rows = super::super::row::rows(&world.snapshot());
        let row = rows.iter().find(|row| row.gpu == gpu).unwrap();
        let usual = row.launch.and_then(|launch| launch.usual_s).unwrap();
        assert!((usual / 1.2e-6 - 1.0).abs() < 1e-3, "{usual}");
        assert_eq!((row.reading().busy, row.reading().launch), (Busy::Little, Launch::Slow));
    }

    #[test]
    fn a_gpu_waits_by_what_was_usual_and_a_launch_is_slow_by_the_limits_as_they_are_configured() {
        let seen = |reading: Reading| (reading.busy, reading.launch);
        assert_eq!(seen(read_of(0.9, &[])), (Busy::Little, Launch::Slow));
        assert_eq!(seen(read_of(0.42, &[])), (Busy::Between, Launch::Slow));
        assert_eq!(seen(read_of(0.9, &[("rise", 50.0)])), (Busy::Little, Launch::Usual));
    }
}
