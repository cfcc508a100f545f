//! Where keys live: those that were typed in, else those that are accused; and whether they share a slot or a shard.

use headwater_engine::metric::Unit;
use headwater_engine::reading::{ClusterView, Shard, Topology};
use headwater_engine::slot::{SLOTS, hash_tag, slot_of};
use headwater_engine::{RemoteText, Snapshot, Subject};

use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use crate::action::Action;
use crate::palette::ColorRole;
use crate::panel::{Intent, Outcome};
use crate::shard_name::{short_name, whole_name};
use crate::table::{Cell, Column, Row, Width, number, text};
use crate::unseen_redis::nothing;

/// This view's line in the table.
pub(super) const VIEW: ViewRow =
    ViewRow { name: "place", make: || Rows::boxed(&ROWS), told, empty, picture: None, opens: "type keys" };

static ROWS: RowsOf<Placed> = RowsOf {
    columns: COLUMNS,
    rows,
    words,
    open: |_, looked| Opened::Other(ask(looked)),
    page: |_, _| vec![],
};

fn ask(looked: &Looked<'_>) -> Outcome {
    if looked.snapshot().topologies.is_empty() {
        return Outcome::Refused("no Redis deployment is known yet".to_owned());
    }
    Outcome::Wants(Intent::AskText("keys, separated by blanks (\\x20 is a blank in a key)".to_owned()))
}

/// One key with its place in one deployment.
struct Placed {
    id: String,
    key: String,
    /// Why it stands here: typed in, or what is special about it.
    why: String,
    cluster: Subject,
    slot: Option<u16>,
    shard: Option<Subject>,
    node: String,
    /// Where it is beside the first key of the same deployment.
    beside: &'static str,
    moving: String,
}

