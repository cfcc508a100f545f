//! From layers to cells: where each box stands, and the corners of each line.

use headwater_engine::Subject;
use headwater_engine::graph::layout::{Layout, Slot};
use ratatui::layout::{Position, Rect};

/// Rows of a box: its name, and how it is.
const BOX: u16 = 2;

/// Rows between boxes: as many of these as there is room for.
const GAPS: [u16; 3] = [2, 1, 0];

/// Names are not cut below so many cells, and boxes are not wider than so many.
const NARROWEST: u16 = 15;
const WIDEST: u16 = 30;

/// No layer with its way to the next is narrower: "? x", a blank, a lane, the head of an arrow, a blank.
const LEAST_LAYER: usize = 7;

/// Cells between two layers beside the lanes: a blank, the head of an arrow, a blank.
const BESIDE_LANES: u16 = 3;

/// Lanes between two layers; more callers than these share.
const MOST_LANES: usize = 5;

/// The widest way between two layers.
const WIDEST_WAY: u16 = 26;

/// Boxes and lines on their cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Picture {
    pub(super) boxes: Vec<(Subject, Rect)>,
    pub(super) lines: Vec<Line>,
}

/// One call on the screen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) caller: Subject,
    pub(super) callee: Subject,
    pub(super) corners: Vec<Position>,
    /// Where its arrow is, and whether it points to the left.
    pub(super) head: (Position, bool),
    /// Cells of its last row on which words can stand: no other line turns there.
    pub(super) words: Rect,
}

impl Picture {
    /// The picture of a layout in an area, with boxes as wide as `width` says; `None` when there is no room.
    pub(super) fn plan(layout: &Layout, width: impl Fn(&Subject) -> u16, area: Rect) -> Option<Self> {
        // Most large graphs need no look at their lines to see that there is no room.
        let boxes =
            |slots: &Vec<Slot>| slots.iter().filter(|slot| matches!(slot, Slot::Component(_))).count();
        let highest = layout.layers.iter().map(boxes).max().unwrap_or(0) * usize::from(BOX);
        if highest > usize::from(area.height)
            || layout.layers.len() * LEAST_LAYER > usize::from(area.width) + 4
        {
            return None;
        }
        let columns = Columns::plan(layout, &width, area)?;
        let rows = rows(layout, area)?;
        let mut picture = Self::default();
        for (layer, slots) in layout.layers.iter().enumerate() {
            for (slot, what) in slots.iter().enumerate() {
                if let Slot::Component(subject) = what {
                    let width = width(subject).min(columns.widths[layer]);
                    let place = Rect::new(columns.starts[layer], rows[layer][slot], width, BOX);
                    picture.boxes.push((subject.clone(), place));
                }
            }
        }
        let lanes = lanes(layout, &rows);
        for wire in &layout.wires {
            picture.lines.push(columns.line(layout, wire, &rows, &lanes, &width));
        }
        Some(picture)
    }
}

/// Where the layers stand.
struct Columns {
    starts: Vec<u16>,
    widths: Vec<u16>,
    /// The number of lanes after each layer.
    lanes: Vec<u16>,
}

impl Columns {
    fn plan(layout: &Layout, width: &impl Fn(&Subject) -> u16, area: Rect) -> Option<Self> {
        let widest = |slots: &Vec<Slot>| {
            let boxes = slots.iter().map(|slot| match slot {
                Slot::Component(subject) => width(subject).min(WIDEST),
                Slot::Passing(_) => 1,
            });
            boxes.max().unwrap_or(1)
        };
        let mut widths: Vec<u16> = layout.layers.iter().map(widest).collect();
        let lanes: Vec<u16> = (0..layout.layers.len()).map(|layer| lane_count(layout, layer)).collect();
        let last = widths.len().saturating_sub(1);
        let mut ways: Vec<u16> = lanes[..last].iter().map(|count| count + BESIDE_LANES).collect();
        let wanted = |widths: &[u16], ways: &[u16]| -> u32 {
            widths.iter().chain(ways).map(|cells| u32::from(*cells)).sum()
        };
        let room = u32::from(area.width);
        // Names are cut where they are longest.
        while wanted(&widths, &ways) > room {
            let widest = widths.iter_mut().max().filter(|width| **width > NARROWEST)?;
            *widest -= 1;
        }
        // What is left makes the ways longer, so that words find room on them.
        let mut left = room - wanted(&widths, &ways);
        while left > 0 {
            let Some(shortest) = ways.iter_mut().min().filter(|way| **way < WIDEST_WAY) else { break };
            *shortest += 1;
            left -= 1;
        }
        let mut x = area.x;
        let mut starts = vec![];
        for (layer, width) in widths.iter().enumerate() {
            starts.push(x);
            x += width + ways.get(layer).copied().unwrap_or(0);
        }
        Some(Self { starts, widths, lanes })
    }

