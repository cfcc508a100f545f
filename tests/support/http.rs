//! A plain HTTP server on a real socket, which answers whatever a test wants, right or wrong.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Answers until the process ends.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    /// Connections so far.
    pub connections: Arc<AtomicUsize>,
    /// Requests so far.
    pub requests: Arc<AtomicUsize>,
    last_request: Arc<Mutex<String>>,
}

/// What becomes of a connection after an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Then {
    KeepAlive,
    HangUp,
}

/// A whole answer with a body.
pub fn answer(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

impl Server {
    /// Answers each request by its number, from 0, and keeps the connection; what does not say how long it is ends
    /// with the connection, an empty answer too.
    ///
    /// # Panics
    /// When loopback cannot be bound.
    pub fn keep_alive(respond: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        Self::start(Then::KeepAlive, move |number, _| respond(number).into_bytes())
    }

    /// The same with an answer that is not text.
    pub fn keep_alive_bytes(respond: impl Fn(usize) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::start(Then::KeepAlive, move |number, _| respond(number))
    }

    /// Hangs up after each answer, whatever length it says it has.
    pub fn hanging_up(respond: impl Fn(usize) -> String + Send + Sync + 'static) -> Self {
        Self::start(Then::HangUp, move |number, _| respond(number).into_bytes())
    }

    /// Answers each request by its path.
    pub fn by_path(respond: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::by_head(move |head| respond(head.split(' ').nth(1).unwrap_or("/")))
    }

    /// Answers each request by its head: the request line and the headers.
    pub fn by_head(respond: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::start(Then::KeepAlive, move |_, head| respond(head).into_bytes())
    }

    /// The address of a page.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The head of the newest request.
    pub fn last_request(&self) -> String {
        self.last_request.lock().expect("no test panics with the lock held").clone()
    }

    fn start(then: Then, respond: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
        let server = Self {
            address: listener.local_addr().expect("a bound socket has an address"),
            connections: Arc::default(),
            requests: Arc::default(),
            last_request: Arc::default(),
        };
        let (connections, requests) = (Arc::clone(&server.connections), Arc::clone(&server.requests));
        let last_request = Arc::clone(&server.last_request);
        let respond = Arc::new(respond);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                connections.fetch_add(1, Ordering::SeqCst);
                let (requests, last_request) = (Arc::clone(&requests), Arc::clone(&last_request));
                let respond = Arc::clone(&respond);
                std::thread::spawn(move || serve(socket, then, &requests, &last_request, &*respond));
            }
        });
        server
    }
}

fn serve(
    mut socket: TcpStream,
    then: Then,
    requests: &AtomicUsize,
    last_request: &Mutex<String>,
    respond: &(impl Fn(usize, &str) -> Vec<u8> + ?Sized),
) {
    while let Some(head) = read_head(&mut socket) {
        let number = requests.fetch_add(1, Ordering::SeqCst);
        last_request.lock().expect("no test panics with the lock held").clone_from(&head);
        let answer = respond(number, &head);
        let is_last = then == Then::HangUp || !answer.windows(15).any(|bytes| bytes == b"Content-Length:");
        if socket.write_all(&answer).is_err() || is_last {
            return;
        }
    }
}

fn read_head(socket: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}
