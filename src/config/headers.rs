//! The `headers` tables: what is sent with every request besides, as users write it and as it is sent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reqwest::header::{AUTHORIZATION, COOKIE};
use schemars::JsonSchema;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::place::Document;
use super::resolve::secret;
use crate::sources::own_headers::OwnHeaders;

/// The headers of one table by their names.
pub(super) type HeaderTable = BTreeMap<String, HeaderEntry>;

/// The value of a header.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "the value of a header: write \"TEXT\", or { env = \"NAME\" } or { file = \"PATH\" } for what is secret"
)]
pub(super) enum HeaderEntry {
    /// What everybody may see.
    Plain(String),
    /// What is secret.
    Secret(SecretPlace),
}

/// Where a secret is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SecretPlace {
    /// The environment variable that holds it.
    env: Option<String>,
    /// The file that holds it; instead of env.
    file: Option<String>,
}

/// Reads the headers of a table; `path` is where its key stands.
pub(super) fn own_headers(
    table: &HeaderTable,
    path: &[&str],
    has_bearer: bool,
    document: &mut Document<'_>,
) -> OwnHeaders {
    let mut headers = OwnHeaders::default();
    for (name, entry) in table {
        let at = |key: Option<&'static str>| -> Vec<&str> {
            path.iter().copied().chain([name.as_str()]).chain(key).collect()
        };
        let is_credential =
            [AUTHORIZATION, COOKIE].iter().any(|known| known.as_str().eq_ignore_ascii_case(name));
        let (value, file) = match entry {
            HeaderEntry::Plain(_) if is_credential => {
                let sentence = format!(
                    "'{name}' is a secret, which does not stand in this file: write {name} = {{ env = \"NAME\" }}"
                );
                document.complain(&at(None), sentence);
                continue;
            }
            HeaderEntry::Plain(value) => (Some(value.clone().into()), None),
            HeaderEntry::Secret(SecretPlace { env: None, file: None }) => {
                let sentence =
                    format!("'{name}' has no value: write {{ env = \"NAME\" }} or {{ file = \"PATH\" }}");
                document.complain(&at(None), sentence);
                continue;
            }
            HeaderEntry::Secret(SecretPlace { env, file }) => {
                let places = ((env.as_deref(), &*at(Some("env"))), (file.as_deref(), &*at(Some("file"))));
                (secret(places.0, places.1, document), file.as_ref().map(PathBuf::from))
            }
        };
        let Some(value) = value else { continue };
        let is_secret = matches!(entry, HeaderEntry::Secret(_));
        if let Err(why) = headers.add(name, value.expose_secret(), is_secret) {
            document.complain(&at(None), format!("'{name}' {why}"));
        }
        if let Some(file) = file {
            headers.came_from(name, file);
        }
    }
    if has_bearer && headers.has(&AUTHORIZATION) {
        document.complain(path, "a header 'Authorization' and a bearer token exclude each other: keep one");
    }
    headers
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn parsed(headers: &str) -> Result<Config, String> {
        let text = format!("[[metrics]]\nurl = \"http://h:1/metrics\"\nbearer_env = \"PATH\"\n{headers}\n");
        Config::parse(&text, "c.toml").map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_sent_or_is_secret_is_named_with_its_fix() {
        for (headers, said) in [
            ("headers = { Authorization = \"Token s3cret\" }", "write Authorization = { env = \"NAME\" }"),
            ("headers = { authorization = { env = \"HOME\" } }", "exclude each other"),
            ("headers = { Host = \"h\" }", "'Host' is a header that Headwater sets itself"),
            ("headers = { \"a b\" = \"x\" }", "is not the name of a header"),
            ("headers = { A = \"x\", a = \"y\" }", "stands twice"),
            ("headers = { A = {} }", "'A' has no value"),
            ("headers = { A = { env = \"s3cret\" } }", "'env' is not the name of an environment variable"),
            ("headers = { A = { env = \"HEADWATER_NO_SUCH\" } }", "is not set"),
            ("headers = { A = { file = \"/no/such\" } }", "cannot be read"),
            ("headers = { A = 1 }", "write \"TEXT\", or { env = \"NAME\" }"),
            ("headers = { A = \"s3cret\\nb\" }", "'A' holds a character that HTTP cannot send"),
        ] {
            let complaint = parsed(headers).unwrap_err();
            assert!(complaint.contains("c.toml:4: ") && complaint.contains(said), "{headers}: {complaint}");
            assert!(!complaint.contains("s3cret"), "{complaint}");
        }
    }

    #[test]
    fn what_is_secret_shows_nowhere() {
        let config = parsed("headers = { A = \"open\", B = { env = \"PATH\" } }").unwrap();
        let told = format!("{:?} {}", config.metrics, config.print());
        assert!(told.contains("open") && !told.contains(&std::env::var("PATH").unwrap()), "{told}");
        let again = Config::parse(&config.print(), "c.toml").unwrap();
        assert_eq!(format!("{:?}", again.metrics), format!("{:?}", config.metrics));
    }
}
