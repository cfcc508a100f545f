//! One node, asked once an interval: INFO, its slow log, and now and then the shape of the whole.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::metric;
use headwater_engine::reading::{Event, FaultKind, Reading, Value};
use redis::Value as Reply;
use tokio::time::Instant;

use super::allowed::Command;
use super::board::{Board, Report};
use super::cluster_view::Views;
use super::command_times::CommandTimes;
use super::commandlog::CommandLog;
use super::connection::{Access, Connection, Cost, Dial};
use super::discovery::KnownNode;
use super::gentle::{Extent, Gentle};
use super::identity::{Identity, Seen};
use super::info::Info;
use super::keysizes::KeySizesWatch;
use super::lacks::Lacks;
use super::look::Look;
use super::offers::Offers;
use super::pulse::Pulse;
use super::reply::text;
use super::samples::{Busiest, add_samples};
use super::slowlog::SlowLog;
use super::stalls::Stalls;
use super::topology::{NodeLine, SeenShard, combine, read_nodes, read_shards, read_slots};
use super::trouble::Trouble;
use crate::sources::{LONGEST_WAIT, Source, now};

/// How long a user who may not run INFO is not asked again.
const AFTER_DENIAL: Duration = Duration::from_secs(30);

/// How long a server that is too full to let us in is left alone.
const AFTER_FULL: Duration = Duration::from_secs(5);

/// The sections that are asked for, those of every look first; expensive ones are left out.
const SECTIONS: &[&str] = &[
    "server",
    "stats",
    "cpu",
    // Where little is done these change slowly, and they are most of what a look costs, the last alone half of it.
    "clients",
    "persistence",
    "replication",
    "cluster",
    "errorstats",
    "keyspace",
    "memory",
    // It grows with the kinds of commands.
    "commandstats",
];

/// How many of them come at every look.
const SECTIONS_OF_EVERY_LOOK: usize = 3;

/// What a node may lack, in the words that users see; each keeps its words so that it can be taken back.
const RATES: &str = "rates of this node";
const COMMANDSTATS: &str = "commandstats at every look";
const SHAPE: &str = "the shape of the cluster";

/// How this node lets itself be asked for INFO, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InfoForm {
    /// Several sections by name (7.0 and later).
    Sections,
    /// `INFO all`.
    All,
    /// `INFO` alone.
    Plain,
}

/// A node as a source.
pub(super) struct NodeSource {
    subject: Subject,
    dial: Dial,
    access: Arc<Access>,
    cost: Arc<Cost>,
    pulse: Arc<Pulse>,
    board: Arc<Board>,
    connection: Option<Connection>,
    form: InfoForm,
    identity: Identity,
    gentle: Gentle,
    offers: Offers,
    busiest: Busiest,
    slowlog: SlowLog,
    commandlog: CommandLog,
    key_sizes: KeySizesWatch,
    shards_unknown: bool,
    views: Views,
    command_times: CommandTimes,
    stalls: Stalls,
    lacks: Lacks,
    /// Until when a refusal stands without being asked for again.
    refused: Option<(Instant, Trouble)>,
}

impl NodeSource {
    pub(super) fn new(subject: Subject, known: &KnownNode, board: Arc<Board>, show_arguments: bool) -> Self {
        Self {
            subject,
            dial: known.dial.clone(),
            access: known.access.clone(),
            cost: known.cost.clone(),
            pulse: known.pulse.clone(),
            board,
            connection: None,
            form: InfoForm::Sections,
            identity: Identity::default(),
            gentle: Gentle::default(),
            offers: Offers::default(),
            busiest: Busiest::default(),
            slowlog: SlowLog::new(show_arguments),
            commandlog: CommandLog::default(),
            key_sizes: KeySizesWatch::default(),
            shards_unknown: false,
            views: Views::default(),
            command_times: CommandTimes::default(),
            stalls: Stalls::default(),
            lacks: Lacks::default(),
            refused: None,
        }
    }

