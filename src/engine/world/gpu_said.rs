//! What two tools say of one GPU, held against each other. They look at different moments, DCGM mostly twice a minute, so what
//! is compared is the range of what each said of late: a number that only came sooner to one of them lies in both.

use std::collections::BTreeMap;
use std::time::Duration;

use super::World;
use crate::metric::{GPU_MEMORY, GPU_UTILIZATION, Metric, Unit};
use crate::quantity::show;
use crate::subject::Subject;
use crate::time::Moment;

/// Numbers by which two tools are held against each other, with how far apart they may be: points of a share, and of bytes the
/// part of the larger.
static COMPARED: &[(Metric, f64)] = &[(GPU_UTILIZATION, 0.5), (GPU_MEMORY, 0.1)];

/// So far apart, in bytes and as a part of all memory, two tools are that only count the driver's own differently.
const LEAST_BYTES: f64 = 64.0 * 1024.0 * 1024.0;
const LEAST_PART: f64 = 0.01;

/// A range is that of this minute and the one before, and tells something once it was heard for so long.
const MINUTE_MS: i64 = 60_000;
const LEAST_SPAN: Duration = Duration::from_secs(10);

/// What each tool said of the numbers of GPUs that are compared.
pub(super) type SaidOfGpus = BTreeMap<(Subject, Metric), BTreeMap<Subject, Said>>;

/// What one tool said of one number lately.
#[derive(Debug)]
pub(super) struct Said {
    first: Moment,
    last: Moment,
    minute: i64,
    here: (f64, f64),
    before: Option<(f64, f64)>,
}

impl Said {
    /// The least and the most of this minute and the one before.
    fn range(&self) -> (f64, f64) {
        let (least, most) = self.before.unwrap_or(self.here);
        (least.min(self.here.0), most.max(self.here.1))
    }

    fn take(&mut self, at: Moment, value: f64) {
        let minute = at.0.div_euclid(MINUTE_MS);
        if minute == self.minute {
            self.here = (self.here.0.min(value), self.here.1.max(value));
        } else {
            self.before = (minute == self.minute + 1).then_some(self.here);
            self.here = (value, value);
            self.minute = minute;
            if self.before.is_none() {
                // Of the silence nothing is known, and what was before it is over.
                self.first = at;
            }
        }
        self.last = at;
    }
}

/// Notes what a tool says of a number, where it is one that is compared.
pub(super) fn note(
    said: &mut SaidOfGpus,
    (gpu, metric): (&Subject, Metric),
    by: &Subject,
    at: Moment,
    value: f64,
) {
    if !value.is_finite() || !COMPARED.iter().any(|(compared, _)| *compared == metric) {
        return;
    }
    let of_all = said.entry((gpu.clone(), metric)).or_default();
    match of_all.get_mut(by) {
        Some(said) => said.take(at, value),
        None => {
            let minute = at.0.div_euclid(MINUTE_MS);
            let new = Said { first: at, last: at, minute, here: (value, value), before: None };
            of_all.insert(by.clone(), new);
        }
    }
}

