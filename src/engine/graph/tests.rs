//! What becomes of calls from every origin.

use super::*;
use crate::reading::{Event, Reading, Value};
use crate::settings::Component;
use crate::text::RemoteText;
use crate::time::Moment;

fn subject(name: &str) -> Subject {
    name.parse().unwrap()
}

fn subjects(names: &[&str]) -> BTreeSet<Subject> {
    names.iter().map(|name| subject(name)).collect()
}

fn declared(name: &str, depends_on: &[&str]) -> Component {
    let mut component = Component::new(subject(name));
    component.depends_on = depends_on.iter().map(|callee| subject(callee)).collect();
    component
}

fn call(caller: &str, callee: &str, origin: Origin) -> Call {
    Call { caller: subject(caller), callee: subject(callee), origin }
}

fn of(components: Vec<Component>, calls: Vec<Call>, seen: &[&str]) -> Graph {
    Graph::new(&Settings { components, calls, ..Settings::default() }, &subjects(seen))
}

/// Every call as `caller > callee (origin)`, without the kind of services.
fn told(graph: &Graph) -> Vec<String> {
    let name = |subject: &Subject| subject.as_str().replace("service/", "");
    let told = |edge: &Edge| format!("{} > {} ({:?})", name(&edge.caller), name(&edge.callee), edge.origin);
    graph.edges().map(told).collect()
}

#[test]
fn bare_targets_get_the_usual_edges() {
    let graph =
        of(vec![], vec![], &["client/load", "service/a", "service/b", "queue/a", "queue/b", "redis/r"]);
    let below: Vec<_> = graph.callees(&subject("service/a")).map(Subject::as_str).collect();
    assert_eq!(below, ["queue/a", "redis/r"]);
    assert_eq!(graph.callees(&subject("client/load")).count(), 2);
    assert_eq!(graph.edge(&subject("service/a"), &subject("redis/r")).unwrap().origin, Origin::Usual);
}

#[test]
fn declared_edges_win_and_cycles_are_survived() {
    let components = vec![declared("service/a", &["service/b"]), declared("service/b", &["service/a"])];
    let graph = of(components, vec![], &["redis/r"]);
    let below = graph.below(&subject("service/a"));
    assert_eq!(below.len(), 2, "redis is not reached: the declared edge replaces the inferred ones");
    assert_eq!(graph.dependencies_first().len(), 3);
    assert_eq!(graph.cycles(), [vec![subject("service/a"), subject("service/b")]]);
}

#[test]
fn the_deepest_dependency_is_visited_first() {
    let graph = of(vec![], vec![], &["service/a", "queue/a", "gpu/a"]);
    let order: Vec<_> = graph.dependencies_first().iter().map(|c| c.as_str().to_owned()).collect();
    assert_eq!(order, ["gpu/a", "queue/a", "service/a"]);
    assert!(graph.cycles().is_empty());
}

#[test]
fn callers_come_after_everything_that_a_circle_below_them_calls() {
    let components = vec![
        declared("service/a", &["service/b"]),
        declared("service/b", &["service/c", "redis/r"]),
        declared("service/c", &["service/b", "redis/q"]),
    ];
    let order = of(components, vec![], &[]).dependencies_first();
    let place = |name: &str| order.iter().position(|one| one.as_str() == name).unwrap();
    for below in ["service/b", "service/c", "redis/q", "redis/r"] {
        assert!(place(below) < place("service/a"), "{order:?}");
    }
    assert!(place("redis/q") < place("service/b") && place("redis/r") < place("service/c"), "{order:?}");
}

