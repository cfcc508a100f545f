//! What is usual of the launches on a GPU, and when one waits for its machine: worked out once an evaluation by the rule about
//! it, for whoever shows the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::baseline::Baseline;
use crate::rules::Limits;
use crate::subject::Subject;
use crate::text::RemoteText;

/// The healthy values of a GPU on which launches are timed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsualLaunch {
    /// The time of a launch, in seconds; `None` where nobody knows it.
    pub launch: Option<Baseline>,
    /// The share of time with a kernel running; `None` where nobody knows it.
    pub busy: Option<Baseline>,
}

impl UsualLaunch {
    /// The healthy time of a launch by the limits of `launch-stall`, in seconds.
    pub fn typical_s(&self, limits: &Limits<'_>) -> f64 {
        self.launch.map_or(limits.of("usual"), |usual| usual.typical)
    }

    /// The time of a launch from which on it is slow, in seconds.
    pub fn slow_from_s(&self, limits: &Limits<'_>) -> f64 {
        self.typical_s(limits) * limits.of("rise")
    }

    /// Whether a GPU that is so busy waits for work: it is less busy than it was, or less than half where nobody knows.
    pub fn is_waiting(&self, busy: f64, limits: &Limits<'_>) -> bool {
        match self.busy {
            Some(before) => busy <= before.typical * (1.0 - limits.of("fall")),
            None => busy < limits.of("idle"),
        }
    }
}

/// Those of every GPU, by who times its launches.
pub(crate) type UsualLaunches = BTreeMap<(Subject, Option<RemoteText>), UsualLaunch>;

/// Those of every GPU as of one evaluation.
#[derive(Clone, Debug, Default)]
pub struct Launches(Arc<UsualLaunches>);

impl Launches {
    pub(crate) fn new(launches: UsualLaunches) -> Self {
        Self(Arc::new(launches))
    }

    /// What is usual where these launches are timed; nothing where no rule has looked at them.
    pub fn usual(&self, gpu: &Subject, part: Option<&RemoteText>) -> UsualLaunch {
        self.0.get(&(gpu.clone(), part.cloned())).copied().unwrap_or_default()
    }
}
