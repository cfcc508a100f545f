//! Processes on GPUs come and go, each with numbers of its own: who holds places for all that ever were grows without bound.

use std::collections::BTreeSet;
use std::time::Duration;

use super::World;
use crate::metric::{GPU_PROCESS_MEMORY, MetricName};
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// A process of which nobody tells for so long has ended, or for three intervals of whoever tells, if those are longer.
const PROCESS_ENDS_AFTER: Duration = Duration::from_secs(300);

/// So often those that have ended are looked for.
const LOOKED_FOR_EVERY: Duration = Duration::from_secs(60);

impl World {
    /// Lets the processes on GPUs go that have ended; returns them by their GPUs.
    pub(crate) fn let_ended_processes_go(&mut self, now: Moment) -> Vec<(Subject, BTreeSet<RemoteText>)> {
        if self.gpus.processes_looked_for.is_some_and(|at| now.since(at) < LOOKED_FOR_EVERY) {
            return vec![];
        }
        self.gpus.processes_looked_for = Some(now);
        let mut ended: Vec<(Subject, BTreeSet<RemoteText>)> = vec![];
        let rhythms = &self.rhythms;
        self.gpus.places.retain(|(gpu, metric, part), (_, at)| {
            let Some(process) = part.as_ref().filter(|_| *metric == MetricName::Known(GPU_PROCESS_MEMORY))
            else {
                return true;
            };
            let silence = now.since(*at);
            let has_ended = silence > PROCESS_ENDS_AFTER
                && silence > rhythms.of(gpu).map_or(Duration::ZERO, |every| every * 3);
            if has_ended {
                match ended.last_mut().filter(|(known, _)| known == gpu) {
                    Some((_, processes)) => drop(processes.insert(process.clone())),
                    None => ended.push((gpu.clone(), BTreeSet::from([process.clone()]))),
                }
            }
            !has_ended
        });
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::GPU_UTILIZATION;
    use crate::reading::{Input, Reading, Value};
    use crate::settings::{Baselines, Settings};

    #[test]
    fn processes_that_ended_leave_and_those_that_run_stay() {
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let mut most = 0;
        for second in (0..2_000).step_by(10) {
            let at = Moment(second * 1_000);
            let mut page = Reading::new("service/smi@a:9835".parse().unwrap(), at);
            page.every = Some(Duration::from_secs(10));
            page.sample(&gpu, GPU_UTILIZATION, Value::Gauge(0.5));
            page.part(&gpu, GPU_PROCESS_MEMORY, "1 server", Value::Gauge(1e9));
            for job in 0..10 {
                let name = format!("{} job", 1_000 + second + job);
                page.part(&gpu, GPU_PROCESS_MEMORY, &name, Value::Gauge(1e8));
            }
            engine.take(&Input::Reading(page));
            engine.take(&Input::Tick(at + Duration::from_millis(250)));
            most = most.max(engine.snapshot().unwrap().history.series_count());
        }
        // Ten each ten seconds, for five to six minutes, beside two that stay.
        assert!((302..=375).contains(&most), "{most}");
        let kept = engine.store().parts(&gpu, GPU_PROCESS_MEMORY);
        assert!(kept.contains(&Some(RemoteText::new("1 server"))));
        assert!(engine.store().latest(&gpu, GPU_UTILIZATION, None).is_some());
    }

    #[test]
    fn one_that_is_told_of_seldom_has_not_ended_in_between() {
        let gpu: Subject = "gpu/host-a:0".parse().unwrap();
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        let mut page = Reading::new("service/smi@a:9835".parse().unwrap(), Moment(0));
        page.every = Some(Duration::from_secs(200));
        page.part(&gpu, GPU_PROCESS_MEMORY, "1 server", Value::Gauge(1e9));
        engine.take(&Input::Reading(page));
        for (second, is_there) in [(1, true), (400, true), (599, true), (700, false)] {
            engine.take(&Input::Tick(Moment(second * 1_000)));
            assert_eq!(
                engine.store().parts(&gpu, GPU_PROCESS_MEMORY).len(),
                usize::from(is_there),
                "{second}"
            );
        }
    }
}
