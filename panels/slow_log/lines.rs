//! Rows of the slow log: groups, and single entries.

use headwater_engine::metric::Unit;
use headwater_engine::quantity::show;
use headwater_engine::reading::SlowCommand;
use headwater_engine::{Moment, Subject};

use crate::palette::ColorRole;
use crate::slow_groups::{SlowGroup, pattern_of};
use crate::table::{Cell, Column, Row, Width, number, text};

/// One group.
pub(super) struct GroupLine {
    /// Its identity, as the cursor knows it.
    pub(super) id: String,
    /// What is in it.
    pub(super) group: SlowGroup,
    /// Its share of the time of all entries that count.
    share: Option<f64>,
    nodes: String,
}

/// One entry.
pub(super) struct EntryLine {
    id: String,
    /// The node that logged it.
    pub(super) node: Subject,
    entry: SlowCommand,
    /// Its key, and its arguments when they are shown.
    what: String,
}

impl Row for GroupLine {
    fn id(&self) -> &str {
        &self.id
    }

    fn group(&self) -> usize {
        usize::from(self.group.is_excluded)
    }
}

impl Row for EntryLine {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The identity of the group that an entry belongs to.
pub(super) fn group_id(entry: &SlowCommand) -> String {
    let pattern = entry.key.as_ref().map(|key| pattern_of(key.as_str())).unwrap_or_default();
    written_id(entry.excluded, entry.command.as_str(), &pattern)
}

fn written_id(is_excluded: bool, command: &str, pattern: &str) -> String {
    format!("{} {command} {pattern}", if is_excluded { "excluded" } else { "counted" })
}

/// What is said of entries that convict nobody.
const NOT_COUNTED: &str = ", not counted: an administrator's or our own";

impl GroupLine {
    /// A group with its share of this many seconds.
    pub(super) fn new(group: SlowGroup, all: f64) -> Self {
        let id = written_id(group.is_excluded, &group.command, &group.pattern);
        let share = (!group.is_excluded && all > 0.0).then_some(group.total / all);
        Self { id, share, nodes: node_words(&group), group }
    }

    /// One row of text.
    pub(super) fn words(&self) -> String {
        let group = &self.group;
        let [total, longest] = [group.total, group.longest].map(|seconds| show(seconds, Unit::Seconds));
        let share = self.share.map(|share| format!(" ({} of the time)", show(share, Unit::Ratio)));
        let entries =
            if group.count == 1 { "1 entry".to_owned() } else { format!("{} entries", group.count) };
        format!(
            "{}: {entries}, {total}{}, at most {longest}, on {}, newest {}{}",
            with_key(&group.command, &group.pattern),
            share.unwrap_or_default(),
            self.nodes,
            group.newest.clock(),
            if group.is_excluded { NOT_COUNTED } else { "" }
        )
    }
}

fn with_key(command: &str, key: &str) -> String {
    format!("{command} {key}").trim_end().to_owned()
}

/// `features#2` or `5 nodes`: where entries were logged.
fn node_words(group: &SlowGroup) -> String {
    match (group.nodes.len(), group.nodes.first()) {
        (1, Some(only)) => node_name(only),
        (many, _) => format!("{many} nodes"),
    }
}

/// `features#2` for a node of a shard, else its address.
fn node_name(node: &Subject) -> String {
    match node.shard_index() {
        Some(index) => format!("{}#{index}", node.name()),
        None => node.address().unwrap_or(node.as_str()).to_owned(),
    }
}

impl EntryLine {
    /// An entry, with its arguments or without.
    pub(super) fn new(node: &Subject, entry: &SlowCommand, shows_arguments: bool) -> Self {
        let mut what = entry.key.as_ref().map(|key| key.as_str().to_owned()).unwrap_or_default();
        if shows_arguments {
            for argument in &entry.arguments {
                what = format!("{what} {argument}");
            }
        }
        // Ids begin anew when a server restarts; the moment tells two runs apart.
        let id = format!("{node} {} {}", entry.id, entry.at.0);
        Self { id, node: node.clone(), entry: entry.clone(), what: what.trim_start().to_owned() }
    }

