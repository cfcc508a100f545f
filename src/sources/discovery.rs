//! Discovery: targets that come and go while Headwater runs, as files, HTTP servers and DNS list them.
//!
//! What a list says is scraped like any other page. Who is no longer on it has left: its task ends before the new list
//! is told. Whatever is wrong with a list costs only the news of it: the last good one stays.

mod any_bytes;
pub mod dns;
mod files;
mod http;
pub mod list;
mod spec;
mod target;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use headwater_engine::quantity::counted;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Target, TargetList};
use headwater_engine::{RemoteText, Subject};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use self::any_bytes::read_everything;
use self::dns::Query;
use self::files::{Files, Looked};
use self::list::Group;
pub use self::spec::{DiscoverySpec, Naming, Place};
use super::directory::Directory;
use super::metrics::fetch::{Address, Fetcher};
use super::metrics::{MetricsSpec, MetricsSpecError, spawn_metrics};
use super::{Outlet, Source, now, spawn};

/// The most targets of one table; with more, a fleet is read by several tables, or by a Prometheus.
pub const MOST_TARGETS: usize = 2_000;

/// What is said of a list that names more, or names what is no target.
const ALL_OF_IT: &str = "all of its targets";

/// Looks at a list at its pace, and scrapes what it names, until the outlet says stop.
pub fn spawn_discovery(
    spec: &DiscoverySpec,
    directory: &Directory,
    outlet: Outlet,
) -> Result<JoinHandle<()>, MetricsSpecError> {
    let source = DiscoverySource::new(spec, directory, outlet.clone())?;
    Ok(spawn(source, spec.every, outlet))
}

/// What is wrong with a list.
#[derive(Debug)]
struct Trouble {
    kind: FaultKind,
    message: String,
}

impl Trouble {
    fn new(kind: FaultKind, message: String) -> Self {
        Self { kind, message }
    }
}

/// One list that is looked at again and again, with a task for each of its targets.
#[derive(Debug)]
pub struct DiscoverySource {
    subject: Subject,
    naming: Naming,
    interval: Duration,
    way: Way,
    directory: Directory,
    outlet: Outlet,
    running: BTreeMap<Target, Running>,
    told: Option<TargetList>,
    lacks: bool,
}

#[derive(Debug)]
enum Way {
    Dns(Query),
    Files(Option<Files>),
    Http(Box<Fetcher>),
}

