//! The configuration of Headwater for a lab: the same words whatever is going to happen.

use std::net::SocketAddr;

/// Who stands behind the gateway.
const GATEWAY: &str = "[[component]]\nsubject = \"gateway/edge\"\ndepends_on = [\"service/ranker\"]\n\n";

/// What the queue feeds where an exporter tells of it, and the machine that launches its kernels.
const SEEN_GPU: &str = r#"[[component]]
subject = "gpu/simulated:0"
depends_on = ["host/simulated"]

[[component]]
subject = "host/simulated"
"#;

/// The same where nothing does.
const UNSEEN_GPU: &str = "[[component]]\nsubject = \"gpu/ranker\"\n";

/// Writes it. Only ports differ between two labs of one seed, size and shape.
pub(super) fn configuration(
    redis: &[SocketAddr],
    services: &[SocketAddr],
    gateway: Option<SocketAddr>,
    gpus: Option<SocketAddr>,
    load: SocketAddr,
) -> String {
    let gateway_page = gateway.map(|at| page("gateway/edge", at, "/stats/prometheus")).unwrap_or_default();
    let service_pages: String = services.iter().map(|at| page("service/ranker", *at, "/metrics")).collect();
    let gpu_page = gpus.map(|at| page("service/gpu-exporter", at, "/metrics")).unwrap_or_default();
    let pages = gateway_page + &service_pages + &gpu_page + &page("client/load", load, "/metrics");
    let (asked, gateway) = if gateway.is_some() { ("gateway/edge", GATEWAY) } else { ("service/ranker", "") };
    let (gpu, gpus) = if gpus.is_some() { ("gpu/simulated:0", SEEN_GPU) } else { ("gpu/ranker", UNSEEN_GPU) };
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

{pages}[[component]]
subject = "client/load"
depends_on = ["{asked}"]

{gateway}[[component]]
subject = "service/ranker"
depends_on = ["redis/features", "queue/ranker"]
objective_p99 = "500ms"
stages = {{ feature_load = "redis/features", queue = "queue/ranker", infer = "{gpu}" }}

[[component]]
subject = "queue/ranker"
depends_on = ["{gpu}"]

{gpus}"#
    )
}

fn page(component: &str, at: SocketAddr, path: &str) -> String {
    format!("[[metrics]]\ncomponent = \"{component}\"\nurl = \"http://{at}{path}\"\n\n")
}
