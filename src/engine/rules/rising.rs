//! A total that should stand still: what it gained lately, and since when.

use std::time::Duration;

use crate::metric::{Metric, REDIS_ERRORS};
use crate::scene::Scene;
use crate::store::{Points, Seen};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;
use crate::world::{FIRST_FEW, FIRST_LOOKS};

/// What a total gained in a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rise {
    /// Its mean rate a second since it began to rise, at its newest point.
    pub(super) rate: Seen,
    /// How much was gained.
    pub(super) gained: f64,
    /// When it began to rise, of what is kept: the first point with a gain behind the last one of the span without, or
    /// that of the series; `None` where it rose already when its source was first seen.
    pub(super) began: Option<Moment>,
    /// When it was last seen to rise.
    pub(super) last: Moment,
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
    let newest = points.latest().filter(|seen| seen.at >= scene.fresh_from(subject, metric))?;
    let usual = rhythm(scene, subject).as_secs_f64();
    let longest = scene.now.seconds_after(scene.stale_before_of(subject));
    let (mut before, mut began, mut last, mut gained) = (None, None, None, 0.0);
    for seen in points.since(scene.now - span) {
        // A hole is no time in which the total is known to have risen.
        let over = before.map_or(usual, |at| seen.at.seconds_after(at)).min(longest);
        before = Some(seen.at);
        if seen.value > 0.0 {
            began.get_or_insert(seen.at);
            last = Some(seen.at);
            gained += seen.value * over;
        }
    }
    let (first, last) = (began?, last?);
    let lasted = newest.at.seconds_after(first) + usual;
    let began = began_behind(scene, subject, points, first);
    Some(Rise { rate: Seen { value: gained / lasted, at: newest.at }, gained, began, last })
}

/// When a total began to rise that did so at `first`, the first such point of a span; `None` where it did already when
/// its subject was first seen.
fn began_behind(scene: &Scene<'_>, subject: &Subject, points: &Points, first: Moment) -> Option<Moment> {
    let still = |seen: &Seen| seen.value <= 0.0;
    let before = points.newest_first().skip_while(|seen| seen.at >= first);
    let mut risen = before.take_while(|seen| !still(seen)).map(|seen| seen.at);
    let began = risen.by_ref().last().unwrap_or(first);
    is_seen_to_begin(scene, subject, points, began).then_some(began)
}

/// Whether something was seen to begin at this point of a series: there is an older one, or its subject was watched
/// before it had the series at all, as one that counts an error has none before the first.
fn is_seen_to_begin(scene: &Scene<'_>, subject: &Subject, points: &Points, began: Moment) -> bool {
    if points.trace().oldest().is_some_and(|oldest| oldest.at < began) {
        return true;
    }
    let others = scene.store.names(subject);
    let oldest = others.filter_map(|(metric, part)| {
        Some(scene.store.points(subject, metric.clone(), part)?.trace().oldest()?.at)
    });
    let first_looks = FIRST_LOOKS.max(rhythm(scene, subject) * FIRST_FEW);
    oldest.min().is_some_and(|first| first + first_looks <= began)
}

/// How often there is news of a subject.
fn rhythm(scene: &Scene<'_>, subject: &Subject) -> Duration {
    scene.world.rhythms().of(subject).unwrap_or_default().max(scene.settings.interval)
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
