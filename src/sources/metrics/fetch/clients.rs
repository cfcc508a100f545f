//! HTTP clients that the targets of one table share: each reads the certificates of this machine anew, and two hundred
//! pages are asked alike.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use headwater_engine::RemoteText;
use reqwest::{Certificate, Client, ClientBuilder, Proxy, redirect};
use secrecy::ExposeSecret;

use super::super::{MetricsSpec, MetricsSpecError};
use crate::sources::LONGEST_WAIT;
use crate::sources::client_certificate::ClientCertificate;
use crate::sources::proxy::ProxySpec;
use crate::tls;

/// Connections to one host and port that stay open: a prober has many pages there.
const KEPT_OPEN: usize = 8;

/// The clients of a table's targets, by their way in. Clones share them, so a specification that is made from another one
/// has its clients.
#[derive(Clone, Default)]
pub struct Clients {
    built: Arc<Mutex<Vec<(WayIn, Client)>>>,
}

impl fmt::Debug for Clients {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Clients").finish_non_exhaustive()
    }
}

impl Clients {
    /// The client for targets that are entered in this way; built when none is there yet.
    pub(super) fn of(&self, spec: &MetricsSpec, is_tls: bool) -> Result<Client, MetricsSpecError> {
        let way = WayIn::of(spec, is_tls);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = built.iter().find(|(known, _)| *known == way) {
            return Ok(client.clone());
        }
        let client = build(spec, is_tls)?;
        // What has been replaced on the disk is used by nobody new.
        built.retain(|(known, _)| !known.is_replaced_by(&way));
        built.push((way, client.clone()));
        Ok(client)
    }

    /// How many clients were built and are still used for new targets.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.built.lock().unwrap().len()
    }
}

/// All that makes one client differ from another.
#[derive(PartialEq)]
struct WayIn {
    is_tls: bool,
    files: Vec<(PathBuf, Stamp)>,
    proxy: Option<[String; 3]>,
}

/// By what a file that was replaced is known; `None` where it is not there.
type Stamp = Option<(u64, SystemTime)>;

impl WayIn {
    fn of(spec: &MetricsSpec, is_tls: bool) -> Self {
        let client = spec.client.iter().flat_map(|client| [&client.cert_file, &client.key_file]);
        let files = spec.ca_file.iter().chain(client).map(|path| (path.clone(), stamp(path))).collect();
        let proxy = spec.proxy.as_ref().map(|proxy| {
            let password = proxy.password.as_ref().map_or("", |password| password.expose_secret());
            [proxy.to_string(), proxy.username.clone().unwrap_or_default(), password.to_owned()]
        });
        Self { is_tls, files, proxy }
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        let paths = |way: &Self| way.files.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        (self.is_tls, &self.proxy) == (other.is_tls, &other.proxy) && paths(self) == paths(other)
    }
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

fn build(spec: &MetricsSpec, is_tls: bool) -> Result<Client, MetricsSpecError> {
    tls::install_provider();
    let authorities = spec.ca_file.as_deref().map(authorities).transpose()?;
    let proxy = spec.proxy.as_ref().map(by).transpose()?;
    let identity = spec.client.as_ref().map(ClientCertificate::identity).transpose();
    let identity = identity.map_err(|why| MetricsSpecError::ClientCertificate(RemoteText::new(&why)))?;
    let builder = || {
        // A proxy that only the environment names would be used even for this machine itself.
        let plain = Client::builder().no_proxy();
        let client = proxy.iter().cloned().fold(plain, ClientBuilder::proxy);
        let client = identity.iter().cloned().fold(client, ClientBuilder::identity);
        client
            .timeout(LONGEST_WAIT)
            .redirect(same_host_only())
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .pool_max_idle_per_host(KEPT_OPEN)
    };
    // Redirects stay on the same origin, so without TLS no certificate is ever checked; a host without any authority
    // cannot check certificates, but plain HTTP must work there.
    let client = match authorities {
        // Who names an authority trusts that one alone.
        Some(named) => builder().tls_certs_only(named).build(),
        None if is_tls => builder().build().or_else(|_| builder().tls_certs_only([]).build()),
        None => builder().tls_certs_only([]).build(),
    };
    client.map_err(|error| MetricsSpecError::Client(RemoteText::new(&error.to_string())))
}

/// The client's way through a proxy.
fn by(proxy: &ProxySpec) -> Result<Proxy, MetricsSpecError> {
    let way = Proxy::all(proxy.to_string())
        .map_err(|error| MetricsSpecError::Client(RemoteText::new(&error.to_string())))?;
    let password = proxy.password.as_ref().map_or("", |password| password.expose_secret());
    Ok(match &proxy.username {
        None if password.is_empty() => way,
        username => way.basic_auth(username.as_deref().unwrap_or_default(), password),
    })
}

/// Follows a redirect on the same host, such as `/metrics` to `/metrics/`; another host must be written down.
fn same_host_only() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let from = attempt.previous().last();
        let is_same = from.is_some_and(|from| from.origin() == attempt.url().origin());
        if is_same && attempt.previous().len() <= 3 { attempt.follow() } else { attempt.stop() }
    })
}

fn authorities(path: &Path) -> Result<Vec<Certificate>, MetricsSpecError> {
    let wrong = |reason: &str| MetricsSpecError::CaFile {
        path: RemoteText::new(&path.display().to_string()),
        reason: RemoteText::new(reason),
    };
    let pem = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&error.to_string()))?;
    if found.is_empty() { Err(wrong("it holds no certificate")) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_of_one_table_share_a_client_and_others_do_not() {
        let first = MetricsSpec::new("https://h:1/metrics");
        let mut second = first.clone();
        second.url = "https://h:2/metrics".to_owned();
        second.bearer = Some("sesame".into());
        for spec in [&first, &second] {
            spec.clients.of(spec, true).unwrap();
        }
        assert_eq!(first.clients.count(), 1, "a token is no other client");
        first.clients.of(&first, false).unwrap();
        assert_eq!(first.clients.count(), 2);
        assert_eq!(MetricsSpec::new("https://h:1/metrics").clients.count(), 0);
        let mut by_proxy = first.clone();
        by_proxy.proxy =
            Some(ProxySpec { host: "p".to_owned(), port: 1_080, username: None, password: None });
        by_proxy.clients.of(&by_proxy, true).unwrap();
        assert_eq!(first.clients.count(), 3, "what is changed in a copy has a client of its own");
    }

    #[test]
    fn an_authority_that_was_replaced_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let mut spec = MetricsSpec::new("https://h:1/metrics");
        spec.ca_file = Some(file.clone());
        let write = |name: &str| {
            let key = rcgen::KeyPair::generate().unwrap();
            let authority = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
            std::fs::write(&file, authority.self_signed(&key).unwrap().pem()).unwrap();
        };
        write("one.example");
        spec.clients.of(&spec, true).unwrap();
        std::fs::write(&file, "no certificate").unwrap();
        assert!(spec.clients.of(&spec, true).is_err());
        write("another-and-a-longer-one.example");
        spec.clients.of(&spec, true).unwrap();
        assert_eq!(spec.clients.count(), 1);
    }
}
