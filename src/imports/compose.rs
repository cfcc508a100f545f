//! Compose files: `depends_on` says what starts before what, which is a hint at who calls whom.

use headwater_engine::graph::named;
use headwater_engine::reading::{Call, Origin};
use headwater_engine::{Kind, Subject};

use super::Import;
use super::tree::{Node, Value, documents};

/// What an image is, by a word of its name; everything else is a service.
const IMAGES: &[(&str, Kind)] = &[
    ("redis", Kind::Redis),
    ("valkey", Kind::Redis),
    ("kafka", Kind::Kafka),
    ("redpanda", Kind::Kafka),
    ("postgres", Kind::Dependency),
    ("postgresql", Kind::Dependency),
    ("mysql", Kind::Dependency),
    ("mariadb", Kind::Dependency),
    ("mongo", Kind::Dependency),
    ("mongodb", Kind::Dependency),
    ("elasticsearch", Kind::Dependency),
    ("opensearch", Kind::Dependency),
    ("qdrant", Kind::Dependency),
    ("milvus", Kind::Dependency),
    ("etcd", Kind::Dependency),
    ("consul", Kind::Dependency),
    ("nacos", Kind::Dependency),
    ("memcached", Kind::Dependency),
    ("nginx", Kind::Gateway),
    ("envoy", Kind::Gateway),
    ("haproxy", Kind::Gateway),
    ("traefik", Kind::Gateway),
];

/// Words of images that only look at what they are named after, or stand beside it: `redis_exporter`, `kafka-ui`.
const ONLOOKERS: &[&str] = &[
    "exporter",
    "ui",
    "commander",
    "express",
    "admin",
    "dashboards",
    "insight",
    "backup",
    "operator",
    "sentinel",
    "connect",
    "rest",
];

/// Reads what each service starts after.
pub(super) fn read(text: &str, import: &mut Import) {
    for document in documents(text, import) {
        let Some(services) = document.get("services") else {
            let sentence = "'services' is missing: expected a compose file with its services";
            import.complain(Some(document.line), sentence);
            continue;
        };
        let Value::Table(entries) = &services.value else {
            let sentence = format!("'services' is {}: expected a table of services", services.what());
            import.complain(Some(services.line), sentence);
            continue;
        };
        for (name, service) in entries {
            let Some(before) = service.get("depends_on") else { continue };
            let caller = component(name, service);
            for (line, callee) in started_before(name, before, import) {
                match entries.iter().find(|(known, _)| *known == callee) {
                    Some((known, service)) => import.calls.push(Call {
                        caller: caller.clone(),
                        callee: component(known, service),
                        origin: Origin::StartOrder,
                    }),
                    None => import.complain(
                        Some(line),
                        format!("'depends_on' of '{name}' names '{callee}': expected a service of this file"),
                    ),
                }
            }
        }
    }
}

/// The names in a `depends_on`, which is a list or a table, with their lines.
fn started_before(service: &str, before: &Node, import: &mut Import) -> Vec<(usize, String)> {
    match &before.value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| {
                let name = item.text();
                if name.is_none() {
                    let sentence = format!(
                        "'depends_on' of '{service}' holds {}: expected the name of a service",
                        item.what()
                    );
                    import.complain(Some(item.line), sentence);
                }
                Some((item.line, name?.to_owned()))
            })
            .collect(),
        Value::Table(entries) => entries.iter().map(|(name, value)| (value.line, name.clone())).collect(),
        Value::Nothing => vec![],
        Value::Text(_) => {
            let sentence = format!(
                "'depends_on' of '{service}' is {}: expected a list of services, or a table with a condition each",
                before.what()
            );
            import.complain(Some(before.line), sentence);
            vec![]
        }
    }
}

fn component(name: &str, service: &Node) -> Subject {
    let image = service.get("image").and_then(Node::text).unwrap_or_default();
    let image = image.rsplit('/').next().unwrap_or_default().split([':', '@']).next().unwrap_or_default();
    named(kind_of(image), name)
}

/// What an image is, by the words of its name.
fn kind_of(image: &str) -> Kind {
    let words = || image.split(['-', '_', '.']);
    if words().any(|word| ONLOOKERS.contains(&word)) {
        return Kind::Service;
    }
    let row = IMAGES.iter().find(|(name, _)| words().any(|word| word == *name));
    row.map_or(Kind::Service, |(_, kind)| *kind)
}
