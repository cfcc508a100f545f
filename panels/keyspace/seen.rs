//! What was found of the keys of shards, with when, and the words for it.

use std::time::Duration;

use headwater_engine::metric::{Metric, REDIS_OUR_COMMANDS, REDIS_OUR_HITS, Unit};
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::{HotSearch, Scan, ScanState};
use headwater_engine::{Moment, Snapshot, Subject};

use super::pane::{Looked, Sentences};
use crate::action::Action;
use crate::big_key_scan::{progress_words, running_words};
use crate::palette::ColorRole;
use crate::panel::View;

/// Scans and searches that are told of above the rows; more are counted.
const MOST_TOLD: usize = 3;

/// What scans have found on the shards that are looked at, with when that was told: the last complete scan, else what
/// the newest one has found so far.
pub(super) fn results<'a>(looked: &Looked<'a>) -> impl Iterator<Item = (&'a Scan, Moment)> {
    let of = looked.of;
    looked.snapshot().scan_results().filter(move |(scan, _)| of.is_none_or(|of| *of == scan.shard))
}

/// The newest scans of the shards that are looked at, however they stand, with when each last told anything.
pub(super) fn scans<'a>(looked: &Looked<'a>) -> impl Iterator<Item = (&'a Scan, Moment)> {
    let (snapshot, of) = (looked.snapshot(), looked.of);
    let all = snapshot.scans.iter().map(|(at, scan)| (scan, *at));
    all.filter(move |(scan, _)| of.is_none_or(|of| *of == scan.shard))
}

/// The searches that are looked at, with when each last told anything.
pub(super) fn searches<'a>(looked: &Looked<'a>) -> impl Iterator<Item = (&'a HotSearch, Moment)> {
    let (snapshot, of) = (looked.snapshot(), looked.of);
    let all = snapshot.searches.iter().map(|(at, search)| (search, *at));
    all.filter(move |(search, _)| of.is_none_or(|of| *of == search.shard))
}

/// `just now`, `3 min ago`.
pub(super) fn age_words(at: Moment, snapshot: &Snapshot) -> String {
    let age = snapshot.at.since(at);
    if age.as_secs() < 5 {
        return "just now".to_owned();
    }
    format!("{} ago", show(age.as_secs() as f64, Unit::Seconds))
}

/// A sentence for each scan that is looked at: how far it is, how old, and what it cost its node.
pub(super) fn scans_told(looked: &Looked<'_>) -> Sentences {
    let told = scans(looked).map(|(scan, at)| {
        let words = match scan.state.has_ended() {
            true => format!("{}, {}", progress_words(scan), age_words(at, looked.snapshot())),
            false => running_words(scan, looked.view.keys),
        };
        let complete = looked.snapshot().complete_scans.iter().find(|(_, one)| one.shard == scan.shard);
        let stays = complete.map_or_else(String::new, |(at, _)| {
            format!("; what is listed is of the complete scan, {}", age_words(*at, looked.snapshot()))
        });
        let text = format!("scan of {}: {words}{stays}{}", scan.shard, cost_words(scan));
        (text, role_of_state(&scan.state))
    });
    at_most(told.collect(), "scans")
}

/// What a scan took of its node, by the node's own count; nothing where it does not say.
fn cost_words(scan: &Scan) -> String {
    if scan.commands == 0 {
        return String::new();
    }
    let commands = counted(scan.commands, "command");
    let hits = match scan.hits {
        0 => String::new(),
        hits => format!(", {} of its look-ups", show(hits as f64, Unit::Count)),
    };
    let orphans = match scan.orphans {
        0 => String::new(),
        1 => "; ! 1 key there belongs to another node".to_owned(),
        orphans => format!("; ! {} there belong to another node", counted(orphans, "key")),
    };
    let cpu = show(scan.cpu_s, Unit::Seconds);
    format!("; our own there: {commands}, {cpu} of its CPU{hits}{orphans}")
}

