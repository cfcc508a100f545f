//! What a scan of a million keys costs a server beside `redis-cli --memkeys` on the same one, whether its budget is kept,
//! whether it finds what a full look finds, and whether its memory stays flat.
//!
//! `cargo bench --bench scan`; a number after `--` is that of the keys.

#![expect(clippy::print_stdout, reason = "the tables are what it is run for")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater::sources::Outlet;
use headwater::sources::redis::{RedisSpec, RedisTarget, ScanBudget};
use headwater_engine::reading::{Event, Reading, Scan};
use headwater_engine::{Kind, Subject};
use headwater_test_support::{PATIENCE, Server};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const KEYS: usize = 1_000_000;

/// How often each of the two is run.
const PAIRS: usize = 3;

/// Big keys, of sizes that differ from each other before they are rounded up.
const BIG: usize = 64;

/// The budgets that are asked for, each for at most so long.
const BUDGETS: [f64; 2] = [0.01, 0.05];
const WATCHED: Duration = Duration::from_secs(30);

fn main() {
    let keys = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(KEYS);
    let server = Server::start(&[]);
    fill(&server, keys);
    let total = server.run::<usize>(&["DBSIZE"]);
    println!("{total} keys on redis-server {}", server.info("redis_version"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let scanned = beside_memkeys(&server, total).await;
        equal_to_a_full_look(&server, &scanned);
        budgets(&server).await;
    });
}

