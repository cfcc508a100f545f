//! From the page to the rule: what a page says reaches who judges it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use headwater::sources::metrics::dialect::Dialects;
use headwater::sources::metrics::exposition::decode;
use headwater::sources::metrics::mapping::{Mapper, Target};
use headwater_engine::reading::{Input, Reading};
use headwater_engine::settings::{Baselines, Component, Settings};
use headwater_engine::{Engine, Moment, Snapshot, Subject};

/// Who serves a page, at which address, and the page of each second.
type Served<'a> = (&'a str, &'a str, &'a dyn Fn(i64) -> String);

fn subject(text: &str) -> Subject {
    text.parse().expect("a subject")
}

fn component(text: &str, depends_on: &[&str]) -> Component {
    Component {
        has_source: true,
        depends_on: depends_on.iter().map(|callee| subject(callee)).collect(),
        ..Component::new(subject(text))
    }
}

/// What is seen after ten seconds of these pages, one a second.
fn seen(components: Vec<Component>, pages: &[Served<'_>]) -> Arc<Snapshot> {
    let mut engine = Engine::new(Settings { components, ..Settings::default() }, Baselines::default());
    for second in 1..=10_i64 {
        for (of, address, text) in pages {
            let target = Target::new(&subject(of), address);
            let text = text(second);
            let page = decode(text.as_bytes(), None);
            let mut reading = Reading::new(subject(of).instance(address), Moment(second * 1_000));
            reading.samples = Mapper::new(Dialects::built_in(), target, None).map(&page).samples;
            engine.take(&Input::Reading(reading));
        }
        engine.take(&Input::Tick(Moment(second * 1_000 + 500)));
    }
    engine.snapshot().expect("a tick makes a snapshot")
}

/// What a rule that fires says.
fn firing(snapshot: &Snapshot, rule: &str) -> String {
    let told = snapshot.rules.iter().find(|row| row.rule == rule).expect("it is looked at");
    assert_eq!(told.state, "firing", "{}", told.detail);
    told.detail.to_string()
}

#[test]
fn how_long_a_gateway_waits_comes_from_its_page_to_the_rule() {
    let mut service = component("service/ranker", &[]);
    service.objective_p99 = Some(Duration::from_millis(500));
    let gateway = |second: i64| {
        format!(
            "# TYPE envoy_http_downstream_rq_completed counter\n\
             envoy_http_downstream_rq_completed{{envoy_http_conn_manager_prefix=\"ingress\"}} {}\n\
             # TYPE gateway_upstream_timeout_seconds gauge\ngateway_upstream_timeout_seconds 2\n",
            second * 300
        )
    };
    let served = |second: i64| {
        let done = second * 300;
        format!(
            "# TYPE http_request_duration_seconds histogram\nhttp_request_duration_seconds_bucket{{le=\"0.5\"}} 0\n\
             http_request_duration_seconds_bucket{{le=\"1\"}} {done}\n\
             http_request_duration_seconds_bucket{{le=\"+Inf\"}} {done}\nhttp_request_duration_seconds_count {done}\n"
        )
    };
    let snapshot = seen(
        vec![component("gateway/edge", &["service/ranker"]), service],
        &[("gateway/edge", "10.3.0.1:9901", &gateway), ("service/ranker", "10.1.0.1:8000", &served)],
    );
    let said = firing(&snapshot, "timeout-mismatch");
    assert!(said.contains("waits up to 2 s for what it calls, 4x the objective"), "{said}");
}

#[test]
fn a_pool_of_redis_beside_one_of_the_database_comes_from_its_page_to_the_rule() {
    let page = |second: i64| {
        let mut page = String::new();
        let levels = [
            ("hikaricp_connections_active{pool=\"main\"}", 4),
            ("hikaricp_connections_pending{pool=\"main\"}", 90),
            ("hikaricp_connections_max{pool=\"main\"}", 10),
            ("commons_pool2_num_active_objects{name=\"pool\",type=\"GenericObjectPool\"}", 8),
            ("commons_pool2_num_waiters_threads{name=\"pool\",type=\"GenericObjectPool\"}", 71),
        ];
        for (series, value) in levels {
            let name = series.split('{').next().unwrap_or_default();
            let _ = writeln!(page, "# TYPE {name} gauge\n{series} {value}");
        }
        let done = second * 100;
        let _ = writeln!(
            page,
            "# TYPE lettuce_command_completion_seconds histogram\n\
             lettuce_command_completion_seconds_bucket{{command=\"GET\",le=\"0.01\"}} {done}\n\
             lettuce_command_completion_seconds_bucket{{command=\"GET\",le=\"+Inf\"}} {done}\n\
             lettuce_command_completion_seconds_sum{{command=\"GET\"}} {second}\n\
             lettuce_command_completion_seconds_count{{command=\"GET\"}} {done}"
        );
        page
    };
    let snapshot =
        seen(vec![component("service/ranker", &[])], &[("service/ranker", "10.1.0.1:8080", &page)]);
    let said = firing(&snapshot, "pool-starved");
    // More wait for HikariCP, which has room: not for want of connections.
    let pool = "71 wait for a connection; 8 connections of its pool 'commons-pool2 pool' in use";
    assert!(said.contains(pool), "{said}");
    // One operation runs at once on average, and nobody tells on which of the two pools.
    assert!(!said.contains("run at once"), "{said}");
}
