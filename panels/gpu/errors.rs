//! The errors that the driver of one GPU logged: which of them tells of now, and when each came.

use std::time::Duration;

use headwater_engine::gpu_errors::GpuError;
use headwater_engine::metric::{GPU_XID, GPU_XIDS, Unit};
use headwater_engine::quantity::{show, two_digits};
use headwater_engine::rules::{Limits, by_id};
use headwater_engine::{Snapshot, Subject, xid};

use super::health::unseen;
use super::row::parts_of;
use crate::lines::{Line as Told, Weight};
use crate::palette::ColorRole;

/// Errors that are told with what the catalogue says, the newest first.
const MOST: usize = 6;

/// The rule that says for how long an error tells of the present.
const RULE: &str = "gpu-error";

/// The error that a row shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shown {
    /// Its number; 0 where the driver logged none.
    pub(super) code: f64,
    /// Whether it tells of the past only.
    pub(super) is_past: bool,
}

/// The last error: as it is told now, else the newest that came, also where nobody tells it any more.
pub(super) fn shown(snapshot: &Snapshot, gpu: &Subject) -> Option<Shown> {
    let newest = snapshot.gpu_errors.newest_of(gpu);
    let shown =
        |error: &GpuError| Shown { code: f64::from(error.code), is_past: is_past(snapshot, gpu, error) };
    let told = snapshot.present(gpu, GPU_XID, None).map(|seen| seen.value);
    let is_told = |error: &&&GpuError| told == Some(f64::from(error.code));
    let last = newest.iter().find(is_told).or(newest.first());
    match (told, last.map(|error| shown(error))) {
        // It is over, or another tool counts what this one does not see.
        (Some(code), last) if code < 1.0 => last.filter(|last| !last.is_past).or(Some(NONE)),
        (Some(code), Some(last)) if last.code == code => Some(last),
        (Some(code), _) => Some(Shown { code, is_past: false }),
        (None, last) => last,
    }
}

/// What is shown where the driver says that it logged none.
const NONE: Shown = Shown { code: 0.0, is_past: false };

/// Whether an error tells of the past only: for the rule it is too old, or its driver says after it that it logged none.
fn is_past(snapshot: &Snapshot, gpu: &Subject, error: &GpuError) -> bool {
    let lately = by_id(RULE).map(|rule| {
        let limits = Limits { rule, settings: &snapshot.settings, subject: &gpu.component_of() };
        Duration::try_from_secs_f64(limits.of("lately")).unwrap_or(Duration::MAX)
    });
    let is_counted = count_of(snapshot, gpu, Some(error.code)).is_some_and(|count| count > 0.0);
    let is_over =
        || snapshot.present(gpu, GPU_XID, None).is_some_and(|seen| seen.value < 1.0 && seen.at > error.last);
    lately.is_some_and(|lately| snapshot.at.since(error.last) > lately) || (is_over() && !is_counted)
}

/// The errors that came, each code once with what the catalogue says of it.
pub(super) fn lines(snapshot: &Snapshot, gpu: &Subject) -> Vec<Told> {
    let newest = snapshot.gpu_errors.newest_of(gpu);
    if newest.is_empty() {
        let is_told =
            snapshot.present(gpu, GPU_XID, None).is_some() || count_of(snapshot, gpu, None).is_some();
        return vec![if is_told {
            Told::new(Weight::Context, "errors", "no XID".to_owned())
        } else {
            unseen("errors", "of errors that the driver logs (XID)")
        }];
    }
    let line = |error: &GpuError| {
        let (code, when) = (error.code, when(snapshot, gpu, error));
        let text = match xid::by_code(code) {
            Some(row) => format!(
                "{code} {} ({when}): {}; {}'s doing; {}",
                row.name,
                row.meaning,
                row.blame.word(),
                row.action
            ),
            None => format!("{code} ({when}): not in the catalogue; look it up at the vendor"),
        };
        if is_past(snapshot, gpu, error) {
            let told = Told::new(Weight::Context, "XID", text);
            return told.colored(ColorRole::Faint).text_colored(ColorRole::Faint);
        }
        Told::new(Weight::Account, "! XID", text).colored(ColorRole::Suspect)
    };
    newest.into_iter().take(MOST).map(line).collect()
}

