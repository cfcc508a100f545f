//! The `[[prometheus]]` tables: servers that have scraped what is to be looked at.

use std::ops::RangeInclusive;
use std::time::Duration;

use headwater_engine::settings::Teller;
use headwater_engine::{Kind, Subject};
use reqwest::header::AUTHORIZATION;

use super::file::PrometheusTable;
use super::http_access::{UserKeys, http_access, user_access};
use super::place::Document;
use super::resolve::{Components, bare_subject};
use super::selectors::selectors;
use super::target::metrics_place;
use crate::sources::prometheus::PrometheusSpec;
use crate::sources::proxy::ProxySpec;

/// Asking more often costs a server more than it can tell.
const INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);

/// The specs of these tables.
pub(super) fn resolve(
    tables: &[PrometheusTable],
    proxy: Option<&ProxySpec>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<PrometheusSpec> {
    let mut specs: Vec<PrometheusSpec> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(spec) = spec(table, &index, proxy, components, document) else { continue };
        if specs.iter().any(|known| known.server.url == spec.server.url && known.select == spec.select) {
            document.wrong(
                &["prometheus", &index, "url"],
                "stands twice with the same 'select': its targets would be counted twice; remove one",
            );
        }
        specs.push(spec);
    }
    specs
}

/// The server as one that only tells: its fault is said beside what it leaves unknown.
pub(super) fn teller(spec: &PrometheusSpec) -> Option<Teller> {
    Some(Teller { subject: spec.subject()?, every: Some(spec.interval) })
}

/// The subject of a server at this place: `graph/prometheus-HOST-PORT`, because it measures nothing itself.
pub(crate) fn server_subject(place: &str) -> Subject {
    let bare = bare_subject(Kind::Graph, place);
    Subject::component(Kind::Graph, &format!("prometheus-{}", bare.name()))
}

fn spec(
    table: &PrometheusTable,
    index: &str,
    proxy: Option<&ProxySpec>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Option<PrometheusSpec> {
    let here = |key: &'static str| ["prometheus", index, key];
    let Some(url) = table.url.as_deref() else {
        document.complain(
            &["prometheus", index],
            "[[prometheus]] has no 'url': write for example url = \"http://127.0.0.1:9090\"",
        );
        return None;
    };
    let mut spec = PrometheusSpec::new(url);
    if let Some(select) = &table.select {
        if !(select.trim_end().ends_with('}') && select.contains('{')) {
            document.wrong(&here("select"), "is not a selector: write for example {job=\"ranker\"}");
        }
        spec.select = select.trim().to_owned();
    }
    if let Some(interval) = table.interval {
        if !INTERVALS.contains(&interval.0) {
            document.wrong(&here("interval"), "is out of range: write a span from '1s' to '5min'");
        }
        spec.interval = interval.0;
    }
    spec.looks_back = table.history != Some(false);
    spec.components = selectors(&table.components, ["prometheus", index], components, document);
    let server = &mut spec.server;
    server.proxy = super::reach::proxy(table.proxy.as_deref(), proxy, &here("proxy"), document);
    http_access(table.access(), here, document).enter(server);
    let has_other_login =
        table.bearer_env.is_some() || table.bearer_file.is_some() || server.headers.has(&AUTHORIZATION);
    let user = UserKeys {
        username: table.username.as_deref(),
        password_env: table.password_env.as_deref(),
        password_file: table.password_file.as_deref(),
    };
    (server.username, server.password) = user_access(user, has_other_login, here, document);
    if let Err(complaint) = metrics_place(url) {
        document.wrong(&here("url"), complaint);
        return None;
    }
    Some(spec)
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, TargetOptions, from_targets};

    #[test]
    fn a_server_needs_only_its_address_and_tells_for_what_is_declared() {
        let config = Config::parse(
            "[[prometheus]]\nurl = \"http://127.0.0.1:9090\"\nselect = '{job=\"a\"}'\ninterval = \"15s\"\n\
             components = { \"service/ranker\" = { job = \"a\" } }\n",
            "c.toml",
        )
        .unwrap();
        let [spec] = config.prometheus.as_slice() else { panic!("{:?}", config.prometheus) };
        assert_eq!((spec.select.as_str(), spec.interval.as_secs()), ("{job=\"a\"}", 15));
        assert!(config.settings.components[0].has_source);
        assert_eq!(config.settings.tellers[0].subject.as_str(), "graph/prometheus-127.0.0.1-9090");
        let again = Config::parse(&config.print(), "c.toml").unwrap();
        assert_eq!(again.prometheus.len(), 1);
        assert_eq!(again.settings, config.settings);
        let bare =
            from_targets(&["prom+http://127.0.0.1:9090".to_owned()], &TargetOptions::default()).unwrap();
        assert_eq!(bare.prometheus[0].server.url, "http://127.0.0.1:9090");
        assert_eq!(bare.settings.tellers.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_fix() {
        for (keys, said) in [
            ("", "has no 'url'"),
            ("url = \"ftp://x\"", "'url' = 'ftp://x' is not an address"),
            ("url = \"http://u:p@h:9090\"", "holds a user or a password"),
            ("url = \"http://h\"\nselect = \"ranker\"", "is not a selector"),
            ("url = \"http://h\"\ninterval = \"10ms\"", "is out of range"),
            ("url = \"http://h\"\ncomponents = { ranker = { job = \"a\" } }", "is not a component"),
            ("url = \"http://h\"\ncomponents = { \"service/a\" = {} }", "selects every target"),
            ("url = \"http://h\"\nusername = \"a\"\nbearer_env = \"PATH\"", "exclude each other"),
            ("url = \"http://h\"\n[[prometheus]]\nurl = \"http://h\"", "stands twice"),
        ] {
            let error =
                Config::parse(&format!("[[prometheus]]\n{keys}\n"), "c.toml").unwrap_err().to_string();
            assert!(error.contains(said), "{keys}: {error}");
        }
    }
}
