//! The way between the list, one shard and two beside each other, and from lens to lens.

use headwater_engine::{Snapshot, Subject};

use super::Shards;
use super::lens::LENSES;
use super::rows::{has_link, lens_of};
use crate::panel::Outcome;

/// What is open.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Open {
    /// The list of all shards.
    List,
    /// One shard.
    Shard(Subject),
    /// Two shards beside each other.
    Pair(Subject, Subject),
}

impl Shards {
    /// The shard that actions are about: the open one, else the one under the cursor.
    pub(super) fn subject(&self, snapshot: &Snapshot) -> Option<Subject> {
        match &self.open {
            Open::Shard(shard) => Some(shard.clone()),
            Open::Pair(..) => None,
            Open::List => {
                let lines = self.rows(snapshot);
                self.list.selected(&lines).map(|line| line.subject.clone())
            }
        }
    }

    /// Marks a shard, or sets the marked one beside this.
    pub(super) fn compare(&mut self, snapshot: &Snapshot) -> Outcome {
        let Some(subject) = self.subject(snapshot) else {
            let why = match self.open {
                Open::Pair(..) => "go back first: two are compared already",
                _ => "no shard is known",
            };
            return Outcome::Refused(why.to_owned());
        };
        match self.marked.take() {
            Some(marked) if marked != subject => self.open = Open::Pair(marked, subject),
            Some(_) => {}
            None => {
                self.marked = Some(subject);
                self.open = Open::List;
            }
        }
        Outcome::Done
    }

    /// Takes the next lens that can be used.
    pub(super) fn turn(&mut self, snapshot: &Snapshot, to_the_right: bool) -> Outcome {
        let usable: Vec<usize> =
            (0..LENSES.len()).filter(|place| has_link(snapshot) || !LENSES[*place].needs_link()).collect();
        let present = lens_of(self.lens, snapshot);
        let at =
            usable.iter().position(|place| std::ptr::eq(&raw const LENSES[*place], present)).unwrap_or(0);
        let step = if to_the_right { 1 } else { usable.len() - 1 };
        self.lens = usable.get((at + step) % usable.len()).copied();
        Outcome::Done
    }

    /// Opens one shard.
    pub(super) fn open_shard(&mut self, shard: Subject) {
        self.list.select(shard.as_str());
        self.is_led = true;
        self.open = Open::Shard(shard);
        self.scrolled = 0;
    }

    /// Goes back to the list; there, takes the mark off.
    pub(super) fn back(&mut self) -> Outcome {
        match (&self.open, self.marked.take()) {
            (Open::List, None) => Outcome::Ignored,
            (Open::List, Some(_)) => Outcome::Done,
            (_, marked) => {
                self.marked = marked;
                self.open = Open::List;
                Outcome::Done
            }
        }
    }
}
