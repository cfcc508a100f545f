//! What speaks against a candidate, by mechanism.

use super::account::{Account, Loss, Own};
use super::calls::Calls;
use super::measure::{
    Failing, failing, first_strongest, gap, most, quotient, silenced, slower, slowness, strongest,
};
use super::nature::{Meaning, Side};
use super::robust::{Deviation, NOISE, strength};
use super::view::{Seen, View};
use super::{Evidence, Mechanism, Series, Worse};

/// How much evidence of the other kind counts: failures under a symptom of latency, and the reverse.
const OTHER_KIND: f64 = 0.5;

/// How much a change counts of which nobody knows whether it is bad, and work that a request costs.
const UNSURE: f64 = 0.5;

/// Percentiles do not add up, so a share of the symptom reckoned from them may be this much too small.
const PERCENTILE_SLACK: f64 = 3.0;

/// Everything that the evidence of one candidate is made from.
pub(super) struct Court<'a, 'q> {
    pub(super) calls: &'q Calls<'a>,
    pub(super) view: &'q View<'a>,
    time: Account<'a>,
    failures: Account<'a>,
    /// How much slower each candidate answers, and each call as its caller sees it; strengths.
    slower: Vec<f64>,
    waits: Vec<Vec<f64>>,
    failing: Vec<Option<Failing<'a>>>,
    /// How much less each candidate is called than its callers' traffic asks for.
    silenced: Vec<Option<(&'a Series<'a>, Deviation)>>,
    /// How much the symptom's subject lost by the rise of its percentiles, where the symptom is such a rise.
    slowness_of_symptom: Option<f64>,
    /// By caller and place among its callees: how the gap between the two sides of the call grew.
    gaps: Vec<Vec<Option<Deviation>>>,
}

impl<'a, 'q> Court<'a, 'q> {
    pub(super) fn new(calls: &'q Calls<'a>, view: &'q View<'a>) -> Self {
        let places = 0..calls.len();
        let by_call = |place: usize, of: &dyn Fn((usize, usize)) -> f64| -> Vec<f64> {
            calls.callees[place].iter().map(|callee| of((place, *callee))).collect()
        };
        let slower: Vec<f64> = places.clone().map(|place| slower(calls, view, place)).collect();
        let waits = places
            .clone()
            .map(|place| {
                by_call(place, &|call| {
                    let seen = strongest(view.latencies_of_call(call, Side::Caller));
                    seen.map_or(slower[call.1], |(_, shift)| shift.strength())
                })
            })
            .collect();
        Self {
            time: Account::of(Loss::Time, calls, view),
            failures: Account::of(Loss::Requests, calls, view),
            slower,
            waits,
            silenced: places.clone().map(|place| silenced(calls, view, place)).collect(),
            slowness_of_symptom: slowness(view, 0).filter(|lost| {
                let is_slow = |seen: Seen<'_>| seen.shift.is_some_and(|shift| shift.spreads > NOISE);
                *lost > 0.0
                    && view.symptom.is_some_and(|seen| seen.means(&[Meaning::Latency]) && is_slow(seen))
            }),
            failing: places.clone().map(|place| failing(view, place)).collect(),
            gaps: places
                .map(|place| calls.callees[place].iter().map(|callee| gap(view, (place, *callee))).collect())
                .collect(),
            calls,
            view,
        }
    }

    /// Everything that speaks against one candidate, in a fixed order.
    pub(super) fn against(&self, place: usize) -> Vec<Evidence> {
        [
            self.own_loss(place, Loss::Time),
            self.own_loss(place, Loss::Requests),
            self.slow(place),
            self.fails(place),
            self.resource(place),
            self.work(place),
            self.link(place),
            self.silence(place),
            self.odd(place),
        ]
        .into_iter()
        .flatten()
        .filter(|evidence| evidence.strength > 0.0)
        .collect()
    }

