//! Moments as the engine knows them: handed in, never read from a clock.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, by the observer's clock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Moment(pub i64);

impl Moment {
    /// How long `earlier` lies before this moment; zero when it does not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    /// Seconds from `earlier` to this moment, negative when `earlier` is later.
    pub fn seconds_after(self, earlier: Self) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / 1_000.0
    }

    /// The time of day in UTC, `HH:MM:SS`.
    pub fn clock(self) -> String {
        let seconds = self.0.div_euclid(1_000).rem_euclid(86_400);
        format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{:03}", self.clock(), self.0.rem_euclid(1_000))
    }
}
