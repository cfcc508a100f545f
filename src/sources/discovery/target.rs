//! From an address with labels to a page that is scraped, by the meaning that Prometheus gives to such labels.

use std::collections::BTreeMap;

use headwater_engine::reading::Target;
use headwater_engine::{Kind, RemoteText, Subject};
use reqwest::Url;

use super::Naming;
use crate::config::{bare_subject, metrics_place, shown_address};
use crate::sources::label::{named_after, plain};
use crate::sources::metrics::MetricsSpec;
use crate::sources::metrics::fetch::Address;

/// The labels that say how a target is asked, and the one that says which job it has.
const PATH: &str = "__metrics_path__";
const SCHEME: &str = "__scheme__";
const PARAMETER: &str = "__param_";
/// Whom the page of an exporter is about that is asked about many, as a blackbox_exporter is.
const ASKED_ABOUT: &str = "__param_target";
const JOB: &str = "job";

/// The longest address of a page, in bytes: servers take no longer ones, and a list may have thousands.
const LONGEST_URL: usize = 8 * 1024;

/// The page of a target, and the target as it is told; in a few words why there is none.
pub(super) fn page(
    naming: &Naming,
    address: &str,
    labels: &BTreeMap<String, String>,
) -> Result<(Target, MetricsSpec), String> {
    let shown = || RemoteText::new(&shown_address(address));
    let scheme = labels.get(SCHEME).map_or(naming.scheme.as_str(), String::as_str);
    if !matches!(scheme, "http" | "https") {
        return Err(format!("'{}' has the scheme '{}'", shown(), RemoteText::new(scheme)));
    }
    // Whoever writes the list chooses who is sent what is secret, but not that everybody on the way may read it.
    if scheme == "http" && naming.scheme == "https" && naming.sends_secrets() {
        return Err(format!("'{}' asks for http, which would show what is secret", shown()));
    }
    let long = address.len() + labels.values().map(String::len).sum::<usize>() > LONGEST_URL;
    if long {
        return Err(format!("'{}' has an address or labels that are too long", shown()));
    }
    // What stands after a host would become a part of the path, and what stands before an '@' a password.
    let is_plain = !address.contains(['/', '@', '?', '#', '\\']) && !address.trim().is_empty();
    let place = is_plain.then(|| metrics_place(&format!("{scheme}://{}/", address.trim())).ok()).flatten();
    let place = place.ok_or_else(|| format!("'{}' is no address", shown()))?;
    let path = labels.get(PATH).map_or(naming.path.as_str(), String::as_str);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut url = Url::parse(&format!("{scheme}://{place}{slash}{path}"))
        .map_err(|_| format!("'{}' has a path that is none", shown()))?;
    for (name, value) in labels {
        if let Some(name) = name.strip_prefix(PARAMETER) {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    if url.as_str().len() > LONGEST_URL {
        return Err(format!("'{}' has a path that is too long", shown()));
    }
    // As the page's own readings name it: hosts have one spelling there.
    let place = Address::parse(url.as_str()).map_or(place, |address| address.host_and_port().to_owned());
    let component = component(naming, &place, labels);
    let of_label =
        naming.instance_label.as_ref().and_then(|label| labels.get(label)).map(|value| plain(value));
    let asked_about = || labels.get(ASKED_ABOUT).and_then(|address| named_after(address));
    let instance = of_label.filter(|value| !value.is_empty()).or_else(asked_about);
    let subject = component.instance(instance.as_deref().unwrap_or(&place));
    let mut page = naming.page.clone();
    page.component = Some(component);
    page.instance = instance;
    page.url = url.to_string();
    Ok((Target { subject, place: RemoteText::new(&place) }, page))
}

/// Whose page it is: as a selector says, as a label that was asked for says, as the table says, as its job says.
fn component(naming: &Naming, place: &str, labels: &BTreeMap<String, String>) -> Subject {
    let fits = |wanted: &BTreeMap<String, String>| {
        wanted.iter().all(|(name, value)| match name.as_str() {
            "__address__" | "instance" if !labels.contains_key(name) => place == value,
            _ => labels.get(name) == Some(value),
        })
    };
    let selected = naming.components.iter().find(|selector| fits(&selector.labels));
    let of_label =
        |label: &str| labels.get(label).filter(|value| !value.is_empty()).map(|value| named(value));
    selected
        .map(|selector| selector.component.clone())
        .or_else(|| of_label(naming.component_label.as_deref()?))
        .or_else(|| naming.page.component.clone())
        .or_else(|| of_label(JOB))
        .unwrap_or_else(|| bare_subject(Kind::Service, place))
}

/// The component that a label's value names: KIND/NAME, or the name of a service.
fn named(value: &str) -> Subject {
    let written = value.parse::<Subject>().ok().filter(|subject| {
        let kind = subject.kind();
        subject.is_component() && !kind.names_a_source() && !matches!(kind, Kind::Edge | Kind::Observer)
    });
    match written {
        Some(subject) => Subject::component(subject.kind(), &plain(subject.name())),
        None => Subject::component(Kind::Service, &plain(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::prometheus::ComponentSelector;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn told(naming: &Naming, address: &str, pairs: &[(&str, &str)]) -> (String, String, String) {
        let (target, page) = page(naming, address, &labels(pairs)).unwrap();
        assert_eq!(page.subject().unwrap(), target.subject);
        (target.subject.to_string(), target.place.as_str().to_owned(), page.url)
    }

    fn is(subject: &str, place: &str, url: &str) -> (String, String, String) {
        (subject.to_owned(), place.to_owned(), url.to_owned())
    }

    #[test]
    fn labels_say_how_a_target_is_asked() {
        let naming = Naming::default();
        assert_eq!(
            told(&naming, "10.0.0.5:8000", &[]),
            is("service/10.0.0.5-8000@10.0.0.5:8000", "10.0.0.5:8000", "http://10.0.0.5:8000/metrics")
        );
        let all = [
            ("__scheme__", "https"),
            ("__metrics_path__", "probe"),
            ("__param_module", "a b"),
            ("job", "rank er"),
        ];
        assert_eq!(
            told(&naming, "h", &all),
            is("service/rank-er@h:443", "h:443", "https://h/probe?module=a+b")
        );
        assert_eq!(told(&naming, "[::1]:9", &[]).1, "[::1]:9");
    }

    #[test]
    fn a_page_about_somebody_else_is_called_by_whom_it_is_about() {
        let mut naming = Naming::default();
        let about = |naming: &Naming, target: &str| {
            told(naming, "prober:9115", &[("job", "web"), ("pod", "p-1"), ("__param_target", target)])
        };
        let (subject, place, url) = about(&naming, "https://u:s3cret@ranker:8000/ready?token=t");
        assert_eq!((subject.as_str(), place.as_str()), ("service/web@ranker:8000-ready", "prober:9115"));
        assert!(url.starts_with("http://prober:9115/metrics?target=https"), "{url}");
        assert_eq!(about(&naming, "redis://10.0.0.1:6379").0, "service/web@10.0.0.1:6379");
        assert_eq!(
            about(&naming, "https://u:s3c?ret@ranker/x").0,
            "service/web@prober:9115",
            "half of a password"
        );
        assert_eq!(about(&naming, "").0, "service/web@prober:9115");
        naming.instance_label = Some("__param_target".to_owned());
        let (subject, ..) = about(&naming, "https://u:s3c?ret@ranker/x");
        assert!(!subject.contains("s3c") && !subject.contains("ret"), "{subject}");
        naming.instance_label = Some("pod".to_owned());
        assert_eq!(about(&naming, "redis://10.0.0.1:6379").0, "service/web@p-1");
    }

    #[test]
    fn a_host_has_one_spelling_however_the_list_writes_it() {
        let naming = Naming::default();
        assert_eq!(told(&naming, "Ranker-1.Prod:8000", &[("job", "r")]).0, "service/r@ranker-1.prod:8000");
        assert_eq!(told(&naming, "[2001:DB8::01]:9", &[]).1, "[2001:db8::1]:9");
    }

    #[test]
    fn a_label_shows_no_secret_and_asks_for_no_endless_path() {
        let mut naming = Naming { scheme: "https".to_owned(), ..Naming::default() };
        let open = labels(&[("__scheme__", "http")]);
        assert!(page(&naming, "h:1", &open).is_ok());
        naming.page.bearer = Some("s3cret".into());
        assert!(page(&naming, "h:1", &open).unwrap_err().contains("secret"));
        assert!(page(&naming, "h:1", &labels(&[])).is_ok());
        let long = "x".repeat(3_900_000);
        for label in ["__param_x", "__metrics_path__"] {
            assert!(
                page(&naming, "h:1", &labels(&[(label, &long)])).unwrap_err().contains("too long"),
                "{label}"
            );
        }
    }

    #[test]
    fn a_component_is_named_by_selector_label_table_and_job_in_this_order() {
        let mut naming = Naming { component_label: Some("app".into()), ..Naming::default() };
        naming.page.component = Some("service/table".parse().unwrap());
        naming.components.push(ComponentSelector {
            component: "gateway/edge".parse().unwrap(),
            labels: labels(&[("role", "edge")]),
        });
        naming.instance_label = Some("pod".into());
        let subject = |pairs: &[(&str, &str)]| told(&naming, "h:1", pairs).0;
        assert_eq!(subject(&[("role", "edge"), ("app", "a"), ("pod", "e-0")]), "gateway/edge@e-0");
        assert_eq!(subject(&[("app", "redis/features"), ("job", "j")]), "redis/features@h:1");
        assert_eq!(subject(&[("app", "probe/x")]), "service/probe-x@h:1");
        assert_eq!(subject(&[("job", "j")]), "service/table@h:1");
        naming.page.component = None;
        assert_eq!(told(&naming, "h:1", &[("job", "j")]).0, "service/j@h:1");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (address, pairs) in [
            ("", &[][..]),
            ("u:p@h:1", &[]),
            ("h:1/x", &[]),
            ("h:port", &[]),
            ("a b", &[]),
            ("::1", &[]),
            ("h:1", &[("__scheme__", "file")]),
        ] {
            let why = page(&Naming::default(), address, &labels(pairs)).unwrap_err();
            assert!(!why.contains(":p@"), "a password: {why}");
        }
    }
}
