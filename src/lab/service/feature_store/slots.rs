//! Who owns which slots, as a cluster client asks for it.

use std::collections::BTreeMap;

use redis::RedisResult;

use super::connect;

/// Asks one node; answers the owner of each slot range by the range's last slot.
pub(super) async fn owners_by(seed: &str) -> RedisResult<BTreeMap<u16, String>> {
    let mut connection = connect(seed).await?;
    type Node = (String, u16);
    let rows: Vec<(u16, u16, Node)> = {
        let value: redis::Value = redis::cmd("CLUSTER").arg("SLOTS").query_async(&mut connection).await?;
        let redis::Value::Array(rows) = value else { return Ok(BTreeMap::new()) };
        rows.iter().filter_map(row).collect()
    };
    Ok(rows.into_iter().map(|(_, last, (host, port))| (last, format!("{host}:{port}"))).collect())
}

/// One row of CLUSTER SLOTS: first slot, last slot, primary, then replicas.
fn row(value: &redis::Value) -> Option<(u16, u16, (String, u16))> {
    let redis::Value::Array(fields) = value else { return None };
    let [first, last, primary, ..] = fields.as_slice() else { return None };
    let redis::Value::Array(primary) = primary else { return None };
    let [host, port, ..] = primary.as_slice() else { return None };
    let number = |value: &redis::Value| redis::from_redis_value_ref::<u16>(value).ok();
    Some((number(first)?, number(last)?, (redis::from_redis_value_ref(host).ok()?, number(port)?)))
}