    fn line(
        &self,
        layout: &Layout,
        wire: &headwater_engine::graph::layout::Wire,
        rows: &[Vec<u16>],
        lanes: &[Vec<u16>],
        width: &impl Fn(&Subject) -> u16,
    ) -> Line {
        let row = |(layer, slot): (usize, usize)| rows[layer][slot];
        let (first, last) = (wire.way[0], wire.way[wire.way.len() - 1]);
        let begins = match &layout.layers[first.0][first.1] {
            Slot::Component(subject) => width(subject).min(self.widths[first.0]) + 1,
            Slot::Passing(_) => 0,
        };
        let start = Position::new(self.starts[first.0] + begins, row(first));
        let end = Position::new(self.starts[last.0].saturating_sub(2), row(last));
        let mut corners = vec![start];
        let mut words_from = start.x;
        for pair in wire.way.windows(2) {
            let way_begins = self.starts[pair[0].0] + self.widths[pair[0].0] + 1;
            let lane = way_begins + lanes[pair[0].0][pair[0].1];
            corners.push(Position::new(lane, row(pair[0])));
            corners.push(Position::new(lane, row(pair[1])));
            words_from = way_begins + self.lanes[pair[0].0];
        }
        corners.push(end);
        let head = if wire.is_turned { (start, true) } else { (end, false) };
        let words = Rect::new(words_from, end.y, end.x.saturating_sub(words_from), 1);
        Line { caller: wire.caller.clone(), callee: wire.callee.clone(), corners, head, words }
    }
}

/// Lanes after a layer: one for each slot whose lines go on.
fn lane_count(layout: &Layout, layer: usize) -> u16 {
    u16::try_from(sources(layout, layer).len().clamp(1, MOST_LANES)).unwrap_or(1)
}

/// The slots of a layer whose lines go on, with the slots that they go to.
fn sources(layout: &Layout, layer: usize) -> Vec<(usize, Vec<usize>)> {
    let mut sources: Vec<(usize, Vec<usize>)> = vec![];
    for pair in layout.wires.iter().flat_map(|wire| wire.way.windows(2)).filter(|pair| pair[0].0 == layer) {
        match sources.iter_mut().find(|(slot, _)| *slot == pair[0].1) {
            Some((_, targets)) => targets.push(pair[1].1),
            None => sources.push((pair[0].1, vec![pair[1].1])),
        }
    }
    sources
}

/// The lane of each slot of each layer: those whose lines go up from the top first, then those whose lines go down from
/// the bottom first, so that few lines cross.
fn lanes(layout: &Layout, rows: &[Vec<u16>]) -> Vec<Vec<u16>> {
    let mut lanes: Vec<Vec<u16>> = layout.layers.iter().map(|slots| vec![0; slots.len()]).collect();
    for layer in 0..layout.layers.len() {
        let mut sources = sources(layout, layer);
        sources.sort_by_key(|(slot, targets)| {
            let own = i32::from(rows[layer][*slot]);
            let sum: i32 = targets.iter().map(|target| i32::from(rows[layer + 1][*target]) - own).sum();
            if sum < 0 { (false, own) } else { (true, -own) }
        });
        for (lane, (slot, _)) in sources.iter().enumerate() {
            lanes[layer][*slot] = u16::try_from(lane % MOST_LANES).unwrap_or(0);
        }
    }
    lanes
}

/// The row of each slot: beside the middle of its neighbours, in order, without overlap.
fn rows(layout: &Layout, area: Rect) -> Option<Vec<Vec<u16>>> {
    let height = |slot: &Slot| if matches!(slot, Slot::Component(_)) { BOX } else { 1 };
    let needs = |slots: &Vec<Slot>, gap: u16| -> u32 {
        let boxes: u32 = slots.iter().map(|slot| u32::from(height(slot))).sum();
        boxes + u32::from(gap) * u32::try_from(slots.len().saturating_sub(1)).unwrap_or(0)
    };
    let fits = |gap: &u16| layout.layers.iter().all(|slots| needs(slots, *gap) <= u32::from(area.height));
    let gap = GAPS.into_iter().find(fits)?;
    let bottom = f64::from(area.height);
    // First each layer in the middle, then beside its callers, the entry points beside what they call.
    let mut tops: Vec<Vec<f64>> = layout
        .layers
        .iter()
        .map(|slots| {
            let mut y = (bottom - f64::from(needs(slots, gap))) / 2.0;
            slots
                .iter()
                .map(|slot| {
                    let top = y;
                    y += f64::from(height(slot) + gap);
                    top
                })
                .collect()
        })
        .collect();
    let deep = layout.layers.len();
    for (layer, is_down) in
        (1..deep).map(|layer| (layer, true)).chain((0..deep).rev().map(|layer| (layer, false)))
    {
        let wanted = neighbours_middle(layout, &tops, layer, is_down);
        let slots: Vec<f64> = layout.layers[layer].iter().map(|slot| f64::from(height(slot))).collect();
        tops[layer] = without_overlap(&wanted, &slots, f64::from(gap), bottom);
    }
    let cell = |y: &f64| area.y + y.round().max(0.0) as u16;
    Some(tops.iter().map(|layer| layer.iter().map(cell).collect()).collect())
}

