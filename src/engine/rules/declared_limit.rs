//! A component is past a limit that its owners declared.

use super::{ANY_KIND, Breach, Judgement, Limits, Nature, Rule, Watches};
use crate::measured::Measured;
use crate::metric::{Bad, MetricName};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
use crate::settings::Component;
use crate::subject::Subject;

pub(super) static RULE: Rule = Rule {
    id: "declared-limit",
    title: "a component is past a limit that was declared for it",
    doc: "A metric of a component is past the value that 'alerts' of the configuration names for it: free \
          connections of a database, age of a configuration, recall of a vector store. Any number that a page \
          exposes can be named, in the page's own unit. Rates are summed over instances and labels; of levels the \
          worst counts; of a histogram the 99th percentile. Less is worse where the declared healthy value lies \
          above the limit, else more is. Whoever declared the limit says what is wrong, and not how it makes \
          callers wait: the confidence is medium at most.",
    next: "see what uses it up and since when, and give it room or take load away",
    watches: Watches::Those {
        kinds: ANY_KIND,
        which: "with declared 'alerts'",
        are: |scene, component| declared(scene, component).is_some(),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[],
    rivals: &[],
    absorbs: &["deviation", "hit-but-slow", "slow-to-answer"],
    judge,
};

fn judge(scene: &Scene<'_>, component: &Subject, _: &Limits<'_>) -> Judgement {
    let Some(settings) = declared(scene, component) else {
        return Judgement::Unknown("no limit is declared".to_owned());
    };
    let (mut seen, mut missing, mut past) = (vec![], vec![], vec![]);
    for (name, limit) in &settings.alerts {
        let metric = MetricName::from(name.clone());
        let bad = worse_way(settings, &metric, *limit);
        let measured = match scene.measured(component, &metric, None, bad) {
            Ok(measured) => measured,
            Err(why) => {
                missing.push(format!("no number '{name}': {why}"));
                continue;
            }
        };
        let value = measured.seen.value;
        let is_past = if bad == Bad::Low { value <= *limit } else { value >= *limit };
        if is_past {
            past.push(Past { measured, limit: *limit, bad });
        } else {
            seen.push(format!(
                "{} {}, limit {}",
                measured.name(),
                measured.show(),
                show(*limit, measured.unit())
            ));
        }
    }
    past.sort_by(|one, other| other.severity().total_cmp(&one.severity()));
    match past.first() {
        Some(worst) => breach(component, worst, &past),
        // One limit that nobody can see may be the one that is passed.
        None if missing.is_empty() => Judgement::Clear(seen.join("; ")),
        None => Judgement::Unknown(missing.join("; ")),
    }
}

struct Past {
    measured: Measured,
    limit: f64,
    bad: Bad,
}

impl Past {
    fn severity(&self) -> f64 {
        let value = self.measured.seen.value;
        let severity = if self.bad == Bad::Low { self.limit / value } else { value / self.limit };
        if severity.is_finite() { severity.max(1.0) } else { 10.0 }
    }
}

fn breach(component: &Subject, worst: &Past, past: &[Past]) -> Judgement {
    let Past { measured, limit, bad } = worst;
    let unit = measured.unit();
    let side = if *bad == Bad::Low { "at least" } else { "at most" };
    let usual = measured.usual.map_or(String::new(), |usual| {
        format!(", {} {}", crate::wording::baseline_words(usual.from), show(usual.typical, unit))
    });
    let at = measured.subject.address().map_or(String::new(), |address| format!(" at {address}"));
    let more =
        if past.len() > 1 { format!("; and {} more past its limit", past.len() - 1) } else { String::new() };
    let evidence = past.iter().map(|past| {
        let measured = &past.measured;
        named_evidence(measured.name(), measured.unit(), measured.seen, Some(past.limit), measured.usual)
    });
    Breach::new(
        format!(
            "{} is {}{at}, declared {side} {}{usual}{more}",
            measured.name(),
            measured.show(),
            show(*limit, unit)
        ),
        format!("{} {} {}", component.name(), measured.metric.as_str(), measured.show()),
        worst.severity(),
        evidence.collect(),
    )
    .at_most(Confidence::Medium)
    .judged()
}

/// Less is worse where the healthy value lies above the limit, or where the metric's row says so.
fn worse_way(component: &Component, metric: &MetricName, limit: f64) -> Bad {
    match component.baselines.get(metric.as_str()) {
        Some(healthy) if *healthy > limit => Bad::Low,
        Some(_) => Bad::High,
        None if metric.bad() == Bad::Low => Bad::Low,
        None => Bad::High,
    }
}

fn declared<'a>(scene: &'a Scene<'_>, component: &Subject) -> Option<&'a Component> {
    scene.settings.component(component).filter(|component| !component.alerts.is_empty())
}
