//! The engine's three inputs: readings, operator acts and ticks.

mod act;
mod call;
mod change;
mod cluster_view;
mod exported;
mod gpu_name;
mod history;
mod hot;
mod key;
mod target;

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use act::{ActKind, Found, OperatorAct, StepAct, StepAnswer};
pub use call::{Call, Origin};
pub use change::{Change, ChangeKind};
pub use cluster_view::ClusterView;
pub use exported::ExportedNode;
pub use gpu_name::GpuName;
pub use history::History;
pub use hot::{HotSearch, KEY_METHODS, KeyHeat, KeyMethod, KeyMethodRow, MethodOffer, ShareOf, SlotHeat};
pub use key::{
    Expiries, ExpirySecond, ExpirySpan, KeyPattern, KeySize, KeySizes, LargeCommand, LargeKind, Scan,
    ScanState, SizeBin, ToCome,
};
pub use target::{Target, TargetList};

use crate::histogram::Histogram;
use crate::metric::MetricName;
use crate::subject::Subject;
use crate::text::RemoteText;
use crate::time::Moment;

/// Everything that can change the engine's mind; a recording is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// What a source saw.
    Reading(Reading),
    /// What the operator did.
    Act(OperatorAct),
    /// One evaluation is due.
    Tick(Moment),
}

/// One answer, or one failure to get an answer, of one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The thing that was asked: a node, an instance's endpoint, Headwater itself.
    pub source: Subject,
    /// When the answer was complete, by the observer's clock.
    pub at: Moment,
    /// The target's own clock in microseconds, when it gives one; rates are taken over it, so a late answer is
    /// still exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_clock_us: Option<u64>,
    /// How often the source has news of this, where that is not how often it is asked: what another tool measured is as
    /// old as that tool's interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// Numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
    /// Things that happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// What could not be read, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl Reading {
    /// An empty reading of a source.
    pub fn new(source: Subject, at: Moment) -> Self {
        Self {
            source,
            at,
            source_clock_us: None,
            every: None,
            samples: vec![],
            events: vec![],
            faults: vec![],
        }
    }

    /// Adds a sample about `subject`.
    pub fn sample(&mut self, subject: &Subject, metric: impl Into<MetricName>, value: Value) {
        self.samples.push(Sample { subject: subject.clone(), metric: metric.into(), part: None, value });
    }

    /// Adds a sample about one part (a stage, a command) of `subject`.
    pub fn part(&mut self, subject: &Subject, metric: impl Into<MetricName>, part: &str, value: Value) {
        let part = Some(RemoteText::new(part));
        self.samples.push(Sample { subject: subject.clone(), metric: metric.into(), part, value });
    }
}

/// One number of one series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What it is about.
    pub subject: Subject,
    /// What is measured.
    pub metric: MetricName,
    /// The stage, command, route or other part that it is about, when the metric has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<RemoteText>,
    /// The number, in the metric's unit (a counter's total is in unit-seconds).
    pub value: Value,
}

/// A number in the form in which it arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A level.
    Gauge(f64),
    /// A total that only grows.
    Counter(f64),
    /// Cumulative buckets.
    Histogram(Arc<Histogram>),
}

