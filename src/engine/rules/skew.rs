//! One shard, list, partition or replica has much more of a load than it used to.

use std::collections::BTreeMap;

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{MetricName, Unit};
use crate::peers::Peers;
use crate::quantity::{show, times};
use crate::report::{BaselineFrom, Role};
use crate::scene::{Scene, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};
use crate::time::Moment;
use crate::wording::baseline_words;

pub(super) static RULE: Rule = Rule {
    id: "skew",
    title: "a load that was spread lies on one member",
    doc: "Any number that a page tells by shard, list, partition or replica (a label of that name, or with _id) is \
          held against how it was spread: in this run before the incident, else over a total's lifetime. The \
          evenness (entropy over that of an even spread: 1 is even, 0 is all on one) fell by a fifth, and the \
          greatest member has at least twice the share it had, and at least 30 %. How uneven a load is by itself \
          is no finding: many are. Redis shards have rules of their own, and a page's numbers beyond 200 series are \
          not kept. It names no mechanism: a suspect at most.",
    next: "see what belongs to that member: a key that everything falls on, a list that grew, a replica that the \
           others' load moved to",
    watches: Watches::Those {
        kinds: &[
            Kind::Gateway,
            Kind::Service,
            Kind::Queue,
            Kind::Dependency,
            Kind::Kafka,
            Kind::Pipeline,
            Kind::Gpu,
            Kind::Host,
        ],
        which: "with a number by shard, list, partition or replica",
        are: |scene, component| !families(scene, component).is_empty(),
    },
    nature: Nature::Circumstance,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "evenness",
            default: 0.8,
            unit: Unit::Ratio,
            help: "evenness as a share of the healthy one, below which a load has gathered",
        },
        Threshold {
            name: "rise",
            default: 2.0,
            unit: Unit::Ratio,
            help: "multiple of its healthy share that the greatest member has",
        },
        Threshold {
            name: "share",
            default: 0.3,
            unit: Unit::Ratio,
            help: "share of the whole below which no member is a hot one",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "the whole of the load against its healthy value" }],
    absorbs: &["deviation"],
    judge,
};

/// Labels that tell the members of one thing apart.
const MEMBER_LABELS: &[&str] = &["shard", "list", "partition", "replica"];

/// With fewer members a share says nothing of the others.
const LEAST_MEMBERS: usize = 3;

/// Below this sum a load is none.
const LEAST_LOAD: f64 = 1.0;

/// A number by member: the metric with its other labels, then the label and its values.
type Families = BTreeMap<(MetricName, String, String), BTreeMap<String, Member>>;

/// One member's present number and its healthy one.
#[derive(Clone, Copy)]
struct Member {
    value: f64,
    at: Moment,
    usual: Option<Baseline>,
}

fn judge(scene: &Scene<'_>, component: &Subject, limits: &Limits<'_>) -> Judgement {
    let (mut seen, mut worst): (Vec<String>, Option<(f64, Breach)>) = (vec![], None);
    for ((metric, labels, label), members) in families(scene, component) {
        let Some(spread) = Spread::of(&members) else { continue };
        let name = if labels.is_empty() {
            metric.as_str().to_owned()
        } else {
            format!("{}[{labels}]", metric.as_str())
        };
        let Spread { top, share, usual_share, evenness, usual_evenness, from, at } = &spread;
        let rise = share / usual_share;
        seen.push(format!("{name} by {label}: evenness {evenness:.2}, usually {usual_evenness:.2}"));
        let gathered = *evenness <= usual_evenness * limits.of("evenness");
        if !gathered || rise < limits.of("rise") || *share < limits.of("share") {
            continue;
        }
        let limit = (usual_share * limits.of("rise")).max(limits.of("share"));
        let breach = Breach::new(
            format!(
                "{label} {top} has {} of {name}, {} its {} ({}); evenness {evenness:.2}, usually {usual_evenness:.2}",
                show(*share, Unit::Ratio),
                times(rise),
                show(*usual_share, Unit::Ratio),
                baseline_words(*from)
            ),
            format!("{label} {top} {}", show(*share, Unit::Ratio)),
            share / limit,
            vec![named_evidence(
                format!("share of {name} on {label} {top}"),
                Unit::Ratio,
                Seen { value: *share, at: *at },
                Some(limit),
                Some(Baseline::new(*usual_share, *from)),
            )],
        );
        if worst.as_ref().is_none_or(|(most, _)| rise > *most) {
            worst = Some((rise, breach));
        }
    }
    match worst {
        Some((_, breach)) => breach.judged(),
        None if seen.is_empty() => {
            Judgement::Unknown(format!("no healthy spread to compare with: {}", scene.missing(component)))
        }
        None => Judgement::Clear(seen.into_iter().take(3).collect::<Vec<_>>().join("; ")),
    }
}

