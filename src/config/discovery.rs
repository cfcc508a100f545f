//! The `[[discovery]]` tables: lists of pages that come and go.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use headwater_engine::{Kind, Subject};
use reqwest::header::AUTHORIZATION;

use super::file::{DiscoveryTable, RecordWord, SchemeWord};
use super::http_access::{UserKeys, http_access, user_access};
use super::place::Document;
use super::resolve::{Components, bare_subject, component_subject, dialects, is_plain_name};
use super::selectors::selectors;
use super::target::metrics_place;
use crate::sources::discovery::dns::{Query, Record};
use crate::sources::discovery::{DiscoverySpec, Naming, Place};
use crate::sources::metrics::MetricsSpec;
use crate::sources::proxy::ProxySpec;

const INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);
const FILES_EVERY: Duration = Duration::from_secs(5);
const OTHERS_EVERY: Duration = Duration::from_secs(30);

/// What the tables are read beside.
pub(super) struct Beside<'a> {
    /// How often targets are scraped.
    pub(super) interval: Duration,
    pub(super) proxy: Option<&'a ProxySpec>,
    /// The configuration's file.
    pub(super) origin: &'a Path,
}

/// The discoveries of these tables.
pub(super) fn resolve(
    tables: &[DiscoveryTable],
    beside: &Beside<'_>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<DiscoverySpec> {
    let mut specs: Vec<DiscoverySpec> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(spec) = spec(table, &index, beside, components, document) else { continue };
        if specs.iter().any(|known| known.subject == spec.subject) {
            let sentence = format!("{} stands twice: give each [[discovery]] its own name", spec.subject);
            document.complain(&["discovery", &index], sentence);
        }
        specs.push(spec);
    }
    specs
}

/// The place of a list as it may be shown, without what could be a secret.
pub(super) fn place_words(spec: &DiscoverySpec) -> String {
    match &spec.place {
        Place::Dns(query) => query.name.clone(),
        Place::Files(paths) => {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(",")
        }
        Place::Http(server) => server.url.split('?').next().unwrap_or_default().to_owned(),
    }
}

fn spec(
    table: &DiscoveryTable,
    index: &str,
    beside: &Beside<'_>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Option<DiscoverySpec> {
    let here = |key: &'static str| ["discovery", index, key];
    let (place, own_name) = place(table, index, beside, document)?;
    let name = match table.name.as_deref() {
        Some(name) if !is_plain_name(name) => {
            document.wrong(&here("name"), "is not a name: use letters, digits, '.', '_' and '-'");
            return None;
        }
        Some(name) => name.to_owned(),
        None => bare_subject(Kind::Discovery, &own_name).name().to_owned(),
    };
    let mut page = MetricsSpec::new("");
    if let Some(written) = &table.component {
        let component = component_subject(written, &here("component"), document)?;
        components.entry(&component).has_source = true;
        page.component = Some(component);
    }
    page.dialects = dialects(&table.dialects, &["discovery", index, "dialects"], document);
    page.proxy = super::reach::proxy(table.proxy.as_deref(), beside.proxy, &here("proxy"), document);
    http_access(table.access(), here, document).enter(&mut page);
    let mut naming = Naming {
        page,
        component_label: table.component_label.clone(),
        instance_label: table.instance_label.clone(),
        ..Naming::default()
    };
    naming.components = selectors(&table.components, ["discovery", index], components, document);
    if table.scheme == Some(SchemeWord::Https) {
        "https".clone_into(&mut naming.scheme);
    }
    if let Some(path) = &table.path {
        if !path.starts_with('/') {
            document.wrong(&here("path"), "is not a path: write for example '/metrics'");
        }
        naming.path.clone_from(path);
    }
    let every = table.every.map(|span| span.0);
    if every.is_some_and(|every| !INTERVALS.contains(&every)) {
        document.wrong(&here("every"), "is out of range: write a span from '1s' to '10min'");
    }
    let usual = if matches!(place, Place::Files(_)) { FILES_EVERY } else { OTHERS_EVERY };
    Some(DiscoverySpec {
        subject: Subject::component(Kind::Discovery, &name),
        place,
        every: every.unwrap_or(usual),
        naming,
        interval: beside.interval,
    })
}

