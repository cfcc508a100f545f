//! What is said about scans while they run: a line each, not too often.

use headwater_engine::metric::Unit;
use headwater_engine::reading::{Scan, ScanState};
use headwater_engine::{Subject, quantity};

use super::told::Told;

/// Remembers which scans were spoken of.
#[derive(Debug, Default)]
pub struct ScanProgress {
    told: Told<Subject>,
}

impl ScanProgress {
    /// Notes that the start of a shard's scan was told: the next line about it comes after a pause.
    pub fn started(&mut self, shard: &Subject) {
        self.told.started(shard.clone());
    }

    /// The line to say about a scan now, if one is due.
    pub fn line(&mut self, scan: &Scan) -> Option<String> {
        self.told.is_due(scan.shard.clone(), scan.state.has_ended()).then(|| scan_line(scan))
    }

    /// Whether the end of a shard's scan was told.
    pub fn is_end_told(&self, shard: &Subject) -> bool {
        self.told.is_end_told(shard)
    }
}

/// One line about a scan: how far it is and the biggest key so far.
pub fn scan_line(scan: &Scan) -> String {
    let share = if scan.total == 0 { 1.0 } else { (scan.scanned as f64 / scan.total as f64).min(1.0) };
    let keys = quantity::counted(scan.total, "key");
    let state = match &scan.state {
        ScanState::Running => format!("{} of {keys}", quantity::show(share, Unit::Ratio)),
        ScanState::Paused => format!("paused at {} of {keys}", quantity::show(share, Unit::Ratio)),
        ScanState::Complete => format!("done, {}", quantity::counted(scan.scanned, "key")),
        ScanState::Stopped(reason) if scan.scanned == 0 => {
            format!("stopped before a key was looked at ({reason})")
        }
        ScanState::Stopped(reason) => {
            format!("stopped at {} of {keys} ({reason})", quantity::show(share, Unit::Ratio))
        }
    };
    let biggest = scan.biggest.first().map_or_else(String::new, |key| {
        format!(", biggest {} {}", key.key, quantity::show(key.bytes as f64, Unit::Bytes))
    });
    format!("scan of {}: {state}{biggest}", scan.shard)
}

/// One line about what a scan has cost the node that it asked, and what it cannot say.
pub fn cost_line(scan: &Scan) -> String {
    let cpu = quantity::show(scan.cpu_s, Unit::Seconds);
    let orphans = match scan.orphans {
        0 => String::new(),
        1 => "; 1 key belongs to a slot of another shard, and nobody reaches it".to_owned(),
        orphans => format!("; {orphans} keys belong to slots of another shard, and nobody reaches them"),
    };
    format!(
        "it cost {} {}, {cpu} of CPU by its own count, {} (left out of hit ratios){orphans}",
        scan.node,
        quantity::counted(scan.commands, "command"),
        quantity::counted(scan.hits, "hit")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_is_told_at_its_start_and_once_at_its_end() {
        let shard: Subject = "redis/features#1".parse().unwrap();
        let scan = |state| Scan { scanned: 1, total: 4, state, ..Scan::begun(shard.clone(), shard.clone()) };
        let mut progress = ScanProgress::default();
        assert_eq!(
            progress.line(&scan(ScanState::Running)).as_deref(),
            Some("scan of redis/features#1: 25 % of 4 keys")
        );
        assert_eq!(progress.line(&scan(ScanState::Running)), None);
        assert!(!progress.is_end_told(&shard));
        assert!(progress.line(&scan(ScanState::Complete)).is_some());
        assert_eq!(progress.line(&scan(ScanState::Complete)), None);
        assert!(progress.is_end_told(&shard));
        progress.started(&shard);
        assert_eq!(progress.line(&scan(ScanState::Running)), None, "a scan that was announced waits");
    }
}