/// The task of one target, and the address that it asks.
#[derive(Debug)]
struct Running {
    url: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl DiscoverySource {
    /// Prepares a discovery; nothing is asked yet. Readings of its targets go to the outlet.
    pub fn new(
        spec: &DiscoverySpec,
        directory: &Directory,
        outlet: Outlet,
    ) -> Result<Self, MetricsSpecError> {
        let way = match &spec.place {
            Place::Dns(query) => Way::Dns(query.clone()),
            Place::Files(patterns) => Way::Files(Some(Files::new(patterns))),
            Place::Http(server) => {
                let address =
                    Address::of(&server.url, "/", "Write the whole address of the list as the url")?;
                Way::Http(Box::new(Fetcher::new(address, server)?))
            }
        };
        // What cannot be used for any target is found before the first of them.
        let mut any = spec.naming.page.clone();
        "http://127.0.0.1/metrics".clone_into(&mut any.url);
        super::metrics::MetricsSource::new(&any)?;
        Ok(Self {
            subject: spec.subject.clone(),
            naming: spec.naming.clone(),
            interval: spec.interval,
            way,
            directory: directory.clone(),
            outlet,
            running: BTreeMap::new(),
            told: None,
            lacks: false,
        })
    }

    /// Looks once: what the list names, and what is wrong with it. Names may come along with a trouble, where a part of
    /// the list is as it was.
    async fn look(&mut self) -> (Option<(Vec<Group>, String)>, Option<Trouble>) {
        match &mut self.way {
            Way::Dns(query) => match dns::resolve(query).await {
                Ok((targets, found)) => {
                    (Some((vec![Group { targets, labels: BTreeMap::new() }], found)), None)
                }
                Err(trouble) => (None, Some(trouble)),
            },
            Way::Files(kept) => {
                let Some(mut files) = kept.take() else { return (None, None) };
                // A disk may take its time.
                let looked = tokio::task::spawn_blocking(move || {
                    let looked = files.look();
                    (files, looked)
                });
                match looked.await {
                    Ok((files, Looked { groups, found, trouble })) => {
                        *kept = Some(files);
                        // With nothing of any file there is no list yet.
                        let has_list = trouble.is_none() || !groups.is_empty() || self.told.is_some();
                        (has_list.then_some((groups, found)), trouble)
                    }
                    Err(error) => (None, Some(Trouble::new(FaultKind::Malformed, error.to_string()))),
                }
            }
            Way::Http(fetcher) => match http::list(fetcher).await {
                Ok(groups) => {
                    let found = fetcher.address().to_string();
                    (Some((groups, found)), None)
                }
                Err(trouble) => (None, Some(trouble)),
            },
        }
    }

    /// The pages that these groups name, each once, and why others are left out.
    fn pages(&self, named: &[Group]) -> (BTreeMap<Target, MetricsSpec>, Option<String>) {
        let mut pages = BTreeMap::new();
        let mut subjects = BTreeSet::new();
        let (mut left_out, mut why) = (0_u64, None);
        let mut leave_out = |reason: &dyn Fn() -> String| {
            left_out += 1;
            why.get_or_insert_with(reason);
        };
        for group in named {
            for address in &group.targets {
                if pages.len() >= MOST_TARGETS {
                    leave_out(&|| format!("one [[discovery]] table may bring {MOST_TARGETS}: split it"));
                    continue;
                }
                match target::page(&self.naming, address, &group.labels) {
                    Err(reason) => leave_out(&|| reason.clone()),
                    Ok((target, page)) => {
                        match self.directory.found_by_another(&target.subject, &self.subject) {
                            Some(other) => leave_out(&|| format!("{} is known from {other}", target.subject)),
                            None if pages.contains_key(&target) => {}
                            None if !subjects.insert(target.subject.clone()) => {
                                leave_out(&|| format!("{} stands for several addresses", target.subject));
                            }
                            None => drop(pages.insert(target, page)),
                        }
                    }
                }
            }
        }
        (pages, why.map(|why| format!("{} left out: {why}", counted(left_out, "target"))))
    }

    /// Ends the tasks of those that left and begins those of those that came; the list that is in force then.
    async fn follow(&mut self, pages: BTreeMap<Target, MetricsSpec>, found: &str) -> TargetList {
        let is_as_before = |target: &Target, running: &Running| {
            pages.get(target).is_some_and(|page| page.url == running.url)
        };
        let ended: Vec<Target> = self
            .running
            .iter()
            .filter(|(target, running)| !is_as_before(target, running))
            .map(|(target, _)| target.clone())
            .collect();
        for target in ended {
            if let Some(running) = self.running.remove(&target) {
                running.stop.cancel();
                // Nothing more comes of it after the list that it is not on.
                let _ = running.task.await;
            }
        }
        let targets: Vec<Target> = pages.keys().cloned().collect();
        self.directory.tell(&self.subject, targets.clone());
        for (target, page) in pages {
            if self.running.contains_key(&target) {
                continue;
            }
            let stop = self.outlet.stop.child_token();
            let outlet = Outlet { readings: self.outlet.readings.clone(), stop: stop.clone() };
            let url = page.url.clone();
            // What could go wrong was tried with a page that all are made like.
            if let Ok(task) = spawn_metrics(page, self.interval, outlet) {
                self.running.insert(target, Running { url, stop, task });
            }
            // Preparing many of them takes a while, in which others want to be asked.
            tokio::task::yield_now().await;
        }
        TargetList { found: RemoteText::new(found), targets }
    }
}

impl Source for DiscoverySource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// A token expires and is replaced.
    fn retries_refusals(&self) -> bool {
        true
    }

    /// A file costs nobody anything.
    fn backs_off(&self) -> bool {
        !matches!(self.way, Way::Files(_))
    }

    async fn ask(&mut self) -> Reading {
        let (named, trouble) = self.look().await;
        let mut reading = Reading::new(self.subject.clone(), now());
        if let Some((named, found)) = named {
            let (pages, left_out) = self.pages(&named);
            let list = self.follow(pages, &found).await;
            if self.told.as_ref() != Some(&list) {
                reading.events.push(Event::Targets(list.clone()));
                self.told = Some(list);
            }
            let what = RemoteText::new(ALL_OF_IT);
            match (std::mem::replace(&mut self.lacks, left_out.is_some()), left_out) {
                (false, Some(why)) => {
                    reading.events.push(Event::Unavailable { what, why: RemoteText::new(&why) });
                }
                (true, None) => reading.events.push(Event::Available { what }),
                _ => {}
            }
        }
        if let Some(Trouble { kind, message }) = trouble {
            let stays = match &self.told {
                Some(list) => {
                    format!("; its last list stays: {}", counted(list.targets.len() as u64, "target"))
                }
                None => String::new(),
            };
            reading.faults.push(Fault { kind, message: RemoteText::new(&format!("{message}{stays}")) });
        }
        reading.at = now();
        reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_list_may_bring_so_many_targets_and_the_others_are_said() {
        let (send, _readings) = tokio::sync::mpsc::channel(1);
        let outlet = Outlet { readings: send, stop: CancellationToken::new() };
        let spec = DiscoverySpec {
            subject: "discovery/d".parse().unwrap(),
            place: Place::Files(vec![]),
            every: Duration::from_secs(1),
            naming: Naming::default(),
            interval: Duration::from_secs(1),
        };
        let source = DiscoverySource::new(&spec, &Directory::default(), outlet).unwrap();
        let targets = (0..MOST_TARGETS + 3).map(|number| format!("10.0.0.1:{}", number + 1)).collect();
        let (pages, why) = source.pages(&[Group { targets, labels: BTreeMap::new() }]);
        assert_eq!(pages.len(), MOST_TARGETS);
        assert_eq!(why.unwrap(), "3 targets left out: one [[discovery]] table may bring 2000: split it");
    }
}
