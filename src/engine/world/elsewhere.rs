//! Pages that tell of others: an exporter is no component itself, and what is asked directly is not told twice.

use std::borrow::Cow;
use std::time::Duration;

use super::{World, machine_of, tells_of_target};
use crate::metric::{
    CONTAINER_RESTARTS, GPU_LAUNCH, INSTANCES, INSTANCES_READY, Metric, MetricName, OF_THE_PROCESS,
    TOLD_OF_THE_WHOLE,
};
use crate::reading::{Event, Reading, Sample};
use crate::store::Store;
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;

impl World {
    /// Notes whom a page tells of. What it says of its own process and under names that nobody knows makes it no
    /// component, and neither does a queue that is a part of it.
    pub(super) fn note_whom_it_tells_of(&mut self, reading: &Reading) {
        let (mut itself, mut others) = (false, false);
        let mut before: Option<&Subject> = None;
        for sample in reading.samples.iter().filter(|sample| speaks_for_its_subject(sample)) {
            if is_of_a_list(sample) {
                others = true;
            } else if is_launch_of(sample, &reading.source) {
                itself = true;
            } else if before != Some(&sample.subject) {
                before = Some(&sample.subject);
                let is_own = reading.source.component_of().contains(&sample.subject);
                itself |= is_own;
                others |= !is_own && !is_inside(&sample.subject, &reading.source);
            }
        }
        if itself || others {
            self.elsewhere.insert(reading.source.clone(), others && !itself);
        }
    }

    /// Whether a component is nothing but pages that tell of others. The queue that is supposed behind every page is
    /// none either where the page is no service.
    pub(crate) fn tells_only_of_others(&self, component: &Subject) -> bool {
        let is_supposed = component.kind() == Kind::Queue && self.last_data(component).is_none();
        let service = is_supposed.then(|| Subject::component(Kind::Service, component.name()));
        let mut pages = service.as_ref().unwrap_or(component).within(&self.elsewhere).peekable();
        pages.peek().is_some() && pages.all(|(_, elsewhere)| *elsewhere)
    }

    /// Whether a page tells of a Redis deployment that is asked directly, which goes first.
    pub(super) fn is_told_twice(&self, is_page: bool, subject: &Subject) -> bool {
        is_page
            && subject.kind() == Kind::Redis
            && self.topologies.contains_key(&subject.component_of())
            && !self.is_exported(subject)
    }

    /// Whether a reading is that of a metrics page.
    pub(super) fn is_page(&self, reading: &Reading) -> bool {
        let spoke_before =
            || self.sources.get(&reading.source).is_some_and(|state| !state.dialects.is_empty());
        reading.events.iter().any(|event| matches!(event, Event::Dialects(_))) || spoke_before()
    }

    /// A reading without what is told twice; the page's state says what was left out.
    pub(crate) fn told_once<'a>(&mut self, reading: &'a Reading, store: &Store) -> Cow<'a, Reading> {
        let counted = counted_by_instances(reading, store);
        self.say_counted(reading, &counted);
        let is_page = self.is_page(reading);
        let is_counted = |sample: &Sample| counted.iter().any(|metric| sample.metric == (*metric).into());
        let is_twice = |sample: &Sample| self.is_told_twice(is_page, &sample.subject) || is_counted(sample);
        let Some(twice) = reading.samples.iter().find(|sample| is_twice(sample)) else {
            return Cow::Borrowed(reading);
        };
        let mut once = reading.clone();
        once.samples.retain(|sample| !is_twice(sample));
        if counted.is_empty() {
            let cluster = twice.subject.component_of();
            let why = format!("{cluster} is asked directly, which goes first");
            self.lacks(&reading.source, "the numbers of Redis on this page", Some(why));
        }
        Cow::Owned(once)
    }

    /// Says which totals of a log are left out, or that none is any more.
    fn say_counted(&mut self, reading: &Reading, counted: &[Metric]) {
        if reading.source.kind() != Kind::Log {
            return;
        }
        let whose = reading.samples.iter().find(|sample| is_of_a_service(sample));
        let why = whose.filter(|_| !counted.is_empty()).map(|sample| {
            let names: Vec<&str> = counted.iter().map(|metric| metric.name()).collect();
            format!("the instances of {} count {} themselves", sample.subject, names.join(", "))
        });
        self.lacks(&reading.source, "the totals of this log", why);
    }

    /// Notes what is left out of what a source tells, and why; `None` where nothing is.
    fn lacks(&mut self, source: &Subject, what: &str, why: Option<String>) {
        let Some(state) = self.sources.get_mut(source) else { return };
        let why = why.map(|why| RemoteText::new(&why));
        let known = state.unavailable.iter().position(|(known, _)| known.as_str() == what);
        match (known, why) {
            (Some(place), Some(why)) => state.unavailable[place].1 = why,
            (Some(place), None) => drop(state.unavailable.remove(place)),
            (None, Some(why)) => state.unavailable.push((RemoteText::new(what), why)),
            (None, None) => {}
        }
    }
}

