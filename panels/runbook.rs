//! What to ask next, what good looks like, and what to do.

mod answers;
mod beside;
mod choice;
mod head;
mod hint;
mod list;
mod shown;
mod step_lines;
mod words;

use headwater_engine::Moment;
use headwater_engine::reading::ActKind;
use headwater_engine::runbook::Offer;
use headwater_engine::snapshot::ActsUntil;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::big_key_scan;
use crate::page::Page;
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, Panel, PanelRow, View};
use answers::Asked;
use beside::Beside;
use choice::Choice;
use shown::{Known, Shown};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "runbook",
    title: "Runbook",
    short: "Runbook",
    help: "what to ask next, what good looks like, and what to do",
    is_for_walls: false,
    make: || Box::new(RunbookPanel::default()),
};

/// From this width on the list of steps stands beside the step, and from this one the panel of the step beside both.
const WITH_LIST: u16 = 76;
const WITH_PANEL: u16 = 130;

/// Cells of the list of steps.
const LIST: u16 = 24;

/// From this height on there is a title, and the hint has a row of its own.
const WITH_TITLE: u16 = 5;
const WITH_HINT: u16 = 3;

#[derive(Default)]
struct RunbookPanel {
    /// The runbook that was chosen, by its id.
    chosen: Option<String>,
    /// The list of runbooks, while it is open.
    choice: Option<Choice>,
    /// The step that is looked at, by its id; without one the step that was due when the last act was recorded.
    looked_at: Option<String>,
    /// The step that was due then, and how many acts there were: what becomes due while somebody reads is told, and the step
    /// under his eyes stays.
    followed: Option<(ActsUntil, String)>,
    /// The action under the cursor; the first that is not taken yet while none was chosen.
    action: Option<usize>,
    /// Whether the cursor has moved and its action is to be brought into sight.
    is_moved: bool,
    is_explained: bool,
    /// The runbook and the step that the page shows.
    paged: [String; 2],
    /// How far it is scrolled.
    page: Page,
    asked: Option<Asked>,
    /// When a scan was let begin; it is seen a little later.
    scan_began: Option<Moment>,
    beside: Beside,
    /// What became of the report that was written last, and the acts that stand in it.
    written: Option<(ActsUntil, String)>,
    /// How far the runbook has come, as of one snapshot.
    known: Option<Known>,
}

impl Panel for RunbookPanel {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        if let Some(choice) = &mut self.choice {
            return choice.draw(view, area, buffer);
        }
        let Some(shown) = self.shown(view) else {
            let role = view.palette.style(ColorRole::Faint);
            buffer.set_stringn(area.x, area.y, "there is no runbook", area.width.into(), role);
            return;
        };
        let title = u16::from(area.height >= WITH_TITLE);
        let hint = if area.height >= WITH_HINT { hint::rows(&shown, view, area) } else { 0 };
        head::draw(&shown, view, Rect { height: title, ..area }, buffer);
        let hint_row = Rect { y: area.bottom() - hint, height: hint, ..area };
        hint::draw(&shown, view, hint_row, buffer);
        let mut body = Rect { y: area.y + title, height: area.height - title - hint, ..area };
        if body.width >= WITH_PANEL {
            let left = body.width / 2;
            let right = Rect { x: body.x + left + 1, width: body.width - left - 1, ..body };
            self.beside.draw(shown.step, view, right, buffer);
            body.width = left;
        }
        if body.width >= WITH_LIST || area.width >= WITH_PANEL {
            list::draw(&shown, view, Rect { width: LIST.min(body.width), ..body }, buffer);
            let taken = LIST.min(body.width);
            body =
                beside::parted(Rect { x: body.x + taken, width: body.width - taken, ..body }, view, buffer);
        }
        self.draw_step(&shown, view, body, buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        if let Some(choice) = &mut self.choice {
            match choice.act(action, view) {
                choice::Chosen::Stay(outcome) => return outcome,
                choice::Chosen::Leave(chosen) => {
                    self.choice = None;
                    if chosen.is_some() {
                        (self.chosen, self.looked_at, self.followed, self.known) = (chosen, None, None, None);
                    }
                    return Outcome::Done;
                }
            }
        }
        let Some(shown) = self.shown(view) else { return Outcome::Ignored };
        match action {
            Action::Confirm => self.confirm(&shown, view),
            Action::Override => self.ask(Asked::Override, &shown, view),
            Action::Skip => self.ask(Asked::Skip, &shown, view),
            Action::Reopen => self.reopen(&shown, view),
            Action::Done => self.done(&shown, view),
            Action::Explain => {
                self.is_explained = !self.is_explained;
                Outcome::Done
            }
            Action::ChooseRunbook => {
                self.choice = Some(Choice::of(&shown.runbook.id));
                Outcome::Done
            }
            Action::Left => self.go(&shown, shown.place.checked_sub(1)),
            Action::Right => self.go(&shown, Some(shown.place + 1)),
            Action::Open => {
                let row = beside::row(shown.step);
                let Some(row) = row else { return Outcome::Refused("this step names no panel".to_owned()) };
                Outcome::Wants(Intent::Look(row.name, shown.step.filter.clone()))
            }
            Action::Copy => copy(&shown),
            Action::Scan | Action::PauseScan | Action::CancelScan => match hint::shard_to_scan(view.snapshot)
            {
                Some(shard) => big_key_scan::act(action, Some(&shard), view),
                None => Outcome::Refused(
                    "a scan would tell nothing more: no shard's keys are in question".to_owned(),
                ),
            },
            Action::Up if shown.offers.len() > 1 => self.choose_action(shown.action.saturating_sub(1)),
            Action::Down if shown.offers.len() > 1 => {
                self.choose_action((shown.action + 1).min(shown.offers.len() - 1))
            }
            _ => self.page.act(action),
        }
    }

