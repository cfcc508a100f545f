//! A network link for one node: a TCP relay whose connections share so many bytes a second.
//!
//! Loopback has no network card that could be full. The relay forwards in turns of 16 KiB, and every turn of
//! every connection, in both directions, goes through one queue, as frames go through one card. A connection has
//! at most four turns in the queue: so all get the same share, and a small reply on a full link waits behind the
//! turns of all others (20 ms with eight of them at 200 Mbit/s).

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Bytes that are forwarded at a time.
const TURN: usize = 16 * 1024;

/// Turns of one connection that may wait in the link's queue, in each direction.
const TURNS_WAITING: usize = 4;

/// Idle time that a link makes up for; timers are no finer than a millisecond, so without it a single connection
/// could not fill the link.
const BURST: Duration = Duration::from_millis(5);

/// What the kernel may hold of a node's answer before the link: little, so that a node sends as its link does.
const RECEIVE_BUFFER: u32 = 256 * 1024;

/// The pause after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The link of one node.
#[derive(Debug)]
pub(super) struct Link {
    rate: f64,
    free_at: Mutex<Instant>,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// A relay that listens and does not forward yet, so that its port is known before its node starts.
#[derive(Debug)]
pub(super) struct Relay {
    listener: TcpListener,
    address: SocketAddr,
}

#[derive(Clone, Copy)]
enum Direction {
    ToNode,
    FromNode,
}

impl Relay {
    /// Listens on a free loopback port.
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Forwards to the node on this port, at most `rate` bytes a second, until told to stop.
    pub(super) fn forward(self, node: u16, rate: f64, stop: CancellationToken) -> Arc<Link> {
        let link = Arc::new(Link::new(rate));
        let shared = Arc::clone(&link);
        tokio::spawn(async move {
            loop {
                let accepted = tokio::select! {
                    () = stop.cancelled() => return,
                    accepted = self.listener.accept() => accepted,
                };
                let Ok((client, _)) = accepted else {
                    // Usually there is no file descriptor left: asking again at once would only keep a core busy.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                let (link, stop) = (Arc::clone(&shared), stop.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        // A broken connection is seen by both of its ends; the relay has nothing to add.
                        _ = link.serve(client, node) => {}
                    }
                });
            }
        });
        link
    }
}

impl Link {
    fn new(rate: f64) -> Self {
        let free_at = Mutex::new(Instant::now());
        Self { rate, free_at, bytes_in: AtomicU64::new(0), bytes_out: AtomicU64::new(0) }
    }

    /// What it carries, in bytes a second.
    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Bytes so far, towards the node and from it.
    pub(super) fn bytes(&self) -> (u64, u64) {
        (self.bytes_in.load(Ordering::Relaxed), self.bytes_out.load(Ordering::Relaxed))
    }

    async fn serve(&self, client: TcpStream, node: u16) -> io::Result<()> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
        let node = socket.connect((Ipv4Addr::LOCALHOST, node).into()).await?;
        client.set_nodelay(true)?;
        node.set_nodelay(true)?;
        let (from_client, to_client) = client.into_split();
        let (from_node, to_node) = node.into_split();
        tokio::try_join!(
            self.carry(from_client, to_node, Direction::ToNode),
            self.carry(from_node, to_client, Direction::FromNode),
        )?;
        Ok(())
    }

    async fn carry(&self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf, way: Direction) -> io::Result<()> {
        let (queue, mut queued) = mpsc::channel::<(Instant, Vec<u8>)>(TURNS_WAITING);
        let counter = match way {
            Direction::ToNode => &self.bytes_in,
            Direction::FromNode => &self.bytes_out,
        };
        let fill = async move {
            loop {
                // A place in the queue first: what is not read stays with the sender, as on a real link.
                let Ok(place) = queue.reserve().await else { return Ok(()) };
                let mut turn = Vec::with_capacity(TURN);
                if from.read_buf(&mut turn).await? == 0 {
                    return io::Result::Ok(());
                }
                place.send((self.take(turn.len()), turn));
            }
        };
        let drain = async move {
            while let Some((due, turn)) = queued.recv().await {
                if due > Instant::now() {
                    tokio::time::sleep_until(due).await;
                }
                to.write_all(&turn).await?;
                counter.fetch_add(turn.len() as u64, Ordering::Relaxed);
            }
            to.shutdown().await
        };
        tokio::try_join!(fill, drain)?;
        Ok(())
    }

    /// Takes the next free time of the link for so many bytes; answers when they are through.
    fn take(&self, bytes: usize) -> Instant {
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let start = (*free_at).max(Instant::now() - BURST);
        *free_at = start + Duration::from_secs_f64(bytes as f64 / self.rate);
        *free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: f64 = 4_000_000.0;
    const BYTES: usize = 1_000_000;

    /// A node that answers every connection with [`BYTES`] bytes.
    async fn generous_node() -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = listener.accept().await {
                tokio::spawn(async move { connection.write_all(&vec![7; BYTES]).await });
            }
        });
        port
    }

    #[test]
    fn a_link_is_never_faster_than_its_rate() {
        let link = Link::new(RATE);
        let first = link.take(TURN);
        let last = (0..100).map(|_| link.take(TURN)).last().unwrap();
        // When a turn is due and not when it came: that depends on the machine.
        assert!((last - first).as_secs_f64() >= 99.9 * TURN as f64 / RATE);
    }

    #[tokio::test]
    async fn all_connections_share_a_link_in_turns() {
        let relay = Relay::listen().await.unwrap();
        let address = relay.address();
        let stop = CancellationToken::new();
        let link = relay.forward(generous_node().await, RATE, stop.clone());
        let arrived: [AtomicU64; 4] = Default::default();
        let read = |reader: usize| {
            let arrived = &arrived;
            async move {
                let mut connection = TcpStream::connect(address).await.unwrap();
                let mut turn = vec![0; TURN];
                loop {
                    match connection.read(&mut turn).await.unwrap() {
                        0 => break,
                        bytes => arrived[reader].fetch_add(bytes as u64, Ordering::Relaxed),
                    };
                }
                // What everybody has when this one has all.
                arrived.iter().map(|bytes| bytes.load(Ordering::Relaxed)).sum::<u64>()
            }
        };
        let at_the_end = futures::future::join_all((0..arrived.len()).map(read)).await;
        assert!(arrived.iter().all(|bytes| bytes.load(Ordering::Relaxed) == BYTES as u64), "{arrived:?}");
        // Nobody was served before the others: when the first has all, they have nearly all.
        let first = *at_the_end.iter().min().unwrap();
        assert!(first > 3 * BYTES as u64, "{first} bytes of four times {BYTES}");
        assert_eq!(link.bytes(), (0, 4 * BYTES as u64));
        stop.cancel();
    }

    #[tokio::test]
    async fn a_link_without_a_node_closes_its_connections() {
        let relay = Relay::listen().await.unwrap();
        let address = relay.address();
        let stop = CancellationToken::new();
        let nowhere = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap().local_addr().unwrap().port();
        relay.forward(nowhere, RATE, stop.clone());
        let mut all = vec![];
        let read = TcpStream::connect(address).await.unwrap().read_to_end(&mut all).await;
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
        stop.cancel();
        // Whoever connects after that is refused.
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
