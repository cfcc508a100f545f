//! One number of a component for any metric, free ones too, whatever instances and labels it comes in.

use std::time::Duration;

use crate::baseline::Baseline;
use crate::metric::{Bad, Form, MetricName, Unit};
use crate::quantity;
use crate::scene::Scene;
use crate::store::Seen;
use crate::subject::Subject;
use crate::text::RemoteText;

/// What told nothing for this long is gone, as a pod that was replaced: its load has moved to others.
const GONE_AFTER: Duration = Duration::from_secs(300);

/// What a component shows of a metric at present.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The number: rates are summed over instances and parts, of levels it is the worst, of histograms the 99th
    /// percentile over all instances. Summing levels would make sense for some and nonsense of others.
    pub seen: Seen,
    /// Whose number it is, where it is one instance's.
    pub subject: Subject,
    /// The metric.
    pub metric: MetricName,
    /// The part that it is of, where it is one part's.
    pub part: Option<RemoteText>,
    /// What it is usually, where that is known.
    pub usual: Option<Baseline>,
}

impl Measured {
    /// `free_connections[pool=main]`, with ` p99` for a histogram.
    pub fn name(&self) -> String {
        let part = self.part.as_ref().map_or(String::new(), |part| format!("[{part}]"));
        let p99 = if is_histogram(&self.metric) { " p99" } else { "" };
        format!("{}{part}{p99}", self.metric.as_str())
    }

    /// The unit of the number.
    pub fn unit(&self) -> Unit {
        self.metric.unit()
    }

    /// The number with its unit.
    pub fn show(&self) -> String {
        quantity::show(self.seen.value, self.unit())
    }
}

impl Scene<'_> {
    /// What a component shows of a metric at present, of one part of it or of all. `Err` with what is missing: without a
    /// fresh number, and where some of those who make up a sum, or may be the least, tell no more.
    pub fn measured(
        &self,
        component: &Subject,
        metric: &MetricName,
        part: Option<&RemoteText>,
        bad: Bad,
    ) -> Result<Measured, String> {
        let missing = || self.missing(component);
        if let MetricName::Known(known) = metric
            && is_histogram(metric)
        {
            let observed = self.p99(component, *known, part).and_then(Result::ok).ok_or_else(missing)?;
            return Ok(Measured {
                seen: Seen { value: observed.p99.number(), at: observed.at },
                subject: component.clone(),
                metric: metric.clone(),
                part: part.cloned(),
                usual: self.baseline_p99(component, *known, part),
            });
        }
        let mut all: Vec<Measured> = vec![];
        let (mut are_rates, mut silent) = (true, 0);
        for (instance, _) in self.world.parts(component) {
            for own in self.store.parts(instance, metric) {
                if part.is_some() && own.as_ref() != part {
                    continue;
                }
                let Some(seen) = self.present_part(instance, metric, own.as_ref()) else {
                    silent += usize::from(self.is_expected(instance, metric, own.as_ref()));
                    continue;
                };
                are_rates &= self.store.is_rate(instance, metric, own.as_ref());
                all.push(Measured {
                    seen,
                    usual: self.baseline(instance, metric, own.as_ref()),
                    subject: instance.clone(),
                    metric: metric.clone(),
                    part: own,
                });
            }
        }
        // A part of the sum, or of those of which the least counts, would look like a loss that nobody has.
        if silent > 0 && !all.is_empty() && (are_rates || bad == Bad::Low) {
            return Err(format!("only {} of {} tell it", all.len(), all.len() + silent));
        }
        if are_rates && all.len() > 1 {
            return Ok(sum(component, part, &all));
        }
        let is_worse = |one: &Measured, other: &Measured| match bad {
            Bad::Low => one.seen.value < other.seen.value,
            Bad::High | Bad::Neither => one.seen.value > other.seen.value,
        };
        all.into_iter()
            .reduce(|worst, one| if is_worse(&one, &worst) { one } else { worst })
            .ok_or_else(missing)
    }

    /// Whether a series that is stale belongs to what there is: its instance did not go for good, or the series did and
    /// the instance still tells others.
    fn is_expected(&self, instance: &Subject, metric: &MetricName, part: Option<&RemoteText>) -> bool {
        let newest = self.store.latest(instance, metric, part);
        newest.is_some_and(|seen| self.now.since(seen.at) <= GONE_AFTER)
    }
}

fn sum(component: &Subject, part: Option<&RemoteText>, all: &[Measured]) -> Measured {
    let usual = all.iter().map(|one| one.usual).reduce(|sum, one| {
        let (sum, one) = (sum?, one?);
        // What was declared is the component's, not each instance's.
        let is_declared = one.from == crate::report::BaselineFrom::Declared;
        let typical = if is_declared { sum.typical } else { sum.typical + one.typical };
        Some(Baseline { spread: None, typical, ..sum })
    });
    Measured {
        seen: Seen {
            value: all.iter().map(|one| one.seen.value).sum(),
            at: all.iter().map(|one| one.seen.at).max().unwrap_or_default(),
        },
        subject: component.clone(),
        metric: all[0].metric.clone(),
        part: part.cloned(),
        usual: usual.flatten(),
    }
}

fn is_histogram(metric: &MetricName) -> bool {
    matches!(metric, MetricName::Known(known) if known.row().form == Form::Histogram)
}
