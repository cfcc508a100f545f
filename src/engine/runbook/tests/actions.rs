//! Which actions are offered, in which order, and for whom.

use super::*;
use crate::report::{FeedbackLoop, LoopPart};

fn remedy(id: &str, reversible: bool, against: &[&str]) -> Remedy {
    Remedy {
        id: id.to_owned(),
        text: format!("{id} {{key}} on {{shard}}"),
        command: Some("redis-cli UNLINK {key}".to_owned()),
        reversible,
        against: against.iter().map(|rule| (*rule).to_owned()).collect(),
        ..Remedy::default()
    }
}

/// A step that offers all of these.
fn step(remedies: &[Remedy]) -> Step {
    Step { remedies: remedies.iter().map(|remedy| remedy.id.clone()).collect(), ..Step::default() }
}

/// Each action that is offered with whom it is for.
fn offered(remedies: &[Remedy], snapshot: &Snapshot) -> Vec<(String, String)> {
    let step = step(remedies);
    let offers = offers(&step, remedies, snapshot);
    let whom = |offer: &Offer<'_>| offer.culprit.as_ref().unwrap().subject.to_string();
    offers.iter().map(|offer| (offer.remedy.id.clone(), whom(offer))).collect()
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(id, whom)| ((*id).to_owned(), (*whom).to_owned())).collect()
}

/// A storm of callers that fills a queue, and a host that makes the queue slow.
fn remedies() -> [Remedy; 5] {
    [
        remedy("shed", true, &["queue-not-compute", "retry-storm"]),
        remedy("batch", true, &["queue-not-compute"]),
        remedy("cpu", true, &["host-starved", "launch-stall"]),
        remedy("waits", true, &["launch-stall"]),
        remedy("budget", true, &["retry-storm", "queue-not-compute"]),
    ]
}

fn queue() -> RuleState {
    rule("queue-not-compute", "queue/ranker", "firing", "300 wait")
}

#[test]
fn what_helps_a_victim_is_for_the_victim_and_comes_after_what_helps_against_the_suspect() {
    let host = suspect("host/a", "launch-stall", &["queue-not-compute"], None);
    let snapshot = Snapshot { rules: vec![queue()].into(), ..accusing(vec![host.clone()]) };
    let waits = [("waits", "host/a"), ("cpu", "host/a")];
    let victims = [("shed", "queue/ranker"), ("batch", "queue/ranker"), ("budget", "queue/ranker")];
    assert_eq!(offered(&remedies(), &snapshot), pairs(&[&waits[..], &victims[..]].concat()));
    // Another suspect is no victim.
    let callers = suspect("client/load", "retry-storm", &[], None);
    let snapshot = Snapshot { rules: vec![queue()].into(), ..accusing(vec![host, callers]) };
    let callers = [("budget", "client/load"), ("shed", "client/load"), ("batch", "queue/ranker")];
    assert_eq!(offered(&remedies(), &snapshot), pairs(&[&waits[..], &callers[..]].concat()));
    // What is explained on the suspect itself is no victim either.
    let own = suspect("queue/ranker", "launch-stall", &["queue-not-compute"], None);
    let snapshot = Snapshot { rules: vec![queue()].into(), ..accusing(vec![own]) };
    assert!(offered(&remedies(), &snapshot).iter().all(|(_, whom)| whom == "queue/ranker"));
}

