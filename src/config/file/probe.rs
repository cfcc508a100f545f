//! The `[[probe]]` tables, as users write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::http_access::with_http_access;

use super::super::value::Span;

with_http_access! {
    /// One address that Headwater asks itself, as a caller would.
    #[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub(in crate::config) struct ProbeTable {
        /// Its name; the source is probe/NAME. Made of kind and address when absent.
        #[schemars(example = &"ranker-ready")]
        pub(in crate::config) name: Option<String>,

        /// What is asked about: kind/name. When absent the component whose metrics page has the same host and port.
        #[schemars(example = &"service/ranker")]
        pub(in crate::config) component: Option<String>,

        /// The address; each request has a connection of its own.
        #[schemars(example = &"http://127.0.0.1:8000/ready")]
        pub(in crate::config) url: Option<String>,

        /// What is asked: http for any page, ready for the page by which a service says that it is ready, ttft for the time
        /// to the first token of a small text from /v1/completions or /v1/chat/completions.
        #[schemars(example = &"ready")]
        pub(in crate::config) kind: Option<ProbeWord>,

        /// The status of a good answer; any from 200 to 299 when absent.
        #[schemars(example = 200)]
        pub(in crate::config) status: Option<u16>,

        /// Words that a good answer holds: some pages say 200 whatever they think.
        #[schemars(example = &"ok")]
        pub(in crate::config) contains: Option<String>,

        /// How often; the interval of all targets when absent. A text is generated every 30s, and at most every 10s.
        #[schemars(example = &"30s")]
        pub(in crate::config) every: Option<Span>,

        /// Whether a server may be made to generate text, which costs it tokens; kind ttft needs this yes.
        #[schemars(example = true)]
        pub(in crate::config) allow_completions: Option<bool>,

        /// The model that generates the text, where the server wants to know.
        #[schemars(example = &"llama-3-8b")]
        pub(in crate::config) model: Option<String>,

        /// What the text answers.
        #[schemars(example = &"Say yes.")]
        pub(in crate::config) prompt: Option<String>,

        /// The most tokens of one text: from 1 to 16, 2 when absent.
        #[schemars(example = 2)]
        pub(in crate::config) max_tokens: Option<u8>,

        /// The SOCKS5 proxy to it; "none" where the one for all targets is not for this one.
        #[schemars(example = &"none")]
        pub(in crate::config) proxy: Option<String>,
    }
}

/// What a probe asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::config) enum ProbeWord {
    /// Any page.
    #[default]
    Http,
    /// The page by which a service says that it is ready.
    Ready,
    /// The time to the first token.
    Ttft,
}
