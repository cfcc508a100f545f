//! The GPUs of this machine, as NVIDIA's management library (NVML) tells of them.
//!
//! The library is loaded when it is first asked, so that everything starts on machines without it. One thread makes all
//! of its calls: a driver that hangs holds up that thread and nothing else, is said after the longest wait with the call
//! that hangs, and is heard again as soon as it answers. What a driver or a GPU does not offer is said to be missing,
//! and is never 0.

mod answers;
mod driver;
pub(crate) mod glance;
mod gpu_source;
mod known;
mod links;
mod processes;
mod questions;
mod raw;
mod session;
mod slices;
mod throttling;
mod trouble;
mod xids;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::reading::{Event, FaultKind, GpuName, Reading, Target, TargetList};
use headwater_engine::{Kind, RemoteText, Subject};
use tokio::task::JoinHandle;

use self::answers::Lacking;
pub(crate) use self::answers::slice_of;
use self::driver::{Driver, Pending, Request};
use self::gpu_source::GpuSource;
use self::known::{HANDLE, Listed};
use self::trouble::Trouble;
use super::{LONGEST_WAIT, Outlet, Source, now, spawn};

/// The environment variable with the library's path, where it is not among those that the system knows.
pub const LIBRARY_VARIABLE: &str = "HEADWATER_NVML";

/// The name by which the system knows the library.
const LIBRARY: &str = "libnvidia-ml.so.1";

/// How often it is asked which GPUs there are: they seldom change, and after a failure this is soon enough.
pub const LISTS_EVERY: Duration = Duration::from_secs(10);

/// What is said to be missing where this user may open only some of them.
const OTHER_GPUS: &str = "other GPUs of this machine";

/// What is said to be missing where nobody asked for GPUs and there are none.
const GPUS: &str = "the GPUs of this machine";

/// How the GPUs of this machine are read.
#[derive(Clone, Debug)]
pub struct NvmlSpec {
    /// The library; without one that of [`LIBRARY_VARIABLE`], else the one that the system finds.
    pub library: Option<PathBuf>,
    /// The name of this machine, by which its GPUs are called `gpu/HOST:INDEX`.
    pub host: String,
    /// Whether somebody asked for them: then it is a fault when there are none.
    pub is_expected: bool,
    /// How long an answer is waited for before the driver is said to hang.
    pub patience: Duration,
    /// How often it is asked which GPUs there are.
    pub lists_every: Duration,
}

impl NvmlSpec {
    /// The GPUs of a machine of this name.
    pub fn new(host: &str, is_expected: bool) -> Self {
        Self {
            library: None,
            host: host.to_owned(),
            is_expected,
            patience: LONGEST_WAIT,
            lists_every: LISTS_EVERY,
        }
    }

    /// What tells which GPUs there are.
    pub fn subject() -> Subject {
        Subject::component(Kind::Discovery, "nvml")
    }

    /// What a GPU is called.
    pub fn gpu(&self, index: u32) -> Subject {
        Subject::component(Kind::Gpu, &format!("{}:{index}", self.host))
    }

    fn library(&self) -> OsString {
        let named = self.library.clone().map(PathBuf::into_os_string);
        named.unwrap_or_else(usual_library)
    }
}

/// The library where none is configured: that of [`LIBRARY_VARIABLE`], else the one that the system finds.
pub(crate) fn usual_library() -> OsString {
    std::env::var_os(LIBRARY_VARIABLE).filter(|path| !path.is_empty()).unwrap_or_else(|| LIBRARY.into())
}

/// Asks which GPUs there are and looks at each of them at an interval, until the outlet says stop. Where nobody asked
/// for GPUs and the library is not there, it ends without a word. Must be called within a tokio runtime.
pub fn spawn_nvml(spec: &NvmlSpec, interval: Duration, outlet: Outlet) -> JoinHandle<()> {
    let spec = spec.clone();
    tokio::spawn(async move {
        if !spec.is_expected {
            let library = spec.library();
            let found = tokio::task::spawn_blocking(move || raw::can_be_loaded(&library));
            if !found.await.unwrap_or(false) {
                return;
            }
        }
        let every = spec.lists_every;
        let list = ListSource::new(spec, interval, outlet.clone());
        // It ends with the outlet; whether it was cut short tells nobody anything.
        let _ = spawn(list, every, outlet).await;
    })
}

/// Asks once which GPUs there are, and looks at each of them once: the list's reading first.
pub async fn look_once(spec: &NvmlSpec) -> Vec<Reading> {
    let mut list = ListSource::silent(spec.clone());
    let mut readings = vec![list.ask().await];
    for mut gpu in list.looked_at {
        readings.push(gpu.ask().await);
    }
    readings
}

