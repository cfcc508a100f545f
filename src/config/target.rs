//! Addresses of targets as users write them, and what they hold: seeds, user, password, TLS.

use secrecy::SecretString;

use crate::sources::proxy::ProxySpec;
use crate::sources::redis::address::read_address;

/// A Redis address taken apart.
#[derive(Debug, Default)]
pub(super) struct RedisAddress {
    pub(super) tls: bool,
    pub(super) username: Option<String>,
    pub(super) password: Option<SecretString>,
    /// `host:port`, IPv6 in brackets; a Unix socket's path; of Sentinels each.
    pub(super) seeds: Vec<String>,
    /// The name of the primary that is asked of Sentinels.
    pub(super) sentinel: Option<String>,
}

/// The port of Redis when an address names none.
const REDIS_PORT: u16 = 6379;

/// The port of Sentinels when an address names none.
const SENTINEL_PORT: u16 = 26_379;

/// What is wrong with a Redis address; completes "'url' = '...' ".
const NOT_REDIS: &str = "is not an address of Redis: write for example redis://10.0.0.1:6379, rediss:// for TLS, \
                         redis+unix:///run/redis.sock, or redis+sentinel://10.0.0.1:26379/NAME";

/// Every scheme of a Redis address.
pub(super) const REDIS_SCHEMES: [&str; 6] =
    ["redis", "rediss", "redis+unix", "unix", "redis+sentinel", "rediss+sentinel"];

/// Whether a text is written as an address of Redis, rightly or not; it may hold a password.
pub(crate) fn is_redis_address(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| REDIS_SCHEMES.contains(&scheme))
}

impl RedisAddress {
    /// Reads `redis://[user[:password]@]host[:port]`, `redis+unix://[user[:password]@]/path` or
    /// `redis+sentinel://[user[:password]@]host[:port][,host[:port]]/name`; a database number after the first is accepted
    /// and means nothing, because everything that is asked is about the whole server.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or(NOT_REDIS)?;
        if !is_redis_address(text) {
            return Err(NOT_REDIS);
        }
        let is_socket = scheme.ends_with("unix");
        let rest = match is_socket {
            true => rest.split(['?', '#']).next().unwrap_or_default(),
            false => rest,
        };
        let (rest, path) = match is_socket {
            // A password may hold a '/', and a path an '@'.
            true => rest.find("@/").map_or_else(
                || rest.split_at(rest.find('/').unwrap_or(rest.len())),
                |at| rest.split_at(at + 1),
            ),
            false => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        if !is_socket && path.contains('@') {
            return Err(UNESCAPED);
        }
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (username, password) = read_login(login);
        let mut address = Self { tls: scheme.starts_with("rediss"), username, password, ..Self::default() };
        if is_socket {
            let path = percent_decoded(path);
            if !place.is_empty()
                || path.len() < 2
                || path.ends_with('/')
                || path.chars().any(char::is_control)
            {
                return Err(NOT_REDIS);
            }
            address.seeds.push(path);
        } else if scheme.ends_with("sentinel") {
            let name = path.strip_prefix('/').and_then(|path| path.split(['/', '?', '#']).next());
            let name = name.map(percent_decoded).filter(|name| !name.is_empty());
            address.sentinel = Some(name.ok_or(NO_PRIMARY)?);
            for place in place.split(',') {
                address.seeds.push(host_and_port(place, SENTINEL_PORT).ok_or(NOT_REDIS)?);
            }
        } else {
            address.seeds.push(host_and_port(place, REDIS_PORT).ok_or(NOT_REDIS)?);
        }
        Ok(address)
    }
}

/// What is wrong with an address of Sentinels without a name; completes "'url' = '...' ".
const NO_PRIMARY: &str =
    "names no primary: write redis+sentinel://HOST:26379/NAME, NAME as in 'sentinel monitor NAME'";

