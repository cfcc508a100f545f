//! The live feed as the screen holds it: snapshots come out, orders go in, and what becomes of them is told.

use std::sync::Arc;

use headwater::app::App;
use headwater::config::{TargetOptions, from_targets};
use headwater::recording::{Header, Recorder, Recording};
use headwater::tui::feed::live::live;
use headwater::tui::feed::{Feed, Order};
use headwater_engine::reading::{ActKind, KeyMethod, OperatorAct};
use headwater_engine::{Baselines, Input, Moment, Snapshot, Subject};
use headwater_panels::{Play, Status};
use headwater_test_support::{PATIENCE, Server};
use tempfile::TempDir;

/// A feed of one server, which records.
struct Desk {
    server: Server,
    folder: TempDir,
    feed: Feed,
}

impl Desk {
    async fn new() -> Self {
        let server = Server::start(&["--enable-debug-command", "local"]);
        let folder = TempDir::new().expect("a temporary folder can be made");
        let target = format!("redis://{}", server.address());
        let config = from_targets(&[target], &TargetOptions::default()).expect("it is a target");
        let header = Header::new(config.settings.clone(), Baselines::default());
        let recorder = Recorder::create(&folder.path().join("run.hwr"), &header).expect("it can be recorded");
        let app = App::start(&config, Baselines::default(), Some(recorder)).expect("the targets are sound");
        Self { server, folder, feed: live(app, Status::default()) }
    }

    async fn until(&mut self, what: &str, fits: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let newest = self.feed.snapshots.wait_for(|newest| newest.as_deref().is_some_and(&fits));
        let found = tokio::time::timeout(PATIENCE, newest)
            .await
            .map(|found| found.expect("the feed goes on").clone());
        assert!(found.is_ok(), "waited in vain until {what}");
        found.ok().flatten().expect("one was found")
    }

    async fn order(&self, order: Order) {
        self.feed.orders.send(order).await.expect("the feed takes orders");
    }

    async fn until_told(&mut self, words: &str) {
        let told = async {
            while let Some(notice) = self.feed.notices.recv().await {
                if notice.text.contains(words) {
                    return true;
                }
            }
            false
        };
        assert_eq!(tokio::time::timeout(PATIENCE, told).await, Ok(true), "never told '{words}'");
    }

    fn shard(snapshot: &Snapshot) -> Subject {
        snapshot.topologies[0].shards[0].subject.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_is_shown_and_recorded() {
    let mut desk = Desk::new().await;
    desk.until("a target has answered", |snapshot| !snapshot.topologies.is_empty()).await;
    assert_eq!(desk.feed.status.borrow().waiting_for, [""; 0]);
    let act = OperatorAct { at: Moment(5), kind: ActKind::Mark("deployed".into()) };
    desk.order(Order::Act(act.clone())).await;
    desk.until("the mark is shown", |snapshot| snapshot.acts.contains(&act)).await;
    desk.feed.stop().await;
    let recording = Recording::open(&desk.folder.path().join("run.hwr")).expect("there is a recording");
    let inputs: Vec<_> = recording.map(|input| input.expect("it is whole")).collect();
    assert!(inputs.contains(&Input::Act(act)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_is_started_paused_and_cancelled_and_every_order_is_answered() {
    let mut desk = Desk::new().await;
    // So many that a scan at one percent of a core is not over at once.
    desk.server.run::<()>(&["DEBUG", "POPULATE", "200000"]);
    let snapshot = desk.until("a shard is known", |snapshot| !snapshot.topologies.is_empty()).await;
    let shard = Desk::shard(&snapshot);
    desk.order(Order::PauseScan(shard.clone())).await;
    desk.until_told("no scan of").await;
    desk.order(Order::Play(Play::Step)).await;
    desk.until_told("cannot be played").await;
    desk.order(Order::Scan("redis/nobody#7".parse().expect("a subject"))).await;
    desk.until_told("cannot be scanned").await;
    desk.order(Order::Scan(shard.clone())).await;
    desk.until_told("at most 1 % of a core").await;
    desk.order(Order::Scan(shard.clone())).await;
    desk.until_told("running already").await;
    desk.order(Order::PauseScan(shard.clone())).await;
    desk.until_told("is paused").await;
    desk.order(Order::PauseScan(shard.clone())).await;
    desk.until_told("goes on").await;
    desk.order(Order::CancelScan(shard.clone())).await;
    desk.until_told("stopped ").await;
    desk.order(Order::CancelScan(shard)).await;
    desk.until_told("no scan of").await;
    desk.feed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_started_with_its_cost_paused_and_cancelled_and_its_end_is_told() {
    let mut desk = Desk::new().await;
    let snapshot = desk.until("a shard is known", |snapshot| !snapshot.topologies.is_empty()).await;
    let shard = Desk::shard(&snapshot);
    desk.order(Order::Search("redis/nobody#7".parse().expect("a subject"), KeyMethod::Monitor)).await;
    desk.until_told("cannot be searched by monitor").await;
    desk.order(Order::Search(shard.clone(), KeyMethod::Monitor)).await;
    desk.order(Order::Search(shard.clone(), KeyMethod::Monitor)).await;
    desk.order(Order::PauseScan(shard.clone())).await;
    desk.until_told("every command is sent to us as well").await;
    desk.until_told("is running already").await;
    desk.until_told("by monitor is paused").await;
    desk.order(Order::CancelScan(shard.clone())).await;
    desk.until_told("by monitor: stopped after").await;
    let ended = |snapshot: &Snapshot| snapshot.searches.iter().any(|(_, search)| search.state.has_ended());
    desk.until("the screen knows the end", ended).await;
    desk.order(Order::CancelScan(shard)).await;
    desk.until_told("no scan of").await;
    desk.feed.stop().await;
}
