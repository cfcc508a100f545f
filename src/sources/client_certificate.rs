//! The certificate that we show to servers which ask who we are.

use std::path::PathBuf;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// The certificate of a client, in PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, and those that lead from it to its authority.
    pub cert_file: PathBuf,
    /// Its private key.
    pub key_file: PathBuf,
}

impl ClientCertificate {
    /// The certificate with those that lead to its authority, and its key; else what is wrong with its files.
    pub(super) fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
        let (cert, key) = (self.cert_file.display(), self.key_file.display());
        let chain = CertificateDer::pem_file_iter(&self.cert_file)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| format!("cannot read client_cert_file '{cert}': {error}; give a PEM file"))?;
        if chain.is_empty() {
            return Err(format!("client_cert_file '{cert}' holds no certificate: give a PEM file"));
        }
        // The error of the reader may quote what it could not read, which may be the key.
        let key = PrivateKeyDer::from_pem_file(&self.key_file).map_err(|_| {
            format!(
                "client_key_file '{key}' cannot be read or holds no private key: give an unencrypted PEM file that we may \
                 read"
            )
        })?;
        Ok((chain, key))
    }

    /// What it means that its two files cannot be used together.
    pub(super) fn unusable(&self, error: &rustls::Error) -> String {
        let (cert, key) = (self.cert_file.display(), self.key_file.display());
        match error {
            rustls::Error::InconsistentKeys(_) => {
                format!(
                    "client_key_file '{key}' does not belong to client_cert_file '{cert}': give its own key"
                )
            }
            other => format!(
                "client_cert_file '{cert}' and client_key_file '{key}' cannot be used ({other}): give a PEM certificate \
                 and its private key"
            ),
        }
    }

    /// As an HTTP client takes it; else what is wrong with its files.
    pub(super) fn identity(&self) -> Result<reqwest::Identity, String> {
        let (chain, key) = self.read()?;
        CertifiedKey::from_der(chain, key, &ring::default_provider())
            .map_err(|error| self.unusable(&error))?;
        let unread = |_| "the files of the client certificate changed while they were read".to_owned();
        let mut both = std::fs::read(&self.cert_file).map_err(unread)?;
        both.push(b'\n');
        both.extend(std::fs::read(&self.key_file).map_err(unread)?);
        reqwest::Identity::from_pem(&both).map_err(|error| {
            format!(
                "client_cert_file '{}' and client_key_file '{}' cannot be used ({error}): give PEM files that hold nothing \
                 but certificates and one key",
                self.cert_file.display(),
                self.key_file.display()
            )
        })
    }
}
