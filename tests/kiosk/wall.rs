//! An engine and a kiosk over it, drawn once a round.

use std::sync::Arc;

use headwater::keymap;
use headwater::theme::{Depth, Theme};
use headwater_engine::report::{Conclusion, Suspect};
use headwater_engine::{Baselines, Engine, Moment, Settings, Snapshot};
use headwater_panels::kiosk::TURN;
use headwater_panels::{Keymap, Kiosk, Palette, Shown, Status};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::day::Day;

/// Beside the size that is read, a wall is drawn at these in turn, as if somebody pulled at its window.
const SIZES: &[(u16, u16)] = &[(200, 60), (1, 1), (0, 0), (39, 9), (120, 40), (1, 30), (300, 2), (60, 16)];

pub(crate) struct Wall {
    engine: Engine,
    pub(crate) kiosk: Kiosk,
    palette: Palette,
    keys: Keymap,
    status: Status,
    newest: Option<Arc<Snapshot>>,
}

impl Wall {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            engine: Engine::new(settings, Baselines::default()),
            kiosk: Kiosk::new([], TURN),
            palette: Theme::built_in("mono").expect("a theme").palette(Depth::True, Glyphs::Unicode),
            keys: keymap::built_in(),
            status: Status::default(),
            newest: None,
        }
    }

    /// Takes a round of the day and draws it; returns what stands there at 80x24.
    pub(crate) fn round(&mut self, day: &mut Day, round: usize) -> String {
        for input in day.inputs(round) {
            self.engine.take(&input);
        }
        self.newest = self.engine.snapshot();
        let now = day.moment(round);
        let (width, height) = SIZES[round % SIZES.len()];
        self.drawn(now, width, height);
        let buffer = self.drawn(now, 80, 24);
        let rows =
            buffer.content.chunks(80).map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }

    fn drawn(&mut self, now: Moment, width: u16, height: u16) -> Buffer {
        let shown = Shown {
            newest: self.newest.as_ref(),
            now,
            palette: &self.palette,
            keys: &self.keys,
            status: &self.status,
            library: &headwater_engine::library::EMPTY,
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.kiosk.draw(&shown, buffer.area, &mut buffer);
        buffer
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        self.newest.as_ref().expect("a round was played")
    }

    /// Whether something is guilty now.
    pub(crate) fn is_failing(&self) -> bool {
        let report = &self.snapshot().report;
        report.conclusion == Conclusion::Guilty && report.ended().is_none()
    }

    /// Whether no panel gives way to the next: somebody is guilty, or suspected while callers suffer.
    pub(crate) fn stays(&self) -> bool {
        let report = &self.snapshot().report;
        let is_suspected = report.suspects.iter().any(Suspect::goes_on);
        self.is_failing() || report.ended().is_none() && report.symptom.is_some() && is_suspected
    }
}
