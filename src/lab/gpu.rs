//! A GPU that is none: what the model's batches would do to one, told by an exporter's page.
//!
//! No machine that builds or tests this has a GPU. Batches wait and fail in truth, and the device's numbers follow them
//! by simple arithmetic: kernels are busy for as long as the model takes, the host launches them one after the other,
//! and memory holds the model, the requests of the running batch and what was left behind. Its host is called
//! `simulated`, so that nobody takes a number for more than it is.

mod page;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(super) use self::page::serve_page;
use super::counters::GpuCounters;
use super::service::{LARGEST_BATCH, Pace, lock};

/// The host of every simulated GPU.
pub(super) const HOST: &str = "simulated";

/// What `nvidia-smi` calls a MB.
const MIB: u64 = 1_048_576;

/// Bytes of device memory that there are.
pub(super) const MEMORY: u64 = 16_280 * MIB;

/// Bytes that the driver never gives away.
const KEPT_BACK: u64 = 2 * MIB;

/// Bytes that the model and its cache take, whatever is asked of it.
const MODEL: u64 = 12_070_000_000;

/// Bytes that a request needs while its batch runs.
const REQUEST: u64 = 25_000_000;

/// Bytes that requests may leave behind until the largest batch finds no place.
pub(super) const ROOM: u64 = MEMORY - KEPT_BACK - MODEL - LARGEST_BATCH as u64 * REQUEST;

/// What the launch of a kernel takes a host that is well.
pub(super) const USUAL_LAUNCH: Duration = Duration::from_nanos(1_200);

/// By how much launches differ from batch to batch, up and down, as a share.
const JITTER: f64 = 0.04;

/// After so long without a batch the allocator collects what was left behind.
const IDLE: Duration = Duration::from_secs(1);

/// The requests whose remains it then finds; there are always more.
const COLLECTED: u64 = 60;

/// How often the totals are noted, and over how long what is told at present is taken.
const NOTED_EVERY: Duration = Duration::from_millis(250);
const PRESENT: Duration = Duration::from_secs(1);

/// One simulated GPU.
#[derive(Debug)]
pub(super) struct Device(Mutex<State>);

#[derive(Debug)]
struct State {
    launch: Duration,
    /// Bytes that each request leaves behind.
    leaks: u64,
    left_behind: u64,
    /// When the first allocation failed. From then on the allocator keeps all there is, in pieces.
    full_since: Option<Instant>,
    failures: u64,
    batches: u64,
    running: Option<Running>,
    last_used: Instant,
    totals: Totals,
    noted: VecDeque<(Instant, Totals)>,
}

/// The batch that runs.
#[derive(Clone, Copy, Debug)]
struct Running {
    begun: Instant,
    lasts: Duration,
    /// Share of its time in which kernels run.
    busy: f64,
    size: u32,
}

/// Everything since the start.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    /// Seconds in which kernels ran.
    busy: f64,
    /// Seconds of running batches, each times its requests.
    requests: f64,
    launches: f64,
    /// Seconds that launches took.
    launching: f64,
}

/// The device at present.
#[derive(Clone, Copy, Debug)]
struct Present {
    /// Share of the last second in which kernels ran.
    utilization: f64,
    /// Bytes in use.
    used: u64,
    /// What a launch took in the last second, in seconds.
    launch: f64,
    /// Allocations that failed since the start.
    failures: u64,
}

impl Device {
    /// A device with a model on it, whose totals are noted until told to stop.
    pub(super) fn start(stop: CancellationToken) -> Arc<Self> {
        let device = Arc::new(Self(Mutex::new(State::new(Instant::now()))));
        let noting = Arc::clone(&device);
        tokio::spawn(async move {
            let mut interval = tokio::time::interval(NOTED_EVERY);
            loop {
                tokio::select! {
                    () = stop.cancelled() => return,
                    _ = interval.tick() => lock(&noting.0).note(Instant::now()),
                }
            }
        });
        device
    }

    /// From the next batch on a launch takes so long.
    pub(super) fn stall(&self, launch: Duration) {
        lock(&self.0).launch = launch;
    }

    /// From now on each request leaves so many bytes behind.
    pub(super) fn leak(&self, bytes: u64) {
        lock(&self.0).leaks = bytes;
    }

    /// Whether there is memory for a batch of this size.
    pub(super) fn allocate(&self, size: u32) -> bool {
        lock(&self.0).allocate(size, Instant::now())
    }

    /// Begins a batch of a model of this pace; answers how long it takes.
    pub(super) fn begin(&self, pace: Pace, size: u32) -> Duration {
        lock(&self.0).begin(pace, size, Instant::now())
    }

    /// Ends the batch that runs.
    pub(super) fn end(&self) {
        lock(&self.0).end(Instant::now());
    }

    /// What was counted so far.
    pub(super) fn counters(&self) -> GpuCounters {
        let state = lock(&self.0);
        let present = state.present(Instant::now());
        GpuCounters {
            memory: MEMORY,
            used: present.used,
            utilization: present.utilization,
            launch: present.launch,
            left_by_request: state.leaks,
            failures: present.failures,
            full_since: state.full_since.map(Instant::into_std),
        }
    }

    fn present(&self) -> Present {
        lock(&self.0).present(Instant::now())
    }
}

impl State {
    fn new(now: Instant) -> Self {
        Self {
            launch: USUAL_LAUNCH,
            leaks: 0,
            left_behind: 0,
            full_since: None,
            failures: 0,
            batches: 0,
            running: None,
            last_used: now,
            totals: Totals::default(),
            noted: VecDeque::from([(now, Totals::default())]),
        }
    }

