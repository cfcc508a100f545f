mod gpus;

use std::sync::Arc;

use headwater_engine::Snapshot;
use headwater_engine::report::Conclusion;
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World};
use crate::palette::Palette;
use crate::rehearsal::{keymap, text_of};
use crate::screen::Status;

/// A wall over a deployment.
struct Wall {
    kiosk: Kiosk,
    world: World,
    newest: Option<Arc<Snapshot>>,
    now: Moment,
    glyphs: Glyphs,
}

impl Wall {
    fn new(names: &[&str]) -> Self {
        let mut world = World::new();
        world.run(120);
        let now = world.now();
        Self {
            kiosk: Kiosk::new(names.iter().copied(), TURN),
            newest: Some(world.snapshot()),
            world,
            now,
            glyphs: Glyphs::Unicode,
        }
    }

    fn drawn(&mut self, width: u16, height: u16) -> String {
        let palette = Palette::mono(self.glyphs);
        let (keys, status) = (keymap(), Status::default());
        let shown = Shown {
            newest: self.newest.as_ref(),
            now: self.now,
            palette: &palette,
            keys: &keys,
            status: &status,
            library: &headwater_engine::library::EMPTY,
        };
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        self.kiosk.draw(&shown, buffer.area, &mut buffer);
        text_of(&buffer)
    }

    /// Lets seconds pass, in which the wall is drawn once each.
    fn run(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.world.run(1);
            self.now = self.world.now();
            self.newest = Some(self.world.snapshot());
            self.drawn(80, 24);
        }
    }
}

#[test]
fn panels_take_turns_and_no_turn_is_missed() {
    let mut wall = Wall::new(&["overview", "shards", "nothing of this name", "sources"]);
    let mut seen = vec![];
    for _ in 0..4 {
        wall.drawn(80, 24);
        seen.push(wall.kiosk.showing());
        wall.run(15);
    }
    assert_eq!(seen, ["overview", "shards", "sources", "overview"]);
    assert_eq!(wall.kiosk.rotations(), 4);
    wall.now = wall.now + Duration::from_secs(150);
    wall.drawn(80, 24);
    assert_eq!(wall.kiosk.rotations(), 14, "a wall that was held up goes on as if it had not been");
    wall.now = wall.now - Duration::from_secs(9_000);
    wall.drawn(80, 24);
    wall.now = wall.now + Duration::from_secs(15);
    wall.drawn(80, 24);
    assert_eq!(wall.kiosk.rotations(), 15, "a clock that is set back stops nothing");
}

#[test]
fn what_fails_stays_in_sight_until_it_ends() {
    let mut wall = Wall::new(&["sources", "rules"]);
    wall.world.trouble = Trouble::FullLink;
    wall.run(60);
    assert_eq!(wall.newest.as_ref().unwrap().report.conclusion, Conclusion::Guilty);
    let before = wall.kiosk.rotations();
    assert_eq!(wall.kiosk.showing(), "shards", "a shard is guilty, and its strips show it");
    wall.run(30);
    assert_eq!((wall.kiosk.rotations(), wall.kiosk.showing()), (before, "shards"));
    wall.world.trouble = Trouble::None;
    wall.run(60);
    assert!(wall.kiosk.rotations() > before, "{}", wall.drawn(80, 24));
    assert_ne!(wall.kiosk.showing(), "shards");
}

#[test]
fn the_wall_says_when_nothing_comes_any_more() {
    let mut wall = Wall::new(&[]);
    assert!(wall.drawn(80, 24).contains("data 0 s old"), "{}", wall.drawn(80, 24));
    let last = wall.now;
    for second in 1..=3 {
        wall.now = last + Duration::from_secs(second);
        assert!(!wall.drawn(80, 24).contains("NO DATA"), "{second} s");
    }
    wall.now = last + Duration::from_secs(4);
    for (width, height) in [(80, 24), (80, 8), (40, 3), (30, 2)] {
        let drawn = wall.drawn(width, height);
        assert!(drawn.contains(&format!("NO DATA SINCE {}", last.clock())), "{width}x{height}: {drawn}");
    }
    assert!(wall.drawn(200, 60).contains('█'), "and in big type where there is room");
    let clock = wall.now.clock();
    assert!(wall.drawn(80, 24).contains(&clock), "the clock goes on");
}

