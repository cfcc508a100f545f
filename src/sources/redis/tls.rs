//! TLS towards Redis: whom to trust, and what a failed handshake means.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::reading::FaultKind;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::connection::Dial;
use super::spec::TlsSpec;
use super::trouble::Trouble;
use crate::sources::tls_words::{self, Certificate, Peer};

/// How a target's nodes are spoken to over TLS.
pub(in crate::sources) struct Tls {
    /// What they share.
    config: Arc<ClientConfig>,
    /// Who checks their certificates; nobody where any is accepted.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    /// Another name that their certificates may be for.
    other_name: Option<String>,
    /// The certificate that is shown to them, by its file.
    shows: Option<PathBuf>,
}

impl Tls {
    /// Reads the certificates that a target names.
    pub(in crate::sources) fn of(spec: &TlsSpec) -> Result<Self, Trouble> {
        let provider = Arc::new(ring::default_provider());
        let verifier = match spec.insecure {
            true => None,
            false => {
                let roots = Arc::new(roots(spec)?);
                let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
                Some(builder.build().map_err(|error| {
                    tls_trouble(format!("no certificate authority to trust ({error}): set ca_file"))
                })?)
            }
        };
        let accepted =
            verifier.clone().map_or(Accepted::Anyone, |verifier| Accepted::Named { verifier, other: None });
        let checks = Arc::new(Checks { accepted, provider: provider.clone() });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_trouble(format!("TLS cannot be set up: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(checks);
        let config = match &spec.client {
            None => config.with_no_client_auth(),
            Some(client) => {
                let (chain, key) = client.read().map_err(tls_trouble)?;
                config
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| tls_trouble(client.unusable(&error)))?
            }
        };
        Ok(Self {
            config: Arc::new(config),
            verifier,
            other_name: spec.server_name.clone(),
            shows: spec.client.as_ref().map(|client| client.cert_file.clone()),
        })
    }

    /// What is shown to them.
    pub(in crate::sources) fn shown(&self) -> Certificate<'_> {
        match &self.shows {
            None => Certificate::None(
                "set client_cert_file and client_key_file, or --client-cert and --client-key",
            ),
            Some(path) => Certificate::Shown(path),
        }
    }

    /// How a node is spoken to and the name to ask it for. Its certificate may be for its own name or for the other
    /// one; a bare address is told to nobody, so the other one is asked for instead.
    pub(in crate::sources) fn towards(
        &self,
        own: &str,
    ) -> Result<(TlsConnector, ServerName<'static>), Trouble> {
        let own = server_name(own)?;
        let (Some(other), Some(verifier)) = (&self.other_name, &self.verifier) else {
            return Ok((TlsConnector::from(self.config.clone()), own));
        };
        let other = server_name(other)?;
        let (asked, other) = match own {
            ServerName::IpAddress(_) => (other, own),
            _ => (own, other),
        };
        let mut config = (*self.config).clone();
        let accepted = Accepted::Named { verifier: verifier.clone(), other: Some(other) };
        let provider = self.config.crypto_provider().clone();
        config.dangerous().set_certificate_verifier(Arc::new(Checks { accepted, provider }));
        Ok((TlsConnector::from(Arc::new(config)), asked))
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, Trouble> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| tls_trouble(format!("'{name}' cannot be the name of a certificate: correct it")))
}

/// One that accepts anyone, to find out whether a port speaks TLS at all; nothing is sent over it.
pub(super) fn any() -> Option<Tls> {
    Tls::of(&TlsSpec { insecure: true, ..TlsSpec::default() }).ok()
}

/// The authorities that a target names, which are trusted alone; those of this machine where it names none.
fn roots(spec: &TlsSpec) -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    let Some(path) = &spec.ca_file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return match roots.is_empty() {
            true => Err(tls_trouble("this machine has no certificate authorities: set ca_file".to_owned())),
            false => Ok(roots),
        };
    };
    let shown = path.display();
    let certificates =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(
            |error| tls_trouble(format!("cannot read ca_file '{shown}': {error}; give a PEM file")),
        )?;
    for certificate in certificates {
        roots.add(certificate).map_err(|error| {
            tls_trouble(format!("ca_file '{shown}' holds a certificate that is no CA: {error}"))
        })?;
    }
    match roots.is_empty() {
        true => Err(tls_trouble(format!("ca_file '{shown}' holds no certificate: give the CA's PEM file"))),
        false => Ok(roots),
    }
}

/// What a failed handshake means; `None` when the other side does not seem to speak TLS.
pub(super) fn handshake_trouble(
    error: &std::io::Error,
    dial: &Dial,
    name: &str,
    tls: &Tls,
) -> Option<Trouble> {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())?;
    let other = tls.other_name.as_ref().map(|other| format!("{name}' or '{other}"));
    let peer = Peer {
        address: &dial.named(),
        name: other.as_deref().unwrap_or(name),
        name_fix: "set server_name to a name that it is for, or map the announced address to such a name with address_map",
        certificate: tls.shown(),
    };
    tls_words::explain(&peer, cause).map(tls_trouble)
}

pub(super) fn tls_trouble(message: String) -> Trouble {
    Trouble::broken(FaultKind::Tls, message)
}

/// Whose certificates are accepted.
#[derive(Debug)]
enum Accepted {
    /// Anybody's: only that the handshake is sound is checked.
    Anyone,
    /// Those that an authority has signed for the node's own name, or for another one that all of them may have.
    Named { verifier: Arc<WebPkiServerVerifier>, other: Option<ServerName<'static>> },
}

/// Checks certificates and handshakes.
#[derive(Debug)]
struct Checks {
    accepted: Accepted,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Checks {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Accepted::Named { verifier, other } = &self.accepted else {
            return Ok(ServerCertVerified::assertion());
        };
        let verify =
            |name: &ServerName<'_>| verifier.verify_server_cert(certificate, chain, name, stapled, now);
        match other {
            Some(other) => verify(name).or_else(|error| verify(other).map_err(|_| error)),
            None => verify(name),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
