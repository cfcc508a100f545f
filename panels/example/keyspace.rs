//! What is known of the keys of the example: made-up test data, one of everything.

use std::time::Duration;

use headwater_engine::metric::*;
use headwater_engine::reading::{
    ClusterView, Event, Expiries, ExpirySecond, ExpirySpan, HotSearch, Input, KeyHeat, KeyMethod, KeyPattern,
    KeySize, KeySizes, LargeCommand, LargeKind, MethodOffer, Reading, Scan, ScanState, SizeBin, SlotHeat,
    Value,
};
use headwater_engine::slot::slot_of;
use headwater_engine::{Moment, RemoteText};

use super::{World, node, subject};

fn size(name: &str, kind: &str, bytes: u64, elements: Option<u64>) -> KeySize {
    let slot = Some(slot_of(name.as_bytes()));
    KeySize { key: name.into(), slot, kind: kind.into(), bytes, elements }
}

fn heat(name: &str, shares: [Option<f64>; 3], frequency: Option<u64>) -> KeyHeat {
    let [operations_share, cpu_share, bytes_share] = shares;
    KeyHeat {
        key: name.into(),
        slot: Some(slot_of(name.as_bytes())),
        operations_share,
        per_second: operations_share.map(|share| share * 400.0),
        cpu_share,
        bytes_share,
        frequency,
        command: operations_share.map(|_| "GET".into()),
    }
}

/// A scan of shard 2 that stands like this.
pub(crate) fn scan(state: ScanState, at: Moment) -> Scan {
    let herd = at + Duration::from_secs(754);
    let second = |offset: u64, keys| ExpirySecond { at: at + Duration::from_secs(offset), keys };
    let pattern = |pattern: &str, keys, bytes, biggest| KeyPattern {
        pattern: RemoteText::new(pattern),
        keys,
        bytes,
        biggest,
    };
    Scan {
        scanned: 12_400,
        total: 50_000,
        state,
        biggest: vec![
            size("user:profile:8812", "string", 1_800_000, None),
            size("cart:55", "hash", 90_000, Some(7_200)),
            size("item:feat:55", "string", 900, None),
        ],
        longest: vec![
            size("cart:55", "hash", 90_000, Some(7_200)),
            size("seen:9", "zset", 81_000, Some(6_100)),
        ],
        patterns: vec![
            pattern("user:profile:*", 4_000, 9_800_000, 1_800_000),
            pattern("item:feat:*", 8_000, 7_200_000, 1_200),
            pattern("cart:*", 400, 800_000, 90_000),
        ],
        expiries: Some(Expiries {
            at,
            sampled: 10_000,
            without: 1_580,
            spans: spans(),
            seconds: vec![
                second(60, 40),
                second(310, 55),
                second(600, 61),
                ExpirySecond { at: herd, keys: 5_220 },
                second(1_200, 48),
                second(3_300, 20),
            ],
        }),
        commands: 1_240,
        cpu_s: 0.084,
        hits: 2_480,
        ..Scan::begun(subject("redis/features#2"), node(2))
    }
}

/// A search of shard 2 by this way.
pub(crate) fn search(method: KeyMethod, state: ScanState) -> HotSearch {
    let keys = match method.row().gives_shares {
        true => vec![
            heat("item:feat:55", [Some(0.62), Some(0.31), Some(0.04)], None),
            heat("user:profile:8812", [Some(0.05), Some(0.4), Some(0.93)], None),
            heat("item:feat:7", [Some(0.01), None, None], None),
        ],
        false => vec![heat("item:feat:55", [None; 3], Some(212)), heat("item:feat:7", [None; 3], Some(31))],
    };
    let slots = match method {
        KeyMethod::SlotStats => {
            vec![SlotHeat { slot: 14_000, keys: 12, cpu_share: Some(0.58), bytes_share: Some(0.91) }]
        }
        _ => vec![],
    };
    HotSearch {
        shard: subject("redis/features#2"),
        node: node(2),
        method,
        state,
        seconds: 4.0,
        seconds_in_all: 10.0,
        counted: 12_400,
        keys,
        slots,
    }
}

impl World {
    /// Tells everything that can be known of keys.
    pub(crate) fn know_keys(&mut self, scanned: ScanState, searched: ScanState) {
        self.is_moving = true;
        let now = self.now();
        for shard in 0..3 {
            let node = node(shard);
            let mut reading = Reading::new(node.clone(), now);
            reading.events.push(Event::Offers(offers(shard)));
            reading.events.push(Event::KeySizes(sizes()));
            reading.sample(&node, REDIS_KEYS, Value::Gauge(50_000.0));
            reading.sample(&node, REDIS_KEYS_VOLATILE, Value::Gauge(42_100.0));
            self.take(&Input::Reading(reading));
        }
        let mut found = Reading::new(node(2), now);
        found.events.push(Event::Scan(scan(scanned, now)));
        found.events.push(Event::HotSearch(search(KeyMethod::SlotStats, searched)));
        found.events.push(Event::HotSearch(search(KeyMethod::Frequencies, ScanState::Complete)));
        for (id, key, excluded) in
            [(1, "user:profile:8812", false), (2, "user:profile:8812", false), (3, "cart:55", true)]
        {
            found.events.push(Event::LargeCommand(LargeCommand {
                id,
                at: now,
                kind: LargeKind::Reply,
                bytes: 1_790_000,
                command: "GET".into(),
                key: Some(key.into()),
                client: "ranker".into(),
                excluded,
            }));
        }
        self.take(&Input::Reading(found));
    }