/// Something that happened or became known, other than a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The shards and nodes of a Redis deployment, as the node that answered sees them.
    Topology(Topology),
    /// The source's request has been outstanding for more than 1.5 intervals, since this moment. The next
    /// reading with samples of the same source ends it.
    Late(Moment),
    /// The target's process is another one than before, or restarted.
    Restarted,
    /// A new entry of a slow log.
    SlowCommand(SlowCommand),
    /// How far a scan has come, with what it has found.
    Scan(Scan),
    /// How far a search for hot keys has come, with what it has found.
    HotSearch(HotSearch),
    /// Which ways to find hot keys this node offers; replaces what it told before.
    Offers(Vec<MethodOffer>),
    /// How many keys of which size this node has, as the server itself counts them.
    KeySizes(KeySizes),
    /// A command whose request or reply was large, as the server logged it.
    LargeCommand(LargeCommand),
    /// The cluster as this node sees it.
    ClusterView(ClusterView),
    /// The dialects that a metrics endpoint speaks.
    Dialects(Vec<RemoteText>),
    /// A command or a page that this target does not offer, with the reason; costs only what needs it.
    Unavailable {
        /// The command or page.
        what: RemoteText,
        /// The reason, and what would enable it.
        why: RemoteText,
    },
    /// The calls that an import knows, all of them: they replace what the same source told before.
    Calls(Vec<Call>),
    /// A deploy, a change of configuration, a flag: something that people did to a component.
    Change(Change),
    /// The targets that a discovery lists, all of them: they replace what the same source told before, and who is no
    /// longer among them has left.
    Targets(TargetList),
    /// The place of a Redis node in its deployment, as its exporter tells of it.
    Exported(ExportedNode),
    /// By which number a machine calls a GPU that others know by its uuid alone.
    Gpu(GpuName),
    /// What was usual before the incident, as the source remembers it.
    History(History),
    /// What was [`Event::Unavailable`] is there again.
    Available {
        /// The command or page, in the words that it was said to be missing with.
        what: RemoteText,
    },
}

/// A Redis deployment's shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// `redis/NAME`.
    pub cluster: Subject,
    /// Whether it is a cluster; else one shard, standalone with its replicas.
    pub clustered: bool,
    /// The shards in the order of their numbers.
    pub shards: Vec<Shard>,
}

/// One shard of a [`Topology`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shard {
    /// `redis/NAME#N`; the number stays with the shard through failovers.
    pub subject: Subject,
    /// First and last slot of each range.
    pub slots: Vec<(u16, u16)>,
    /// Its nodes, the primary first.
    pub nodes: Vec<Node>,
}

/// One node of a [`Shard`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// `redis/NAME#N@address`.
    pub subject: Subject,
    /// The cluster's node id; the address for a standalone server.
    pub id: RemoteText,
    /// Whether it owns the shard's slots.
    pub primary: bool,
    /// What the cluster says of it.
    pub health: NodeHealth,
}

/// What the cluster, not Headwater, says of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeHealth {
    /// Serving.
    Online,
    /// Loading its data.
    Loading,
    /// Suspected by one node.
    Suspected,
    /// Failed by agreement.
    Failed,
    /// A word this version does not know.
    Unknown,
}

/// One entry of a slow log; the arguments stay hidden until asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowCommand {
    /// The entry's id, unique within one run of the node.
    pub id: u64,
    /// When it ran, by the node's clock.
    pub at: Moment,
    /// Execution time, without IO and queueing.
    pub took: Duration,
    /// The command's name, upper case, subcommand included.
    pub command: RemoteText,
    /// Its first key, where the command has one.
    pub key: Option<RemoteText>,
    /// The other arguments, empty unless the configuration asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<RemoteText>,
    /// The name of the client that sent it.
    pub client: RemoteText,
    /// Whether it is Headwater's own or an administrator's command; such entries convict nobody.
    pub excluded: bool,
}

/// Words in the message of a fault that say that a server takes no more connections.
pub const OUT_OF_CONNECTIONS: &str = "is out of connections";

/// Words in the message of a fault that say that a script refuses every other command of a server.
pub const RUNS_A_SCRIPT: &str = "runs a script that blocks every other command";

/// Words in the message of a fault that say that a node holds its cluster for failed, and serves nothing for that.
pub const CLUSTER_IS_DOWN: &str = "says that its cluster is down";

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// What sort of failure.
    pub kind: FaultKind,
    /// One sentence: what happened and what to do.
    pub message: RemoteText,
}

/// The sorts of failure a source can meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The connection was refused or reset, or the name did not resolve.
    Unreachable,
    /// No answer within the longest wait.
    Silent,
    /// The password, user or token is wrong. A password is not tried again; a token is, seldom.
    Auth,
    /// The user may not do this.
    Denied,
    /// TLS did not come about.
    Tls,
    /// An HTTP status other than success.
    Http,
    /// The answer is not what it should be; what could be read was kept.
    Malformed,
    /// The answer is larger or slower than the limit.
    TooLarge,
    /// The server is busy, with another as well, loading, or out of connections: nothing is wrong with what was asked about.
    Busy,
}