/// What is wrong with an address whose password would pass for its host; completes "'url' = '...' ".
const UNESCAPED: &str =
    "has an '@' behind its host: in a password write '/' as %2F, '?' as %3F and '#' as %23";

fn read_login(login: Option<&str>) -> (Option<String>, Option<SecretString>) {
    let Some(login) = login else { return (None, None) };
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let given = |text: &str| Some(percent_decoded(text)).filter(|text| !text.is_empty());
    (given(user), given(password).map(SecretString::from))
}

/// What is wrong with a proxy's address; completes "'proxy' = '...' ".
const NOT_PROXY: &str =
    "is not an address of a SOCKS5 proxy: write socks5h://HOST:PORT, or socks5h://USER:PASSWORD@HOST:PORT";

/// Reads `socks5h://[user[:password]@]host:port`.
pub(super) fn read_proxy(text: &str) -> Result<ProxySpec, &'static str> {
    let rest = match text.split_once("://") {
        Some(("socks5h", rest)) => rest,
        Some(("socks5", _)) => {
            return Err("looks names up here, where those of the other side mean nothing: write socks5h://");
        }
        _ => return Err(NOT_PROXY),
    };
    let rest = rest.trim_end_matches('/');
    let (login, place) = match rest.rsplit_once('@') {
        Some((login, place)) => (Some(login), place),
        None => (None, rest),
    };
    let (username, password) = read_login(login);
    let place =
        host_and_port(place, 1_080).filter(|place| !place.contains(['/', '?', '#'])).ok_or(NOT_PROXY)?;
    let (host, port) = read_address(&place).ok_or(NOT_PROXY)?;
    Ok(ProxySpec { host, port, username, password })
}

/// What is wrong with a metrics address; completes "'url' = '...' ".
const NOT_METRICS: &str =
    "is not an address of a metrics page: write for example http://10.0.0.5:8000/metrics";

/// The `host:port` of a metrics page's address, or what is wrong with it.
pub(crate) fn metrics_place(text: &str) -> Result<String, &'static str> {
    let (default_port, rest) = match text.split_once("://") {
        Some(("http", rest)) => (80, rest),
        Some(("https", rest)) => (443, rest),
        _ => return Err(NOT_METRICS),
    };
    // A path may hold no '@', and a query only behind a path: what stands before it may be the first half of a password.
    let path = rest.find('/').unwrap_or(rest.len());
    let query = rest[path..].find(['?', '#']).map_or(rest.len(), |at| path + at);
    if rest[..query].contains('@') {
        return Err("holds a user or a password: take it out and use a bearer token instead");
    }
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host_and_port(place, default_port).ok_or(NOT_METRICS)
}

/// Whether a text is `host:port`, with both.
pub(super) fn is_host_and_port(text: &str) -> bool {
    // Port 0 is no port, so it tells whether the text has one of its own.
    host_and_port(text, 0).is_some()
}

/// Whether a text is a host alone.
pub(super) fn is_host(text: &str) -> bool {
    // With a port of its own the text has another one than the one it is given here.
    host_and_port(text, 1).is_some_and(|place| place == format!("{text}:1"))
}