/// How many errors of a code, or of any, came of late, where anybody counts.
fn count_of(snapshot: &Snapshot, gpu: &Subject, code: Option<u32>) -> Option<f64> {
    let counted = parts_of(snapshot, gpu, GPU_XIDS).flatten();
    let wanted = counted.filter(|part| code.is_none_or(|code| part.as_str() == code.to_string()));
    let counts = wanted.filter_map(|part| Some(snapshot.present(gpu, GPU_XIDS, Some(part))?.value));
    counts.reduce(|sum, count| sum + count)
}

/// When an error came, as far as anybody saw, and how often of late. A time of day is of today: of what is past its age is
/// told too.
fn when(snapshot: &Snapshot, gpu: &Subject, error: &GpuError) -> String {
    let mut when = match (error.is_seen, error.last > error.at) {
        (false, _) => format!("before anybody looked, at {}", error.at.clock()),
        (true, false) => format!("at {}", error.at.clock()),
        (true, true) => format!("from {} to {}", error.at.clock(), error.last.clock()),
    };
    if is_past(snapshot, gpu, error) {
        let age = two_digits(snapshot.at.seconds_after(error.last).max(0.0));
        when.push_str(&format!(", {} ago", show(age, Unit::Seconds)));
    }
    if let Some(count) = count_of(snapshot, gpu, Some(error.code)).filter(|count| *count > 0.0) {
        when.push_str(&format!(", {count:.0} of late"));
    }
    when
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric::GPU_UTILIZATION;
    use headwater_engine::reading::{Input, Reading, Value};
    use headwater_widgets::Glyphs;

    use super::*;
    use crate::action::Action;
    use crate::example::{World, drawn, keys, live, subject};
    use crate::palette::Palette;

    /// What is shown of a GPU and what its page says of errors, after so many seconds in each of which this was told: the last
    /// code and a count of XID 79.
    fn after(seconds: i64, told: impl Fn(i64) -> (Option<f64>, Option<f64>)) -> (Option<Shown>, String) {
        let gpu = subject("gpu/host-a:0");
        let mut world = World::new();
        for second in 0..seconds {
            world.run(1);
            let mut reading = Reading::new(gpu.clone(), world.now());
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.5));
            let (code, count) = told(second);
            if let Some(code) = code {
                reading.sample(&gpu, GPU_XID, Value::Gauge(code));
            }
            if let Some(count) = count {
                reading.part(&gpu, GPU_XIDS, "79", Value::Gauge(count));
            }
            world.take(&Input::Reading(reading));
        }
        world.run(1);
        let snapshot = world.snapshot();
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let mut panel = (crate::gpu::ROW.make)();
        panel.open(&gpu);
        drawn(panel.as_mut(), &snapshot, &palette, 200, 45);
        panel.act(Action::Open, &live(&snapshot, &palette, &keys));
        let page = drawn(panel.as_mut(), &snapshot, &palette, 200, 45);
        let line = page.lines().find(|line| line.contains("fallen off the bus (")).unwrap_or_default();
        let told = line.split_inclusive(')').next().unwrap_or_default();
        (shown(&snapshot, &gpu), told.trim().to_owned())
    }

    #[test]
    fn an_error_is_of_now_for_as_long_as_the_rule_takes_it_and_then_has_an_age() {
        let stands = |second: i64| (Some(if second < 20 { 0.0 } else { 79.0 }), None);
        let of_now = Some(Shown { code: 79.0, is_past: false });
        let (shown, line) = after(300, stands);
        assert_eq!(shown, of_now);
        assert!(line.starts_with("! XID") && !line.contains("ago"), "{line}");
        let (shown, line) = after(770, stands);
        assert_eq!(shown, Some(Shown { code: 79.0, is_past: true }));
        assert!(line.starts_with("XID") && line.ends_with(", 12.5 min ago)"), "{line}");
    }

    #[test]
    fn where_the_driver_says_after_an_error_that_there_is_none_it_is_past() {
        let reset = |second: i64| (Some(if (20..40).contains(&second) { 79.0 } else { 0.0 }), None);
        let (shown, line) = after(110, reset);
        assert_eq!(shown, Some(NONE));
        assert!(line.starts_with("XID") && line.contains(" ago)"), "{line}");
        // Another tool counts it still.
        let counted = |second: i64| (Some(0.0), Some(if second < 20 { 0.0 } else { 1.0 }));
        assert_eq!(after(110, counted).0, Some(Shown { code: 79.0, is_past: false }));
        // What is told now goes before what came last.
        let other = |second: i64| (Some(31.0), Some(if second < 20 { 0.0 } else { 1.0 }));
        assert_eq!(after(110, other).0.map(|shown| shown.code), Some(31.0));
    }
}
