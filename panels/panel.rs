//! What a panel is, and the PANELS table.

use headwater_engine::filter::{FieldRow, Filter};
use headwater_engine::reading::{ActKind, KeyMethod};
use headwater_engine::snapshot::ActsUntil;
use headwater_engine::{Library, Moment, Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::keys::Keymap;
use crate::palette::Palette;
use crate::{
    cases, changes, gateway, gpu, graph, keyspace, overview, queue, rules, runbook, shards, slow_log,
    sources, ttft,
};

/// One row of [`PANELS`].
#[derive(Debug)]
pub struct PanelRow {
    /// The name that the command line and keymaps use.
    pub name: &'static str,
    /// The title.
    pub title: &'static str,
    /// A short title for the list of panels.
    pub short: &'static str,
    /// One sentence: what it answers.
    pub help: &'static str,
    /// Whether a wall without a keyboard shows it in turn.
    pub is_for_walls: bool,
    /// Makes the panel as it is when Headwater starts.
    pub make: fn() -> Box<dyn Panel>,
}

/// Every panel, in the order of the keys and of `next-panel`. A panel is one file and its line here.
pub static PANELS: &[PanelRow] = &[
    overview::ROW,
    graph::ROW,
    shards::ROW,
    slow_log::ROW,
    keyspace::ROW,
    queue::ROW,
    ttft::ROW,
    gateway::ROW,
    gpu::ROW,
    runbook::ROW,
    cases::ROW,
    changes::ROW,
    sources::ROW,
    rules::ROW,
];

/// What a panel is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The moment that is shown.
    pub snapshot: &'a Snapshot,
    /// What the time is, by the observer's clock; later than the snapshot, much later when nothing comes any more.
    pub now: Moment,
    /// Colours and characters.
    pub palette: &'a Palette,
    /// Which key does what, for hints; none where nobody can press any, and then nothing is said of keys.
    pub keys: &'a Keymap,
    /// Whether a recording is played, which cannot be asked anything new.
    pub is_replay: bool,
    /// Runbooks and past cases.
    pub library: &'a Library,
}

/// A panel with its own view state: cursor, order, filter, what is drilled into.
pub trait Panel {
    /// Draws itself, the most important first; any size will do.
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer);

    /// Draws itself for who stands across the room and has no key to press; as on any other screen unless it has a picture
    /// for that.
    fn draw_on_wall(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        self.draw(view, area, buffer);
    }

    /// Takes an action.
    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome;

    /// The actions of [`Scope::Panel`](crate::action::Scope) that it takes, and in bars of keys the most useful first.
    fn actions(&self) -> &'static [Action] {
        &[]
    }

    /// What the bar of keys says beside the key of an action, two words at most; `None` while it would do nothing.
    fn short(&self, action: Action, _view: &View<'_>) -> Option<&'static str> {
        Some(action.row().short)
    }

    /// Words that stand on the panel and need to be explained in help, each with a sentence.
    fn words(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What a filter can ask of its rows; empty when it has no rows to filter.
    fn fields(&self) -> Vec<FieldRow> {
        vec![]
    }

    /// Keeps only the rows of this filter; `None` keeps all.
    fn set_filter(&mut self, _filter: Option<Filter>) {}

    /// The filter in force.
    fn filter(&self) -> Option<&Filter> {
        None
    }

    /// What `copy` copies: the row under the cursor, or what the panel comes to.
    fn copied(&self, _view: &View<'_>) -> Option<String> {
        None
    }

    /// Takes a click on a cell of its area.
    fn click(&mut self, _at: Position, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }

    /// Opens the detail of a subject, when it has one.
    fn open(&mut self, _subject: &Subject) {}

    /// Closes what is open, so that its rows are to be seen and [`Panel::fields`] tells of them.
    fn close(&mut self) {}

    /// Opens its explanations, for whoever is led through it.
    fn explain(&mut self) {}

    /// Hears what became of a report that was written, and which acts of people stand in it.
    fn written(&mut self, _told: &str, _acts: ActsUntil) {}

    /// Hears that it was let do this, after it asked by [`Intent::Ask`].
    fn agreed(&mut self, _effect: &Effect) {}

    /// Takes the line that it asked for by [`Intent::AskText`].
    fn typed(&mut self, _text: &str, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
}

/// What an action came to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It means nothing here.
    Ignored,
    /// Done; the panel has changed or not.
    Done,
    /// It means nothing at present, for this reason.
    Refused(String),
    /// Somebody else has to do something.
    Wants(Intent),
}

/// What a panel asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Opens another panel (by its name), on the detail of a subject when there is one.
    Show(&'static str, Option<Subject>),
    /// Opens another panel (by its name) with a filter in force, until `back` leads here again.
    Look(&'static str, Option<String>),
    /// Has something done at once.
    Do(Effect),
    /// Asks first, with what it costs and risks; `enter` does it.
    Ask(String, Effect),
    /// Asks for a line of text under this title; [`Panel::typed`] takes it.
    AskText(String),
}

/// What the application does for the screen; the screen itself changes nothing in the world.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Ends the application.
    Quit,
    /// Copies a text to the clipboard of the terminal.
    Copy(String),
    /// Copies the whole report as Markdown to the clipboard of the terminal.
    CopyReport,
    /// Writes the report as Markdown and JSON into files.
    Export,
    /// Records a mark on the time axis.
    Mark(String),
    /// Records a note.
    Note(String),
    /// Records what the operator did: an answer to a step, an action taken.
    Act(ActKind),
    /// Writes the finished incident as a case into the user's folder.
    SaveCase,
    /// Starts a scan for big keys of a shard.
    Scan(Subject),
    /// Pauses the scan of a shard or lets it go on.
    PauseScan(Subject),
    /// Ends the scan of a shard and every search of it for hot keys.
    CancelScan(Subject),
    /// Searches a shard for hot keys, after its cost was shown and agreed to.
    Search(Subject, KeyMethod),
    /// Times kernels once on a GPU of this machine, or on the one that is there.
    TimeKernels(Option<Subject>),
    /// Draws the whole screen anew.
    Redraw,
    /// Takes the mouse, or gives it back.
    Mouse(bool),
    /// Takes the theme after the present one.
    NextTheme,
    /// Stops the process until the shell continues it.
    Suspend,
    /// Steers a replay.
    Play(Play),
}

/// What a replay is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Play {
    /// Pauses, or goes on.
    Pause,
    /// Plays one second and pauses.
    Step,
    /// Plays this many times as fast as now.
    Speed(f64),
    /// Goes to this moment.
    Seek(Moment),
}

