//! Logs that are followed: what an access log says of requests, and how often patterns fit lines of any log.
//!
//! What was written before Headwater came is not counted: nobody knows when it happened.

pub mod line;
pub mod repeats;
pub mod tally;

use std::io::{BufRead, Read as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_engine::metric::{LOG_LINES, LOG_MATCHES, LOG_UNREAD, SCRAPE_BYTES};
use headwater_engine::reading::{Fault, FaultKind, Reading, Value};
use headwater_engine::{RemoteText, Subject};
use regex::bytes::Regex;
use tokio::task::JoinHandle;

use self::line::Format;
use self::tally::Tally;
use super::changes::follow::Follower;
use super::directory::Directory;
use super::{Outlet, Source, now, spawn};

/// How often a log is looked at.
pub const LOOKS_EVERY: Duration = Duration::from_secs(1);

/// Lines of standard input that wait to be counted; whoever writes waits when there are more.
const WAITING_LINES: usize = 16_384;

/// A line of standard input that is longer is cut.
const LONGEST_LINE: u64 = 64 * 1024;

/// Unread lines among all from which on the format is said to be wrong.
const WRONG_FORMAT_SHARE: f64 = 0.5;

/// Patterns that are looked for in every log, by name: the words that incidents began with.
pub const BUILT_IN_PATTERNS: &[(&str, &str)] = &[
    ("redis_command_timeout", "RedisCommandTimeoutException"),
    ("gpu_memory_full", "GPU_MEMORY_FULL|CUDA out of memory|CUDA_ERROR_OUT_OF_MEMORY"),
    ("slot_mismatch", "slot_mismatch|CROSSSLOT"),
    ("connection_refused", "(?i)connection refused|ECONNREFUSED"),
];

/// One log, as the configuration names it.
#[derive(Clone, Debug)]
pub struct LogSpec {
    /// `log/NAME`.
    pub subject: Subject,
    /// The component that writes it.
    pub about: Subject,
    /// The file; `None` for standard input.
    pub file: Option<PathBuf>,
    /// Its format.
    pub format: Format,
    /// Patterns by name, beside the built-in ones.
    pub patterns: Vec<(String, Regex)>,
    /// Whether it tells the requests and times of its component; not where a metrics page does, be it found later.
    pub tells_service: bool,
}

/// Follows every log until the outlet says stop.
pub fn spawn_logs(specs: &[LogSpec], directory: &Directory, outlet: &Outlet) -> Vec<JoinHandle<()>> {
    let sources = specs.iter().map(|spec| LogSource::new(spec).beside(directory));
    sources.map(|source| spawn(source, LOOKS_EVERY, outlet.clone())).collect()
}

/// One log that is followed.
#[derive(Debug)]
pub struct LogSource {
    spec: LogSpec,
    way: Way,
    directory: Directory,
    patterns: Vec<(String, Regex, u64)>,
    tally: Tally,
    lines: u64,
    unread: u64,
    bytes: u64,
}

#[derive(Debug)]
enum Way {
    File(Option<Box<Follower>>),
    Input(Mutex<Receiver<Vec<u8>>>),
}

/// What is new.
#[derive(Default)]
struct News {
    lines: Vec<Vec<u8>>,
    too_long: u64,
}

impl LogSource {
    /// Prepares a log; of a file that is there, what was written before is left out.
    pub fn new(spec: &LogSpec) -> Self {
        let way = match &spec.file {
            Some(path) => Way::File(Some(Box::new(Follower::from_now_on(path.clone())))),
            None => Way::Input(Mutex::new(standard_input())),
        };
        let built_in = BUILT_IN_PATTERNS
            .iter()
            .filter(|(name, _)| !spec.patterns.iter().any(|(own, _)| own == name))
            .filter_map(|(name, pattern)| Some(((*name).to_owned(), Regex::new(pattern).ok()?, 0)));
        let own = spec.patterns.iter().map(|(name, pattern)| (name.clone(), pattern.clone(), 0));
        Self {
            way,
            directory: Directory::default(),
            patterns: own.chain(built_in).collect(),
            tally: Tally::default(),
            lines: 0,
            unread: 0,
            bytes: 0,
            spec: spec.clone(),
        }
    }

    /// The same log, which knows the pages that are found while it is read.
    pub fn beside(mut self, directory: &Directory) -> Self {
        self.directory = directory.clone();
        self
    }

    async fn look(&mut self) -> Result<News, Fault> {
        match &mut self.way {
            Way::File(follower) => {
                let Some(mut taken) = follower.take() else { return Ok(News::default()) };
                // A disk may take its time.
                let looked = tokio::task::spawn_blocking(move || {
                    let news = taken.look();
                    (taken, news)
                });
                let (back, news) =
                    looked.await.map_err(|error| fault(FaultKind::Malformed, &error.to_string()))?;
                let shown = back.path().display().to_string();
                *follower = Some(back);
                let news = news.map_err(|error| {
                    let message = format!(
                        "'{shown}' cannot be read ({error}): check the path and its rights; it is looked for again"
                    );
                    fault(FaultKind::Denied, &message)
                })?;
                let mut told = News::default();
                for line in news.lines {
                    match line.bytes {
                        Some(bytes) => told.lines.push(bytes),
                        None => told.too_long += 1,
                    }
                }
                Ok(told)
            }
            Way::Input(receiver) => {
                let receiver = receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
                let mut told = News::default();
                while told.lines.len() < WAITING_LINES {
                    match receiver.try_recv() {
                        Ok(line) => told.lines.push(line),
                        Err(TryRecvError::Empty) => break,
                        Err(TryRecvError::Disconnected) if told.lines.is_empty() => {
                            return Err(fault(
                                FaultKind::Unreachable,
                                "standard input has ended: nothing more will come of this log",
                            ));
                        }
                        Err(TryRecvError::Disconnected) => break,
                    }
                }
                Ok(told)
            }
        }
    }

    fn count(&mut self, second: i64, news: &News) {
        self.lines += news.lines.len() as u64 + news.too_long;
        self.unread += news.too_long;
        for line in &news.lines {
            let line = line.trim_ascii();
            self.bytes += line.len() as u64 + 1;
            if line.is_empty() {
                continue;
            }
            for (_, pattern, count) in &mut self.patterns {
                *count += u64::from(pattern.is_match(line));
            }
            if self.spec.format != Format::Plain {
                match line::read(self.spec.format, line) {
                    Some(access) => self.tally.add(second, &access),
                    None => self.unread += 1,
                }
            }
        }
        self.tally.pass(second);
    }

    fn tell(&self, reading: &mut Reading) {
        let about = &self.spec.about;
        let count = |number: u64| Value::Counter(number as f64);
        reading.sample(about, LOG_LINES, count(self.lines));
        for (name, _, matches) in &self.patterns {
            reading.part(about, LOG_MATCHES, name, count(*matches));
        }
        if self.spec.format != Format::Plain {
            reading.sample(about, LOG_UNREAD, count(self.unread));
            let tells_service = self.spec.tells_service && !self.directory.has_page_of(about);
            self.tally.tell(about, tells_service, reading);
        }
        reading.sample(&self.spec.subject, SCRAPE_BYTES, count(self.bytes));
    }
}

impl Source for LogSource {
    fn subject(&self) -> &Subject {
        &self.spec.subject
    }

    /// A look at a file costs nobody anything.
    fn backs_off(&self) -> bool {
        false
    }

    async fn ask(&mut self) -> Reading {
        let before = (self.lines, self.unread);
        let news = self.look().await;
        let at = now();
        let mut reading = Reading::new(self.spec.subject.clone(), at);
        match news {
            Ok(news) => {
                self.count(at.0.div_euclid(1_000), &news);
                self.tell(&mut reading);
                let (lines, unread) = (self.lines - before.0, self.unread - before.1);
                if unread > 0 && unread as f64 >= WRONG_FORMAT_SHARE * lines as f64 {
                    let message =
                        format!("{unread} of {lines} new lines are not in this format: check 'format'");
                    reading.faults.push(fault(FaultKind::Malformed, &message));
                }
            }
            Err(fault) => reading.faults.push(fault),
        }
        reading
    }
}

/// Reads standard input on a thread of its own, because such a read cannot be given up.
fn standard_input() -> Receiver<Vec<u8>> {
    let (send, receive) = sync_channel(WAITING_LINES);
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = vec![];
            match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
                Ok(read) if read > 0 && send.send(line).is_ok() => {}
                _ => return,
            }
        }
    });
    receive
}

fn fault(kind: FaultKind, message: &str) -> Fault {
    Fault { kind, message: RemoteText::new(message) }
}