    /// One row of text.
    pub(super) fn words(&self) -> String {
        let entry = &self.entry;
        let took = show(entry.took.as_secs_f64(), Unit::Seconds);
        let client = match entry.client.as_str() {
            "" => "a client without a name",
            client => client,
        };
        format!(
            "{}: {took} on {} at {}, by {client}{}",
            with_key(entry.command.as_str(), &self.what),
            self.node,
            entry.at.clock(),
            if entry.excluded { NOT_COUNTED } else { "" }
        )
    }
}

/// Rows that convict nobody are drawn with less weight.
fn weighed(cell: Cell<'_>, is_excluded: bool) -> Cell<'_> {
    if is_excluded { cell.colored(ColorRole::Faint) } else { cell }
}

fn of_group<'a>(line: &'a GroupLine, cell: Cell<'a>) -> Cell<'a> {
    weighed(cell, line.group.is_excluded)
}

fn of_entry<'a>(line: &'a EntryLine, cell: Cell<'a>) -> Cell<'a> {
    weighed(cell, line.entry.excluded)
}

/// A command's name; of one that convicts nobody with a mark, because colour alone would say it.
fn command(command: &str, is_excluded: bool) -> Cell<'_> {
    let cell = Cell::text(command);
    if is_excluded { cell.shown(format!("- {command}")) } else { cell }
}

fn clock<'a>(at: Moment) -> Cell<'a> {
    Cell::number(Some(at.0 as f64 / 1_000.0)).shown(at.clock())
}

/// What a row of a group shows.
pub(super) static GROUPS: &[Column<GroupLine>] = &[
    text("command", "the command, with its subcommand", Width::Cells(14), 0, |line| {
        of_group(line, command(&line.group.command, line.group.is_excluded))
    }),
    text("key", "pattern of the keys: * stands for numbers and ids", Width::Rest(12), 0, |line| {
        of_group(line, Cell::text(line.group.pattern.as_str()))
    }),
    number("count", Unit::Count, "entries", 5, 1, |line| {
        of_group(line, Cell::number(Some(line.group.count as f64)))
    }),
    number("share", Unit::Ratio, "share of the time of all entries that count", 6, 1, |line| {
        of_group(line, Cell::number(line.share))
    }),
    number("total", Unit::Seconds, "time of execution of all entries together", 7, 2, |line| {
        of_group(line, Cell::number(Some(line.group.total)))
    }),
    number("longest", Unit::Seconds, "time of execution of the longest entry", 7, 2, |line| {
        of_group(line, Cell::number(Some(line.group.longest)))
    }),
    text("nodes", "the shards whose nodes logged it", Width::Cells(12), 3, |line| {
        of_group(line, Cell::text(line.nodes.as_str()))
    }),
    number("newest", Unit::UnixSeconds, "when the newest entry ran", 8, 4, |line| {
        of_group(line, clock(line.group.newest))
    }),
];

/// What a row of an entry shows.
pub(super) static ENTRIES: &[Column<EntryLine>] = &[
    number("at", Unit::UnixSeconds, "when it ran", 8, 1, |line| of_entry(line, clock(line.entry.at))),
    number("took", Unit::Seconds, "time of execution, without waiting and sending", 7, 0, |line| {
        of_entry(line, Cell::number(Some(line.entry.took.as_secs_f64())))
    }),
    text("command", "the command, with its subcommand", Width::Cells(14), 0, |line| {
        of_entry(line, command(line.entry.command.as_str(), line.entry.excluded))
    }),
    text("key", "the first key, then the arguments when they are shown", Width::Rest(12), 0, |line| {
        of_entry(line, Cell::text(line.what.as_str()))
    }),
    text("node", "the node that logged it", Width::Cells(12), 2, |line| {
        of_entry(line, Cell::name(line.node.as_str()).shown(node_name(&line.node)))
    }),
    text("client", "name of the client that sent it", Width::Cells(12), 3, |line| {
        of_entry(line, Cell::text(line.entry.client.as_str()))
    }),
    text("address", "address of the node", Width::Cells(16), 4, |line| {
        of_entry(line, Cell::name(line.node.address().unwrap_or_default()))
    }),
];
