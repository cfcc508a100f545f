mod ending;

use std::sync::Arc;
use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{
    BREAKER_OPEN, CLIENT_ABORTED, CLIENT_ATTEMPTS, CLIENT_ORIGINALS, CLIENT_SUCCESSES, GATEWAY_CONNECTIONS,
    Metric, UPSTREAM_CONNECTED, UPSTREAM_DURATION, UPSTREAM_EJECTED, UPSTREAM_ERRORS, UPSTREAM_READY,
    UPSTREAM_REQUESTS, UPSTREAM_RETRIES, UPSTREAM_TIMEOUT,
};
use headwater_engine::reading::{Input, Reading, Value};
use headwater_engine::settings::Component;
use headwater_engine::{Baselines, Engine, Kind, Moment, Settings};

use super::*;
use crate::action::Action;
use crate::redis_world::{BEGAN, Stage};

const UPSTREAMS: [&str; 3] = ["10.1.0.1:8000", "10.1.0.2:8000", "10.1.0.3:8000"];

fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

fn settings() -> Settings {
    let of = |text: &str, depends_on: &[&str]| Component {
        has_source: true,
        depends_on: depends_on.iter().map(|callee| subject(callee)).collect(),
        ..Component::new(subject(text))
    };
    let mut service = of("service/ranker", &[]);
    service.objective_p99 = Some(Duration::from_millis(500));
    let components =
        vec![of("client/load", &["gateway/edge"]), of("gateway/edge", &["service/ranker"]), service];
    Settings { components, ..Settings::default() }
}

/// A gateway with three upstreams, and a client that counts; from this second on two of the three are taken out in turn
/// and callers ask again and again.
struct World {
    engine: Engine,
    second: i64,
    totals: std::collections::BTreeMap<(Subject, String, Metric), f64>,
    spent: f64,
}

impl World {
    fn new() -> Self {
        let engine = Engine::new(settings(), Baselines::default());
        Self { engine, second: 0, totals: std::collections::BTreeMap::new(), spent: 0.0 }
    }

    fn count(&mut self, reading: &mut Reading, part: &str, metric: Metric, rate: f64) {
        let by = reading.source.clone();
        let total = self.totals.entry((by.clone(), part.to_owned(), metric)).or_insert(0.0);
        *total += rate;
        let value = Value::Counter(*total);
        match part {
            "" => reading.sample(&by, metric, value),
            part => reading.part(&by, metric, part, value),
        }
    }

    fn go_on(&mut self, seconds: i64, is_storm: bool) {
        for _ in 0..seconds {
            self.second += 1;
            let now = BEGAN + Duration::from_secs(self.second.unsigned_abs());
            let mut client = Reading::new(subject("client/load@10.2.0.1:9000"), now);
            self.count(&mut client, "", CLIENT_ORIGINALS, 90.0);
            self.count(&mut client, "", CLIENT_ATTEMPTS, if is_storm { 270.0 } else { 90.0 });
            self.count(&mut client, "", CLIENT_SUCCESSES, if is_storm { 45.0 } else { 90.0 });
            self.count(&mut client, "", CLIENT_ABORTED, if is_storm { 12.0 } else { 0.0 });
            let gateway = self.gateway(now, is_storm);
            for reading in [client, gateway] {
                self.engine.take(&Input::Reading(reading));
            }
            self.engine.take(&Input::Tick(now + Duration::from_millis(500)));
        }
    }

