//! From the file's tables to targets and components, with every complaint at its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_engine::settings::{Component, Teller};
use headwater_engine::{Kind, RemoteText, Settings, Subject};
use secrecy::SecretString;

use super::file::{ComponentTable, ConfigFile, MetricsTable, Thresholds};
use super::http_access::http_access;
use super::place::{ConfigError, Document, unknown_name};
use super::shown::shown_address;
use super::target::metrics_place;
use super::{Config, Import};
use crate::sources::label::named_after;
use crate::sources::logs::LOOKS_EVERY;
use crate::sources::metrics::MetricsSpec;
use crate::sources::metrics::dialect::Dialects;
use crate::sources::proxy::ProxySpec;

/// Polling faster costs targets more than it tells; slower than this nothing holds for three evaluations.
pub(super) const INTERVALS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(200)..=Duration::from_secs(60);

/// Reads a configuration's text; `origin` is the name of the file in complaints.
pub(super) fn resolve(text: &str, origin: &str) -> Result<Config, ConfigError> {
    let mut document = Document::new(text);
    let Some(mut file) = document.read::<ConfigFile>() else {
        document.finish(origin)?;
        return Err(ConfigError::new(origin, "this file cannot be read"));
    };
    let mut settings = Settings::default();
    if let Some(name) = &file.name {
        settings.name = RemoteText::new(name).as_str().to_owned();
    }
    if let Some(interval) = file.interval {
        if !INTERVALS.contains(&interval.0) {
            document.wrong(&["interval"], "is out of range: write a span from '200ms' to '1min'");
        }
        settings.interval = interval.0;
    }
    if let Some(size) = file.store_budget {
        settings.store_budget = usize::try_from(size.0).unwrap_or(usize::MAX);
    }
    settings.thresholds = thresholds(&file.thresholds, &["thresholds"], &mut document);

    let proxy = super::reach::proxy(file.proxy.as_deref(), None, &["proxy"], &mut document);
    let mut components = Components::default();
    let mut redis = vec![];
    for (index, table) in file.redis.iter().enumerate() {
        redis.extend(super::redis::resolve(
            table,
            &index.to_string(),
            proxy.as_ref(),
            &mut components,
            &mut document,
        ));
    }
    let mut metrics = vec![];
    for (index, table) in file.metrics.iter().enumerate() {
        let index = index.to_string();
        for spec in metrics_specs(table, &index, proxy.as_ref(), &mut components, &mut document) {
            if metrics.iter().any(|known: &MetricsSpec| known.url == spec.url) {
                document.wrong(
                    &["metrics", &index, "url"],
                    "stands twice: its requests would be counted twice; remove one",
                );
            }
            metrics.push(spec);
        }
    }
    let prometheus =
        super::prometheus::resolve(&file.prometheus, proxy.as_ref(), &mut components, &mut document);
    for (index, table) in file.component.iter().enumerate() {
        let index = index.to_string();
        if file.component.iter().filter(|other| other.subject == table.subject).count() > 1
            && table.subject.is_some()
        {
            document.wrong(
                &["component", &index, "subject"],
                "stands twice: put its keys into one [[component]]",
            );
        }
        component(table, &index, &mut components, &mut document);
    }
    let mut imports = super::imports::resolve(&file.graph, Path::new(origin), &mut document);
    let beside_lists = super::discovery::Beside {
        interval: settings.interval,
        proxy: proxy.as_ref(),
        origin: Path::new(origin),
    };
    let discoveries =
        super::discovery::resolve(&file.discovery, &beside_lists, &mut components, &mut document);
    let beside = super::probes::Beside {
        interval: settings.interval,
        proxy: proxy.as_ref(),
        pages: &metrics,
        is_scraped: !file.prometheus.is_empty() || !discoveries.is_empty(),
        finds_more: !discoveries.is_empty(),
    };
    let probes = super::probes::resolve(&file.probe, &beside, &mut components, &mut document);
    let logs = super::logs::resolve(&file.log, Path::new(origin), &metrics, &mut components, &mut document);
    let local = super::local::resolve(file.local.as_ref(), &mut document);
    let has_own = !file.probe.is_empty()
        || file.local.is_some()
        || !file.log.is_empty()
        || !file.prometheus.is_empty()
        || !file.discovery.is_empty()
        || file.canary.is_some();
    if file.redis.is_empty() && file.metrics.is_empty() && file.graph.is_empty() && !has_own {
        document.complain(
            &[],
            "nothing to ask: add a [[redis]] or a [[metrics]] table ('headwater config init' shows both)",
        );
    }
    super::health::complain_of_aliases(&file.component, &components, &mut document);
    super::undeclared::complain_of_misspelt(&file.component, &components, &mut document);
    settings.symptoms = super::symptom::symptoms(&file.symptom, &mut components, &mut document);
    let mut changes = super::changes::resolve(&file.changes, Path::new(origin), &mut document);
    super::reach::send_through(proxy.as_ref(), &mut imports, &mut changes);
    let canary = super::canary::resolve(file.canary.as_ref(), &local, &mut document);
    document.finish(origin)?;
    settings.components = components.finish();
    let pages = metrics.iter().filter_map(|spec: &MetricsSpec| spec.component.as_ref());
    let pages = pages.filter(|component| component.kind().only_tells());
    let pages = pages.map(|component| Teller { subject: component.clone(), every: Some(settings.interval) });
    settings.tellers = pages
        .chain(imports.iter().map(|import| Teller { subject: import.subject.clone(), every: import.every() }))
        .chain(changes.iter().map(|spec| Teller { subject: spec.subject.clone(), every: Some(spec.every()) }))
        .chain(logs.iter().map(|spec| Teller { subject: spec.subject.clone(), every: Some(LOOKS_EVERY) }))
        .chain(probes.iter().map(|spec| Teller { subject: spec.subject.clone(), every: Some(spec.every) }))
        .chain(canary.iter().map(|spec| Teller { subject: spec.subject.clone(), every: Some(spec.every) }))
        .chain(prometheus.iter().filter_map(super::prometheus::teller))
        .chain(local.teller())
        .chain(
            discoveries.iter().map(|spec| Teller { subject: spec.subject.clone(), every: Some(spec.every) }),
        )
        .collect();
    settings.calls = imports.iter().flat_map(Import::calls).cloned().collect();
    // What is kept of the file is shown to users; the secrets are in the specs now.
    let urls = file.redis.iter_mut().flat_map(|table| table.url.iter_mut().chain(&mut table.urls));
    let pages = file.metrics.iter_mut().flat_map(|table| table.url.iter_mut().chain(&mut table.urls));
    let pages = pages.chain(file.discovery.iter_mut().filter_map(|table| table.url.as_mut()));
    let pages = pages.chain(file.prometheus.iter_mut().filter_map(|table| table.url.as_mut()));
    for url in urls.chain(pages).chain(file.graph.iter_mut().filter_map(|table| table.url.as_mut())) {
        *url = shown_address(url).into_owned();
    }
    let proxies = file.redis.iter_mut().map(|table| &mut table.proxy);
    let proxies = proxies.chain(file.metrics.iter_mut().map(|table| &mut table.proxy));
    let proxies = proxies.chain(file.discovery.iter_mut().map(|table| &mut table.proxy));
    let proxies = proxies.chain(file.prometheus.iter_mut().map(|table| &mut table.proxy));
    for url in proxies.chain([&mut file.proxy]).flatten() {
        *url = shown_address(url).into_owned();
    }
    let urls = file.changes.iter_mut().filter_map(|table| table.url.as_mut());
    let probed = file.probe.iter_mut().flat_map(|table| [&mut table.url, &mut table.proxy]).flatten();
    for url in urls.chain(probed) {
        *url = shown_address(url).into_owned();
    }
    Ok(Config {
        origin: origin.to_owned(),
        settings,
        redis,
        metrics,
        discoveries,
        probes,
        logs,
        prometheus,
        canary,
        imports,
        changes,
        local,
        since: None,
        file,
    })
}

