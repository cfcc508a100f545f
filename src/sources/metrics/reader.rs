//! Reads one endpoint's pages, page after page: what came becomes the reading of one look.

use std::time::Duration;

use headwater_engine::metric;
use headwater_engine::reading::{Event, ExportedNode, Fault, FaultKind, GpuName, Reading, Sample, Value};
use headwater_engine::{RemoteText, Subject};
use memchr::memmem;

use super::dialect::SubjectRole;
use super::exported::exported_node;
use super::exposition::{Exposition, decode};
use super::fetch::{Address, Page};
use super::gpu_names::gpu_names;
use super::likeness::{is_markup, likeness};
use super::mapping::{MOST_FREE_SERIES, MOST_NAMED, MOST_PARTS, Mapper};

/// How far, in bytes, a page is searched for a form; login pages are short, but carry their style along.
const LONGEST_FORM: usize = 256 * 1024;

/// What an endpoint's pages have shown so far.
#[derive(Debug)]
pub(in crate::sources) struct PageReader {
    subject: Subject,
    address: Address,
    mapper: Mapper,
    bytes: u64,
    spoken: Option<Vec<usize>>,
    started: Option<f64>,
    /// The Redis node of which it is an exporter's page.
    node: Option<ExportedNode>,
    /// What it last said of the names of GPUs.
    gpus: Vec<GpuName>,
    has_left_out: bool,
}

impl PageReader {
    pub(in crate::sources) fn new(address: Address, mapper: Mapper) -> Self {
        let subject = mapper.target().subject(SubjectRole::Itself);
        Self {
            subject,
            address,
            mapper,
            bytes: 0,
            spoken: None,
            started: None,
            node: None,
            gpus: vec![],
            has_left_out: false,
        }
    }

    /// Reads a page that took so long to come; without a single metric in it the reading gets a fault and nothing
    /// else.
    pub(in crate::sources) fn read(&mut self, reading: &mut Reading, took: Duration, fetched: &Page) {
        self.bytes += fetched.bytes.len() as u64;
        let page = decode(if is_markup(&fetched.bytes) { &[] } else { &fetched.bytes }, fetched.format);
        let fault = page_fault(&page, fetched, &self.address);
        let is_other = fetched.claim.is_some() && fault.is_some();
        reading.faults.extend(fault);
        if is_other || page.samples.is_empty() {
            return;
        }
        let subject = self.subject.clone();
        reading.sample(&subject, metric::SCRAPE_TIME, Value::Gauge(took.as_secs_f64()));
        reading.sample(&subject, metric::SCRAPE_BYTES, Value::Counter(self.bytes as f64));
        let mapping = self.mapper.map(&page);
        if self.spoken.as_ref() != Some(&mapping.spoken) {
            let ids = mapping.spoken.iter().map(|place| &self.mapper.dialects().list[*place].id);
            reading.events.push(Event::Dialects(ids.map(|id| RemoteText::new(id)).collect()));
            self.spoken = Some(mapping.spoken);
        }
        let started = mapping.samples.iter().find_map(|sample| match sample.value {
            Value::Gauge(value) if sample.metric == metric::PROCESS_START.into() => Some(value),
            _ => None,
        });
        if self.started.zip(started).is_some_and(|(before, now)| before != now) {
            reading.events.push(Event::Restarted);
        }
        self.started = started.or(self.started);
        let node = exported_node(&page, &self.mapper.target().subject(SubjectRole::Redis));
        if node.is_some() && node != self.node {
            self.node = node;
            reading.events.extend(self.node.clone().map(Event::Exported));
        }
        let gpus = gpu_names(&page, self.mapper.target().host());
        if gpus != self.gpus {
            reading.events.extend(gpus.iter().cloned().map(Event::Gpu));
            self.gpus = gpus;
        }
        reading.events.extend(self.news_of_left_out(mapping.left_out));
        let is_of_nobody = |sample: &Sample| {
            sample.metric == metric::REDIS_REACHABLE.into() && sample.value == Value::Gauge(0.0)
        };
        if mapping.samples.iter().any(is_of_nobody) {
            // The page itself is there: what is out of reach from its exporter may be so from nowhere else.
            let message = format!(
                "{} is there, but its node of Redis does not answer it (redis_up 0): see whether the node runs, and the \
                 exporter's log",
                self.address
            );
            reading.faults.push(Fault { kind: FaultKind::Http, message: RemoteText::new(&message) });
        }
        reading.samples.extend(mapping.samples);
    }

    /// Says when pages begin to hold more than is taken of them, and when they no longer do.
    fn news_of_left_out(&mut self, left_out: usize) -> Option<Event> {
        let had_left_out = std::mem::replace(&mut self.has_left_out, left_out > 0);
        // The engine keeps one reason for each thing, so what varies stands in the reason.
        let what = RemoteText::new("the whole of this page");
        match (had_left_out, self.has_left_out) {
            (false, true) => {
                let why = format!(
                    "{left_out} series were left out: a target may bring {MOST_FREE_SERIES} free metrics, \
                     {MOST_PARTS} parts a metric and {MOST_NAMED} subjects that labels name, none of them told from another only \
                     by what is secret"
                );
                Some(Event::Unavailable { what, why: RemoteText::new(&why) })
            }
            (true, false) => Some(Event::Available { what }),
            _ => None,
        }
    }
}

/// Whether a page is a form that asks for a password.
fn asks_to_log_in(fetched: &Page) -> bool {
    const FORMS: [&[u8]; 2] = [b"type=\"password\"", b"type='password'"];
    let beginning = &fetched.bytes[..fetched.bytes.len().min(LONGEST_FORM)];
    FORMS.iter().any(|form| memmem::find(beginning, form).is_some())
}

/// What is wrong with a page that came well but is not, or not wholly, what it should be.
fn page_fault(page: &Exposition<'_>, fetched: &Page, address: &Address) -> Option<Fault> {
    let malformed =
        |message: String| Some(Fault { kind: FaultKind::Malformed, message: RemoteText::new(&message) });
    let has_nothing = page.samples.is_empty() && page.native_histograms == 0;
    if has_nothing || (fetched.claim.is_some() && page.problems.lost > 0) {
        let what = fetched.claim.unwrap_or_else(|| likeness(&fetched.bytes));
        let serves = match &fetched.led_to {
            Some(path) => format!("{address} leads to '{path}', which serves {what}, not metrics"),
            None => format!("{address} serves {what}, not metrics"),
        };
        return malformed(match asks_to_log_in(fetched) {
            true => format!(
                "{serves}: it wants somebody to log in, so set bearer_env or bearer_file for this target"
            ),
            false => format!("{serves}: is the path right? {}", address.hint()),
        });
    }
    let first = page.problems.first_lost()?;
    malformed(format!(
        "{} of {} lines of {address} cannot be read and were skipped, first line {}: {}",
        page.problems.lost, page.lines, first.line, first.reason
    ))
}
