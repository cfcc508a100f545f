//! How much the live incident looks like past ones.

use std::collections::BTreeMap;

use super::{Case, is_watched};
use crate::report::{Report, ShapeKind};
use crate::rules::{Nature, RECENT_CHANGE, by_id};
use crate::snapshot::RuleState;
use crate::subject::Subject;
use crate::wording::{names, shape_words};

/// Below this share of what could be compared a case does not look like the incident.
const LEAST_SHARE: f64 = 0.3;

/// A case beside the live incident: what is alike and what is not.
#[derive(Clone, Debug, PartialEq)]
pub struct Likeness<'a> {
    /// The case.
    pub case: &'a Case,
    /// How alike, 0 to 1: the weight of what is alike over the weight of all that can be compared.
    pub share: f64,
    /// Its findings that are found here too, with where.
    pub alike: Vec<Alike>,
    /// The form of the failure here and then, when both are known.
    pub shapes: Option<(ShapeKind, ShapeKind)>,
    /// Rules of its findings that were evaluated here and are clear: they speak against it.
    pub against: Vec<String>,
    /// Rules that fire here and are not among its findings.
    pub beyond: Vec<String>,
    /// Rules of its findings that nobody can judge here: they say nothing.
    pub unseen: Vec<String>,
    /// Rules of its findings that this version does not have: they say nothing.
    pub unwatched: Vec<String>,
}

/// A finding of a case that is found here too.
#[derive(Clone, Debug, PartialEq)]
pub struct Alike {
    /// The rule.
    pub rule: String,
    /// What it fires on here.
    pub subjects: Vec<Subject>,
}

/// The cases that look like what is going on, the most alike first; none that has nothing in common but a
/// symptom and a change before it.
///
/// A mechanism weighs 3, a circumstance or supporting evidence 1.5, a symptom or a recent change 0.5 and the form of the
/// failure 1. A rule
/// that fires here and not in the case weighs half, because no write-up names everything.
pub fn matches<'a>(report: &Report, states: &[RuleState], cases: &'a [Case]) -> Vec<Likeness<'a>> {
    let here = Here::new(report, states);
    if here.firing.is_empty() {
        return vec![];
    }
    let mut alike: Vec<Likeness<'a>> = cases.iter().filter_map(|case| here.likeness(case)).collect();
    alike.sort_by(|one, other| other.share.total_cmp(&one.share));
    alike
}

impl Likeness<'_> {
    /// `67 %`.
    pub fn percent(&self) -> String {
        format!("{:.0} %", self.share * 100.0)
    }

    /// What is alike and what is not, one a line; the most telling first.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let mut lines: Vec<(&'static str, String)> = self
            .alike
            .iter()
            .map(|alike| {
                let on: Vec<&Subject> = alike.subjects.iter().collect();
                ("alike", format!("{} here on {}", alike.rule, names(&on)))
            })
            .collect();
        match self.shapes {
            Some((here, then)) if here == then => {
                lines.push(("alike", format!("the form of the failure: {}", shape_words(here))));
            }
            Some((here, then)) => {
                lines.push(("unlike", format!("{} here, {} then", shape_words(here), shape_words(then))));
            }
            None => {}
        }
        let mut listed = |label, rules: &[String], what: &str| {
            if !rules.is_empty() {
                lines.push((label, format!("{}: {what}", rules.join(", "))));
            }
        };
        listed("unlike", &self.against, "then, but clear here");
        listed("unlike", &self.beyond, "here, but not in the case");
        listed("unseen", &self.unseen, "then; nobody can judge it here, so it says nothing");
        listed("unseen", &self.unwatched, "then; not watched by this version, so it says nothing");
        lines
    }

    /// The same in few words: `shard-bandwidth, big-key alike; shard-hot clear here`.
    pub fn summary(&self) -> String {
        let told = |rules: Vec<&str>, what: &str| {
            (!rules.is_empty()).then(|| format!("{} {what}", rules.join(", ")))
        };
        // What every incident shows says the least of this one.
        let mut alike: Vec<&str> = self.alike.iter().map(|alike| alike.rule.as_str()).collect();
        alike.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
        let against = self.against.iter().map(String::as_str).collect();
        [told(alike, "alike"), told(against, "clear here")]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }
}

/// How much a rule tells of an incident.
fn weight(rule: &str) -> f64 {
    match by_id(rule).map(|rule| rule.nature) {
        Some(Nature::Mechanism) => 3.0,
        _ if is_common(rule) => 0.5,
        _ => 1.5,
    }
}

/// Whether it fires in most incidents, whatever they are: callers suffer in all of them, and somebody changed something
/// before nearly every one.
fn is_common(rule: &str) -> bool {
    rule == RECENT_CHANGE || by_id(rule).is_some_and(|rule| rule.nature == Nature::Symptom)
}

