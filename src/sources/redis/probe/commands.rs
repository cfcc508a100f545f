//! Which commands the user may run, what is lost without each, and which ways to find hot keys a server offers.

use headwater_engine::Subject;
use headwater_engine::reading::{Event, KeyMethod, Reading};
use redis::Value;
use tokio::time::Instant;

use super::{PATIENCE, ProbeStep, user};
use crate::sources::now;
use crate::sources::redis::allowed::{Command, keys_rule};
use crate::sources::redis::connection::Connection;
use crate::sources::redis::info::Info;
use crate::sources::redis::lacks::Lacks;
use crate::sources::redis::look::Look;
use crate::sources::redis::offers::Offers;
use crate::sources::redis::pulse::Pulse;
use crate::sources::redis::reply::{bytes, items};
use crate::sources::redis::slowlog::{SLOWER_THAN, read_threshold};
use crate::sources::redis::spec::RedisSpec;
use crate::sources::redis::trouble::Trouble;

/// Whom a question is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Everyone,
    Clusters,
}

/// Each command that needs no key, with what is lost without it.
const QUESTIONS: &[(For, Command<'static>, &str)] = &[
    (For::Everyone, Command::SlowlogGet(1), "slow commands are not seen"),
    (For::Everyone, Command::LatencyLatest, "the stalls that the server itself saw are not known"),
    (For::Everyone, Command::LatencyHistogram(&["get"]), "the recent latency of commands is not known"),
    (For::Everyone, Command::CommandlogGet(1, "large-reply"), "large replies are not seen"),
    (For::Everyone, Command::DbSize, "a scan cannot say how far it is"),
    (For::Everyone, Command::Scan(0, 1), "big keys cannot be found"),
    (For::Everyone, Command::HotkeysGet, "what the server counted of hot keys is not known"),
    (For::Clusters, Command::ClusterNodes, "flags and slot owners are not known"),
    (For::Clusters, Command::ClusterShards, "the announced endpoints are not known"),
    (For::Clusters, Command::ClusterSlots, "the announced endpoints may not be known"),
    (For::Clusters, Command::ClusterInfo, "what each node thinks of the cluster is not known"),
    (For::Clusters, Command::ClusterSlotStats("key-count", 1), "a hot slot cannot be told"),
    (For::Clusters, Command::ClusterKeysInSlot(0, 1), "the keys of a hot slot cannot be named"),
    (For::Clusters, Command::ReadOnly, "replicas cannot be scanned in place of their primary"),
];

/// A command about a key.
type OfKey = for<'k> fn(&'k [u8]) -> Command<'k>;

/// Each command about a key, with what is lost without it.
const OF_KEYS: &[(OfKey, &str)] = &[
    (|key| Command::MemoryUsage(key), "the sizes of keys are not known"),
    (|key| Command::Type(key), "the types of big keys are not known"),
    (|key| Command::Pttl(key), "when keys expire is not known"),
];

/// Commands without which a way to find out about keys is not there, though the server offers it.
const NEEDED: &[(&str, &[KeyMethod])] = &[
    ("SCAN", &[KeyMethod::Scan, KeyMethod::Frequencies]),
    ("MEMORY USAGE", &[KeyMethod::Scan]),
    ("CLUSTER SLOT-STATS", &[KeyMethod::SlotStats]),
    ("HOTKEYS GET", &[KeyMethod::Hotkeys]),
];

