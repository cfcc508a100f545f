//! What the tests of panels look at: a small cluster that an engine has watched for a while.

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::metric::{
    REDIS_ANSWER_TIME, REDIS_CLIENTS, REDIS_COMMAND_CALLS, REDIS_COMMAND_TIME, REDIS_COMMANDS, REDIS_CPU,
    REDIS_EVICTED, REDIS_EXEC, REDIS_EXPIRE_CAPPED, REDIS_EXPIRED, REDIS_FORK_TIME, REDIS_FORKS, REDIS_KEYS,
    REDIS_MEMORY, REDIS_NET_IN, REDIS_NET_OUT, REDIS_REPLICAS, REDIS_SLOW,
};
use headwater_engine::reading::{
    Event, Input, Node, NodeHealth, Reading, Shard, SlowCommand, Topology, Value,
};
use headwater_engine::settings::Component;
use headwater_engine::{Baselines, Engine, Moment, RemoteText, Settings, Snapshot, Subject};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::Palette;
use crate::panel::{Outcome, Panel, View};

/// The first second that is watched.
pub(crate) const BEGAN: Moment = Moment(14 * 3_600_000 + 6 * 60_000);

/// A cluster of so many shards with a replica each, watched second by second.
pub(crate) struct World {
    engine: Engine,
    shards: usize,
    second: i64,
    /// Nodes that give no answer any more.
    pub(crate) silent: Vec<Subject>,
}

pub(crate) fn cluster() -> Subject {
    "redis/features".parse().unwrap()
}

pub(crate) fn node(shard: usize, is_primary: bool) -> Subject {
    let host = if is_primary { 11 + shard } else { 111 + shard };
    cluster().shard(shard).instance(&format!("10.0.{}.{}:6379", host / 250, host % 250))
}

/// A cluster whose link is declared, or not.
pub(crate) fn settings(link: Option<f64>) -> Settings {
    let component = Component { has_source: true, link, ..Component::new(cluster()) };
    Settings { components: vec![component], ..Settings::default() }
}

impl World {
    pub(crate) fn new(shards: usize, settings: Settings) -> Self {
        let mut world =
            Self { engine: Engine::new(settings, Baselines::default()), shards, second: 0, silent: vec![] };
        let mut shape = Reading::new(cluster(), BEGAN);
        shape.events.push(Event::Topology(topology(shards)));
        world.take(shape);
        world
    }

    pub(crate) fn take(&mut self, reading: Reading) {
        self.engine.take(&Input::Reading(reading));
    }

    pub(crate) fn now(&self) -> Moment {
        BEGAN + Duration::from_secs(self.second as u64)
    }

    /// Goes on for so many seconds in which shard 2 sends this many bytes and answers in this time.
    pub(crate) fn go_on(&mut self, seconds: i64, bytes: f64, answer: f64) {
        for _ in 0..seconds {
            self.second += 1;
            for shard in 0..self.shards {
                for is_primary in [true, false] {
                    let node = node(shard, is_primary);
                    if self.silent.contains(&node) {
                        continue;
                    }
                    let hot = shard == 2 && is_primary;
                    let (out, took) =
                        if hot { (bytes, answer) } else { (1e6 * (1.0 + shard as f64), 0.0006) };
                    let at = self.now();
                    self.engine.take(&Input::Reading(answered(&node, at, self.second, out, took)));
                }
            }
            self.engine.take(&Input::Tick(self.now() + Duration::from_millis(500)));
        }
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot().unwrap()
    }
}

pub(crate) fn topology(shards: usize) -> Topology {
    let shard = |shard: usize| Shard {
        subject: cluster().shard(shard),
        slots: vec![slots_of(shard, shards)],
        nodes: [true, false]
            .map(|primary| Node {
                subject: node(shard, primary),
                id: RemoteText::new(&format!("n{shard}{primary}")),
                primary,
                health: NodeHealth::Online,
            })
            .into(),
    };
    Topology { cluster: cluster(), clustered: true, shards: (0..shards).map(shard).collect() }
}

/// An even share of all slots.
fn slots_of(shard: usize, shards: usize) -> (u16, u16) {
    let begin = |shard: usize| (shard * 16_384 / shards.max(1)) as u16;
    (begin(shard), begin(shard + 1) - 1)
}

