//! The pictures of the README, drawn from the demo's recording by the real screen.

use std::path::Path;

use headwater_panels::Action;

use super::drawn::{drawn_after, palette};
use super::states;
use super::svg::svg;

/// File, panel, actions on it, width and height.
type Picture = (&'static str, &'static str, &'static [Action], u16, u16);

/// Those of the demo's incident, a hot shard.
const PICTURES: &[Picture] = &[
    ("overview-80x24.svg", "overview", &[], 80, 24),
    ("overview-160x48.svg", "overview", &[], 160, 48),
    ("shards-80x24.svg", "shards", &[], 80, 24),
    ("shards-160x48.svg", "shards", &[], 160, 48),
    ("shard-160x48.svg", "shards", &[Action::Open], 160, 48),
    ("keys-160x48.svg", "keys", &[Action::Open], 160, 48),
    ("ttft-160x48.svg", "ttft", &[], 160, 48),
];

/// Those of the demo in which kernels start late, and requests queue before an idle GPU.
const OF_A_STALL: &[Picture] = &[("queue-160x48.svg", "queue", &[], 160, 48)];

/// Those of the demo in which a gateway overloads the rest.
const OF_A_STORM: &[Picture] = &[("clients-160x48.svg", "clients", &[], 160, 48)];

/// Those of the demo in which a GPU's memory leaks.
const OF_A_LEAK: &[Picture] =
    &[("gpu-160x48.svg", "gpu", &[], 160, 48), ("one-gpu-160x48.svg", "gpu", &[Action::Open], 160, 48)];

#[test]
fn the_pictures_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pictures");
    let is_update = std::env::var_os("UPDATE").is_some();
    let (incident, leak) = (states::incident(), states::leak());
    let (stall, storm) = (states::stall(), states::storm());
    let mut stale = vec![];
    let of_incident = PICTURES.iter().map(|picture| (&incident, "a hot shard", picture));
    let of_leak = OF_A_LEAK.iter().map(|picture| (&leak, "a leak of GPU memory", picture));
    let of_stall = OF_A_STALL.iter().map(|picture| (&stall, "late launches", picture));
    let of_storm = OF_A_STORM.iter().map(|picture| (&storm, "a failover storm", picture));
    let all = of_incident.chain(of_leak).chain(of_stall).chain(of_storm);
    for (state, what, (file, panel, actions, width, height)) in all {
        let palette = palette("dark");
        let ground = (palette.ground.fg.unwrap_or_default(), palette.ground.bg.unwrap_or_default());
        let buffer = drawn_after(state, panel, actions, &palette, *width, *height);
        let title = format!("headwater, panel {panel}, {what}, {width}x{height}");
        let picture = svg(&buffer, &title, ground);
        let path = folder.join(file);
        if is_update {
            std::fs::create_dir_all(&folder).expect("a folder for pictures");
            std::fs::write(&path, &picture).expect("a picture");
        }
        if std::fs::read_to_string(&path).unwrap_or_default() != picture {
            stale.push(*file);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} are not what the screen draws now: run scripts/pictures and look at them"
    );
}
