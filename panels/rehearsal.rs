//! A screen with real snapshots under it, for tests: keys are pressed and what is drawn is read.

mod understudy;

use std::sync::Arc;

use headwater_engine::metric::{REDIS_ANSWER_TIME, REDIS_COMMANDS};
use headwater_engine::reading::{
    ActKind, Event, Input, Node, NodeHealth, OperatorAct, Reading, Shard, Topology, Value,
};
use headwater_engine::{Baselines, Engine, Moment, Settings, Snapshot, Subject};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::keys::{Command, Keymap, Stroke};
use crate::palette::Palette;
use crate::panel::{Effect, PANELS, Panel};
use crate::screen::{Screen, Shown, Status};
use understudy::{Plain, Understudy};

/// The first second of every rehearsal.
pub(crate) const BEGIN: Moment = Moment(14 * 3_600_000 + 7 * 60_000);

/// Keys as people expect them.
pub(crate) fn keymap() -> Keymap {
    let rows = "help ?;command :;next-panel tab;previous-panel shift-tab;back esc;freeze space;earlier [;later ];\
                much-earlier {;much-later };live L;mark m;note n;copy y;copy-report Y;export e;redraw ctrl-l;\
                mouse M;next-theme T;suspend ctrl-z;quit q;quit ctrl-c;up up;up k;down down;down j;page-up pageup;\
                page-down pagedown;top home;top g;bottom end;bottom G;open enter;filter /;sort s;reverse S;\
                left left;right right;compare c;arguments a;group o;scan b;pause-scan p;cancel-scan x;step .;\
                faster +;slower -;leave-kiosk ctrl-q;confirm v;override V;skip w;reopen O;done d;explain i;choose-runbook B;overview 1;shards 2;slow-log 3;sources 4;rules 5";
    let binding = |row: &str| {
        let (name, key) = row.trim().split_once(' ').unwrap();
        (Stroke::parse(key).unwrap(), Command::by_name(name).unwrap_or_else(|| panic!("'{name}'")))
    };
    Keymap::new(rows.split(';').map(binding).collect())
}

pub(crate) fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

/// A Redis deployment of three shards that is looked at once a second.
pub(crate) struct Deployment {
    engine: Engine,
    pub(crate) now: Moment,
}

impl Deployment {
    /// Looked at for so many seconds.
    pub(crate) fn after(seconds: u32) -> Self {
        let engine = Engine::new(Settings::default(), Baselines::default());
        let mut deployment = Self { engine, now: Moment(BEGIN.0 - 1_000) };
        deployment.run(seconds);
        deployment
    }

    /// Goes on for so many seconds.
    pub(crate) fn run(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.now = Moment(self.now.0 + 1_000);
            for shard in shards() {
                self.engine.take(&Input::Reading(reading(&shard, self.now)));
            }
            self.engine.take(&Input::Tick(self.now));
        }
    }

    /// Takes what the operator did.
    pub(crate) fn act(&mut self, kind: ActKind) {
        self.engine.take(&Input::Act(OperatorAct { at: self.now, kind }));
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot().unwrap()
    }
}

fn shards() -> Vec<Shard> {
    let shard = |number: u16| {
        let subject = subject(&format!("redis/features#{number}"));
        let address = format!("10.0.3.1{number}:6379");
        let node = Node {
            subject: subject.instance(&address),
            id: address.as_str().into(),
            primary: true,
            health: NodeHealth::Online,
        };
        Shard { subject, slots: vec![(number * 5_461, number * 5_461 + 5_460)], nodes: vec![node] }
    };
    (0..3).map(shard).collect()
}

