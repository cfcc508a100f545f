//! The doctor's questions to a Redis target: can it be reached, does it let us in, may we ask what we need.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use headwater_engine::reading::{FaultKind, Topology};
use headwater_engine::{RemoteText, Subject};
use redis::Value;
use tokio::time::Instant;

use super::allowed::{Command, Release, acl_line};
use super::connection::{Access, Connection, Cost, Dial};
use super::discovery::{ask_seed, dial_of_seed, no_sentinel};
use super::info::Info;
use super::layout::Layout;
use super::reply::{bytes, items, text};
use super::slowlog::{SLOWER_THAN, read_threshold};
use super::spec::RedisSpec;
use super::trouble::Trouble;

/// How long one node may take to answer one question.
const PATIENCE: Duration = Duration::from_secs(5);

/// One thing that was tried, and how it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeStep {
    /// The target or the node that was asked.
    pub subject: Subject,
    /// What was tried, in a few words.
    pub what: RemoteText,
    /// What came back when it worked, or the sentence with the reason when it did not.
    pub outcome: Result<RemoteText, RemoteText>,
    /// The command, ACL line or flag that would repair it.
    pub fix: Option<RemoteText>,
}

impl ProbeStep {
    fn new(subject: &Subject, what: &str, outcome: Result<String, &Trouble>, fix: Option<String>) -> Self {
        let outcome = match outcome {
            Ok(seen) => Ok(RemoteText::new(&seen)),
            Err(trouble) => Err(RemoteText::new(&trouble.message)),
        };
        Self {
            subject: subject.clone(),
            what: RemoteText::new(what),
            outcome,
            fix: fix.as_deref().map(RemoteText::new),
        }
    }
}

/// Tries everything that watching this target needs, once, and returns within about half a minute. Refused
/// credentials end it: they are tried once.
pub async fn probe(spec: &RedisSpec) -> Vec<ProbeStep> {
    let target = &spec.component;
    let access = match Access::of(spec) {
        Ok(access) => access,
        Err(trouble) => return vec![ProbeStep::new(target, "certificate authorities", Err(&trouble), None)],
    };
    let mut steps = vec![];
    for seed in &spec.seeds {
        let what = format!("connect to {seed}");
        match enter(seed, spec, &access).await {
            Ok((dial, mut connection, info_text)) => {
                let info = Info::parse(&info_text);
                steps.push(ProbeStep::new(target, &what, Ok(format!("{}, let in", info.product())), None));
                steps.extend(ask_everything(target, spec, &mut connection, &info).await);
                drop(connection);
                steps.extend(reach_nodes(spec, seed, &access, &dial).await);
                return steps;
            }
            Err(trouble) => {
                let denied = (trouble.kind == FaultKind::Denied)
                    .then(|| acl_line(user(spec), Release::redis(7, 0), false));
                steps.push(ProbeStep::new(target, &what, Err(&trouble), denied));
                if trouble.kind == FaultKind::Auth {
                    return steps;
                }
            }
        }
    }
    steps
}

async fn enter(seed: &str, spec: &RedisSpec, access: &Access) -> Result<(Dial, Connection, String), Trouble> {
    let deadline = Instant::now() + PATIENCE;
    let dial = dial_of_seed(seed, &spec.address_map)?;
    let mut connection = Connection::open(&dial, access, &Arc::new(Cost::default()), deadline).await?;
    let reply = connection.ask(Command::Info(&[]), deadline).await?;
    let info = text(&reply).map(|text| text.into_owned()).unwrap_or_default();
    no_sentinel(&Info::parse(&info), &dial)?;
    Ok((dial, connection, info))
}

fn user(spec: &RedisSpec) -> &str {
    spec.username.as_deref().unwrap_or("default")
}