impl Row for Placed {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The raw bytes of a key as it is written, with `\xNN` and `\u{NNNN}` read back; `None` where it was cut.
fn bytes_of(written: &str) -> Option<Vec<u8>> {
    if written.ends_with('…') {
        return None;
    }
    let mut bytes = vec![];
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        let (escaped, long) = escape(rest).unwrap_or((vec![b'\\'], 1));
        bytes.extend(escaped);
        rest = &rest[long..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// The bytes of the escape that a text begins with, and how long it is.
fn escape(text: &str) -> Option<(Vec<u8>, usize)> {
    if let Some(digits) = text.strip_prefix("\\x").and_then(|rest| rest.get(..2)) {
        return Some((vec![u8::from_str_radix(digits, 16).ok()?], 4));
    }
    let digits = text.strip_prefix("\\u{")?.split_once('}')?.0;
    let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    Some((character.to_string().into_bytes(), digits.len() + 4))
}

/// The keys that are placed, each with why: those that were typed in, else those that the report accuses.
fn keys(looked: &Looked<'_>) -> Vec<(String, String)> {
    if !looked.typed.is_empty() {
        return looked.typed.iter().map(|key| (key.clone(), "typed in".to_owned())).collect();
    }
    let mut keys: Vec<(String, String)> = vec![];
    for key in looked.snapshot().report.suspects.iter().flat_map(|suspect| &suspect.keys) {
        let name = key.key.to_string();
        match keys.iter_mut().find(|(known, _)| *known == name) {
            Some((_, what)) if what.contains(&key.what) => {}
            Some((_, what)) => *what = format!("{what}, {}", key.what),
            None => keys.push((name, key.what.clone())),
        }
    }
    keys
}

/// The slot of a key as it is written; `None` where it was cut, and in a deployment without slots.
fn slot_in(topology: &Topology, key: &str) -> Option<u16> {
    bytes_of(key).map(|bytes| slot_of(&bytes)).filter(|_| topology.clustered)
}

/// The slot of a key as it is written, in the deployment of this shard.
pub(super) fn slot_of_key(snapshot: &Snapshot, shard: &Subject, key: &str) -> Option<u16> {
    slot_in(snapshot.topologies.iter().find(|topology| topology.cluster.contains(shard))?, key)
}

fn rows(looked: &Looked<'_>) -> Vec<Placed> {
    let snapshot = looked.snapshot();
    let of = looked.of.map(Subject::component_of);
    let topologies =
        snapshot.topologies.iter().filter(|topology| of.as_ref().is_none_or(|of| *of == topology.cluster));
    let keys = keys(looked);
    let mut rows = vec![];
    for topology in topologies {
        let views = snapshot.views_of(&topology.cluster);
        let mut first: Option<(Option<u16>, Option<Subject>)> = None;
        for (key, why) in &keys {
            let slot = slot_in(topology, key);
            let shard = holder(topology, slot);
            let node = shard.and_then(|shard| shard.nodes.iter().find(|node| node.primary));
            let place = (slot, shard.map(|shard| shard.subject.clone()));
            let beside = match &first {
                None => "the first",
                Some(first) => beside(first, &place, topology.clustered),
            };
            rows.push(Placed {
                id: format!("{} {key}", topology.cluster),
                key: key.clone(),
                why: why.clone(),
                cluster: topology.cluster.clone(),
                slot,
                node: node.and_then(|node| node.subject.address()).unwrap_or_default().to_owned(),
                shard: place.1.clone(),
                beside,
                moving: slot.map(|slot| moving(&views, slot)).unwrap_or_default(),
            });
            first.get_or_insert(place);
        }
    }
    rows
}

/// The shard that holds a slot; of a deployment that is no cluster, its only one.
fn holder(topology: &Topology, slot: Option<u16>) -> Option<&Shard> {
    if !topology.clustered {
        return topology.shards.first();
    }
    let slot = slot?;
    topology.shards.iter().find(|shard| shard.slots.iter().any(|(from, to)| (*from..=*to).contains(&slot)))
}

fn beside(
    first: &(Option<u16>, Option<Subject>),
    other: &(Option<u16>, Option<Subject>),
    is_cluster: bool,
) -> &'static str {
    match (first, other) {
        _ if !is_cluster => "same server",
        ((None, _), _) | (_, (None, _)) => "not known",
        ((one, _), (two, _)) if one == two => "same slot",
        ((_, Some(one)), (_, Some(two))) if one == two => "same shard, other slot",
        ((_, Some(_)), (_, Some(_))) => "other shard",
        _ => "not known",
    }
}

/// What nodes say of a slot that is on its way, or that nobody holds: that alone is marked.
fn moving(views: &[&ClusterView], slot: u16) -> String {
    let of = |moved: &[(u16, RemoteText)]| {
        moved.iter().find(|(one, _)| *one == slot).map(|(_, other)| other.to_string())
    };
    if let Some((view, to)) = views.iter().find_map(|view| Some((view, of(&view.migrating)?))) {
        return format!("migrating from {} to {to}", view.node.address().unwrap_or_default());
    }
    if let Some((view, from)) = views.iter().find_map(|view| Some((view, of(&view.importing)?))) {
        return format!("importing from {from} to {}", view.node.address().unwrap_or_default());
    }
    let is_uncovered = |(from, to): &(u16, u16)| (*from..=*to).contains(&slot);
    if views.iter().any(|view| view.uncovered.iter().any(is_uncovered)) {
        return "! uncovered: no node answers for it".to_owned();
    }
    String::new()
}

static COLUMNS: &[Column<Placed>] = &[
    text("key", "the key", Width::Rest(16), 0, |row| Cell::name(row.key.as_str())),
    number("slot", Unit::Count, "its slot of 16384", 5, 0, |row| {
        Cell::number(row.slot.map(f64::from)).shown(super::big::slot_words(row.slot))
    }),
    text("shard", "the shard that holds it", Width::Cells(12), 0, |row| match &row.shard {
        Some(shard) => Cell::text(whole_name(shard)).shown(short_name(shard, 12)),
        None => Cell::text("none").shown("? none").colored(ColorRole::Unknown),
    }),
    text("beside", "where it is beside the first key", Width::Cells(22), 0, |row| {
        let cell = Cell::text(row.beside);
        if row.beside.starts_with("same") { cell.colored(ColorRole::Heading) } else { cell }
    }),
    text(
        "moving",
        "whether its slot is on its way to another node, or held by none",
        Width::Cells(12),
        1,
        |row| match row.moving.as_str() {
            "" => Cell::text("").shown("-").colored(ColorRole::Faint),
            moving if moving.starts_with('!') => Cell::text(moving).colored(ColorRole::Suspect),
            moving => Cell::text(moving).colored(ColorRole::Heading),
        },
    ),
    text("node", "the address of the shard's primary", Width::Cells(21), 2, |row| {
        Cell::name(row.node.as_str())
    }),
    text("why", "why it stands here", Width::Cells(20), 3, |row| Cell::text(row.why.as_str())),
];

fn words(row: &Placed) -> String {
    let slot = row.slot.map(|slot| format!("slot {slot} of {SLOTS}, ")).unwrap_or_default();
    let shard =
        row.shard.as_ref().map_or_else(|| format!("no shard of {}", row.cluster), ToString::to_string);
    let tag = bytes_of(&row.key).and_then(|bytes| Some(RemoteText::from_bytes(hash_tag(&bytes)?)));
    let tag = tag.map(|tag| format!(", by its tag {{{tag}}}")).unwrap_or_default();
    let moving = if row.moving.is_empty() { String::new() } else { format!("; {}", row.moving) };
    format!("{}: {slot}{shard} {}{tag}; {}{moving}; {}", row.key, row.node, row.beside, row.why)
}

/// Whether the keys share a slot, a shard, or nothing, deployment by deployment.
fn told(looked: &Looked<'_>) -> Sentences {
    let rows = rows(looked);
    let mut told = vec![];
    for topology in looked.snapshot().topologies.iter().filter(|topology| topology.clustered) {
        let own: Vec<&Placed> = rows.iter().filter(|row| row.cluster == topology.cluster).collect();
        if own.len() < 2 {
            continue;
        }
        let slots = distinct(own.iter().map(|row| row.slot));
        let shards = distinct(own.iter().map(|row| row.shard.as_ref()));
        let text = match (slots, shards) {
            (1, _) => "all in one slot: adding shards cannot part them".to_owned(),
            (slots, 1) => format!("all on one shard, in {slots} slots: moving slots can part them"),
            (slots, shards) => format!("on {shards} shards, in {slots} slots"),
        };
        told.push((format!("{}: {text}", topology.cluster), ColorRole::Heading));
    }
    if looked.typed.is_empty() && !rows.is_empty() {
        told.push((
            format!("the keys that are accused; {}", typing(looked, "type others")),
            ColorRole::Faint,
        ));
    }
    told
}

/// Which key takes keys.
fn typing(looked: &Looked<'_>, what: &str) -> String {
    match looked.view.keys.key_of(Action::Open) {
        key if key.is_empty() => what.to_owned(),
        key => format!("{key}: {what}"),
    }
}

fn distinct<T: Ord>(all: impl Iterator<Item = T>) -> usize {
    all.collect::<std::collections::BTreeSet<T>>().len()
}

fn empty(looked: &Looked<'_>) -> Sentences {
    if looked.snapshot().topologies.is_empty() {
        return nothing(looked.snapshot());
    }
    vec![
        ("no key to place".to_owned(), ColorRole::Heading),
        (
            format!(
                "{}, separated by blanks: of each you see its slot, its shard and its node, and whether they share one",
                typing(looked, "type keys")
            ),
            ColorRole::Text,
        ),
        (
            "keys with the same tag, as in user:{8812}:a and user:{8812}:b, share a slot; nothing is asked of a server for this".to_owned(),
            ColorRole::Faint,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_as_it_is_written_gives_its_bytes_back() {
        for bytes in [
            &b"plain"[..],
            b"\xac\xed\x00\x05t",
            b"a b\n",
            "caf\u{e9}\u{202e}".as_bytes(),
            b"back\\slash",
            b"\\x",
            b"",
        ] {
            let written = RemoteText::from_bytes(bytes);
            assert_eq!(bytes_of(written.as_str()).as_deref(), Some(bytes), "{written}");
        }
        assert_eq!(bytes_of("cut…"), None);
    }
}
