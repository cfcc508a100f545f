//! A result as a table for people.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::{show, times};

use super::{BenchReport, DeviceState, KernelResult};

impl BenchReport {
    /// The table for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let driver = self.driver.as_ref().map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let of = match (self.backend.as_str(), self.slice) {
            ("cpu", _) => "CPU, not a GPU: ".to_owned(),
            (_, None) => format!("GPU {}: ", self.index),
            (_, Some(slice)) => format!("slice {slice} (MIG) of GPU {}: ", self.index),
        };
        out += &format!("{of}{}{driver}\n", self.device);
        out += &format!(
            "budget {}, spent {}; bandwidth over {}\n\n",
            show(self.conditions.budget_s, Unit::Seconds),
            show(self.conditions.spent_s, Unit::Seconds),
            show(self.conditions.working_set_bytes as f64, Unit::Bytes),
        );
        let mut rows = vec![
            [
                "kernel", "median", "IQR", "noise", "min", "cold", "runs", "rate", "baseline", "ratio",
                "change",
            ]
            .map(str::to_owned),
        ];
        rows.extend(self.kernels.iter().map(|kernel| row(self.called(&kernel.name), kernel)));
        out += &columns(&rows);
        if self.kernels.iter().any(|kernel| !kernel.is_steady) {
            out += "~ not steady: the noise is not known to be below 2 %; it is the IQR, or how far rounds lie apart where that is more\n";
        }
        for kernel in self.wrong() {
            let why = kernel.wrong.as_deref().unwrap_or_default();
            out += &format!("WRONG RESULT of {}: {why}\n", self.called(&kernel.name));
        }
        for skipped in &self.skipped {
            out += &format!("{} was not timed: {}\n", self.called(&skipped.name), skipped.why);
        }
        let during = match &self.conditions.during {
            unseen if *unseen == DeviceState::default() => {
                "not looked at: nothing was timed that works it".to_owned()
            }
            seen => state(seen),
        };
        out += &format!("\nbefore  {}\nduring  {during}\n", state(&self.conditions.before));
        for missing in &self.conditions.missing {
            out += &format!("not seen: {missing}\n");
        }
        for note in &self.notes {
            out += &format!("{note}\n");
        }
        out
    }

    /// A kernel by its name, and of a CPU with that: a line that is taken out of the table still says what it is of.
    fn called(&self, name: &str) -> String {
        if self.backend == "cpu" { format!("cpu {name}") } else { name.to_owned() }
    }
}

fn row(name: String, kernel: &KernelResult) -> [String; 11] {
    let seconds = |time: f64| show(time, Unit::Seconds);
    // Too little was seen of it to tell.
    let share = |time: Option<f64>| match time.filter(|_| kernel.median > 0.0) {
        Some(time) => show(time / kernel.median, Unit::Ratio),
        None => "?".to_owned(),
    };
    let mark = if kernel.is_steady { "" } else { "~" };
    let rate = kernel.rate.map(|rate| match kernel.rate_unit.as_deref() {
        Some("FLOP/s") => format!("{} GFLOP/s", show(rate / 1e9, Unit::Count)),
        _ => show(rate, Unit::BytesPerSecond),
    });
    [
        name,
        seconds(kernel.median),
        share(kernel.iqr),
        format!("{mark}{}", share(kernel.noise)),
        seconds(kernel.min),
        seconds(kernel.cold),
        kernel.runs.to_string(),
        rate.unwrap_or_default(),
        kernel.baseline.map(seconds).unwrap_or_default(),
        kernel.ratio.map(times).unwrap_or_default(),
        kernel.change.map(|change| change.word().to_owned()).unwrap_or_default(),
    ]
}

/// Rows as columns: the first to the left, the others to the right.
fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = format!("{:<1$}", row[0], widths[0]);
        // A column that is empty in every row is none.
        for (cell, width) in row.iter().zip(widths).skip(1) {
            line += &format!("  {cell:>width$}");
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A device's state in words.
fn state(state: &DeviceState) -> String {
    let named =
        |name: &str, value: Option<f64>, unit| value.map(|value| format!("{name} {}", show(value, unit)));
    let throttle = state.throttle.as_ref().map(|reasons| match reasons.as_slice() {
        [] => "not throttled".to_owned(),
        reasons => format!("THROTTLED: {}", reasons.join(", ")),
    });
    let parts = [
        named("SM", state.sm_clock_hz, Unit::Hertz),
        named("memory", state.memory_clock_hz, Unit::Hertz),
        state.temperature_c.map(|value| show(value, Unit::Celsius)),
        state.power_w.map(|value| show(value, Unit::Watts)),
        named("in use", state.utilization, Unit::Ratio),
        named("load", state.load, Unit::Count),
        throttle,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing could be read".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::report::Skipped;
    use crate::bench::report::examples::{kernel, report};

    #[test]
    fn it_is_said_what_was_measured_and_whether_it_was_seen_at_work() {
        let gpu = BenchReport { backend: "cuda".to_owned(), index: 3, ..report(vec![]) };
        assert!(gpu.text().starts_with("GPU 3: a model\n"), "{}", gpu.text());
        assert!(gpu.text().contains("during  not looked at"), "{}", gpu.text());
        let mut slice = BenchReport { slice: Some(9), ..gpu };
        slice.conditions.during.temperature_c = Some(83.0);
        assert!(slice.text().starts_with("slice 9 (MIG) of GPU 3: a model\n"), "{}", slice.text());
        assert!(slice.text().contains("during  83 °C"), "{}", slice.text());
    }

    #[test]
    fn every_line_of_a_kernel_says_that_it_is_of_a_cpu_and_what_is_unknown_is_asked() {
        let mut hurried = kernel("copy", 1e-3, 64e6);
        (hurried.iqr, hurried.noise, hurried.is_steady) = (None, None, false);
        hurried.wrong = Some("3 instead of 4".to_owned());
        let mut cpu = report(vec![kernel("launch", 1e-6, 0.0), hurried]);
        cpu.skipped = vec![Skipped {
            name: "h2d_pinned".to_owned(),
            why: "no device".to_owned(),
            for_lack_of_time: false,
        }];
        let text = cpu.text();
        for line in
            text.lines().filter(|line| ["launch", "copy", "h2d"].iter().any(|name| line.contains(name)))
        {
            assert!(line.contains("cpu "), "{text}");
        }
        let copy: Vec<&str> = text
            .lines()
            .find(|line| line.starts_with("cpu copy"))
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        assert_eq!(copy[4..6], ["?", "~?"], "{text}");
        assert!(text.contains("~ not steady") && !text.contains("budget ended"), "{text}");
        let gpu = BenchReport { backend: "cuda".to_owned(), ..cpu };
        assert!(!gpu.text().contains("cpu "), "{}", gpu.text());
    }

    #[test]
    fn what_cannot_be_read_is_never_a_zero() {
        let text = state(&DeviceState::default());
        assert_eq!(text, "nothing could be read");
        let seen = DeviceState { throttle: Some(vec!["sw_power_cap".to_owned()]), ..DeviceState::default() };
        assert_eq!(state(&seen), "THROTTLED: sw_power_cap");
        let json = serde_json::to_value(DeviceState::default()).unwrap();
        assert_eq!(json, serde_json::json!({}));
    }
}
