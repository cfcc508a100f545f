//! Scans for big keys: asked for with their cost, and told about while they run.

use headwater_engine::metric::{REDIS_KEYS, Unit};
use headwater_engine::quantity::{counted, show};
use headwater_engine::reading::{Scan, ScanState, Shard};
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::data_state::{DataState, source_of};
use crate::keys::Keymap;
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, View};

/// Starts, pauses or ends the scan of a shard.
pub(crate) fn act(action: Action, shard: Option<&Subject>, view: &View<'_>) -> Outcome {
    let snapshot = view.snapshot;
    let refused = |why: String| Outcome::Refused(why);
    let Some(shard) = shard else { return refused("no shard is under the cursor".to_owned()) };
    if let Some(why) = past_words(view, "no scan") {
        return refused(why);
    }
    let running = scan_of(snapshot, shard).filter(|scan| !scan.state.has_ended());
    match (action, running) {
        (Action::Scan, None) => ask(snapshot, shard),
        (Action::Scan, Some(scan)) => refused(format!("{shard} is being scanned: {}", progress_words(scan))),
        // A search for hot keys is steered by the same keys.
        (_, None) if !is_searched(snapshot, shard) => refused(format!("no scan of {shard} is running")),
        (Action::PauseScan, _) => Outcome::Wants(Intent::Do(Effect::PauseScan(shard.clone()))),
        _ => Outcome::Wants(Intent::Do(Effect::CancelScan(shard.clone()))),
    }
}

/// Why nothing new can be asked of what is shown: it is a recording, or the past.
pub(crate) fn past_words(view: &View<'_>, what: &str) -> Option<String> {
    if view.is_replay {
        return Some(format!("a recording cannot be asked anything new: {what}"));
    }
    view.snapshot.gone_back_from.is_some().then(|| {
        let live = view.keys.key_of(Action::Live);
        format!("this is the past: return to the present first ({live})")
    })
}

/// Whether a search of a shard for hot keys goes on.
fn is_searched(snapshot: &Snapshot, shard: &Subject) -> bool {
    snapshot.searches.iter().any(|(_, search)| search.shard == *shard && !search.state.has_ended())
}

/// The scan of a shard.
pub(crate) fn scan_of<'a>(snapshot: &'a Snapshot, shard: &Subject) -> Option<&'a Scan> {
    snapshot.scans.iter().map(|(_, scan)| scan).find(|scan| scan.shard == *shard)
}

/// Asks, with what the scan costs.
fn ask(snapshot: &Snapshot, shard: &Subject) -> Outcome {
    let Some(nodes) = shard_of(snapshot, shard).map(|shard| &shard.nodes) else {
        return Outcome::Refused(format!("{shard} is not known at this moment"));
    };
    let answers = |node: &Subject| DataState::of(source_of(snapshot, node), snapshot).is_present();
    // The application takes a replica where one answers.
    let replica = nodes.iter().find(|node| !node.primary && answers(&node.subject));
    let Some(node) = replica.or_else(|| nodes.iter().find(|node| answers(&node.subject))) else {
        return Outcome::Refused(format!("no node of {shard} answers: there is nothing to scan"));
    };
    let keys = match snapshot.present(&node.subject, REDIS_KEYS, None) {
        Some(keys) if keys.value < 1.0 => return Outcome::Refused(format!("{shard} holds no key")),
        Some(keys) => counted(keys.value as u64, "key"),
        None => "an unknown number of keys".to_owned(),
    };
    let part = if node.primary { "its primary, because no replica answers," } else { "its replica" };
    let address = node.subject.address().unwrap_or_default();
    let looks = match stopped(snapshot, shard) {
        Some(scan) => format!(
            "goes on where it was stopped, at {} of {keys}, or looks at all of them where the server has restarted",
            show(share(scan).unwrap_or(0.0), Unit::Ratio)
        ),
        None => format!("looks at {keys}"),
    };
    let question = format!(
        "scan {shard} for big keys? reads only; at most 1 % of a core of {part} {address}; {looks}, for at \
         most 10 min"
    );
    Outcome::Wants(Intent::Ask(question, Effect::Scan(shard.clone())))
}

