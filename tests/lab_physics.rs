//! What the lab's scenarios do to real parts, by the parts' own counters; what Headwater says of it is tested
//! elsewhere.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater::lab::counters::{LabCounters, ServerCounters};
use headwater::lab::scenario::{SCENARIOS, Scenario, Shape, Variant};
use headwater::lab::{self, Injection, Lab, LabOptions};
use headwater_engine::histogram::Histogram;
use headwater_test_support::wait_until;

/// How long an effect may take to show on a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Over how long effects are measured: long enough for a p99.
const WINDOW: Duration = Duration::from_secs(4);

/// Two labs at once would measure each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

/// What happened between two readings of the counters.
struct Span {
    seconds: f64,
    before: LabCounters,
    after: LabCounters,
    servers_before: Vec<ServerCounters>,
    servers: Vec<ServerCounters>,
}

impl Span {
    /// What happens from now on for so long.
    async fn of(lab: &Lab, length: Duration) -> Self {
        let servers_before = lab.servers().await.expect("every server answers");
        let before = lab.counters();
        tokio::time::sleep(length).await;
        let after = lab.counters();
        let servers = lab.servers().await.expect("every server answers");
        Self { seconds: (after.at - before.at).as_secs_f64(), before, after, servers_before, servers }
    }

    /// By how much a counter of one server rose.
    fn rise(&self, node: usize, counter: fn(&ServerCounters) -> u64) -> u64 {
        counter(&self.servers[node]) - counter(&self.servers_before[node])
    }

    /// The same over all servers.
    fn rise_of_all(&self, counter: fn(&ServerCounters) -> u64) -> u64 {
        (0..self.servers.len()).map(|node| self.rise(node, counter)).sum()
    }

    /// Share of a core that the main thread of one server used.
    fn cpu(&self, node: usize) -> f64 {
        (self.servers[node].cpu - self.servers_before[node].cpu) / self.seconds
    }

    /// The mean of a histogram of the service over this span, in seconds.
    fn mean_of(&self, histogram: fn(&LabCounters) -> &Histogram) -> f64 {
        let since = histogram(&self.after).since(histogram(&self.before)).expect("one service");
        since.mean().unwrap_or(0.0)
    }

    /// Share of a link that was used.
    fn utilisation(&self, node: usize) -> f64 {
        let bytes = self.after.links[node].bytes() - self.before.links[node].bytes();
        bytes as f64 / self.seconds / self.after.links[node].rate
    }

    fn requests(&self) -> Histogram {
        let mut all = self.duration_of(0);
        for number in 1..self.after.instances().count() {
            all.merge(&self.duration_of(number));
        }
        all
    }

    fn p99(&self) -> f64 {
        self.requests().percentile(0.99).map_or(0.0, |percentile| percentile.number())
    }

    fn stage(&self, stage: &str) -> Histogram {
        self.after.service.stages[stage].since(&self.before.service.stages[stage]).expect("one service")
    }

    fn mean(&self, stage: &str) -> f64 {
        self.stage(stage).mean().unwrap_or(0.0)
    }

    fn originals_per_second(&self) -> f64 {
        (self.after.load.originals - self.before.load.originals) as f64 / self.seconds
    }

    /// Attempts an original, by the users' own count.
    fn amplification(&self) -> f64 {
        let (before, after) = (&self.before.load, &self.after.load);
        (after.attempts - before.attempts) as f64 / (after.originals - before.originals) as f64
    }

    /// Share of the originals that ended well.
    fn goodput(&self) -> f64 {
        let (before, after) = (&self.before.load, &self.after.load);
        (after.successes - before.successes) as f64 / (after.originals - before.originals) as f64
    }

    /// Mean time of one instance's answers, in seconds.
    fn mean_of_instance(&self, number: usize) -> f64 {
        self.duration_of(number).mean().unwrap_or(0.0)
    }

