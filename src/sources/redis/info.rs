//! The INFO reply: `name:value` lines in sections, with whatever a version, fork or proxy adds or leaves out.

use std::collections::HashMap;

use super::allowed::Release;

/// One INFO reply. Lines that cannot be read are left out and fields that are not there are `None`.
#[derive(Debug, Default)]
pub struct Info<'a> {
    fields: HashMap<&'a str, &'a str>,
    /// Per command as the server names it, such as `get` or `config|get`.
    pub commands: Vec<CommandStat<'a>>,
    /// Error words with the number of replies that began with them.
    pub errors: Vec<(&'a str, f64)>,
    /// Keys in all databases, when the reply has a keyspace section.
    pub keys: Option<f64>,
    /// Of these, keys that have an expiry.
    pub volatile_keys: Option<f64>,
    /// Each replica that a primary lists.
    pub replicas: Vec<ListedReplica<'a>>,
}

/// A replica as its primary lists it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedReplica<'a> {
    /// Its host.
    pub host: &'a str,
    /// Its port.
    pub port: u16,
    /// The replication offset that it confirmed last, in bytes.
    pub offset: Option<f64>,
    /// Seconds since it confirmed.
    pub lag_s: Option<f64>,
}

/// What one command has cost since the server started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandStat<'a> {
    /// The server's name for it, subcommands after `|`.
    pub name: &'a str,
    /// Calls.
    pub calls: f64,
    /// Microseconds of execution.
    pub usec: f64,
}

impl<'a> Info<'a> {
    /// Reads a reply.
    pub fn parse(text: &'a str) -> Self {
        let mut info = Self::default();
        for line in text.lines() {
            if let Some(section) = line.strip_prefix('#') {
                if section.trim().eq_ignore_ascii_case("keyspace") {
                    info.keys.get_or_insert(0.0);
                    info.volatile_keys.get_or_insert(0.0);
                }
            } else if let Some((name, value)) = line.split_once(':') {
                info.take(name.trim(), value.trim());
            }
        }
        info
    }

    fn take(&mut self, name: &'a str, value: &'a str) {
        if let Some(command) = name.strip_prefix("cmdstat_") {
            if let (Some(calls), Some(usec)) = (part_number(value, "calls"), part_number(value, "usec")) {
                self.commands.push(CommandStat { name: command, calls, usec });
            }
        } else if let Some(word) = name.strip_prefix("errorstat_") {
            if let Some(count) = part_number(value, "count").filter(|_| word != "ERRORSTATS_DISABLED") {
                self.errors.push((word, count));
            }
        } else if is_numbered(name, "db") {
            if let Some(keys) = part_number(value, "keys") {
                *self.keys.get_or_insert(0.0) += keys;
                *self.volatile_keys.get_or_insert(0.0) += part_number(value, "expires").unwrap_or(0.0);
            }
        } else {
            if is_numbered(name, "slave")
                && let (Some(host), Some(port)) = (part(value, "ip"), part(value, "port"))
                && let Ok(port) = port.parse()
            {
                let [offset, lag_s] = ["offset", "lag"].map(|name| part_number(value, name));
                self.replicas.push(ListedReplica { host, port, offset, lag_s });
            }
            self.fields.entry(name).or_insert(value);
        }
    }

    /// A field's text; an empty value is `None`.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.fields.get(name).copied().filter(|value| !value.is_empty())
    }

    /// A field's number: finite, and neither a negative number in disguise (some versions wrap around below
    /// zero) nor the -1 that stands for "never".
    pub fn number(&self, name: &str) -> Option<f64> {
        number(self.text(name)?)
    }

    /// The sum of two fields, when both are there.
    pub fn sum(&self, one: &str, other: &str) -> Option<f64> {
        Some(self.number(one)? + self.number(other)?)
    }

    /// The release as far as commands differ; a server that does not say is taken for a Redis 7.0.
    pub fn release(&self) -> Release {
        let version = |field: &str| {
            let mut numbers = self.text(field)?.split('.').map(|part| part.parse().ok());
            Some((numbers.next()??, numbers.next()??))
        };
        match version("valkey_version") {
            Some((major, minor)) => Release::valkey(major, minor),
            None => version("redis_version")
                .map_or(Release::redis(7, 0), |(major, minor)| Release::redis(major, minor)),
        }
    }

    /// Whether the server says a release by which its commands can be told: forks of other makers keep a version of
    /// Redis and have commands of their own.
    pub fn names_release(&self) -> bool {
        let of_others = ["dragonfly_version", "garnet_version", "pika_version"];
        (self.text("redis_version").is_some() || self.text("valkey_version").is_some())
            && of_others.iter().all(|field| self.text(field).is_none())
    }

    /// Whether the reply is one that a proxy put together from several servers: what adds up is a sum, the run is that of
    /// any of them, and what only one process can have, its own number and port, is missing.
    pub fn is_of_several(&self) -> bool {
        self.text("run_id").is_some() && self.text("process_id").or(self.text("tcp_port")).is_none()
    }

    /// Whether the process answers on several threads alike, so that the time of its main thread says little.
    pub fn has_equal_threads(&self) -> bool {
        self.text("dragonfly_version").is_some()
    }

    /// `cluster`, `standalone` or `sentinel`; forks renamed the field.
    pub fn mode(&self) -> Option<&'a str> {
        self.text("redis_mode").or_else(|| self.text("server_mode"))
    }

    /// Whether the node is part of a cluster.
    pub fn is_clustered(&self) -> bool {
        self.text("cluster_enabled") == Some("1") || self.mode() == Some("cluster")
    }

    /// The name and version to show, such as `Valkey 9.1.2`: forks keep a frozen `redis_version`.
    pub fn product(&self) -> String {
        // KeyDB keeps a version of Redis, and is known by a field of its own.
        let own = if self.text("mvcc_depth").is_some() { "KeyDB" } else { "Redis" };
        let named =
            [("valkey_version", "Valkey"), ("dragonfly_version", "Dragonfly"), ("redis_version", own)];
        named
            .iter()
            .find_map(|(field, name)| self.text(field).map(|version| format!("{name} {version}")))
            .unwrap_or_else(|| "unknown server".to_owned())
    }
}

