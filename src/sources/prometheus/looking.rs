//! Looks through a server's past, target by target: one question at a time and never for more than half of the time, within
//! a limit of bytes and of time. An hour is looked at in steps of a minute; where that shows too little, because a target is
//! new or its server remembers little, as many scrapes as an hour has minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Event, Fault, History, Input};
use headwater_engine::settings::BaselineRow;
use headwater_engine::{Baselines, Engine, Moment, Settings, Subject};
use tokio::time::Instant;

use super::PrometheusSpec;
use super::answer::{Queried, Series};
use super::asker::{Asker, passes};
use super::history::{MOST_TROUBLES, Memory};
use super::instance::{Clock, Instance, InstanceKey, Named, Remembered};
use super::page::Types;
use crate::sources::metrics::fetch::Address;
use crate::sources::now;

/// Steps that are looked at, and the length of each.
const STEPS: u32 = 60;
const STEP: Duration = Duration::from_secs(60);

/// The most bytes of all answers.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How long one look may take, pauses for a busy server among it.
pub(super) const LONGEST_LOOK: Duration = Duration::from_secs(600);

/// The store in which the scrapes of one component are looked at, in bytes.
const STORE: usize = 32 * 1024 * 1024;

pub(super) fn too_much() -> String {
    let most = MOST_BYTES / (1024 * 1024);
    format!("the answers for it have more than {most} MiB: read less with 'select'")
}

fn too_long() -> String {
    let most = LONGEST_LOOK.as_secs() / 60;
    format!("the server took more than {most} min to answer for it: read less with 'select'")
}

/// Somebody who looks through a server's past.
pub(super) struct Looking<'a> {
    pub(super) spec: &'a PrometheusSpec,
    pub(super) memory: Memory,
    pub(super) asker: Asker,
    pub(super) types: Arc<Types>,
    pub(super) clock: Clock,
    /// When it gives up.
    pub(super) deadline: Instant,
}

/// The past of one target: its series between two moments, with how far their samples are apart.
struct Past {
    key: InstanceKey,
    labels: BTreeMap<String, String>,
    series: Vec<Series>,
}

/// What one look at a component has brought.
pub(super) struct Told {
    pub(super) history: History,
    /// The targets whose past was read.
    pub(super) read: Vec<InstanceKey>,
    /// Those whose past could not be read, and why.
    pub(super) failed: BTreeMap<InstanceKey, String>,
    /// Why the others were not asked for.
    pub(super) stopped: Option<String>,
}

impl Told {
    /// Whether the past of every target was read.
    pub(super) fn is_whole(&self) -> bool {
        self.failed.is_empty() && self.stopped.is_none()
    }
}

