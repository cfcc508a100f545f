use std::sync::Arc;

use headwater_engine::Snapshot;
use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{
    MODEL_DURATION, PREFILL_DURATION, PROBE_TTFT, QUEUE_WAIT, REQUEST_DURATION, TTFT,
};
use headwater_engine::reading::{Input, Reading, Value};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, drawn, subject};
use crate::palette::Palette;
use crate::panel::{Intent, Outcome};

/// Bounds of the buckets that a common inference server has, in seconds.
const BOUNDS: &[f64] = &[0.01, 0.02, 0.04, 0.08, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

fn shown(snapshot: &Snapshot, width: u16, height: u16) -> String {
    let mut panel = (ROW.make)();
    drawn(panel.as_mut(), snapshot, &Palette::mono(Glyphs::Ascii), width, height)
}

/// A page's cumulative histogram after so many events of 30 ms and so many of 3 s.
fn page(bounds: &[f64], fast: f64, slow: f64) -> Value {
    let below = |bound: &f64| {
        if *bound < 0.03 {
            0.0
        } else if *bound < 3.0 {
            fast
        } else {
            fast + slow
        }
    };
    Value::Histogram(Arc::new(Histogram {
        bounds: bounds.into(),
        counts: bounds.iter().map(below).collect(),
        count: fast + slow,
        sum: Some(fast * 0.03 + slow * 3.0),
    }))
}

/// Two instances of an inference server, one of which has a slow fifth in the last twenty of a hundred seconds, a third
/// that keeps no buckets, and our own probe.
fn told(restart: bool) -> Arc<Snapshot> {
    let mut world = World::new();
    let [well, ill, plain] =
        ["service/llm@10.1.0.5:8000", "service/llm@10.1.0.6:8000", "service/old@10.1.0.7:8000"].map(subject);
    let (mut fast, mut slow) = (0.0, 0.0);
    for second in 0..100 {
        world.run(1);
        if restart && second == 70 {
            (fast, slow) = (0.0, 0.0);
        }
        (fast, slow) = if second < 80 { (fast + 50.0, slow) } else { (fast + 40.0, slow + 10.0) };
        for (of, bounds, slow) in [(&well, BOUNDS, 0.0), (&ill, BOUNDS, slow), (&plain, &[][..], 0.0)] {
            let mut reading = Reading::new(of.clone(), world.now());
            reading.sample(of, TTFT, page(bounds, fast, slow));
            world.take(&Input::Reading(reading));
        }
        let mut probe = Reading::new(subject("probe/first"), world.now());
        probe.sample(&well, PROBE_TTFT, Value::Gauge(0.9));
        world.take(&Input::Reading(probe));
    }
    world.run(1);
    world.snapshot()
}

#[test]
fn the_slowest_instance_stands_first_with_its_buckets_over_time() {
    insta::assert_snapshot!("160x48", shown(&told(false), 160, 48));
    insta::assert_snapshot!("80x24", shown(&told(false), 80, 24));
}

#[test]
fn what_was_before_a_restart_stays_on_the_map() {
    let screen = shown(&told(true), 120, 40);
    let fast = screen.lines().find(|line| line.starts_with("<= 40 ms")).expect("a row of the map");
    let strip = fast.trim_end().chars().rev().take_while(|shade| "#+-. ".contains(*shade));
    let cells: String = strip.collect::<Vec<_>>().into_iter().rev().collect();
    assert!(cells.trim().len() >= 9, "the whole time is shown, not only that since the restart: {screen}");
}

#[test]
fn the_past_shows_its_own_buckets() {
    let snapshot = told(false);
    let before = snapshot.back_to(snapshot.at - std::time::Duration::from_secs(25)).unwrap();
    let screen = shown(&before, 120, 40);
    assert!(!screen.contains("<= 5 s"), "nothing was slow then:\n{screen}");
    assert!(shown(&snapshot, 120, 40).contains("<= 5 s"));
}

#[test]
fn a_page_without_buckets_gives_a_mean_and_says_so() {
    let snapshot = told(false);
    let (palette, keys) = (Palette::mono(Glyphs::Ascii), crate::example::keys());
    let view = crate::example::live(&snapshot, &palette, &keys);
    let mut panel = (ROW.make)();
    panel.open(&subject("queue/old@10.1.0.7:8000"));
    let screen = drawn(panel.as_mut(), &snapshot, &palette, 100, 30);
    for words in ["TTFT mean", "30 ms", "only a mean is known", "max 30 ms"] {
        assert!(screen.contains(words), "no '{words}' in\n{screen}");
    }
    assert!(panel.copied(&view).is_some_and(|text| text.contains("mean 30 ms") && !text.contains("p99")));
}

#[test]
fn a_probe_that_waits_much_longer_than_the_server_says_is_told() {
    let snapshot = told(false);
    let mut panel = (ROW.make)();
    panel.open(&subject("service/llm@10.1.0.5:8000"));
    let screen = drawn(panel.as_mut(), &snapshot, &Palette::mono(Glyphs::Ascii), 140, 40);
    assert!(screen.contains("our probe waited 900 ms"), "{screen}");
    assert!(screen.contains("lost before the server"), "{screen}");
}

#[test]
fn an_engine_without_a_first_token_is_named_as_what_it_is() {
    let mut world = World::new();
    world.run(30);
    let screen = shown(&world.snapshot(), 100, 30);
    let slow = shown(&World::after(Trouble::FullLink, 20), 100, 30);
    assert!(
        slow.contains("<= 3 s") && slow.contains(" %! "),
        "what is slower than the objective is marked: {slow}"
    );
    assert!(screen.contains("request") && screen.contains("tells no time to the first token"), "{screen}");
    assert!(shown(&World::after(Trouble::Nothing, 5), 80, 10).contains("no page tells how long"));
}

/// A server that tells how long requests wait and prompts are read, and when a first token comes only `with` it.
fn in_parts(with: bool) -> String {
    let mut world = World::new();
    let [service, queue] = ["service/tgi@10.1.0.9:80", "queue/tgi@10.1.0.9:80"].map(subject);
    for second in 1..=40 {
        world.run(1);
        // Twenty requests a second wait 200 ms, prompts of four batches a second are read in 80 ms each.
        let told = |count: f64, each: f64| {
            let count = f64::from(second) * count;
            let sum = Some(count * each);
            Value::Histogram(Arc::new(Histogram { bounds: [].into(), counts: [].into(), count, sum }))
        };
        let mut reading = Reading::new(service.clone(), world.now());
        reading.sample(&service, MODEL_DURATION, told(20.0, 3.0));
        reading.sample(&queue, QUEUE_WAIT, told(20.0, 0.2));
        reading.sample(&service, PREFILL_DURATION, told(4.0, 0.08));
        if with {
            reading.sample(&service, TTFT, told(20.0, 0.4));
        }
        world.take(&Input::Reading(reading));
    }
    world.run(1);
    let snapshot = world.snapshot();
    let mut panel = (ROW.make)();
    panel.open(&service);
    drawn(panel.as_mut(), &snapshot, &Palette::mono(Glyphs::Ascii), 140, 40)
}

#[test]
fn where_no_first_token_is_told_its_mean_is_estimated_of_its_parts_and_called_so() {
    let screen = in_parts(false);
    let said = "an estimate: a first token comes after about 280 ms on average, 200 ms in the queue and 80 ms for the prompt";
    assert!(screen.contains(said), "{screen}");
    assert!(!in_parts(true).contains("estimate"));
}

#[test]
fn whole_requests_that_seem_quicker_than_their_first_token_say_why() {
    let mut world = World::new();
    let of = subject("service/llm@10.1.0.5:8000");
    for second in 1..=100_u32 {
        world.run(1);
        let seconds = f64::from(second);
        let mut reading = Reading::new(of.clone(), world.now());
        // Of those that get a token a fifth are slow; most get none, and end at once.
        reading.sample(&of, TTFT, page(BOUNDS, 40.0 * seconds, 10.0 * seconds));
        reading.sample(&of, REQUEST_DURATION, page(BOUNDS, 5_000.0 * seconds, 10.0 * seconds));
        world.take(&Input::Reading(reading));
    }
    world.run(1);
    let mut panel = (ROW.make)();
    panel.open(&of);
    let screen = drawn(panel.as_mut(), &world.snapshot(), &Palette::mono(Glyphs::Ascii), 160, 40);
    assert!(screen.contains("who is refused or gives up ends early"), "{screen}");
    let overview = drawn(
        (crate::panel::PANELS[0].make)().as_mut(),
        &world.snapshot(),
        &Palette::mono(Glyphs::Ascii),
        120,
        40,
    );
    assert!(overview.contains("who is refused or gives up ends early"), "{overview}");
    let of_alone = shown(&told(false), 160, 40);
    assert!(!of_alone.contains("gives up ends early"), "{of_alone}");
}

#[test]
fn a_victim_says_whose() {
    let screen = shown(&World::after(Trouble::FullLink, 20), 160, 40);
    assert!(screen.contains("victim of redis/features#2 (shard-bandwidth)"), "{screen}");
}

#[test]
fn any_size_will_do() {
    let snapshot = told(false);
    for (width, height) in [(0, 0), (1, 1), (3, 40), (200, 1), (12, 12), (25, 9), (80, 24), (300, 90)] {
        shown(&snapshot, width, height);
    }
}

#[test]
fn rows_are_sorted_filtered_and_copied() {
    let snapshot = told(false);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), crate::example::keys());
    let view = crate::example::live(&snapshot, &palette, &keys);
    let mut panel = (ROW.make)();
    assert_eq!(panel.act(Action::Sort, &view), Outcome::Done);
    panel.open(&subject("queue/ranker@10.1.0.1:8000"));
    let queue = Intent::Show("queue", Some(subject("queue/ranker@10.1.0.1:8000")));
    assert_eq!(panel.act(Action::Open, &view), Outcome::Wants(queue));
    panel.open(&subject("service/old@10.1.0.7:8000"));
    assert!(matches!(panel.act(Action::Open, &view), Outcome::Refused(_)));
    assert!(panel.fields().iter().any(|field| field.name == "p99"));
    panel.open(&subject("service/llm@10.1.0.6:8000"));
    let first = panel.copied(&view).expect("a row");
    assert!(first.contains("p99") && first.contains("TTFT"), "{first}");
}
