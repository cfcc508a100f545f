//! The metrics source: any endpoint that serves Prometheus text or OpenMetrics.
//!
//! *Fetch* ([`fetch`]) is the thin part that touches the network and turns each failure into one sentence;
//! *decode* ([`exposition`]) and *map* ([`dialect`], [`mapping`]) are functions of the bytes.

pub mod dialect;
pub mod exposition;
pub mod fetch;
pub mod mapping;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use headwater_engine::metric;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, RemoteText, Subject};
use secrecy::SecretString;
use thiserror::Error;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::dialect::{Dialects, SubjectRole};
use self::exposition::{Exposition, decode};
use self::fetch::{Address, Fetcher, Page};
use self::mapping::{Mapper, Target};
use crate::sources::{Outlet, Source, now, spawn};

/// One endpoint to scrape, as the configuration or the command line names it.
#[derive(Clone)]
pub struct MetricsSpec {
    /// What the endpoint belongs to; `None` makes it `service/HOST-PORT`.
    pub component: Option<Subject>,
    /// `http://` or `https://`, with the path (`/metrics` when there is none).
    pub url: String,
    /// Dialects to read, by id; `None` recognises them.
    pub dialects: Option<Vec<String>>,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Option<SecretString>,
    /// The file that the token came from; read anew when the token is refused, because tokens in files expire and are
    /// replaced.
    pub bearer_file: Option<PathBuf>,
    /// The PEM file of the authority that signed the endpoint's certificate; the system's otherwise.
    pub ca_file: Option<PathBuf>,
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
            .field("url", &fetch::without_user(&self.url))
            .field("dialects", &self.dialects)
            .field("bearer_file", &self.bearer_file)
            .field("ca_file", &self.ca_file)
            .finish_non_exhaustive()
    }
}

impl MetricsSpec {
    /// An endpoint of which only the address is known.
    pub fn new(url: &str) -> Self {
        Self {
            component: None,
            url: url.to_owned(),
            dialects: None,
            bearer: None,
            bearer_file: None,
            ca_file: None,
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
        Ok(self.component()?.component_of().instance(Address::parse(&self.url)?.host_and_port()))
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
    mapper: Mapper,
    bytes: u64,
    spoken: Option<Vec<usize>>,
    started: Option<f64>,
    has_left_out: bool,
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
        let target = Target::new(&spec.component()?, address.host_and_port());
        Ok(Self {
            subject: target.subject(SubjectRole::Itself).clone(),
            fetcher: Fetcher::new(address, spec)?,
            mapper: Mapper::new(dialects, target, only),
            bytes: 0,
            spoken: None,
            started: None,
            has_left_out: false,
        })
    }

    /// Reads a page; without a single metric in it the reading gets a fault and nothing else.
    fn read(&mut self, reading: &mut Reading, took: Duration, fetched: &Page) {
        self.bytes += fetched.bytes.len() as u64;
        // Lines of HTML such as `nginx 1` would pass as metrics.
        let is_markup = fetched.bytes.trim_ascii_start().starts_with(b"<");
        let page = decode(if is_markup { &[] } else { &fetched.bytes }, fetched.format);
        let fault = page_fault(&page, fetched, self.fetcher.address());
        let is_other = fetched.claim.is_some() && fault.is_some();
        reading.faults.extend(fault);
        if is_other || page.samples.is_empty() {
            return;
        }
        let subject = self.subject.clone();
        reading.sample(&subject, metric::SCRAPE_TIME, Value::Gauge(took.as_secs_f64()));
        reading.sample(&subject, metric::SCRAPE_BYTES, Value::Counter(self.bytes as f64));
        let mapping = self.mapper.map(&page);
        if self.spoken.as_ref() != Some(&mapping.spoken) {
            let ids = mapping.spoken.iter().map(|place| &self.mapper.dialects().list[*place].id);
            reading.events.push(Event::Dialects(ids.map(|id| RemoteText::new(id)).collect()));
            self.spoken = Some(mapping.spoken);
        }
        let started = mapping.samples.iter().find_map(|sample| match sample.value {
            Value::Gauge(value) if sample.metric == metric::PROCESS_START.into() => Some(value),
            _ => None,
        });
        if self.started.zip(started).is_some_and(|(before, now)| before != now) {
            reading.events.push(Event::Restarted);
        }
        self.started = started.or(self.started);
        let had_left_out = std::mem::replace(&mut self.has_left_out, mapping.left_out > 0);
        if self.has_left_out && !had_left_out {
            reading.events.push(Event::Unavailable {
                what: RemoteText::new(&format!("{} series of this page", mapping.left_out)),
                why: RemoteText::new(&format!(
                    "a target may bring {} free metrics and {} parts a metric; more were left out",
                    mapping::MOST_FREE_SERIES,
                    mapping::MOST_PARTS
                )),
            });
        }
        reading.samples.extend(mapping.samples);
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
            Ok(page) => self.read(&mut reading, took, &page),
            Err(fault) => reading.faults.push(fault),
        }
        reading
    }
}

/// What is wrong with a page that came well but is not, or not wholly, what it should be.
fn page_fault(page: &Exposition<'_>, fetched: &Page, address: &Address) -> Option<Fault> {
    let malformed =
        |message: String| Some(Fault { kind: FaultKind::Malformed, message: RemoteText::new(&message) });
    let has_nothing = page.samples.is_empty() && page.native_histograms == 0;
    if has_nothing || (fetched.claim.is_some() && page.problems.lost > 0) {
        let what = fetched.claim.unwrap_or_else(|| match fetched.bytes.trim_ascii_start().first() {
            None => "an empty page",
            Some(b'<') => "HTML",
            Some(b'{' | b'[') => "JSON",
            Some(_) => "no line that is a metric",
        });
        return malformed(format!(
            "{address} serves {what}, not metrics: is the path right? {}",
            address.hint()
        ));
    }
    let first = page.problems.first_lost()?;
    malformed(format!(
        "{} of {} lines of {address} cannot be read and were skipped, first line {}: {}",
        page.problems.lost, page.lines, first.line, first.reason
    ))
}

fn unknown_dialect(dialects: &Dialects, id: &str) -> MetricsSpecError {
    let known: Vec<_> = dialects.list.iter().map(|dialect| dialect.id.as_str()).collect();
    MetricsSpecError::Dialect { id: RemoteText::new(id), known: known.join(", ") }
}
