//! The METRICS table: every number that rules know by name.
//!
//! Names follow OpenTelemetry's semantic conventions where these have one. Whatever else a target exposes is a
//! *free metric*: it lives in the same store under its own name and only generic rules look at it.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// What a value is counted in, once counters have become rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A share or a multiple, 1 = 100 %.
    Ratio,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Events a second.
    PerSecond,
    /// A plain number of things.
    Count,
    /// Seconds since the Unix epoch.
    UnixSeconds,
    /// Degrees Celsius.
    Celsius,
    /// Watts.
    Watts,
    /// Cycles a second.
    Hertz,
}

/// How a metric arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A level that is read as it is.
    Gauge,
    /// A total that only grows; the store keeps its rate per second.
    Counter,
    /// Cumulative buckets; the store keeps them whole and percentiles come from differences.
    Histogram,
}

/// Which way is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bad {
    /// More is worse.
    High,
    /// Less is worse.
    Low,
    /// Neither way is worse by itself.
    Neither,
}

/// One row of [`METRICS`].
#[derive(Debug)]
pub struct MetricRow {
    /// The name users see and write.
    pub name: &'static str,
    /// The unit of the stored value; of a counter, the unit of its rate.
    pub unit: Unit,
    /// How it arrives.
    pub form: Form,
    /// Which way is worse.
    pub bad: Bad,
    /// One sentence for help and docs.
    pub help: &'static str,
}

/// A known metric: a row number of [`METRICS`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Metric(u16);

impl Metric {
    /// This metric's row.
    pub fn row(self) -> &'static MetricRow {
        &METRICS[usize::from(self.0)]
    }

    /// The name users see.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The metric with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        (0u16..).zip(METRICS).find(|(_, row)| row.name == name).map(|(row, _)| Self(row))
    }
}

impl fmt::Debug for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The name of a series' metric: a row of [`METRICS`] or a free name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum MetricName {
    /// A row of [`METRICS`].
    Known(Metric),
    /// Anything else a target exposes.
    Free(Arc<str>),
}

impl MetricName {
    /// The written name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(metric) => metric.name(),
            Self::Free(name) => name,
        }
    }

    /// Which way is worse; of a free metric nobody knows.
    pub fn bad(&self) -> Bad {
        match self {
            Self::Known(metric) => metric.row().bad,
            Self::Free(_) => Bad::Neither,
        }
    }

    /// The unit: that of the row, or a plain count for a free metric.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Known(metric) => metric.row().unit,
            Self::Free(_) => Unit::Count,
        }
    }
}

impl From<Metric> for MetricName {
    fn from(metric: Metric) -> Self {
        Self::Known(metric)
    }
}

impl From<&MetricName> for MetricName {
    fn from(name: &MetricName) -> Self {
        name.clone()
    }
}

impl From<String> for MetricName {
    fn from(name: String) -> Self {
        Metric::by_name(&name)
            .map_or_else(|| Self::Free(crate::text::RemoteText::new(&name).as_str().into()), Self::Known)
    }
}

impl From<MetricName> for String {
    fn from(name: MetricName) -> Self {
        name.as_str().to_owned()
    }
}

/// What Headwater notes about its own asking: a source that tells only these has told nothing of its target.
pub const OWN_COST: &[Metric] =
    &[REDIS_OUR_COMMANDS, REDIS_OUR_BYTES, REDIS_OUR_HITS, SCRAPE_BYTES, SCRAPE_TIME, PROBE_TOKENS];

/// Metrics that only probes tell.
pub const PROBED: &[Metric] = &[PROBE_TIME, PROBE_OK, PROBE_STATUS, PROBE_TTFT];

