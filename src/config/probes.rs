//! The `[[probe]]` tables: what Headwater asks itself, as a caller would.

use std::time::Duration;

use headwater_engine::{Kind, Subject};

use super::file::{ProbeTable, ProbeWord};
use super::http_access::{HttpAccess, http_access};
use super::place::Document;
use super::resolve::{Components, INTERVALS, bare_subject, component_subject, is_plain_name};
use super::target::metrics_place;
use crate::sources::metrics::MetricsSpec;
use crate::sources::probe::{COMPLETIONS_AT_MOST_EVERY, Completion, MOST_TOKENS, ProbeKind, ProbeSpec};
use crate::sources::proxy::ProxySpec;

const COMPLETIONS_EVERY: Duration = Duration::from_secs(30);
const TOKENS: u8 = 2;
const PROMPT: &str = "Say yes.";

/// A component counts as covered by a probe that comes round before its numbers are stale.
const COVERS_WITHIN_INTERVALS: u32 = 4;

/// What the tables are read beside.
pub(super) struct Beside<'a> {
    pub(super) interval: Duration,
    pub(super) proxy: Option<&'a ProxySpec>,
    pub(super) pages: &'a [MetricsSpec],
    /// Whether a Prometheus or a list may tell of instances that no page here names.
    pub(super) is_scraped: bool,
    /// Whether a list may name pages that no table here names.
    pub(super) finds_more: bool,
}

/// The probes of these tables.
pub(super) fn resolve(
    tables: &[ProbeTable],
    beside: &Beside<'_>,
    components: &mut Components,
    document: &mut Document<'_>,
) -> Vec<ProbeSpec> {
    let mut specs: Vec<ProbeSpec> = vec![];
    for (index, table) in tables.iter().enumerate() {
        let index = index.to_string();
        let Some(spec) = spec(table, &index, beside, document) else { continue };
        if specs.iter().any(|known| known.subject == spec.subject) {
            let sentence = format!("{} stands twice: give each [[probe]] its own name", spec.subject);
            document.complain(&["probe", &index], sentence);
        }
        let is_same = |known: &&ProbeSpec| known.about == spec.about && is_same_kind(&known.kind, &spec.kind);
        if let Some(known) = specs.iter().find(is_same) {
            let sentence = format!(
                "{} asks the same of {} as {}, and one would write over the other: remove one, or give them components of their own",
                spec.subject, spec.about, known.subject
            );
            document.complain(&["probe", &index], sentence);
        }
        if spec.every <= beside.interval * COVERS_WITHIN_INTERVALS
            && !matches!(spec.kind, ProbeKind::FirstToken(_))
            && !spec.is_of_anybody
        {
            components.entry(&spec.about.component_of()).has_source = true;
        } else if !spec.is_of_anybody {
            components.entry(&spec.about.component_of());
        }
        specs.push(spec);
    }
    share_phases(&mut specs);
    specs
}

fn is_same_kind(one: &ProbeKind, other: &ProbeKind) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// Of several probes of one subject a plain one tells the phases, else the one of readiness.
fn share_phases(specs: &mut [ProbeSpec]) {
    let rank = |kind: &ProbeKind| match kind {
        ProbeKind::Http => 0,
        ProbeKind::Ready => 1,
        ProbeKind::FirstToken(_) => 2,
    };
    let ranked: Vec<(Subject, u8)> =
        specs.iter().map(|spec| (spec.about.clone(), rank(&spec.kind))).collect();
    for spec in specs {
        let own = rank(&spec.kind);
        spec.tells_phases = !ranked.iter().any(|(about, other)| *about == spec.about && *other < own);
    }
}

