//! When what a report tells of began, and whether it is over.

use crate::report::{Report, Since, Verdict};
use crate::time::Moment;

impl Report {
    /// When what is wrong began, as far as anybody saw; `None` while nothing is.
    pub fn onset(&self) -> Option<Since> {
        let accused = self.suspects.first().map(|suspect| suspect.since);
        let symptom = self.symptom.as_ref().map(|symptom| symptom.since);
        // Of two at one moment the one that began before it tells more.
        [accused, symptom].into_iter().flatten().min_by_key(|since| (since.at, !since.before))
    }

    /// When the last of what was found guilty ended; `None` while something goes on, or nothing is guilty.
    pub fn ended(&self) -> Option<Moment> {
        let guilty = self.suspects.iter().filter(|suspect| suspect.verdict == Verdict::Guilty);
        let until: Option<Vec<Moment>> = guilty.map(|suspect| suspect.until).collect();
        until?.into_iter().max()
    }
}
