//! Dependencies that are declared nowhere because their name is misspelt.

use headwater_engine::Kind;

use super::file::ComponentTable;
use super::place::{Document, nearest};
use super::resolve::{Components, is_plain_name};

/// Complains about each dependency that has no table while one of its kind with a similar name has: it would stay
/// without a source for ever, and the component that was meant would be nobody's dependency.
pub(super) fn complain_of_misspelt(
    tables: &[ComponentTable],
    components: &Components,
    document: &mut Document<'_>,
) {
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        for (position, callee) in table.depends_on.iter().enumerate() {
            if let Some(sentence) = misspelt(callee, components) {
                document.complain(&["component", &index, "depends_on", &position.to_string()], sentence);
            }
        }
        for (stage, callee) in &table.stages {
            if let Some(sentence) = misspelt(callee, components) {
                document.complain(&["component", &index, "stages", stage], sentence);
            }
        }
    }
}

fn misspelt(written: &str, components: &Components) -> Option<String> {
    let (kind, name) = written.split_once('/').filter(|(_, name)| is_plain_name(name))?;
    let is_of_service = |of: Kind| of == Kind::Service && matches!(kind, "queue" | "gpu");
    // The page of a service tells of its queue and its GPU too.
    if components
        .declared()
        .any(|known| known.as_str() == written || (known.name() == name && is_of_service(known.kind())))
    {
        return None;
    }
    let names: Vec<&str> = components
        .declared()
        .filter(|known| known.as_str().split_once('/').is_some_and(|(of, _)| of == kind))
        .map(|known| known.name())
        .collect();
    let meant = nearest(name, &names)?;
    Some(format!(
        "'{written}' is declared nowhere: did you mean '{kind}/{meant}'? If not, give it a [[component]] of its own"
    ))
}
