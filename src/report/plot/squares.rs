//! Bins many points into coloured squares, since points would hide each other.

use std::collections::BTreeMap;

use super::colour::Palette;
use super::drawing::{Drawing, px};

/// The sum and the count of the values in each square of a grid, by column and row.
#[derive(Debug, Default)]
pub(super) struct Squares {
    side: f64,
    cells: BTreeMap<(i32, i32), (f64, u32)>,
}

impl Squares {
    pub(super) fn new(side: f64) -> Self {
        Self { side, ..Self::default() }
    }

    pub(super) fn add(&mut self, (x, y): (f64, f64), value: f64) {
        let cell = self.cells.entry(((x / self.side) as i32, (y / self.side) as i32)).or_default();
        cell.0 += value;
        cell.1 += 1;
    }

    /// The largest number of points in a square.
    pub(super) fn most(&self) -> u32 {
        self.cells.values().map(|cell| cell.1).max().unwrap_or(0)
    }

    /// Draws each square; `share` maps its sum and count to a fraction of the colour scale. Squares of one colour are one path,
    /// which keeps files small.
    pub(super) fn draw(&self, drawing: &mut Drawing, palette: Palette, share: impl Fn(f64, u32) -> f64) {
        let mut paths: BTreeMap<String, String> = BTreeMap::new();
        let square = format!("h{0}v{0}h-{0}z", px(self.side));
        for ((column, row), (sum, count)) in &self.cells {
            let corner = [f64::from(*column) * self.side, f64::from(*row) * self.side].map(px).join(" ");
            let path = paths.entry(palette.class(share(*sum, *count))).or_default();
            path.push_str(&["M", &corner, &square].concat());
        }
        for (class, path) in paths {
            drawing.path(&["square ", &class].concat(), &path);
        }
    }
}
