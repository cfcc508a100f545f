//! GPUs that left. One that its driver does not list any more is lost, for as long as anybody looks: it is missing, and
//! somebody has to bring it back. But of one that an exporter lists no more nobody can tell a lost one from one that was taken
//! away, or from a slice that was set up anew: after a while it has left, and that is said. Where its driver had logged an error
//! that takes the whole GPU it is lost all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::{World, is_slice, machine_of};
use crate::gpu_errors::GpuError;
use crate::metric::EXPORTER_FAILURES;
use crate::settings::Settings;
use crate::snapshot::{GpuLeft, SourceState};
use crate::store::Store;
use crate::subject::Subject;
use crate::time::Moment;
use crate::xid::{Hits, by_code};

/// So long an exporter's silence about a GPU still tells of the present: then it is as likely taken away.
pub(crate) const GPU_LEAVES_AFTER: Duration = Duration::from_secs(300);

/// An error that takes a whole GPU says why nobody tells of it any more where it came so shortly before the last word.
const TOOK_IT: Duration = Duration::from_secs(600);

/// GPUs that left are remembered up to so many, the last first, with their series.
const MOST_LEFT: usize = 50;

/// Looks of an exporter that failed within this time speak of the present, and within the time for which it is believed.
const LATELY: Duration = Duration::from_secs(60);

/// Whether an exporter says that its own looks at what it tells of fail: then what it does not list is not gone.
pub(crate) fn looks_fail(store: &Store, exporter: &SourceState, settings: &Settings, now: Moment) -> bool {
    let since = now - LATELY.max(exporter.stale_after(settings));
    let failures = store.points(&exporter.source, EXPORTER_FAILURES, None);
    failures.is_some_and(|points| points.since(since).any(|rate| rate.value > 0.0))
}

impl World {
    /// GPUs that left, the last first.
    pub(crate) fn gpus_left(&self) -> &Arc<[GpuLeft]> {
        &self.gpus_left
    }

    /// Whether nobody tells of a GPU any more that is kept because it may be to blame.
    pub(crate) fn is_held(&self, gpu: &Subject) -> bool {
        self.gpus_held.contains(gpu)
    }

    /// Lets the GPUs go of which nobody tells any more, though whoever did tells of others, but for those that are held; returns
    /// whose series are to be forgotten: those of GPUs that left stay for who goes back to when they were there.
    /// An exporter that says that its own looks fail lists nothing, and says nothing by that.
    pub(crate) fn let_unlisted_gpus_go(
        &mut self,
        now: Moment,
        settings: &Settings,
        store: &Store,
        is_held: impl Fn(&Subject) -> bool,
    ) -> Vec<Subject> {
        let mut held = BTreeSet::new();
        let mut left = vec![];
        for (gpu, by) in self.gpus.tellers() {
            let Some((last_by, last)) = by.iter().max_by_key(|(_, at)| **at) else { continue };
            if now.since(*last) <= GPU_LEAVES_AFTER {
                continue;
            }
            let asks_driver =
                |source: &Subject| self.sources.get(source).is_some_and(|state| state.asks_the_driver());
            if !is_slice(gpu) && by.keys().any(asks_driver) {
                continue;
            }
            if !self.is_listed_no_more((gpu, by), (now, settings, store)) {
                continue;
            }
            if is_held(gpu) {
                held.insert(gpu.clone());
            } else {
                left.push(GpuLeft { gpu: gpu.clone(), at: now, last: *last, by: last_by.clone() });
            }
        }
        self.gpus_held = held;
        if left.is_empty() {
            return vec![];
        }
        let gone: BTreeSet<Subject> = left.iter().map(|left| left.gpu.clone()).collect();
        self.forget_gpus(&gone);
        let machines = self.without_gpus(&gone, now);
        for machine in &machines {
            self.data.remove(machine);
            self.rhythms.note(machine, None);
        }
        // One that is told of by its slices (MIG) since is there.
        left.retain(|left| self.slices_told_of(&left.gpu).is_none_or(|at| at <= left.last));
        let known = self.gpus_left.iter().filter(|known| left.iter().all(|new| new.gpu != known.gpu));
        let mut all: Vec<GpuLeft> = left.iter().chain(known).cloned().collect();
        let too_many = all.split_off(all.len().min(MOST_LEFT)).into_iter().map(|left| left.gpu);
        let cut = gone.into_iter().filter(|gpu| all.iter().all(|left| left.gpu != *gpu));
        let forgotten: BTreeSet<Subject> = too_many.chain(cut).chain(machines).collect();
        self.gpus_left = all.into();
        forgotten.into_iter().collect()
    }

