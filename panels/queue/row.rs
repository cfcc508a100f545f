//! One queue, or one instance of it, in a row.

use headwater_engine::metric::{
    BATCH_MAX, KV_USAGE, Metric, PREEMPTIONS, QUEUE_REJECTED, QUEUE_RUNNING, QUEUE_WAITING,
    QUEUE_WAITING_WHY, REQUESTS, Unit,
};
use headwater_engine::quantity::show;
use headwater_engine::queues::wait_s;
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use headwater_engine::{Kind, Snapshot, Subject};

use crate::elsewhere::first_suspect;
use crate::table::Row;

/// One row.
pub(super) struct Line {
    pub(super) id: String,
    pub(super) subject: Subject,
    pub(super) verdict: Verdict,
    pub(super) reason: String,
    /// Who is suspected first, where that is somebody else.
    pub(super) elsewhere: Option<String>,
    pub(super) waiting: Option<f64>,
    pub(super) wait_s: Option<f64>,
    pub(super) done: Option<f64>,
    pub(super) running: Option<f64>,
    /// Requests in a batch, the mean of the last ones.
    pub(super) batch: Option<f64>,
    pub(super) fill: Option<f64>,
    pub(super) kv: Option<f64>,
    pub(super) pushed: Option<f64>,
    pub(super) refused: Option<f64>,
    pub(super) gpu: Option<f64>,
    /// What requests wait for, with how many do, the most first.
    pub(super) reasons: Vec<String>,
}

impl Line {
    /// Its short name: that of the queue, or `ranker 10.0.0.5:8000` of an instance.
    pub(super) fn name(&self) -> String {
        match self.subject.address() {
            Some(address) => format!("{} {address}", self.subject.name()),
            None => self.subject.name().to_owned(),
        }
    }

    /// The row in words, for the clipboard.
    pub(super) fn words(&self) -> String {
        let numbers = [
            ("waiting", self.waiting, Unit::Count),
            ("wait", self.wait_s, Unit::Seconds),
            ("done", self.done, Unit::PerSecond),
            ("running", self.running, Unit::Count),
            ("mean batch", self.batch, Unit::Count),
            ("fill", self.fill, Unit::Ratio),
            ("gpu", self.gpu, Unit::Ratio),
        ];
        let told = numbers
            .into_iter()
            .filter_map(|(name, value, unit)| Some(format!("{name} {}", show(value?, unit))));
        let told: Vec<String> = told.collect();
        format!("{} {}: {}; {}", self.id, verdict_word(self.verdict), self.reason, told.join(", "))
    }
}

impl Row for Line {
    fn id(&self) -> &str {
        &self.id
    }
}

/// Every queue that is known, an instance a row, the longest wait first.
pub(super) fn rows(snapshot: &Snapshot) -> Vec<Line> {
    let mut queues: Vec<&Subject> =
        snapshot.history.subjects().filter(|subject| subject.kind() == Kind::Queue).collect();
    // A queue whose instances tell is these instances.
    let is_whole = |queue: &Subject| queue.address().is_none();
    let parts: Vec<Subject> =
        queues.iter().filter(|queue| !is_whole(queue)).map(|queue| queue.component_of()).collect();
    queues.retain(|queue| !is_whole(queue) || !parts.contains(queue));
    let mut rows: Vec<Line> = queues.into_iter().map(|queue| line(snapshot, queue)).collect();
    rows.sort_by(|one, other| {
        let wait = |line: &Line| line.wait_s.unwrap_or(-1.0);
        wait(other).total_cmp(&wait(one)).then_with(|| one.id.cmp(&other.id))
    });
    rows
}

fn line(snapshot: &Snapshot, queue: &Subject) -> Line {
    // As rules see it, so that no row contradicts what is said of it.
    let of = |metric: Metric| snapshot.present_mean(queue, metric, None).map(|seen| seen.value);
    let waiting = of(QUEUE_WAITING);
    let done = snapshot.present_mean(&served_by(queue), REQUESTS, None).map(|seen| seen.value);
    let refused = of(QUEUE_REJECTED);
    let running = of(QUEUE_RUNNING);
    let batch = snapshot.mean_batch(queue).map(|seen| seen.value);
    let most = of(BATCH_MAX).filter(|most| *most > 0.0);
    let (verdict, reason) = verdict(snapshot, queue);
    Line {
        id: queue.to_string(),
        subject: queue.clone(),
        verdict,
        reason,
        elsewhere: first_suspect(snapshot, queue),
        waiting,
        // Who was refused at the door never stood in the queue.
        wait_s: waiting.zip(done).map(|(waiting, done)| wait_s(waiting, done - refused.unwrap_or(0.0))),
        done,
        running,
        batch,
        fill: batch.or(running).zip(most).map(|(held, most)| held / most),
        kv: of(KV_USAGE),
        pushed: of(PREEMPTIONS),
        refused,
        gpu: snapshot.busiest_accelerator(queue).and_then(|(_, seen)| seen).map(|seen| seen.value),
        reasons: reasons(snapshot, queue),
    }
}

/// The service, or the instance of it, that a queue belongs to.
pub(super) fn served_by(queue: &Subject) -> Subject {
    let service = Subject::component(Kind::Service, queue.name());
    queue.address().map_or(service.clone(), |address| service.instance(address))
}

/// The verdict on an instance: its own, else that of its queue.
fn verdict(snapshot: &Snapshot, queue: &Subject) -> (Verdict, String) {
    let of = |subject: &Subject| snapshot.report.verdicts.iter().find(|row| row.subject == *subject);
    let row = of(queue).or_else(|| of(&queue.component_of()));
    row.map_or((Verdict::Unknown, "no rule looks at it yet".to_owned()), |row| {
        (row.verdict, row.reason.clone())
    })
}

fn reasons(snapshot: &Snapshot, queue: &Subject) -> Vec<String> {
    let why = QUEUE_WAITING_WHY.into();
    let mut reasons: Vec<(f64, String)> = snapshot
        .history
        .traces(queue)
        .filter(|(name, ..)| **name == why)
        .filter_map(|(_, part, _)| {
            let seen = snapshot.present(queue, QUEUE_WAITING_WHY, part)?;
            let part = part.filter(|_| seen.value > 0.0)?;
            Some((seen.value, format!("{part} ({:.0})", seen.value)))
        })
        .collect();
    reasons.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    reasons.into_iter().map(|(_, words)| words).collect()
}
