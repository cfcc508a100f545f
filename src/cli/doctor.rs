//! `headwater doctor`: can every target be reached, does it let us in, can everything be read.

mod blind;
mod canary;
mod discovery;
mod local;
mod logs;
mod open_files;
mod probes;
mod prometheus;

use std::time::Duration;

use clap::{Args, ValueEnum};
use headwater_engine::reading::{Event, Reading};
use headwater_engine::{RemoteText, Subject};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::output::{Failure, layout, print};
use super::target::TargetArgs;
use crate::config::{Config, Import, Place};
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

    /// The format of the answer
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    format: DoctorFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DoctorFormat {
    Text,
    Json,
}

pub(super) async fn run(args: DoctorArgs) -> Result<u8, Failure> {
    let config = args.targets.resolve()?;
    let redis = futures::future::join_all(config.redis.iter().map(probe));
    let metrics = futures::future::join_all(config.metrics.iter().map(page));
    let lists = futures::future::join_all(config.discoveries.iter().map(discovery::list));
    let imports = futures::future::join_all(config.imports.iter().map(import));
    let changes = futures::future::join_all(config.changes.iter().map(changes));
    let probes = futures::future::join_all(config.probes.iter().map(probes::probe));
    let servers = futures::future::join_all(config.prometheus.iter().map(prometheus::server));
    let machine = local::machine(&config.local);
    let (redis, metrics, lists, servers, imports, changes, probes, machine) =
        futures::join!(redis, metrics, lists, servers, imports, changes, probes, machine);
    let kernels = futures::future::join_all(config.canary.iter().map(canary::kernels)).await;
    let logs: Vec<ProbeStep> = config.logs.iter().flat_map(logs::log).collect();
    let (pages, mut readings): (Vec<_>, Vec<_>) = metrics.into_iter().chain(lists).unzip();
    let (servers, of_servers): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
    readings.extend(of_servers);
    let (machine, of_machine) = machine;
    readings.push(of_machine);
    let steps: Vec<ProbeStep> = redis
        .into_iter()
        .chain(pages)
        .chain(servers)
        .chain(probes)
        .chain([machine, logs])
        .chain(imports)
        .chain(changes)
        .chain(kernels)
        .flatten()
        .collect();
    let mut advice = advice(&config);
    advice.extend(open_files::advice(&config, &steps));
    advice.extend(blind::Heard::of(readings.iter().flatten()).with(&config).advice());
    let failed = steps.iter().filter(|step| step.outcome.is_err()).count();
    match args.format {
        DoctorFormat::Text => print(&as_text(&steps, &advice, failed))?,
        DoctorFormat::Json => print(&as_json(&steps, &advice))?,
    }
    Ok(u8::from(failed > 0))
}

fn as_text(steps: &[ProbeStep], advice: &[(Subject, String)], failed: usize) -> String {
    let mut out = layout(100);
    for step in steps {
        let (mark, outcome, aid) = match &step.outcome {
            Ok(seen) => ("ok", seen, "  copy"),
            Err(reason) => ("FAILED", reason, "  fix"),
        };
        out.hang(mark, 8, &format!("{}: {}: {outcome}", step.subject, step.what));
        // A refusal that names its own remedy says it once.
        if let Some(fix) = step.fix.as_ref().filter(|fix| !outcome.as_str().contains(fix.as_str())) {
            out.hang(aid, 8, fix);
        }
    }
    for (subject, words) in advice {
        out.hang("add", 8, &format!("{subject}: {words}"));
    }
    out.line(&format!("{} of {} checks passed", steps.len() - failed, steps.len()));
    out.finish()
}

fn as_json(steps: &[ProbeStep], advice: &[(Subject, String)]) -> String {
    let checks: Vec<_> = steps
        .iter()
        .map(|step| {
            let (is_ok, said) = match &step.outcome {
                Ok(seen) => (true, seen),
                Err(reason) => (false, reason),
            };
            serde_json::json!({
                "subject": step.subject.as_str(), "what": step.what.as_str(), "ok": is_ok, "said": said.as_str(),
                "fix": step.fix,
            })
        })
        .collect();
    let advice: Vec<_> = advice
        .iter()
        .map(|(subject, words)| serde_json::json!({ "subject": subject.as_str(), "add": words }))
        .collect();
    format!("{:#}\n", serde_json::json!({ "schema": 1, "checks": checks, "advice": advice }))
}

/// What a configuration could say that would let more be proven.
fn advice(config: &Config) -> Vec<(Subject, String)> {
    let settings = &config.settings;
    let mut advice = vec![];
    for spec in &config.redis {
        let component = settings.components.iter().find(|known| known.subject == spec.component);
        if component.is_none_or(|component| component.link.is_none()) {
            let words = "the speed of its network link is not known, so that a full link can only be suspected: write \
                         link = \"10Gbit/s\" in its [[redis]] table";
            advice.push((spec.component.clone(), words.to_owned()));
        }
        let is_called =
            settings.components.iter().any(|component| component.depends_on.contains(&spec.component));
        if !is_called {
            let words =
                "nobody is known to depend on it: write depends_on in the [[component]] of whoever calls it";
            advice.push((spec.component.clone(), words.to_owned()));
        }
    }
    let has_page = !config.metrics.is_empty() || !config.discoveries.is_empty();
    let has_symptom = !settings.symptoms.is_empty() || has_page;
    if let Some(spec) = config.redis.first().filter(|_| !has_symptom) {
        let words = "nothing shows what callers suffer, so that nothing can be proven guilty: add the metrics page of a \
                     caller, or a [[symptom]]";
        advice.push((spec.component.clone(), words.to_owned()));
    }
    advice
}

/// Reads a page once and says what was on it; gives what it told.
async fn page(spec: &MetricsSpec) -> (Vec<ProbeStep>, Vec<Reading>) {
    let subject = spec.subject().unwrap_or_else(|_| Subject::component(headwater_engine::Kind::Service, "?"));
    let failed = |reason: &str, fix: Option<&str>| ProbeStep {
        subject: subject.clone(),
        what: "page".into(),
        outcome: Err(RemoteText::new(reason)),
        fix: fix.map(str::to_owned),
    };
    let (send, mut readings) = mpsc::channel(4);
    let outlet = Outlet { readings: send, stop: CancellationToken::new() };
    let stop = outlet.stop.clone().drop_guard();
    if let Err(error) = spawn_metrics(spec.clone(), Duration::from_secs(1), outlet) {
        return (vec![failed(&error.to_string(), None)], vec![]);
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
        None => (vec![failed("no answer", Some("check the address, and firewalls on the way"))], vec![]),
        Some(reading) => (told(&reading), vec![reading]),
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
