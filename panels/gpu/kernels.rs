//! What our own benchmark timed on a GPU, against what was saved for its model and driver.

use std::collections::BTreeSet;

use headwater_engine::kernel_change::KernelChange;
use headwater_engine::metric::{KERNEL_BASELINE, KERNEL_NOISE, KERNEL_TIME, KERNEL_WRONG, Unit};
use headwater_engine::quantity::{show, times};
use headwater_engine::{Kind, Moment, RemoteText, Snapshot, Subject};

use super::row::parts_of;

/// A multiple of its saved time from which a kernel that is slower is worth a colour.
const SLOW: f64 = 1.2;

/// What is said of how many kernels, beside what was saved of them.
const COUNTED: &[(KernelChange, &str)] = &[
    (KernelChange::Slower, "slower than saved"),
    (KernelChange::Faster, "faster than saved"),
    (KernelChange::WithinNoise, "within noise of what was saved"),
    (KernelChange::Unknown, "whose noise is unknown"),
];

/// One kernel.
pub(super) struct Kernel {
    pub(super) name: String,
    /// When it last ran.
    at: Moment,
    /// Its time in seconds; `None` where its result was wrong, which tells nothing of what a right one takes.
    time_s: Option<f64>,
    /// Its saved time, in seconds, with the change since then.
    usual: Option<(f64, KernelChange)>,
}

impl Kernel {
    /// Its time over the saved one.
    fn ratio(&self) -> Option<f64> {
        Some(self.time_s? / self.usual.filter(|(usual, _)| *usual > 0.0)?.0)
    }

    /// What its time says beside the saved one.
    fn change(&self) -> Option<KernelChange> {
        self.usual.map(|(_, change)| change)
    }

    /// Whether its result was wrong when it last ran.
    fn is_wrong(&self) -> bool {
        self.time_s.is_none()
    }

    /// Whether it computes wrongly, or takes much longer than it did.
    pub(super) fn is_bad(&self) -> bool {
        self.is_wrong() || self.is_slow()
    }

    /// Whether it takes much longer than it did, by more than what is noise.
    fn is_slow(&self) -> bool {
        self.change() == Some(KernelChange::Slower) && self.ratio().is_some_and(|ratio| ratio >= SLOW)
    }

    /// `1.9 ms, 1.9x its saved 1 ms (slower), 40 s ago`.
    pub(super) fn words(&self, snapshot: &Snapshot) -> String {
        let ago = show(snapshot.at.seconds_after(self.at).max(0.0), Unit::Seconds);
        let Some(now) = self.time_s else { return format!("gave a wrong result {ago} ago") };
        let now = show(now, Unit::Seconds);
        let against = match (self.ratio(), self.usual) {
            (Some(ratio), Some((usual, change))) => {
                format!("{} its saved {} ({})", times(ratio), show(usual, Unit::Seconds), change.word())
            }
            _ => "nothing saved to hold it against".to_owned(),
        };
        format!("{now}, {against}, {ago} ago")
    }
}

/// The kernels that were timed on a GPU, those first whose results were wrong and then those that are slower than they were, and the slowest of them; the last times hold
/// until others come.
pub(super) fn of(snapshot: &Snapshot, subject: &Subject) -> Vec<Kernel> {
    let newest = |metric, part| snapshot.history.trace(subject, metric, Some(part))?.latest_at(snapshot.at);
    let names =
        [KERNEL_TIME, KERNEL_WRONG].into_iter().flat_map(|metric| parts_of(snapshot, subject, metric));
    let names: BTreeSet<&RemoteText> = names.flatten().collect();
    let timed = names.into_iter().filter_map(|part| {
        let now = newest(KERNEL_TIME, part);
        let checked = newest(KERNEL_WRONG, part).filter(|seen| seen.value > 0.5);
        if let Some(wrong) = checked.filter(|wrong| now.is_none_or(|now| now.at < wrong.at)) {
            return Some(Kernel { name: part.to_string(), at: wrong.at, time_s: None, usual: None });
        }
        let now = now?;
        // What was told of an earlier time is not of this one: it may have been other work.
        let beside = |metric| newest(metric, part).filter(|seen| seen.at == now.at).map(|seen| seen.value);
        let usual = beside(KERNEL_BASELINE);
        let usual = usual.map(|usual| (usual, KernelChange::of(now.value, usual, beside(KERNEL_NOISE))));
        Some(Kernel { name: part.to_string(), at: now.at, time_s: Some(now.value), usual })
    });
    let mut kernels: Vec<Kernel> = timed.collect();
    kernels.sort_by(|one, other| {
        let is_slower = |kernel: &Kernel| kernel.change() == Some(KernelChange::Slower);
        let ratio = |kernel: &Kernel| kernel.ratio().unwrap_or(0.0);
        let by_result = other.is_wrong().cmp(&one.is_wrong());
        let by_change = by_result.then_with(|| is_slower(other).cmp(&is_slower(one)));
        by_change.then_with(|| ratio(other).total_cmp(&ratio(one))).then_with(|| one.name.cmp(&other.name))
    });
    kernels
}