/// What is going on: which rules fire on what, and which are clear.
struct Here<'a> {
    shape: ShapeKind,
    /// Rules with what they fire on, or fired on in this incident.
    firing: Vec<(&'a str, Vec<&'a Subject>)>,
    /// How each rule stands on its subjects; there can be thousands.
    states: BTreeMap<&'a str, Vec<&'a RuleState>>,
}

/// How a finding of a case stands here.
enum Standing {
    Alike(Alike),
    Clear,
    Unseen,
    Unwatched,
}

impl<'a> Here<'a> {
    fn new(report: &'a Report, states: &'a [RuleState]) -> Self {
        let mut firing: Vec<(&str, Vec<&Subject>)> = vec![];
        let mut add =
            |rule: &'a str, subject: &'a Subject| match firing.iter_mut().find(|(known, _)| *known == rule) {
                Some((_, subjects)) if subjects.contains(&subject) => {}
                Some((_, subjects)) => subjects.push(subject),
                None => firing.push((rule, vec![subject])),
            };
        for state in states.iter().filter(|state| matches!(state.state, "firing" | "ended")) {
            add(state.rule, &state.subject);
        }
        for suspect in &report.suspects {
            add(&suspect.rule, &suspect.subject);
            suspect.explains.iter().for_each(|rule| add(rule, &suspect.subject));
        }
        let mut by_rule: BTreeMap<&str, Vec<&RuleState>> = BTreeMap::new();
        for state in states {
            by_rule.entry(state.rule).or_default().push(state);
        }
        Self { shape: report.shape.kind, firing, states: by_rule }
    }

