//! A consumer group falls behind.

use std::time::Duration;

use super::late_flow::{Past, levels};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{CONSUMER_LAG, CONSUMER_LAG_TIME, Unit};
use crate::quantity::show;
use crate::report::Role;
use crate::scene::{Scene, evidence};
use crate::subject::{Kind, Subject};

/// The id of the rule, which stale features ask for by name.
pub(super) const ID: &str = "consumer-lag";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "a consumer group falls behind",
    doc: "The lag of a consumer group on a topic, in messages or in seconds, is above 1.5 times the 95th percentile \
          of its last two healthy hours. Until it has caught up, what is made of these messages is old. A declared or \
          learned healthy value goes first; without 30 healthy points nobody knows what is usual.",
    next: "see whether it consumes less or gets more: restarts and rebalances of the group, what it writes to, and \
           the rate of its topic",
    watches: Watches::Those {
        kinds: &[Kind::Kafka],
        which: "that tells its lag",
        are: |scene, group| [CONSUMER_LAG, CONSUMER_LAG_TIME].iter().any(|lag| scene.tells(group, *lag)),
    },
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Trigger,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "multiple",
            default: 1.5,
            unit: Unit::Ratio,
            help: "multiple of the 95th percentile of two healthy hours",
        },
        Threshold {
            name: "messages",
            default: 1_000.0,
            unit: Unit::Count,
            help: "unread messages below which a multiple means nothing",
        },
        Threshold { name: "age", default: 5.0, unit: Unit::Seconds, help: "the same of a lag in seconds" },
    ],
    rivals: &[RivalRow {
        rule: "surge",
        told_by: "messages written to the topic against those read: more written is a surge, less read a slow consumer",
    }],
    absorbs: &["deviation"],
    judge,
};

/// The past in which a lag is usual.
const TWO_HOURS: Duration = Duration::from_secs(7_200);

fn judge(scene: &Scene<'_>, group: &Subject, limits: &Limits<'_>) -> Judgement {
    let past = |floor: &str| Past {
        span: TWO_HOURS,
        quantile: 0.95,
        multiple: limits.of("multiple"),
        floor: limits.of(floor),
    };
    let mut all = levels(scene, group, CONSUMER_LAG_TIME, &past("age"));
    all.extend(levels(scene, group, CONSUMER_LAG, &past("messages")));
    let Some(worst) = all.iter().max_by(|one, other| one.severity().total_cmp(&other.severity())) else {
        return Judgement::Unknown(format!("no lag: {}", scene.missing(group)));
    };
    let shown = |value: f64| show(value, worst.metric.row().unit);
    let lag = format!("{} behind on {}", shown(worst.seen.value), worst.name);
    if let Some(limit) = worst.limit.filter(|limit| worst.seen.value > *limit) {
        let usual =
            worst.usual.map_or(String::new(), |usual| format!(", usually up to {}", shown(usual.typical)));
        return Breach::new(
            format!("{lag}{usual}, limit {}", shown(limit)),
            format!("lag {}", shown(worst.seen.value)),
            worst.severity(),
            vec![evidence(worst.metric, worst.seen, Some(limit), worst.usual)],
        )
        .with_rival(&RULE.rivals[0])
        .judged();
    }
    match all.iter().find(|level| level.limit.is_none()) {
        Some(level) => Judgement::Unknown(format!(
            "{} behind on {}, and no healthy lag to compare with yet",
            show(level.seen.value, level.metric.row().unit),
            level.name
        )),
        None => Judgement::Clear(lag),
    }
}
