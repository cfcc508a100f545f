//! The source of a Prometheus server, or of whatever speaks its HTTP API, such as VictoriaMetrics.
//!
//! Each question asks for the samples that came since the last one, with the moments at which they were scraped, not
//! for values that the server carries forward. They are sorted by the target that they were scraped from, and each
//! scrape of a target is written as the page that it was, so that the same dialects read it. What stops coming is
//! stale by its own time.

mod answer;
mod asker;
mod history;
mod instance;
mod looking;
mod looking_back;
mod page;
mod server;
mod turns;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use headwater_engine::Subject;
use tokio::task::JoinHandle;

use crate::config::prometheus::server_subject;
use crate::sources::Outlet;
use crate::sources::metrics::fetch::Address;
use crate::sources::metrics::{MetricsSpec, MetricsSpecError};

pub use history::{Memory, SPAN_ENDS_BEFORE};
pub use server::PrometheusSource;

/// How often a server is asked at most, unless the configuration says otherwise: most scrape seldomer.
pub const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);

/// What is read where the configuration selects nothing: whatever a target was scraped for.
pub const EVERYTHING: &str = "{job!=\"\"}";

/// The most targets of one server; with more, a fleet is read by several tables.
pub const MOST_INSTANCES: usize = 2_000;

/// One server, as the configuration or the command line names it.
#[derive(Clone)]
pub struct PrometheusSpec {
    /// Where it is and how it is asked; its component and dialects mean nothing.
    pub server: MetricsSpec,
    /// The series that are read, as PromQL selects them.
    pub select: String,
    /// How often it is asked.
    pub interval: Duration,
    /// Which targets belong to which component; others are `service/JOB`.
    pub components: Vec<ComponentSelector>,
    /// Whether its past is asked for what was usual.
    pub looks_back: bool,
}

/// Which targets of a server belong to one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSelector {
    /// The component.
    pub component: Subject,
    /// The labels, with their values, that all of its targets have.
    pub labels: BTreeMap<String, String>,
}

impl fmt::Debug for PrometheusSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("PrometheusSpec")
            .field("server", &self.server)
            .field("select", &self.select)
            .field("interval", &self.interval)
            .field("components", &self.components)
            .field("looks_back", &self.looks_back)
            .finish()
    }
}

impl PrometheusSpec {
    /// What readings about the server itself are about; `None` when its address is none.
    pub fn subject(&self) -> Option<Subject> {
        let address = Address::parse(&self.server.url).ok()?;
        Some(server_subject(address.host_and_port()))
    }

    /// A server of which only the address is known, asked for everything.
    pub fn new(url: &str) -> Self {
        Self {
            server: MetricsSpec::new(url),
            select: EVERYTHING.to_owned(),
            interval: SHORTEST_INTERVAL,
            components: vec![],
            looks_back: true,
        }
    }
}

/// Asks a server at its interval until the outlet says stop, and once for what `memory` wants of its past.
pub fn spawn_prometheus(
    spec: &PrometheusSpec,
    memory: Memory,
    outlet: Outlet,
) -> Result<JoinHandle<()>, MetricsSpecError> {
    let mut source = PrometheusSource::new(spec)?;
    let memory = spec.looks_back.then_some(memory);
    Ok(tokio::spawn(async move {
        let stop = outlet.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = source.run(memory, &outlet) => {}
        }
    }))
}
