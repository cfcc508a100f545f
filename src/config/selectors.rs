//! Which targets that somebody else lists belong to which component.

use std::collections::BTreeMap;

use super::place::Document;
use super::resolve::{Components, component_subject};
use crate::sources::prometheus::ComponentSelector;

/// Reads the `components` of a table, which stands at this place: labels by the component that they select.
pub(super) fn selectors(
    written: &BTreeMap<String, BTreeMap<String, String>>,
    [table, index]: [&str; 2],
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<ComponentSelector> {
    let mut all = vec![];
    for (name, labels) in written {
        let path = [table, index, "components", name];
        let Some(component) = component_subject(name, &path, document) else { continue };
        if labels.is_empty() {
            document.complain(&path, format!("'{name}' selects every target: name a label and its value"));
        }
        components.entry(&component).has_source = true;
        all.push(ComponentSelector { component, labels: labels.clone() });
    }
    all
}