#[test]
fn what_breaks_a_loop_is_for_the_part_that_it_names_first_and_is_first_when_the_loop_goes_on_by_itself() {
    let part = |on: &str, rule: &str| LoopPart { subject: subject(on), rule: rule.to_owned(), until: None };
    let trigger = |until| Some(LoopPart { until, ..part("host/a", "launch-stall") });
    let turning = |trigger| FeedbackLoop {
        name: "queue and retries".to_owned(),
        how: String::new(),
        trigger,
        parts: vec![part("queue/ranker", "queue-not-compute"), part("client/load", "retry-storm")],
        break_at: subject("queue/ranker"),
        break_by: String::new(),
    };
    let with = |known: FeedbackLoop, suspects: Vec<Suspect>| {
        let mut snapshot = accusing(suspects);
        let mut report = (*snapshot.report).clone();
        report.loops = vec![known];
        snapshot.report = report.into();
        Snapshot { rules: vec![queue()].into(), ..snapshot }
    };
    let host = || suspect("host/a", "launch-stall", &["queue-not-compute"], None);
    let waits = [("waits", "host/a"), ("cpu", "host/a")];
    let breaks = [("shed", "queue/ranker"), ("budget", "client/load")];
    let rest = [("batch", "queue/ranker")];
    let offered = |snapshot: &Snapshot| offered(&remedies(), snapshot);
    let goes_on = with(turning(trigger(None)), vec![host()]);
    assert_eq!(offered(&goes_on), pairs(&[&waits[..], &breaks, &rest].concat()));
    let alone = with(turning(trigger(Some(before(9)))), vec![host()]);
    assert_eq!(offered(&alone), pairs(&[&breaks[..], &waits, &rest].concat()));
    // Who is accused first may be a part of it himself.
    let callers = suspect("client/load", "retry-storm", &["queue-not-compute"], None);
    let ordered = [("budget", "client/load"), ("shed", "queue/ranker"), ("batch", "queue/ranker")];
    assert_eq!(offered(&with(turning(None), vec![callers])), pairs(&ordered));
}

#[test]
fn an_action_that_was_recorded_says_when_and_is_open_again_in_a_new_run() {
    let remedies = [remedy("waits", true, &["launch-stall"])];
    let at = |acts: Vec<OperatorAct>| {
        let snapshot = accusing(vec![suspect("host/a", "launch-stall", &[], None)]);
        offers(&step(&remedies), &remedies, &Snapshot { acts: acts.into(), ..snapshot })[0].done
    };
    let text = "waits the key that is still to be named on the shard that is still to be named";
    let taken = |on: &str| OperatorAct {
        at: before(30),
        kind: ActKind::Remedy { subject: subject(on), text: text.into() },
    };
    let begun = OperatorAct { at: before(10), kind: ActKind::Runbook("walk".into()) };
    assert_eq!(at(vec![taken("host/a")]), Some(before(30)));
    assert_eq!(at(vec![taken("host/b")]), None);
    assert_eq!(at(vec![taken("host/a"), begun]), None);
}

#[test]
fn actions_fit_the_culprit_and_those_that_can_be_taken_back_come_first() {
    let remedies = [
        remedy("split", false, &["big-key"]),
        remedy("always", true, &[]),
        remedy("cache", true, &["shard-bandwidth"]),
        remedy("shed", true, &["queue-not-compute"]),
        remedy("roll-back", true, &["self-slow"]),
    ];
    let ids = ["split", "always", "cache", "shed", "roll-back", "gone"].map(str::to_owned);
    let step = Step { remedies: ids.into(), ..Step::default() };
    let offered = |snapshot: &Snapshot| -> Vec<String> {
        offers(&step, &remedies, snapshot).iter().map(|offer| offer.text()).collect()
    };
    assert_eq!(
        offered(&quiet()),
        ["always the key that is still to be named on the shard that is still to be named"]
    );
    let full = accusing(vec![
        suspect("redis/a#2", "shard-bandwidth", &["slow-to-answer", "big-key"], Some("user:profile:8812")),
        suspect("service/ranker", "self-slow", &[], None),
    ]);
    assert_eq!(
        offered(&full),
        [
            "cache user:profile:8812 on #2",
            "split user:profile:8812 on #2",
            "roll-back the key that is still to be named on the shard that is still to be named",
            "always user:profile:8812 on #2",
        ]
    );
    let first = &offers(&step, &remedies, &full)[0];
    assert_eq!(first.command().unwrap().unwrap(), "redis-cli UNLINK user:profile:8812");
    assert_eq!(first.culprit.as_ref().unwrap().subject, subject("redis/a#2"));
}
