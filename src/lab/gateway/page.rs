//! The gateway's numbers in Envoy's words: each instance is a cluster of one member.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;

use super::upstream::Upstream;
use super::{Gateway, TIMEOUT};
use crate::lab::exposition::Page;

/// The label of what callers see.
const LISTENER: &str = "envoy_http_conn_manager_prefix=\"ingress\"";

/// A family of one number an instance: its name behind `envoy_cluster_`, its type, and where the number is.
type Row = (&'static str, &'static str, fn(&Upstream) -> f64);

const ROWS: &[Row] = &[
    ("upstream_rq_total", "counter", |upstream| number(&upstream.counts.attempts)),
    ("upstream_rq_timeout", "counter", |upstream| number(&upstream.counts.timeouts)),
    ("upstream_rq_retry", "counter", |upstream| number(&upstream.counts.retries)),
    ("upstream_rq_active", "gauge", |upstream| upstream.counts.active.load(Ordering::Relaxed) as f64),
    ("outlier_detection_ejections_enforced_total", "counter", |upstream| number(&upstream.counts.ejections)),
    ("outlier_detection_ejections_active", "gauge", |upstream| {
        f64::from(u8::from(upstream.is_ejected(Instant::now())))
    }),
    ("membership_total", "gauge", |_| 1.0),
    ("membership_healthy", "gauge", |upstream| f64::from(u8::from(upstream.gets_requests()))),
    ("health_check_attempt", "counter", |upstream| number(&upstream.counts.checks)),
    ("health_check_failure", "counter", |upstream| number(&upstream.counts.failed_checks)),
    ("health_check_healthy", "gauge", |upstream| f64::from(u8::from(upstream.is_ready()))),
];

impl Gateway {
    /// The page.
    pub(super) fn page(&self) -> String {
        let mut page = Page::default();
        self.write_callers(&mut page);
        for (name, kind, number) in ROWS {
            let name = format!("envoy_cluster_{name}");
            page.kind(&name, kind);
            for upstream in &self.upstreams {
                page.sample(&name, &cluster(upstream), number(upstream));
            }
        }
        page.kind("envoy_cluster_upstream_rq_xx", "counter");
        for upstream in &self.upstreams {
            write_classes(
                &mut page,
                "envoy_cluster_upstream_rq_xx",
                &cluster(upstream),
                &upstream.counts.answers,
            );
        }
        page.kind("envoy_cluster_upstream_rq_time", "histogram");
        for upstream in &self.upstreams {
            page.histogram(
                "envoy_cluster_upstream_rq_time",
                &cluster(upstream),
                &upstream.counts.duration.histogram(),
            );
        }
        page.into_text()
    }

    fn write_callers(&self, page: &mut Page) {
        let done: f64 = self.answers.iter().map(number).sum();
        let aborted = number(&self.aborted);
        let active = self.active.load(Ordering::Relaxed) as f64;
        let rows = [
            ("envoy_http_downstream_rq_completed", "counter", done),
            ("envoy_http_downstream_rq_total", "counter", done + aborted + active),
            ("envoy_http_downstream_rq_rx_reset", "counter", aborted),
            ("envoy_http_downstream_rq_active", "gauge", active),
        ];
        for (name, kind, number) in rows {
            page.kind(name, kind);
            page.sample(name, LISTENER, number);
        }
        page.kind("envoy_http_downstream_rq_xx", "counter");
        write_classes(page, "envoy_http_downstream_rq_xx", LISTENER, &self.answers);
        page.kind("envoy_http_downstream_rq_time", "histogram");
        page.histogram("envoy_http_downstream_rq_time", LISTENER, &self.duration.histogram());
        // Not Envoy's: its page does not tell what it was configured with.
        let help = "How long the gateway waits for an upstream.";
        page.single("gateway_upstream_timeout_seconds", "gauge", help, "", TIMEOUT.as_secs_f64());
    }
}

fn write_classes(page: &mut Page, name: &str, labels: &str, classes: &[AtomicU64; 4]) {
    for (class, count) in (2..).zip(classes) {
        page.sample(name, &format!("envoy_response_code_class=\"{class}\",{labels}"), number(count));
    }
}

fn cluster(upstream: &Upstream) -> String {
    format!("envoy_cluster_name=\"{}\"", upstream.address)
}

fn number(counter: &AtomicU64) -> f64 {
    counter.load(Ordering::Relaxed) as f64
}