/// The components seen so far, by subject; the order of first mention is kept.
#[derive(Default)]
pub(super) struct Components {
    order: Vec<Subject>,
    known: BTreeMap<Subject, Component>,
}

impl Components {
    pub(super) fn entry(&mut self, subject: &Subject) -> &mut Component {
        if !self.known.contains_key(subject) {
            self.order.push(subject.clone());
        }
        self.known.entry(subject.clone()).or_insert_with(|| Component::new(subject.clone()))
    }

    /// Those that have a table of their own; before [`Components::finish`] no others are known.
    pub(super) fn declared(&self) -> impl Iterator<Item = &Subject> {
        self.known.keys()
    }

    /// All of them: those only depended upon are added, and a declared queue is fed by its service's page.
    pub(super) fn finish(mut self) -> Vec<Component> {
        let callees: Vec<Subject> = self.known.values().flat_map(|c| c.depends_on.clone()).collect();
        for callee in callees {
            self.entry(&callee);
        }
        let fed: Vec<Subject> = self
            .known
            .values()
            .filter(|c| c.has_source && c.subject.kind() == Kind::Service)
            .map(|c| Subject::component(Kind::Queue, c.subject.name()))
            .filter(|queue| self.known.contains_key(queue))
            .collect();
        for queue in fed {
            self.entry(&queue).has_source = true;
        }
        self.order.iter().filter_map(|subject| self.known.remove(subject)).collect()
    }
}

