//! The software catalogue of Backstage: `dependsOn` and `dependencyOf` of components and resources, many documents in
//! one file.

use headwater_engine::graph::named;
use headwater_engine::reading::{Call, Origin};
use headwater_engine::{Kind, Subject};

use super::Import;
use super::tree::{Node, Value, documents};

/// Which entities take part in the graph; the others own, group or describe.
const ENTITIES: &[(&str, Kind)] = &[("component", Kind::Service), ("resource", Kind::Dependency)];

/// The kind of a reference that names none.
const USUAL_KIND: &str = "component";

/// Reads what each entity depends on, and what depends on it.
pub(super) fn read(text: &str, import: &mut Import) {
    for entity in documents(text, import) {
        let Some(kind) = entity.get("kind").and_then(Node::text) else {
            let sentence = "'kind' is missing: expected an entity of a catalogue, such as kind: Component";
            import.complain(Some(entity.line), sentence);
            continue;
        };
        let Some(kind) = of_word(kind) else { continue };
        let Some(name) =
            entity.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Node::text)
        else {
            let line = entity.get("metadata").map_or(entity.line, |metadata| metadata.line);
            import.complain(Some(line), "'metadata.name' is missing: expected the name of the entity");
            continue;
        };
        let own = named(kind, name);
        let Some(spec) = entity.get("spec") else { continue };
        for other in references(spec, "dependsOn", import) {
            import.calls.push(Call { caller: own.clone(), callee: other, origin: Origin::Catalogued });
        }
        for other in references(spec, "dependencyOf", import) {
            import.calls.push(Call { caller: other, callee: own.clone(), origin: Origin::Catalogued });
        }
    }
}

fn of_word(word: &str) -> Option<Kind> {
    ENTITIES.iter().find(|(entity, _)| word.eq_ignore_ascii_case(entity)).map(|(_, kind)| *kind)
}

/// The components that a list of references names; references to what takes no part are left out.
fn references(spec: &Node, key: &'static str, import: &mut Import) -> Vec<Subject> {
    const EXPECTED: &str = "[kind:][namespace/]name, such as resource:default/artists-db";
    let Some(list) = spec.get(key) else { return vec![] };
    let items = match &list.value {
        Value::List(items) => items,
        Value::Nothing => return vec![],
        _ => {
            let sentence = format!("'{key}' is {}: expected a list of {EXPECTED}", list.what());
            import.complain(Some(list.line), sentence);
            return vec![];
        }
    };
    let mut found = vec![];
    for item in items {
        let reference = item.text().map(|text| text.split_once(':').unwrap_or((USUAL_KIND, text)));
        let name = reference.map(|(_, path)| path.rsplit('/').next().unwrap_or_default().trim());
        match (reference, name) {
            (Some((kind, _)), Some(name)) if !name.is_empty() => {
                found.extend(of_word(kind.trim()).map(|kind| named(kind, name)));
            }
            _ => import
                .complain(Some(item.line), format!("'{key}' holds {}: expected {EXPECTED}", item.what())),
        }
    }
    found
}