    fn duration_of(&self, number: usize) -> Histogram {
        let duration =
            |counters: &LabCounters| counters.instances().nth(number).expect("the instance").duration.clone();
        duration(&self.after).since(&duration(&self.before)).expect("one service")
    }

    fn errors(&self) -> u64 {
        let bad = |counters: &LabCounters| {
            counters
                .service
                .answers
                .iter()
                .filter(|(status, _)| **status >= 500)
                .map(|(_, count)| count)
                .sum()
        };
        let (before, after): (u64, u64) = (bad(&self.before), bad(&self.after));
        after - before
    }
}

/// One lab: its time before the fault, its fault, and the first span after it that is as expected.
struct Seen {
    healthy: Span,
    injection: Injection,
    faulty: Span,
    hot_node: usize,
    big_reads: u64,
}

fn observe(
    scenario: &str,
    variant: Variant,
    options: fn(LabOptions) -> LabOptions,
    good: fn(&Span) -> bool,
) -> Seen {
    runtime().block_on(async {
        let scenario = Scenario::find(scenario, variant).expect("a scenario of the table");
        let options = options(LabOptions { at: 4 * LONGEST_WAIT, ..LabOptions::new(scenario) });
        let lab = lab::start(options).await.expect("the lab starts");
        let healthy = first_good(&lab, is_healthy).await;
        lab.inject_now();
        let injection = lab.injected().await.expect("the fault comes");
        let faulty = first_good(&lab, good).await;
        let hot_node = lab.hot_keys().shard;
        let big_reads = lab.counters().service.big_reads;
        lab.stop().await.expect("the lab ends");
        Seen { healthy, injection, faulty, hot_node, big_reads }
    })
}

async fn first_good(lab: &Lab, good: fn(&Span) -> bool) -> Span {
    let deadline = Instant::now() + LONGEST_WAIT;
    loop {
        let span = Span::of(lab, WINDOW).await;
        if good(&span) || Instant::now() > deadline {
            return span;
        }
    }
}

fn is_healthy(span: &Span) -> bool {
    span.requests().count > 200.0
        && span.p99() < 0.25
        && span.errors() == 0
        && (0..span.after.links.len()).all(|node| span.utilisation(node) < 0.3)
}

fn assert_healthy(span: &Span) {
    let links: Vec<_> = (0..span.after.links.len()).map(|node| span.utilisation(node)).collect();
    assert!(
        is_healthy(span),
        "never healthy: {} requests, p99 {} s, {} errors, links {links:?}",
        span.requests().count,
        span.p99(),
        span.errors()
    );
}

#[test]
fn a_hot_shard_fills_one_link_and_nothing_else() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 5, ..options };
    let seen = observe("hot-shard", Variant::Plain, options, |span| span.p99() > 1.0 && span.errors() > 0);
    assert_healthy(&seen.healthy);
    let Span { after, .. } = &seen.faulty;
    let used = seen.faulty.utilisation(seen.hot_node);
    assert!((0.9..1.05).contains(&used), "{used} of the hot link; {}", seen.injection.sentence);
    for node in (0..after.links.len()).filter(|node| *node != seen.hot_node) {
        assert!(seen.faulty.utilisation(node) < 0.3, "link {node}: {}", seen.faulty.utilisation(node));
    }
    assert!(seen.faulty.p99() > 1.0, "p99 {}", seen.faulty.p99());
    assert!(seen.faulty.errors() > 0 && seen.faulty.requests().count > seen.faulty.errors() as f64);
    assert!(seen.big_reads > 20, "{}", seen.big_reads);
    assert!(seen.faulty.mean("feature_load") > 0.7 * seen.faulty.requests().mean().expect("requests"));
    assert!(seen.faulty.mean("queue") < 0.1, "{}", seen.faulty.mean("queue"));
    assert!(after.service.queue_waiting < 64, "{}", after.service.queue_waiting);
    let model = seen.faulty.mean("infer") / seen.healthy.mean("infer");
    assert!((0.7..1.5).contains(&model), "the model took {model} times as long");
    let users = seen.faulty.originals_per_second() / seen.healthy.originals_per_second();
    assert!((0.7..1.4).contains(&users), "{users} times as many users");
}

