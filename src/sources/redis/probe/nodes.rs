//! Every node of a deployment: what it announces, where it is dialled, and the way there where it is out of reach.

use std::sync::Arc;

use futures::future::join_all;
use headwater_engine::Subject;
use headwater_engine::reading::{FaultKind, Topology};
use tokio::time::Instant;

use super::{PATIENCE, ProbeStep};
use crate::sources::redis::connection::{Access, Connection, Cost, Dial};
use crate::sources::redis::discovery::ask_seed;
use crate::sources::redis::layout::Layout;
use crate::sources::redis::spec::RedisSpec;
use crate::sources::redis::trouble::Trouble;

/// Asks for the shape and reaches every node of it on its own, but the one that was reached already.
pub(super) async fn reach(spec: &RedisSpec, reached: &Dial, access: &Access) -> Vec<ProbeStep> {
    let mut first = None;
    for seed in &spec.seeds {
        match ask_seed(seed, spec, access).await {
            Ok((report, dial, peer)) => {
                let mut layout = Layout::default();
                if let Some(peer) = peer {
                    layout.alias(peer, dial);
                }
                let Some((topology, dials)) = layout.of(spec, report) else { return vec![] };
                let told = ProbeStep::new(&spec.component, "the shape", Ok(words_of(&topology)), None);
                let steps =
                    dials.into_iter().map(|(subject, dial)| one(spec, subject, dial, reached, access));
                return [vec![told], join_all(steps).await].concat();
            }
            Err(trouble) => {
                first.get_or_insert(trouble);
            }
        }
    }
    let failed = first.map(|trouble| ProbeStep::new(&spec.component, "the shape", Err(&trouble), None));
    failed.into_iter().collect()
}

async fn one(
    spec: &RedisSpec,
    subject: Subject,
    dial: Option<Dial>,
    reached: &Dial,
    access: &Access,
) -> ProbeStep {
    let address = subject.address().unwrap_or("HOST:PORT").to_owned();
    let Some(dial) = dial else {
        let trouble =
            Trouble::broken(FaultKind::Unreachable, "the cluster does not know its address".to_owned());
        let fix = way_to(&address, &trouble, spec);
        return ProbeStep::new(&subject, "reach", Err(&trouble), fix);
    };
    if dial == *reached {
        return ProbeStep::new(&subject, "reach", Ok(words_of_way(spec, &dial)), None);
    }
    let deadline = Instant::now() + PATIENCE;
    match Connection::open(&dial, access, &Arc::new(Cost::default()), deadline).await {
        Ok(_) => ProbeStep::new(&subject, "reach", Ok(words_of_way(spec, &dial)), None),
        Err(trouble) => ProbeStep::new(&subject, "reach", Err(&trouble), way_to(&address, &trouble, spec)),
    }
}

fn words_of(topology: &Topology) -> String {
    let nodes: usize = topology.shards.iter().map(|shard| shard.nodes.len()).sum();
    match topology.clustered {
        true => format!("cluster, {} shards, {nodes} nodes", topology.shards.len()),
        false => format!("standalone, {nodes} nodes"),
    }
}

/// How a node was reached, as far as it is not the plain way.
fn words_of_way(spec: &RedisSpec, dial: &Dial) -> String {
    let mut words = "reached and let in".to_owned();
    let dialled = dial.dialled();
    if dialled != dial.shown {
        words += &format!("; announced '{}', dialled '{dialled}'", dial.shown);
    }
    if let Some(proxy) = &spec.proxy {
        words += &format!("; through {proxy}");
    }
    match &spec.tls {
        None => {}
        Some(tls) if tls.insecure => words += "; TLS, and nobody checks its certificate",
        Some(tls) => {
            let other = tls.server_name.as_ref().map(|name| format!(" or '{name}'")).unwrap_or_default();
            words += &format!("; TLS, its certificate is for '{}'{other}", dial.certified());
        }
    }
    words
}

/// How to reach a node that is out of reach from here; `None` where another way would not help.
pub(super) fn way_to(address: &str, trouble: &Trouble, spec: &RedisSpec) -> Option<String> {
    let address = address.trim();
    let is_far = matches!(trouble.kind, FaultKind::Unreachable | FaultKind::Silent);
    if !is_far || spec.proxy.is_some() || address.is_empty() || address.starts_with('/') {
        return None;
    }
    Some(format!(
        "ssh -N -D 1080 JUMPHOST and --proxy socks5h://127.0.0.1:1080 (proxy = in a configuration); or ssh -N -L \
         7001:{address} JUMPHOST and --address-map {address}=127.0.0.1:7001 (address_map = {{ \"{address}\" = \
         \"127.0.0.1:7001\" }})"
    ))
}
