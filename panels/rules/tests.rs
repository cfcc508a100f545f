use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, drawn, keys, live, subject};
use crate::palette::Palette;
use crate::panel::{Outcome, Panel};
use crate::table::Row;
use crate::table::Table;
use headwater_engine::filter::Filter;

fn panel() -> Box<dyn Panel> {
    (ROW.make)()
}

fn at(trouble: Trouble, seconds: i64, width: u16, height: u16) -> String {
    let snapshot = World::after(trouble, seconds);
    drawn(panel().as_mut(), &snapshot, &Palette::mono(Glyphs::Unicode), width, height)
}

#[test]
fn an_incident_at_80x24() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 80, 21), @r#"
    ─ Rules ─────────────────────────────────────── 6 firing, 10 unknown, 53 clear ─
    state     rule              subject              seen
    X firing  latency-shift     service/ranker       p99 2.9 s, objective 500 ms, 3…
    X firing  shard-bandwidth   redis/features#2     23.9 MB/s at 10.0.3.14:6379, 9…
    X firing  slow-to-answer    redis/features#2     answers in 41 ms, its peers in…
    X firing  big-key           redis/features#2     user:profile:8812 holds 1.8 MB…
    X firing  hit-but-slow      redis/features       hit ratio 98.5 %, yet reads ta…
    X firing  access-changed    redis/features       17.4 kB read a request, 21x it…
    ? unknown latency-shift     client/load          no latency histogram: not told…
    ? unknown slo-burn          service/ranker       no burn rate: half of an hour …
    ? unknown hot-key           redis/features#2     nobody counts its commands by …
    ? unknown co-located-keys   redis/features#2     user:profile:8812 is big; no h…
    ? unknown gpu-error         gpu/ranker           neither XIDs nor memory errors…
    ? unknown gpu-silent        gpu/ranker           no source
    ? unknown gpu-memory-leak   gpu/ranker           how full its memory is: no sou…
    ? unknown gpu-memory-full   gpu/ranker           how full its memory is: no sou…
    ? unknown gpu-throttled     gpu/ranker           neither clocks nor throttling:…
    ? unknown hbm-bound         gpu/ranker           how busy its memory is: no sou…
    X firing   latency-shift on service/ranker: p99 2.9 s, objective 500 ms, 31x its
               healthy 95 ms
    limits     rise 1.2x, robust_z 3x, floor 20 %
    "#);
}

#[test]
fn an_incident_at_60x16() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 60, 13), @r#"
    ─ Rules ─────────────────── 6 firing, 10 unknown, 53 clear ─
    state     rule              subject              seen
    X firing  latency-shift     service/ranker       p99 2.9 s,…
    X firing  shard-bandwidth   redis/features#2     23.9 MB/s …
    X firing  slow-to-answer    redis/features#2     answers in…
    X firing  big-key           redis/features#2     user:profi…
    X firing  hit-but-slow      redis/features       hit ratio …
    X firing  access-changed    redis/features       17.4 kB re…
    ? unknown latency-shift     client/load          no latency…
    ? unknown slo-burn          service/ranker       no burn ra…
    X firing   latency-shift on service/ranker: p99 2.9 s,
               objective 500 ms, 31x its healthy 95 ms
    limits     rise 1.2x, robust_z 3x, floor 20 %
    "#);
}

#[test]
fn the_limits_in_force_stand_beside_what_was_seen() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 130, 8), @r#"
    ─ Rules ───────────────────────────────────────────────────────────────────────────────────────── 6 firing, 10 unknown, 53 clear ─
    state     rule              subject              seen                                     limits (* not the default)
    X firing  latency-shift     service/ranker       p99 2.9 s, objective 500 ms, 31x its he… rise 1.2x, robust_z 3x, floor 20 %
    X firing  shard-bandwidth   redis/features#2     23.9 MB/s at 10.0.3.14:6379, 95.6 % of … link 70 %, part 50 %, skew 3x, flat 5 %…
    X firing  slow-to-answer    redis/features#2     answers in 41 ms, its peers in 0.7 ms    skew 3x, floor 5 ms
    X firing  big-key           redis/features#2     user:profile:8812 holds 1.8 MB, critical bytes 524 kB, critical_bytes 1.05 MB, e…
    X firing  hit-but-slow      redis/features       hit ratio 98.5 %, yet reads take 497 ms… read 50 ms, hit_ratio 80 %, hit_drop 2 %
    X firing  access-changed    redis/features       17.4 kB read a request, 21x its healthy… rise 1.5x, requests 1/s
    "#);
}

