//! The list itself, by release, and the ACL line that is made from it.

/// One row of [`ALLOWED`].
#[derive(Clone, Copy, Debug)]
pub struct AllowedRow {
    /// The command, subcommand included.
    pub name: &'static str,
    /// The first Redis that knows it, major and minor.
    pub redis: Option<(u32, u32)>,
    /// The first Valkey that knows it.
    pub valkey: Option<(u32, u32)>,
    /// Whether it is sent only after an explicit yes; the user's line has it only where it is asked for.
    pub needs_consent: bool,
}

/// A server's release, as far as commands differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Whether it is a Valkey.
    pub is_valkey: bool,
    /// Major and minor version, of Valkey its own.
    pub version: (u32, u32),
}

impl Release {
    /// A Redis of this version.
    pub fn redis(major: u32, minor: u32) -> Self {
        Self { is_valkey: false, version: (major, minor) }
    }

    /// A Valkey of this version.
    pub fn valkey(major: u32, minor: u32) -> Self {
        Self { is_valkey: true, version: (major, minor) }
    }

    /// Whether it knows this command.
    pub fn knows(self, row: &AllowedRow) -> bool {
        let since = if self.is_valkey { row.valkey } else { row.redis };
        since.is_some_and(|since| self.version >= since)
    }

    /// Whether it knows the command of this name; one that is not on the list it may know.
    pub fn knows_command(self, name: &str) -> bool {
        ALLOWED.iter().find(|row| row.name == name).is_none_or(|row| self.knows(row))
    }

    /// Whether it knows a command of the same first word: before 7.0 rights of a known command can name any subcommand.
    fn knows_first_word(self, row: &AllowedRow) -> bool {
        let first_word = |row: &AllowedRow| row.name.split(' ').next();
        ALLOWED.iter().any(|other| first_word(other) == first_word(row) && self.knows(other))
    }

    /// Whether one INFO can ask for several sections.
    pub fn knows_several_sections(self) -> bool {
        self.is_strict()
    }

    /// Whether one unknown subcommand makes a whole ACL line fail, and keys can be for reading alone.
    fn is_strict(self) -> bool {
        self.is_valkey || self.version >= (7, 0)
    }
}

/// Known to both, in every release that is still met; one that is older than we think of says so itself.
const EVER: Option<(u32, u32)> = Some((0, 0));

const fn row(name: &'static str, redis: Option<(u32, u32)>, valkey: Option<(u32, u32)>) -> AllowedRow {
    AllowedRow { name, redis, valkey, needs_consent: false }
}

const fn consented(name: &'static str, redis: Option<(u32, u32)>, valkey: Option<(u32, u32)>) -> AllowedRow {
    AllowedRow { name, redis, valkey, needs_consent: true }
}

/// Every command that may be sent.
pub const ALLOWED: &[AllowedRow] = &[
    row("AUTH", EVER, EVER),
    row("PING", EVER, EVER),
    row("CLIENT SETNAME", EVER, EVER),
    row("CLIENT NO-EVICT", Some((7, 0)), Some((7, 2))),
    row("CLIENT NO-TOUCH", Some((7, 2)), Some((7, 2))),
    row("INFO", EVER, EVER),
    row("SLOWLOG GET", EVER, EVER),
    row("CLUSTER SHARDS", Some((7, 0)), Some((7, 2))),
    row("CLUSTER SLOTS", EVER, EVER),
    row("CLUSTER NODES", EVER, EVER),
    row("CONFIG GET", EVER, EVER),
    row("DBSIZE", EVER, EVER),
    row("READONLY", EVER, EVER),
    row("SCAN", EVER, EVER),
    row("MEMORY USAGE", EVER, EVER),
    row("TYPE", EVER, EVER),
    row("STRLEN", EVER, EVER),
    row("LLEN", EVER, EVER),
    row("SCARD", EVER, EVER),
    row("ZCARD", EVER, EVER),
    row("HLEN", EVER, EVER),
    row("XLEN", EVER, EVER),
    row("PTTL", EVER, EVER),
    row("OBJECT FREQ", EVER, EVER),
    row("CLUSTER INFO", EVER, EVER),
    row("CLUSTER SLOT-STATS", Some((8, 2)), Some((8, 0))),
    row("CLUSTER GETKEYSINSLOT", EVER, EVER),
    row("LATENCY LATEST", EVER, EVER),
    row("LATENCY HISTOGRAM", Some((7, 0)), Some((7, 2))),
    row("COMMANDLOG GET", None, Some((8, 1))),
    // Valkey has one of its own, which counts without being started, in what comes after 9.1.
    row("HOTKEYS GET", Some((8, 6)), Some((9, 2))),
    consented("HOTKEYS START", Some((8, 6)), None),
    consented("HOTKEYS STOP", Some((8, 6)), None),
    consented("MONITOR", EVER, EVER),
];

/// The ACL SETUSER line for a user that may do just what Headwater does, for a server of this release; with what needs
/// a yes each time where `with_consented` says so. From Redis 7.0 on one unknown subcommand makes the whole line fail,
/// and keys can be for reading alone; before that any subcommand of a known command is taken, and trying one that is not
/// allowed is a refusal even where it does not exist.
pub fn acl_line(user: &str, release: Release, with_consented: bool) -> String {
    let keys = keys_rule(release);
    let rules: Vec<_> = ALLOWED
        .iter()
        .filter(|row| with_consented || !row.needs_consent)
        .filter(|row| release.knows(row) || (!release.is_strict() && release.knows_first_word(row)))
        .map(|row| acl_rule(row.name))
        .collect();
    format!("ACL SETUSER {user} on >PASSWORD {keys} -@all {}", rules.join(" "))
}

/// The rule for all keys, for reading alone where the release can tell reading apart.
pub fn keys_rule(release: Release) -> &'static str {
    if release.is_strict() { "%R~*" } else { "~*" }
}

/// Every command that a Sentinel may be sent.
pub const ALLOWED_ON_SENTINELS: &[&str] = &[
    "AUTH",
    "PING",
    "CLIENT SETNAME",
    "SENTINEL GET-MASTER-ADDR-BY-NAME",
    "SENTINEL REPLICAS",
    "SENTINEL MASTERS",
];

/// The ACL SETUSER line for a user of Sentinels, 6.2 and later, that may do just what Headwater does there.
pub fn sentinel_acl_line(user: &str) -> String {
    let rules: Vec<_> = ALLOWED_ON_SENTINELS.iter().map(|name| acl_rule(name)).collect();
    format!("ACL SETUSER {user} on >PASSWORD -@all {}", rules.join(" "))
}

pub(super) fn acl_rule(name: &str) -> String {
    format!("+{}", name.to_ascii_lowercase().replace(' ', "|"))
}