    fn likeness<'c>(&self, case: &'c Case) -> Option<Likeness<'c>> {
        let known = |shape| !matches!(shape, ShapeKind::Unknown | ShapeKind::Calm);
        let shapes = case.shape.filter(|_| known(self.shape)).map(|then| (self.shape, then));
        let mut likeness = Likeness {
            case,
            share: 0.0,
            alike: vec![],
            shapes,
            against: vec![],
            beyond: vec![],
            unseen: vec![],
            unwatched: vec![],
        };
        for finding in &case.findings {
            let rule = finding.rule.clone();
            match self.standing(&rule, finding.on.as_deref()) {
                Standing::Alike(alike) => likeness.alike.push(alike),
                Standing::Clear => likeness.against.push(rule),
                Standing::Unseen => likeness.unseen.push(rule),
                Standing::Unwatched => likeness.unwatched.push(rule),
            }
        }
        let named = |rule: &str| case.findings.iter().any(|finding| finding.rule == rule);
        let beyond = self.firing.iter().map(|(rule, _)| *rule).filter(|rule| !named(rule));
        likeness.beyond = beyond.map(str::to_owned).collect();
        if likeness.alike.iter().all(|alike| is_common(&alike.rule)) {
            return None;
        }
        let sum = |rules: &[String]| rules.iter().map(|rule| weight(rule)).sum::<f64>();
        let alike: f64 = likeness.alike.iter().map(|alike| weight(&alike.rule)).sum();
        let (same_shape, other_shape) = match shapes {
            Some((here, then)) if here == then => (1.0, 0.0),
            Some(_) => (0.0, 1.0),
            None => (0.0, 0.0),
        };
        let for_it = alike + same_shape;
        let against = sum(&likeness.against) + other_shape + sum(&likeness.beyond) / 2.0;
        likeness.share = for_it / (for_it + against);
        (likeness.share >= LEAST_SHARE).then_some(likeness)
    }

    fn standing(&self, rule: &str, on: Option<&str>) -> Standing {
        if !is_watched(rule) {
            return Standing::Unwatched;
        }
        let is_on = |subject: &Subject| on.is_none_or(|kind| subject.kind().word() == kind);
        let firing = self.firing.iter().find(|(known, _)| *known == rule);
        let subjects: Vec<Subject> = firing
            .into_iter()
            .flat_map(|(_, subjects)| subjects.iter().filter(|subject| is_on(subject)))
            .map(|subject| (*subject).clone())
            .collect();
        if !subjects.is_empty() {
            return Standing::Alike(Alike { rule: rule.to_owned(), subjects });
        }
        let states = self.states.get(rule).into_iter().flatten();
        let mut states = states.filter(|state| is_on(&state.subject));
        // One that nobody sees may be the one.
        let is_clear = states.clone().next().is_some() && states.all(|state| state.state == "clear");
        if is_clear { Standing::Clear } else { Standing::Unseen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::CaseFinding;
    use crate::engine::Engine;
    use crate::reading::Input;
    use crate::settings::{Baselines, Settings};
    use crate::time::Moment;

    fn report(shape: ShapeKind) -> Report {
        let mut engine = Engine::new(Settings::default(), Baselines::default());
        engine.take(&Input::Tick(Moment(1_000)));
        let mut report = (*engine.snapshot().unwrap().report).clone();
        report.shape.kind = shape;
        report
    }

    fn state(rule: &'static str, subject: &str, state: &'static str) -> RuleState {
        RuleState {
            rule,
            subject: subject.parse().unwrap(),
            state,
            detail: "".into(),
            is_blind: state == "unknown",
        }
    }

    fn case(id: &str, rules: &[(&str, &str)]) -> Case {
        let findings = rules.iter().map(|(rule, on)| CaseFinding {
            rule: (*rule).to_owned(),
            on: Some((*on).to_owned()),
            ..CaseFinding::default()
        });
        Case {
            id: id.to_owned(),
            shape: Some(ShapeKind::SlowOnly),
            findings: findings.collect(),
            ..Case::default()
        }
    }

    #[test]
    fn what_is_alike_counts_for_and_what_is_clear_here_against() {
        let states = [
            state("latency-shift", "service/a", "firing"),
            state("recent-change", "service/a", "firing"),
            state("shard-bandwidth", "redis/f#2", "firing"),
            state("shard-bandwidth", "redis/f#1", "clear"),
            state("big-key", "redis/f#2", "ended"),
            state("shard-hot", "redis/f#1", "clear"),
            state("shard-hot", "redis/f#2", "clear"),
            state("slow-commands", "redis/f#1@h:1", "clear"),
            state("slow-commands", "redis/f#2@h:1", "unknown"),
        ];
        let cases = [
            case(
                "unlike",
                &[("shard-hot", "redis"), ("latency-shift", "service"), ("recent-change", "service")],
            ),
            case(
                "alike",
                &[
                    ("latency-shift", "service"),
                    ("recent-change", "service"),
                    ("shard-bandwidth", "redis"),
                    ("shard-hot", "redis"),
                    ("slow-commands", "redis"),
                    ("not-built-yet", "gpu"),
                ],
            ),
            case("elsewhere", &[("shard-bandwidth", "gateway"), ("latency-shift", "service")]),
        ];
        let report = report(ShapeKind::SlowOnly);
        let found = matches(&report, &states, &cases);
        let ids: Vec<&str> = found.iter().map(|likeness| likeness.case.id.as_str()).collect();
        assert_eq!(ids, ["alike"], "the symptom alone makes no likeness");
        let alike = &found[0];
        assert_eq!(alike.alike[2].subjects[0].as_str(), "redis/f#2");
        assert_eq!(
            (alike.against.as_slice(), alike.unseen.as_slice()),
            (&["shard-hot".to_owned()][..], &["slow-commands".to_owned()][..])
        );
        assert_eq!(
            (alike.beyond.as_slice(), alike.unwatched.as_slice()),
            (&["big-key".to_owned()][..], &["not-built-yet".to_owned()][..])
        );
        // 0.5 + 0.5 + 3 + 1 for, 3 and half of 3 against; what nobody sees or watches counts on neither side.
        assert!((alike.share - 5.0 / 9.5).abs() < 1e-9, "{}", alike.share);
        assert_eq!(
            alike.summary(),
            "shard-bandwidth, latency-shift, recent-change alike; shard-hot clear here"
        );
        let words = alike.words();
        assert!(words.contains(&("alike", "shard-bandwidth here on redis/f#2".to_owned())), "{words:?}");
        assert!(words.iter().any(|(_, text)| text.contains("not watched by this version")), "{words:?}");
    }

    #[test]
    fn the_more_alike_comes_first_and_another_form_speaks_against() {
        let states =
            [state("shard-bandwidth", "redis/f#2", "firing"), state("big-key", "redis/f#2", "firing")];
        let cases = [
            case("one", &[("big-key", "redis")]),
            case("both", &[("big-key", "redis"), ("shard-bandwidth", "redis")]),
        ];
        let order = |kind| -> Vec<(String, String)> {
            let report = report(kind);
            let found = matches(&report, &states, &cases);
            found.iter().map(|likeness| (likeness.case.id.clone(), likeness.percent())).collect()
        };
        let rows = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
            rows.iter().map(|(id, percent)| ((*id).to_owned(), (*percent).to_owned())).collect()
        };
        assert_eq!(order(ShapeKind::SlowOnly), rows(&[("both", "100 %"), ("one", "73 %")]));
        assert_eq!(order(ShapeKind::Storm), rows(&[("both", "86 %"), ("one", "55 %")]));
        assert_eq!(order(ShapeKind::Unknown), rows(&[("both", "100 %"), ("one", "67 %")]));
        assert_eq!(matches(&report(ShapeKind::SlowOnly), &[], &cases), []);
    }
}
