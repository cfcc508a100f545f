use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::*;
use headwater_engine::reading::{Event, Fault, FaultKind, Input, Reading, Value};
use headwater_engine::settings::Component;
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{World, drawn, keys, live, subject};
use crate::palette::Palette;
use crate::panel::Panel;

fn shown(snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut panel = (ROW.make)();
    drawn(panel.as_mut(), snapshot, &Palette::mono(Glyphs::Unicode), width, height)
}

/// Some minutes of two GPUs: the memory of the first stood still and grows for a minute, and its kernels start late; the second
/// logs an XID and is held down.
fn told() -> Arc<Snapshot> {
    let mut world = World::new();
    for second in -150..60_i64 {
        world.run(1);
        let now = world.now();
        for (index, xid) in [(0, 0.0), (1, if second > 30 { 79.0 } else { 0.0 })] {
            let gpu = subject(&format!("gpu/host-a:{index}"));
            let mut reading = Reading::new(gpu.clone(), now);
            let used = 12.1e9 + if index == 0 { 40e6 * second.max(0) as f64 } else { 0.0 };
            for (metric, value) in [
                (GPU_UTILIZATION, 0.18),
                (GPU_MEMORY, used),
                (GPU_MEMORY_MAX, 16.28e9),
                (GPU_TEMPERATURE, 61.0),
                (GPU_POWER, 210.0),
                (GPU_POWER_MAX, 700.0),
                (GPU_CLOCK, 1.98e9),
                (GPU_CLOCK_MAX, 1.98e9),
                (GPU_XID, xid),
                (GPU_PCIE_GENERATION, 5.0),
                (GPU_PCIE_GENERATION_MAX, 5.0),
                (GPU_LAUNCH, 47.6e-6),
            ] {
                reading.sample(&gpu, metric, Value::Gauge(value));
            }
            let held = if index == 1 { 0.4 * (second + 150) as f64 } else { 0.0 };
            reading.part(&gpu, GPU_THROTTLED, "sw_thermal_slowdown", Value::Counter(held));
            reading.part(&gpu, GPU_PROCESS_MEMORY, "4711 ranker", Value::Gauge(11.9e9));
            reading.part(&gpu, KERNEL_TIME, "gemm", Value::Gauge(1.9e-3));
            reading.part(&gpu, KERNEL_BASELINE, "gemm", Value::Gauge(1e-3));
            reading.part(&gpu, KERNEL_NOISE, "gemm", Value::Gauge(0.2e-3));
            world.take(&Input::Reading(reading));
        }
        world.take(&Input::Tick(now));
    }
    world.snapshot()
}

#[test]
fn a_row_says_what_a_gpu_does_and_what_its_numbers_mean_together() {
    let snapshot = told();
    let screen = shown(&snapshot, 160, 30);
    for words in [
        "host-a:0",
        "18 %",
        "47.6 µs",
        "79",
        "full-in",
        "kernels: 1 slower than saved; gemm 1.9 ms, 1.9x its saved 1 ms (slower)",
        "over time",
        "suspect is its machine, host/host-a, by launch-stall",
    ] {
        assert!(screen.contains(words), "no '{words}' in\n{screen}");
    }
    let mut panel = (ROW.make)();
    panel.open(&subject("gpu/host-a:0"));
    let screen = shown_by(panel.as_mut(), &snapshot);
    for words in ["it grows by 40 MB/s", "full in", "something keeps memory and gives none back"] {
        assert!(screen.contains(words), "no '{words}' in\n{screen}");
    }
}

#[test]
fn the_page_of_a_gpu_tells_whose_doing_an_error_is_and_who_holds_memory() {
    let snapshot = told();
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = (ROW.make)();
    panel.open(&subject("gpu/host-a:1"));
    shown_by(panel.as_mut(), &snapshot);
    assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
    let screen = shown_by(panel.as_mut(), &snapshot);
    for words in [
        "18 % busy x launch 47.6 µs x memory 74.3 %",
        "look at the machine or its driver",
        "79 fallen off the bus (at 14:09:02)",
        "take the machine out of service now",
        "of the time by heat",
        "11.9 GB 4711 ranker",
        "generation 5 of 5",
    ] {
        assert!(screen.contains(words), "no '{words}' in\n{screen}");
    }
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert!(
        panel.copied(&view).is_some_and(|text| text.contains("gpu/host-a:1") && text.contains("busy 18 %"))
    );
}

