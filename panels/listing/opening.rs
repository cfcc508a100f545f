//! What `open` does to the row under the cursor: what the bar of keys promises and what is done are the same.

use headwater_engine::Subject;

use super::ListPanel;
use crate::panel::{Intent, Outcome, View};
use crate::table::Row;

/// What opening a row comes to.
#[derive(Debug)]
pub(crate) enum Opens {
    /// Its page is shown.
    Page,
    /// Another panel (by its name) is shown, on this subject.
    Panel(&'static str, Subject),
}

/// The row under the cursor, by its id, with what opening it comes to; or why there is nothing to open.
fn way<P: ListPanel>(panel: &P, rows: &[P::Row], view: &View<'_>) -> Result<(String, Opens), String> {
    let row = panel.listing().table.selected(rows).ok_or_else(|| P::NOTHING.to_owned())?;
    Ok((row.id().to_owned(), panel.opens(row, view)?))
}

/// Whether opening does something: a page that is open has nothing further to open.
pub(super) fn leads<P: ListPanel>(panel: &P, rows: &[P::Row], view: &View<'_>) -> bool {
    panel.listing().opened_id().is_none() && way(panel, rows, view).is_ok()
}

/// Opens the row under the cursor.
pub(super) fn open<P: ListPanel>(panel: &mut P, rows: &[P::Row], view: &View<'_>) -> Outcome {
    match way(panel, rows, view) {
        Ok((_, Opens::Panel(name, subject))) => Outcome::Wants(Intent::Show(name, Some(subject))),
        Ok((id, Opens::Page)) => {
            panel.listing_mut().turn_to_page(id);
            Outcome::Done
        }
        Err(why) => Outcome::Refused(why),
    }
}