/// Where the list is, and a name made of that.
fn place(
    table: &DiscoveryTable,
    index: &str,
    beside: &Beside<'_>,
    document: &mut Document<'_>,
) -> Option<(Place, String)> {
    let here = |key: &'static str| ["discovery", index, key];
    let places = [!table.files.is_empty(), table.url.is_some(), table.dns.is_some()];
    if places.into_iter().filter(|is_there| *is_there).count() != 1 {
        let sentence = "[[discovery]] needs one place: write files = [\"targets/*.yml\"], url = \"http://HOST/targets\" or \
                        dns = \"_metrics._tcp.ranker.prod\"";
        document.complain(&["discovery", index], sentence);
        return None;
    }
    if let Some((of, key)) = foreign_key(table) {
        document.complain(&here(key), format!("'{key}' is for a list with '{of}': remove it"));
    }
    if let Some(url) = &table.url {
        let Ok(place) = metrics_place(url) else {
            let what = "is not an address of a list: write for example http://10.0.0.5:8080/targets, a token in \
                        list_bearer_env";
            document.wrong(&here("url"), what);
            return None;
        };
        return Some((Place::Http(Box::new(server(table, url, index, beside, document))), place));
    }
    if let Some(name) = &table.dns {
        return Some((Place::Dns(query(table, name, index, document)?), name.clone()));
    }
    let folder = beside.origin.parent().unwrap_or(Path::new(""));
    let files: Vec<_> = table.files.iter().map(|file| folder.join(file)).collect();
    let stem =
        files.first().and_then(|file| file.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_default().replace('*', "");
    let stem = stem.trim_matches(['-', '_', '.']);
    Some((Place::Files(files), if stem.is_empty() { "files".to_owned() } else { stem.to_owned() }))
}

/// A key that means nothing for this place, with the key that it belongs to.
fn foreign_key(table: &DiscoveryTable) -> Option<(&'static str, &'static str)> {
    let of_dns = [
        ("record", table.record.is_some()),
        ("port", table.port.is_some()),
        ("dns_server", table.dns_server.is_some()),
    ];
    let UserKeys { username, password_env, password_file } = table.list_user();
    let user = [
        ("list_username", username.is_some()),
        ("list_password_env", password_env.is_some()),
        ("list_password_file", password_file.is_some()),
    ];
    let access = table.list_access().first_given().map(|key| (of_the_list(key), true));
    let of_url: Vec<_> = access.into_iter().chain(user).collect();
    let of = |owner, keys: &[(&'static str, bool)]| {
        keys.iter().find(|(_, is_there)| *is_there).map(|(key, _)| (owner, *key))
    };
    let dns = of("dns", &of_dns).filter(|_| table.dns.is_none());
    dns.or_else(|| of("url", &of_url).filter(|_| table.url.is_none()))
}

fn server(
    table: &DiscoveryTable,
    url: &str,
    index: &str,
    beside: &Beside<'_>,
    document: &mut Document<'_>,
) -> MetricsSpec {
    let here = |key: &'static str| ["discovery", index, of_the_list(key)];
    let mut server = MetricsSpec::new(url);
    server.proxy = super::reach::proxy(table.proxy.as_deref(), beside.proxy, &here("proxy"), document);
    http_access(table.list_access(), here, document).enter(&mut server);
    let has_other_login = server.bearer.is_some() || server.headers.has(&AUTHORIZATION);
    (server.username, server.password) = user_access(table.list_user(), has_other_login, here, document);
    server
}

/// The key by which a table says of the list's server what `key` says of pages.
fn of_the_list(key: &'static str) -> &'static str {
    match key {
        "bearer_env" => "list_bearer_env",
        "bearer_file" => "list_bearer_file",
        "ca_file" => "list_ca_file",
        "client_cert_file" => "list_client_cert_file",
        "client_key_file" => "list_client_key_file",
        "headers" => "list_headers",
        "username" => "list_username",
        "password_env" => "list_password_env",
        "password_file" => "list_password_file",
        _ => key,
    }
}

fn query(table: &DiscoveryTable, name: &str, index: &str, document: &mut Document<'_>) -> Option<Query> {
    let here = |key: &'static str| ["discovery", index, key];
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || !name.chars().all(is_plain) {
        document.wrong(&here("dns"), "is not a name: write for example '_metrics._tcp.ranker.prod'");
        return None;
    }
    let word = table.record.unwrap_or(if table.port.is_some() { RecordWord::A } else { RecordWord::Srv });
    if word == RecordWord::Srv && table.port.is_some() {
        let sentence = "'port' is for A and AAAA: the records of SRV have ports of their own; remove it";
        document.complain(&here("port"), sentence);
    }
    if word != RecordWord::Srv && table.port.is_none_or(|port| port == 0) {
        let sentence = "addresses have no port: write for example port = 8000";
        document.complain(&here(if table.record.is_some() { "record" } else { "port" }), sentence);
    }
    let server = table.dns_server.as_deref().map(str::parse::<SocketAddr>);
    if let Some(Err(_)) = server {
        document
            .wrong(&here("dns_server"), "is not an address with a port: write for example '127.0.0.1:8600'");
    }
    Some(Query {
        name: name.to_owned(),
        record: match word {
            RecordWord::A => Record::A,
            RecordWord::Aaaa => Record::Aaaa,
            RecordWord::Srv => Record::Srv,
        },
        port: table.port.unwrap_or(0),
        server: server.and_then(Result::ok),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn config(text: &str) -> Config {
        Config::parse(text, "/etc/h/c.toml").unwrap()
    }

    #[test]
    fn lists_are_read_with_the_names_and_paces_of_their_places() {
        let text = "[[discovery]]\nfiles = [\"sd/rankers_*.yml\"]\ncomponent = \"service/ranker\"\n\
                    [[discovery]]\nurl = \"http://sd:80/t\"\nevery = \"10s\"\nscheme = \"https\"\npath = \"/m\"\n\
                    components = { \"gateway/edge\" = { role = \"edge\" } }\n\
                    [[discovery]]\ndns = \"_m._tcp.ranker\"\n\
                    [[discovery]]\nname = \"pods\"\ndns = \"ranker\"\nport = 8000\ndns_server = \"127.0.0.1:8600\"\n";
        let config = config(text);
        let rows: Vec<_> =
            config.discoveries.iter().map(|spec| (spec.subject.as_str(), spec.every.as_secs())).collect();
        let expected = [
            ("discovery/rankers", 5),
            ("discovery/sd-80", 10),
            ("discovery/_m._tcp.ranker", 30),
            ("discovery/pods", 30),
        ];
        assert_eq!(rows, expected);
        assert!(
            matches!(&config.discoveries[0].place, Place::Files(files) if files == &[Path::new("/etc/h/sd/rankers_*.yml")])
        );
        assert_eq!(
            (config.discoveries[1].naming.scheme.as_str(), config.discoveries[1].naming.path.as_str()),
            ("https", "/m")
        );
        let Place::Dns(query) = &config.discoveries[3].place else { panic!("it is a name") };
        assert_eq!((query.record, query.port), (Record::A, 8_000));
        let has_source: Vec<_> =
            config.settings.components.iter().filter(|c| c.has_source).map(|c| c.subject.as_str()).collect();
        assert_eq!(has_source, ["service/ranker", "gateway/edge"]);
        assert_eq!(config.settings.tellers.len(), 4);
        let again = Config::parse(&config.print(), "/etc/h/c.toml").unwrap();
        assert_eq!((again.discoveries.len(), &again.settings), (4, &config.settings));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_fix() {
        for (keys, said) in [
            ("", "[[discovery]] needs one place"),
            ("dns = \"a\"\nurl = \"http://h/\"", "[[discovery]] needs one place"),
            ("url = \"ftp://h\"", "is not an address of a list"),
            ("url = \"http://u:p@h\"", "is not an address of a list"),
            ("dns = \"a b\"", "is not a name"),
            ("dns = \"a\"\nrecord = \"A\"", "addresses have no port"),
            ("dns = \"a\"\nrecord = \"SRV\"\nport = 1", "'port' is for A and AAAA"),
            ("dns = \"a\"\nrecord = \"MX\"", "'record'"),
            ("dns = \"a\"\ndns_server = \"h\"", "is not an address with a port"),
            ("files = [\"a\"]\nport = 1", "'port' is for a list with 'dns'"),
            ("dns = \"a\"\nlist_username = \"u\"", "'list_username' is for a list with 'url'"),
            ("files = [\"a\"]\nevery = \"1ms\"", "is out of range"),
            ("files = [\"a\"]\nscheme = \"ftp\"", "'scheme'"),
            ("files = [\"a\"]\npath = \"m\"", "is not a path"),
            ("files = [\"a\"]\nname = \"a b\"", "is not a name"),
            ("files = [\"a\"]\ncomponent = \"ranker\"", "is not a component"),
            ("files = [\"a\"]\ndialects = [\"vlm\"]", "'vllm'"),
            ("files = [\"a\"]\n[[discovery]]\nfiles = [\"b/a\"]", "stands twice"),
        ] {
            let text = format!("[[discovery]]\n{keys}\n");
            let complaint = Config::parse(&text, "c.toml").unwrap_err().to_string();
            assert!(complaint.contains(said), "{keys}: {complaint}");
        }
    }

    #[test]
    fn a_probe_of_an_address_that_may_be_found_later_declares_nobody() {
        let text = "[[discovery]]\nfiles = [\"a.yml\"]\n[[probe]]\nurl = \"http://h:1/ready\"\nkind = \"ready\"\n\
                    [[probe]]\ncomponent = \"service/a\"\nurl = \"http://h:2/\"\n\
                    [[probe]]\nname = \"third\"\ncomponent = \"service/a\"\nurl = \"http://h:3/\"\n";
        let config = config(text);
        let about: Vec<_> =
            config.probes.iter().map(|spec| (spec.about.as_str(), spec.is_of_anybody)).collect();
        let expected = [("service/h-1", true), ("service/a@h:2", false), ("service/a@h:3", false)];
        assert_eq!(about, expected);
        assert!(!config.settings.components.iter().any(|known| known.subject.as_str() == "service/h-1"));
    }
}
