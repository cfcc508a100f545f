//! The lab: real parts on loopback, and a fault at a set second.
//!
//! A Redis cluster (`redis-server` from PATH) whose nodes sit behind links of 200 Mbit/s, an inference service that
//! reads its features there, an exporter of its GPU, which is simulated, and users; where a scenario needs it, a gateway
//! and more instances. What goes wrong stands in [`scenario::SCENARIOS`]; whoever diagnoses the lab is told nothing of it: the configuration is the same
//! for all scenarios with the same parts.

mod cluster;
mod command;
mod configuration;
pub mod counters;
mod exposition;
mod fault;
mod features;
mod gateway;
mod gpu;
mod guard;
mod link;
mod load;
mod ports;
mod process;
pub mod scenario;
mod service;
mod serving;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::RedisError;
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::cluster::Cluster;
pub use self::cluster::require_server;
pub use self::command::{LabArgs, run};
use self::counters::{LabCounters, LinkCounters, ServerCounters};
use self::fault::Window;
use self::features::{HotPair, item_key, profile_key};
use self::gateway::Gateway;
use self::gpu::Device;
use self::load::Load;
use self::scenario::{Scenario, Shape, Variant};
use self::service::Service;

/// What the link of each node carries, in bytes a second: 200 Mbit/s.
pub const LINK_RATE: f64 = 25_000_000.0;

/// Requests a second unless `--rate` says otherwise.
pub const DEFAULT_RATE: u32 = 100;

/// What a lab is to be.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// What happens.
    pub scenario: &'static Scenario,
    /// When the fault begins after everything listens.
    pub at: Duration,
    /// What chance depends on.
    pub seed: u64,
    /// Requests a second, 50 to 150.
    pub rate: u32,
    /// Shards of the cluster, 3 to 6.
    pub shards: u8,
}

impl LabOptions {
    /// A scenario with the usual size and rate, and the fault after five seconds.
    pub fn new(scenario: &'static Scenario) -> Self {
        Self { scenario, at: Duration::from_secs(5), seed: 1, rate: DEFAULT_RATE, shards: 4 }
    }
}

/// Why a lab could not start, go on or end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Redis is not installed.
    #[error(
        "the lab needs 'redis-server' in PATH and there is none: install Redis 7 or newer \
         (apt install redis-server, brew install redis), or replay a recording instead"
    )]
    NoRedisServer,
    /// Redis is too old.
    #[error("the lab needs Redis 7 or newer and 'redis-server' is '{0}': install a newer one first in PATH")]
    OldRedisServer(String),
    /// Nothing listens and yet no port is free.
    #[error("no free ports between 14000 and 32000 on 127.0.0.1: end what holds them and try again")]
    NoFreePorts,
    /// An option with a scenario that has no such form.
    #[error("scenario '{scenario}' has no '{}': only '{}' has", .variant.suffix().trim(), Scenario::with(*.variant))]
    NoVariant {
        /// The scenario.
        scenario: String,
        /// What it was to be.
        variant: Variant,
    },
    /// A server did not stay.
    #[error("redis-server on port {port} ended at once, '{last}': start it by hand to see why")]
    ServerEnded {
        /// Its port.
        port: u16,
        /// The last line of its log.
        last: String,
    },
    /// The servers run and did not become a cluster.
    #[error(
        "the Redis cluster did not form, {missing}; last answer '{last}': try again when the machine is less busy"
    )]
    NotFormed {
        /// What was waited for.
        missing: String,
        /// What was seen last.
        last: String,
    },
    /// One of the cluster's servers refused or did not answer.
    #[error("{doing} failed: {error}")]
    Redis {
        /// What was done.
        doing: String,
        /// What was answered.
        #[source]
        error: RedisError,
    },
    /// A part could not be started or ended.
    #[error("{part} failed: {error}")]
    Part {
        /// Which.
        part: String,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The configuration could not be written.
    #[error("cannot write '{}': {error}; give '--config-out' a file in a folder that you may write", .path.display())]
    Config {
        /// Where to.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
}

impl LabError {
    /// The exit code that says what kind of failure this is: 64 for wrong arguments, 69 for a part that cannot be
    /// had, 1 for the rest.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoVariant { .. } => 64,
            Self::NoRedisServer
            | Self::OldRedisServer(_)
            | Self::NoFreePorts
            | Self::ServerEnded { .. }
            | Self::NotFormed { .. } => 69,
            Self::Redis { .. } | Self::Part { .. } | Self::Config { .. } => 1,
        }
    }

    fn part(part: &str, error: io::Error) -> Self {
        Self::Part { part: part.to_owned(), error }
    }

    fn redis(doing: &str, error: RedisError) -> Self {
        Self::Redis { doing: doing.to_owned(), error }
    }
}

