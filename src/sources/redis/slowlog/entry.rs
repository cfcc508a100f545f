//! What one entry of a slow log means: its command, its key, and whether it convicts anybody.

use std::time::Duration;

use headwater_engine::reading::SlowCommand;
use headwater_engine::{Moment, RemoteText};

use crate::sources::redis::info::Info;

/// The name that Headwater gives its own connections.
pub const OUR_CLIENT_NAME: &str = "headwater";

/// One entry as the server sent it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Grows by one with each entry until the server restarts.
    pub id: u64,
    /// Seconds since the Unix epoch, by the server's clock.
    pub at_seconds: i64,
    /// Execution time in microseconds.
    pub took_us: u64,
    /// The command as it was sent; long ones are cut by the server.
    pub arguments: Vec<Vec<u8>>,
    /// The name of the client, empty when it has none.
    pub client: Vec<u8>,
    /// The address of the client, empty where the server tells none.
    pub address: Vec<u8>,
    /// Whether the node only repeated what its primary had executed: see [`mark_repeated`].
    pub is_repeated: bool,
}

/// Marks the entries that a replica got over the link to its primary, whose deletions of expired keys come this way too:
/// nobody asked the replica for them. The link is the one client that comes from the port on which the primary listens;
/// its host may be known by another name than its address.
pub fn mark_repeated(entries: &mut [Entry], primary_port: &str) {
    let ending = format!(":{primary_port}");
    for entry in entries {
        entry.is_repeated = entry.address.ends_with(ending.as_bytes());
    }
}

/// The port on which the primary of a replica listens, as the replica's INFO says.
pub fn primary_port<'a>(info: &Info<'a>) -> Option<&'a str> {
    let port = info.text("master_port").filter(|_| info.text("role") == Some("slave"));
    port.filter(|port| !port.is_empty())
}

impl Entry {
    /// The entry as an event; the arguments only when they are asked for.
    pub fn to_event(&self, with_arguments: bool) -> SlowCommand {
        let words = 1 + usize::from(self.has_subcommand());
        // Passwords are set by administrators' commands, and older servers log them as they were typed.
        let arguments = match with_arguments && !self.may_hold_secrets() {
            true => self.arguments.iter().skip(words).map(|bytes| RemoteText::from_bytes(bytes)).collect(),
            false => vec![],
        };
        SlowCommand {
            id: self.id,
            at: Moment(self.at_seconds.saturating_mul(1_000)),
            took: Duration::from_micros(self.took_us),
            command: RemoteText::from_bytes(self.command().as_bytes()),
            key: self.key().map(RemoteText::from_bytes),
            arguments,
            client: RemoteText::from_bytes(&self.client),
            excluded: self.is_excluded(),
        }
    }

    /// The command's name in upper case, with its subcommand.
    pub fn command(&self) -> String {
        let words = 1 + usize::from(self.has_subcommand());
        let words: Vec<_> = self
            .arguments
            .iter()
            .take(words)
            .map(|word| String::from_utf8_lossy(word).to_ascii_uppercase())
            .collect();
        words.join(" ")
    }

    /// Whether its arguments can be passwords.
    fn may_hold_secrets(&self) -> bool {
        let name = self.name();
        ADMIN.contains(&name.as_str()) || ["MIGRATE", "AUTH", "HELLO"].contains(&name.as_str())
    }

    /// Whether this is Headwater's own command, an administrator's, or one that was only repeated.
    pub fn is_excluded(&self) -> bool {
        self.is_repeated || self.client == OUR_CLIENT_NAME.as_bytes() || ADMIN.contains(&self.name().as_str())
    }

    /// The first key, where the command has one.
    pub fn key(&self) -> Option<&[u8]> {
        let name = self.name();
        let argument = |index: usize| self.arguments.get(index).map(Vec::as_slice);
        if ADMIN.contains(&name.as_str()) || KEYLESS.contains(&name.as_str()) {
            return None;
        }
        match name.as_str() {
            "EVAL" | "EVALSHA" | "EVAL_RO" | "EVALSHA_RO" | "FCALL" | "FCALL_RO" => {
                if argument(2)? == b"0" {
                    None
                } else {
                    argument(3)
                }
            }
            "XREAD" | "XREADGROUP" => {
                let streams = self.arguments.iter().position(|word| word.eq_ignore_ascii_case(b"STREAMS"))?;
                argument(streams + 1)
            }
            "BLMPOP" | "BZMPOP" | "MIGRATE" => argument(3),
            name if KEY_SECOND.contains(&name) => argument(2),
            _ => argument(1),
        }
    }

    fn name(&self) -> String {
        self.arguments
            .first()
            .map_or_else(String::new, |word| String::from_utf8_lossy(word).to_ascii_uppercase())
    }

    fn has_subcommand(&self) -> bool {
        CONTAINERS.contains(&self.name().as_str()) && self.arguments.len() > 1
    }
}

