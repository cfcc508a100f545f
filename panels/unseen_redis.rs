//! What is said while no shard can be shown.

use headwater_engine::{Kind, Snapshot, Subject};

use crate::data_state::source_of;
use crate::palette::ColorRole;

/// What is said instead of rows: that no Redis target is configured and how one is, or what is awaited.
pub(crate) fn nothing(snapshot: &Snapshot) -> Vec<(String, ColorRole)> {
    let awaited = unseen_deployments(snapshot);
    if awaited.is_empty() {
        let what = "? no source: no Redis target is configured";
        let how =
            "start with redis://HOST:PORT, or name one in the configuration; any node of a cluster will do";
        return vec![(what.to_owned(), ColorRole::Unknown), (how.to_owned(), ColorRole::Text)];
    }
    awaited.into_iter().map(|text| (text, ColorRole::Unknown)).collect()
}

/// Deployments that are configured or asked and whose shards are not known yet, each with what is known of why.
pub(crate) fn unseen_deployments(snapshot: &Snapshot) -> Vec<String> {
    let declared = snapshot.settings.components.iter().map(|component| &component.subject);
    let asked = snapshot.sources.iter().map(|source| &source.source);
    let redis = declared.chain(asked).filter(|subject| subject.kind() == Kind::Redis);
    // A thousand nodes may be asked, of a few deployments whose shards are known.
    let is_known =
        |subject: &Subject| snapshot.topologies.iter().any(|topology| topology.cluster.contains(subject));
    let mut redis: Vec<Subject> =
        redis.filter(|subject| !is_known(subject)).map(Subject::component_of).collect();
    redis.sort();
    redis.dedup();
    let words = |redis: &Subject| {
        let source = source_of(snapshot, redis);
        let declared = snapshot.settings.component(redis);
        match source.and_then(|source| source.fault.as_ref()) {
            Some((since, fault)) => format!("? {redis}: {} (since {})", fault.message, since.clock()),
            None if source.is_none() && declared.is_some_and(|declared| !declared.has_source) => {
                format!("? {redis}: no source is configured for it")
            }
            None => format!("? {redis}: connecting, its shards are not known yet"),
        }
    };
    redis.iter().map(words).collect()
}