/// A running lab. Dropping it ends everything as well, only less politely.
#[derive(Debug)]
pub struct Lab {
    parts: Arc<Parts>,
    config: String,
    services: Vec<SocketAddr>,
    gateway: Option<SocketAddr>,
    gpus: Option<SocketAddr>,
    load: SocketAddr,
    injected: watch::Receiver<Option<Injection>>,
    stop: DropGuard,
    inject: Arc<Notify>,
    fault: tokio::task::JoinHandle<()>,
}

/// What was done at the fault's second: the truth, which only tests and the lab's own standard error see.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// When it was done.
    pub at: Instant,
    /// What was done, in one sentence.
    pub sentence: String,
    /// The stage that is slow, when that is the fault.
    pub slow_stage: Option<&'static str>,
}

/// Where the hot pair is, whether or not it becomes hot in this scenario. Its shard is also the one that the seed
/// draws for other faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotKeys {
    /// The user's key.
    pub profile: String,
    /// The item's key.
    pub item: String,
    /// The number of the shard of both, in the order of slots.
    pub shard: usize,
    /// The announced address of that shard's primary.
    pub address: String,
}

#[derive(Debug)]
struct Parts {
    options: LabOptions,
    cluster: Cluster,
    /// Every instance of the service.
    services: Vec<Arc<Service>>,
    gateway: Option<Arc<Gateway>>,
    load: Arc<Load>,
    pair: HotPair,
    window: Option<Window>,
    stop: CancellationToken,
}

/// Starts every part and waits until all listen; the fault's clock starts then.
pub async fn start(options: LabOptions) -> Result<Lab, LabError> {
    let stop = CancellationToken::new();
    // Whatever fails on the way, and when the lab is dropped, the parts that run are told to stop.
    let guard = stop.clone().drop_guard();
    let shards = usize::from(options.shards);
    let cluster = Cluster::start(shards, LINK_RATE, &stop).await?;
    features::write_all(&cluster, shards, options.seed).await?;
    let pair = HotPair::draw(options.seed, shards);
    let window = fault::prepare(&cluster, pair.shard, &options).await?;
    cluster.forget_slow_commands().await?;
    let nodes: Vec<_> = cluster.nodes().iter().map(|node| node.announced).collect();
    let seeds: Vec<_> = nodes.iter().map(ToString::to_string).collect();
    let (mut services, mut services_at, mut devices) = (vec![], vec![], vec![]);
    for _ in 0..instances(options.scenario.shape) {
        let device = Device::start(stop.clone());
        let (service, at) = Service::start(seeds.clone(), device.clone(), stop.clone()).await?;
        service.deploy(fault::first_release(&options, window));
        services.push(service);
        services_at.push(at);
        devices.push(device);
    }
    let (gateway, gateway_at, gpus_at) = match options.scenario.shape {
        Shape::Single => (None, None, Some(gpu::serve_page(devices, stop.clone()).await?)),
        Shape::Fleet => {
            let (gateway, at) = Gateway::start(&services_at, stop.clone()).await?;
            (Some(gateway), Some(at), None)
        }
    };
    let asked = gateway_at.unwrap_or(services_at[0]);
    let retries = fault::retries(&options);
    let (load, load_at) =
        Load::start(asked, f64::from(options.rate), retries, options.seed, stop.clone()).await?;
    let config = configuration::configuration(&nodes[..2], &services_at, gateway_at, gpus_at, load_at);
    let at = options.at;
    if let Some(window) = window {
        // Its end was set before all this was done; nobody is told that everything listens before its time.
        window.until(at).await;
    }
    let parts =
        Arc::new(Parts { options, cluster, services, gateway, load, pair, window, stop: stop.clone() });
    let (tell, injected) = watch::channel(None);
    let (injecting, ended) = (Arc::clone(&parts), stop.clone());
    let inject = Arc::new(Notify::new());
    let asked = Arc::clone(&inject);
    let fault = tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => return,
            () = tokio::time::sleep(at) => {}
            () = asked.notified() => {}
        }
        let injection = fault::inject(&injecting).await;
        tell.send_replace(Some(injection));
    });
    let (services, gateway, gpus, load) = (services_at, gateway_at, gpus_at, load_at);
    Ok(Lab { parts, config, services, gateway, gpus, load, injected, stop: guard, inject, fault })
}

