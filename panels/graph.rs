//! Who calls whom, with the verdict on each component.

mod drawing;
mod facts;
mod near;
mod picture;
mod told;
mod walk;

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_engine::Subject;
use headwater_engine::graph::Graph as Calls;
use headwater_engine::graph::layout::Layout;
use headwater_engine::report::Verdict;
use headwater_engine::wording::verdict_word;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::lines;
use crate::palette::ColorRole;
use crate::panel::{Intent, Outcome, Panel, PanelRow, View};
use crate::sentences::draw_sentences;
use crate::title;
use drawing::{below_title, draw_box, draw_wires, split};
use facts::{Facts, cells, name};
use picture::Picture;

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "graph",
    title: "Graph",
    short: "Graph",
    help: "who calls whom, with the verdict on each component",
    is_for_walls: true,
    make: || Box::new(Graph::default()),
};

/// What help explains.
static WORDS: &[(&str, &str)] = &[
    ("left", "who calls: a component stands left of everything that it calls"),
    ("thick line", "the critical path: from what callers see down to the first suspect"),
    ("broken line", "a hint only: an order of starting, or what such components usually call"),
    ("12/s 2 % err 30 ms", "on a line: its requests, the share that fails, the p99 of their time"),
    ("cycle", "components that call each other in a circle: slowness can go round in it"),
];

#[derive(Default)]
struct Graph {
    /// The component under the cursor, once a key has moved it.
    cursor: Option<Subject>,
    /// The other end of the call that the cursor came along.
    along: Option<Subject>,
    /// Whether only those are drawn that are accused, or on the way to who is.
    is_unhealthy_alone: bool,
    laid: Laid,
    /// Whether the last picture was of a neighbourhood.
    is_near: bool,
    /// What was drawn where, for the mouse.
    boxes: Vec<(Subject, Rect)>,
}

/// The layout of the last picture, kept as long as the graph and what is drawn of it stay the same.
#[derive(Default)]
struct Laid {
    graph: Arc<Calls>,
    kept: Option<BTreeSet<Subject>>,
    layout: Layout,
}

impl Laid {
    /// Lays out anew only what is new: snapshots share a graph that has not changed.
    fn renew(&mut self, graph: &Arc<Calls>, kept: Option<BTreeSet<Subject>>) {
        if !Arc::ptr_eq(&self.graph, graph) || self.kept != kept {
            self.layout = Layout::of(graph, |one| kept.as_ref().is_none_or(|kept| kept.contains(one)));
            (self.graph, self.kept) = (Arc::clone(graph), kept);
        }
    }

    fn keeps(&self, subject: &Subject) -> bool {
        self.kept.as_ref().is_none_or(|kept| kept.contains(subject))
    }
}

impl Graph {
    /// The layout of what is drawn of this snapshot.
    fn lay(&mut self, facts: &Facts<'_>) {
        let graph = &facts.snapshot.graph;
        let kept = self
            .is_unhealthy_alone
            .then(|| graph.components().filter(|one| facts.is_unhealthy(one)).cloned().collect());
        self.laid.renew(graph, kept);
    }

    /// The component under the cursor: where a key moved it, else what matters most, else the one with most calls.
    fn focus(&self, facts: &Facts<'_>) -> Option<Subject> {
        let is_there = |one: &Subject| self.laid.layout.place(one).is_some();
        let graph = &facts.snapshot.graph;
        let calls = |one: &&Subject| graph.callers(one).count() + graph.callees(one).count();
        // Of several that call as much the first: the greatest of a list is its last.
        let busiest = || {
            let all: Vec<&Subject> = self.laid.layout.components().collect();
            all.into_iter().rev().max_by_key(calls).cloned()
        };
        let moved = self.cursor.clone().filter(is_there);
        moved.or_else(|| facts.first().filter(is_there)).or_else(busiest)
    }

    /// The picture of all, else of the neighbourhood; with how many callers and callees it leaves out.
    fn picture(&self, facts: &Facts<'_>, focus: &Subject, area: Rect) -> (Picture, bool, [usize; 2]) {
        let width = |subject: &Subject| facts.width(subject);
        if let Some(whole) = Picture::plan(&self.laid.layout, width, area) {
            return (whole, false, [0, 0]);
        }
        let rank = |one: &Subject| (facts.verdict(one), self.laid.layout.place(one));
        for most in (1..=usize::from(area.height / 2)).rev() {
            let near = near::near(&facts.snapshot.graph, focus, most, |one| self.laid.keeps(one), rank);
            if let Some(picture) = Picture::plan(&near.layout, width, area) {
                return (picture, true, near.left_out);
            }
        }
        // Not even three boxes: the one that matters, as much of it as there is room for.
        let boxed = Rect { height: area.height.min(2), ..area };
        let graph = &facts.snapshot.graph;
        let kept = |one: &&Subject| self.laid.keeps(one);
        let left_out = [graph.callers(focus).filter(kept).count(), graph.callees(focus).filter(kept).count()];
        (Picture { boxes: vec![(focus.clone(), boxed)], lines: vec![] }, true, left_out)
    }

