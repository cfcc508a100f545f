//! What is known of the clocks of one GPU, and what each reason that holds them down is worth.

use super::super::Limits;
use super::super::gpus::{BRIEFLY, RESTING, busy, on_machines};
use crate::metric::{GPU_CLOCK, GPU_CLOCK_MAX, GPU_TEMPERATURE, GPU_THROTTLED, GPU_UTILIZATION, Unit};
use crate::peers::median;
use crate::quantity::show;
use crate::report::{BaselineFrom, Confidence};
use crate::scene::Scene;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::throttle::{self, Reason};
use crate::world::machine_of;

/// The share of the present load from which on another load is one like it.
const AS_BUSY: f64 = 0.8;

/// Fewer others than this have no usual clock.
const LEAST_OTHERS: usize = 2;

/// A clock under a load like the present one.
#[derive(Clone, Copy, Debug)]
struct Usual {
    clock: f64,
    /// `None` where it is that of the other GPUs of the machine.
    from: Option<BaselineFrom>,
}

/// What is known of a part's clocks.
pub(super) struct Clocks<'a> {
    pub(super) part: &'a Subject,
    pub(super) busy: Option<Seen>,
    pub(super) now: Option<Seen>,
    /// The highest clock, as the driver tells it.
    pub(super) max: Option<f64>,
    usual: Option<Usual>,
    /// The reasons that cost something, with their shares of the time.
    held: Vec<(RemoteText, Seen)>,
}

/// One reason that holds a busy part down and costs it something.
pub(super) struct Held<'a> {
    pub(super) reason: &'a RemoteText,
    pub(super) share: Seen,
    pub(super) worth: Confidence,
    /// Whether full load may look the same.
    pub(super) may_be_load: bool,
    /// ` 39.4 % below its highest`, where that is known.
    pub(super) lost: String,
}

impl<'a> Clocks<'a> {
    pub(super) fn of(scene: &Scene<'_>, part: &'a Subject) -> Self {
        let reasons = scene.store.parts(part, GPU_THROTTLED).into_iter().flatten();
        let held = reasons
            .filter(|reason| throttle::by_name(reason.as_str()).is_none_or(|row| row.costs))
            .filter_map(|reason| {
                let share = scene.mean_over(part, GPU_THROTTLED, Some(&reason), BRIEFLY)?;
                Some((reason, share))
            })
            .collect();
        let busy = busy(scene, part);
        Self {
            part,
            busy,
            now: scene.mean_over(part, GPU_CLOCK, None, BRIEFLY),
            max: scene.latest(part, GPU_CLOCK_MAX).map(|seen| seen.value).filter(|max| *max > 0.0),
            usual: busy.and_then(|busy| usual(scene, part, busy.value)),
            held,
        }
    }

    pub(super) fn is_told(&self) -> bool {
        self.now.is_some() || !self.held.is_empty()
    }

    /// `SM clock 1.41 of 1.98 GHz`, and how warm it is.
    pub(super) fn words(&self, scene: &Scene<'_>) -> String {
        let clock = match (self.now, self.max) {
            (Some(now), Some(max)) => {
                Some(format!("clock {} of {}", show(now.value, Unit::Hertz), show(max, Unit::Hertz)))
            }
            (Some(now), None) => Some(format!("clock {}", show(now.value, Unit::Hertz))),
            _ => None,
        };
        let warm = scene.latest(self.part, GPU_TEMPERATURE).map(|seen| show(seen.value, Unit::Celsius));
        let told: Vec<String> = clock.into_iter().chain(warm).collect();
        told.join(", ")
    }

