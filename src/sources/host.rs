//! The machine that Headwater runs on, as its kernel tells of it under `/proc` and `/sys`.

mod cgroups;
mod proc;

use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_engine::metric::{
    HOST_CORE, HOST_CPU, HOST_CPUS, HOST_LOAD, HOST_MEMORY_AVAILABLE, HOST_MEMORY_MAX, HOST_RUNNABLE,
    HOST_SWITCHES, HOST_THROTTLED,
};
use headwater_engine::reading::{Event, Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, RemoteText, Subject};
use tokio::task::JoinHandle;

use self::cgroups::Limited;
pub(crate) use self::proc::memory as memory_in;
use super::{Outlet, Source, now, spawn};

/// What is said to be missing where no limits of containers can be read.
const LIMITS: &str = "how long CPU limits hold containers back";

/// The machine that is looked at.
#[derive(Clone, Debug)]
pub struct HostSpec {
    /// Its name, by which it is called `host/NAME`.
    pub name: String,
    /// The folder in which `proc` and `sys` are.
    pub root: PathBuf,
}

impl HostSpec {
    /// This machine, by this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), root: "/".into() }
    }

    /// What its readings are about.
    pub fn subject(&self) -> Subject {
        Subject::component(Kind::Host, &self.name)
    }
}

/// The name that this machine has for itself; `localhost` where its kernel does not tell.
pub fn name_of_this_machine() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = told.trim();
    if name.is_empty() || name == "(none)" { "localhost".to_owned() } else { name.to_owned() }
}

/// Looks at this machine at an interval, until the outlet says stop. Must be called within a tokio runtime.
pub fn spawn_host(spec: &HostSpec, interval: Duration, outlet: Outlet) -> JoinHandle<()> {
    spawn(HostSource::new(spec), interval, outlet)
}

/// One machine that is looked at again and again.
#[derive(Debug)]
pub struct HostSource {
    subject: Subject,
    root: PathBuf,
    limited: Option<Limited>,
    lacks_limits: bool,
}

impl HostSource {
    /// Prepares a look; nothing is read yet.
    pub fn new(spec: &HostSpec) -> Self {
        let limited = Some(Limited::new(&spec.root));
        Self { subject: spec.subject(), root: spec.root.clone(), limited, lacks_limits: false }
    }

    fn take(&mut self, seen: Seen, reading: &mut Reading) {
        let host = self.subject.clone();
        let file = |name: &str| self.root.join("proc").join(name).display().to_string();
        let mut unread = |name: &str| {
            let message =
                format!("'{}' cannot be read: the kernel's numbers of this machine stand there", file(name));
            reading.faults.push(Fault { kind: FaultKind::Unreachable, message: RemoteText::new(&message) });
        };
        match seen.stat {
            None => unread("stat"),
            Some(_) if seen.memory.is_none() => unread("meminfo"),
            Some(_) if seen.load.is_none() => unread("loadavg"),
            Some(_) => {}
        }
        if let Some(stat) = seen.stat {
            for (mode, seconds) in stat.modes {
                reading.part(&host, HOST_CPU, mode, Value::Counter(seconds));
            }
            reading.sample(&host, HOST_CPUS, Value::Gauge(stat.cores.len() as f64));
            for (core, seconds) in stat.cores {
                reading.part(&host, HOST_CORE, &core.to_string(), Value::Counter(seconds));
            }
            let levels = [
                (HOST_RUNNABLE, stat.runnable.map(Value::Gauge)),
                (HOST_SWITCHES, stat.switches.map(Value::Counter)),
            ];
            for (metric, value) in levels {
                if let Some(value) = value {
                    reading.sample(&host, metric, value);
                }
            }
        }
        if let Some(load) = seen.load {
            reading.sample(&host, HOST_LOAD, Value::Gauge(load));
        }
        if let Some((available, all)) = seen.memory {
            reading.sample(&host, HOST_MEMORY_AVAILABLE, Value::Gauge(available));
            reading.sample(&host, HOST_MEMORY_MAX, Value::Gauge(all));
        }
        let what = RemoteText::new(LIMITS);
        let lacks = seen.held.is_err();
        match (std::mem::replace(&mut self.lacks_limits, lacks), seen.held) {
            (false, Err(why)) => {
                reading.events.push(Event::Unavailable { what, why: RemoteText::new(&why) });
            }
            (true, Err(_)) => {}
            (was_lacking, Ok(held)) => {
                if was_lacking {
                    reading.events.push(Event::Available { what });
                }
                for (container, seconds) in held {
                    reading.part(&host, HOST_THROTTLED, &container, Value::Counter(seconds));
                }
            }
        }
    }
}

/// Everything that one look saw; what could not be read is `None`.
struct Seen {
    stat: Option<proc::Stat>,
    load: Option<f64>,
    /// Memory that can still be had, and all of it, in bytes.
    memory: Option<(f64, f64)>,
    /// For how many seconds a limit held each container back.
    held: Result<Vec<(String, f64)>, String>,
}

fn look(root: &Path, limited: &mut Limited) -> Seen {
    let file = |name: &str| std::fs::read_to_string(root.join("proc").join(name)).ok();
    Seen {
        stat: file("stat").and_then(|text| proc::stat(&text)),
        load: file("loadavg").and_then(|text| proc::load(&text)),
        memory: file("meminfo").and_then(|text| proc::memory(&text)),
        held: limited.held_back(),
    }
}

impl Source for HostSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Reading some files costs nobody anything.
    fn backs_off(&self) -> bool {
        false
    }

    async fn ask(&mut self) -> Reading {
        let (root, limited) = (self.root.clone(), self.limited.take());
        // A machine with many containers has many small files.
        let looked = tokio::task::spawn_blocking(move || {
            let mut limited = limited.unwrap_or_else(|| Limited::new(&root));
            let seen = look(&root, &mut limited);
            (seen, limited)
        });
        let looked = looked.await;
        let mut reading = Reading::new(self.subject.clone(), now());
        match looked {
            Ok((seen, limited)) => {
                self.limited = Some(limited);
                self.take(seen, &mut reading);
            }
            Err(error) => {
                let message = RemoteText::new(&error.to_string());
                reading.faults.push(Fault { kind: FaultKind::Malformed, message });
            }
        }
        reading
    }
}
