//! The words about targets that a discovery lists.

use super::names;
use crate::quantity::counted;
use crate::snapshot::Listed;
use crate::{Snapshot, Subject};

/// How many targets a discovery lists, and where: `lists 3 targets: targets.json`.
pub fn lists(listed: &Listed) -> String {
    let count = counted(listed.list.targets.len() as u64, "target");
    format!("lists {count}: {}", listed.list.found)
}

/// The targets that left a discovery's list, one moment a line: `left at 14:06:02 UTC: service/ranker@10.0.0.5:8000`.
pub fn departures(listed: &Listed) -> Vec<String> {
    let mut lines: Vec<(String, Vec<&Subject>)> = vec![];
    for (at, target) in &listed.left {
        let when = format!("left at {} UTC", at.clock());
        match lines.last_mut().filter(|(known, _)| *known == when) {
            Some((_, subjects)) => subjects.push(&target.subject),
            None => lines.push((when, vec![&target.subject])),
        }
    }
    lines.into_iter().map(|(when, subjects)| format!("{when}: {}", names(&subjects))).collect()
}

/// Who left which discovery, one a line; what left is neither silent nor at fault.
pub fn all_departures(snapshot: &Snapshot) -> Vec<String> {
    let lists = snapshot.sources.iter().filter_map(|state| Some((&state.source, state.listed.as_ref()?)));
    lists
        .flat_map(|(source, listed)| {
            departures(listed).into_iter().map(move |line| format!("{source}: {line}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::{Target, TargetList};
    use crate::time::Moment;

    #[test]
    fn a_list_is_counted_and_who_left_together_stands_on_one_line() {
        let target = |place: &str| Target {
            subject: format!("service/a@{place}").parse().unwrap(),
            place: place.into(),
        };
        let listed = Listed {
            list: TargetList { found: "targets.json".into(), targets: vec![target("h:1")] },
            since: Moment(0),
            left: vec![
                (Moment(60_000), target("h:2")),
                (Moment(60_000), target("h:3")),
                (Moment(1_000), target("h:4")),
            ],
        };
        assert_eq!(lists(&listed), "lists 1 target: targets.json");
        assert_eq!(
            departures(&listed),
            ["left at 00:01:00 UTC: service/a@h:2 @h:3", "left at 00:00:01 UTC: service/a@h:4"]
        );
    }
}