#[test]
fn a_rule_is_explained_and_left() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    panel.open(&subject("redis/features#2"));
    assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
    insta::assert_snapshot!(drawn(panel.as_mut(), &snapshot, &palette, 80, 21), @r#"
    ─ shard-bandwidth: a shard's network link is full ───────────── +10 rows below ─
    X firing   redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s
               link; answers in 41 ms, its peers in 0.7 ms
    limits     link 70 %: share of the declared link; above it bursts queue
               part 50 %: a node's bytes over those of the busiest node on its host,
               below which it is a victim of the link
               skew 3x: multiple of the others' bytes, or of their time to answer,
               where no link is declared
               flat 5 %: interquartile range over median of the bytes a second below
               which they count as flat
               floor 1 MB/s: bytes a second below which no link of a server is full
    next       name the keys: a value of a megabyte fills a link at a few reads a
               second; then read fewer bytes of it, or cache it for 30 s near the
               reader
    or         network-path, told apart by the link's size: declare 'link' for this
               Redis, and bytes at the limit convict the link
    explains   shard-hot, slow-to-answer, hit-but-slow, slow-commands, big-key,
               hot-key, co-located-keys
    watches    every Redis shard
    worth      mechanism
    fires      after 3 evaluations in a row, unless a counter dates it
    "#);
    assert_eq!(panel.act(Action::Bottom, &view), Outcome::Done);
    let end = drawn(panel.as_mut(), &snapshot, &palette, 80, 21);
    assert!(end.contains("o clear    redis/features#1"), "{end}");
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert_eq!(panel.act(Action::Back, &view), Outcome::Ignored);
    let copied = panel.copied(&view).unwrap();
    assert!(copied.starts_with("firing shard-bandwidth on redis/features#2: 23.9 MB/s"), "{copied}");
}

#[test]
fn the_rule_that_accuses_is_shown_before_others_that_fire() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let mut report = (*snapshot.report).clone();
    report.suspects[0].rule = "big-key".to_owned();
    let snapshot = Snapshot { report: report.into(), ..(*snapshot).clone() };
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    for (asked, first) in [
        ("redis/features#2", "firing big-key on redis/features#2"),
        ("service/ranker", "firing latency-shift on service/ranker"),
    ] {
        panel.open(&subject(asked));
        drawn(panel.as_mut(), &snapshot, &palette, 80, 21);
        let copied = panel.copied(&view).unwrap();
        assert!(copied.starts_with(first), "{copied}");
    }
}

#[test]
fn a_limit_that_is_configured_says_so_and_for_whom() {
    let mut world = World::with(|settings| {
        let limit = |name: &str, value| [(name.to_owned(), value)].into();
        settings.thresholds.insert("shard-bandwidth".to_owned(), limit("flat", 0.1));
        let redis = settings.components.iter_mut().find(|own| own.subject == subject("redis/features"));
        redis.unwrap().thresholds.insert("shard-bandwidth".to_owned(), limit("link", 0.6));
    });
    world.run(5);
    let snapshot = world.snapshot();
    let rows = rows(&snapshot);
    let of = |text: &str| rows.iter().find(|row| row.id() == text).unwrap();
    let row = of("shard-bandwidth redis/features#2");
    assert_eq!(row.limits(), "link 60 %*, part 50 %, skew 3x, flat 10 %*, floor 1 MB/s");
    let lines = explanation::lines(by_id("shard-bandwidth").unwrap(), row, &rows, &snapshot);
    let told = format!("{lines:?}");
    for part in
        ["link 60 %, configured for redis/features (default 70 %)", "flat 10 %, configured (default 5 %)"]
    {
        assert!(told.contains(part), "'{part}' is missing: {told}");
    }
}

#[test]
fn every_state_of_the_engine_has_a_row_of_its_own() {
    for (place, state) in STATES.iter().enumerate() {
        let same = STATES[..place].iter().any(|other| other.word == state.word || other.glyph == state.glyph);
        assert!(!same, "'{}' stands twice", state.word);
    }
    let snapshot = World::after(Trouble::FullLink, 45);
    for row in snapshot.rules.iter() {
        assert!(STATES.iter().any(|state| state.word == row.state), "'{}' has no row", row.state);
    }
}

#[test]
fn every_size_can_be_drawn() {
    let snapshot = World::after(Trouble::FullLink, 45);
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
fn an_explanation_has_no_rows_to_filter() {
    let snapshot = World::after(Trouble::None, 5);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = live(&snapshot, &palette, &keys);
    let mut panel = panel();
    assert!(!panel.fields().is_empty());
    panel.set_filter(Filter::parse("clear", &panel.fields()).ok());
    assert!(panel.filter().is_some());
    assert_eq!(panel.act(Action::Open, &view), Outcome::Done);
    assert!(panel.fields().is_empty() && panel.filter().is_none());
    assert!(panel.actions().contains(&Action::Back));
    assert_eq!(panel.act(Action::Back, &view), Outcome::Done);
    assert!(!panel.fields().is_empty() && panel.filter().is_some() && panel.actions().is_empty());
}

#[test]
fn sorted_by_state_the_worst_comes_first_and_not_the_first_of_the_alphabet() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let rows = rows(&snapshot);
    let mut table = Table::new(COLUMNS);
    table.act(Action::Sort, &rows);
    let states: Vec<_> = table.arranged(&rows).iter().map(|row| row.state().state).collect();
    assert_eq!((states.first(), states.last()), (Some(&"firing"), Some(&"clear")));
}