#[test]
fn a_surge_is_served() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 6, ..options };
    let seen = observe("healthy", Variant::Surge, options, |span| {
        span.originals_per_second() > 200.0 && is_healthy(span)
    });
    assert_healthy(&seen.healthy);
    assert_healthy(&seen.faulty);
    let times = seen.faulty.originals_per_second() / seen.healthy.originals_per_second();
    assert!(times > 2.0, "{times} times as many users");
    let LabCounters { load, .. } = &seen.faulty.after;
    assert!(load.attempts as f64 <= 1.01 * load.originals as f64, "{load:?}");
}

#[test]
fn a_slow_stage_of_ones_own_leaves_every_dependency_as_it_was() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 7, ..options };
    let seen = observe("slow-ranker", Variant::Plain, options, |span| span.p99() > 0.5);
    assert_healthy(&seen.healthy);
    let stage = seen.injection.slow_stage.expect("a slow stage");
    assert!(seen.faulty.p99() > 0.5, "p99 {}", seen.faulty.p99());
    assert!(seen.faulty.mean(stage) > 0.5 * seen.faulty.requests().mean().expect("requests"));
    assert!(seen.faulty.mean("feature_load") < 0.1 && seen.faulty.mean("queue") < 0.1);
    for node in 0..seen.faulty.after.links.len() {
        assert!(seen.faulty.utilisation(node) < 0.3);
    }
    assert!(seen.faulty.after.service.queue_waiting < 64);
}

#[test]
fn a_herd_stalls_one_server_and_leaves_the_service_without_features() {
    let _alone = alone();
    // The second of expiry is set beforehand; until then it is healthy.
    let options = |options| LabOptions { shards: 3, seed: 8, at: Duration::from_secs(20), ..options };
    let seen = observe("expiry-herd", Variant::Plain, options, |span| {
        span.p99() > 0.5 && span.rise_of_all(|server| server.expired) > 0
    });
    assert_healthy(&seen.healthy);
    assert_eq!(seen.healthy.rise_of_all(|server| server.expired), 0);
    assert_eq!(seen.healthy.rise_of_all(|server| server.misses), 0);
    let (span, node) = (&seen.faulty, seen.hot_node);
    assert!(span.rise(node, |server| server.expired) > 50_000, "{:?}", span.servers);
    assert!(span.rise(node, |server| server.expiry_cut_short) > 10, "{:?}", span.servers);
    assert!(span.rise(node, |server| server.misses) > 50, "{:?}", span.servers);
    assert!(span.p99() > 0.5, "p99 {}", span.p99());
    assert_eq!(span.errors(), 0);
    assert!(span.mean("feature_load") > 0.7 * span.requests().mean().expect("requests"));
    // Neither the link nor Redis' own answers make that.
    assert!(span.mean_of(|counters| &counters.service.redis) < 0.05);
    for other in (0..span.servers.len()).filter(|other| *other != node) {
        assert!(span.utilisation(other) < 0.3);
    }
    for other in (0..3).filter(|other| *other != node) {
        assert_eq!(span.rise(other, |server| server.expired), 0);
        assert_eq!(span.rise(other, |server| server.misses), 0);
    }
}

#[test]
fn a_client_that_reads_across_slots_is_refused_and_so_are_its_callers() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 9, ..options };
    let seen = observe("cross-slot", Variant::Plain, options, |span| span.errors() > 20);
    assert_healthy(&seen.healthy);
    assert_eq!(seen.healthy.rise_of_all(|server| server.cross_slot), 0);
    let refused = seen.faulty.rise_of_all(|server| server.cross_slot);
    assert!(refused > 20, "{refused}");
    let share = seen.faulty.errors() as f64 / seen.faulty.requests().count;
    assert!((0.1..0.5).contains(&share), "{share} of the answers are errors");
    assert!(seen.faulty.p99() < 0.25, "p99 {}", seen.faulty.p99());
}

