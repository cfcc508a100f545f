//! GPUs: what each does, what its memory and its machine make of it, and what our own benchmark timed.

mod columns;
mod errors;
mod health;
mod kernels;
mod reading;
mod row;
mod told;
mod trouble;
mod wall;

use std::time::Duration;

use headwater_engine::metric::{
    Bad, GPU_CLOCK, GPU_MEMORY, GPU_POWER, GPU_TEMPERATURE, GPU_UTILIZATION, Metric, Unit,
};
use headwater_engine::{Snapshot, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::action::Action;
use crate::big_key_scan::past_words;
use crate::curves::{self, Curve};
use crate::listing::{ListPanel, Listing};
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, PanelRow, View};
use crate::sentences::{draw_sentences, height_of};
use crate::title;
use columns::{BUSY_STRIP, COLUMNS, SHORT_STRIP};
use row::{Line, give_strips, rows};

/// This panel's line in the table.
pub(crate) const ROW: PanelRow = PanelRow {
    name: "gpu",
    title: "GPU & kernels",
    short: "GPU",
    help: "what each GPU does: its memory and when it is full, its launches, its errors, and kernels that were timed",
    is_for_walls: true,
    make: || Box::new(Gpus(Listing::new(COLUMNS))),
};

/// The heights from which on there is a title, what is said of the row under the cursor, and its curves over time.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 7;
const WITH_CURVES: u16 = 16;

/// Curves with their title, and what happened meanwhile.
const CURVES: u16 = 7;

/// Rows of the table, its head among them, that curves leave it.
const LEAST_TABLE: u16 = 5;

/// The time that curves show.
const SPAN: Duration = Duration::from_secs(600);

/// Rows that what stands in the way, and what is said, take at most.
const MOST_BLIND: u16 = 6;
const MOST_TOLD: u16 = 6;

struct Gpus(Listing<Line>);

/// What the bar of keys offers: of the list, and of the page of one GPU.
const ON_THE_LIST: &[Action] = &[Action::Open, Action::TimeKernels];
const ON_A_PAGE: &[Action] = &[Action::Back, Action::TimeKernels, Action::Up, Action::Down];

/// What is said where nobody tells of a GPU.
const NOTHING: &str = "? nobody tells of a GPU: on its own machine NVIDIA's driver does, from elsewhere the page of \
                       dcgm-exporter, nvidia_gpu_exporter or Triton; an unseen GPU is not a well one";

impl ListPanel for Gpus {
    type Row = Line;

    const ONCE_A_SNAPSHOT: bool = true;
    const NOTHING: &'static str = "nobody tells of a GPU";

    fn listing(&self) -> &Listing<Line> {
        &self.0
    }

    fn listing_mut(&mut self) -> &mut Listing<Line> {
        &mut self.0
    }

    fn rows(&self, view: &View<'_>) -> Vec<Line> {
        rows(view.snapshot)
    }

    fn draw_rows(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if let Some(row) = self.0.opened(rows) {
            let story = told::page(row, view.snapshot);
            self.0.page.draw(&row.name(), &story, view.palette, area, buffer);
            return;
        }
        let mut rest = area;
        let (height, width) = (area.height, area.width);
        let table = &mut self.0.table;
        let busy_cells = table.cells_of(BUSY_STRIP, width);
        let cells = give_strips(rows, view.snapshot, busy_cells, SHORT_STRIP);
        if height >= WITH_TITLE {
            let aside = if busy_cells > 0 { cells } else { table.count_words(rows) };
            title::draw("GPUs, a row each", &aside, view.palette, cut(&mut rest, 1), buffer);
        }
        let mut blind = trouble::blind(view.snapshot);
        blind.extend(told::left(view.snapshot));
        if rows.is_empty() {
            blind.extend(told::on_processors(view.snapshot));
            blind.push((NOTHING.to_owned(), ColorRole::Unknown));
            return draw_sentences(&blind, view, rest, buffer);
        }
        draw_blind(blind, view, height, &mut rest, buffer);
        let selected = table.selected(rows);
        let mut said: Vec<_> = selected.map(|row| told::row(row, view.snapshot)).unwrap_or_default();
        said.extend(told::on_processors(view.snapshot));
        let told = if height >= WITH_TOLD { height_of(&said, view, width).min(MOST_TOLD) } else { 0 };
        let is_told =
            |row: &Line| view.snapshot.history.traces(&row.gpu).next().is_some() && height >= WITH_CURVES;
        let wanted = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let spare = rest.height.saturating_sub(told.saturating_add(wanted.min(LEAST_TABLE)));
        // A title with nothing below it says nothing.
        let below = if selected.is_some_and(is_told) && spare > 2 { CURVES.min(spare) } else { 0 };
        let most = rest.height.saturating_sub(told + below).max(2);
        table.draw(rows, view, cut(&mut rest, wanted.min(most)), buffer);
        draw_sentences(&said, view, cut(&mut rest, told), buffer);
        if below > 0
            && let Some(row) = table.selected(rows)
        {
            draw_curves(row, view, rest, buffer);
        }
    }

