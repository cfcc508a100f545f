//! The configuration of Headwater for a lab: the same words whatever is going to happen.

use std::net::SocketAddr;

/// Writes it. Only ports differ between two labs of one seed and size.
pub(super) fn configuration(redis: &[SocketAddr], service: SocketAddr, load: SocketAddr) -> String {
    let urls: Vec<_> = redis.iter().map(|address| format!("\"redis://{address}\"")).collect();
    let urls = urls.join(", ");
    format!(
        r#"# Headwater's view of its lab.
name = "lab"
interval = "1s"

[[redis]]
name = "features"
urls = [{urls}]
link = "200Mbit/s"
link_scope = "node"

[[metrics]]
component = "service/ranker"
url = "http://{service}/metrics"

[[metrics]]
component = "client/load"
url = "http://{load}/metrics"

[[component]]
subject = "client/load"
depends_on = ["service/ranker"]

[[component]]
subject = "service/ranker"
depends_on = ["redis/features", "queue/ranker"]
objective_p99 = "500ms"
stages = {{ feature_load = "redis/features", queue = "queue/ranker", infer = "gpu/ranker" }}

[[component]]
subject = "queue/ranker"
depends_on = ["gpu/ranker"]

[[component]]
subject = "gpu/ranker"
"#
    )
}