#[test]
fn each_caller_keeps_the_best_that_is_known_of_it() {
    use Origin::{Catalogued, Observed, StartOrder};
    let calls = vec![
        call("service/a", "service/seen", Observed),
        call("service/a", "service/listed", Catalogued),
        call("service/a", "service/started", StartOrder),
        call("service/b", "service/seen", Observed),
        call("service/b", "service/listed", Catalogued),
        call("service/b", "service/started", StartOrder),
        call("service/c", "service/started", StartOrder),
        call("service/c", "service/c", Observed),
    ];
    let graph = of(vec![declared("service/a", &["service/seen", "redis/r"])], calls, &["queue/b", "queue/a"]);
    let told = told(&graph);
    let about = |name: &str| -> Vec<&str> {
        told.iter().filter_map(|line| line.strip_prefix(name)?.strip_prefix(" > ")).collect()
    };
    assert_eq!(about("a"), ["redis/r (Declared)", "seen (Declared)"]);
    assert_eq!(about("b"), ["queue/b (Usual)", "listed (Catalogued)", "seen (Observed)"]);
    assert_eq!(about("c"), ["started (StartOrder)"], "no caller calls itself");
    assert_eq!(about("started"), ["redis/r (Usual)"], "of it nothing is known");
    assert_eq!(about("listed"), [""; 0], "it was named and no call of it, and redis has its caller");
}

#[test]
fn what_nobody_is_known_to_call_is_supposed_to_be_called_by_those_without_calls() {
    let calls = vec![call("client/load", "service/a", Origin::Observed)];
    let graph = of(vec![], calls, &["redis/r", "queue/a", "gpu/a"]);
    let expected = [
        "client/load > a (Observed)",
        "queue/a > gpu/a (Usual)",
        "a > queue/a (Usual)",
        "a > redis/r (Usual)",
    ];
    assert_eq!(told(&graph), expected);
}

#[test]
fn traffic_that_was_seen_stands_beside_what_was_declared() {
    let calls = vec![call("service/a", "redis/q", Origin::Observed)];
    let graph = of(vec![declared("service/a", &["redis/r"])], calls, &[]);
    assert_eq!(told(&graph), ["a > redis/q (Observed)", "a > redis/r (Declared)"]);
}

#[test]
fn names_of_one_component_merge() {
    let mut ranker = declared("service/ranker", &["redis/features"]);
    ranker.aliases = vec![subject("service/rank-api")];
    let known = vec![ranker, declared("service/checkout", &["service/rank-api"])];
    let calls: Vec<Call> = [
        ("default/checkout", "rank-api"),
        ("checkout.shop.svc.cluster.local:8080", "ranker-service"),
        ("svc-checkout", "shop.ranker"),
    ]
    .iter()
    .map(|(caller, callee)| Call {
        caller: named(Kind::Service, caller),
        callee: named(Kind::Service, callee),
        origin: Origin::Observed,
    })
    .collect();
    let graph = of(known, calls, &["service/rank-api"]);
    assert_eq!(told(&graph), ["checkout > ranker (Declared)", "ranker > redis/features (Declared)"]);
    assert_eq!(graph.components().count(), 3);
}

#[test]
fn what_an_import_means_is_known_by_its_name_whatever_its_kind() {
    let calls = vec![
        call("service/a", "service/features", Origin::Observed),
        call("service/a", "dependency/orders", Origin::Observed),
        call("service/a", "service/ranker", Origin::Observed),
    ];
    let graph = of(vec![], calls, &["redis/features", "queue/ranker", "service/a"]);
    let callees: Vec<&str> = graph.callees(&subject("service/a")).map(Subject::as_str).collect();
    assert_eq!(callees, ["dependency/orders", "redis/features", "service/ranker"]);
}

#[test]
fn an_address_means_the_node_that_has_it() {
    let mut world = World::default();
    let mut reading = Reading::new(subject("redis/features#2@10.0.3.14:6379"), Moment(1_000));
    let node = reading.source.clone();
    reading.sample(&node, crate::metric::REDIS_COMMANDS, Value::Counter(1.0));
    let caller = named(Kind::Service, "ranker");
    let to = |place: &str| Call {
        caller: caller.clone(),
        callee: named(Kind::Dependency, place),
        origin: Origin::Observed,
    };
    reading.events.push(Event::Calls(vec![to("10.0.3.14:6379"), to("10.0.3.15:6379")]));
    world.take(&reading);
    let graph = Graph::of(&Settings::default(), &world);
    let callees: Vec<&str> = graph.callees(&caller).map(Subject::as_str).collect();
    assert_eq!(callees, ["dependency/10.0.3.15:6379", "redis/features"]);
}

