//! Names for what readings tell of, where only the others tell how it is called.

use std::borrow::Cow;

use super::World;
use crate::reading::Reading;
use crate::subject::Kind;

impl World {
    /// A reading with its numbers under the names that everybody else uses.
    pub(crate) fn named<'a>(&mut self, reading: &'a Reading) -> Cow<'a, Reading> {
        let named =
            if reading.source.kind() == Kind::Probe { self.probed(reading) } else { self.placed(reading) };
        self.named_by_uuid(named)
    }

    /// A probe's reading, about an instance where somebody else tells of one at that address, else about all of them.
    fn probed<'a>(&self, reading: &'a Reading) -> Cow<'a, Reading> {
        let mut placed = Cow::Borrowed(reading);
        for (index, sample) in reading.samples.iter().enumerate() {
            let about = &sample.subject;
            let is_own = about.kind() == Kind::Probe || about.address().is_none();
            if !is_own && !self.sources.contains_key(about) {
                placed.to_mut().samples[index].subject = about.component_of();
            }
        }
        placed
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::Engine;
    use crate::metric::{QUEUE_WAITING, READY};
    use crate::reading::{Input, Reading, Value};
    use crate::settings::{Baselines, Settings};
    use crate::subject::Subject;
    use crate::time::Moment;

    #[test]
    fn a_probe_is_about_an_instance_that_somebody_tells_of_and_else_about_all() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let instance: Subject = "service/a@h:1".parse().unwrap();
        let probe: Subject = "probe/ready-h-1".parse().unwrap();
        let mut told = |source: &Subject, metric, second: i64| {
            let mut reading = Reading::new(source.clone(), Moment(second * 1_000));
            reading.sample(&instance, metric, Value::Gauge(1.0));
            engine.take(&Input::Reading(reading));
            let at = |subject: &Subject| engine.store().latest(subject, READY, None).map(|seen| seen.at.0);
            (at(&instance.component_of()), at(&instance))
        };
        assert_eq!(told(&probe, READY, 1), (Some(1_000), None));
        told(&instance, QUEUE_WAITING, 2);
        assert_eq!(told(&probe, READY, 3), (Some(1_000), Some(3_000)));
    }
}
