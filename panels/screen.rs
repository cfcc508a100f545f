//! The whole screen: head, panels, bar of keys, and whatever lies over them. Keys go in, effects come out.
//!
//! [`Screen::press`] is a function of the screen's state, the key and what is shown: it changes nothing but the screen
//! and says what the application should do.

mod acting;
mod banner;
mod bar;
pub(crate) mod connecting;
mod head;
mod notice;
mod overlay;
mod status;
mod travel;

use std::sync::Arc;

use headwater_engine::Snapshot;
use headwater_engine::filter::Filter;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::keys::{Command, Stroke};
use crate::panel::{Effect, PANELS, Panel, View};
pub use bar::first_keys;
pub use notice::{About, Notice};
use overlay::{Around, Overlay};
pub use status::{Feed, Shown, Status};

/// The state of the screen: which panel is open, what is frozen, what lies over it.
pub struct Screen {
    panels: Vec<Box<dyn Panel>>,
    active: usize,
    /// Panels that were left, the last one last.
    left: Vec<usize>,
    /// The snapshot that is held still; it says by itself whether it was gone back to.
    held: Option<Arc<Snapshot>>,
    overlay: Option<Box<dyn Overlay>>,
    /// Filters that were typed on each panel, the newest last.
    filters: Vec<Vec<String>>,
    /// A filter that is in force on a panel until it is left, because another panel opened it so.
    lent: Option<Lent>,
    /// A note that was begun and put aside.
    draft: String,
    /// Answers to runbooks that stood in the report that was written last.
    written: usize,
    notice: Option<Notice>,
    hint: Option<String>,
    /// Where it was last drawn, and the panel within.
    area: Rect,
    body: Rect,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Screen").field("panel", &self.name()).finish_non_exhaustive()
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen {
    /// The first panel, live.
    pub fn new() -> Self {
        Self {
            panels: PANELS.iter().map(|row| (row.make)()).collect(),
            active: 0,
            left: vec![],
            held: None,
            overlay: None,
            filters: vec![vec![]; PANELS.len()],
            lent: None,
            draft: String::new(),
            written: 0,
            notice: None,
            hint: None,
            area: Rect::ZERO,
            body: Rect::ZERO,
        }
    }

    /// The name of the panel that is open.
    pub fn name(&self) -> &'static str {
        PANELS[self.active].name
    }

    /// The snapshot that is held still while the newest one goes on, `None` while the newest is shown. When it was
    /// gone back to, [`Snapshot::gone_back_from`] says so; else the screen is frozen since its moment.
    pub fn held(&self) -> Option<&Arc<Snapshot>> {
        self.held.as_ref()
    }

    /// Says in one line what became of an effect.
    pub fn say(&mut self, text: impl Into<String>, is_error: bool) {
        self.notice = Some(Notice::new(text, is_error));
    }

    /// Says what can be pressed first, until the first key; [`first_keys`] has the words.
    pub fn hint(&mut self, text: impl Into<String>) {
        self.hint = Some(text.into());
    }

    /// Leads a newcomer through: the runbook is open, and panels explain themselves.
    pub fn walkthrough(mut self) -> Self {
        self.panels.iter_mut().for_each(|panel| panel.explain());
        self.active = PANELS.iter().position(|row| row.name == "runbook").unwrap_or(self.active);
        self
    }

    /// Takes a key.
    pub fn press(&mut self, stroke: Stroke, shown: &Shown<'_>) -> Vec<Effect> {
        self.notice = None;
        self.hint = None;
        if let Some(mut overlay) = self.overlay.take() {
            if overlay::is_way_out(stroke, shown.keys) {
                let Some(objection) = overlay.objection() else { return vec![Effect::Quit] };
                self.say(objection, true);
                self.overlay = Some(overlay);
                return vec![];
            }
            let step = overlay.press(stroke, &mut self.around(shown));
            return self.follow(step, overlay, shown);
        }
        match shown.keys.command(stroke) {
            Some(command) => self.take(command, shown),
            // Escape and a key that come at once, as over a slow line, are read as that key with alt.
            None if stroke.alt => {
                let mut effects = self.press(Stroke::plain(crate::Key::Esc), shown);
                effects.extend(self.press(Stroke { alt: false, ..stroke }, shown));
                effects
            }
            None => vec![],
        }
    }

    /// Takes a text that was pasted; it goes where text is typed, and nowhere else.
    pub fn paste(&mut self, text: &str, shown: &Shown<'_>) -> Vec<Effect> {
        if let Some(mut overlay) = self.overlay.take() {
            overlay.paste(text, &mut self.around(shown));
            self.overlay = Some(overlay);
        }
        vec![]
    }

    /// Takes a click on a cell of the screen: on the name of a panel, or within the panel that is open.
    pub fn click(&mut self, at: Position, shown: &Shown<'_>) -> Vec<Effect> {
        if self.overlay.is_some() {
            return vec![];
        }
        self.notice = None;
        self.hint = None;
        let tabs = head::tabs(self.active, shown, self.area);
        if let Some((place, ..)) = tabs.into_iter().find(|(_, tab, _)| tab.contains(at)) {
            self.show(place);
            return vec![];
        }
        let Some(snapshot) = self.snapshot(shown).filter(|_| self.body.contains(at)) else { return vec![] };
        let asked = self.panels[self.active].click(at, &view(shown, &snapshot));
        self.settle(asked, shown).unwrap_or_default()
    }

