//! All shards: how even they are, what the strips mean, a row each, and the row under the cursor in words.

use headwater_engine::Snapshot;
use headwater_engine::metric::{REDIS_SLOW_THRESHOLD, Unit};
use headwater_engine::quantity::show;
use headwater_engine::wording::verdict_word;
use headwater_widgets::MarkedLine;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::columns::{self, data_words};
use super::head::{self, Texts, draw_texts};
use super::known::{moment_of_list, numbers_every};
use super::line::{Line, NAME_ROOM};
use super::rows::{give_strips, has_link, lens_of, shard_rows};
use super::{Shards, row_of};
use crate::action::Action;
use crate::changes::marks;
use crate::data_state::DataState;
use crate::palette::{ColorRole, glyph_of, role_of};
use crate::panel::View;
use crate::sentences::draw_sentences;
use crate::unseen_redis::{nothing, unseen_deployments};

/// Deployments that are summed up above the rows.
const MOST_HEADS: usize = 3;

/// Below this width a name with the sign of its verdict stands alone.
const WIDTH_FOR_VERDICT: u16 = 23;

/// Below this height nothing but rows is drawn, and below this one no line about the row under the cursor.
const HEIGHT_FOR_HEAD: u16 = 5;
const HEIGHT_FOR_FOOT: u16 = 9;

impl Shards {
    /// Puts the cursor on the shard that is accused most, until somebody moves it.
    pub(super) fn lead(&mut self, lines: &[Line]) {
        let Some(first) = lines.first().filter(|_| !self.is_led) else { return };
        let mut accused = first.known.accused();
        if let Some(worst) = accused.find(|subject| lines.iter().any(|line| line.subject == **subject)) {
            self.list.select(worst.as_str());
        }
    }

    /// The rows of all shards.
    pub(super) fn rows(&self, snapshot: &Snapshot) -> Vec<Line> {
        let mut lines = shard_rows(snapshot, lens_of(self.lens, snapshot), moment_of_list(snapshot));
        if let Some(marked) = &self.marked {
            for line in lines.iter_mut().filter(|line| line.subject == *marked) {
                line.is_marked = true;
            }
        }
        lines
    }

    /// Draws the list of shards.
    pub(super) fn draw_list(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let mut lines = self.rows(view.snapshot);
        self.lead(&lines);
        if area.width < WIDTH_FOR_VERDICT {
            let room = usize::from(area.width).min(NAME_ROOM + 2);
            lines.iter_mut().for_each(|line| line.narrow = Some(room));
            self.list.leave_out(&["verdict", "link", "data"]);
        } else {
            self.list.leave_out(left_out(view.snapshot, &lines));
        }
        let places = self.list.cells_of(columns::STRIP, area.width);
        give_strips(&mut lines, view.snapshot, places);
        let Some(first) = lines.first() else {
            return draw_sentences(&nothing(view.snapshot), view, area, buffer);
        };
        let mut rest = area;
        if area.height >= HEIGHT_FOR_HEAD {
            // A full cell of one deployment is not what it is of another where their links differ.
            let is_one = lines.iter().all(|line| line.link == first.link);
            let (strip, link) = (first.strip, first.link.filter(|_| is_one));
            for texts in self.heads(view, &lines, usize::from(area.height / HEIGHT_FOR_HEAD)) {
                draw_texts(&texts, view, row_of(&mut rest), buffer);
            }
            let mut legend = head::legend(view, &strip, link, numbers_every(view.snapshot));
            legend.extend(self.order_texts(view, &lines));
            draw_texts(&legend, view, row_of(&mut rest), buffer);
        }
        if area.height >= HEIGHT_FOR_FOOT {
            rest.height -= 1;
            let foot = Rect { y: rest.bottom(), height: 1, ..rest };
            self.draw_foot(view, &lines, foot, buffer);
        }
        self.list.draw(&lines, view, rest, buffer);
        let bins = lines.first().map(|line| line.strip.bins);
        let head = self.list.head_of(columns::STRIP);
        marks::draw(view.snapshot, |at| bins?.place(at), view.palette, head, buffer);
    }

