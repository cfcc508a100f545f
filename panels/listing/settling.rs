//! The rows of a list at one look: made or kept, put in order with the cursor, drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::kept::Kept;
use super::{ListPanel, opening};
use crate::panel::View;
use crate::table::Row;

/// The rows of a list for this view, with the cursor where it was wanted.
pub(super) fn settled<P: ListPanel>(panel: &mut P, view: &View<'_>) -> Vec<P::Row> {
    let kept = panel.listing_mut().kept.take().filter(|kept| kept.is_of(view.snapshot));
    let rows = kept.map_or_else(|| panel.rows(view), |kept| kept.rows);
    if let Some(wanted) = panel.listing_mut().wanted.take() {
        let id = panel.about(&rows, &wanted, view.snapshot).map(|row| row.id().to_owned());
        id.iter().for_each(|id| panel.listing_mut().table.select(id));
    }
    if !P::PAGE_OUTLIVES_ROW {
        panel.listing_mut().settle(&rows);
    }
    rows
}

/// Keeps the rows for the next look at the same snapshot.
pub(super) fn keep<P: ListPanel>(panel: &mut P, rows: Vec<P::Row>, view: &View<'_>) {
    if P::ONCE_A_SNAPSHOT {
        panel.listing_mut().kept = Some(Kept::of(view.snapshot, rows));
    }
}

/// Draws the rows of a list for this view in its own way.
pub(super) fn draw_by<P: ListPanel>(
    panel: &mut P,
    draw: impl Fn(&mut P, &mut [P::Row], &View<'_>, Rect, &mut Buffer),
    view: &View<'_>,
    area: Rect,
    buffer: &mut Buffer,
) {
    let area = area.intersection(buffer.area);
    let mut rows = settled(panel, view);
    if !area.is_empty() {
        draw(panel, &mut rows, view, area, buffer);
    }
    let tells = panel.listing().in_sight(&rows).is_some() || panel.in_all(view).is_some();
    let leads = opening::leads(panel, &rows, view);
    let listing = panel.listing_mut();
    (listing.leads, listing.tells) = (leads, tells);
    keep(panel, rows, view);
}
