//! The dependencies that Jaeger and Zipkin find in traces: `[{"parent", "child", "callCount"}]`, bare or in `data`.

use headwater_engine::Kind;
use headwater_engine::graph::named;
use headwater_engine::reading::{Call, Origin};

use super::Import;
use super::tree::{Node, Value, documents};

const EXPECTED: &str =
    "expected the answer of /api/dependencies: [{\"parent\": \"a\", \"child\": \"b\", \"callCount\": 1}]";

/// Reads the calls between parents and children.
pub(super) fn read(text: &str, import: &mut Import) {
    let documents = documents(text, import);
    let Some(root) = documents.first() else {
        if import.problems.is_empty() {
            import.complain(Some(1), format!("this is empty: {EXPECTED}"));
        }
        return;
    };
    let list = root.get("data").unwrap_or(root);
    match &list.value {
        Value::List(links) => links.iter().for_each(|link| take(link, import)),
        // A server that has nothing says so in this way.
        Value::Nothing if root.get("data").is_some() => {}
        _ => import
            .complain(Some(list.line), format!("this is {} and no list of calls: {EXPECTED}", list.what())),
    }
}

fn take(link: &Node, import: &mut Import) {
    let end = |key: &'static str| link.get(key).and_then(Node::text).ok_or(key);
    match (end("parent"), end("child")) {
        (Ok(parent), Ok(child)) => import.calls.push(Call {
            caller: named(Kind::Service, parent),
            callee: named(Kind::Service, child),
            origin: Origin::Observed,
        }),
        (Err(key), _) | (_, Err(key)) => {
            let line = link.get(key).map_or(link.line, |value| value.line);
            let found = link.get(key).map_or("is missing".to_owned(), |value| format!("is {}", value.what()));
            import.complain(Some(line), format!("'{key}' {found}: expected the name of a service"));
        }
    }
}
