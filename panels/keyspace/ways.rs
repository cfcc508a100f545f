//! The ways to find out about keys: what each finds and costs, whether a shard offers it, and asking for one.

use headwater_engine::reading::{HotSearch, KEY_METHODS, KeyMethod, KeyMethodRow};
use headwater_engine::{Moment, RemoteText, Snapshot, Subject};

use super::pane::{Looked, Opened, Rows, RowsOf, Sentences, ViewRow};
use super::seen::{age_words, key_to_start, search_words};
use crate::action::Action;
use crate::big_key_scan::{self, past_words, progress_words, scan_of, shard_of};
use crate::data_state::source_of;
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, View};
use crate::shard_name::whole_name;
use crate::table::{Cell, Column, Row, Width, text};
use crate::unseen_redis::nothing;

/// This view's line in the table.
pub(super) const VIEW: ViewRow = ViewRow {
    name: "ways",
    make: || Rows::boxed(&ROWS),
    told,
    empty: |looked| nothing(looked.snapshot()),
    picture: None,
    opens: "ask for it",
};

static ROWS: RowsOf<Way> = RowsOf {
    columns: COLUMNS,
    rows,
    words,
    open: |row, looked| match row {
        Some(row) => Opened::Other(ask(row.row, looked.about, looked.view)),
        None => Opened::Other(Outcome::Refused("no shard is known".to_owned())),
    },
    page: |_, _| vec![],
};

/// Whether a shard offers a way.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Offer {
    /// This node does.
    By(Subject),
    /// None does, for this reason of its primary.
    Refused(RemoteText),
    /// Nobody was asked yet.
    Unknown,
}

/// Whether a node of a shard offers a way; the primary is asked first, because its callers are there.
pub(super) fn offer(snapshot: &Snapshot, shard: &Subject, method: KeyMethod) -> Offer {
    let nodes = shard_of(snapshot, shard).map_or(&[][..], |shard| &shard.nodes);
    let told = nodes.iter().filter_map(|node| {
        let offers = &source_of(snapshot, &node.subject)?.offers;
        Some((&node.subject, offers.iter().find(|offer| offer.method == method)?))
    });
    let mut why = None;
    for (node, offer) in told {
        match &offer.refusal {
            None => return Offer::By(node.clone()),
            Some(refusal) => why = why.or(Some(refusal)),
        }
    }
    why.map_or(Offer::Unknown, |why| Offer::Refused(why.clone()))
}

/// The gentlest way to hot keys that a shard offers and that was not taken yet; else the gentlest one again.
pub(super) fn next_way(snapshot: &Snapshot, shard: &Subject) -> Option<&'static KeyMethodRow> {
    let is_offered = |row: &&KeyMethodRow| {
        row.method != KeyMethod::Scan && matches!(offer(snapshot, shard, row.method), Offer::By(_))
    };
    let was_taken = |row: &&KeyMethodRow| {
        snapshot.searches.iter().any(|(_, search)| search.shard == *shard && search.method == row.method)
    };
    let offered = || KEY_METHODS.iter().filter(is_offered);
    offered().find(|row| !was_taken(row)).or_else(|| offered().next())
}

/// Which key asks for a search, where one may.
pub(super) fn start_words(looked: &Looked<'_>) -> Option<String> {
    key_to_start(looked.view, Action::SearchHot, "asks for it; the view 'ways' has all ways with their costs")
}

/// Asks for the gentlest search for hot keys that is left.
pub(crate) fn ask_next(shard: Option<&Subject>, view: &View<'_>) -> Outcome {
    let Some(shard) = shard else { return Outcome::Refused("no shard is under the cursor".to_owned()) };
    match next_way(view.snapshot, shard) {
        Some(row) => ask(row, Some(shard), view),
        None => match past_words(view, "no search") {
            Some(why) => Outcome::Refused(why),
            None => Outcome::Refused(format!(
                "{shard} offers no way to count hot keys, or was not asked yet: the view 'ways' says why and what would help"
            )),
        },
    }
}

