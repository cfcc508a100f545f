//! Addresses of targets as users write them, and what they hold: seeds, user, password, TLS.

use secrecy::SecretString;

/// A Redis address taken apart.
#[derive(Debug)]
pub(super) struct RedisAddress {
    pub(super) tls: bool,
    pub(super) username: Option<String>,
    pub(super) password: Option<SecretString>,
    /// `host:port`, IPv6 in brackets.
    pub(super) seed: String,
}

/// The port of Redis when an address names none.
const REDIS_PORT: u16 = 6379;

/// What is wrong with a Redis address; completes "'url' = '...' ".
const NOT_REDIS: &str =
    "is not an address of Redis: write for example redis://10.0.0.1:6379, or rediss:// for TLS";

impl RedisAddress {
    /// Reads `redis://[user[:password]@]host[:port]`; a database number after it is accepted and means nothing,
    /// because everything that is asked is about the whole server.
    pub(super) fn read(text: &str) -> Result<Self, &'static str> {
        let (scheme, rest) = text.split_once("://").ok_or(NOT_REDIS)?;
        let tls = match scheme {
            "redis" => false,
            "rediss" => true,
            _ => return Err(NOT_REDIS),
        };
        let rest = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let (username, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            Some((user, password)) => (
                Some(percent_decoded(user)).filter(|user| !user.is_empty()),
                Some(percent_decoded(password)).filter(|password| !password.is_empty()),
            ),
            None => (None, None),
        };
        Ok(Self {
            tls,
            username,
            password: password.map(SecretString::from),
            seed: host_and_port(place, REDIS_PORT).ok_or(NOT_REDIS)?,
        })
    }
}

/// What is wrong with a metrics address; completes "'url' = '...' ".
const NOT_METRICS: &str =
    "is not an address of a metrics page: write for example http://10.0.0.5:8000/metrics";

/// The `host:port` of a metrics page's address, or what is wrong with it.
pub(super) fn metrics_place(text: &str) -> Result<String, &'static str> {
    let (default_port, rest) = match text.split_once("://") {
        Some(("http", rest)) => (80, rest),
        Some(("https", rest)) => (443, rest),
        _ => return Err(NOT_METRICS),
    };
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if place.contains('@') {
        return Err("holds a user or a password: take it out and use a bearer token instead");
    }
    host_and_port(place, default_port).ok_or(NOT_METRICS)
}

/// Whether a text is `host:port`, with both.
pub(super) fn is_host_and_port(text: &str) -> bool {
    // Port 0 is no port, so it tells whether the text has one of its own.
    host_and_port(text, 0).is_some()
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

/// A text in which every address shows `***` instead of its password and of its query, which may hold a token.
pub(crate) fn without_secrets(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        shown.push_str(before);
        // A password may hold an unescaped '/' or '?': what ends an address here is only what ends a word.
        let end = after.find(|c: char| matches!(c, '"' | '\'') || c.is_whitespace()).unwrap_or(after.len());
        let (place, tail) = after.split_at(end);
        let place = match place.rsplit_once('@').map(|(login, host)| (login.split_once(':'), host)) {
            Some((Some((user, _)), host)) => &format!("{user}:***@{host}"),
            _ => place,
        };
        match place.split_once('?') {
            Some((path, _)) => shown.extend([path, "?***"]),
            None => shown.push_str(place),
        }
        rest = tail;
    }
    shown + rest
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
        assert_eq!(address.seed, "[::1]:7000");
        assert_eq!(address.username.as_deref(), Some("ops"));
        assert_eq!(address.password.unwrap().expose_secret(), "p@ss:");
        let plain = RedisAddress::read("redis://cache.internal").unwrap();
        assert_eq!((plain.seed.as_str(), plain.tls), ("cache.internal:6379", false));
        assert!(plain.username.is_none() && plain.password.is_none());
        let only_password = RedisAddress::read("redis://:pw@h:1").unwrap();
        assert!(only_password.username.is_none() && only_password.password.is_some());
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
        ] {
            assert!(RedisAddress::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_metrics_address_has_a_place_and_no_secret() {
        assert_eq!(metrics_place("http://h:8000/metrics").unwrap(), "h:8000");
        assert_eq!(metrics_place("https://[::1]/m?match=a@b").unwrap(), "[::1]:443");
        for text in
            ["file:///etc/passwd", "http://", "h:80", "http://u:p@h/metrics", "http://u@h", "http://u:p/w@h/"]
        {
            assert!(metrics_place(text).is_err(), "{text}");
        }
    }

    #[test]
    fn passwords_do_not_show() {
        assert_eq!(without_secrets("redis://u:p:q@h:1/0"), "redis://u:***@h:1/0");
        assert_eq!(
            without_secrets("[\"redis://:p@h\", \"http://h/?a=b@c\", 'http://h:1/m?t=s']"),
            "[\"redis://:***@h\", \"http://h/?***\", 'http://h:1/m?***']"
        );
        assert_eq!(without_secrets("redis://u:p/w?x@h:1"), "redis://u:***@h:1");
        assert_eq!(without_secrets("no address"), "no address");
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_no_password_survives(text in "\\PC{0,40}", password in "[a-z]{12}") {
            let _ = RedisAddress::read(&text);
            let _ = without_secrets(&text);
            for address in [format!("redis://u:{password}@host:1"), format!("https://host/m?token={password}")] {
                prop_assert!(!without_secrets(&address).contains(&password));
            }
        }
    }
}
