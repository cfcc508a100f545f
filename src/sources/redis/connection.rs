//! One connection to one node: dialled, secured, logged in, and asked one thing at a time.

mod listener;

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use headwater_engine::reading::FaultKind;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline, ProtocolVersion, RedisConnectionInfo, RedisError, Value};
use rustls::pki_types::ServerName;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::allowed::{Command, Secret};
pub use super::cost::Cost;
use super::spec::RedisSpec;
use super::tls;
use super::trouble::Trouble;
pub(super) use listener::Listener;

/// Where a node is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// The address as users see it: the announced one.
    pub shown: String,
    /// The host to dial, without brackets; also the name that a certificate must be for.
    pub host: String,
    /// The port to dial.
    pub port: u16,
}

/// How to get in once a node is dialled: one for a whole target, because a password that is refused once is
/// tried nowhere else.
pub struct Access {
    tls: Option<TlsConnector>,
    username: Option<String>,
    password: Option<SecretString>,
    /// Held while a password is tried, so that nodes that are lost together do not all try one that was changed.
    gate: tokio::sync::Mutex<()>,
    refusal: Mutex<Option<Trouble>>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Access").field("username", &self.username).finish_non_exhaustive()
    }
}

/// How long a node that does not answer the log-in keeps others from theirs.
const GATE_HELD: Duration = Duration::from_secs(1);

/// How long a log-in waits for others at most: many nodes that hang must not keep the sound ones out.
const GATE_WAIT: Duration = Duration::from_secs(3);

impl Access {
    /// Reads the certificate authorities, when TLS is asked for.
    pub fn of(spec: &RedisSpec) -> Result<Self, Trouble> {
        let tls = spec.tls.as_ref().map(tls::connector).transpose()?;
        Ok(Self {
            tls,
            username: spec.username.clone(),
            password: spec.password.clone(),
            gate: tokio::sync::Mutex::new(()),
            refusal: Mutex::new(None),
        })
    }

    /// The refusal that this target has met, for whoever would try the same password again.
    fn refused(&self) -> Result<(), Trouble> {
        match &*self.refusal.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(trouble) => Err(trouble.clone()),
            None => Ok(()),
        }
    }

    fn remember(&self, trouble: &Trouble) {
        if trouble.kind == FaultKind::Auth {
            *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(trouble.clone());
        }
    }
}

/// The largest answer that is read, in bytes: some hundred times what any of our questions is answered with.
const LARGEST_ANSWER: u64 = 16 * 1024 * 1024;

/// An open, logged-in connection. Dropping it closes it.
pub struct Connection {
    inner: MultiplexedConnection,
    driver: AbortHandle,
    shown: String,
    username: Option<String>,
    cost: Arc<Cost>,
    /// Bytes received since the last question.
    answered: Arc<AtomicU64>,
    peer: Option<SocketAddr>,
    _end: OwnEnd,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Our own end of an open connection, known as ours while this lives.
struct OwnEnd {
    cost: Arc<Cost>,
    address: Option<SocketAddr>,
}

impl OwnEnd {
    fn new(cost: &Arc<Cost>, address: Option<SocketAddr>) -> Self {
        cost.ends.lock().unwrap_or_else(PoisonError::into_inner).extend(address);
        Self { cost: cost.clone(), address }
    }
}

impl Drop for OwnEnd {
    fn drop(&mut self) {
        if let Some(address) = &self.address {
            self.cost.ends.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
        }
    }
}

/// A stream to a server, secured where that is asked for.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A server that was dialled and secured, and not yet spoken to.
struct Reached {
    stream: Box<dyn Stream>,
    peer: Option<SocketAddr>,
    end: OwnEnd,
    /// Bytes received, since whoever reads set it back to 0.
    answered: Arc<AtomicU64>,
}

impl Reached {
    async fn dial(
        dial: &Dial,
        access: &Access,
        cost: &Arc<Cost>,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        let stream = connect(dial, deadline).await?;
        let (peer, end) = (stream.peer_addr().ok(), OwnEnd::new(cost, stream.local_addr().ok()));
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: stream, cost: cost.clone(), answered: answered.clone() };
        let stream: Box<dyn Stream> = match &access.tls {
            None => Box::new(counted),
            Some(connector) => Box::new(secure(dial, connector, counted, deadline).await?),
        };
        Ok(Self { stream, peer, end, answered })
    }
}

