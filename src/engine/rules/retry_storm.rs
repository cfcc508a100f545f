//! Retries make more of the load than those who ask.

use super::asked::{Asked, REPETITIONS, asked};
use super::{Breach, Judgement, Limits, Nature, RivalRow, Rule, Threshold, Watches};
use crate::baseline::Baseline;
use crate::metric::{ERRORS, REQUESTS, Unit};
use crate::quantity::show;
use crate::report::{Confidence, Role};
use crate::scene::{Scene, named_evidence};
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
          most, and where more end well than are asked it is none: what waited comes back and is served. Where the \
          queues below complete more than is asked of them without the repetitions, what waits there is the storm's \
          doing. Counted by who repeats, by the gateway that repeats for others, by a service towards its own \
          dependencies, or by request ids that an access log shows again within 30 s; of ids, a twentieth that come \
          three times is a storm as well. Without any of these it may be a surge or a storm, and the answer is \
          Unknown.",
    next: "bound the retries: two or three, after 100, 400 and 900 ms with jitter, and only within a budget of a \
           tenth of the originals; answer 503 with Retry-After where the queue is nearly full",
    watches: Watches::Those {
        kinds: &[Kind::Client, Kind::Gateway, Kind::Service],
        which: "that asks others or counts what comes again",
        are: |scene, component| {
            component.kind() != Kind::Service
                || REPETITIONS.iter().any(|metric| scene.tells(component, *metric))
        },
    },
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
            name: "thrice",
            default: 0.05,
            unit: Unit::Ratio,
            help: "share of request ids that come three times and more within 30 s from which it is a storm",
        },
        Threshold {
            name: "floor",
            default: 1.0,
            unit: Unit::PerSecond,
            help: "original requests a second below which a share means nothing",
        },
    ],
    rivals: &[RivalRow { rule: "surge", told_by: "original requests against their healthy rate" }],
    absorbs: &["queue-not-compute", "compute-bound", "no-backpressure"],
    judge,
};

/// Goodput up to this multiple of its healthy value is flat.
const FLAT: f64 = 1.1;

/// What a queue must complete, as a multiple of what is asked of it but for the repetitions, for the storm alone to be what
/// keeps it full.
const ROOM: f64 = 1.2;

/// What is said where nobody counts repetitions.
const SURGE_OR_STORM: &str = "surge or storm: no count of originals and attempts, and no request ids";

fn judge(scene: &Scene<'_>, subject: &Subject, limits: &Limits<'_>) -> Judgement {
    let asked = asked(scene, subject);
    let Some((asked, attempts)) = asked.and_then(|asked| Some((asked, asked.attempts?))) else {
        return Judgement::Unknown(format!("{SURGE_OR_STORM}: {}", scene.missing(subject)));
    };
    let Asked { originals, successes, usual_successes, .. } = asked;
    if originals.value < limits.of("floor") {
        return Judgement::Clear("hardly any requests".to_owned());
    }
    let each = attempts.value / originals.value;
    let shown = format!("{each:.2} attempts an original");
    let are_many = each - 1.0 >= limits.of("retries");
    let goodput_is_flat =
        successes.zip(usual_successes).is_some_and(|(now, healthy)| now.value <= healthy.typical * FLAT);
    let goodput_is_known = successes.is_some() && usual_successes.is_some();
    let ends_more = asked.ends_originals && successes.is_some_and(|now| now.value > originals.value * FLAT);
    if are_many && ends_more {
        return Judgement::Clear(format!("{shown}, and more end well than are asked: what waited is served"));
    }
    let thrice = asked.thrice.filter(|thrice| thrice.value >= limits.of("thrice"));
    let is_storm = each >= limits.of("attempts") || thrice.is_some();
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
        let than = usual_successes
            .map_or(String::new(), |healthy| format!(", usually {}", show(healthy.typical, Unit::PerSecond)));
        format!("; {} end well{than}", show(now.value, Unit::PerSecond))
    });
    let ids = thrice.map_or(String::new(), |thrice| {
        format!("; {} of the ids come three times and more within 30 s", show(thrice.value, Unit::Ratio))
    });
    let limit = if is_storm { limits.of("attempts") } else { 1.0 + limits.of("retries") };
    let at = attempts.at;
    let ratio = |name: &str, seen: Seen, limit: f64| {
        named_evidence(name.to_owned(), Unit::Ratio, seen, Some(limit), None)
    };
    let rate = |place: usize, seen: Seen, usual: Option<Baseline>| {
        named_evidence(asked.names[place].to_owned(), Unit::PerSecond, seen, None, usual)
    };
    let mut numbers = vec![ratio("attempts an original", Seen { value: each, at }, limit)];
    numbers.extend(thrice.map(|thrice| ratio("ids with three attempts", thrice, limits.of("thrice"))));
    numbers.push(rate(1, attempts, asked.usual_attempts));
    numbers.extend(successes.map(|seen| rate(2, seen, usual_successes)));
    let severity = thrice.map_or(0.0, |thrice| thrice.value / limits.of("thrice"));
    // What may become a storm is too little to be blamed for a queue.
    let floods = match is_storm {
        true => flooded(scene, subject, originals.value, attempts.value - originals.value),
        false => vec![],
    };
    let breach = Breach::new(
        format!("{shown}, limit {limit}{ids}{goodput}"),
        format!("{each:.1} attempts an original"),
        (each / limits.of("attempts")).max(severity),
        numbers,
    )
    .flooding(floods)
    .at_most(if is_storm { Confidence::Medium } else { Confidence::Low });
    // Without a healthy rate nobody can say whether those who ask are more than usual.
    match asked.usual_originals {
        Some(_) => breach.judged(),
        None => breach.with_rival(&RULE.rivals[0]).judged(),
    }
}

/// The queues below that would drain without the repetitions: their services complete more than they are asked otherwise.
fn flooded(scene: &Scene<'_>, subject: &Subject, originals: f64, repeated: f64) -> Vec<Subject> {
    let would_drain = |queue: &Subject| {
        let service = Subject::component(Kind::Service, queue.name());
        let asked = scene.total(&service, REQUESTS)?.value;
        let refused = scene.total(&service, ERRORS).map_or(0.0, |seen| seen.value);
        Some(asked - refused >= (asked - repeated).max(originals) * ROOM)
    };
    let queues = scene.graph.below(subject).into_keys().filter(|below| below.kind() == Kind::Queue);
    queues.filter(|queue| would_drain(queue).unwrap_or(false)).collect()
}
