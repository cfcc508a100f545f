//! The one place that decides whether a value still tells what is going on: by the rhythm of whoever tells it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::metric::MetricName;
use crate::settings::{STALE_INTERVALS, Settings};
use crate::snapshot::{Snapshot, SourceState};
use crate::subject::Subject;
use crate::time::Moment;

/// How often there is news of each subject, where that is not the interval of polling: what another tool measures
/// every quarter of a minute is stale later than what Headwater asks for itself.
#[derive(Clone, Debug, Default)]
pub struct Rhythms(Arc<BTreeMap<Subject, Duration>>);

impl Rhythms {
    /// How often there is news of a subject or a part of it, where that is not the interval of polling; of several the
    /// longest.
    pub fn of(&self, subject: &Subject) -> Option<Duration> {
        if self.0.is_empty() {
            return None;
        }
        subject.within(&*self.0).map(|(_, every)| *every).max()
    }

    /// The age above which what is known of a subject is stale.
    pub fn stale_after(&self, settings: &Settings, subject: &Subject) -> Duration {
        settings.stale_after().max(self.of(subject).unwrap_or_default() * STALE_INTERVALS)
    }

    /// The oldest moment whose value of a metric of a subject still tells the present: the seldomer of who measures and
    /// of who asks says.
    pub(crate) fn fresh_from(
        &self,
        settings: &Settings,
        (subject, metric): (&Subject, &MetricName),
        now: Moment,
    ) -> Moment {
        now - self.stale_after(settings, subject).max(settings.stale_after_of(metric))
    }

    /// Notes how often there is news of a subject; `None` for the interval of polling.
    pub(crate) fn note(&mut self, subject: &Subject, every: Option<Duration>) {
        // Snapshots hold the map, so that it is copied when it changes, which is seldom.
        match every {
            None if self.0.is_empty() || !self.0.contains_key(subject) => {}
            None => drop(Arc::make_mut(&mut self.0).remove(subject)),
            Some(every) if self.0.get(subject) == Some(&every) => {}
            Some(every) => drop(Arc::make_mut(&mut self.0).insert(subject.clone(), every)),
        }
    }
}

impl SourceState {
    /// The age above which what a source told is stale: it may be asked, or have news, at a pace of its own.
    pub fn stale_after(&self, settings: &Settings) -> Duration {
        settings.stale_after_asking(&self.source).max(self.every.unwrap_or_default() * STALE_INTERVALS)
    }
}

impl Snapshot {
    /// The age above which what is known of a subject is stale.
    pub fn stale_after(&self, subject: &Subject) -> Duration {
        self.rhythms.stale_after(&self.settings, subject)
    }

    /// The oldest moment whose value of a metric of a subject still tells this snapshot's present.
    pub fn fresh_from(&self, subject: &Subject, metric: impl Into<MetricName>) -> Moment {
        self.rhythms.fresh_from(&self.settings, (subject, &metric.into()), self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{IN_FLIGHT, READY, REDIS_EXPIRED, TTFT};
    use crate::reading::{Input, Reading, Value};
    use crate::settings::Baselines;

    /// A page that is scraped by somebody else every fifteen seconds, looked at so long after its last scrape.
    fn scraped_by_another(seconds_ago: i64) -> Arc<Snapshot> {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let instance: Subject = "service/a@h:1".parse().unwrap();
        for scrape in 0..4 {
            let mut reading = Reading::new("graph/prometheus-main".parse().unwrap(), Moment(scrape * 15_000));
            reading.every = Some(Duration::from_secs(15));
            reading.sample(&instance, IN_FLIGHT, Value::Gauge(scrape as f64));
            let events = 500.0 * scrape as f64;
            let histogram = crate::histogram::Histogram {
                bounds: [1.0].into(),
                counts: [events].into(),
                count: events,
                sum: None,
            };
            reading.sample(&instance, TTFT, Value::Histogram(Arc::new(histogram)));
            engine.take(&Input::Reading(reading));
        }
        engine.take(&Input::Tick(Moment(45_000 + seconds_ago * 1_000)));
        engine.snapshot().unwrap()
    }

    #[test]
    fn what_another_tool_scrapes_is_stale_by_its_own_rhythm() {
        let instance: Subject = "service/a@h:1".parse().unwrap();
        for (ago, is_fresh) in [(1, true), (20, true), (74, true), (76, false)] {
            let snapshot = scraped_by_another(ago);
            assert_eq!(snapshot.present(&instance, IN_FLIGHT, None).is_some(), is_fresh, "{ago} s");
            assert_eq!(snapshot.spread(&instance, TTFT, None).is_some(), is_fresh, "{ago} s");
        }
        let snapshot = scraped_by_another(1);
        assert_eq!(snapshot.stale_after(&"service/a".parse().unwrap()), Duration::from_secs(75));
        assert_eq!(snapshot.stale_after(&"redis/a".parse().unwrap()), Duration::from_secs(5));
        let state = &snapshot.sources[0];
        assert_eq!(state.stale_after(&snapshot.settings), Duration::from_secs(75));
        let polled: Subject = "redis/a#0@h:1".parse().unwrap();
        assert_eq!(snapshot.fresh_from(&polled, REDIS_EXPIRED), Moment(41_000));
    }

    #[test]
    fn who_is_asked_directly_again_keeps_no_rhythm_of_another() {
        let subject: Subject = "redis/a#0@h:1".parse().unwrap();
        let mut rhythms = Rhythms::default();
        rhythms.note(&subject, Some(Duration::from_secs(15)));
        let held = rhythms.clone();
        rhythms.note(&subject, None);
        assert_eq!((rhythms.of(&subject), held.of(&subject)), (None, Some(Duration::from_secs(15))));
    }

    #[test]
    fn who_looks_from_beside_sets_no_pace() {
        for beside in ["probe/front", "log/access"] {
            let mut engine = Engine::new(Settings::default(), Baselines::default());
            let instance: Subject = "service/a@h:1".parse().unwrap();
            let mut page = Reading::new(instance.clone(), Moment(0));
            page.sample(&instance, IN_FLIGHT, Value::Gauge(1.0));
            engine.take(&Input::Reading(page));
            let mut look = Reading::new(beside.parse().unwrap(), Moment(0));
            look.every = Some(Duration::from_secs(60));
            look.sample(&instance, READY, Value::Gauge(1.0));
            engine.take(&Input::Reading(look));
            for (second, is_fresh) in [(4, true), (6, false)] {
                engine.take(&Input::Tick(Moment(second * 1_000)));
                let snapshot = engine.snapshot().unwrap();
                assert_eq!(snapshot.present(&instance, IN_FLIGHT, None).is_some(), is_fresh, "{beside}");
                assert_eq!(snapshot.stale_after(&instance), Duration::from_secs(5), "{beside}");
            }
        }
    }
}