    /// Fills the reading; whatever has been put into it stays when a later step fails.
    async fn fill(&mut self, reading: &mut Reading) -> Result<(), Trouble> {
        let deadline = Instant::now() + LONGEST_WAIT;
        let was_open = self.connection.is_some();
        let (text, took) = match self.info(deadline).await {
            // The server may have restarted between two looks: one new attempt, at once.
            Err(trouble) if was_open && trouble.kind == FaultKind::Unreachable => self.info(deadline).await?,
            outcome => outcome?,
        };
        let info = Info::parse(&text);
        reading.at = now();
        reading.sample(&self.subject, metric::REDIS_ANSWER_TIME, Value::Gauge(took.as_secs_f64()));
        let looked = Instant::now();
        self.pulse.answered(looked, None);
        if info.is_of_several() {
            let why = "a proxy adds several servers up into this one INFO, and what one of them does is lost in the sum; \
                       give the addresses of the servers behind it";
            self.lacks.begin(reading, RATES, why, looked);
            return Ok(());
        }
        match self.identity.see(&info, looked) {
            Seen::Same => {}
            Seen::Restarted => reading.events.push(Event::Restarted),
            Seen::Settled => {
                reading.events.push(Event::Restarted);
                self.lacks.end(reading, RATES);
            }
            Seen::Alternating => {
                let why = "different servers answer at this one address: a proxy or a load balancer; give the \
                           addresses of the servers behind it, because rates over several servers mean nothing";
                self.lacks.begin(reading, RATES, why, looked);
            }
        }
        if self.identity.is_alternating() {
            return Ok(());
        }
        reading.source_clock_us = info.text("server_time_usec").and_then(|text| text.parse().ok());
        add_samples(reading, &self.subject, &info, &mut self.busiest);
        if let Some(why) = self.gentle.watch(&info, looked) {
            self.lacks.begin(reading, COMMANDSTATS, &why, looked);
        } else if !self.gentle.is_sparing(looked) {
            self.lacks.end(reading, COMMANDSTATS);
        }
        self.pulse.answered(looked, self.gentle.spared_until());
        self.report_shape(reading, &info, deadline).await?;
        self.ask_further(reading, &info, deadline).await
    }

    /// Asks everything but INFO and the shape; each question decides when it is due and costs nothing else.
    async fn ask_further(
        &mut self,
        reading: &mut Reading,
        info: &Info<'_>,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        let Some(connection) = self.connection.as_mut() else { return Ok(()) };
        let (subject, lacks, now) = (&self.subject, &mut self.lacks, Instant::now());
        let mut look = Look { subject, info, reading, connection, lacks, now, deadline };
        self.slowlog.look(&mut look).await?;
        self.offers.look(&mut look, &self.pulse).await?;
        self.commandlog.look(&mut look).await?;
        if !self.gentle.is_sparing(now) {
            self.key_sizes.look(&mut look).await?;
        }
        self.views.look(&mut look, &self.dial.host, self.board.lost()).await?;
        self.command_times.look(&mut look, self.busiest.shown()).await?;
        self.stalls.look(&mut look).await
    }

    async fn info(&mut self, deadline: Instant) -> Result<(String, Duration), Trouble> {
        loop {
            let (form, extent) = (self.form, self.gentle.extent(Instant::now()));
            let sections: &[&str] = match (form, extent) {
                (InfoForm::Sections, Extent::All) => SECTIONS,
                (InfoForm::Sections, Extent::WithoutCommands) => &SECTIONS[..SECTIONS.len() - 1],
                (InfoForm::Sections, Extent::Least) => &SECTIONS[..SECTIONS_OF_EVERY_LOOK],
                (InfoForm::All, Extent::All) => &["all"],
                _ => &[],
            };
            let connection = self.open(deadline).await?;
            let asked = Instant::now();
            let answer = connection.ask(Command::Info(sections), deadline).await;
            let took = asked.elapsed();
            self.form = match (answer, form) {
                (Ok(reply), _) => {
                    return match text(&reply) {
                        Some(text) => Ok((text.into_owned(), took)),
                        None => Err(Trouble::broken(
                            FaultKind::Malformed,
                            format!(
                                "'{}' answers INFO with something else: it may be no Redis",
                                self.dial.shown
                            ),
                        )),
                    };
                }
                (Err(trouble), InfoForm::Sections) if trouble.is_command_error() => InfoForm::All,
                (Err(trouble), InfoForm::All) if trouble.is_command_error() => InfoForm::Plain,
                (Err(trouble), _) => {
                    if trouble.ends_connection {
                        self.connection = None;
                    }
                    return Err(trouble);
                }
            };
        }
    }

