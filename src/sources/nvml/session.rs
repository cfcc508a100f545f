//! What the thread does: it loads the library, answers requests with it, and loads it anew when the driver is gone.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use headwater_engine::metric::Metric;
use headwater_engine::reading::{FaultKind, Value};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::Lacks;
use super::driver::{Doing, Request};
use super::known::{HANDLE, Handles, Known, Listed, Memory};
use super::questions::{QUESTIONS, Question};
use super::trouble::{Sense, Trouble, of_a_call, of_a_denied_gpu, of_a_lost_gpu, of_the_driver, sense};
use super::xids::{self, Listening};
use super::{raw, slices};

/// A GPU that was lost comes back, after a reset, only for whoever loads the library anew; that is tried this often.
const OPENS_ANEW_AFTER: Duration = Duration::from_secs(60);

/// What is said of a GPU that was there, and is not listed.
const UNLISTED: &str = "the driver does not list it any more";

/// Everything that one look at a GPU told.
#[derive(Debug, Default)]
pub(super) struct Looked {
    /// Its numbers.
    pub(super) told: Vec<Told>,
    /// What it does not offer.
    pub(super) lacks: Lacks,
    /// What went wrong.
    pub(super) trouble: Option<Trouble>,
    /// How long the look took.
    pub(super) took: Duration,
}

/// One number of a GPU or of a slice of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Told {
    /// The slice (MIG) that it is about, by the number of its GPU instance.
    pub(super) slice: Option<u32>,
    /// What is measured.
    pub(super) metric: Metric,
    /// The part of it.
    pub(super) part: Option<String>,
    /// The number.
    pub(super) value: Value,
}

/// One look that is under way: where questions put their answers.
pub(super) struct Looking<'a> {
    pub(super) looked: &'a mut Looked,
    pub(super) memory: &'a mut Memory,
    /// When the look began.
    pub(super) at: Instant,
    /// The slice that is asked at present.
    pub(super) slice: Option<u32>,
    index: u32,
    doing: &'a Doing,
}

impl<'a> Looking<'a> {
    /// A look at the GPU with this number that begins now.
    pub(super) fn new(
        looked: &'a mut Looked,
        memory: &'a mut Memory,
        at: Instant,
        index: u32,
        doing: &'a Doing,
    ) -> Self {
        Self { looked, memory, at, slice: None, index, doing }
    }

    /// Notes that this call begins, so that whoever waits can say which one hangs.
    pub(super) fn calling(&self, call: &'static str) {
        self.doing.begin(call, Some(self.index));
    }

    /// Takes a level.
    pub(super) fn level(&mut self, metric: Metric, value: f64) {
        self.take(metric, None, Value::Gauge(value));
    }

    /// Takes a total.
    pub(super) fn total(&mut self, metric: Metric, value: f64) {
        self.take(metric, None, Value::Counter(value));
    }

    /// Takes a number of one part.
    pub(super) fn part(&mut self, metric: Metric, part: impl Into<String>, value: Value) {
        self.take(metric, Some(part.into()), value);
    }

    fn take(&mut self, metric: Metric, part: Option<String>, value: Value) {
        self.looked.told.push(Told { slice: self.slice, metric, part, value });
    }

    /// Asks one question; what its failure means for the rest of the look.
    pub(super) fn ask(&mut self, question: &Question, device: &Device<'_>) -> Option<Sense> {
        self.calling(question.call);
        let error = (question.ask)(device, self).err()?;
        Some(self.note(question.what, question.call, &error))
    }

    /// Notes what could not be had, and why.
    pub(super) fn note(&mut self, what: &'static str, call: &str, error: &NvmlError) -> Sense {
        let sense = sense(error);
        match &sense {
            Sense::Lacking(why) => drop(self.looked.lacks.insert(what, format!("{why} ({call})"))),
            Sense::Lost(why) => self.looked.trouble = Some(of_a_lost_gpu(why)),
            Sense::Gone => self.looked.trouble = Some(beside(of_the_driver(call, error))),
            Sense::Failed => drop(self.looked.trouble.get_or_insert_with(|| of_a_call(call, error))),
        }
        sense
    }
}

/// Answers requests for as long as anybody may ask.
pub(super) fn serve(library: &OsStr, requests: &Receiver<Request>, doing: &Doing) {
    const OPEN: &str = "nvmlInit_v2";
    let mut known = Known::default();
    while let Ok(request) = requests.recv() {
        doing.begin(OPEN, None);
        match Nvml::builder().lib_path(library).init() {
            Ok(nvml) => {
                serve_with(&nvml, request, requests, &mut known, doing);
                doing.begin("nvmlShutdown", None);
                raw::close(nvml);
            }
            Err(error) => refuse(request, of_the_driver(OPEN, &error)),
        }
        doing.end();
    }
}

/// The driver's trouble as it is told of one GPU, of which it says nothing: only one that is lost cannot be reached, and
/// the list tells the driver's trouble.
fn beside(trouble: Trouble) -> Trouble {
    Trouble { kind: FaultKind::Busy, ..trouble }
}

fn refuse(request: Request, trouble: Trouble) {
    // Whoever asked may have gone.
    match request {
        Request::List(answer) => drop(answer.send(Err(trouble))),
        Request::Look(_, answer) => {
            drop(answer.send(Looked { trouble: Some(beside(trouble)), ..Looked::default() }));
        }
    }
}

