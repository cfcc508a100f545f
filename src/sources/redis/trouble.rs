//! What can go wrong between Headwater and a server, each as one sentence with what to do.

use headwater_engine::RemoteText;
use headwater_engine::reading::{CLUSTER_IS_DOWN, Fault, FaultKind, OUT_OF_CONNECTIONS, RUNS_A_SCRIPT};
use redis::{ErrorKind, RedisError};

use super::allowed::{ALLOWED, Command};

/// A failure with its kind and its sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    /// What sort of failure.
    pub kind: FaultKind,
    /// What happened and what to do.
    pub message: String,
    /// Whether the connection is gone with it.
    pub ends_connection: bool,
    /// The server's error word, when it was the server that said no.
    pub code: Option<String>,
    /// What it said after that word, as it came: neither stable between releases nor fit to be shown.
    pub(super) detail: String,
}

impl Trouble {
    /// A failure after which the connection cannot be used.
    pub fn broken(kind: FaultKind, message: String) -> Self {
        Self { kind, message, ends_connection: true, code: None, detail: String::new() }
    }

    /// A failure that concerns one command.
    pub fn of_command(kind: FaultKind, message: String) -> Self {
        Self { kind, message, ends_connection: false, code: None, detail: String::new() }
    }

    /// The failure as part of a reading.
    pub fn to_fault(&self) -> Fault {
        Fault { kind: self.kind, message: RemoteText::new(&self.message) }
    }

    /// Whether the server has something against the command itself: it does not know it, its subcommand or its
    /// arguments, or cannot do it as it is set up.
    pub fn is_command_error(&self) -> bool {
        // A proxy's own refusals have no code word: Envoy's 'invalid request', others' 'unknown' and 'unsupported'.
        matches!(self.code.as_deref(), Some("ERR" | "invalid" | "unknown" | "unsupported"))
    }

    /// Whether the server said this after its error word, in whatever case.
    pub fn says(&self, words: &str) -> bool {
        self.detail.to_ascii_lowercase().contains(&words.to_ascii_lowercase())
    }

    /// Whether the user may run the command, but not on this key.
    pub(super) fn forbids_the_key(&self) -> bool {
        self.code.as_deref() == Some("NOPERM") && is_about_keys(&self.detail)
    }

    /// Whether the key of the command belongs to another node, or is on its way there with its slot.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.code.as_deref(), Some("MOVED" | "ASK" | "TRYAGAIN"))
    }

    /// The meaning of an error that came back for a command.
    pub fn from_redis(error: &RedisError, command: &Command<'_>, address: &str, user: Option<&str>) -> Self {
        let name = command.name();
        let Some(code) = error.code() else { return Self::from_io(error, name, address) };
        let detail = error.detail().unwrap_or_default();
        let (kind, message) = explain(code, detail, command, address, user.unwrap_or("default"));
        Self {
            kind,
            message,
            ends_connection: kind == FaultKind::Auth,
            code: Some(code.to_owned()),
            detail: detail.to_owned(),
        }
    }

    fn from_io(error: &RedisError, name: &str, address: &str) -> Self {
        if error.is_timeout() {
            return Self::silent(name, address);
        }
        if error.kind() != ErrorKind::Parse && (error.is_io_error() || error.is_unrecoverable_error()) {
            return Self::broken(
                FaultKind::Unreachable,
                format!(
                    "the connection to '{address}' was closed during {name}: check whether the server is \
                     running, restarting or full"
                ),
            );
        }
        let message =
            format!("'{address}' does not answer {name} as a Redis server does: check host and port");
        Self::broken(FaultKind::Malformed, message)
    }

    /// No answer in time.
    pub fn silent(name: &str, address: &str) -> Self {
        Self::broken(
            FaultKind::Silent,
            format!(
                "'{address}' has not answered {name} for {} s though it is connected: the process is stopped, \
                 blocked by a long command, or its link is full",
                super::super::LONGEST_WAIT.as_secs()
            ),
        )
    }
}

