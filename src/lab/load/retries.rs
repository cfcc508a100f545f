//! What a client does with an answer that is none.

use std::time::Duration;

use axum::http::StatusCode;

/// When a client gives up on an attempt, and what it then tries again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::lab) struct Retries {
    /// When it gives up on an attempt.
    pub(in crate::lab) timeout: Duration,
    /// What it tries again.
    pub(in crate::lab) again: Again,
    /// How often at most.
    pub(in crate::lab) most: u32,
    /// The shortest pause before the first repetition.
    pub(in crate::lab) pause: Duration,
    /// How much longer the pause may be, as a share of it: without that, everyone who was refused together would come
    /// back together.
    pub(in crate::lab) spread: f64,
    /// How many times as long each pause is as the one before.
    pub(in crate::lab) growth: f64,
}

/// What is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lab) enum Again {
    /// Only a refusal: the service did no work for it.
    Refused,
    /// Whatever did not end well.
    Failed,
}

impl Retries {
    /// What users of a lab usually do: they are patient, and try once more when they are refused.
    pub(in crate::lab) const USUAL: Self = Self {
        timeout: Duration::from_secs(5),
        again: Again::Refused,
        most: 1,
        pause: Duration::from_millis(100),
        spread: 0.5,
        growth: 1.0,
    };

    /// The pause before the next repetition after so many, or `None` where the answer stands; `chance` from 0 to 1 is
    /// the request's own.
    pub(super) fn pause(&self, done: u32, status: Option<StatusCode>, chance: f64) -> Option<Duration> {
        let may = match self.again {
            Again::Refused => status == Some(StatusCode::SERVICE_UNAVAILABLE),
            Again::Failed => status != Some(StatusCode::OK),
        };
        // Each repetition has a chance of its own, and the first one the request's.
        let own = (chance + 0.618_033_988_75 * f64::from(done)).fract();
        let longer = self.growth.powi(done as i32) * (1.0 + self.spread * own);
        (may && done < self.most).then(|| self.pause.mul_f64(longer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let retries = Retries {
            again: Again::Failed,
            most: 2,
            pause: Duration::from_secs(1),
            spread: 0.0,
            growth: 2.0,
            ..Retries::USUAL
        };
        let pauses = |status| [0, 1, 2].map(|done| retries.pause(done, status, 0.3));
        let (one, two) = (Some(Duration::from_secs(1)), Some(Duration::from_secs(2)));
        assert_eq!(pauses(None), [one, two, None]);
        assert_eq!(pauses(Some(StatusCode::GATEWAY_TIMEOUT)), [one, two, None]);
        assert_eq!(pauses(Some(StatusCode::OK)), [None, None, None]);
    }

    #[test]
    fn a_patient_user_repeats_a_refusal_once_and_nothing_else() {
        let usual = Retries::USUAL;
        let refused = Some(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(usual.pause(0, refused, 0.5), Some(Duration::from_millis(125)));
        assert_eq!(usual.pause(1, refused, 0.5), None);
        assert_eq!(usual.pause(0, Some(StatusCode::GATEWAY_TIMEOUT), 0.5), None);
        assert_eq!(usual.pause(0, None, 0.5), None);
    }
}
