mod opening;

use headwater_engine::reading::{Event, Expiries, Input, KeyMethod, Reading, ScanState};
use headwater_widgets::Glyphs;

use headwater_engine::Snapshot;

use super::*;
use crate::example::{World, keys, live, subject, text_of};
use crate::palette::Palette;
use crate::panel::{Effect, Intent};

/// Everything that can be known of keys, 30 seconds after it was told.
fn known(scanned: ScanState, searched: ScanState) -> std::sync::Arc<Snapshot> {
    let mut world = World::new();
    world.run(120);
    world.know_keys(scanned, searched);
    world.run(30);
    world.snapshot()
}

fn finished() -> std::sync::Arc<Snapshot> {
    known(ScanState::Complete, ScanState::Complete)
}

struct Stage<'a> {
    panel: Keyspace,
    snapshot: &'a Snapshot,
    is_replay: bool,
}

impl<'a> Stage<'a> {
    fn on(snapshot: &'a Snapshot) -> Self {
        Self { panel: Keyspace::new(), snapshot, is_replay: false }
    }

    fn with<T>(&mut self, run: impl FnOnce(&mut Keyspace, &View<'_>) -> T) -> T {
        let (palette, keys) = (Palette::mono(Glyphs::Ascii), keys());
        let view = View { is_replay: self.is_replay, ..live(self.snapshot, &palette, &keys) };
        run(&mut self.panel, &view)
    }

    fn act(&mut self, action: Action) -> Outcome {
        self.with(|panel, view| panel.act(action, view))
    }

    fn go(&mut self, name: &str) -> &mut Self {
        self.panel.at = place_of(name);
        self
    }

    fn drawn(&mut self, width: u16, height: u16) -> String {
        self.with(|panel, view| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            panel.draw(view, buffer.area, &mut buffer);
            text_of(&buffer)
        })
    }

    fn copied(&mut self) -> String {
        self.with(|panel, view| panel.copied(view)).unwrap()
    }
}

#[test]
fn every_view_tells_what_was_found() {
    let snapshot = finished();
    for row in VIEWS {
        let mut stage = Stage::on(&snapshot);
        if row.name != "shards" {
            stage.panel.open(&subject("redis/features#2"));
        }
        if row.name == "place" {
            stage.with(|panel, view| panel.typed("user:{1}:a user:{1}:b item:feat:55", view));
        }
        stage.go(row.name);
        insta::assert_snapshot!(format!("view-{}", row.name), stage.drawn(100, 22));
    }
}

#[test]
fn a_search_is_asked_for_with_its_cost_and_the_gentlest_that_is_left_comes_first() {
    let snapshot = finished();
    let mut stage = Stage::on(&snapshot);
    stage.panel.open(&subject("redis/features#1"));
    let Outcome::Wants(Intent::Ask(question, effect)) = stage.act(Action::SearchHot) else { panic!() };
    assert_eq!(effect, Effect::Search(subject("redis/features#1"), KeyMethod::SlotStats));
    insta::assert_snapshot!(question);
    // Shard 2 was searched by slot-stats already: what is left is felt by the server, and the question says so.
    stage.panel.open(&subject("redis/features#2"));
    let Outcome::Wants(Intent::Ask(question, effect)) = stage.act(Action::SearchHot) else { panic!() };
    assert_eq!(effect, Effect::Search(subject("redis/features#2"), KeyMethod::Monitor));
    assert!(
        question.contains("last resort") && question.contains("half of the server's throughput"),
        "{question}"
    );
    // A gentler way that is left is named beside one that is not gentle.
    stage.panel.open(&subject("redis/features#1"));
    stage.go("ways");
    stage.act(Action::Bottom);
    let Outcome::Wants(Intent::Ask(question, _)) = stage.act(Action::Open) else { panic!() };
    assert!(question.contains("slot-stats is gentler"), "{question}");
    // What nobody offers is refused with the reason, and nothing at all where nothing is offered.
    stage.act(Action::Up);
    assert!(matches!(stage.act(Action::SearchHot), Outcome::Refused(why) if why.contains("needs Redis 8.6")));
    stage.panel.open(&subject("redis/features#0"));
    assert!(matches!(stage.act(Action::SearchHot), Outcome::Refused(why) if why.contains("offers no way")));
}

