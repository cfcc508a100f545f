//! The healthy world: which sources there are, what each exposes, and with which numbers.

use headwater_engine::metric::*;
use headwater_engine::{Kind, Subject};

use super::script::{Added, Case};

/// What a series is worth in one second: a level or a rate, or events of a histogram.
#[derive(Clone, Debug)]
pub(crate) enum Worth {
    Number(f64),
    Events { rate: f64, values: Vec<(f64, f64)> },
}

/// One healthy series.
#[derive(Debug)]
pub(crate) struct Healthy {
    pub(crate) subject: Subject,
    pub(crate) metric: MetricName,
    pub(crate) form: Form,
    pub(crate) part: Option<String>,
    pub(crate) worth: Worth,
}

/// One source with its series.
pub(crate) struct Exposes {
    pub(crate) source: Subject,
    pub(crate) series: Vec<Healthy>,
}

/// Requests a second of one instance.
const REQUEST_RATE: f64 = 100.0;

/// Every source of a case's world.
pub(crate) fn sources(case: &Case) -> Vec<Exposes> {
    let mut sources = vec![];
    for shard in 0..case.shards {
        for node in nodes(case, shard) {
            let is_primary = sources.len() % (case.replicas + 1) == 0;
            sources.push(redis_node(node, is_primary, case.replicas));
        }
    }
    for instance in 0..case.instances {
        sources.push(service(case, &format!("10.1.0.{}:8000", instance + 1)));
    }
    sources.push(client(case));
    let observer = Subject::component(Kind::Observer, "headwater");
    sources.push(Exposes {
        series: vec![number(&observer, LOOP_LAG, 0.001), number(&observer, PROCESS_CPU, 0.01)],
        source: observer,
    });
    for added in &case.adds {
        let series = of_added(added);
        match sources.iter_mut().find(|known| known.source == added.source) {
            Some(known) => known.series.push(series),
            None => sources.push(Exposes { source: added.source.clone(), series: vec![series] }),
        }
    }
    let is_there = |subject: &Subject| !case.absent.iter().any(|absent| absent.contains(subject));
    for source in &mut sources {
        source.series.retain(|series| is_there(&series.subject));
    }
    sources.retain(|source| is_there(&source.source));
    sources
}

/// The nodes of a shard, the primary first.
pub(crate) fn nodes(case: &Case, shard: usize) -> Vec<Subject> {
    let shard_subject = Subject::component(Kind::Redis, "features").shard(shard);
    (0..=case.replicas)
        .map(|node| {
            let port = 7000 + shard * (case.replicas + 1) + node;
            let address = if let Some(hosts) = case.hosts {
                format!("10.0.9.{}:{port}", shard % hosts + 1)
            } else if case.one_host {
                format!("10.0.0.1:{port}")
            } else {
                format!("10.0.{shard}.{}:6379", node + 1)
            };
            shard_subject.instance(&address)
        })
        .collect()
}

fn number(subject: &Subject, metric: Metric, value: f64) -> Healthy {
    Healthy {
        subject: subject.clone(),
        form: metric.row().form,
        metric: metric.into(),
        part: None,
        worth: Worth::Number(value),
    }
}

fn events(
    subject: &Subject,
    metric: Metric,
    part: Option<&'static str>,
    rate: f64,
    values: &[(f64, f64)],
) -> Healthy {
    Healthy {
        subject: subject.clone(),
        form: metric.row().form,
        metric: metric.into(),
        part: part.map(str::to_owned),
        worth: Worth::Events { rate, values: values.to_vec() },
    }
}

fn of_added(added: &Added) -> Healthy {
    let metric = MetricName::from(added.metric.clone());
    let form = match &metric {
        MetricName::Known(known) => known.row().form,
        MetricName::Free(_) if added.total => Form::Counter,
        MetricName::Free(_) => Form::Gauge,
    };
    let worth = match form {
        Form::Histogram => Worth::Events { rate: added.rate, values: vec![(added.value, 1.0)] },
        Form::Gauge | Form::Counter => Worth::Number(added.value),
    };
    let subject = added.subject.clone().unwrap_or_else(|| added.source.clone());
    Healthy { subject, metric, form, part: added.part.clone(), worth }
}

