//! Whose past is asked for in one look, and in which order.

use std::collections::BTreeMap;

use headwater_engine::Subject;

use super::instance::{InstanceKey, Remembered};
use super::looking::Told;

/// The most targets whose past is asked for in one look.
pub(super) const MOST_TARGETS: usize = 200;

/// The targets of one component that are asked for, and those that are too many.
#[derive(Debug, Default)]
pub(super) struct Share {
    pub(super) targets: Vec<Remembered>,
    pub(super) left_out: Vec<InstanceKey>,
}

/// How often the past of what is not known could not be read: of components, and of their targets.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    components: BTreeMap<Subject, u32>,
    targets: BTreeMap<InstanceKey, u32>,
}

impl Failures {
    /// Notes what came of one component.
    pub(super) fn note(&mut self, component: &Subject, told: &Told) {
        if told.is_whole() {
            self.components.remove(component);
        } else {
            *self.components.entry(component.clone()).or_default() += 1;
        }
        for key in told.failed.keys() {
            *self.targets.entry(key.clone()).or_default() += 1;
        }
        for key in &told.read {
            self.targets.remove(key);
        }
    }
}

/// The components in the order in which they are asked for, each with its share of the targets. What could not be read
/// comes after the rest, the more often the later, so that it takes nobody's turn.
pub(super) fn turns(targets: Vec<Remembered>, failures: &Failures) -> Vec<(Subject, Share)> {
    let mut shares: BTreeMap<Subject, Share> = BTreeMap::new();
    for target in targets {
        shares.entry(target.component.clone()).or_default().targets.push(target);
    }
    let (mut free, mut waiting) = (MOST_TARGETS, shares.len());
    let mut smallest_first: Vec<_> = shares.values_mut().collect();
    smallest_first.sort_by_key(|share| share.targets.len());
    for share in smallest_first {
        share.targets.sort_by_key(|target| failures.targets.get(&target.key).copied());
        let most = (free / waiting.max(1)).min(share.targets.len());
        share.left_out = share.targets.split_off(most).into_iter().map(|target| target.key).collect();
        free -= share.targets.len();
        waiting -= 1;
    }
    let mut turns: Vec<_> = shares.into_iter().collect();
    turns.sort_by_key(|(component, _)| failures.components.get(component).copied());
    turns
}

#[cfg(test)]
mod tests {
    use headwater_engine::Moment;
    use headwater_engine::reading::History;

    use super::*;

    fn targets(component: &str, count: usize) -> impl Iterator<Item = Remembered> {
        let component: Subject = component.parse().unwrap();
        (0..count).map(move |number| Remembered {
            key: InstanceKey::named(component.name(), &format!("h:{number}")),
            component: component.clone(),
            labels: BTreeMap::new(),
            every: None,
        })
    }

    fn order(turns: &[(Subject, Share)]) -> Vec<(&str, usize, usize)> {
        let told =
            turns.iter().map(|(component, share)| (component, share.targets.len(), share.left_out.len()));
        told.map(|(component, asked, left_out)| (component.as_str(), asked, left_out)).collect()
    }

    fn told(read: &[InstanceKey], failed: Option<InstanceKey>) -> Told {
        let failed = failed.into_iter().map(|key| (key, "400".to_owned())).collect();
        let history = History { from: Moment(0), to: Moment(0), rows: vec![] };
        Told { history, read: read.to_vec(), failed, stopped: None }
    }

    #[test]
    fn everybody_has_a_share() {
        let all = targets("service/a", 300).chain(targets("service/b", 2)).chain(targets("service/c", 150));
        let turns = turns(all.collect(), &Failures::default());
        assert_eq!(order(&turns), [("service/a", 99, 201), ("service/b", 2, 0), ("service/c", 99, 51)]);
    }

    #[test]
    fn what_fails_again_and_again_takes_nobodys_turn() {
        let all = || targets("service/a", 2).chain(targets("service/b", 1)).chain(targets("service/c", 1));
        let [a, b] = ["service/a", "service/b"].map(|name| name.parse::<Subject>().unwrap());
        let key = |component: &Subject, number| InstanceKey::named(component.name(), &format!("h:{number}"));
        let mut failures = Failures::default();
        failures.note(&a, &told(&[], Some(key(&a, 0))));
        failures.note(&a, &told(&[], Some(key(&a, 0))));
        failures.note(&b, &told(&[], Some(key(&b, 0))));
        let later = turns(all().collect(), &failures);
        assert_eq!(order(&later), [("service/c", 1, 0), ("service/b", 1, 0), ("service/a", 2, 0)]);
        let of_a: Vec<_> = later[2].1.targets.iter().map(|target| target.key.clone()).collect();
        assert_eq!(of_a, [key(&a, 1), key(&a, 0)]);
        failures.note(&b, &told(&[key(&b, 0)], None));
        assert_eq!(order(&turns(all().collect(), &failures))[0].0, "service/b");
    }
}
