//! What the actions of the runbook say beside what the report says: the first is what it says is next.

use headwater_engine::report::{Confidence, Role, Since, Suspect, Verdict};
use headwater_engine::runbook::{Offer, Step, offers};
use headwater_engine::{Library, Moment, Report, Snapshot};

use super::built_in;
use crate::recording::{Player, Tape};

/// The snapshot at the end of a bundled recording.
fn ended(name: &'static str) -> std::sync::Arc<Snapshot> {
    let path = format!("{}/assets/recordings/{name}.hwr", env!("CARGO_MANIFEST_DIR"));
    let mut player = Player::new(Tape::File(path.into())).expect("a recording");
    while player.advance().expect("an input") {}
    player.snapshot().expect("an evaluation")
}

/// The step of the walk in which an action is taken.
fn stop(library: &Library) -> &Step {
    let step = library.runbooks[0].step("8").expect("the step");
    &library.runbooks[0].steps[step]
}

/// The actions that are offered at the end of a bundled recording, each with whom it is for.
fn offered(library: &Library, snapshot: &Snapshot) -> Vec<String> {
    let told = |offer: &Offer<'_>| {
        let whom = offer.culprit.as_ref().map(|culprit| culprit.subject.component_of().to_string());
        format!("{} -> {}", offer.remedy.id, whom.unwrap_or_default())
    };
    offers(stop(library), &library.remedies, snapshot).iter().map(told).collect()
}

/// What is offered first in each bundled incident, and words that the report's next step and the first action share.
const INCIDENTS: &[(&str, &str, &[&str])] = &[
    ("hot-shard", "for 30 s", &["local-cache -> redis/features"]),
    ("slow-ranker", "change", &["roll-back -> service/ranker"]),
    ("expiry-herd", "fetch a missing key", &["single-flight -> redis/features"]),
    ("cross-slot", "hash tag", &["one-hash-tag -> redis/features"]),
    (
        "pool-starved",
        "for a connection",
        &["bound-pool-wait -> service/ranker", "size-pool -> service/ranker"],
    ),
    // What breaks the loop at its other part comes before what is for that part alone.
    (
        "retry-storm",
        "after 100, 400 and 900 ms",
        &["retry-budget -> client/load", "shed-load -> queue/ranker", "raise-batch-limit -> queue/ranker"],
    ),
    ("failover-storm", "let the gateway take out at most a fifth", &["eject-less -> gateway/edge"]),
    ("gpu-leak", "back", &["roll-back -> gpu/simulated:0", "restart-on-gpu -> gpu/simulated:0"]),
    // The queue waits for the machine: what helps the queue is not for the machine.
    (
        "launch-stall",
        "wait for the GPU",
        &["fewer-waits -> host/simulated", "give-cpu -> host/simulated", "raise-batch-limit -> queue/ranker"],
    ),
];

#[test]
fn the_first_action_is_what_the_report_says_is_next_and_each_is_for_whom_it_helps() {
    let library = built_in();
    for (name, shared, first) in INCIDENTS {
        let snapshot = ended(name);
        let all = offered(&library, &snapshot);
        assert_eq!(&all[..first.len().min(all.len())], *first, "{name}: {all:#?}");
        let action = &offers(stop(&library), &library.remedies, &snapshot)[0];
        let next = &snapshot.report.next_step;
        assert!(
            next.contains(shared) && action.text().contains(shared),
            "{name}: {next} / {}",
            action.text()
        );
    }
}

fn accused_by(rule: &str) -> Snapshot {
    let suspect = Suspect {
        subject: "service/ranker".parse().expect("a subject"),
        rule: rule.to_owned(),
        role: Role::Trigger,
        confidence: Confidence::High,
        verdict: Verdict::Guilty,
        since: Since { at: Moment(0), before: false },
        until: None,
        unseen_since: None,
        sentence: String::new(),
        rivals: vec![],
        explains: vec![],
        evidence: vec![],
        keys: vec![],
    };
    let snapshot = ended("healthy");
    let report = Report { suspects: vec![suspect], ..(*snapshot.report).clone() };
    Snapshot { report: report.into(), ..(*snapshot).clone() }
}

#[test]
fn the_actions_against_a_rule_stand_in_the_order_of_its_advice() {
    let library = built_in();
    for (rule, first) in [
        // The batcher, then 503.
        ("queue-not-compute", &["raise-batch-limit", "shed-load"][..]),
        ("retry-storm", &["retry-budget", "shed-load"]),
        ("compute-bound", &["shed-load", "scale-on-waiting"]),
        ("surge", &["scale-on-waiting", "shed-load"]),
        ("kv-cache-pressure", &["admit-less", "scale-on-waiting"]),
        ("gpu-memory-full", &["restart-on-gpu", "admit-less", "wider-breaker"]),
        ("fake-healthy", &["soft-ejection", "honest-readiness"]),
        ("connections-high", &["close-idle-connections", "raise-maxclients"]),
        ("replication-broken", &["larger-backlog", "read-from-primaries"]),
        ("network-path", &["go-round", "command-timeout"]),
        ("host-starved", &["give-cpu"]),
    ] {
        let snapshot = accused_by(rule);
        let all = offers(stop(&library), &library.remedies, &snapshot);
        let ids: Vec<&str> = all.iter().take(first.len()).map(|offer| offer.remedy.id.as_str()).collect();
        assert_eq!(ids, first, "{rule}");
    }
}