/// Why a server does not know a command, and what would: the releases that have it.
pub(super) fn unknown_to(server: &str, name: &str) -> String {
    let Some(row) = ALLOWED.iter().find(|row| row.name == name) else {
        return format!("{server} does not know {name}");
    };
    if row.redis.is_some_and(|since| since <= (6, 0)) {
        return format!("{server} does not know {name}, as every Redis does");
    }
    let since = [("Redis", row.redis), ("Valkey", row.valkey)].map(|(product, since)| match since {
        Some((major, minor)) => format!("{product} has it from {major}.{minor} on"),
        None => format!("no {product} has it"),
    });
    format!("{server} does not know {name}: {}", since.join(", "))
}

/// Whether a refusal is about a key and not about a command, as all releases so far put it.
fn is_about_keys(detail: &str) -> bool {
    let detail = detail.to_ascii_lowercase();
    detail.contains("access a key") || detail.contains("access one of the keys")
}

/// Only the first word of an error is stable between versions and forks; the text after it is not.
fn explain(
    code: &str,
    detail: &str,
    command: &Command<'_>,
    address: &str,
    user: &str,
) -> (FaultKind, String) {
    let name = command.name();
    match code {
        "WRONGPASS" => (
            FaultKind::Auth,
            format!(
                "'{address}' refused the password of user '{user}': correct HEADWATER_REDIS_PASSWORD or \
                 --redis-password-file, in a configuration username and password_env or password_file; it is not \
                 tried again"
            ),
        ),
        "NOAUTH" => (
            FaultKind::Auth,
            format!(
                "'{address}' wants a password: set HEADWATER_REDIS_PASSWORD or --redis-password-file, in a \
                 configuration password_env or password_file; and the username of an ACL user"
            ),
        ),
        "NOPERM" if is_about_keys(detail) => (
            FaultKind::Denied,
            format!(
                "user '{user}' may run {name} on '{address}', but not on every key: ACL SETUSER {user} %R~* (~* before \
                 Redis 7.0)"
            ),
        ),
        "NOPERM" => (
            FaultKind::Denied,
            format!(
                "user '{user}' may not run {name} on '{address}': ACL SETUSER {user} {}",
                command.acl_rule()
            ),
        ),
        "DENIED" => (
            FaultKind::Denied,
            format!(
                "'{address}' is in protected mode and talks to its own machine alone: set a password there, \
                 or bind it to this network"
            ),
        ),
        "BUSY" => (FaultKind::Busy, format!("'{address}' {RUNS_A_SCRIPT}, {name} too: SCRIPT KILL ends it")),
        "LOADING" => {
            (FaultKind::Busy, format!("'{address}' is loading its data and does not answer {name} yet"))
        }
        "MASTERDOWN" => (
            FaultKind::Busy,
            format!("'{address}' has lost its primary and does not answer {name} until it is back"),
        ),
        "CLUSTERDOWN" => (
            FaultKind::Busy,
            format!("'{address}' {CLUSTER_IS_DOWN} and does not answer {name}: {}", clean(detail)),
        ),
        "MOVED" | "ASK" => (
            FaultKind::Malformed,
            format!(
                "'{address}' says that the key of {name} is elsewhere ({code} {}): its slot moved",
                clean(detail)
            ),
        ),
        "ERR" if detail.contains("max number of clients") => (
            FaultKind::Busy,
            format!(
                "'{address}' {OUT_OF_CONNECTIONS}: raise maxclients, or find who holds them with CLIENT LIST"
            ),
        ),
        "ERR" if matches!(command, Command::Auth(..)) => (
            FaultKind::Auth,
            format!(
                "'{address}' does not take the password of user '{user}': {}; correct or remove it",
                clean(detail)
            ),
        ),
        "ERR" if detail.to_ascii_lowercase().starts_with("unknown ") => (
            FaultKind::Denied,
            format!(
                "{}; where it should, a managed service, a proxy or rename-command keeps it away: allow it there, for \
                 reading. It said: {}",
                unknown_to(&format!("'{address}'"), name),
                clean(&format!("{code} {detail}"))
            ),
        ),
        // What a proxy says of the servers behind it.
        "no" | "upstream" => (
            FaultKind::Busy,
            format!(
                "'{address}' is a proxy and has no server behind it that answers {name}: {}",
                clean(&format!("{code} {detail}"))
            ),
        ),
        _ => (
            FaultKind::Denied,
            format!("'{address}' does not answer {name}: {}", clean(&format!("{code} {detail}"))),
        ),
    }
}

