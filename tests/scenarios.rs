//! Readings in, verdict out: every rule and every shape of report, from the TOML files in `tests/scenarios`.
//!
//! A file says only what differs from a healthy world (see `scenarios/script.rs`); the engine is driven second
//! by second as the application drives it.

mod scenarios {
    pub(crate) mod calibration;
    pub(crate) mod expect;
    pub(crate) mod healthy;
    pub(crate) mod keys;
    pub(crate) mod script;
    pub(crate) mod views;
    pub(crate) mod world;
}

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use headwater_engine::rules::RULES;
use scenarios::script::{File, parse};
use scenarios::world::World;

/// One test per rule, so that a rule whose body is deleted fails a test of its own name.
macro_rules! rules {
    ($($test:ident $rule:literal)*) => {
        const NAMED: &[&str] = &[$($rule),*];
        mod rule {
            $(#[test] fn $test() { super::check_rule($rule); })*
        }
    };
}

rules! {
    latency_shift "latency-shift"
    error_shift "error-shift"
    slo_burn "slo-burn"
    probe_failing "probe-failing"
    no_progress "no-progress"
    business_symptom "business-symptom"
    slots_uncovered "slots-uncovered"
    topology_split "topology-split"
    node_unreachable "node-unreachable"
    fork_stall "fork-stall"
    expiry_herd "expiry-herd"
    shard_saturated "shard-saturated"
    shard_bandwidth "shard-bandwidth"
    shard_hot "shard-hot"
    slow_to_answer "slow-to-answer"
    slow_commands "slow-commands"
    big_key "big-key"
    hot_key "hot-key"
    co_located_keys "co-located-keys"
    cross_slot "cross-slot"
    miss_flood "miss-flood"
    memory_high "memory-high"
    evicting "evicting"
    connections_high "connections-high"
    replication_broken "replication-broken"
    pool_starved "pool-starved"
    gpu_error "gpu-error"
    wrong_results "wrong-results"
    gpu_silent "gpu-silent"
    gpu_memory_leak "gpu-memory-leak"
    gpu_memory_full "gpu-memory-full"
    launch_stall "launch-stall"
    gpu_throttled "gpu-throttled"
    pcie_degraded "pcie-degraded"
    hbm_bound "hbm-bound"
    queue_not_compute "queue-not-compute"
    kv_cache_pressure "kv-cache-pressure"
    batch_starved "batch-starved"
    compute_bound "compute-bound"
    no_backpressure "no-backpressure"
    host_starved "host-starved"
    network_path "network-path"
    consumer_lag "consumer-lag"
    checkpoint_slow "checkpoint-slow"
    feature_stale "feature-stale"
    declared_limit "declared-limit"
    slow_instance "slow-instance"
    hit_but_slow "hit-but-slow"
    access_changed "access-changed"
    skew "skew"
    surge "surge"
    retry_storm "retry-storm"
    failover_storm "failover-storm"
    fake_healthy "fake-healthy"
    breaker_flapping "breaker-flapping"
    timeout_mismatch "timeout-mismatch"
    self_slow "self-slow"
    deviation "deviation"
    recent_change "recent-change"
    expiry_forecast "expiry-forecast"
}

/// One test per file of whole-report expectations.
macro_rules! reports {
    ($($test:ident)*) => {
        const REPORTS: &[&str] = &[$(stringify!($test)),*];
        mod report {
            $(#[test] fn $test() { super::check_whole("triage", stringify!($test)); })*
        }
    };
}

reports! {
    hot_shard
    innocence
    nothing_guilty
    reachability
    service
    time
}

/// One test per incident: a world as a whole, with who did it.
macro_rules! incidents {
    ($($test:ident)*) => {
        const INCIDENTS: &[&str] = &[$(stringify!($test)),*];
        mod incident {
            $(#[test] fn $test() { super::check_whole("incidents", stringify!($test)); })*
        }
    };
}

incidents! {
    all_answer_slowly
    asked_for_what_never_was
    big_and_hot_on_one_link
    cache_is_emptied
    chronic_and_fresh
    commands_over_slots
    connections_run_out
    culprit_out_of_sight
    culprit_without_source
    cycle
    database_out_of_its_usual
    database_with_limits
    deploy_decoy
    deploy_with_nothing_else
    forks_that_repeat
    gpu_memory_leaks
    hardly_any_traffic
    healthy_surge
    herd_then_misses
    hot_key_without_a_name
    innocent_gpu
    late_node
    launches_wait_for_the_host
    neighbour_on_the_host
    observer_lag
    one_host_of_redis
    one_slow_route
    orders_fall
    orders_fall_and_nothing_shows_why
    orders_fall_with_latency
    out_of_memory
    page_of_the_service_is_gone
    plain_healthy
    pool_of_eight
    primary_refuses
    queue_and_retries
    queue_before_an_idle_accelerator
    queue_that_a_storm_fills
    quiet_recovery
    replica_is_gone
    restart_in_the_incident
    scored_text_has_less_time
    slots_are_lost
    slots_on_the_move
    slow_commands_that_nobody_waits_for
    slow_dependency_off_the_path
    slow_instance_of_three
    stages_beside_each_other
    stale_witness
    started_in_mid_incident
    started_in_mid_incident_without_a_past
    storm_outlives_its_trigger
    two_faults_one_service
    two_faults_two_services
    two_hot_shards_of_three
    two_names_of_one_database
    two_owners_of_a_slot
    victim_looks_worse
    way_between_two_services
}

#[test]
fn every_rule_has_a_named_test() {
    let table: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(NAMED, table, "name every rule of the RULES table here, in its order");
}

#[test]
fn every_rule_is_shown_clear_pending_firing_and_unknown() {
    for rule in RULES {
        let file = read(&folder().join(format!("{}.toml", rule.id)));
        let states: BTreeSet<&str> = file
            .case
            .iter()
            .flat_map(|case| &case.expect)
            .filter(|expect| expect.rule.as_ref().is_none_or(|named| named == rule.id))
            .map(|expect| expect.state.as_str())
            .collect();
        let never_pending = rule.hold == 1;
        // One that accuses at once and clears nobody may know nothing only after something bad: then that has ended unseen.
        let is_unknown_once_bad = rule.hold == 1 && !rule.exonerates;
        for state in ["clear", "pending", "firing", "unknown"] {
            assert!(
                states.contains(state)
                    || (state == "pending" && never_pending)
                    || (state == "unknown" && is_unknown_once_bad && states.contains("ended")),
                "{}.toml never expects '{state}'",
                rule.id
            );
        }
    }
}

#[test]
fn no_file_is_left_out() {
    for path in files(&folder()) {
        let name = stem(&path);
        assert!(NAMED.contains(&name.as_str()), "'{name}.toml' belongs to no rule");
    }
    for path in files(&folder().join("triage")) {
        let name = stem(&path);
        assert!(REPORTS.contains(&name.as_str()), "'triage/{name}.toml' has no test");
    }
    for path in files(&folder().join("incidents")) {
        let name = stem(&path);
        assert!(INCIDENTS.contains(&name.as_str()), "'incidents/{name}.toml' has no test");
    }
}

#[test]
fn the_calibration_page_is_fresh() {
    let mut cases = vec![];
    for (kind, names) in [("triage", REPORTS), ("incidents", INCIDENTS)] {
        for name in names {
            let file = read(&folder().join(kind).join(format!("{name}.toml")));
            cases.extend(file.case.into_iter().map(|case| (format!("{kind}/{name}"), case)));
        }
    }
    let page = scenarios::calibration::page(&cases);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/calibration.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("docs/ can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "'docs/calibration.md' is stale: run 'UPDATE=1 cargo test --test scenarios calibration', look and commit it"
    );
}

fn check_rule(rule: &str) {
    let file = read(&folder().join(format!("{rule}.toml")));
    let mut complaints = vec![];
    for case in &file.case {
        assert!(!case.expect.is_empty(), "'{}' expects nothing", case.name);
        complaints.extend(World::new(case).run(Some(rule)));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn check_whole(kind: &str, name: &str) {
    let file = read(&folder().join(kind).join(format!("{name}.toml")));
    let mut complaints = vec![];
    for case in &file.case {
        assert!(case.report.is_some(), "'{}' expects nothing", case.name);
        complaints.extend(World::new(case).run(None));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of scenarios");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read(path: &Path) -> File {
    let named = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| named(&error)).expect("a scenario file");
    parse(&text).map_err(|error| named(&error)).expect("a scenario file")
}
