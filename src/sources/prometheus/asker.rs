//! Puts one question to a server, and gives its answer or the reason why there is none.

use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::PrometheusSpec;
use super::answer::{Told, read};
use crate::sources::backoff;
use crate::sources::metrics::MetricsSpecError;
use crate::sources::metrics::fetch::{Address, Fetcher};

/// The pause before a question that could wait is put for the second time; it doubles from there.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// How often a question that could wait is put.
const MOST_TRIES: u32 = 6;

/// Whether what went wrong is not the question's doing and passes: a server that is busy (429, 503), too slow, or just
/// being started anew.
pub(super) fn passes(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Busy | FaultKind::Silent | FaultKind::Unreachable)
}

/// Who puts questions to one server, one at a time.
#[derive(Debug)]
pub(super) struct Asker {
    address: Address,
    fetcher: Fetcher,
    bytes: u64,
}

impl Asker {
    /// Prepares to ask a server; nothing is sent yet.
    pub(super) fn new(spec: &PrometheusSpec) -> Result<Self, MetricsSpecError> {
        let hint = "Write the address at which its own page is, with a prefix if it has one";
        let address = Address::of(&spec.server.url, "/", hint)?;
        Ok(Self { fetcher: Fetcher::new(address.clone(), &spec.server)?, address, bytes: 0 })
    }

    /// Where the server is.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// The bytes of all answers so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Asks one question of the API.
    pub(super) async fn query<T: DeserializeOwned + Send + 'static>(
        &mut self,
        path: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Told<T>, Fault> {
        let mut address = self.address.below(path);
        let written = self.address.clone();
        for (name, value) in parameters {
            address.set(&written, name, value);
        }
        self.fetcher.ask_at(address);
        let page = self.fetcher.fetch().await.map_err(|fault| self.in_its_words(fault))?;
        self.bytes += page.bytes.len() as u64;
        // Megabytes of it take a moment, in which nobody else would be asked.
        let read = tokio::task::spawn_blocking(move || read::<T>(&page.bytes)).await;
        read.unwrap_or_else(|error| Err(format!("cannot be read ({error})")))
            .map_err(|what| self.malformed(&what))
    }

    /// Asks a question that could wait: a server that is too busy for it is asked again, later each time and after
    /// this pause at first, until the deadline.
    pub(super) async fn query_patiently<T: DeserializeOwned + Send + 'static>(
        &mut self,
        path: &str,
        parameters: &[(&str, &str)],
        (first_pause, deadline): (Duration, Instant),
    ) -> Result<Told<T>, Fault> {
        let mut failures = 0;
        loop {
            let fault = match self.query(path, parameters).await {
                Ok(told) => return Ok(told),
                Err(fault) => fault,
            };
            failures += 1;
            let pause = backoff(first_pause, failures);
            let is_over = failures >= MOST_TRIES || Instant::now() + pause >= deadline;
            if is_over || !passes(&fault) {
                return Err(fault);
            }
            sleep(pause).await;
        }
    }

    /// What a page of metrics is told to do about an answer that is too long is not what helps here.
    fn in_its_words(&self, fault: Fault) -> Fault {
        if fault.kind != FaultKind::TooLarge {
            return fault;
        }
        let message = format!(
            "{} answers with too much for one question: read less of it with 'select' in its [[prometheus]] table, or \
             split it into several tables",
            self.address
        );
        Fault { kind: FaultKind::TooLarge, message: RemoteText::new(&message) }
    }

    /// The fault of an answer that came and is none; `what` completes "ADDRESS ".
    pub(super) fn malformed(&self, what: &str) -> Fault {
        let message = RemoteText::new(&format!("{} {what}", self.address));
        Fault { kind: FaultKind::Malformed, message }
    }
}
