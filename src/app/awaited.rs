//! The targets that have given nothing yet.

use std::collections::BTreeMap;

use headwater_engine::Subject;
use headwater_engine::reading::{Event, Reading, Target};

use crate::config::Config;
use crate::sources::host::HostSpec;
use crate::sources::nvml::NvmlSpec;
use crate::sources::prometheus::PrometheusSpec;

/// Who is waited for: what the configuration names, and what lists name while it runs.
#[derive(Debug)]
pub(super) struct Awaited {
    subjects: Vec<Subject>,
    /// The targets that each discovery lists.
    listed: BTreeMap<Subject, Vec<Target>>,
}

impl Awaited {
    /// Everything that a configuration names. GPUs that nobody asked for are not missed.
    pub(super) fn of(config: &Config) -> Self {
        let components = config.redis.iter().map(|spec| spec.component.clone());
        let pages = config.metrics.iter().filter_map(|spec| spec.subject().ok());
        let servers = config.prometheus.iter().filter_map(PrometheusSpec::subject);
        let probes = config.probes.iter().map(|spec| spec.subject.clone());
        let logs = config.logs.iter().map(|spec| spec.subject.clone());
        let lists = config.discoveries.iter().map(|spec| spec.subject.clone());
        let gpus = config.local.gpu.iter().filter(|gpu| gpu.is_expected).map(|_| NvmlSpec::subject());
        let hosts = config.local.host.iter().map(HostSpec::subject);
        let named = components.chain(pages).chain(servers).chain(probes).chain(logs).chain(lists);
        Self::new(named.chain(gpus).chain(hosts).collect())
    }

    fn new(subjects: Vec<Subject>) -> Self {
        Self { subjects, listed: BTreeMap::new() }
    }

    pub(super) fn subjects(&self) -> &[Subject] {
        &self.subjects
    }

    /// Who gave data is no longer waited for, nor is who left a list; who came onto one is.
    pub(super) fn hear(&mut self, reading: &Reading) {
        if !reading.samples.is_empty() {
            self.subjects.retain(|target| !target.contains(&reading.source));
        }
        for event in &reading.events {
            let Event::Targets(list) = event else { continue };
            let before = self.listed.insert(reading.source.clone(), list.targets.clone()).unwrap_or_default();
            let is_on = |list: &[Target], target: &Subject| list.iter().any(|one| one.subject == *target);
            self.subjects.retain(|target| {
                *target != reading.source && (!is_on(&before, target) || is_on(&list.targets, target))
            });
            let new = list.targets.iter().filter(|target| !before.contains(target));
            self.subjects.extend(new.map(|target| target.subject.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_engine::metric::REQUESTS;
    use headwater_engine::reading::{TargetList, Value};

    use super::*;
    use crate::sources::now;

    #[test]
    fn a_list_is_awaited_then_its_targets_until_they_answer_or_leave() {
        let subject = |text: &str| text.parse::<Subject>().unwrap();
        let mut awaited = Awaited::new(vec![subject("discovery/d"), subject("redis/features")]);
        let list = |awaited: &mut Awaited, places: &[&str]| {
            let mut reading = Reading::new(subject("discovery/d"), now());
            let targets = places.iter().map(|place| Target {
                subject: subject("service/a").instance(place),
                place: (*place).into(),
            });
            let list = TargetList { found: "a.yml".into(), targets: targets.collect() };
            reading.events.push(Event::Targets(list));
            awaited.hear(&reading);
            awaited.subjects().iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let [one, two] = ["service/a@h:1", "service/a@h:2"];
        assert_eq!(list(&mut awaited, &["h:1", "h:2"]), ["redis/features", one, two]);
        assert_eq!(list(&mut awaited, &["h:2"]), ["redis/features", two]);
        let mut answer = Reading::new(subject(two), now());
        answer.sample(&subject(two), REQUESTS, Value::Counter(1.0));
        awaited.hear(&answer);
        assert_eq!(list(&mut awaited, &["h:2"]), ["redis/features"]);
    }
}