    /// The error that took a GPU of which nobody tells any more, where one came shortly before it was told of last or since; of
    /// a slice none, because it is set up anew after one.
    pub(crate) fn lost_by(&self, gpu: &Subject, last: Moment) -> Option<&GpuError> {
        let takes_all = |error: &&GpuError| by_code(error.code).is_some_and(|row| row.hits == Hits::Gpu);
        let newest = self.gpu_errors().newest_of(gpu).into_iter();
        let mut near = newest.filter(|error| error.is_seen && error.last >= last - TOOK_IT);
        near.find(takes_all).filter(|_| !is_slice(gpu))
    }

    /// Whether those who told of a GPU last tell of others since. Who told of it long before the last word was said knew nothing
    /// of it then either, and who has left himself says nothing; where all have left, it left with them.
    fn is_listed_no_more(
        &self,
        (gpu, by): (&Subject, &BTreeMap<Subject, Moment>),
        (now, settings, store): (Moment, &Settings, &Store),
    ) -> bool {
        let here = || by.iter().filter_map(|(source, at)| Some((self.sources.get(source)?, *at)));
        let Some(last) = here().map(|(_, at)| at).max() else { return true };
        if self.lost_by(gpu, last).is_some() {
            return false;
        }
        let mut deciding = here().filter(|(state, at)| *at >= last - state.stale_after(settings));
        deciding.any(|(state, at)| {
            let is_fresh = |said: Moment| said >= now - state.stale_after(settings) && said > at;
            state.last_data.is_some_and(is_fresh) && !looks_fail(store, state, settings, now)
        })
    }

    /// Forgets GPUs, all at once: a fleet may leave in one moment.
    pub(super) fn forget_gpus(&mut self, gone: &BTreeSet<Subject>) {
        self.gpus.forget(gone);
        for gpu in gone {
            self.gpu_errors.forget(gpu);
            self.sources.remove(gpu);
            self.data.remove(gpu);
            self.rhythms.note(gpu, None);
        }
    }

    /// The machines of these GPUs that have none any more and of which nobody has told anything since, as those that are known
    /// by their launches alone.
    fn without_gpus(&self, gone: &BTreeSet<Subject>, now: Moment) -> Vec<Subject> {
        let mut machines: BTreeSet<Subject> = gone.iter().filter_map(machine_of).collect();
        machines.retain(|machine| {
            let is_forgotten = self.data.get(machine).is_some_and(|at| now.since(*at) > GPU_LEAVES_AFTER);
            is_forgotten && machine.within(&self.sources).next().is_none()
        });
        if !machines.is_empty() {
            for machine in self.data.keys().filter_map(machine_of) {
                machines.remove(&machine);
            }
        }
        machines.into_iter().collect()
    }

