//! Which commands were slow to execute, on which node.

mod head;
mod lines;

use headwater_engine::filter::{FieldRow, Filter};
use headwater_engine::reading::SlowCommand;
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::palette::ColorRole;
use crate::panel::{Intent, Outcome, Panel, PanelRow, View};
use crate::sentences::draw_sentences;
use crate::slow_groups::slow_groups;
use crate::table::Table;
use crate::unseen_redis::nothing;
use lines::{EntryLine, GroupLine, group_id};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "slow-log",
    title: "Slow log",
    short: "Slow",
    help: "which commands were slow to execute, on which node",
    is_for_walls: true,
    make: || Box::new(SlowLog::new()),
};

/// Below this height there is no head, and below this one no line about the row under the cursor.
const HEIGHT_FOR_HEAD: u16 = 6;
const HEIGHT_FOR_FOOT: u16 = 10;

/// What opening a row comes to.
enum Opens {
    /// The shard of the node that logged an entry is shown.
    Shard(Option<Subject>),
    /// The entries of this group are.
    Group(String),
}

struct SlowLog {
    groups: Table<GroupLine>,
    entries: Table<EntryLine>,
    /// Whether entries are listed one by one.
    is_listed: bool,
    /// The group whose entries are listed.
    opened: Option<String>,
    /// The shard or node whose log is shown; all when none was asked for.
    of: Option<Subject>,
    shows_arguments: bool,
}

impl SlowLog {
    fn new() -> Self {
        Self {
            groups: Table::new(lines::GROUPS),
            entries: Table::new(lines::ENTRIES),
            is_listed: false,
            opened: None,
            of: None,
            shows_arguments: false,
        }
    }

    fn logged<'a>(&'a self, snapshot: &'a Snapshot) -> impl Iterator<Item = &'a (Subject, SlowCommand)> {
        let of = self.of.as_ref();
        snapshot.slow_commands.iter().filter(move |(node, _)| of.is_none_or(|of| of.contains(node)))
    }

    fn group_lines(&self, snapshot: &Snapshot) -> Vec<GroupLine> {
        let groups = slow_groups(self.logged(snapshot));
        let all = groups.iter().filter(|group| !group.is_excluded).map(|group| group.total).sum();
        groups.into_iter().map(|group| GroupLine::new(group, all)).collect()
    }

    fn entry_lines(&self, snapshot: &Snapshot) -> Vec<EntryLine> {
        let opened = self.opened.as_ref();
        self.logged(snapshot)
            .filter(|(_, entry)| opened.is_none_or(|opened| group_id(entry) == *opened))
            .map(|(node, entry)| EntryLine::new(node, entry, self.shows_arguments))
            .collect()
    }

    /// Whether single entries are shown.
    fn shows_entries(&self) -> bool {
        self.is_listed || self.opened.is_some()
    }

    /// The sentences above the rows, the first of which says what is shown.
    fn head(&self, snapshot: &Snapshot, groups: &[GroupLine]) -> Vec<(String, ColorRole)> {
        let oldest = self.logged(snapshot).last().map(|(_, entry)| entry.at);
        let mut first = head::count(groups, oldest, self.is_listed);
        if let Some(of) = &self.of {
            first = format!("{of} alone: {first}");
        }
        let opened = self.opened.as_ref().and_then(|id| groups.iter().find(|line| line.id == *id));
        if let Some(line) = opened {
            first = line.words();
        }
        let mut texts = vec![(first, ColorRole::Heading), (head::threshold(snapshot), ColorRole::Faint)];
        texts.extend(head::unread(snapshot).into_iter().map(|text| (text, ColorRole::Unknown)));
        texts
    }

    /// How rows are ordered and filtered, and the row under the cursor in full.
    fn foot(&self, groups: &[GroupLine], entries: &[EntryLine]) -> String {
        let (order, filter, count, row) = if self.shows_entries() {
            let row = self.entries.selected(entries).map(EntryLine::words);
            (self.entries.order_words(), self.entries.filter(), self.entries.count_words(entries), row)
        } else {
            let row = self.groups.selected(groups).map(GroupLine::words);
            (self.groups.order_words(), self.groups.filter(), self.groups.count_words(groups), row)
        };
        let filtered = filter.map(|_| format!("{count} rows"));
        let texts: Vec<String> = order.into_iter().chain(filtered).chain(row).collect();
        texts.join("   ")
    }

    /// Whether arguments were collected.
    fn has_arguments(&self, snapshot: &Snapshot) -> bool {
        self.logged(snapshot).any(|(_, entry)| !entry.arguments.is_empty())
    }

    /// What opening comes to, where there is a row to open.
    fn opens(&self, snapshot: &Snapshot) -> Option<Opens> {
        if self.shows_entries() {
            let rows = self.entry_lines(snapshot);
            return self.entries.selected(&rows).map(|row| Opens::Shard(row.node.parent()));
        }
        let rows = self.group_lines(snapshot);
        self.groups.selected(&rows).map(|row| Opens::Group(row.id.clone()))
    }

