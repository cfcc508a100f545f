//! What a run of the benchmark tells: times as samples, what keeps it from them, and all of it in one line.

use headwater_engine::metric::{GPU_LAUNCH, KERNEL_BASELINE, KERNEL_NOISE, KERNEL_TIME, KERNEL_WRONG, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::reading::{Fault, FaultKind, Reading, Value};
use headwater_engine::{Kind, RemoteText, Subject};

use super::CANARY;
use crate::bench::BenchReport;
use crate::bench::report::{KernelResult, Skipped};
use crate::sources::nvml::slice_of;

/// Kernels of which no time is told.
#[derive(Debug, Default)]
pub(super) struct Untimed {
    /// Those that had too little time for a median, with how many batches each had: what was seen of them is told to nobody as
    /// their time.
    pub(super) hurried: Vec<String>,
    /// Those that the device could not take, with the reason.
    pub(super) left_out: Vec<LeftOut>,
}

/// Kernels that one device could not take for one reason.
#[derive(Debug)]
pub(super) struct LeftOut {
    names: Vec<String>,
    of: String,
    why: String,
}

impl Untimed {
    /// Those that the devices could not take, in one sentence.
    pub(super) fn left_out_words(&self) -> Option<String> {
        let each = self.left_out.iter();
        let each = each.map(|LeftOut { names, of, why }| format!("{} of {of}: {why}", names.join(", ")));
        let all: Vec<String> = each.collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Adds the times of a report to a reading, and to `untimed` the kernels without one; what it came to, in one line.
pub(super) fn told(report: &BenchReport, host: &str, reading: &mut Reading, untimed: &mut Untimed) -> String {
    let is_cpu = report.backend == "cpu";
    let about = if is_cpu {
        Subject::component(Kind::Host, host)
    } else {
        let gpu = Subject::component(Kind::Gpu, &format!("{host}:{}", report.index));
        report.slice.map_or_else(|| gpu.clone(), |slice| slice_of(&gpu, slice))
    };
    let named = |name: &str| if is_cpu { format!("cpu {name}") } else { name.to_owned() };
    let mut words = vec![];
    for kernel in &report.kernels {
        let part = named(&kernel.name);
        // The first result of each is checked, also of one that has too little time for a median.
        reading.part(&about, KERNEL_WRONG, &part, Value::Gauge(f64::from(u8::from(kernel.wrong.is_some()))));
        if let Some(why) = &kernel.wrong {
            let message = format!("{about} computes wrongly: {}: {why}", kernel.name);
            reading.faults.push(Fault { kind: FaultKind::Malformed, message: RemoteText::new(&message) });
            words.push(format!("{} is WRONG", kernel.name));
            continue;
        }
        if !kernel.has_median() {
            words.push(format!("{part} unknown"));
            untimed.hurried.push(format!("{part} of {about} had {}", kernel.batches));
            continue;
        }
        reading.part(&about, KERNEL_TIME, &part, Value::Gauge(kernel.median));
        if let Some(baseline) = kernel.baseline {
            reading.part(&about, KERNEL_BASELINE, &part, Value::Gauge(baseline));
        }
        if let Some(noise) = kernel.noise_of_both() {
            reading.part(&about, KERNEL_NOISE, &part, Value::Gauge(noise));
        }
        // To hand a task to a pool of threads is no launch.
        if kernel.name == "launch" && !is_cpu {
            reading.part(&about, GPU_LAUNCH, CANARY, Value::Gauge(kernel.median));
        }
        let against = kernel.ratio.zip(kernel.change);
        let against = against.map(|(ratio, change)| format!(" ({}, {})", times(ratio), change.word()));
        words.push(format!("{part} {}{}", show(kernel.median, Unit::Seconds), against.unwrap_or_default()));
    }
    let mut left_out: Vec<LeftOut> = vec![];
    for Skipped { name, why, for_lack_of_time } in &report.skipped {
        let part = named(name);
        if *for_lack_of_time {
            words.push(format!("{part} unknown"));
            untimed.hurried.push(format!("{part} of {about} had none"));
        } else if let Some(known) = left_out.iter_mut().find(|known| known.why == *why) {
            known.names.push(part);
        } else if why != Skipped::NO_DEVICE {
            // Where there is no device to copy to, it would be there on no run.
            left_out.push(LeftOut { names: vec![part], of: about.to_string(), why: why.clone() });
        }
    }
    words.extend(
        left_out.iter().map(|LeftOut { names, why, .. }| format!("{} not timed ({why})", names.join(", "))),
    );
    untimed.left_out.append(&mut left_out);
    let is_known = report.kernels.iter().any(|kernel| kernel.ratio.is_some());
    let known = if is_known || !report.kernels.iter().any(KernelResult::has_median) {
        ""
    } else {
        ", no baseline: 'headwater bench --save' keeps one"
    };
    format!("{about}: {}{known}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::sources::canary::CanarySpec;
    use headwater_engine::kernel_change::KernelChange;
    use headwater_engine::metric::MetricName;

    use super::*;
    use crate::bench::report::{Conditions, SCHEMA};
    use crate::sources::now;

    fn kernel(name: &str, median: f64, ratio: Option<f64>, wrong: Option<&str>) -> KernelResult {
        KernelResult {
            name: name.to_owned(),
            unit: "s".to_owned(),
            median,
            iqr: None,
            noise: Some(median / 10.0),
            min: median,
            batches: 3,
            rounds: 1,
            runs: 10,
            baseline: ratio.map(|ratio| median / ratio),
            baseline_at: None,
            baseline_noise: ratio.map(|_| median / 10.0),
            ratio,
            change: ratio.map(|_| KernelChange::Slower),
            cold: median,
            is_steady: true,
            work: 0.0,
            table_bytes: None,
            rate: None,
            rate_unit: None,
            wrong: wrong.map(str::to_owned),
            at: None,
        }
    }

    /// Subjects, metrics and parts.
    type Rows = Vec<(String, String, String)>;

    /// Four kernels; of one the result is wrong, and the last had too little time for a median.
    fn report(backend: &str) -> BenchReport {
        let mut report = BenchReport {
            schema: SCHEMA,
            backend: backend.to_owned(),
            device: "a model".to_owned(),
            index: 3,
            slice: None,
            driver: None,
            at: String::new(),
            kernels: vec![
                kernel("launch", 48e-6, Some(40.0), None),
                kernel("gemm", 1e-3, None, Some("3 instead of 4")),
                kernel("triad", 2e-3, None, None),
                kernel("gather", 3e-3, Some(9.0), None),
            ],
            skipped: vec![],
            conditions: Conditions::default(),
            notes: vec![],
        };
        report.kernels[3].batches = 2;
        report
    }

    /// What a reading of such a report tells, and what is said of it.
    fn read(report: &BenchReport) -> (Rows, Reading, String, Untimed) {
        let mut reading = Reading::new("probe/canary".parse().unwrap(), now());
        let mut untimed = Untimed::default();
        let said = told(report, "box", &mut reading, &mut untimed);
        let name = |metric: &MetricName| metric.as_str().to_owned();
        let part = |part: &Option<RemoteText>| part.as_ref().map(ToString::to_string).unwrap_or_default();
        let rows = reading
            .samples
            .iter()
            .filter(|sample| sample.metric != MetricName::Known(KERNEL_WRONG))
            .map(|sample| (sample.subject.to_string(), name(&sample.metric), part(&sample.part)))
            .collect();
        (rows, reading, said, untimed)
    }

    #[test]
    fn times_are_of_the_gpu_and_of_the_cpu_backend_of_the_host_and_labelled() {
        let (rows, reading, said, untimed) = read(&report("cuda"));
        let expected = [
            ("gpu/box:3", "gpu.kernel.time", "launch"),
            ("gpu/box:3", "gpu.kernel.baseline", "launch"),
            ("gpu/box:3", "gpu.kernel.noise", "launch"),
            ("gpu/box:3", "gpu.launch.latency", "canary"),
            ("gpu/box:3", "gpu.kernel.time", "triad"),
        ];
        let expected =
            expected.map(|(subject, metric, part)| (subject.to_owned(), metric.to_owned(), part.to_owned()));
        assert_eq!(rows, expected);
        assert_eq!(reading.faults[0].message.as_str(), "gpu/box:3 computes wrongly: gemm: 3 instead of 4");
        let checked =
            reading.samples.iter().filter(|sample| sample.metric == MetricName::Known(KERNEL_WRONG));
        let checked: Vec<(&str, &Value)> =
            checked.map(|sample| (sample.part.as_ref().unwrap().as_str(), &sample.value)).collect();
        let (right, wrong) = (&Value::Gauge(0.0), &Value::Gauge(1.0));
        assert_eq!(checked, [("launch", right), ("gemm", wrong), ("triad", right), ("gather", right)]);
        assert_eq!(said, "gpu/box:3: launch 48 µs (40x, slower), gemm is WRONG, triad 2 ms, gather unknown");
        assert_eq!(untimed.hurried, ["gather of gpu/box:3 had 2"]);

        let canary = CanarySpec::new("box", Duration::from_millis(200));
        let place = |gpu: &str| canary.place_of(&gpu.parse().unwrap());
        assert_eq!([place("gpu/box:3"), place("gpu/other:3"), place("host/box:3")], [Some(3), None, None]);

        // A slice of a GPU here is one of this machine, and it is said how it is timed.
        let refused = |gpu: &str| canary.place_to_time(&gpu.parse().unwrap()).unwrap_err();
        assert_eq!(canary.place_to_time(&"gpu/box:3".parse().unwrap()), Ok(3));
        let slice = refused("gpu/box:3-mig-9");
        assert!(slice.contains("is a slice (MIG) of GPU 3 of this machine"), "{slice}");
        assert!(slice.contains("'CUDA_VISIBLE_DEVICES=MIG-... headwater bench' here"), "{slice}");
        for elsewhere in ["gpu/other:3", "gpu/other:3-mig-9", "gpu/box:3-mig-", "gpu/box:x-mig-9"] {
            assert!(refused(elsewhere).contains("is not a GPU of this machine"), "{elsewhere}");
        }

        let slice = BenchReport { slice: Some(9), ..report("cuda") };
        let mut reading = Reading::new("probe/canary".parse().unwrap(), now());
        told(&slice, "box", &mut reading, &mut Untimed::default());
        assert!(reading.samples.iter().all(|sample| sample.subject.as_str() == "gpu/box:3-mig-9"));

        let (rows, ..) = read(&report("cpu"));
        assert!(rows.iter().all(|(subject, metric, part)| {
            subject == "host/box" && part.starts_with("cpu ") && metric != "gpu.launch.latency"
        }));
    }

    #[test]
    fn kernels_that_a_device_could_not_take_are_told_by_the_reason_and_those_that_it_never_has_are_not() {
        let skipped = [
            ("reduce", "the device has no memory left for it", false),
            ("h2d_pinned", Skipped::NO_DEVICE, false),
            ("copy", "the device has no memory left for it", false),
            ("gather", "the budget was spent", true),
        ];
        let skipped = skipped.map(|(name, why, for_lack_of_time)| Skipped {
            name: name.to_owned(),
            why: why.to_owned(),
            for_lack_of_time,
        });
        let report = BenchReport { skipped: skipped.into(), kernels: vec![], ..report("cuda") };
        let (rows, _, said, untimed) = read(&report);
        assert_eq!(rows, []);
        assert_eq!(
            said,
            "gpu/box:3: gather unknown, reduce, copy not timed (the device has no memory left for it)"
        );
        assert_eq!(untimed.hurried, ["gather of gpu/box:3 had none"]);
        let left_out = untimed.left_out_words();
        let words = "reduce, copy of gpu/box:3: the device has no memory left for it";
        assert_eq!(left_out.as_deref(), Some(words));
    }
}
