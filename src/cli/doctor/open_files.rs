//! The check of this process: whether it may have as many sockets open as there are targets.

use std::collections::BTreeSet;

use headwater_engine::quantity::{counted, show};
use headwater_engine::{Kind, Subject};

use crate::config::Config;
use crate::open_files;
use crate::sources::metrics::fetch::most_kept;
use crate::sources::redis::ProbeStep;

/// What to do where pages have to share sockets.
pub(super) fn advice(config: &Config, steps: &[ProbeStep]) -> Option<(Subject, String)> {
    let asked: BTreeSet<&Subject> =
        steps.iter().filter(|step| step.what.as_str() == "page").map(|step| &step.subject).collect();
    let pages = asked.len().max(config.metrics.len());
    let words = too_low(pages, most_kept(), open_files::limit())?;
    Some((Subject::component(Kind::Observer, "headwater"), words))
}

/// Says that the limit is too low for so many pages, of which so many can each keep a connection.
fn too_low(pages: usize, most_kept: usize, limit: usize) -> Option<String> {
    let (pages, most_kept) = (pages as u64, most_kept as u64);
    (pages > most_kept).then(|| {
        format!(
            "it may have {} files open, too few for {}: beyond {} each look needs a new connection and may have to wait; \
             raise the limit (ulimit -Hn, or LimitNOFILE= of its unit) to {}",
            show(limit as f64, headwater_engine::metric::Unit::Count),
            counted(pages, "page"),
            show(most_kept as f64, headwater_engine::metric::Unit::Count),
            (pages * 4).next_power_of_two()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_too_low_is_said_with_one_that_is_not() {
        assert_eq!(too_low(512, 512, 1_024), None);
        let said = too_low(2_000, 512, 1_024).unwrap();
        assert!(said.contains("too few for 2000 pages") && said.ends_with("to 8192"), "{said}");
    }
}
