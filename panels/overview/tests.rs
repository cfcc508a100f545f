use std::sync::Arc;
use std::time::Duration;

use headwater_engine::RemoteText;
use headwater_engine::reading::{ActKind, Input, OperatorAct};
use headwater_widgets::Glyphs;

use super::*;
use crate::example::{BEGAN, Trouble, World, drawn, keys, subject};

fn shown(snapshot: &Snapshot, glyphs: Glyphs, width: u16, height: u16) -> String {
    drawn(&mut Overview::default(), snapshot, &Palette::mono(glyphs), width, height)
}

fn at(trouble: Trouble, seconds: i64, width: u16, height: u16) -> String {
    shown(&World::after(trouble, seconds), Glyphs::Unicode, width, height)
}

#[test]
fn an_incident_at_80x24() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 80, 21), @r#"
    ─ Verdict ────────────────────────────────────────────────────── +10 not shown ─
    X GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03,
               by shard-bandwidth
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in
               41 ms, its peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
    chain      p99 2.9 s < feature load 1.6 s (98.2 %) < GET 497 ms < #2 link full <
               user:profile:8812 1.8 MB
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
    next       user:profile:8812: see who reads it and how often: cache it for 30 s
               near the reader, then store it as a hash or in a smaller encoding;
               delete it with UNLINK, never with DEL
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3         ▃▃▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    X guilty   redis/features  link 96 % avg 33 %   hit ratio 98.5 %    ██████
    o innocent service/ranker  p99 2.9 s, 40 active err/inst  0.3 %     ▁▁▁▁██   new
    o innocent client/load     1420/s original req… retries   1.1 %     ▁▁▁▁██   new
                                                  ?.......................!XXXXXXXXX
                                                  14:06:01 began 14:08:01 ^
    "#);
}

#[test]
fn an_incident_at_60x16_in_ascii() {
    let snapshot = World::after(Trouble::FullLink, 45);
    insta::assert_snapshot!(shown(&snapshot, Glyphs::Ascii, 60, 13), @r#"
    X GUILTY   redis/features#2 (10.0.3.14:6379), high
               confidence, since 14:08:03, by shard-bandwidth
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25
               MB/s link; answers in 41 ms, its peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2,
               slot 14000: big string
    chain      p99 2.9 s < feature load 1.6 s (98.2 %) < GET 497
               ms < #2 link full < user:profile:8812 1.8 MB
    innocent   queue/ranker, redis/features#0 #1,~
    unknown    gpu/ranker: no source               +10 not shown
    next       user:profile:8812: see who reads it and how
               often: cache it for 30 s near the reader, then
               store it as a hash or in a smaller encoding;~
    "#);
}

#[test]
fn an_incident_on_a_wide_screen() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 130, 45), @r#"
    ─ Verdict ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    X GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03, by shard-bandwidth
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
               redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
               redis.answer_time 41 ms, its peers 0.7 ms
               redis.busy 6 %
               bytes of user:profile:8812 1.8 MB, limit 524 kB
               db.client.operation.duration p99 497 ms, limit 50 ms
               hit ratio 98.5 %
    ! SUSPECT  redis/features, medium confidence, since 14:08:01, by access-changed
               17.4 kB read a request, 21x its healthy 845 B
    chain      p99 2.9 s < feature load 1.6 s (98.2 %) < GET 497 ms < #2 link full < user:profile:8812 1.8 MB
    callers    slow only: p99 2.9 s, objective 500 ms, 31x its healthy 95 ms (since 14:08:01)
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
               client/load: latency-shift: no latency histogram: not enough history yet
    next       user:profile:8812: see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a
               smaller encoding; delete it with UNLINK, never with DEL
    ─ Dependencies, upstream first ────────────────────────────────────────────── ─ Five signals ───────────────────────────── 5 min ─
    ? unknown  gpu/ranker                                                         queue     3
               no source                                                                                       ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅

    o innocent queue/ranker    3 waiting, 7 in batches                            TTFT p99  ? no source
               3 waiting, a wait of 2.11 ms

    X guilty   redis/features  link 96 % avg 33 % of 3 shards                     hit ratio 98.5 %             █████████████████
               redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25                                 █████████████████
               MB/s link; answers in 41 ms, its peers in 0.7 ms
    o innocent service/ranker  p99 2.9 s, own stages 30 ms, 40 active             err/inst  0.3 %                          █████   new
               own stages 30 ms                                                                                ▁▁▁▁▁▁▁▁▁▁▁▁█████

    o innocent client/load                                                        retries   1.1 %                          █████   new
               1420/s original requests, 1x the healthy 1420/s                                                 ▁▁▁▁▁▁▁▁▁▁▁▁█████

    ─ Time, 5 s a cell ────────────────────────────────────────────────────────────── X incident  ! suspect  ? not all seen  . clear ─
                                                                                                    ?.......................!XXXXXXXXX
                                                                                                    14:06:01 began 14:08:01 ^
    "#);
}