fn metrics_specs(
    table: &MetricsTable,
    index: &str,
    proxy: Option<&ProxySpec>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<MetricsSpec> {
    let here = |key: &'static str| ["metrics", index, key];
    if table.url.is_none() && table.urls.is_empty() {
        document.complain(
            &["metrics", index],
            "[[metrics]] has no 'url': write for example url = \"http://10.0.0.5:8000/metrics\"",
        );
        return vec![];
    }
    let mut spec = MetricsSpec::new("");
    if let Some(component) = &table.component {
        spec.component = match component.parse::<Subject>() {
            // It tells of others, and is none itself.
            Ok(subject) if subject.kind() == Kind::Graph && is_plain_name(subject.name()) => Some(subject),
            _ => component_subject(component, &here("component"), document),
        };
        if spec.component.is_none() {
            return vec![];
        }
    }
    spec.dialects = dialects(&table.dialects, &here("dialects"), document);
    spec.proxy = super::reach::proxy(table.proxy.as_deref(), proxy, &here("proxy"), document);
    http_access(table.access(), here, document).enter(&mut spec);
    let mut specs = vec![];
    let mut page = |url: &String, path: &[&str]| match metrics_place(url) {
        Ok(place) => {
            let mut spec = MetricsSpec { url: url.clone(), instance: asked_about(url), ..spec.clone() };
            let subject = spec.component.get_or_insert_with(|| bare_subject(Kind::Service, &place));
            if subject.kind() != Kind::Graph {
                components.entry(subject).has_source = true;
            }
            specs.push(spec);
        }
        Err(complaint) => document.wrong(path, complaint),
    };
    if let Some(url) = &table.url {
        page(url, &here("url"));
    }
    for (position, url) in table.urls.iter().enumerate() {
        page(url, &["metrics", index, "urls", &position.to_string()]);
    }
    specs
}

/// Whom a prober is asked about in its page's address, as pages of one list are told apart.
fn asked_about(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url).ok()?;
    let (_, address) = url.query_pairs().find(|(name, _)| name == "target")?;
    named_after(&address)
}

/// The dialects that a table names; `None` when it names none. `path` is where its key stands.
pub(super) fn dialects(
    written: &[String],
    path: &[&str],
    document: &mut Document<'_>,
) -> Option<Vec<String>> {
    for (position, id) in written.iter().enumerate() {
        let known = Dialects::built_in();
        if known.position(id).is_none() {
            let ids: Vec<&str> = known.list.iter().map(|dialect| dialect.id.as_str()).collect();
            let position = position.to_string();
            let place: Vec<&str> = path.iter().copied().chain([position.as_str()]).collect();
            document.complain(&place, unknown_name("dialect", id, &ids));
        }
    }
    (!written.is_empty()).then(|| written.to_vec())
}

fn component(table: &ComponentTable, index: &str, components: &mut Components, document: &mut Document<'_>) {
    let here = |key: &'static str| ["component", index, key];
    let Some(written) = table.subject.as_deref() else {
        document.complain(
            &["component", index],
            "[[component]] has no 'subject': write for example subject = \"service/ranker\"",
        );
        return;
    };
    let Some(subject) = component_subject(written, &here("subject"), document) else { return };
    let mut depends_on = vec![];
    for (position, callee) in table.depends_on.iter().enumerate() {
        let position = position.to_string();
        let path = ["component", index, "depends_on", &position];
        match component_subject(callee, &path, document) {
            Some(callee) if callee == subject => document.wrong(&path, "cannot depend on itself: remove it"),
            Some(callee) => depends_on.push(callee),
            None => {}
        }
    }
    let mut stages = BTreeMap::new();
    for (stage, callee) in &table.stages {
        if let Some(callee) = component_subject(callee, &["component", index, "stages", stage], document) {
            // Time that is spent in a component is a dependency on it, whether the list names it or not.
            if callee != subject && !depends_on.contains(&callee) {
                depends_on.push(callee.clone());
            }
            // Labels of pages are cleaned in the same way, so that the two still meet.
            stages.insert(RemoteText::new(stage).as_str().to_owned(), callee);
        }
    }
    if table.objective_p99.is_some_and(|objective| objective.0.is_zero()) {
        document.wrong(&here("objective_p99"), "is met by no request: write for example '500ms'");
    }
    if table.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        document.wrong(&here("timeout"), "waits for nothing: write for example '3s', or leave it out");
    }
    let thresholds = thresholds(&table.thresholds, &["component", index, "thresholds"], document);
    let declared = components.entry(&subject);
    declared.depends_on = depends_on;
    declared.objective_p99 = table.objective_p99.map(|span| span.0);
    declared.timeout = table.timeout.map(|span| span.0);
    declared.stages = stages;
    declared.thresholds = thresholds;
    super::health::declare(table, index, declared, document);
}

