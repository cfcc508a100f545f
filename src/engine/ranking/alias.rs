//! Names of one component.
//!
//! Tracing shows a service more than once: as itself, as its client sees it, and as the address at which it is called.
//! Each would be a rival of itself. Names are taken for aliases where both the names and the calls say so.

use super::calls::Calls;

/// Words at the end of a name that say from where a component is seen, and not which it is.
const VIEWS: &[&str] = &["remote", "client", "server", "lb", "elb", "vip", "upstream"];

/// A word of an address is telling from this length on; load balancers cut names to a few letters.
const TELLING: usize = 5;

/// Words that every other name holds.
const COMMON: &[&str] =
    &["service", "services", "server", "internal", "cluster", "local", "production", "staging"];

/// The group of each candidate: the least place among its aliases.
pub(super) fn groups(calls: &Calls<'_>) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..calls.len()).collect();
    let mut join = |one: usize, other: usize| {
        let (from, to) = (groups[one].max(groups[other]), groups[one].min(groups[other]));
        for group in &mut groups {
            if *group == from {
                *group = to;
            }
        }
    };
    for (caller, callee) in calls.edges() {
        if is_same_by_name(calls.names[caller], calls.names[callee]) {
            join(caller, callee);
        }
    }
    for place in 0..calls.len() {
        if let Some(component) = addressed(calls, place) {
            join(place, component);
        }
    }
    groups
}

/// Names that call each other and differ only by a view (`cart_client`, `cart`) or by a finer type of the same thing
/// (`cart_AWS::Lambda`, `cart_AWS::Lambda::Function`). `cart` and `cart-db` are two components.
fn is_same_by_name(one: &str, other: &str) -> bool {
    let is_finer =
        |short: &str, long: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with("::"));
    is_finer(one, other)
        || is_finer(other, one)
        || ((is_view(one) || is_view(other)) && base(one).eq_ignore_ascii_case(base(other)))
}

/// The component behind an address: of the callers and of what they call the only one whose name holds a word of the
/// address's first label, as `cart-lb.example.com` and `shopcart`.
fn addressed(calls: &Calls<'_>, place: usize) -> Option<usize> {
    let name = calls.names[place];
    let is_leaf = calls.callees[place].is_empty();
    if !is_leaf || !is_address(name) || !is_view(name) {
        return None;
    }
    let label = base(name).split('.').next()?.to_lowercase();
    let is_telling = |word: &&str| {
        word.chars().count() >= TELLING && !COMMON.iter().any(|common| common.starts_with(*word))
    };
    let words: Vec<&str> = label.split(|c: char| !c.is_alphanumeric()).filter(is_telling).collect();
    let callers = calls.callers[place].iter().copied();
    let called = callers.clone().flat_map(|caller| calls.callees[caller].iter().copied());
    let mut candidates: Vec<usize> = callers.clone().chain(called).collect();
    candidates.sort_unstable();
    candidates.dedup();
    candidates.retain(|candidate| {
        let other = calls.names[*candidate];
        let lower = other.to_lowercase();
        !is_address(other) && !is_view(other) && words.iter().any(|word| lower.contains(word))
    });
    match candidates[..] {
        [component] => Some(component),
        _ => None,
    }
}

fn is_address(name: &str) -> bool {
    base(name).contains('.')
}

/// Whether a name says from where a component is seen, and not only which it is.
pub(super) fn is_view(name: &str) -> bool {
    seen_from(name).is_some()
}

/// The view that ends a name.
fn seen_from(name: &str) -> Option<&str> {
    let last = name.rsplit(['_', '-', ' ']).next()?;
    (last.len() < name.len() && VIEWS.iter().any(|view| last.eq_ignore_ascii_case(view))).then_some(last)
}

/// A name without its view and without its type.
fn base(name: &str) -> &str {
    let bare = match seen_from(name) {
        Some(view) => &name[..name.len() - view.len() - 1],
        None => name,
    };
    match bare.split_once("::") {
        Some((before, _)) => before.rsplit_once('_').map_or(before, |(base, _)| base),
        None => bare,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grouped(symptom: &str, edges: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
        let symptom: &'static str = Box::leak(symptom.to_owned().into_boxed_str());
        let calls = Calls::below(symptom, edges);
        let groups = groups(&calls);
        let names = |place: usize| calls.names[place];
        (0..calls.len())
            .filter(|place| groups[*place] != *place)
            .map(|place| (names(place), names(groups[place])))
            .collect()
    }

    #[test]
    fn views_and_finer_types_of_one_name_are_one_component() {
        let edges = [
            ("web", "cart_client"),
            ("cart_client", "Cart"),
            ("Cart", "pay_X::Lambda"),
            ("pay_X::Lambda", "pay_X::Lambda::Code"),
        ];
        assert_eq!(
            grouped("web", &edges),
            [("Cart", "cart_client"), ("pay_X::Lambda::Code", "pay_X::Lambda")]
        );
    }

    #[test]
    fn a_store_is_not_its_service_and_a_namesake_elsewhere_not_the_same() {
        assert_eq!(grouped("web", &[("web", "cart"), ("cart", "cart-db"), ("cart", "cart_cache")]), []);
        assert_eq!(grouped("web", &[("web", "cart"), ("web", "pay"), ("pay", "cart_remote")]), []);
        assert_eq!(grouped("web", &[("web", "db_X::Table"), ("db_X::Table", "db_Y::Index")]), []);
    }

    #[test]
    fn an_address_is_the_only_neighbour_whose_name_it_holds() {
        let lb = "shop-catal.eu-1.lb.example.com_remote";
        let calls = |sibling| [("web", lb), ("web", sibling), ("web", "payments")];
        assert_eq!(grouped("web", &calls("petcatalogue")), [("petcatalogue", lb)]);
        assert_eq!(grouped("web", &calls("search")), []);
        assert_eq!(
            grouped("web", &[("web", lb), ("web", "catalogue"), ("web", "catalogue-old")]),
            [],
            "two could be"
        );
        assert_eq!(
            grouped("web", &[("web", "service.example.com_remote"), ("web", "cartservice")]),
            [],
            "says nothing"
        );
        assert_eq!(
            grouped("web", &[("web", "catal.example.com"), ("web", "catalogue")]),
            [],
            "no view, a name"
        );
    }
}