/// Tells which GPUs there are, and begins to look at each that it sees for the first time.
#[derive(Debug)]
struct ListSource {
    subject: Subject,
    spec: NvmlSpec,
    driver: Arc<Driver>,
    pending: Pending<Result<Listed, Trouble>>,
    /// Where those who look at the GPUs send their readings; without one they are kept and look when they are asked.
    way: Option<(Duration, Outlet)>,
    looked_at: Vec<GpuSource>,
    begun: Vec<u32>,
    told: Option<TargetList>,
    is_lacking: bool,
    lacking: Lacking,
}

impl ListSource {
    fn new(spec: NvmlSpec, interval: Duration, outlet: Outlet) -> Self {
        Self { way: Some((interval, outlet)), ..Self::silent(spec) }
    }

    fn silent(spec: NvmlSpec) -> Self {
        Self {
            subject: NvmlSpec::subject(),
            driver: Arc::new(Driver::new(spec.library())),
            pending: Pending::default(),
            way: None,
            looked_at: vec![],
            begun: vec![],
            told: None,
            is_lacking: false,
            lacking: Lacking::default(),
            spec,
        }
    }

    /// Begins to look at GPUs that are new.
    fn follow(&mut self, listed: &Listed) {
        for gpu in &listed.gpus {
            if self.begun.contains(&gpu.index) {
                continue;
            }
            self.begun.push(gpu.index);
            let source = GpuSource {
                subject: self.spec.gpu(gpu.index),
                index: gpu.index,
                driver: Arc::clone(&self.driver),
                pending: Pending::default(),
                patience: self.spec.patience,
                lacking: Lacking::default(),
            };
            match &self.way {
                // It ends with the outlet, as this one does.
                Some((interval, outlet)) => drop(spawn(source, *interval, outlet.clone())),
                None => self.looked_at.push(source),
            }
        }
    }

    fn list(&self, listed: &Listed) -> TargetList {
        let target = |gpu: &known::Gpu| Target {
            subject: self.spec.gpu(gpu.index),
            place: RemoteText::new(&gpu.words()),
        };
        TargetList {
            found: RemoteText::new(&listed.versions),
            targets: listed.gpus.iter().map(target).collect(),
        }
    }

    /// The numbers of the GPUs beside their uuids, by which alone some tools know them.
    fn names<'a>(&'a self, listed: &'a Listed) -> impl Iterator<Item = GpuName> + 'a {
        listed.gpus.iter().filter_map(|gpu| {
            Some(GpuName { uuid: RemoteText::new(gpu.uuid.as_ref()?), gpu: self.spec.gpu(gpu.index) })
        })
    }

    /// Says what is wrong: a fault, or only that there is nothing where nobody asked for it.
    fn complain(&mut self, trouble: Trouble, reading: &mut Reading) {
        if self.spec.is_expected || self.told.is_some() {
            reading.faults.push(trouble.fault());
        } else {
            self.is_lacking = true;
            reading
                .events
                .push(Event::Unavailable { what: GPUS.into(), why: RemoteText::new(&trouble.message) });
        }
    }
}

/// The GPUs that the driver counts and this user may not open.
fn left_out(listed: &Listed) -> Lacks {
    let numbers = listed.denied.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let why = format!("this user may not open those with the driver's numbers {numbers} ({HANDLE})");
    listed.denied.first().map(|_| (OTHER_GPUS, why)).into_iter().collect()
}

impl Source for ListSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Waiting for an answer that is under way costs nobody anything.
    fn backs_off(&self) -> bool {
        false
    }

    async fn ask(&mut self) -> Reading {
        let answer = self.pending.ask(&self.driver, self.spec.patience, Request::List).await;
        let mut reading = Reading::new(self.subject.clone(), now());
        match answer {
            Ok(Ok(listed)) => {
                self.follow(&listed);
                let list = self.list(&listed);
                if self.told.as_ref() != Some(&list) {
                    reading.events.push(Event::Targets(list.clone()));
                    reading.events.extend(self.names(&listed).map(Event::Gpu));
                    self.told = Some(list);
                }
                reading.events.extend(self.lacking.change(left_out(&listed)));
                if std::mem::take(&mut self.is_lacking) {
                    reading.events.push(Event::Available { what: GPUS.into() });
                }
            }
            Ok(Err(trouble)) => self.complain(trouble, &mut reading),
            Err(silence) => {
                let message = silence.words(None);
                self.complain(Trouble { kind: FaultKind::Silent, message }, &mut reading);
            }
        }
        reading
    }
}

/// What is missing, by what it would tell, with the reason.
type Lacks = BTreeMap<&'static str, String>;