fn shown_by(panel: &mut dyn Panel, snapshot: &Snapshot) -> String {
    drawn(panel, snapshot, &Palette::mono(Glyphs::Unicode), 160, 45)
}

#[test]
fn what_nobody_tells_is_unknown_and_says_why() {
    let mut world =
        World::with(|settings| settings.components.retain(|one| one.subject != subject("gpu/ranker")));
    world.run(5);
    assert!(shown(&world.snapshot(), 100, 12).contains("nobody tells of a GPU"));
    let mut world = World::new();
    world.run(5);
    let mut reading = Reading::new(subject("gpu/host-a:0"), world.now());
    let message = "the driver has not answered 'nvmlDeviceGetUtilizationRates' for 10 s".into();
    reading.faults.push(Fault { kind: FaultKind::Silent, message });
    world.take(&Input::Reading(reading));
    world.take(&Input::Tick(world.now() + Duration::from_millis(1)));
    let screen = shown(&world.snapshot(), 100, 14);
    assert!(screen.contains("! gpu/host-a:0: the driver has not answered"), "{screen}");
    assert!(screen.contains("? ranker"), "{screen}");
}

#[test]
fn any_size_will_do() {
    let snapshot = told();
    for (width, height) in [(0, 0), (1, 1), (3, 40), (200, 1), (12, 9), (80, 24)] {
        shown(&snapshot, width, height);
    }
}

#[test]
fn timing_kernels_asks_first_and_a_recording_cannot_be_asked() {
    let snapshot = told();
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = (ROW.make)();
    panel.open(&subject("gpu/host-a:1"));
    let Outcome::Wants(Intent::Ask(text, effect)) = panel.act(Action::TimeKernels, &view) else {
        panic!("no question")
    };
    assert_eq!(effect, Effect::TimeKernels(Some(subject("gpu/host-a:1"))));
    assert!(text.contains("on gpu/host-a:1?"), "{text}");
    let replay = View { is_replay: true, ..view };
    assert!(matches!(panel.act(Action::TimeKernels, &replay), Outcome::Refused(_)));
}

#[test]
fn a_growth_is_told_as_the_rule_takes_it() {
    let mut world = World::new();
    for second in 0..90_i64 {
        world.run(1);
        for (index, used) in [(0, 2e9 + 40e6 * second as f64), (1, 12.1e9 + 80e6 * second as f64)] {
            let gpu = subject(&format!("gpu/host-a:{index}"));
            let mut reading = Reading::new(gpu.clone(), world.now());
            reading.sample(&gpu, GPU_MEMORY, Value::Gauge(f64::min(used, 16.278e9)));
            reading.sample(&gpu, GPU_MEMORY_MAX, Value::Gauge(16.28e9));
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.7));
            world.take(&Input::Reading(reading));
        }
    }
    world.run(1);
    let snapshot = world.snapshot();
    let rows = rows(&snapshot);
    let of = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
    // It may be a server that loads: the rule accuses nobody, and neither does the panel.
    let loading = of("gpu/host-a:0");
    let rule = |gpu: &str, rule: &str| {
        snapshot.rules.iter().find(|row| row.subject.as_str() == gpu && row.rule == rule).unwrap().state
    };
    assert_eq!(
        (rule(&loading.id, "gpu-memory-leak"), loading.leaks(), loading.full_in_s()),
        ("unknown", false, None)
    );
    assert!(loading.reading().means().contains("it works, with gaps"), "{}", loading.reading().means());
    let mut panel = (ROW.make)();
    panel.open(&loading.gpu);
    let screen = shown_by(panel.as_mut(), &snapshot);
    assert!(
        screen.contains("it grows by 40 MB/s since 14:06:01, as it does while a server loads"),
        "{screen}"
    );
    // What has no room left grew, and grows no more.
    panel.open(&subject("gpu/host-a:1"));
    let screen = shown_by(panel.as_mut(), &snapshot);
    assert!(screen.contains("it grew by 80 MB/s from 14:06:01 on, and is full since 14:06:5"), "{screen}");
    assert!(of("gpu/host-a:1").is_full());
}

