//! The doctor's questions to a Redis target: can it be reached, does it let us in, may we ask what we need.

mod commands;
mod nodes;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use headwater_engine::loopback::leads_back;
use headwater_engine::reading::FaultKind;
use headwater_engine::{RemoteText, Subject};
use tokio::time::Instant;

use super::allowed::{Command, Release, acl_line, sentinel_acl_line};
use super::board::Report;
use super::connection::{Access, Connection, Cost, Dial};
use super::discovery::{ask_seed, dial_of_seed, no_sentinel};
use super::info::Info;
use super::reply::text;
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
    /// The command, ACL line or flag to copy: what would repair it, or what may be of use where nothing is wrong. As long
    /// as it has to be, and harmless to show.
    pub fix: Option<String>,
}

impl ProbeStep {
    fn new(subject: &Subject, what: &str, outcome: Result<String, &Trouble>, fix: Option<String>) -> Self {
        let outcome = match outcome {
            Ok(seen) => Ok(RemoteText::new(&seen)),
            Err(trouble) => Err(RemoteText::new(&trouble.message)),
        };
        let fix = fix.as_deref().map(headwater_engine::text::without_controls);
        Self { subject: subject.clone(), what: RemoteText::new(what), outcome, fix }
    }
}

/// Tries everything that watching this target needs, once, and returns within about half a minute. Refused
/// credentials end it: they are tried once.
pub async fn probe(spec: &RedisSpec) -> Vec<ProbeStep> {
    let target = &spec.component;
    let mut steps = rights_of_key(spec);
    let access = match Access::of(spec) {
        Ok(access) => access,
        Err(trouble) => {
            steps.push(ProbeStep::new(target, "certificates", Err(&trouble), None));
            return steps;
        }
    };
    let mut entries = spec.seeds.iter().map(|seed| dial_of_seed(seed, &spec.address_map)).collect();
    if spec.sentinel.is_some() {
        entries = ask_sentinels(spec, &access, &mut steps).await;
    }
    for entry in entries {
        let shown = entry.as_ref().map_or_else(|_| String::new(), |dial| dial.shown.to_string());
        let what = if shown.is_empty() { "connect".to_owned() } else { format!("connect to {shown}") };
        let entered = match entry {
            Ok(dial) => enter(dial, &access).await,
            Err(trouble) => Err(trouble),
        };
        match entered {
            Ok((dial, mut connection, info_text)) => {
                let info = Info::parse(&info_text);
                steps.push(ProbeStep::new(target, &what, Ok(format!("{}, let in", info.product())), None));
                steps.extend(commands::ask_everything(target, spec, &mut connection, &info).await);
                drop(connection);
                steps.extend(acl(spec, &info));
                steps.extend(nodes::reach(spec, &dial, &access).await);
                return steps;
            }
            Err(trouble) => {
                let fix = match trouble.kind {
                    FaultKind::Denied => Some(acl_line(user(spec), Release::redis(7, 0), false)),
                    // Nothing lies between us and ourselves.
                    _ if is_here(&shown) => None,
                    _ => nodes::way_to(&shown, &trouble, spec),
                };
                steps.push(ProbeStep::new(target, &what, Err(&trouble), fix));
                if trouble.kind == FaultKind::Auth {
                    return steps;
                }
            }
        }
    }
    steps
}

/// Asks every Sentinel; what the first that knows the primary says is where to go on.
async fn ask_sentinels(
    spec: &RedisSpec,
    access: &Access,
    steps: &mut Vec<ProbeStep>,
) -> Vec<Result<Dial, Trouble>> {
    let mut entries = vec![];
    for seed in &spec.seeds {
        let what = format!("ask Sentinel {seed}");
        match ask_seed(seed, spec, access).await {
            Ok((Report::Watched { primary, replicas }, ..)) => {
                let seen = format!("the primary is {}, with {} replicas", primary.shown, replicas.len());
                steps.push(ProbeStep::new(&spec.component, &what, Ok(seen), None));
                if entries.is_empty() {
                    entries.push(Ok(primary));
                }
            }
            Ok(_) => {}
            Err(trouble) => {
                let user = spec.sentinel.as_ref().and_then(|sentinel| sentinel.username.as_deref());
                let is_refused = matches!(trouble.kind, FaultKind::Denied | FaultKind::Auth);
                let fix = is_refused.then(|| sentinel_acl_line(user.unwrap_or("default")));
                steps.push(ProbeStep::new(&spec.component, &what, Err(&trouble), fix));
            }
        }
    }
    entries
}

/// A private key that everybody may read is none.
fn rights_of_key(spec: &RedisSpec) -> Vec<ProbeStep> {
    let client = spec.tls.as_ref().and_then(|tls| tls.client.as_ref());
    let Some(path) = client.map(|client| &client.key_file) else { return vec![] };
    // One that cannot be read is complained of by whoever reads it.
    let Ok(metadata) = std::fs::metadata(path) else { return vec![] };
    let shown = path.display();
    let step = match metadata.permissions().mode() & 0o007 {
        0 => ProbeStep::new(
            &spec.component,
            "client key",
            Ok(format!("'{shown}' is not open to everyone")),
            None,
        ),
        _ => {
            let message = format!("everyone on this machine may read the private key '{shown}'");
            let trouble = Trouble::broken(FaultKind::Tls, message);
            ProbeStep::new(&spec.component, "client key", Err(&trouble), Some(format!("chmod 600 '{shown}'")))
        }
    };
    vec![step]
}

async fn enter(dial: Dial, access: &Access) -> Result<(Dial, Connection, String), Trouble> {
    let deadline = Instant::now() + PATIENCE;
    let mut connection = Connection::open(&dial, access, &Arc::new(Cost::default()), deadline).await?;
    let reply = connection.ask(Command::Info(&[]), deadline).await?;
    let info = text(&reply).map(|text| text.into_owned()).unwrap_or_default();
    no_sentinel(&Info::parse(&info), &dial)?;
    Ok((dial, connection, info))
}

/// Whether an address, host and port, is this machine's own.
fn is_here(address: &str) -> bool {
    leads_back(address.rsplit_once(':').map_or(address, |(host, _)| host))
}

fn user(spec: &RedisSpec) -> &str {
    spec.username.as_deref().unwrap_or("default")
}

/// The lines of a user with just the rights that are needed, for this release: to copy.
fn acl(spec: &RedisSpec, info: &Info<'_>) -> [ProbeStep; 2] {
    let name = match &spec.username {
        Some(user) => user,
        None => "headwater",
    };
    let is_known =
        if spec.username.is_some() { "; it takes from this user whatever else it may do" } else { "" };
    let line = |what: &str, seen: &str, with_consented| {
        let line = acl_line(name, info.release(), with_consented);
        let seen = format!("{seen}, for {}{is_known}", info.product());
        ProbeStep::new(&spec.component, what, Ok(seen), Some(line))
    };
    [
        line("ACL user", "a user with just what Headwater needs", false),
        line("ACL user with consent", "the same with what is asked for each time, such as MONITOR", true),
    ]
}
