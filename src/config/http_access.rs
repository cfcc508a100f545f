//! The keys by which a table says how an HTTP server is entered: alike wherever one is named.

use std::path::PathBuf;

use secrecy::SecretString;

use super::place::Document;
use super::resolve::{readable_file, secret};
use crate::sources::client_certificate::ClientCertificate;
use crate::sources::metrics::MetricsSpec;

/// The keys of [`http_access`], in its order.
pub(super) const HTTP_ACCESS: [&str; 5] =
    ["bearer_env", "bearer_file", "ca_file", "client_cert_file", "client_key_file"];

/// How a server is entered.
#[derive(Debug, Default)]
pub(super) struct HttpAccess {
    /// A bearer token.
    pub(super) bearer: Option<SecretString>,
    /// The file that it came from.
    pub(super) bearer_file: Option<PathBuf>,
    /// The file of an authority.
    pub(super) ca_file: Option<PathBuf>,
    /// What is shown to a server that asks who we are.
    pub(super) client: Option<ClientCertificate>,
}

impl HttpAccess {
    /// Enters a server so.
    pub(super) fn enter(self, server: &mut MetricsSpec) {
        let Self { bearer, bearer_file, ca_file, client } = self;
        (server.bearer, server.bearer_file, server.ca_file, server.client) =
            (bearer, bearer_file, ca_file, client);
    }
}

/// Reads the keys of [`HTTP_ACCESS`]; `here` says where a key stands.
pub(super) fn http_access<'h>(
    [bearer_env, bearer_file, ca_file, client_cert_file, client_key_file]: [&Option<String>; 5],
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> HttpAccess {
    let bearer = secret(
        (bearer_env.as_deref(), &here("bearer_env")),
        (bearer_file.as_deref(), &here("bearer_file")),
        document,
    );
    let ca_file = readable_file(ca_file.as_deref(), &here("ca_file"), document);
    let client = client_certificate([client_cert_file, client_key_file], here, document);
    HttpAccess { bearer, bearer_file: bearer_file.as_ref().map(PathBuf::from), ca_file, client }
}

/// Reads `username`, `password_env` and `password_file`, in this order, which exclude a bearer token; `here` says where a
/// key stands.
pub(super) fn user_access<'h>(
    [username, password_env, password_file]: [&Option<String>; 3],
    has_bearer: bool,
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> (Option<String>, Option<SecretString>) {
    let password = secret(
        (password_env.as_deref(), &here("password_env")),
        (password_file.as_deref(), &here("password_file")),
        document,
    );
    if username.is_some() && has_bearer {
        let sentence = "a user and a bearer token exclude each other: keep one".to_owned();
        document.complain(&here("username"), sentence);
    }
    (username.clone(), password)
}

/// Reads `client_cert_file` and `client_key_file`, in this order, of which neither is worth anything alone; `here` says
/// where a key stands.
pub(super) fn client_certificate<'h>(
    [cert_file, key_file]: [&Option<String>; 2],
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> Option<ClientCertificate> {
    let cert_file = readable_file(cert_file.as_deref(), &here("client_cert_file"), document);
    let key_file = readable_file(key_file.as_deref(), &here("client_key_file"), document);
    match (cert_file, key_file) {
        (Some(cert_file), Some(key_file)) => Some(ClientCertificate { cert_file, key_file }),
        (Some(_), None) => {
            let key = here("client_key_file")[2];
            document.wrong(&here("client_cert_file"), format!("needs its key: write {key} beside it"));
            None
        }
        (None, Some(_)) => {
            let key = here("client_cert_file")[2];
            document.wrong(&here("client_key_file"), format!("needs its certificate: write {key} beside it"));
            None
        }
        (None, None) => None,
    }
}
