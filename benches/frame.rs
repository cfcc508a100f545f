//! What a screen costs under a thousand shards: the building of a snapshot and one full frame at 200x60.
//!
//! A fleet of a thousand shards is read once a second; after each evaluation the snapshot is built anew and drawn, the
//! terminal's difference and its bytes included. Processor time of each one's thread, as a distribution.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use headwater::theme::{Depth, Theme};
use headwater_engine::{Moment, Snapshot};
use headwater_panels::{Command, Keymap, Screen, Shown, Status};
use headwater_widgets::Glyphs;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

mod engine {
    pub(crate) mod fleet;
}
use engine::fleet::{Fleet, timed};

/// The application's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
    writeln!(out, "| panel | part | mean | p50 | p90 | p99 | worst |").expect("standard output");
    writeln!(out, "| --- | --- | --- | --- | --- | --- | --- |").expect("standard output");
    for panel in ["overview", "shards"] {
        for (part, mut times, unit) in measure(&mut fleet, panel) {
            times.sort_by(f64::total_cmp);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
            writeln!(
                out,
                "| {panel} | {part} | {mean:.2} {unit} | {:.2} {unit} | {:.2} {unit} | {:.2} {unit} | {:.2} {unit} |",
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
fn measure(fleet: &mut Fleet, panel: &'static str) -> [(&'static str, Vec<f64>, &'static str); 4] {
    let (show, shown) = channel::<Arc<Snapshot>>();
    let (tell, told) = channel();
    // As in the application the screen has a thread of its own: what one thread frees, another does not sort.
    let screen = std::thread::spawn(move || draw_each(panel, &shown, &tell));
    let (mut builds, mut frames, mut both, mut sent) = (vec![], vec![], vec![], vec![]);
    for _ in 0..FRAMES {
        second(fleet);
        let mut snapshot = None;
        let build = timed(|| snapshot = fleet.engine.rebuilt().map(Arc::new));
        show.send(snapshot.expect("an evaluation")).expect("a screen");
        let (frame, bytes) = told.recv().expect("a frame");
        sent.push(bytes as f64 / 1e3);
        builds.push(build.as_secs_f64() * 1e3);
        frames.push(frame.as_secs_f64() * 1e3);
        both.push((build + frame).as_secs_f64() * 1e3);
    }
    drop(show);
    screen.join().expect("the screen ends with what it is shown");
    [("snapshot", builds, "ms"), ("frame", frames, "ms"), ("both", both, "ms"), ("sent", sent, "kB")]
}

/// Draws what it is shown, and tells the time and the bytes of each frame.
fn draw_each(panel: &str, snapshots: &Receiver<Arc<Snapshot>>, tell: &Sender<(Duration, usize)>) {
    let theme = Theme::built_in("dark").expect("a built-in theme");
    let palette = theme.palette(Depth::True, Glyphs::Unicode);
    let library = headwater::library::built_in();
    let keys = Keymap::default();
    let status = Status::default();
    let mut screen = Screen::new();
    let usual = Shown {
        newest: None,
        now: Moment(0),
        palette: &palette,
        keys: &keys,
        status: &status,
        library: &library,
    };
    let command = Command::by_name(panel).expect("a panel");
    screen.take(command, &usual);
    let written = Rc::new(Cell::new(0));
    let options = TerminalOptions { viewport: Viewport::Fixed(SIZE) };
    let mut terminal = Terminal::with_options(CrosstermBackend::new(Counting(Rc::clone(&written))), options)
        .expect("a terminal in memory");
    for snapshot in snapshots {
        let frame = timed(|| {
            let shown = Shown { newest: Some(&snapshot), now: snapshot.at, ..usual };
            terminal
                .draw(|frame| screen.draw(&shown, frame.area(), frame.buffer_mut()))
                .expect("a terminal in memory");
        });
        tell.send((frame, written.take())).expect("a listener");
    }
}
