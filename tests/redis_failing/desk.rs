//! Somebody who watches servers and waits for what is said of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater::app::{App, Step};
use headwater::config::{TargetOptions, from_targets};
use headwater::sources::redis::ScanBudget;
use headwater_engine::metric::{Metric, REDIS_ANSWER_TIME};
use headwater_engine::reading::{ClusterView, FaultKind};
use headwater_engine::{Baselines, Snapshot, Subject};
use headwater_test_support::{PATIENCE, Server};

/// The running application with what its evaluations said.
pub(crate) struct Desk {
    app: App,
    /// Evaluations so far.
    looks: usize,
    /// Faults of each source so far, each sentence once.
    faults: BTreeMap<Subject, Vec<String>>,
}

impl Desk {
    /// Watches these seeds, each as a deployment of its own.
    pub(crate) fn watch(servers: &[&Server]) -> Self {
        let targets: Vec<_> = servers.iter().map(|server| format!("redis://{}", server.address())).collect();
        let config = from_targets(&targets, &TargetOptions::default()).expect("they are targets");
        let app = App::start(&config, Baselines::default(), None).expect("the targets are sound");
        Self { app, looks: 0, faults: BTreeMap::new() }
    }

    /// Waits for an evaluation that fits.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let mut last = None;
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let Step::Evaluated(snapshot) = self.app.step().await else { continue };
                self.looks += 1;
                for source in snapshot.sources.iter() {
                    let Some((_, fault)) = &source.fault else { continue };
                    let known = self.faults.entry(source.source.clone()).or_default();
                    if !known.iter().any(|said| said == fault.message.as_str()) {
                        known.push(fault.message.as_str().to_owned());
                    }
                }
                last = Some(Arc::clone(&snapshot));
                if fits(&snapshot) {
                    return snapshot;
                }
            }
        });
        let found = found.await;
        assert!(
            found.is_ok(),
            "waited in vain until {what}; last seen: {}",
            last.map(|last| told(&last)).unwrap_or_default()
        );
        found.expect("it was found")
    }

    /// Starts a scan, which goes on by itself.
    pub(crate) fn scan(&self, shard: &Subject) {
        assert!(self.app.scan(shard, ScanBudget::default()).is_some(), "{shard} is known");
    }

    /// That no source but these met any fault.
    pub(crate) fn nobody_else_failed(&self, but: &[&Subject]) {
        let others: Vec<_> = self.faults.iter().filter(|(source, _)| !but.contains(source)).collect();
        assert!(others.is_empty(), "{others:#?}");
        assert!(self.looks > 0, "somebody looked");
    }

    pub(crate) async fn stop(self) {
        self.app.stop().await;
    }
}

/// What a snapshot says, for somebody who waited in vain.
fn told(snapshot: &Snapshot) -> String {
    let firing = snapshot.rules.iter().filter(|rule| rule.state == "firing");
    let firing: Vec<_> =
        firing.map(|rule| format!("{} {}: {}", rule.rule, rule.subject, rule.detail)).collect();
    format!("{:#?} {:#?} {firing:#?} {:#?}", snapshot.topologies, snapshot.views, snapshot.sources)
}

/// How many nodes answer at present.
pub(crate) fn answering(snapshot: &Snapshot) -> usize {
    let nodes =
        snapshot.topologies.iter().flat_map(|topology| &topology.shards).flat_map(|shard| &shard.nodes);
    nodes.filter(|node| snapshot.present(&node.subject, REDIS_ANSWER_TIME, None).is_some()).count()
}

/// The newest view of a node.
pub(crate) fn view_of<'a>(snapshot: &'a Snapshot, node: &Subject) -> Option<&'a ClusterView> {
    snapshot.views.iter().map(|(_, view)| &**view).find(|view| view.node == *node)
}

/// A source's present fault.
pub(crate) fn fault_of(snapshot: &Snapshot, source: &Subject) -> Option<FaultKind> {
    let state = snapshot.sources.iter().find(|state| state.source == *source)?;
    state.fault.as_ref().map(|(_, fault)| fault.kind)
}

/// The sentence of a source's present fault.
pub(crate) fn fault_sentence(snapshot: &Snapshot, source: &Subject) -> String {
    let state = snapshot.sources.iter().find(|state| state.source == *source);
    let fault = state.and_then(|state| state.fault.as_ref());
    fault.map(|(_, fault)| fault.message.as_str().to_owned()).unwrap_or_default()
}

/// How a rule stands on a subject.
pub(crate) fn state<'a>(snapshot: &'a Snapshot, rule: &str, subject: &Subject) -> &'a str {
    let found = snapshot.rules.iter().find(|row| row.rule == rule && row.subject == *subject);
    found.map_or("", |row| row.state)
}

/// What a rule says of a subject.
pub(crate) fn detail(snapshot: &Snapshot, rule: &str, subject: &Subject) -> String {
    let found = snapshot.rules.iter().find(|row| row.rule == rule && row.subject == *subject);
    found.map_or_else(String::new, |row| row.detail.to_string())
}

/// Whether a rule fires on a subject.
pub(crate) fn fires(snapshot: &Snapshot, rule: &str, subject: &Subject) -> bool {
    state(snapshot, rule, subject) == "firing"
}

/// The newest value of a metric.
pub(crate) fn latest(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Option<f64> {
    snapshot.present(subject, metric, None).map(|seen| seen.value)
}

/// Every value of a metric that is kept.
pub(crate) fn points(snapshot: &Snapshot, subject: &Subject, metric: Metric) -> Vec<f64> {
    let trace = snapshot.history.trace(subject, metric, None);
    trace.map(|trace| trace.newest_first().map(|seen| seen.value).collect()).unwrap_or_default()
}
