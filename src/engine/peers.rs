//! One member against the others: leave-one-out medians and the evenness of a load.

use crate::subject::Subject;

/// One number per member of a group; members are called by their subjects, or by whatever else tells them apart.
#[derive(Clone, Debug)]
pub struct Peers<M = Subject> {
    values: Vec<(M, f64)>,
    sorted: Vec<f64>,
}

impl<M: Ord> Peers<M> {
    /// A group of members with their numbers; members without a number are left out by the caller.
    pub fn new(mut values: Vec<(M, f64)>) -> Self {
        values.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut sorted: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        sorted.sort_by(f64::total_cmp);
        Self { values, sorted }
    }

    /// This member's number.
    pub fn of(&self, member: &M) -> Option<f64> {
        let place = self.values.binary_search_by(|(known, _)| known.cmp(member)).ok()?;
        Some(self.values[place].1)
    }

    /// The members with their numbers, in their order.
    pub fn values(&self) -> &[(M, f64)] {
        &self.values
    }

    /// The median of all members but this one, of an even number the lower middle, so that two hot members of three do
    /// not hide each other; `None` for a group of one.
    pub fn median_of_others(&self, member: &M) -> Option<f64> {
        let (others, at) = self.others(member);
        self.of(member).and(others.checked_sub(1)).map(|last| at(last / 2))
    }

    /// A quantile of all members but this one, by linear interpolation; `None` where there is no other.
    pub fn quantile_of_others(&self, member: &M, q: f64) -> Option<f64> {
        let (others, at) = self.others(member);
        interpolated(others, at, q)
    }

    /// How many others there are, and their numbers by their rank.
    fn others(&self, member: &M) -> (usize, impl Fn(usize) -> f64) {
        let place = match self.of(member) {
            Some(own) => self.sorted.partition_point(|value| value.total_cmp(&own).is_lt()),
            None => self.sorted.len(),
        };
        let others = self.sorted.len() - usize::from(place < self.sorted.len());
        (others, move |rank: usize| self.sorted[if rank < place { rank } else { rank + 1 }])
    }

    /// The median of all members.
    pub fn median(&self) -> Option<f64> {
        median(&self.sorted)
    }

    /// The mean and the maximum of all members: never the one without the other.
    pub fn mean_and_max(&self) -> Option<(f64, f64)> {
        let max = *self.sorted.last()?;
        Some((self.sorted.iter().sum::<f64>() / self.sorted.len() as f64, max))
    }

    /// Shannon entropy of the shares over that of an even spread, H / ln n: 1 is even, 0 is all on one.
    /// `None` for fewer than two members or without any load.
    pub fn evenness(&self) -> Option<f64> {
        let total: f64 = self.sorted.iter().sum();
        if self.sorted.len() < 2 || total <= 0.0 {
            return None;
        }
        let entropy: f64 = self
            .sorted
            .iter()
            .map(|value| value / total)
            .filter(|share| *share > 0.0)
            .map(|share| -share * share.ln())
            .sum();
        Some(entropy / (self.sorted.len() as f64).ln())
    }
}

/// The median of sorted values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

/// A quantile of sorted values by linear interpolation.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    interpolated(sorted.len(), |rank| sorted[rank], q)
}

fn interpolated(count: usize, at: impl Fn(usize) -> f64, q: f64) -> Option<f64> {
    let place = q * (count.checked_sub(1)? as f64);
    let (low, high) = (at(place.floor() as usize), at(place.ceil() as usize));
    Some(low + (high - low) * place.fract())
}

/// The median and the interquartile range of values, and how many there were.
pub fn typical(values: impl Iterator<Item = f64>) -> Option<(f64, f64, usize)> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let spread = quantile(&sorted, 0.75)? - quantile(&sorted, 0.25)?;
    Some((median(&sorted)?, spread, sorted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(values: &[f64]) -> (Peers, Vec<Subject>) {
        let cluster: Subject = "redis/features".parse().unwrap();
        let members: Vec<_> = (0..values.len()).map(|index| cluster.shard(index)).collect();
        (Peers::new(members.iter().cloned().zip(values.iter().copied()).collect()), members)
    }

    #[test]
    fn a_members_own_value_does_not_hide_it() {
        let (peers, members) = group(&[0.95, 0.05, 0.07, 0.06]);
        assert_eq!(peers.median_of_others(&members[0]), Some(0.06));
        assert_eq!(peers.median_of_others(&members[1]), Some(0.07));
        let (two_hot, members) = group(&[0.95, 0.75, 0.05]);
        assert_eq!(two_hot.median_of_others(&members[1]), Some(0.05), "the hotter one does not hide it");
        let (two, members) = group(&[0.9, 0.1]);
        assert_eq!(two.median_of_others(&members[0]), Some(0.1));
        let (one, members) = group(&[0.9]);
        assert_eq!(one.median_of_others(&members[0]), None);
    }

    #[test]
    fn equal_values_are_left_out_once() {
        let (peers, members) = group(&[1.0, 1.0, 3.0]);
        assert_eq!(peers.median_of_others(&members[0]), Some(1.0));
        assert_eq!(peers.median_of_others(&members[2]), Some(1.0));
    }

    #[test]
    fn a_quantile_of_the_others_leaves_out_just_the_member() {
        let (peers, members) = group(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(peers.quantile_of_others(&members[0], 0.25), quantile(&[1.0, 2.0, 3.0, 4.0], 0.25));
        assert_eq!(peers.quantile_of_others(&members[1], 0.25), quantile(&[2.0, 3.0, 4.0, 5.0], 0.25));
        assert_eq!(peers.quantile_of_others(&members[2], 0.5), Some(3.0));
        let stranger = "redis/features#9".parse().unwrap();
        assert_eq!(peers.quantile_of_others(&stranger, 0.5), Some(3.0));
        let (one, members) = group(&[1.0]);
        assert_eq!(one.quantile_of_others(&members[0], 0.5), None);
    }

    #[test]
    fn evenness_is_one_when_even_and_low_when_one_member_has_it_all() {
        assert!((group(&[2.0, 2.0, 2.0]).0.evenness().unwrap() - 1.0).abs() < 1e-9);
        assert!(group(&[100.0, 0.0, 0.0]).0.evenness().unwrap() < 1e-9);
        assert_eq!(group(&[0.0, 0.0]).0.evenness(), None);
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(typical([4.0, 1.0, 3.0, 2.0].into_iter()), Some((2.5, 1.5, 4)));
    }
}
