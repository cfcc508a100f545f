//! The one owner of all state: inputs go in, a snapshot comes out at every tick.

mod calm;
mod learning;
mod leaving;
mod watching;

use std::sync::Arc;
use std::time::Duration;

use crate::command_time::command_times;
use crate::findings::Findings;
use crate::flow::{self, Flow};
use crate::graph::Graph;
use crate::launches::Launches;
use crate::reach::all_silent_since;
use crate::reading::{Input, OperatorAct, Reading};
use crate::rules::{self, Limits, RULES};
use crate::scene::{Looked, Scene};
use crate::settings::{Baselines, Settings};
use crate::signal::{Signal, Signals};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::time::Moment;
use crate::timeline::{Frame, Timeline};
use crate::triage;
use crate::upstream_time::upstream_times;
use crate::world::World;

/// Series that nobody tells anything of are looked for this often, and forgotten after this long.
const SWEEP_EVERY: Duration = Duration::from_secs(3_600);
const UNSEEN_FOR: Duration = Duration::from_secs(86_400);

/// Marks and notes that are kept; of more the newest.
const ACTS_KEPT: usize = 1_000;

/// Slow-log entries in a snapshot.
const SLOW_COMMANDS_SHOWN: usize = 200;

/// The engine.
#[derive(Debug)]
pub struct Engine {
    settings: Arc<Settings>,
    saved: Baselines,
    store: Store,
    world: World,
    /// Who calls whom, as of the last evaluation.
    graph: Arc<Graph>,
    flows: Arc<[Flow]>,
    launches: Launches,
    findings: Findings,
    signals: Signals,
    timeline: Timeline,
    acts: Arc<[OperatorAct]>,
    began: Option<Moment>,
    /// The latest span in which nothing was pending or firing, and whether it still lasts.
    calm: Option<(Moment, Moment)>,
    calm_lasts: bool,
    /// Whether anything was ever pending or firing: then nothing is learned for later runs.
    disturbed: bool,
    symptom_seen: Option<Moment>,
    swept: Option<Moment>,
    evaluations: u32,
    snapshot: Option<Arc<Snapshot>>,
}

impl Engine {
    /// An engine that has seen nothing yet.
    pub fn new(settings: Settings, baselines: Baselines) -> Self {
        Self {
            store: Store::new(settings.interval, settings.store_budget),
            timeline: Timeline::beside(settings.store_budget),
            signals: Signals::beside(settings.store_budget),
            world: World::new(&settings),
            settings: Arc::new(settings),
            saved: baselines,
            graph: Arc::default(),
            flows: Arc::default(),
            launches: Launches::default(),
            findings: Findings::default(),
            acts: Arc::default(),
            began: None,
            calm: None,
            calm_lasts: false,
            disturbed: false,
            symptom_seen: None,
            swept: None,
            evaluations: 0,
            snapshot: None,
        }
    }

    /// Takes one input; a tick evaluates everything and makes a new snapshot.
    pub fn take(&mut self, input: &Input) {
        match input {
            Input::Reading(reading) => self.take_reading(reading),
            Input::Act(act) => self.take_act(act),
            Input::Tick(now) => self.evaluate(*now),
        }
    }

