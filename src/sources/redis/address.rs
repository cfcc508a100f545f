//! Addresses of nodes: how they are written, and where announced ones are reached from here.

use std::collections::BTreeMap;

/// In an address map, stands for every announced address that has no line of its own; what it is mapped to is a host,
/// reached at the announced port.
pub const ANY: &str = "*";

/// `host:port`, with brackets around an IPv6 address; a Unix socket is its path alone.
pub fn write_address(host: &str, port: u16) -> String {
    match () {
        () if is_socket(host) => host.to_owned(),
        () if host.contains(':') => format!("[{host}]:{port}"),
        () => format!("{host}:{port}"),
    }
}

/// Host and port of `host:port`, `[v6]:port` or a bare host with Redis's own port; a path from the root is a Unix socket,
/// which has no port.
pub fn read_address(text: &str) -> Option<(String, u16)> {
    if is_socket(text) {
        return Some((text.to_owned(), 0));
    }
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, rest.strip_prefix(':').map_or(Some(6_379), |port| port.parse().ok())?)
        }
        None => match text.rsplit_once(':') {
            Some((host, port)) if !host.contains(':') => (host, port.parse().ok()?),
            _ => (text, 6_379),
        },
    };
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Whether a host is the path of a Unix socket.
pub fn is_socket(host: &str) -> bool {
    host.starts_with('/')
}

/// Where an announced address is dialled: what it is mapped to, or itself. `None` where nobody knows the host and
/// nothing maps it, or it has no port. A Unix socket is of this machine: another that names one would have us open it
/// and say our password there, so it counts as a host that nobody knows.
pub(super) fn dialled(
    map: &BTreeMap<String, String>,
    host: Option<&str>,
    port: u16,
    address: &str,
) -> Option<(String, u16)> {
    if let Some(mapped) = map.get(address) {
        return read_address(mapped);
    }
    let host = host.filter(|host| !is_socket(host));
    let anywhere = map.get(ANY).map(|host| host.trim_matches(['[', ']']));
    anywhere.or(host).filter(|_| port != 0).map(|host| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_in_every_spelling() {
        let read = |text: &str| read_address(text).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(read("10.0.0.1:7000").unwrap(), "10.0.0.1 7000");
        assert_eq!(read("redis.example").unwrap(), "redis.example 6379");
        assert_eq!(read("[::1]:7000").unwrap(), "::1 7000");
        assert_eq!(read("::1").unwrap(), "::1 6379");
        assert_eq!(read("/run/redis.sock").unwrap(), "/run/redis.sock 0");
        assert_eq!(read("host:seven"), None);
        assert_eq!(read(":7000"), None);
        for text in ["10.0.0.1:7000", "[::1]:7000", "/run/a:b.sock"] {
            let (host, port) = read_address(text).unwrap();
            assert_eq!(write_address(&host, port), text);
        }
    }

    #[test]
    fn a_line_of_its_own_comes_before_the_one_for_all_and_that_before_the_address_itself() {
        let pairs = [("10.0.0.1:7000", "127.0.0.1:1"), (ANY, "[::1]")];
        let map: BTreeMap<_, _> = pairs.map(|(from, to)| (from.to_owned(), to.to_owned())).into();
        let place = |map: &BTreeMap<String, String>, host: Option<&str>, port| {
            let address = write_address(host.unwrap_or("unknown"), port);
            dialled(map, host, port, &address).map(|(host, port)| write_address(&host, port))
        };
        assert_eq!(place(&map, Some("10.0.0.1"), 7_000).unwrap(), "127.0.0.1:1");
        assert_eq!(place(&map, Some("10.0.0.2"), 7_000).unwrap(), "[::1]:7000");
        assert_eq!(place(&map, None, 7_000).unwrap(), "[::1]:7000", "nobody knows its host, and we need not");
        assert_eq!(place(&map, Some("10.0.0.2"), 0), None);
        let empty = BTreeMap::new();
        for port in [0, 7_000] {
            assert_eq!(
                place(&empty, Some("/run/redis.sock"), port),
                None,
                "nobody else has us open our sockets"
            );
        }
        let socket = BTreeMap::from([("10.0.0.3:7000".to_owned(), "/run/redis.sock".to_owned())]);
        assert_eq!(
            place(&socket, Some("10.0.0.3"), 7_000).unwrap(),
            "/run/redis.sock",
            "the user's own word"
        );
        assert_eq!(place(&empty, Some("10.0.0.2"), 7_000).unwrap(), "10.0.0.2:7000");
        assert_eq!(place(&empty, None, 7_000), None);
    }
}