#[test]
fn what_runs_shows_how_far_it_is_and_can_be_ended() {
    let snapshot = known(ScanState::Running, ScanState::Running);
    let mut stage = Stage::on(&snapshot);
    stage.panel.open(&subject("redis/features#2"));
    insta::assert_snapshot!(stage.go("hot").drawn(80, 16));
    assert!(stage.go("shards").drawn(100, 16).contains("runs 24 %"));
    assert_eq!(
        stage.act(Action::CancelScan),
        Outcome::Wants(Intent::Do(Effect::CancelScan(subject("redis/features#2"))))
    );
    assert!(matches!(stage.act(Action::Scan), Outcome::Refused(why) if why.contains("being scanned")));
    stage.go("ways");
    stage.act(Action::Down);
    assert!(matches!(stage.act(Action::Open), Outcome::Refused(why) if why.contains("goes on")));
}

#[test]
fn a_recording_and_the_past_are_asked_nothing_and_show_what_was_known() {
    let snapshot = finished();
    let mut stage = Stage::on(&snapshot);
    stage.is_replay = true;
    stage.panel.open(&subject("redis/features#1"));
    assert!(matches!(stage.act(Action::SearchHot), Outcome::Refused(why) if why.contains("recording")));
    assert!(!stage.go("hot").drawn(80, 20).contains("H asks"));
    assert!(stage.go("big").drawn(80, 20).contains("no scan of redis/features#1 was made in this recording"));
    let before = snapshot.back_to(snapshot.at - std::time::Duration::from_secs(60)).unwrap();
    let mut stage = Stage::on(&before);
    stage.panel.open(&subject("redis/features#2"));
    assert!(matches!(stage.act(Action::SearchHot), Outcome::Refused(why) if why.contains("past")));
    let then = stage.go("big").drawn(80, 20);
    assert!(then.contains("no big key is known") && !then.contains("user:profile"), "{then}");
    let after = snapshot.back_to(snapshot.at - std::time::Duration::from_secs(5)).unwrap();
    assert!(Stage::on(&after).go("big").drawn(80, 20).contains("user:profile:8812"));
}

#[test]
fn keys_open_as_pages_shards_are_drilled_and_esc_leads_back() {
    let snapshot = finished();
    let mut stage = Stage::on(&snapshot);
    stage.act(Action::Bottom);
    assert_eq!(stage.act(Action::Open), Outcome::Done);
    assert!(stage.drawn(80, 20).contains("[big]"));
    assert!(stage.copied().starts_with("user:profile:8812: 1.8 MB"), "{}", stage.copied());
    assert_eq!(stage.act(Action::Open), Outcome::Done);
    insta::assert_snapshot!(stage.drawn(80, 14));
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    assert_eq!(stage.act(Action::Back), Outcome::Done);
    assert!(stage.drawn(80, 20).contains("[shards]"));
    assert_eq!(stage.act(Action::Back), Outcome::Ignored);
    assert_eq!(stage.act(Action::Left), Outcome::Done);
    assert!(stage.drawn(80, 20).contains("[ways]"));
}

#[test]
fn every_size_can_be_drawn_in_every_view() {
    let full = known(ScanState::Running, ScanState::Complete);
    let empty = World::after(crate::example::Trouble::Nothing, 3);
    for snapshot in [&full, &empty] {
        for row in VIEWS {
            let mut stage = Stage::on(snapshot);
            stage.go(row.name);
            for (width, height) in [(0, 0), (1, 1), (3, 2), (9, 5), (20, 7), (39, 9), (60, 16), (200, 60)] {
                stage.drawn(width, height);
                stage.act(Action::Open);
                stage.drawn(width, height);
            }
        }
    }
}

#[test]
fn a_sample_in_which_nothing_expires_is_an_answer() {
    let mut world = World::new();
    world.run(10);
    let (now, shard) = (world.now(), subject("redis/features#2"));
    let mut scan = crate::example::scan(ScanState::Complete, now);
    scan.expiries = Some(Expiries { at: now, sampled: 200, without: 200, seconds: vec![], spans: vec![] });
    let mut reading = Reading::new(shard.clone(), now);
    reading.events.push(Event::Scan(scan));
    world.take(&Input::Reading(reading));
    world.run(1);
    let snapshot = world.snapshot();
    let mut stage = Stage::on(&snapshot);
    stage.panel.open(&shard);
    let drawn = stage.go("ttl").drawn(100, 20);
    assert!(drawn.contains("o none expires; of 200 sampled keys 0 expire, 200 never"), "{drawn}");
    assert!(!drawn.contains("no expiry of keys is known"), "{drawn}");
}

