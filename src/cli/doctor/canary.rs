//! The check of the canary: its kernels once, as it would time them, after everything else so that nothing disturbs it.

use headwater_engine::RemoteText;

use crate::sources::canary::{Canary, CanarySpec, Turn};
use crate::sources::redis::ProbeStep;

/// Times the kernels of a canary once and says what came of it.
pub(super) async fn kernels(spec: &CanarySpec) -> Vec<ProbeStep> {
    let (reading, said) = Canary::new(spec, &Turn::default()).look().await;
    let said = RemoteText::new(&said);
    let outcome = if reading.faults.is_empty() { Ok(said) } else { Err(said) };
    let fix = outcome.is_err().then(|| "headwater bench --backend auto".to_owned());
    vec![ProbeStep { subject: spec.subject.clone(), what: "kernels".into(), outcome, fix }]
}