#[test]
fn a_wall_is_not_calm_while_somebody_is_suspected() {
    let mut wall = Wall::new(&[]);
    wall.glyphs = Glyphs::Ascii;
    assert!(wall.drawn(80, 8).contains("NOTHING GUILTY"), "{}", wall.drawn(80, 8));
    let suspected = World::suspected(Conclusion::Clear);
    wall.now = suspected.at;
    wall.newest = Some(Arc::new(suspected));
    let drawn = wall.drawn(80, 8);
    assert!(drawn.contains("SUSPECTED") && !drawn.contains("NOTHING GUILTY"), "{drawn}");
}

#[test]
fn every_key_but_one_does_nothing() {
    let mut wall = Wall::new(&[]);
    let keys = keymap();
    for key in ["q", "ctrl-c", "esc", "2", "space", "?", ":", "ctrl-z", "n", "enter"] {
        assert_eq!(wall.kiosk.press(Stroke::parse(key).unwrap(), &keys), [], "{key}");
    }
    assert_eq!(wall.kiosk.press(Stroke::parse("ctrl-q").unwrap(), &keys), [Effect::Quit]);
}

#[test]
fn the_picture_moves_by_one_cell_at_a_time() {
    let area = Rect::new(0, 0, 80, 24);
    let at = |step: i64| shifted(area, Moment(step * SHIFT_EVERY.as_millis() as i64));
    let mut places = std::collections::BTreeSet::new();
    for step in -8..20 {
        let (one, next) = (at(step), at(step + 1));
        assert_eq!(one.x.abs_diff(next.x) + one.y.abs_diff(next.y), 1);
        assert_eq!(one.intersection(area), one);
        places.insert((one.x, one.y));
    }
    assert_eq!(places.len(), SHIFTS.len());
    assert_eq!(shifted(Rect::new(0, 0, 30, 24), Moment(0)), Rect::new(0, 0, 30, 24));
}

#[test]
fn it_is_drawn_at_every_size() {
    for trouble in [Trouble::None, Trouble::FullLink] {
        let mut wall = Wall::new(&["overview"]);
        wall.glyphs = Glyphs::Ascii;
        wall.world.trouble = trouble;
        wall.run(40);
        let widths = (0..=24).chain((28..=60).step_by(4));
        for (width, height) in widths.flat_map(|width| (0..=20).map(move |height| (width, height))) {
            let drawn = wall.drawn(width, height);
            assert!(drawn.is_ascii(), "{width}x{height}: {drawn}");
        }
        for (width, height) in [(200, 60), (160, 48), (400, 20), (20, 100)] {
            assert!(wall.drawn(width, height).is_ascii());
        }
    }
    let mut wall = Wall::new(&[]);
    wall.newest = None;
    assert!(wall.drawn(80, 24).contains("connecting"), "{}", wall.drawn(80, 24));
    assert!(wall.drawn(80, 24).contains("no data yet"));
}