#[test]
fn a_pool_whose_connections_are_kept_starves_while_every_shard_is_idle() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 10, ..options };
    let seen = observe("pool-starved", Variant::Plain, options, |span| span.p99() > 1.0);
    assert_healthy(&seen.healthy);
    let span = &seen.faulty;
    assert!(span.p99() > 1.0, "p99 {}", span.p99());
    assert!(span.after.service.pool_waiting > 20, "{}", span.after.service.pool_waiting);
    assert!(span.mean_of(|counters| &counters.service.pool_wait) > 0.4);
    // Idle in all three senses: their answers, their links, their processors.
    assert!(span.mean_of(|counters| &counters.service.redis) < 0.02);
    for node in 0..span.servers.len() {
        assert!(span.utilisation(node) < 0.3 && span.cpu(node) < 0.3, "node {node}");
    }
    assert!(span.after.service.queue_waiting < 64);
}

#[test]
fn a_small_snapshot_is_not_felt() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 11, ..options };
    let seen = observe("healthy", Variant::Saving, options, |span| {
        is_healthy(span) && span.rise_of_all(|server| server.forks) > 0
    });
    assert_healthy(&seen.healthy);
    assert_healthy(&seen.faulty);
    assert!(seen.faulty.rise(seen.hot_node, |server| server.forks) > 0);
}

/// The users' side of a lab whose model was slow for some seconds: before, and after its model is as fast as before.
fn after_a_slowdown(variant: Variant) -> (Span, Span) {
    /// Longer than the model is slow, and than the longest of its batches takes then.
    const SLOW: Duration = Duration::from_secs(6);
    runtime().block_on(async {
        let scenario = Scenario::find("retry-storm", variant).expect("a scenario of the table");
        let options = LabOptions { shards: 3, seed: 13, at: 4 * LONGEST_WAIT, ..LabOptions::new(scenario) };
        let lab = lab::start(options).await.expect("the lab starts");
        let healthy = first_good(&lab, is_healthy).await;
        lab.inject_now();
        let injection = lab.injected().await.expect("the fault comes");
        tokio::time::sleep_until((injection.at + SLOW).into()).await;
        let after = match variant {
            Variant::Backoff => first_good(&lab, is_healthy).await,
            _ => Span::of(&lab, 2 * WINDOW).await,
        };
        lab.stop().await.expect("the lab ends");
        (healthy, after)
    })
}

#[test]
fn a_storm_of_retries_outlives_the_slow_model() {
    let _alone = alone();
    let (healthy, after) = after_a_slowdown(Variant::Plain);
    assert_healthy(&healthy);
    assert!(healthy.amplification() < 1.1, "{}", healthy.amplification());
    assert!((2.0..3.2).contains(&after.amplification()), "{}", after.amplification());
    assert!(after.goodput() < 0.5, "{}", after.goodput());
    // The model is as fast as before, and works for people who are gone.
    assert!(after.mean("infer") < 3.0 * healthy.mean("infer"), "{} s", after.mean("infer"));
    let wasted = after.after.service.wasted - after.before.service.wasted;
    assert!(wasted as f64 > 50.0 * after.seconds, "{wasted}");
    let users = after.originals_per_second() / healthy.originals_per_second();
    assert!((0.7..1.4).contains(&users), "{users} times as many users");
}

#[test]
fn users_who_wait_before_they_try_again_make_no_storm() {
    let _alone = alone();
    let (healthy, after) = after_a_slowdown(Variant::Backoff);
    assert_healthy(&healthy);
    assert_healthy(&after);
    assert!(after.goodput() > 0.9, "{}", after.goodput());
}

