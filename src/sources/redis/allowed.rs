//! The one list of commands that Headwater may send to a Redis server.
//!
//! All of them read. There is no other way to a server than a [`Command`], and the ACL lines that users are told
//! to set are made from the same table.

use redis::Cmd;

use super::slowlog::OUR_CLIENT_NAME;

/// A command with its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// AUTH, with a user or for the default user.
    Auth(Option<&'a str>, Secret<'a>),
    /// PING.
    Ping,
    /// CLIENT SETNAME with our name, so that our own traces are known as such.
    SetName,
    /// CLIENT NO-EVICT ON (7.0 and later): our connection is not the one to be dropped.
    NoEvict,
    /// CLIENT NO-TOUCH ON (7.2 and later): our looks do not make keys look used.
    NoTouch,
    /// INFO with sections; several need 7.0 or later.
    Info(&'a [&'a str]),
    /// SLOWLOG GET with a count.
    SlowlogGet(u32),
    /// CLUSTER SHARDS (7.0 and later).
    ClusterShards,
    /// CLUSTER SLOTS.
    ClusterSlots,
    /// CLUSTER NODES.
    ClusterNodes,
    /// CONFIG GET of one name.
    ConfigGet(&'a str),
    /// DBSIZE.
    DbSize,
    /// READONLY: lets a replica answer about its keys.
    ReadOnly,
    /// SCAN from a cursor with a COUNT.
    Scan(u64, u32),
    /// MEMORY USAGE of a key with the default number of samples; touches neither hits nor LFU.
    MemoryUsage(&'a [u8]),
    /// TYPE of a key.
    Type(&'a [u8]),
    /// The length command of a type.
    Length(Length, &'a [u8]),
}

/// A text that is not shown by debug output.
#[derive(Clone, Copy)]
pub struct Secret<'a>(pub &'a str);

impl std::fmt::Debug for Secret<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("(hidden)")
    }
}

/// The types that have a command for their length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the type of that name")]
pub enum Length {
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
}

/// Each type's name as TYPE gives it, with its length command.
const LENGTHS: &[(Length, &str, &str)] = &[
    (Length::String, "string", "STRLEN"),
    (Length::List, "list", "LLEN"),
    (Length::Set, "set", "SCARD"),
    (Length::SortedSet, "zset", "ZCARD"),
    (Length::Hash, "hash", "HLEN"),
    (Length::Stream, "stream", "XLEN"),
];

impl Length {
    /// The length command for a type as TYPE names it; types of modules have none.
    pub fn of_type(name: &str) -> Option<Self> {
        LENGTHS.iter().find(|(_, known, _)| *known == name).map(|(length, _, _)| *length)
    }

    fn command(self) -> &'static str {
        LENGTHS.iter().find(|(length, _, _)| *length == self).map_or("STRLEN", |(_, _, command)| command)
    }
}

impl Command<'_> {
    /// The words before the arguments: what ACL rules are about.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Auth(..) => "AUTH",
            Self::Ping => "PING",
            Self::SetName => "CLIENT SETNAME",
            Self::NoEvict => "CLIENT NO-EVICT",
            Self::NoTouch => "CLIENT NO-TOUCH",
            Self::Info(_) => "INFO",
            Self::SlowlogGet(_) => "SLOWLOG GET",
            Self::ClusterShards => "CLUSTER SHARDS",
            Self::ClusterSlots => "CLUSTER SLOTS",
            Self::ClusterNodes => "CLUSTER NODES",
            Self::ConfigGet(_) => "CONFIG GET",
            Self::DbSize => "DBSIZE",
            Self::ReadOnly => "READONLY",
            Self::Scan(..) => "SCAN",
            Self::MemoryUsage(_) => "MEMORY USAGE",
            Self::Type(_) => "TYPE",
            Self::Length(length, _) => length.command(),
        }
    }

    /// The ACL rule that allows it, such as `+slowlog|get`.
    pub fn acl_rule(&self) -> String {
        acl_rule(self.name())
    }

    /// The command for the wire.
    pub(super) fn to_cmd(self) -> Cmd {
        let mut cmd = Cmd::new();
        for word in self.name().split(' ') {
            cmd.arg(word);
        }
        match self {
            Self::Auth(user, secret) => cmd.arg(user).arg(secret.0),
            Self::SetName => cmd.arg(OUR_CLIENT_NAME),
            Self::NoEvict | Self::NoTouch => cmd.arg("ON"),
            Self::Info(sections) => cmd.arg(sections),
            Self::SlowlogGet(count) => cmd.arg(count),
            Self::ConfigGet(name) => cmd.arg(name),
            Self::Scan(cursor, count) => cmd.arg(cursor).arg("COUNT").arg(count),
            Self::MemoryUsage(key) | Self::Type(key) | Self::Length(_, key) => cmd.arg(key),
            Self::Ping
            | Self::ClusterShards
            | Self::ClusterSlots
            | Self::ClusterNodes
            | Self::DbSize
            | Self::ReadOnly => &mut cmd,
        };
        cmd
    }
}