/// The scan of a shard that was ended early and can be gone on with.
fn stopped<'a>(snapshot: &'a Snapshot, shard: &Subject) -> Option<&'a Scan> {
    let (at, scan) = snapshot.scans.iter().find(|(_, scan)| scan.shard == *shard)?;
    let is_young = snapshot.at.since(*at) <= Scan::RESUMED_WITHIN;
    (matches!(scan.state, ScanState::Stopped(_)) && scan.scanned > 0 && is_young).then_some(scan)
}

/// What scans have found on a shard: the last complete one, else the newest so far.
pub(crate) fn result_of<'a>(snapshot: &'a Snapshot, shard: &Subject) -> Option<&'a Scan> {
    snapshot.scan_results().map(|(scan, _)| scan).find(|scan| scan.shard == *shard)
}

/// `20 %`, or `20 %, paused`: how far a scan has come, beside its bar.
pub(crate) fn bar_words(state: &ScanState, share: f64) -> String {
    let percent = format!("{:>3.0} %", (share * 100.0).floor());
    if *state == ScanState::Paused { format!("{percent}, paused") } else { percent }
}

/// Writes words at the right end of a bar's row, and returns what is left of it for the bar.
pub(crate) fn put_beside_bar(words: &str, view: &View<'_>, row: Rect, buffer: &mut Buffer) -> Rect {
    let width = u16::try_from(words.len()).unwrap_or(u16::MAX).saturating_add(1);
    if row.width < width.saturating_mul(2) {
        return row;
    }
    let x = row.right() - width + 1;
    buffer.set_stringn(x, row.y, words, usize::from(width), view.palette.style(ColorRole::Text));
    Rect { width: row.width - width, ..row }
}

/// The share that was looked at, when it is known how many keys there are.
pub(crate) fn share(scan: &Scan) -> Option<f64> {
    match scan.state {
        ScanState::Complete => Some(1.0),
        _ if scan.total == 0 => None,
        _ => Some((scan.scanned as f64 / scan.total as f64).min(1.0)),
    }
}

/// `running, 12400 of 50000 keys (25 %) on 10.0.3.15:6379`.
pub(crate) fn progress_words(scan: &Scan) -> String {
    let state = match &scan.state {
        ScanState::Running => "running".to_owned(),
        ScanState::Paused => "paused".to_owned(),
        ScanState::Complete => "complete".to_owned(),
        ScanState::Stopped(why) => format!("stopped: {why}"),
    };
    let [scanned, total] = [scan.scanned, scan.total].map(|keys| show(keys as f64, Unit::Count));
    let node = scan.node.address().unwrap_or_default();
    let keys = match share(scan).filter(|_| scan.state != ScanState::Complete) {
        Some(share) => {
            format!("{scanned} of {total} keys ({})", show((share * 100.0).floor() / 100.0, Unit::Ratio))
        }
        None => counted(scan.scanned, "key"),
    };
    format!("{state}, {keys} on {node}")
}

/// How far a scan that goes on has come, and which keys steer it.
pub(crate) fn running_words(scan: &Scan, keys: &Keymap) -> String {
    let [pause, cancel] = [Action::PauseScan, Action::CancelScan].map(|action| keys.key_of(action));
    if pause.is_empty() || cancel.is_empty() {
        return progress_words(scan);
    }
    format!("{}; {pause}: pause or go on, {cancel}: end", progress_words(scan))
}

/// The biggest keys, one a line.
pub(crate) fn biggest(scan: &Scan, most: usize) -> impl Iterator<Item = String> {
    scan.biggest.iter().take(most).map(|key| {
        let elements = key.elements.filter(|_| key.kind.as_str() != "string");
        let elements = elements.map(|count| format!(", {}", counted(count, "element")));
        format!(
            "{} {} {}{}{}",
            show(key.bytes as f64, Unit::Bytes),
            key.key,
            key.kind,
            elements.unwrap_or_default(),
            key.slot.map(|slot| format!(", slot {slot}")).unwrap_or_default()
        )
    })
}

/// The shard of this name, as the snapshot's topology has it.
pub(crate) fn shard_of<'a>(snapshot: &'a Snapshot, subject: &Subject) -> Option<&'a Shard> {
    let topology = snapshot.topologies.iter().find(|topology| topology.cluster.contains(subject))?;
    topology.shards.iter().find(|shard| shard.subject == *subject)
}
