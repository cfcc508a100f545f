//! Cases as entries of the library: what their files may say.

use headwater_engine::Library;
use headwater_engine::case::{Case, UNBUILT, is_rule};
use headwater_engine::subject::{KINDS, Kind};
use headwater_engine::text::without_controls;

use super::{CASE_FILES, Entry};
use crate::config::{Document, rule_ids, unknown_name};

impl Entry for Case {
    const FOLDER: &'static str = "cases";
    const BUILT_IN: &'static [(&'static str, &'static str)] = CASE_FILES;

    fn id(&self) -> &str {
        &self.id
    }

    /// Its texts are shown on screens as they are: nothing in them steers a terminal.
    fn name(&mut self, id: &str) {
        self.id = without_controls(id);
        self.map_texts(without_controls);
    }

    fn examine(&self, document: &mut Document<'_>, _known: &Library) {
        if self.title.trim().is_empty() {
            document.wrong(&["title"], "says nothing: write in one line what it was");
        }
        for (index, finding) in self.findings.iter().enumerate() {
            let index = index.to_string();
            if !is_rule(&finding.rule) {
                let known: Vec<&str> = rule_ids().into_iter().chain(UNBUILT.iter().copied()).collect();
                document.complain(&["findings", &index, "rule"], unknown_name("rule", &finding.rule, &known));
            }
            if let Some(kind) = finding.on.as_ref().filter(|kind| Kind::from_word(kind).is_none()) {
                let known: Vec<&str> = KINDS.iter().map(|(_, word)| *word).collect();
                document
                    .complain(&["findings", &index, "on"], unknown_name("kind of component", kind, &known));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn complaints(text: &str) -> String {
        read::<Case>(text, "x", "x.toml", &Library::default())
            .map_or_else(|error| error.to_string(), |case| format!("{case:?}"))
    }

    #[test]
    fn every_complaint_names_line_key_and_what_is_expected() {
        let of_rule = complaints("title = \"a\"\n\n[[findings]]\nrule = \"shard-bandwith\"\n");
        assert_eq!(of_rule, "x.toml:4: unknown rule 'shard-bandwith': did you mean 'shard-bandwidth'?");
        let of_kind = complaints("title = \"a\"\n[[findings]]\nrule = \"big-key\"\non = \"rediss\"\n");
        assert_eq!(of_kind, "x.toml:4: unknown kind of component 'rediss': did you mean 'redis'?");
        let of_key = complaints("title = \"a\"\nroot_case = \"b\"\n");
        assert!(
            of_key.starts_with("x.toml:2: unknown key 'root_case'") && of_key.contains("root_cause"),
            "{of_key}"
        );
        let of_shape = complaints("title = \"a\"\nshape = \"slow\"\n");
        assert!(of_shape.starts_with("x.toml:2: 'shape'") && of_shape.contains("slow-only"), "{of_shape}");
        assert!(complaints("title = \" \"\n").starts_with("x.toml:1: 'title'"));
        assert!(complaints("when = \"now\"\n").contains("title"), "a title is needed");
    }

    #[test]
    fn a_rule_that_this_version_lacks_may_be_named_and_no_text_steers_a_terminal() {
        let text = "title = \"a\\u001b[2Jb\"\nroot_cause = \"\"\"two\nlines\"\"\"\n[[findings]]\nrule = \"pcie-degraded\"\n";
        let case = read::<Case>(text, "x", "x.toml", &Library::default()).unwrap();
        assert_eq!((case.title.as_str(), case.root_cause.as_str()), ("a\u{fffd}[2Jb", "two lines"));
    }
}
