//! The way to an address, phase by phase: its name, the connection, the handshake.

use std::error::Error;
use std::io;

use headwater_engine::reading::{Fault, FaultKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::exchange::Seen;
use super::fault;
use crate::sources::dial::reach;
use crate::sources::metrics::fetch::Address;
use crate::sources::proxy::{self, ProxySpec};
use crate::sources::redis::tls::Tls;
use crate::sources::tls_words::{self, Peer};

/// A connection, secured or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// Opens a connection of its own to an address and notes how long each phase takes.
pub(super) async fn open(
    address: &Address,
    tls: Option<&Tls>,
    proxy: Option<&ProxySpec>,
    deadline: Instant,
    seen: &mut Seen,
) -> Result<Box<dyn Stream>, Fault> {
    let host = address.url().host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = address.url().port_or_known_default().unwrap_or_default();
    let stream = match proxy {
        // Whoever looks the name up there is not to be seen from here.
        Some(proxy) => {
            let begun = Instant::now();
            let opened = proxy::open(proxy, host, port, address.host_and_port(), deadline).await;
            seen.connect = Some(begun.elapsed());
            opened.map_err(|(kind, message)| fault(kind, message))?
        }
        None => connect(address, host, port, deadline, seen).await?,
    };
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let (connector, name) = tls.towards(host).map_err(|trouble| trouble.to_fault())?;
    let begun = Instant::now();
    match timeout_at(deadline, connector.connect(name, stream)).await {
        Ok(Ok(secured)) => {
            seen.tls = Some(begun.elapsed());
            Ok(Box::new(secured))
        }
        Ok(Err(error)) => Err(refused(address, tls, &error).unwrap_or_else(|| {
            let message = format!("{address} does not speak TLS: if it serves plain HTTP, write http://");
            fault(FaultKind::Tls, message)
        })),
        Err(_) => Err(fault(
            FaultKind::Silent,
            format!("{address} did not finish the TLS handshake in time: does it speak TLS?"),
        )),
    }
}

async fn connect(
    address: &Address,
    host: &str,
    port: u16,
    deadline: Instant,
    seen: &mut Seen,
) -> Result<TcpStream, Fault> {
    let begun = Instant::now();
    let looked_up = timeout_at(deadline, tokio::net::lookup_host((host, port))).await;
    let addresses = match looked_up {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(_)) => {
            let message =
                format!("the host name '{host}' does not resolve: check the url, or this machine's DNS");
            return Err(fault(FaultKind::Unreachable, message));
        }
        Err(_) => {
            let message = format!("nobody says in time where '{host}' is: check this machine's DNS servers");
            return Err(fault(FaultKind::Silent, message));
        }
    };
    // A bare address needs nobody to look it up.
    if host.parse::<std::net::IpAddr>().is_err() {
        seen.dns = Some(begun.elapsed());
    }
    let begun = Instant::now();
    match timeout_at(deadline, reach(addresses)).await {
        Ok(Ok(stream)) => {
            seen.connect = Some(begun.elapsed());
            // A request must not wait for an acknowledgement; a socket that refuses this is only slower.
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Ok(Err(error)) => Err(fault(FaultKind::Unreachable, of_socket(address, &error))),
        Err(_) => {
            let message = format!(
                "{address} takes no connection in time: is the host up, or is a firewall in between?"
            );
            Err(fault(FaultKind::Silent, message))
        }
    }
}

fn of_socket(address: &Address, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("{address} refused the connection: is the process running, and is the port right?")
        }
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            format!("there is no way from here to {address}: check the network")
        }
        _ => format!("{address} cannot be reached ({error}): check address and network"),
    }
}

/// Why whoever speaks TLS broke off, where an error is about that: at the handshake, or behind it as soon as it has seen
/// whom we are.
pub(super) fn refused(address: &Address, tls: &Tls, error: &(dyn Error + 'static)) -> Option<Fault> {
    let peer = Peer {
        address,
        name: address.url().host_str().unwrap_or_default().trim_matches(['[', ']']),
        name_fix: "write the name that it was made for in the url",
        certificate: tls.shown(),
    };
    Some(fault(FaultKind::Tls, tls_words::explain(&peer, tls_words::cause::<rustls::Error>(error)?)?))
}