/// Asks for a way, with what it costs, in words that nobody can take for harmless where it is not.
pub(super) fn ask(row: &'static KeyMethodRow, shard: Option<&Subject>, view: &View<'_>) -> Outcome {
    if row.method == KeyMethod::Scan {
        return big_key_scan::act(Action::Scan, shard, view);
    }
    let Some(shard) = shard else { return Outcome::Refused("no shard is under the cursor".to_owned()) };
    if let Some(why) = past_words(view, "no search") {
        return Outcome::Refused(why);
    }
    let snapshot = view.snapshot;
    let running = |search: &&HotSearch| {
        search.shard == *shard && search.method == row.method && !search.state.has_ended()
    };
    if let Some(search) = snapshot.searches.iter().map(|(_, search)| search).find(running) {
        return Outcome::Refused(format!("{} of {shard} goes on: {}", row.name, search_words(search)));
    }
    let node = match offer(snapshot, shard, row.method) {
        Offer::By(node) => node,
        Offer::Refused(why) => return Outcome::Refused(format!("{}: {why}", row.name)),
        Offer::Unknown => {
            return Outcome::Refused(format!("{shard} was not asked yet whether it offers {}", row.name));
        }
    };
    let gentler = next_way(snapshot, shard).filter(|next| row.needs_consent && !next.needs_consent);
    let warning = match (row.needs_consent, gentler) {
        (false, _) => String::new(),
        (true, Some(gentler)) => {
            format!(". This is felt by the server; {} is gentler and was not taken yet", gentler.name)
        }
        (true, None) => ". This is felt by the server: only if you may, and as the last resort".to_owned(),
    };
    let question = format!(
        "search {shard} for hot keys by {} on {}? finds {}. {}{warning}",
        row.name,
        node.address().unwrap_or_default(),
        row.finds,
        row.cost
    );
    Outcome::Wants(Intent::Ask(question, Effect::Search(shard.clone(), row.method)))
}

/// One way on one shard.
struct Way {
    row: &'static KeyMethodRow,
    shard: String,
    offer: Offer,
    last: String,
}

impl Row for Way {
    fn id(&self) -> &str {
        self.row.name
    }
}

fn rows(looked: &Looked<'_>) -> Vec<Way> {
    let Some(shard) = looked.about else { return vec![] };
    let of = |row: &'static KeyMethodRow| Way {
        row,
        shard: whole_name(shard),
        offer: offer(looked.snapshot(), shard, row.method),
        last: last_words(row.method, shard, looked.snapshot()),
    };
    KEY_METHODS.iter().map(of).collect()
}

fn last_words(method: KeyMethod, shard: &Subject, snapshot: &Snapshot) -> String {
    if method == KeyMethod::Scan {
        return scan_of(snapshot, shard).map_or_else(|| "not yet".to_owned(), progress_words);
    }
    let is_it = |(_, search): &&(Moment, HotSearch)| search.shard == *shard && search.method == method;
    match snapshot.searches.iter().find(is_it) {
        Some((at, search)) => format!("{}, {}", search_words(search), age_words(*at, snapshot)),
        None => "not yet".to_owned(),
    }
}

static COLUMNS: &[Column<Way>] = &[
    text("way", "its name, the gentlest first", Width::Cells(12), 0, |way| Cell::text(way.row.name)),
    text("offered", "whether a node of the shard offers it", Width::Cells(8), 0, |way| match &way.offer {
        Offer::By(_) => Cell::text("yes").shown("o yes").colored(ColorRole::Innocent),
        Offer::Refused(_) => Cell::text("no").shown("- no").colored(ColorRole::Faint),
        Offer::Unknown => Cell::text("unknown").shown("? ").colored(ColorRole::Unknown),
    }),
    text("gives", "whether it can say what share a key has", Width::Cells(7), 2, |way| {
        Cell::text(gives(way.row))
    }),
    text("felt", "whether the server feels it", Width::Cells(5), 3, |way| match way.row.needs_consent {
        true => Cell::text("yes").shown("! yes").colored(ColorRole::Suspect),
        false => Cell::text("no"),
    }),
    text("cost", "what it costs the server; where it is not offered, why", Width::Rest(24), 0, |way| {
        match &way.offer {
            Offer::Refused(why) => Cell::text(why.as_str()).colored(ColorRole::Faint),
            _ => Cell::text(way.row.cost),
        }
    }),
    text("finds", "what it finds", Width::Cells(46), 5, |way| Cell::text(way.row.finds)),
    text("last", "how far it is, or when it was taken last", Width::Cells(24), 4, |way| {
        Cell::text(way.last.as_str())
    }),
];

fn gives(row: &KeyMethodRow) -> &'static str {
    match (row.method, row.gives_shares) {
        (KeyMethod::Scan, _) => "sizes",
        (_, true) => "shares",
        (_, false) => "order",
    }
}

fn words(way: &Way) -> String {
    let offer = match &way.offer {
        Offer::By(node) => format!("offered by {}", node.address().unwrap_or_default()),
        Offer::Refused(why) => format!("not offered: {why}; it needs {}", way.row.needs),
        Offer::Unknown => format!("not asked yet; it needs {}", way.row.needs),
    };
    let consent = if way.row.needs_consent { "; the server feels it" } else { "" };
    format!(
        "{} on {}: finds {}; costs: {}{consent}; {offer}; last: {}",
        way.row.name, way.shard, way.row.finds, way.row.cost, way.last
    )
}

fn told(looked: &Looked<'_>) -> Sentences {
    let Some(shard) = looked.about else { return vec![] };
    vec![(format!("ways to the keys of {shard}, the gentlest first"), ColorRole::Heading)]
}
