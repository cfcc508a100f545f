//! GPUs: what each does, what its memory and its machine make of it, and what our own benchmark timed.

mod columns;
mod health;
mod kernels;
mod reading;
mod row;
mod told;

use std::time::Duration;

use headwater_engine::Subject;
use headwater_engine::filter::{FieldRow, Filter};
use headwater_engine::metric::{
    Bad, GPU_CLOCK, GPU_MEMORY, GPU_POWER, GPU_TEMPERATURE, GPU_UTILIZATION, Metric, Unit,
};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::action::Action;
use crate::curves::{self, Curve};
use crate::listing::Listing;
use crate::palette::ColorRole;
use crate::panel::{Effect, Intent, Outcome, Panel, PanelRow, View};
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
    make: || Box::new(Gpus { listing: Listing::new(COLUMNS), wanted: None }),
};

/// The heights from which on there is a title, what is said of the row under the cursor, and its curves over time.
const WITH_TITLE: u16 = 4;
const WITH_TOLD: u16 = 7;
const WITH_CURVES: u16 = 16;

/// Curves with their title.
const CURVES: u16 = 6;

/// The time that curves show.
const SPAN: Duration = Duration::from_secs(600);

/// Rows that what stands in the way, and what is said, take at most.
const MOST_BLIND: u16 = 3;
const MOST_TOLD: u16 = 6;

struct Gpus {
    listing: Listing<Line>,
    /// A GPU on which the cursor is to be put.
    wanted: Option<Subject>,
}

impl Panel for Gpus {
    fn draw(&mut self, view: &View<'_>, area: Rect, buffer: &mut Buffer) {
        let mut rest = area.intersection(buffer.area);
        if rest.is_empty() {
            return;
        }
        let mut rows = rows(view.snapshot);
        self.settle(&rows);
        if let Some(row) = self.listing.opened(&rows) {
            let story = told::page(row, view.snapshot);
            self.listing.page.draw(&row.name(), &story, view.palette, rest, buffer);
            return;
        }
        let (height, width) = (rest.height, rest.width);
        let busy_cells = self.listing.table.cells_of(BUSY_STRIP, width);
        let cells = give_strips(&mut rows, view.snapshot, busy_cells, SHORT_STRIP);
        if height >= WITH_TITLE {
            let aside = if busy_cells > 0 { cells } else { self.listing.table.count_words(&rows) };
            title::draw("GPUs, a row each", &aside, view.palette, cut(&mut rest, 1), buffer);
        }
        let mut blind = told::blind(view.snapshot);
        if rows.is_empty() {
            blind.extend(told::on_processors(view.snapshot));
            blind.push((NOTHING.to_owned(), ColorRole::Unknown));
            return draw_sentences(&blind, view, rest, buffer);
        }
        let blind_rows = height_of(&blind, view, width).min(MOST_BLIND).min(height / 4);
        draw_sentences(&blind, view, cut(&mut rest, blind_rows), buffer);
        let mut said: Vec<_> =
            self.listing.table.selected(&rows).map(|row| told::row(row, view.snapshot)).unwrap_or_default();
        said.extend(told::on_processors(view.snapshot));
        let told = if height >= WITH_TOLD { height_of(&said, view, width).min(MOST_TOLD) } else { 0 };
        let is_told =
            |row: &Line| view.snapshot.history.traces(&row.gpu).next().is_some() && height >= WITH_CURVES;
        let below = if self.listing.table.selected(&rows).is_some_and(is_told) { CURVES } else { 0 };
        let wanted = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(1);
        let most = rest.height.saturating_sub(told + below).max(2);
        self.listing.table.draw(&rows, view, cut(&mut rest, wanted.min(most)), buffer);
        draw_sentences(&said, view, cut(&mut rest, told), buffer);
        if below > 0
            && let Some(row) = self.listing.table.selected(&rows)
        {
            draw_curves(row, view, rest, buffer);
        }
    }

    fn act(&mut self, action: Action, view: &View<'_>) -> Outcome {
        let rows = rows(view.snapshot);
        self.settle(&rows);
        match action {
            Action::TimeKernels => self.time_kernels(&rows, view),
            _ => self.listing.act(action, &rows, "nobody tells of a GPU"),
        }
    }

    fn actions(&self) -> &'static [Action] {
        match self.listing.opened_id() {
            Some(_) => &[Action::Back, Action::TimeKernels, Action::Up, Action::Down],
            None => &[Action::Open, Action::TimeKernels],
        }
    }

    fn words(&self) -> &'static [(&'static str, &'static str)] {
        told::WORDS
    }

    fn fields(&self) -> Vec<FieldRow> {
        self.listing.fields()
    }

    fn set_filter(&mut self, filter: Option<Filter>) {
        self.listing.table.set_filter(filter);
    }

    fn filter(&self) -> Option<&Filter> {
        self.listing.filter()
    }

    fn close(&mut self) {
        self.listing.close();
    }

    fn copied(&self, view: &View<'_>) -> Option<String> {
        let rows = rows(view.snapshot);
        let row = self.listing.opened(&rows).or_else(|| self.listing.table.selected(&rows));
        row.map(Line::words)
    }

    fn click(&mut self, at: Position, view: &View<'_>) -> Outcome {
        self.listing.click(at, &rows(view.snapshot))
    }

    fn open(&mut self, subject: &Subject) {
        self.listing.close();
        self.wanted = Some(subject.clone());
    }
}

/// What is said where nobody tells of a GPU.
const NOTHING: &str = "? nobody tells of a GPU: on its own machine NVIDIA's driver does, from elsewhere the page of \
                       dcgm-exporter, nvidia_gpu_exporter or Triton; an unseen GPU is not a well one";

impl Gpus {
    /// Puts the cursor on the GPU that was asked for, and leaves a page whose row has gone.
    fn settle(&mut self, rows: &[Line]) {
        self.listing.settle(rows);
        let Some(wanted) = self.wanted.take() else { return };
        if let Some(row) = rows.iter().find(|row| wanted.contains(&row.gpu)) {
            self.listing.table.select(&row.id);
        }
    }

    /// Asks whether to time kernels on the GPU of a row, or on what there is where no row tells of one.
    fn time_kernels(&self, rows: &[Line], view: &View<'_>) -> Outcome {
        if view.is_replay {
            return Outcome::Refused("a recording cannot be asked anything new".to_owned());
        }
        let row = self.listing.opened(rows).or_else(|| self.listing.table.selected(rows));
        let gpu = row.map(|row| row.gpu.clone()).filter(|gpu| gpu.name().contains(':'));
        let place =
            gpu.as_ref().map_or("the GPU of this machine, or its processors".to_owned(), Subject::to_string);
        let text = format!(
            "Time our own kernels once on {place}? They share it with your service for some 200 ms and take a few hundred MB \
             of its memory meanwhile, in a process of their own; where memory is short or it is full, they are not started."
        );
        Outcome::Wants(Intent::Ask(text, Effect::TimeKernels(gpu)))
    }
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
