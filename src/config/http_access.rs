//! The keys by which a table says how an HTTP server is entered: alike wherever one is named.

use std::path::PathBuf;

use secrecy::SecretString;

use super::headers::{HeaderTable, own_headers};
use super::place::Document;
use super::resolve::{readable_file, secret};
use crate::sources::client_certificate::ClientCertificate;
use crate::sources::metrics::MetricsSpec;
use crate::sources::own_headers::OwnHeaders;

/// Defines a table that has the keys of [`AccessKeys`] after its own. What serde offers for this, to flatten a struct into
/// another, forgets where a key stands and which keys there are, and both are told to whoever misspells one.
macro_rules! with_http_access {
    ($(#[$attribute:meta])* $visibility:vis struct $Table:ident { $($keys:tt)* }) => {
        $(#[$attribute])*
        $visibility struct $Table {
            $($keys)*

            /// The environment variable that holds a bearer token.
            #[schemars(example = &"HEADWATER_TOKEN")]
            $visibility bearer_env: Option<String>,

            /// The file that holds a bearer token; instead of bearer_env.
            #[schemars(example = &"/run/secrets/headwater-token")]
            $visibility bearer_file: Option<String>,

            /// Certificates (PEM) that sign the server's; no other is trusted then.
            #[schemars(example = &"/etc/ssl/own-ca.pem")]
            $visibility ca_file: Option<String>,

            /// The certificate (PEM) to show to a server that asks for one, with those that lead to its authority.
            #[schemars(example = &"/etc/ssl/headwater.pem")]
            $visibility client_cert_file: Option<String>,

            /// The private key (PEM) of that certificate; nobody but us should be able to read it.
            #[schemars(example = &"/etc/ssl/headwater.key")]
            $visibility client_key_file: Option<String>,

            /// Headers that are sent with every request, by their names: a text, or where what is secret is.
            #[serde(skip_serializing_if = "std::collections::BTreeMap::is_empty")]
            #[schemars(example = serde_json::json!({
                "X-Scope-OrgID": "ranking", "X-API-Key": { "env": "HEADWATER_API_KEY" }
            }))]
            $visibility headers: $crate::config::headers::HeaderTable,
        }

        impl $Table {
            /// How its server is entered.
            $visibility fn access(&self) -> $crate::config::http_access::AccessKeys<'_> {
                $crate::config::http_access::AccessKeys {
                    bearer_env: self.bearer_env.as_deref(),
                    bearer_file: self.bearer_file.as_deref(),
                    ca_file: self.ca_file.as_deref(),
                    client_cert_file: self.client_cert_file.as_deref(),
                    client_key_file: self.client_key_file.as_deref(),
                    headers: Some(&self.headers),
                }
            }
        }
    };
}
pub(super) use with_http_access;

/// What is written at the keys by which a server is entered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessKeys<'t> {
    pub(super) bearer_env: Option<&'t str>,
    pub(super) bearer_file: Option<&'t str>,
    pub(super) ca_file: Option<&'t str>,
    pub(super) client_cert_file: Option<&'t str>,
    pub(super) client_key_file: Option<&'t str>,
    pub(super) headers: Option<&'t HeaderTable>,
}

impl AccessKeys<'_> {
    /// The first key at which something is written, for a table that names no server.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let Self { bearer_env, bearer_file, ca_file, client_cert_file, client_key_file, headers } = self;
        let keys = [
            ("bearer_env", bearer_env),
            ("bearer_file", bearer_file),
            ("ca_file", ca_file),
            ("client_cert_file", client_cert_file),
            ("client_key_file", client_key_file),
        ];
        let headers = headers.filter(|headers| !headers.is_empty()).map(|_| "headers");
        keys.into_iter().find(|(_, written)| written.is_some()).map(|(key, _)| key).or(headers)
    }
}

/// What is written at the keys of a user with a password.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UserKeys<'t> {
    pub(super) username: Option<&'t str>,
    pub(super) password_env: Option<&'t str>,
    pub(super) password_file: Option<&'t str>,
}

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
    /// What is sent besides.
    pub(super) headers: OwnHeaders,
}