#[test]
fn a_gateway_that_takes_the_slow_out_overloads_the_rest() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 14, ..options };
    let seen = observe("failover-storm", Variant::Plain, options, |span| {
        let gateway = span.after.gateway.as_ref().expect("a gateway");
        gateway.upstreams.iter().filter(|upstream| upstream.ejections > 1).count() > 1 && span.p99() > 1.0
    });
    assert_healthy(&seen.healthy);
    let before = seen.healthy.after.gateway.as_ref().expect("a gateway");
    assert!(before.upstreams.iter().all(|upstream| upstream.ejections == 0), "{before:?}");
    let after = seen.faulty.after.gateway.as_ref().expect("a gateway");
    // They are taken out again and again, and pass every check.
    let ejected = after.upstreams.iter().filter(|upstream| upstream.ejections > 1).count();
    assert!(ejected > 1, "{after:?}");
    assert!(after.upstreams.iter().all(|upstream| upstream.failed_checks == 0), "{after:?}");
    // More than the two that choke are slower.
    let slower =
        |number: usize| seen.faulty.mean_of_instance(number) > 1.5 * seen.healthy.mean_of_instance(number);
    assert!((0..5).filter(|number| slower(*number)).count() > 2, "{}", seen.injection.sentence);
    assert!(seen.faulty.p99() > 1.0, "{}", seen.faulty.p99());
    assert!(seen.faulty.amplification() < 2.1, "{}", seen.faulty.amplification());
}

#[test]
fn answers_that_expire_together_fill_the_queue() {
    let _alone = alone();
    // The second of expiry is set beforehand; until then it is healthy.
    let options = |options| LabOptions { shards: 3, seed: 15, at: Duration::from_secs(20), ..options };
    let seen = observe("expiry-herd", Variant::Answers, options, |span| {
        span.p99() > 0.5 && span.after.service.queue_waiting > 8
    });
    assert_healthy(&seen.healthy);
    assert_eq!(seen.healthy.rise_of_all(|server| server.misses), 0);
    assert_eq!(seen.healthy.stage("infer").count, 0.0);
    let (span, node) = (&seen.faulty, seen.hot_node);
    assert!(span.rise(node, |server| server.misses) > 20, "{:?}", span.servers);
    assert!(span.after.service.queue_waiting > 8, "{}", span.after.service.queue_waiting);
    assert!(span.mean("queue") > 0.3, "{}", span.mean("queue"));
    assert!(span.mean("feature_load") < 0.1, "{}", span.mean("feature_load"));
}

#[test]
fn memory_that_is_left_behind_runs_out_at_its_time_and_a_breaker_opens_and_closes() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 16, ..options };
    let seen = observe("gpu-leak", Variant::Plain, options, |span| {
        span.before.service.gpu.full_since.is_some() && span.after.service.breaker_openings > 2
    });
    assert_healthy(&seen.healthy);
    let healthy = &seen.healthy.after.service;
    assert!((12.0e9..12.3e9).contains(&(healthy.gpu.used as f64)), "{:?}", healthy.gpu);
    assert_eq!((healthy.gpu.failures, healthy.breaker_openings), (0, 0));
    let (before, after) = (&seen.faulty.before.service, &seen.faulty.after.service);
    let (used, memory) = (after.gpu.used >> 20, after.gpu.memory >> 20);
    assert_eq!((used, memory), (16_278, 16_280));
    // As long as what was free lasts, by what each request leaves behind.
    let a_second = after.gpu.left_by_request as f64 * seen.healthy.originals_per_second();
    let reckoned = (healthy.gpu.memory - healthy.gpu.used) as f64 / a_second;
    let lasted = after.gpu.full_since.expect("it is full") - seen.injection.at;
    let ratio = lasted.as_secs_f64() / reckoned;
    assert!((0.8..1.2).contains(&ratio), "{lasted:?} and not {reckoned} s; {}", seen.injection.sentence);
    // Some are served between two openings, and nobody is served well.
    assert!(after.breaker_openings > before.breaker_openings, "{after:?}");
    assert!(after.answers[&200] > before.answers[&200] && after.out_of_memory > before.out_of_memory);
    assert!(after.gpu.failures > before.gpu.failures);
    assert!(seen.faulty.errors() as f64 > 0.3 * seen.faulty.requests().count);
    assert!(seen.faulty.p99() > 0.5, "{}", seen.faulty.p99());
    for node in 0..seen.faulty.servers.len() {
        assert!(seen.faulty.utilisation(node) < 0.3);
    }
}

