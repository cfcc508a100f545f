//! The `[[discovery]]` tables, as users write them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::headers::HeaderTable;
use crate::config::http_access::{AccessKeys, UserKeys, with_http_access};

use crate::config::value::Span;

with_http_access! {
    /// One list of pages that come and go.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(in crate::config) struct DiscoveryTable {
        /// Its name; the source is discovery/NAME. Made of the place of the list when absent.
        #[schemars(example = &"rankers")]
        pub(in crate::config) name: Option<String>,

        /// Files in the form of Prometheus' file_sd, JSON where they end in .json and YAML elsewhere, from the folder of this
        /// one; a '*' in the last part stands for anything.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(example = ["targets/*.yml"])]
        pub(in crate::config) files: Vec<String>,

        /// A server that gives such a list as JSON, as Prometheus' http_sd; instead of files.
        #[schemars(example = &"http://127.0.0.1:8080/targets")]
        pub(in crate::config) url: Option<String>,

        /// A name in DNS; instead of files. It is asked directly, whatever the proxy.
        #[schemars(example = &"_metrics._tcp.ranker.prod.svc.cluster.local")]
        pub(in crate::config) dns: Option<String>,

        /// The records of that name: SRV, which have ports, or A or AAAA; SRV when absent, A with a port.
        #[schemars(example = &"SRV")]
        pub(in crate::config) record: Option<RecordWord>,

        /// The port of all addresses, where records have none.
        #[schemars(example = 8000)]
        pub(in crate::config) port: Option<u16>,

        /// The DNS server, where it is not this machine's.
        #[schemars(example = &"127.0.0.1:8600")]
        pub(in crate::config) dns_server: Option<String>,

        /// How often the list is looked at: from 1s to 10min; files 5s, others 30s when absent.
        #[schemars(example = &"30s")]
        pub(in crate::config) every: Option<Span>,

        /// Whose pages they are where nothing else says so: kind/name. When absent too, the service that the label 'job' names.
        #[schemars(example = &"service/ranker")]
        pub(in crate::config) component: Option<String>,

        /// Which targets belong to which component, by their labels; this goes first.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(example = serde_json::json!({ "gateway/edge": { "role": "edge" } }))]
        pub(in crate::config) components: BTreeMap<String, BTreeMap<String, String>>,

        /// The label that names the component: kind/name, or the name of a service.
        #[schemars(example = &"app")]
        pub(in crate::config) component_label: Option<String>,

        /// The label that names the instance instead of its address; gateways know instances by addresses.
        #[schemars(example = &"pod")]
        pub(in crate::config) instance_label: Option<String>,

        /// http or https, where the label __scheme__ does not say.
        #[schemars(example = &"http")]
        pub(in crate::config) scheme: Option<SchemeWord>,

        /// The path of the pages, where the label __metrics_path__ does not say.
        #[schemars(example = &"/metrics")]
        pub(in crate::config) path: Option<String>,

        /// Dialects to read the pages by; without them they are recognised.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        #[schemars(example = ["vllm"])]
        pub(in crate::config) dialects: Vec<String>,

        /// The environment variable that holds a bearer token for the list at url.
        #[schemars(example = &"TARGETS_TOKEN")]
        pub(in crate::config) list_bearer_env: Option<String>,

        /// The file that holds a bearer token for the list at url; instead of list_bearer_env.
        #[schemars(example = &"/run/secrets/targets")]
        pub(in crate::config) list_bearer_file: Option<String>,

        /// The user, where the server of the list asks for a user and a password.
        #[schemars(example = &"headwater")]
        pub(in crate::config) list_username: Option<String>,

        /// The environment variable that holds that user's password.
        #[schemars(example = &"TARGETS_PASSWORD")]
        pub(in crate::config) list_password_env: Option<String>,

        /// The file that holds it; instead of list_password_env.
        #[schemars(example = &"/run/secrets/targets-password")]
        pub(in crate::config) list_password_file: Option<String>,

        /// Certificates (PEM) that sign that of the list's server; no other is trusted then.
        #[schemars(example = &"/etc/ssl/targets-ca.pem")]
        pub(in crate::config) list_ca_file: Option<String>,

        /// The certificate (PEM) to show to a list's server that asks for one, with those that lead to its authority.
        #[schemars(example = &"/etc/ssl/headwater.pem")]
        pub(in crate::config) list_client_cert_file: Option<String>,

        /// The private key (PEM) of that certificate; nobody but us should be able to read it.
        #[schemars(example = &"/etc/ssl/headwater.key")]
        pub(in crate::config) list_client_key_file: Option<String>,

        /// Headers that are sent to the list's server with every request, by their names: a text, or where what is secret is.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        #[schemars(example = serde_json::json!({ "X-API-Key": { "env": "TARGETS_KEY" } }))]
        pub(in crate::config) list_headers: HeaderTable,

        /// The SOCKS5 proxy to the pages and to the list at url; "none" where the one for all targets is not for these.
        #[schemars(example = &"none")]
        pub(in crate::config) proxy: Option<String>,
    }
}

impl DiscoveryTable {
    /// How the server of the list is entered.
    pub(in crate::config) fn list_access(&self) -> AccessKeys<'_> {
        AccessKeys {
            bearer_env: self.list_bearer_env.as_deref(),
            bearer_file: self.list_bearer_file.as_deref(),
            ca_file: self.list_ca_file.as_deref(),
            client_cert_file: self.list_client_cert_file.as_deref(),
            client_key_file: self.list_client_key_file.as_deref(),
            headers: Some(&self.list_headers),
        }
    }

    /// Who asks the server of the list.
    pub(in crate::config) fn list_user(&self) -> UserKeys<'_> {
        UserKeys {
            username: self.list_username.as_deref(),
            password_env: self.list_password_env.as_deref(),
            password_file: self.list_password_file.as_deref(),
        }
    }
}

/// A kind of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(in crate::config) enum RecordWord {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    Aaaa,
    /// Hosts with ports.
    Srv,
}

/// How pages are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum SchemeWord {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}