/// Commands of operators and of replication; they say nothing about what the service does.
const ADMIN: &[&str] = &[
    "ACL",
    "AUTH",
    "BGREWRITEAOF",
    "BGSAVE",
    "CLIENT",
    "CLUSTER",
    "COMMAND",
    "CONFIG",
    "DEBUG",
    "FAILOVER",
    "HELLO",
    "INFO",
    "LASTSAVE",
    "LATENCY",
    "MODULE",
    "MONITOR",
    "PSYNC",
    "REPLCONF",
    "REPLICAOF",
    "ROLE",
    "SAVE",
    "SHUTDOWN",
    "SLAVEOF",
    "SLOWLOG",
    "SYNC",
];

/// Commands without a key.
const KEYLESS: &[&str] = &[
    "DBSIZE",
    "DISCARD",
    "ECHO",
    "EXEC",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "KEYS",
    "MULTI",
    "PING",
    "PSUBSCRIBE",
    "PUBLISH",
    "PUBSUB",
    "QUIT",
    "RANDOMKEY",
    "READONLY",
    "READWRITE",
    "SCAN",
    "SCRIPT",
    "SELECT",
    "SPUBLISH",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SWAPDB",
    "TIME",
    "UNSUBSCRIBE",
    "UNWATCH",
    "WAIT",
    "WAITAOF",
];

/// Commands whose first key is their second argument.
const KEY_SECOND: &[&str] = &[
    "BITOP",
    "LMPOP",
    "MEMORY",
    "OBJECT",
    "SINTERCARD",
    "XGROUP",
    "XINFO",
    "ZDIFF",
    "ZINTER",
    "ZINTERCARD",
    "ZMPOP",
    "ZUNION",
];

/// Commands that have subcommands.
const CONTAINERS: &[&str] = &[
    "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DEBUG", "FUNCTION", "LATENCY", "MEMORY", "MODULE",
    "OBJECT", "PUBSUB", "SCRIPT", "SLOWLOG", "XGROUP", "XINFO",
];

/// An entry of these words, for tests.
#[cfg(test)]
pub(super) fn entry(id: u64, words: &[&str]) -> Entry {
    Entry {
        id,
        at_seconds: 1,
        took_us: 20_000,
        arguments: words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        client: vec![],
        address: vec![],
        is_repeated: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_where_each_command_has_them() {
        let cases: &[(&[&str], &str, Option<&str>)] = &[
            (&["get", "k", "x"], "GET", Some("k")),
            (&["KEYS", "*"], "KEYS", None),
            (&["EVAL", "return 1", "1", "k"], "EVAL", Some("k")),
            (&["EVAL", "return 1", "0"], "EVAL", None),
            (&["memory", "usage", "k"], "MEMORY USAGE", Some("k")),
            (&["XREAD", "COUNT", "2", "streams", "k", "0"], "XREAD", Some("k")),
            (&["BLMPOP", "0", "1", "k", "LEFT"], "BLMPOP", Some("k")),
            (&["CONFIG", "GET", "*"], "CONFIG GET", None),
            (&["GET"], "GET", None),
        ];
        for (words, command, key) in cases {
            let entry = entry(1, words);
            assert_eq!(entry.command(), *command);
            assert_eq!(entry.key(), key.map(str::as_bytes), "{words:?}");
        }
    }

    #[test]
    fn arguments_stay_hidden_unless_asked_for_and_our_own_are_excluded() {
        let mut set = entry(3, &["SET", "k", "secret"]);
        assert!(set.to_event(false).arguments.is_empty() && !set.is_excluded());
        assert_eq!(set.to_event(true).arguments.len(), 2);
        set.client = b"headwater".to_vec();
        assert!(set.is_excluded());
        assert!(entry(1, &["config", "get", "*"]).is_excluded());
    }

    #[test]
    fn what_a_replica_repeats_of_its_primary_convicts_nobody() {
        let from = |address: &str| Entry { address: address.into(), ..entry(1, &["DEL", "k"]) };
        let addresses = ["10.0.0.1:6379", "[::1]:6379", "10.0.0.7:46379", "10.0.0.7:63790", ""];
        let marked = |info: &str| -> Vec<bool> {
            let mut entries = addresses.map(from);
            if let Some(port) = primary_port(&Info::parse(info)) {
                mark_repeated(&mut entries, port);
            }
            entries.iter().map(Entry::is_excluded).collect()
        };
        let replica = "role:slave\r\nmaster_host:cache-0.local\r\nmaster_port:6379\r\n";
        assert_eq!(marked(replica), [true, true, false, false, false]);
        assert_eq!(marked("role:master\r\n"), [false; 5]);
        assert_eq!(marked("role:slave\r\nmaster_port:\r\n"), [false; 5]);
    }
}
