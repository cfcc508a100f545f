//! What is said of callers and gateways in words: above the table, of the row under the cursor, and of one upstream.

use headwater_engine::metric::{
    BREAKER_OPEN, BREAKER_REFUSED, CLIENT_TIMEOUT, GATEWAY_CONNECTIONS, GATEWAY_REFUSED, Metric, READY,
    RETRIES, UPSTREAM_CONNECT_FAILED, UPSTREAM_CONNECTED, UPSTREAM_EJECTED, UPSTREAM_MEMBERS,
    UPSTREAM_RETRIES, UPSTREAM_TIMEOUT, UPSTREAM_TIMEOUTS, Unit,
};
use headwater_engine::quantity::{show, times};
use headwater_engine::report::Suspect;
use headwater_engine::snapshot::RuleState;
use headwater_engine::{Kind, Snapshot, Subject};

use super::asked::{Asked, series, total};
use super::upstream::{Line, NUMBERS};
use crate::lines::{Line as Told, Weight};
use crate::palette::ColorRole;

/// The rules that judge what this panel shows.
const RULES: &[&str] = &[
    "retry-storm",
    "surge",
    "failover-storm",
    "fake-healthy",
    "breaker-flapping",
    "timeout-mismatch",
    "pool-starved",
];

/// From this many attempts an original on it is worth a colour.
const TELLING: f64 = 1.1;

/// A gateway that waits this many times the objective is worth a colour.
const LONG: f64 = 3.0;

/// What a section says of a component, and whether it is trouble by itself; nothing where nobody tells.
type Section = fn(&Snapshot, &Subject) -> Option<(String, bool)>;

/// Everything above the table, the accusations first; empty when nobody tells anything.
pub(super) fn account(snapshot: &Snapshot, asked: &[Asked]) -> Vec<Told> {
    let mut lines = vec![];
    for state in snapshot.rules.iter().filter(|state| RULES.contains(&state.rule) && state.state == "firing")
    {
        let text = format!("{}: {}{}", state.subject, state.detail, seen_at(snapshot, state));
        lines.push(
            Told::new(Weight::Core, &format!("! {}", short(state.rule)), text).colored(ColorRole::Suspect),
        );
    }
    for asked in asked {
        let role = match asked.amplification() {
            None => ColorRole::Unknown,
            Some(each) if each >= TELLING => ColorRole::Heading,
            Some(_) => ColorRole::Text,
        };
        lines.push(Told::new(Weight::Whole, "offered", asked.words()).text_colored(role));
    }
    let sections: [(&str, Section); 5] = [
        ("repeats", repeats),
        ("connects", connections),
        ("waits", timeouts),
        ("breakers", breakers),
        ("ready", readiness),
    ];
    for (label, section) in sections {
        for component in snapshot.graph.components() {
            let Some((text, is_trouble)) = section(snapshot, component) else { continue };
            let line = match is_trouble {
                true => Told::new(Weight::Account, &format!("! {label}"), format!("{component}: {text}"))
                    .colored(ColorRole::Suspect),
                false => Told::new(Weight::Context, label, format!("{component}: {text}")),
            };
            lines.push(line);
        }
    }
    lines
}

/// The rules whose numbers are those that stand below.
const OF_THE_SAME: &[&str] = &["retry-storm", "surge"];

/// When the numbers of a finding were seen, where that is not now: it stays for a while after the last breach, and stands above
/// the same numbers of the present.
fn seen_at(snapshot: &Snapshot, state: &RuleState) -> String {
    if !OF_THE_SAME.contains(&state.rule) {
        return String::new();
    }
    let is_it = |suspect: &&Suspect| suspect.rule == state.rule && suspect.subject == state.subject;
    let suspect = snapshot.report.suspects.iter().find(is_it);
    let seen = suspect.and_then(|suspect| suspect.evidence.iter().map(|evidence| evidence.at).max());
    let past = seen.filter(|seen| snapshot.at.since(*seen) > snapshot.present_span());
    past.map_or_else(String::new, |seen| format!(" (at {} UTC)", seen.clock()))
}

/// A rule's id in the cells of a label.
fn short(rule: &str) -> &str {
    match rule {
        "retry-storm" => "storm",
        "failover-storm" => "failover",
        "fake-healthy" => "fake 200",
        "breaker-flapping" => "flapping",
        "timeout-mismatch" => "timeout",
        "pool-starved" => "pool",
        other => other,
    }
}

/// Retries and time-outs, where a gateway or a service counts its own.
fn repeats(snapshot: &Snapshot, subject: &Subject) -> Option<(String, bool)> {
    let rate = |metric: Metric, what: &str| {
        total(snapshot, subject, metric).map(|value| format!("{} {what}", show(value, Unit::PerSecond)))
    };
    let retries = rate(UPSTREAM_RETRIES, "retries").or_else(|| rate(RETRIES, "retries"));
    let texts = [retries, rate(UPSTREAM_TIMEOUTS, "timed out"), rate(GATEWAY_REFUSED, "refused by itself")];
    joined(texts).map(|text| (text, false))
}

/// Connections of callers against those towards upstreams.
fn connections(snapshot: &Snapshot, subject: &Subject) -> Option<(String, bool)> {
    let callers =
        total(snapshot, subject, GATEWAY_CONNECTIONS).map(|open| format!("{open:.0} callers connected"));
    let rate = |metric, what: &str| {
        total(snapshot, subject, metric).map(|value| format!("{} {what}", show(value, Unit::PerSecond)))
    };
    let failed = total(snapshot, subject, UPSTREAM_CONNECT_FAILED).filter(|failed| *failed > 0.0);
    let texts = [
        callers,
        rate(UPSTREAM_CONNECTED, "opened to upstreams"),
        failed.map(|failed| format!("{} failed", show(failed, Unit::PerSecond))),
    ];
    joined(texts).map(|text| (text, failed.is_some()))
}

