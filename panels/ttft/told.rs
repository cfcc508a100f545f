//! What is said of the row under the cursor.

use headwater_engine::metric::{Metric, PREFILL_DURATION, QUEUE_WAIT, TTFT, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::wording::verdict_word;
use headwater_engine::{Kind, Snapshot, Subject};

use super::row::{Kept, Line, shown};
use crate::callers;
use crate::palette::{ColorRole, role_of};

/// What help explains.
pub(super) static WORDS: &[(&str, &str)] = &[
    (
        "TTFT",
        "time to the first token, from the request's arrival at the server: queue, then reading of the prompt",
    ),
    ("<=", "the percentile lies in the first bucket, which is too wide to say more"),
    (">", "the percentile lies above the last bucket"),
    ("-", "too few requests for this percentile, or no buckets: nothing is made up"),
    (
        "whole",
        "the 99th percentile of whole requests: much more than the first token's means another stage is slow; less means that \
         many are refused or given up, which end early and have no first token",
    ),
    ("!", "on the map: these requests took longer than the declared objective"),
    (
        "probed",
        "a small prompt of our own; slower than most at the server means the time is lost before the server",
    ),
];

/// From this multiple of the server's own number on the difference is worth saying.
const TELLING: f64 = 1.5;

/// A shorter time than this is a way's own.
const LEAST_APART_S: f64 = 0.02;

/// The verdict on a row, what its numbers are of, and what our own probe waited beside them.
pub(super) fn of(line: &Line, snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let elsewhere = line.elsewhere.as_ref().map_or_else(String::new, |whose| format!("; {whose}"));
    let verdict = format!("{} {}: {}{elsewhere}", verdict_word(line.verdict), line.subject, line.reason);
    let mut said = vec![(verdict, role_of(line.verdict))];
    said.extend(limits(line));
    said.extend(estimate(line, snapshot));
    said.extend(ends_early(line));
    said.extend(beside(line));
    said
}

/// What the numbers cannot tell.
fn limits(line: &Line) -> Option<(String, ColorRole)> {
    let measure = line.measure?;
    let text = match line.kept {
        Kept::Mean => {
            format!("? {} without buckets: only a mean is known, which hides the slow ones", measure.says)
        }
        Kept::Nothing => format!("? {}: nothing fresh is told of it", measure.says),
        Kept::Buckets | Kept::Probe if measure.metric == TTFT => return None,
        Kept::Buckets | Kept::Probe => {
            format!("its page tells no time to the first token; this is the {}", measure.says)
        }
    };
    let role = if line.kept == Kept::Buckets { ColorRole::Faint } else { ColorRole::Unknown };
    Some((text, role))
}

/// About when a first token comes of a server that does not tell it, as TGI, but how long a request waits and how long its
/// prompt is read: means add up, percentiles do not.
fn estimate(line: &Line, snapshot: &Snapshot) -> Option<(String, ColorRole)> {
    line.measure.filter(|measure| measure.metric != TTFT)?;
    let mean = |of: &[Subject], metric: Metric| {
        snapshot.spread_together(of, metric)?.gained.mean().filter(|mean| mean.is_finite())
    };
    let queue = |of: &Subject| {
        let all = Subject::component(Kind::Queue, of.name());
        of.address().map_or(all.clone(), |address| all.instance(address))
    };
    let queues: Vec<Subject> = line.of.iter().map(queue).collect();
    let (wait, prompt) = (mean(&queues, QUEUE_WAIT)?, mean(&line.of, PREFILL_DURATION)?);
    let shown = |seconds: f64| show(seconds, Unit::Seconds);
    let text = format!(
        "an estimate: a first token comes after about {} on average, {} in the queue and {} for the prompt; how many wait \
         longer nobody tells",
        shown(wait + prompt),
        shown(wait),
        shown(prompt)
    );
    Some((text, ColorRole::Faint))
}

/// Why a whole request seems to take less than its first token.
fn ends_early(line: &Line) -> Option<(String, ColorRole)> {
    let (whole, ttft) = line.whole_below_ttft()?;
    Some((callers::ends_early(&shown(whole), &shown(ttft)), ColorRole::Unknown))
}

/// Our own probe beside what the server says.
fn beside(line: &Line) -> Option<(String, ColorRole)> {
    let probed = line.probed?.value;
    let own = format!("our probe waited {} for its first token", show(probed, Unit::Seconds));
    let is_ttft = line.measure.is_some_and(|measure| measure.metric == TTFT);
    let Some(p90) = line.percentile(0.9).filter(|_| is_ttft) else {
        return Some((format!("{own}; nothing at the server to hold it against"), ColorRole::Text));
    };
    let server = format!("nine of ten at the server at most {}", shown(p90).trim_start_matches("<= "));
    let is_longer = probed >= p90.number() * TELLING && probed - p90.number() >= LEAST_APART_S;
    Some(match is_longer {
        true => (
            format!(
                "! {own}, {server}: {}, so the time is lost before the server counts it: look at the way and the gateway",
                times(probed / p90.number())
            ),
            ColorRole::Suspect,
        ),
        false => (format!("{own}, {server}: no time is lost on the way"), ColorRole::Text),
    })
}
