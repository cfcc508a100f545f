//! Retries make more of the load than those who ask.

use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::metric::{CLIENT_ATTEMPTS, CLIENT_ORIGINALS, CLIENT_SUCCESSES, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, evidence, named_evidence};
use crate::store::Seen;
use crate::subject::{Kind, Subject};

/// The id of the rule, which the shape of a failure and its loops ask for by name.
pub(crate) const ID: &str = "retry-storm";

pub(super) static RULE: Rule = Rule {
    id: ID,
    title: "retries make more of the load than those who ask",
    doc: "Attempts are at least 1.5 times the original requests, or retries are at least a tenth of them while no \
          more of them end well than usual. Retries never begin a failure, but they keep it up after its cause is \
          gone: it is what to break, and seldom what to blame. Below 1.5 attempts an original it is a suspect at \
          most.",
    next: "bound the retries: two or three, after 100, 400 and 900 ms with jitter, and only within a budget of a \
           tenth of the originals; answer 503 with Retry-After where the queue is nearly full",
    watches: Watches::Components(&[Kind::Client]),
    nature: Nature::Mechanism,
    exonerates: true,
    role: Role::Amplifier,
    hold: 3,
    thresholds: &[
        Threshold {
            name: "attempts",
            default: 1.5,
            unit: Unit::Ratio,
            help: "attempts an original from which retries are a storm",
        },
        Threshold {
            name: "retries",
            default: 0.1,
            unit: Unit::Ratio,
            help: "retries an original from which they may become one, while no more requests end well than usual",
        },
        Threshold {
            name: "floor",
            default: 1.0,
            unit: Unit::PerSecond,
            help: "original requests a second below which a share means nothing",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "original requests against their healthy rate" }],
    absorbs: &[],
    judge,
};

/// Goodput up to this multiple of its healthy value is flat.
const FLAT: f64 = 1.1;

fn judge(scene: &Scene<'_>, client: &Subject, limits: &Limits<'_>) -> Judgement {
    let (Some(originals), Some(attempts)) =
        (scene.total(client, CLIENT_ORIGINALS), scene.total(client, CLIENT_ATTEMPTS))
    else {
        return Judgement::Unknown(format!("no count of originals and attempts: {}", scene.missing(client)));
    };
    if originals.value < limits.of("floor") {
        return Judgement::Clear("hardly any requests".to_owned());
    }
    let each = attempts.value / originals.value;
    let successes = scene.total(client, CLIENT_SUCCESSES);
    let healthy = scene.total_baseline(client, CLIENT_SUCCESSES);
    let goodput_is_flat =
        successes.zip(healthy).is_some_and(|(now, healthy)| now.value <= healthy.typical * FLAT);
    let goodput_is_known = successes.is_some() && healthy.is_some();
    let is_storm = each >= limits.of("attempts");
    let shown = format!("{each:.2} attempts an original");
    let are_many = each - 1.0 >= limits.of("retries");
    let may_become_one = are_many && goodput_is_flat;
    if !is_storm && are_many && !goodput_is_known {
        return Judgement::Unknown(format!(
            "{shown}, and nothing says whether more of them end well than usual: retries that help are no storm"
        ));
    }
    if !is_storm && !may_become_one {
        return Judgement::Clear(shown);
    }
    let goodput = successes.map_or(String::new(), |now| {
        let than = healthy
            .map_or(String::new(), |healthy| format!(", usually {}", show(healthy.typical, Unit::PerSecond)));
        format!("; {} end well{than}", show(now.value, Unit::PerSecond))
    });
    let limit = if is_storm { limits.of("attempts") } else { 1.0 + limits.of("retries") };
    let mut numbers = vec![
        named_evidence(
            "attempts an original".to_owned(),
            Unit::Ratio,
            Seen { value: each, at: attempts.at },
            Some(limit),
            None,
        ),
        evidence(CLIENT_ATTEMPTS, attempts, None, scene.total_baseline(client, CLIENT_ATTEMPTS)),
    ];
    numbers.extend(successes.map(|seen| evidence(CLIENT_SUCCESSES, seen, None, healthy)));
    let breach = Breach::new(
        format!("{shown}, limit {limit}{goodput}"),
        format!("{each:.1} attempts an original"),
        each / limits.of("attempts"),
        numbers,
    )
    .at_most(if is_storm { Confidence::Medium } else { Confidence::Low });
    // Without a healthy rate nobody can say whether those who ask are more than usual.
    match scene.total_baseline(client, CLIENT_ORIGINALS) {
        Some(_) => breach.judged(),
        None => breach.with_rival(&RULE.rivals[0]).judged(),
    }
}