fn answered(node: &Subject, at: Moment, second: i64, out: f64, took: f64) -> Reading {
    let mut reading = Reading::new(node.clone(), at);
    reading.source_clock_us = Some(at.0 as u64 * 1_000);
    let seconds = second as f64;
    for (metric, value) in [
        (REDIS_ANSWER_TIME, Value::Gauge(took)),
        (REDIS_CPU, Value::Counter(seconds * 0.05)),
        (REDIS_EXEC, Value::Counter(seconds * 0.02)),
        (REDIS_COMMANDS, Value::Counter(seconds * 1_420.0)),
        (REDIS_NET_IN, Value::Counter(seconds * 120_000.0)),
        (REDIS_NET_OUT, Value::Counter(seconds * out)),
        (REDIS_CLIENTS, Value::Gauge(24.0)),
        (REDIS_MEMORY, Value::Gauge(212e6)),
        (REDIS_KEYS, Value::Gauge(50_000.0)),
        (REDIS_SLOW, Value::Counter(0.0)),
        (REDIS_EXPIRED, Value::Counter(seconds * 12.0)),
        (REDIS_EXPIRE_CAPPED, Value::Counter(0.0)),
        (REDIS_EVICTED, Value::Counter(0.0)),
        (REDIS_FORKS, Value::Counter(3.0)),
        (REDIS_FORK_TIME, Value::Gauge(0.004)),
        (REDIS_REPLICAS, Value::Gauge(1.0)),
    ] {
        reading.sample(node, metric, value);
    }
    reading.part(node, REDIS_COMMAND_TIME, "get", Value::Counter(seconds * 0.018));
    reading.part(node, REDIS_COMMAND_CALLS, "get", Value::Counter(seconds * 1_400.0));
    reading
}

/// An entry of a slow log.
pub(crate) fn slow(id: u64, at: Moment, command: &str, key: Option<&str>, ms: u64) -> SlowCommand {
    SlowCommand {
        id,
        at,
        took: Duration::from_millis(ms),
        command: command.into(),
        key: key.map(Into::into),
        arguments: vec![],
        client: "ranker".into(),
        excluded: false,
    }
}

/// Keys as hints show them.
pub(crate) fn keymap() -> Keymap {
    let bindings = [
        ("left", Action::Left),
        ("right", Action::Right),
        ("c", Action::Compare),
        ("S", Action::Scan),
        ("p", Action::PauseScan),
        ("x", Action::CancelScan),
        ("g", Action::Group),
        ("a", Action::Arguments),
        ("pagedown", Action::PageDown),
        ("pageup", Action::PageUp),
        ("enter", Action::Open),
        ("esc", Action::Back),
        ("L", Action::Live),
    ];
    let bound = bindings.map(|(key, action)| (Stroke::parse(key).unwrap(), Command::Act(action)));
    Keymap::new(bound.into())
}

/// A panel with what it is shown.
pub(crate) struct Stage<'a> {
    pub(crate) panel: Box<dyn Panel>,
    pub(crate) snapshot: &'a Snapshot,
}

impl Stage<'_> {
    pub(crate) fn with<T>(&mut self, run: impl FnOnce(&mut dyn Panel, &View<'_>) -> T) -> T {
        let (palette, keys) = (Palette::mono(Glyphs::Unicode), keymap());
        let view = View {
            snapshot: self.snapshot,
            now: self.snapshot.at,
            palette: &palette,
            keys: &keys,
            library: &headwater_engine::library::EMPTY,
            is_replay: false,
        };
        run(self.panel.as_mut(), &view)
    }

    pub(crate) fn act(&mut self, action: Action) -> Outcome {
        self.with(|panel, view| panel.act(action, view))
    }

    pub(crate) fn copied(&mut self) -> Option<String> {
        self.with(|panel, view| panel.copied(view))
    }

    /// The screen without colours, blanks at the ends of rows left out.
    pub(crate) fn drawn(&mut self, width: u16, height: u16) -> String {
        // Nothing may be drawn outside of the area.
        let mut buffer =
            Buffer::filled(Rect::new(0, 0, width + 2, height + 2), ratatui::buffer::Cell::new("·"));
        let area = Rect::new(1, 1, width, height);
        for place in area.positions() {
            buffer[place].set_symbol(" ");
        }
        self.with(|panel, view| panel.draw(view, area, &mut buffer));
        for place in buffer.area.positions().filter(|place| !area.contains(*place)) {
            assert_eq!(buffer[place].symbol(), "·", "drawn outside at {place}");
        }
        let row = |y| (1..=width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (1..=height).map(row).collect::<Vec<_>>().join("\n")
    }

    /// Draws every size from none to the usual; of the wider ones every third.
    pub(crate) fn draw_every_size(&mut self) {
        for width in (0..=24).chain((27..=90).step_by(3)) {
            for height in 0..=30 {
                self.drawn(width, height);
            }
        }
    }
}
