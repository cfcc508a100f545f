//! What each action does that no panel took.

use headwater_engine::filter::Filter;
use headwater_engine::reading::ActKind;

use super::overlay::{CommandLine, FilterPrompt, Help, LineAsked, Note, Overlay, Question, Step};
use super::{Lent, Screen, Shown, view};
use crate::action::{Action, Scope};
use crate::panel::{Effect, Intent, Outcome, PANELS, Play};

/// What was typed is kept for this many filters of each panel.
const FILTERS_KEPT: usize = 50;

impl Screen {
    /// Asks the panel first, then the screen.
    pub(super) fn act(&mut self, action: Action, shown: &Shown<'_>) -> Vec<Effect> {
        let asked = self.ask_panel(action, shown);
        self.settle(asked, shown).unwrap_or_else(|| self.act_everywhere(action, shown))
    }

    /// What the panel that is open makes of an action; nothing before the first snapshot.
    pub(super) fn ask_panel(&mut self, action: Action, shown: &Shown<'_>) -> Outcome {
        match self.snapshot(shown) {
            Some(snapshot) if action.row().scope != Scope::Replay => {
                self.panels[self.active].act(action, &view(shown, &snapshot))
            }
            _ => Outcome::Ignored,
        }
    }

    /// Does what a panel wants; `None` when it ignored what it was told.
    pub(super) fn settle(&mut self, asked: Outcome, shown: &Shown<'_>) -> Option<Vec<Effect>> {
        match asked {
            Outcome::Ignored => return None,
            Outcome::Done => {}
            Outcome::Refused(why) => self.say(why, false),
            Outcome::Wants(Intent::Do(effect)) => return Some(vec![effect]),
            Outcome::Wants(Intent::Ask(question, effect)) => {
                self.overlay = Some(Box::new(Question::new(question, effect)));
            }
            Outcome::Wants(Intent::AskText(title)) => {
                self.overlay = Some(Box::new(LineAsked::new(title)));
            }
            Outcome::Wants(Intent::Look(name, filter)) => {
                self.look(name, filter.as_deref());
                let back = shown.keys.key_of(Action::Back);
                self.say(format!("press {back} to go back"), false);
            }
            Outcome::Wants(Intent::Show(name, subject)) => {
                if let Some(place) = PANELS.iter().position(|row| row.name == name) {
                    self.show(place);
                    if let Some(subject) = subject {
                        self.panels[place].open(&subject);
                    }
                }
            }
        }
        Some(vec![])
    }

    /// Does what an overlay came to.
    pub(super) fn follow(&mut self, step: Step, overlay: Box<dyn Overlay>, shown: &Shown<'_>) -> Vec<Effect> {
        match step {
            Step::Close => {}
            Step::Stay => self.overlay = Some(overlay),
            Step::Explain(why) => {
                self.overlay = Some(overlay);
                self.say(why, true);
            }
            Step::Typed(text) => {
                // Words that were typed over a frozen screen are about now.
                let is_gone_back = self.held.as_ref().is_some_and(|held| held.gone_back_from.is_some());
                let newest = shown.newest.filter(|_| !is_gone_back).cloned();
                let taken = match newest.or_else(|| self.snapshot(shown)) {
                    Some(snapshot) => self.panels[self.active].typed(&text, &view(shown, &snapshot)),
                    None => Outcome::Ignored,
                };
                // What was typed is not thrown away because it cannot be taken yet.
                if let Outcome::Refused(why) = taken {
                    self.overlay = Some(overlay);
                    self.say(why, true);
                    return vec![];
                }
                return self.settle(taken, shown).unwrap_or_default();
            }
            Step::Run(command) => return self.take(command, shown),
            Step::Do(effects) => {
                if effects.iter().any(|effect| matches!(effect, Effect::Note(_))) {
                    self.say_kept("noted", shown);
                }
                effects.iter().for_each(|effect| self.panels[self.active].agreed(effect));
                return effects;
            }
            Step::Filtered(text) => {
                let typed = &mut self.filters[self.active];
                typed.retain(|earlier| *earlier != text);
                if !text.is_empty() {
                    typed.push(text);
                }
                typed.drain(..typed.len().saturating_sub(FILTERS_KEPT));
            }
            Step::PutAside(draft) => {
                if !draft.trim().is_empty() {
                    let key = shown.keys.key_of(Action::Note);
                    self.say(format!("the note is put aside; {key} takes it up again"), false);
                }
                self.draft = draft;
            }
        }
        vec![]
    }

    /// Leaves; answers to a runbook that stand nowhere else are asked about first.
    fn quit(&mut self, shown: &Shown<'_>) -> Vec<Effect> {
        let unwritten = answers(shown).saturating_sub(self.written);
        // A recording holds them already, whether it is made or played.
        if unwritten == 0 || shown.status.recording.is_some() || shown.status.is_replay() {
            return vec![Effect::Quit];
        }
        let (key, what) =
            (shown.keys.key_of(Action::Export), if unwritten == 1 { "answer" } else { "answers" });
        let question = format!(
            "leave, and lose {unwritten} {what} to the runbook? nothing was written since: esc, then {key} writes \
             the report with them"
        );
        self.overlay = Some(Box::new(Question::new(question, Effect::Quit)));
        vec![]
    }

