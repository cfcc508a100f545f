//! Failures of the network in words: what happened, and what to do.

use std::error::Error;
use std::io;
use std::path::Path;

use headwater_engine::RemoteText;
use headwater_engine::reading::{Fault, FaultKind};

use super::{Address, fault};
use crate::sources::tls_words::{self, Certificate, Peer, cause};

/// Why no answer came; `shows` is the file of the certificate that we show.
pub(super) fn of_request(address: &Address, shows: Option<&Path>, error: &reqwest::Error) -> Fault {
    let (kind, message) = if let Some(tls) = cause::<rustls::Error>(error) {
        (FaultKind::Tls, of_tls(address, shows, tls))
    } else if error.is_timeout() {
        let doubt = if address.is_tls() { ", does it speak TLS," } else { "" };
        let message = format!(
            "{address} did not answer within 10 s: is the process stuck{doubt} or is a firewall in between?"
        );
        (FaultKind::Silent, message)
    } else if has_words(error, "dns error") {
        let host = address.url().host_str().unwrap_or("");
        let message =
            format!("the host name '{host}' does not resolve: check the url, or this machine's DNS");
        (FaultKind::Unreachable, message)
    } else if has_words(error, "message head is too large") {
        let message = format!("{address} sends headers without end: is it a metrics page? Check the port");
        (FaultKind::TooLarge, message)
    } else if has_words(error, "invalid HTTP version") || has_words(error, "invalid HTTP header") {
        let fix = if address.is_tls() { "check the port" } else { "if it serves TLS, write https://" };
        (FaultKind::Malformed, format!("{address} does not answer in HTTP: {fix}"))
    } else {
        of_socket(address, error)
    };
    fault(kind, message)
}

/// Why an answer broke off after `received` bytes.
pub(super) fn of_body(
    address: &Address,
    shows: Option<&Path>,
    error: &reqwest::Error,
    received: usize,
) -> Fault {
    if let Some(tls) = cause::<rustls::Error>(error).filter(|_| received == 0) {
        return fault(FaultKind::Tls, of_tls(address, shows, tls));
    }
    if error.is_timeout() {
        let message = format!(
            "{address} was still sending after 10 s ({received} bytes so far): is it a stream? Point at the metrics \
             page, or let the server leave series out"
        );
        return fault(FaultKind::TooLarge, message);
    }
    if has_words(error, "Invalid chunk") {
        let message = format!(
            "{address} sends a body whose pieces do not say how long they are: is a proxy in between changing it?"
        );
        return fault(FaultKind::Malformed, message);
    }
    if has_words(error, "gzip")
        || cause::<io::Error>(error).map(io::Error::kind) == Some(io::ErrorKind::InvalidData)
    {
        let message =
            format!("{address} sends a body that cannot be unpacked: is a proxy in between changing it?");
        return fault(FaultKind::Malformed, message);
    }
    let message = format!(
        "{address} broke off after {received} bytes: did the server crash while answering? It is asked again"
    );
    fault(FaultKind::Unreachable, message)
}

fn of_socket(address: &Address, error: &reqwest::Error) -> (FaultKind, String) {
    use io::ErrorKind as Io;
    let message = match cause::<io::Error>(error).map(io::Error::kind) {
        Some(Io::ConnectionRefused) => {
            format!("{address} refused the connection: is the process running, and is the port right?")
        }
        Some(Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::UnexpectedEof) => {
            let fix = if address.is_tls() {
                "if it serves plain HTTP, write http://"
            } else {
                "if it serves TLS, write https://"
            };
            format!("{address} closed the connection without an answer: {fix}")
        }
        Some(Io::HostUnreachable | Io::NetworkUnreachable) => {
            format!("there is no way from here to {address}: check the network, or use a jump host")
        }
        Some(Io::PermissionDenied) => {
            format!("this machine does not let us connect to {address}: check its firewall or sandbox")
        }
        _ if has_words(error, "closed before message completed")
            || has_words(error, "incomplete message") =>
        {
            let fix = if address.is_tls() { "check the port" } else { "if it serves TLS, write https://" };
            format!("{address} closed the connection without an answer: {fix}")
        }
        _ => format!("{address} cannot be reached ({}): check address and network", deepest(error)),
    };
    (FaultKind::Unreachable, message)
}

fn of_tls(address: &Address, shows: Option<&Path>, error: &rustls::Error) -> String {
    const NONE: &str = "set client_cert_file and client_key_file, or --client-cert and --client-key";
    let peer = Peer {
        address,
        name: address.url().host_str().unwrap_or(""),
        name_fix: "write the name that it was made for in the url",
        certificate: shows.map_or(Certificate::None(NONE), Certificate::Shown),
    };
    tls_words::explain(&peer, error)
        .unwrap_or_else(|| format!("{address} does not speak TLS: if it serves plain HTTP, write http://"))
}

fn has_words(error: &dyn Error, words: &str) -> bool {
    let mut next = Some(error);
    while let Some(current) = next {
        if current.to_string().contains(words) {
            return true;
        }
        next = current.source();
    }
    false
}

fn deepest(error: &dyn Error) -> RemoteText {
    let mut current = error;
    while let Some(next) = current.source() {
        current = next;
    }
    RemoteText::new(&current.to_string())
}