/// How long callers and gateways wait against the objective of what they call.
fn timeouts(snapshot: &Snapshot, subject: &Subject) -> Option<(String, bool)> {
    let metric = if subject.kind() == Kind::Client { CLIENT_TIMEOUT } else { UPSTREAM_TIMEOUT };
    let told = || {
        let longest = series(snapshot, subject, metric).into_iter().filter_map(|(_, _, now)| now);
        longest.reduce(f64::max).map(|wait| (wait, ""))
    };
    let declared = snapshot.settings.component(subject).and_then(|declared| declared.timeout);
    let (wait, how) = declared.map(|wait| (wait.as_secs_f64(), " as declared")).or_else(told)?;
    let shown = format!("{}{how}", show(wait, Unit::Seconds));
    let callees = snapshot.graph.callees(subject).chain([subject]);
    let objectives = callees.filter_map(|callee| snapshot.settings.component(callee)?.objective_p99);
    let Some(objective) = objectives.max().map(|objective| objective.as_secs_f64()) else {
        return Some((format!("up to {shown}; no objective is declared"), false));
    };
    let wanted = show(objective, Unit::Seconds);
    let is_long = subject.kind() == Kind::Gateway && wait >= objective * LONG;
    Some((format!("up to {shown}, {} the objective of {wanted}", times(wait / objective)), is_long))
}

/// The breakers that are not closed, and how many are.
fn breakers(snapshot: &Snapshot, subject: &Subject) -> Option<(String, bool)> {
    let all = series(snapshot, subject, BREAKER_OPEN);
    let known: Vec<_> = all.iter().filter_map(|(by, part, now)| Some((by, part, (*now)?))).collect();
    if all.is_empty() {
        return None;
    }
    if known.is_empty() {
        return Some(("? no state is fresh".to_owned(), true));
    }
    let mut texts = vec![];
    for (by, part, now) in known.iter().filter(|(.., now)| *now > 0.0) {
        let name = part.map_or(by.as_str(), |part| part.as_str());
        texts.push(format!("{name} {}", if *now < 1.0 { "half open" } else { "open" }));
    }
    let is_trouble = !texts.is_empty();
    let closed = known.iter().filter(|(.., now)| *now <= 0.0).count();
    texts.push(format!("{closed} closed"));
    let refused = total(snapshot, subject, BREAKER_REFUSED).filter(|refused| *refused > 0.0);
    texts.extend(refused.map(|refused| format!("{} refused", show(refused, Unit::PerSecond))));
    Some((texts.join(", "), is_trouble))
}

/// How many of a service's instances call themselves ready.
fn readiness(snapshot: &Snapshot, subject: &Subject) -> Option<(String, bool)> {
    let all: Vec<f64> = series(snapshot, subject, READY).into_iter().filter_map(|(_, _, now)| now).collect();
    let ready = all.iter().filter(|now| **now >= 0.5).count();
    (!all.is_empty()).then(|| (format!("{ready} of {} call themselves ready", all.len()), ready < all.len()))
}

fn joined<const N: usize>(texts: [Option<String>; N]) -> Option<String> {
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The row under the cursor in one line.
pub(super) fn row(line: &Line) -> Told {
    Told::new(Weight::Detail, "upstream", words(line))
}

/// An upstream in one sentence.
pub(super) fn words(line: &Line) -> String {
    let known = NUMBERS.iter().filter_map(|number| Some(format!("{} {}", number.name, number.show(line)?)));
    let texts: Vec<String> = known.collect();
    let numbers = if texts.is_empty() { "no number is fresh".to_owned() } else { texts.join(", ") };
    let elsewhere = line.elsewhere.as_ref().map_or_else(String::new, |whose| format!("; {whose}"));
    format!("{} of {}, {}{elsewhere}: {numbers}", line.name, line.gateway, line.state().word())
}

/// The whole story of one upstream.
pub(super) fn upstream(snapshot: &Snapshot, line: &Line) -> Vec<Told> {
    let state = line.state();
    let mark = format!("{} {}", state.glyph(), state.word());
    let mut lines = vec![Told::new(Weight::Core, &mark, line.why()).colored(state.role())];
    lines.extend(line.elsewhere.iter().map(|whose| Told::new(Weight::Core, "why", whose.clone())));
    for number in NUMBERS {
        let text = match number.show(line) {
            Some(value) => format!("{value}  {}", number.help),
            None => format!("?  {}", number.help),
        };
        let role = if number.show(line).is_some() { ColorRole::Text } else { ColorRole::Unknown };
        lines.push(Told::new(Weight::Context, number.name, text).text_colored(role));
    }
    let about = |by: &Subject| by.component_of() == line.gateway.component_of();
    for rule in snapshot.rules.iter().filter(|rule| RULES.contains(&rule.rule) && about(&rule.subject)) {
        lines.push(Told::new(Weight::Detail, rule.state, format!("{}: {}", rule.rule, rule.detail)));
    }
    let members = [UPSTREAM_MEMBERS, UPSTREAM_EJECTED].map(|metric| line.present(snapshot, metric));
    if let [Some(all), Some(out)] = members {
        let text = format!("{out:.0} of {all:.0} members are taken out");
        lines.push(Told::new(Weight::Context, "members", text));
    }
    lines
}
