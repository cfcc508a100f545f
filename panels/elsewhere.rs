//! Who is suspected first, for what is said of somebody else: whoever looks at a victim learns whose.

use headwater_engine::report::{Confidence, Role};
use headwater_engine::{Snapshot, Subject};

/// `victim of gpu/host-a:0 (gpu-memory-full)` of whoever the symptom is seen at or who only suffers, `first suspect:
/// gpu/host-a:0 (gpu-memory-full)` of everybody else; nothing of the suspect itself, its parts and its whole.
pub(crate) fn first_suspect(snapshot: &Snapshot, subject: &Subject) -> Option<String> {
    let report = &snapshot.report;
    let first = report.suspects.first()?;
    let component = subject.component_of();
    if first.subject.component_of() == component {
        return None;
    }
    let is_of = |other: &Subject| other.component_of() == component;
    // A victim only of what it depends on, and of nobody of whom that is a guess.
    let is_below = first.confidence > Confidence::Low
        && snapshot.graph.below(&component).contains_key(&first.subject.component_of());
    let suffers = is_below
        && (report.symptom.as_ref().is_some_and(|symptom| is_of(&symptom.subject))
            || report.suspects.iter().any(|suspect| suspect.role == Role::Victim && is_of(&suspect.subject)));
    let whose = if suffers { "victim of" } else { "first suspect:" };
    Some(format!("{whose} {} ({})", first.subject, first.rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{Trouble, World, subject};

    #[test]
    fn everybody_but_the_suspect_says_who_that_is() {
        let snapshot = World::after(Trouble::FullLink, 20);
        let told = |text: &str| first_suspect(&snapshot, &subject(text));
        let whom = "redis/features#2 (shard-bandwidth)";
        assert_eq!(told("service/ranker@10.1.0.1:8000"), Some(format!("victim of {whom}")));
        assert_eq!(told("gateway/edge"), Some(format!("first suspect: {whom}")));
        assert_eq!(told("redis/features#2@10.0.3.14:6379"), None);
        assert_eq!(first_suspect(&World::after(Trouble::None, 5), &subject("service/ranker")), None);
    }
}
