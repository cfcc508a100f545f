//! The source of an import: who calls whom, as another tool knows it.
//!
//! A server is asked once a minute, because such graphs change with deployments and not with incidents. A file was
//! read with the configuration; what is wrong in it is told once, so that screens and recordings have it.

use std::time::Duration;

use headwater_engine::reading::{Event, Fault, FaultKind, Reading};
use headwater_engine::{RemoteText, Subject};
use tokio::task::JoinHandle;

use super::metrics::fetch::{Address, Fetcher};
use super::metrics::{MetricsSpec, MetricsSpecError};
use super::{Outlet, Source, now, spawn};
use crate::config::{ConfigError, Import, Place};
use crate::imports::{self, Format};

/// How often a server is asked.
pub(crate) const EVERY: Duration = Duration::from_secs(60);

/// How far back a server looks, in milliseconds: a day, because some write their dependencies once a day.
const LOOKS_BACK_MS: &str = "86400000";

/// Asks every server at its interval until the outlet says stop, and tells what is wrong with files.
pub fn spawn_imports(imports: &[Import], outlet: &Outlet) -> Result<Vec<JoinHandle<()>>, MetricsSpecError> {
    let mut tasks = vec![];
    for import in imports {
        match &import.place {
            Place::Server(spec) => {
                tasks.push(spawn(CallsSource::new(import, spec)?, EVERY, outlet.clone()));
            }
            Place::File(..) => {
                let (told, readings) = (told_at_start(import), outlet.readings.clone());
                // Whoever no longer takes readings needs this one no more.
                tasks.push(tokio::spawn(async move { drop(readings.send(told).await) }));
            }
        }
    }
    Ok(tasks)
}

/// What is told of a file when Headwater starts: its calls, and what is wrong in it.
pub fn told_at_start(import: &Import) -> Reading {
    let mut reading = Reading::new(import.subject.clone(), now());
    reading.events.push(Event::Calls(import.calls().to_vec()));
    reading.faults.extend(import.fault().map(|fault| malformed(&fault, import.left_out())));
    reading
}

/// A server that tells who calls whom.
#[derive(Debug)]
pub struct CallsSource {
    subject: Subject,
    format: &'static Format,
    fetcher: Fetcher,
    written: Address,
}

impl CallsSource {
    /// Prepares a server; nothing is sent yet.
    pub fn new(import: &Import, spec: &MetricsSpec) -> Result<Self, MetricsSpecError> {
        let path = import.format.ask.map_or("/", |ask| ask.path);
        let written = Address::of(&spec.url, path, "Write the whole address of its dependencies as the url")?;
        let fetcher = Fetcher::new(written.clone(), spec)?;
        let subject = import.subject.instance(written.host_and_port());
        Ok(Self { subject, format: import.format, fetcher, written })
    }

    /// The address with the moment until which the server looks.
    fn address(&self) -> Address {
        let mut address = self.written.clone();
        if let Some(ask) = self.format.ask {
            let until = now().0.to_string();
            for (parameter, value) in [(ask.until, until.as_str()), (ask.back, LOOKS_BACK_MS)] {
                if let Some(name) = parameter {
                    address.set(&self.written, name, value);
                }
            }
        }
        address
    }
}

impl Source for CallsSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// A token expires and is replaced.
    fn retries_refusals(&self) -> bool {
        true
    }

    async fn ask(&mut self) -> Reading {
        let address = self.address();
        self.fetcher.ask_at(address);
        let answer = self.fetcher.fetch().await;
        let mut reading = Reading::new(self.subject.clone(), now());
        match answer {
            Err(fault) => reading.faults.push(fault),
            Ok(page) => {
                let format = self.format;
                let read = move || imports::Import::of(format, &String::from_utf8_lossy(&page.bytes));
                // Megabytes of it take a moment, in which nobody else would be asked.
                let import = tokio::task::spawn_blocking(read)
                    .await
                    .unwrap_or_else(|error| imports::Import::broken(&format!("cannot be read ({error})")));
                reading.faults.extend(
                    import.fault(&self.written.to_string()).map(|it| malformed(&it, import.left_out)),
                );
                // An answer that is no graph at all must not wipe out what was known.
                if !import.calls.is_empty() || import.problems.is_empty() {
                    reading.events.push(Event::Calls(import.calls));
                }
            }
        }
        reading
    }
}

/// The first problem in full, and how many more there are.
fn malformed(fault: &ConfigError, left_out: usize) -> Fault {
    let told = fault.to_string();
    let first = told.lines().next().unwrap_or_default();
    // Those that were only counted have a line of their own.
    let told = fault.problems.len() - usize::from(left_out > 0);
    let more = match told.saturating_sub(1) + left_out {
        0 => String::new(),
        count => format!(" (and {count} more)"),
    };
    Fault { kind: FaultKind::Malformed, message: RemoteText::new(&format!("{first}{more}")) }
}