fn spec(
    table: &ProbeTable,
    index: &str,
    beside: &Beside<'_>,
    document: &mut Document<'_>,
) -> Option<ProbeSpec> {
    let here = |key: &'static str| ["probe", index, key];
    let Some(url) = table.url.as_deref() else {
        let sentence = "[[probe]] has no 'url': write for example url = \"http://10.0.0.5:8000/ready\"";
        document.complain(&["probe", index], sentence);
        return None;
    };
    let Ok(place) = metrics_place(url) else {
        let what =
            "is not an address to probe: write for example http://10.0.0.5:8000/ready, a token in bearer_env";
        document.wrong(&here("url"), what);
        return None;
    };
    let word = table.kind.unwrap_or_default();
    let page = beside.pages.iter().find(|page| {
        let is_there = metrics_place(&page.url).is_ok_and(|known| known == place);
        let is_meant = table.component.as_deref().is_none_or(|written| {
            page.component.as_ref().is_some_and(|component| component.as_str() == written)
        });
        is_there && is_meant
    });
    let component = match &table.component {
        Some(written) => component_subject(written, &here("component"), document)?,
        None => page
            .and_then(|page| page.component.clone())
            .filter(|component| !component.kind().names_a_source())
            .unwrap_or_else(|| bare_subject(Kind::Service, &place)),
    };
    // An address that has no page of its own may be that of all instances; the engine learns which instances a Prometheus
    // has scraped.
    let may_be_scraped = beside.is_scraped && table.component.is_some();
    let about = if page.is_some() || may_be_scraped { component.instance(&place) } else { component };
    let name = match table.name.as_deref() {
        Some(name) if !is_plain_name(name) => {
            document.wrong(&here("name"), "is not a name: use letters, digits, '.', '_' and '-'");
            return None;
        }
        Some(name) => name.to_owned(),
        None => bare_subject(Kind::Probe, &format!("{}-{place}", word_of(word))).name().to_owned(),
    };
    let kind = match word {
        ProbeWord::Http => ProbeKind::Http,
        ProbeWord::Ready => ProbeKind::Ready,
        ProbeWord::Ttft => ProbeKind::FirstToken(completion(table, index, document)?),
    };
    if let Some(key) = of_completions(table).filter(|_| word != ProbeWord::Ttft) {
        document.complain(&here(key), format!("'{key}' is for kind = \"ttft\": remove it"));
    }
    if table.status.is_some_and(|status| !(100..600).contains(&status)) {
        document.wrong(&here("status"), "is not a status of HTTP: write for example 200");
    }
    let mut spec = ProbeSpec::new(Subject::component(Kind::Probe, &name), about, url, kind);
    spec.every = every(table, word, index, beside.interval, document);
    spec.is_of_anybody = beside.finds_more && page.is_none() && table.component.is_none();
    spec.status = table.status;
    spec.contains.clone_from(&table.contains);
    let HttpAccess { bearer, bearer_file, ca_file, client, headers } =
        http_access(table.access(), here, document);
    (spec.bearer, spec.bearer_file, spec.ca_file) = (bearer, bearer_file, ca_file);
    (spec.client, spec.headers) = (client, headers);
    spec.proxy = super::reach::proxy(table.proxy.as_deref(), beside.proxy, &here("proxy"), document);
    Some(spec)
}

fn word_of(word: ProbeWord) -> &'static str {
    match word {
        ProbeWord::Http => "http",
        ProbeWord::Ready => "ready",
        ProbeWord::Ttft => "ttft",
    }
}

fn every(
    table: &ProbeTable,
    word: ProbeWord,
    index: &str,
    interval: Duration,
    document: &mut Document<'_>,
) -> Duration {
    let here = ["probe", index, "every"];
    let Some(every) = table.every.map(|span| span.0) else {
        return if word == ProbeWord::Ttft { COMPLETIONS_EVERY } else { interval };
    };
    let longest = Duration::from_secs(600);
    if word == ProbeWord::Ttft && every < COMPLETIONS_AT_MOST_EVERY {
        document.wrong(&here, "is too often for a text that has to be generated: write '10s' or more");
    } else if every < *INTERVALS.start() || every > longest {
        document.wrong(&here, "is out of range: write a span from '200ms' to '10min'");
    }
    every
}

fn completion(table: &ProbeTable, index: &str, document: &mut Document<'_>) -> Option<Completion> {
    let most_tokens = table.max_tokens.unwrap_or(TOKENS);
    if !(1..=MOST_TOKENS).contains(&most_tokens) {
        document.wrong(&["probe", index, "max_tokens"], "is out of range: write a number from 1 to 16");
    }
    if table.allow_completions != Some(true) {
        let sentence = format!(
            "kind = \"ttft\" makes the server generate {most_tokens} tokens each time: write allow_completions = true \
             if it may"
        );
        document.complain(&["probe", index], sentence);
        return None;
    }
    Some(Completion {
        model: table.model.clone(),
        prompt: table.prompt.clone().unwrap_or_else(|| PROMPT.to_owned()),
        most_tokens,
    })
}