#[test]
fn a_gpu_works_for_those_who_run_in_its_machine() {
    let graph = |services: &[&str], gpus: &[&str]| {
        let mut world = World::default();
        for name in services {
            let mut reading = Reading::new(subject(name), Moment(1_000));
            let service = reading.source.clone();
            let queue = service.component_of().as_str().replace("service/", "queue/");
            reading.sample(&service, crate::metric::IN_FLIGHT, Value::Gauge(1.0));
            reading.sample(&subject(&queue), crate::metric::QUEUE_WAITING, Value::Gauge(1.0));
            world.take(&reading);
        }
        for name in gpus {
            // Each beside an exporter of its own, which is no service.
            let place = name.trim_start_matches("gpu/").split(':').next().unwrap();
            let mut reading =
                Reading::new(subject(&format!("service/dcgm-exporter@{place}:9400")), Moment(1_000));
            reading.events.push(Event::Dialects([RemoteText::new("dcgm")].into()));
            let exporter = reading.source.clone();
            reading.sample(&exporter, crate::metric::PROCESS_MEMORY, Value::Gauge(1e7));
            reading.sample(&subject(name), crate::metric::GPU_UTILIZATION, Value::Gauge(0.5));
            world.take(&reading);
        }
        let graph = Graph::of(&Settings::default(), &world);
        let above = |gpu: &&str| {
            let gpu = subject(gpu);
            let callers = graph.callers(&gpu).map(|caller| caller.name().to_owned());
            callers.collect::<Vec<_>>().join(" ")
        };
        gpus.iter().map(above).collect::<Vec<String>>()
    };
    // Those of other machines are nobody's, once all of its own are known.
    let two = ["service/a@10.0.0.1:8000", "service/a@10.0.0.2:8000"];
    let gpus = ["gpu/10.0.0.1:0", "gpu/10.0.0.2:0", "gpu/10.0.0.3:0"];
    assert_eq!(graph(&two, &gpus), ["a", "a", ""]);
    // A machine of its own may bear another name, and a loopback address is no machine's.
    assert_eq!(graph(&two, &["gpu/10.0.0.1:0", "gpu/node-b:0"]), ["a", "a"]);
    let by_name = ["service/a@ranker-0:8000"];
    assert_eq!(graph(&by_name, &gpus), ["a", "a", "a"], "nothing tells where that is");
    let tunnels = ["service/a@127.0.0.1:8000", "service/a@localhost:8001"];
    assert_eq!(graph(&tunnels, &["gpu/127.0.0.1:0", "gpu/node-b:0"]), ["a", "a"]);
    // Of several services each has those of its own machines, and two that share one share its GPUs.
    let others = ["service/a@10.0.0.1:8000", "service/b@10.0.0.2:8000", "service/c@10.0.0.2:8001"];
    assert_eq!(graph(&others, &gpus), ["a", "b c", ""]);
    assert_eq!(graph(&others, &["gpu/node-a:0"]), [""], "nothing tells whose it is");
}

#[test]
fn numbers_about_a_way_make_it_known() {
    let graph = of(
        vec![declared("service/ranker", &["redis/features"])],
        vec![],
        &["edge/ranker>dependency/features", "edge/user>ranker", "edge/a>a", "edge/odd", "graph/tempo"],
    );
    assert_eq!(told(&graph), ["client/user > ranker (Observed)", "ranker > redis/features (Declared)"]);
    let edge = graph.edge(&subject("service/ranker"), &subject("redis/features")).unwrap();
    assert_eq!(edge.measured, [subject("edge/ranker>dependency/features")]);
    assert_eq!(graph.components().count(), 3, "neither ways nor what tells of them are components");
}

#[test]
fn a_walk_goes_down_and_up_with_distances() {
    let components = vec![declared("service/a", &["service/b"]), declared("service/b", &["redis/r"])];
    let graph = of(components, vec![], &[]);
    let below = graph.below(&subject("service/a"));
    assert_eq!(below.into_values().collect::<Vec<_>>(), [2, 0, 1]);
    assert_eq!(graph.above(&subject("redis/r"))[&subject("service/a")], 2);
    assert_eq!(graph.callers(&subject("redis/r")).count(), 1);
    let way = graph.way(&subject("service/a"), &subject("redis/r")).unwrap();
    assert_eq!(way.len(), 3);
    assert_eq!(graph.below(&subject("service/nobody")).len(), 1);
}
