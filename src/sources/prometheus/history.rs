//! What a server remembers of healthy times: scrapes from before the incident, read by the same dialects, and what was
//! usual in them.
//!
//! It is asked target by target, one question at a time and never for more than half of the time; a server that is busy is
//! asked again later. An hour is looked at in steps of a minute; where that shows too little, because a target is new or
//! its server remembers little, as many scrapes as an hour has minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Event, Fault, History, Input, Reading};
use headwater_engine::settings::BaselineRow;
use headwater_engine::{Baselines, Engine, Moment, RemoteText, Settings, Subject};
use tokio::time::Instant;

use super::PrometheusSpec;
use super::answer::{Queried, Series};
use super::asker::{Asker, passes};
use super::instance::{Clock, Instance, InstanceKey, Named, Remembered};
use super::looking_back::{AGAIN_AFTER, Known};
use super::page::Types;
use super::turns::{MOST_TARGETS, Share, turns};
use crate::config::prometheus::server_subject;
use crate::sources::metrics::fetch::Address;
use crate::sources::{Outlet, now};

/// How long before Headwater's start the span ends, where nobody says when the incident began: an engineer who is called
/// looks sooner.
pub const SPAN_ENDS_BEFORE: Duration = Duration::from_secs(3_600);

/// Steps that are looked at, and the length of each.
const STEPS: u32 = 60;
const STEP: Duration = Duration::from_secs(60);

/// The most bytes of all answers.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// How long one look may take, pauses for a busy server among it.
const LONGEST_LOOK: Duration = Duration::from_secs(600);

/// The store in which the scrapes of one component are looked at, in bytes.
const STORE: usize = 32 * 1024 * 1024;

/// What the source's state calls it.
const WHAT: &str = "usual values from its past";

/// What is wanted of a server's past.
#[derive(Clone, Debug)]
pub struct Memory {
    /// What was declared.
    pub settings: Arc<Settings>,
    /// The end of the span that is taken for healthy.
    pub before: Moment,
    /// How soon after a look at it the next one may begin, for targets that came later or that it could not be told of.
    pub again_after: Duration,
}

impl Memory {
    /// The past before an incident that began at this moment, else before the last hour.
    pub fn new(settings: &Settings, since: Option<Moment>) -> Self {
        let before = since.unwrap_or_else(|| now() - SPAN_ENDS_BEFORE);
        Self { settings: Arc::new(settings.clone()), before, again_after: AGAIN_AFTER }
    }
}

/// After so many components of which the past could not be read no other is asked for.
const MOST_TROUBLES: usize = 3;

/// Asks for the past of these targets and tells what was usual, component by component; then what could not be told. Gives
/// what is known then, with what was `known` before.
pub(super) async fn remember(
    spec: &PrometheusSpec,
    memory: Memory,
    targets: Vec<Remembered>,
    (types, clock): (Types, Clock),
    mut known: Known,
    outlet: &Outlet,
) -> Known {
    let Ok(asker) = Asker::new(spec) else { return known };
    let source = server_subject(asker.address().host_and_port());
    let deadline = Instant::now() + LONGEST_LOOK;
    let mut looking = Looking { spec, memory, asker, types: Arc::new(types), clock, deadline };
    let to = looking.memory.before;
    let mut troubles = vec![];
    let targets = match History::speaks(to, now()) {
        true => targets,
        false => {
            let (hours, clock) = (History::SPEAKS_FOR.as_secs() / 3_600, to.clock());
            troubles.push(format!(
                "what was before {clock} UTC ended more than {hours} h ago, at another time of day: it is compared with nothing"
            ));
            vec![]
        }
    };
    for (component, Share { targets, left_out }) in turns(targets, &known.failures) {
        if looking.asker.bytes() >= MOST_BYTES {
            // What came before took it all: whoever is left is asked for in the next look, before those that fail.
            troubles.push(too_much());
        }
        // One component may ask for too much; of a server that answers nobody the others learn nothing either.
        if troubles.len() >= MOST_TROUBLES || looking.asker.bytes() >= MOST_BYTES {
            break;
        }
        let keys: Vec<InstanceKey> = targets.iter().map(|target| target.key.clone()).collect();
        let mut failed = BTreeMap::new();
        let told = looking.component(&component, targets, &mut failed).await;
        known.failures.note(&component, &keys, &failed, told.is_err());
        troubles.extend(told.as_ref().err().or(failed.values().next()).cloned());
        let Ok(mut history) = told else { continue };
        if known.components.contains(&component) || !failed.is_empty() {
            // What was usual of all instances together is known, and of some of them would be something else.
            history.rows.retain(|row| row.subject.address().is_some());
        }
        known.has_told |= !history.rows.is_empty();
        known.left_out += left_out.len();
        known.targets.extend(keys.into_iter().filter(|key| !failed.contains_key(key)).chain(left_out));
        known.components.insert(component);
        if history.rows.is_empty() {
            continue;
        }
        let mut reading = Reading::new(source.clone(), now());
        reading.events.push(Event::History(history));
        if outlet.readings.send(reading).await.is_err() {
            return known;
        }
    }
    let why = match troubles.into_iter().next() {
        Some(why) => Some(why),
        None if !known.has_told => Some(format!(
            "it remembers too little of what was before {} UTC; '--since' says when the incident began",
            to.clock()
        )),
        None if known.left_out > 0 => {
            let count = known.left_out;
            Some(format!("{count} targets were left out: {MOST_TARGETS} are asked for at most"))
        }
        None => None,
    };
    let what = RemoteText::new(WHAT);
    let event = match (std::mem::replace(&mut known.is_lacking, why.is_some()), why) {
        (_, Some(why)) => Event::Unavailable { what, why: RemoteText::new(&why) },
        (true, None) => Event::Available { what },
        (false, None) => return known,
    };
    let mut reading = Reading::new(source, now());
    reading.events.push(event);
    // A loop that has ended needs no word of it.
    let _ = outlet.readings.send(reading).await;
    known
}

