//! What stands above the rows: how even each deployment is, and what the strips mean.

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::metric::Unit;
use headwater_engine::peers::Peers;
use headwater_engine::quantity::{show, times};
use headwater_widgets::Segments;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use super::lens::Full;
use super::line::{Line, Strip};
use crate::action::Action;
use crate::palette::ColorRole;
use crate::panel::View;

/// Texts in a row, the most important first.
pub(super) type Texts = Vec<(String, Style)>;

/// Draws texts in a row.
pub(super) fn draw_texts(texts: &Texts, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    Segments::new(texts).glyphs(view.palette.glyphs).render(area, buffer);
}

/// How even a deployment's shards are in the chosen number: the maximum with its shard, the mean beside it,
/// how many times it is the median of the others, and the entropy of the shares: 1 is even, 0 is all on one.
pub(super) fn deployment(view: &View<'_>, cluster: &Subject, lines: &[&Line]) -> Texts {
    let style = |role| view.palette.style(role);
    let mut texts = vec![(cluster.to_string(), style(ColorRole::Heading))];
    let Some(lens) = lines.first().map(|line| line.strip.lens) else {
        texts.push(("? no shard is known".to_owned(), style(ColorRole::Unknown)));
        return texts;
    };
    let known = lines.iter().enumerate().filter_map(|(place, line)| Some((place, line.through(lens)?)));
    let peers = Peers::new(known.collect());
    let unseen = lines.len() - peers.values().len();
    if let Some((mean, max)) = peers.mean_and_max() {
        let most = peers.values().iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let most = most.map(|(place, _)| place);
        let shard = most.and_then(|place| lines.get(*place)).and_then(|line| line.subject.shard_index());
        let number = shard.map(|index| format!(" on #{index}"));
        let text = format!("max {}{}", show(max, lens.unit), number.unwrap_or_default());
        texts.push((text, style(ColorRole::Heading)));
        if lines.len() > 1 {
            texts.push((format!("mean {}", show(mean, lens.unit)), style(ColorRole::Faint)));
        }
        let others = most.and_then(|most| peers.median_of_others(most)).filter(|others| *others > 0.0);
        if let Some(others) = others {
            texts.push((format!("{} others", times(max / others)), style(ColorRole::Text)));
        }
    }
    if unseen == lines.len() {
        texts.push((format!("? {} not seen on any shard", lens.name), style(ColorRole::Unknown)));
    } else if unseen > 0 {
        texts.push((format!("? {unseen} not seen"), style(ColorRole::Unknown)));
    }
    if let Some(evenness) = peers.evenness() {
        texts.push((format!("evenness {evenness:.2}"), style(ColorRole::Faint)));
    }
    let many = if lines.len() == 1 { "shard" } else { "shards" };
    texts.push((format!("{} {many}", lines.len()), style(ColorRole::Faint)));
    texts
}

/// What the strips show, what a full cell means, how long a cell is, and how often numbers beside it change where that is
/// not with every evaluation.
pub(super) fn legend(view: &View<'_>, strip: &Strip, link: Option<f64>, every: Option<Duration>) -> Texts {
    let style = |role| view.palette.style(role);
    let full = match (strip.lens.full, link) {
        (Full::Link, Some(link)) => format!("the link, {}", show(link, Unit::BytesPerSecond)),
        (Full::Link, None) => "its link".to_owned(),
        _ => show(strip.full, strip.lens.unit),
    };
    let mut texts = vec![
        (strip.lens.name.to_owned(), style(ColorRole::Label)),
        (format!("full = {full}"), style(ColorRole::Text)),
        (strip.bins.words(), style(ColorRole::Faint)),
    ];
    if let Some(every) = every {
        let every = show(every.as_secs_f64(), Unit::Seconds);
        texts.push((format!("numbers every {every}"), style(ColorRole::Faint)));
    }
    let [left, right] = [Action::Left, Action::Right].map(|action| view.keys.key_of(action));
    if !left.is_empty() && !right.is_empty() {
        texts.push((format!("{left}/{right}: another"), style(ColorRole::Key)));
    }
    texts
}
