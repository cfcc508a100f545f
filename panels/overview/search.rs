//! Which key it is: whether looking for it would tell more, and how far a search has come.

use headwater_engine::reading::Scan;
use headwater_engine::{Snapshot, Subject};

use crate::action::Action;
use crate::big_key_scan::{act, biggest, progress_words, running_words};
use crate::keyspace::ask_next;
use crate::lines::{Line, Weight};
use crate::palette::ColorRole;
use crate::panel::{Outcome, View};

const LABEL: &str = "which key?";

/// What is said of it; nothing where no key is in question, and of the past and of a recording nothing that could be
/// looked for.
pub(super) fn line(view: &View<'_>) -> Option<Line> {
    let snapshot = view.snapshot;
    if snapshot.gone_back_from.is_some() {
        return None;
    }
    if let Some(scan) = running(snapshot) {
        let text = format!("scan of {}: {}", scan.shard, running_words(scan, view.keys));
        return Some(Line::new(Weight::Core, LABEL, text));
    }
    let search = search_words(view);
    let further = search.iter().map(|words| format!("; {words}")).collect::<String>();
    if let Some(shard) = snapshot.scans_wanted.first().filter(|_| !view.is_replay) {
        let key = view.keys.key_of(Action::Scan);
        let text = format!("{key} looks for big keys on {shard}; reads only, 1 % of a core{further}");
        return (!key.is_empty())
            .then(|| Line::new(Weight::Core, LABEL, text).text_colored(ColorRole::Heading));
    }
    let Some(scan) = fruitless(snapshot) else {
        // Which key is big is known by now: which is hot is further to go.
        return search.map(|words| Line::new(Weight::Detail, LABEL, words).text_colored(ColorRole::Heading));
    };
    let found = match biggest(scan, 1).next() {
        Some(key) => format!("the biggest is {key}"),
        None => "no key was found".to_owned(),
    };
    let text = format!("scan of {}: {}; {found}{further}", scan.shard, progress_words(scan));
    Some(Line::new(Weight::Account, LABEL, text))
}

/// Which key searches for hot keys, where that would tell more.
fn search_words(view: &View<'_>) -> Option<String> {
    let shard = unsearched(view.snapshot).filter(|_| !view.is_replay)?;
    let key = view.keys.key_of(Action::SearchHot);
    (!key.is_empty()).then(|| format!("{key} looks for hot keys on {shard}"))
}

/// The first shard on which a search for hot keys would tell more and that none was made of.
fn unsearched(snapshot: &Snapshot) -> Option<&Subject> {
    let is_searched = |shard: &&Subject| snapshot.searches.iter().any(|(_, search)| search.shard == **shard);
    snapshot.searches_wanted.iter().find(|shard| !is_searched(shard))
}

/// Asks for a scan of the first shard on which it would tell more, or steers the one that runs.
pub(super) fn steer(action: Action, view: &View<'_>) -> Outcome {
    let snapshot = view.snapshot;
    if action == Action::SearchHot {
        return ask_next(unsearched(snapshot).or_else(|| accused(snapshot)), view);
    }
    let shard = match action {
        Action::Scan => snapshot.scans_wanted.first().or_else(|| accused(snapshot)),
        _ => running(snapshot).map(|scan| &scan.shard),
    };
    match shard {
        Some(shard) => act(action, Some(shard), view),
        None if action == Action::Scan => {
            Outcome::Refused("no shard is accused: put the cursor on one on Shards to scan it".to_owned())
        }
        None => Outcome::Refused("no scan is running".to_owned()),
    }
}

/// What the overview takes, with the actions that [`steer`] can do something about now: none of those in the past, and
/// none in a recording.
pub(super) fn offered(view: &View<'_>) -> &'static [Action] {
    let snapshot = view.snapshot;
    let is_past = view.is_replay || snapshot.gone_back_from.is_some();
    if !is_past && running(snapshot).is_some() {
        &[Action::PauseScan, Action::CancelScan, Action::Open, Action::Up, Action::Down]
    } else if is_past {
        &[Action::Open, Action::Up, Action::Down]
    } else {
        match (snapshot.scans_wanted.is_empty(), unsearched(snapshot).is_none()) {
            (true, true) => &[Action::Open, Action::Up, Action::Down],
            (true, false) => &[Action::SearchHot, Action::Open, Action::Up, Action::Down],
            (false, true) => &[Action::Scan, Action::Open, Action::Up, Action::Down],
            (false, false) => &[Action::Scan, Action::SearchHot, Action::Open, Action::Up, Action::Down],
        }
    }
}

fn running(snapshot: &Snapshot) -> Option<&Scan> {
    snapshot.scans.iter().map(|(_, scan)| scan).find(|scan| !scan.state.has_ended())
}

/// The first suspect that is a shard.
fn accused(snapshot: &Snapshot) -> Option<&Subject> {
    let mut suspects = snapshot.report.suspects.iter().map(|suspect| &suspect.subject);
    suspects.find(|subject| subject.shard_index().is_some() && subject.address().is_none())
}

/// The scan of the first suspect, when it has ended and named no key that explains anything.
fn fruitless(snapshot: &Snapshot) -> Option<&Scan> {
    let first = snapshot.report.suspects.first().filter(|suspect| suspect.keys.is_empty())?;
    snapshot.scans.iter().map(|(_, scan)| scan).find(|scan| scan.shard == first.subject)
}