/// Asks each command that this server knows, once, and says which ways to find hot keys it offers.
pub(super) async fn ask_everything(
    target: &Subject,
    spec: &RedisSpec,
    connection: &mut Connection,
    info: &Info<'_>,
) -> Vec<ProbeStep> {
    let deadline = Instant::now() + PATIENCE;
    let mut steps = vec![];
    let pulse = Pulse::new();
    let mut key: Option<Vec<u8>> = None;
    let is_asked = |whom: For, command: &Command<'_>| {
        info.release().knows_command(command.name()) && (whom == For::Everyone || info.is_clustered())
    };
    for (whom, command, loss) in QUESTIONS {
        if !is_asked(*whom, command) {
            continue;
        }
        let answer = connection.ask(*command, deadline).await;
        if let (Command::Scan(..), Ok(reply)) = (command, &answer) {
            key = first_key(reply);
        }
        note_refusal(&pulse, *command, &answer);
        steps.push(question(target, spec, info, *command, answer, loss));
    }
    for (about, loss) in OF_KEYS {
        let Some(command) = key.as_deref().map(about) else { continue };
        let mut answer = connection.ask(command, deadline).await;
        // A key of a slot that is being moved may be elsewhere: then the command was let through.
        if answer.as_ref().is_err_and(|trouble| trouble.code.as_deref() == Some("MOVED")) {
            answer = Ok(Value::Nil);
        }
        note_refusal(&pulse, command, &answer);
        steps.push(question(target, spec, info, command, answer, loss));
    }
    let answer = connection.ask(Command::ConfigGet(SLOWER_THAN), deadline).await;
    let seen = match answer.as_ref().ok().and_then(read_threshold) {
        Some(seconds) if seconds < 0.0 => "off: the slow log stays empty".to_owned(),
        Some(seconds) => format!("{} ms: faster commands never show up", seconds * 1e3),
        None => "not told: an empty slow log proves nothing".to_owned(),
    };
    steps.push(ProbeStep::new(target, "slow-log threshold", Ok(seen), None));
    if key.is_none() {
        let seen = "not tried: no key was there to ask for".to_owned();
        steps.push(ProbeStep::new(target, "MEMORY USAGE, TYPE and PTTL", Ok(seen), None));
    }
    steps.extend(offers(target, connection, info, &pulse).await);
    steps
}

/// What a refused command means for the ways to find out about keys.
fn note_refusal(pulse: &Pulse, command: Command<'_>, answer: &Result<Value, Trouble>) {
    let Err(trouble) = answer else { return };
    let needing = NEEDED.iter().filter(|(name, _)| *name == command.name());
    for method in needing.flat_map(|(_, methods)| *methods) {
        pulse.refused(*method, Some(trouble.message.clone()));
    }
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
            let rule = if trouble.forbids_the_key() {
                keys_rule(info.release()).to_owned()
            } else {
                command.acl_rule()
            };
            let is_refused = trouble.code.as_deref() == Some("NOPERM");
            let fix = is_refused.then(|| format!("ACL SETUSER {} {rule}", user(spec)));
            ProbeStep::new(target, command.name(), Err(&trouble), fix)
        }
    }
}

fn first_key(reply: &Value) -> Option<Vec<u8>> {
    items(items(reply)?.get(1)?)?.first().and_then(bytes).map(<[u8]>::to_vec)
}

/// What each way to find out about keys would find here, or what it needs.
async fn offers(
    target: &Subject,
    connection: &mut Connection,
    info: &Info<'_>,
    pulse: &Pulse,
) -> Vec<ProbeStep> {
    let (mut reading, mut lacks) = (Reading::new(target.clone(), now()), Lacks::default());
    let now = Instant::now();
    let mut look = Look {
        subject: target,
        info,
        reading: &mut reading,
        connection,
        lacks: &mut lacks,
        now,
        deadline: now + PATIENCE,
    };
    let told = Offers::default().look(&mut look, pulse).await;
    if let Err(trouble) = told {
        return vec![ProbeStep::new(target, "ways to find keys", Err(&trouble), None)];
    }
    let mut steps = vec![];
    for event in &reading.events {
        let Event::Offers(offers) = event else { continue };
        for offer in offers {
            let row = offer.method.row();
            let seen = match &offer.refusal {
                Some(why) => format!("not offered: {why}"),
                None if row.needs_consent => format!(
                    "offered, with a yes each time (not tried: whether this user may shows when it runs): {}",
                    row.finds
                ),
                None => format!("offered: {}", row.finds),
            };
            steps.push(ProbeStep::new(target, &format!("keys by {}", row.name), Ok(seen), None));
        }
    }
    steps
}