/// An instance that told something within this time is there, and tells what it told within it.
const THERE_FOR: Duration = Duration::from_secs(120);

/// The totals of a log that every instance of its service counts as well: nothing is left to be learned from the log.
/// Where one does not, the log alone tells of all requests, and whoever adds up takes its number for the whole.
fn counted_by_instances(reading: &Reading, store: &Store) -> Vec<Metric> {
    if reading.source.kind() != Kind::Log {
        return vec![];
    }
    let mut counted = vec![];
    for metric in TOLD_OF_THE_WHOLE {
        let told = reading
            .samples
            .iter()
            .find(|sample| sample.metric == (*metric).into() && is_of_a_service(sample));
        let whose = told.map(|sample| &sample.subject);
        if whose.is_some_and(|service| store.every_instance_tells(service, *metric, reading.at - THERE_FOR)) {
            counted.push(*metric);
        }
    }
    counted
}

/// Whether a number is one that a service tells of itself on its own page.
fn is_of_a_service(sample: &Sample) -> bool {
    sample.subject.address().is_none()
        && matches!(sample.metric, MetricName::Known(metric) if TOLD_OF_THE_WHOLE.contains(&metric))
}

fn speaks_for_its_subject(sample: &Sample) -> bool {
    tells_of_target(&sample.metric)
        && matches!(sample.metric, MetricName::Known(metric) if !OF_THE_PROCESS.contains(&metric))
}

/// Whether a number is one of a list of deployments or containers that somebody keeps for all of them.
fn is_of_a_list(sample: &Sample) -> bool {
    const LISTED: &[Metric] = &[INSTANCES, INSTANCES_READY, CONTAINER_RESTARTS];
    sample.part.is_some() && matches!(sample.metric, MetricName::Known(metric) if LISTED.contains(&metric))
}

/// Whether a number is how long the machine that tells it takes to start kernels on a GPU of its own: that is the machine's
/// time, and not the GPU's.
fn is_launch_of(sample: &Sample, source: &Subject) -> bool {
    sample.metric == MetricName::Known(GPU_LAUNCH)
        && machine_of(&sample.subject) == Some(source.component_of())
}