#[test]
fn an_incident_on_a_wall() {
    let mut wall = Wall::new(&["overview"]);
    wall.world.trouble = Trouble::FullLink;
    wall.run(60);
    let above = |wall: &mut Wall, width, height| {
        let drawn = wall.drawn(width, height);
        let panel = drawn.lines().position(|line| line.contains("while this lasts")).unwrap_or(0);
        drawn.lines().take(panel + 1).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(above(&mut wall, 80, 24), @r"
    14:09:00 UTC   data 0 s old   ranker-prod
     ▀██▀   ██▄  ██  ▄█▀▀█▄  ▀██▀   ▀██▀█▄  ▀██▀▀▀█ ██▄  ██ █▀██▀█
      ██    ██▀█▄██ ██        ██     ██  ██  ██▄█   ██▀█▄██   ██
      ██    ██  ▀██ ▀█▄  ▄▄   ██     ██ ▄█▀  ██ ▀ ▄ ██  ▀██   ██
     ▀▀▀▀   ▀▀   ▀▀   ▀▀▀▀   ▀▀▀▀   ▀▀▀▀▀   ▀▀▀▀▀▀▀ ▀▀   ▀▀  ▀▀▀▀
    redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link;
    answers in 41 ms, its peers in 0.7 ms
    user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
    next: user:profile:8812: see who reads it and how often: cache it for 30 s
    near the reader, then store it as a hash or in a smaller encoding; delete it
    with UNLINK, never with DEL
    queue          TTFT p99       hit ratio      err/inst new   retries new
    3              no source      98.5 %         0.3 %          1.1 %
    ─ Shards, while this lasts ───────────────────────────────────────────────────
    ");
    insta::assert_snapshot!(above(&mut wall, 160, 48), @r"
    14:09:00 UTC   data 0 s old   ranker-prod
     ████   ██   ██   ████   ████   █████   ███████ ██   ██ ██████
      ██    ███  ██  ██  ██   ██     ██ ██   ██   █ ███  ██ █ ██ █
      ██    ████ ██ ██        ██     ██  ██  ██ █   ████ ██   ██
      ██    ██ ████ ██        ██     ██  ██  ████   ██ ████   ██
      ██    ██  ███ ██        ██     ██  ██  ██ █   ██  ███   ██
      ██    ██   ██  ██  ██   ██     ██ ██   ██   █ ██   ██   ██
     ████   ██   ██   ████   ████   █████   ███████ ██   ██  ████

                       ▀██    ▀▀                ▄█▀  ▄█▀█▄                    ▄█                                     ██ ██  ▄█▀▀█▄
    ▀█▄█▀█▄ ▄█▀▀█▄   ▄▄▄██   ▀██    ▄█▀▀▀▀    ▄█▀   ▄██▄    ▄█▀▀█▄   ▀▀▀█▄   ▀██▀▀  ██  ██  ▀█▄█▀█▄ ▄█▀▀█▄  ▄█▀▀▀▀  ▀██▀██▀   ▄▄█▀
     ██  ▀▀ ██▀▀▀▀  ██  ██    ██     ▀▀▀█▄  ▄█▀      ██     ██▀▀▀▀  ▄█▀▀██    ██ ▄  ██  ██   ██  ▀▀ ██▀▀▀▀   ▀▀▀█▄  ▀██▀██▀ ▄█▀ ▄▄
    ▀▀▀▀     ▀▀▀▀    ▀▀▀ ▀▀  ▀▀▀▀   ▀▀▀▀▀   ▀       ▀▀▀▀     ▀▀▀▀    ▀▀▀ ▀▀    ▀▀    ▀▀▀ ▀▀ ▀▀▀▀     ▀▀▀▀   ▀▀▀▀▀    ▀▀ ▀▀  ▀▀▀▀▀▀
    redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
    user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
    next: user:profile:8812: see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a smaller encoding; delete it with
    UNLINK, never with DEL
    queue                          TTFT p99                       hit ratio                      err/inst new                   retries new
    ▟▀▙                            no source                      ▟▀▙ ▟▀▙     █▀▀     ▄ ▗▖       ▟▀▜▖    ▟▀▙     ▄ ▗▖           ▗█      ▗█      ▄ ▗▖
     ▄▛                                                           ▜▄█ ▜▄▛     ▀▀▙     ▀▗▛        █▗█▌     ▄▛     ▀▗▛             █       █      ▀▗▛
    ▄ █                                                            ▗▛ █ █  ▄  ▄ █     ▗▛▗▖       █▛▐▌ ▄  ▄ █     ▗▛▗▖            █   ▄   █      ▗▛▗▖
    ▝▀▘                                                           ▝▀  ▝▀▘  ▀  ▝▀▘     ▀ ▝▘       ▝▀▀  ▀  ▝▀▘     ▀ ▝▘           ▀▀▀  ▀  ▀▀▀     ▀ ▝▘
    ─ Shards, while this lasts ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    ");
}

#[test]
fn a_failing_gpu_or_what_feeds_it_keeps_the_panel_of_gpus_in_sight() {
    let mut wall = Wall::new(&[]);
    let incident = World::after(Trouble::FullLink, 60);
    wall.now = incident.at;
    for (subject, rule, panel) in [
        ("gpu/host-a:0", "gpu-error", "gpu"),
        ("host/host-a", "launch-stall", "gpu"),
        ("host/host-a", "host-starved", "overview"),
    ] {
        let mut snapshot = Snapshot::clone(&incident);
        let first = &mut Arc::make_mut(&mut snapshot.report).suspects[0];
        (first.subject, first.rule) = (subject.parse().unwrap(), rule.to_owned());
        wall.newest = Some(Arc::new(snapshot));
        wall.drawn(80, 24);
        assert_eq!(wall.kiosk.showing(), panel, "{rule}");
    }
}

#[test]
fn nothing_turns_while_somebody_is_suspected() {
    let mut wall = Wall::new(&["sources", "rules"]);
    let suspected = World::suspected(Conclusion::Clear);
    wall.now = suspected.at;
    wall.newest = Some(Arc::new(suspected));
    wall.drawn(80, 24);
    let before = wall.kiosk.showing();
    wall.now = wall.now + TURN * 2;
    wall.drawn(80, 24);
    assert_eq!((wall.kiosk.rotations(), wall.kiosk.showing()), (0, before));
    assert!(!["sources", "rules"].contains(&before), "{before}");
}