    fn gateway(&mut self, now: Moment, is_storm: bool) -> Reading {
        let by = subject("gateway/edge@10.3.0.1:9901");
        let mut reading = Reading::new(by.clone(), now);
        reading.sample(&by, GATEWAY_CONNECTIONS, Value::Gauge(if is_storm { 2_300.0 } else { 1_200.0 }));
        reading.part(&by, BREAKER_OPEN, "ranker", Value::Gauge(f64::from(u8::from(is_storm))));
        for (place, upstream) in UPSTREAMS.iter().enumerate() {
            let is_sick = is_storm && place < 2;
            let turn = (self.second / 10 + place as i64) % 2;
            let out = if is_sick && turn == 0 { 1.0 } else { 0.0 };
            // Of the two that take turns one is out at any time, and the others have its share.
            let requests = match (is_storm, out > 0.0) {
                (false, _) => 30.0,
                (true, true) => 6.0,
                (true, false) => 132.0,
            };
            self.count(&mut reading, upstream, UPSTREAM_REQUESTS, requests);
            self.count(&mut reading, upstream, UPSTREAM_ERRORS, if is_sick { requests / 3.0 } else { 0.0 });
            self.count(&mut reading, upstream, UPSTREAM_RETRIES, if is_sick { 20.0 } else { 0.0 });
            self.count(&mut reading, upstream, UPSTREAM_CONNECTED, 2.0);
            reading.part(&by, UPSTREAM_EJECTED, upstream, Value::Gauge(out));
            reading.part(&by, UPSTREAM_READY, upstream, Value::Gauge(1.0));
            reading.part(&by, UPSTREAM_TIMEOUT, upstream, Value::Gauge(10.0));
        }
        self.spent += 30.0;
        let histogram = Histogram {
            bounds: [0.1, 0.5].into(),
            counts: [0.0, self.spent].into(),
            count: self.spent,
            sum: Some(self.spent * 0.2),
        };
        reading.part(&by, UPSTREAM_DURATION, UPSTREAMS[0], Value::Histogram(Arc::new(histogram)));
        reading
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.engine.snapshot().unwrap()
    }
}

fn storm() -> Arc<Snapshot> {
    let mut world = World::new();
    world.go_on(120, false);
    world.go_on(65, true);
    world.snapshot()
}

fn stage(snapshot: &Snapshot) -> Stage<'_> {
    Stage { panel: (ROW.make)(), snapshot }
}

#[test]
fn a_healthy_gateway() {
    let mut world = World::new();
    world.go_on(120, false);
    insta::assert_snapshot!("healthy", stage(&world.snapshot()).drawn(80, 24));
}

#[test]
fn a_storm_says_first_what_is_wrong_and_then_who_is_out() {
    let snapshot = storm();
    insta::assert_snapshot!("storm_80", stage(&snapshot).drawn(80, 24));
    insta::assert_snapshot!("storm_160", stage(&snapshot).drawn(160, 40));
    insta::assert_snapshot!("storm_60", stage(&snapshot).drawn(60, 16));
}

#[test]
fn one_upstream_opens_as_a_page_and_closes() {
    let snapshot = storm();
    let mut stage = stage(&snapshot);
    let list = stage.drawn(80, 24);
    stage.act(Action::Open);
    insta::assert_snapshot!("upstream", stage.drawn(80, 24));
    stage.act(Action::Back);
    assert_eq!(stage.drawn(80, 24), list);
}

#[test]
fn a_declared_time_out_goes_before_what_the_page_tells() {
    let mut settings = settings();
    for component in &mut settings.components {
        component.timeout = (component.subject.kind() != Kind::Service).then_some(Duration::from_secs(2));
    }
    let engine = Engine::new(settings, Baselines::default());
    let mut world = World { engine, ..World::new() };
    world.go_on(30, false);
    let drawn = stage(&world.snapshot()).drawn(160, 40);
    for said in
        ["gateway/edge: up to 2 s as declared, 4x the objective", "client/load: up to 2 s as declared"]
    {
        assert!(drawn.contains(said), "{drawn}");
    }
    let snapshot = world.snapshot();
    let mut stage = stage(&snapshot);
    stage.act(Action::Open);
    assert!(stage.drawn(160, 40).contains("timeout    2 s how long the gateway waits"));
}

#[test]
fn nothing_told_is_not_well() {
    let mut world = crate::redis_world::World::new(1, Settings::default());
    world.go_on(3, 3e6, 0.0007);
    let snapshot = world.snapshot();
    let drawn = stage(&snapshot).drawn(80, 6);
    assert!(drawn.contains("? no caller and no gateway tells"), "{drawn}");
}

#[test]
fn what_is_copied_is_the_row_under_the_cursor() {
    let snapshot = storm();
    let copied = stage(&snapshot).copied().unwrap();
    assert!(copied.contains("of gateway/edge@10.3.0.1:9901, out; first suspect: client/load (retry-storm): attempts 6/s, errors 33.3 %"), "{copied}");
}

#[test]
fn every_size_can_be_drawn_whatever_is_open() {
    let snapshot = storm();
    let mut stage = stage(&snapshot);
    stage.draw_every_size();
    stage.act(Action::Open);
    stage.draw_every_size();
}
