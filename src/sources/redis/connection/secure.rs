//! TLS on an open way to a node, and what it means when a server hangs up.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use headwater_engine::reading::FaultKind;
use redis::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::client::TlsStream;

use super::wire::{Counted, Wire, open};
use super::{Access, Cost, Dial};
use crate::sources::redis::address::read_address;
use crate::sources::redis::allowed::Command;
use crate::sources::redis::tls::{self, Tls};
use crate::sources::redis::trouble::Trouble;

/// The name that a node's certificate must be for, and that it is told we came for: the host that is dialled; the one
/// that it announces where a name is reached at a bare address, as through a port-forward.
pub(super) fn name_of(dial: &Dial) -> String {
    let is_name = |host: &str| host.parse::<std::net::IpAddr>().is_err() && host != "localhost";
    let announced = read_address(&dial.shown).map(|(host, _)| host);
    match announced {
        Some(announced) if !is_name(&dial.host) && is_name(&announced) => announced,
        _ => dial.host.clone(),
    }
}

/// Makes a stream a TLS one.
pub(super) async fn secure(
    dial: &Dial,
    access: &Access,
    tls: &Tls,
    stream: Counted,
    deadline: Instant,
) -> Result<TlsStream<Counted>, Trouble> {
    let (connector, name) = tls.towards(&name_of(dial))?;
    let mut handshake = pin!(timeout_at(deadline, connector.connect(name, stream)));
    // A plain Redis port waits for the end of a line that never comes: ask it plainly before waiting on.
    let outcome = tokio::select! {
        biased;
        outcome = &mut handshake => outcome,
        () = tokio::time::sleep(Duration::from_millis(1_500)) => match speaks_plain(dial, access, deadline).await {
            true => return Err(plain_port(dial)),
            false => handshake.await,
        },
    };
    match outcome {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => match tls::handshake_trouble(&error, dial, &name_of(dial), tls) {
            Some(trouble) => Err(trouble),
            None if speaks_plain(dial, access, deadline).await => Err(plain_port(dial)),
            None => Err(tls::tls_trouble(format!("{} ended the TLS handshake: {error}", dial.named()))),
        },
        Err(_) => Err(Trouble::silent("the TLS handshake", &dial.shown)),
    }
}

fn plain_port(dial: &Dial) -> Trouble {
    tls::tls_trouble(format!(
        "{} speaks plain Redis, not TLS: write redis:// instead of rediss://, or give its TLS port",
        dial.named()
    ))
}

/// One more way to the same node, to find out about it.
async fn plainly(dial: &Dial, access: &Access, deadline: Instant) -> Option<Wire> {
    open(dial, access.proxy.as_ref(), deadline).await.ok().map(|opened| opened.wire)
}

/// Whether a port answers PING without TLS.
async fn speaks_plain(dial: &Dial, access: &Access, deadline: Instant) -> bool {
    let soon = deadline.min(Instant::now() + Duration::from_secs(2));
    let probe = async {
        let mut stream = plainly(dial, access, soon).await?;
        stream.write_all(&Command::Ping.to_cmd().get_packed_command()).await.ok()?;
        let mut first = [0];
        stream.read_exact(&mut first).await.ok()?;
        matches!(&first, b"+" | b"-").then_some(())
    };
    timeout_at(soon, probe).await.ok().flatten().is_some()
}

/// Why a server hung up on the first command: it may be full and say so unasked, wait for TLS, want to know who we are,
/// or be no Redis.
pub(super) async fn why_closed(dial: &Dial, access: &Access, deadline: Instant) -> Option<Trouble> {
    let soon = deadline.min(Instant::now() + Duration::from_secs(2));
    if let Some(tls) = &access.tls {
        let error = alert(dial, access, tls, soon).await?;
        return tls::handshake_trouble(&error, dial, &name_of(dial), tls);
    }
    if let Some(said) = listen(dial, access, deadline).await
        && !said.starts_with(&[TLS_ALERT])
    {
        return match redis::parse_redis_value(&said).and_then(Value::extract_error) {
            Ok(_) => None,
            Err(error) => Some(Trouble::from_redis(&error, &Command::Ping, &dial.shown, None)),
        };
    }
    let any = tls::any()?;
    let (connector, name) = any.towards(&dial.host).ok()?;
    let stream = plainly(dial, access, deadline).await?;
    let is_tls = match timeout_at(soon, connector.connect(name, stream)).await.ok()? {
        Ok(_) => true,
        Err(error) => tls::handshake_trouble(&error, dial, &dial.host, &any).is_some(),
    };
    is_tls.then(|| {
        tls::tls_trouble(format!(
            "{} speaks TLS, not plain Redis: write rediss:// instead of redis://, or give its plain port",
            dial.named()
        ))
    })
}

/// What a server objects to after a handshake that seemed to have come about: in TLS 1.3 it looks at a client's
/// certificate only then.
async fn alert(dial: &Dial, access: &Access, tls: &Tls, soon: Instant) -> Option<io::Error> {
    let inner = plainly(dial, access, soon).await?;
    let counted = Counted { inner, cost: Arc::new(Cost::default()), answered: Arc::new(AtomicU64::new(0)) };
    let mut stream = secure(dial, access, tls, counted, soon).await.ok()?;
    let asked = async {
        stream.write_all(&Command::Ping.to_cmd().get_packed_command()).await?;
        stream.flush().await?;
        stream.read_u8().await
    };
    timeout_at(soon, asked).await.ok()?.err()
}

/// The first byte of what a TLS server says to a plain client.
const TLS_ALERT: u8 = 0x15;

/// What a server says unasked or, when it says nothing, to a PING; `None` when it says nothing at all.
async fn listen(dial: &Dial, access: &Access, deadline: Instant) -> Option<Vec<u8>> {
    let mut stream = plainly(dial, access, deadline).await?;
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

/// What is said of a connection that ended at once and through a proxy: such a proxy often says that it got through and
/// then did not.
pub(super) fn through_proxy(trouble: Trouble, access: &Access) -> Trouble {
    let Some(proxy) = access.proxy.as_ref().filter(|_| trouble.kind == FaultKind::Unreachable) else {
        return trouble;
    };
    let message = format!(
        "{}; it was dialled by the proxy '{}', and ssh -D hangs up like this when it cannot reach a node",
        trouble.message,
        proxy.address()
    );
    Trouble { message, ..trouble }
}
