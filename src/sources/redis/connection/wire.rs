//! The way to a node before anything is said: a TCP connection, one through a proxy, or a Unix socket.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use headwater_engine::reading::FaultKind;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, timeout_at};

use super::{Cost, Dial, LARGEST_ANSWER};
use crate::sources::dial::{Failure, tcp};
use crate::sources::proxy::{self, ProxySpec};
use crate::sources::redis::address::is_socket;
use crate::sources::redis::trouble::Trouble;

/// An open way to a node.
pub(super) enum Wire {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What opening a way to a node gave.
pub(super) struct Opened {
    pub(super) wire: Wire,
    /// The address that was reached, where it is the node's own.
    pub(super) peer: Option<SocketAddr>,
    /// Our own end, where the node may see it.
    pub(super) own: Option<SocketAddr>,
}

/// Opens the way to a node before the deadline.
pub(super) async fn open(
    dial: &Dial,
    proxy: Option<&ProxySpec>,
    deadline: Instant,
) -> Result<Opened, Trouble> {
    let hidden = |wire| Opened { wire, peer: None, own: None };
    if is_socket(&dial.host) {
        return Ok(hidden(Wire::Unix(open_socket(dial, deadline).await?)));
    }
    let Some(proxy) = proxy else {
        let stream = tcp(&dial.host, dial.port, deadline).await.map_err(|failure| of_node(dial, failure))?;
        let (peer, own) = (stream.peer_addr().ok(), stream.local_addr().ok());
        return Ok(Opened { wire: Wire::Tcp(stream), peer, own });
    };
    match proxy::open(proxy, &dial.host, dial.port, &dial.shown, deadline).await {
        Ok(stream) => Ok(hidden(Wire::Tcp(stream))),
        Err((kind, message)) => Err(Trouble::broken(kind, message)),
    }
}

async fn open_socket(dial: &Dial, deadline: Instant) -> Result<UnixStream, Trouble> {
    let path = &dial.host;
    let unreachable = |message| Trouble::broken(FaultKind::Unreachable, message);
    match timeout_at(deadline, UnixStream::connect(path)).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(unreachable(match error.kind() {
            io::ErrorKind::NotFound => {
                format!(
                    "there is no socket '{path}': start the server, or correct the path by its unixsocket"
                )
            }
            io::ErrorKind::PermissionDenied => format!(
                "we may not open the socket '{path}': join the group that it belongs to, see unixsocketperm"
            ),
            io::ErrorKind::ConnectionRefused => {
                format!("nobody listens at the socket '{path}': the server that made it is gone")
            }
            _ => format!("the socket '{path}' cannot be opened ({error}): check the path"),
        })),
        Err(_) => Err(Trouble::silent("a connection attempt", path)),
    }
}

fn of_node(dial: &Dial, failure: Failure) -> Trouble {
    let (node, host) = (dial.named(), &dial.host);
    let unreachable = |message| Trouble::broken(FaultKind::Unreachable, message);
    match failure {
        Failure::NoName(error) => {
            unreachable(format!("the name '{host}' does not resolve ({error}): correct it or check DNS"))
        }
        Failure::NoAnswerToName => {
            unreachable(format!("DNS does not answer for '{host}': check the resolver"))
        }
        Failure::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => unreachable(format!(
            "{node} refused the connection: nothing listens there; start it or correct the address"
        )),
        Failure::Io(error) => unreachable(format!(
            "{node} cannot be reached ({error}): check the address, the route, or map it with address_map"
        )),
        Failure::NoAnswer => Trouble::broken(
            FaultKind::Silent,
            format!(
                "{node} does not answer a connection attempt: a firewall drops it, the machine is gone, or the \
                 announced address is not reachable from here (see address_map)"
            ),
        ),
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

/// A stream that counts its bytes and ends with an answer that is too large.
pub(super) struct Counted {
    pub(super) inner: Wire,
    pub(super) cost: Arc<Cost>,
    pub(super) answered: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(context, buffer);
        let length = (buffer.filled().len() - before) as u64;
        self.cost.bytes.fetch_add(length, Ordering::Relaxed);
        if self.answered.fetch_add(length, Ordering::Relaxed) + length > LARGEST_ANSWER {
            return Poll::Ready(Err(io::Error::other("the answer is too large")));
        }
        polled
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(context, bytes);
        if let Poll::Ready(Ok(length)) = polled {
            self.cost.bytes.fetch_add(length as u64, Ordering::Relaxed);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}
