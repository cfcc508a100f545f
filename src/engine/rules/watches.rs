//! What a rule can be evaluated on.

use crate::scene::Scene;
use crate::subject::{Kind, Subject};

/// Components of any kind that can be asked: all but what the engine names itself.
pub(crate) const ANY_KIND: &[Kind] = &[
    Kind::Client,
    Kind::Gateway,
    Kind::Service,
    Kind::Queue,
    Kind::Redis,
    Kind::Dependency,
    Kind::Kafka,
    Kind::Pipeline,
    Kind::Gpu,
    Kind::Host,
];

/// What a rule is evaluated on.
#[derive(Clone, Copy, Debug)]
pub enum Watches {
    /// Every shard of every Redis deployment.
    Shards,
    /// Those of which a scan sampled when enough of their keys expire.
    SampledShards,
    /// Every shard, and every Redis deployment itself that lets nobody in who could learn its shards.
    ShardsOrShut,
    /// Every node of every Redis deployment.
    Nodes,
    /// Every component of these kinds.
    Components(&'static [Kind]),
    /// Every component of these kinds of which something holds, because on the others the rule means nothing.
    Those {
        /// The kinds.
        kinds: &'static [Kind],
        /// What holds of them, in words that follow their kinds.
        which: &'static str,
        /// Whether it holds of a component.
        are: fn(&Scene<'_>, &Subject) -> bool,
    },
    /// Every instance of components of this kind, where there are two or more.
    Instances(Kind),
    /// Every instance of components of these kinds of which something holds, also where there is but one.
    InstancesThat {
        /// The kinds.
        kinds: &'static [Kind],
        /// What holds of them, in words that follow `instance`.
        which: &'static str,
        /// Whether it holds of an instance.
        are: fn(&Scene<'_>, &Subject) -> bool,
    },
}

impl Watches {
    /// The kinds of component that it can accuse.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Shards | Self::SampledShards | Self::ShardsOrShut | Self::Nodes => &[Kind::Redis],
            Self::Components(kinds) | Self::Those { kinds, .. } | Self::InstancesThat { kinds, .. } => kinds,
            Self::Instances(Kind::Service) => &[Kind::Service],
            Self::Instances(_) => &[],
        }
    }

    /// The words for help and docs.
    pub fn words(self) -> String {
        match self {
            Self::Shards => "every Redis shard".to_owned(),
            Self::SampledShards => "every Redis shard whose expiries were sampled".to_owned(),
            Self::ShardsOrShut => {
                "every Redis shard, and every redis that lets nobody in to learn its shards".to_owned()
            }
            Self::Nodes => "every Redis node".to_owned(),
            Self::Components(kinds) => {
                let words: Vec<_> = kinds.iter().map(|kind| kind.word()).collect();
                format!("every {}", words.join(", "))
            }
            Self::Those { kinds, which, .. } if kinds.len() == ANY_KIND.len() => {
                format!("every component {which}")
            }
            Self::Those { kinds, which, .. } => format!("{} {which}", Self::Components(kinds).words()),
            Self::InstancesThat { kinds, which, .. } => {
                format!("{} instance {which}", Self::Components(kinds).words())
            }
            Self::Instances(kind) => format!("every {} instance, from two up", kind.word()),
        }
    }
}
