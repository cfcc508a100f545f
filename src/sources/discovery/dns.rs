//! Targets that DNS knows: the addresses of a name, or the services under it.

pub mod message;
mod resolver_file;
mod system;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::quantity::counted;
use headwater_engine::reading::FaultKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::list::Group;
use super::{Named, Trouble};
use crate::sources::LONGEST_WAIT;
pub use message::Record;
use message::{Answer, Found, answer, question, with_longer_answers};
use resolver_file::ResolverFile;
use system::Said;

/// How long one server is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Rounds over all servers: a datagram may get lost, and what stands between may drop the question for a longer answer,
/// so it is asked for in the first alone.
const ROUNDS: usize = 2;

/// The longest datagram that is taken, in bytes; some servers send more than they are asked for.
const LONGEST_ANSWER: usize = 4_096;

/// What DNS is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The name; one that ends with a dot is whole as it is.
    pub name: String,
    /// The kind of records.
    pub record: Record,
    /// The port of all targets, where records are addresses alone.
    pub port: u16,
    /// The server that is asked, instead of those that this machine asks.
    pub server: Option<SocketAddr>,
}

/// The targets that a name stands for at present, `host:port`; gives up after [`LONGEST_WAIT`].
pub(super) async fn resolve(query: &Query) -> Result<Named, Trouble> {
    let asked = format!("{} records of {}", query.record.word(), RemoteText::new(&query.name));
    timeout(LONGEST_WAIT, look_up(query, &asked, ResolverFile::read(query.server))).await.unwrap_or_else(
        |_| {
            let message =
                format!("{asked}: no answer within {} s: check the DNS servers", LONGEST_WAIT.as_secs());
            Err(Trouble::new(FaultKind::Silent, message))
        },
    )
}

async fn look_up(query: &Query, asked: &str, here: ResolverFile) -> Result<Named, Trouble> {
    let said = match (query.record, query.server) {
        (Record::Srv, _) | (_, Some(_)) => Said::None,
        (_, None) => system::ask(&query.name, query.record).await,
    };
    named(query, asked, &here, said).await
}

