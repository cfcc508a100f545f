//! Which server a test runs against.

use std::path::{Path, PathBuf};

/// A release of Redis or Valkey: the one in PATH, or one that `scripts/servers` fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerRelease {
    /// The `redis-server` in PATH, 7.0 or newer.
    #[default]
    Installed,
    /// Redis 6.2, without TLS.
    Redis62,
    /// Redis 8.2, without TLS.
    Redis82,
    /// Valkey 8.1, without TLS.
    Valkey81,
    /// Valkey 9.1, without TLS.
    Valkey91,
}

impl ServerRelease {
    /// Every release, the installed one first.
    pub const ALL: [Self; 5] =
        [Self::Installed, Self::Redis62, Self::Redis82, Self::Valkey81, Self::Valkey91];

    /// What it is called in the names of tests' complaints.
    pub fn name(self) -> &'static str {
        match self {
            Self::Installed => "the installed Redis",
            Self::Redis62 => "Redis 6.2",
            Self::Redis82 => "Redis 8.2",
            Self::Valkey81 => "Valkey 8.1",
            Self::Valkey91 => "Valkey 9.1",
        }
    }

    /// Whether it is one of before 7.0: it has no CLUSTER SHARDS, no ADDSLOTSRANGE, no bus port of its own choice, no
    /// LATENCY HISTOGRAM, and takes one section in an INFO.
    pub fn is_old(self) -> bool {
        self == Self::Redis62
    }

    /// The file to run.
    pub(crate) fn program(self) -> PathBuf {
        let folder = match self {
            Self::Installed => return PathBuf::from("redis-server"),
            Self::Redis62 => "redis-6.2",
            Self::Redis82 => "redis-8.2",
            Self::Valkey81 => "valkey-8.1",
            Self::Valkey91 => "valkey-9.1",
        };
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/servers").join(folder);
        let program = program.join("redis-server");
        assert!(program.is_file(), "there is no {}: scripts/servers fetches it", program.display());
        program
    }
}
