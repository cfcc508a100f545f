//! A recording as rounds: what came between one tick and the next.

use std::collections::BTreeMap;

use headwater::recording::Recording;
use headwater_engine::metric::MetricName;
use headwater_engine::reading::{Event, Input, Reading};
use headwater_engine::{Moment, RemoteText, Settings, Subject};

/// Where series have their places, the same for all tapes.
#[derive(Default)]
pub(crate) struct Places(BTreeMap<(Subject, Subject, MetricName, Option<RemoteText>), usize>);

impl Places {
    fn of(&mut self, reading: &Reading) -> Vec<usize> {
        let known = &mut self.0;
        let key = |at: usize| {
            let sample = &reading.samples[at];
            (reading.source.clone(), sample.subject.clone(), sample.metric.clone(), sample.part.clone())
        };
        (0..reading.samples.len())
            .map(|at| {
                let next = known.len();
                *known.entry(key(at)).or_insert(next)
            })
            .collect()
    }
}

/// One round: the readings, each with the places of its samples, and the tick that ended it.
pub(crate) struct Round {
    pub(crate) readings: Vec<(Reading, Vec<usize>)>,
    pub(crate) tick: Moment,
}

/// A recording as rounds.
pub(crate) struct Tape {
    pub(crate) settings: Settings,
    pub(crate) rounds: Vec<Round>,
    /// Addresses by what has them: instances by their component, nodes by their place in the topology.
    addresses: BTreeMap<String, String>,
}

impl Tape {
    /// Reads a recording; with `like`, its targets get the addresses that they have there.
    pub(crate) fn new(recording: &'static [u8], like: Option<&Self>, places: &mut Places) -> Self {
        let recording = Recording::from_reader(Box::new(recording), "bundled".as_ref()).expect("a recording");
        let settings = recording.header().settings_in_force();
        let mut inputs: Vec<Input> = recording.map(|input| input.expect("an input")).collect();
        let addresses = addresses(&inputs);
        if let Some(like) = like {
            inputs = inputs.iter().map(|input| moved(input, &addresses, &like.addresses)).collect();
        }
        let mut rounds = vec![];
        let mut readings = vec![];
        for input in inputs {
            match input {
                Input::Reading(reading) => {
                    let places = places.of(&reading);
                    readings.push((reading, places));
                }
                Input::Tick(tick) => rounds.push(Round { readings: std::mem::take(&mut readings), tick }),
                Input::Act(_) => {}
            }
        }
        Self { settings, rounds, addresses }
    }

    /// The sources that give data, Headwater itself left out.
    pub(crate) fn targets(&self) -> Vec<Subject> {
        let readings = self.rounds.iter().flat_map(|round| &round.readings).map(|(reading, _)| reading);
        let mut targets: Vec<Subject> = readings
            .map(|reading| reading.source.clone())
            .filter(|source| source.address().is_some())
            .collect();
        targets.sort();
        targets.dedup();
        targets
    }
}

fn addresses(inputs: &[Input]) -> BTreeMap<String, String> {
    let mut addresses = BTreeMap::new();
    for input in inputs {
        let Input::Reading(reading) = input else { continue };
        if let Some(address) = reading.source.address().filter(|_| reading.source.shard_index().is_none()) {
            addresses.insert(reading.source.component_of().to_string(), address.to_owned());
        }
        for event in &reading.events {
            let Event::Topology(topology) = event else { continue };
            for (shard, row) in topology
                .shards
                .iter()
                .flat_map(|shard| shard.nodes.iter().enumerate().map(move |node| (shard, node)))
            {
                let address = row.1.subject.address().expect("a node has an address");
                addresses.insert(format!("{} {}", shard.subject, row.0), address.to_owned());
            }
        }
    }
    addresses
}

/// The same input with each address of one recording in the place of the other's.
fn moved(input: &Input, from: &BTreeMap<String, String>, to: &BTreeMap<String, String>) -> Input {
    let mut text = serde_json::to_string(input).expect("an input can be written");
    // In two steps, because an address may stand in both recordings for different targets.
    for (place, (what, address)) in from.iter().enumerate() {
        assert!(to.contains_key(what), "{what} is in one recording only");
        text = text.replace(address.as_str(), &format!("\u{1}{place}\u{2}"));
    }
    for (place, what) in from.keys().enumerate() {
        text = text.replace(&format!("\u{1}{place}\u{2}"), &to[what]);
    }
    serde_json::from_str(&text).expect("an input with another address")
}
