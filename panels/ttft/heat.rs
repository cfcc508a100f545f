//! How the times of one row were spread over buckets, cell by cell of a time axis.

use std::time::Duration;

use headwater_engine::histogram::Histogram;
use headwater_engine::metric::{Bad, Metric, REQUEST_MEAN, Unit};
use headwater_engine::quantity::show;
use headwater_engine::store::Scrapes;
use headwater_engine::{Moment, Snapshot};
use headwater_widgets::{HeatStrip, Sparkline};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::row::{Line, Measure};
use crate::changes::marks;
use crate::palette::ColorRole;
use crate::panel::View;
use crate::time_bins::TimeBins;
use crate::title;

/// The time that is shown where there is room for it.
const SPAN: Duration = Duration::from_secs(600);

/// Up to this age the store has every scrape, and of older ones one in ten seconds.
const WHOLE_FOR: Duration = Duration::from_secs(90);
const OLDER_STEP: Duration = Duration::from_secs(10);

/// Cells of a bucket's name and of its share at present.
const NAME: u16 = 10;
const SHARE: u16 = 8;

/// With more rows than these one says when the map begins and what its shades are.
const WITH_AXIS: u16 = 6;

/// Rows of a map below which none is begun, and those of a mean's curve.
const LEAST_MAP: u16 = 5;
const CURVE: u16 = 3;

/// Shares of a cell's requests up to which it is drawn in the second and in the third shade; the first is for none.
const FEW: f64 = 0.05;
const SOME: f64 = 0.25;

/// A cell's p90 of fewer requests is luck.
const FEWEST_FOR_P90: f64 = 20.0;

/// Cells of a time axis for a row: its requests in each of them.
#[derive(Debug)]
pub(super) struct Cells {
    bins: TimeBins,
    gained: Vec<Option<Histogram>>,
}

impl Line {
    /// Looks at so many cells of what a row's instances measured together; they are worked out once for each row, which is
    /// made anew with each snapshot.
    pub(super) fn with_cells<T>(
        &self,
        measure: &Measure,
        snapshot: &Snapshot,
        count: usize,
        look: impl FnOnce(&Cells) -> T,
    ) -> T {
        let mut kept = self.cells.borrow_mut();
        let is_it = |known: &(Metric, usize, Cells)| known.0 == measure.metric && known.1 == count;
        let place = kept.iter().position(is_it).unwrap_or_else(|| {
            kept.push((measure.metric, count, Cells::of(self, measure, snapshot, count)));
            kept.len() - 1
        });
        look(&kept[place].2)
    }
}

impl Cells {
    /// So many cells, the newest of which is over: of what a row's instances measured together.
    fn of(line: &Line, measure: &Measure, snapshot: &Snapshot, count: usize) -> Self {
        let from = snapshot.began.max(snapshot.at - SPAN);
        let older = if snapshot.at.since(from) > WHOLE_FOR { OLDER_STEP } else { Duration::ZERO };
        let rhythm = snapshot.rhythms.of(&line.subject).unwrap_or_default();
        let least = older.max(snapshot.settings.interval.max(rhythm) * 2);
        let bins = TimeBins::finished(from, snapshot.at, count, least);
        let edges: Vec<Moment> = bins.edges().collect();
        let scrapes = |subject| snapshot.history.scrapes(subject, measure.metric, None);
        let all: Vec<&Scrapes> = line.of.iter().filter_map(scrapes).collect();
        let gained = |from: Moment, to: Moment| {
            let of_each = all.iter().filter_map(|scrapes| scrapes.gained(from, to));
            of_each.reduce(|mut sum, one| {
                sum.merge(&one);
                sum
            })
        };
        let gained = edges.windows(2).map(|pair| gained(pair[0], pair[1])).collect();
        Self { bins, gained }
    }

    /// Whether any cell has buckets, without which there is nothing but a mean.
    fn has_buckets(&self) -> bool {
        self.gained.iter().flatten().any(|cell| !cell.bounds.is_empty())
    }

    /// The 90th percentile of each cell; the mean where there are no buckets, or what the server says itself of it.
    pub(super) fn curve(&self, line: &Line, snapshot: &Snapshot) -> Vec<Option<f64>> {
        if self.gained.iter().all(Option::is_none) {
            let own = snapshot.history.trace(&line.subject, REQUEST_MEAN, None);
            return own.map(|trace| self.bins.worst(trace, snapshot.at, Bad::High)).unwrap_or_default();
        }
        let has_buckets = self.has_buckets();
        let value = |cell: &Histogram| match has_buckets {
            true => cell.percentile(0.9).filter(|_| cell.count >= FEWEST_FOR_P90).map(|p90| p90.number()),
            false => cell.mean(),
        };
        self.gained.iter().map(|cell| value(cell.as_ref()?)).collect()
    }
}

