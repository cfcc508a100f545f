//! What a screen costs under a thousand shards: the building of a snapshot and one full frame at 200x60.
//!
//! A fleet of a thousand shards is read once a second; after each evaluation the snapshot is built anew and drawn, the
//! terminal's difference and its bytes included. Processor time of one thread, as a distribution.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;

use headwater_engine::Moment;
use headwater_panels::{Command, Keymap, Palette, Screen, Shown, Status};
use headwater_widgets::Glyphs;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

mod engine {
    pub(crate) mod fleet;
}
use engine::fleet::{Fleet, timed};

const SHARDS: usize = 1_000;
const WARM: u32 = 120;
const FRAMES: u32 = 1_000;
const SIZE: Rect = Rect { x: 0, y: 0, width: 200, height: 60 };

fn main() {
    let mut fleet = Fleet::new(SHARDS, 1);
    for _ in 0..WARM {
        second(&mut fleet);
    }
    let mut out = std::io::stdout().lock();
    let series = fleet.engine.store().series_count();
    writeln!(out, "{SHARDS} shards, {series} series, {FRAMES} frames of {}x{}", SIZE.width, SIZE.height)
        .expect("standard output");
    writeln!(out, "| panel | part | p50 | p90 | p99 | worst |").expect("standard output");
    writeln!(out, "| --- | --- | --- | --- | --- | --- |").expect("standard output");
    for panel in ["overview", "shards"] {
        for (part, mut times, unit) in measure(&mut fleet, panel) {
            times.sort_by(f64::total_cmp);
            let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
            writeln!(
                out,
                "| {panel} | {part} | {:.2} {unit} | {:.2} {unit} | {:.2} {unit} | {:.2} {unit} |",
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0)
            )
            .expect("standard output");
        }
    }
}

fn second(fleet: &mut Fleet) {
    let readings = fleet.next_readings();
    readings.iter().for_each(|reading| fleet.engine.take(reading));
    let tick = fleet.tick();
    fleet.engine.take(&tick);
}

/// Counts what it is given.
struct Counting(Rc<Cell<usize>>);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The parts of a frame with their times in milliseconds, and the bytes that the terminal was sent in kilobytes.
fn measure(fleet: &mut Fleet, panel: &str) -> [(&'static str, Vec<f64>, &'static str); 4] {
    let palette = Palette::mono(Glyphs::Unicode);
    let keys = Keymap::default();
    let status = Status::default();
    let mut screen = Screen::new();
    let usual = Shown { newest: None, now: Moment(0), palette: &palette, keys: &keys, status: &status };
    let command = Command::by_name(panel).expect("a panel");
    screen.take(command, &usual);
    let written = Rc::new(Cell::new(0));
    let options = TerminalOptions { viewport: Viewport::Fixed(SIZE) };
    let mut terminal = Terminal::with_options(CrosstermBackend::new(Counting(Rc::clone(&written))), options)
        .expect("a terminal in memory");
    let (mut builds, mut frames, mut both, mut sent) = (vec![], vec![], vec![], vec![]);
    for _ in 0..FRAMES {
        second(fleet);
        let mut snapshot = None;
        let build = timed(|| snapshot = fleet.engine.rebuilt().map(std::sync::Arc::new));
        let snapshot = snapshot.expect("an evaluation");
        let frame = timed(|| {
            let shown = Shown { newest: Some(&snapshot), now: snapshot.at, ..usual };
            terminal
                .draw(|frame| screen.draw(&shown, frame.area(), frame.buffer_mut()))
                .expect("a terminal in memory");
        });
        sent.push(written.take() as f64 / 1e3);
        builds.push(build.as_secs_f64() * 1e3);
        frames.push(frame.as_secs_f64() * 1e3);
        both.push((build + frame).as_secs_f64() * 1e3);
    }
    [("snapshot", builds, "ms"), ("frame", frames, "ms"), ("both", both, "ms"), ("sent", sent, "kB")]
}