    /// Time or requests lost by the candidate itself, by its share of what the symptom lost.
    fn own_loss(&self, place: usize, loss: Loss) -> Option<Evidence> {
        let (account, mechanism) = match loss {
            Loss::Time => (&self.time, Mechanism::OwnTime),
            Loss::Requests => (&self.failures, Mechanism::OwnFailures),
        };
        let own = account.own[place].as_ref()?;
        let (weight, share) = self.share(place, loss, own, account.symptom_lost);
        Some(Evidence {
            share,
            strength: own.deviation.strength() * weight,
            ..evidence(mechanism, own.series, own.shift)
        })
    }

    /// How much an own loss counts, and the share of the symptom's loss where that is known.
    fn share(
        &self,
        place: usize,
        loss: Loss,
        own: &Own<'_>,
        symptom_lost: Option<f64>,
    ) -> (f64, Option<f64>) {
        let symptom = self.symptom_loss();
        if let Some(lost) = symptom_lost.filter(|_| symptom == Some(loss)) {
            let share = (own.lost / lost).min(1.0);
            return (share, Some(share));
        }
        // Of what the symptom did not lose nobody has a share, but a loss touches at most so many of its requests.
        let touched = match loss {
            Loss::Time => self.view.mean_requests(place),
            Loss::Requests => Some(own.lost),
        };
        let asked = self.view.mean_requests(0).filter(|asked| *asked > 0.0);
        let reach = touched.zip(asked).map_or(1.0, |(touched, asked)| (touched / asked).min(1.0));
        (reach * if symptom.is_none_or(|symptom| symptom == loss) { 1.0 } else { OTHER_KIND }, None)
    }

    /// What the symptom is a loss of, where it is one.
    fn symptom_loss(&self) -> Option<Loss> {
        match self.view.symptom?.series.nature.meaning {
            Meaning::Latency => Some(Loss::Time),
            Meaning::Success | Meaning::Failures => Some(Loss::Requests),
            _ => None,
        }
    }

    /// Slower than before, beyond what its slowest dependency explains: where only percentiles are known.
    fn slow(&self, place: usize) -> Option<Evidence> {
        if self.time.own[place].is_some() {
            return None;
        }
        let beyond = self.slower[place] - most(&self.waits[place]);
        let (series, shift) = self.latency(place)?;
        Some(Evidence {
            strength: beyond * self.reach_of_slowness(place),
            ..evidence(Mechanism::Slow, series, shift)
        })
    }

    /// The series that tells best how slow a candidate is: as seen on calls to it, else its own.
    fn latency(&self, place: usize) -> Option<(&'a Series<'a>, Deviation)> {
        let callers = self.calls.callers[place].iter();
        let calls = callers.flat_map(|caller| self.view.latencies_of_call((*caller, place), Side::Callee));
        strongest(calls).or_else(|| strongest(self.view.with(place, &[Meaning::Latency])))
    }

    /// How much of the symptom a candidate's slowness can explain: 3 ms more cannot make 2 s.
    fn reach_of_slowness(&self, place: usize) -> f64 {
        match self.slowness_of_symptom.zip(slowness(self.view, place)) {
            Some((symptom, own)) => (PERCENTILE_SLACK * own / symptom).clamp(0.0, 1.0),
            None => 1.0,
        }
    }

    /// Failing more than before, beyond the worst of its dependencies: where failures cannot be charged.
    fn fails(&self, place: usize) -> Option<Evidence> {
        if self.failures.own[place].is_some() {
            return None;
        }
        let of = |place: usize| self.failing[place].map_or(0.0, |failing| failing.strength());
        let below: Vec<f64> = self.calls.callees[place].iter().map(|callee| of(*callee)).collect();
        let Failing { series, shift, is_for_each_request } = self.failing[place]?;
        let strength = of(place) - most(&below);
        Some(Evidence { strength, is_for_each_request, ..evidence(Mechanism::Fails, series, shift) })
    }

