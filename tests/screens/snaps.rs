//! Every panel in every state at every size, in a colour theme and without colour.

use headwater_panels::{Action, PANELS, Palette};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;

use super::drawn::{drawn, drawn_after, hinted, palette, styles, text};
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
fn nothing_beyond_ascii_is_drawn_for_a_terminal_that_has_nothing_else() {
    let ascii = Palette::mono(Glyphs::Ascii);
    let is_beyond = |buffer: &Buffer| buffer.content.iter().any(|cell| !cell.symbol().is_ascii());
    let mut beyond = vec![];
    for state in states::all() {
        for panel in PANELS {
            for (width, height) in SIZES {
                for actions in [&[][..], &[Action::Help], &[Action::Open], &[Action::CommandLine]] {
                    let buffer = drawn_after(&state, panel.name, actions, &ascii, *width, *height);
                    let name = format!("{} {} {width}x{height} after {actions:?}", panel.name, state.name);
                    beyond.extend(is_beyond(&buffer).then_some(name));
                }
            }
        }
    }
    assert!(beyond.is_empty(), "{beyond:?}");
}

/// Units and names have characters of their own, which no state of a bundled recording need have.
#[test]
fn what_sentences_and_names_have_beyond_ascii_is_replaced_as_well() {
    let (incident, ascii) = (states::incident(), Palette::mono(Glyphs::Ascii));
    let screen = hinted(&incident, "a launch takes 46.7 µs at 43 °C on é", &ascii, 80, 24);
    assert!(text(&screen).contains("a launch takes 46.7 us at 43  C on ?"), "{}", text(&screen));
    let unicode = hinted(&incident, "46.7 µs", &palette("mono"), 80, 24);
    assert!(text(&unicode).contains("46.7 µs"), "{}", text(&unicode));
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
