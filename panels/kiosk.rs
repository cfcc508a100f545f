//! The screen of a wall without a keyboard: panels in turn, the failing one while something fails, and in big type what
//! can be read from across the room.
//!
//! While something is guilty, or suspected and callers suffer, the wall shows the panel of the shards when the first
//! suspect is a shard, because its strips show which one differs and since when, that of GPUs when it is one or what
//! feeds it, and else the overview, which says who is guilty and why; the verdict itself stands in big type above
//! either. A clock and the age of the data are always in sight, so that nobody takes an old picture for the present.

mod face;

use std::time::Duration;

use headwater_engine::report::Verdict;
use headwater_engine::{Kind, Moment, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::keys::{Command, Keymap, Stroke};
use crate::panel::{Effect, PANELS, Panel, View};
use crate::screen::Shown;

/// How long each panel is shown unless it is said otherwise.
pub const TURN: Duration = Duration::from_secs(15);

/// How often everything moves by one cell, so that no picture burns into a screen that never sleeps.
const SHIFT_EVERY: Duration = Duration::from_secs(180);

/// Where the picture stands within its margin, one cell from one place to the next.
const SHIFTS: &[(u16, u16)] = &[(1, 1), (2, 1), (2, 2), (1, 2), (0, 2), (0, 1), (0, 0), (1, 0)];

/// The rule that accuses a machine of what is seen at its GPUs.
const LAUNCH_STALL: &str = "launch-stall";

/// Below this size every cell is needed, and there is no margin.
const LEAST_FOR_MARGIN: (u16, u16) = (40, 12);

/// The state of a kiosk: what is shown, since when, and how often it has turned.
pub struct Kiosk {
    panels: Vec<Box<dyn Panel>>,
    /// Places of the panels that are shown in turn.
    turns: Vec<usize>,
    every: Duration,
    /// Which of the turns it is, and since when.
    turn: usize,
    since: Option<Moment>,
    /// The panel that something keeps in sight.
    kept: Option<usize>,
    rotations: u64,
}

impl std::fmt::Debug for Kiosk {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Kiosk").field("showing", &self.showing()).finish_non_exhaustive()
    }
}

impl Kiosk {
    /// Shows the panels with these names in turn, each for so long; unknown names are left out, and without any it
    /// shows all that are meant for walls.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, every: Duration) -> Self {
        let place = |name: &str| PANELS.iter().position(|row| row.name == name);
        let mut turns: Vec<usize> = names.into_iter().filter_map(place).collect();
        if turns.is_empty() {
            turns = (0..PANELS.len()).filter(|place| PANELS[*place].is_for_walls).collect();
        }
        Self {
            panels: PANELS.iter().map(|row| (row.make)()).collect(),
            turns,
            every: every.max(Duration::from_secs(1)),
            turn: 0,
            since: None,
            kept: None,
            rotations: 0,
        }
    }

    /// The name of the panel that is shown.
    pub fn showing(&self) -> &'static str {
        PANELS[self.place()].name
    }

    /// How many times it went on to another panel.
    pub fn rotations(&self) -> u64 {
        self.rotations
    }

    /// Takes a key: only the one that leaves the kiosk does anything.
    pub fn press(&mut self, stroke: Stroke, keys: &Keymap) -> Vec<Effect> {
        match keys.command(stroke) {
            Some(Command::Act(Action::LeaveKiosk)) => vec![Effect::Quit],
            _ => vec![],
        }
    }

    /// Goes on to the panel whose turn it is at this time.
    pub fn turn(&mut self, shown: &Shown<'_>) {
        let now = shown.now;
        self.kept = shown.newest.and_then(|newest| failing(newest));
        // Nothing turns while something fails, and when a clock was set back the turn begins anew.
        let since = self.since.filter(|since| *since <= now && self.kept.is_none());
        let Some(since) = since else {
            self.since = Some(now);
            return;
        };
        let turns = now.since(since).as_millis() / self.every.as_millis();
        let count = self.turns.len();
        self.turn = (self.turn + (turns % count as u128) as usize) % count;
        self.rotations = self.rotations.saturating_add(u64::try_from(turns).unwrap_or(u64::MAX));
        let whole = self.every.saturating_mul(u32::try_from(turns).unwrap_or(u32::MAX));
        self.since = Some(since + whole);
    }

    /// Draws it, after it went on to the panel whose turn it is. Any size will do.
    pub fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
        self.turn(shown);
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        buffer.set_style(area, shown.palette.ground);
        let place = self.place();
        let said = match self.kept {
            Some(_) => format!("{}, while this lasts", PANELS[place].title),
            None => format!("{}, {} of {}", PANELS[place].title, self.turn + 1, self.turns.len()),
        };
        let rest = face::draw(shown, &said, shifted(area, shown.now), buffer);
        if let Some(snapshot) = shown.newest.filter(|_| !rest.is_empty()) {
            // Nobody can press a key here, so none is offered.
            let keys = Keymap::default();
            let view = View {
                snapshot,
                now: shown.now,
                palette: shown.palette,
                keys: &keys,
                is_replay: shown.status.is_replay(),
                library: shown.library,
            };
            self.panels[place].draw_on_wall(&view, rest, buffer);
        }
        shown.palette.glyphs.fit(buffer, area);
    }

    fn place(&self) -> usize {
        self.kept.or_else(|| self.turns.get(self.turn).copied()).unwrap_or(0)
    }
}

/// The panel that shows what fails now, be it proven or, while callers suffer, only suspected; `None` while nobody is, and when
/// what was has ended. What is suspected while nobody suffers may be so for weeks, as memory that decoding fills.
fn failing(snapshot: &Snapshot) -> Option<usize> {
    let report = &snapshot.report;
    if report.ended().is_some() {
        return None;
    }
    let shards: Vec<_> = snapshot.topologies.iter().flat_map(|topology| &topology.shards).collect();
    let guilty = report.suspects.iter().find(|suspect| suspect.verdict == Verdict::Guilty);
    let suspected = || report.suspects.iter().find(|suspect| suspect.goes_on());
    let first = guilty.or_else(|| report.symptom.as_ref().and_then(|_| suspected()))?;
    let is_shard = shards.iter().any(|shard| {
        shard.subject == first.subject || first.subject.parent().as_ref() == Some(&shard.subject)
    });
    // What feeds a GPU shows there as well: its launches, and how little it has to do.
    let is_gpu = first.subject.kind() == Kind::Gpu || first.rule == LAUNCH_STALL;
    let name = match (is_shard, is_gpu) {
        (true, _) => "shards",
        (_, true) => "gpu",
        _ => "overview",
    };
    PANELS.iter().position(|row| row.name == name)
}

/// The area within the margin at this time.
fn shifted(area: Rect, now: Moment) -> Rect {
    if area.width < LEAST_FOR_MARGIN.0 || area.height < LEAST_FOR_MARGIN.1 {
        return area;
    }
    let step = now.0.div_euclid(SHIFT_EVERY.as_millis() as i64).rem_euclid(SHIFTS.len() as i64) as usize;
    let (x, y) = SHIFTS[step];
    Rect { x: area.x + x, y: area.y + y, width: area.width - 2, height: area.height - 2 }
}

#[cfg(test)]
mod tests;
