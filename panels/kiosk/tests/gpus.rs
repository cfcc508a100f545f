//! GPUs on a wall.

use headwater_engine::metric::*;
use headwater_engine::reading::{Input, Reading, Value};

use super::*;
use crate::example::subject;

#[test]
fn gpus_are_read_from_across_the_room() {
    let mut wall = Wall::new(&["gpu"]);
    for _ in 0..20 {
        wall.world.run(1);
        for (index, busy) in [(0, 0.18), (1, 0.97), (2, 0.4), (3, 0.4), (4, 0.4)] {
            let gpu = subject(&format!("gpu/host-a:{index}"));
            let mut reading = Reading::new(gpu.clone(), wall.world.now());
            let xid =
                if index == 1 && wall.now < wall.world.now() - Duration::from_secs(9) { 79.0 } else { 0.0 };
            for (metric, value) in [
                (GPU_UTILIZATION, busy),
                (GPU_MEMORY, 12.1e9),
                (GPU_MEMORY_MAX, 16.28e9),
                (GPU_TEMPERATURE, 61.0),
                (GPU_XID, xid),
            ] {
                reading.sample(&gpu, metric, Value::Gauge(value));
            }
            wall.world.take(&Input::Reading(reading));
        }
    }
    wall.world.run(1);
    wall.newest = Some(wall.world.snapshot());
    wall.now = wall.world.now();
    let panel = |wall: &mut Wall, width, height| {
        let drawn = wall.drawn(width, height);
        let from = drawn.lines().position(|line| line.contains("GPU & kernels")).unwrap_or(0);
        drawn.lines().skip(from).collect::<Vec<_>>().join("\n")
    };
    let small = panel(&mut wall, 80, 24);
    insta::assert_snapshot!(small.lines().take(4).collect::<Vec<_>>().join("\n"), @r"
    ─ GPU & kernels, 1 of 1 ──────────────────────────────────────────────────────
    ! host-a:1 suspect: XID 79, fallen off the bus at 14:08:10: the driver cannot…
    busy 97 %          memory 74.3 %      temp 61 °C         xid 79
    ? host-a:0 unknown: not seen: gpu-throttled (neither clocks nor throttling:…
    ");
    let large = panel(&mut wall, 160, 48);
    let lines: Vec<&str> = large.lines().collect();
    assert!(lines[1].contains("! host-a:1 suspect: XID 79"), "{large}");
    insta::assert_snapshot!(lines[2..7].join("\n"), @r"
    busy                                   memory                                 temp                                   xid
    ▟▀▙ █▀█     ▄ ▗▖                       █▀█  ▟█     ▟▀▙     ▄ ▗▖               ▗▛▘ ▗█      ▗▛▙ ▗▛▜▖                   █▀█ ▟▀▙
    ▜▄█  ▗▛     ▀▗▛                         ▗▛ ▟▘█      ▄▛     ▀▗▛                █▄▖  █      ▝▙▛ █                       ▗▛ ▜▄█
     ▗▛  █      ▗▛▗▖                        █  ▀▀█▘ ▄  ▄ █     ▗▛▗▖               █ █  █          ▜▖▗▖                    █   ▗▛
    ▝▀   ▀      ▀ ▝▘                        ▀   ▝▀▘ ▀  ▝▀▘     ▀ ▝▘               ▝▀▘ ▀▀▀          ▀▀                     ▀  ▝▀
    ");
    assert!(large.contains("and 3 more: 3 unknown"), "the pool of the example is one of them: {large}");
    wall.glyphs = Glyphs::Ascii;
    for (width, height) in [(0, 0), (1, 1), (20, 9), (60, 16), (200, 60), (400, 20), (20, 100)] {
        assert!(!wall.drawn(width, height).contains(['▟', '█', '▀']), "{width}x{height}");
    }
}

#[test]
fn of_a_gpu_on_a_narrow_wall_the_last_figures_are_left_out_and_none_is_cut() {
    let mut wall = Wall::new(&["gpu"]);
    for second in 0..400 {
        wall.world.run(1);
        for (index, busy) in [(0, 1.0), (1, 0.974)] {
            let gpu = subject(&format!("gpu/host-a:{index}"));
            let mut reading = Reading::new(gpu.clone(), wall.world.now());
            let grown = if index == 0 { 5e6 * f64::from((second - 150).max(0)) } else { 0.0 };
            for (metric, value) in [
                (GPU_UTILIZATION, busy),
                (GPU_MEMORY, 12.1e9 + grown),
                (GPU_MEMORY_MAX, 16.28e9),
                (GPU_TEMPERATURE, 61.0),
                (GPU_LAUNCH, 47.6e-6),
                (GPU_XID, 0.0),
            ] {
                reading.sample(&gpu, metric, Value::Gauge(value));
            }
            let held = 0.4 * f64::from(second);
            reading.part(&gpu, GPU_THROTTLED, "sw_thermal_slowdown", Value::Counter(held));
            wall.world.take(&Input::Reading(reading));
        }
    }
    wall.world.run(1);
    wall.newest = Some(wall.world.snapshot());
    wall.now = wall.world.now();
    let mut figures = |width, height| {
        let drawn = wall.drawn(width, height);
        let lines = drawn.lines().filter(|line| line.starts_with("busy"));
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(figures(60, 16), @r"
    busy 100 %         memory 82 %        full-in 9.78 min
    busy 97.4 %        memory 74.3 %      full-in -
    busy -             memory -           full-in -
    ");
    insta::assert_snapshot!(figures(80, 24), @r"
    busy 100 %         memory 82 %        full-in 9.78 min   launch 47.6 µs
    busy 97.4 %        memory 74.3 %      full-in -          launch 47.6 µs
    busy -             memory -           full-in -          launch -
    ");
}
