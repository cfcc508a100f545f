//! The metrics source: any endpoint that serves Prometheus text or OpenMetrics.
//!
//! *Fetch* ([`fetch`]) is the thin part that touches the network and turns each failure into one sentence;
//! *decode* ([`exposition`]) and *map* ([`dialect`], [`mapping`]) are functions of the bytes.

pub mod dialect;
mod exported;
pub mod exposition;
pub mod fetch;
mod gpu_names;
pub mod likeness;
pub mod mapping;
mod reader;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::reading::{Fault, FaultKind, Reading};
use headwater_engine::{Kind, RemoteText, Subject};
use secrecy::SecretString;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::dialect::{Dialects, SubjectRole};
use self::fetch::{Address, Clients, Fetcher, Page};
use self::mapping::{Mapper, Target};
pub(in crate::sources) use self::reader::PageReader;
use crate::config::shown_address;
use crate::sources::client_certificate::ClientCertificate;
use crate::sources::own_headers::OwnHeaders;
use crate::sources::proxy::ProxySpec;
use crate::sources::{Outlet, Source, now, spawn};

/// The longest page, in bytes, that is read between the network and the next target; some milliseconds.
const LONGEST_IN_PASSING: usize = 1024 * 1024;

/// One endpoint to scrape, as the configuration or the command line names it.
#[derive(Clone)]
pub struct MetricsSpec {
    /// What the endpoint belongs to; `None` makes it `service/HOST-PORT`.
    pub component: Option<Subject>,
    /// What this instance is called, instead of its host and port.
    pub instance: Option<String>,
    /// `http://` or `https://`, with the path (`/metrics` when there is none).
    pub url: String,
    /// Dialects to read, by id; `None` recognises them.
    pub dialects: Option<Vec<String>>,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Option<SecretString>,
    /// The file that the token came from; read anew when the token is refused, because tokens in files expire and are
    /// replaced.
    pub bearer_file: Option<PathBuf>,
    /// What is sent besides with every request.
    pub headers: OwnHeaders,
    /// The user, where the server asks for one instead of a token.
    pub username: Option<String>,
    /// That user's password.
    pub password: Option<SecretString>,
    /// The PEM file of the only authority that may have signed the endpoint's certificate; without it those of the system.
    pub ca_file: Option<PathBuf>,
    /// What is shown to a server that asks who we are.
    pub client: Option<ClientCertificate>,
    /// The proxy that it is asked through.
    pub proxy: Option<ProxySpec>,
    /// The HTTP clients that it shares with those that are made from it.
    pub clients: Clients,
}

/// Why an endpoint cannot be scraped at all; found before the first request.
#[derive(Debug, Error)]
pub enum MetricsSpecError {
    /// Not an address.
    #[error("'{url}' is not a metrics address: write it like http://10.0.0.5:8000/metrics")]
    Url {
        /// The address, without user and password.
        url: RemoteText,
    },
    /// No dialect has this id.
    #[error("dialect '{id}' does not exist: use {known}, or leave 'dialects' out")]
    Dialect {
        /// The id.
        id: RemoteText,
        /// All ids.
        known: String,
    },
    /// The authority's file cannot be used.
    #[error("ca_file '{path}' cannot be used ({reason}): give a readable file with PEM certificates")]
    CaFile {
        /// The path.
        path: RemoteText,
        /// Why.
        reason: RemoteText,
    },
    /// The certificate that we should show cannot be used.
    #[error("{0}")]
    ClientCertificate(RemoteText),
    /// The token cannot be sent.
    #[error(
        "the bearer token holds a character that HTTP cannot send: check its file for line ends in between"
    )]
    Bearer,
    /// The HTTP client refused to be built.
    #[error("the HTTP client cannot be built: {0}")]
    Client(RemoteText),
}

impl fmt::Debug for MetricsSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MetricsSpec")
            .field("component", &self.component)
            .field("instance", &self.instance)
            .field("url", &shown_address(&self.url))
            .field("dialects", &self.dialects)
            .field("bearer_file", &self.bearer_file)
            .field("headers", &self.headers)
            .field("username", &self.username)
            .field("ca_file", &self.ca_file)
            .field("client", &self.client)
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