    fn turn_arguments(&mut self, snapshot: &Snapshot) -> Outcome {
        if self.shows_arguments {
            self.shows_arguments = false;
            return Outcome::Done;
        }
        if !self.has_arguments(snapshot) {
            let why = "no arguments were collected: slow_arguments = true in the configuration collects them";
            return Outcome::Refused(why.to_owned());
        }
        self.shows_arguments = true;
        // A group has no arguments of its own.
        self.is_listed |= !self.shows_entries();
        Outcome::Done
    }

    fn back(&mut self) -> Outcome {
        if self.opened.take().is_some() || std::mem::take(&mut self.is_listed) {
            // Entries that are opened next must not be hidden by what was asked of these.
            self.entries.set_filter(None);
            return Outcome::Done;
        }
        if self.of.take().is_some() {
            return Outcome::Done;
        }
        Outcome::Ignored
    }
}

impl Panel for SlowLog {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        let snapshot = view.snapshot;
        let groups = self.group_lines(snapshot);
        if groups.is_empty() {
            return draw_sentences(&self.empty(snapshot), view, area, buffer);
        }
        let mut rest = area;
        if area.height >= HEIGHT_FOR_HEAD {
            let head = self.head(snapshot, &groups);
            // Half of the rows at most: the rest is for what was logged.
            for sentence in head.iter().take(usize::from(area.height / 2)) {
                let row = Rect { height: 1, ..rest };
                draw_sentences(std::slice::from_ref(sentence), view, row, buffer);
                rest.y += 1;
                rest.height -= 1;
            }
        }
        let entries = if self.shows_entries() { self.entry_lines(snapshot) } else { vec![] };
        if area.height >= HEIGHT_FOR_FOOT {
            rest.height -= 1;
            let foot = [(self.foot(&groups, &entries), ColorRole::Text)];
            draw_sentences(&foot, view, Rect { y: rest.bottom(), height: 1, ..rest }, buffer);
        }
        if self.shows_entries() {
            self.entries.draw(&entries, view, rest, buffer);
        } else {
            self.groups.draw(&groups, view, rest, buffer);
        }
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let snapshot = view.snapshot;
        match action {
            Action::Back => self.back(),
            Action::Group => {
                self.is_listed = !self.shows_entries();
                self.opened = None;
                self.entries.set_filter(None);
                Outcome::Done
            }
            Action::Arguments => self.turn_arguments(snapshot),
            Action::Open => match self.opens(snapshot) {
                Some(Opens::Shard(shard)) => Outcome::Wants(Intent::Show("shards", shard)),
                Some(Opens::Group(id)) => {
                    self.opened = Some(id);
                    Outcome::Done
                }
                None => Outcome::Refused("there is no entry".to_owned()),
            },
            _ if self.shows_entries() => self.entries.act(action, &self.entry_lines(snapshot)),
            _ => self.groups.act(action, &self.group_lines(snapshot)),
        }
    }

    fn actions(&self) -> &'static [Action] {
        &[Action::Open, Action::Group, Action::Arguments]
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        match action {
            Action::Open if self.opens(view.snapshot).is_none() => None,
            Action::Arguments if !self.shows_arguments && !self.has_arguments(view.snapshot) => None,
            Action::Group if !self.shows_entries() => Some("list"),
            _ => Some(action.row().short),
        }
    }

    fn fields(&self) -> Vec<FieldRow> {
        if self.shows_entries() { self.entries.fields() } else { self.groups.fields() }
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        if self.shows_entries() { self.entries.set_filter(filter) } else { self.groups.set_filter(filter) }
    }

    fn close(&mut self) {
        (self.opened, self.of) = (None, None);
    }

    fn filter(&self) -> Option<&Filter> {
        if self.shows_entries() { self.entries.filter() } else { self.groups.filter() }
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        if self.shows_entries() {
            return self.entries.selected(&self.entry_lines(view.snapshot)).map(EntryLine::words);
        }
        self.groups.selected(&self.group_lines(view.snapshot)).map(GroupLine::words)
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        let is_row = if self.shows_entries() {
            self.entries.click(at, &self.entry_lines(view.snapshot))
        } else {
            self.groups.click(at, &self.group_lines(view.snapshot))
        };
        if is_row { Outcome::Done } else { Outcome::Ignored }
    }

    fn open(&mut self, subject: &Subject) {
        self.of = Some(subject.clone());
        self.opened = None;
        self.groups.set_filter(None);
        self.entries.set_filter(None);
    }
}

impl SlowLog {
    /// What is said of a log without entries.
    fn empty(&self, snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
        if snapshot.topologies.is_empty() {
            return nothing(snapshot);
        }
        let of = self.of.as_ref().map(|of| format!(" of {of}")).unwrap_or_default();
        let mut texts = vec![
            (format!("no entry in the slow log{of}"), ColorRole::Heading),
            (head::threshold(snapshot), ColorRole::Text),
        ];
        texts.extend(head::unread(snapshot).into_iter().map(|text| (text, ColorRole::Unknown)));
        texts
    }
}

#[cfg(test)]
mod tests;
