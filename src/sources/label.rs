//! The values of labels as parts of names: other tools put into them what they like, whole addresses with passwords among it.

use headwater_engine::RemoteText;

use crate::config::{host_and_path, shown_word};

/// A label's value as a part of a subject's name.
pub(super) fn plain(text: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':' | '[' | ']');
    let shown = RemoteText::new(&shown_word(text));
    shown.as_str().chars().map(|c| if kept(c) { c } else { '-' }).collect()
}

/// What an instance is called of which the page of a prober tells, by the address that the prober was asked about; `None`
/// where that may hold a secret at any place of it.
pub(crate) fn named_after(address: &str) -> Option<String> {
    Some(plain(host_and_path(address)?)).filter(|name| !name.is_empty())
}
