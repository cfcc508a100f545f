//! The cluster as one node sees it: CLUSTER INFO and CLUSTER NODES, asked of every node, seldom.
//!
//! Nodes disagree when a message between them was lost or somebody forced a slot; the state word of one node says
//! nothing of slots that nobody owns where full coverage is not required. So each is asked for itself.

use std::time::Duration;

use headwater_engine::reading::{ClusterView, Event, NodeHealth};
use headwater_engine::{RemoteText, Subject};
use rand::Rng;
use tokio::time::Instant;

use super::address::write_address;
use super::allowed::Command;
use super::info::Info;
use super::look::Look;
use super::reply::text;
use super::topology::{Host, NodeLine, SLOTS, read_nodes};
use super::trouble::Trouble;

/// How often a node is asked.
const EVERY: Duration = Duration::from_secs(10);

/// Of how many nodes; with more it is asked less often, because each reply names all of them.
const NODES: u64 = 64;

/// How much sooner it is asked again while the cluster is unwell or a node was just lost.
const SOONER: f64 = 0.3;

/// What a node may lack, in the words that users see.
const STATE: &str = "CLUSTER INFO";
const LINES: &str = "CLUSTER NODES";

/// When a node is asked for its view.
#[derive(Debug)]
pub(super) struct Views {
    asked: Option<Instant>,
    every: Duration,
    is_unwell: bool,
}

impl Default for Views {
    fn default() -> Self {
        Self { asked: None, every: EVERY, is_unwell: false }
    }
}

impl Views {
    /// Asks for the node's view when that is due; `lost` is when a node of this deployment was lost last.
    pub(super) async fn look(
        &mut self,
        look: &mut Look<'_>,
        host: &str,
        lost: Option<Instant>,
    ) -> Result<(), Trouble> {
        if !look.info.is_clustered() || !self.is_due(look.now, lost) {
            return Ok(());
        }
        let is_first = self.asked.replace(look.now).is_none();
        let Some(reply) = look.ask(STATE, Command::ClusterInfo).await? else { return Ok(()) };
        let state = text(&reply).unwrap_or_default().into_owned();
        let known = Info::parse(&state).number("cluster_known_nodes").unwrap_or(0.0) as u64;
        self.every = EVERY * u32::try_from(known.div_ceil(NODES).max(1)).unwrap_or(u32::MAX);
        if is_first && self.every > EVERY {
            // They all begin together: each takes a moment of its own.
            self.asked = look.now.checked_sub(rand::rng().random_range(Duration::ZERO..self.every));
            return Ok(());
        }
        let Some(reply) = look.ask(LINES, Command::ClusterNodes).await? else { return Ok(()) };
        let lines = read_nodes(&text(&reply).unwrap_or_default());
        let view = read_view(look.subject, host, &state, &lines);
        self.is_unwell = !view.says_ok || !view.failed.is_empty() || !view.suspected.is_empty();
        look.reading.events.push(Event::ClusterView(view));
        Ok(())
    }

    fn is_due(&self, now: Instant, lost: Option<Instant>) -> bool {
        let Some(asked) = self.asked else { return true };
        let is_news = self.is_unwell || lost.is_some_and(|lost| lost > asked);
        now >= asked + if is_news { self.every.mul_f64(SOONER) } else { self.every }
    }
}

/// Reads one node's view from its CLUSTER INFO and the lines of its CLUSTER NODES; `host` is where it was asked.
pub fn read_view(node: &Subject, host: &str, state: &str, lines: &[NodeLine]) -> ClusterView {
    let state = Info::parse(state);
    let number = |field: &str| state.number(field).map(|number| number as u64);
    let myself = lines.iter().find(|line| line.myself);
    let named = |line: &NodeLine| RemoteText::new(&name_of(line, host));
    let of_health = |health| lines.iter().filter(|line| line.health == health).map(named).collect();
    let moved = |slots: &[(u16, String)]| {
        let name = |id: &String| match lines.iter().find(|line| line.id == *id) {
            Some(line) => named(line),
            None => RemoteText::new(&format!("node {}", short(id))),
        };
        slots.iter().map(|(slot, id)| (*slot, name(id))).collect()
    };
    let owners = owners(lines);
    ClusterView {
        node: node.clone(),
        says_ok: state.text("cluster_state") == Some("ok"),
        known: number("cluster_known_nodes").unwrap_or(lines.len() as u64),
        epoch: number("cluster_current_epoch").unwrap_or(0),
        uncovered: ranges(&owners, |owner| owner.is_none_or(|line| line.health == NodeHealth::Failed)),
        owners: digest(&owners),
        own: myself.map(|line| line.slots.clone()).unwrap_or_default(),
        failed: of_health(NodeHealth::Failed),
        suspected: of_health(NodeHealth::Suspected),
        migrating: myself.map(|line| moved(&line.leaving)).unwrap_or_default(),
        importing: myself.map(|line| moved(&line.arriving)).unwrap_or_default(),
    }
}