/// How a load is spread and how it was.
struct Spread {
    top: String,
    share: f64,
    usual_share: f64,
    evenness: f64,
    usual_evenness: f64,
    from: BaselineFrom,
    at: Moment,
}

impl Spread {
    /// `None` for too few members or too little load, or where the past of a member is not known.
    fn of(members: &BTreeMap<String, Member>) -> Option<Self> {
        let usual: Vec<f64> =
            members.values().map(|member| member.usual.map(|usual| usual.typical)).collect::<Option<_>>()?;
        let (total, usual_total): (f64, f64) =
            (members.values().map(|member| member.value).sum(), usual.iter().sum());
        if members.len() < LEAST_MEMBERS || total < LEAST_LOAD || usual_total < LEAST_LOAD {
            return None;
        }
        let evenness = |values: Vec<f64>| {
            Peers::new(values.into_iter().enumerate().collect::<Vec<(usize, f64)>>()).evenness()
        };
        let (top, most) = members.iter().max_by(|(_, one), (_, other)| one.value.total_cmp(&other.value))?;
        Some(Self {
            top: top.clone(),
            share: most.value / total,
            // A member that had nothing had at least a hundredth.
            usual_share: (most.usual?.typical / usual_total).max(0.01),
            evenness: evenness(members.values().map(|member| member.value).collect())?,
            usual_evenness: evenness(usual)?,
            from: most.usual?.from,
            at: most.at,
        })
    }
}

/// The free numbers of a component that are told by member, summed over its instances.
fn families(scene: &Scene<'_>, component: &Subject) -> Families {
    let mut families = Families::new();
    for (instance, _) in scene.world.parts(component) {
        for (metric, part) in scene.store.names(instance) {
            let (MetricName::Free(_), Some(labels)) = (metric, part) else { continue };
            let Some((label, member, rest)) = by_member(labels.as_str()) else { continue };
            let Some(seen) = scene.present_part(instance, metric, part) else { continue };
            let usual = scene.baseline(instance, metric, part);
            families
                .entry((metric.clone(), rest, label))
                .or_default()
                .entry(member)
                .and_modify(|known| {
                    known.value += seen.value;
                    known.usual = known.usual.zip(usual).map(|(sum, one)| Baseline {
                        typical: sum.typical + one.typical,
                        spread: None,
                        ..sum
                    });
                })
                .or_insert(Member { value: seen.value, at: seen.at, usual });
        }
    }
    families
}

/// From `topic=orders,partition=3` the label `partition`, the member `3` and the other labels.
fn by_member(labels: &str) -> Option<(String, String, String)> {
    let pairs: Vec<(&str, &str)> = labels.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let is_member = |name: &str| MEMBER_LABELS.contains(&name.trim_end_matches("_id"));
    let (label, member) = pairs.iter().find(|(name, _)| is_member(name))?;
    let rest: Vec<String> = pairs
        .iter()
        .filter(|(name, _)| name != label)
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Some(((*label).to_owned(), (*member).to_owned(), rest.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_told_by_their_label() {
        let found = by_member("topic=orders,partition=3").unwrap();
        assert_eq!(found, ("partition".into(), "3".into(), "topic=orders".into()));
        assert_eq!(by_member("shard_id=b").unwrap().0, "shard_id");
        assert_eq!(by_member("pool=main"), None);
        assert_eq!(by_member("GET"), None);
    }
}