impl HttpAccess {
    /// Enters a server so.
    pub(super) fn enter(self, server: &mut MetricsSpec) {
        let Self { bearer, bearer_file, ca_file, client, headers } = self;
        (server.bearer, server.bearer_file, server.ca_file) = (bearer, bearer_file, ca_file);
        (server.client, server.headers) = (client, headers);
    }
}

/// Reads the keys by which a server is entered; `here` says where a key stands.
pub(super) fn http_access<'h>(
    keys: AccessKeys<'_>,
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> HttpAccess {
    let bearer =
        secret((keys.bearer_env, &here("bearer_env")), (keys.bearer_file, &here("bearer_file")), document);
    let ca_file = readable_file(keys.ca_file, &here("ca_file"), document);
    let client = client_certificate(keys, &here, document);
    let headers = keys.headers.map(|table| own_headers(table, &here("headers"), bearer.is_some(), document));
    let bearer_file = keys.bearer_file.map(PathBuf::from);
    HttpAccess { bearer, bearer_file, ca_file, client, headers: headers.unwrap_or_default() }
}

/// Reads the keys of a user, which exclude another login in the same place; `here` says where a key stands.
pub(super) fn user_access<'h>(
    keys: UserKeys<'_>,
    has_other_login: bool,
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> (Option<String>, Option<SecretString>) {
    let password = secret(
        (keys.password_env, &here("password_env")),
        (keys.password_file, &here("password_file")),
        document,
    );
    if keys.username.is_some() && has_other_login {
        let sentence =
            "a user and a bearer token or a header 'Authorization' exclude each other: keep one".to_owned();
        document.complain(&here("username"), sentence);
    }
    (keys.username.map(str::to_owned), password)
}

/// Reads `client_cert_file` and `client_key_file`, of which neither is worth anything alone; `here` says where a key
/// stands.
pub(super) fn client_certificate<'h>(
    keys: AccessKeys<'_>,
    here: impl Fn(&'static str) -> [&'h str; 3],
    document: &mut Document<'_>,
) -> Option<ClientCertificate> {
    let cert_file = readable_file(keys.client_cert_file, &here("client_cert_file"), document);
    let key_file = readable_file(keys.client_key_file, &here("client_key_file"), document);
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::config::{Config, schema};

    /// What a table of each kind needs besides, in lines.
    const TABLES: &[(&str, &str)] = &[
        ("metrics", "url = \"https://h/\"\n"),
        ("graph", "url = \"https://h/\"\nformat = \"jaeger\"\n"),
        ("changes", "url = \"https://h/\"\nname = \"a\"\n"),
        ("discovery", "url = \"https://h/\"\n"),
        ("probe", "url = \"https://h/\"\n"),
        ("prometheus", "url = \"https://h/\"\n"),
    ];

    fn complaint(table: &str, keys: &str) -> String {
        Config::parse(&format!("[[{table}]]\n{keys}"), "c.toml").unwrap_err().to_string()
    }

    #[test]
    fn each_key_of_each_table_is_read_as_itself() {
        for (table, others) in TABLES {
            let keys = ["bearer_file", "ca_file", "client_cert_file", "client_key_file"];
            let written: String = keys.iter().map(|key| format!("{key} = \"/no/{key}\"\n")).collect();
            let complaint = complaint(table, &format!("{written}{others}"));
            for key in keys {
                assert!(
                    complaint.contains(&format!("'{key}' = '/no/{key}' cannot be read")),
                    "{table}: {complaint}"
                );
            }
        }
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_a_schema_knows_them_all() {
        for (table, others) in TABLES {
            let lines = others.lines().count();
            let complaint = complaint(table, &format!("{others}client_key = \"x\"\n"));
            let said =
                format!("c.toml:{}: unknown key 'client_key': did you mean 'client_key_file'?", lines + 2);
            assert!(complaint.contains(&said), "{table}: {complaint}");
        }
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let tables =
            schema["$defs"].as_object().unwrap().values().filter_map(|table| table["properties"].as_object());
        let entered = tables.filter(|keys| keys.contains_key("bearer_env"));
        assert_eq!(entered.filter(|keys| keys.contains_key("client_key_file")).count(), TABLES.len());
    }
}
