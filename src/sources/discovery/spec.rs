//! A discovery as the configuration names it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use headwater_engine::Subject;

use super::dns::Query;
use crate::sources::metrics::MetricsSpec;
use crate::sources::prometheus::ComponentSelector;

/// One discovery, as the configuration names it.
#[derive(Clone, Debug)]
pub struct DiscoverySpec {
    /// `discovery/NAME`.
    pub subject: Subject,
    /// Where the list is.
    pub place: Place,
    /// How often it is looked at.
    pub every: Duration,
    /// How targets are named and asked.
    pub naming: Naming,
    /// How often each target is scraped.
    pub interval: Duration,
}

/// Where a list of targets is.
#[derive(Clone)]
pub enum Place {
    /// What DNS says of a name.
    Dns(Query),
    /// Files in the form of `file_sd`; the last part of a path may have a `*`.
    Files(Vec<PathBuf>),
    /// A server that speaks `http_sd`; its component and dialects mean nothing.
    Http(Box<MetricsSpec>),
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(query) => out.debug_tuple("Dns").field(query).finish(),
            Self::Files(paths) => out.debug_tuple("Files").field(paths).finish(),
            Self::Http(server) => out.debug_tuple("Http").field(server).finish(),
        }
    }
}

/// How the targets of a list are named and asked.
#[derive(Clone, Debug)]
pub struct Naming {
    /// How each page is asked, and whose pages they are where nothing else says so; its address means nothing.
    pub page: MetricsSpec,
    /// `http` or `https`, where no label says so.
    pub scheme: String,
    /// The path of the page, where no label says so.
    pub path: String,
    /// Which targets belong to which component.
    pub components: Vec<ComponentSelector>,
    /// The label that names the component.
    pub component_label: Option<String>,
    /// The label that names the instance, instead of its address.
    pub instance_label: Option<String>,
}

impl Naming {
    /// Whether whoever is asked is sent a token or a password.
    pub(super) fn sends_secrets(&self) -> bool {
        let page = &self.page;
        let has_secret_header = page.headers.secrets().next().is_some();
        page.bearer.is_some() || page.bearer_file.is_some() || page.password.is_some() || has_secret_header
    }
}

impl Default for Naming {
    fn default() -> Self {
        Self {
            page: MetricsSpec::new(""),
            scheme: "http".to_owned(),
            path: "/metrics".to_owned(),
            components: vec![],
            component_label: None,
            instance_label: None,
        }
    }
}
