//! What stands around the rows of a view: the line of views, what is said above, bars of what runs, the row in words.

use headwater_engine::Subject;
use headwater_engine::reading::ScanState;
use headwater_widgets::{Hanging, Progress};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;

use super::pane::{Looked, Pane, ViewRow};
use super::seen::{scans, search_share, searches};
use super::{HEIGHT_FOR_HEAD, VIEWS};
use crate::big_key_scan::{bar_words, put_beside_bar, share};
use crate::palette::ColorRole;
use crate::panel::View;

/// The column of a progress bar.
const INDENT: u16 = 12;

/// The names of all views, the one that is open marked, and the shard that is looked at alone.
pub(super) fn draw_views(at: usize, of: Option<&Subject>, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let mut x = area.x;
    let mut put = |text: &str, role, buffer: &mut Buffer| {
        let room = usize::from(area.right().saturating_sub(x));
        (x, _) = buffer.set_stringn(x, area.y, text, room, view.palette.style(role));
    };
    if area.is_empty() {
        return;
    }
    for (place, row) in VIEWS.iter().enumerate() {
        // Brackets say it without colour too.
        match place == at {
            true => put(&format!("[{}]", row.name), ColorRole::Active, buffer),
            false => put(&format!(" {} ", row.name), ColorRole::Faint, buffer),
        }
    }
    let of = of.map_or_else(|| "  all shards".to_owned(), |of| format!("  {of} alone"));
    put(&of, ColorRole::Heading, buffer);
}

/// What is said above the rows, in at most so many rows.
pub(super) fn draw_told(row: &ViewRow, looked: &Looked<'_>, rest: &mut Rect, most: u16, buffer: &mut Buffer) {
    let view = looked.view;
    let mut left = most.max(1);
    for (text, role) in (row.told)(looked) {
        let told =
            Hanging::new("", 0, &text).text_style(view.palette.style(role)).glyphs(view.palette.glyphs);
        let height = told.height(rest.width).min(left);
        if height == 0 {
            return;
        }
        left -= height;
        told.render(take(rest, height), buffer);
    }
}

/// A bar for each scan and search that goes on.
pub(super) fn draw_running(looked: &Looked<'_>, rest: &mut Rect, buffer: &mut Buffer) {
    const MOST: usize = 2;
    let view = looked.view;
    let runs = |state: &ScanState| !state.has_ended();
    let scanned = scans(looked)
        .filter(|(scan, _)| runs(&scan.state))
        .filter_map(|(scan, _)| Some(("scan", &scan.state, share(scan)?)));
    let searched = searches(looked)
        .filter(|(search, _)| runs(&search.state))
        .filter_map(|(search, _)| Some((search.method.row().name, &search.state, search_share(search)?)));
    for (name, state, share) in scanned.chain(searched).take(MOST) {
        if rest.height < HEIGHT_FOR_HEAD {
            return;
        }
        let row = take(rest, 1);
        let style = |role| view.palette.style(role);
        buffer.set_stringn(row.x, row.y, name, usize::from(row.width), style(ColorRole::Label));
        let bar = Rect { x: row.x.saturating_add(INDENT), width: row.width.saturating_sub(INDENT), ..row };
        let bar = put_beside_bar(&bar_words(state, share), view, bar, buffer);
        Progress::new(Some(share))
            .glyphs(view.palette.glyphs)
            .styles(style(ColorRole::Trend), style(ColorRole::Faint))
            .render(bar, buffer);
    }
}

/// How rows are ordered and filtered, and the row under the cursor in words, in at most so many rows.
pub(super) fn draw_foot(
    pane: &dyn Pane,
    looked: &Looked<'_>,
    rest: &mut Rect,
    most: u16,
    buffer: &mut Buffer,
) {
    let view = looked.view;
    let texts: Vec<String> = pane.order_words(looked).into_iter().chain(pane.copied(looked)).collect();
    let text = texts.join("   ");
    let told = Hanging::new("", 0, &text)
        .text_style(view.palette.style(ColorRole::Text))
        .glyphs(view.palette.glyphs);
    let height = told.height(rest.width).min(most.max(1));
    rest.height = rest.height.saturating_sub(height);
    told.render(Rect { y: rest.bottom(), height, ..*rest }, buffer);
}

/// Takes so many rows from the top of an area.
pub(super) fn take(rest: &mut Rect, rows: u16) -> Rect {
    let taken = Rect { height: rest.height.min(rows), ..*rest };
    rest.y += taken.height;
    rest.height -= taken.height;
    taken
}
