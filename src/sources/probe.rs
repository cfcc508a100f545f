//! Probes: requests that Headwater sends itself, as a caller would, over a connection of their own each time.
//!
//! A plain probe says how long each phase of a request takes and whether it is answered as it should be, a readiness
//! probe also whether the service calls itself ready, and a probe for the first token has a small text generated. What
//! goes wrong is a fault and a number at once: a refused connection is what a caller would have seen.

mod exchange;
mod stream;
mod way;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use headwater_engine::metric::{
    PROBE_OK, PROBE_STATUS, PROBE_TIME, PROBE_TOKENS, PROBE_TTFT, READY, SCRAPE_BYTES, SCRAPE_TIME,
};
use headwater_engine::reading::{Fault, FaultKind, Reading, Value};
use headwater_engine::{RemoteText, Subject};
use secrecy::{ExposeSecret, SecretString};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use self::exchange::Seen;
pub use self::stream::{TokenStream, Told, read_stream};
use super::client_certificate::ClientCertificate;
use super::directory::Directory;
use super::metrics::MetricsSpecError;
use super::metrics::fetch::Address;
use super::own_headers::OwnHeaders;
use super::proxy::ProxySpec;
use super::redis::spec::TlsSpec;
use super::redis::tls::Tls;
use super::redis::trouble::Trouble;
use super::{LONGEST_WAIT, Outlet, Source, now, spawn};

/// The longest wait for a first token: a queue that holds requests back is what is looked for.
pub const LONGEST_COMPLETION: Duration = Duration::from_secs(30);

/// A text is generated for us at most this often.
pub const COMPLETIONS_AT_MOST_EVERY: Duration = Duration::from_secs(10);

/// The most tokens that one probe may ask for.
pub const MOST_TOKENS: u8 = 16;

/// One probe, as the configuration names it.
#[derive(Clone)]
pub struct ProbeSpec {
    /// `probe/NAME`.
    pub subject: Subject,
    /// The component, or the instance of it, that is asked.
    pub about: Subject,
    /// Whether a target that is found at its address is meant, whoseever it is: nobody wrote a component down.
    pub is_of_anybody: bool,
    /// The address.
    pub url: String,
    /// What is asked.
    pub kind: ProbeKind,
    /// The status of a good answer; any from 200 to 299 when it is `None`.
    pub status: Option<u16>,
    /// Words that a good answer holds, within its first 64 KiB.
    pub contains: Option<String>,
    /// How often it is asked.
    pub every: Duration,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// Whether it tells the phases, the status and the outcome of its subject; of several probes of one address the first
    /// does, so that one does not write over the other.
    pub tells_phases: bool,
    /// A token that is sent as `Authorization: Bearer`.
    pub bearer: Option<SecretString>,
    /// The file that the token came from, read anew each time.
    pub bearer_file: Option<PathBuf>,
    /// What is sent besides with every request.
    pub headers: OwnHeaders,
    /// The PEM file of the only authority that may have signed the server's certificate; without it those of the system.
    pub ca_file: Option<PathBuf>,
    /// What is shown to a server that asks who we are.
    pub client: Option<ClientCertificate>,
    /// The proxy that it is asked through.
    pub proxy: Option<ProxySpec>,
}

/// What a probe asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeKind {
    /// Any page.
    Http,
    /// The page by which a service says that it is ready.
    Ready,
    /// A stream of tokens.
    FirstToken(Completion),
}

/// The small text that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The model; left out where the server has only one.
    pub model: Option<String>,
    /// What it begins with.
    pub prompt: String,
    /// The most tokens that are generated.
    pub most_tokens: u8,
}

impl ProbeSpec {
    /// A probe of which only the necessary is known, once a second.
    pub fn new(subject: Subject, about: Subject, url: &str, kind: ProbeKind) -> Self {
        let patience = match kind {
            ProbeKind::FirstToken(_) => LONGEST_COMPLETION,
            ProbeKind::Http | ProbeKind::Ready => LONGEST_WAIT,
        };
        Self {
            subject,
            about,
            is_of_anybody: false,
            url: url.to_owned(),
            kind,
            status: None,
            contains: None,
            every: Duration::from_secs(1),
            patience,
            tells_phases: true,
            bearer: None,
            bearer_file: None,
            headers: OwnHeaders::default(),
            ca_file: None,
            client: None,
            proxy: None,
        }
    }
}

impl fmt::Debug for ProbeSpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ProbeSpec")
            .field("subject", &self.subject)
            .field("about", &self.about)
            .field("kind", &self.kind)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

/// Sends every probe at its pace until the outlet says stop.
pub fn spawn_probes(
    specs: &[ProbeSpec],
    directory: &Directory,
    outlet: &Outlet,
) -> Result<Vec<JoinHandle<()>>, MetricsSpecError> {
    let sources = specs.iter().map(|spec| Ok(ProbeSource::new(spec)?.beside(directory)));
    let sources = sources.collect::<Result<Vec<_>, MetricsSpecError>>()?;
    Ok(sources
        .into_iter()
        .zip(specs)
        .map(|(source, spec)| spawn(source, spec.every, outlet.clone()))
        .collect())
}

