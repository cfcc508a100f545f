//! The cursor along calls, what is said of them, and every size.

use super::*;

/// What stands after the word `call` below the picture.
fn call(panel: &mut dyn Panel, snapshot: &Snapshot) -> String {
    let drawn = look(panel, snapshot, 160, 44);
    drawn.lines().find_map(|line| Some(line.strip_prefix("call ")?.trim().to_owned())).unwrap_or_default()
}

#[test]
fn arrows_walk_along_calls_and_say_what_is_known_of_them() {
    let (mut panel, snapshot) = (panel(), shop());
    panel.open(&subject("service/checkoutservice"));
    let mut walk = |action| -> String {
        assert_eq!(press(panel.as_mut(), &snapshot, &[action]), [Outcome::Done], "{action:?}");
        call(panel.as_mut(), &snapshot)
    };
    assert_eq!(walk(Action::Left), "frontendservice -> checkoutservice: traffic seen, no numbers on the way");
    assert!(
        walk(Action::Right).starts_with("frontendservice -> checkoutservice:"),
        "back to where it came from"
    );
    assert!(
        walk(Action::Down).starts_with("frontendservice -> recommendationservice:"),
        "the next of its layer"
    );
    assert!(walk(Action::Up).starts_with("frontendservice -> checkoutservice:"));
    assert!(walk(Action::Right).starts_with("checkoutservice -> emailservice:"), "the first of its callees");
    assert!(walk(Action::Down).starts_with("checkoutservice -> paymentservice:"));
    assert!(walk(Action::Down).starts_with("checkoutservice -> cartservice:"));
    assert_eq!(
        walk(Action::Right),
        "cartservice -> redis/cart: a hint: starts after it, no numbers on the way"
    );
    let refused = press(panel.as_mut(), &snapshot, &[Action::Right]);
    assert_eq!(refused, [Outcome::Refused("redis/cart is known to call nobody".to_owned())]);
}

#[test]
fn a_neighbourhood_moves_with_the_cursor_and_siblings_are_those_of_the_call() {
    let (mut panel, snapshot) = (panel(), shop());
    let heading = |panel: &mut dyn Panel| look(panel, &snapshot, 80, 21).lines().next().unwrap().to_owned();
    assert!(heading(panel.as_mut()).starts_with("─ Graph: around frontendservice, "));
    press(panel.as_mut(), &snapshot, &[Action::Right]);
    assert!(
        heading(panel.as_mut()).starts_with("─ Graph: around adservice, "),
        "{}",
        heading(panel.as_mut())
    );
    press(panel.as_mut(), &snapshot, &[Action::Bottom]);
    assert!(heading(panel.as_mut()).starts_with("─ Graph: around shippingservice, "));
    press(panel.as_mut(), &snapshot, &[Action::Left]);
    assert!(heading(panel.as_mut()).starts_with("─ Graph: around frontendservice, "));
}

#[test]
fn enter_opens_what_shows_most_and_copy_tells_every_call() {
    let (mut panel, snapshot) = (panel(), World::after(Trouble::FullLink, 60));
    let wants = press(panel.as_mut(), &snapshot, &[Action::Open]).remove(0);
    let Outcome::Wants(Intent::Show("shards", Some(shard))) = wants else { panic!("{wants:?}") };
    assert_eq!(shard.as_str(), "redis/features#2");
    let (keys, palette) = (keys(), plain());
    let view = live(&snapshot, &palette, &keys);
    assert_eq!(
        panel.copied(&view).unwrap(),
        "redis/features guilty\nranker -> redis/features: supposed: nothing tells of it, no numbers on the way, \
         on the critical path"
    );
    // Where all are well, what is marked and described is copied.
    let (mut well, shop) = (self::panel(), shop());
    look(well.as_mut(), &shop, 160, 44);
    let copied = well.copied(&View { snapshot: &shop, now: shop.at, ..view }).unwrap();
    assert!(copied.starts_with("service/frontendservice "), "{copied}");
    panel.open(&subject("gpu/ranker"));
    let refused = panel.act(Action::Open, &view);
    assert!(matches!(&refused, Outcome::Refused(why) if why.contains("nothing to show")), "{refused:?}");
}

#[test]
fn circles_are_told() {
    let mut world = World::with(|settings| {
        settings.calls = boutique();
        settings.calls.push(Call {
            caller: subject("service/emailservice"),
            callee: subject("service/checkoutservice"),
            origin: Origin::Observed,
        });
    });
    world.run(2);
    let drawn = look(panel().as_mut(), &world.snapshot(), 160, 44);
    assert!(drawn.contains("cycle      checkoutservice -> emailservice -> checkoutservice"), "{drawn}");
    assert!(drawn.contains('◂'), "the call that leads back points back");
}

#[test]
fn numbers_of_a_way_stand_on_its_line_and_not_on_that_of_the_past() {
    use headwater_engine::metric::{EDGE_ERRORS, EDGE_REQUESTS};
    use headwater_engine::reading::{Input, Reading, Value};
    let mut world = World::new();
    for second in 1..=30_u32 {
        let mut reading = Reading::new(subject("graph/tempo@h:1"), world.now());
        let way = subject("edge/load>service/ranker");
        reading.sample(&way, EDGE_REQUESTS, Value::Counter(f64::from(second) * 50.0));
        reading.sample(&way, EDGE_ERRORS, Value::Counter(f64::from(second)));
        world.take(&Input::Reading(reading));
        world.run(1);
    }
    let snapshot = world.snapshot();
    let mut panel = panel();
    panel.open(&subject("client/load"));
    let drawn = look(panel.as_mut(), &snapshot, 160, 30);
    assert!(drawn.contains("─ 50/s 2 % err ─"), "{drawn}");
    assert!(
        call(panel.as_mut(), &snapshot).starts_with("client/load -> ranker: traffic seen, 50/s, 2 % fail"),
        "{drawn}"
    );
    let past = snapshot.back_to(snapshot.at - std::time::Duration::from_secs(10)).unwrap();
    assert!(call(panel.as_mut(), &past).contains("its numbers are not kept"));
}

#[test]
fn the_layout_is_kept_while_the_graph_is_the_same() {
    let mut world = World::new();
    world.run(3);
    let first = world.snapshot();
    world.run(1);
    let second = world.snapshot();
    assert!(Arc::ptr_eq(&first.graph, &second.graph), "snapshots share a graph that has not changed");
    let mut laid = Laid::default();
    laid.renew(&first.graph, None);
    let place = laid.layout.layers.as_ptr();
    laid.renew(&second.graph, None);
    assert_eq!(place, laid.layout.layers.as_ptr());
    laid.renew(&second.graph, Some(BTreeSet::new()));
    assert_eq!(laid.layout, Layout::default());
}

#[test]
fn every_size_can_be_drawn() {
    let empty = {
        let mut world = World::with(|settings| settings.components.clear());
        world.trouble = Trouble::Nothing;
        world.run(1);
        world.snapshot()
    };
    let incident = World::after(Trouble::FullLink, 40);
    for snapshot in [shop(), incident, empty] {
        let mut panel = panel();
        for (width, height) in
            [(0, 0), (1, 1), (2, 3), (10, 2), (20, 7), (40, 60), (300, 90), (300, 1), (1, 90)]
        {
            for glyphs in [headwater_widgets::Glyphs::Unicode, headwater_widgets::Glyphs::Ascii] {
                let drawn = drawn(panel.as_mut(), &snapshot, &Palette::mono(glyphs), width, height);
                assert!(glyphs == headwater_widgets::Glyphs::Unicode || drawn.is_ascii(), "{drawn}");
            }
        }
    }
}