    fn act_everywhere(&mut self, action: Action, shown: &Shown<'_>) -> Vec<Effect> {
        let is_replay = shown.status.is_replay();
        match action {
            Action::Quit => return self.quit(shown),
            Action::NextPanel => self.show((self.active + 1) % self.panels.len()),
            Action::PreviousPanel => self.show((self.active + self.panels.len() - 1) % self.panels.len()),
            Action::Back => self.back(shown),
            Action::Help => self.overlay = Some(Box::new(Help::new())),
            Action::CommandLine => self.overlay = Some(Box::new(CommandLine::new(is_replay))),
            Action::Note => {
                let draft = std::mem::take(&mut self.draft);
                self.overlay = Some(Box::new(Note::new(&draft)));
            }
            Action::Filter => self.open_filter(),
            Action::Freeze => return self.freeze(shown),
            Action::Earlier => return self.earlier(None, shown),
            Action::MuchEarlier => return self.earlier(Some(super::travel::MUCH), shown),
            Action::Later => return self.later(None, shown),
            Action::MuchLater => return self.later(Some(super::travel::MUCH), shown),
            Action::Live => self.live(shown),
            Action::Mark => {
                self.say_kept("marked", shown);
                return vec![Effect::Mark(String::new())];
            }
            Action::Copy => return self.copy(shown),
            Action::CopyReport => return vec![Effect::CopyReport],
            Action::Export => {
                self.written = answers(shown);
                return vec![Effect::Export];
            }
            Action::Redraw => return vec![Effect::Redraw],
            Action::Suspend => return vec![Effect::Suspend],
            Action::NextTheme => return vec![Effect::NextTheme],
            Action::Mouse => return vec![Effect::Mouse(!shown.status.has_mouse)],
            Action::Step if is_replay => return vec![Effect::Play(Play::Step)],
            Action::Faster if is_replay => return vec![Effect::Play(Play::Speed(2.0))],
            Action::Slower if is_replay => return vec![Effect::Play(Play::Speed(0.5))],
            Action::Step | Action::Faster | Action::Slower => {
                self.say("this works while a recording is replayed; here the numbers are live", false);
            }
            _ => {
                let key = shown.keys.key_of(Action::Help);
                self.say(format!("'{}' does nothing here; {key} shows what does", action.row().name), false);
            }
        }
        vec![]
    }

    /// Says for which moment a mark or a note is kept: always for now, whatever is looked at.
    pub(super) fn say_kept(&mut self, what: &str, shown: &Shown<'_>) {
        let mut text = format!("{what} at {}", shown.now.clock());
        if self.held.is_some() {
            let key = shown.keys.key_of(Action::Live);
            text.push_str(&format!(" (now, not the moment that is shown; {key} leads there)"));
        }
        self.say(text, false);
    }

    /// Opens a panel with a filter that is lent to it until `back`.
    fn look(&mut self, name: &str, filter: Option<&str>) {
        let Some(place) = PANELS.iter().position(|row| row.name == name) else { return };
        self.show(place);
        let panel = &mut self.panels[place];
        panel.close();
        let Some(filter) = filter.and_then(|text| Filter::parse(text, &panel.fields()).ok()) else { return };
        let in_force = panel.filter().cloned();
        let before = match self.lent.take() {
            Some(lent) if lent.place == place && is_named(in_force.as_ref(), &lent.filter) => lent.before,
            _ => in_force,
        };
        self.lent = Some(Lent { place, filter: filter.as_str().to_owned(), before });
        panel.set_filter(Some(filter));
    }

    /// Clears the filter in force, else goes back to the panel before. A filter that was lent goes with the panel, which
    /// gets back what it had.
    fn back(&mut self, shown: &Shown<'_>) {
        let lent = self.lent.take_if(|lent| lent.place == self.active);
        let panel = &mut self.panels[self.active];
        match lent {
            Some(lent) if is_named(panel.filter(), &lent.filter) => panel.set_filter(lent.before),
            _ if panel.filter().is_some() => {
                panel.set_filter(None);
                self.say("the filter is cleared", false);
                return;
            }
            _ => {}
        }
        if let Some(before) = self.left.pop() {
            self.active = before;
        } else {
            let key = shown.keys.key_of(Action::Quit);
            self.say(format!("nothing is open; press {key} to quit"), false);
        }
    }

    fn open_filter(&mut self) {
        let panel = &self.panels[self.active];
        if panel.fields().is_empty() {
            self.say(format!("{} has no rows to filter", PANELS[self.active].title), false);
            return;
        }
        let earlier = self.filters[self.active].clone();
        self.overlay = Some(Box::new(FilterPrompt::new(panel.filter().cloned(), &panel.fields(), earlier)));
    }

    fn copy(&mut self, shown: &Shown<'_>) -> Vec<Effect> {
        let text = self.snapshot(shown).and_then(|snapshot| {
            let view = view(shown, &snapshot);
            self.panels[self.active].copied(&view)
        });
        match text {
            Some(text) => vec![Effect::Copy(text)],
            None => {
                self.say("there is nothing here to copy", false);
                vec![]
            }
        }
    }
}

/// Answers to the steps of runbooks, and actions, that were recorded in this run.
fn answers(shown: &Shown<'_>) -> usize {
    let acts = shown.newest.map_or(&[][..], |newest| &newest.acts);
    acts.iter().filter(|act| matches!(act.kind, ActKind::Step(_) | ActKind::Remedy { .. })).count()
}

fn is_named(filter: Option<&Filter>, name: &str) -> bool {
    filter.is_some_and(|filter| filter.as_str() == name)
}