/// A sentence for each search that is looked at: by which way, how far it is, and how old.
pub(super) fn searches_told(looked: &Looked<'_>) -> Sentences {
    let words = |(search, at): (&HotSearch, Moment)| {
        let age = match search.state.has_ended() {
            true => format!(", {}", age_words(at, looked.snapshot())),
            false => steering(looked.view),
        };
        let text = format!("{} on {}: {}{age}", search.method.row().name, search.shard, search_words(search));
        (text, role_of_state(&search.state))
    };
    at_most(searches(looked).map(words).collect(), "searches")
}

fn steering(view: &View<'_>) -> String {
    let [pause, cancel] = [Action::PauseScan, Action::CancelScan].map(|action| view.keys.key_of(action));
    if pause.is_empty() || cancel.is_empty() {
        return String::new();
    }
    format!("; {pause}: pause or go on, {cancel}: end")
}

/// `running, 4 s of 10 s, 12400 operations on 10.0.3.14:6379`.
pub(super) fn search_words(search: &HotSearch) -> String {
    let state = match &search.state {
        ScanState::Running => "running".to_owned(),
        ScanState::Paused => "paused".to_owned(),
        ScanState::Complete => "complete".to_owned(),
        ScanState::Stopped(why) => format!("stopped: {why}"),
    };
    let seconds = show(search.seconds, Unit::Seconds);
    let time = match search.seconds_in_all > 0.0 && !search.state.has_ended() {
        true => format!("{seconds} of {}", show(search.seconds_in_all, Unit::Seconds)),
        false => seconds,
    };
    let counted = show(search.counted as f64, Unit::Count);
    format!("{state}, {time}, {counted} counted on {}", search.node.address().unwrap_or_default())
}

/// The share of a search that is over, where its end is a matter of time.
pub(super) fn search_share(search: &HotSearch) -> Option<f64> {
    let share = search.seconds / search.seconds_in_all;
    (search.seconds_in_all > 0.0).then(|| share.clamp(0.0, 1.0))
}

fn role_of_state(state: &ScanState) -> ColorRole {
    match state {
        ScanState::Stopped(_) => ColorRole::Suspect,
        ScanState::Complete => ColorRole::Text,
        _ => ColorRole::Heading,
    }
}

fn at_most(mut told: Sentences, what: &str) -> Sentences {
    let more = told.len().saturating_sub(MOST_TOLD);
    told.truncate(MOST_TOLD);
    if more > 0 {
        told.push((format!("+{more} more {what}"), ColorRole::Faint));
    }
    told
}

/// A span over which Headwater tells what it asks.
const MINUTE: Duration = Duration::from_secs(60);

/// What Headwater itself asks the node that it asks most of those that are looked at, over a minute as all that is said of its
/// cost, so that nobody takes it for their callers' doing.
pub(super) fn own_words(looked: &Looked<'_>) -> Option<(String, ColorRole)> {
    let snapshot = looked.snapshot();
    let clusters = snapshot.topologies.iter().map(|topology| &topology.cluster);
    let roots: Vec<&Subject> = looked.of.map_or_else(|| clusters.collect(), |shard| vec![shard]);
    let mean = |node: &Subject, metric: Metric| {
        let told = snapshot.history.trace(node, metric, None)?.mean_until(snapshot.at, MINUTE)?;
        // One that answers no more is asked no more.
        (told.at >= snapshot.at - MINUTE).then_some(told.value)
    };
    let nodes = roots.iter().flat_map(|root| snapshot.history.parts(root));
    let asked = nodes.filter_map(|node| Some((node, mean(node, REDIS_OUR_COMMANDS)?)));
    let (most, commands) = asked.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let hits = mean(most, REDIS_OUR_HITS);
    let hits = hits.map(|hits| format!(" and {} look-ups", show(hits, Unit::PerSecond)));
    let text = format!(
        "ours, not callers': up to {} commands{} a node over 1 min",
        show(commands, Unit::PerSecond),
        hits.unwrap_or_default()
    );
    Some((text, ColorRole::Faint))
}

/// A place of words in which a key stands on the screen.
pub(super) fn key_to_start(view: &View<'_>, action: Action, what: &str) -> Option<String> {
    let is_past = view.is_replay || view.snapshot.gone_back_from.is_some();
    let key = view.keys.key_of(action);
    (!is_past && !key.is_empty()).then(|| format!("{key} {what}"))
}
