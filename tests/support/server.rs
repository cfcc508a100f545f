//! One redis-server process.

use std::fs::File;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{FromRedisValue, RedisResult};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::{ServerRelease, free_port};

/// A running server; killed when dropped.
#[derive(Debug)]
pub struct Server {
    release: ServerRelease,
    process: Child,
    port: u16,
    options: Vec<String>,
    folder: TempDir,
}

impl Server {
    /// Starts a server with these options, such as `["--maxmemory", "10mb"]`. `%PORT%` in an option becomes a
    /// free port.
    ///
    /// # Panics
    /// When `redis-server` is not in PATH or does not start.
    pub fn start(options: &[&str]) -> Self {
        Self::start_release(ServerRelease::Installed, options)
    }

    /// Starts a server of this release, with options as for [`Server::start`].
    ///
    /// # Panics
    /// When there is no such server or it does not start.
    pub fn start_release(release: ServerRelease, options: &[&str]) -> Self {
        // Somebody else may take a free port first: then another one is tried.
        for _ in 0..5 {
            let port = free_port();
            let options: Vec<_> =
                options.iter().map(|option| option.replace("%PORT%", &free_port().to_string())).collect();
            let folder = TempDir::new().expect("a temporary folder can be made");
            let process = launch(release, port, &options, folder.path());
            let mut server = Self { release, process, port, options, folder };
            if server.wait_for_port() {
                return server;
            }
        }
        panic!("redis-server does not start with {options:?}");
    }

    /// Starts a Sentinel that watches nothing.
    ///
    /// # Panics
    /// When `redis-server` is not in PATH or does not start.
    pub fn start_sentinel() -> Self {
        Self::start(&["--sentinel"])
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The value after an option it was started with.
    pub fn option(&self, name: &str) -> Option<&str> {
        let index = self.options.iter().position(|option| option == name)?;
        self.options.get(index + 1).map(String::as_str)
    }

    /// A new connection of the default user.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub fn connect(&self) -> RedisResult<redis::Connection> {
        let connection = redis::Client::open(format!("redis://{}/", self.address()))?
            .get_connection_with_timeout(Duration::from_secs(5))?;
        connection.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(connection)
    }

    /// Runs one command as the default user.
    ///
    /// # Errors
    /// Whatever the server says.
    pub fn try_run<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut command = redis::Cmd::new();
        command.arg(words);
        command.query(&mut self.connect()?)
    }

    /// Runs one command that has to succeed.
    ///
    /// # Panics
    /// When it does not.
    pub fn run<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_run(words).unwrap_or_else(|error| panic!("{words:?} on {}: {error}", self.address()))
    }

    /// One field of its INFO, empty when it has none of that name. Asked again when the connection is cut: a Sentinel
    /// that gives a node another role ends all of its clients (`CLIENT KILL TYPE normal`).
    ///
    /// # Panics
    /// When it is not told.
    pub fn info(&self, field: &str) -> String {
        const WORDS: &[&str] = &["INFO", "everything"];
        let text: String = match self.try_run(WORDS) {
            Err(error) if error.is_connection_dropped() => self.run(WORDS),
            told => told.unwrap_or_else(|error| panic!("{WORDS:?} on {}: {error}", self.address())),
        };
        let prefix = format!("{field}:");
        text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default().trim().to_owned()
    }

    /// One number of its INFO.
    ///
    /// # Panics
    /// When the field is no number.
    pub fn info_number(&self, field: &str) -> f64 {
        self.info(field).parse().unwrap_or_else(|_| panic!("INFO has no number '{field}'"))
    }

    /// Kills it at once; [`Server::restart`] brings it back.
    pub fn kill(&mut self) {
        // A process that is gone already is as dead as it should be.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// Starts it again on the same port and in the same folder.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        self.kill();
        let deadline = Instant::now() + crate::PATIENCE;
        loop {
            self.process = launch(self.release, self.port, &self.options, self.folder.path());
            if self.wait_for_port() {
                return;
            }
            assert!(Instant::now() < deadline, "redis-server does not start again on port {}", self.port);
        }
    }

    /// Stops the process without ending it: it keeps its connections and answers nothing.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets a paused process go on.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("the process is there to be signalled");
    }

    fn wait_for_port(&mut self) -> bool {
        let deadline = Instant::now() + crate::PATIENCE;
        while Instant::now() < deadline {
            if self.process.try_wait().is_ok_and(|ended| ended.is_some()) {
                return false;
            }
            if TcpStream::connect(self.address()).is_ok() {
                // Somebody else's server may have taken the port: then ours ends, but not at once.
                match self.try_run::<String>(&["INFO", "server"]) {
                    Ok(info) => return info.contains(&format!("\nprocess_id:{}\r\n", self.process.id())),
                    // One that is full or wants a password says no more than this.
                    Err(_) => return self.process.try_wait().is_ok_and(|ended| ended.is_none()),
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn launch(release: ServerRelease, port: u16, options: &[String], folder: &Path) -> Child {
    let log = File::create(folder.join("log")).expect("a log can be written");
    // Empty, and read first: a Sentinel insists on a file that it can write to.
    let configuration = folder.join("redis.conf");
    File::options().append(true).create(true).open(&configuration).expect("a configuration can be written");
    Command::new(release.program())
        .arg(configuration)
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(options)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(Stdio::null())
        .spawn()
        .expect("the server can be run: scripts/test installs it, these tests need the real thing")
}
