//! The data: users' profiles and items' features, and the pair of keys that can become hot.

use headwater_engine::slot::slot_of;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::LabError;
use super::cluster::{Cluster, slots_of_shard};

/// Users of the lab; each has a profile.
pub(super) const USERS: u32 = 2_000;

/// Items of the lab; each has features.
pub(super) const ITEMS: u32 = 1_000;

/// Size of an answer in the cache of answers.
const ANSWER_BYTES: usize = 500;

/// Usual size of a profile.
const PROFILE_BYTES: usize = 2_000;

/// Usual size of an item's features.
const ITEM_BYTES: usize = 1_000;

/// How the key of a profile begins.
const PROFILE: &str = "user:profile:";

/// How the key of an answer begins.
const ANSWER: &str = "answer:";

/// Keys that are written in one round trip.
const WRITTEN_AT_ONCE: usize = 200;

/// One user and one item whose keys lie on one shard, in different slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HotPair {
    /// The user.
    pub(super) user: u32,
    /// The item.
    pub(super) item: u32,
    /// The shard of both.
    pub(super) shard: usize,
}

/// The key of a user's profile.
pub(super) fn profile_key(user: u32) -> String {
    format!("{PROFILE}{user}")
}

/// The key of an item's features.
pub(super) fn item_key(item: u32) -> String {
    format!("item:feat:{item}")
}

/// The key of what the model last answered about an item.
pub(super) fn answer_key(item: u32) -> String {
    format!("{ANSWER}{item}")
}

impl HotPair {
    /// Draws a shard and a pair on it.
    pub(super) fn draw(seed: u64, shards: usize) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0x4807);
        let shard = random.random_range(0..shards);
        let (first, last) = slots_of_shard(shard, shards);
        let on_shard = |key: &str| (first..=last).contains(&slot_of(key.as_bytes()));
        loop {
            let (user, item) = (random.random_range(0..USERS), random.random_range(0..ITEMS));
            let (profile, features) = (profile_key(user), item_key(item));
            if on_shard(&profile)
                && on_shard(&features)
                && slot_of(profile.as_bytes()) != slot_of(features.as_bytes())
            {
                return Self { user, item, shard };
            }
        }
    }
}

/// A value as its feature job, or the model, computes it.
pub(super) fn computed(key: &str) -> Vec<u8> {
    let bytes = match key {
        key if key.starts_with(PROFILE) => PROFILE_BYTES,
        key if key.starts_with(ANSWER) => ANSWER_BYTES,
        _ => ITEM_BYTES,
    };
    value(bytes, &mut StdRng::seed_from_u64(u64::from(slot_of(key.as_bytes()))))
}

/// Every feature's key on a shard.
pub(super) fn keys_of_shard(shard: usize, shards: usize) -> impl Iterator<Item = String> {
    on_shard((0..USERS).map(profile_key).chain((0..ITEMS).map(item_key)), shard, shards)
}

/// Every answer's key on a shard.
pub(super) fn answers_of_shard(shard: usize, shards: usize) -> impl Iterator<Item = String> {
    on_shard((0..ITEMS).map(answer_key), shard, shards)
}

/// Those of some keys that lie on a shard when so many share all slots.
pub(super) fn on_shard(
    keys: impl Iterator<Item = String>,
    shard: usize,
    shards: usize,
) -> impl Iterator<Item = String> {
    let (first, last) = slots_of_shard(shard, shards);
    keys.filter(move |key| (first..=last).contains(&slot_of(key.as_bytes())))
}

/// Text like serialised features: it has the length that was asked for and does not repeat.
pub(super) fn value(bytes: usize, random: &mut StdRng) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut value = vec![0; bytes];
    random.fill(&mut value[..]);
    for byte in &mut value {
        *byte = LETTERS[usize::from(*byte & 63)];
    }
    value
}

/// Writes every profile and every item, and waits until the replicas have them.
pub(super) async fn write_all(cluster: &Cluster, shards: usize, seed: u64) -> Result<(), LabError> {
    let mut random = StdRng::seed_from_u64(seed ^ 0xfea7);
    let profiles = (0..USERS).map(|user| (profile_key(user), PROFILE_BYTES));
    let items = (0..ITEMS).map(|item| (item_key(item), ITEM_BYTES));
    let all = profiles.chain(items).map(|(key, bytes)| (key, value(bytes, &mut random)));
    write(cluster, shards, all, "writing the features").await
}

/// Writes an answer for every item, as a cache of answers has them after a while.
pub(super) async fn write_answers(cluster: &Cluster, shards: usize) -> Result<(), LabError> {
    let answers = (0..ITEMS).map(answer_key).map(|key| {
        let answer = computed(&key);
        (key, answer)
    });
    write(cluster, shards, answers, "writing the answers").await
}

/// Writes values where they belong, and waits until the replicas have them.
async fn write(
    cluster: &Cluster,
    shards: usize,
    pairs: impl Iterator<Item = (String, Vec<u8>)>,
    doing: &str,
) -> Result<(), LabError> {
    let mut of_shard = vec![vec![]; shards];
    for (key, value) in pairs {
        let slot = slot_of(key.as_bytes());
        let shard = (0..shards).find(|shard| slot <= slots_of_shard(*shard, shards).1).unwrap_or(0);
        of_shard[shard].push((key, value));
    }
    for (shard, pairs) in of_shard.into_iter().enumerate() {
        let mut connection = cluster.primary(shard).await?;
        let failed = |error| LabError::redis(doing, error);
        for some in pairs.chunks(WRITTEN_AT_ONCE) {
            let mut pipeline = redis::pipe();
            for (key, value) in some {
                pipeline.set(key, value).ignore();
            }
            pipeline.query_async::<()>(&mut connection).await.map_err(failed)?;
        }
        // Fewer than asked is no error here: a replica that lags has its data a moment later.
        redis::cmd("WAIT").arg(1).arg(5_000).query_async::<u32>(&mut connection).await.map_err(failed)?;
    }
    Ok(())
}

/// What the new model's feature job does: writes a far bigger profile for one user.
pub(super) async fn write_big_profile(
    cluster: &Cluster,
    pair: HotPair,
    bytes: usize,
    seed: u64,
) -> Result<(), LabError> {
    let value = value(bytes, &mut StdRng::seed_from_u64(seed ^ 0xb16));
    let mut connection = cluster.primary(pair.shard).await?;
    let mut set = redis::cmd("SET");
    set.arg(profile_key(pair.user)).arg(value);
    set.query_async::<()>(&mut connection)
        .await
        .map_err(|error| LabError::redis("writing the big profile", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hot_pair_shares_a_shard_and_no_slot() {
        for seed in 0..50 {
            for shards in 3..=6 {
                let pair = HotPair::draw(seed, shards);
                let slots = [profile_key(pair.user), item_key(pair.item)].map(|key| slot_of(key.as_bytes()));
                let (first, last) = slots_of_shard(pair.shard, shards);
                assert!(slots.iter().all(|slot| (first..=last).contains(slot)), "{pair:?}");
                assert_ne!(slots[0], slots[1], "{pair:?}");
                assert_eq!(pair, HotPair::draw(seed, shards));
            }
        }
    }

    #[test]
    fn shards_share_all_slots() {
        for shards in 3..=6 {
            assert_eq!(slots_of_shard(0, shards).0, 0);
            assert_eq!(slots_of_shard(shards - 1, shards).1, 16_383);
            for shard in 1..shards {
                assert_eq!(slots_of_shard(shard - 1, shards).1 + 1, slots_of_shard(shard, shards).0);
            }
        }
    }
}