/// The machines on whose processors kernels were timed, for want of a GPU.
pub(super) fn machines(snapshot: &Snapshot) -> Vec<&Subject> {
    let timed = |subject: &&Subject| {
        let ran = |metric| parts_of(snapshot, subject, metric).next().is_some();
        subject.kind() == Kind::Host && (ran(KERNEL_TIME) || ran(KERNEL_WRONG))
    };
    snapshot.history.subjects().filter(timed).collect()
}

/// All of them in one line: how many are slower than saved, and which most.
pub(super) fn summary(kernels: &[Kernel], snapshot: &Snapshot) -> Option<String> {
    let first = kernels.first()?;
    let counted = COUNTED.iter().filter_map(|(change, words)| {
        let count = kernels.iter().filter(|kernel| kernel.change() == Some(*change)).count();
        (count > 0).then(|| format!("{count} {words}"))
    });
    let wrong = kernels.iter().filter(|kernel| kernel.is_wrong()).count();
    let wrong = (wrong > 0).then(|| format!("{wrong} with a wrong result"));
    let all: Vec<String> = wrong.into_iter().chain(counted).collect();
    let all = match all.join(", ") {
        nothing if nothing.is_empty() => {
            format!("{} timed, nothing saved to hold them against", kernels.len())
        }
        counted => counted,
    };
    Some(format!("{all}; {} {}", first.name, first.words(snapshot)))
}

#[cfg(test)]
mod tests {
    use headwater_engine::reading::{Input, Reading, Value};
    use headwater_widgets::Glyphs;
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;
    use crate::action::Action;
    use crate::example::{World, drawn, keys, live, subject, text_of};
    use crate::gpu::ROW;
    use crate::palette::Palette;
    use crate::panel::Outcome;

