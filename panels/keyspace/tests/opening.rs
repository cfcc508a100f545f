//! What stays while a scan runs anew, what is steered, and where opening leads.

use headwater_engine::reading::{Event, Input, Reading, ScanState};

use super::*;

#[test]
fn what_a_complete_scan_found_stays_while_the_next_one_runs_stands_still_and_is_ended() {
    for state in [ScanState::Running, ScanState::Paused, ScanState::Stopped("cancelled".into())] {
        let mut world = World::new();
        world.run(10);
        world.know_keys(ScanState::Complete, ScanState::Complete);
        world.run(2);
        let (now, shard) = (world.now(), subject("redis/features#2"));
        let mut again = crate::example::scan(state.clone(), now);
        (again.scanned, again.total) = (20, 100);
        (again.biggest, again.longest, again.patterns, again.expiries) = (vec![], vec![], vec![], None);
        let mut reading = Reading::new(shard.clone(), now);
        reading.events.push(Event::Scan(again));
        world.take(&Input::Reading(reading));
        world.run(2);
        let snapshot = world.snapshot();
        let mut stage = Stage::on(&snapshot);
        assert!(stage.go("shards").drawn(140, 20).contains("user:profile:8812"), "{state:?}");
        stage.panel.open(&shard);
        for (view, says) in [("big", "user:profile:8812"), ("patterns", "user:profile:*"), ("ttl", "! herd")]
        {
            let drawn = stage.go(view).drawn(140, 24);
            assert!(drawn.contains(says), "{state:?} {view}: {drawn}");
        }
        let drawn = stage.go("big").drawn(200, 24);
        assert!(drawn.contains("what is listed is of the complete scan"), "{drawn}");
        assert_eq!(drawn.contains("20 %, paused"), state == ScanState::Paused, "{drawn}");
        if matches!(state, ScanState::Stopped(_)) {
            let Outcome::Wants(Intent::Ask(question, _)) = stage.act(Action::Scan) else { panic!("it asks") };
            assert!(question.contains("goes on where it was stopped, at 20 % of"), "{question}");
        }
    }
}

#[test]
fn whatever_is_opened_leads_back_to_its_view() {
    let snapshot = finished();
    for view in ["big", "patterns", "hot", "ttl", "sizes"] {
        let mut stage = Stage::on(&snapshot);
        let list = stage.go(view).drawn(120, 20);
        assert_eq!(stage.act(Action::Open), Outcome::Done, "{view}");
        let page = stage.drawn(120, 20);
        assert!(page != list && page.contains("redis/features#"), "{view}: {page}");
        assert_eq!(stage.act(Action::Back), Outcome::Done, "{view}");
        assert_eq!(stage.drawn(120, 20), list, "{view}");
    }
}

#[test]
fn what_runs_is_steered_wherever_the_cursor_stands() {
    let snapshot = known(ScanState::Paused, ScanState::Complete);
    let mut stage = Stage::on(&snapshot);
    stage.panel.open(&subject("redis/features#0"));
    let shard = subject("redis/features#2");
    let wants = stage.act(Action::CancelScan);
    assert_eq!(wants, Outcome::Wants(Intent::Do(Effect::CancelScan(shard))));
}
