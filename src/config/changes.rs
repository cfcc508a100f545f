//! The `[[changes]]` tables: where it is told what people changed.

use std::path::Path;

use headwater_engine::reading::ChangeKind;
use headwater_engine::{Kind, Subject};

use super::file::{ChangeWord, ChangesTable};
use super::http_access::http_access;
use super::place::Document;
use super::resolve::{component_subject, is_plain_name};
use super::target::metrics_place;
use crate::sources::changes::git::{Repository, is_branch};
use crate::sources::changes::{ChangesSpec, Place};
use crate::sources::metrics::MetricsSpec;

/// The sources of these tables; files and repositories are found from the folder of the configuration, `origin`.
pub(super) fn resolve(
    tables: &[ChangesTable],
    origin: &Path,
    document: &mut Document<'_>,
) -> Vec<ChangesSpec> {
    let folder = origin.parent().unwrap_or(Path::new(""));
    let mut specs: Vec<ChangesSpec> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(spec) = spec(table, &index, folder, document) else { continue };
        if specs.iter().any(|known| known.subject == spec.subject) {
            document.wrong(&["changes", &index, "name"], "stands twice: give each [[changes]] its own name");
        }
        specs.push(spec);
    }
    specs
}

fn spec(
    table: &ChangesTable,
    index: &str,
    folder: &Path,
    document: &mut Document<'_>,
) -> Option<ChangesSpec> {
    let here = |key: &'static str| ["changes", index, key];
    let name = match table.name.as_deref() {
        None => {
            let sentence = "[[changes]] has no 'name': write for example name = \"deploys\"";
            document.complain(&["changes", index], sentence);
            return None;
        }
        Some(name) if !is_plain_name(name) => {
            document.wrong(&here("name"), "is not a name: use letters, digits, '.', '_' and '-'");
            return None;
        }
        Some(name) => name,
    };
    let component = match &table.component {
        Some(component) => Some(component_subject(component, &here("component"), document)?),
        None => None,
    };
    let kind = table.kind.map(|word| match word {
        ChangeWord::Deploy => ChangeKind::Deploy,
        ChangeWord::Config => ChangeKind::Config,
        ChangeWord::Flag => ChangeKind::Flag,
        ChangeWord::Commit => ChangeKind::Commit,
        ChangeWord::Other => ChangeKind::Other,
    });
    let place = place(table, index, folder, document)?;
    Some(ChangesSpec { subject: Subject::component(Kind::Change, name), place, component, kind })
}

fn place(table: &ChangesTable, index: &str, folder: &Path, document: &mut Document<'_>) -> Option<Place> {
    let here = |key: &'static str| ["changes", index, key];
    if let Some(key) = of_another(table) {
        document.complain(&here(key.0), format!("'{}' is for {}: remove it", key.0, key.1));
        return None;
    }
    match (&table.file, &table.git, &table.url) {
        (Some(file), None, None) => Some(Place::File(folder.join(file))),
        (None, Some(path), None) => {
            if table.branch.as_ref().is_some_and(|branch| !is_branch(branch)) {
                document.wrong(&here("branch"), "is not a branch: write for example 'main'");
                return None;
            }
            Some(Place::Git(Repository { path: folder.join(path), branch: table.branch.clone() }))
        }
        (None, None, Some(url)) => {
            if metrics_place(url).is_err() {
                let what = "is not an address: write for example http://127.0.0.1:8080/changes, a token in bearer_env";
                document.wrong(&here("url"), what);
                return None;
            }
            let mut spec = MetricsSpec::new(url);
            http_access(table.access(), here, document).enter(&mut spec);
            Some(Place::Server(Box::new(spec)))
        }
        (None, None, None) => {
            let sentence = "[[changes]] has no 'file', no 'git' and no 'url': write one of them";
            document.complain(&["changes", index], sentence);
            None
        }
        _ => {
            let sentence = "'file', 'git' and 'url' exclude each other: write a [[changes]] for each";
            document.complain(&["changes", index], sentence);
            None
        }
    }
}

/// The first key that means nothing where these changes are told, with where it would mean something.
fn of_another(table: &ChangesTable) -> Option<(&'static str, &'static str)> {
    let of_server = table.access().first_given().filter(|_| table.url.is_none());
    let of_git = table.branch.is_some() && table.git.is_none();
    of_server.map(|key| (key, "a url")).or(of_git.then_some(("branch", "git")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const REST: &str = "[[metrics]]\ncomponent = \"service/ranker\"\nurl = \"http://127.0.0.1:1/metrics\"\n";

    fn complaint(table: &str) -> String {
        let error = Config::parse(&format!("[[changes]]\n{table}\n{REST}"), "/etc/h/c.toml").unwrap_err();
        error.to_string()
    }

    #[test]
    fn each_way_is_read() {
        let text = format!(
            "{REST}[[changes]]\nname = \"deploys\"\nfile = \"deploys.jsonl\"\nkind = \"deploy\"\n\
             [[changes]]\nname = \"code\"\ngit = \"/src/ranker\"\nbranch = \"main\"\ncomponent = \"service/ranker\"\n\
             [[changes]]\nname = \"flags\"\nurl = \"http://127.0.0.1:2/flags\"\n"
        );
        let config = Config::parse(&text, "/etc/h/c.toml").unwrap();
        let [file, git, server] = config.changes.as_slice() else { panic!("{:?}", config.changes) };
        assert_eq!((file.subject.as_str(), file.kind), ("change/deploys", Some(ChangeKind::Deploy)));
        assert!(matches!(&file.place, Place::File(path) if path == Path::new("/etc/h/deploys.jsonl")));
        assert!(matches!(&git.place, Place::Git(repository) if repository.branch.as_deref() == Some("main")));
        assert!(matches!(&server.place, Place::Server(spec) if spec.url.ends_with("/flags")));
        let again = Config::parse(&config.print(), "/etc/h/c.toml").unwrap();
        assert_eq!(again.changes.len(), 3);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_the_fix() {
        for (table, said) in [
            ("file = \"a\"", "c.toml:1: [[changes]] has no 'name'"),
            ("name = \"a b\"\nfile = \"a\"", "c.toml:2: 'name' = 'a b' is not a name"),
            ("name = \"a\"", "has no 'file', no 'git' and no 'url'"),
            ("name = \"a\"\nfile = \"a\"\ngit = \"b\"", "exclude each other"),
            ("name = \"a\"\ngit = \"b\"\nbranch = \"--all\"", "c.toml:4: 'branch' = '--all' is not a branch"),
            ("name = \"a\"\nfile = \"b\"\nbranch = \"x\"", "'branch' is for git"),
            ("name = \"a\"\nfile = \"b\"\nbearer_env = \"X\"", "'bearer_env' is for a url"),
            ("name = \"a\"\nfile = \"b\"\nclient_key_file = \"X\"", "'client_key_file' is for a url"),
            ("name = \"a\"\nurl = \"ftp://x\"", "c.toml:3: 'url' = 'ftp://x' is not an address"),
            (
                "name = \"a\"\nfile = \"b\"\ncomponent = \"ranker\"",
                "'component' = 'ranker' is not a component",
            ),
            ("name = \"a\"\nfile = \"b\"\nkind = \"rollout\"", "'kind'"),
            ("name = \"a\"\nfile = \"b\"\n[[changes]]\nname = \"a\"\nfile = \"c\"", "stands twice"),
        ] {
            let complaint = complaint(table);
            assert!(complaint.contains(said), "{table}: {complaint}");
        }
    }
}