    #[test]
    fn a_time_within_the_noise_of_what_was_saved_reads_as_such_on_any_screen() {
        let mut world = World::new();
        let mut tell = |about: &str, kernels: &[(&str, f64, Option<f64>, Option<f64>)]| {
            world.run(1);
            let about = subject(about);
            let mut reading = Reading::new(subject("probe/canary"), world.now());
            for (name, now, usual, noise) in kernels {
                reading.part(&about, KERNEL_TIME, name, Value::Gauge(*now));
                for (metric, value) in [(KERNEL_BASELINE, usual), (KERNEL_NOISE, noise)] {
                    if let Some(value) = value {
                        reading.part(&about, metric, name, Value::Gauge(*value));
                    }
                }
            }
            world.take(&Input::Reading(reading));
            world.run(1);
            world.snapshot()
        };
        // Half as slow again, which is noise; a little slower, which is none; and what nobody can tell.
        let kernels = [
            ("launch", 3e-6, Some(2e-6), Some(1.5e-6)),
            ("gemm", 1.14e-3, Some(1e-3), Some(0.02e-3)),
            ("copy", 9e-3, Some(1e-3), None),
        ];
        let snapshot = tell("gpu/host-a:0", &kernels);
        let expected = "1 slower than saved, 1 within noise of what was saved, 1 whose noise is unknown; gemm 1.14 ms, 1.1x its \
                   saved 1 ms (slower)";
        let kernels = of(&snapshot, &subject("gpu/host-a:0"));
        let told = summary(&kernels, &snapshot).unwrap();
        assert!(told.starts_with(expected), "{told}");
        assert!(kernels.iter().all(|kernel| !kernel.is_bad()), "none is worth a colour");
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let mut panel = (ROW.make)();
        panel.open(&subject("gpu/host-a:0"));
        let screen = drawn(panel.as_mut(), &snapshot, &palette, 160, 45);
        assert!(screen.contains("kernels: 1 slower than saved, 1 within noise"), "{screen}");
        assert_eq!(panel.act(Action::Open, &live(&snapshot, &palette, &keys)), Outcome::Done);
        let screen = drawn(panel.as_mut(), &snapshot, &palette, 160, 45);
        for words in ["1.5x its saved 2 µs (within noise)", "9x its saved 1 ms (noise unknown)"] {
            assert!(screen.contains(words), "no '{words}' in\n{screen}");
        }
        // A saved time and a noise that were told of an earlier time are not held against a later one.
        let snapshot =
            tell("gpu/host-a:0", &[("launch", 9e-6, None, None), ("gemm", 9e-3, Some(1e-3), None)]);
        let kernels = of(&snapshot, &subject("gpu/host-a:0"));
        let words = |name: &str| {
            let kernel = kernels.iter().find(|kernel| kernel.name == name);
            kernel.map(|kernel| kernel.words(&snapshot)).unwrap_or_default()
        };
        assert!(words("launch").contains("nothing saved to hold it against"), "{}", words("launch"));
        assert!(words("gemm").contains("(noise unknown)"), "{}", words("gemm"));
    }

    #[test]
    fn a_wrong_result_comes_first_and_its_earlier_time_is_not_told_for_it() {
        let mut world = World::new();
        let about = subject("gpu/host-a:0");
        for (second, wrong) in [0.0, 1.0, 0.0].into_iter().enumerate() {
            world.run(1);
            let mut reading = Reading::new(subject("probe/canary"), world.now());
            reading.part(&about, KERNEL_TIME, "copy", Value::Gauge(2e-3));
            reading.part(&about, KERNEL_WRONG, "gemm", Value::Gauge(wrong));
            if wrong < 0.5 {
                reading.part(&about, KERNEL_TIME, "gemm", Value::Gauge(1e-3));
            }
            world.take(&Input::Reading(reading));
            world.run(1);
            let snapshot = world.snapshot();
            let kernels = of(&snapshot, &about);
            let said = summary(&kernels, &snapshot).unwrap();
            let bad: Vec<&str> =
                kernels.iter().filter(|kernel| kernel.is_bad()).map(|kernel| kernel.name.as_str()).collect();
            if second == 1 {
                assert!(said.starts_with("1 with a wrong result; gemm gave a wrong result"), "{said}");
                assert_eq!(bad, ["gemm"]);
            } else {
                assert!(said.starts_with("2 timed, nothing saved"), "{said}");
                assert!(bad.is_empty());
            }
        }
    }

    #[test]
    fn what_was_timed_on_processors_is_held_against_its_noise_on_a_wall_too() {
        let mut world =
            World::with(|settings| settings.components.retain(|one| one.subject != subject("gpu/ranker")));
        world.run(1);
        let host = subject("host/host-a");
        let mut reading = Reading::new(subject("probe/canary"), world.now());
        for (metric, value) in [(KERNEL_TIME, 1.3e-6), (KERNEL_BASELINE, 1e-6), (KERNEL_NOISE, 0.5e-6)] {
            reading.part(&host, metric, "cpu launch", Value::Gauge(value));
        }
        world.take(&Input::Reading(reading));
        world.run(1);
        let snapshot = world.snapshot();
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let view = live(&snapshot, &palette, &keys);
        let area = Rect::new(0, 0, 160, 12);
        let mut buffer = Buffer::empty(area);
        (ROW.make)().draw_on_wall(&view, area, &mut buffer);
        let screen = text_of(&buffer);
        assert!(screen.contains("1 within noise of what was saved; cpu launch 1.3 µs, 1.3x"), "{screen}");
    }
}
