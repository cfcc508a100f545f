//! What rules have worked out already in one evaluation, so that none of it is worked out twice.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::launches::UsualLaunches;
use crate::metric::Metric;
use crate::peers::Peers;
use crate::rules::{Mixes, Ways};
use crate::scene::Told;
use crate::subject::Subject;

/// Instances by what was compared of them, and of which component they are.
type Compared = BTreeMap<(&'static str, Metric, Subject), Rc<Peers>>;

/// Series of a metric of a component by the addresses that they are about.
type Addressed = BTreeMap<(Metric, Subject), BTreeMap<String, Vec<Told>>>;

/// The GPUs of each machine, and those that its instances tell of.
pub(crate) type OnMachines = BTreeMap<Subject, Vec<Subject>>;

/// Results that several rules, or several subjects of one, ask for in the same evaluation.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// Groups of shards that were compared already.
    pub(crate) groups: RefCell<BTreeMap<(&'static str, Subject), Rc<Peers>>>,
    /// Groups of instances that were compared already.
    pub(crate) instances: RefCell<Compared>,
    /// The series whose parts are addresses that were put in order already.
    pub(crate) addressed: RefCell<Addressed>,
    /// What the shards of deployments are asked.
    pub(crate) mixes: RefCell<BTreeMap<Subject, Rc<Mixes>>>,
    /// The GPUs of all machines, once anybody asked.
    pub(crate) on_machines: RefCell<Option<Rc<OnMachines>>>,
    /// What is usual of the launches that were looked at already.
    pub(crate) launches: RefCell<UsualLaunches>,
    /// The timed calls of components that were looked at already.
    pub(crate) ways: RefCell<BTreeMap<Subject, Option<Rc<Ways>>>>,
}
