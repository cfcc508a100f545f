//! Each format with what is right and what is wrong in it.

use proptest::prelude::*;

use super::*;

fn read(name: &str, text: &str) -> Import {
    Import::of(format(name).unwrap(), text)
}

fn calls(import: &Import) -> Vec<String> {
    import.calls.iter().map(|call| format!("{} > {}", call.caller, call.callee)).collect()
}

/// The problems as they are told, of a file `f`.
fn told(import: &Import) -> Vec<String> {
    import.fault("f").map(|fault| fault.to_string().lines().map(str::to_owned).collect()).unwrap_or_default()
}

const JAEGER: &str = r#"{"data":[
	{"parent":"frontend","child":"checkout","callCount":120},
	{"parent":"checkout","child":"shop/payment","callCount":3}
],"total":0,"errors":null}"#;

#[test]
fn jaeger_wraps_its_list_and_zipkin_does_not() {
    let jaeger = read("jaeger", JAEGER);
    assert_eq!(calls(&jaeger), ["service/checkout > service/payment", "service/frontend > service/checkout"]);
    assert_eq!(told(&jaeger), [""; 0]);
    let zipkin = read("zipkin", r#"[{"parent":"a","child":"b","callCount":9,"errorCount":1}]"#);
    assert_eq!(calls(&zipkin), ["service/a > service/b"]);
    assert_eq!(read("jaeger", r#"{"data":null}"#), Import::default());
    assert_eq!(read("jaeger", r#"{"data":[]}"#), Import::default());
}

#[test]
fn a_link_that_names_nobody_is_told_and_the_rest_is_there() {
    let text = "[\n{\"parent\": \"a\", \"child\": \"b\"},\n{\"parent\": \"a\"},\n{\"parent\": [1],\n \"child\": \"c\"},\n7]";
    let import = read("zipkin", text);
    assert_eq!(calls(&import), ["service/a > service/b"]);
    assert_eq!(
        told(&import),
        [
            "f:3: 'child' is missing: expected the name of a service",
            "f:4: 'parent' is a list: expected the name of a service",
            "f:6: 'parent' is missing: expected the name of a service",
        ]
    );
}

#[test]
fn what_is_no_list_of_calls_is_told_with_what_was_expected() {
    for (text, beginning) in [
        ("", "f:1: this is empty: expected the answer of /api/dependencies"),
        ("{\"data\": 3}", "f:1: this is '3' and no list of calls: expected the answer of /api/dependencies"),
        ("[\n{\"parent\": \"a\",\n", "f:"),
        ("<html>", "f:1: this is '<html>' and no list of calls"),
    ] {
        let told = told(&read("jaeger", text));
        assert!(told.len() == 1 && told[0].starts_with(beginning), "{text}: {told:?}");
    }
}

#[test]
fn problems_beyond_the_first_twenty_are_counted() {
    let import = read("zipkin", &format!("[{}]", ["7"; 100].join(",\n")));
    let told = told(&import);
    assert_eq!((told.len(), told.last().map(String::as_str)), (21, Some("f: and 80 more problems")));
}

#[test]
fn what_only_looks_at_a_server_is_not_that_server() {
    for (image, callee) in [
        ("redis:7-alpine", "redis/x"),
        ("redis/redis-stack-server", "redis/x"),
        ("oliver006/redis_exporter:v1.62.0", "service/x"),
        ("bitnami/postgresql:16", "dependency/x"),
        ("prometheuscommunity/postgres-exporter", "service/x"),
        ("confluentinc/cp-kafka:7.6", "kafka/x"),
        ("provectuslabs/kafka-ui", "service/x"),
        ("nginx/nginx-prometheus-exporter:1", "service/x"),
        ("nginx", "gateway/x"),
        ("shop/rediscovery", "service/x"),
    ] {
        let text = format!("services:\n  a:\n    depends_on: [x]\n  x:\n    image: {image}\n");
        assert_eq!(calls(&read("compose", &text)), [format!("service/a > {callee}")], "{image}");
    }
}

#[test]
fn compose_files_hint_at_calls_in_both_forms() {
    let import = read(
        "compose",
        "services:\n  web:\n    image: shop/web:1\n    depends_on: [api, cache]\n  api:\n    depends_on:\n      db:\n        \
         condition: service_healthy\n      cache: {condition: service_started}\n  db:\n    image: docker.io/library/postgres:16\n  \
         cache:\n    image: redis:7@sha256:00\n",
    );
    assert_eq!(told(&import), [""; 0]);
    assert_eq!(
        calls(&import),
        [
            "service/api > dependency/db",
            "service/api > redis/cache",
            "service/web > redis/cache",
            "service/web > service/api"
        ]
    );
    assert!(import.calls.iter().all(|call| call.origin == headwater_engine::reading::Origin::StartOrder));
}

#[test]
fn compose_files_say_what_is_wrong_in_them() {
    let import = read(
        "compose",
        "services:\n  web:\n    depends_on: api\n  api:\n    depends_on:\n      - web\n      - nobody\n      - [x]\n",
    );
    assert_eq!(calls(&import), ["service/api > service/web"]);
    assert_eq!(
        told(&import),
        [
            "f:3: 'depends_on' of 'web' is 'api': expected a list of services, or a table with a condition each",
            "f:7: 'depends_on' of 'api' names 'nobody': expected a service of this file",
            "f:8: 'depends_on' of 'api' holds a list: expected the name of a service",
        ]
    );
    assert_eq!(
        told(&read("compose", "# only\n\nversion: '3'\n")),
        ["f:3: 'services' is missing: expected a compose file with its services"]
    );
    assert_eq!(
        told(&read("compose", "services: 3\n")),
        ["f:1: 'services' is '3': expected a table of services"]
    );
}

const CATALOGUE: &str = "\
apiVersion: backstage.io/v1alpha1
kind: Component
metadata:
  name: ranker
  namespace: ml
spec:
  type: service
  dependsOn:
    - resource:default/features
    - Component:ml/scorer
    - scorer-two
    - system:shop
---
kind: Resource
metadata: { name: orders }
spec:
  dependencyOf: [component:ranker]
---
kind: User
metadata: { name: someone }
";

#[test]
fn catalogues_name_both_ends_with_defaults() {
    let import = read("backstage", CATALOGUE);
    assert_eq!(told(&import), [""; 0]);
    assert_eq!(
        calls(&import),
        [
            "service/ranker > dependency/features",
            "service/ranker > dependency/orders",
            "service/ranker > service/scorer",
            "service/ranker > service/scorer-two"
        ]
    );
}

#[test]
fn one_broken_entity_costs_only_itself() {
    let text = format!(
        "{CATALOGUE}---\nkind: [Component\n---\nkind: Component\nmetadata: {{}}\nspec: {{}}\n---\nname: x\n---\n\
        kind: Component\nmetadata:\n  name: a\nspec:\n  dependsOn:\n    - 'component:'\n    - b\n  dependencyOf: c\n"
    );
    let import = read("backstage", &text);
    assert_eq!(import.calls.len(), 5);
    let told = told(&import);
    assert!(told[0].starts_with("f:2") && told[0].contains("this cannot be read"), "{told:?}");
    assert_eq!(told[1], "f:25: 'metadata.name' is missing: expected the name of the entity");
    assert_eq!(
        told[2],
        "f:28: 'kind' is missing: expected an entity of a catalogue, such as kind: Component"
    );
    assert!(told[3].starts_with("f:35: 'dependsOn' holds 'component:': expected [kind:]"), "{told:?}");
    assert!(told[4].starts_with("f:37: 'dependencyOf' is 'c': expected a list of [kind:]"), "{told:?}");
}

#[test]
fn too_much_is_cut_and_told() {
    let links: Vec<String> =
        (0..=MOST_CALLS).map(|place| format!("{{\"parent\": \"a\", \"child\": \"b{place}\"}}")).collect();
    let import = read("jaeger", &format!("[{}]", links.join(",\n")));
    assert_eq!(import.calls.len(), MOST_CALLS);
    assert_eq!(told(&import), ["f: holds 5001 calls: only 5000 are taken"]);
    let many = read("zipkin", &format!("[{}]", vec!["1"; 100].join(",\n")));
    assert_eq!(many.problems.len(), MOST_PROBLEMS);
    assert!(read("compose", &"a".repeat(LONGEST + 1)).calls.is_empty());
}

proptest! {
    #[test]
    fn no_bytes_break_a_reader(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for format in FORMATS {
            Import::of(format, &String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn no_mangled_text_breaks_a_reader(cut in 0_usize..400, put in "[\\[\\]{}:,'\"&*!|>%@#\\- \\n\\ta-z<]{0,6}") {
        for (format, text) in [("jaeger", JAEGER), ("backstage", CATALOGUE), ("compose", CATALOGUE)] {
            let cut = cut.min(text.len());
            read(format, &format!("{}{put}{}", &text[..cut], &text[cut..]));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn no_depth_takes_the_stack_of_a_worker() {
    for open in ["[", "{\"a\":", "- "] {
        for depth in [20, 30, 63, 64, 65, 2_000] {
            let text = open.repeat(depth);
            let read = move || read("jaeger", &text).calls.len();
            let calls = tokio::spawn(async move { read() }).await;
            assert_eq!(calls.ok(), Some(0), "{depth} x '{open}'");
        }
    }
}

#[test]
fn a_pipe_is_not_waited_for_and_a_giant_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let giant = folder.path().join("giant.json");
    std::fs::File::create(&giant).unwrap().set_len(3 << 30).unwrap();
    for path in [Path::new("/dev/zero"), folder.path(), &giant] {
        let import = Import::of_file(format("jaeger").unwrap(), path);
        assert!(import.problems[0].sentence.contains("cannot be read"), "{:?}", import.problems);
    }
}