/// One row of the map: the times between the bound of the row below and its own.
struct Band {
    /// Its lower bound in seconds.
    lower: f64,
    /// Its upper bound in seconds; `None` above the last.
    upper: Option<f64>,
    /// The share of each cell's requests in it; a cell without requests is a gap.
    shares: Vec<Option<f64>>,
    /// The share at present.
    now: Option<f64>,
}

/// Draws the map of what a row shows, and below it those of whatever else its page measures, as far as there is room.
pub(super) fn draw(line: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let mut rest = area.intersection(buffer.area);
    for measure in line.measures(view.snapshot) {
        if rest.height < LEAST_MAP {
            return;
        }
        let taken = draw_one(line, measure, view, rest, buffer).min(rest.height);
        (rest.y, rest.height) = (rest.y + taken, rest.height - taken);
    }
}

/// Draws one map, the slowest on top, or the mean where its page keeps no buckets; returns how many rows it took.
fn draw_one(line: &Line, measure: &Measure, view: &View<'_>, area: Rect, buffer: &mut Buffer) -> u16 {
    let width = area.width.saturating_sub(NAME + SHARE);
    line.with_cells(measure, view.snapshot, usize::from(width), |cells| {
        draw_map(line, measure, cells, view, area, buffer)
    })
}

fn draw_map(
    line: &Line,
    measure: &Measure,
    cells: &Cells,
    view: &View<'_>,
    area: Rect,
    buffer: &mut Buffer,
) -> u16 {
    let width = area.width.saturating_sub(NAME + SHARE);
    let a_cell = format!("{} a cell", show(cells.bins.length_ms as f64 / 1_000.0, Unit::Seconds));
    title::draw(&format!("{}: {}", line.name(), measure.says), &a_cell, view.palette, area, buffer);
    let strip = Rect { x: area.right() - width.min(area.width), width, height: 1, ..area };
    marks::draw(view.snapshot, |at| cells.bins.place(at), view.palette, strip, buffer);
    let rows = Rect { y: area.y + 1, height: area.height - 1, ..area };
    if !cells.has_buckets() {
        draw_curve(line, cells, view, rows, buffer);
        return 1 + CURVE;
    }
    let objective = measure.objective(&line.subject, view.snapshot);
    let with_axis = rows.height > WITH_AXIS;
    let now = line.spread_of(measure, view.snapshot);
    let bands = bands(now.as_ref().map(|now| &now.gained), cells, rows.height - u16::from(with_axis));
    let mut y = rows.y;
    for band in bands.iter().rev() {
        draw_band(band, objective, view, Rect { y, height: 1, ..rows }, buffer);
        y += 1;
    }
    if with_axis {
        draw_axis(&cells.bins, view, Rect { y, height: 1, ..rows }, buffer);
    }
    y - area.y + u16::from(with_axis)
}

/// When the map begins and ends, and what its shades stand for.
fn draw_axis(bins: &TimeBins, view: &View<'_>, row: Rect, buffer: &mut Buffer) {
    let [none, few, some, more] = view.palette.glyphs.shades();
    let end = bins.edges().last().unwrap_or(bins.first);
    let (first, last) = (bins.first.clock(), end.clock());
    let shades = format!("share: {none} none  {few} to 5 %  {some} to 25 %  {more} more");
    let faint = view.palette.style(ColorRole::Faint);
    let strip = usize::from(row.width.saturating_sub(NAME + SHARE));
    let inside = first.len() + shades.len() + last.len() + 4;
    let text = match strip >= inside {
        true => format!("{first}{shades:^room$}{last}", room = strip - first.len() - last.len()),
        false => format!("{first}{last:>room$}", room = strip.saturating_sub(first.len())),
    };
    let x = row.x.saturating_add(NAME + SHARE).min(row.right());
    buffer.set_stringn(x, row.y, text, usize::from(row.right() - x), faint);
}

fn draw_band(band: &Band, objective: Option<f64>, view: &View<'_>, row: Rect, buffer: &mut Buffer) {
    let name = match (band.upper, band.lower) {
        (Some(upper), _) => format!("<= {}", show(upper, Unit::Seconds)),
        (None, lower) => format!("> {}", show(lower, Unit::Seconds)),
    };
    let is_too_slow = objective.is_some_and(|objective| band.lower >= objective);
    let role = if is_too_slow { ColorRole::Suspect } else { ColorRole::Label };
    buffer.set_stringn(row.x, row.y, name, usize::from(row.width.min(NAME)), view.palette.style(role));
    let x = row.x.saturating_add(NAME).min(row.right());
    let share = band.now.map_or("-".to_owned(), |share| show(share, Unit::Ratio));
    let share = format!("{share:>7}{}", if is_too_slow { "!" } else { "" });
    let room = usize::from((row.right() - x).min(SHARE));
    buffer.set_stringn(x, row.y, share, room, view.palette.style(ColorRole::Text));
    let x = x.saturating_add(SHARE).min(row.right());
    let shades: Vec<Option<f64>> = band.shares.iter().map(|share| share.map(shade)).collect();
    HeatStrip::new(&shades)
        .glyphs(view.palette.glyphs)
        .styles([view.palette.style(ColorRole::Faint), trend(view), trend(view), trend(view)])
        .render(Rect { x, width: row.right() - x, ..row }, buffer);
}

