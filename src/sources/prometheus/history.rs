//! What a server remembers of healthy times: scrapes from before the incident, read by the same dialects, and what was
//! usual in them.
//!
//! Each target is asked for until it was read; what could not be read in one look is asked for in a later one, after the
//! rest. What was usual of all instances of a component together is told once all of them were read in one look.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Event, History, Reading};
use headwater_engine::{Moment, RemoteText, Settings, Subject};
use tokio::time::Instant;

use super::PrometheusSpec;
use super::asker::{Asker, FIRST_PAUSE};
use super::instance::{Clock, Remembered};
use super::looking::{LONGEST_LOOK, Looking, too_much};
use super::looking_back::{AGAIN_AFTER, Known};
use super::page::Types;
use super::turns::{MOST_TARGETS, Share, turns};
use crate::config::prometheus::server_subject;
use crate::sources::{Outlet, now};

/// How long before Headwater's start the span ends, where nobody says when the incident began: an engineer who is called
/// looks sooner.
pub const SPAN_ENDS_BEFORE: Duration = Duration::from_secs(3_600);

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
    /// The pause before a question that the server was too busy for is put again; it doubles from there.
    pub pause: Duration,
}

impl Memory {
    /// The past before an incident that began at this moment, else before the last hour.
    pub fn new(settings: &Settings, since: Option<Moment>) -> Self {
        let before = since.unwrap_or_else(|| now() - SPAN_ENDS_BEFORE);
        Self { settings: Arc::new(settings.clone()), before, again_after: AGAIN_AFTER, pause: FIRST_PAUSE }
    }
}

/// After so many components of which nothing could be read no other is asked for, and after so many targets in a row none
/// of their component.
pub(super) const MOST_TROUBLES: usize = 3;

/// How often all targets of a component are asked for together, where not all could be read in the first look.
const MOST_TRIES: u32 = 2;

/// Asks for the past of those of these targets of which it is not `known`, and tells what was usual, component by component;
/// then what could not be told. Gives what is known then.
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
    let all = match History::speaks(to, now()) {
        true => targets,
        false => {
            let (hours, clock) = (History::SPEAKS_FOR.as_secs() / 3_600, to.clock());
            troubles.push(format!(
                "what was before {clock} UTC ended more than {hours} h ago, at another time of day: it is compared with nothing"
            ));
            vec![]
        }
    };
    let (mut given_up, mut is_over) = (0, false);
    let fresh = all.iter().filter(|target| !known.targets.contains(&target.key)).cloned().collect();
    for (component, Share { targets, left_out }) in turns(fresh, &known.failures) {
        // Whoever is left is asked for in the next look, before those that fail.
        let is_full = looking.is_full();
        troubles.extend(is_full.then(too_much));
        // One component may ask for too much; of a server that answers nobody the others learn nothing either.
        is_over = is_full || given_up >= MOST_TROUBLES;
        if is_over {
            break;
        }
        let mut told = looking.component(&component, &targets).await;
        known.failures.note(&component, &told);
        troubles.extend(told.stopped.as_ref().or(told.failed.values().next()).cloned());
        given_up += usize::from(told.read.is_empty());
        let is_whole = told.is_whole();
        let there = all.iter().filter(|target| target.component == component).count();
        let is_all = is_whole && targets.len() + left_out.len() == there;
        let is_open = !known.components.contains(&component);
        if !(is_all && is_open) {
            // What was usual of some instances is something else than what was of all together.
            told.history.rows.retain(|row| row.subject.address().is_some());
        }
        if is_whole {
            known.left_out += left_out.len();
            known.targets.extend(left_out);
        }
        if is_all {
            known.open.remove(&component);
            known.components.insert(component);
        } else if is_open {
            known.open.entry(component).or_insert(MOST_TRIES);
        }
        known.targets.extend(told.read);
        if !tell(told.history, &source, &mut known, outlet).await {
            return known;
        }
    }
    for (component, targets) in known.ready(&all).into_iter().take_while(|_| !is_over) {
        if looking.is_full() {
            troubles.push(too_much());
            break;
        }
        let mut told = looking.component(&component, &targets).await;
        troubles.extend(told.stopped.as_ref().or(told.failed.values().next()).cloned());
        let is_whole = told.is_whole();
        let left = known.open.entry(component.clone()).or_default();
        *left = left.saturating_sub(1);
        if is_whole || *left == 0 {
            known.open.remove(&component);
            known.components.insert(component);
        }
        told.history.rows.retain(|row| is_whole && row.subject.address().is_none());
        if !tell(told.history, &source, &mut known, outlet).await {
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

/// Tells what was usual, where there is anything; whether anybody still listens.
async fn tell(history: History, source: &Subject, known: &mut Known, outlet: &Outlet) -> bool {
    if history.rows.is_empty() {
        return true;
    }
    known.has_told = true;
    let mut reading = Reading::new(source.clone(), now());
    reading.events.push(Event::History(history));
    outlet.readings.send(reading).await.is_ok()
}
