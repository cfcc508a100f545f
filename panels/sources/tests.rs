use headwater_engine::RemoteText;
use headwater_engine::reading::{Event, Input, Reading, Target, TargetList, Value};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, drawn, keys, live, subject};
use crate::palette::Palette;
use crate::panel::{Outcome, Panel};
use crate::table::Table;

fn panel() -> Box<dyn Panel> {
    (ROW.make)()
}

fn at(trouble: Trouble, seconds: i64, width: u16, height: u16) -> String {
    let snapshot = World::after(trouble, seconds);
    drawn(panel().as_mut(), &snapshot, &Palette::mono(Glyphs::Unicode), width, height)
}

#[test]
fn healthy_sources() {
    insta::assert_snapshot!(at(Trouble::None, 5, 80, 21), @r#"
    state     source                              age   cmds     bytes what
    o fresh   client/load@10.2.0.1:9000           0 s      -         - without requ…
    o fresh   redis/features#0@10.0.3.12:6379     0 s    2/s    9 kB/s
    o fresh   redis/features#1@10.0.3.13:6379     0 s    2/s    9 kB/s
    o fresh   redis/features#2@10.0.3.14:6379     0 s    2/s    9 kB/s
    o fresh   service/ranker@10.1.0.1:8000        0 s      -   12 kB/s speaks lab








    o fresh    client/load@10.2.0.1:9000: without request durations: the page has no
               histogram of them
    ─ Headwater itself ──────────────────────────────────────── since 14:06:01 UTC ─
    uses       its loop is late by 1 ms, 0.4 % of a core, 24 MB of memory
    sends      2 Redis commands a second per node over a minute, 39 kB/s in all
    keeps      193 kB of 101 MB, 74 series: each point for 30 min, 10 s bins for 6
               h, 1 min bins for 24 h
    "#);
}

#[test]
fn a_late_source_is_waited_for_and_stands_first() {
    insta::assert_snapshot!(at(Trouble::Late, 8, 60, 13), @r#"
    state     source                              age what
    ! late    redis/features#2@10.0.3.14:6379     8 s late sinc…
    o fresh   client/load@10.2.0.1:9000           0 s without r…
    o fresh   redis/features#0@10.0.3.12:6379     0 s
    o fresh   redis/features#1@10.0.3.13:6379     0 s
    o fresh   service/ranker@10.1.0.1:8000        0 s speaks lab





    ! late     redis/features#2@10.0.3.14:6379: late since
               14:07:59, still waiting
    "#);
}

#[test]
fn refused_and_connecting() {
    insta::assert_snapshot!(at(Trouble::Refused, 3, 80, 10), @r#"
    state     source                              age what
    X fault   client/load@10.2.0.1:9000             - since 14:06:01: connection re…
    X fault   redis/features#0@10.0.3.12:6379       - since 14:06:01: connection re…
    X fault   redis/features#1@10.0.3.13:6379       - since 14:06:01: connection re…
    X fault   redis/features#2@10.0.3.14:6379       - since 14:06:01: connection re…
    X fault   service/ranker@10.1.0.1:8000          - since 14:06:01: connection re…
    ? waiting queue/ranker                          - connecting: nothing has come …

    X fault    client/load@10.2.0.1:9000: since 14:06:01: connection refused: is it
               running?
    "#);
    insta::assert_snapshot!(at(Trouble::Nothing, 3, 80, 7), @r#"
    state     source                              age what
    ? waiting redis/features                        - connecting: nothing has come …
    ? waiting service/ranker                        - connecting: nothing has come …
    ? waiting queue/ranker                          - connecting: nothing has come …
    ? waiting client/load                           - connecting: nothing has come …
    "#);
}

#[test]
fn who_finds_the_nodes_and_gives_no_numbers_is_not_waited_for() {
    let mut world = World::new();
    world.run(3);
    world.take(&Input::Reading(Reading::new(subject("redis/features"), world.now())));
    world.run(3);
    let snapshot = world.snapshot();
    let rows = rows(&snapshot);
    let finder = rows.iter().find(|row| row.id == "redis/features").unwrap();
    assert_eq!((finder.state.word(), finder.what.as_str()), ("fresh", "finds the nodes: 3 in 3 shards"));
}

#[test]
fn a_discovery_says_what_it_lists_and_who_left_and_those_who_left_have_no_row() {
    let mut world = World::new();
    let page = subject("service/ranker@10.1.0.1:8000");
    let other = subject("service/ranker@pod-7");
    let list = |world: &mut World, targets: &[(&Subject, &str)]| {
        let mut reading = Reading::new(subject("discovery/ranker"), world.now());
        let targets = targets
            .iter()
            .map(|(subject, place)| Target { subject: (*subject).clone(), place: RemoteText::new(place) });
        let found = RemoteText::new("A records of ranker.prod");
        reading.events.push(Event::Targets(TargetList { found, targets: targets.collect() }));
        world.take(&Input::Reading(reading));
    };
    list(&mut world, &[(&page, "10.1.0.1:8000"), (&other, "10.1.0.7:8000")]);
    let mut answer = Reading::new(other.clone(), world.now());
    answer.sample(&other, headwater_engine::metric::REQUESTS, Value::Counter(1.0));
    world.take(&Input::Reading(answer));
    world.run(1);
    assert!(rows(&world.snapshot()).iter().any(|row| row.id == other.as_str()));
    list(&mut world, &[(&page, "10.1.0.1:8000")]);
    world.run(1);
    let snapshot = world.snapshot();
    let rows = rows(&snapshot);
    assert!(!rows.iter().any(|row| row.id == other.as_str()));
    let row = rows.iter().find(|row| row.id == "discovery/ranker").unwrap();
    assert_eq!(row.state.word(), "fresh");
    assert_eq!(
        row.what,
        "lists 1 target: A records of ranker.prod; left at 14:06:01 UTC: service/ranker@pod-7"
    );
    let story = story::lines("discovery/ranker", &snapshot);
    let told: Vec<&str> = story.iter().map(|line| line.text()).collect();
    assert!(told.contains(&"service/ranker@10.1.0.1:8000"), "{told:?}");
    assert!(told.contains(&"left at 14:06:01 UTC: service/ranker@pod-7"), "{told:?}");
}

#[test]
fn a_source_is_opened_and_left() {
    let snapshot = World::after(Trouble::Late, 8);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
    insta::assert_snapshot!(drawn(panel.as_mut(), &snapshot, &palette, 80, 14), @r#"
    ─ redis/features#2@10.0.3.14:6379 ──────────────────────────────────────────────
    ! late     newest data 8 s old
    last data  14:08:00 UTC
    late       since 14:07:59: asked and not answered yet; it is still waited for,
               and its numbers will count when they come
    suspect    redis/features: redis/features#2: answers in 9 s, its peers in 0.7 ms
    suspect    redis/features#2: answers in 9 s, its peers in 0.7 ms
    "#);
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert_eq!(panel.act(Action::Back, &view), Outcome::Ignored);
    panel.open(&subject("client/load"));
    drawn(panel.as_mut(), &snapshot, &palette, 80, 14);
    let copied = panel.copied(&view).unwrap();
    assert!(copied.starts_with("fresh client/load@10.2.0.1:9000: without request durations"), "{copied}");
}

#[test]
fn every_size_can_be_drawn() {
    let snapshot = World::after(Trouble::Late, 8);
    let (palette, keys) = (Palette::mono(Glyphs::Ascii), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    for _ in 0..2 {
        for width in 0..90 {
            for height in 0..30 {
                drawn(panel.as_mut(), &snapshot, &palette, width, height);
            }
        }
        panel.act(Action::Open, &view);
    }
}

#[test]
fn a_source_that_refuses_from_now_on_gives_nothing_however_young_its_last_numbers_are() {
    let snapshot = World::after(Trouble::None, 5);
    assert!(!drawn(panel().as_mut(), &snapshot, &Palette::mono(Glyphs::Unicode), 80, 21).contains("fault"));
    let mut world = World::new();
    world.run(20);
    world.trouble = Trouble::Refused;
    world.run(1);
    let text = drawn(panel().as_mut(), &world.snapshot(), &Palette::mono(Glyphs::Unicode), 80, 21);
    assert!(text.contains("X fault   redis/features#0"), "{text}");
    assert!(!text.contains("partial"), "{text}");
}

#[test]
fn a_story_has_no_rows_to_filter() {
    let snapshot = World::after(Trouble::None, 5);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    assert!(!panel.fields().is_empty());
    assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
    assert!(panel.fields().is_empty() && panel.actions().contains(&Action::Back));
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert!(!panel.fields().is_empty() && panel.actions().is_empty());
}

#[test]
fn sorted_by_state_the_worst_comes_first_and_not_the_first_of_the_alphabet() {
    let snapshot = World::after(Trouble::Late, 8);
    let rows = rows(&snapshot);
    let mut table = Table::new(COLUMNS);
    table.act(Action::Sort, &rows);
    let states: Vec<_> = table.arranged(&rows).iter().map(|row| row.state.word()).collect();
    assert_eq!((states.first(), states.last()), (Some(&"late"), Some(&"fresh")));
}
