//! Sources of changes: what people deployed, configured, switched and committed.
//!
//! A file of JSON lines is followed, the log of a local repository and a JSON document of a server are asked for now and
//! then. Only what is new is told, and of the past the last eight days, because a week is looked at.

pub mod decode;
pub mod follow;
pub mod git;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use headwater_engine::reading::{Change, ChangeKind, Event, Fault, FaultKind, Reading};
use headwater_engine::{Moment, RemoteText, Subject};
use tokio::task::JoinHandle;

use self::decode::{Decoded, Defaults};
use self::follow::{Follower, News};
use self::git::Repository;
use super::metrics::fetch::{Address, Fetcher};
use super::metrics::{MetricsSpec, MetricsSpecError};
use super::{Outlet, Source, now, spawn};

/// How far back changes are told.
const TOLD_FOR_DAYS: u64 = 8;

/// How often a file is looked at, by its metadata alone while nothing is new.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// How often git and servers are asked.
const ASKS_EVERY: Duration = Duration::from_secs(30);

/// Changes of one source that are told at once; of more the newest.
const MOST_AT_ONCE: usize = 500;

/// Changes that are remembered as told; of more the oldest are told again, which changes nothing.
const MOST_REMEMBERED: usize = 4_000;

/// A document of a server that is longer is not read.
const LONGEST_DOCUMENT: usize = 4 * 1024 * 1024;

/// One source of changes, as the configuration names it.
#[derive(Clone, Debug)]
pub struct ChangesSpec {
    /// `change/NAME`.
    pub subject: Subject,
    /// Where it is.
    pub place: Place,
    /// What is touched by entries that do not say it.
    pub component: Option<Subject>,
    /// The sort of entries that do not say it.
    pub kind: Option<ChangeKind>,
}

impl ChangesSpec {
    /// What is missing on this machine now: the file, or the folder of the repository.
    pub fn missing(&self) -> Option<String> {
        let (path, is_there, what) = match &self.place {
            Place::File(path) => (path, path.is_file(), "no such file"),
            Place::Git(repository) => (&repository.path, repository.path.is_dir(), "no such folder"),
            Place::Server(_) => return None,
        };
        let told = format!("{}: '{}': {what} yet: check the path", self.subject, path.display());
        (!is_there).then_some(told)
    }

    /// How often it is asked.
    pub fn every(&self) -> Duration {
        match self.place {
            Place::File(_) => LOOKS_EVERY,
            Place::Git(_) | Place::Server(_) => ASKS_EVERY,
        }
    }
}

/// Where changes are told.
#[derive(Clone)]
pub enum Place {
    /// In a file of JSON lines.
    File(PathBuf),
    /// In the log of a repository.
    Git(Repository),
    /// By a server, as a JSON document.
    Server(Box<MetricsSpec>),
}

impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.fmt(out),
            Self::Git(repository) => repository.fmt(out),
            Self::Server(spec) => spec.fmt(out),
        }
    }
}

/// Asks every source at its interval until the outlet says stop.
pub fn spawn_changes(
    specs: &[ChangesSpec],
    outlet: &Outlet,
) -> Result<Vec<JoinHandle<()>>, MetricsSpecError> {
    let sources = specs.iter().map(ChangesSource::new).collect::<Result<Vec<_>, _>>()?;
    let spawned = sources.into_iter().zip(specs);
    Ok(spawned.map(|(source, spec)| spawn(source, spec.every(), outlet.clone())).collect())
}

/// One source of changes.
#[derive(Debug)]
pub struct ChangesSource {
    subject: Subject,
    defaults: Defaults,
    way: Way,
    /// What was told, by id.
    told: BTreeMap<RemoteText, Change>,
}

#[derive(Debug)]
enum Way {
    /// The file, and what is wrong with the first bad line of it, with how many are bad.
    File {
        follower: Option<Box<Follower>>,
        path: PathBuf,
        wrong: Option<(String, usize)>,
    },
    Git(Repository),
    Server(Box<Fetcher>),
}

impl ChangesSource {
    /// Prepares a source; nothing is read yet. Fails when a server's address or certificates cannot be used.
    pub fn new(spec: &ChangesSpec) -> Result<Self, MetricsSpecError> {
        let way = match &spec.place {
            Place::File(path) => Way::File {
                follower: Some(Box::new(Follower::new(path.clone()))),
                path: path.clone(),
                wrong: None,
            },
            Place::Git(repository) => Way::Git(repository.clone()),
            Place::Server(server) => {
                let address =
                    Address::of(&server.url, "/", "Write the whole address of its changes as the url")?;
                Way::Server(Box::new(Fetcher::new(address, server)?))
            }
        };
        let defaults = Defaults { component: spec.component.clone(), kind: spec.kind };
        Ok(Self { subject: spec.subject.clone(), defaults, way, told: BTreeMap::new() })
    }

