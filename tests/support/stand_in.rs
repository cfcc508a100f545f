//! A stand-in for servers that no package brings here: it speaks the protocol on a real socket and answers by a script,
//! alone or in front of a real server whose answers it passes on.
//!
//! What it shows is what its script says. Each script names where its answers are from.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A command as it came, upper case, words apart.
pub type Words = Vec<String>;

/// What a script answers: the bytes of a reply, or `None` for what the server behind it should answer.
type Script = dyn Fn(&[String]) -> Option<Vec<u8>> + Send + Sync;

/// Answers until the process ends.
pub struct StandIn {
    address: String,
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl StandIn {
    /// Answers by a script; what it does not answer is unknown, as a Redis 7.0 says that.
    ///
    /// # Panics
    /// When loopback cannot be bound.
    pub fn alone(script: impl Fn(&[String]) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(script))
    }

    /// Answers by a script; what it does not answer is answered by the real server at this address.
    ///
    /// # Panics
    /// When loopback cannot be bound.
    pub fn before(
        server: &crate::Server,
        script: impl Fn(&[String]) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(server.address()), Arc::new(script))
    }

    fn start(behind: Option<String>, script: Arc<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("a bound socket has an address").to_string();
        let asked = Arc::new(Mutex::new(BTreeMap::new()));
        let noted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (behind, script, noted) = (behind.clone(), Arc::clone(&script), Arc::clone(&noted));
                // A client that hangs up ends its conversation and nothing else.
                std::thread::spawn(move || converse(client, behind.as_deref(), &*script, &noted));
            }
        });
        Self { address, asked }
    }

    /// Where it listens, `127.0.0.1:port`.
    pub fn address(&self) -> String {
        self.address.clone()
    }

    /// How often a command was asked whose first words are these, in upper case.
    pub fn asked(&self, words: &str) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|(known, _)| known.starts_with(words)).map(|(_, count)| count).sum()
    }
}

/// The bytes of a string reply.
pub fn bulk(text: &str) -> Vec<u8> {
    format!("${}\r\n{text}\r\n", text.len()).into_bytes()
}

/// The bytes of an error, its code word first.
pub fn error(text: &str) -> Vec<u8> {
    format!("-{text}\r\n").into_bytes()
}

/// The bytes of a whole number.
pub fn integer(number: i64) -> Vec<u8> {
    format!(":{number}\r\n").into_bytes()
}

/// The bytes of an array of replies.
pub fn array(replies: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", replies.len()).into_bytes();
    bytes.extend(replies.concat());
    bytes
}

/// What a server says to a command that it does not know.
pub fn unknown(words: &[String]) -> Vec<u8> {
    error(&format!("ERR unknown command '{}', with args beginning with: ", words[0].to_lowercase()))
}

fn converse(
    mut client: TcpStream,
    behind: Option<&str>,
    script: &Script,
    asked: &Mutex<BTreeMap<String, usize>>,
) -> Option<()> {
    let mut server = behind.map(|address| TcpStream::connect(address).expect("the real server is there"));
    let (mut received, mut answered) = (vec![], vec![]);
    loop {
        let (length, request) = loop {
            match frame_length(&received) {
                Some(length) => break (length, received[..length].to_vec()),
                None => more(&mut client, &mut received)?,
            }
        };
        received.drain(..length);
        let words = words_of(&request);
        *asked.lock().unwrap_or_else(PoisonError::into_inner).entry(words.join(" ")).or_default() += 1;
        let reply = match (script(&words), &mut server) {
            (Some(reply), _) => reply,
            (None, None) => unknown(&words),
            (None, Some(server)) => {
                server.write_all(&request).ok()?;
                let length = loop {
                    match frame_length(&answered) {
                        Some(length) => break length,
                        None => more(server, &mut answered)?,
                    }
                };
                answered.drain(..length).collect()
            }
        };
        client.write_all(&reply).ok()?;
    }
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut chunk = [0; 16 * 1024];
    let length = stream.read(&mut chunk).ok().filter(|length| *length > 0)?;
    bytes.extend(&chunk[..length]);
    Some(())
}

/// How long the first whole request or reply of the bytes is, in the second version of the protocol.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let line = bytes.windows(2).position(|pair| pair == b"\r\n")? + 2;
    let number = || std::str::from_utf8(&bytes[1..line - 2]).ok()?.parse::<i64>().ok();
    match bytes[0] {
        b'$' => {
            let length = usize::try_from(number()?).map_or(line, |length| line + length + 2);
            (bytes.len() >= length).then_some(length)
        }
        b'*' => (0..number()?.max(0))
            .try_fold(line, |length, _| Some(length + frame_length(bytes.get(length..)?)?)),
        _ => Some(line),
    }
}

fn words_of(request: &[u8]) -> Words {
    let text = String::from_utf8_lossy(request).to_uppercase();
    let lines = text.split("\r\n").filter(|line| !line.is_empty() && !line.starts_with(['*', '$']));
    lines.map(str::to_owned).collect()
}