/// The component of a target that was given without a name: `service/HOST-PORT`.
pub(crate) fn bare_subject(kind: Kind, place: &str) -> Subject {
    let name = place.replace(['[', ']'], "").replace(':', "-");
    Subject::component(kind, &name.trim_start_matches('/').replace('/', "-"))
}

/// Reads a subject that must be a whole component.
pub(super) fn component_subject(text: &str, path: &[&str], document: &mut Document<'_>) -> Option<Subject> {
    const KINDS_OF_USERS: &str =
        "client, gateway, service, queue, redis, dependency, kafka, pipeline, gpu or host";
    match text.parse::<Subject>() {
        Ok(subject)
            if !subject.kind().names_a_source()
                && !matches!(subject.kind(), Kind::Edge | Kind::Observer)
                && is_plain_name(&text[text.find('/')? + 1..]) =>
        {
            Some(subject)
        }
        _ => {
            document.wrong(
                path,
                format_args!("is not a component: write KIND/NAME such as 'service/ranker', KIND one of {KINDS_OF_USERS}"),
            );
            None
        }
    }
}

pub(super) fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ':'))
}

fn thresholds(written: &Thresholds, path: &[&str], document: &mut Document<'_>) -> Thresholds {
    for (rule, values) in written {
        let mut place = path.to_vec();
        place.push(rule);
        let Some(known) = super::thresholds::of_rule(rule) else {
            document.complain(&place, unknown_name("rule", rule, &super::thresholds::rule_ids()));
            continue;
        };
        for (name, value) in values {
            place.push(name);
            match known.iter().find(|threshold| threshold.name == name) {
                Some(threshold) => {
                    if let Some(complaint) = super::thresholds::wrong_value(threshold, *value) {
                        document.wrong(&place, complaint);
                    }
                }
                None => {
                    let names: Vec<&str> = known.iter().map(|threshold| threshold.name).collect();
                    document.complain(&place, unknown_name(&format!("'{rule}' threshold"), name, &names));
                }
            }
            place.pop();
        }
    }
    written.clone()
}

/// A secret from the environment or from a file; the file's last line ending is not part of it.
pub(super) fn secret(
    (env, env_path): (Option<&str>, &[&str]),
    (file, file_path): (Option<&str>, &[&str]),
    document: &mut Document<'_>,
) -> Option<SecretString> {
    match (env, file) {
        (Some(_), Some(_)) => {
            document.complain(file_path, "the secret is named twice: keep the _env or the _file key");
            None
        }
        (Some(name), None) => {
            // What does not look like a name may be the secret itself, so it is not repeated here.
            if name.is_empty()
                || !name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            {
                let key = env_path.last().copied().unwrap_or_default();
                document.complain(
                    env_path,
                    format!("'{key}' is not the name of an environment variable: write capitals, digits and '_', and put the secret in that variable"),
                );
                return None;
            }
            match std::env::var(name) {
                Ok(value) => Some(value.into()),
                Err(_) => {
                    document.wrong(env_path, "is not set: export that environment variable first");
                    None
                }
            }
        }
        (None, Some(path)) => match std::fs::read_to_string(path) {
            Ok(text) => Some(text.trim_end_matches(['\r', '\n']).to_owned().into()),
            Err(error) => {
                document.wrong(
                    file_path,
                    format_args!("cannot be read ({error}): check the path and its rights"),
                );
                None
            }
        },
        (None, None) => None,
    }
}

pub(super) fn readable_file(
    path: Option<&str>,
    place: &[&str],
    document: &mut Document<'_>,
) -> Option<PathBuf> {
    let path = PathBuf::from(path?);
    if let Err(error) = std::fs::File::open(&path) {
        document.wrong(place, format_args!("cannot be read ({error}): check the path and its rights"));
    }
    Some(path)
}
