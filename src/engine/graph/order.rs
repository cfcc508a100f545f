//! Walks over numbered components: groups that call each other in a circle, deepest first, and ways.

use std::collections::VecDeque;

/// The components in groups of those that reach each other, each group after everything that it calls (Tarjan's
/// strongly connected components, 1972). The stack is our own: an import may hold a chain of any length.
pub(super) fn groups(down: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut seen_as = vec![UNSEEN; down.len()];
    let mut lowest = vec![0; down.len()];
    let mut is_open = vec![false; down.len()];
    let (mut open, mut groups, mut count) = (vec![], vec![], 0);
    for root in 0..down.len() {
        if seen_as[root] != UNSEEN {
            continue;
        }
        // Each step is a component with how many of its callees were looked at.
        let mut steps = vec![(root, 0)];
        while let Some((here, next)) = steps.last_mut() {
            let here = *here;
            if *next == 0 {
                seen_as[here] = count;
                lowest[here] = count;
                count += 1;
                open.push(here);
                is_open[here] = true;
            }
            if let Some(callee) = down[here].get(*next).copied() {
                *next += 1;
                if seen_as[callee] == UNSEEN {
                    steps.push((callee, 0));
                } else if is_open[callee] {
                    lowest[here] = lowest[here].min(seen_as[callee]);
                }
                // A component without callees must not begin again.
                continue;
            }
            steps.pop();
            if let Some((caller, _)) = steps.last() {
                lowest[*caller] = lowest[*caller].min(lowest[here]);
            }
            if lowest[here] == seen_as[here] {
                let begins = open.iter().rposition(|one| *one == here).unwrap_or(0);
                let mut group = open.split_off(begins);
                for one in &group {
                    is_open[*one] = false;
                }
                group.reverse();
                groups.push(group);
            }
        }
    }
    groups
}

/// A shortest way round through the first component of a group, in the order of the calls.
pub(super) fn cycle(group: &[usize], down: &[Vec<usize>]) -> Vec<usize> {
    let Some(first) = group.iter().copied().min() else { return vec![] };
    let back = down[first].iter().filter_map(|callee| way(*callee, first, down));
    let Some(mut way) = back.min_by_key(Vec::len) else { return vec![first] };
    // The way ends where it began.
    way.pop();
    way.insert(0, first);
    way
}

/// The shortest way from one component to another, both included.
pub(super) fn way(from: usize, to: usize, down: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut came_from = vec![None; down.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front() {
        if here == to {
            let mut way = vec![to];
            while let Some(before) =
                way.last().filter(|last| **last != from).and_then(|last| came_from[*last])
            {
                way.push(before);
            }
            way.reverse();
            return Some(way);
        }
        for callee in &down[here] {
            if came_from[*callee].is_none() && *callee != from {
                came_from[*callee] = Some(here);
                queue.push_back(*callee);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callees_come_first_and_a_circle_is_one_group() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3
        let down = [vec![1], vec![2], vec![1, 3], vec![]];
        assert_eq!(groups(&down), [vec![3], vec![2, 1], vec![0]]);
        assert_eq!(cycle(&[2, 1], &down), [1, 2]);
        assert_eq!(way(0, 3, &down), Some(vec![0, 1, 2, 3]));
        assert_eq!(way(3, 0, &down), None);
        assert_eq!(way(1, 1, &down), Some(vec![1]));
    }

    #[test]
    fn a_chain_of_any_length_is_walked() {
        let length = 100_000;
        let down: Vec<Vec<usize>> =
            (0..length).map(|place| if place + 1 < length { vec![place + 1] } else { vec![0] }).collect();
        assert_eq!(groups(&down).len(), 1);
        assert_eq!(cycle(&groups(&down)[0], &down).len(), length);
    }
}
