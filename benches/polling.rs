//! What a Redis server pays to be watched: one look of ours beside one scrape of prometheus-redis-exporter, of the same
//! server in the same run, by the server's own count.
//!
//! The exporter is Debian's (`apt-get install prometheus-redis-exporter`, 1.45); without it the table says so and has
//! our rows alone. Ours are asked once a second, as they are in use, so that what is asked seldom has its share. Each server
//! is measured while it serves, as in use, and once while it idles: then both pay for cold caches first of all.

#![expect(clippy::print_stdout, reason = "the table is what it is run for")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget};
use headwater_engine::metric::REDIS_ANSWER_TIME;
use headwater_engine::{Kind, Subject};
use headwater_test_support::{Cluster, Readings, Server, ServerRelease, value_of, wait_until};
use tokio_util::sync::CancellationToken;

/// Looks of ours and scrapes that are counted, one a second; enough for everything that is asked every ten seconds to come often.
const LOOKS: usize = 40;

/// What the traffic of a server that serves consists of, and what its replicas say to it; neither we nor the exporter
/// send them.
const SERVED: &str = "get";
const REPLICATED: &str = "replconf";

/// The pause between two commands of that traffic: some hundred a second, far below what the server can do.
const PAUSE: Duration = Duration::from_millis(2);

const EXPORTER: &str = "prometheus-redis-exporter";

fn main() {
    // The harness of cargo passes its own words; there is nothing to choose here.
    let has_exporter =
        Command::new(EXPORTER).arg("--version").stderr(Stdio::null()).stdout(Stdio::null()).status().is_ok();
    if !has_exporter {
        println!(
            "!!! {EXPORTER} is not installed: apt-get install {EXPORTER}; only our own cost is measured"
        );
    }
    println!("| server | who | commands a look | execution | ratio |");
    println!("|---|---|---|---|---|");
    for release in ServerRelease::ALL {
        let server = Server::start_release(release, &[]);
        if release == ServerRelease::ALL[0] {
            compare(&format!("{}, idle", release.name()), &server, has_exporter);
        }
        let _traffic = Traffic::start(&server);
        compare(release.name(), &server, has_exporter);
    }
    let cluster = Cluster::start(3, 1);
    let _traffic = Traffic::start(&cluster.primaries[0]);
    compare("the installed Redis, a cluster of six", &cluster.primaries[0], has_exporter);
}

/// Somebody who reads all the time, until the value is dropped.
struct Traffic {
    ends: Arc<AtomicBool>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Traffic {
    fn start(server: &Server) -> Self {
        let mut connection = server.connect().expect("the server is there");
        let ends = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&ends);
        let reader = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                // A cluster refuses a key of another node, which costs it as much.
                let _ = redis::cmd(SERVED).arg("k").query::<redis::Value>(&mut connection);
                std::thread::sleep(PAUSE);
            }
        });
        Self { ends, reader: Some(reader) }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // A reader that panicked has ended as well.
        let _ = self.reader.take().map(std::thread::JoinHandle::join);
    }
}

fn compare(name: &str, server: &Server, has_exporter: bool) {
    populate(server);
    let ours = watch(server);
    row(name, "headwater, once a second", &ours, None);
    if has_exporter {
        row(name, "one scrape of the exporter", &scrape(server), Some(&ours));
    }
    for (command, (calls, usec)) in &ours.commands {
        println!("|   | {command} | {calls:.2} | {usec:.1} us | |");
    }
}

fn row(name: &str, who: &str, spent: &Spent, ours: Option<&Spent>) {
    let (calls, usec) = spent.total();
    let ratio = ours.map(|ours| format!("{:.1}", usec / ours.total().1)).unwrap_or_default();
    println!("| {name} | {who} | {calls:.1} | {usec:.0} us | {ratio} |");
}

/// Calls and microseconds of each command, for one look.
struct Spent {
    commands: BTreeMap<String, (f64, f64)>,
}

impl Spent {
    fn total(&self) -> (f64, f64) {
        self.commands.values().fold((0.0, 0.0), |(calls, usec), (more, cost)| (calls + more, usec + cost))
    }

    /// What came between two counts, for each of so many looks. What counting itself cost is left out.
    fn between(before: &Counts, after: &Counts, counting: f64, looks: usize) -> Self {
        let looks = looks as f64;
        let mut commands = BTreeMap::new();
        for (command, (calls, usec)) in
            after.iter().filter(|(command, _)| ![SERVED, REPLICATED].contains(&command.as_str()))
        {
            let (calls_before, usec_before) = before.get(command).copied().unwrap_or_default();
            let (mut calls, mut usec) = (calls - calls_before, usec - usec_before);
            if command == "info" {
                (calls, usec) = (calls - 1.0, usec - counting);
            }
            if calls > 0.0 {
                commands.insert(command.clone(), (calls / looks, usec / looks));
            }
        }
        Self { commands }
    }
}

type Counts = BTreeMap<String, (f64, f64)>;

/// The server's count of calls and microseconds of each command.
fn counts(connection: &mut redis::Connection) -> Counts {
    let text: String = redis::cmd("INFO").arg("commandstats").query(connection).expect("the server answers");
    let number = |fields: &str, name: &str| {
        let field = fields.split(',').find_map(|field| field.strip_prefix(name));
        field.and_then(|value| value.parse().ok()).unwrap_or(0.0)
    };
    let lines = text.lines().filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
    lines
        .map(|(name, fields)| (name.to_owned(), (number(fields, "calls="), number(fields, "usec="))))
        .collect()
}

