//! The `[[changes]]` tables, as users write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::http_access::with_http_access;

with_http_access! {
    /// One source of changes.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(in crate::config) struct ChangesTable {
        /// Its name; the source is change/NAME.
        #[schemars(example = &"deploys")]
        pub(in crate::config) name: Option<String>,

        /// A file to which a line of JSON is appended for each change, from the folder of this one: {"at": "2026-01-02T03:04:05Z",
        /// "title": "ranker v42", "kind": "deploy", "component": "service/ranker", "id": "4711"}; at and title are needed, at
        /// may be Unix seconds or milliseconds.
        #[schemars(example = &"deploys.jsonl")]
        pub(in crate::config) file: Option<String>,

        /// A local git repository, whose log is read; instead of file.
        #[schemars(example = &"/src/ranker")]
        pub(in crate::config) git: Option<String>,

        /// The branch of that repository; what is checked out when absent.
        #[schemars(example = &"main")]
        pub(in crate::config) branch: Option<String>,

        /// A server that gives a list of such entries as JSON, alone or as items or data; instead of file.
        #[schemars(example = &"http://127.0.0.1:8080/changes")]
        pub(in crate::config) url: Option<String>,

        /// What entries touch that do not say it.
        #[schemars(example = &"service/ranker")]
        pub(in crate::config) component: Option<String>,

        /// The sort of entries that do not say it.
        #[schemars(example = &"deploy")]
        pub(in crate::config) kind: Option<ChangeWord>,
    }
}

/// A sort of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum ChangeWord {
    /// A new version runs.
    Deploy,
    /// Settings changed.
    Config,
    /// A feature flag was turned.
    Flag,
    /// Code changed; whether it runs is not known.
    Commit,
    /// Anything else.
    Other,
}