impl World {
    /// What two tools say differently of one GPU that has so much memory, in words, of what is not older than this.
    pub(crate) fn disagreements(
        &self,
        gpu: &Subject,
        memory: Option<f64>,
        fresh_from: Moment,
    ) -> Vec<String> {
        let mut words = vec![];
        for (metric, apart) in COMPARED {
            let unit = metric.row().unit;
            let of_all = self.gpus.said.get(&(gpu.clone(), *metric)).into_iter().flatten();
            let tells = |said: &Said| said.last >= fresh_from && said.last.since(said.first) >= LEAST_SPAN;
            let ranges: Vec<(&Subject, (f64, f64))> =
                of_all.filter(|(_, said)| tells(said)).map(|(by, said)| (by, said.range())).collect();
            let lowest = ranges.iter().min_by(|one, other| one.1.1.total_cmp(&other.1.1));
            let highest = ranges.iter().max_by(|one, other| one.1.0.total_cmp(&other.1.0));
            let Some(((low, (_, less)), (high, (more, _)))) = lowest.zip(highest) else { continue };
            let may_be = match unit {
                Unit::Ratio => *apart,
                _ => (more * apart).max(LEAST_BYTES).max(memory.unwrap_or(0.0) * LEAST_PART),
            };
            if more - less >= may_be {
                words.push(format!(
                    "{high} says {} {}, {low} says {}: one of them is wrong",
                    metric.name(),
                    show(*more, unit),
                    show(*less, unit)
                ));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Reading, Value};

    const MIB: f64 = 1024.0 * 1024.0;

    /// What is said of two tools that told these at these seconds.
    fn said(
        metric: Metric,
        memory: f64,
        seconds: impl IntoIterator<Item = i64>,
        of: impl Fn(i64) -> (f64, f64),
    ) -> Vec<String> {
        let mut world = World::default();
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut last = Moment(0);
        for second in seconds {
            last = Moment(second * 1_000);
            let (one, other) = of(second);
            for (by, value) in [("host/host-a", one), ("service/dcgm@a:9400", other)] {
                let mut reading = Reading::new(by.parse().unwrap(), Moment(second * 1_000));
                reading.sample(&gpu, metric, Value::Gauge(value));
                world.take(&reading);
                world.heard_of_gpus(&reading);
            }
        }
        world.disagreements(&gpu, Some(memory), last)
    }

    #[test]
    fn a_megabyte_of_an_idle_gpu_is_no_disagreement_and_gigabytes_are() {
        let of = |one: f64, other: f64| said(GPU_MEMORY, 81_920.0 * MIB, 0..15, |_| (one * MIB, other * MIB));
        assert_eq!(of(3.0, 2.0), [""; 0]);
        assert_eq!(of(600.0, 2.0), [""; 0], "what the driver keeps for itself");
        assert_eq!(of(40_000.0, 38_000.0), [""; 0], "a twentieth");
        assert_eq!(
            of(40_000.0, 1_000.0),
            [
                "host/host-a says gpu.memory.used 41.9 GB, service/dcgm@a:9400 says 1.05 GB: one of them is wrong"
            ]
        );
        let small = said(GPU_MEMORY, 1_024.0 * MIB, 0..15, |_| (80.0 * MIB, 10.0 * MIB));
        assert_eq!(small.len(), 1, "64 MiB of a small one");
    }

    #[test]
    fn what_one_tool_sees_later_is_no_disagreement_and_what_it_never_sees_is() {
        // Load comes at second 70, and one tool looks twice a minute.
        let late = |second: i64| (if second < 70 { 0.0 } else { 0.95 }, if second < 99 { 0.0 } else { 0.95 });
        for end in [12, 75, 98, 125, 190, 250] {
            assert_eq!(said(GPU_UTILIZATION, 0.0, 0..end, late), [""; 0], "{end}");
        }
        let bursts = |second: i64| (if second % 3 == 0 { 1.0 } else { 0.0 }, 0.0);
        assert_eq!(said(GPU_UTILIZATION, 0.0, 0..100, bursts), [""; 0]);
        let never = |second: i64| (0.9 + 0.01 * (second % 5) as f64, 0.0);
        let words =
            "host/host-a says gpu.utilization 90 %, service/dcgm@a:9400 says 0 %: one of them is wrong";
        assert_eq!(said(GPU_UTILIZATION, 0.0, 0..12, never), [words]);
        assert_eq!(said(GPU_UTILIZATION, 0.0, 0..2, never), [""; 0], "one look each");
        let after_silence = |looks: &[i64]| {
            said(GPU_UTILIZATION, 0.0, [0, 1].into_iter().chain(looks.iter().copied()), never)
        };
        assert_eq!(after_silence(&[210]), [""; 0], "one look each after a silent minute");
        assert_eq!(after_silence(&[210, 215]), [""; 0], "and one soon after it");
        assert_eq!(after_silence(&[210, 221]).len(), 1);
    }
}
