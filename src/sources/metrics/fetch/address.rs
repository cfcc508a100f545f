//! Where a page lives.

use std::fmt;

use headwater_engine::RemoteText;
use reqwest::Url;

use crate::config::shown_address;
use crate::sources::metrics::MetricsSpecError;

/// Where a page lives; shown without user, password and query.
#[derive(Clone)]
pub struct Address {
    url: Url,
    host_and_port: String,
    shown: String,
    /// What is said where the address is wrong, when it is not that of a metrics page.
    hint: Option<&'static str>,
}

impl Address {
    /// Reads an address; a missing path is `/metrics`.
    pub fn parse(text: &str) -> Result<Self, MetricsSpecError> {
        Self::with_path(text, "/metrics", None)
    }

    /// Reads the address of what is no metrics page, with its usual path and what to say where that is wrong.
    pub(crate) fn of(text: &str, path: &str, hint: &'static str) -> Result<Self, MetricsSpecError> {
        Self::with_path(text, path, Some(hint))
    }

    fn with_path(text: &str, path: &str, hint: Option<&'static str>) -> Result<Self, MetricsSpecError> {
        let wrong = || MetricsSpecError::Url { url: RemoteText::new(&shown_address(text)) };
        let mut url = Url::parse(text.trim()).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong());
        }
        let host = url.host_str().ok_or_else(wrong)?.to_owned();
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        if matches!(url.path(), "" | "/") {
            url.set_path(path);
        }
        let host_and_port = format!("{host}:{port}");
        let shown = format!("{}://{host_and_port}{}", url.scheme(), url.path());
        Ok(Self { url, host_and_port, shown, hint })
    }

    /// The address as it is asked, with whatever secrets it holds.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// An address below this one, such as that of an API: its path is added to the one that is written.
    pub(crate) fn below(&self, path: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/{path}", self.url.path().trim_end_matches('/')));
        Self { url, ..self.clone() }
    }

    /// Sets a parameter of the query, instead of what was set before; one that the written address has stays.
    pub(crate) fn set(&mut self, written: &Self, name: &str, value: &str) {
        if written.url.query_pairs().any(|(known, _)| known == name) {
            return;
        }
        let others: Vec<(String, String)> = self
            .url
            .query_pairs()
            .filter(|(known, _)| known != name)
            .map(|(k, v)| (k.into(), v.into()))
            .collect();
        self.url.query_pairs_mut().clear().extend_pairs(others).append_pair(name, value);
    }

    /// `host:port`, the port always given.
    pub fn host_and_port(&self) -> &str {
        &self.host_and_port
    }

    /// Where else the metrics may be, for a sentence that says they are not here.
    pub(in crate::sources::metrics) fn hint(&self) -> String {
        if let Some(hint) = self.hint {
            hint.to_owned()
        } else if self.url.path() == "/metrics" {
            "Some servers use another path or port, such as /metrics/, /actuator/prometheus or /stats/prometheus"
                .to_owned()
        } else {
            format!("Try {}://{}/metrics", self.url.scheme(), self.host_and_port)
        }
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}
