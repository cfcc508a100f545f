//! Gets a page over HTTP within limits, and says in one sentence what went wrong when it cannot.

mod address;
mod clients;
mod failure;
mod refusal;
mod sending;
mod sockets;

use std::path::PathBuf;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

pub use address::Address;
pub use clients::Clients;
use sending::sent;
use sockets::Sockets;
pub(crate) use sockets::most_kept;

use super::exposition::Format;
use super::{MetricsSpec, MetricsSpecError};
use crate::open_files;
use crate::sources::LONGEST_WAIT;
use crate::sources::own_headers::OwnHeaders;
use crate::sources::proxy::{self, ProxySpec};

/// The longest page, unpacked, in bytes: 32 MiB, about 300 000 series.
pub const LONGEST_PAGE: usize = 32 * 1024 * 1024;

/// Text first: its counters and timestamps are the same on all servers; OpenMetrics where there is nothing else.
const ACCEPTED: &str = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";

/// What stands before a token.
const BEARER: &str = "Bearer ";

/// A page as it came.
#[derive(Debug)]
pub struct Page {
    /// The unpacked body.
    pub bytes: Vec<u8>,
    /// The format that the content type names; `None` when it names none that we know.
    pub format: Option<Format>,
    /// What else the content type claims that it is, such as HTML; some servers forget to set it, so the body has
    /// the last word.
    pub claim: Option<&'static str>,
    /// The path that the server led to instead of the one that was asked.
    pub led_to: Option<RemoteText>,
}

/// Asks one address again and again over a connection that stays open.
#[derive(Debug)]
pub struct Fetcher {
    address: Address,
    client: Client,
    /// The place of a connection that stays open; without one each request has its own.
    kept: Option<OwnedSemaphorePermit>,
    headers: HeaderMap,
    own: OwnHeaders,
    authorization: Option<HeaderValue>,
    bearer_file: Option<PathBuf>,
    /// User and password, where they are asked for instead of a token.
    user: Option<(String, SecretString)>,
    proxy: Option<ProxySpec>,
    /// The file of the certificate that is shown to servers.
    shows: Option<PathBuf>,
}

impl Fetcher {
    /// Prepares a client for one address.
    pub fn new(address: Address, spec: &MetricsSpec) -> Result<Self, MetricsSpecError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(ACCEPTED));
        let authorization = spec
            .bearer
            .as_ref()
            .map(|token| authorization(token.expose_secret()).ok_or(MetricsSpecError::Bearer))
            .transpose()?;
        let kept = Sockets::own().keep_one();
        if kept.is_none() {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let client = spec.clients.of(spec, address.is_tls())?;
        Ok(Self {
            address,
            client,
            kept,
            headers,
            own: spec.headers.clone(),
            authorization,
            bearer_file: spec.bearer_file.clone(),
            user: spec.username.clone().map(|user| (user, spec.password.clone().unwrap_or_default())),
            proxy: spec.proxy.clone(),
            shows: spec.client.as_ref().map(|client| client.cert_file.clone()),
        })
    }

    /// The same fetcher, which sends this header with each request.
    pub(crate) fn sending(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The address that is asked.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Asks another address of the same server from now on.
    pub(crate) fn ask_at(&mut self, address: Address) {
        self.address = address;
    }

    /// Asks once; a page longer than [`LONGEST_PAGE`] or slower than [`LONGEST_WAIT`] is a fault. When the token is
    /// refused and its file holds another one by now, asks once more with that.
    pub async fn fetch(&mut self) -> Result<Page, Fault> {
        match self.request().await {
            Err(fault) if fault.kind == FaultKind::Auth && self.renew_token().await => self.request().await,
            outcome => outcome,
        }
    }

    /// Reads the files of the token and of headers anew; says whether one holds another. What cannot be read or sent changes nothing.
    async fn renew_token(&mut self) -> bool {
        let has_other_header = self.own.renew().await;
        let Some(file) = &self.bearer_file else { return has_other_header };
        let token = tokio::fs::read_to_string(file).await.map(SecretString::from);
        let Some(fresh) = token.ok().and_then(|token| authorization(token.expose_secret())) else {
            return has_other_header;
        };
        let is_other = self.authorization.as_ref() != Some(&fresh);
        self.authorization = Some(fresh);
        is_other || has_other_header
    }

    async fn request(&self) -> Result<Page, Fault> {
        let address = &self.address;
        let begun = Instant::now();
        let _passing = match &self.kept {
            Some(_) => None,
            None => match timeout(LONGEST_WAIT, Sockets::own().pass_one()).await {
                Ok(place) => place,
                Err(_) => return Err(too_many_open(address)),
            },
        };
        let left = LONGEST_WAIT.saturating_sub(begun.elapsed());
        let request = self.client.get(address.url().clone()).headers(self.headers.clone());
        let request = request.headers(self.own.values().clone());
        let mut request = request.timeout(left);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        } else if let Some((user, password)) = &self.user {
            request = request.basic_auth(user, Some(password.expose_secret()));
        }
        let mut response = match sent(request).await {
            Ok(response) => response,
            Err(error) => {
                let refused = match &self.proxy {
                    Some(proxy) => refused_by(proxy, address).await,
                    None => None,
                };
                return Err(
                    refused.unwrap_or_else(|| failure::of_request(address, self.shows.as_deref(), &error))
                );
            }
        };
        if response.status() != StatusCode::OK {
            return Err(refusal::refusal(address, &mut response, &self.secrets()).await);
        }
        let kind = content_type(response.headers());
        let claim = claim(&kind);
        if let Some((what, Body::Unread)) = claim {
            let message =
                format!("{address} serves {what}, not metrics: is the path right? {}", address.hint());
            return Err(fault(FaultKind::Malformed, message));
        }
        if let Some(packing) = unknown_packing(response.headers()) {
            let message = format!(
                "{address} packs its answer as '{packing}', which nobody asked for: let it send plain text or gzip"
            );
            return Err(fault(FaultKind::Malformed, message));
        }
        let led_to = (response.url() != address.url()).then(|| RemoteText::new(response.url().path()));
        let announced = response.content_length().and_then(|length| usize::try_from(length).ok());
        let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(1024 * 1024));
        if announced.is_some_and(|length| length > LONGEST_PAGE) {
            return Err(too_long(address));
        }
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if bytes.len() + chunk.len() > LONGEST_PAGE => return Err(too_long(address)),
                Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => {
                    return Err(failure::of_body(address, self.shows.as_deref(), &error, bytes.len()));
                }
            }
        }
        let is_openmetrics = kind.starts_with("application/openmetrics-text");
        let format = is_openmetrics.then_some(Format::OpenMetrics);
        Ok(Page { bytes, format, claim: claim.map(|(what, _)| what), led_to })
    }

    /// What must not come back to us in a server's words.
    fn secrets(&self) -> Vec<&str> {
        let token = self.authorization.as_ref().and_then(|value| value.to_str().ok()?.strip_prefix(BEARER));
        let password = self.user.as_ref().map(|(_, password)| password.expose_secret());
        token
            .into_iter()
            .chain(password)
            .chain(self.own.secrets())
            .filter(|secret| !secret.is_empty())
            .collect()
    }
}

