//! Draws a heat map: a value for each pair of a row and a column.

use super::WIDTH;
use super::colour::Palette;
use super::colour_bar::colour_bar;
use super::drawing::{Drawing, cut, text_width};
use super::number::{fixed, tidy};
use crate::report::Axis;

/// The contents of a heat map, borrowed from the plot.
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
/// The largest width and height of all cells together. Within these, a cell is as wide as its number needs.
const WIDEST: f64 = 960.0;
const HIGHEST: f64 = 620.0;

/// The layout of the cells.
struct Cells {
    left: f64,
    cell: (f64, f64),
    rows: usize,
    /// Whether cells are large enough for their numbers.
    numbers: bool,
}

impl Cells {
    fn corner(&self, row: usize, column: usize) -> (f64, f64) {
        (self.left + column as f64 * self.cell.0, HEAD + (self.rows - 1 - row) as f64 * self.cell.1)
    }
}

impl HeatMap<'_> {
    pub(super) fn draw(&self) -> Drawing {
        let Some(shades) = CellShades::of(self.values) else { return Drawing::nothing(WIDTH) };
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
        // A wide drawing, which scrolls on a phone, has its legend at the left, where it is visible first.
        let middle = grid.left + grid.cell.0 * self.columns.len() as f64 / 2.0;
        let room = if drawing.width > 1.25 * WIDTH { 0.0 } else { drawing.width - legend.width };
        let left = (middle - legend.width / 2.0).clamp(0.0, room);
        drawing.place(&legend, (left, bottom + FOOT));
        drawing.height += legend.height;
        drawing
    }

    fn legend(&self, shades: &CellShades) -> Drawing {
        let low = if shades.beyond.0 { "≤ " } else { "" }.to_owned() + &tidy(shades.low, 4);
        let high = if shades.beyond.1 { "≥ " } else { "" }.to_owned() + &tidy(shades.high, 4);
        colour_bar(Palette::Sequential, &[low, String::new(), high], self.unit)
    }

    fn grid(&self, shades: &CellShades) -> Cells {
        let left = (widest(self.rows) + 12.0).max(24.0);
        let texts = self.values.iter().flatten().filter(|value| value.is_finite()).map(|value| shades.text(*value));
        let needed = texts.map(|text| text_width(&text, CELL_TEXT)).fold(0.0, f64::max).min(70.0) + 8.0;
        let (columns, rows) = (self.columns.len() as f64, self.rows.len() as f64);
        let width = ((WIDTH - left - 14.0) / columns).clamp(needed, 3.2 * needed).min(WIDEST / columns);
        let height = (HIGHEST / rows).min(if rows < 8.0 { 34.0 } else { 26.0 });
        let cell = (width.max(2.0), height.max(2.0));
        Cells { left, cell, rows: self.rows.len(), numbers: cell.0 >= needed - 6.0 && cell.1 >= 15.0 }
    }

    fn draw_labels(&self, drawing: &mut Drawing, grid: &Cells, bottom: f64) {
        for (row, value) in self.rows.iter().enumerate().step_by(label_step(14.0, grid.cell.1)) {
            let y = grid.corner(row, 0).1 + grid.cell.1 / 2.0 + 4.0;
            drawing.text("tick end", (grid.left - 7.0, y), &tidy(*value, 4));
        }
        let step = label_step(widest(self.columns) + 4.0, grid.cell.0);
        for (column, value) in self.columns.iter().enumerate().step_by(step) {
            let x = grid.corner(0, column).0 + grid.cell.0 / 2.0;
            drawing.text("tick middle", (x, bottom + 17.0), &tidy(*value, 4));
        }
        let centre = grid.left + grid.cell.0 * self.columns.len() as f64 / 2.0;
        drawing.text("label", (2.0, HEAD - 10.0), &cut(&self.axes.1.label, 13.0, drawing.width - 4.0));
        let label = cut(&self.axes.0.label, 13.0, drawing.width - 4.0);
        let centre = centre.max(text_width(&label, 13.0) / 2.0 + 2.0);
        drawing.text("label middle", (centre, bottom + 37.0), &label);
    }

    fn draw_cell(&self, drawing: &mut Drawing, grid: &Cells, shades: &CellShades, at: (usize, usize), value: f64) {
        let (x, y) = grid.corner(at.0, at.1);
        // A gap of one pixel between cells, if they are large enough.
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

/// The step from one label to the next, so that each has enough space.
fn label_step(space: f64, cell: f64) -> usize {
    (space / cell).ceil().max(1.0) as usize
}

/// The width of the longest label.
fn widest(labels: &[f64]) -> f64 {
    labels.iter().map(|label| text_width(&tidy(*label, 4), TICK)).fold(0.0, f64::max)
}

/// The colour scale of the cells. It does not extend to outliers, such as the scores of a far too large σ: these get the colour
/// of the end, so that the other values remain distinguishable.
struct CellShades {
    low: f64,
    high: f64,
    /// Whether there are values below the low end, and above the high end.
    beyond: (bool, bool),
    decimals: Option<i32>,
}

impl CellShades {
    fn of(values: &[Vec<f64>]) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().flatten().copied().filter(|value| value.abs() < 1e300).collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        // Outliers lie more than two interquartile ranges outside the quartiles.
        let [lower, upper] = [1, 3].map(|part| sorted[(sorted.len() - 1) * part / 4]);
        let fence = 2.0 * (upper - lower);
        let (low, high) = if fence > 0.0 { (first.max(lower - fence), last.min(upper + fence)) } else { (first, last) };
        let decimals = if high > low { (-((high - low) / 200.0).log10()).floor() as i32 } else { 3 };
        let plain = first.abs().max(last.abs()) < 1e6 && decimals < 7;
        Some(Self { low, high, beyond: (first < low, last > high), decimals: plain.then_some(decimals.max(0)) })
    }

    fn share(&self, value: f64) -> f64 {
        if self.high > self.low { (value - self.low) / (self.high - self.low) } else { 0.5 }
    }

    /// The value with enough digits to distinguish cells.
    fn text(&self, value: f64) -> String {
        self.decimals.map_or_else(|| tidy(value, 3), |decimals| fixed(value, decimals))
    }
}