#[test]
fn errors_and_changes_stand_below_the_curves_and_a_lost_gpu_says_so() {
    let mut world = World::new();
    for second in 0..40_i64 {
        world.run(1);
        let gpu = subject("gpu/host-a:0");
        let mut reading = Reading::new(gpu.clone(), world.now());
        reading.sample(&gpu, GPU_XID, Value::Gauge(if second < 20 { 0.0 } else { 79.0 }));
        if second < 20 {
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.7));
        } else {
            let message = "this GPU is lost".into();
            reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
        }
        world.take(&Input::Reading(reading));
    }
    world.run(1);
    let snapshot = world.snapshot();
    let screen = shown(&snapshot, 80, 24);
    let line =
        |begin: &str| screen.lines().find(|line| line.starts_with(begin)).unwrap_or_default().to_owned();
    assert!(line("! host-a:0").contains(" lost "), "{screen}");
    assert!(line("events").contains("x XID") && line("events").matches('x').count() == 2, "{screen}");
}

#[test]
fn of_a_fleet_each_gpu_has_its_own_verdict_also_one_that_nobody_tells_of() {
    let mut world = World::with(|settings| {
        let dark = Component::new(subject("gpu/host-dark:0"));
        settings.components.push(Component { has_source: true, ..dark });
    });
    for _ in 0..3 {
        world.run(1);
        let mut reading = Reading::new(subject("service/dcgm@a:9400"), world.now());
        for index in 0..1_000 {
            let gpu = subject(&format!("gpu/host-{index}:0"));
            let used = if index == 713 { 16.27e9 } else { 12e9 };
            reading.sample(&gpu, GPU_MEMORY, Value::Gauge(used));
            reading.sample(&gpu, GPU_MEMORY_MAX, Value::Gauge(16.28e9));
            reading.sample(&gpu, GPU_XID, Value::Gauge(if index == 42 { 79.0 } else { 0.0 }));
        }
        let now = world.now();
        world.take(&Input::Reading(reading));
        world.take(&Input::Tick(now));
    }
    let rows = rows(&world.snapshot());
    assert_eq!(rows.len(), 1_002, "with the one that is declared and the pool of the example");
    assert_eq!(rows[0].id, "gpu/host-42:0");
    let of = |id: &str| rows.iter().find(|row| row.id == id).unwrap();
    assert!(
        of("gpu/host-713:0").reason.contains("16.3 GB of 16.3 GB used"),
        "{}",
        of("gpu/host-713:0").reason
    );
    assert!(of("gpu/host-dark:0").reason.contains("no source"), "{}", of("gpu/host-dark:0").reason);
}

#[test]
fn a_gpu_that_its_exporter_lists_no_more_is_said_to_have_left() {
    let mut world = World::new();
    for second in 0..320 {
        world.run(1);
        let mut reading = Reading::new(subject("service/dcgm@a:9400"), world.now());
        reading.events.push(Event::Dialects(vec!["dcgm".into()]));
        for index in 0..if second < 5 { 2 } else { 1 } {
            reading.sample(&subject(&format!("gpu/host-a:{index}")), GPU_UTILIZATION, Value::Gauge(0.5));
        }
        world.take(&Input::Reading(reading));
    }
    world.run(1);
    let screen = shown(&world.snapshot(), 120, 20);
    assert!(
        screen.contains("gpu/host-a:1 has left: service/dcgm@a:9400 tells of it no more since 14:06:05"),
        "{screen}"
    );
    assert!(screen.contains("host-a:0") && !screen.contains("? host-a:1"), "{screen}");
}