/// Whether a subject is the queue or the GPU of the very service that the page is of.
fn is_inside(subject: &Subject, source: &Subject) -> bool {
    matches!(subject.kind(), Kind::Queue | Kind::Gpu) && subject.name() == source.name()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{
        ERRORS, GPU_UTILIZATION, LOG_REQUESTS, PROCESS_START, QUEUE_WAITING, REDIS_COMMANDS, REQUESTS,
    };
    use crate::reading::{Input, Node, NodeHealth, Shard, Topology, Value};
    use crate::report::{Conclusion, Report};
    use crate::settings::{Baselines, Component, Settings};
    use crate::time::Moment;

    fn subject(text: &str) -> Subject {
        text.parse().unwrap()
    }

    /// What comes of pages of `service/p@h:1` with these numbers, one a second for five seconds.
    fn report(numbers: &[(&str, Metric)], seconds: i64) -> Report {
        let page = subject("service/p@h:1");
        let declared = Component { has_source: true, ..Component::new(page.component_of()) };
        let queue = Component::new(subject("queue/p"));
        let settings = Settings { components: vec![declared, queue], ..Settings::default() };
        let mut engine = Engine::new(settings, Baselines::default());
        for second in 0..seconds {
            let mut reading = Reading::new(page.clone(), Moment(second * 1_000));
            reading.events.push(Event::Dialects(vec![RemoteText::new("dcgm")]));
            reading.sample(&page, PROCESS_START, Value::Gauge(5.0));
            reading.samples.push(Sample {
                subject: page.clone(),
                metric: MetricName::from("some_level".to_owned()),
                part: None,
                value: Value::Gauge(1.0),
            });
            for (about, metric) in numbers {
                reading.sample(&subject(about), *metric, Value::Gauge(0.5));
            }
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        (*engine.snapshot().unwrap().report).clone()
    }

    fn judged(report: &Report) -> Vec<&str> {
        report.verdicts.iter().map(|row| row.subject.as_str()).collect()
    }

    #[test]
    fn an_exporter_is_no_component_and_blinds_nobody() {
        let gpus = [("gpu/host-a:0", GPU_UTILIZATION), ("gpu/host-a:1", GPU_UTILIZATION)];
        let told = report(&gpus, 5);
        assert_eq!(judged(&told), ["gpu/host-a:0", "gpu/host-a:1"]);
        assert_eq!(told.conclusion, Conclusion::Clear);
        // It was asked as if it were a service, and is no source of what callers see.
        assert_eq!(told.shape.sentence, "no source shows what callers see");
        let silent = report(&[("service/p@h:1", QUEUE_WAITING)], 5);
        assert_eq!(silent.shape.sentence, "the source that shows what callers see gives no data");
    }

    #[test]
    fn a_machine_that_times_launches_on_its_gpus_tells_of_itself() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let (machine, gpu) = (subject("host/host-a"), subject("gpu/host-a:0"));
        for second in 0..3 {
            let mut reading = Reading::new(machine.clone(), Moment(second * 1_000));
            reading.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.5));
            reading.sample(&gpu, GPU_LAUNCH, Value::Gauge(1.2e-6));
            engine.take(&Input::Reading(reading));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        let snapshot = engine.snapshot().unwrap();
        assert_eq!(snapshot.graph.callees(&gpu).collect::<Vec<_>>(), [&machine]);
        assert!(snapshot.rules.iter().any(|row| row.rule == "launch-stall" && row.subject == machine));
    }

    #[test]
    fn a_service_with_a_queue_or_numbers_of_its_own_stays_one() {
        for numbers in [
            &[("queue/p@h:1", QUEUE_WAITING)][..],
            &[("gpu/host-a:0", GPU_UTILIZATION), ("service/p@h:1", REQUESTS)][..],
            &[][..],
        ] {
            assert!(judged(&report(numbers, 5)).contains(&"service/p"), "{numbers:?}");
        }
    }

    #[test]
    fn an_exporter_of_a_redis_that_is_asked_directly_is_left_out() {
        let node = subject("redis/features#0@10.0.0.1:6379");
        let page = subject("redis/features@10.0.0.9:9121");
        let shape = Topology {
            cluster: node.component_of(),
            clustered: false,
            shards: vec![Shard {
                subject: node.component_of().shard(0),
                slots: vec![],
                nodes: vec![Node {
                    subject: node.clone(),
                    id: "id".into(),
                    primary: true,
                    health: NodeHealth::Online,
                }],
            }],
        };
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let mut exporter = Reading::new(page.clone(), Moment(0));
        exporter.events.push(Event::Dialects(vec![RemoteText::new("redis-exporter")]));
        exporter.sample(&page, REDIS_COMMANDS, Value::Counter(1.0));
        engine.take(&Input::Reading(exporter.clone()));
        assert!(engine.store().latest(&page, REDIS_COMMANDS, None).is_none(), "a first total is no rate yet");
        let mut own = Reading::new(node.clone(), Moment(0));
        own.events.push(Event::Topology(shape));
        engine.take(&Input::Reading(own));
        for second in 1..4 {
            exporter.at = Moment(second * 1_000);
            exporter.samples[0].value = Value::Counter(second as f64 * 10.0);
            engine.take(&Input::Reading(exporter.clone()));
        }
        engine.take(&Input::Tick(Moment(3_250)));
        assert!(engine.store().latest(&page, REDIS_COMMANDS, None).is_none());
        let snapshot = engine.snapshot().unwrap();
        let state = snapshot.sources.iter().find(|state| state.source == page).unwrap();
        assert!(state.unavailable[0].1.as_str().contains("redis/features is asked directly"), "{state:?}");
        assert_eq!(state.last_data, Some(Moment(3_000)), "the page itself is there");
    }

    #[test]
    fn a_log_leaves_out_what_the_instances_of_its_service_count_and_keeps_the_rest() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let (gateway, log) = (subject("gateway/edge"), subject("log/edge-access"));
        let told = |engine: &mut Engine, source: &Subject, about: &Subject, second: i64| {
            let mut reading = Reading::new(source.clone(), Moment(second * 1_000));
            reading.sample(about, REQUESTS, Value::Counter(10.0 * second as f64));
            reading.sample(about, LOG_REQUESTS, Value::Counter(10.0 * second as f64));
            engine.take(&Input::Reading(reading));
        };
        for second in 0..3 {
            told(&mut engine, &log, &gateway, second);
        }
        assert_eq!(engine.store().latest(&gateway, REQUESTS, None).unwrap().at, Moment(2_000));
        let instance = gateway.instance("h:1");
        for second in 3..6 {
            told(&mut engine, &instance, &instance, second);
            told(&mut engine, &log, &gateway, second);
        }
        assert_eq!(engine.store().latest(&gateway, REQUESTS, None).unwrap().at, Moment(2_000));
        assert_eq!(engine.store().latest(&gateway, LOG_REQUESTS, None).unwrap().at, Moment(5_000));
        engine.take(&Input::Tick(Moment(5_250)));
        let snapshot = engine.snapshot().unwrap();
        let state = snapshot.sources.iter().find(|state| state.source == log).unwrap();
        assert!(
            state.unavailable[0].1.as_str().contains("gateway/edge count service.requests themselves"),
            "{state:?}"
        );
    }

    #[test]
    fn a_log_tells_of_the_whole_what_one_of_the_instances_does_not_count_and_nothing_is_added_up_twice() {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let (service, log) = (subject("service/a"), subject("log/access"));
        let told =
            |engine: &mut Engine, source: &Subject, about: &Subject, errors: Option<f64>, second: i64| {
                let mut reading = Reading::new(source.clone(), Moment(second * 1_000));
                reading.sample(about, REQUESTS, Value::Counter(10.0 * second as f64));
                if let Some(rate) = errors {
                    reading.sample(about, ERRORS, Value::Counter(rate * second as f64));
                }
                engine.take(&Input::Reading(reading));
            };
        let instances = ["h:1", "h:2"].map(|address| service.instance(address));
        // The second instance does not say how many of its requests fail.
        for second in 0..10 {
            told(&mut engine, &instances[0], &instances[0], Some(1.0), second);
            told(&mut engine, &instances[1], &instances[1], None, second);
            told(&mut engine, &log, &service, Some(4.0), second);
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
        let snapshot = engine.snapshot().unwrap();
        assert_eq!(snapshot.total(&service, ERRORS), Some(4.0), "three of them at the second instance");
        assert_eq!(snapshot.total(&service, REQUESTS), Some(20.0));
        let signal = snapshot.signals.iter().find(|signal| signal.row.name == "errors").unwrap();
        assert_eq!(signal.now.map(|seen| seen.value), Some(0.2));
        let state = snapshot.sources.iter().find(|state| state.source == log).unwrap();
        assert!(state.unavailable[0].1.as_str().ends_with("count service.requests themselves"), "{state:?}");
        // Once both count, the log has nothing to add, and once nobody does any more it is all that there is.
        for second in 10..160 {
            if second < 20 {
                told(&mut engine, &instances[0], &instances[0], Some(1.0), second);
                told(&mut engine, &instances[1], &instances[1], Some(2.0), second);
            }
            told(&mut engine, &log, &service, Some(4.0), second);
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
            let total = engine.snapshot().unwrap().total(&service, ERRORS);
            match second {
                16..20 => assert_eq!(total, Some(3.0), "second {second}"),
                150.. => assert_eq!(total, Some(4.0), "second {second}"),
                _ => {}
            }
        }
        let snapshot = engine.snapshot().unwrap();
        let state = snapshot.sources.iter().find(|state| state.source == log).unwrap();
        assert!(state.unavailable.is_empty(), "{state:?}");
    }
}