/// How many instances of the service a lab of this shape has.
fn instances(shape: Shape) -> usize {
    match shape {
        Shape::Single => 1,
        Shape::Fleet => gateway::INSTANCES,
    }
}

impl Lab {
    /// Headwater's configuration for this lab, as TOML.
    pub fn config_toml(&self) -> &str {
        &self.config
    }

    /// What the parts counted so far.
    pub fn counters(&self) -> LabCounters {
        let links = self.parts.cluster.nodes().iter().map(|node| {
            let (bytes_in, bytes_out) = node.link.bytes();
            LinkCounters {
                address: node.announced.to_string(),
                shard: node.shard,
                is_primary: node.is_primary,
                rate: node.link.rate(),
                bytes_in,
                bytes_out,
            }
        });
        LabCounters {
            at: Instant::now(),
            links: links.collect(),
            service: self.parts.services[0].counters(),
            others: self.parts.services[1..].iter().map(|service| service.counters()).collect(),
            gateway: self.parts.gateway.as_ref().map(|gateway| gateway.counters()),
            load: self.parts.load.counters(),
        }
    }

    /// What the Redis servers counted so far, in the order of the links.
    pub async fn servers(&self) -> Result<Vec<ServerCounters>, LabError> {
        self.parts.cluster.counters().await
    }

    /// Where the hot pair is.
    pub fn hot_keys(&self) -> HotKeys {
        let pair = self.parts.pair;
        HotKeys {
            profile: profile_key(pair.user),
            item: item_key(pair.item),
            shard: pair.shard,
            address: self.parts.cluster.nodes()[pair.shard].announced.to_string(),
        }
    }

    /// Lets the fault begin now instead of at its second.
    pub fn inject_now(&self) {
        self.inject.notify_one();
    }

    /// Waits until the fault has been injected.
    pub async fn injected(&self) -> Option<Injection> {
        let mut injected = self.injected.clone();
        injected.wait_for(Option::is_some).await.ok().and_then(|injection| injection.clone())
    }

    /// The folder with the servers' configurations and logs; gone when the lab ends.
    pub fn folder(&self) -> &Path {
        self.parts.cluster.folder()
    }

    /// Ends every part and removes every file.
    pub async fn stop(self) -> Result<(), LabError> {
        let Self { parts, stop, fault, .. } = self;
        stop.disarm().cancel();
        // It ends at once, or has panicked, which must not keep the servers running.
        let _ = fault.await;
        // Nothing else holds the parts by now; if something does, dropping them cleans up as well.
        match Arc::try_unwrap(parts) {
            Ok(parts) => parts.cluster.stop().await,
            Err(_) => Ok(()),
        }
    }
}
