//! Free ports below the range from which the kernel takes those of outgoing connections, so that nothing takes
//! one between the look and the use.

use std::net::{Ipv4Addr, TcpListener};

use rand::Rng;

/// Where the lab's own ports lie.
const RANGE: std::ops::Range<u16> = 14_000..32_000;

/// As many different free loopback ports as asked, or `None` when too few are free.
pub(super) fn free_ports(count: usize) -> Option<Vec<u16>> {
    let mut held = Vec::with_capacity(count);
    for _ in 0..count * 50 {
        if held.len() == count {
            break;
        }
        let port = rand::rng().random_range(RANGE);
        // Held until all are found, so that no port is given twice.
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            held.push((port, listener));
        }
    }
    (held.len() == count).then(|| held.into_iter().map(|(port, _)| port).collect())
}