/// Why a proxy does not get us to an address, in its own words: the client tells no more than that it did not.
async fn refused_by(proxy: &ProxySpec, address: &Address) -> Option<Fault> {
    let (host, port) = (address.url().host_str()?, address.url().port_or_known_default()?);
    let host = host.trim_matches(['[', ']']);
    let deadline = Instant::now() + LONGEST_WAIT;
    let (kind, message) = proxy::open(proxy, host, port, address.host_and_port(), deadline).await.err()?;
    Some(fault(kind, message))
}

/// The header for a token; `None` when HTTP cannot send it.
pub(crate) fn authorization(token: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("{BEARER}{}", token.trim())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn fault(kind: FaultKind, message: String) -> Fault {
    Fault { kind, message: RemoteText::new(&message) }
}

fn too_many_open(address: &Address) -> Fault {
    let message = format!(
        "{address} was not asked: with {} open files at most there is no socket for it; raise the limit (ulimit -n)",
        open_files::limit()
    );
    fault(FaultKind::Busy, message)
}

fn too_long(address: &Address) -> Fault {
    let message = format!(
        "{address} sends more than {} MiB and was cut off: is it a download or a stream? Point at the metrics page, \
         or let the server leave series out",
        LONGEST_PAGE / 1024 / 1024
    );
    fault(FaultKind::TooLarge, message)
}

/// How a body is packed that the client could not unpack; where it could, it has taken the header away.
fn unknown_packing(headers: &HeaderMap) -> Option<RemoteText> {
    let packing = headers.get(CONTENT_ENCODING)?.as_bytes().trim_ascii();
    (!packing.is_empty() && !packing.eq_ignore_ascii_case(b"identity"))
        .then(|| RemoteText::from_bytes(packing))
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.trim().to_ascii_lowercase()
}

/// Whether a body is worth reading although its content type names no metrics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    /// It may be metrics all the same.
    Read,
    /// It cannot be, or has no end.
    Unread,
}

/// What a content type claims that it is, when that is no metrics.
fn claim(content_type: &str) -> Option<(&'static str, Body)> {
    const CLAIMS: &[(&str, &str, Body)] = &[
        ("text/html", "HTML", Body::Read),
        ("application/xhtml", "HTML", Body::Read),
        ("application/json", "JSON", Body::Read),
        ("text/event-stream", "an event stream", Body::Unread),
        ("image/", "an image", Body::Unread),
        ("application/vnd.google.protobuf", "protobuf although text was asked for", Body::Unread),
    ];
    CLAIMS.iter().find(|(start, ..)| content_type.starts_with(start)).map(|(_, what, body)| (*what, *body))
}
