//! Programs that run beside a test and end with it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// A program that ends with the test.
pub struct Running(Child);

impl Running {
    /// Starts a program that `scripts/test tools` installs; what it writes is not kept.
    pub fn start(program: &str, arguments: &[String]) -> Self {
        let child = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("the program is installed by 'scripts/test tools'"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port of loopback on which nobody listens now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
    listener.local_addr().expect("a bound socket has an address").port()
}
