//! How the height of the overview is shared out.

use ratatui::layout::Rect;

use super::{MOST_ROWS_EACH, is_side_by_side, lines, signals};
use crate::palette::Palette;
use lines::Weight;

/// From this height on there is room for a title over the verdict, and for more than the verdict at all.
pub(super) const WITH_TITLE: u16 = 18;
const WITH_MORE: u16 = 12;

/// Rows of dependencies that come before what is only context of the verdict.
const FIRST_DEPENDENCIES: u16 = 6;

/// Rows of the time axis with its title.
const AXIS: u16 = 3;

/// How the height is shared out, from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) title: u16,
    pub(super) verdict: u16,
    pub(super) dependencies: u16,
    pub(super) signals: u16,
    pub(super) axis: u16,
}

/// Shares out the height: what the verdict must say, the dependencies, the axis, then what else the verdict says.
pub(super) fn shared_out(lines: &[lines::Line], dependencies: usize, palette: &Palette, area: Rect) -> Rows {
    let height_of = |heaviest: Weight| -> u16 {
        let told = lines.iter().filter(|line| line.weight() <= heaviest);
        told.map(|line| line.height(palette, area.width)).fold(0, u16::saturating_add)
    };
    let mut left = area.height;
    let mut take = |wanted: u16| {
        let given = wanted.min(left);
        left -= given;
        given
    };
    let title = take(u16::from(area.height >= WITH_TITLE));
    if area.height < WITH_MORE {
        return Rows { title, verdict: take(u16::MAX), dependencies: 0, signals: 0, axis: 0 };
    }
    let mut verdict = take(height_of(Weight::Account));
    let dependencies = u16::try_from(dependencies).unwrap_or(u16::MAX);
    let side = is_side_by_side(area.width);
    let beside = if side { signals::COUNT } else { 0 };
    let all = dependencies.max(beside);
    let mut shown = take(1 + all.min(FIRST_DEPENDENCIES));
    let mut axis = take(AXIS - 1);
    verdict += take(height_of(Weight::Context) - height_of(Weight::Account));
    let signals = if side { 0 } else { take(1 + signals::COUNT) };
    axis += take(u16::from(axis == AXIS - 1));
    verdict += take(height_of(Weight::Detail) - height_of(Weight::Context));
    shown += take((1 + all).saturating_sub(shown));
    // What is left shows each dependency with its reason and each signal in full height.
    if shown > all && side {
        let more = (left / all.max(1)).min(MOST_ROWS_EACH - 1);
        shown += more * all;
    }
    // A title with nothing below it says nothing.
    if shown < 2 {
        verdict += std::mem::take(&mut shown);
    }
    Rows { title, verdict, dependencies: shown, signals, axis }
}
