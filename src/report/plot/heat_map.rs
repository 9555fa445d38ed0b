//! A value for each pair of a row and a column.

use super::WIDTH;
use super::colour::Palette;
use super::colour_bar::colour_bar;
use super::drawing::{Drawing, cut, text_width};
use super::number::{fixed, tidy};
use crate::report::Axis;

/// What a heat map shows, borrowed from the plot.
pub(super) struct HeatMap<'a> {
    pub(super) axes: (&'a Axis, &'a Axis),
    pub(super) columns: &'a [f64],
    pub(super) rows: &'a [f64],
    pub(super) values: &'a [Vec<f64>],
    pub(super) chosen: Option<(usize, usize)>,
    pub(super) unit: &'a str,
}

const TICK: f64 = 12.0;
const CELL_TEXT: f64 = 11.0;
const HEAD: f64 = 24.0;
const FOOT: f64 = 44.0;
/// A cell is as wide as its number needs, unless there are too many for a screen.
const WIDEST: f64 = 960.0;
const HIGHEST: f64 = 620.0;

/// Where cells are.
struct Grid {
    left: f64,
    cell: (f64, f64),
    rows: usize,
    /// Whether cells have room for their numbers: all of them or none.
    numbers: bool,
}

impl Grid {
    fn corner(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + column as f64 * self.cell.0, HEAD + (self.rows - 1 - row) as f64 * self.cell.1)
    }
}

impl HeatMap<'_> {
    pub(super) fn draw(&self) -> Drawing {
        let Some(shades) = Shades::of(self.values) else { return Drawing::nothing(WIDTH) };
        if self.columns.is_empty() || self.rows.is_empty() {
            return Drawing::nothing(WIDTH);
        }
        let grid = self.grid(&shades);
        let width = grid.left + grid.cell.0 * self.columns.len() as f64 + 14.0;
        let bottom = HEAD + grid.cell.1 * self.rows.len() as f64;
        let mut drawing = Drawing::new(width.max(WIDTH), bottom + FOOT);
        self.draw_labels(&mut drawing, &grid, bottom);
        for (row, values) in self.values.iter().enumerate().take(self.rows.len()) {
            for (column, &value) in values.iter().enumerate().take(self.columns.len()) {
                self.draw_cell(&mut drawing, &grid, &shades, (row, column), value);
            }
        }
        if let Some((row, column)) = self.chosen.filter(|at| at.0 < self.rows.len() && at.1 < self.columns.len()) {
            let (x, y) = grid.corner(row, column);
            drawing.rect("outline under", (x, y), grid.cell);
            drawing.rect("outline", (x, y), grid.cell).note("chosen");
        }
        let legend = self.legend(&shades);
        // A drawing that a phone must scroll has its legend where the phone begins.
        let middle = grid.left + grid.cell.0 * self.columns.len() as f64 / 2.0;
        let room = if drawing.width > 1.25 * WIDTH { 0.0 } else { drawing.width - legend.width };
        let left = (middle - legend.width / 2.0).clamp(0.0, room);
        drawing.place(&legend, (left, bottom + FOOT));
        drawing.height += legend.height;
        drawing
    }

    fn legend(&self, shades: &Shades) -> Drawing {
        let label = |sign: &str, value: f64, beyond: bool| {
            if beyond { format!("{sign} {}", tidy(value, 4)) } else { tidy(value, 4) }
        };
        let ends = [label("≤", shades.low, shades.beyond.0), String::new(), label("≥", shades.high, shades.beyond.1)];
        colour_bar(Palette::Sequential, &ends, self.unit)
    }

    fn grid(&self, shades: &Shades) -> Grid {
        let left = (widest(self.rows) + 12.0).max(24.0);
        let texts = self.values.iter().flatten().filter(|value| value.is_finite()).map(|value| shades.text(*value));
        let needed = texts.map(|text| text_width(&text, CELL_TEXT)).fold(0.0, f64::max).min(70.0) + 8.0;
        let (columns, rows) = (self.columns.len() as f64, self.rows.len() as f64);
        let width = ((WIDTH - left - 14.0) / columns).clamp(needed, 3.2 * needed).min(WIDEST / columns);
        let height = (HIGHEST / rows).min(if rows < 8.0 { 34.0 } else { 26.0 });
        let cell = (width.max(2.0), height.max(2.0));
        Grid { left, cell, rows: self.rows.len(), numbers: cell.0 >= needed - 6.0 && cell.1 >= 15.0 }
    }

    fn draw_labels(&self, drawing: &mut Drawing, grid: &Grid, bottom: f64) {
        // Where there is no room for all labels, every second or third is written.
        let every = |room: f64, cell: f64| (room / cell).ceil().max(1.0) as usize;
        for (row, value) in self.rows.iter().enumerate().step_by(every(14.0, grid.cell.1)) {
            let y = grid.corner(row, 0).1 + grid.cell.1 / 2.0 + 4.0;
            drawing.text("tick end", (grid.left - 7.0, y), &tidy(*value, 4));
        }
        for (column, value) in self.columns.iter().enumerate().step_by(every(widest(self.columns) + 4.0, grid.cell.0)) {
            let x = grid.corner(0, column).0 + grid.cell.0 / 2.0;
            drawing.text("tick middle", (x, bottom + 17.0), &tidy(*value, 4));
        }
        let centre = grid.left + grid.cell.0 * self.columns.len() as f64 / 2.0;
        drawing.text("label", (2.0, HEAD - 10.0), &cut(&self.axes.1.label, 13.0, drawing.width - 4.0));
        let label = cut(&self.axes.0.label, 13.0, drawing.width - 4.0);
        let centre = centre.max(text_width(&label, 13.0) / 2.0 + 2.0);
        drawing.text("label middle", (centre, bottom + 37.0), &label);
    }

    fn draw_cell(&self, drawing: &mut Drawing, grid: &Grid, shades: &Shades, at: (usize, usize), value: f64) {
        let (x, y) = grid.corner(at.0, at.1);
        // A hair of paper between cells, as long as cells are large enough to spare it.
        let gap = if grid.cell.0.min(grid.cell.1) > 8.0 { 1.0 } else { 0.0 };
        let size = (grid.cell.0 - gap, grid.cell.1 - gap);
        let (across, up) = (tidy(self.columns[at.1], 5), tidy(self.rows[at.0], 5));
        let place = format!("{}: {up}\n{}: {across}", self.axes.1.label, self.axes.0.label);
        if !value.is_finite() {
            drawing.rect("blank", (x, y), size).note(&format!("{place}\nnot evaluated"));
            return;
        }
        let share = shades.share(value);
        let note = format!("{place}\n{}: {}", self.unit, tidy(value, 5));
        drawing.rect(&Palette::Sequential.class(share), (x, y), size).note(&note);
        if grid.numbers {
            let class = format!("cell middle {}", Palette::Sequential.text_class(share));
            drawing.text(&class, (x + size.0 / 2.0, y + size.1 / 2.0 + 4.0), &shades.text(value));
        }
    }
}

