//! Every panel in every state at every size, in a colour theme and without colour.

use headwater_panels::PANELS;

use super::drawn::{drawn, palette, styles, text};
use super::states;

const SIZES: &[(u16, u16)] = &[(60, 16), (80, 24), (160, 48)];

#[test]
fn every_panel_in_every_state_at_every_size() {
    let (dark, mono) = (palette("dark"), palette("mono"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snaps");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let mut wrong = vec![];
    for state in states::all() {
        for panel in PANELS {
            for (width, height) in SIZES {
                for (theme, palette) in [("dark", &dark), ("mono", &mono)] {
                    let buffer = drawn(&state, panel.name, palette, *width, *height);
                    let picture = match theme {
                        "dark" => format!("{}\n\n{}", text(&buffer), styles(&buffer)),
                        _ => text(&buffer),
                    };
                    let name = format!("{}-{}-{width}x{height}-{theme}", panel.name, state.name);
                    let matches = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        settings.bind(|| insta::assert_snapshot!(name.as_str(), picture));
                    }));
                    wrong.extend(matches.is_err().then_some(name));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} pictures differ: {wrong:?}", wrong.len());
}

#[test]
fn every_panel_in_every_state_can_be_drawn_at_any_size() {
    let mono = palette("mono");
    for state in states::all() {
        for panel in PANELS {
            for (width, height) in [(0, 0), (1, 1), (2, 1), (1, 5), (7, 3), (20, 4), (39, 9), (300, 90)] {
                let buffer = drawn(&state, panel.name, &mono, width, height);
                assert_eq!((buffer.area.width, buffer.area.height), (width, height));
            }
        }
    }
}

#[test]
fn the_incident_can_be_read_at_every_size() {
    let mono = palette("mono");
    let incident = states::incident();
    let guilty = &incident.snapshot.report.suspects[0].subject;
    for (width, height) in SIZES {
        let screen = text(&drawn(&incident, "overview", &mono, *width, *height));
        assert!(screen.contains("GUILTY"), "{screen}");
        assert!(screen.contains(guilty.as_str()), "{screen}");
    }
}