/// What one count costs: the second of two in a row has counted the first.
fn cost_of_counting(connection: &mut redis::Connection) -> f64 {
    let costs = (0..21).map(|_| {
        let (first, second) = (counts(connection), counts(connection));
        second["info"].1 - first["info"].1
    });
    let mut costs: Vec<_> = costs.collect();
    costs.sort_by(f64::total_cmp);
    costs[costs.len() / 2]
}

fn watch(server: &Server) -> Spent {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let (send, mut readings) = Readings::channel();
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        let spec = RedisSpec::new(Subject::component(Kind::Redis, "bench"), vec![server.address()]);
        let target = RedisTarget::start(spec, Duration::from_secs(1), outlet);
        let address = server.address();
        let is_look = |reading: &headwater_engine::reading::Reading| {
            reading.source.address() == Some(address.as_str())
                && value_of(reading, REDIS_ANSWER_TIME).is_some()
        };
        // The first looks log in, ask what is asked once, and ask for everything.
        for _ in 0..12 {
            readings.until("a look", is_look).await;
        }
        let mut connection = server.connect().expect("the server is there");
        let counting = cost_of_counting(&mut connection);
        let before = counts(&mut connection);
        for _ in 0..LOOKS {
            readings.until("a look", is_look).await;
        }
        let after = counts(&mut connection);
        target.stop();
        Spent::between(&before, &after, counting, LOOKS)
    })
}

fn scrape(server: &Server) -> Spent {
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a port is free")
        .port();
    let _exporter = Exporter::start(server, port);
    let get = || -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").ok()?;
        let mut page = String::new();
        stream.read_to_string(&mut page).ok()?;
        page.contains("\nredis_up 1").then_some(page)
    };
    wait_until("the exporter sees the server", || get().is_some());
    let mut connection = server.connect().expect("the server is there");
    let counting = cost_of_counting(&mut connection);
    let before = counts(&mut connection);
    for _ in 0..LOOKS {
        // As far apart as ours are: what a server has not done for a second is slower than what it has just done.
        std::thread::sleep(Duration::from_secs(1));
        get().expect("each scrape sees the server");
    }
    let after = counts(&mut connection);
    Spent::between(&before, &after, counting, LOOKS)
}

/// The exporter, ended with the value.
struct Exporter(Child);

impl Exporter {
    fn start(server: &Server, port: u16) -> Self {
        let process = Command::new(EXPORTER)
            .args(["-redis.addr", &format!("redis://{}", server.address())])
            .args(["-web.listen-address", &format!("127.0.0.1:{port}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(process.expect("it was there a moment ago"))
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // One that has ended by itself is as gone as it should be.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Some keys, and calls of the commands that a service uses, so that the statistics have as many lines as in use.
fn populate(server: &Server) {
    const CALLS: &str = "SET k 1|GET k|MGET k l|MSET k 1|INCR n|DECR n|APPEND s x|STRLEN s|GETRANGE s 0 1|SETEX e 99 v|TTL k|\
        PTTL k|EXPIRE k 999|PERSIST k|EXISTS k|TYPE k|DEL x|UNLINK x|RENAME k k2|HSET h a 1|HGET h a|HMGET h a b|\
        HGETALL h|HDEL h z|HLEN h|HEXISTS h a|HINCRBY h n 1|HKEYS h|HVALS h|LPUSH l 1|RPUSH l 2|LPOP l|RPOP l|LLEN l|\
        LRANGE l 0 -1|LINDEX l 0|LREM l 0 9|LTRIM l 0 9|SADD t a|SREM t z|SCARD t|SMEMBERS t|SISMEMBER t a|SINTER t|SUNION t|\
        SDIFF t|SPOP t|SRANDMEMBER t|ZADD z 1 a|ZREM z q|ZCARD z|ZSCORE z a|ZRANK z a|ZRANGE z 0 -1|ZREVRANGE z 0 -1|\
        ZRANGEBYSCORE z 0 9|ZCOUNT z 0 9|ZINCRBY z 1 a|ZPOPMIN z|XADD x * a 1|XLEN x|XRANGE x - +|XTRIM x MAXLEN 9|\
        PFADD p a|PFCOUNT p|SETBIT b 1 1|GETBIT b 1|BITCOUNT b|GEOADD g 1 1 a|GEOPOS g a|GETDEL d|GETEX k2|COPY k2 k3|\
        OBJECT ENCODING s|MEMORY USAGE s|SCAN 0|HSCAN h 0|SSCAN t 0|ZSCAN z 0|DBSIZE|TIME|PING|ECHO x|PUBLISH c m|\
        CLIENT GETNAME|CLIENT ID";
    let mut connection = server.connect().expect("the server is there");
    for call in CALLS.split('|') {
        let mut command = redis::Cmd::new();
        command.arg(call.split_ascii_whitespace().collect::<Vec<_>>());
        // A cluster refuses keys of other nodes; they are counted as calls all the same.
        let _ = command.query::<redis::Value>(&mut connection);
    }
}
