//! `headwater doctor`: can every target be reached, does it let us in, can everything be read.

use std::time::Duration;

use clap::Args;
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{RemoteText, Subject};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::output::{Failure, print};
use super::target::TargetArgs;
use crate::config::{Import, Place};
use crate::report::Layout;
use crate::sources::calls::{CallsSource, told_at_start};
use crate::sources::changes::{ChangesSource, ChangesSpec};
use crate::sources::metrics::{MetricsSpec, spawn_metrics};
use crate::sources::redis::{ProbeStep, probe};
use crate::sources::{LONGEST_WAIT, Outlet, Source as _};

/// `headwater doctor`.
#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    #[command(flatten)]
    targets: TargetArgs,
}

pub(super) async fn run(args: DoctorArgs) -> Result<u8, Failure> {
    let config = args.targets.resolve()?;
    let redis = futures::future::join_all(config.redis.iter().map(probe));
    let metrics = futures::future::join_all(config.metrics.iter().map(page));
    let imports = futures::future::join_all(config.imports.iter().map(import));
    let changes = futures::future::join_all(config.changes.iter().map(changes));
    let (redis, metrics, imports, changes) = futures::join!(redis, metrics, imports, changes);
    let steps: Vec<ProbeStep> =
        redis.into_iter().chain(metrics).chain(imports).chain(changes).flatten().collect();
    let mut out = Layout::new(100);
    for step in &steps {
        let (mark, outcome) = match &step.outcome {
            Ok(seen) => ("ok", seen),
            Err(reason) => ("FAILED", reason),
        };
        out.hang(mark, 8, &format!("{}: {}: {outcome}", step.subject, step.what));
        if let Some(fix) = &step.fix {
            out.hang("  fix", 8, fix.as_str());
        }
    }
    let failed = steps.iter().filter(|step| step.outcome.is_err()).count();
    out.line(&format!("{} of {} checks passed", steps.len() - failed, steps.len()));
    print(&out.finish())?;
    Ok(u8::from(failed > 0))
}

/// Reads a page once and says what was on it.
async fn page(spec: &MetricsSpec) -> Vec<ProbeStep> {
    let subject = spec.subject().unwrap_or_else(|_| Subject::component(headwater_engine::Kind::Service, "?"));
    let failed = |reason: &str, fix: Option<&str>| ProbeStep {
        subject: subject.clone(),
        what: "page".into(),
        outcome: Err(RemoteText::new(reason)),
        fix: fix.map(RemoteText::new),
    };
    let (send, mut readings) = mpsc::channel(4);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let stop = outlet.stop.clone().drop_guard();
    if let Err(error) = spawn_metrics(spec.clone(), Duration::from_secs(1), outlet) {
        return vec![failed(&error.to_string(), None)];
    }
    let first = async {
        loop {
            let reading = readings.recv().await?;
            // A notice that the answer is late is not the answer.
            if !(reading.samples.is_empty() && reading.faults.is_empty()) {
                return Some(reading);
            }
        }
    };
    let reading = tokio::time::timeout(LONGEST_WAIT + Duration::from_secs(1), first).await.ok().flatten();
    drop(stop);
    match reading {
        None => vec![failed("no answer", Some("check the address, and firewalls on the way"))],
        Some(reading) => told(&reading),
    }
}

/// Reads an import once and says how many calls it knows.
async fn import(import: &Import) -> Vec<ProbeStep> {
    let mut source;
    let reading = match &import.place {
        Place::File(..) => told_at_start(import),
        Place::Server(spec) => match CallsSource::new(import, spec) {
            Ok(prepared) => {
                source = prepared;
                source.ask().await
            }
            Err(error) => {
                return vec![ProbeStep {
                    subject: import.subject.clone(),
                    what: "calls".into(),
                    outcome: Err(RemoteText::new(&error.to_string())),
                    fix: None,
                }];
            }
        },
    };
    told(&reading)
}

/// Reads a source of changes once and says how many it tells.
async fn changes(spec: &ChangesSpec) -> Vec<ProbeStep> {
    let step =
        |outcome| ProbeStep { subject: spec.subject.clone(), what: "changes".into(), outcome, fix: None };
    let mut source = match ChangesSource::new(spec) {
        Ok(source) => source,
        Err(error) => return vec![step(Err(RemoteText::new(&error.to_string())))],
    };
    let reading = source.ask().await;
    let count = reading.events.iter().filter(|event| matches!(event, Event::Change(_))).count();
    let told = format!("{count} changes in the last 8 days");
    let seen = (reading.faults.is_empty() || count > 0).then(|| step(Ok(RemoteText::new(&told))));
    let faults = reading.faults.iter().map(|fault| step(Err(fault.message.clone())));
    seen.into_iter().chain(faults).collect()
}

fn told(reading: &Reading) -> Vec<ProbeStep> {
    let mut steps = vec![];
    for event in &reading.events {
        if let Event::Calls(calls) = event {
            steps.push(ProbeStep {
                subject: reading.source.clone(),
                what: "calls".into(),
                outcome: Ok(RemoteText::new(&format!("{} calls between components", calls.len()))),
                fix: None,
            });
        }
    }
    if !reading.samples.is_empty() {
        let dialects = reading.events.iter().find_map(|event| match event {
            Event::Dialects(dialects) => {
                Some(dialects.iter().map(RemoteText::as_str).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        });
        let dialects = dialects.filter(|names| !names.is_empty()).unwrap_or_else(|| "none known".to_owned());
        steps.push(ProbeStep {
            subject: reading.source.clone(),
            what: "page".into(),
            outcome: Ok(RemoteText::new(&format!("{} numbers, dialects: {dialects}", reading.samples.len()))),
            fix: None,
        });
    }
    steps.extend(reading.faults.iter().map(|fault| ProbeStep {
        subject: reading.source.clone(),
        what: "page".into(),
        outcome: Err(fault.message.clone()),
        fix: None,
    }));
    steps
}
