//! Sentinels: who is the primary, by those who decide it.

use std::sync::Arc;

use headwater_engine::RemoteText;
use headwater_engine::reading::{FaultKind, NodeHealth};
use redis::Value;
use tokio::time::Instant;

use super::allowed::Command;
use super::board::Report;
use super::connection::{Access, Connection, Cost};
use super::discovery::{dial_of, dial_of_seed};
use super::reply::{field, items, text};
use super::spec::{RedisSpec, SentinelSpec};
use super::trouble::Trouble;

/// Asks one Sentinel who is the primary and who its replicas are.
pub(super) async fn ask_sentinel(
    seed: &str,
    spec: &RedisSpec,
    sentinel: &SentinelSpec,
    access: &Access,
    deadline: Instant,
) -> Result<Report, Trouble> {
    let dial = dial_of_seed(seed, &spec.address_map)?;
    let mut connection = Connection::open(&dial, access, &Arc::new(Cost::default()), deadline).await?;
    let name = sentinel.primary.as_str();
    let answer = connection.ask(Command::SentinelAddress(name), deadline).await.map_err(|trouble| {
        match trouble.is_command_error() {
            true => Trouble::broken(
                FaultKind::Malformed,
                format!(
                    "{} is no Sentinel: write redis:// for a server, or the Sentinels' port",
                    dial.named()
                ),
            ),
            false => trouble,
        }
    })?;
    let Some((host, port)) = read_pair(&answer) else {
        let known = connection.ask(Command::SentinelPrimaries, deadline).await;
        let known = known.as_ref().map(names).unwrap_or_default();
        let message = format!(
            "the Sentinel {} knows no primary '{}': it watches {}",
            dial.named(),
            RemoteText::new(name),
            if known.is_empty() { "none that it tells".to_owned() } else { known.join(", ") }
        );
        return Err(Trouble::broken(FaultKind::Malformed, message));
    };
    let replicas = match connection.ask(Command::SentinelReplicas(name), deadline).await {
        Ok(reply) => items(&reply).unwrap_or_default().iter().filter_map(read_replica).collect(),
        Err(trouble) if trouble.ends_connection => return Err(trouble),
        // Without them the primary is still known.
        Err(_) => vec![],
    };
    Ok(Report::Watched { primary: dial_of(&host, port, &spec.address_map)?, replicas })
}

/// Gives a reply to every reader of replies of Sentinels, for fuzzing.
pub(super) fn read_any(reply: &Value) {
    let _ = (read_pair(reply), read_replica(reply), names(reply));
    for entry in items(reply).unwrap_or_default() {
        let _ = read_replica(entry);
    }
}

fn read_pair(reply: &Value) -> Option<(String, u16)> {
    let [host, port] = items(reply)? else { return None };
    Some((text(host)?.into_owned(), text(port)?.parse().ok()?))
}

fn read_replica(replica: &Value) -> Option<(String, u16, NodeHealth)> {
    let word = |name| field(replica, name).and_then(text);
    let flags = word("flags")?;
    let has = |flag: &str| flags.split(',').any(|known| known == flag);
    let health = match () {
        () if has("s_down") || has("o_down") => NodeHealth::Failed,
        () if has("disconnected") => NodeHealth::Suspected,
        () => NodeHealth::Online,
    };
    Some((word("ip")?.into_owned(), word("port")?.parse().ok()?, health))
}

fn names(primaries: &Value) -> Vec<String> {
    let primaries = items(primaries).unwrap_or_default().iter();
    let names = primaries.filter_map(|primary| field(primary, "name").and_then(text));
    names.take(8).map(|name| format!("'{}'", RemoteText::new(&name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_has_the_health_that_sentinels_give_it_and_odd_replies_are_none() {
        let replica = |flags: &str| {
            let fields = ["name", "x", "ip", "::1", "port", "6380", "flags", flags];
            let words = fields.map(|word| Value::BulkString(word.as_bytes().to_vec()));
            read_replica(&Value::Array(words.into()))
        };
        let seen = |health| Some(("::1".to_owned(), 6_380, health));
        assert_eq!(replica("slave"), seen(NodeHealth::Online));
        assert_eq!(replica("s_down,slave,disconnected"), seen(NodeHealth::Failed));
        assert_eq!(replica("slave,disconnected"), seen(NodeHealth::Suspected));
        for odd in [Value::Nil, Value::Array(vec![]), Value::Array(vec![Value::Nil, Value::Nil])] {
            assert_eq!((read_pair(&odd), read_replica(&odd)), (None, None));
            assert!(names(&odd).is_empty());
        }
    }
}
