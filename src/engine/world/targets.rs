//! The targets that discoveries list: who is no longer among them has left, and is neither silent nor at fault.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::World;
use crate::reading::{Target, TargetList};
use crate::snapshot::Listed;
use crate::subject::{Kind, Subject};
use crate::time::Moment;

/// Targets that left are remembered up to so many, the last first.
const MOST_LEFT: usize = 50;

impl World {
    /// Takes the new list of a discovery; returns what is gone with the targets that left.
    pub(super) fn replace_targets(
        &mut self,
        source: &Subject,
        at: Moment,
        list: &TargetList,
    ) -> Vec<Subject> {
        let before = self.sources.get(source).and_then(|state| state.listed.clone());
        let now: BTreeSet<&Subject> = list.targets.iter().map(|target| &target.subject).collect();
        let old = before.iter().flat_map(|listed| &listed.list.targets);
        let left: Vec<Target> = old.filter(|target| !now.contains(&target.subject)).cloned().collect();
        let known = before.iter().flat_map(|listed| listed.left.iter().cloned());
        let since = match &before {
            Some(listed) if listed.list == *list => listed.since,
            _ => at,
        };
        let listed = Listed {
            list: list.clone(),
            since,
            left: left
                .iter()
                .map(|target| (at, target.clone()))
                .chain(known)
                .filter(|(_, target)| !now.contains(&target.subject))
                .take(MOST_LEFT)
                .collect(),
        };
        if let Some(state) = self.sources.get_mut(source) {
            state.listed = Some(Arc::new(listed));
        }
        if left.is_empty() {
            return vec![];
        }
        let lists: Vec<Arc<Listed>> =
            self.sources.values().filter_map(|state| state.listed.clone()).collect();
        let elsewhere: BTreeSet<&Subject> =
            lists.iter().flat_map(|listed| &listed.list.targets).map(|target| &target.subject).collect();
        let gone = left.iter().filter(|target| !elsewhere.contains(&target.subject));
        let mut ended: Vec<Subject> = gone.flat_map(|left| self.end(left)).collect();
        ended.append(&mut self.gone);
        ended
    }

    /// Forgets a target that left, with the queue and the GPU that its page told of as its own, and the Redis nodes of which
    /// only it told.
    fn end(&mut self, left: &Target) -> Vec<Subject> {
        let address = left.subject.address().unwrap_or_default();
        let inside = [Kind::Queue, Kind::Gpu]
            .map(|kind| Subject::component(kind, left.subject.name()).instance(address));
        let gone: Vec<Subject> = inside.into_iter().chain([left.subject.clone()]).collect();
        for subject in &gone {
            self.sources.remove(subject);
            self.data.remove(subject);
            self.rhythms.note(subject, None);
            self.elsewhere.remove(subject);
            self.starts.remove(subject);
        }
        self.gpus.names.forget_source(&left.subject);
        self.without_exporter(&left.subject);
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{QUEUE_WAITING, REQUESTS};
    use crate::reading::{Event, Fault, FaultKind, Reading, Value};
    use crate::text::RemoteText;

    fn subject(text: &str) -> Subject {
        text.parse().unwrap()
    }

    fn list(world: &mut World, by: &str, at: i64, places: &[&str]) -> Vec<String> {
        let targets = places.iter().map(|place| Target {
            subject: subject("service/a").instance(place),
            place: RemoteText::new(place),
        });
        let mut reading = Reading::new(subject(by), Moment(at));
        let found = RemoteText::new("targets.json");
        reading.events.push(Event::Targets(TargetList { found, targets: targets.collect() }));
        world.take(&reading).gone.iter().map(ToString::to_string).collect()
    }

    fn answer(world: &mut World, place: &str) {
        let page = subject("service/a").instance(place);
        let mut reading = Reading::new(page.clone(), Moment(1));
        reading.sample(&page, REQUESTS, Value::Counter(1.0));
        reading.sample(&subject("queue/a").instance(place), QUEUE_WAITING, Value::Gauge(1.0));
        world.take(&reading);
    }

    #[test]
    fn who_left_is_gone_with_its_rows_and_remembered_until_it_comes_back() {
        let mut world = World::default();
        assert_eq!(list(&mut world, "discovery/d", 0, &["h:1", "h:2"]), [""; 0]);
        answer(&mut world, "h:1");
        answer(&mut world, "h:2");
        assert_eq!(
            list(&mut world, "discovery/d", 5, &["h:2"]),
            ["queue/a@h:1", "gpu/a@h:1", "service/a@h:1"]
        );
        let (first, second) = (subject("service/a@h:1"), subject("service/a@h:2"));
        assert!(world.source(&first).is_none() && world.last_data(&first).is_none());
        assert!(world.last_data(&subject("queue/a@h:1")).is_none());
        assert!(world.source(&second).is_some() && world.last_data(&second).is_some());
        let listed = |world: &World| world.source(&subject("discovery/d")).unwrap().listed.clone().unwrap();
        assert_eq!(listed(&world).left.len(), 1);
        assert_eq!((listed(&world).since, listed(&world).left[0].0), (Moment(5), Moment(5)));
        list(&mut world, "discovery/d", 7, &["h:2"]);
        assert_eq!(listed(&world).since, Moment(5), "the same list is not a new one");
        list(&mut world, "discovery/d", 9, &["h:1", "h:2"]);
        assert!(listed(&world).left.is_empty());
    }

    #[test]
    fn who_is_on_another_list_stays_and_a_fault_makes_nobody_leave() {
        let mut world = World::default();
        list(&mut world, "discovery/d", 0, &["h:1"]);
        list(&mut world, "discovery/e", 0, &["h:1"]);
        answer(&mut world, "h:1");
        assert_eq!(list(&mut world, "discovery/d", 1, &[]), [""; 0]);
        let mut broken = Reading::new(subject("discovery/e"), Moment(2));
        broken.faults.push(Fault { kind: FaultKind::Malformed, message: "no list".into() });
        assert!(world.take(&broken).gone.is_empty());
        assert!(world.source(&subject("service/a@h:1")).is_some());
        assert_eq!(list(&mut world, "discovery/e", 3, &[]).len(), 3);
    }
}