    fn allocate(&mut self, size: u32, now: Instant) -> bool {
        if self.full_since.is_some() && now - self.last_used >= IDLE {
            self.left_behind = self.left_behind.saturating_sub(COLLECTED * self.leaks);
        }
        self.last_used = now;
        let fits = MODEL + self.left_behind + u64::from(size) * REQUEST <= MEMORY - KEPT_BACK;
        if !fits {
            self.failures += 1;
            self.full_since.get_or_insert(now);
        }
        fits
    }

    /// Kernels of a batch run one after the other, each when it was launched: what takes longer sets the pace.
    fn begin(&mut self, pace: Pace, size: u32, now: Instant) -> Duration {
        let kernels = pace.batch + pace.request * size;
        let chance = (self.batches as f64 * 0.618_033_988_75).fract();
        let launching = self.launch.mul_f64(f64::from(pace.launches) * (1.0 + JITTER * (2.0 * chance - 1.0)));
        let lasts = kernels.max(launching);
        let busy = kernels.as_secs_f64() / lasts.as_secs_f64().max(f64::MIN_POSITIVE);
        self.batches += 1;
        self.totals.launches += f64::from(pace.launches);
        self.totals.launching += launching.as_secs_f64();
        self.running = Some(Running { begun: now, lasts, busy, size });
        lasts
    }

    fn end(&mut self, now: Instant) {
        self.totals = self.totals_at(now);
        self.last_used = now;
        if let Some(running) = self.running.take() {
            self.left_behind += u64::from(running.size) * self.leaks;
        }
    }

    fn totals_at(&self, now: Instant) -> Totals {
        let Some(running) = self.running else { return self.totals };
        // A timer that is late keeps nothing busy.
        let ran = (now - running.begun).min(running.lasts).as_secs_f64();
        Totals {
            busy: self.totals.busy + ran * running.busy,
            requests: self.totals.requests + ran * f64::from(running.size),
            ..self.totals
        }
    }

    fn note(&mut self, now: Instant) {
        self.noted.push_back((now, self.totals_at(now)));
        // The oldest one that is kept is the last that is old enough.
        while self.noted.get(1).is_some_and(|(at, _)| now - *at >= PRESENT) {
            self.noted.pop_front();
        }
    }

    fn present(&self, now: Instant) -> Present {
        let totals = self.totals_at(now);
        let (since, before) = self.noted.front().copied().unwrap_or((now, totals));
        let span = (now - since).as_secs_f64();
        let share =
            |of: fn(&Totals) -> f64| if span > 0.0 { (of(&totals) - of(&before)) / span } else { 0.0 };
        let launches = totals.launches - before.launches;
        let used = match self.full_since {
            Some(_) => MEMORY - KEPT_BACK,
            None => MODEL + self.left_behind + (share(|totals| totals.requests) * REQUEST as f64) as u64,
        };
        Present {
            utilization: share(|totals| totals.busy).min(1.0),
            used: used.min(MEMORY - KEPT_BACK),
            launch: match launches > 0.0 {
                true => (totals.launching - before.launching) / launches,
                false => self.launch.as_secs_f64(),
            },
            failures: self.failures,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace =
        Pace { batch: Duration::from_millis(16), request: Duration::from_micros(100), launches: 1_800 };

    /// Runs batches of this size without a pause for so long; answers the end.
    fn run(state: &mut State, size: u32, from: Instant, length: Duration) -> Instant {
        let mut now = from;
        while now < from + length {
            if !state.allocate(size, now) {
                return now;
            }
            now += state.begin(PACE, size, now);
            state.end(now);
            state.note(now);
        }
        now
    }

    #[test]
    fn a_host_that_is_late_with_launches_leaves_the_device_idle_and_its_memory_as_it_was() {
        let begun = Instant::now();
        let mut state = State::new(begun);
        let now = run(&mut state, 8, begun, Duration::from_secs(2));
        let before = state.present(now);
        assert!(before.utilization > 0.99, "{before:?}");
        assert!((before.launch / 1.2e-6 - 1.0).abs() < 0.02, "{before:?}");
        state.launch = Duration::from_nanos(47_600);
        let now = run(&mut state, 8, now, Duration::from_secs(2));
        let after = state.present(now);
        // 16.8 ms of kernels in 1 800 launches of 47.6 us.
        assert!((after.utilization - 0.196).abs() < 0.01, "{after:?}");
        assert!((after.launch / 47.6e-6 - 1.0).abs() < 0.02, "{after:?}");
        assert!(after.used.abs_diff(before.used) < REQUEST, "{before:?} {after:?}");
    }

    #[test]
    fn what_requests_leave_behind_fills_the_memory_and_a_pause_gives_little_back() {
        let begun = Instant::now();
        let mut state = State::new(begun);
        state.leaks = ROOM / 1_000;
        let full = run(&mut state, 8, begun, Duration::from_secs(60));
        assert_eq!(state.batches * 8, 1_008);
        assert_eq!((state.failures, state.full_since), (1, Some(full)));
        assert_eq!(state.present(full).used, MEMORY - KEPT_BACK);
        let again = run(&mut state, 8, full + IDLE, Duration::from_secs(60));
        let served = state.batches * 8 - 1_008;
        assert!((56..=72).contains(&served), "{served}");
        assert!(!state.allocate(8, again + IDLE / 2));
        assert_eq!(state.present(again).used, MEMORY - KEPT_BACK);
    }
}