/// The first key that only a probe for tokens has.
fn of_completions(table: &ProbeTable) -> Option<&'static str> {
    [
        ("model", table.model.is_some()),
        ("prompt", table.prompt.is_some()),
        ("max_tokens", table.max_tokens.is_some()),
        ("allow_completions", table.allow_completions.is_some()),
    ]
    .into_iter()
    .find_map(|(key, is_there)| is_there.then_some(key))
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::sources::probe::ProbeKind;

    const PAGE: &str = "[[metrics]]\ncomponent = \"service/ranker\"\nurl = \"http://h:1/metrics\"\n";

    fn complaint(table: &str) -> String {
        Config::parse(&format!("[[probe]]\n{table}\n{PAGE}"), "/etc/h/c.toml").unwrap_err().to_string()
    }

    #[test]
    fn a_probe_is_of_the_instance_whose_page_is_at_its_address_and_else_of_a_whole_component() {
        let text = format!(
            "{PAGE}[[probe]]\nurl = \"http://h:1/health\"\n[[probe]]\nurl = \"http://h:1/ready\"\nkind = \"ready\"\n\
             [[probe]]\nname = \"front\"\ncomponent = \"gateway/edge\"\nurl = \"https://edge/\"\nevery = \"10s\"\n\
             [[probe]]\nurl = \"http://h:1/v1/completions\"\nkind = \"ttft\"\nallow_completions = true\n"
        );
        let config = Config::parse(&text, "/etc/h/c.toml").unwrap();
        let rows: Vec<_> = config
            .probes
            .iter()
            .map(|spec| (spec.subject.as_str(), spec.about.as_str(), spec.every.as_secs(), spec.tells_phases))
            .collect();
        let expected = [
            ("probe/http-h-1", "service/ranker@h:1", 1, true),
            ("probe/ready-h-1", "service/ranker@h:1", 1, false),
            ("probe/front", "gateway/edge", 10, true),
            ("probe/ttft-h-1", "service/ranker@h:1", 30, false),
        ];
        assert_eq!(rows, expected);
        assert!(matches!(&config.probes[3].kind, ProbeKind::FirstToken(asked) if asked.most_tokens == 2));
        let covers = |name: &str| {
            config.settings.components.iter().find(|c| c.subject.as_str() == name).unwrap().has_source
        };
        assert!(covers("service/ranker") && !covers("gateway/edge"));
        assert_eq!(config.settings.tellers.len(), 4);
        let again = Config::parse(&config.print(), "/etc/h/c.toml").unwrap();
        assert_eq!((again.probes.len(), again.settings), (4, config.settings));
    }

    #[test]
    fn behind_a_prometheus_a_probe_may_be_of_one_instance() {
        let probe = "[[probe]]\ncomponent = \"service/ranker\"\nurl = \"http://h:1/ready\"\n";
        let about = |text: &str| Config::parse(text, "c.toml").unwrap().probes[0].about.to_string();
        assert_eq!(about(probe), "service/ranker");
        let scraped = format!("{probe}[[prometheus]]\nurl = \"http://127.0.0.1:9090\"\n");
        assert_eq!(about(&scraped), "service/ranker@h:1");
    }

    #[test]
    fn a_probe_alone_is_something_to_ask() {
        let config = Config::parse("[[probe]]\nurl = \"http://h:1/\"\n", "c.toml").unwrap();
        assert_eq!(config.probes[0].about.as_str(), "service/h-1");
    }

    #[test]
    fn what_is_wrong_is_named_with_the_fix() {
        for (table, said) in [
            ("name = \"a\"", "[[probe]] has no 'url'"),
            ("url = \"icmp://h\"", "c.toml:2: 'url' = 'icmp://h' is not an address to probe"),
            ("url = \"http://h/\"\nname = \"a b\"", "is not a name"),
            ("url = \"http://h/\"\nkind = \"ping\"", "'kind'"),
            ("url = \"http://h/\"\nkind = \"ttft\"", "write allow_completions = true"),
            ("url = \"http://h/\"\nmodel = \"m\"", "'model' is for kind = \"ttft\""),
            (
                "url = \"http://h/\"\nkind = \"ttft\"\nallow_completions = true\nevery = \"1s\"",
                "too often for a text",
            ),
            (
                "url = \"http://h/\"\nkind = \"ttft\"\nallow_completions = true\nmax_tokens = 99",
                "from 1 to 16",
            ),
            ("url = \"http://h/\"\nevery = \"1h\"", "out of range"),
            ("url = \"http://h/\"\nstatus = 42", "is not a status"),
            ("url = \"http://h/\"\n[[probe]]\nurl = \"http://h/\"", "stands twice"),
            ("url = \"http://h/a\"\n[[probe]]\nname = \"b\"\nurl = \"http://h/b\"", "asks the same of"),
        ] {
            let complaint = complaint(table);
            assert!(complaint.contains(said), "{table}: {complaint}");
        }
    }
}
