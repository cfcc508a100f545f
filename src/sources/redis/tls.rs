//! TLS towards Redis: whom to trust, and what a failed handshake means.

use std::sync::Arc;

use headwater_engine::reading::FaultKind;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::spec::TlsSpec;
use super::trouble::Trouble;
use crate::sources::tls_words::{self, Peer};

/// Makes the connector that a target's nodes share.
pub(super) fn connector(spec: &TlsSpec) -> Result<TlsConnector, Trouble> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match spec.insecure {
        true => Arc::new(AcceptAny(provider.clone())),
        false => WebPkiServerVerifier::builder_with_provider(Arc::new(roots(spec)?), provider.clone())
            .build()
            .map_err(|error| {
                tls_trouble(format!("no certificate authority to trust ({error}): set ca_file"))
            })?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_trouble(format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// A connector that accepts anyone, to find out whether a port speaks TLS at all; nothing is sent over it.
pub(super) fn any_connector() -> Result<TlsConnector, Trouble> {
    connector(&TlsSpec { ca_file: None, insecure: true })
}

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
pub(super) fn handshake_trouble(error: &std::io::Error, address: &str, name: &str) -> Option<Trouble> {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())?;
    let peer = Peer {
        address: &format_args!("'{address}'"),
        name,
        name_fix: "give the name it was made for, or map the announced address to it with address_map",
    };
    tls_words::explain(&peer, cause).map(tls_trouble)
}

pub(super) fn tls_trouble(message: String) -> Trouble {
    Trouble::broken(FaultKind::Tls, message)
}

/// Accepts every certificate, checking only that the handshake is sound.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
