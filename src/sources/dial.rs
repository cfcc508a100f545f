//! TCP connections by name: whichever address of it answers first.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::LONGEST_WAIT;

/// Why there is no TCP connection.
#[derive(Debug)]
pub(super) enum Failure {
    /// The name is not known.
    NoName(io::Error),
    /// Nobody says whether it is.
    NoAnswerToName,
    /// The attempt failed.
    Io(io::Error),
    /// Nothing came back.
    NoAnswer,
}

/// Connects to a host and port before the deadline.
pub(super) async fn tcp(host: &str, port: u16, deadline: Instant) -> Result<TcpStream, Failure> {
    let looked_up = timeout_at(deadline, tokio::net::lookup_host((host, port))).await;
    let addresses = match looked_up {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => return Err(Failure::NoName(error)),
        Err(_) => return Err(Failure::NoAnswerToName),
    };
    match timeout_at(deadline, reach(addresses)).await {
        Ok(Ok(stream)) => {
            // Small requests must not wait for an acknowledgement; a socket that refuses this is only slower.
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Ok(Err(error)) => Err(Failure::Io(error)),
        Err(_) => Err(Failure::NoAnswer),
    }
}

/// The next address of a name is tried beside the ones before it after this long without an answer.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// Connects to whichever address answers first; one that swallows everything does not hide the others.
pub(super) async fn reach(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut failure = None;
    loop {
        let next = waiting.next();
        let patience = next.map_or(LONGEST_WAIT, |_| NEXT_ADDRESS_AFTER);
        attempts.extend(next.map(TcpStream::connect));
        match timeout(patience, attempts.next()).await {
            Ok(Some(Ok(stream))) => return Ok(stream),
            Ok(Some(Err(error))) => failure = Some(error),
            Ok(None) => return Err(failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpSocket;

    use super::*;

    #[tokio::test]
    async fn an_address_that_swallows_everything_does_not_hide_the_next() {
        let swallows = TcpSocket::new_v4().unwrap();
        swallows.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let swallows = swallows.listen(1).unwrap();
        let full = swallows.local_addr().unwrap();
        // Nobody accepts: soon there is no room and attempts are dropped unanswered.
        let mut held = vec![];
        while let Ok(Ok(stream)) = timeout(Duration::from_millis(200), TcpStream::connect(full)).await {
            held.push(stream);
        }
        let living = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = living.local_addr().unwrap();
        let reached = timeout(Duration::from_secs(30), reach(vec![full, address])).await.unwrap().unwrap();
        assert_eq!(reached.peer_addr().unwrap(), address);
        let refusing = {
            let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            gone.local_addr().unwrap()
        };
        assert_eq!(reach(vec![refusing]).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert!(reach(vec![]).await.is_err());
    }
}