    /// Notes that a GPU is told of: one that had left is back.
    pub(super) fn note_back(&mut self, gpu: &Subject) {
        if self.gpus_left.iter().any(|left| left.gpu == *gpu) {
            self.gpus_left = self.gpus_left.iter().filter(|left| left.gpu != *gpu).cloned().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::metric::{GPU_LAUNCH, GPU_UTILIZATION, GPU_XID, HOST_LOAD, PROBE_OK};
    use crate::reading::{Event, Fault, FaultKind, Input, Reading, Target, TargetList, Value};
    use crate::settings::Baselines;
    use crate::text::RemoteText;

    fn subject(text: &str) -> Subject {
        text.parse().unwrap()
    }

    /// What an exporter's page tells of these GPUs at a second.
    fn page(second: i64, gpus: &[&str]) -> Reading {
        page_of("a:9400", second, gpus)
    }

    fn page_of(place: &str, second: i64, gpus: &[&str]) -> Reading {
        let mut reading = Reading::new(subject("service/dcgm").instance(place), Moment(second * 1_000));
        reading.events.push(Event::Dialects(vec![RemoteText::new("dcgm")]));
        for gpu in gpus {
            reading.sample(&subject(gpu), GPU_UTILIZATION, Value::Gauge(0.5));
        }
        reading
    }

    fn run(engine: &mut Engine, seconds: std::ops::Range<i64>, of: impl Fn(i64) -> Vec<Reading>) {
        for second in seconds {
            of(second).into_iter().for_each(|reading| engine.take(&Input::Reading(reading)));
            engine.take(&Input::Tick(Moment(second * 1_000 + 250)));
        }
    }

    fn engine() -> Engine {
        Engine::new(Settings::default(), Baselines::default())
    }

    fn known(engine: &Engine) -> Vec<String> {
        let snapshot = engine.snapshot().unwrap();
        snapshot.graph.components().map(ToString::to_string).collect()
    }

    #[test]
    fn a_gpu_that_its_exporter_lists_no_more_leaves_and_is_back_when_it_is_told_of_again() {
        let mut engine = engine();
        let (both, one) = (["gpu/host-a:0", "gpu/host-a:1"], ["gpu/host-a:0"]);
        run(&mut engine, 0..310, |second| vec![page(second, if second < 5 { &both } else { &one })]);
        assert_eq!(known(&engine), one);
        let snapshot = engine.snapshot().unwrap();
        assert!(snapshot.history.traces(&subject("gpu/host-a:1")).next().is_none());
        let left = &snapshot.gpus_left[0];
        assert_eq!((left.gpu.as_str(), left.last, left.at), ("gpu/host-a:1", Moment(4_000), Moment(304_250)));
        assert_eq!(left.by.as_str(), "service/dcgm@a:9400");
        let before = snapshot.back_to(Moment(304_000)).unwrap();
        assert!(before.gpus_left.is_empty());
        assert!(before.graph.components().any(|one| one.as_str() == both[1]), "it was there then");
        let trace = before.history.trace(&subject(both[1]), GPU_UTILIZATION, None).unwrap();
        assert_eq!(trace.latest().map(|seen| seen.at), Some(Moment(4_000)));
        assert!(before.history.subjects().any(|one| one.as_str() == both[1]));
        run(&mut engine, 310..312, |second| vec![page(second, &both)]);
        assert_eq!(known(&engine), both);
        assert!(engine.snapshot().unwrap().gpus_left.is_empty());
    }

    /// A list of exporters by their places.
    fn list(second: i64, places: &[&str]) -> Reading {
        let mut reading = Reading::new(subject("discovery/exporters"), Moment(second * 1_000));
        let targets = places.iter().map(|place| Target {
            subject: subject("service/dcgm").instance(place),
            place: RemoteText::new(place),
        });
        let found = RemoteText::new("targets.json");
        reading.events.push(Event::Targets(TargetList { found, targets: targets.collect() }));
        reading
    }

    #[test]
    fn a_gpu_that_logged_an_error_which_takes_all_of_it_and_is_told_of_no_more_is_lost_and_stays() {
        let both = ["gpu/host-a:0", "gpu/host-a:1"];
        // 79 took it; after 31 the GPU goes on, so that one was taken away; an old 79 did not hinder it either.
        for (code, at, stays) in [(79.0, 700, true), (31.0, 700, false), (79.0, 20, false)] {
            let mut engine = engine();
            run(&mut engine, 0..1_410, |second| {
                let mut page = page(second, if second < 705 { &both } else { &both[..1] });
                if second < 705 {
                    let told = if second < at { 0.0 } else { code };
                    page.sample(&subject(both[1]), GPU_XID, Value::Gauge(told));
                }
                vec![page]
            });
            assert_eq!(known(&engine), if stays { &both[..] } else { &both[..1] }, "{code} at {at}");
            let snapshot = engine.snapshot().unwrap();
            let mut suspects = snapshot.report.suspects.iter().filter(|suspect| suspect.goes_on());
            let silent = suspects.find(|suspect| suspect.rule == "gpu-silent");
            assert_eq!(silent.is_some(), stays, "{code} at {at}");
            if let Some(silent) = silent {
                let said = "after XID 79, fallen off the bus, at 00:11:40";
                assert!(silent.sentence.contains(said), "{}", silent.sentence);
                assert_eq!(silent.since.at, Moment(704_000));
            }
        }
    }

    #[test]
    fn only_who_told_of_a_gpu_last_says_by_its_silence_that_it_left() {
        let gpus = ["gpu/host-a:0", "gpu/host-a:1"];
        // The exporter is another since second 10: the first is off the list, or tells of another machine now. The second falls
        // silent, and the GPUs stay.
        for first_leaves in [true, false] {
            let mut engine = engine();
            run(&mut engine, 0..500, |second| {
                let mut told = vec![];
                match second {
                    0 => told.push(list(second, &["a:9400"])),
                    10 if first_leaves => told.push(list(second, &["b:9400"])),
                    10 => told.push(list(second, &["a:9400", "b:9400"])),
                    _ => {}
                }
                match second {
                    0..10 => told.push(page_of("a:9400", second, &gpus)),
                    10..100 => told.push(page_of("b:9400", second, &gpus)),
                    _ => {}
                }
                if second >= 10 && !first_leaves {
                    told.push(page_of("a:9400", second, &["gpu/host-b:0"]));
                }
                told
            });
            let known: Vec<String> =
                known(&engine).into_iter().filter(|one| one.starts_with("gpu/host-a")).collect();
            assert_eq!(known, gpus, "first leaves: {first_leaves}");
        }
        // The second lists one of them no more: that one leaves.
        let mut engine = engine();
        run(&mut engine, 0..420, |second| match second {
            0..10 => vec![list(second, &["a:9400"]), page_of("a:9400", second, &gpus)],
            10..100 => vec![list(second, &["b:9400"]), page_of("b:9400", second, &gpus)],
            _ => vec![list(second, &["b:9400"]), page_of("b:9400", second, &gpus[..1])],
        });
        assert_eq!(known(&engine), gpus[..1]);
        // All who told of them are off the list: they left with them.
        run(&mut engine, 420..740, |second| vec![list(second, &[])]);
        assert_eq!(known(&engine), [""; 0]);
        assert_eq!(engine.snapshot().unwrap().gpus_left[0].by.as_str(), "service/dcgm@b:9400");
    }

    #[test]
    fn a_fleet_leaves_in_one_moment_with_its_machines() {
        let gpus: Vec<String> =
            (0..40).map(|number| format!("gpu/host-{}:{}", number / 4, number % 4)).collect();
        let gpus: Vec<&str> = gpus.iter().map(String::as_str).collect();
        let mut engine = engine();
        // The second GPU of the first machine stays, and the first machine with it.
        run(&mut engine, 0..310, |second| {
            let mut page = page(second, if second < 5 { &gpus } else { &gpus[1..2] });
            if second < 5 {
                gpus.iter().for_each(|gpu| page.sample(&subject(gpu), GPU_LAUNCH, Value::Gauge(1e-6)));
            }
            vec![page]
        });
        assert_eq!(known(&engine), ["gpu/host-0:1", "host/host-0"]);
        let snapshot = engine.snapshot().unwrap();
        assert_eq!(snapshot.gpus_left.len(), 39);
        assert!(snapshot.gpus_left.iter().all(|left| left.at == Moment(304_250)));
    }

    #[test]
    fn a_gpu_that_its_driver_lost_stays_and_so_does_one_whose_exporter_is_silent_or_fails() {
        let gpus = ["gpu/host-a:0", "gpu/host-a:1"];
        let mut engine = engine();
        run(&mut engine, 0..400, |second| {
            let told = |gpu: &&str| {
                let mut reading = Reading::new(subject(gpu), Moment(second * 1_000));
                if second < 5 || *gpu == gpus[0] {
                    reading.sample(&subject(gpu), GPU_UTILIZATION, Value::Gauge(0.5));
                } else {
                    let message = "the GPU is lost".into();
                    reading.faults.push(Fault { kind: FaultKind::Unreachable, message });
                }
                reading
            };
            gpus.iter().map(told).collect()
        });
        assert_eq!(known(&engine), gpus);

        let mut engine = self::engine();
        run(&mut engine, 0..400, |second| if second < 5 { vec![page(second, &gpus)] } else { vec![] });
        assert_eq!(known(&engine), gpus);

        let mut engine = self::engine();
        run(&mut engine, 0..400, |second| {
            let mut page = page(second, if second < 5 { &gpus } else { &[] });
            let exporter = page.source.clone();
            page.sample(&exporter, EXPORTER_FAILURES, Value::Counter((second - 4).max(0) as f64));
            vec![page]
        });
        assert_eq!(known(&engine), gpus);
    }

    #[test]
    fn the_failures_of_an_exporter_that_is_scraped_seldom_count_for_as_long_as_its_words() {
        let gpus = ["gpu/host-a:0", "gpu/host-a:1"];
        let mut engine = engine();
        // A minute apart, and now and then one scrape is lost.
        run(&mut engine, 0..1_200, |second| {
            if second % 60 != 0 || [420, 600, 840].contains(&second) {
                return vec![];
            }
            let mut page = page(second, if second < 100 { &gpus } else { &gpus[..1] });
            page.every = Some(Duration::from_secs(60));
            let exporter = page.source.clone();
            page.sample(&exporter, EXPORTER_FAILURES, Value::Counter((second / 60) as f64));
            vec![page]
        });
        assert_eq!(known(&engine), gpus);
    }

    #[test]
    fn a_gpu_that_was_cut_into_slices_is_neither_lost_nor_has_it_left() {
        let mut engine = engine();
        let (whole, cut) = (["gpu/a:0", "gpu/a:1"], ["gpu/a:0-mig-7", "gpu/a:0-mig-9", "gpu/a:1"]);
        let mut accused = vec![];
        for second in 0..330 {
            let told: &[&str] = if second < 20 { &whole } else { &cut };
            run(&mut engine, second..second + 1, |second| vec![page(second, told)]);
            let snapshot = engine.snapshot().unwrap();
            let silent = snapshot.rules.iter().filter(|row| row.rule == "gpu-silent" && row.state != "clear");
            accused.extend(silent.map(|row| (second, row.subject.to_string(), row.detail.to_string())));
        }
        assert_eq!(accused, []);
        assert_eq!(known(&engine), cut);
        assert!(engine.snapshot().unwrap().gpus_left.is_empty());
    }

    #[test]
    fn while_callers_suffer_the_gpu_that_is_listed_no_more_stays_accused_and_then_it_leaves() {
        let (both, one) = (["gpu/host-a:0", "gpu/host-a:1"], ["gpu/host-a:0"]);
        let mut engine = engine();
        // A probe is answered until second 10, and again from second 600 on.
        let told = |second: i64| {
            let at = Moment(second * 1_000);
            let mut probe = Reading::new(subject("probe/ready-h-1"), at);
            let is_well = !(10..600).contains(&second);
            probe.sample(&subject("service/a"), PROBE_OK, Value::Gauge(if is_well { 1.0 } else { 0.0 }));
            vec![probe, page(second, if second < 20 { &both } else { &one })]
        };
        run(&mut engine, 0..590, told);
        let snapshot = engine.snapshot().unwrap();
        assert!(snapshot.callers_suffer());
        assert!(known(&engine).contains(&both[1].to_owned()));
        let silent = |snapshot: &crate::snapshot::Snapshot| {
            let row =
                snapshot.rules.iter().find(|row| row.rule == "gpu-silent" && row.subject.as_str() == both[1]);
            row.map(|row| row.state)
        };
        assert_eq!(silent(&snapshot), Some("firing"));
        assert!(snapshot.history.traces(&subject(both[1])).next().is_some());
        run(&mut engine, 590..920, told);
        let snapshot = engine.snapshot().unwrap();
        assert!(!known(&engine).contains(&both[1].to_owned()), "nobody suffers any more");
        assert_eq!(snapshot.gpus_left[0].gpu.as_str(), both[1]);
        let then = snapshot.back_to(Moment(550_000)).unwrap();
        assert!(then.graph.components().any(|one| one.as_str() == both[1]));
        assert_eq!(silent(&then), Some("firing"));
        assert!(then.history.traces(&subject(both[1])).next().is_some());
    }

    #[test]
    fn a_machine_that_is_known_by_its_launches_alone_goes_with_its_last_gpu_and_another_stays() {
        for (is_told, expected) in
            [(false, &["gpu/host-b:0"][..]), (true, &["gpu/host-b:0", "host/host-a"][..])]
        {
            let mut engine = engine();
            run(&mut engine, 0..310, |second| {
                let mut page = page(second, &["gpu/host-b:0"]);
                if second < 5 {
                    page.sample(&subject("gpu/host-a:0"), GPU_LAUNCH, Value::Gauge(1e-6));
                }
                if is_told {
                    page.sample(&subject("host/host-a"), HOST_LOAD, Value::Gauge(0.5));
                }
                vec![page]
            });
            assert_eq!(known(&engine), expected);
            assert_eq!(engine.store().latest(&subject("host/host-a"), HOST_LOAD, None).is_some(), is_told);
        }
    }
}