fn clean(text: &str) -> RemoteText {
    RemoteText::new(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(wire: &str, command: Command<'_>) -> Trouble {
        let reply = redis::parse_redis_value(wire.as_bytes());
        let error = match reply {
            Ok(redis::Value::ServerError(error)) => RedisError::from(error),
            Err(error) => error,
            Ok(other) => panic!("{other:?} is no error"),
        };
        Trouble::from_redis(&error, &command, "10.0.0.1:6379", Some("watcher"))
    }

    #[test]
    fn every_code_word_has_its_kind_and_its_fix() {
        let cases = [
            (
                "-WRONGPASS invalid username-password pair\r\n",
                FaultKind::Auth,
                "--redis-password-file, in a configuration username",
            ),
            ("-NOAUTH Authentication required.\r\n", FaultKind::Auth, "set HEADWATER_REDIS_PASSWORD or"),
            ("-NOPERM User mon has no permissions\r\n", FaultKind::Denied, "ACL SETUSER watcher +info"),
            ("-BUSY Valkey is busy running a script\r\n", FaultKind::Busy, "SCRIPT KILL"),
            ("-LOADING Redis is loading the dataset in memory\r\n", FaultKind::Busy, "loading"),
            ("-ERR max number of clients reached\r\n", FaultKind::Busy, "maxclients"),
            ("-DENIED Redis is running in protected mode\r\n", FaultKind::Denied, "protected mode"),
            ("-MOVED 12182 127.0.0.1:7002\r\n", FaultKind::Malformed, "12182"),
            ("-ERR unknown command\r\n", FaultKind::Denied, "unknown command"),
        ];
        for (wire, kind, words) in cases {
            let trouble = trouble(wire, Command::Info(&[]));
            assert_eq!(trouble.kind, kind, "{wire}");
            assert!(trouble.message.contains(words), "{} lacks '{words}'", trouble.message);
        }
    }

    #[test]
    fn what_a_server_said_can_be_told_apart() {
        let lfu = trouble("-ERR An LFU maxmemory policy is not selected\r\n", Command::ObjectFreq(b"k"));
        let unknown = trouble("-ERR unknown command 'OBJECT'\r\n", Command::ObjectFreq(b"k"));
        assert!(lfu.says("lfu") && lfu.is_command_error() && !lfu.says("unknown "));
        assert!(unknown.says("unknown ") && unknown.is_command_error() && !unknown.says("lfu"));
        for code in ["MOVED 1 a:1", "ASK 1 a:1", "TRYAGAIN Multiple keys request during rehashing"] {
            assert!(trouble(&format!("-{code}\r\n"), Command::ObjectFreq(b"k")).is_elsewhere(), "{code}");
        }
        assert!(!lfu.is_elsewhere() && !unknown.is_elsewhere());
    }

    #[test]
    fn remote_errors_cannot_steer_a_terminal() {
        let trouble = trouble("-ERR \x1b[2Jgone\r\n", Command::Ping);
        assert!(!trouble.message.contains('\x1b'), "{}", trouble.message);
    }

    #[test]
    fn a_server_without_a_password_says_so_as_an_authentication_fault() {
        let said = "-ERR AUTH <password> called without any password configured for the default user\r\n";
        assert_eq!(
            trouble(said, Command::Auth(None, super::super::allowed::Secret("x"))).kind,
            FaultKind::Auth
        );
    }
}
