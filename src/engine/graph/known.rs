//! Which of the calls that are told of count, caller by caller:
//!
//! - what was declared holds, and traffic that was seen beside it too: nothing weaker is added to a declared caller;
//! - without a declaration, traffic and catalogues hold together;
//! - an order of starting is a hint that is used where none of these tells of the caller;
//! - usual calls are supposed where nothing tells of the caller. Traffic and catalogues that name a component and no call
//!   of it tell that it makes none, but to what nobody is known to call. A service's own queue and GPU are supposed for
//!   every service that declares nothing, because no import sees into a service.

use std::collections::{BTreeMap, BTreeSet};

use crate::reading::Origin;
use crate::subject::{Kind, Subject};
use crate::world::machine_of;

/// Which kinds a component calls when nothing was declared for it.
const USUAL_CALLS: &[(Kind, &[Kind])] = &[
    (Kind::Client, &[Kind::Gateway]),
    (Kind::Gateway, &[Kind::Service]),
    (Kind::Service, &[Kind::Queue, Kind::Redis, Kind::Dependency, Kind::Kafka, Kind::Pipeline, Kind::Host]),
    (Kind::Queue, &[Kind::Gpu]),
    (Kind::Pipeline, &[Kind::Kafka]),
];

/// Kinds that are a part of the service of their name, which no import sees.
const INSIDE: &[Kind] = &[Kind::Queue, Kind::Gpu];

/// How a call is known, and the edges that have numbers about it.
type Known = (Origin, Vec<Subject>);

/// The services, by name, that have instances on each machine whose address is known.
pub(super) type Homes = BTreeMap<Subject, BTreeSet<String>>;

/// What each caller calls.
pub(super) type Calls = BTreeMap<Subject, BTreeMap<Subject, Known>>;

/// Takes a call, with the best of its origins; a component that calls itself says nothing.
pub(super) fn take(calls: &mut Calls, caller: Subject, callee: Subject, origin: Origin) {
    calls.entry(callee.clone()).or_default();
    let callees = calls.entry(caller.clone()).or_default();
    if caller != callee {
        let known = callees.entry(callee).or_insert((origin, vec![]));
        known.0 = known.0.min(origin);
    }
}

/// Leaves out of each caller's calls what is known worse than the best of them.
pub(super) fn keep_the_best(calls: &mut Calls) {
    for callees in calls.values_mut() {
        let best = callees.values().map(|(origin, _)| *origin).min().unwrap_or(Origin::Usual);
        let worst = match best {
            Origin::Declared => Origin::Observed,
            Origin::Observed | Origin::Catalogued => Origin::Catalogued,
            other => other,
        };
        callees.retain(|_, (origin, _)| *origin <= worst);
    }
}

/// Supposes what is usual where nothing tells of a caller.
pub(super) fn add_usual(calls: &mut Calls, homes: &Homes) {
    // A kind is read from the name each time it is asked for: once is enough.
    let components: Vec<(Kind, Subject)> = calls.keys().map(|one| (one.kind(), one.clone())).collect();
    let called: BTreeSet<Subject> = calls.values().flat_map(BTreeMap::keys).cloned().collect();
    let is_seen =
        |(_, (origin, _)): &(&Subject, &Known)| matches!(origin, Origin::Observed | Origin::Catalogued);
    let seen: BTreeSet<Subject> = calls
        .values()
        .flat_map(|callees| callees.iter().filter(is_seen))
        .map(|(one, _)| one.clone())
        .collect();
    for (caller, callees) in calls {
        if callees.values().any(|(origin, _)| *origin == Origin::Declared) {
            continue;
        }
        let nothing_is_known = callees.is_empty();
        for callee in usual_callees(caller, &components, homes) {
            let is_its_own = INSIDE.contains(&callee.kind()) && callee.name() == caller.name();
            // Whoever sees a caller would see its calls, but for those to what it does not see at all.
            let is_free = !seen.contains(caller) || !called.contains(&callee);
            if is_its_own || (nothing_is_known && is_free) {
                callees.entry(callee).or_insert((Origin::Usual, vec![]));
            }
        }
    }
}

/// The components of the usual kinds below `caller`; a client with no gateway calls the services themselves.
/// A queue or a GPU pool belongs to the service of its own name where there is one. What bears the name of a host is
/// supposed below a caller that is the only one of its kind: nothing tells which of several runs there. A GPU in a machine on
/// which services are known to run is of those, and of no other.
fn usual_callees(caller: &Subject, components: &[(Kind, Subject)], homes: &Homes) -> Vec<Subject> {
    let of_kind =
        |kind: Kind| components.iter().filter(move |(of, _)| *of == kind).map(|(_, one)| one.clone());
    let kinds =
        USUAL_CALLS.iter().find(|(kind, _)| *kind == caller.kind()).map_or(&[][..], |(_, kinds)| kinds);
    let mut callees: Vec<Subject> = kinds.iter().flat_map(|kind| of_kind(*kind)).collect();
    if caller.kind() == Kind::Client && callees.is_empty() {
        callees.extend(of_kind(Kind::Service));
    }
    let is_alone = of_kind(caller.kind()).nth(1).is_none();
    let is_at_home = |callee: &Subject| {
        machine_of(callee)
            .and_then(|machine| homes.get(&machine))
            .is_some_and(|all| all.contains(caller.name()))
    };
    let with_gpus: BTreeSet<Subject> = callees.iter().filter_map(machine_of).collect();
    let mut own = homes.iter().filter(|(_, services)| services.contains(caller.name())).peekable();
    // Where GPUs are known in all machines that it runs on, those in other machines are somebody else's.
    let has_all =
        !with_gpus.is_empty() && own.peek().is_some() && own.all(|(machine, _)| with_gpus.contains(machine));
    let is_supposed = is_alone && !has_all;
    callees.retain(|callee| match callee.kind() {
        Kind::Gpu => is_at_home(callee) || is_supposed || !names_a_host(callee),
        _ => is_alone || !names_a_host(callee),
    });
    let has_namesake = callees.iter().any(|callee| callee.name() == caller.name());
    let is_of_another = |name: &str| of_kind(Kind::Service).any(|service| service.name() == name);
    callees.retain(|callee| {
        let name = callee.name();
        !INSIDE.contains(&callee.kind()) || name == caller.name() || !(has_namesake || is_of_another(name))
    });
    callees
}

/// Whether a component is a machine or a GPU of one, `gpu/HOST:INDEX`.
fn names_a_host(component: &Subject) -> bool {
    match component.kind() {
        Kind::Host => true,
        Kind::Gpu => component.name().contains(':'),
        _ => false,
    }
}