fn redis_node(node: Subject, primary: bool, replicas: usize) -> Exposes {
    let share = if primary { 1.0 } else { 0.1 };
    let mut series: Vec<Healthy> = [
        (REDIS_ANSWER_TIME, 0.0007),
        (REDIS_CPU, 0.06 * share),
        (REDIS_CPU_PROCESS, 0.07 * share),
        (REDIS_EXEC, 0.04 * share),
        (REDIS_COMMANDS, 400.0 * share),
        (REDIS_NET_IN, 50_000.0 * share),
        (REDIS_NET_OUT, 400_000.0 * share),
        (REDIS_HITS, 380.0 * share),
        (REDIS_MISSES, 4.0 * share),
        (REDIS_CLIENTS, 20.0),
        (REDIS_CLIENTS_MAX, 10_000.0),
        (REDIS_CONNECTIONS, 0.5),
        (REDIS_REJECTED, 0.0),
        (REDIS_MEMORY, 1e8),
        (REDIS_FORKS, 0.0),
        (REDIS_FORK_TIME, 0.002),
        (REDIS_EXPIRED, 5.0 * share),
        (REDIS_EXPIRE_CAPPED, 0.0),
        (REDIS_MEMORY_MAX, 1e9),
        (REDIS_MEMORY_EVICTS, 0.0),
        (REDIS_EVICTED, 0.0),
        (REDIS_OUR_COMMANDS, 2.0),
        (REDIS_OUR_BYTES, 9_000.0),
    ]
    .into_iter()
    .map(|(metric, value)| number(&node, metric, value))
    .collect();
    for (command, calls) in [("GET", 320.0), ("HGETALL", 60.0)] {
        let part = Some(command.to_owned());
        series.push(Healthy { part, ..number(&node, REDIS_COMMAND_CALLS, calls * share) });
    }
    let replication: &[(Metric, f64)] = if primary {
        &[(REDIS_NET_REPL_OUT, 2_000.0), (REDIS_REPLICAS, replicas as f64), (REDIS_FULL_SYNCS, 0.0)]
    } else {
        &[(REDIS_NET_REPL_IN, 2_000.0), (REDIS_REPLICATION_UP, 1.0), (REDIS_REPLICATION_LAG, 1.0)]
    };
    series.extend(replication.iter().map(|(metric, value)| number(&node, *metric, *value)));
    Exposes { source: node, series }
}

fn service(case: &Case, address: &str) -> Exposes {
    let service = Subject::component(Kind::Service, "ranker").instance(address);
    let queue = Subject::component(Kind::Queue, "ranker").instance(address);
    let usual = [(0.02, 0.9), (0.05, 0.1)];
    let mut series = vec![
        events(&service, REQUEST_DURATION, None, REQUEST_RATE, &usual),
        events(&service, STAGE_DURATION, Some("feature_load"), REQUEST_RATE, &[(0.005, 1.0)]),
        events(&service, STAGE_DURATION, Some("queue"), REQUEST_RATE, &[(0.003, 1.0)]),
        events(&service, STAGE_DURATION, Some("infer"), REQUEST_RATE, &[(0.015, 1.0)]),
        events(&service, STAGE_DURATION, Some("render"), REQUEST_RATE, &[(0.002, 1.0)]),
        events(&service, DB_DURATION, Some("GET"), 4.0 * REQUEST_RATE, &[(0.002, 1.0)]),
        number(&service, REQUESTS, REQUEST_RATE),
        number(&service, ERRORS, 0.0),
        number(&service, IN_FLIGHT, 3.0),
        number(&queue, QUEUE_WAITING, 2.0),
        number(&queue, QUEUE_RUNNING, 6.0),
        number(&queue, QUEUE_CAPACITY, 64.0),
    ];
    if case.gpu {
        let gpu = Subject::component(Kind::Gpu, "ranker").instance(address);
        series.push(number(&gpu, GPU_UTILIZATION, 0.4));
    }
    Exposes { source: service, series }
}

fn client(case: &Case) -> Exposes {
    let client = Subject::component(Kind::Client, "load").instance("10.2.0.1:9000");
    let rate = REQUEST_RATE * case.instances as f64;
    let series = vec![
        number(&client, CLIENT_ORIGINALS, rate),
        number(&client, CLIENT_ATTEMPTS, rate),
        number(&client, CLIENT_SUCCESSES, rate),
        events(&client, CLIENT_DURATION, None, rate, &[(0.03, 0.9), (0.05, 0.1)]),
    ];
    Exposes { source: client, series }
}