/// The width of the longest label.
fn widest(labels: &[f64]) -> f64 {
    labels.iter().map(|label| text_width(&tidy(*label, 4), TICK)).fold(0.0, f64::max)
}

/// From values to colours. A few values far off, such as scores of a hopeless σ, do not take all colours for themselves:
/// they have the colour of the end.
struct Shades {
    low: f64,
    high: f64,
    /// Whether there are values beyond either end.
    beyond: (bool, bool),
    decimals: Option<i32>,
}

impl Shades {
    fn of(values: &[Vec<f64>]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().flatten().copied().filter(|value| value.abs() < 1e300).collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let quarter = |part: usize| sorted[(sorted.len() - 1) * part / 4];
        let fence = 2.0 * (quarter(3) - quarter(1));
        let (low, high) =
            if fence > 0.0 { (first.max(quarter(1) - fence), last.min(quarter(3) + fence)) } else { (first, last) };
        let decimals = if high > low { (-((high - low) / 200.0).log10()).floor() as i32 } else { 3 };
        let plain = first.abs().max(last.abs()) < 1e6 && decimals < 7;
        Some(Self { low, high, beyond: (first < low, last > high), decimals: plain.then_some(decimals.max(0)) })
    }

    fn share(&self, value: f64) -> f64 {
        if self.high > self.low { (value - self.low) / (self.high - self.low) } else { 0.5 }
    }

    /// Digits enough to tell cells apart.
    fn text(&self, value: f64) -> String {
        self.decimals.map_or_else(|| tidy(value, 3), |decimals| fixed(value, decimals))
    }
}