/// The mean top of the neighbours of each slot of a layer, before it or after it.
fn neighbours_middle(layout: &Layout, tops: &[Vec<f64>], layer: usize, is_down: bool) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); tops[layer].len()];
    for pair in layout.wires.iter().flat_map(|wire| wire.way.windows(2)) {
        let (own, other) = if is_down { (pair[1], pair[0]) } else { (pair[0], pair[1]) };
        if own.0 == layer {
            sums[own.1].0 += tops[other.0][other.1];
            sums[own.1].1 += 1.0;
        }
    }
    sums.iter()
        .zip(&tops[layer])
        .map(|((sum, count), top)| if *count > 0.0 { sum / count } else { *top })
        .collect()
}

/// Tops as near to the wanted ones as their order, their heights and the area allow: halfway between pushing what is too
/// near downwards and pushing it upwards, which keeps every distance.
fn without_overlap(wanted: &[f64], heights: &[f64], gap: f64, bottom: f64) -> Vec<f64> {
    let downwards = |tops: &[f64], least: f64| {
        let mut least = least;
        let pushed = tops.iter().zip(heights).map(|(top, height)| {
            let top = top.max(least);
            least = top + height + gap;
            top
        });
        pushed.collect::<Vec<f64>>()
    };
    let upwards = |tops: &[f64], most: f64| {
        let mut most = most;
        let pushed = tops.iter().zip(heights).rev().map(|(top, height)| {
            let top = top.min(most - height);
            most = top - gap;
            top
        });
        let mut pushed: Vec<f64> = pushed.collect();
        pushed.reverse();
        pushed
    };
    let (down, up) = (downwards(wanted, f64::NEG_INFINITY), upwards(wanted, f64::INFINITY));
    let between: Vec<f64> = down.iter().zip(&up).map(|(down, up)| ((down + up) / 2.0).round()).collect();
    // Rounding may have taken a row, and the area has ends.
    upwards(&downwards(&between, 0.0), bottom)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use headwater_engine::graph::Graph;
    use headwater_engine::reading::{Call, Origin};
    use headwater_engine::settings::Settings;
    use proptest::prelude::*;

    use super::*;

    fn layout(calls: &[(usize, usize)]) -> Layout {
        let one = |place: &usize| format!("service/s{place:02}").parse().unwrap();
        let calls = calls
            .iter()
            .map(|(caller, callee)| Call {
                caller: one(caller),
                callee: one(callee),
                origin: Origin::Observed,
            })
            .collect();
        let settings = Settings { calls, ..Settings::default() };
        Layout::of(&Graph::new(&settings, &BTreeSet::new()), |_| true)
    }

    #[test]
    fn a_chain_lies_on_one_row_and_grows_with_the_area() {
        let layout = layout(&[(0, 1), (1, 2)]);
        let picture = Picture::plan(&layout, |_| 5, Rect::new(0, 2, 60, 9)).unwrap();
        let rows: BTreeSet<u16> = picture.boxes.iter().map(|(_, place)| place.y).collect();
        assert_eq!(rows.len(), 1);
        assert_eq!(picture.lines[0].words.width, 19);
        assert_eq!(Picture::plan(&layout, |_| 5, Rect::new(0, 0, 22, 2)), None);
        assert!(Picture::plan(&layout, |_| 5, Rect::new(0, 0, 23, 2)).is_some());
        assert_eq!(Picture::plan(&layout, |_| 5, Rect::new(0, 0, 60, 1)), None);
    }

    proptest! {
        #[test]
        fn nothing_overlaps_and_all_is_inside(
            calls in proptest::collection::vec((0_usize..12, 0_usize..12), 0..20),
            width in 0_u16..160,
            height in 0_u16..50,
            name in 3_u16..40,
        ) {
            let area = Rect::new(3, 2, width, height);
            let Some(picture) = Picture::plan(&layout(&calls), |_| name, area) else { return Ok(()) };
            for (place, (_, one)) in picture.boxes.iter().enumerate() {
                prop_assert_eq!(one.intersection(area), *one);
                prop_assert!(picture.boxes[..place].iter().all(|(_, other)| one.intersection(*other).is_empty()));
            }
            for line in &picture.lines {
                prop_assert!(line.corners.iter().all(|corner| area.contains(*corner)));
                let place = |end: &Subject| picture.boxes.iter().find(|(one, _)| one == end).unwrap().1;
                let (caller, callee) = (place(&line.caller), place(&line.callee));
                prop_assert_eq!(caller.x < callee.x, !line.head.1, "callers stand before what they call");
                for corner in &line.corners {
                    let hit = picture.boxes.iter().any(|(_, one)| one.contains(*corner));
                    prop_assert!(!hit, "a corner within a box");
                }
            }
        }
    }
}
