//! Series of one target, written as the page that they were scraped from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::answer::Series;

/// What a server adds to each scrape of its own; none of it stood on the page.
pub(super) const ADDED: &[&str] = &[
    "up",
    "scrape_duration_seconds",
    "scrape_samples_scraped",
    "scrape_samples_post_metric_relabeling",
    "scrape_series_added",
    "scrape_timeout_seconds",
    "scrape_sample_limit",
    "scrape_body_size_bytes",
    "scrape_response_size_bytes",
    "scrape_samples_limit",
    "scrape_series_current",
    "scrape_series_limit",
    "scrape_series_limit_samples_dropped",
];

/// The label that holds a series' name.
pub(super) const NAME: &str = "__name__";

/// What a server puts before a page's own label where its own has the same name.
const EXPORTED: &str = "exported_";

/// The types of families by name, in the words of TYPE lines.
pub(super) type Types = BTreeMap<String, String>;

/// The page of one moment (seconds since the Unix epoch): of each series the newest sample that is not newer, nor older
/// than `oldest`. Labels that are the target's and not the page's are left out.
pub(super) fn written(
    series: &[Series],
    target: &BTreeMap<String, String>,
    types: &Types,
    at: f64,
    oldest: f64,
) -> String {
    let mut families: BTreeMap<&str, Vec<(&Series, &str)>> = BTreeMap::new();
    for one in series {
        let Some(name) = one.labels.get(NAME).filter(|name| !ADDED.contains(&name.as_str())) else {
            continue;
        };
        let seen =
            one.values.iter().rev().find(|(moment, _)| *moment <= at).filter(|(moment, _)| *moment >= oldest);
        if let Some((_, value)) = seen {
            families.entry(name).or_default().push((one, value));
        }
    }
    let names: BTreeSet<&str> = families.keys().copied().collect();
    let mut declared = BTreeSet::new();
    let mut page = String::new();
    for (name, samples) in &families {
        let labels: Vec<_> = samples.iter().map(|(one, _)| &one.labels).collect();
        if let Some((family, kind)) = family_of(name, &labels, &names, types)
            && declared.insert(family.to_owned())
        {
            let _ = writeln!(page, "# TYPE {family} {kind}");
        }
        for (one, value) in samples {
            page.push_str(name);
            push_labels(&mut page, &one.labels, target);
            let _ = writeln!(page, " {value}");
        }
    }
    page
}

/// The family of a series' name with its type: as the server knows it, else as the names and labels show it.
fn family_of<'a>(
    name: &'a str,
    labels: &[&BTreeMap<String, String>],
    names: &BTreeSet<&str>,
    types: &'a Types,
) -> Option<(&'a str, &'a str)> {
    let known = |family: &str| types.get(family).map(String::as_str).filter(|kind| *kind != "unknown");
    if let Some(kind) = known(name) {
        return Some((name, kind));
    }
    for suffix in ["_bucket", "_sum", "_count"] {
        let Some(family) = name.strip_suffix(suffix) else { continue };
        if let Some(kind) =
            known(family).filter(|kind| matches!(*kind, "histogram" | "summary" | "gaugehistogram"))
        {
            return Some((family, kind));
        }
        // Buckets show themselves by their bounds; a sum and a count without any are a summary.
        let has = |suffix: &str| names.contains(format!("{family}{suffix}").as_str());
        if suffix != "_bucket" && !has("_bucket") && has("_sum") && has("_count") {
            return Some((family, "summary"));
        }
        return None;
    }
    // In OpenMetrics a counter's family has no `_total`, and some servers keep it so.
    if name.ends_with("_total") {
        return Some((name, "counter"));
    }
    labels.iter().any(|labels| labels.contains_key("quantile")).then_some((name, "summary"))
}

fn push_labels(page: &mut String, labels: &BTreeMap<String, String>, target: &BTreeMap<String, String>) {
    let mut separator = '{';
    for (name, value) in labels {
        if name == NAME || target.get(name) == Some(value) {
            continue;
        }
        let name = name.strip_prefix(EXPORTED).filter(|own| target.contains_key(*own)).unwrap_or(name);
        let _ = write!(page, "{separator}{name}=\"");
        for c in value.chars() {
            match c {
                '\\' => page.push_str("\\\\"),
                '"' => page.push_str("\\\""),
                '\n' => page.push_str("\\n"),
                c => page.push(c),
            }
        }
        page.push('"');
        separator = ',';
    }
    if separator == ',' {
        page.push('}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &[(&str, &str)]) -> BTreeMap<String, String> {
        text.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn series(text: &[(&str, &str)], values: &[(f64, &str)]) -> Series {
        let values = values.iter().map(|(at, value)| (*at, (*value).to_owned())).collect();
        Series { labels: labels(text), values }
    }

    #[test]
    fn a_page_is_what_was_scraped_then_without_what_the_server_added() {
        let target = labels(&[("job", "ranker"), ("instance", "h:1"), ("zone", "a")]);
        let of = |name: &'static str, own: &[(&'static str, &'static str)], values: &[(f64, &str)]| {
            let mut all = vec![("__name__", name), ("job", "ranker"), ("instance", "h:1"), ("zone", "a")];
            all.retain(|(name, _)| own.iter().all(|(other, _)| other != name));
            all.extend(own);
            series(&all, values)
        };
        let all = [
            of("up", &[], &[(10.0, "1")]),
            of("a_total", &[("exported_job", "x\"y\\\n")], &[(5.0, "1"), (10.0, "2"), (15.0, "3")]),
            of("b", &[("zone", "b")], &[(10.0, "NaN")]),
            of("gone", &[], &[(2.0, "1")]),
            of("t_sum", &[], &[(10.0, "4")]),
            of("t_count", &[], &[(10.0, "2")]),
            of("h_bucket", &[("le", "+Inf")], &[(10.0, "2")]),
            of("h_sum", &[], &[(10.0, "2")]),
            of("h_count", &[], &[(10.0, "2")]),
            of("q", &[("quantile", "0.5")], &[(10.0, "2")]),
        ];
        let types = [("b".to_owned(), "gauge".to_owned())].into();
        let page = written(&all, &target, &types, 10.0, 5.0);
        assert_eq!(
            page,
            "# TYPE a_total counter\na_total{job=\"x\\\"y\\\\\\n\"} 2\n# TYPE b gauge\nb{zone=\"b\"} NaN\n\
             h_bucket{le=\"+Inf\"} 2\nh_count 2\nh_sum 2\n# TYPE q summary\nq{quantile=\"0.5\"} 2\n\
             # TYPE t summary\nt_count 2\nt_sum 4\n"
        );
    }
}