fn reading(shard: &Shard, at: Moment) -> Reading {
    let node = &shard.nodes[0].subject;
    let mut reading = Reading::new(node.clone(), at);
    reading.source_clock_us = Some(at.0 as u64 * 1_000);
    reading.sample(node, REDIS_ANSWER_TIME, Value::Gauge(0.000_7));
    reading.sample(node, REDIS_COMMANDS, Value::Counter((at.0 - BEGIN.0) as f64));
    let cluster = subject("redis/features");
    reading.events.push(Event::Topology(Topology { cluster, clustered: true, shards: shards() }));
    reading
}

fn place_of(panel: &str) -> usize {
    PANELS.iter().position(|row| row.name == panel).expect("a panel's name")
}

/// A screen over a deployment, with hands on the keys.
pub(crate) struct Rehearsal {
    pub(crate) screen: Screen,
    pub(crate) deployment: Deployment,
    pub(crate) status: Status,
    pub(crate) glyphs: Glyphs,
    /// Whether there is no snapshot yet.
    pub(crate) is_before: bool,
    keys: Keymap,
}

impl Rehearsal {
    /// After so many seconds.
    pub(crate) fn after(seconds: u32) -> Self {
        let mut screen = Screen::new();
        *screen.place(0) = Box::new(Plain);
        *screen.place(place_of("shards")) = Box::<Understudy>::default();
        Self {
            screen,
            deployment: Deployment::after(seconds),
            status: Status::default(),
            glyphs: Glyphs::Unicode,
            is_before: false,
            keys: keymap(),
        }
    }

    /// The panel with this name.
    pub(crate) fn panel(&mut self, name: &str) -> &dyn Panel {
        &**self.screen.place(place_of(name))
    }

    pub(crate) fn with<T>(&mut self, act: impl FnOnce(&mut Screen, &Shown<'_>) -> T) -> T {
        let newest = (!self.is_before).then(|| self.deployment.snapshot());
        let palette = Palette::mono(self.glyphs);
        let shown = Shown {
            newest: newest.as_ref(),
            now: self.deployment.now,
            palette: &palette,
            keys: &self.keys,
            status: &self.status,
            library: &headwater_engine::library::EMPTY,
        };
        act(&mut self.screen, &shown)
    }

    /// Presses keys, written with blanks between them; returns what is to be done.
    pub(crate) fn press(&mut self, keys: &str) -> Vec<Effect> {
        let strokes = keys.split(' ').filter(|key| !key.is_empty());
        strokes
            .flat_map(|key| {
                let stroke = Stroke::parse(key).unwrap_or_else(|| panic!("'{key}' is no key"));
                self.with(|screen, shown| screen.press(stroke, shown))
            })
            .collect()
    }

    /// Types a text, character by character.
    pub(crate) fn type_in(&mut self, text: &str) -> Vec<Effect> {
        let strokes = text.chars().map(|c| Stroke::plain(crate::Key::Char(c)));
        strokes.flat_map(|stroke| self.with(|screen, shown| screen.press(stroke, shown))).collect()
    }

    pub(crate) fn drawn(&mut self, width: u16, height: u16) -> String {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        self.with(|screen, shown| screen.draw(shown, area, &mut buffer));
        text_of(&buffer)
    }

    /// What stands below the head at 80x24.
    pub(crate) fn below_head(&mut self) -> String {
        let whole = self.drawn(80, 24);
        whole.lines().skip(self.screen.body().y.into()).collect::<Vec<_>>().join("\n")
    }

    /// The last row at 80x24.
    pub(crate) fn bar(&mut self) -> String {
        self.drawn(80, 24).lines().last().unwrap_or_default().to_owned()
    }

    pub(crate) fn cursor(&self) -> Option<Position> {
        self.screen.cursor()
    }
}

/// A buffer as text; a wide character stands once.
pub(crate) fn text_of(buffer: &Buffer) -> String {
    let area = buffer.area;
    let row = |y| {
        let mut text = String::new();
        let mut x = area.left();
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            text.push_str(symbol);
            x += (ratatui::text::Span::raw(symbol).width() as u16).max(1);
        }
        text.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(row).collect::<Vec<_>>().join("\n")
}
