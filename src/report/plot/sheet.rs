//! Arranges a figure for an SVG file: title, panels side by side, and the legend below.

use super::drawing::{Drawing, wrap};

const MARGIN: f64 = 18.0;
const TITLE: f64 = 17.0;
const LINE: f64 = 24.0;
/// The most panels in a row.
const IN_A_ROW: usize = 3;

pub(super) fn sheet(title: &str, panels: &[Drawing], legend: Option<Drawing>) -> Drawing {
    let rows: Vec<&[Drawing]> = panels.chunks(IN_A_ROW).collect();
    let width = rows.iter().map(|row| row_width(row)).fold(0.0, f64::max);
    let lines = wrap(title, TITLE, width - 2.0 * MARGIN);
    let head = MARGIN + if lines.is_empty() { 0.0 } else { LINE * lines.len() as f64 + 8.0 };
    let foot = legend.as_ref().map_or(0.0, |legend| legend.height + 8.0);
    let mut sheet = Drawing::new(width, head + rows.iter().map(|row| row_height(row)).sum::<f64>() + foot);
    sheet.rect("paper", (0.0, 0.0), (sheet.width, sheet.height));
    for (at, line) in lines.iter().enumerate() {
        sheet.text("title", (MARGIN, MARGIN + 15.0 + LINE * at as f64), line);
    }
    let mut top = head;
    for row in rows {
        place_row(&mut sheet, row, top);
        top += row_height(row);
    }
    if let Some(legend) = legend {
        sheet.place(&legend, ((width - legend.width) / 2.0, top - 6.0));
    }
    sheet
}

fn row_width(row: &[Drawing]) -> f64 {
    row.iter().map(|panel| panel.width + MARGIN).sum::<f64>() + MARGIN
}

fn row_height(row: &[Drawing]) -> f64 {
    row.iter().map(|panel| panel.height).fold(0.0, f64::max) + MARGIN
}

fn place_row(sheet: &mut Drawing, row: &[Drawing], top: f64) {
    let mut left = MARGIN;
    for panel in row {
        sheet.place(panel, (left, top));
        left += panel.width + MARGIN;
    }
}
