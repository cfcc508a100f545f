//! The LENSES table: which number of a node the strips, the head and the trend show.

use headwater_engine::metric::{
    Bad, Metric, REDIS_ANSWER_TIME, REDIS_CLIENTS, REDIS_COMMANDS, REDIS_CPU, REDIS_EXEC, REDIS_MEMORY,
    REDIS_NET_IN, REDIS_NET_OUT, REDIS_NET_REPL_IN, REDIS_NET_REPL_OUT, REDIS_SLOW, Unit,
};

/// One row of [`LENSES`].
#[derive(Debug)]
pub(super) struct Lens {
    /// What it shows.
    pub(super) name: &'static str,
    /// The unit of its value.
    pub(super) unit: Unit,
    /// The number: the greatest of these sums. A sum needs its first metric, the others count as nothing where they
    /// are not told.
    pub(super) sums: &'static [&'static [Metric]],
    /// What a full cell means.
    pub(super) full: Full,
}

/// What a full cell means.
#[derive(Clone, Copy, Debug)]
pub(super) enum Full {
    /// The declared link, of which the number is a share.
    Link,
    /// Always this much.
    Fixed(f64),
    /// The greatest number of all shards in the time that is shown, rounded up, and at least this.
    Greatest(f64),
}

/// Every lens, in the order of the keys to the left and right.
pub(super) static LENSES: &[Lens] = &[
    Lens {
        name: "share of link",
        unit: Unit::Ratio,
        sums: &[&[REDIS_NET_OUT, REDIS_NET_REPL_OUT], &[REDIS_NET_IN, REDIS_NET_REPL_IN]],
        full: Full::Link,
    },
    Lens {
        name: "time to answer",
        unit: Unit::Seconds,
        sums: &[&[REDIS_ANSWER_TIME]],
        full: Full::Greatest(0.005),
    },
    Lens { name: "CPU", unit: Unit::Ratio, sums: &[&[REDIS_CPU], &[REDIS_EXEC]], full: Full::Fixed(1.0) },
    Lens {
        name: "bytes out",
        unit: Unit::BytesPerSecond,
        sums: &[&[REDIS_NET_OUT, REDIS_NET_REPL_OUT]],
        full: Full::Greatest(1e6),
    },
    Lens {
        name: "bytes in",
        unit: Unit::BytesPerSecond,
        sums: &[&[REDIS_NET_IN, REDIS_NET_REPL_IN]],
        full: Full::Greatest(1e6),
    },
    Lens { name: "commands", unit: Unit::PerSecond, sums: &[&[REDIS_COMMANDS]], full: Full::Greatest(100.0) },
    Lens { name: "slow commands", unit: Unit::PerSecond, sums: &[&[REDIS_SLOW]], full: Full::Greatest(1.0) },
    Lens { name: "memory", unit: Unit::Bytes, sums: &[&[REDIS_MEMORY]], full: Full::Greatest(1e7) },
    Lens { name: "clients", unit: Unit::Count, sums: &[&[REDIS_CLIENTS]], full: Full::Greatest(10.0) },
];

impl Lens {
    /// Whether it shows a share of a declared link.
    pub(super) fn needs_link(&self) -> bool {
        matches!(self.full, Full::Link)
    }

    /// Which way is worse: that of its first metric.
    pub(super) fn bad(&self) -> Bad {
        let first = self.sums.first().and_then(|sum| sum.first());
        first.map_or(Bad::Neither, |metric| metric.row().bad)
    }

    /// The number from those of its metrics.
    pub(super) fn of(&self, value: impl Fn(Metric) -> Option<f64>) -> Option<f64> {
        let sum = |metrics: &&[Metric]| {
            let (first, others) = metrics.split_first()?;
            Some(value(*first)? + others.iter().filter_map(|metric| value(*metric)).sum::<f64>())
        };
        self.sums.iter().filter_map(sum).reduce(f64::max)
    }

    /// The number cell by cell, from the cells of its metrics.
    pub(super) fn cells(&self, mut cells: impl FnMut(Metric) -> Vec<Option<f64>>) -> Vec<Option<f64>> {
        let mut greatest: Vec<Option<f64>> = vec![];
        for metrics in self.sums {
            let mut sum: Vec<Option<f64>> = vec![];
            for (place, metric) in metrics.iter().enumerate() {
                let own = cells(*metric);
                if place == 0 {
                    sum = own;
                } else {
                    for (sum, more) in sum.iter_mut().zip(own) {
                        *sum = sum.map(|sum| sum + more.unwrap_or(0.0));
                    }
                }
            }
            if greatest.is_empty() {
                greatest = sum;
            } else {
                for (greatest, other) in greatest.iter_mut().zip(sum) {
                    *greatest = match (*greatest, other) {
                        (Some(one), Some(other)) => Some(one.max(other)),
                        (one, other) => one.or(other),
                    };
                }
            }
        }
        greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greater_direction_counts_with_its_replication() {
        let link = &LENSES[0];
        let value = |metric| match metric {
            REDIS_NET_OUT => Some(3.0),
            REDIS_NET_REPL_OUT => Some(4.0),
            REDIS_NET_IN => Some(5.0),
            _ => None,
        };
        assert_eq!(link.of(value), Some(7.0));
        assert_eq!(link.of(|metric| value(metric).filter(|_| metric != REDIS_NET_OUT)), Some(5.0));
        assert_eq!(link.of(|_| None), None);
        let cells = link.cells(|metric| vec![value(metric), None]);
        assert_eq!(cells, [Some(7.0), None]);
    }
}