macro_rules! metrics {
    ($($id:ident $name:literal $form:ident $unit:ident $bad:ident $help:literal)*) => {
        /// Every known metric, in the order of help and docs.
        pub static METRICS: &[MetricRow] = &[$(MetricRow {
            name: $name, unit: Unit::$unit, form: Form::$form, bad: Bad::$bad, help: $help,
        }),*];

        #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "row numbers for the constants below")]
        #[derive(Clone, Copy)]
        enum Row { $($id),* }

        $(#[doc = $help] pub const $id: Metric = Metric(Row::$id as u16);)*
    };
}

metrics! {
    // Redis, per node. Sources of each formula: INFO fields named in the help.
    REDIS_ANSWER_TIME "redis.answer_time" Gauge Seconds High "our own time to an INFO reply, over the open connection"
    REDIS_CPU "redis.cpu.main_thread" Counter Ratio High "cores used by the main thread: used_active_time_main_thread, else used_cpu_user_main_thread + used_cpu_sys_main_thread, over server_time_usec"
    REDIS_CPU_PROCESS "redis.cpu.process" Counter Ratio High "cores used by the whole process: used_cpu_user + used_cpu_sys"
    REDIS_EXEC "redis.exec_busy" Counter Ratio High "share of time executing commands: sum of commandstats usec"
    REDIS_COMMANDS "redis.commands" Counter PerSecond Neither "commands processed: total_commands_processed"
    REDIS_COMMAND_CALLS "redis.command.calls" Counter PerSecond Neither "calls of one command (part = command): commandstats calls"
    REDIS_COMMAND_TIME "redis.command.time" Counter Ratio High "share of time in one command (part = command): commandstats usec"
    REDIS_COMMAND_DURATION "redis.command.duration" Histogram Seconds High "time in one call of a command (part = command), of the few that cost most: LATENCY HISTOGRAM"
    REDIS_LATENCY_EVENT "redis.latency.event" Gauge Seconds High "the last stall of one kind (part = kind) that the server's own monitor saw: LATENCY LATEST"
    REDIS_NET_IN "redis.net.input" Counter BytesPerSecond High "bytes received from clients: total_net_input_bytes"
    REDIS_NET_OUT "redis.net.output" Counter BytesPerSecond High "bytes sent to clients: total_net_output_bytes"
    REDIS_NET_REPL_IN "redis.net.replication_input" Counter BytesPerSecond High "bytes received for replication: total_net_repl_input_bytes"
    REDIS_NET_REPL_OUT "redis.net.replication_output" Counter BytesPerSecond High "bytes sent for replication: total_net_repl_output_bytes"
    REDIS_HITS "redis.keyspace.hits" Counter PerSecond Neither "successful key look-ups: keyspace_hits"
    REDIS_MISSES "redis.keyspace.misses" Counter PerSecond High "failed key look-ups: keyspace_misses"
    REDIS_EXPIRED "redis.keys.expired" Counter PerSecond Neither "keys expired: expired_keys"
    REDIS_EXPIRE_CAPPED "redis.expire.time_cap_reached" Counter PerSecond High "expiry cycles cut short: expired_time_cap_reached_count"
    REDIS_EXPIRE_TIME "redis.expire.time" Counter Ratio High "share of time in expiry cycles: expire_cycle_cpu_milliseconds"
    REDIS_EXPIRE_STALE "redis.expire.stale" Gauge Ratio High "share of keys with an expiry that have expired and are still there: expired_stale_perc"
    REDIS_EVICTED "redis.keys.evicted" Counter PerSecond High "keys evicted: evicted_keys"
    REDIS_CLIENTS "redis.clients.connected" Gauge Count High "client connections: connected_clients + connected_slaves + cluster_connections"
    REDIS_CLIENTS_BLOCKED "redis.clients.blocked" Gauge Count High "clients in a blocking command: blocked_clients"
    REDIS_CLIENTS_MAX "redis.clients.max" Gauge Count Neither "connection limit: maxclients"
    REDIS_CONNECTIONS "redis.connections.received" Counter PerSecond High "new connections: total_connections_received"
    REDIS_REJECTED "redis.connections.rejected" Counter PerSecond High "refused connections: rejected_connections"
    REDIS_MEMORY "redis.memory.used" Gauge Bytes High "bytes allocated: used_memory"
    REDIS_MEMORY_RSS "redis.memory.rss" Gauge Bytes High "resident bytes: used_memory_rss"
    REDIS_MEMORY_MAX "redis.memory.max" Gauge Bytes Neither "memory limit: maxmemory, absent when there is none"
    REDIS_MEMORY_EVICTS "redis.memory.evicts" Gauge Ratio Neither "1 where keys may be evicted at the memory limit, 0 where writes fail: maxmemory_policy"
    REDIS_MEMORY_CLIENTS "redis.memory.clients" Gauge Bytes High "bytes in buffers of clients: mem_clients_normal"
    REDIS_MEMORY_OVERHEAD "redis.memory.overhead" Gauge Bytes High "bytes that hold no data: used_memory_overhead"
    REDIS_FRAGMENTATION "redis.memory.fragmentation" Gauge Ratio High "bytes held by the allocator over bytes in use: allocator_frag_ratio"
    REDIS_KEYS "redis.keys" Gauge Count Neither "keys in all databases: keyspace"
    REDIS_KEYS_VOLATILE "redis.keys.volatile" Gauge Count Neither "keys that have an expiry: keyspace expires"
    REDIS_ERRORS "redis.errors" Counter PerSecond High "error replies of one kind (part = error word): errorstats"
    REDIS_SLOW "redis.slowlog.entries" Counter PerSecond High "new slow-log entries, our own and admin commands excluded: SLOWLOG ids"
    REDIS_SLOW_THRESHOLD "redis.slowlog.threshold" Gauge Seconds Neither "execution time from which on commands enter the slow log, below 0 when it is off: slowlog-log-slower-than"
    REDIS_FORKS "redis.forks" Counter PerSecond Neither "forks since start: total_forks"
    REDIS_FORK_TIME "redis.fork.last" Gauge Seconds High "duration of the last fork: latest_fork_usec"
    REDIS_SAVING "redis.persistence.saving" Gauge Ratio Neither "1 while a child saves: rdb_bgsave_in_progress or aof_rewrite_in_progress"
    REDIS_SAVE_OK "redis.persistence.ok" Gauge Ratio Low "1 where the last save, rewrite and append went well: rdb_last_bgsave_status, aof_last_bgrewrite_status, aof_last_write_status"
    REDIS_COW "redis.persistence.copied" Gauge Bytes High "bytes copied for the child that saves: current_cow_size"
    REDIS_FSYNC_DELAYED "redis.persistence.fsync_delayed" Counter PerSecond High "appends that waited for the disk: aof_delayed_fsync"
    REDIS_LOADING "redis.loading" Gauge Ratio High "1 while the server loads its data and answers no reads: loading"
    REDIS_REPLICATION_UP "redis.replication.link_up" Gauge Ratio Low "1 while a replica's link to its primary is up: master_link_status"
    REDIS_REPLICATION_LAG "redis.replication.lag" Gauge Seconds High "seconds since a replica heard its primary: master_last_io_seconds_ago"
    REDIS_REPLICATION_DOWN "redis.replication.down_for" Gauge Seconds High "how long a replica's link to its primary has been down: master_link_down_since_seconds"
    REDIS_SYNCING "redis.replication.syncing" Gauge Ratio High "1 while a replica copies the whole data: master_sync_in_progress"
    REDIS_REPLICAS "redis.replication.replicas" Gauge Count Low "replicas that are connected to a primary: connected_slaves"
    REDIS_REPLICA_LAG "redis.replication.replica_lag" Gauge Seconds High "seconds since a replica (part = its address) confirmed, as its primary counts: slaveN lag"
    REDIS_REPLICA_BEHIND "redis.replication.replica_behind" Gauge Bytes High "bytes that a replica (part = its address) is behind: master_repl_offset - slaveN offset"
    REDIS_FULL_SYNCS "redis.replication.full_syncs" Counter PerSecond High "copies of the whole data to a replica: sync_full"
    REDIS_UPTIME "redis.uptime" Gauge Seconds Neither "seconds since start: uptime_in_seconds"
    REDIS_OUR_COMMANDS "redis.observer.commands" Counter PerSecond Neither "commands that Headwater itself sent to this node"
    REDIS_OUR_BYTES "redis.observer.bytes" Counter BytesPerSecond Neither "bytes that Headwater itself exchanged with this node"
    REDIS_OUR_HITS "redis.observer.hits" Counter PerSecond Neither "look-ups that Headwater itself added to this node's hits"

    // A service that answers requests.
    REQUEST_DURATION "http.server.request.duration" Histogram Seconds High "time to answer a request, as the server sees it"
    ROUTE_DURATION "service.route.duration" Histogram Seconds High "time to answer a request of one route or model (part = route or model)"
    MODEL_DURATION "gen_ai.server.request.duration" Histogram Seconds High "end-to-end time of a model request, queueing included"
    TTFT "gen_ai.server.time_to_first_token" Histogram Seconds High "time to the first token"
    PER_TOKEN "gen_ai.server.time_per_output_token" Histogram Seconds High "time between tokens"
    STAGE_DURATION "service.stage.duration" Histogram Seconds High "time in one stage of a request (part = stage)"
    REQUESTS "service.requests" Counter PerSecond Neither "requests finished, whatever their outcome"
    ERRORS "service.errors" Counter PerSecond High "requests that ended in an error, an abort or a refusal"
    CACHE_MISSES "service.cache.misses" Counter PerSecond High "look-ups in a cache that the service itself counted as misses, late answers included"
    IN_FLIGHT "service.requests.active" Gauge Count High "requests being answered"
    REQUEST_MAX "http.server.request.duration.max" Gauge Seconds High "longest time to answer a request in the last minutes, as the server keeps it where it has no buckets"
    REQUEST_MEAN "http.server.request.duration.mean" Gauge Seconds High "mean time to answer its last requests, as the server itself computes it"
    ABORTED "service.requests.aborted" Counter PerSecond High "requests whose caller went away before the answer"
    READY "service.ready" Gauge Ratio Low "1 while the service calls itself ready"
    INSTANCES "service.instances" Gauge Count Neither "instances that should run (part = deployment or model)"
    INSTANCES_READY "service.instances.ready" Gauge Count Low "instances that run and are ready (part = deployment or model)"
    CACHE_LOOKUPS "service.cache.lookups" Counter PerSecond Neither "look-ups in a cache of the service (part = cache)"
    CACHE_HITS "service.cache.hits" Counter PerSecond Neither "look-ups in a cache of the service that found something (part = cache)"
    RETRIES "service.retries" Counter PerSecond High "attempts towards others after a first one failed, as whoever retries counts them"
    BREAKER_OPEN "service.breaker.open" Gauge Ratio High "1 while a circuit breaker (part = its name) lets nothing through, 0.5 while it tries"
    BREAKER_REFUSED "service.breaker.refused" Counter PerSecond High "calls that an open circuit breaker (part = its name) refused"
    WORKERS_BUSY "service.workers.busy" Gauge Count High "threads or workers that answer requests"
    WORKERS_MAX "service.workers.max" Gauge Count Neither "threads or workers that may answer requests"
    GC_PAUSE "service.gc.pause" Histogram Seconds High "pauses for garbage collection"
    DB_DURATION "db.client.operation.duration" Histogram Seconds High "time of a data store's operation as its client sees it (part = operation)"
    POOL_PENDING "db.client.connection.pending_requests" Gauge Count High "threads or tasks waiting for a pooled connection"
    POOL_USED "db.client.connection.count" Gauge Count High "pooled connections in use"
    POOL_MAX "db.client.connection.max" Gauge Count Neither "size of the connection pool"
    POOL_TIMEOUTS "db.client.connection.timeouts" Counter PerSecond High "waits for a pooled connection that were given up"
    POOL_WAIT "db.client.connection.wait_time" Histogram Seconds High "time waited for a pooled connection"
    DB_TIMEOUTS "db.client.operation.timeouts" Counter PerSecond High "operations of a data store that their client gave up waiting for"

    // A queue with its batcher.
    QUEUE_WAITING "queue.waiting" Gauge Count High "requests waiting for a place in a batch"
    QUEUE_RUNNING "queue.running" Gauge Count Neither "requests in a batch"
    QUEUE_CAPACITY "queue.capacity" Gauge Count Neither "places in the queue"
    QUEUE_WAIT "queue.wait" Histogram Seconds High "time a request waited in the queue"
    QUEUE_REJECTED "queue.rejected" Counter PerSecond High "requests refused because the queue was full"
    QUEUE_WAITING_WHY "queue.waiting.reason" Gauge Count High "requests that wait for one reason (part = reason)"
    BATCH_MAX "queue.batch_size.max" Gauge Count Neither "requests that a batch may hold"
    BATCH_SIZE "queue.batch_size" Histogram Count Neither "requests in one batch"
    KV_USAGE "gen_ai.kv_cache.usage" Gauge Ratio High "share of the KV cache in use"
    PREEMPTIONS "gen_ai.preemptions" Counter PerSecond High "requests pushed out of a batch for want of KV cache"
    PREFILL_DURATION "gen_ai.server.prefill.duration" Histogram Seconds High "time to read a prompt, the queue left out"
    DECODE_DURATION "gen_ai.server.decode.duration" Histogram Seconds High "time from a request's first token to its last"
    STEP_TOKENS "gen_ai.step.tokens" Histogram Count Neither "tokens in one step of the engine"
    TOKENS_IN "gen_ai.tokens.input" Counter PerSecond Neither "tokens of prompts read"
    TOKENS_OUT "gen_ai.tokens.output" Counter PerSecond Neither "tokens generated"
    PREFIX_LOOKUPS "gen_ai.prefix_cache.lookups" Counter PerSecond Neither "tokens or blocks looked up in the prefix cache"
    PREFIX_HITS "gen_ai.prefix_cache.hits" Counter PerSecond Neither "tokens or blocks found in the prefix cache"

    // Whoever calls.
    CLIENT_ORIGINALS "client.requests" Counter PerSecond Neither "original requests, before retries"
    CLIENT_ATTEMPTS "client.attempts" Counter PerSecond Neither "attempts, retries included"
    CLIENT_SUCCESSES "client.successes" Counter PerSecond Low "original requests that were answered well"
    CLIENT_ABORTED "client.requests.aborted" Counter PerSecond High "original requests whose caller stopped waiting"
    CLIENT_TIMEOUT "client.timeout" Gauge Seconds Neither "how long the caller waits for an answer"
    CLIENT_DURATION "http.client.request.duration" Histogram Seconds High "time of a request as its caller sees it"

    // A gateway, and what it sees of the upstreams behind it (part = upstream: a cluster, a pool or one address).
    GATEWAY_CONNECTIONS "gateway.connections" Gauge Count High "connections of callers"
    GATEWAY_REFUSED "gateway.requests.refused" Counter PerSecond High "requests that the gateway itself refused because a limit was reached"
    UPSTREAM_REQUESTS "gateway.upstream.requests" Counter PerSecond Neither "attempts sent to an upstream (part = upstream)"
    UPSTREAM_ERRORS "gateway.upstream.errors" Counter PerSecond High "attempts at an upstream (part = upstream) that failed, time-outs included"
    UPSTREAM_TIMEOUTS "gateway.upstream.timeouts" Counter PerSecond High "attempts at an upstream (part = upstream) that the gateway gave up waiting for"
    UPSTREAM_RETRIES "gateway.upstream.retries" Counter PerSecond High "attempts at an upstream (part = upstream) that repeat a failed one"
    UPSTREAM_DURATION "gateway.upstream.duration" Histogram Seconds High "time of an attempt at an upstream (part = upstream)"
    UPSTREAM_MEAN "gateway.upstream.duration.mean" Gauge Seconds High "mean time of the last attempts at an upstream (part = upstream), as the gateway computes it"
    UPSTREAM_ACTIVE "gateway.upstream.active" Gauge Count High "attempts under way at an upstream (part = upstream)"
    UPSTREAM_PENDING "gateway.upstream.pending" Gauge Count High "requests that wait for a connection to an upstream (part = upstream)"
    UPSTREAM_CONNECTED "gateway.upstream.connections.opened" Counter PerSecond High "connections opened to an upstream (part = upstream)"
    UPSTREAM_CONNECT_FAILED "gateway.upstream.connections.failed" Counter PerSecond High "connections to an upstream (part = upstream) that failed"
    UPSTREAM_TIMEOUT "gateway.upstream.timeout" Gauge Seconds Neither "how long the gateway waits for an upstream (part = upstream)"
    UPSTREAM_MEMBERS "gateway.upstream.members" Gauge Count Neither "members of an upstream (part = upstream)"
    UPSTREAM_HEALTHY "gateway.upstream.members.healthy" Gauge Count Low "members of an upstream (part = upstream) that get requests"
    UPSTREAM_EJECTED "gateway.upstream.ejected" Gauge Count High "members of an upstream (part = upstream) that are taken out, 1 or 0 where the upstream is one address"
    UPSTREAM_EJECTIONS "gateway.upstream.ejections" Counter PerSecond High "times that members of an upstream (part = upstream) were taken out"
    UPSTREAM_PANIC "gateway.upstream.panic" Counter PerSecond High "requests that were spread over all members of an upstream (part = upstream), sick ones too, because too few are healthy"
    UPSTREAM_READY "gateway.upstream.ready" Gauge Ratio Low "1 where the last readiness check of an upstream (part = upstream) went well"

    // What Headwater's own probes of an address see.
    PROBE_TIME "probe.duration" Gauge Seconds High "time of one phase of our own request (part = dns, connect, tls, first_byte or total)"
    PROBE_OK "probe.ok" Gauge Ratio Low "1 where our own request was answered as it should be"
    PROBE_STATUS "probe.status" Gauge Count Neither "HTTP status of the answer to our own request"
    PROBE_TTFT "probe.time_to_first_token" Gauge Seconds High "time to the first token of our own small completion, from the moment that it was asked for on an open connection"
    PROBE_TOKENS "probe.tokens" Counter PerSecond Neither "tokens that our own small completions let the server generate, at most"

    // What log files tell.
    LOG_REQUESTS "log.requests" Counter PerSecond Neither "requests in an access log (part = route)"
    LOG_REPEATED "log.requests.repeated" Counter PerSecond High "requests in an access log (part = route) whose id was there within the last 30 s"
    LOG_THRICE "log.requests.thrice" Counter PerSecond High "requests in an access log (part = route) that were the third with their id within 30 s: how many ids come three times and more"
    LOG_LINES "log.lines" Counter PerSecond Neither "lines read of a log"
    LOG_UNREAD "log.lines.unread" Counter PerSecond High "lines of an access log that are not in its format"
    LOG_MATCHES "log.matches" Counter PerSecond High "lines of a log that a pattern (part = its name) fits"

    // A message log and what is made of it.
    CONSUMER_LAG "kafka.consumer.lag" Gauge Count High "messages that a consumer group has not read yet (part = topic)"
    CONSUMER_LAG_TIME "kafka.consumer.lag_time" Gauge Seconds High "age of the oldest message that a consumer group has not read (part = topic)"
    CHECKPOINT_DURATION "pipeline.checkpoint.duration" Gauge Seconds High "duration of the last checkpoint (part = job)"
    CHECKPOINT_FAILURES "pipeline.checkpoint.failures" Counter PerSecond High "checkpoints that failed (part = job)"
    BACK_PRESSURE "pipeline.back_pressure" Gauge Ratio High "share of time in which a task (part = task) could not pass its output on"
    EVENT_LAG "pipeline.event_lag" Gauge Seconds High "age of the events that a pipeline passes on (part = operator)"
    FEATURE_AGE "pipeline.feature_age" Gauge Seconds High "age of the newest features that were written (part = feature set)"

    // The way from a caller to a callee, as traces show it: subjects edge/CALLER>CALLEE.
    EDGE_REQUESTS "edge.requests" Counter PerSecond Neither "requests from one component to another"
    EDGE_ERRORS "edge.errors" Counter PerSecond High "requests from one component to another that failed"
    EDGE_CLIENT_DURATION "edge.client.duration" Histogram Seconds High "time of a request as its caller sees it, the way included"
    EDGE_SERVER_DURATION "edge.server.duration" Histogram Seconds High "time of a request as its callee sees it, the way left out"

    // Hardware.
    GPU_UTILIZATION "gpu.utilization" Gauge Ratio Neither "share of time with a kernel running"
    GPU_MEMORY "gpu.memory.used" Gauge Bytes High "device memory in use"
    GPU_MEMORY_MAX "gpu.memory.max" Gauge Bytes Neither "device memory that there is"
    GPU_MEMORY_BUSY "gpu.memory.bandwidth" Gauge Ratio High "share of time or cycles in which device memory was read or written"
    GPU_TEMPERATURE "gpu.temperature" Gauge Celsius High "temperature of the chip"
    GPU_POWER "gpu.power" Gauge Watts Neither "power drawn"
    GPU_POWER_MAX "gpu.power.max" Gauge Watts Neither "power limit in force"
    GPU_CLOCK "gpu.clock.sm" Gauge Hertz Low "clock of the multiprocessors"
    GPU_THROTTLED "gpu.throttled" Counter Ratio High "share of time slowed down for one reason (part = reason)"
    GPU_XID "gpu.xid" Gauge Count High "code of the last XID event, 0 when there was none"
    GPU_ECC "gpu.ecc.errors" Counter PerSecond High "memory errors of one kind (part = corrected or uncorrected)"
    GPU_REMAP "gpu.rows.remap_failed" Gauge Ratio High "1 where a bad memory row could not be replaced"
    GPU_PCIE_REPLAYS "gpu.pcie.replays" Counter PerSecond High "transfers over PCIe that were repeated"

    // A machine or a container.
    HOST_CPU "host.cpu.time" Counter Ratio High "cores used (part = mode, idle left out)"
    HOST_CPUS "host.cpus" Gauge Count Neither "cores that there are"
    HOST_RUNNABLE "host.run_queue" Gauge Count High "tasks that run or want to"
    HOST_LOAD "host.load" Gauge Count High "load average over one minute"
    HOST_SWITCHES "host.context_switches" Counter PerSecond High "context switches"
    HOST_THROTTLED "host.cpu.throttled" Counter Ratio High "share of time in which a limit held tasks back (part = container)"
    HOST_MEMORY_AVAILABLE "host.memory.available" Gauge Bytes Low "memory that can still be had"
    HOST_MEMORY_MAX "host.memory.max" Gauge Bytes Neither "memory that there is"
    HOST_NET_IN "host.net.input" Counter BytesPerSecond High "bytes received over the network"
    HOST_NET_OUT "host.net.output" Counter BytesPerSecond High "bytes sent over the network"
    HOST_RETRANSMITS "host.net.retransmits" Counter PerSecond High "TCP segments sent again"
    HOST_DISK_BUSY "host.disk.busy" Counter Ratio High "share of time with a request under way (part = device)"
    CONTAINER_CPU "container.cpu.time" Counter Ratio High "cores used by a container (part = container)"
    CONTAINER_MEMORY "container.memory.usage" Gauge Bytes High "memory that a container cannot give back (part = container)"
    CONTAINER_RESTARTS "container.restarts" Counter PerSecond High "restarts of a container (part = container)"

    // Any process, and Headwater itself.
    PROCESS_START "process.start_time" Gauge UnixSeconds Neither "when the process started"
    PROCESS_CPU "process.cpu.time" Counter Ratio High "cores used by the process"
    PROCESS_MEMORY "process.memory.usage" Gauge Bytes High "resident bytes of the process"
    SCRAPE_TIME "scrape.duration" Gauge Seconds High "our own time to fetch a metrics page, or for a probe's whole request"
    SCRAPE_BYTES "scrape.bytes" Counter BytesPerSecond Neither "bytes read of metrics pages, unpacked, of answers to probes and of logs"
    LOOP_LAG "observer.loop_lag" Gauge Seconds High "how late Headwater's own loop ran"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back_to_their_row() {
        for row in METRICS {
            assert_eq!(
                Metric::by_name(row.name).unwrap().row().help,
                row.help,
                "'{}' stands twice",
                row.name
            );
        }
        assert_eq!(REDIS_CPU.name(), "redis.cpu.main_thread");
        assert_eq!(LOOP_LAG.name(), METRICS.last().unwrap().name);
    }

    #[test]
    fn unknown_names_are_free_metrics() {
        let name = MetricName::from("my_gauge".to_owned());
        assert_eq!(name, MetricName::Free("my_gauge".into()));
        assert_eq!(MetricName::from("queue.waiting".to_owned()), MetricName::Known(QUEUE_WAITING));
    }
}