impl MetricsSpec {
    /// An endpoint of which only the address is known.
    pub fn new(url: &str) -> Self {
        Self {
            component: None,
            instance: None,
            url: url.to_owned(),
            dialects: None,
            bearer: None,
            bearer_file: None,
            headers: OwnHeaders::default(),
            username: None,
            password: None,
            ca_file: None,
            client: None,
            proxy: None,
            clients: Clients::default(),
        }
    }

    /// The component, given or made of the address: `service/HOST-PORT`.
    pub fn component(&self) -> Result<Subject, MetricsSpecError> {
        let address = Address::parse(&self.url)?;
        Ok(self.component.clone().unwrap_or_else(|| {
            let name = address.host_and_port().replace(['[', ']'], "").replace(':', "-");
            Subject::component(Kind::Service, &name)
        }))
    }

    /// The subject of the endpoint itself: `service/ranker@10.0.0.5:8000`.
    pub fn subject(&self) -> Result<Subject, MetricsSpecError> {
        let address = Address::parse(&self.url)?;
        let instance = self.instance.as_deref().unwrap_or(address.host_and_port());
        Ok(self.component()?.component_of().instance(instance))
    }
}

/// Scrapes an endpoint at an interval until the outlet says stop. A refused token is tried again, seldom.
pub fn spawn_metrics(
    spec: MetricsSpec,
    interval: Duration,
    outlet: Outlet,
) -> Result<JoinHandle<()>, MetricsSpecError> {
    Ok(spawn(MetricsSource::new(&spec)?, interval, outlet))
}

/// One endpoint that is scraped again and again.
#[derive(Debug)]
pub struct MetricsSource {
    subject: Subject,
    fetcher: Fetcher,
    reader: Arc<Mutex<PageReader>>,
}

impl MetricsSource {
    /// Prepares an endpoint; nothing is sent yet.
    pub fn new(spec: &MetricsSpec) -> Result<Self, MetricsSpecError> {
        let address = Address::parse(&spec.url)?;
        let dialects = Dialects::built_in();
        let only = spec
            .dialects
            .as_ref()
            .map(|ids| {
                ids.iter()
                    .map(|id| dialects.position(id).ok_or_else(|| unknown_dialect(dialects, id)))
                    .collect::<Result<Vec<_>, _>>()
            })
            .transpose()?;
        let target =
            Target::new(&spec.component()?, spec.instance.as_deref().unwrap_or(address.host_and_port()));
        Ok(Self {
            subject: target.subject(SubjectRole::Itself),
            fetcher: Fetcher::new(address.clone(), spec)?,
            reader: Arc::new(Mutex::new(PageReader::new(address, Mapper::new(dialects, target, only)))),
        })
    }
}

impl MetricsSource {
    /// Reads a page; a long one on a thread of its own, because other targets wait for this one.
    async fn read(&self, mut reading: Reading, took: Duration, page: Page) -> Reading {
        let reader = Arc::clone(&self.reader);
        let subject = reading.source.clone();
        let is_long = page.bytes.len() > LONGEST_IN_PASSING;
        let read = move || {
            reader.lock().unwrap_or_else(PoisonError::into_inner).read(&mut reading, took, &page);
            reading
        };
        if !is_long {
            return read();
        }
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            let mut reading = Reading::new(subject, now());
            let message = format!(
                "{} gives a page that Headwater fails to read ({error}): this is a defect of Headwater, report it",
                self.fetcher.address()
            );
            reading.faults.push(Fault { kind: FaultKind::Malformed, message: RemoteText::new(&message) });
            reading
        })
    }
}

impl Source for MetricsSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// A token expires and is replaced, and no server locks a reader of metrics out.
    fn retries_refusals(&self) -> bool {
        true
    }

    async fn ask(&mut self) -> Reading {
        let begun = Instant::now();
        let answer = self.fetcher.fetch().await;
        let took = begun.elapsed();
        let mut reading = Reading::new(self.subject.clone(), now());
        match answer {
            Ok(page) => self.read(reading, took, page).await,
            Err(fault) => {
                reading.faults.push(fault);
                reading
            }
        }
    }
}

fn unknown_dialect(dialects: &Dialects, id: &str) -> MetricsSpecError {
    let known: Vec<_> = dialects.list.iter().map(|dialect| dialect.id.as_str()).collect();
    MetricsSpecError::Dialect { id: RemoteText::new(id), known: known.join(", ") }
}
