//! What the screen costs: processor, memory and bytes to the terminal, over the lab's six nodes once a second in a
//! terminal of 200 by 60, and beside it what btop costs in an equal one; then how soon a key is answered while every
//! target hangs. `scripts/footprint` runs it.

#![expect(clippy::print_stdout, reason = "the table is what it is run for")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headwater_test_support::terminal::Terminal;
use headwater_test_support::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const SIZE: (u16, u16) = (200, 60);

/// How long each is watched, after it was let settle for a while.
const WATCHED: Duration = Duration::from_secs(30);
const SETTLED: Duration = Duration::from_secs(5);

/// Keys that are timed while everything hangs.
const KEYS: usize = 400;

const HEADWATER: &str = env!("CARGO_BIN_EXE_headwater");

fn main() {
    let home = TempDir::new().expect("a temporary folder can be made");
    let lab = Lab::start(home.path());
    println!("| program | what is shown | processor | memory | to the terminal |");
    println!("| --- | --- | --- | --- | --- |");
    let mut screen = start(home.path(), Path::new(HEADWATER), &["--config", &lab.config, "--no-baselines"]);
    screen.until_shown("Verdict");
    for (name, key) in [("Overview", "1"), ("Shards", "3")] {
        screen.press(key);
        row("headwater at 1 Hz", name, &screen);
    }
    beside(home.path());
    hang(&lab, &mut screen);
    screen.press("q");
    screen.exit_code();
}

/// A whole lab as a process of its own: stopped, all its targets hang.
struct Lab {
    process: Child,
    config: String,
}

impl Lab {
    fn start(home: &Path) -> Self {
        let config = home.join("lab.toml").display().to_string();
        let process = Command::new(HEADWATER)
            .args(["lab", "hot-shard", "--shards", "6", "--at", "5s", "--config-out", &config])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the lab starts");
        wait_until("the lab listens", || Path::new(&config).exists());
        Self { process, config }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("the lab is there");
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Asked, not killed: it has servers and folders to clean up.
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        let _ = self.process.wait();
    }
}

fn start(home: &Path, program: &Path, arguments: &[&str]) -> Terminal {
    let place = home.to_str().expect("temporary folders have plain names");
    let variables = ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]
        .map(|name| (name, place))
        .into_iter()
        .collect::<Vec<_>>();
    Terminal::start(program, arguments, home, SIZE, &[&variables[..], &[("COLORTERM", "truecolor")]].concat())
}

/// btop as often as it can be compared with, when it is installed.
fn beside(home: &Path) {
    let folder = home.join("btop");
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    std::fs::write(folder.join("btop.conf"), "update_ms = 2000\n").expect("a file can be written");
    let is_there = Command::new("btop").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !is_there {
        return println!("| btop at 0.5 Hz | not installed | | | |");
    }
    let screen = start(home, Path::new("btop"), &["--utf-force"]);
    wait_until("btop draws", || screen.sent() > 1_000);
    row("btop at 0.5 Hz", "everything", &screen);
    screen.signal(Signal::TERM);
}

fn row(program: &str, shown: &str, screen: &Terminal) {
    std::thread::sleep(SETTLED);
    let (began, cpu, sent) = (Instant::now(), processor_time(screen), screen.sent());
    std::thread::sleep(WATCHED);
    let seconds = began.elapsed().as_secs_f64();
    let share = (processor_time(screen) - cpu).as_secs_f64() / seconds * 100.0;
    let bytes = (screen.sent() - sent) as f64 / seconds / 1_000.0;
    let memory = memory_kib(screen) as f64 * 1_024.0 / 1e6;
    println!("| {program} | {shown} | {share:.2} % of a core | {memory:.1} MB | {bytes:.1} KB/s |");
}

/// From a key to the first byte of what it changed, while every target hangs.
fn hang(lab: &Lab, screen: &mut Terminal) {
    lab.signal(Signal::STOP);
    screen.until_shown("late");
    let mut took: Vec<_> = (0..KEYS)
        .map(|turn| {
            // Never in step with anything else.
            std::thread::sleep(Duration::from_millis(20 + turn as u64 * 7 % 31));
            let before = screen.sent();
            let pressed = Instant::now();
            screen.press(if turn % 2 == 0 { "1" } else { "3" });
            while screen.sent() == before {
                std::thread::sleep(Duration::from_micros(50));
            }
            pressed.elapsed()
        })
        .collect();
    took.sort_unstable();
    let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!();
    println!("From a key to its frame while every target hangs, {KEYS} keys:");
    println!(
        "p50 {:.1} ms, p90 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}

/// Time on a processor, all threads, those that have ended too.
fn processor_time(screen: &Terminal) -> Duration {
    let stat = read(screen, "stat");
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: u64 =
        fields[11..13].iter().map(|field| field.parse::<u64>().expect("a number of ticks")).sum();
    Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

fn memory_kib(screen: &Terminal) -> u64 {
    let status = read(screen, "status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number of kB")
}

fn read(screen: &Terminal, name: &str) -> String {
    let path = format!("/proc/{}/{name}", screen.process().as_raw_nonzero());
    std::fs::read_to_string(path).expect("the process is there")
}