/// Every command that may be sent, by name, with the first Redis version that knows it.
pub const ALLOWED: &[(&str, (u32, u32))] = &[
    ("AUTH", (6, 0)),
    ("PING", (6, 0)),
    ("CLIENT SETNAME", (6, 0)),
    ("CLIENT NO-EVICT", (7, 0)),
    ("CLIENT NO-TOUCH", (7, 2)),
    ("INFO", (6, 0)),
    ("SLOWLOG GET", (6, 0)),
    ("CLUSTER SHARDS", (7, 0)),
    ("CLUSTER SLOTS", (6, 0)),
    ("CLUSTER NODES", (6, 0)),
    ("CONFIG GET", (6, 0)),
    ("DBSIZE", (6, 0)),
    ("READONLY", (6, 0)),
    ("SCAN", (6, 0)),
    ("MEMORY USAGE", (6, 0)),
    ("TYPE", (6, 0)),
    ("STRLEN", (6, 0)),
    ("LLEN", (6, 0)),
    ("SCARD", (6, 0)),
    ("ZCARD", (6, 0)),
    ("HLEN", (6, 0)),
    ("XLEN", (6, 0)),
];

/// The ACL SETUSER line for a user that may do just what Headwater does, for a server of this version. From 7.0 on
/// one unknown subcommand makes the whole line fail, and keys can be for reading alone; before that any subcommand
/// is taken, and trying one that is not allowed is a refusal even where it does not exist.
pub fn acl_line(user: &str, version: (u32, u32)) -> String {
    let is_strict = version >= (7, 0);
    let keys = if is_strict { "%R~*" } else { "~*" };
    let rules: Vec<_> = ALLOWED
        .iter()
        .filter(|(_, since)| !is_strict || version >= *since)
        .map(|(name, _)| acl_rule(name))
        .collect();
    format!("ACL SETUSER {user} on >PASSWORD {keys} -@all {}", rules.join(" "))
}

fn acl_rule(name: &str) -> String {
    format!("+{}", name.to_ascii_lowercase().replace(' ', "|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_command() -> Vec<Command<'static>> {
        let mut commands = vec![
            Command::Auth(Some("watcher"), Secret("word")),
            Command::Ping,
            Command::SetName,
            Command::NoEvict,
            Command::NoTouch,
            Command::Info(&["server"]),
            Command::SlowlogGet(1),
            Command::ClusterShards,
            Command::ClusterSlots,
            Command::ClusterNodes,
            Command::ConfigGet("maxmemory"),
            Command::DbSize,
            Command::ReadOnly,
            Command::Scan(0, 10),
            Command::MemoryUsage(b"k"),
            Command::Type(b"k"),
        ];
        commands.extend(LENGTHS.iter().map(|(length, _, _)| Command::Length(*length, b"k")));
        commands
    }

    #[test]
    fn the_list_is_exactly_the_commands() {
        let sent: Vec<_> = every_command().iter().map(Command::name).collect();
        let allowed: Vec<_> = ALLOWED.iter().map(|(name, _)| *name).collect();
        assert_eq!(sent, allowed);
    }

    #[test]
    fn nothing_on_the_list_writes_or_blocks() {
        for (name, _) in ALLOWED {
            for banned in
                ["SET", "DEL", "FLUSH", "KEYS", "MONITOR", "DEBUG", "RESET", "EVAL", "SHUTDOWN", "REWRITE"]
            {
                let last = name.rsplit(' ').next().unwrap();
                assert!(!last.starts_with(banned) || *name == "CLIENT SETNAME", "{name}");
            }
        }
    }

    #[test]
    fn lines_differ_by_version() {
        let old = acl_line("watcher", (6, 2));
        assert!(old.contains(" ~* ") && old.contains("+client|no-touch"), "{old}");
        let strict = acl_line("watcher", (7, 0));
        assert!(strict.contains("+client|no-evict") && !strict.contains("no-touch"), "{strict}");
        let new = acl_line("watcher", (8, 2));
        assert!(
            new.contains(" %R~* ") && new.contains("+client|no-touch") && new.contains("+memory|usage"),
            "{new}"
        );
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", every_command()[0]).contains("word"));
    }
}