fn trend(view: &View<'_>) -> ratatui::style::Style {
    view.palette.style(ColorRole::Trend)
}

/// The shade of a share as a part of the four that there are: a slow hundredth of all requests is what is looked for and
/// must not look like none.
fn shade(share: f64) -> f64 {
    match share {
        share if share <= 0.0 => 0.0,
        share if share <= FEW => 1.0 / 3.0,
        share if share <= SOME => 2.0 / 3.0,
        _ => 1.0,
    }
}

/// The mean over time, of a page that keeps nothing else.
fn draw_curve(line: &Line, cells: &Cells, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let values = cells.curve(line, view.snapshot);
    let peak = values.iter().flatten().copied().reduce(f64::max);
    let text = peak.map_or("?".to_owned(), |peak| format!("max {}", show(peak, Unit::Seconds)));
    let label = view.palette.style(ColorRole::Label);
    buffer.set_stringn(area.x, area.y, "mean", usize::from(area.width.min(NAME - 5)), label);
    let x = area.x.saturating_add(NAME - 5).min(area.right());
    let room = usize::from((area.right() - x).min(SHARE + 4));
    buffer.set_stringn(x, area.y, text, room, view.palette.style(ColorRole::Text));
    let x = area.x.saturating_add(NAME + SHARE).min(area.right());
    Sparkline::new(&values)
        .glyphs(view.palette.glyphs)
        .style(trend(view))
        .render(Rect { x, width: area.right() - x, height: area.height.min(CURVE), ..area }, buffer);
}

/// The rows of the map from the fastest to the slowest: as many of the buckets as hold anything, neighbours put together
/// where there are more than there is room for.
fn bands(now: Option<&Histogram>, cells: &Cells, rows: u16) -> Vec<Band> {
    let all = || cells.gained.iter().flatten().chain(now);
    // Versions of a server may have other buckets: each bucket falls into the band of its own upper bound.
    let mut edges: Vec<f64> = all().flat_map(|histogram| histogram.bounds.iter().copied()).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    let counted: Vec<Vec<f64>> = all().map(|histogram| counts(histogram, &edges)).collect();
    let holds = |band: &usize| counted.iter().any(|counts| counts[*band] > 0.0);
    let (Some(first), Some(last)) = ((0..=edges.len()).find(holds), (0..=edges.len()).rev().find(holds))
    else {
        return vec![];
    };
    let together = (last + 1 - first).div_ceil(usize::from(rows.max(1)));
    let groups: Vec<std::ops::Range<usize>> =
        (first..=last).step_by(together).map(|start| start..(start + together).min(last + 1)).collect();
    let share = |histogram: &Histogram, group: &std::ops::Range<usize>| {
        let counts = counts(histogram, &edges);
        let inside: f64 = counts[group.clone()].iter().sum();
        (histogram.count > 0.0).then(|| inside / histogram.count)
    };
    let band = |group: &std::ops::Range<usize>| Band {
        lower: group.start.checked_sub(1).and_then(|below| edges.get(below)).copied().unwrap_or(0.0),
        upper: edges.get(group.end - 1).copied(),
        shares: cells.gained.iter().map(|cell| share(cell.as_ref()?, group)).collect(),
        now: now.and_then(|now| share(now, group)),
    };
    groups.iter().map(band).collect()
}

/// Events in each band, the last of which is above all edges.
fn counts(histogram: &Histogram, edges: &[f64]) -> Vec<f64> {
    let mut counts = vec![0.0; edges.len() + 1];
    let mut below = 0.0;
    for (bound, count) in histogram.bounds.iter().zip(&histogram.counts) {
        let band = edges.partition_point(|edge| edge < bound);
        counts[band] += (count - below).max(0.0);
        below = *count;
    }
    counts[edges.len()] += (histogram.count - below).max(0.0);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(bounds: &[f64], counts: &[f64], count: f64) -> Histogram {
        Histogram { bounds: bounds.into(), counts: counts.into(), count, sum: None }
    }

    #[test]
    fn each_bucket_falls_into_the_band_of_its_own_bound() {
        let edges = [0.1, 0.25, 0.5, 1.0];
        assert_eq!(
            counts(&histogram(&[0.1, 0.5, 1.0], &[2.0, 5.0, 5.0], 6.0), &edges),
            [2.0, 0.0, 3.0, 0.0, 1.0]
        );
        assert_eq!(counts(&histogram(&[], &[], 6.0), &edges), [0.0, 0.0, 0.0, 0.0, 6.0]);
    }

    #[test]
    fn a_slow_hundredth_does_not_look_like_none() {
        assert_eq!(
            [0.0, 0.001, 0.05, 0.1, 0.6].map(|share| (shade(share) * 3.0).round()),
            [0.0, 1.0, 1.0, 2.0, 3.0]
        );
    }
}
