//! A screen with real snapshots under it, for tests: keys are pressed and what is drawn is read.

use std::sync::Arc;

use headwater_engine::filter::{FieldKind, FieldRow, Filter};
use headwater_engine::metric::{REDIS_ANSWER_TIME, REDIS_COMMANDS, Unit};
use headwater_engine::reading::{Event, Input, Node, NodeHealth, Reading, Shard, Topology, Value};
use headwater_engine::{Baselines, Engine, Moment, Settings, Snapshot, Subject};
use headwater_widgets::Glyphs;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::Palette;
use crate::panel::{Effect, Intent, Outcome, Panel, View};
use crate::screen::{Screen, Shown, Status};
use crate::table::{Cell, Column, Row, Table, Width};

/// The first second of every rehearsal.
pub(crate) const BEGIN: Moment = Moment(14 * 3_600_000 + 7 * 60_000);

/// Keys as people expect them.
pub(crate) fn keymap() -> Keymap {
    let rows = "help ?;command :;next-panel tab;previous-panel shift-tab;back esc;freeze space;earlier [;later ];\
                much-earlier {;much-later };live L;mark m;note n;copy y;copy-report Y;export e;redraw ctrl-l;\
                mouse M;next-theme T;suspend ctrl-z;quit q;quit ctrl-c;up up;up k;down down;down j;page-up pageup;\
                page-down pagedown;top home;top g;bottom end;bottom G;open enter;filter /;sort s;reverse S;\
                left left;right right;compare c;arguments a;group o;scan b;pause-scan p;cancel-scan x;step .;\
                faster +;slower -;leave-kiosk ctrl-q;overview 1;shards 2;slow-log 3;sources 4;rules 5";
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

/// A panel that stays as it is whatever becomes of the real ones: a table of three rows with a detail and a question.
/// It stands in the place of the second panel.
pub(crate) struct Understudy {
    table: Table<Line>,
    is_detail: bool,
}

struct Line(&'static str, f64);

impl Row for Line {
    fn id(&self) -> &str {
        self.0
    }
}

static LINES: &[Line] = &[Line("alpha", 0.2), Line("beta", 0.9), Line("gamma", 0.4)];

static COLUMNS: &[Column<Line>] = &[
    Column {
        field: FieldRow { name: "name", kind: FieldKind::Text, help: "what it is called" },
        title: "name",
        width: Width::Rest(6),
        rank: 0,
        cell: |line| Cell::text(line.0),
        draw: None,
    },
    Column {
        field: FieldRow { name: "cpu", kind: FieldKind::Number(Unit::Ratio), help: "share of a core" },
        title: "cpu",
        width: Width::Cells(8),
        rank: 0,
        cell: |line| Cell::number(Some(line.1)),
        draw: None,
    },
];

impl Panel for Understudy {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        self.table.draw(LINES, view, area, buffer);
    }

    fn act(&mut self, action: Action, _view: &View<'_>) -> Outcome {
        match action {
            Action::Open => self.is_detail = true,
            Action::Back if self.is_detail => self.is_detail = false,
            Action::Scan => {
                let question =
                    "Scan redis/features#2? It reads 1 000 000 keys and takes at most 1 % of a core.";
                let effect = Effect::Scan(subject("redis/features#2"));
                return Outcome::Wants(Intent::Ask(question.into(), effect));
            }
            Action::Compare => return Outcome::Refused("there is nothing to compare with".into()),
            Action::Group => return Outcome::Wants(Intent::Show("rules", None)),
            _ => return self.table.act(action, LINES),
        }
        Outcome::Done
    }

    fn actions(&self) -> &'static [Action] {
        &[Action::Scan, Action::Compare]
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.table.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.table.filter()
    }

    fn copied(&self, _view: &View<'_>) -> Option<String> {
        self.table.selected(LINES).map(|line| line.0.to_owned())
    }

    fn click(&mut self, at: Position, _view: &View<'_>) -> Outcome {
        if self.table.click(at, LINES) { Outcome::Done } else { Outcome::Ignored }
    }
}

/// A panel without rows, in the place of the first.
struct Plain;

impl Panel for Plain {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if area.is_empty() {
            return;
        }
        buffer.set_stringn(area.x, area.y, view.snapshot.at.clock(), area.width.into(), view.palette.ground);
    }

    fn act(&mut self, _action: Action, _view: &View<'_>) -> Outcome {
        Outcome::Ignored
    }
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
        screen.replace(0, Box::new(Plain));
        screen.replace(1, Box::new(Understudy { table: Table::new(COLUMNS), is_detail: false }));
        Self {
            screen,
            deployment: Deployment::after(seconds),
            status: Status::default(),
            glyphs: Glyphs::Unicode,
            is_before: false,
            keys: keymap(),
        }
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
