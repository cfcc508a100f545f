//! The one list of commands that Headwater may send to a Redis server.
//!
//! All of them read. There is no other way to a server than a [`Command`], and the ACL lines that users are told
//! to set are made from the same table.

mod list;

use redis::Cmd;

use super::slowlog::OUR_CLIENT_NAME;
use list::acl_rule;
pub use list::{ALLOWED, ALLOWED_ON_SENTINELS, AllowedRow, Release, acl_line, keys_rule, sentinel_acl_line};

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
    /// PTTL of a key; it adds to the hits.
    Pttl(&'a [u8]),
    /// OBJECT FREQ of a key; it adds to the hits, and needs a policy of the LFU kind.
    ObjectFreq(&'a [u8]),
    /// CLUSTER INFO.
    ClusterInfo,
    /// CLUSTER SLOT-STATS ordered by a metric, with a limit (Redis 8.2, Valkey 8.0).
    ClusterSlotStats(&'a str, u32),
    /// CLUSTER GETKEYSINSLOT: some keys of a slot.
    ClusterKeysInSlot(u16, u32),
    /// LATENCY LATEST.
    LatencyLatest,
    /// LATENCY HISTOGRAM of some commands (7.0 and later).
    LatencyHistogram(&'a [&'a str]),
    /// COMMANDLOG GET with a count and a type (Valkey 8.1 and later).
    CommandlogGet(u32, &'a str),
    /// HOTKEYS GET: what the server counted.
    HotkeysGet,
    /// HOTKEYS START, with the count of keys, how long in seconds, and one of how many commands is looked at; only
    /// after an explicit yes.
    HotkeysStart {
        /// Keys that are kept.
        count: u32,
        /// Seconds after which the server stops by itself.
        seconds: u32,
        /// One of so many commands is looked at.
        sample: u32,
    },
    /// HOTKEYS STOP: ends a count that we started.
    HotkeysStop,
    /// MONITOR; only after an explicit yes.
    Monitor,
    /// SENTINEL GET-MASTER-ADDR-BY-NAME: where a primary is, asked of a Sentinel.
    SentinelAddress(&'a str),
    /// SENTINEL REPLICAS of a primary, asked of a Sentinel.
    SentinelReplicas(&'a str),
    /// SENTINEL MASTERS: every primary that a Sentinel watches.
    SentinelPrimaries,
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
            Self::Pttl(_) => "PTTL",
            Self::ObjectFreq(_) => "OBJECT FREQ",
            Self::ClusterInfo => "CLUSTER INFO",
            Self::ClusterSlotStats(..) => "CLUSTER SLOT-STATS",
            Self::ClusterKeysInSlot(..) => "CLUSTER GETKEYSINSLOT",
            Self::LatencyLatest => "LATENCY LATEST",
            Self::LatencyHistogram(_) => "LATENCY HISTOGRAM",
            Self::CommandlogGet(..) => "COMMANDLOG GET",
            Self::HotkeysGet => "HOTKEYS GET",
            Self::HotkeysStart { .. } => "HOTKEYS START",
            Self::HotkeysStop => "HOTKEYS STOP",
            Self::Monitor => "MONITOR",
            Self::SentinelAddress(_) => "SENTINEL GET-MASTER-ADDR-BY-NAME",
            Self::SentinelReplicas(_) => "SENTINEL REPLICAS",
            Self::SentinelPrimaries => "SENTINEL MASTERS",
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
            Self::ConfigGet(name) | Self::SentinelAddress(name) | Self::SentinelReplicas(name) => {
                cmd.arg(name)
            }
            Self::Scan(cursor, count) => cmd.arg(cursor).arg("COUNT").arg(count),
            Self::MemoryUsage(key)
            | Self::Type(key)
            | Self::Length(_, key)
            | Self::Pttl(key)
            | Self::ObjectFreq(key) => cmd.arg(key),
            Self::ClusterSlotStats(metric, limit) => {
                cmd.arg("ORDERBY").arg(metric).arg("LIMIT").arg(limit).arg("DESC")
            }
            Self::ClusterKeysInSlot(slot, count) => cmd.arg(slot).arg(count),
            Self::LatencyHistogram(commands) => cmd.arg(commands),
            Self::CommandlogGet(count, kind) => cmd.arg(count).arg(kind),
            Self::HotkeysStart { count, seconds, sample } => cmd
                .arg(&["METRICS", "2", "CPU", "NET", "COUNT"])
                .arg(count)
                .arg("DURATION")
                .arg(seconds)
                .arg("SAMPLE")
                .arg(sample),
            Self::Ping
            | Self::ClusterShards
            | Self::ClusterSlots
            | Self::ClusterNodes
            | Self::ClusterInfo
            | Self::LatencyLatest
            | Self::HotkeysGet
            | Self::HotkeysStop
            | Self::Monitor
            | Self::SentinelPrimaries
            | Self::DbSize
            | Self::ReadOnly => &mut cmd,
        };
        cmd
    }
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
        commands.extend([
            Command::Pttl(b"k"),
            Command::ObjectFreq(b"k"),
            Command::ClusterInfo,
            Command::ClusterSlotStats("cpu-usec", 8),
            Command::ClusterKeysInSlot(1, 8),
            Command::LatencyLatest,
            Command::LatencyHistogram(&["get"]),
            Command::CommandlogGet(1, "large-reply"),
            Command::HotkeysGet,
            Command::HotkeysStart { count: 10, seconds: 10, sample: 10 },
            Command::HotkeysStop,
            Command::Monitor,
        ]);
        commands
    }

    #[test]
    fn the_list_is_exactly_the_commands() {
        let sent: Vec<_> = every_command().iter().map(Command::name).collect();
        let allowed: Vec<_> = ALLOWED.iter().map(|row| row.name).collect();
        assert_eq!(sent, allowed);
    }

    #[test]
    fn the_list_of_sentinels_is_what_they_are_sent() {
        let asked =
            [Command::SentinelAddress("main"), Command::SentinelReplicas("main"), Command::SentinelPrimaries];
        let sent = every_command();
        let known = |name: &&str| sent.iter().chain(&asked).any(|command| command.name() == *name);
        assert!(ALLOWED_ON_SENTINELS.iter().all(known));
        assert!(asked.iter().all(|command| ALLOWED_ON_SENTINELS.contains(&command.name())));
        let line = sentinel_acl_line("watcher");
        assert!(
            line.ends_with("+sentinel|get-master-addr-by-name +sentinel|replicas +sentinel|masters"),
            "{line}"
        );
    }

    #[test]
    fn nothing_on_the_list_writes_or_blocks() {
        for AllowedRow { name, .. } in ALLOWED.iter().filter(|row| !row.needs_consent) {
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
        let old = acl_line("watcher", Release::redis(6, 2), false);
        assert!(old.contains(" ~* ") && old.contains("+client|no-touch"), "{old}");
        assert!(
            !old.contains("commandlog") && !old.contains("hotkeys"),
            "6.2 takes no unknown command: {old}"
        );
        let strict = acl_line("watcher", Release::redis(7, 0), false);
        assert!(strict.contains("+client|no-evict") && !strict.contains("no-touch"), "{strict}");
        let new = acl_line("watcher", Release::redis(8, 2), false);
        assert!(
            new.contains(" %R~* ") && new.contains("+client|no-touch") && new.contains("+memory|usage"),
            "{new}"
        );
        let valkey = acl_line("watcher", Release::valkey(9, 1), false);
        assert!(valkey.contains("+commandlog|get") && !valkey.contains("hotkeys"), "{valkey}");
        assert!(!new.contains("commandlog") && !new.contains("monitor"), "{new}");
        assert!(acl_line("watcher", Release::redis(8, 2), true).contains("+monitor"));
    }

    #[test]
    fn a_secret_is_not_shown() {
        assert!(!format!("{:?}", every_command()[0]).contains("word"));
    }
}