/// A snapshot in which a rule fires on shard 2, whoever is accused.
fn firing(snapshot: &Snapshot, rule: &'static str, detail: &str) -> Snapshot {
    use headwater_engine::snapshot::RuleState;
    let state = RuleState {
        rule,
        subject: subject("redis/features#2"),
        state: "firing",
        detail: detail.into(),
        is_blind: false,
    };
    Snapshot { rules: [state].into(), ..snapshot.clone() }
}

#[test]
fn a_hot_key_that_is_likely_is_told_whoever_is_accused_in_its_place() {
    let mut world = World::new();
    world.run(10);
    let says = "a hot key is likely: 3x the commands of the others";
    let snapshot = firing(&world.snapshot(), "hot-key", says);
    let mut stage = Stage::on(&snapshot);
    assert!(stage.go("hot").drawn(100, 20).contains(&format!("redis/features#2: {says}")));
    stage.panel.open(&subject("redis/features#2"));
    let drawn = stage.go("hot").drawn(100, 20);
    assert!(drawn.contains(says) && !drawn.contains("no search for hot keys has named"), "{drawn}");
}

#[test]
fn of_a_full_link_the_share_of_bytes_counts() {
    let snapshot = finished();
    let mut stage = Stage::on(&snapshot);
    assert!(stage.go("shards").drawn(120, 20).contains("62 % item:feat:55"));
    let snapshot = firing(&snapshot, "shard-bandwidth", "95 % of its link");
    let mut stage = Stage::on(&snapshot);
    let drawn = stage.go("shards").drawn(120, 20);
    assert!(drawn.contains("93 % user:profile:88"), "{drawn}");
}

#[test]
fn a_herd_that_has_passed_is_none_to_come() {
    let mut world = World::new();
    world.run(10);
    let (now, shard) = (world.now(), subject("redis/features#2"));
    let mut reading = Reading::new(shard.clone(), now);
    let sampled = now - std::time::Duration::from_secs(800);
    reading.events.push(Event::Scan(crate::example::scan(ScanState::Complete, sampled)));
    world.take(&Input::Reading(reading));
    world.run(1);
    let snapshot = world.snapshot();
    let mut stage = Stage::on(&snapshot);
    let shards = stage.go("shards").drawn(140, 20);
    assert!(!shards.contains("62 % 1"), "{shards}");
    stage.panel.open(&shard);
    let drawn = stage.go("ttl").drawn(100, 24);
    assert!(
        drawn.contains("o no herd to come: no second has more than") && !drawn.contains("! herd"),
        "{drawn}"
    );
    let next = (sampled + std::time::Duration::from_secs(1_200)).clock();
    let [to_come, passed] = [next.as_str(), "passed"].map(|word| drawn.find(word));
    assert!(to_come.is_some() && passed.is_some() && to_come < passed, "{drawn}");
}

#[test]
fn keys_are_big_from_the_limits_of_the_rule_on() {
    let mut world = World::with(|settings| {
        settings.thresholds.insert("big-key".to_owned(), [("elements".to_owned(), 10_000.0)].into());
    });
    world.run(10);
    world.know_keys(ScanState::Complete, ScanState::Complete);
    world.run(1);
    let snapshot = world.snapshot();
    let drawn = Stage::on(&snapshot).go("sizes").drawn(120, 20);
    assert!(drawn.contains("6 keys of 524 kB or 16384 elements and more"), "{drawn}");
    let snapshot = finished();
    let drawn = Stage::on(&snapshot).go("sizes").drawn(120, 20);
    assert!(drawn.contains("9 keys of 524 kB or 8192 elements and more"), "{drawn}");
}

#[test]
fn a_long_name_gives_way_to_the_number_of_its_shard() {
    let mut world = crate::redis_world::World::new(1, crate::redis_world::settings(None));
    let mut shape = Reading::new(subject("redis/ranker-prod-features"), world.now());
    let mut other = crate::redis_world::topology(1);
    other.cluster = subject("redis/ranker-prod-features");
    other.shards[0].subject = other.cluster.shard(0);
    other.shards[0].nodes.clear();
    shape.events.push(Event::Topology(other));
    world.take(shape);
    world.go_on(5, 2e6, 0.0007);
    let snapshot = world.snapshot();
    let drawn = Stage::on(&snapshot).go("shards").drawn(100, 20);
    assert!(drawn.contains(" ranker-pr~#0 "), "{drawn}");
}
