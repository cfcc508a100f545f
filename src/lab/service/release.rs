//! What a release of the service does otherwise than the one before.

use std::time::Duration;

use super::batcher::Pace;
use crate::lab::fault::Window;

/// How long the service usually waits for a Redis command.
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The difference; the default is none.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lab) struct Release {
    /// A stage that takes longer, and by how much.
    pub(in crate::lab) slow_stage: Option<(&'static str, Duration)>,
    /// How much longer a request keeps its Redis connection after its reads.
    pub(in crate::lab) held: Duration,
    /// How long it waits for a Redis command; `None` is [`COMMAND_TIMEOUT`].
    pub(in crate::lab) patience: Option<Duration>,
    /// Share of requests that read all their keys with one command.
    pub(in crate::lab) read_together: f64,
    /// How fast its model is.
    pub(in crate::lab) pace: Pace,
    /// Whether answers are kept in a cache, which spares the model whoever asks for the same again.
    pub(in crate::lab) keeps_answers: bool,
    /// When features and answers that the service computed itself expire: at the window's end, or never.
    pub(in crate::lab) kept_until: Option<Window>,
}

impl Release {
    /// How long it waits for a Redis command.
    pub(super) fn command_timeout(&self) -> Duration {
        self.patience.unwrap_or(COMMAND_TIMEOUT)
    }

    /// Whether the request of this number reads all its keys with one command. The share holds over any few of them.
    pub(super) fn reads_together(&self, number: u64) -> bool {
        (number as f64 * 0.618_033_988_75).fract() < self.read_together
    }

    /// What this stage takes longer.
    pub(super) fn delay_of(&self, stage: &str) -> Duration {
        self.slow_stage.filter(|(slow, _)| *slow == stage).map_or(Duration::ZERO, |(_, by)| by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_kept() {
        let release = Release { read_together: 0.3, ..Release::default() };
        let together = (0..1_000).filter(|number| release.reads_together(*number)).count();
        assert!((290..310).contains(&together), "{together}");
        assert!(!(0..1_000).any(|number| Release::default().reads_together(number)));
    }
}