/// Answers requests with the library that is open, until it has to be opened anew or nobody may ask any more.
fn serve_with(nvml: &Nvml, first: Request, requests: &Receiver<Request>, known: &mut Known, doing: &Doing) {
    let opened = Instant::now();
    let mut listening: BTreeMap<u32, Listening<'_>> = BTreeMap::new();
    let mut handles: Option<Handles<'_>> = None;
    let mut next = Some(first);
    while let Some(request) = next.take().or_else(|| requests.recv().ok()) {
        let is_over = match request {
            Request::List(answer) => {
                let listed = known.list(nvml, handles.get_or_insert_default(), doing);
                doing.end();
                let is_gone = listed.as_ref().is_err_and(|(_, error)| sense(error) == Sense::Gone);
                let is_stale = known.has_lost_one() && opened.elapsed() >= OPENS_ANEW_AFTER;
                let _ =
                    answer.send(listed.map_err(|(call, error)| of_the_driver(call, &error)).and_then(some));
                is_gone || is_stale
            }
            Request::Look(index, answer) => {
                // A library that was opened anew has not listed yet.
                let listed = match &handles {
                    Some(_) => Ok(()),
                    None => known.list(nvml, handles.get_or_insert_default(), doing).map(drop),
                };
                let (looked, is_gone) = match listed {
                    Ok(()) => {
                        look(nvml, index, known, handles.get_or_insert_default(), &mut listening, doing)
                    }
                    Err((call, error)) => {
                        handles = None;
                        let trouble = Some(beside(of_the_driver(call, &error)));
                        (Looked { trouble, ..Looked::default() }, sense(&error) == Sense::Gone)
                    }
                };
                doing.end();
                let _ = answer.send(looked);
                is_gone
            }
        };
        if is_over {
            return;
        }
    }
}

/// A driver without a GPU is no place to look at.
fn some(listed: Listed) -> Result<Listed, Trouble> {
    if !listed.gpus.is_empty() {
        return Ok(listed);
    }
    if !listed.denied.is_empty() {
        return Err(of_a_denied_gpu());
    }
    let message = format!("the NVIDIA driver knows no GPU on this machine ({})", listed.versions);
    Err(Trouble { kind: FaultKind::Unreachable, message })
}

/// Looks at one GPU; says too whether the driver is gone.
fn look<'nvml>(
    nvml: &'nvml Nvml,
    index: u32,
    known: &mut Known,
    handles: &Handles<'nvml>,
    listening: &mut BTreeMap<u32, Listening<'nvml>>,
    doing: &Doing,
) -> (Looked, bool) {
    let at = Instant::now();
    let mut looked = Looked::default();
    let Some(memory) = known.memory(index) else {
        looked.trouble = Some(of_a_lost_gpu(UNLISTED));
        return (looked, false);
    };
    let mut looking = Looking::new(&mut looked, memory, at, index, doing);
    // First: an event says why all that follows fails.
    let mut heard = listening.get(&index).and_then(|listening| listening.hear(&mut looking));
    let worst = match handles.get(&index) {
        Some(Ok(device)) => {
            let ear = listening.entry(index).or_insert_with(|| {
                let new = xids::listen(nvml, device, &looking);
                heard = new.hear(&mut looking);
                new
            });
            // What failed this time may not at the next look.
            if ear.has_failed() {
                listening.remove(&index);
            }
            heard.filter(is_end).or_else(|| ask_all(device, &mut looking))
        }
        Some(Err((call, error))) => Some(unopened(call, error, &mut looking)),
        None => Some(unopened(HANDLE, &NvmlError::NotFound, &mut looking)),
    };
    memory.is_lost = matches!(worst, Some(Sense::Lost(_)));
    if memory.is_lost {
        // Events of a GPU that comes back are asked for anew.
        listening.remove(&index);
        memory.throttled.pause();
    }
    memory.xids.tell(at, memory.is_lost, &mut looked.told);
    looked.took = at.elapsed();
    (looked, worst == Some(Sense::Gone))
}

/// What it means that a GPU could not be opened when the driver was last asked which there are.
fn unopened(call: &str, error: &NvmlError, looking: &mut Looking<'_>) -> Sense {
    let sense = sense(error);
    let (trouble, sense) = match (error, sense) {
        (NvmlError::NotFound | NvmlError::InvalidArg, _) => (of_a_lost_gpu(UNLISTED), Sense::Lost(UNLISTED)),
        (_, Sense::Lost(why)) => (of_a_lost_gpu(why), Sense::Lost(why)),
        (NvmlError::NoPermission, sense) => (of_a_denied_gpu(), sense),
        (_, sense) => (of_a_call(call, error), sense),
    };
    looking.looked.trouble = Some(trouble);
    sense
}

/// Asks everything, unless the GPU or the driver goes meanwhile; gives what went.
fn ask_all(device: &Device<'_>, looking: &mut Looking<'_>) -> Option<Sense> {
    for question in QUESTIONS {
        if let Some(end) = looking.ask(question, device).filter(is_end) {
            return Some(end);
        }
    }
    slices::ask(device, looking).filter(is_end)
}

/// Whether nothing more can be asked after it.
fn is_end(sense: &Sense) -> bool {
    matches!(sense, Sense::Lost(_) | Sense::Gone)
}
