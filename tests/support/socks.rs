//! A SOCKS5 proxy on a real socket: a stand-in for a jump host, written for these tests.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A proxy that serves until the process ends.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

/// How a proxy treats its clients.
#[derive(Clone, Default)]
pub struct Habits {
    /// The names that it can look up, each with what is dialled for it, both `host:port`; addresses are dialled as they
    /// are.
    pub names: BTreeMap<String, String>,
    /// Who may use it; everyone without.
    pub login: Option<(String, String)>,
    /// Whether it says that it got through before it has tried, and hangs up when it does not, as `ssh -D` does.
    pub promises: bool,
}

impl Proxy {
    /// Starts one.
    ///
    /// # Panics
    /// When loopback cannot be bound.
    pub fn start(habits: Habits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be bound");
        let address = listener.local_addr().expect("a bound socket has an address");
        let asked = Arc::new(Mutex::new(vec![]));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (habits, log) = (habits.clone(), Arc::clone(&log));
                // Whatever ends a client's connection ends nothing else.
                std::thread::spawn(move || drop(serve(client, &habits, &log)));
            }
        });
        Self { address, asked }
    }

    /// What it was asked for so far, as `host:port`.
    ///
    /// # Panics
    /// When a thread of it has panicked.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nothing panics with the lock held").clone()
    }
}

fn serve(mut client: TcpStream, habits: &Habits, log: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let [_, count] = read(&mut client)?;
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods)?;
    let wanted = if habits.login.is_some() { 2 } else { 0 };
    if !methods.contains(&wanted) {
        return client.write_all(&[5, 0xff]);
    }
    client.write_all(&[5, wanted])?;
    if let Some((user, password)) = &habits.login {
        let [_] = read(&mut client)?;
        let given = (read_short(&mut client)?, read_short(&mut client)?);
        let is_right = given == (user.clone(), password.clone());
        client.write_all(&[1, u8::from(!is_right)])?;
        if !is_right {
            return Ok(());
        }
    }
    let [_, _, _, kind] = read(&mut client)?;
    let host = match kind {
        1 => std::net::Ipv4Addr::from(read::<4>(&mut client)?).to_string(),
        4 => format!("[{}]", std::net::Ipv6Addr::from(read::<16>(&mut client)?)),
        _ => read_short(&mut client)?,
    };
    let place = format!("{host}:{}", u16::from_be_bytes(read(&mut client)?));
    log.lock().expect("nothing panics with the lock held").push(place.clone());
    let known = if kind == 3 { habits.names.get(&place).cloned() } else { Some(place) };
    let answer = |code| [5, code, 0, 1, 0, 0, 0, 0, 0, 0];
    if habits.promises {
        client.write_all(&answer(0))?;
    }
    let outcome = match known.map(TcpStream::connect) {
        Some(Ok(node)) => Ok(node),
        Some(Err(_)) => Err(5),
        None => Err(4),
    };
    match outcome {
        Err(_) if habits.promises => Ok(()),
        Err(code) => client.write_all(&answer(code)),
        Ok(node) => {
            if !habits.promises {
                client.write_all(&answer(0))?;
            }
            pass_on(client, node)
        }
    }
}

fn pass_on(client: TcpStream, node: TcpStream) -> std::io::Result<()> {
    let (mut from_node, mut to_client) = (node.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut from_node, &mut to_client);
        let _ = to_client.shutdown(Shutdown::Both);
    });
    let (mut from_client, mut to_node) = (client, node);
    let passed = std::io::copy(&mut from_client, &mut to_node);
    to_node.shutdown(Shutdown::Both)?;
    passed.map(|_| ())
}

fn read<const N: usize>(stream: &mut TcpStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_short(stream: &mut TcpStream) -> std::io::Result<String> {
    let [length] = read(stream)?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
