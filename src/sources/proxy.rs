//! SOCKS5, the client's half (RFC 1928 and 1929): the way to targets that only another machine can reach.
//!
//! Names are always looked up by the proxy (`socks5h`), because names inside a network mean nothing outside of it.

use std::fmt;
use std::io;

use headwater_engine::reading::FaultKind;
use secrecy::{ExposeSecret, SecretString};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::dial::{Failure as NoConnection, tcp};

/// A SOCKS5 proxy.
#[derive(Clone)]
pub struct ProxySpec {
    /// Its host, without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Who we are to it.
    pub username: Option<String>,
    /// The password for that.
    pub password: Option<SecretString>,
}

impl ProxySpec {
    /// `host:port`, with brackets around an IPv6 address.
    pub fn address(&self) -> String {
        crate::sources::redis::address::write_address(&self.host, self.port)
    }
}

impl fmt::Debug for ProxySpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// The address as users write it, without user and password.
impl fmt::Display for ProxySpec {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "socks5h://{}", self.address())
    }
}

/// Why a proxy does not connect us: the kind of failure, and a sentence with what to do.
pub(crate) type Refusal = (FaultKind, String);

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;

/// Connects to a host and port through a proxy before the deadline. What is said about them names them as `shown`.
pub(crate) async fn open(
    proxy: &ProxySpec,
    host: &str,
    port: u16,
    shown: &str,
    deadline: Instant,
) -> Result<TcpStream, Refusal> {
    let mut stream =
        tcp(&proxy.host, proxy.port, deadline).await.map_err(|failure| of_proxy(proxy, failure))?;
    match timeout_at(deadline, ask_for(&mut stream, proxy, host, port, shown)).await {
        Ok(outcome) => outcome.map(|()| stream),
        Err(_) => {
            let message = format!(
                "the proxy '{}' does not get through to '{shown}': the machine is gone, or a firewall behind the \
                 proxy drops it",
                proxy.address()
            );
            Err((FaultKind::Silent, message))
        }
    }
}

/// Asks the proxy behind a fresh connection to connect us to a host and port; afterwards the stream is the way there.
/// What is said about them names them as `shown`.
async fn ask_for<S>(
    stream: &mut S,
    proxy: &ProxySpec,
    host: &str,
    port: u16,
    shown: &str,
) -> Result<(), Refusal>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let broken = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::UnexpectedEof => format!(
                "the proxy '{}' hung up when it was asked for '{shown}': it may not be a SOCKS5 proxy, or refuses us",
                proxy.address()
            ),
            _ => format!("the proxy '{}' was lost ({error}): check that it is running", proxy.address()),
        };
        (FaultKind::Unreachable, message)
    };
    greet(stream, proxy).await.map_err(|failure| failure.or_broken(broken))?;
    stream.write_all(&request(host, port)).await.map_err(broken)?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await.map_err(broken)?;
    if head[0] != VERSION {
        return Err(no_socks(proxy));
    }
    if head[1] != 0 {
        return Err(refused(proxy, head[1], shown));
    }
    // The address that the proxy uses towards the node; nobody needs it, but it comes before the node's own bytes.
    let length = match head[3] {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await.map_err(broken)?),
        _ => return Err(no_socks(proxy)),
    };
    let mut bound = vec![0; length + 2];
    stream.read_exact(&mut bound).await.map_err(broken)?;
    Ok(())
}

enum Failure {
    Broken(io::Error),
    Said(Refusal),
}

impl Failure {
    fn or_broken(self, broken: impl Fn(io::Error) -> Refusal) -> Refusal {
        match self {
            Self::Broken(error) => broken(error),
            Self::Said(refusal) => refusal,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Agrees on how to log in, and does.
async fn greet<S>(stream: &mut S, proxy: &ProxySpec) -> Result<(), Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let has_login = proxy.username.is_some() || proxy.password.is_some();
    let greeting: &[u8] = if has_login { &[VERSION, 2, NO_LOGIN, LOGIN] } else { &[VERSION, 1, NO_LOGIN] };
    stream.write_all(greeting).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    let auth = |message| Err(Failure::Said((FaultKind::Auth, message)));
    match answer {
        [VERSION, NO_LOGIN] => Ok(()),
        [VERSION, LOGIN] if has_login => {
            let password = proxy.password.as_ref().map_or("", |password| password.expose_secret());
            let mut login = vec![1];
            push_short(&mut login, proxy.username.as_deref().unwrap_or_default());
            push_short(&mut login, password);
            stream.write_all(&login).await?;
            stream.read_exact(&mut answer).await?;
            match answer[1] {
                0 => Ok(()),
                _ => auth(format!(
                    "the proxy '{}' refused user and password: correct them in its socks5h:// address",
                    proxy.address()
                )),
            }
        }
        [VERSION, _] => auth(format!(
            "the proxy '{}' wants to know who asks: write socks5h://USER:PASSWORD@{}",
            proxy.address(),
            proxy.address()
        )),
        _ => Err(Failure::Said(no_socks(proxy))),
    }
}

/// A text with its length in one byte; longer ones are cut, and then refused like any other wrong one.
fn push_short(bytes: &mut Vec<u8>, text: &str) {
    let length = text.len().min(255);
    bytes.push(u8::try_from(length).unwrap_or(u8::MAX));
    bytes.extend_from_slice(&text.as_bytes()[..length]);
}

fn request(host: &str, port: u16) -> Vec<u8> {
    let mut bytes = vec![VERSION, 1, 0];
    match host.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            bytes.push(1);
            bytes.extend(address.octets());
        }
        Ok(std::net::IpAddr::V6(address)) => {
            bytes.push(4);
            bytes.extend(address.octets());
        }
        Err(_) => {
            bytes.push(3);
            push_short(&mut bytes, host);
        }
    }
    bytes.extend(port.to_be_bytes());
    bytes
}

