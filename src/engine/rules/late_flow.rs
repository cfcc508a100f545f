//! What the rules about message logs and pipelines share: the worst of several series against what was usual.

use std::time::Duration;

use crate::baseline::Baseline;
use crate::metric::Metric;
use crate::scene::{Scene, Told};
use crate::store::Seen;
use crate::subject::Subject;

/// How a level is held against its own past.
pub(super) struct Past {
    /// How far back the past goes.
    pub(super) span: Duration,
    /// Which quantile of it is usual at most.
    pub(super) quantile: f64,
    /// The multiple of that from which it is too much.
    pub(super) multiple: f64,
    /// The value below which it never is.
    pub(super) floor: f64,
}

/// A level beside what was usual.
pub(super) struct Level {
    pub(super) metric: Metric,
    pub(super) name: String,
    pub(super) seen: Seen,
    /// Without one nobody can say whether the level is high, unless it is below the floor.
    pub(super) usual: Option<Baseline>,
    pub(super) limit: Option<f64>,
}

impl Level {
    /// How far past its limit, as a multiple of it.
    pub(super) fn severity(&self) -> f64 {
        self.limit.map_or(0.0, |limit| self.seen.value / limit)
    }
}

/// Every fresh level of a metric, the worst first.
pub(super) fn levels(scene: &Scene<'_>, component: &Subject, metric: Metric, past: &Past) -> Vec<Level> {
    let level = |told: Told| {
        let seen = scene.present_part(&told.by, metric, told.part.as_ref())?;
        let usual = scene.usual_high(&told, metric, past.span, past.quantile);
        let limit = usual.map(|usual| (usual.typical * past.multiple).max(past.floor));
        let name = told.name();
        Some(Level {
            metric,
            name,
            seen,
            usual,
            limit: limit.or((seen.value < past.floor).then_some(past.floor)),
        })
    };
    let mut levels: Vec<Level> = scene.told(component, metric).into_iter().filter_map(level).collect();
    levels.sort_by(|one, other| other.severity().total_cmp(&one.severity()));
    levels
}
