//! Who told of what there is: the sources, which targets they list, and what has left.

use std::sync::Arc;
use std::time::Duration;

use crate::reading::{MethodOffer, Target, TargetList};
use crate::subject::{Kind, Subject};
use crate::text::RemoteText;
use crate::time::Moment;

/// A source's state.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceState {
    /// Which source.
    pub source: Subject,
    /// When it last gave data.
    pub last_data: Option<Moment>,
    /// How often it has news, where that is not how often it is asked.
    pub every: Option<Duration>,
    /// Since when an answer has been outstanding for too long.
    pub late_since: Option<Moment>,
    /// Its present fault, if any.
    pub fault: Option<(Moment, crate::reading::Fault)>,
    /// Dialects it speaks.
    pub dialects: Vec<RemoteText>,
    /// What it does not offer, with the reason.
    pub unavailable: Vec<(RemoteText, RemoteText)>,
    /// Which ways to find out about keys it offers; empty until it was asked.
    pub offers: Vec<MethodOffer>,
    /// Of a discovery: which targets it lists, and which left.
    pub listed: Option<Arc<Listed>>,
}

impl SourceState {
    /// Whether it asks the driver of GPUs itself, on this machine: it has no page.
    pub fn asks_the_driver(&self) -> bool {
        matches!(self.source.kind(), Kind::Gpu | Kind::Host) && self.dialects.is_empty()
    }
}

/// The targets that a discovery lists, and those that left.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The list as it was told last.
    pub list: TargetList,
    /// Since when it says this.
    pub since: Moment,
    /// Those that left and did not come back, with when, the last first.
    pub left: Vec<(Moment, Target)>,
}

/// A GPU that left: whoever told of it tells of others and no more of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuLeft {
    /// Which one.
    pub gpu: Subject,
    /// When it was taken for gone.
    pub at: Moment,
    /// When it was last told of.
    pub last: Moment,
    /// Who told of it last.
    pub by: Subject,
}
