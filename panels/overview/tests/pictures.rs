//! What stands on the overview in each state.

use headwater_widgets::Glyphs;

use super::{at, shown};
use crate::example::{Trouble, World};

#[test]
fn an_incident_at_80x24() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 80, 21), @r#"
    ─ Verdict ──────── enter: redis/features#2 on Shards   +11 not shown: pagedown ─
    X GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03,
               by shard-bandwidth
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in
               41 ms, its peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
    chain      p99 2.9 s <- feature load mean 1.6 s (98.2 % of all stages) <- GET
               p99 497 ms <- #2 link full <- user:profile:8812 1.8 MB
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
    next       user:profile:8812: see who reads it and how often: cache it for 30 s
               near the reader, then store it as a hash or in a smaller encoding;
               delete it with UNLINK, never with DEL
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3         ▃▃▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    X guilty   redis/features  link max 96 %        hit ratio 98.5 %    ██████
    o innocent service/ranker  p99 2.9 s, 40 active err/inst  0.3 %     ▁▁▁▁██   new
    o innocent client/load     1.01 attempts an or… retries   1.1 %     ▁▁▁▁██   new
                                                  ?.......................!XXXXXXXXX
                                                  14:06:01 began 14:08:01 ^
    "#);
}

#[test]
fn an_incident_at_60x16_in_ascii() {
    let snapshot = World::after(Trouble::FullLink, 45);
    insta::assert_snapshot!(shown(&snapshot, Glyphs::Ascii, 60, 13), @r#"
    X GUILTY   redis/features#2 (10.0.3.14:6379), high~
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25~
               user:profile:8812 1.8 MB on redis/features#2,~
    chain      p99 2.9 s <- feature load mean 1.6 s (98.2 % of
               all stages) <- GET p99 497 ms <- #2 link full <-
               user:profile:8812 1.8 MB
    innocent   queue/ranker, redis/features#0 #1,
               service/ranker, client/load
    unknown    gpu/ranker: no source     +12 not shown: pagedown
    next       user:profile:8812: see who reads it and how
               often: cache it for 30 s near the reader, then
               store it as a hash or in a smaller encoding;
               delete it with UNLINK, never with DEL
    "#);
}

#[test]
fn an_incident_on_a_wide_screen() {
    insta::assert_snapshot!(at(Trouble::FullLink, 45, 130, 45), @r#"
    ─ Verdict ──────────────────────────────────────────────────────────────────────────────────── enter: redis/features#2 on Shards ─
    X GUILTY   redis/features#2 (10.0.3.14:6379), high confidence, since 14:08:03, by shard-bandwidth
               23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25 MB/s link; answers in 41 ms, its peers in 0.7 ms
               user:profile:8812 1.8 MB on redis/features#2, slot 14000: big string
               redis.net.output 23.9 MB/s, limit 17.5 MB/s, declared 25 MB/s
               redis.answer_time 41 ms, its peers 0.7 ms
               redis.cpu.main_thread 6 %
               bytes of user:profile:8812 1.8 MB, limit 524 kB
               db.client.operation.duration p99 497 ms, limit 50 ms
               hit ratio 98.5 %
    ! SUSPECT  redis/features, medium confidence, since 14:08:01, by access-changed
               17.4 kB read a request, 21x its healthy 845 B
    which key? H looks for hot keys on redis/features#2
    chain      p99 2.9 s <- feature load mean 1.6 s (98.2 % of all stages) <- GET p99 497 ms <- #2 link full <- user:profile:8812 1.8
               MB
    callers    slow only: p99 2.9 s, objective 500 ms, 31x its healthy 95 ms (since 14:08:01)
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
               client/load: latency-shift: no latency histogram: not told, or not for long enough yet
    next       user:profile:8812: see who reads it and how often: cache it for 30 s near the reader, then store it as a hash or in a
               smaller encoding; delete it with UNLINK, never with DEL
    ─ Dependencies, upstream first ────────────────────────────────────────────── ─ Five signals ───────────────────────────── 5 min ─
    ? unknown  gpu/ranker                                                         queue     3
               no source                                                                                       ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅

    o innocent queue/ranker    3 waiting, 7 in batches                            TTFT p99  ? no source
               3 waiting, a wait of 2.11 ms

    X guilty   redis/features  link max 96 % avg 33 % of 3 shards                 hit ratio 98.5 %             █████████████████
               redis/features#2: 23.9 MB/s at 10.0.3.14:6379, 95.6 % of its 25                                 █████████████████
               MB/s link; answers in 41 ms, its peers in 0.7 ms
    o innocent service/ranker  p99 2.9 s, own stages 30 ms, 40 active             err/inst  0.3 %                          █████   new
               own stages 30 ms                                                                                ▁▁▁▁▁▁▁▁▁▁▁▁█████

    o innocent client/load                                                        retries   1.1 %                          █████   new
               1.01 attempts an original                                                                       ▁▁▁▁▁▁▁▁▁▁▁▁█████

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
               client/load: latency-shift: no latency histogram: not told, or not
               for long enough yet
    looked at  5 sources since 14:06:01; 38 rules: 61 of 69 judgements clear
    next       nothing to do
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3           ▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    o innocent redis/features  cpu max 6 % avg 6 %  hit ratio 98.5 %      ████
    o innocent service/ranker  p99 95 ms, 40 active err/inst  0 %         ▁▁▁▁
    o innocent client/load     1.00 attempts an or… retries   0 %         ▁▁▁▁
    ─ Time, 5 s a cell ──────────── X incident  ! suspect  ? not all seen  . clear ─
                                               ?....................................
                                               14:06:01
    "#);
}

#[test]
fn a_node_that_answers_late() {
    insta::assert_snapshot!(at(Trouble::Late, 8, 80, 21), @r"
    ─ Verdict ───────── enter: redis/features#2 on Shards   +2 not shown: pagedown ─
    ! SUSPECT  nothing guilty, but not everything could be seen
    ! SUSPECT  redis/features#2 (10.0.3.14:6379), low confidence, since 14:08:01, by
               slow-to-answer
               answers in 9 s, its peers in 0.7 ms
    which key? b looks for big keys on redis/features#2; reads only, 1 % of a core
    callers    calm: nothing that callers could see: errors 0 %, 1420/s
    innocent   queue/ranker, redis/features#0 #1, service/ranker, client/load
    unknown    gpu/ranker: no source
    trouble    redis/features#2@10.0.3.14:6379: no answer since 14:07:59, still
               waiting
    next       nobody is seen to suffer; look at redis/features#2: look at what the
               shard is short of: CPU, link, or a long command
    ─ Dependencies, upstream first ──────────────── ─ Five signals ───────── 5 min ─
    ? unknown  gpu/ranker      no source            queue     3          ▃▃▃▃▃
    o innocent queue/ranker    3 waiting            TTFT p99  ? no source
    ! suspect  redis/features  cpu max 6 % avg 6 %  hit ratio 98.5 %     █████
    o innocent service/ranker  p99 95 ms, 40 active err/inst  0 %        ▁▁▁▁▁
    o innocent client/load     1.00 attempts an or… retries   0 %        ▁▁▁▁▁
                                                          ?.......................!!
                                                          14:06:01 began 14:08:01 ^
    ");
}

#[test]
fn no_target_answers() {
    insta::assert_snapshot!(at(Trouble::Refused, 10, 60, 13), @r"
    ? SILENT   no target answered
    unknown    gpu/ranker, queue/ranker: no source
    trouble    client/load@10.2.0.1:9000,
               redis/features#0@10.0.3.12:6379 #1@10.0.3.13:6379
               #2@10.0.3.14:6379, service/ranker@10.1.0.1:8000:
               connection refused: is it running?
    next       no target answered: run 'headwater doctor' to see
               what is in the way         +1 not shown: pagedown
    ─ Dependencies, upstream first ─────────────────── +1 more ─
    ? unknown  gpu/ranker      no source
    ? unknown  queue/ranker    no source
    ? unknown  redis/features  connection refused: is it runnin…
    ? unknown  service/ranker  connection refused: is it runnin…
    ");
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