    async fn open(&mut self, deadline: Instant) -> Result<&mut Connection, Trouble> {
        let open = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.dial, &self.access, &self.cost, deadline).await?,
        };
        Ok(self.connection.insert(open))
    }

    /// Tells the target about the shape, when it is this node's turn. A standalone server's is in its INFO.
    async fn report_shape(
        &mut self,
        reading: &mut Reading,
        info: &Info<'_>,
        deadline: Instant,
    ) -> Result<(), Trouble> {
        if info.is_clustered() {
            let now = Instant::now();
            let Some(connection) = self.connection.as_mut().filter(|_| self.lacks.may_ask(SHAPE, now)) else {
                return Ok(());
            };
            if !self.board.claim() {
                return Ok(());
            }
            match ask_shape(connection, &mut self.shards_unknown, deadline).await {
                Ok(shards) => {
                    self.lacks.end(reading, SHAPE);
                    self.board.tell(Report::Cluster { asked_host: self.dial.asked_host(), shards });
                }
                Err(trouble) if trouble.ends_connection => return Err(trouble),
                Err(trouble) => {
                    self.lacks.begin(reading, SHAPE, &trouble.message, now);
                    self.board.hasten();
                }
            }
        } else if info.text("role") == Some("master") && self.board.claim() {
            let replicas =
                info.replicas.iter().map(|replica| (replica.host.to_owned(), replica.port)).collect();
            self.board.tell(Report::Standalone { primary: self.dial.clone(), replicas });
        }
        Ok(())
    }
}

impl Source for NodeSource {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    async fn ask(&mut self) -> Reading {
        let mut reading = Reading::new(self.subject.clone(), now());
        self.refused.take_if(|(until, _)| Instant::now() >= *until);
        let outcome = match &self.refused {
            Some((_, trouble)) => Err(trouble.clone()),
            None => self.fill(&mut reading).await,
        };
        if let Err(trouble) = outcome {
            reading.at = now();
            reading.faults.push(trouble.to_fault());
            if trouble.ends_connection {
                self.connection = None;
                self.board.hasten();
            }
            let pause = match trouble.kind {
                FaultKind::Denied => Some(AFTER_DENIAL),
                FaultKind::Busy if self.connection.is_none() => Some(AFTER_FULL),
                _ => None,
            };
            if self.refused.is_none() {
                self.refused = pause.map(|pause| (Instant::now() + pause, trouble.clone()));
            }
            if trouble.kind == FaultKind::Auth {
                self.board.tell(Report::Refused(trouble));
            }
        }
        // A sample says that the node answered, so a failure carries none.
        if !reading.samples.is_empty() {
            let (commands, bytes) = (self.cost.commands() as f64, self.cost.bytes() as f64);
            reading.sample(&self.subject, metric::REDIS_OUR_COMMANDS, Value::Counter(commands));
            reading.sample(&self.subject, metric::REDIS_OUR_BYTES, Value::Counter(bytes));
            let hits = self.cost.hits() as f64;
            reading.sample(&self.subject, metric::REDIS_OUR_HITS, Value::Counter(hits));
        }
        reading
    }
}

/// Asks one node for the shape of its cluster: the newest command that it has, and CLUSTER NODES.
pub(super) async fn ask_shape(
    connection: &mut Connection,
    shards_unknown: &mut bool,
    deadline: Instant,
) -> Result<Vec<SeenShard>, Trouble> {
    let mut refusal = None;
    let mut keep = |answer: Result<Reply, Trouble>| match answer {
        Ok(reply) => Ok(Some(reply)),
        Err(trouble) if trouble.ends_connection => Err(trouble),
        Err(trouble) => {
            refusal.get_or_insert(trouble);
            Ok(None)
        }
    };
    let mut seen = None;
    if !*shards_unknown {
        let answer = connection.ask(Command::ClusterShards, deadline).await;
        *shards_unknown = answer.as_ref().is_err_and(Trouble::is_command_error);
        seen = keep(answer)?.as_ref().and_then(read_shards);
    }
    if seen.is_none() {
        seen = keep(connection.ask(Command::ClusterSlots, deadline).await)?.as_ref().and_then(read_slots);
    }
    let reply = keep(connection.ask(Command::ClusterNodes, deadline).await)?;
    let lines: Vec<NodeLine> =
        reply.as_ref().and_then(text).map(|text| read_nodes(&text)).unwrap_or_default();
    match (seen, refusal) {
        (None, Some(trouble)) if lines.is_empty() => Err(trouble),
        (seen, _) => Ok(combine(seen, &lines)),
    }
}