    /// The worst of the reasons that pass their limits, each held against its own: power must not hide heat.
    pub(super) fn worst(&self, limits: &Limits<'_>) -> Option<Held<'_>> {
        let rank = |held: &Held<'_>| (held.worth, !is(held.reason, |row| row.is_power_limit));
        self.busy.filter(|busy| busy.value >= RESTING)?;
        let long = self.held.iter().filter(|(_, share)| share.value >= limits.of("time"));
        long.filter_map(|(reason, share)| {
            let costs =
                if is(reason, |row| row.is_power_limit) { self.capped(limits) } else { self.slow(limits) };
            let (worth, lost) = costs?;
            let may_be_load = worth < Confidence::High && lost.is_empty() || worth == Confidence::Low;
            Some(Held { reason, share: *share, worth, may_be_load, lost })
        })
        .max_by(|one, other| rank(one).cmp(&rank(other)).then(one.share.value.total_cmp(&other.share.value)))
    }

    /// Why nothing holds it down, or `Err` with what is not known.
    pub(super) fn cleared(&self, limits: &Limits<'_>) -> Result<&'static str, &'static str> {
        let long = |is_of: fn(&Reason) -> bool| {
            self.held.iter().any(|(reason, share)| share.value >= limits.of("time") && is(reason, is_of))
        };
        let is_told = |is_of: fn(&Reason) -> bool| self.held.iter().any(|(reason, _)| is(reason, is_of));
        let has_heat = is_told(|row| row.is_heat);
        if self.busy.is_some_and(|busy| busy.value < RESTING) {
            return Ok(", at rest");
        }
        if self.of_max().is_some_and(|share| share >= limits.of("clock")) {
            return Ok(", not held down");
        }
        if self.busy.is_none() && self.held.iter().any(|(_, share)| share.value >= limits.of("time")) {
            return Err(", held down, and nothing tells how busy it is: at rest that costs nothing");
        }
        if long(|row| row.is_power_limit) {
            // What this run saw before may have been held down as well.
            let is_usual =
                self.usual.is_some_and(|usual| usual.from.is_none_or(|from| from != BaselineFrom::Earlier));
            return match self.of_max() {
                _ if !has_heat => {
                    Err(", at its power limit, and nothing tells whether heat holds it down too")
                }
                Some(share) if share >= limits.of("capped") => Ok(AT_ITS_LIMIT),
                _ if is_usual => Ok(AT_ITS_LIMIT),
                _ => Err(", at its power limit as long as it was looked at: nothing tells its clock without"),
            };
        }
        match (has_heat, is_told(|row| row.is_power_limit)) {
            (true, true) => Ok(", not held down"),
            (true, false) => Err(", and nothing tells whether its power limit holds it down"),
            (false, true) => Err(", and nothing tells whether heat holds it down"),
            (false, false) => Err(", and nothing tells whether anything holds it down"),
        }
    }

    /// The present clock over the highest that is told.
    fn of_max(&self) -> Option<f64> {
        Some(self.now?.value / self.max?)
    }

    /// The present clock over that under a load like this.
    fn of_usual(&self) -> Option<(f64, Usual)> {
        let usual = self.usual?;
        Some((self.now?.value / usual.clock, usual))
    }

    /// What a power limit is worth that holds it down: full load runs into it every day, so it is held against clocks
    /// under such a load and never against the highest alone.
    fn capped(&self, limits: &Limits<'_>) -> Option<(Confidence, String)> {
        if let Some((share, usual)) = self.of_usual() {
            let worth = if usual.from.is_some() { Confidence::High } else { Confidence::Medium };
            return (share < limits.of("capped")).then(|| (worth, below(share, usual)));
        }
        match self.of_max() {
            Some(share) if share >= limits.of("capped") => None,
            Some(share) => Some((Confidence::Low, below_highest(share))),
            None => Some((Confidence::Low, String::new())),
        }
    }

    /// What any other reason is worth.
    fn slow(&self, limits: &Limits<'_>) -> Option<(Confidence, String)> {
        if let Some(share) = self.of_max() {
            return (share < limits.of("clock")).then(|| (Confidence::High, below_highest(share)));
        }
        // A healthy value accuses and never acquits: it may have been held down before anybody looked.
        match self.of_usual() {
            Some((share, usual)) if share < limits.of("clock") => {
                Some((Confidence::High, below(share, usual)))
            }
            _ => Some((Confidence::Medium, String::new())),
        }
    }
}

/// What is said of a GPU that works as hard as its power allows.
const AT_ITS_LIMIT: &str = ", at its power limit, as under full load";

fn is(reason: &RemoteText, of: impl Fn(&Reason) -> bool) -> bool {
    throttle::by_name(reason.as_str()).is_some_and(of)
}

fn below_highest(share: f64) -> String {
    format!(", {} below its highest", show(1.0 - share, Unit::Ratio))
}

fn below(share: f64, usual: Usual) -> String {
    let lost = show(1.0 - share, Unit::Ratio);
    let clock = show(usual.clock, Unit::Hertz);
    match usual.from {
        Some(_) => format!(", {lost} below its usual {clock} under such load"),
        None => format!(", {lost} below the {clock} of the other GPUs there under such load"),
    }
}

/// The clock of this GPU when it was as busy, else that of the others of its machine that are.
fn usual(scene: &Scene<'_>, part: &Subject, busy: f64) -> Option<Usual> {
    let own = scene.baseline(part, GPU_CLOCK, None).filter(|own| {
        let load = || scene.baseline(part, GPU_UTILIZATION, None);
        own.from == BaselineFrom::Declared || load().is_some_and(|load| load.typical >= busy * AS_BUSY)
    });
    let own = own.map(|own| Usual { clock: own.typical, from: Some(own.from) });
    own.or_else(|| others(scene, part, busy)).filter(|usual| usual.clock > 0.0)
}

/// The median of the clocks of the other GPUs of its machine that are as busy: one machine has GPUs of one model.
fn others(scene: &Scene<'_>, part: &Subject, load: f64) -> Option<Usual> {
    let machines = on_machines(scene);
    let beside = machines.get(&machine_of(part)?)?.iter().filter(|other| *other != part);
    let as_busy = beside.filter(|other| busy(scene, other).is_some_and(|one| one.value >= load * AS_BUSY));
    let clocks = as_busy.filter_map(|other| scene.mean_over(other, GPU_CLOCK, None, BRIEFLY));
    let mut clocks: Vec<f64> = clocks.map(|seen| seen.value).collect();
    clocks.sort_by(f64::total_cmp);
    let clock = median(&clocks).filter(|_| clocks.len() >= LEAST_OTHERS)?;
    Some(Usual { clock, from: None })
}