fn too_much() -> String {
    let most = MOST_BYTES / (1024 * 1024);
    format!("the answers for it have more than {most} MiB: read less with 'select'")
}

/// Somebody who looks through a server's past.
struct Looking<'a> {
    spec: &'a PrometheusSpec,
    memory: Memory,
    asker: Asker,
    types: Arc<Types>,
    clock: Clock,
    /// When it gives up.
    deadline: Instant,
}

/// The past of one target: its series between two moments, with how far their samples are apart.
struct Past {
    key: InstanceKey,
    labels: BTreeMap<String, String>,
    series: Vec<Series>,
}

impl Looking<'_> {
    /// What was usual of one component, without its targets that `failed`; the reason where nothing of it can be read.
    async fn component(
        &mut self,
        component: &Subject,
        targets: Vec<Remembered>,
        failed: &mut BTreeMap<InstanceKey, String>,
    ) -> Result<History, String> {
        let every = targets.iter().filter_map(|target| target.every).max().unwrap_or(STEP);
        let long = self.span(&targets, step_of(every), false, failed).await?;
        if !long.rows.is_empty() || every >= STEP {
            return Ok(long);
        }
        tracing::debug!(%component, "too little of an hour is remembered: looking at scrapes");
        failed.clear();
        self.span(&targets, every, true, failed).await
    }

    /// What was usual in so many steps before the end; of `scrapes` each is asked for, else one sample a step. A target
    /// whose past cannot be read, for instance because it is too much, costs the others nothing.
    async fn span(
        &mut self,
        targets: &[Remembered],
        step: Duration,
        scrapes: bool,
        failed: &mut BTreeMap<InstanceKey, String>,
    ) -> Result<History, String> {
        let to = self.memory.before;
        // The first sample of a total begins the first step.
        let from = to - step * (STEPS + 1);
        let mut pasts = vec![];
        for target in targets {
            if self.asker.bytes() >= MOST_BYTES {
                return Err(too_much());
            }
            let begun = Instant::now();
            match self.series(target, (from, to, step), scrapes).await {
                Ok(series) => {
                    pasts.push(Past { key: target.key.clone(), labels: target.labels.clone(), series });
                }
                Err(fault) => {
                    let why = fault.message.as_str().to_owned();
                    failed.insert(target.key.clone(), why.clone());
                    // A server that answers nobody is asked for no other, nor is one that refuses whatever is tried.
                    if passes(&fault)
                        || (pasts.is_empty() && failed.len() >= MOST_TROUBLES.min(targets.len()))
                    {
                        return Err(why);
                    }
                }
            }
            tokio::time::sleep(begun.elapsed()).await;
        }
        let (types, clock) = (Arc::clone(&self.types), self.clock);
        let settings = Settings { interval: step, store_budget: STORE, ..(*self.memory.settings).clone() };
        let (spec, address) = (self.spec.clone(), self.asker.address().clone());
        let rows = tokio::task::spawn_blocking(move || {
            usual(settings, &spec, &address, &types, clock, pasts, (from, to, step))
        });
        Ok(History { from, to, rows: rows.await.map_err(|error| format!("cannot be looked at ({error})"))? })
    }

    async fn series(
        &mut self,
        target: &Remembered,
        (from, to, step): (Moment, Moment, Duration),
        scrapes: bool,
    ) -> Result<Vec<Series>, Fault> {
        let select = target.select(&self.spec.select);
        let (start, end) = (self.clock.there(from), self.clock.there(to));
        let told = if scrapes {
            let query = format!("{select}[{}ms]", to.since(from).as_millis());
            let time = format!("{end:.3}");
            let parameters = [("query", query.as_str()), ("time", &time)];
            self.asker.query_patiently::<Queried>("api/v1/query", &parameters, self.deadline).await?
        } else {
            let (start, end, step) =
                (format!("{start:.3}"), format!("{end:.3}"), format!("{:.3}", step.as_secs_f64()));
            let parameters = [("query", select.as_str()), ("start", &start), ("end", &end), ("step", &step)];
            self.asker.query_patiently::<Queried>("api/v1/query_range", &parameters, self.deadline).await?
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