    /// Adds what is new and young enough.
    fn tell(&mut self, changes: Vec<Change>, reading: &mut Reading) {
        let oldest = reading.at - Duration::from_secs(TOLD_FOR_DAYS * 86_400);
        let mut news: Vec<Change> = changes
            .into_iter()
            .filter(|change| change.at >= oldest && self.told.get(&change.id) != Some(change))
            .collect();
        news.sort_by_key(|change| change.at);
        let surplus = news.len().saturating_sub(MOST_AT_ONCE);
        for change in news.drain(surplus..) {
            self.told.insert(change.id.clone(), change.clone());
            reading.events.push(Event::Change(change));
        }
        self.told.retain(|_, change| change.at >= oldest);
        self.forget_surplus();
    }

    fn forget_surplus(&mut self) {
        let surplus = self.told.len().saturating_sub(MOST_REMEMBERED);
        if surplus > 0 {
            let mut moments: Vec<Moment> = self.told.values().map(|change| change.at).collect();
            moments.sort_unstable();
            let oldest = moments[surplus];
            self.told.retain(|_, change| change.at >= oldest);
        }
    }

    async fn read(&mut self, reading: &mut Reading) -> Result<(), Fault> {
        let changes = match &mut self.way {
            Way::File { follower, path, wrong } => {
                let mut taken = follower.take().unwrap_or_else(|| Box::new(Follower::new(path.clone())));
                // A disk may take its time.
                let looked = tokio::task::spawn_blocking(move || {
                    let news = taken.look();
                    (taken, news)
                });
                let (back, news) = looked.await.map_err(|error| malformed(&error.to_string()))?;
                *follower = Some(back);
                let shown = path.display();
                let news = news.map_err(|error| {
                    let message =
                        format!("'{shown}' cannot be read ({error}): check the path and its rights");
                    Fault { kind: FaultKind::Denied, message: RemoteText::new(&message) }
                })?;
                let changes = of_lines(&news, &self.defaults, wrong);
                if let Some((first, count)) = wrong {
                    reading.faults.push(malformed(&format!("'{shown}' {first}{}", more(*count))));
                }
                changes
            }
            Way::Git(repository) => {
                let log = git::log(repository, TOLD_FOR_DAYS).await?;
                told(
                    decode::git_log(&log, &self.defaults),
                    &format!("git at '{}'", repository.path.display()),
                    "commit",
                    reading,
                )
            }
            Way::Server(fetcher) => {
                let shown = fetcher.address().to_string();
                let page = fetcher.fetch().await?;
                if page.bytes.len() > LONGEST_DOCUMENT {
                    let message = format!("{shown} sends more than 4 MiB: ask it for the last days alone");
                    return Err(Fault { kind: FaultKind::TooLarge, message: RemoteText::new(&message) });
                }
                let document = decode::document(&page.bytes, &self.defaults);
                told(
                    document.map_err(|wrong| malformed(&format!("{shown} {wrong}")))?,
                    &shown,
                    "entry",
                    reading,
                )
            }
        };
        self.tell(changes, reading);
        Ok(())
    }
}

impl Source for ChangesSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// A token expires and is replaced.
    fn retries_refusals(&self) -> bool {
        true
    }

    /// A look at a file costs nobody anything, however much is wrong in it.
    fn backs_off(&self) -> bool {
        !matches!(self.way, Way::File { .. })
    }

    async fn ask(&mut self) -> Reading {
        let mut reading = Reading::new(self.subject.clone(), now());
        let outcome = self.read(&mut reading).await;
        reading.faults.extend(outcome.err());
        reading.at = now();
        reading
    }
}

/// The changes of new lines. What is wrong stays wrong while the file is the same one.
fn of_lines(news: &News, defaults: &Defaults, wrong: &mut Option<(String, usize)>) -> Vec<Change> {
    if news.is_another {
        *wrong = None;
    }
    let mut changes = vec![];
    for line in &news.lines {
        let read = match &line.bytes {
            Some(bytes) if bytes.trim_ascii().is_empty() => continue,
            Some(bytes) => decode::line(bytes, defaults),
            None => Err("is longer than 64 KiB".to_owned()),
        };
        match read {
            Ok(change) => changes.push(change),
            Err(problem) => {
                let (_, count) = wrong.get_or_insert((format!("line {} {problem}", line.number), 0));
                *count += 1;
            }
        }
    }
    // The last line may miss its end for ever; while it is being written it is no JSON yet.
    let unfinished = news.unfinished.as_ref().and_then(|line| line.bytes.as_ref());
    changes.extend(unfinished.and_then(|bytes| decode::line(bytes, defaults).ok()));
    changes
}

/// What could be read; what could not is a fault.
fn told(decoded: Decoded, origin: &str, entry: &str, reading: &mut Reading) -> Vec<Change> {
    if let Some((number, problem)) = decoded.first_problem {
        let message = format!("{origin}: {entry} {number} {problem}{}", more(decoded.problems));
        reading.faults.push(malformed(&message));
    }
    decoded.changes
}

/// ` (and 3 more)`, of this many in all.
fn more(count: usize) -> String {
    if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() }
}

fn malformed(message: &str) -> Fault {
    Fault { kind: FaultKind::Malformed, message: RemoteText::new(message) }
}