#[test]
fn calm() {
    insta::assert_snapshot!(at(Trouble::None, 60, 80, 21), @r#"
    ─ Verdict ──────────────────────────────────────────────────────────────────────
    o CALM     nothing guilty, every source gave fresh data
    callers    calm: nothing that callers could see: errors 0 %, 1420/s
    innocent   queue/ranker, redis/features, service/ranker, client/load
    unknown    gpu/ranker: no source
               client/load: latency-shift: no latency histogram: not enough history
               yet
    looked at  5 sources since 14:06:01; 14 rules: 28 of 29 judgements clear
    next       nothing to do
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3           ▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    o innocent redis/features  cpu 6 % avg 6 %      hit ratio 98.5 %      ████
    o innocent service/ranker  p99 95 ms, 40 active err/inst  0 %         ▁▁▁▁
    o innocent client/load     1420/s original req… retries   0 %         ▁▁▁▁
    ─ Time, 5 s a cell ──────────── X incident  ! suspect  ? not all seen  . clear ─
                                               ?....................................
                                               14:06:01
    "#);
}

#[test]
fn a_node_that_answers_late() {
    insta::assert_snapshot!(at(Trouble::Late, 8, 80, 21), @r#"
    ─ Verdict ─────────────────────────────────────────────────────── +1 not shown ─
    ? BLIND    nothing guilty, but not everything could be seen
    ! SUSPECT  redis/features#2 (10.0.3.14:6379), low confidence, since 14:08:01, by
               slow-to-answer
               answers in 9 s, its peers in 0.7 ms
    callers    calm: nothing that callers could see: errors 0 %, 1420/s
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
               client/load: latency-shift: no latency histogram: not enough history…
    trouble    redis/features#2@10.0.3.14:6379: no answer since 14:07:59, still
               waiting
    next       nobody is seen to suffer; look at redis/features#2: look at what the
               shard is short of: CPU, link, or a long command
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3          ▃▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    ! suspect  redis/features  cpu 6 % avg 6 %      hit ratio 98.5 %     █████
    o innocent service/ranker  p99 95 ms, 40 active err/inst  0 %        ▁▁▁▁▁
    o innocent client/load     1420/s original req… retries   0 %        ▁▁▁▁▁
                                                          ?.......................!!
                                                          14:06:01 began 14:08:01 ^
    "#);
}

#[test]
fn no_target_answers() {
    insta::assert_snapshot!(at(Trouble::Refused, 10, 60, 13), @r#"
    ? SILENT   no target answered
    unknown    gpu/ranker, queue/ranker: no source
    trouble    client/load@10.2.0.1:9000,
               redis/features#0@10.0.3.12:6379 #1@10.0.3.13:6379
               #2@10.0.3.14:6379, service/ranker@10.1.0.1:8000:
               connection refused: is it running?
    next       no target answered: run 'headwater doctor' to see
               what is in the way                   +1 not shown
    ─ Dependencies, upstream first ─────────────────── +1 more ─
    ? unknown  gpu/ranker      no source
    ? unknown  queue/ranker    no source
    ? unknown  redis/features  connection refused: is it runnin…
    ? unknown  service/ranker  connection refused: is it runnin…
    "#);
}

#[test]
fn connecting() {
    insta::assert_snapshot!(at(Trouble::Nothing, 3, 60, 13), @r#"
    ? WAITING  connecting: nothing has answered yet
               waiting for the first answer of redis/features,
               service/ranker, queue/ranker, client/load
    unknown    gpu/ranker, queue/ranker, redis/features,
               service/ranker, client/load: no source
    next       wait for the first answers; if none comes: no
               target answered: run 'headwater doctor' to see
               what is in the way
    ─ Dependencies, upstream first ─────────────────── +1 more ─
    ? unknown  gpu/ranker      no source
    ? unknown  queue/ranker    no source
    ? unknown  redis/features  no source
    ? unknown  service/ranker  no source
    "#);
}

#[test]
fn the_accusation_and_the_next_step_survive_any_size_that_can_hold_them() {
    let text = at(Trouble::FullLink, 45, 80, 7);
    for part in ["X GUILTY", "redis/features#2", "chain", "next", "not shown"] {
        assert!(text.contains(part), "'{part}' is missing:\n{text}");
    }
}

#[test]
fn every_size_can_be_drawn() {
    for (trouble, step) in [(Trouble::FullLink, 1), (Trouble::Nothing, 7)] {
        let snapshot = World::after(trouble, 45);
        for width in (0..90).step_by(step) {
            for height in (0..30).step_by(step) {
                shown(&snapshot, Glyphs::Unicode, width, height);
            }
        }
    }
}

fn view<'a>(snapshot: &'a Snapshot, palette: &'a Palette, keys: &'a crate::Keymap) -> View<'a> {
    View { snapshot, now: snapshot.at, palette, keys }
}

#[test]
fn the_cursor_leads_to_the_panel_of_what_it_stands_on() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let view = view(&snapshot, &palette, &keys);
    let mut panel = Overview::default();
    let shows = |panel, of: &str| Outcome::Wants(Intent::Show(panel, Some(subject(of))));
    assert_eq!(panel.act(Action::Open, &view), shows("shards", "redis/features#2"));
    let mut opened = vec![];
    for _ in 0..5 {
        panel.act(Action::Down, &view);
        opened.push(panel.act(Action::Open, &view));
    }
    assert_eq!(
        opened,
        [
            shows("sources", "gpu/ranker"),
            shows("rules", "queue/ranker"),
            shows("shards", "redis/features#2"),
            shows("rules", "service/ranker"),
            shows("rules", "client/load"),
        ]
    );
    panel.act(Action::Down, &view);
    assert_eq!(panel.cursor, Some(subject("client/load")), "the last row is the last");
}

#[test]
fn what_is_copied_is_the_verdict_in_two_lines() {
    let snapshot = World::after(Trouble::FullLink, 45);
    let (palette, keys) = (Palette::mono(Glyphs::Unicode), keys());
    let copied = Overview::default().copied(&view(&snapshot, &palette, &keys)).unwrap();
    insta::assert_snapshot!(copied, @r#"
    ranker-prod 14:08:45 UTC: GUILTY redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03, by shard-bandwidth: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
    p99 2.9 s < feature load 1.6 s (98.2 %) < GET 497 ms < #2 link full < user:profile:8812 1.8 MB; next: user:profile:8812: see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a smaller encoding; delete it with UNLINK, never with DEL
    "#);
}

/// The same moment, once when it was now and once gone back to from later.
fn then_and_gone_back_to() -> (Arc<Snapshot>, Snapshot) {
    let mut world = World::new();
    world.run(100);
    let then = world.snapshot();
    world.trouble = Trouble::FullLink;
    world.run(30);
    let at = world.now();
    world.take(&Input::Act(OperatorAct { at, kind: ActKind::Mark(RemoteText::new("deploy rolled back")) }));
    world.run(10);
    let back = world.snapshot().back_to(then.at).unwrap();
    (then, back)
}

#[test]
fn who_goes_back_in_time_sees_nothing_that_came_later() {
    let (then, back) = then_and_gone_back_to();
    let rows = |snapshot: &Snapshot| {
        let text = shown(snapshot, Glyphs::Unicode, 80, 21);
        text.lines().take_while(|line| !line.contains("a cell")).map(str::to_owned).collect::<Vec<_>>()
    };
    let (now, later) = (rows(&then), rows(&back));
    assert!(now.len() > 10, "{now:#?}");
    assert_eq!(now, later);
    let axis = shown(&back, Glyphs::Unicode, 80, 21);
    assert!(
        axis.contains("14:07:40 is shown") && !axis.contains("deploy") && !axis.contains("..X"),
        "{axis}"
    );
}

#[test]
fn the_axis_stands_still_while_its_newest_cell_fills() {
    let mut world = World::new();
    world.run(102);
    let strip = |snapshot: &Snapshot| {
        let text = shown(snapshot, Glyphs::Unicode, 80, 24);
        text.lines().skip_while(|line| !line.contains("a cell")).nth(1).unwrap().to_owned()
    };
    let first = world.snapshot();
    assert_eq!((BEGAN + Duration::from_secs(102)).0 % 5_000, 2_000);
    world.run(2);
    assert_eq!(strip(&first), strip(&world.snapshot()));
    world.run(1);
    assert_ne!(strip(&first), strip(&world.snapshot()));
}

#[test]
fn marks_and_notes_stand_below_their_moment() {
    let mut world = World::new();
    world.run(60);
    let at = world.now();
    world.take(&Input::Act(OperatorAct { at, kind: ActKind::Mark(RemoteText::new("canary off")) }));
    world.run(90);
    let text = shown(&world.snapshot(), Glyphs::Unicode, 80, 24);
    assert!(text.contains("m canary off"), "{text}");
}