#[test]
fn a_host_that_launches_late_leaves_the_gpu_idle_while_requests_wait() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 17, ..options };
    let seen = observe("launch-stall", Variant::Plain, options, |span| span.p99() > 0.7);
    assert_healthy(&seen.healthy);
    let (healthy, faulty) = (seen.healthy.after.service.gpu, seen.faulty.after.service.gpu);
    assert!((0.55..0.85).contains(&healthy.utilization), "{healthy:?}");
    assert!((1.1e-6..1.3e-6).contains(&healthy.launch), "{healthy:?}");
    assert!((0.13..0.23).contains(&faulty.utilization), "{faulty:?}");
    assert!((44e-6..52e-6).contains(&faulty.launch), "{faulty:?}");
    assert!(faulty.used < healthy.used + 300_000_000, "{healthy:?} {faulty:?}");
    assert_eq!((faulty.failures, seen.faulty.after.service.breaker_openings), (0, 0));
    assert!(seen.faulty.p99() > 0.7, "p99 {}", seen.faulty.p99());
    assert!(seen.faulty.mean("infer") > 3.0 * seen.healthy.mean("infer"));
    assert!(seen.faulty.mean("queue") > 0.1, "{}", seen.faulty.mean("queue"));
    assert!(seen.faulty.mean("feature_load") < 0.1, "{}", seen.faulty.mean("feature_load"));
}

#[test]
#[ignore = "needs 8 GB of free memory: scripts/lab-seeds runs it"]
fn forks_of_gigabytes_are_felt() {
    let _alone = alone();
    let options = |options| LabOptions { shards: 3, seed: 12, ..options };
    let seen = observe("fork-stall", Variant::Plain, options, |span| {
        span.rise_of_all(|server| server.forks) > 1 && span.p99() > 0.2
    });
    assert_healthy(&seen.healthy);
    let (span, node) = (&seen.faulty, seen.hot_node);
    assert!(span.servers[node].memory > 6_000_000_000, "{:?}", span.servers);
    assert!(span.rise(node, |server| server.forks) > 1);
    assert!(span.servers[node].last_fork > 0.02, "{:?}", span.servers);
    let slower = span.p99() / seen.healthy.p99();
    assert!(slower > 1.2, "p99 {} and {} before", span.p99(), seen.healthy.p99());
}

#[test]
fn the_configuration_does_not_tell_the_scenario() {
    let _alone = alone();
    let config = |name, variant| {
        runtime().block_on(async {
            let scenario = Scenario::find(name, variant).expect("a scenario of the table");
            let options = LabOptions { at: Duration::ZERO, shards: 3, ..LabOptions::new(scenario) };
            let lab = lab::start(options).await.expect("the lab starts");
            lab.injected().await.expect("the fault comes");
            let config = without_ports(lab.config_toml());
            lab.stop().await.expect("the lab ends");
            config
        })
    };
    for (shape, healthy) in [(Shape::Single, Variant::Plain), (Shape::Fleet, Variant::Fleet)] {
        let first = config("healthy", healthy);
        assert!(first.contains("redis://127.0.0.1:PORT"), "{first}");
        assert_eq!(first.contains("gateway/edge"), shape == Shape::Fleet, "{first}");
        let is_small = |scenario: &&Scenario| scenario.name != "fork-stall" && scenario.name != "healthy";
        for scenario in SCENARIOS.iter().filter(|one| one.shape == shape).filter(is_small) {
            assert_eq!(config(scenario.name, scenario.variant), first, "{}", scenario.name);
        }
    }
}