impl Outcome {
    /// Whether the action does something, so that a bar of keys may offer it.
    pub fn does_something(&self) -> bool {
        matches!(self, Self::Done | Self::Wants(_))
    }
}

#[cfg(test)]
mod tests {
    use headwater_widgets::Glyphs;

    use super::*;
    use crate::action::Scope;
    use crate::example::{Trouble, World, drawn, keys, live};

    /// Every panel with its cursor so many rows further down, as it is drawn.
    fn opened(row: &PanelRow, view: &View<'_>, down: usize) -> Box<dyn Panel> {
        let mut panel = (row.make)();
        drawn(&mut *panel, view.snapshot, view.palette, 80, 24);
        for _ in 0..down {
            panel.act(Action::Down, view);
        }
        drawn(&mut *panel, view.snapshot, view.palette, 80, 24);
        panel
    }

    #[test]
    fn keys_that_are_offered_do_something() {
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
        let mut offered = 0;
        for (trouble, is_replay) in [
            (Trouble::FullLink, false),
            (Trouble::FullLink, true),
            (Trouble::None, false),
            (Trouble::Late, false),
            (Trouble::Refused, false),
            (Trouble::Nothing, false),
        ] {
            let snapshot = World::after(trouble, 45);
            let view = View { is_replay, ..live(&snapshot, &palette, &keys) };
            for (row, down) in PANELS.iter().flat_map(|row| (0..6).map(move |down| (row, down))) {
                let panel = opened(row, &view, down);
                let of_tables = (!panel.fields().is_empty()).then_some(Action::Open);
                let actions: Vec<Action> = panel.actions().iter().copied().chain(of_tables).collect();
                let is_offered = |action: &Action| panel.short(*action, &view).is_some();
                for action in actions.into_iter().filter(is_offered) {
                    let outcome = opened(row, &view, down).act(action, &view);
                    let is_for_the_screen =
                        action.row().scope == Scope::Everywhere && outcome == Outcome::Ignored;
                    let place = format!("{} of {trouble:?} after {down}, replay {is_replay}", row.name);
                    assert!(outcome.does_something() || is_for_the_screen, "{place}: {action:?} {outcome:?}");
                    offered += 1;
                }
            }
        }
        assert!(offered > 100, "{offered}");
    }

    #[test]
    fn names_of_panels_are_unique_and_no_actions() {
        for (place, row) in PANELS.iter().enumerate() {
            assert!(PANELS[..place].iter().all(|other| other.name != row.name), "'{}'", row.name);
            assert!(Action::by_name(row.name).is_none(), "'{}' is an action too", row.name);
        }
    }
}