impl Looking<'_> {
    /// Whether the answers so far are as much as one look may have.
    pub(super) fn is_full(&self) -> bool {
        self.asker.bytes() >= MOST_BYTES
    }

    /// What was usual of one component, of its targets whose past can be read.
    pub(super) async fn component(&mut self, component: &Subject, targets: &[Remembered]) -> Told {
        let every = targets.iter().filter_map(|target| target.every).max().unwrap_or(STEP);
        let long = self.span(targets, step_of(every), false).await;
        if !long.history.rows.is_empty() || every >= STEP || long.read.is_empty() || long.stopped.is_some() {
            return long;
        }
        tracing::debug!(%component, "too little of an hour is remembered: looking at scrapes");
        self.span(targets, every, true).await
    }

    /// What was usual in so many steps before the end; of `scrapes` each is asked for, else one sample a step. A target
    /// whose past cannot be read, for instance because it is too much, costs the others nothing; where it stops before the
    /// last, what was read counts.
    async fn span(&mut self, targets: &[Remembered], step: Duration, scrapes: bool) -> Told {
        let to = self.memory.before;
        // The first sample of a total begins the first step.
        let from = to - step * (STEPS + 1);
        let (mut pasts, mut failed, mut in_a_row) = (vec![], BTreeMap::new(), 0);
        let mut stopped = None;
        for target in targets {
            if self.is_full() || Instant::now() >= self.deadline {
                stopped = Some(if self.is_full() { too_much() } else { too_long() });
                break;
            }
            let begun = Instant::now();
            match self.series(target, (from, to, step), scrapes).await {
                Ok(series) => {
                    in_a_row = 0;
                    pasts.push(Past { key: target.key.clone(), labels: target.labels.clone(), series });
                }
                Err(fault) => {
                    in_a_row += 1;
                    let why = fault.message.as_str().to_owned();
                    failed.insert(target.key.clone(), why.clone());
                    // A server that answers nobody is asked for no other, nor is one that refuses whatever is tried.
                    if in_a_row >= MOST_TROUBLES && (passes(&fault) || pasts.is_empty()) {
                        stopped = Some(why);
                        break;
                    }
                }
            }
            tokio::time::sleep(begun.elapsed()).await;
        }
        let read: Vec<InstanceKey> = pasts.iter().map(|past| past.key.clone()).collect();
        let (types, clock) = (Arc::clone(&self.types), self.clock);
        let settings = Settings { interval: step, store_budget: STORE, ..(*self.memory.settings).clone() };
        let (spec, address) = (self.spec.clone(), self.asker.address().clone());
        let rows = tokio::task::spawn_blocking(move || {
            usual(settings, &spec, &address, &types, clock, pasts, (from, to, step))
        });
        let (rows, read) = match rows.await {
            Ok(rows) => (rows, read),
            Err(error) => {
                stopped = Some(format!("cannot be looked at ({error})"));
                (vec![], vec![])
            }
        };
        Told { history: History { from, to, rows }, read, failed, stopped }
    }

    async fn series(
        &mut self,
        target: &Remembered,
        (from, to, step): (Moment, Moment, Duration),
        scrapes: bool,
    ) -> Result<Vec<Series>, Fault> {
        let select = target.select(&self.spec.select);
        let (start, end) = (self.clock.there(from), self.clock.there(to));
        let patience = (self.memory.pause, self.deadline);
        let told = if scrapes {
            let query = format!("{select}[{}ms]", to.since(from).as_millis());
            let time = format!("{end:.3}");
            let parameters = [("query", query.as_str()), ("time", &time)];
            self.asker.query_patiently::<Queried>("api/v1/query", &parameters, patience).await?
        } else {
            let (start, end, step) =
                (format!("{start:.3}"), format!("{end:.3}"), format!("{:.3}", step.as_secs_f64()));
            let parameters = [("query", select.as_str()), ("start", &start), ("end", &end), ("step", &step)];
            self.asker.query_patiently::<Queried>("api/v1/query_range", &parameters, patience).await?
        };
        match told.data {
            Queried::Matrix(series) => Ok(series
                .into_iter()
                .filter(|one| InstanceKey::of(one).as_ref() == Some(&target.key))
                .collect()),
            _ => Err(self.asker.malformed("gives no samples of a span")),
        }
    }
}

/// The step in which an hour is looked at: whole scrapes, so that each step has as many.
fn step_of(every: Duration) -> Duration {
    let scrapes = (STEP.as_millis().div_ceil(every.as_millis().max(1))).max(1);
    every.max(Duration::from_millis(1)) * u32::try_from(scrapes).unwrap_or(1)
}

/// What was usual in the past of these targets, looked at by an engine of its own.
fn usual(
    settings: Settings,
    spec: &PrometheusSpec,
    address: &Address,
    types: &Types,
    clock: Clock,
    pasts: Vec<Past>,
    (from, to, step): (Moment, Moment, Duration),
) -> Vec<BaselineRow> {
    let server = Named { types, product: "the server", clock };
    let mut engine = Engine::new(settings, Baselines::default());
    for past in pasts {
        let mut instance = Instance::new(&past.key, past.labels, &spec.components, address);
        for mut reading in instance.read(&past.series, server, now()) {
            // The shards of Redis nodes are numbered by the engine that is told.
            reading.events.retain(|event| !matches!(event, Event::Exported(_)));
            engine.take(&Input::Reading(reading));
        }
    }
    engine.healthy_values(from, to, step)
}
