//! What stands behind a queue: its batches and its accelerators, for rules and screens alike.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::graph::Graph;
use crate::metric::{BATCH_SIZE, GPU_UTILIZATION};
use crate::snapshot::Snapshot;
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The span over which the size of batches is averaged.
pub(crate) const BATCH_SPAN: Duration = Duration::from_secs(10);

/// A rate of completion below which a wait would be told as longer than anybody measured, requests a second.
const LEAST_DONE: f64 = 0.1;

/// How long a new request will wait, seconds: waiting requests over the rate a second at which requests leave the queue
/// (Little's law).
pub fn wait_s(waiting: f64, served: f64) -> f64 {
    waiting / served.max(LEAST_DONE)
}

/// The accelerators behind a queue: those that it or its service is known to call, and the one of its name. A GPU of a
/// machine, `gpu/HOST:INDEX`, is one where the queue or its service is known to call it.
pub(crate) fn accelerators(graph: &Graph, queue: &Subject) -> BTreeSet<Subject> {
    let component = queue.component_of();
    let service = Subject::component(Kind::Service, queue.name());
    let called = [&component, &service].into_iter().flat_map(|caller| graph.callees(caller));
    let called = called.filter(|callee| callee.kind() == Kind::Gpu).cloned();
    called.chain([Subject::component(Kind::Gpu, queue.name())]).collect()
}

/// The busiest of some accelerators behind a queue, or behind one instance of it where some are known to be of its
/// machine; one whose utilisation nobody tells at present is less busy than all others.
pub(crate) fn busiest(queue: &Subject, all: Vec<(Subject, Option<Seen>)>) -> Option<(Subject, Option<Seen>)> {
    let host = |address: &str| address.rsplit_once(':').map(|(host, _)| host.to_owned());
    let is_near = |(gpu, _): &(Subject, _)| {
        queue.address().is_some_and(|address| match gpu.address() {
            Some(own) => own == address,
            None => host(gpu.name()).is_some_and(|own| host(address) == Some(own)),
        })
    };
    let (near, far): (Vec<_>, Vec<_>) = all.into_iter().partition(is_near);
    let those = if near.is_empty() { far } else { near };
    let busy = |(_, seen): &(Subject, Option<Seen>)| seen.map_or(-1.0, |seen| seen.value);
    those.into_iter().max_by(|one, other| busy(one).total_cmp(&busy(other)))
}

impl Snapshot {
    /// The busiest accelerator behind a queue or an instance of it, with the share of time in which a kernel ran there as far
    /// as that is told at present. `None` where no accelerator behind it ever told that.
    pub fn busiest_accelerator(&self, queue: &Subject) -> Option<(Subject, Option<Seen>)> {
        let gpus = accelerators(&self.graph, queue);
        let parts = gpus.iter().flat_map(|gpu| self.history.parts(gpu));
        let told = parts.filter(|part| self.history.trace(part, GPU_UTILIZATION, None).is_some());
        let seen = told.map(|part| (part.clone(), self.present(part, GPU_UTILIZATION, None)));
        busiest(queue, seen.collect())
    }

    /// Requests in a batch of a queue, or of one instance of it: the mean of the last ten seconds' batches. `None` where
    /// nobody counts batches, or none ran.
    pub fn mean_batch(&self, queue: &Subject) -> Option<Seen> {
        let scrapes = self.history.scrapes(queue, BATCH_SIZE, None)?;
        let at = scrapes.last_at(self.at).filter(|at| *at >= self.fresh_from(queue, BATCH_SIZE))?;
        let value = scrapes.gained(at - BATCH_SPAN, at)?.mean()?;
        Some(Seen { value, at })
    }
}
