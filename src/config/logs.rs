//! The `[[log]]` tables: logs that are followed.

use std::path::Path;

use headwater_engine::{Kind, RemoteText, Subject};
use regex::bytes::Regex;

use super::file::{LogFormat, LogTable};
use super::place::Document;
use super::resolve::{Components, component_subject, is_plain_name};
use crate::sources::logs::LogSpec;
use crate::sources::logs::line::Format;
use crate::sources::metrics::MetricsSpec;

/// The logs of these tables; files are found from the folder of the configuration, `origin`.
pub(super) fn resolve(
    tables: &[LogTable],
    origin: &Path,
    pages: &[MetricsSpec],
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<LogSpec> {
    let folder = origin.parent().unwrap_or(Path::new(""));
    let mut specs: Vec<LogSpec> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(mut spec) = spec(table, &index, folder, document) else { continue };
        if specs.iter().any(|known| known.subject == spec.subject) {
            document.wrong(&["log", &index, "name"], "stands twice: give each [[log]] its own name");
        }
        if specs.iter().any(|known| known.file == spec.file) {
            document.wrong(
                &["log", &index, "file"],
                "stands twice: its lines would be counted twice; remove one",
            );
        }
        let is_access = |format| format != Format::Plain;
        let others = specs.iter().filter(|known| known.about == spec.about);
        if others.clone().any(|known| is_access(known.format) && is_access(spec.format)) {
            let sentence = "is that of another access log, and one would write over the other: give it a component of its own";
            document.wrong(&["log", &index, "component"], sentence);
        }
        if others.count() > 0 && !is_access(spec.format) {
            let sentence = "has another log: one would write over the other; give it a component of its own";
            document.wrong(&["log", &index, "component"], sentence);
        }
        spec.tells_service = !pages.iter().any(|page| page.component.as_ref() == Some(&spec.about));
        components.entry(&spec.about).has_source = true;
        specs.push(spec);
    }
    specs
}

fn spec(table: &LogTable, index: &str, folder: &Path, document: &mut Document<'_>) -> Option<LogSpec> {
    let here = |key: &'static str| ["log", index, key];
    let needed = [
        ("name", &table.name, "name = \"edge-access\""),
        ("component", &table.component, "component = \"gateway/edge\""),
        ("file", &table.file, "file = \"/var/log/nginx/access.log\""),
    ];
    for (key, value, example) in needed {
        if value.is_none() {
            document
                .complain(&["log", index], format!("[[log]] has no '{key}': write for example {example}"));
            return None;
        }
    }
    let name = table.name.as_deref()?;
    if !is_plain_name(name) {
        document.wrong(&here("name"), "is not a name: use letters, digits, '.', '_' and '-'");
        return None;
    }
    let about = component_subject(table.component.as_deref()?, &here("component"), document)?;
    let file = table.file.as_deref()?;
    let mut patterns = vec![];
    for (name, pattern) in &table.patterns {
        match Regex::new(pattern) {
            Ok(pattern) => patterns.push((RemoteText::new(name).as_str().to_owned(), pattern)),
            Err(_) => {
                let what =
                    "is not a regular expression: put a backslash before signs that stand for themselves";
                document.wrong(&["log", index, "patterns", name], what);
            }
        }
    }
    Some(LogSpec {
        subject: Subject::component(Kind::Log, name),
        about,
        file: (file != "-").then(|| folder.join(file)),
        format: match table.format.unwrap_or_default() {
            LogFormat::Json => Format::Json,
            LogFormat::Nginx => Format::Nginx,
            LogFormat::Envoy => Format::Envoy,
            LogFormat::Plain => Format::Plain,
        },
        patterns,
        tells_service: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const LOG: &str =
        "[[log]]\nname = \"a\"\ncomponent = \"gateway/edge\"\nfile = \"a.log\"\nformat = \"nginx\"\n";

    #[test]
    fn a_log_is_read_and_tells_a_service_that_has_no_page() {
        let text = format!("{LOG}patterns = {{ full = \"no .* left\" }}\n");
        let config = Config::parse(&text, "/etc/h/c.toml").unwrap();
        let [spec] = config.logs.as_slice() else { panic!("{:?}", config.logs) };
        assert_eq!((spec.file.as_deref(), spec.tells_service), (Some(Path::new("/etc/h/a.log")), true));
        assert_eq!(spec.patterns[0].0, "full");
        let again = Config::parse(&config.print(), "/etc/h/c.toml").unwrap();
        assert_eq!((again.logs.len(), &again.settings), (1, &config.settings));
        let page = "[[metrics]]\ncomponent = \"gateway/edge\"\nurl = \"http://h:1/metrics\"\n";
        assert!(!Config::parse(&format!("{LOG}{page}"), "c.toml").unwrap().logs[0].tells_service);
    }

    #[test]
    fn what_is_wrong_is_named_with_the_fix() {
        for (text, said) in [
            ("[[log]]\n".to_owned(), "[[log]] has no 'name'"),
            (LOG.replace("\"a\"", "\"a b\""), "is not a name"),
            (LOG.replace("nginx", "apache"), "'format'"),
            (LOG.replace("gateway/edge", "edge"), "is not a component"),
            (format!("{LOG}patterns = {{ x = \"(\" }}\n"), "is not a regular expression"),
            (format!("{LOG}{LOG}"), "stands twice"),
            (format!("{LOG}{}", LOG.replace("\"a", "\"b")), "write over the other"),
        ] {
            let complaint = Config::parse(&text, "c.toml").unwrap_err().to_string();
            assert!(complaint.contains(said), "{text}: {complaint}");
        }
    }
}