fn host_and_port(place: &str, default_port: u16) -> Option<String> {
    let bracket_end = place.rfind(']').map_or(0, |end| end + 1);
    let (host, port) = match place[bracket_end..].rsplit_once(':') {
        Some((before, port)) => (&place[..bracket_end + before.len()], port.parse::<u16>().ok()?),
        None => (place, default_port),
    };
    let is_bare_v6 = bracket_end == 0 && host.contains(':');
    if host.is_empty() || is_bare_v6 || port == 0 || host.chars().any(|c| c.is_whitespace() || c.is_control())
    {
        return None;
    }
    Some(format!("{host}:{port}"))
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escaped = (bytes[index] == b'%')
            .then(|| text.get(index + 1..index + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok()))
            .flatten();
        match escaped {
            Some(byte) => {
                decoded.push(byte);
                index += 3;
            }
            None => {
                decoded.push(bytes[index]);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn an_address_gives_seed_user_and_password() {
        let address = RedisAddress::read("rediss://ops:p%40ss%3a@[::1]:7000/3?x=1").unwrap();
        assert!(address.tls);
        assert_eq!(address.seeds, ["[::1]:7000"]);
        assert_eq!(address.username.as_deref(), Some("ops"));
        assert_eq!(address.password.unwrap().expose_secret(), "p@ss:");
        let plain = RedisAddress::read("redis://cache.internal").unwrap();
        assert_eq!((plain.seeds.as_slice(), plain.tls), (&["cache.internal:6379".to_owned()][..], false));
        assert!(plain.username.is_none() && plain.password.is_none());
        let only_password = RedisAddress::read("redis://:pw@h:1").unwrap();
        assert!(only_password.username.is_none() && only_password.password.is_some());
    }

    #[test]
    fn a_socket_has_a_path_and_sentinels_a_name() {
        let socket = RedisAddress::read("redis+unix://ops:p%2Fw@/run/redis/a%20b.sock").unwrap();
        assert_eq!(socket.seeds, ["/run/redis/a b.sock"]);
        assert_eq!(socket.username.as_deref(), Some("ops"));
        assert_eq!(RedisAddress::read("unix:///tmp/r@1.sock").unwrap().seeds, ["/tmp/r@1.sock"]);
        let watched = RedisAddress::read("rediss+sentinel://:pw@a,b:1,[::1]/my-primary").unwrap();
        assert_eq!(watched.seeds, ["a:26379", "b:1", "[::1]:26379"]);
        assert_eq!((watched.sentinel.as_deref(), watched.tls), (Some("my-primary"), true));
        for text in ["unix://", "unix://h/run/x", "unix:///", "redis+sentinel://h", "redis+sentinel://,/m"] {
            assert!(RedisAddress::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_proxy_looks_names_up_itself() {
        let proxy = read_proxy("socks5h://me:w%3Ard@[::1]:1081/").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port, proxy.username.as_deref()), ("::1", 1_081, Some("me")));
        assert_eq!(proxy.password.as_ref().unwrap().expose_secret(), "w:rd");
        assert_eq!(format!("{proxy} {proxy:?}"), "socks5h://[::1]:1081 socks5h://[::1]:1081");
        assert_eq!(read_proxy("socks5h://jump").unwrap().port, 1_080);
        assert!(read_proxy("socks5://h:1").unwrap_err().contains("write socks5h://"));
        for text in ["", "http://h:1", "socks5h://", "socks5h://h:port", "socks5h://h/x"] {
            assert!(read_proxy(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "redis://",
            "http://h",
            "h:6379",
            "redis://h:port",
            "redis://h:0",
            "redis://::1",
            "redis://a b",
            "redis://u:12/w@h:1",
            "redis://u:12?w@h:1",
            "redis+sentinel://u:12/w@h:1/name",
        ] {
            assert!(RedisAddress::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_metrics_address_has_a_place_and_no_secret() {
        assert_eq!(metrics_place("http://h:8000/metrics").unwrap(), "h:8000");
        assert_eq!(metrics_place("https://[::1]/m?match=a@b").unwrap(), "[::1]:443");
        assert_eq!(metrics_place("http://h?m=1").unwrap(), "h:80");
        for text in [
            "file:///etc/passwd",
            "http://",
            "h:80",
            "http://u:p@h/metrics",
            "http://u@h",
            "http://u:p/w@h/",
            // Half of a password is no port.
            "http://u:12/w@h/",
            "http://u:12?w@h/",
            "http://u:12#w@h/",
        ] {
            assert!(metrics_place(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,40}") {
            let _ = (RedisAddress::read(&text), read_proxy(&text), metrics_place(&text));
        }
    }
}
