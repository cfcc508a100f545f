use std::sync::Arc;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{CLIENT_ATTEMPTS, CLIENT_DURATION, CLIENT_ORIGINALS, CLIENT_SUCCESSES};
use headwater_engine::reading::{Input, Reading, Value};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, keys, subject, text_of};
use crate::palette::Palette;
use crate::screen::Status;

/// The head as it is drawn at this width, `late` after the newest snapshot.
fn head(screen: &Screen, newest: &Arc<Snapshot>, status: &Status, late: Duration, width: u16) -> String {
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let now = newest.at + late;
    let shown = Shown {
        newest: Some(newest),
        now,
        palette: &palette,
        keys: &keys,
        status,
        library: &headwater_engine::library::EMPTY,
    };
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, 24));
    let held = screen.held().cloned();
    let rows = draw(screen, Some(held.as_ref().unwrap_or(newest)), &shown, buffer.area, &mut buffer);
    text_of(&buffer).lines().take(usize::from(rows)).collect::<Vec<_>>().join("\n")
}

fn live(newest: &Arc<Snapshot>, width: u16) -> String {
    head(&Screen::new(), newest, &Status::default(), Duration::ZERO, width)
}

#[test]
fn an_incident_says_how_long_it_lasts() {
    let snapshot = World::after(Trouble::FullLink, 72);
    insta::assert_snapshot!(live(&snapshot, 80), @r"
    ranker-prod   X INCIDENT 01:11   p99 2.9 s x31   err 0.3 % new      14:09:12 UTC
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU               live 1 s
    ");
    insta::assert_snapshot!(live(&snapshot, 60), @r"
    ranker-prod   X INCIDENT 01:11   p99 2.9 s x31
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Clien live 1 s
    ");
    insta::assert_snapshot!(live(&snapshot, 30), @r"
    ranker-prod   X INCIDENT 01:11
    1Over 2Graph 3Shard 4 live 1 s
    ");
}

/// Half a minute in which the service answers in time whom it answers, and callers wait so long and get so much of what they
/// ask for, of so many attempts each.
fn felt(wait: f64, successes: f64, attempts: f64) -> Arc<Snapshot> {
    let mut world = World::new();
    world.run(120);
    let client = subject("client/felt@10.2.0.9:9000");
    for second in 1..=30_i64 {
        let mut reading = Reading::new(client.clone(), world.now());
        let all = 100.0 * second as f64;
        let counts = [if wait <= 0.1 { all } else { 0.0 }, all];
        let page = Histogram { bounds: [0.1, 3.0].into(), counts: counts.into(), count: all, sum: None };
        reading.sample(&client, CLIENT_DURATION, Value::Histogram(Arc::new(page)));
        for (metric, count) in
            [(CLIENT_ORIGINALS, all), (CLIENT_ATTEMPTS, all * attempts), (CLIENT_SUCCESSES, all * successes)]
        {
            reading.sample(&client, metric, Value::Counter(count));
        }
        world.take(&Input::Reading(reading));
        world.run(1);
    }
    world.snapshot()
}

#[test]
fn what_callers_see_stands_first_where_it_is_worse_than_what_the_service_counts() {
    let of = |wait, successes, attempts| live(&felt(wait, successes, attempts), 120);
    let first = |wait, successes| of(wait, successes, 1.0).lines().next().unwrap().to_owned();
    let said =
        |first: &str, parts: &[&str]| parts.iter().for_each(|part| assert!(first.contains(part), "{first}"));
    said(&first(2.9, 0.0), &["   client p99 2.97 s   err 100 %   service 1420/s "]);
    // Whose the number is that follows one of somebody else.
    said(&first(2.9, 1.0), &["   client p99 2.97 s   service err 0 %   1420/s "]);
    said(&first(0.09, 1.0), &["   p99 95 ms   err 0 %   1420/s "]);
    // Whoever is answered at the second attempt is answered.
    said(&of(0.09, 1.0, 2.0), &["   p99 95 ms   err 0 %   1420/s "]);
}

#[test]
fn calm_and_silence() {
    insta::assert_snapshot!(live(&World::after(Trouble::None, 10), 80), @r"
    ranker-prod   o nothing guilty   p99 95 ms   err 0 %                14:08:10 UTC
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU               live 1 s
    ");
    insta::assert_snapshot!(live(&World::after(Trouble::Refused, 10), 80), @r"
    ranker-prod   ? no target answers   ? callers not seen              14:06:10 UTC
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU               live 1 s
    ");
}

#[test]
fn numbers_that_nobody_renews_are_said_to_be_old_in_front_of_everything_else() {
    let snapshot = World::after(Trouble::FullLink, 30);
    let late = head(&Screen::new(), &snapshot, &Status::default(), Duration::from_secs(12), 80);
    insta::assert_snapshot!(late, @r"
    ranker-prod   X INCIDENT 00:29   p99 2.9 s x31                 NO DATA for 12 s
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU               live 1 s
    ");
    let fresh = head(&Screen::new(), &snapshot, &Status::default(), Duration::from_secs(2), 80);
    assert!(!fresh.contains("NO DATA"), "{fresh}");
}

/// The first row on a screen of six rows, `late` after the newest snapshot.
fn low(screen: &Screen, newest: &Arc<Snapshot>, late: Duration) -> String {
    let (palette, keys, status) = (Palette::mono(Glyphs::Unicode), keys(), Status::default());
    let now = newest.at + late;
    let shown = Shown {
        newest: Some(newest),
        now,
        palette: &palette,
        keys: &keys,
        status: &status,
        library: &headwater_engine::library::EMPTY,
    };
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 6));
    draw(screen, Some(screen.held().unwrap_or(newest)), &shown, buffer.area, &mut buffer);
    text_of(&buffer).lines().take(1).collect()
}

#[test]
fn a_low_screen_says_that_numbers_are_old_instead_of_live_and_beside_what_is_held_still() {
    let snapshot = World::after(Trouble::FullLink, 30);
    let mut screen = Screen::new();
    let fresh = low(&screen, &snapshot, Duration::from_secs(1));
    assert!(fresh.ends_with("live 1 s") && fresh.contains("INCIDENT"), "{fresh}");
    let late = low(&screen, &snapshot, Duration::from_secs(40));
    assert!(late.contains("NO DATA for 40 s") && late.contains("INCIDENT"), "{late}");
    assert!(!late.contains("live"), "{late}");
    screen.held = Some(Arc::clone(&snapshot));
    let held = low(&screen, &snapshot, Duration::from_secs(40));
    assert!(held.contains("NO DATA for 40 s") && held.contains("FROZEN 00:40"), "{held}");
}

#[test]
fn an_incident_that_was_there_before_anybody_looked_lasts_longer_than_what_was_seen_of_it() {
    let mut world = World::new();
    world.trouble = Trouble::FullLink;
    world.run(40);
    let mut snapshot = world.snapshot();
    assert!(snapshot.report.onset().unwrap().before);
    let text = live(&snapshot, 80);
    Arc::make_mut(&mut Arc::make_mut(&mut snapshot).report).conclusion = Conclusion::Guilty;
    let text_of_incident = live(&snapshot, 80);
    assert!(text_of_incident.contains("X INCIDENT >00:"), "{text} {text_of_incident}");
}

#[test]
fn who_is_suspected_keeps_the_head_from_saying_that_nothing_is_guilty() {
    let text = live(&Arc::new(World::suspected(Conclusion::Clear)), 80);
    assert!(text.contains("! suspected") && !text.contains("nothing guilty"), "{text}");
}

#[test]
fn a_replay_says_how_fast_it_is_and_whether_it_stands() {
    let snapshot = World::after(Trouble::None, 10);
    let feed = Feed::Replay {
        name: "night.hwr".to_owned(),
        from: snapshot.began,
        to: None,
        speed: 4.0,
        is_paused: true,
        is_over: false,
    };
    let status = Status { feed, demo: Some("demo: a recording".to_owned()), ..Status::default() };
    insta::assert_snapshot!(head(&Screen::new(), &snapshot, &status, Duration::ZERO, 80), @r"
    ranker-prod   o nothing guilty   p99 95 ms   err 0 %                14:08:10 UTC
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU      REPLAY x4 paused
    ");
}

#[test]
fn what_is_held_still_is_said_once_by_the_banner_and_by_the_head_where_there_is_no_room_for_it() {
    let snapshot = World::after(Trouble::FullLink, 30);
    let late = Duration::from_secs(2);
    let mut screen = Screen::new();
    screen.held = Some(Arc::clone(&snapshot));
    insta::assert_snapshot!(head(&screen, &snapshot, &Status::default(), late, 60), @r"
    ranker-prod   X INCIDENT 00:29   p99 2.9 s x31
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU
    ");
    screen.held = snapshot.back_to(snapshot.at - Duration::from_secs(60)).map(Arc::new);
    insta::assert_snapshot!(head(&screen, &snapshot, &Status::default(), late, 60), @r"
    ranker-prod   o nothing guilty   p99 95 ms
    1Over 2Graph 3Shard 4Slow 5Keys 6Queue 7TTFT 8Client 9GPU
    ");
}

/// The whole screen at this height, held still.
fn held(height: u16) -> String {
    let snapshot = World::after(Trouble::FullLink, 30);
    let (palette, keys, status) = (Palette::mono(Glyphs::Unicode), keys(), Status::default());
    let now = snapshot.at + Duration::from_secs(2);
    let shown = Shown {
        newest: Some(&snapshot),
        now,
        palette: &palette,
        keys: &keys,
        status: &status,
        library: &headwater_engine::library::EMPTY,
    };
    let mut screen = Screen::new();
    screen.held = Some(Arc::clone(&snapshot));
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, height));
    screen.draw(&shown, buffer.area, &mut buffer);
    text_of(&buffer)
}

#[test]
fn a_screen_that_is_held_still_says_so_once_at_every_height() {
    for height in 1..30 {
        let text = held(height);
        assert_eq!(text.matches("FROZEN").count(), 1, "{height} rows:\n{text}");
    }
}

#[test]
fn the_clock_stands_still_whatever_the_numbers_are() {
    for trouble in [Trouble::None, Trouble::FullLink] {
        for seconds in [10, 30, 72, 130] {
            let head = live(&World::after(trouble, seconds), 80);
            assert!(head.lines().next().unwrap().ends_with(" UTC"), "{head}");
        }
    }
}

#[test]
fn spans_are_shown_as_a_clock_shows_them() {
    assert_eq!(lasting(Duration::from_secs(192)), "03:12");
    assert_eq!(lasting(Duration::from_secs(3_792)), "1:03:12");
}