    /// The title, and beside it what is left out and how many are how.
    fn heading(
        &self,
        facts: &Facts<'_>,
        left_out: [usize; 2],
        focus: &Subject,
        width: u16,
    ) -> (String, String) {
        let graph = &facts.snapshot.graph;
        let (all, drawn) = (graph.components().count(), self.boxes.len());
        let title = match (self.is_near, self.is_unhealthy_alone) {
            (true, false) => format!("Graph: around {}, {drawn} of {all} components", name(focus)),
            (true, true) => {
                format!("Graph: the unhealthy around {}, {drawn} of {all} components", name(focus))
            }
            (false, true) => format!("Graph: the unhealthy, {drawn} of {all} components"),
            (false, false) => format!("Graph: {all} components, {} calls", graph.edges().count()),
        };
        let more = ["callers", "callees"].into_iter().zip(left_out);
        let more: Vec<String> =
            more.filter(|(_, count)| *count > 0).map(|(who, count)| format!("+{count} {who}")).collect();
        let counted = [Verdict::Guilty, Verdict::Suspect, Verdict::Unknown].map(|verdict| {
            let count = graph.components().filter(|one| facts.verdict(one) == verdict).count();
            (count > 0).then(|| format!("{count} {}", verdict_word(verdict)))
        });
        let aside = more.iter().cloned().chain(counted.into_iter().flatten()).collect::<Vec<_>>().join(", ");
        let fits = cells(&title) + cells(&aside) + 5 <= usize::from(width);
        (title, if fits { aside } else { more.join(", ") })
    }

    fn nothing(&self, facts: &Facts<'_>) -> Vec<(String, ColorRole)> {
        if self.is_unhealthy_alone {
            let count = facts.snapshot.graph.components().count();
            return vec![
                (format!("none of {count} components is guilty or suspect"), ColorRole::Heading),
                ("the same key draws them all again".to_owned(), ColorRole::Faint),
            ];
        }
        vec![
            ("no component is known yet".to_owned(), ColorRole::Heading),
            (
                "they come from [[component]] and [[graph]] in the configuration, and from what targets tell"
                    .to_owned(),
                ColorRole::Faint,
            ),
        ]
    }
}

impl Panel for Graph {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        self.boxes.clear();
        if area.is_empty() {
            return;
        }
        let facts = Facts::new(view.snapshot);
        self.lay(&facts);
        let Some(focus) = self.focus(&facts) else {
            return draw_sentences(&self.nothing(&facts), view, area, buffer);
        };
        let words = told::lines(&facts, &focus, self.along.as_ref());
        let rest = below_title(area);
        let (body, foot) = split(rest, &words, view.palette);
        let (picture, is_near, left_out) = self.picture(&facts, &focus, body);
        self.is_near = is_near;
        draw_wires(&picture, &facts, &focus, view.palette, body, buffer);
        for (subject, place) in &picture.boxes {
            draw_box(subject, *place, &facts, *subject == focus, view.palette, buffer);
        }
        self.boxes = picture.boxes;
        if rest.height < area.height {
            let (heading, aside) = self.heading(&facts, left_out, &focus, area.width);
            title::draw(&heading, &aside, view.palette, area, buffer);
        }
        lines::draw(&words, view.palette, foot, buffer);
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let facts = Facts::new(view.snapshot);
        self.lay(&facts);
        if action == Action::Unhealthy || (action == Action::Back && self.is_unhealthy_alone) {
            self.is_unhealthy_alone = !self.is_unhealthy_alone;
            return Outcome::Done;
        }
        match self.leads(action, &facts) {
            Some(Ok(walk::Leads::Panel(panel, subject))) => {
                Outcome::Wants(Intent::Show(panel, Some(subject)))
            }
            Some(Ok(walk::Leads::Step(walk::Step { to, along }))) => {
                self.cursor = Some(to);
                self.along = along;
                Outcome::Done
            }
            Some(Err(reason)) => Outcome::Refused(reason),
            None => Outcome::Ignored,
        }
    }

    fn actions(&self) -> &'static [Action] {
        &[Action::Open, Action::Left, Action::Right, Action::Unhealthy]
    }

    fn short(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        match action {
            Action::Open | Action::Left | Action::Right
                if !matches!(self.leads(action, &Facts::new(view.snapshot)), Some(Ok(_))) =>
            {
                None
            }
            Action::Left => Some("caller"),
            Action::Right => Some("callee"),
            Action::Unhealthy if self.is_unhealthy_alone => Some("all"),
            _ => Some(action.row().short),
        }
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        WORDS
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let facts = Facts::new(view.snapshot);
        let focus = self.focus(&facts)?;
        let verdict = facts.verdict(&focus);
        let mut text = format!("{focus} {}", verdict_word(verdict));
        let graph = &view.snapshot.graph;
        let calls = graph.callers(&focus).map(|caller| facts.sentence(caller, &focus));
        for call in calls.chain(graph.callees(&focus).map(|callee| facts.sentence(&focus, callee))).flatten()
        {
            text.push('\n');
            text.push_str(&call);
        }
        Some(text)
    }

    fn click(&mut self, at: Position, _view: &View<'_>) -> Outcome {
        let Some((subject, _)) = self.boxes.iter().find(|(_, place)| place.contains(at)) else {
            return Outcome::Ignored;
        };
        self.cursor = Some(subject.clone());
        self.along = None;
        Outcome::Done
    }

    fn open(&mut self, subject: &Subject) {
        self.cursor = Some(subject.component_of());
        self.along = None;
    }
}

#[cfg(test)]
mod tests;