fn part<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value
        .split(',')
        .find_map(|part| part.split_once('=').filter(|(key, _)| *key == name))
        .map(|(_, text)| text)
}

fn part_number(value: &str, name: &str) -> Option<f64> {
    number(part(value, name)?)
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| (0.0..9.2e18).contains(number))
}

fn is_numbered(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn odd_lines_cost_only_themselves() {
        let info = Info::parse(
            "# Server\r\nmonotonic_clock:X86 TSC @ 2600.31 ticks/us\r\nconfig_file:\r\nmodule:name=a\r\n\
             module:name=b\r\nno colon here\r\nmem_fragmentation_bytes:18446744073597767720\r\n\
             rdb_last_bgsave_time_sec:-1\r\nused_memory_human:64.11MiB\r\n# Cluster Info\r\n\
             cmdstat_config|get:calls=3,usec=90,usec_per_call=30.00,rejected_calls=0,slowlog_count=1\r\n\
             cmdstat_broken:calls=x\r\nerrorstat_MOVED:count=7\r\nerrorstat_ERRORSTATS_DISABLED:count=0\r\n\
             # Keyspace\r\ndb0:keys=5,expires=0,avg_ttl=0,subexpiry=0\r\ndb12:keys=2,expires=1\r\n",
        );
        assert_eq!(info.text("monotonic_clock"), Some("X86 TSC @ 2600.31 ticks/us"));
        assert_eq!(info.text("config_file"), None);
        assert_eq!(info.text("module"), Some("name=a"));
        for absent in ["mem_fragmentation_bytes", "rdb_last_bgsave_time_sec", "used_memory_human", "nothing"]
        {
            assert_eq!(info.number(absent), None, "{absent}");
        }
        assert_eq!(info.commands, [CommandStat { name: "config|get", calls: 3.0, usec: 90.0 }]);
        assert_eq!(info.errors, [("MOVED", 7.0)]);
        assert_eq!(info.keys, Some(7.0));
    }

    #[test]
    fn an_empty_keyspace_is_zero_keys_and_a_missing_one_is_unknown() {
        assert_eq!(Info::parse("# Keyspace\r\n").keys, Some(0.0));
        assert_eq!(Info::parse("# Stats\r\n").keys, None);
    }

    #[test]
    fn every_version_gives_identity_cpu_and_commands() {
        let samples = [
            ("redis-6.2.16", "Redis 6.2"),
            ("redis-7.0.15", "Redis 7.0"),
            ("redis-8.2.3", "Redis 8.2"),
            ("valkey-9.1", "Valkey 9.1"),
        ];
        for (folder, product) in samples {
            let Some(bytes) = fixture(&format!("redis-samples/{folder}/info-all.txt")) else { return };
            let text = String::from_utf8(bytes).unwrap();
            let info = Info::parse(&text);
            assert!(info.product().starts_with(product), "{} in {folder}", info.product());
            assert_eq!(info.mode(), Some("standalone"), "{folder}");
            for field in
                ["server_time_usec", "uptime_in_seconds", "used_cpu_user_main_thread", "evicted_keys"]
            {
                assert!(info.number(field).is_some(), "{field} in {folder}");
            }
            assert!(info.text("run_id").is_some_and(|id| id.len() == 40), "{folder}");
            assert!(
                info.commands.iter().any(|command| command.name == "get" && command.calls > 0.0),
                "{folder}"
            );
            assert!(info.errors.iter().any(|(word, _)| *word == "WRONGTYPE"), "{folder}");
            assert_eq!(info.replicas.len(), 1, "{folder}");
            assert!(info.keys.is_some_and(|keys| keys > 0.0), "{folder}");
        }
    }

    #[test]
    fn a_cluster_node_says_so_in_every_version() {
        for folder in ["redis-6.2.16", "redis-7.0.15", "redis-8.2.3", "valkey-9.1"] {
            let Some(bytes) = fixture(&format!("redis-samples/{folder}/info-cluster-node.txt")) else {
                return;
            };
            assert!(Info::parse(&String::from_utf8(bytes).unwrap()).is_clustered(), "{folder}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(?s).{0,400}") {
            let _ = Info::parse(&text);
        }

        #[test]
        fn fields_survive_noise(before in "[^\r\n]{0,40}", value in 0_u32..u32::MAX) {
            let text = format!("{before}\r\nzz_used:{value}\r\n{before}");
            let info = Info::parse(&text);
            proptest::prop_assert_eq!(info.number("zz_used"), Some(f64::from(value)));
        }
    }
}