fn without_ports(config: &str) -> String {
    let mut parts = config.split("127.0.0.1:");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += "127.0.0.1:PORT";
        text += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text
}

/// A lab of the real command, whose every file lies in `folder`.
fn spawn_lab(folder: &Path, more: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["lab", "healthy", "--shards", "3", "--config-out"])
        .arg(folder.join("config.toml"))
        .args(more)
        .env("TMPDIR", folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the lab starts")
}

/// Processes that run in this folder or below, the deleted ones included.
fn processes_in(folder: &Path) -> usize {
    let processes = fs::read_dir("/proc").expect("a process list").flatten();
    let folders = processes.filter_map(|process| fs::read_link(process.path().join("cwd")).ok());
    folders.filter(|cwd| cwd.starts_with(folder)).count()
}

fn lab_folders_in(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).expect("the test's folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("headwater-lab-")).count()
}

#[test]
fn nothing_is_left_of_a_lab_however_it_ends() {
    let _alone = alone();
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT, rustix::process::Signal::KILL]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lab = spawn_lab(folder.path(), &[]);
        wait_until("the configuration is there", || folder.path().join("config.toml").exists());
        assert_eq!((lab_folders_in(folder.path()), processes_in(folder.path())), (1, 6));
        let process = rustix::process::Pid::from_child(&lab);
        rustix::process::kill_process(process, signal).expect("the lab runs");
        let status = lab.wait().expect("the lab ends");
        if signal == rustix::process::Signal::KILL {
            assert_eq!(status.signal(), Some(9));
        } else {
            assert_eq!(status.code(), Some(0));
            assert_eq!((lab_folders_in(folder.path()), processes_in(folder.path())), (0, 0));
        }
        wait_until("everything is gone", || {
            lab_folders_in(folder.path()) == 0 && processes_in(folder.path()) == 0
        });
    }
}

#[test]
fn a_lab_that_is_dropped_is_gone() {
    let _alone = alone();
    runtime().block_on(async {
        let healthy = Scenario::find("healthy", Variant::Plain).expect("a scenario of the table");
        let lab =
            lab::start(LabOptions { shards: 3, ..LabOptions::new(healthy) }).await.expect("the lab starts");
        let folder = lab.folder().to_owned();
        let page =
            lab.config_toml().lines().find_map(|line| line.strip_prefix("url = \"http://")).expect("a page");
        let address = page.split('/').next().expect("an address").to_owned();
        tokio::net::TcpStream::connect(&address).await.expect("the service listens");
        drop(lab);
        let deadline = Instant::now() + LONGEST_WAIT;
        while folder.exists() || tokio::net::TcpStream::connect(&address).await.is_ok() {
            assert!(Instant::now() < deadline, "something is left");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(processes_in(&folder), 0);
    });
}

#[test]
fn a_lab_ends_by_itself_at_its_time() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let lab = spawn_lab(folder.path(), &["--at", "200ms", "--for", "1s"]);
    let Output { status, stderr, .. } = lab.wait_with_output().expect("the lab ends");
    assert_eq!(status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&stderr), "lab: nothing happens\n");
    assert_eq!((lab_folders_in(folder.path()), processes_in(folder.path())), (0, 0));
}

#[test]
fn without_a_server_it_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["lab", "hot-shard"])
        .env("PATH", folder.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(69));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("'redis-server'") && said.contains("install Redis 7"), "{said}");
}

#[test]
fn only_a_healthy_lab_has_a_surge() {
    let output = Command::new(env!("CARGO_BIN_EXE_headwater"))
        .args(["lab", "hot-shard", "--surge"])
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(64));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'hot-shard' has no '--surge'"));
}