    /// Takes one notch of the mouse wheel; a panel that does not move says nothing of it.
    pub fn wheel(&mut self, is_up: bool, shown: &Shown<'_>) -> Vec<Effect> {
        if let Some(overlay) = &mut self.overlay {
            overlay.wheel(is_up);
            return vec![];
        }
        let action = if is_up { Action::Up } else { Action::Down };
        let asked = self.ask_panel(action, shown);
        self.settle(asked, shown).unwrap_or_default()
    }

    /// Takes a command, from a key or from the command line.
    pub fn take(&mut self, command: Command, shown: &Shown<'_>) -> Vec<Effect> {
        match command {
            Command::Show(place) => {
                self.show(place);
                vec![]
            }
            Command::Act(action) => self.act(action, shown),
        }
    }

    /// Draws everything. Any size will do: what is typed comes first, then the panel's most important lines.
    pub fn draw(&mut self, shown: &Shown<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        self.area = area;
        self.body = Rect::ZERO;
        if area.is_empty() {
            return;
        }
        buffer.set_style(area, shown.palette.ground);
        let snapshot = self.snapshot(shown);
        let wanted = self.overlay.as_ref().map_or(0, |overlay| overlay.docked(area.width));
        let (mut rest, docked) = split_below(area, area.height.saturating_sub(wanted));
        if !rest.is_empty() {
            let head = head::draw(self, snapshot.as_deref(), shown, rest, buffer);
            (_, rest) = split_below(rest, head);
            let banner = banner::draw(self, shown, area.height, rest, buffer);
            (_, rest) = split_below(rest, banner);
        }
        let below_head = rest;
        let bar = if docked.is_empty() { bar::rows(self, shown, area.height, rest) } else { 0 };
        (rest, _) = split_below(rest, rest.height - bar);
        self.body = rest;
        match &snapshot {
            Some(snapshot) => self.panels[self.active].draw(&view(shown, snapshot), rest, buffer),
            None => connecting::draw(shown, rest, buffer),
        }
        if bar > 0 {
            let (_, place) = split_below(below_head, below_head.height - bar);
            bar::draw(self, shown, place, buffer);
        }
        self.draw_overlay(docked, rest, shown, buffer);
        shown.palette.glyphs.fit(buffer, area);
    }

    fn draw_overlay(&mut self, docked: Rect, rest: Rect, shown: &Shown<'_>, buffer: &mut Buffer) {
        if let Some(mut overlay) = self.overlay.take() {
            // What is typed in a window needs a few rows, and takes those of the head where there are no others.
            let over = if docked.is_empty() && rest.height < LEAST_OVER { self.area } else { rest };
            overlay.draw(&mut self.around(shown), docked, over, buffer);
            self.overlay = Some(overlay);
        }
    }

    /// Where the terminal's cursor belongs while text is typed.
    pub fn cursor(&self) -> Option<Position> {
        self.overlay.as_ref()?.cursor().filter(|at| self.area.contains(*at))
    }

    /// The panel at a place, to be looked at or replaced.
    #[cfg(test)]
    pub(crate) fn place(&mut self, place: usize) -> &mut Box<dyn Panel> {
        &mut self.panels[place]
    }

    #[cfg(test)]
    pub(crate) fn body(&self) -> Rect {
        self.body
    }

    fn show(&mut self, place: usize) {
        if place < self.panels.len() && place != self.active {
            self.left.retain(|left| *left != self.active);
            self.left.push(self.active);
            self.active = place;
        }
    }

    /// What is drawn: what is held still, else the newest.
    fn snapshot(&self, shown: &Shown<'_>) -> Option<Arc<Snapshot>> {
        self.held.as_ref().or(shown.newest).cloned()
    }

    fn around<'a>(&'a mut self, shown: &'a Shown<'a>) -> Around<'a> {
        let snapshot = self.snapshot(shown);
        Around { shown, panel: self.panels[self.active].as_mut(), snapshot, row: &PANELS[self.active] }
    }
}

/// A filter that a panel has until it is left.
struct Lent {
    /// Which panel.
    place: usize,
    filter: String,
    /// What was in force there, which it gets back.
    before: Option<Filter>,
}

/// Below this height what lies over the panels takes the whole screen.
const LEAST_OVER: u16 = 5;

/// The first rows of an area, at most all of them, and what is below.
fn split_below(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

fn view<'a>(shown: &Shown<'a>, snapshot: &'a Snapshot) -> View<'a> {
    View {
        snapshot,
        now: shown.now,
        palette: shown.palette,
        keys: shown.keys,
        is_replay: shown.status.is_replay(),
        library: shown.library,
    }
}

#[cfg(test)]
mod tests;