impl Connection {
    /// Dials, secures and logs in, all before the deadline.
    pub async fn open(
        dial: &Dial,
        access: &Access,
        cost: &Arc<Cost>,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        let Reached { stream, peer, end, answered } = Reached::dial(dial, access, cost, deadline).await?;
        let (inner, driver) = start(stream)
            .await
            .map_err(|error| Trouble::from_redis(&error, &Command::Ping, &dial.shown, None))?;
        let mut connection = Self {
            inner,
            driver,
            shown: dial.shown.clone(),
            username: access.username.clone(),
            cost: cost.clone(),
            answered,
            peer,
            _end: end,
        };
        match connection.log_in(access, deadline).await {
            Ok(()) => Ok(connection),
            Err(trouble) if trouble.kind == FaultKind::Unreachable => {
                drop(connection);
                Err(why_closed(dial, access, deadline).await.unwrap_or(trouble))
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// Asks one thing and waits for the answer until the deadline. A server's refusal is an error that leaves
    /// the connection usable; silence and a closed connection are errors that end it.
    pub async fn ask(&mut self, command: Command<'_>, deadline: Instant) -> Result<Value, Trouble> {
        self.cost.commands.fetch_add(1, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
        let cmd = command.to_cmd();
        match timeout_at(deadline, self.inner.send_packed_command(&cmd)).await {
            Err(_) => Err(Trouble::silent(command.name(), &self.shown)),
            Ok(reply) => {
                let answer = reply.and_then(Value::extract_error);
                answer
                    .inspect(|reply| self.cost.answered(&command, reply))
                    .map_err(|error| self.trouble(&error, &command))
            }
        }
    }

    /// Asks several things in one go; the outer error means that the connection is gone.
    pub async fn ask_all(
        &mut self,
        commands: &[Command<'_>],
        deadline: Instant,
    ) -> Result<Vec<Result<Value, Trouble>>, Trouble> {
        let Some(first) = commands.first() else { return Ok(vec![]) };
        self.cost.commands.fetch_add(commands.len() as u64, Ordering::Relaxed);
        self.answered.store(0, Ordering::Relaxed);
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for command in commands {
            pipeline.add_command(command.to_cmd());
        }
        let replies =
            match timeout_at(deadline, self.inner.send_packed_commands(&pipeline, 0, commands.len())).await {
                Err(_) => return Err(Trouble::silent(first.name(), &self.shown)),
                Ok(replies) => replies.map_err(|error| self.trouble(&error, first))?,
            };
        let mut answers = vec![];
        for (command, reply) in commands.iter().zip(replies) {
            let answer = reply.extract_error().inspect(|reply| self.cost.answered(command, reply));
            answers.push(answer.map_err(|error| self.trouble(&error, command)));
        }
        Ok(answers)
    }

    /// The address that was reached.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    fn trouble(&self, error: &RedisError, command: &Command<'_>) -> Trouble {
        if self.answered.load(Ordering::Relaxed) > LARGEST_ANSWER {
            let message = format!(
                "'{}' answers {} with more than {} MiB: it is no Redis server, or not a sound one",
                self.shown,
                command.name(),
                LARGEST_ANSWER / 1024 / 1024
            );
            return Trouble::broken(FaultKind::TooLarge, message);
        }
        Trouble::from_redis(error, command, &self.shown, self.username.as_deref())
    }

    async fn log_in(&mut self, access: &Access, deadline: Instant) -> Result<(), Trouble> {
        if let Some(password) = &access.password {
            let mut gate = timeout(GATE_WAIT, access.gate.lock()).await.ok();
            access.refused()?;
            let secret = Secret(password.expose_secret());
            let mut answer = pin!(self.ask(Command::Auth(access.username.as_deref(), secret), deadline));
            let outcome = match timeout(GATE_HELD, &mut answer).await {
                Ok(outcome) => outcome,
                Err(_) => {
                    gate = None;
                    answer.await
                }
            };
            if let Err(trouble) = outcome {
                access.remember(&trouble);
                return Err(trouble);
            }
            drop(gate);
        }
        let manners = [Command::SetName, Command::NoEvict, Command::NoTouch];
        for answer in self.ask_all(&manners, deadline).await? {
            // A server or a user without these loses nothing but politeness; a missing password is another matter.
            if let Err(trouble) = answer
                && matches!(trouble.kind, FaultKind::Auth | FaultKind::Busy)
            {
                return Err(trouble);
            }
        }
        Ok(())
    }
}

async fn connect(dial: &Dial, deadline: Instant) -> Result<TcpStream, Trouble> {
    let shown = &dial.shown;
    let unreachable = |message| Trouble::broken(FaultKind::Unreachable, message);
    let looked_up = timeout_at(deadline, tokio::net::lookup_host((dial.host.as_str(), dial.port))).await;
    let addresses: Vec<_> = match looked_up {
        Ok(Ok(addresses)) => addresses.collect(),
        Ok(Err(error)) => {
            return Err(unreachable(format!(
                "the name '{}' does not resolve ({error}): correct it or check DNS",
                dial.host
            )));
        }
        Err(_) => {
            return Err(unreachable(format!("DNS does not answer for '{}': check the resolver", dial.host)));
        }
    };
    match timeout_at(deadline, reach(addresses)).await {
        Ok(Ok(stream)) => {
            // Small requests must not wait for an acknowledgement; a socket that refuses this is only slower.
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Err(unreachable(format!(
            "'{shown}' refused the connection: nothing listens there; start it or correct the address"
        ))),
        Ok(Err(error)) => Err(unreachable(format!(
            "'{shown}' cannot be reached ({error}): check the address, the route, or map it with address_map"
        ))),
        Err(_) => Err(Trouble::broken(
            FaultKind::Silent,
            format!(
                "'{shown}' does not answer a connection attempt: a firewall drops it, the machine is gone, or the \
                 announced address is not reachable from here (see address_map)"
            ),
        )),
    }
}

/// The next address of a name is tried beside the ones before it after this long without an answer.
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);

/// Connects to whichever address answers first; one that swallows everything does not hide the others.
async fn reach(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut failure = None;
    loop {
        let next = waiting.next();
        let patience = next.map_or(super::super::LONGEST_WAIT, |_| NEXT_ADDRESS_AFTER);
        attempts.extend(next.map(TcpStream::connect));
        match timeout(patience, attempts.next()).await {
            Ok(Some(Ok(stream))) => return Ok(stream),
            Ok(Some(Err(error))) => failure = Some(error),
            Ok(None) => return Err(failure.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into())),
            Err(_) => {}
        }
    }
}

async fn secure(
    dial: &Dial,
    connector: &TlsConnector,
    stream: Counted,
    deadline: Instant,
) -> Result<tokio_rustls::client::TlsStream<Counted>, Trouble> {
    let name = ServerName::try_from(dial.host.clone())
        .map_err(|_| tls::tls_trouble(format!("'{}' cannot be the name of a certificate", dial.host)))?;
    let mut handshake = pin!(timeout_at(deadline, connector.connect(name, stream)));
    // A plain Redis port waits for the end of a line that never comes: ask it plainly before waiting on.
    let outcome = tokio::select! {
        biased;
        outcome = &mut handshake => outcome,
        () = tokio::time::sleep(Duration::from_millis(1_500)) => match speaks_plain(dial, deadline).await {
            true => return Err(plain_port(dial)),
            false => handshake.await,
        },
    };
    match outcome {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => match tls::handshake_trouble(&error, &dial.shown, &dial.host) {
            Some(trouble) => Err(trouble),
            None if speaks_plain(dial, deadline).await => Err(plain_port(dial)),
            None => Err(tls::tls_trouble(format!("'{}' ended the TLS handshake: {error}", dial.shown))),
        },
        Err(_) => Err(Trouble::silent("the TLS handshake", &dial.shown)),
    }
}

fn plain_port(dial: &Dial) -> Trouble {
    tls::tls_trouble(format!(
        "'{}' speaks plain Redis, not TLS: write redis:// instead of rediss://, or give its TLS port",
        dial.shown
    ))
}

/// Whether a port answers PING without TLS.
async fn speaks_plain(dial: &Dial, deadline: Instant) -> bool {
    let soon = deadline.min(Instant::now() + Duration::from_secs(2));
    let probe = async {
        let mut stream = connect(dial, soon).await.ok()?;
        stream.write_all(&Command::Ping.to_cmd().get_packed_command()).await.ok()?;
        let mut first = [0];
        stream.read_exact(&mut first).await.ok()?;
        matches!(&first, b"+" | b"-").then_some(())
    };
    timeout_at(soon, probe).await.ok().flatten().is_some()
}

/// Why a server hung up on the first command: it may be full and say so unasked, wait for TLS, or be no Redis.
async fn why_closed(dial: &Dial, access: &Access, deadline: Instant) -> Option<Trouble> {
    if access.tls.is_some() {
        return None;
    }
    if let Some(said) = listen(dial, deadline).await
        && !said.starts_with(&[TLS_ALERT])
    {
        return match redis::parse_redis_value(&said).and_then(Value::extract_error) {
            Ok(_) => None,
            Err(error) => Some(Trouble::from_redis(&error, &Command::Ping, &dial.shown, None)),
        };
    }
    let connector = tls::any_connector().ok()?;
    let name = ServerName::try_from(dial.host.clone()).ok()?;
    let stream = connect(dial, deadline).await.ok()?;
    let soon = deadline.min(Instant::now() + Duration::from_secs(2));
    let is_tls = match timeout_at(soon, connector.connect(name, stream)).await.ok()? {
        Ok(_) => true,
        Err(error) => tls::handshake_trouble(&error, &dial.shown, &dial.host).is_some(),
    };
    is_tls.then(|| {
        tls::tls_trouble(format!(
            "'{}' speaks TLS, not plain Redis: write rediss:// instead of redis://, or give its plain port",
            dial.shown
        ))
    })
}

/// The first byte of what a TLS server says to a plain client.
const TLS_ALERT: u8 = 0x15;

/// What a server says unasked or, when it says nothing, to a PING; `None` when it says nothing at all.
async fn listen(dial: &Dial, deadline: Instant) -> Option<Vec<u8>> {
    let mut stream = connect(dial, deadline).await.ok()?;
    let mut said = vec![0; 128];
    for question in [Command::Ping.to_cmd().get_packed_command(), vec![]] {
        let soon = deadline.min(Instant::now() + Duration::from_millis(500));
        match timeout_at(soon, stream.read(&mut said)).await {
            Ok(Ok(length)) if length > 0 => {
                said.truncate(length);
                return Some(said);
            }
            Ok(_) => return None,
            Err(_) => stream.write_all(&question).await.ok()?,
        }
    }
    None
}

/// Starts the protocol on a stream. No command of the library's own is sent: whatever goes out is ours.
async fn start<S>(stream: S) -> Result<(MultiplexedConnection, AbortHandle), RedisError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let plain = RedisConnectionInfo::default().set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name();
    let config = AsyncConnectionConfig::new().set_response_timeout(None).set_connection_timeout(None);
    let (inner, driver) = MultiplexedConnection::new_with_config(&plain, stream, config).await?;
    Ok((inner, tokio::spawn(driver).abort_handle()))
}

/// A stream that counts its bytes and ends with an answer that is too large.
struct Counted {
    inner: TcpStream,
    cost: Arc<Cost>,
    answered: Arc<AtomicU64>,
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