    /// A resource of its own: no dependency explains it away.
    fn resource(&self, place: usize) -> Option<Evidence> {
        let (series, shift) = strongest(self.view.with(place, &[Meaning::Resource]))?;
        Some(evidence(Mechanism::Resource, series, shift))
    }

    /// Bytes, system calls and the like for each request.
    fn work(&self, place: usize) -> Option<Evidence> {
        let requests = self.view.requests(place)?;
        let candidates = self.view.with(place, &[Meaning::Activity]).filter_map(|Seen { series, .. }| {
            let shift = quotient(self.view, series, &[requests], Worse::Up)?;
            Some((series, shift))
        });
        let (series, shift) = first_strongest(candidates)?;
        Some(Evidence { strength: UNSURE * shift.strength(), ..evidence(Mechanism::Work, series, shift) })
    }

    /// The way between it and those it talks with: what callers wait beyond what callees take. A bad way shows on
    /// every call of the end that has it, so the mean over a candidate's calls tells which end that is.
    fn link(&self, place: usize) -> Option<Evidence> {
        let below = self.calls.callees[place]
            .iter()
            .zip(&self.gaps[place])
            .map(|(callee, gap)| (place, *callee, *gap));
        let above = self.calls.callers[place].iter().map(|caller| {
            let at = self.calls.callees[*caller].iter().position(|callee| *callee == place);
            (*caller, place, at.and_then(|at| self.gaps[*caller][at]))
        });
        let gaps: Vec<(usize, usize, Option<Deviation>)> = below.chain(above).collect();
        let total: f64 = gaps.iter().filter_map(|(_, _, gap)| Some((*gap)?.strength())).sum();
        let (caller, callee, worst) = gaps
            .iter()
            .filter_map(|(caller, callee, gap)| Some((*caller, *callee, (*gap)?)))
            .reduce(|best, next| if next.2.strength() > best.2.strength() { next } else { best })?;
        let Seen { series, .. } = self.view.latencies_of_call((caller, callee), Side::Caller).next()?;
        Some(Evidence {
            subject: format!("{} > {}", self.calls.names[caller], self.calls.names[callee]),
            strength: total / gaps.len() as f64,
            ..evidence(Mechanism::Link, series, worst)
        })
    }

    /// It no longer calls a dependency as often as its own traffic asks for, and nothing is wrong with that
    /// dependency: it fails before it calls.
    fn silence(&self, place: usize) -> Option<Evidence> {
        let callees = self.calls.callees[place].iter().enumerate();
        let found = callees.filter_map(|(at, callee)| {
            let (requests, shift) = self.silenced[*callee]?;
            let excuse = [
                self.slower[*callee],
                self.waits[place][at],
                self.gaps[place][at].map_or(0.0, |gap| gap.strength()),
                self.failing[*callee].map_or(0.0, |failing| failing.strength()),
            ];
            let strength = strength(shift.spreads) - most(&excuse);
            let share = self.view.share_of_caller(place, *callee, self.calls);
            Some(Evidence {
                subject: self.calls.names[*callee].to_owned(),
                strength: strength * share,
                ..evidence(Mechanism::Silence, requests, shift)
            })
        });
        found.reduce(|best, next| if next.strength > best.strength { next } else { best })
    }

    /// Anything else that moved.
    fn odd(&self, place: usize) -> Option<Evidence> {
        let (series, shift) = strongest(self.view.with(place, &[Meaning::Other]))?;
        Some(Evidence { strength: UNSURE * shift.strength(), ..evidence(Mechanism::Odd, series, shift) })
    }
}

fn evidence(mechanism: Mechanism, series: &Series<'_>, shift: Deviation) -> Evidence {
    Evidence {
        mechanism,
        subject: series.subject.to_owned(),
        metric: series.metric.to_owned(),
        nature: series.nature,
        from: shift.typical,
        to: shift.seen,
        share: None,
        is_for_each_request: matches!(mechanism, Mechanism::Work | Mechanism::Silence),
        strength: shift.strength(),
    }
}