/// Names with and without a pattern, values of 64 bytes, a third with an expiry, and some big keys of every kind.
fn fill(server: &Server, keys: usize) {
    let mut connection = server.connect().expect("the server is there");
    for first in (0..keys).step_by(10_000) {
        let mut pipeline = redis::pipe();
        for key in first..keys.min(first + 10_000) {
            let name = match key % 4 {
                0 => format!("user:profile:{key}"),
                1 => format!("item:feat:{key}{{user:{}}}", key / 8),
                2 => format!("session:{:016x}", key.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                _ => words(key),
            };
            let command = pipeline.cmd("SET").arg(name).arg([b'v'; 64].as_slice());
            if key % 3 == 0 {
                command.arg("EX").arg(3_600 + key % 86_400);
            }
            command.ignore();
        }
        pipeline.exec(&mut connection).expect("the keys can be written");
    }
    for big in 1..=BIG {
        let mut pipeline = redis::pipe();
        match big % 2 {
            0 => pipeline.cmd("SET").arg(format!("blob:{big}")).arg(vec![b'x'; big * 20_000]).ignore(),
            _ => {
                for member in 0..big * 200 {
                    pipeline.cmd("RPUSH").arg(format!("list:{big}")).arg(format!("{member:0>100}")).ignore();
                }
                &mut pipeline
            }
        };
        pipeline.exec(&mut connection).expect("the keys can be written");
    }
}

/// A name of letters alone, which no pattern shortens.
fn words(mut number: usize) -> String {
    let mut word = String::from("w");
    while number > 0 {
        word.push(char::from(b'a' + u8::try_from(number % 26).unwrap_or(0)));
        number /= 26;
    }
    word
}

fn cpu_s(server: &Server) -> f64 {
    ["used_cpu_user_main_thread", "used_cpu_sys_main_thread"]
        .map(|field| server.info_number(field))
        .iter()
        .sum()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// One scan to its end, with what is to be seen of each of its words.
async fn scan(server: &Server, budget: ScanBudget, mut seen: impl FnMut(&Scan)) -> (Scan, Duration) {
    let (send, mut readings) = mpsc::channel::<Reading>(64);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let spec = RedisSpec::new(Subject::component(Kind::Redis, "bench"), vec![server.address()]);
    // The polling beside it is not what is measured.
    let target = RedisTarget::start(spec, Duration::from_secs(3_600), outlet);
    let topology = target.discovered(PATIENCE).await.expect("the server is discovered");
    let began = Instant::now();
    target.scan(&topology.shards[0].subject, budget).expect("the shard is known");
    loop {
        let reading = readings.recv().await.expect("a scan tells its end");
        for event in reading.events {
            let Event::Scan(scan) = event else { continue };
            seen(&scan);
            if scan.state.has_ended() {
                target.stop();
                return (scan, began.elapsed());
            }
        }
    }
}

/// The unhurried budget: as much of a core as there is.
fn all_of_a_core() -> ScanBudget {
    ScanBudget { core_share: 1.0, most_keys: u64::MAX, longest: Duration::from_secs(3_600), keep: 32 }
}

async fn beside_memkeys(server: &Server, total: usize) -> Scan {
    println!("\n| run | Headwater, us of server CPU a key | redis-cli --memkeys | ratio | keys/s |");
    println!("|---|---|---|---|---|");
    let (mut last, mut ratios) = (None, vec![]);
    for pair in 1..=PAIRS {
        let before = cpu_s(server);
        let mut resident = vec![];
        let mut marks = [0.1, 0.5, 1.0].into_iter().peekable();
        let (found, took) = scan(server, all_of_a_core(), |scan| {
            let share = scan.scanned as f64 / total as f64;
            while marks.next_if(|mark| share >= *mark).is_some() {
                resident.push(resident_kib());
            }
        })
        .await;
        let ours = (cpu_s(server) - before) * 1e6 / total as f64;
        let before = cpu_s(server);
        let is_there = Command::new("redis-cli")
            .args(["-p", &server.port().to_string(), "--memkeys"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        let theirs = (cpu_s(server) - before) * 1e6 / total as f64;
        let speed = found.scanned as f64 / took.as_secs_f64();
        match is_there {
            true => println!("| {pair} | {ours:.2} | {theirs:.2} | {:.2} | {speed:.0} |", ours / theirs),
            false => println!("| {pair} | {ours:.2} | no redis-cli in PATH | | {speed:.0} |"),
        }
        ratios.push(ours / theirs);
        println!(
            "<!-- {} commands, {} hits, {:.2} s by its own count; resident KiB at 10, 50 and 100 %: {resident:?} -->",
            found.commands, found.hits, found.cpu_s
        );
        last = Some(found);
    }
    ratios.sort_by(f64::total_cmp);
    println!("\nmedian ratio {:.2}; the target is at most 0.5", ratios[PAIRS / 2]);
    last.expect("there was a run")
}

/// Compares what was found with the sizes of all keys, asked one by one.
fn equal_to_a_full_look(server: &Server, scan: &Scan) {
    let mut connection = server.connect().expect("the server is there");
    let (mut cursor, mut all) = (0_u64, vec![]);
    loop {
        let (next, keys): (u64, Vec<String>) = redis::cmd("SCAN")
            .arg(cursor)
            .arg("COUNT")
            .arg(1_000)
            .query(&mut connection)
            .expect("SCAN is answered");
        let mut pipeline = redis::pipe();
        keys.iter().for_each(|key| {
            pipeline.cmd("MEMORY").arg("USAGE").arg(key);
        });
        let sizes: Vec<u64> = pipeline.query(&mut connection).expect("MEMORY USAGE is answered");
        all.extend(sizes.into_iter().zip(keys));
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    let bytes: u64 = all.iter().map(|(size, _)| size).sum();
    all.sort_by(|one, other| other.cmp(one));
    let full: Vec<_> = all.iter().take(scan.biggest.len()).map(|(size, key)| (key.as_str(), *size)).collect();
    let mut found: Vec<_> = scan.biggest.iter().map(|key| (key.key.as_str(), key.bytes)).collect();
    // Allocators round sizes up, so that some are equal: their order among each other means nothing.
    found.sort_by(|one, other| (other.1, other.0).cmp(&(one.1, one.0)));
    assert_eq!(found, full, "the scan names the same keys with the same sizes");
    assert_eq!(scan.scanned, all.len() as u64, "and has looked at every key");
    assert_eq!(scan.patterns.iter().map(|row| row.bytes).sum::<u64>(), bytes, "whose bytes it has added up");
    println!(
        "\nthe {} biggest keys, their sizes and the sum of all bytes equal those of a full look",
        found.len()
    );
}

async fn budgets(server: &Server) {
    println!("\n| asked | by commandstats | main thread, all it did | seconds | keys |");
    println!("|---|---|---|---|---|");
    for share in BUDGETS {
        let before = cpu_s(server);
        let budget = ScanBudget { core_share: share, longest: WATCHED, ..all_of_a_core() };
        let (found, took) = scan(server, budget, |_| {}).await;
        let seconds = took.as_secs_f64();
        println!(
            "| {:.1} % | {:.2} % | {:.2} % | {seconds:.1} | {} |",
            share * 100.0,
            found.cpu_s / seconds * 100.0,
            (cpu_s(server) - before) / seconds * 100.0,
            found.scanned
        );
    }
}
