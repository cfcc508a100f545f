use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::*;
use headwater_engine::reading::{Event, Fault, FaultKind, Input, Reading, Value};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{World, drawn, keys, live, subject};
use crate::palette::Palette;
use crate::panel::Panel;

fn shown(snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut panel = (ROW.make)();
    drawn(panel.as_mut(), snapshot, &Palette::mono(Glyphs::Unicode), width, height)
}

/// A minute of two GPUs: the memory of the first grows and its kernels start late, the second was lost with an XID.
fn told() -> Arc<Snapshot> {
    let mut world = World::new();
    for second in 0..60_i64 {
        world.run(1);
        let now = world.now();
        for (index, xid) in [(0, 0.0), (1, if second > 30 { 79.0 } else { 0.0 })] {
            let gpu = subject(&format!("gpu/host-a:{index}"));
            let mut reading = Reading::new(gpu.clone(), now);
            let used = 12.1e9 + if index == 0 { 40e6 * second as f64 } else { 0.0 };
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
            let held = if index == 1 { 0.4 * second as f64 } else { 0.0 };
            reading.part(&gpu, GPU_THROTTLED, "sw_thermal_slowdown", Value::Counter(held));
            reading.part(&gpu, GPU_PROCESS_MEMORY, "4711 ranker", Value::Gauge(11.9e9));
            reading.part(&gpu, KERNEL_TIME, "gemm", Value::Gauge(1.9e-3));
            reading.part(&gpu, KERNEL_BASELINE, "gemm", Value::Gauge(1e-3));
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
        "kernels: 1 of 1 slower than saved; gemm 1.9 ms, 1.9x its saved 1 ms",
        "over time",
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
        "79 fallen off the bus (at 14:06:32)",
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