    fn actions(&self) -> &'static [Action] {
        if self.choice.is_some() {
            return &[Action::Open, Action::Up, Action::Down, Action::Back];
        }
        &[
            Action::Confirm,
            Action::Done,
            Action::Down,
            Action::Override,
            Action::Skip,
            Action::Reopen,
            Action::Scan,
            Action::PageDown,
            Action::Right,
            Action::Open,
            Action::Left,
            Action::Explain,
            Action::ChooseRunbook,
            Action::Export,
            Action::PageUp,
        ]
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let usual = Some(action.row().short);
        if self.choice.is_some() {
            return if action == Action::Open { Some("take it") } else { usual };
        }
        let shown = self.peek(view)?;
        match action {
            Action::Confirm | Action::Override | Action::Skip | Action::Reopen | Action::Done
                if answers::refusal(action, &shown, view).is_some() =>
            {
                None
            }
            Action::Confirm if shown.progress.began.is_none() => Some("begin"),
            Action::Down => (shown.offers.len() > 1).then_some("next action"),
            Action::Scan if hint::shard_to_scan(view.snapshot).is_none() => None,
            Action::Left if shown.place == 0 => None,
            Action::Right if shown.place + 1 == shown.runbook.steps.len() => None,
            Action::Left => Some("previous"),
            Action::Right => Some("next"),
            Action::Open => Some("look"),
            Action::PageDown | Action::PageUp if !self.page.is_longer() => None,
            Action::PageDown => Some("more"),
            Action::Explain if self.is_explained => Some("shorter"),
            _ => usual,
        }
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        words::WORDS
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let shown = self.peek(view)?;
        let seen: Vec<String> = shown.progress.checks[shown.place].iter().map(|state| state.line()).collect();
        Some(format!("{} {}: {}", shown.step.id, shown.step.title, seen.join("; ")))
    }

    fn explain(&mut self) {
        self.is_explained = true;
    }

    fn written(&mut self, told: &str, acts: ActsUntil) {
        self.written = Some((acts, told.to_owned()));
    }

    fn agreed(&mut self, effect: &Effect) {
        match effect {
            Effect::Scan(_) => self.scan_began = self.known.as_ref().map(Known::at),
            Effect::Act(ActKind::Step(_)) => self.leave_step(),
            _ => {}
        }
    }

    fn typed(&mut self, text: &str, view: &View<'_>) -> Outcome {
        let Some(shown) = self.shown(view) else { return Outcome::Ignored };
        self.answer_asked(text, &shown, view)
    }
}

impl RunbookPanel {
    fn go(&mut self, shown: &Shown<'_>, place: Option<usize>) -> Outcome {
        let Some(step) = place.and_then(|place| shown.runbook.steps.get(place)) else {
            return Outcome::Refused("there is no step beyond this one".to_owned());
        };
        self.looked_at = Some(step.id.clone());
        self.action = None;
        Outcome::Done
    }

    /// Shows the step that is due as soon as the answer that was just given is recorded.
    fn leave_step(&mut self) {
        self.looked_at = None;
        self.action = None;
    }

    fn choose_action(&mut self, place: usize) -> Outcome {
        self.action = Some(place);
        self.is_moved = true;
        Outcome::Done
    }

    fn draw_step(&mut self, shown: &Shown<'_>, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let paged = [&shown.runbook.id, &shown.step.id];
        if self.paged.each_ref() != paged {
            self.paged = paged.map(String::clone);
            self.page = Page::default();
        }
        let told = step_lines::of(shown, view);
        let heading = format!("{} {}", shown.step.id, shown.step.title);
        let page = &mut self.page;
        if std::mem::take(&mut self.is_moved) {
            page.reveal_lines(&told.lines, told.marked.clone(), view.palette, area);
        }
        page.draw(&heading, &told.lines, view.palette, area, buffer);
    }
}

/// The command of the action under the cursor, once nothing in it is missing.
fn copy(shown: &Shown<'_>) -> Outcome {
    match shown.offers.get(shown.action).and_then(Offer::command) {
        Some(Ok(command)) => Outcome::Wants(Intent::Do(Effect::Copy(command))),
        Some(Err(missing)) => Outcome::Refused(format!("the command is not complete: it needs {missing}")),
        // The screen copies what the step says.
        None => Outcome::Ignored,
    }
}

#[cfg(test)]
mod tests;