    pub(super) fn seen_by(&self, shard: usize) -> ClusterView {
        let moving = slot_of(b"item:feat:55");
        ClusterView {
            node: node(shard),
            says_ok: true,
            known: 3,
            epoch: 7,
            uncovered: vec![],
            owners: 99,
            own: vec![],
            failed: vec![],
            suspected: vec![],
            migrating: if self.is_moving && shard == 2 {
                vec![(moving, "10.0.3.13:6379".into())]
            } else {
                vec![]
            },
            importing: if self.is_moving && shard == 1 {
                vec![(moving, "10.0.3.14:6379".into())]
            } else {
                vec![]
            },
        }
    }

    /// Counters of commands, errors and expiries that only the drilled shard shows; told for so many seconds.
    pub(crate) fn know_commands(&mut self, seconds: i64) {
        self.replicas = 1.0;
        for _ in 0..seconds {
            self.run(1);
            let (now, total) = (self.now(), self.second as f64);
            for shard in 0..3 {
                self.take(&Input::Reading(limits(shard, now, total)));
            }
            let node = node(2);
            let mut reading = Reading::new(node.clone(), now);
            reading.part(&node, REDIS_COMMAND_TIME, "get", Value::Counter(total * 0.018));
            reading.part(&node, REDIS_COMMAND_CALLS, "get", Value::Counter(total * 390.0));
            reading.part(&node, REDIS_COMMAND_TIME, "hgetall", Value::Counter(total * 0.011));
            reading.part(&node, REDIS_COMMAND_CALLS, "hgetall", Value::Counter(total * 10.0));
            reading.part(&node, REDIS_ERRORS, "WRONGTYPE", Value::Counter(total * 0.5));
            reading.sample(&node, REDIS_OUR_HITS, Value::Counter(total * 30.0));
            for (command, rate) in [("get", 390.0), ("hgetall", 10.0)] {
                let histogram = headwater_engine::histogram::Histogram {
                    bounds: [0.000_032, 0.000_064, 0.000_128, 0.001_024].into(),
                    counts: [0.0, total * rate * 0.6, total * rate * 0.98, total * rate].into(),
                    count: total * rate,
                    sum: None,
                };
                let value = Value::Histogram(std::sync::Arc::new(histogram));
                reading.part(&node, REDIS_COMMAND_DURATION, command, value);
            }
            self.take(&Input::Reading(reading));
        }
        self.run(1);
    }
}

/// Shard 0 offers nothing, the others what Redis 8.2 in a cluster does.
fn offers(shard: usize) -> Vec<MethodOffer> {
    let refused = |method: KeyMethod, why: &str| MethodOffer { method, refusal: Some(why.into()) };
    let offered = |method: KeyMethod| MethodOffer { method, refusal: None };
    let lfu = refused(KeyMethod::Frequencies, "maxmemory-policy is noeviction; it needs one of the LFU kind");
    let hotkeys = refused(KeyMethod::Hotkeys, "Redis 8.2 has no HOTKEYS; it needs Redis 8.6");
    if shard == 0 {
        let denied = "the user may not run it; +monitor allows it";
        let stats = "cluster-slot-stats-enabled is no; set it to yes";
        return vec![
            offered(KeyMethod::Scan),
            refused(KeyMethod::SlotStats, stats),
            lfu,
            hotkeys,
            refused(KeyMethod::Monitor, denied),
        ];
    }
    vec![offered(KeyMethod::Scan), offered(KeyMethod::SlotStats), lfu, hotkeys, offered(KeyMethod::Monitor)]
}

fn sizes() -> KeySizes {
    let bins =
        |bins: &[(u64, u64)]| bins.iter().map(|(from, keys)| SizeBin { from: *from, keys: *keys }).collect();
    KeySizes {
        rows: vec![
            ("strings_sizes".into(), bins(&[(0, 3), (256, 9_000), (512, 31_000), (1_048_576, 2)])),
            ("hashes_items".into(), bins(&[(8, 4_100), (8_192, 1)])),
        ],
    }
}

fn spans() -> Vec<ExpirySpan> {
    let spans = [(Some(60), 40), (Some(600), 116), (Some(3_600), 5_268), (Some(86_400), 2_700), (None, 296)];
    spans.into_iter().map(|(within_s, keys)| ExpirySpan { within_s, keys }).collect()
}

/// Limits, saves and replicas of a shard; shard 2 refuses connections, and its last save failed.
fn limits(shard: usize, now: Moment, total: f64) -> Reading {
    let node = node(shard);
    let is_ill = shard == 2;
    let mut reading = Reading::new(node.clone(), now);
    for (metric, value) in [
        (REDIS_CLIENTS_MAX, 10_000.0),
        (REDIS_CLIENTS_BLOCKED, 0.0),
        (REDIS_MEMORY_MAX, if is_ill { 1.2e8 } else { 1e9 }),
        (REDIS_MEMORY_EVICTS, 0.0),
        (REDIS_FRAGMENTATION, 1.04),
        (REDIS_SAVING, 0.0),
        (REDIS_SAVE_OK, if is_ill { 0.0 } else { 1.0 }),
    ] {
        reading.sample(&node, metric, Value::Gauge(value));
    }
    let refused = if is_ill { total * 2.0 } else { 0.0 };
    reading.sample(&node, REDIS_REJECTED, Value::Counter(refused));
    reading.sample(&node, REDIS_CONNECTIONS, Value::Counter(total * 3.0));
    reading.part(&node, REDIS_REPLICA_LAG, "10.0.3.24:6379", Value::Gauge(1.0));
    reading.part(&node, REDIS_REPLICA_BEHIND, "10.0.3.24:6379", Value::Gauge(12_800.0));
    if !is_ill {
        reading.part(&node, REDIS_COMMAND_TIME, "get", Value::Counter(total * 0.004));
    }
    reading
}
