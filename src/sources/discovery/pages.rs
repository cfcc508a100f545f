//! The pages that a list names: each once, and as many as one table may bring.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::Subject;
use headwater_engine::quantity::counted;
use headwater_engine::reading::Target;

use super::list::Group;
use super::spec::Naming;
use super::target;
use crate::sources::directory::Directory;
use crate::sources::metrics::MetricsSpec;

/// The most targets of one table; with more, a fleet is read by several tables, or by a Prometheus.
pub const MOST_TARGETS: usize = 2_000;

/// Who makes pages of names.
pub(super) struct Pages<'a> {
    pub(super) naming: &'a Naming,
    pub(super) directory: &'a Directory,
    /// Who found the names.
    pub(super) finder: &'a Subject,
}

impl Pages<'_> {
    /// The pages that these groups name, each once, and why others are left out.
    pub(super) fn of(&self, named: &[Group]) -> (BTreeMap<Target, MetricsSpec>, Option<String>) {
        let mut pages: BTreeMap<Target, MetricsSpec> = BTreeMap::new();
        // Their addresses, which tell pages apart: a prober has as many at one place as it is asked about.
        let mut by_subject: BTreeMap<Subject, String> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let (mut left_out, mut why) = (0_u64, None);
        let mut leave_out = |reason: &dyn Fn() -> String| {
            left_out += 1;
            why.get_or_insert_with(reason);
        };
        for group in named {
            for address in &group.targets {
                if !seen.insert((address, &group.labels)) {
                    continue;
                }
                let (target, page) = match target::page(self.naming, address, &group.labels) {
                    Ok(made) => made,
                    Err(reason) => {
                        leave_out(&|| reason.clone());
                        continue;
                    }
                };
                match by_subject.get(&target.subject) {
                    Some(known) if *known == page.url => continue,
                    Some(_) => {
                        leave_out(&|| {
                            format!(
                                "{} stands for several pages: let instance_label name a label that tells them apart",
                                target.subject
                            )
                        });
                        continue;
                    }
                    None => {}
                }
                if let Some(other) = self.directory.found_by_another(&target.subject, self.finder) {
                    leave_out(&|| format!("{} is known from {other}", target.subject));
                } else if pages.len() >= MOST_TARGETS {
                    leave_out(&|| format!("one [[discovery]] table may bring {MOST_TARGETS}: split it"));
                } else {
                    by_subject.insert(target.subject.clone(), page.url.clone());
                    pages.insert(target, page);
                }
            }
        }
        (pages, why.map(|why| format!("{} left out: {why}", counted(left_out, "target"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(groups: &[Group]) -> (Vec<String>, Option<String>) {
        let (naming, directory) = (Naming::default(), Directory::default());
        let finder = "discovery/d".parse().unwrap();
        let (pages, why) = Pages { naming: &naming, directory: &directory, finder: &finder }.of(groups);
        (pages.into_values().map(|page| page.url).collect(), why)
    }

    fn group(targets: &[String], labels: &[(&str, &str)]) -> Group {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Group { targets: targets.to_vec(), labels: labels.collect() }
    }

    #[test]
    fn a_list_may_bring_so_many_targets_and_the_others_are_said() {
        let targets = |count| (0..count).map(|number| format!("10.0.0.1:{}", number + 1)).collect::<Vec<_>>();
        let (urls, why) = pages(&[group(&targets(MOST_TARGETS + 3), &[])]);
        assert_eq!(urls.len(), MOST_TARGETS);
        assert_eq!(why.unwrap(), "3 targets left out: one [[discovery]] table may bring 2000: split it");
        // One that is named again is no target more.
        let all = targets(MOST_TARGETS);
        let (urls, why) = pages(&[group(&all, &[]), group(&all, &[]), group(&all, &[("zone", "a")])]);
        assert_eq!((urls.len(), why), (MOST_TARGETS, None));
    }

    #[test]
    fn pages_at_one_address_are_told_apart_by_what_they_are_about_or_said() {
        let prober = ["prober:9115".to_owned()];
        let about = |target| group(&prober, &[("job", "web"), ("__param_target", target)]);
        let (urls, why) = pages(&[about("https://a/"), about("https://b/"), about("https://a/")]);
        assert_eq!((urls.len(), why), (2, None), "{urls:?}");
        let with_module = |module| group(&prober, &[("job", "web"), ("__param_module", module)]);
        let (urls, why) = pages(&[with_module("http"), with_module("tcp")]);
        assert_eq!(urls.len(), 1);
        let why = why.unwrap();
        assert!(why.contains("service/web@prober:9115 stands for several pages"), "{why}");
    }
}
