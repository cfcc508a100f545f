//! Certificates for servers and clients that speak TLS.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

/// A certificate authority and what it has signed, as PEM files: `ca.pem`, and `NAME.pem` with `NAME.key` for each.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    /// A new one, whom nobody trusts yet.
    ///
    /// # Panics
    /// When its files cannot be written.
    pub fn new() -> Self {
        let mut authority = CertificateParams::new(vec![]).expect("no name is a good name");
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // A name of its own: a certificate whose issuer has its own name passes for self-signed.
        authority.distinguished_name.push(DnType::CommonName, "authority of the test");
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().expect("a key can be made");
        let pem = authority.self_signed(&key).expect("it signs itself").pem();
        let made = Self {
            folder: TempDir::new().expect("a temporary folder can be made"),
            issuer: Issuer::new(authority, key),
        };
        made.write("ca.pem", &pem);
        made
    }

    /// Signs a certificate for these names and addresses, in `FILE.pem` with its key in `FILE.key`.
    ///
    /// # Panics
    /// When its files cannot be written.
    pub fn sign(&self, file: &str, names: &[&str]) {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut certificate = CertificateParams::new(names).expect("the names are good");
        certificate.is_ca = IsCa::ExplicitNoCa;
        let key = KeyPair::generate().expect("a key can be made");
        let signed = certificate.signed_by(&key, &self.issuer).expect("it is signed");
        self.write(&format!("{file}.pem"), &signed.pem());
        self.write(&format!("{file}.key"), &key.serialize_pem());
    }

    /// Where a file is.
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    /// The options of a server that shows the certificate of this name, and asks clients for theirs if `asks_clients`.
    pub fn options(&self, file: &str, asks_clients: bool) -> Vec<String> {
        let path = |name: &str| self.path(name).display().to_string();
        [
            "--tls-port".to_owned(),
            "%PORT%".to_owned(),
            "--tls-auth-clients".to_owned(),
            if asks_clients { "yes" } else { "no" }.to_owned(),
            "--tls-cert-file".to_owned(),
            path(&format!("{file}.pem")),
            "--tls-key-file".to_owned(),
            path(&format!("{file}.key")),
            "--tls-ca-cert-file".to_owned(),
            path("ca.pem"),
        ]
        .into()
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).expect("it is written");
    }

    /// The folder of its files.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}
