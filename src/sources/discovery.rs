//! Discovery: targets that come and go while Headwater runs, as files, HTTP servers and DNS list them.
//!
//! What a list says is scraped like any other page. Who is no longer on it has left: its task ends before the new list
//! is told. Whatever is wrong with a list costs only the news of it: the last good one stays.

mod any_bytes;
pub mod dns;
mod files;
mod http;
pub mod list;
mod pages;
mod running;
mod spec;
mod target;

use headwater_engine::quantity::counted;
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, TargetList};
use headwater_engine::{RemoteText, Subject};
use tokio::task::JoinHandle;

pub use self::any_bytes::read_everything;
use self::dns::Query;
use self::files::{Looked, Looks};
use self::list::Group;
pub use self::pages::MOST_TARGETS;
use self::pages::Pages;
use self::running::Tasks;
pub use self::spec::{DiscoverySpec, Naming, Place};
use super::directory::Directory;
use super::metrics::MetricsSpecError;
use super::metrics::fetch::{Address, Fetcher};
use super::{Outlet, Source, now, spawn};

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

/// What a look at a list found.
#[derive(Debug, Default)]
struct Named {
    groups: Vec<Group>,
    /// What of it was left out already, in words.
    left_out: Option<String>,
    /// Where it was found, in words.
    found: String,
}

/// One list that is looked at again and again, with a task for each of its targets.
#[derive(Debug)]
pub struct DiscoverySource {
    subject: Subject,
    naming: Naming,
    way: Way,
    directory: Directory,
    tasks: Tasks,
    /// What was named by the last look, and how much others had found by then.
    named: Option<(Vec<Group>, u64)>,
    told: Option<TargetList>,
    /// What the pages lack, in words.
    left_out: Option<String>,
    lacks: bool,
}

#[derive(Debug)]
enum Way {
    Dns(Query),
    Files(Looks),
    Http(Box<Fetcher>),
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
            Place::Files(patterns) => Way::Files(Looks::new(patterns)),
            Place::Http(server) => {
                let address =
                    Address::of(&server.url, "/", "Write the whole address of the list as the url")?;
                Way::Http(Box::new(http::fetcher(address, server, spec.every)?))
            }
        };
        // What cannot be used for any target is found before the first of them.
        let mut any = spec.naming.page.clone();
        any.url = format!("{}://127.0.0.1/metrics", spec.naming.scheme);
        super::metrics::MetricsSource::new(&any)?;
        Ok(Self {
            subject: spec.subject.clone(),
            naming: spec.naming.clone(),
            way,
            directory: directory.clone(),
            tasks: Tasks::new(spec.interval, outlet),
            named: None,
            told: None,
            left_out: None,
            lacks: false,
        })
    }

    /// Looks once: what the list names, and what is wrong with it. Names may come along with a trouble, where a part of
    /// the list is as it was.
    async fn look(&mut self) -> (Option<Named>, Option<Trouble>) {
        let looked = match &mut self.way {
            Way::Dns(query) => dns::resolve(query).await,
            Way::Files(files) => match files.look().await {
                Ok(Looked { groups, found, trouble }) => {
                    // With nothing of any file there is no list yet.
                    let has_list = trouble.is_none() || !groups.is_empty() || self.told.is_some();
                    let named = Named { groups, left_out: None, found };
                    return (has_list.then_some(named), trouble);
                }
                Err(trouble) => Err(trouble),
            },
            Way::Http(fetcher) => {
                let listed = http::list(fetcher).await;
                listed.map(|groups| Named { groups, left_out: None, found: fetcher.address().to_string() })
            }
        };
        match looked {
            Ok(named) => (Some(named), None),
            Err(trouble) => (None, Some(trouble)),
        }
    }

    /// Makes the targets those that a look named; the list that is in force then. As long as nothing changed, nothing is
    /// made anew.
    async fn take(&mut self, named: Named) -> TargetList {
        let beside = self.directory.changes_beside(&self.subject);
        let is_as_before =
            self.named.as_ref().is_some_and(|(groups, at)| *groups == named.groups && *at == beside);
        let targets = match &self.told {
            Some(told) if is_as_before && self.tasks.count() == told.targets.len() => told.targets.clone(),
            _ => {
                let of = Pages { naming: &self.naming, directory: &self.directory, finder: &self.subject };
                let (pages, left_out) = of.of(&named.groups);
                self.left_out = left_out;
                self.tasks.end_all_but(&pages).await;
                let targets: Vec<_> = pages.keys().cloned().collect();
                self.directory.tell(&self.subject, targets.clone());
                self.tasks.begin(pages).await;
                self.named = Some((named.groups, beside));
                targets
            }
        };
        TargetList { found: RemoteText::new(&named.found), targets }
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
        if let Some(mut named) = named {
            let of_look = named.left_out.take();
            let list = self.take(named).await;
            let left_out = of_look.or_else(|| self.left_out.clone());
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
