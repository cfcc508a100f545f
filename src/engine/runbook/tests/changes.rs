//! Whether nothing was changed before callers began to suffer.

use std::time::Duration;

use super::*;
use crate::metric::Unit;
use crate::reading::{Fault, FaultKind};
use crate::report::{Report, Symptom};
use crate::scene::named_evidence;
use crate::settings::Teller;
use crate::snapshot::SourceState;

#[test]
fn no_change_is_only_said_when_every_source_of_changes_is_heard() {
    let source = |name: &str, heard: Option<i64>, fault: Option<&str>| SourceState {
        source: subject(name),
        last_data: heard.map(before),
        every: None,
        late_since: None,
        fault: fault.map(|text| (NOW, Fault { kind: FaultKind::Denied, message: text.into() })),
        dialects: vec![],
        unavailable: vec![],
        offers: vec![],
        listed: None,
    };
    let with = |sources: Vec<SourceState>| {
        let every = Some(Duration::from_secs(30));
        let tellers =
            ["change/code", "change/flags"].map(|name| Teller { subject: subject(name), every }).to_vec();
        let settings = Settings { tellers, ..Settings::default() };
        Snapshot { sources: sources.into(), settings: settings.into(), ..quiet() }
    };
    let code = || source("change/code", Some(20), None);
    let none = "none in the 24 h before 14:07:00 UTC";
    let check = asks(Asks::Changes);
    stands(&check, &with(vec![code(), source("change/flags", Some(60), None)]), Outcome::Passed, none);
    for (flags, told) in [
        (source("change/flags", Some(20), Some("refused")), "change/flags: refused"),
        (source("change/flags", Some(600), None), "change/flags: it last answered at 13:57:00 UTC"),
        (source("change/flags", None, None), "change/flags: it has not answered yet"),
    ] {
        let told = format!("not every change is told: {told}");
        stands(&check, &with(vec![code(), flags]), Outcome::Unknown, &told);
    }
    stands(
        &check,
        &with(vec![code()]),
        Outcome::Unknown,
        "not every change is told: change/flags: it has not answered yet",
    );
}

#[test]
fn a_change_after_the_onset_is_not_one_before_it() {
    let change = |seconds_ago: i64| Change {
        id: "1".into(),
        at: before(seconds_ago),
        component: None,
        kind: ChangeKind::Config,
        title: "rolled back".into(),
    };
    let mut snapshot = quiet();
    let seen = Seen { value: 2.0, at: NOW };
    let symptom = Symptom {
        subject: subject("service/ranker"),
        evidence: named_evidence("http.server.request.duration".to_owned(), Unit::Seconds, seen, None, None),
        since: Since { at: before(600), before: false },
        sentence: "p99 2 s".to_owned(),
    };
    let report = Report { symptom: Some(symptom), ..(*snapshot.report).clone() };
    snapshot.report = report.into();
    let check = asks(Asks::Changes);
    let after = Snapshot { changes: vec![change(300)].into(), ..snapshot.clone() };
    let unseen = "no source tells of changes: ask who changed what in the last 24 h";
    stands(&check, &after, Outcome::Unknown, unseen);
    let late = Snapshot { changes: vec![change(580)].into(), ..snapshot };
    stands(&check, &late, Outcome::Failed, "13:57:20 UTC config: rolled back");
}
