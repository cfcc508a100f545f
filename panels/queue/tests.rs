use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{BATCH_MAX, BATCH_SIZE, GPU_UTILIZATION, KV_USAGE, QUEUE_WAITING_WHY};
use headwater_engine::reading::{Input, Reading, Sample, Value};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{Trouble, World, drawn, subject};
use crate::palette::Palette;
use crate::panel::Outcome;

fn shown(snapshot: &headwater_engine::Snapshot, width: u16, height: u16) -> String {
    let mut panel = (ROW.make)();
    drawn(panel.as_mut(), snapshot, &Palette::mono(Glyphs::Unicode), width, height)
}

/// A deployment whose queue also tells of batches, the KV cache and why requests wait.
fn told() -> std::sync::Arc<headwater_engine::Snapshot> {
    let is_gpu = |subject: &Subject| subject.kind() == headwater_engine::Kind::Gpu;
    let mut world = World::with(|settings| settings.components.retain(|one| !is_gpu(&one.subject)));
    world.run(30);
    let queue =
        world.snapshot().history.subjects().find(|it| it.kind() == headwater_engine::Kind::Queue).cloned();
    let queue = queue.expect("the example has a queue");
    // Ten batches of four requests each between two scrapes.
    for batches in [10.0, 20.0] {
        world.run(1);
        let mut reading = Reading::new(subject("service/extra@10.1.0.9:1"), world.now());
        reading.sample(&queue, BATCH_MAX, Value::Gauge(64.0));
        reading.sample(&queue, KV_USAGE, Value::Gauge(0.97));
        let sizes = Histogram {
            bounds: [4.0].into(),
            counts: [batches].into(),
            count: batches,
            sum: Some(batches * 4.0),
        };
        reading.sample(&queue, BATCH_SIZE, Value::Histogram(std::sync::Arc::new(sizes)));
        // Of a machine, as every source names it: the only one there is, so it is the one behind the queue.
        reading.sample(&subject("gpu/box:0"), GPU_UTILIZATION, Value::Gauge(0.41));
        reading.samples.push(Sample {
            subject: queue.clone(),
            metric: QUEUE_WAITING_WHY.into(),
            part: Some("capacity".into()),
            value: Value::Gauge(3.0),
        });
        world.take(&Input::Reading(reading));
    }
    world.take(&Input::Tick(world.now()));
    world.snapshot()
}

#[test]
fn each_instance_has_its_wait_and_its_curves() {
    let screen = shown(&told(), 120, 20);
    for words in [
        "Queues",
        "waiting",
        "wait",
        "97 %",
        "41 %",
        "6.2 %",
        "waiting for capacity (3)",
        "over time",
        "GPU busy",
    ] {
        assert!(screen.contains(words), "no '{words}' in\n{screen}");
    }
    assert!(!screen.contains("GPU busy  ? no source"), "{screen}");
}

#[test]
fn what_nobody_tells_is_unknown_and_not_zero() {
    let mut world = World::new();
    world.run(30);
    let screen = shown(&world.snapshot(), 120, 20);
    assert!(screen.contains("GPU busy  ? no source"), "{screen}");
    let nothing = World::after(Trouble::Nothing, 5);
    assert!(shown(&nothing, 80, 10).contains("no page tells of a queue"));
}

#[test]
fn any_size_will_do() {
    let snapshot = told();
    for (width, height) in [(0, 0), (1, 1), (3, 40), (200, 1), (12, 9), (80, 24)] {
        shown(&snapshot, width, height);
    }
}

#[test]
fn a_row_is_copied_in_words() {
    let snapshot = told();
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), crate::example::keys());
    let mut panel = (ROW.make)();
    let view = crate::example::live(&snapshot, &palette, &keys);
    assert!(panel.copied(&view).is_some_and(|text| text.contains("queue/ranker") && text.contains("wait ")));
    assert_eq!(panel.act(Action::Sort, &view), Outcome::Done);
}