fn of_proxy(proxy: &ProxySpec, failure: NoConnection) -> Refusal {
    let address = proxy.address();
    let unreachable = |message| (FaultKind::Unreachable, message);
    match failure {
        NoConnection::NoName(error) => unreachable(format!(
            "the name of the proxy '{address}' does not resolve ({error}): correct it or check DNS"
        )),
        NoConnection::NoAnswerToName => {
            unreachable(format!("DNS does not answer for the proxy '{address}': check the resolver"))
        }
        NoConnection::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => unreachable(format!(
            "the proxy '{address}' refused the connection: start it, as with ssh -N -D {} JUMPHOST",
            proxy.port
        )),
        NoConnection::Io(error) => {
            unreachable(format!("the proxy '{address}' cannot be reached ({error}): check its address"))
        }
        NoConnection::NoAnswer => (
            FaultKind::Silent,
            format!(
                "the proxy '{address}' does not answer a connection attempt: check its address and firewalls"
            ),
        ),
    }
}

fn no_socks(proxy: &ProxySpec) -> Refusal {
    let message =
        format!("'{}' does not answer as a SOCKS5 proxy does: check host and port", proxy.address());
    (FaultKind::Malformed, message)
}

fn refused(proxy: &ProxySpec, code: u8, shown: &str) -> Refusal {
    let why = match code {
        2 => "does not allow connections to it: ask for the right, or take another proxy",
        3 => "has no route to its network: take a proxy inside that network",
        4 => "cannot reach its host: the announced address or name may mean nothing there (see address_map)",
        5 => "was refused the connection there: nothing listens; start it or correct the address",
        6 => "got no answer from it: the machine is gone or a firewall drops it",
        7 | 8 => "cannot connect to addresses of this kind: give a name or an IPv4 address",
        _ => "could not connect to it and does not say why: look into the proxy's log",
    };
    (FaultKind::Unreachable, format!("'{shown}' is out of reach: the proxy '{}' {why}", proxy.address()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(username: Option<&str>) -> ProxySpec {
        ProxySpec {
            host: "jump.example".to_owned(),
            port: 1_080,
            username: username.map(str::to_owned),
            password: username.map(|_| "s3cr".to_owned().into()),
        }
    }

    /// What comes of these answers of a proxy, and what it was sent.
    async fn ask(username: Option<&str>, host: &str, answers: &[u8]) -> (Result<(), Refusal>, Vec<u8>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1_024);
        theirs.write_all(answers).await.unwrap();
        theirs.shutdown().await.unwrap();
        let outcome = ask_for(&mut ours, &proxy(username), host, 6_379, "node:6379").await;
        drop(ours);
        let mut sent = vec![];
        theirs.read_to_end(&mut sent).await.unwrap();
        (outcome, sent)
    }

    #[tokio::test]
    async fn the_wire_is_that_of_the_standard_and_names_are_left_to_the_proxy() {
        let (outcome, sent) = ask(None, "a.b", &[5, 0, 5, 0, 0, 1, 9, 9, 9, 9, 0, 7]).await;
        assert_eq!(outcome, Ok(()));
        assert_eq!(sent, [&[5, 1, 0][..], &[5, 1, 0, 3, 3], b"a.b", &[0x18, 0xeb]].concat());
        let (outcome, sent) = ask(Some("me"), "::1", &[5, 2, 1, 0, 5, 0, 0, 3, 1, b'x', 0, 7]).await;
        assert_eq!(outcome, Ok(()));
        let address = [&[0; 15][..], &[1]].concat();
        let login = [&[5, 2, 0, 2, 1, 2][..], b"me", &[4], b"s3cr"].concat();
        assert_eq!(sent, [&login[..], &[5, 1, 0, 4], &address, &[0x18, 0xeb]].concat());
    }

    #[tokio::test]
    async fn each_refusal_has_its_kind_and_its_sentence_and_no_password() {
        let cases: [(&[u8], FaultKind, &str); 8] = [
            (&[5, 0, 5, 4, 0, 1], FaultKind::Unreachable, "cannot reach its host"),
            (&[5, 0, 5, 5, 0, 1], FaultKind::Unreachable, "was refused the connection there"),
            (&[5, 0, 5, 99, 0, 1], FaultKind::Unreachable, "does not say why"),
            (&[5, 0xff], FaultKind::Auth, "wants to know who asks"),
            (&[5, 2, 1, 1], FaultKind::Auth, "refused user and password"),
            (b"HTTP/1.1 400", FaultKind::Malformed, "does not answer as a SOCKS5 proxy"),
            (&[5, 0], FaultKind::Unreachable, "hung up"),
            (&[5, 0, 5, 0, 0, 9], FaultKind::Malformed, "does not answer as a SOCKS5 proxy"),
        ];
        for (answers, kind, words) in cases {
            let (said, message) = ask(Some("me"), "node", answers).await.0.unwrap_err();
            assert_eq!(said, kind, "{message}");
            assert!(message.contains(words) && message.contains("'jump.example:1080'"), "{message}");
            assert!(!message.contains("s3cr"), "{message}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_answer_is_read_without_a_panic(answers in proptest::collection::vec(0_u8.., 0..64)) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = runtime.block_on(ask(Some("me"), "node", &answers));
        }
    }
}
