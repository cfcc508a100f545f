//! What is told until the next key.

use headwater_engine::snapshot::ActsUntil;

use super::Screen;

/// One line that tells what became of an action, until the next key.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// What it says.
    pub text: String,
    /// Whether something went wrong.
    pub is_error: bool,
    /// What it is about.
    pub about: About,
}

/// What a [`Notice`] is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum About {
    /// Something that was done, or why it was not: it stands in place of the keys.
    #[default]
    Action,
    /// An answer to a runbook that was kept. What comes next is asked by keys, so it stands beside them.
    Answer,
    /// A report that was written, with the acts of people that stand in it: more may have come while it was.
    Report(ActsUntil),
}

impl Notice {
    /// What became of an action.
    pub fn new(text: impl Into<String>, is_error: bool) -> Self {
        Self { text: text.into(), is_error, about: About::default() }
    }

    /// The same about something else.
    pub fn about(self, about: About) -> Self {
        Self { about, ..self }
    }
}

impl Screen {
    /// Says what became of an effect; of a report that was written the panels hear too.
    pub fn tell(&mut self, notice: Notice) {
        if let About::Report(acts) = notice.about {
            self.panels.iter_mut().for_each(|panel| panel.written(&notice.text, acts));
        }
        self.notice = Some(notice);
    }
}
