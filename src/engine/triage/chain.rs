//! From the symptom down to the cause, each link with its number.

use super::symptom::Suffering;
use crate::metric::Unit;
use crate::quantity::show;
use crate::report::{Link, Suspect};
use crate::rules::{CO_LOCATED_KEYS, client_operations, client_operations_between};
use crate::scene::Scene;

/// The chain from the symptom to the first suspect; only the symptom when there is none.
pub(super) fn of(scene: &Scene<'_>, suffering: Option<&Suffering>, suspects: &[Suspect]) -> Vec<Link> {
    let Some(suffering) = suffering else { return vec![] };
    let Suffering { symptom, short, service, ended, .. } = suffering;
    let mut links = vec![Link { subject: symptom.subject.clone(), text: short.clone() }];
    let Some(cause) = suspects.first() else { return links };
    let component = cause.subject.component_of();
    let stages = suffering.stages_during(scene, cause.since, cause.until.or(cause.unseen_since));
    let stage = stages.iter().find(|stage| match &stage.spent_in {
        Some(spent_in) => scene.graph.below(spent_in).contains_key(&component),
        None => component == *service,
    });
    links.extend(stage.map(|stage| Link {
        subject: service.clone(),
        text: format!(
            "{} mean {} ({} of all stages)",
            stage.name.as_str().replace('_', " "),
            show(stage.mean, Unit::Seconds),
            show(stage.share, Unit::Ratio)
        ),
    }));
    if component.kind() == crate::subject::Kind::Redis {
        let operations = match ended {
            Some(span) => client_operations_between(scene, service, *span),
            None => {
                client_operations(scene, service).into_iter().map(|(name, seen)| (name, seen.p99)).collect()
            }
        };
        let slowest =
            operations.into_iter().max_by(|(_, one), (_, other)| one.number().total_cmp(&other.number()));
        links.extend(slowest.map(|(name, p99)| Link {
            subject: service.clone(),
            text: format!(
                "{} p99 {}{}",
                name.map_or("read".to_owned(), |name| name.as_str().to_owned()),
                p99.sign(),
                show(p99.number(), Unit::Seconds)
            ),
        }));
    }
    if component != *service {
        let short =
            scene.findings.get(&cause.rule, &cause.subject).and_then(|finding| finding.breach.as_ref());
        links.extend(short.map(|breach| Link { subject: cause.subject.clone(), text: breach.short.clone() }));
    }
    let pair = scene.findings.get(CO_LOCATED_KEYS, &cause.subject).filter(|finding| {
        finding.counts()
            && (finding.rule.id == cause.rule || cause.explains.iter().any(|rule| rule == CO_LOCATED_KEYS))
    });
    if let Some(breach) = pair.and_then(|finding| finding.breach.as_ref()) {
        // The one key does not say what the other does to it.
        links.push(Link { subject: cause.subject.clone(), text: breach.short.clone() });
    } else if let Some(key) = cause.keys.first() {
        let size = key.bytes.map_or(String::new(), |bytes| format!(" {}", show(bytes as f64, Unit::Bytes)));
        links.push(Link { subject: key.shard.clone(), text: format!("{}{size}", key.key) });
    }
    links
}
