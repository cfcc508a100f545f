//! A panel with hands on it, over a world that goes on.

use std::sync::Arc;

use headwater_engine::Snapshot;
use headwater_engine::library::Library;
use headwater_engine::reading::{ActKind, Input, OperatorAct};
use headwater_engine::runbook::{Asks, Check, Piece, Remedy, Runbook, Step};
use headwater_widgets::Glyphs;

use super::super::*;
use crate::example::{Trouble, World, text_of};
use crate::keys::{Command, Keymap, Stroke};
use crate::palette::Palette;

/// Three steps: what callers see, the link of the shards, and an action; and a GPU that no source tells of.
fn library() -> Library {
    let step = |id: &str, check: Check| Step {
        id: id.to_owned(),
        title: format!("step {id}"),
        question: format!("question {id}?"),
        why: format!("because of {id}"),
        panel: "shards".to_owned(),
        filter: Some("link > 70 %".to_owned()),
        checks: vec![Check { says: "it is well".to_owned(), ..check }],
        good: "all is well".to_owned(),
        if_bad: "look at {key}".to_owned(),
        if_good: "go on".to_owned(),
        ..Step::default()
    };
    let rules = |rules: &[&str]| Check {
        rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        ..Check::default()
    };
    let gpu = Check { expect: Some("gpu.utilization < 90 %".to_owned()), ..Check::default() };
    let action = Check { asks: Some(Asks::Action), ..Check::default() };
    let steps = vec![
        Step { golden: Some(Piece::Component), ..step("1", rules(&["shard-bandwidth"])) },
        step("2", gpu),
        Step {
            golden: Some(Piece::Stop),
            remedies: vec!["cache".to_owned(), "unlink".to_owned()],
            avoid: vec!["restart first".to_owned()],
            ..step("3", action)
        },
    ];
    let runbook = |id: &str, when: &[&str]| Runbook {
        id: id.to_owned(),
        title: format!("Runbook {id}"),
        about: "for tests".to_owned(),
        when: when.iter().map(|rule| (*rule).to_owned()).collect(),
        steps: steps.clone(),
    };
    let remedy = |id: &str, reversible, command: Option<&str>| Remedy {
        id: id.to_owned(),
        text: format!("{id} {{key}}"),
        effect: "it helps".to_owned(),
        risk: "it hurts".to_owned(),
        undo: "stop it".to_owned(),
        gate: Some("it may".to_owned()),
        command: command.map(str::to_owned),
        reversible,
        against: vec!["shard-bandwidth".to_owned()],
    };
    Library {
        runbooks: vec![runbook("full-link", &["shard-bandwidth"]), runbook("walk", &[])],
        remedies: vec![
            remedy("cache", true, None),
            remedy("unlink", false, Some("redis-cli -h {host} UNLINK {key}")),
        ],
        ..Library::default()
    }
}

/// A panel with hands on it, over a world that goes on.
pub(super) struct Stage {
    pub(super) panel: RunbookPanel,
    pub(super) world: World,
    pub(super) library: Library,
    pub(super) keys: Keymap,
    palette: Palette,
    /// What is shown instead of the newest snapshot.
    pub(super) held: Option<Arc<Snapshot>>,
}

impl Stage {
    pub(super) fn after(trouble: Trouble, seconds: i64) -> Self {
        let mut world = World::new();
        world.run(120);
        world.trouble = trouble;
        world.run(seconds);
        let rows = "confirm v;override o;skip x;reopen O;done d;explain i;choose-runbook B;left left;right right;open \
                    enter;export e;live L;quit q;freeze space;scan b;page-up pageup;page-down pagedown";
        let binding = |row: &str| {
            let (name, key) = row.trim().split_once(' ').unwrap();
            (Stroke::parse(key).unwrap(), Command::by_name(name).unwrap())
        };
        Self {
            panel: RunbookPanel::default(),
            world,
            library: library(),
            keys: Keymap::new(rows.split(';').map(binding).collect()),
            palette: Palette::mono(Glyphs::Unicode),
            held: None,
        }
    }

    pub(super) fn with<T>(&mut self, act: impl FnOnce(&mut RunbookPanel, &View<'_>) -> T) -> T {
        let snapshot = self.held.clone().unwrap_or_else(|| self.world.snapshot());
        let view = View {
            snapshot: &snapshot,
            now: self.world.now(),
            palette: &self.palette,
            keys: &self.keys,
            is_replay: false,
            library: &self.library,
        };
        act(&mut self.panel, &view)
    }

    pub(super) fn drawn(&mut self, width: u16, height: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let area = buffer.area;
        self.with(|panel, view| panel.draw(view, area, &mut buffer));
        text_of(&buffer)
    }

    pub(super) fn hint(&mut self) -> String {
        self.drawn(100, 30).lines().last().unwrap_or_default().to_owned()
    }

    pub(super) fn act(&mut self, action: Action) -> Outcome {
        self.with(|panel, view| panel.act(action, view))
    }

    /// Acts, has the act recorded, and lets a second pass.
    #[track_caller]
    pub(super) fn records(&mut self, outcome: Outcome) -> ActKind {
        let Outcome::Wants(Intent::Do(Effect::Act(kind))) = outcome else { panic!("{outcome:?}") };
        let at = self.world.now();
        self.world.take(&Input::Act(OperatorAct { at, kind: kind.clone() }));
        self.world.run(1);
        kind
    }

    #[track_caller]
    pub(super) fn does(&mut self, action: Action) -> ActKind {
        let outcome = self.act(action);
        self.records(outcome)
    }
}
