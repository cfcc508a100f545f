//! A total that should stand still: what it gained lately, and since when.

use std::time::Duration;

use crate::metric::{Metric, REDIS_ERRORS};
use crate::scene::Scene;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// What a total gained in a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rise {
    /// Its mean rate a second since it began to rise, at its newest point.
    pub(super) rate: Seen,
    /// How much was gained.
    pub(super) gained: f64,
    /// The first point of the span with a gain.
    pub(super) began: Moment,
}

/// The span in which a gain still speaks of the present.
pub(super) const LATELY: Duration = Duration::from_secs(60);

/// What a total of `subject` gained over a span; `None` where it gained nothing, or nothing fresh is known of it.
pub(super) fn rise(
    scene: &Scene<'_>,
    subject: &Subject,
    (metric, part): (Metric, Option<&RemoteText>),
    span: Duration,
) -> Option<Rise> {
    let points = scene.store.points(subject, metric, part)?;
    let newest = points.latest().filter(|seen| seen.at >= scene.stale_before())?;
    let usual = scene.settings.interval.as_secs_f64();
    let (mut before, mut began, mut gained) = (None, None, 0.0);
    for seen in points.since(scene.now - span) {
        // A hole is no time in which the total is known to have risen.
        let over = before
            .map_or(usual, |at| seen.at.seconds_after(at))
            .min(scene.settings.stale_after().as_secs_f64());
        before = Some(seen.at);
        if seen.value > 0.0 {
            began.get_or_insert(seen.at);
            gained += seen.value * over;
        }
    }
    let began = began?;
    let lasted = newest.at.seconds_after(began) + usual;
    Some(Rise { rate: Seen { value: gained / lasted, at: newest.at }, gained, began })
}

/// What the error replies of one kind gained lately on a node.
pub(super) fn errors(scene: &Scene<'_>, node: &Subject, word: &str) -> Option<Rise> {
    rise(scene, node, (REDIS_ERRORS, Some(&RemoteText::new(word))), LATELY)
}

/// The node of a shard on which something rose most, with its rise.
pub(super) fn most(
    scene: &Scene<'_>,
    shard: &Subject,
    of: impl Fn(&Subject) -> Option<Rise>,
) -> Option<(Subject, Rise)> {
    let nodes = scene.world.shard(shard)?.nodes.iter();
    let rising = nodes.filter_map(|node| Some((node.subject.clone(), of(&node.subject)?)));
    rising.max_by(|(_, one), (_, other)| one.gained.total_cmp(&other.gained))
}