/// Each command that is needed, with what is lost without it.
async fn ask_everything(
    target: &Subject,
    spec: &RedisSpec,
    connection: &mut Connection,
    info: &Info<'_>,
) -> Vec<ProbeStep> {
    let deadline = Instant::now() + PATIENCE;
    let mut questions = vec![
        (Command::SlowlogGet(1), "slow commands are not seen"),
        (Command::DbSize, "a scan cannot say how far it is"),
        (Command::Scan(0, 1), "big keys cannot be found"),
    ];
    if info.is_clustered() {
        questions.push((Command::ClusterNodes, "flags and slot owners are not known"));
        if info.release().knows_several_sections() {
            questions.push((Command::ClusterShards, "the announced endpoints are not known"));
        } else {
            questions.push((Command::ClusterSlots, "the announced endpoints are not known"));
        }
    }
    let mut steps = vec![];
    let mut key: Option<Vec<u8>> = None;
    for (command, loss) in questions {
        let answer = connection.ask(command, deadline).await;
        if let (Command::Scan(..), Ok(reply)) = (command, &answer) {
            key = first_key(reply);
        }
        steps.push(question(target, spec, info, command, answer, loss));
    }
    if let Some(key) = key {
        let command = Command::MemoryUsage(&key);
        let mut answer = connection.ask(command, deadline).await;
        // A key of a slot that is being moved may be elsewhere: then the command was let through.
        if answer.as_ref().is_err_and(|trouble| trouble.code.as_deref() == Some("MOVED")) {
            answer = Ok(Value::Nil);
        }
        steps.push(question(target, spec, info, command, answer, "the sizes of keys are not known"));
    }
    let answer = connection.ask(Command::ConfigGet(SLOWER_THAN), deadline).await;
    let seen = match answer.as_ref().ok().and_then(read_threshold) {
        Some(seconds) if seconds < 0.0 => "off: the slow log stays empty".to_owned(),
        Some(seconds) => format!("{} ms: faster commands never show up", seconds * 1e3),
        None => "not told: an empty slow log proves nothing".to_owned(),
    };
    steps.push(ProbeStep::new(target, "slow-log threshold", Ok(seen), None));
    steps
}

fn question(
    target: &Subject,
    spec: &RedisSpec,
    info: &Info<'_>,
    command: Command<'_>,
    answer: Result<Value, Trouble>,
    loss: &str,
) -> ProbeStep {
    match answer {
        Ok(_) => ProbeStep::new(target, command.name(), Ok("allowed".to_owned()), None),
        Err(trouble) => {
            let trouble = Trouble { message: format!("{}; without it {loss}", trouble.message), ..trouble };
            let fix = (trouble.code.as_deref() == Some("NOPERM"))
                .then(|| acl_line(user(spec), info.release(), false));
            ProbeStep::new(target, command.name(), Err(&trouble), fix)
        }
    }
}

fn first_key(reply: &Value) -> Option<Vec<u8>> {
    items(items(reply)?.get(1)?)?.first().and_then(bytes).map(<[u8]>::to_vec)
}

/// Every node of the shape, each on its own.
async fn reach_nodes(spec: &RedisSpec, seed: &str, access: &Access, seed_dial: &Dial) -> Vec<ProbeStep> {
    let shape = match ask_seed(seed, &spec.address_map, access).await {
        Ok((report, dial, peer)) => {
            let mut layout = Layout::default();
            if let Some(peer) = peer {
                layout.alias(peer, dial);
            }
            layout.of(spec, report)
        }
        Err(trouble) => return vec![ProbeStep::new(&spec.component, "the shape", Err(&trouble), None)],
    };
    let Some((topology, dials)) = shape else { return vec![] };
    let mut steps = vec![ProbeStep::new(&spec.component, "the shape", Ok(words_of(&topology)), None)];
    let reached = dials.into_iter().map(|(subject, dial)| async move {
        let Some(dial) = dial else {
            let trouble =
                Trouble::broken(FaultKind::Unreachable, "the cluster does not know its address".to_owned());
            return ProbeStep::new(&subject, "reach", Err(&trouble), Some(forward(&subject)));
        };
        if dial == *seed_dial {
            return ProbeStep::new(&subject, "reach", Ok("reached and let in".to_owned()), None);
        }
        let deadline = Instant::now() + PATIENCE;
        match Connection::open(&dial, access, &Arc::new(Cost::default()), deadline).await {
            Ok(_) => ProbeStep::new(&subject, "reach", Ok("reached and let in".to_owned()), None),
            Err(trouble) => {
                let is_far = matches!(trouble.kind, FaultKind::Unreachable | FaultKind::Silent);
                ProbeStep::new(&subject, "reach", Err(&trouble), is_far.then(|| forward(&subject)))
            }
        }
    });
    steps.extend(join_all(reached).await);
    steps
}

fn words_of(topology: &Topology) -> String {
    let nodes: usize = topology.shards.iter().map(|shard| shard.nodes.len()).sum();
    match topology.clustered {
        true => format!("cluster, {} shards, {nodes} nodes", topology.shards.len()),
        false => format!("standalone, {nodes} nodes"),
    }
}

/// How to reach a node that announces an address which is out of reach from here.
fn forward(node: &Subject) -> String {
    let address = node.address().unwrap_or("HOST:PORT");
    format!("ssh -N -L 7001:{address} JUMPHOST, and address_map = {{ \"{address}\" = \"127.0.0.1:7001\" }}")
}
