//! Ways to targets that cannot be reached directly: proxies, and addresses that are others from here.

use headwater_engine::RemoteText;

use super::imports::{Import, Place};
use super::place::Document;
use super::target::{is_host, is_host_and_port, read_proxy};
use crate::sources::changes::{ChangesSpec, Place as ChangesPlace};
use crate::sources::proxy::ProxySpec;
use crate::sources::redis::address::{ANY, is_socket};

/// The word that keeps one target from the proxy of all.
const DIRECTLY: &str = "none";

/// The proxy of a target: its own, or the one of all.
pub(super) fn proxy(
    written: Option<&str>,
    of_all: Option<&ProxySpec>,
    path: &[&str],
    document: &mut Document<'_>,
) -> Option<ProxySpec> {
    match written {
        None => of_all.cloned(),
        Some(DIRECTLY) => None,
        Some(text) => match read_proxy(text) {
            Ok(proxy) => Some(proxy),
            Err(complaint) => {
                document.wrong(path, complaint);
                None
            }
        },
    }
}

/// Sends what has no proxy of its own through that of all.
pub(super) fn send_through(proxy: Option<&ProxySpec>, imports: &mut [Import], changes: &mut [ChangesSpec]) {
    for import in imports {
        if let Place::Server(spec) = &mut import.place {
            spec.proxy = proxy.cloned();
        }
    }
    for change in changes {
        if let ChangesPlace::Server(spec) = &mut change.place {
            spec.proxy = proxy.cloned();
        }
    }
}

/// What is wrong with a line of an address map.
pub(super) fn mapping(announced: &str, dialled: &str) -> Result<(), String> {
    let wrong = |text: &str, how: &str| Err(format!("'{}' is not {how}", RemoteText::new(text)));
    if announced == ANY {
        return match is_host(dialled) {
            true => Ok(()),
            false => wrong(dialled, "a host: write \"*\" = \"HOST\", each announced port is dialled there"),
        };
    }
    let how = "an address: write \"HOST:PORT\" = \"HOST:PORT\", announced = dialled";
    match () {
        () if !is_host_and_port(announced) => wrong(announced, how),
        () if !is_host_and_port(dialled) && !is_socket(dialled) => wrong(dialled, how),
        () => Ok(()),
    }
}

/// Whether a text can be the name in a certificate.
pub(super) fn is_server_name(text: &str) -> bool {
    rustls::pki_types::ServerName::try_from(text).is_ok()
}
