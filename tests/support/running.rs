//! Programs that run beside a test and end with it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::PATIENCE;

/// A program that ends with the test.
pub struct Running(Child);

impl Running {
    /// Starts a program that `scripts/test tools` installs; what it writes is not kept.
    pub fn start(program: &str, arguments: &[String]) -> Self {
        let child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("the program is installed by 'scripts/test tools'"))
    }

    /// Starts a program that listens on the port that its arguments name, and waits until it does. Somebody else may take
    /// a free port first: then another one is tried.
    ///
    /// # Panics
    /// When it does not listen.
    pub fn listening(program: &str, arguments: impl Fn(u16) -> Vec<String>) -> (Self, u16) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let port = free_port();
            let mut server = Self::start(program, &arguments(port));
            while server.0.try_wait().is_ok_and(|ended| ended.is_none()) {
                if listens(server.0.id(), port) {
                    return (server, port);
                }
                assert!(Instant::now() < deadline, "{program} does not listen on port {port}");
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(Instant::now() < deadline, "{program} ends as soon as it is started");
        }
    }
}

/// Whether a process is the one that listens on a port, as Linux tells of its sockets.
fn listens(process: u32, port: u16) -> bool {
    const LISTENING: &str = "0A";
    let port = format!(":{port:04X}");
    let tables = ["tcp", "tcp6"]
        .map(|table| std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default());
    let sockets: Vec<String> = tables
        .iter()
        .flat_map(|table| table.lines().skip(1))
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_it = words.get(1)?.ends_with(&port) && *words.get(3)? == LISTENING;
            is_it.then(|| Some(format!("socket:[{}]", words.get(9)?)))?
        })
        .collect();
    let files = std::fs::read_dir(format!("/proc/{process}/fd"));
    files.is_ok_and(|mut files| {
        files.any(|file| {
            let target = file.and_then(|file| std::fs::read_link(file.path()));
            target.is_ok_and(|target| sockets.iter().any(|socket| target.as_os_str() == socket.as_str()))
        })
    })
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of loopback on which nobody listens now; somebody may before it is used.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    listener.local_addr().expect("a bound socket has an address").port()
}
