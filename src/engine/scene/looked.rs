//! What rules have worked out already in one evaluation, so that none of it is worked out twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::peers::Peers;
use crate::rules::{Mixes, Ways};
use crate::subject::Subject;

/// Results that several rules, or several subjects of one, ask for in the same evaluation.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Groups of shards that were compared already.
    pub(crate) groups: RefCell<BTreeMap<(&'static str, Subject), Rc<Peers>>>,
    /// What the shards of deployments are asked.
    pub(crate) mixes: RefCell<BTreeMap<Subject, Rc<Mixes>>>,
    /// The timed calls of components that were looked at already.
    pub(crate) ways: RefCell<BTreeMap<Subject, Option<Rc<Ways>>>>,
}