    /// The snapshot of the last tick, or `None` before the first.
    pub fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.clone()
    }

    /// What was declared.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The history.
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn take_reading(&mut self, reading: &Reading) {
        self.began.get_or_insert(reading.at);
        let reading = &*self.world.named(reading);
        let consequences = self.world.take(reading);
        let told_once = self.world.told_once(reading, &self.store);
        let heard = self.world.heard_of_gpus(&told_once);
        heard.handed_over.iter().for_each(|sample| self.store.begin_anew(sample));
        self.store.take(&heard.once, consequences.restarted, consequences.uptime);
        consequences.gone.iter().for_each(|gone| self.store.forget(gone));
    }

    /// Keeps what the operator did; acts change no verdict.
    fn take_act(&mut self, act: &OperatorAct) {
        let kept = self.acts.len().min(ACTS_KEPT - 1);
        let newest = &self.acts[self.acts.len() - kept..];
        self.acts = newest.iter().chain([act]).cloned().collect();
        // Whoever marks a moment wants to see the mark, and not a second later.
        if let Some(last) = &self.snapshot {
            self.snapshot = Some(Arc::new(Snapshot { acts: Arc::clone(&self.acts), ..(**last).clone() }));
        }
    }

    fn evaluate(&mut self, now: Moment) {
        self.began.get_or_insert(now);
        self.evaluations = self.evaluations.saturating_add(1);
        if self.swept.is_none_or(|swept| now.since(swept) >= SWEEP_EVERY) {
            self.swept = Some(now);
            self.store.forget_unseen(now - UNSEEN_FOR);
        }
        self.let_go(now);
        let graph = self.present_graph();
        let mut looked = Looked::default();
        let mut states = vec![];
        for (place, rule) in RULES.iter().copied().enumerate() {
            let scene = self.scene(now, &graph, std::mem::take(&mut looked));
            let watched = self.watched(rule.watches, &scene);
            let judgements: Vec<_> = watched
                .iter()
                .map(|subject| {
                    (rule.judge)(&scene, subject, &Limits { rule, settings: &self.settings, subject })
                })
                .collect();
            looked = scene.looked;
            for (subject, judgement) in watched.iter().zip(judgements) {
                let every = || self.world.rhythms().of(subject).unwrap_or(self.settings.interval);
                self.findings.take((place, subject), judgement, (now, every));
            }
            self.findings.keep_only(place, &watched, now);
            // Told here, while they are at hand, and not when the snapshot is made.
            states.extend(self.findings.states(place));
        }
        if let Some(silent_since) = self.silent_since(now) {
            // The first that went were accused before the others went too.
            self.findings.take_back(rules::SEEN_FROM_HERE, silent_since - self.settings.stale_after());
            states = (0..RULES.len()).flat_map(|place| self.findings.states(place)).collect();
        }
        self.keep_time(now);
        let mut signals = std::mem::replace(&mut self.signals, Signals::beside(0));
        let scene = self.scene(now, &graph, looked);
        let report = triage::report(&scene);
        let scans_wanted = triage::scans_wanted(&scene, &report);
        let searches_wanted = triage::searches_wanted(&scene, &report);
        let present = signals.take(&scene);
        let flows = flow::of(&scene).into();
        let launches = Launches::new(scene.looked.launches.take());
        self.signals = signals;
        let frame = Frame {
            at: now,
            report: Arc::new(report),
            rules: states.into(),
            sources: self.world.sources().cloned().collect(),
            has_new_graph: !Arc::ptr_eq(&self.graph, &graph),
            graph: Arc::clone(&graph),
            topologies: self.world.shapes(),
            scans_wanted: scans_wanted.into(),
            searches_wanted: searches_wanted.into(),
            beside_signals: present.iter().map(Signal::beside).collect(),
        };
        self.timeline.push(frame.clone());
        self.graph = Arc::clone(&graph);
        (self.flows, self.launches) = (flows, launches);
        self.snapshot = Some(Arc::new(self.compose(frame, present)));
    }

    /// The snapshot of the last evaluation, built anew from what is known; what this costs is what screens cost the
    /// engine.
    pub fn rebuilt(&self) -> Option<Snapshot> {
        let last = self.snapshot.as_ref()?;
        let frame = Frame {
            at: last.at,
            report: Arc::clone(&last.report),
            rules: Arc::clone(&last.rules),
            sources: self.world.sources().cloned().collect(),
            graph: Arc::clone(&last.graph),
            has_new_graph: false,
            topologies: self.world.shapes(),
            scans_wanted: last.scans_wanted.as_slice().into(),
            searches_wanted: last.searches_wanted.as_slice().into(),
            beside_signals: Arc::default(),
        };
        Some(self.compose(frame, last.signals.clone()))
    }

    fn compose(&self, frame: Frame, signals: Vec<Signal>) -> Snapshot {
        Snapshot {
            at: frame.at,
            gone_back_from: None,
            began: self.began.unwrap_or(frame.at),
            settings: Arc::clone(&self.settings),
            report: frame.report,
            rules: frame.rules,
            graph: frame.graph,
            flows: Arc::clone(&self.flows),
            launches: self.launches.clone(),
            changes: Arc::clone(self.world.changes()),
            gpu_errors: self.world.gpu_errors().clone(),
            gpus_left: Arc::clone(self.world.gpus_left()),
            topologies: frame.topologies,
            sources: frame.sources,
            signals,
            scans: self.world.keyspace().scans().cloned().collect(),
            complete_scans: self.world.keyspace().complete_scans().cloned().collect(),
            searches: self.world.keyspace().searches().cloned().collect(),
            key_sizes: self
                .world
                .keyspace()
                .all_sizes()
                .map(|(node, sizes)| (node.clone(), sizes.clone()))
                .collect(),
            large_commands: self
                .world
                .keyspace()
                .all_large()
                .map(|(node, one)| (node.clone(), one.clone()))
                .collect(),
            views: self.world.all_views().cloned().collect(),
            command_times: command_times(&self.store, &self.world, frame.at).into(),
            upstream_times: upstream_times(&self.store, &self.world, frame.at).into(),
            slow_commands: self.world.slow_logs().newest(SLOW_COMMANDS_SHOWN).into(),
            scans_wanted: frame.scans_wanted.to_vec(),
            searches_wanted: frame.searches_wanted.to_vec(),
            acts: Arc::clone(&self.acts),
            rhythms: self.world.rhythms().clone(),
            history: self
                .store
                .history()
                .without(self.world.gpus_left().iter().map(|left| left.gpu.clone()).collect()),
            timeline: self.timeline.clone(),
            kept: self.store.kept(),
        }
    }

    /// Who calls whom: the one of the last evaluation as long as nothing changed, so that who draws it needs no look.
    fn present_graph(&self) -> Arc<Graph> {
        let graph = Graph::of(&self.settings, &self.world);
        if *self.graph == graph { Arc::clone(&self.graph) } else { Arc::new(graph) }
    }

    fn scene<'a>(&'a self, now: Moment, graph: &'a Graph, looked: Looked) -> Scene<'a> {
        Scene {
            now,
            evaluations: self.evaluations,
            calm: self.calm,
            silent_since: self.silent_since(now),
            settings: &self.settings,
            saved: &self.saved,
            store: &self.store,
            world: &self.world,
            graph,
            findings: &self.findings,
            looked,
        }
    }

    fn silent_since(&self, now: Moment) -> Option<Moment> {
        all_silent_since(self.world.sources(), &self.settings, now)
    }
}
