//! One connection to one node: dialled, secured, logged in, and asked one thing at a time.

mod listener;
mod secure;
mod wire;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::reading::FaultKind;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline, ProtocolVersion, RedisConnectionInfo, RedisError, Value};
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::address::{is_socket, write_address};
use super::allowed::{Command, Secret};
pub use super::cost::Cost;
use super::spec::RedisSpec;
use super::tls::Tls;
use super::trouble::Trouble;
use crate::sources::proxy::ProxySpec;
pub(super) use listener::Listener;
use wire::{Counted, Opened};

/// Where a node is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dial {
    /// The address as users see it: the announced one.
    pub shown: String,
    /// The host to dial, without brackets; a path from the root is a Unix socket.
    pub host: String,
    /// The port to dial; a Unix socket has none.
    pub port: u16,
}

impl Dial {
    /// The address that is dialled.
    pub fn dialled(&self) -> String {
        write_address(&self.host, self.port)
    }

    /// The node in a sentence: the announced address, and the one that is dialled where that is another.
    pub fn named(&self) -> String {
        let (shown, dialled) = (&self.shown, self.dialled());
        if *shown == dialled { format!("'{shown}'") } else { format!("'{shown}' (dialled at '{dialled}')") }
    }

    /// What a node that was asked here means by an empty host: this one, and this machine for a Unix socket.
    pub fn asked_host(&self) -> String {
        if is_socket(&self.host) { "127.0.0.1".to_owned() } else { self.host.clone() }
    }

    /// The name that its certificate must be for.
    pub fn certified(&self) -> String {
        secure::name_of(self)
    }
}

/// How to get in once a node is dialled: one for a whole target, because a password that is refused once is
/// tried nowhere else.
pub struct Access {
    tls: Option<Tls>,
    proxy: Option<ProxySpec>,
    username: Option<String>,
    password: Option<SecretString>,
    /// Held while a password is tried, so that nodes that are lost together do not all try one that was changed.
    gate: tokio::sync::Mutex<()>,
    refusal: Mutex<Option<Trouble>>,
    /// How to get into each Sentinel, where some are asked first: they have a password of their own, and what one of
    /// them refuses the others may take.
    sentinels: BTreeMap<String, Access>,
    /// What is sent after the log-in.
    manners: &'static [Command<'static>],
}

/// What makes us a good guest of a server.
const MANNERS: &[Command<'static>] = &[Command::SetName, Command::NoEvict, Command::NoTouch];

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
    /// Reads the certificates, when TLS is asked for.
    pub fn of(spec: &RedisSpec) -> Result<Self, Trouble> {
        let mut servers = Self::with(spec, spec.username.as_ref(), spec.password.as_ref())?;
        let Some(sentinel) = &spec.sentinel else { return Ok(servers) };
        for seed in &spec.seeds {
            let access = Self::with(spec, sentinel.username.as_ref(), sentinel.password.as_ref())?;
            servers.sentinels.insert(seed.clone(), Self { manners: &[Command::SetName], ..access });
        }
        Ok(servers)
    }

    fn with(
        spec: &RedisSpec,
        username: Option<&String>,
        password: Option<&SecretString>,
    ) -> Result<Self, Trouble> {
        Ok(Self {
            tls: spec.tls.as_ref().map(Tls::of).transpose()?,
            proxy: spec.proxy.clone(),
            username: username.cloned(),
            password: password.cloned(),
            gate: tokio::sync::Mutex::new(()),
            refusal: Mutex::new(None),
            sentinels: BTreeMap::new(),
            manners: MANNERS,
        })
    }

    /// How to get into the Sentinel that was given as this seed; `None` where no Sentinels are asked.
    pub(super) fn sentinel(&self, seed: &str) -> Option<&Self> {
        self.sentinels.get(seed)
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
        let Opened { wire, peer, own } = wire::open(dial, access.proxy.as_ref(), deadline).await?;
        let end = OwnEnd::new(cost, own);
        let answered = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: wire, cost: cost.clone(), answered: answered.clone() };
        let stream: Box<dyn Stream> = match &access.tls {
            None => Box::new(counted),
            Some(tls) => Box::new(secure::secure(dial, access, tls, counted, deadline).await?),
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
                let why = secure::why_closed(dial, access, deadline).await;
                Err(why.unwrap_or_else(|| secure::through_proxy(trouble, access)))
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
        for answer in self.ask_all(access.manners, deadline).await? {
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