    /// A line for each deployment, then for each that is awaited; what there is no room for is counted.
    fn heads(&self, view: &View<'_>, lines: &[Line], most: usize) -> Vec<Texts> {
        let topologies = view.snapshot.topologies.iter().enumerate();
        let of_group =
            |group: usize| lines.iter().filter(move |line| line.group == group).collect::<Vec<_>>();
        let mut heads: Vec<Texts> = topologies
            .map(|(group, topology)| head::deployment(view, &topology.cluster, &of_group(group)))
            .collect();
        let awaited = unseen_deployments(view.snapshot).into_iter();
        heads.extend(awaited.map(|text| vec![(text, view.palette.style(ColorRole::Unknown))]));
        let most = most.clamp(1, MOST_HEADS);
        let more = heads.len().saturating_sub(most);
        heads.truncate(most);
        if let (Some(last), true) = (heads.last_mut(), more > 0) {
            let text = format!("+{more} more deployments");
            last.insert(1, (text, view.palette.style(ColorRole::Faint)));
        }
        heads
    }

    fn order_texts(&self, view: &View<'_>, lines: &[Line]) -> Texts {
        let style = view.palette.style(ColorRole::Faint);
        let filtered = self.list.filter().map(|_| format!("{} shards", self.list.count_words(lines)));
        let slow = self.list.selected(lines).and_then(|line| logged_from(view.snapshot, line));
        self.list.order_words().into_iter().chain(filtered).chain(slow).map(|text| (text, style)).collect()
    }

    /// What is said of the row under the cursor: its address and its verdict's reason.
    fn draw_foot(&self, view: &View<'_>, lines: &[Line], area: Rect, buffer: &mut Buffer) {
        let Some(line) = self.list.selected(lines) else { return };
        let mut text = row_words(line);
        if let Some(marked) = &self.marked {
            text = match view.keys.key_of(Action::Compare) {
                key if !key.is_empty() && *marked != line.subject => {
                    format!("{key}: beside {marked}   {text}")
                }
                _ => format!("{marked} is marked   {text}"),
            };
        }
        MarkedLine::new(glyph_of(line.verdict()), verdict_word(line.verdict()), &text)
            .mark_style(view.palette.style(role_of(line.verdict())))
            .text_style(view.palette.style(ColorRole::Text))
            .glyphs(view.palette.glyphs)
            .render(area, buffer);
    }
}

/// From which time of execution on the node of a row counts a command as slow, where that is known.
fn logged_from(snapshot: &Snapshot, line: &Line) -> Option<String> {
    let trace = snapshot.history.trace(line.node.as_ref()?, REDIS_SLOW_THRESHOLD, None)?;
    let threshold = trace.latest_at(snapshot.at)?.value;
    (threshold >= 0.0).then(|| format!("slow = over {}", show(threshold, Unit::Seconds)))
}

/// Columns that would say the same in every row: a share of a link that nobody declared, data that is all fresh.
pub(super) fn left_out(snapshot: &Snapshot, lines: &[Line]) -> &'static [&'static str] {
    let is_all_fresh = lines.iter().all(|line| data_words(line).0 == DataState::Fresh.words());
    match (has_link(snapshot), is_all_fresh) {
        (true, true) => &["data"],
        (true, false) => &[],
        (false, true) => &["link", "data"],
        (false, false) => &["link"],
    }
}

/// `redis/features#2 10.0.3.14:6379 +1 replica: its link is full`.
pub(super) fn row_words(line: &Line) -> String {
    let replicas = match line.replicas {
        0 => String::new(),
        1 => " +1 replica".to_owned(),
        many => format!(" +{many} replicas"),
    };
    let address = if line.address().is_empty() { "no primary known" } else { line.address() };
    format!("{} {address}{replicas}: {}", line.subject, line.reason())
}
