//! What the page of a redis_exporter says of the place of its node.

use headwater_engine::reading::ExportedNode;
use headwater_engine::{RemoteText, Subject};

use super::exposition::Exposition;

/// The node of a page, as `redis_instance_info` and `redis_slave_info` tell of it; `None` where the page has them not.
pub(super) fn exported_node(page: &Exposition<'_>, node: &Subject) -> Option<ExportedNode> {
    let first = |name: &str| page.samples.iter().find(|sample| page.name(sample) == name);
    let info = first("redis_instance_info")?;
    let role = page.label(info, "role")?;
    let follows = first("redis_slave_info").and_then(|info| {
        let (host, port) = (page.label(info, "master_host")?, page.label(info, "master_port")?);
        (!host.is_empty()).then(|| RemoteText::new(&format!("{host}:{port}")))
    });
    let primary = role == "master";
    Some(ExportedNode {
        node: node.clone(),
        primary,
        port: page.label(info, "tcp_port").and_then(|port| port.parse().ok()),
        follows: follows.filter(|_| !primary),
    })
}

#[cfg(test)]
mod tests {
    use super::super::exposition::decode;
    use super::*;

    #[test]
    fn a_replica_names_whom_it_follows_and_other_pages_name_nobody() {
        let node: Subject = "redis/f@h:1".parse().unwrap();
        let text = "redis_instance_info{role=\"slave\",tcp_port=\"6380\"} 1\n\
                    redis_slave_info{master_host=\"10.0.0.1\",master_port=\"6379\",read_only=\"1\"} 1\n";
        let told = exported_node(&decode(text.as_bytes(), None), &node).unwrap();
        assert_eq!((told.primary, told.port), (false, Some(6_380)));
        assert_eq!(told.follows.unwrap().as_str(), "10.0.0.1:6379");
        let text = "redis_instance_info{role=\"master\"} 1\n";
        let told = exported_node(&decode(text.as_bytes(), None), &node).unwrap();
        assert_eq!((told.primary, told.port, told.follows), (true, None, None));
        assert!(exported_node(&decode(b"redis_up 1\n", None), &node).is_none());
    }
}
