//! The cursor's way along calls.

use headwater_engine::Subject;
use headwater_engine::graph::layout::Layout;

use super::Graph;
use super::facts::{Facts, name};
use crate::action::Action;
use crate::overview::way_to;

/// Where the cursor stands, and what it can walk along.
pub(super) struct Walk<'a> {
    pub(super) facts: &'a Facts<'a>,
    pub(super) laid: &'a Layout,
    pub(super) focus: &'a Subject,
    pub(super) along: Option<&'a Subject>,
}

/// Where the cursor goes, and the other end of the call that it stands at then.
#[derive(Debug, PartialEq)]
pub(super) struct Step {
    pub(super) to: Subject,
    pub(super) along: Option<Subject>,
}

/// What an action comes to.
pub(super) enum Leads {
    /// The cursor goes on.
    Step(Step),
    /// Another panel (by its name) is shown, on this subject.
    Panel(&'static str, Subject),
}

impl Graph {
    /// Where an action leads from the component under the cursor, or why nowhere; `None` where it means nothing. The bar of
    /// keys offers by this what it does.
    pub(super) fn leads(&self, action: Action, facts: &Facts<'_>) -> Option<Result<Leads, String>> {
        let focus = self.focus(facts)?;
        let walk = Walk { facts, laid: &self.laid.layout, focus: &focus, along: self.along.as_ref() };
        let step = match action {
            Action::Left => walk.to_caller(),
            Action::Right => walk.to_callee(),
            Action::Up => walk.to_sibling(self.is_near, -1),
            Action::Down => walk.to_sibling(self.is_near, 1),
            Action::Top => walk.to_sibling(self.is_near, isize::MIN),
            Action::Bottom => walk.to_sibling(self.is_near, isize::MAX),
            Action::Open => {
                let way = way_to(facts.snapshot, &focus);
                return Some(way.map(|(panel, subject)| Leads::Panel(panel, subject)));
            }
            _ => return None,
        };
        Some(step.map(Leads::Step))
    }
}

impl Walk<'_> {
    /// To a caller: where the cursor came from, else along the critical path, else the worst of them.
    pub(super) fn to_caller(&self) -> Result<Step, String> {
        let callers: Vec<&Subject> = self.facts.snapshot.graph.callers(self.focus).collect();
        let is_critical = |caller: &Subject| self.facts.is_critical(caller, self.focus);
        self.best(callers, is_critical).ok_or_else(|| format!("nobody is known to call {}", name(self.focus)))
    }

    /// To a callee, in the same order.
    pub(super) fn to_callee(&self) -> Result<Step, String> {
        let callees: Vec<&Subject> = self.facts.snapshot.graph.callees(self.focus).collect();
        let is_critical = |callee: &Subject| self.facts.is_critical(self.focus, callee);
        self.best(callees, is_critical).ok_or_else(|| format!("{} is known to call nobody", name(self.focus)))
    }

    fn best(&self, others: Vec<&Subject>, is_critical: impl Fn(&Subject) -> bool) -> Option<Step> {
        let drawn = others.into_iter().filter_map(|one| Some((one, self.laid.place(one)?)));
        let rank = |(one, place): &(&Subject, (usize, usize))| {
            (Some(*one) != self.along, !is_critical(one), self.facts.verdict(one), *place)
        };
        let (to, _) = drawn.min_by_key(rank)?;
        Some(Step { to: to.clone(), along: Some(self.focus.clone()) })
    }

    /// To another one beside it: of its layer, or in a neighbourhood of those at the other end's side.
    pub(super) fn to_sibling(&self, is_near: bool, by: isize) -> Result<Step, String> {
        let siblings = self.siblings(is_near);
        let here = siblings.iter().position(|one| one == self.focus).unwrap_or(0);
        let last = siblings.len().saturating_sub(1);
        let to = here.saturating_add_signed(by).min(last);
        let Some(to) = siblings.get(to) else { return Err("there is nothing beside it".to_owned()) };
        let graph = &self.facts.snapshot.graph;
        let along =
            self.along.filter(|other| graph.edge(other, to).is_some() || graph.edge(to, other).is_some());
        Ok(Step { to: to.clone(), along: along.cloned() })
    }

    fn siblings(&self, is_near: bool) -> Vec<Subject> {
        let graph = &self.facts.snapshot.graph;
        if let Some(other) = self.along.filter(|_| is_near) {
            let drawn = |one: &&Subject| self.laid.place(one).is_some();
            let mut beside: Vec<Subject> = match graph.edge(other, self.focus) {
                Some(_) => graph.callees(other).filter(drawn).cloned().collect(),
                None => graph.callers(other).filter(drawn).cloned().collect(),
            };
            beside.sort_by_key(|one| (self.facts.verdict(one), self.laid.place(one)));
            if beside.contains(self.focus) {
                return beside;
            }
        }
        let layer = self.laid.place(self.focus).map_or(0, |(layer, _)| layer);
        let slots = self.laid.layers.get(layer).into_iter().flatten();
        slots
            .filter_map(|slot| match slot {
                headwater_engine::graph::layout::Slot::Component(subject) => Some(subject.clone()),
                headwater_engine::graph::layout::Slot::Passing(_) => None,
            })
            .collect()
    }
}
