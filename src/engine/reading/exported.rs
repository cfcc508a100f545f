//! What an exporter says of the place of a Redis node in its deployment.

use serde::{Deserialize, Serialize};

use crate::subject::Subject;
use crate::text::RemoteText;

/// A Redis node as its exporter tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedNode {
    /// `redis/NAME@ADDRESS`; the address is that of the page, or the one that the page is told to look at.
    pub node: Subject,
    /// Whether it takes writes of its own.
    pub primary: bool,
    /// The port on which it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Host and port of the node that it follows, as it calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<RemoteText>,
}

impl ExportedNode {
    /// Whether it is the node that another one calls so.
    pub fn is_called(&self, name: &str) -> bool {
        let Some(address) = self.node.address() else { return false };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        address == name || self.port.is_some_and(|port| name == format!("{host}:{port}"))
    }
}