    fn draw_rows_on_wall(&mut self, rows: &mut [Line], view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        if rows.is_empty() || area.height < wall::LEAST {
            return self.draw_rows(rows, view, area, buffer);
        }
        let mut rest = area;
        draw_blind(trouble::blind(view.snapshot), view, area.height, &mut rest, buffer);
        wall::draw(rows, view, rest, buffer);
    }

    fn in_words(&self, row: &Line) -> String {
        row.words()
    }

    fn act_first(&mut self, action: Action, rows: &[Line], view: &View<'_>) -> Option<Outcome> {
        let row = self.0.opened(rows).or_else(|| self.0.table.selected(rows));
        (action == Action::TimeKernels).then(|| time_kernels(row, view))
    }

    fn about<'r>(&self, rows: &'r [Line], subject: &Subject, _snapshot: &Snapshot) -> Option<&'r Line> {
        rows.iter().find(|row| subject.contains(&row.gpu))
    }

    fn offered(&self) -> &'static [Action] {
        if self.0.opened_id().is_some() { ON_A_PAGE } else { ON_THE_LIST }
    }

    fn beside_key(&self, action: Action, view: &View<'_>) -> Option<&'static str> {
        let is_past = action == Action::TimeKernels && past_words(view, "").is_some();
        (!is_past).then_some(action.row().short)
    }

    fn explained(&self) -> &'static [(&'static str, &'static str)] {
        told::WORDS
    }
}

/// Asks whether to time kernels on the GPU of a row, or on what there is where no row tells of one of a machine.
fn time_kernels(row: Option<&Line>, view: &View<'_>) -> Outcome {
    if let Some(why) = past_words(view, "no kernel is timed") {
        return Outcome::Refused(why);
    }
    let gpu = row.map(|row| row.gpu.clone()).filter(|gpu| gpu.name().contains(':'));
    let place =
        gpu.as_ref().map_or("the GPU of this machine, or its processors".to_owned(), Subject::to_string);
    let text = format!(
        "Time our own kernels once on {place}? They share it with your service for some 200 ms and take a few hundred MB \
         of its memory meanwhile, in a process of their own; where memory is short or it is full, they are not started."
    );
    Outcome::Wants(Intent::Ask(text, Effect::TimeKernels(gpu)))
}

/// Draws what stands in the way at the top of what is left of a panel of this height: whole sentences, and how many there is
/// no room for.
fn draw_blind(
    mut blind: Vec<(String, ColorRole)>,
    view: &View<'_>,
    height: u16,
    rest: &mut Rect,
    buffer: &mut Buffer,
) {
    let (room, width, count) = (MOST_BLIND.min(height / 3), rest.width, blind.len());
    let fits = |kept: &usize| height_of(&blind[..*kept], view, width) + u16::from(*kept < count) <= room;
    // Each takes a row at least: of a fleet in trouble not all are measured.
    let kept = (1..=count.min(usize::from(room))).rev().find(fits).unwrap_or(1);
    let words = |left: usize| format!("! and {left} more: the panel of sources tells all");
    let left = count.checked_sub(kept).filter(|left| *left > 0);
    let more: Vec<_> = left.map(|left| (words(left), ColorRole::Suspect)).into_iter().collect();
    blind.truncate(kept);
    // One that is longer than the room is cut, and not how many there are besides.
    let counted = height_of(&more, view, width);
    let rows = height_of(&blind, view, width).min(room.saturating_sub(counted).max(1));
    draw_sentences(&blind, view, cut(rest, rows), buffer);
    draw_sentences(&more, view, cut(rest, counted), buffer);
}

/// Draws how one GPU went on.
fn draw_curves(row: &Line, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
    let snapshot = view.snapshot;
    let bins = curves::bins(view, snapshot.at - SPAN, area.width);
    let of = |name, metric: Metric, unit, ceiling, bad| {
        let trace = snapshot.history.trace(&row.gpu, metric, None);
        Curve { name, unit, ceiling, cells: trace.map(|trace| bins.worst(trace, snapshot.at, bad)) }
    };
    let rows = [
        of("busy", GPU_UTILIZATION, Unit::Ratio, Some(1.0), Bad::High),
        of("memory", GPU_MEMORY, Unit::Bytes, row.max, Bad::High),
        of("clock", GPU_CLOCK, Unit::Hertz, row.clock_max, Bad::Low),
        of("power", GPU_POWER, Unit::Watts, row.power_max, Bad::High),
        of("temp", GPU_TEMPERATURE, Unit::Celsius, Some(100.0), Bad::High),
    ];
    curves::draw(&format!("{} over time", row.name()), &bins, &rows, view, area, buffer);
    curves::draw_marks((&bins, rows.len()), &row.gpu, view, area, buffer);
}

/// Cuts so many rows off the top.
fn cut(rest: &mut Rect, rows: u16) -> Rect {
    let height = rows.min(rest.height);
    let top = Rect { height, ..*rest };
    (rest.y, rest.height) = (rest.y + height, rest.height - height);
    top
}

#[cfg(test)]
mod tests;