/// The targets, where this machine's resolver has `said` so much of them.
async fn named(query: &Query, asked: &str, here: &ResolverFile, said: Said) -> Result<Named, Trouble> {
    let own = "this machine's resolver";
    let (records, by) = match said {
        Said::Found(found) => (Records { found, odd: 0 }, own.to_owned()),
        Said::None => (ask_all(query, here, asked).await?, words(&here.servers)),
        Said::Failed(kind, why) => match ask_all(query, here, asked).await {
            Ok(records) if !records.found.is_empty() => (records, words(&here.servers)),
            // What the machine finds elsewhere has no record there.
            Ok(_) => {
                let message = format!(
                    "{asked}: {own} cannot say ({why}), and {} alone cannot say that there is none: check how this \
                     machine resolves names",
                    words(&here.servers)
                );
                return Err(Trouble::new(kind, message));
            }
            Err(Trouble { kind, message }) => {
                return Err(Trouble::new(kind, format!("{message}; {own} cannot say either ({why})")));
            }
        },
    };
    let targets: Vec<String> = records
        .found
        .into_iter()
        .map(|found| match found {
            Found::Address(address) => SocketAddr::new(address, query.port).to_string(),
            Found::Service(host, port) => format!("{host}:{port}"),
        })
        .collect();
    let told = match targets.as_slice() {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    let left_out = (records.odd > 0)
        .then(|| format!("{} left out: no host and port that can be asked", counted(records.odd, "record")));
    Ok(Named {
        groups: vec![Group { targets, labels: BTreeMap::new() }],
        left_out,
        found: format!("{asked}, by {by}: {told}"),
    })
}

/// What was found, and how many records name nothing that can be asked.
#[derive(Debug, Default)]
struct Records {
    found: Vec<Found>,
    odd: u64,
}

fn words(servers: &[SocketAddr]) -> String {
    servers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Asks under each name that may be meant until one exists.
async fn ask_all(query: &Query, here: &ResolverFile, asked: &str) -> Result<Records, Trouble> {
    if here.servers.is_empty() {
        let message =
            format!("{asked}: this machine names no DNS server: write dns_server = \"HOST:53\" in its table");
        return Err(Trouble::new(FaultKind::Unreachable, message));
    }
    let (mut servers, mut is_unsaid) = (here.servers.clone(), false);
    for name in here.names(&query.name) {
        let id = rand::random();
        let Some(bytes) = question(id, &name, query.record) else {
            let message = format!("'{}' cannot be a name of DNS", RemoteText::new(&name));
            return Err(Trouble::new(FaultKind::Malformed, message));
        };
        match ask_servers(&mut servers, &bytes, query.record).await {
            Ok(Answer::Records { found, odd }) => return Ok(Records { found, odd: odd as u64 }),
            Ok(Answer::NoSuchRecord) => {}
            Ok(Answer::Unsaid) => is_unsaid = true,
            Ok(Answer::Truncated) => {
                let message = format!("{asked}: the answer is cut off, also over TCP");
                return Err(Trouble::new(FaultKind::Malformed, message));
            }
            Ok(Answer::Failed(code)) => {
                let message = format!("{asked}: the server cannot say (code {code}): look into its log");
                return Err(Trouble::new(FaultKind::Busy, message));
            }
            Err(error) => {
                let (kind, why) = match error.kind() {
                    io::ErrorKind::TimedOut => (FaultKind::Silent, "no answer".to_owned()),
                    io::ErrorKind::InvalidData => (FaultKind::Malformed, "the answer is none".to_owned()),
                    _ => (FaultKind::Unreachable, error.to_string()),
                };
                let message = format!("{asked}: {why} from {}: check the DNS server", words(&here.servers));
                return Err(Trouble::new(kind, message));
            }
        }
    }
    if is_unsaid {
        // Taken for "no target", it would end every task.
        let message = format!(
            "{asked}: {} gives no record and does not say that there is none (no SOA): is it the server of this zone, \
             and does it look elsewhere for us?",
            words(&here.servers)
        );
        return Err(Trouble::new(FaultKind::Malformed, message));
    }
    Ok(Records::default())
}

/// The first answer that says something; of failures the last. Who gave it is asked first the next time.
async fn ask_servers(servers: &mut [SocketAddr], asked: &[u8], record: Record) -> io::Result<Answer> {
    let mut last = Err(io::ErrorKind::TimedOut.into());
    for round in 0..ROUNDS {
        let sent = if round == 0 { with_longer_answers(asked) } else { asked.to_vec() };
        for index in 0..servers.len() {
            let told = timeout(PATIENCE, ask(servers[index], &sent, asked, record)).await;
            match told.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(answer @ (Answer::Records { .. } | Answer::NoSuchRecord)) => {
                    servers[..=index].rotate_right(1);
                    return Ok(answer);
                }
                other => last = other,
            }
        }
    }
    last
}

/// Asks one server, in these words where it understands them, else in the plain ones of old.
async fn ask(server: SocketAddr, sent: &[u8], asked: &[u8], record: Record) -> io::Result<Answer> {
    match ask_by_datagram(server, sent, asked, record).await? {
        told if told.is_of_an_old_server() && sent != asked => {
            ask_by_datagram(server, asked, asked, record).await
        }
        told => Ok(told),
    }
}

async fn ask_by_datagram(
    server: SocketAddr,
    sent: &[u8],
    asked: &[u8],
    record: Record,
) -> io::Result<Answer> {
    let any: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
    let socket = UdpSocket::bind(any).await?;
    // Only what this server sends is taken.
    socket.connect(server).await?;
    socket.send(sent).await?;
    let mut bytes = vec![0; LONGEST_ANSWER];
    loop {
        let length = socket.recv(&mut bytes).await?;
        match answer(&bytes[..length], asked, record) {
            Some(Answer::Truncated) => return ask_over_tcp(server, asked, record).await,
            Some(told) => return Ok(told),
            // Not an answer to this: the right one may still come.
            None => {}
        }
    }
}

async fn ask_over_tcp(server: SocketAddr, asked: &[u8], record: Record) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(asked.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), asked].concat()).await?;
    let length = stream.read_u16().await?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    answer(&bytes, asked, record).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that gives every question back with this code and nothing else.
    async fn server(code: u8) -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        tokio::spawn(async move {
            let mut bytes = vec![0; LONGEST_ANSWER];
            while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
                bytes[2] |= 0x80;
                bytes[3] = code;
                socket.send_to(&bytes[..length], from).await.unwrap();
            }
        });
        address
    }

    /// The targets at port 1, where this machine's resolver says this and DNS this code.
    async fn told(said: Said, code: u8) -> Result<Vec<String>, Trouble> {
        let query = Query { name: "ranker".to_owned(), record: Record::A, port: 1, server: None };
        let here = ResolverFile::of("").asking(server(code).await);
        let named = named(&query, "it", &here, said).await?;
        Ok(named.groups.into_iter().flat_map(|group| group.targets).collect())
    }

    #[tokio::test]
    async fn no_target_ends_unless_this_machine_and_dns_agree_that_there_is_none() {
        const FAILED: u8 = 2;
        const NO_SUCH_NAME: u8 = 3;
        let found = || Said::Found(vec![Found::Address([127, 0, 0, 1].into())]);
        assert_eq!(told(found(), FAILED).await.unwrap(), ["127.0.0.1:1"]);
        assert_eq!(told(Said::None, NO_SUCH_NAME).await.unwrap(), [""; 0]);
        assert_eq!(told(Said::None, FAILED).await.unwrap_err().kind, FaultKind::Busy);
        let why = "Temporary failure in name resolution";
        for (code, kind) in [(NO_SUCH_NAME, FaultKind::Silent), (FAILED, FaultKind::Busy)] {
            let failed = told(Said::Failed(FaultKind::Silent, why.to_owned()), code).await.unwrap_err();
            assert_eq!(failed.kind, kind);
            assert!(failed.message.contains(why), "{}", failed.message);
        }
    }

    #[tokio::test]
    async fn a_failure_of_this_machines_resolver_is_none_of_the_name() {
        let query = Query { name: "a\0b".to_owned(), record: Record::A, port: 1, server: None };
        let here = ResolverFile::of("").asking(server(3).await);
        let failed = look_up(&query, "it", here).await.unwrap_err();
        assert!(failed.message.contains("this machine's resolver cannot say"), "{}", failed.message);
    }
}