fn name_of(line: &NodeLine, asked: &str) -> String {
    match &line.host {
        Host::Known(host) | Host::Socket(host) => write_address(host, line.port),
        Host::AsAsked => write_address(asked, line.port),
        Host::Unknown => format!("node {}", short(&line.id)),
    }
}

fn short(id: &str) -> String {
    id.chars().take(8).collect()
}

/// The owner of each slot.
fn owners(lines: &[NodeLine]) -> Vec<Option<&NodeLine>> {
    let mut owners = vec![None; usize::from(SLOTS)];
    for line in lines {
        for (first, last) in line.slots.iter().filter(|(_, last)| *last < SLOTS) {
            owners[usize::from(*first)..=usize::from(*last)].fill(Some(line));
        }
    }
    owners
}

/// The ranges of slots whose owner is such.
fn ranges(owners: &[Option<&NodeLine>], is_such: impl Fn(Option<&NodeLine>) -> bool) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = vec![];
    for (slot, _) in (0..).zip(owners).filter(|(_, owner)| is_such(**owner)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == slot => *last = slot,
            _ => ranges.push((slot, slot)),
        }
    }
    ranges
}

/// A number for who owns what: FNV-1a over the first slot and the owner's id of each run of slots, so that it is the
/// same in every version and on every machine.
fn digest(owners: &[Option<&NodeLine>]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut before = None;
    for (slot, owner) in (0_u16..).zip(owners) {
        let id = owner.map(|line| line.id.as_str()).unwrap_or_default();
        if before.replace(id) != Some(id) {
            for byte in slot.to_be_bytes().iter().chain(id.as_bytes()) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use headwater_engine::Kind;

    use super::super::fixture;
    use super::*;

    const FOLDERS: &[&str] = &["redis-6.2.16", "redis-7.0.15", "redis-8.2.3", "valkey-9.1"];

    fn node() -> Subject {
        Subject::component(Kind::Redis, "features").shard(0).instance("10.0.0.1:6379")
    }

    fn view(state: &str, nodes: &str) -> ClusterView {
        read_view(&node(), "10.0.0.1", state, &read_nodes(nodes))
    }

    /// The view in a sample, whose CLUSTER INFO and CLUSTER NODES may be of different moments.
    fn sample(folder: &str, state: &str, nodes: &str) -> Option<ClusterView> {
        let read = |name: &str, what: &str| {
            let bytes = fixture(&format!("redis-samples/{folder}/cluster-{name}-{what}.txt"))?;
            Some(String::from_utf8(bytes).unwrap())
        };
        Some(view(&read("info", state)?, &read("nodes", nodes)?))
    }

    #[test]
    fn a_healthy_cluster_is_covered_and_agreed_on() {
        for folder in FOLDERS {
            let Some(seen) = sample(folder, "healthy", "healthy") else { return };
            assert!(
                seen.says_ok && seen.uncovered.is_empty() && seen.failed.is_empty(),
                "{folder}: {seen:?}"
            );
            assert!(seen.suspected.is_empty() && seen.migrating.is_empty() && seen.importing.is_empty());
            assert_eq!((seen.known, seen.own.len()), (6, 1), "{folder}");
            assert!(seen.epoch > 0);
            let other = sample(folder, "healthy", "migrating").unwrap();
            assert_eq!(seen.owners, other.owners, "{folder}: a slot on the move keeps its owner");
        }
    }

    #[test]
    fn slots_that_nobody_serves_are_told_though_the_state_may_say_ok() {
        for folder in FOLDERS {
            let Some(seen) = sample(folder, "fail-uncovered", "fail-uncovered") else { return };
            let first = (seen.uncovered.first().copied(), seen.failed.len());
            // In one of the samples the first of two deaths is known, and no successor is chosen yet.
            let expected = if *folder == "redis-7.0.15" { ((100, 100), 1) } else { ((10_923, 16_383), 3) };
            assert_eq!(first, (Some(expected.0), expected.1), "{folder}: {seen:?}");
        }
        let nobody =
            view("cluster_state:ok\r\n", "a 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-99 101-16383\n");
        assert!(nobody.says_ok);
        assert_eq!(nobody.uncovered, [(100, 100)]);
        let none = view("cluster_state:fail\r\n", "");
        assert_eq!((none.says_ok, none.uncovered, none.known), (false, vec![(0, 16_383)], 0));
    }

    #[test]
    fn the_suspected_and_the_failed_are_named_by_address() {
        for folder in FOLDERS {
            let Some(seen) = sample(folder, "healthy", "pfail") else { return };
            assert_eq!((seen.suspected.len(), seen.failed.len()), (1, 1), "{folder}: {seen:?}");
            assert!(seen.suspected[0].as_str().starts_with("127.0.0.1:"), "{:?}", seen.suspected);
            let last = (10_923, 16_383);
            assert!(!seen.uncovered.contains(&last), "{folder}: whom one node suspects still owns its slots");
        }
        let odd = view(
            "",
            "a :7@17 master,fail - 0 0 1 connected\nbbbbbbbbbbbb :0@0 master,fail,noaddr - 0 0 1 disconnected\n\
             c ::1:7@17 master,fail - 0 0 1 connected\n",
        );
        assert_eq!(odd.failed, ["10.0.0.1:7".into(), "node bbbbbbbb".into(), "[::1]:7".into()]);
    }

    #[test]
    fn slots_on_the_move_are_told_by_both_sides_with_the_other() {
        for folder in FOLDERS {
            let Some(giving) = sample(folder, "migrating", "migrating") else { return };
            let taking = sample(folder, "migrating", "importing").unwrap();
            let slots = |moves: &[(u16, RemoteText)]| moves.iter().map(|(slot, _)| *slot).collect::<Vec<_>>();
            assert!(!giving.migrating.is_empty() && giving.importing.is_empty(), "{folder}: {giving:?}");
            assert_eq!(slots(&giving.migrating), slots(&taking.importing), "{folder}");
            assert!(giving.migrating[0].1.as_str().contains("127.0.0.1:"), "{:?}", giving.migrating);
            assert_eq!(giving.owners, taking.owners, "{folder}");
        }
    }

    #[test]
    fn one_slot_with_another_owner_is_another_number() {
        let of = |mine: &str, other: &str| {
            let nodes = format!(
                "a 10.0.0.1:1@2 myself,master - 0 0 1 connected {mine}\nb 10.0.0.2:1@2 master - 0 0 2 connected {other}\n"
            );
            view("", &nodes).owners
        };
        assert_eq!(of("0-99", "100-16383"), of("0-49 50-99", "100-16383"));
        assert_ne!(of("0-99", "100-16383"), of("0-98", "99-16383"));
        assert_ne!(of("0-99", "100-16383"), of("0-99", "101-16383"));
        assert_ne!(of("0-99", "100-16383"), of("100-16383", "0-99"));
    }

    #[test]
    fn a_node_is_asked_seldom_and_sooner_after_trouble() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut views = Views::default();
        assert!(views.is_due(start, None));
        views.asked = Some(start);
        assert!(!views.is_due(at(9), None) && views.is_due(at(10), None));
        assert!(!views.is_due(at(2), Some(at(1))) && views.is_due(at(3), Some(at(1))));
        views.is_unwell = true;
        assert!(!views.is_due(at(2), None) && views.is_due(at(3), None));
        views.every = EVERY * 16;
        assert!(!views.is_due(at(47), None) && views.is_due(at(48), None), "a thousand nodes");
    }

    proptest::proptest! {
        #[test]
        fn any_lines_give_ranges_within_bounds(nodes in "([a-c] 1:1@1 (master|fail|myself) - 0 0 0 c [0-9\\- \\[\\]<>]{0,30}\n){0,4}") {
            let view = view("", &nodes);
            for (first, last) in &view.uncovered {
                proptest::prop_assert!(first <= last && *last < SLOTS);
            }
        }
    }
}
