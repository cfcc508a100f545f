//! What the time of one of our own kernels says beside a saved one: the same judgement wherever it is read.

use serde::{Deserialize, Serialize};

/// What a time says beside an earlier one of the same kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KernelChange {
    /// Slower by more than the noise of both.
    Slower,
    /// Faster by more than the noise of both.
    Faster,
    /// Apart by no more than the noise of both.
    WithinNoise,
    /// The noise of one of them is unknown, so that nothing can be said.
    Unknown,
}

impl KernelChange {
    /// Of two times, with how far both together may be off, all in seconds.
    pub fn of(now_s: f64, then_s: f64, noise_s: Option<f64>) -> Self {
        let Some(noise_s) = noise_s else { return Self::Unknown };
        let apart = now_s - then_s;
        match apart.abs() > noise_s {
            false => Self::WithinNoise,
            true if apart > 0.0 => Self::Slower,
            true => Self::Faster,
        }
    }

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::WithinNoise => "within noise",
            Self::Unknown => "noise unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beyond_the_noise_of_both_is_a_change() {
        let of = |now| KernelChange::of(now, 100.0, Some(15.0)).word();
        assert_eq!([of(114.0), of(116.0), of(84.0)], ["within noise", "slower", "faster"]);
        assert_eq!(KernelChange::of(900.0, 1.0, None).word(), "noise unknown");
    }
}