/// One address that is probed again and again.
pub struct ProbeSource {
    spec: ProbeSpec,
    address: Address,
    tls: Option<Tls>,
    directory: Directory,
    bytes: u64,
    tokens: u64,
}

impl fmt::Debug for ProbeSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spec.fmt(out)
    }
}

impl ProbeSource {
    /// Prepares a probe; nothing is sent yet. Fails when its address or its certificates cannot be used.
    pub fn new(spec: &ProbeSpec) -> Result<Self, MetricsSpecError> {
        let address = Address::of(&spec.url, "/", "write the whole address of the probe as the url")?;
        let tls = match address.is_tls() {
            true => {
                let (ca_file, client) = (spec.ca_file.clone(), spec.client.clone());
                let trust = TlsSpec { ca_file, client, ..TlsSpec::default() };
                let wrong = |trouble: Trouble| MetricsSpecError::Client(RemoteText::new(&trouble.message));
                Some(Tls::of(&trust).map_err(wrong)?)
            }
            false => None,
        };
        Ok(Self { spec: spec.clone(), address, tls, directory: Directory::default(), bytes: 0, tokens: 0 })
    }

    /// The same probe, which knows the targets that are found while it runs.
    pub fn beside(mut self, directory: &Directory) -> Self {
        self.directory = directory.clone();
        self
    }

    /// Whom it asks: the instance that is found at its address, where one is.
    fn about(&self) -> Subject {
        let component = self.spec.about.component_of();
        let meant = (!self.spec.is_of_anybody).then_some(&component);
        let found = self.directory.at(self.address.host_and_port(), meant);
        found.unwrap_or_else(|| self.spec.about.clone())
    }

    /// The token, as its file has it now.
    async fn bearer(&self) -> Option<SecretString> {
        match &self.spec.bearer_file {
            Some(file) => tokio::fs::read_to_string(file).await.ok().map(SecretString::from),
            None => self.spec.bearer.clone(),
        }
    }

    async fn look(&mut self, seen: &mut Seen) -> Result<(), Fault> {
        let deadline = Instant::now() + self.spec.patience;
        self.spec.headers.renew().await;
        let bearer = self.bearer().await;
        let bearer = bearer.as_ref().map(|token| token.expose_secret());
        let proxy = self.spec.proxy.as_ref();
        let stream = way::open(&self.address, self.tls.as_ref(), proxy, deadline, seen).await?;
        if let ProbeKind::FirstToken(completion) = &self.spec.kind {
            self.tokens += u64::from(completion.most_tokens);
        }
        exchange::ask(&self.spec, &self.address, bearer, (stream, self.tls.as_ref()), deadline, seen).await
    }

    fn told(&self, seen: &Seen, took: Duration, fault: Option<&Fault>, reading: &mut Reading) {
        let about = &self.about();
        let is_ok = f64::from(u8::from(fault.is_none()));
        if self.spec.tells_phases {
            for (phase, time) in seen.phases().chain([("total", Some(took))]) {
                // How long a failure took is no time of an answer.
                let time = time.filter(|_| phase != "total" || seen.status.is_some());
                if let Some(time) = time {
                    reading.part(about, PROBE_TIME, phase, Value::Gauge(time.as_secs_f64()));
                }
            }
            if let Some(status) = seen.status {
                reading.sample(about, PROBE_STATUS, Value::Gauge(f64::from(status)));
            }
        }
        // That our own token is refused says nothing of how callers are answered.
        let is_heard = fault.is_none_or(|fault| fault.kind != FaultKind::Auth);
        if self.spec.tells_phases && is_heard {
            reading.sample(about, PROBE_OK, Value::Gauge(is_ok));
        }
        match self.spec.kind {
            ProbeKind::Ready if is_heard => {
                reading.sample(about, READY, Value::Gauge(is_ok));
            }
            ProbeKind::FirstToken(_) => {
                if let Some(time) = seen.first_token {
                    reading.sample(about, PROBE_TTFT, Value::Gauge(time.as_secs_f64()));
                }
                reading.sample(&self.spec.subject, PROBE_TOKENS, Value::Counter(self.tokens as f64));
            }
            ProbeKind::Http | ProbeKind::Ready => {}
        }
        reading.sample(&self.spec.subject, SCRAPE_TIME, Value::Gauge(took.as_secs_f64()));
        reading.sample(&self.spec.subject, SCRAPE_BYTES, Value::Counter(self.bytes as f64));
    }
}

impl Source for ProbeSource {
    fn subject(&self) -> &Subject {
        &self.spec.subject
    }

    /// A token expires and is replaced.
    fn retries_refusals(&self) -> bool {
        true
    }

    async fn ask(&mut self) -> Reading {
        let begun = Instant::now();
        let mut seen = Seen::default();
        let fault = self.look(&mut seen).await.err();
        let took = begun.elapsed();
        self.bytes += seen.bytes;
        let mut reading = Reading::new(self.spec.subject.clone(), now());
        self.told(&seen, took, fault.as_ref(), &mut reading);
        reading.faults.extend(fault);
        reading
    }
}

fn fault(kind: FaultKind, message: String) -> Fault {
    Fault { kind, message: RemoteText::new(&message) }
}
