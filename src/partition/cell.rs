//! Cells: cubes of space, for some of the groups, that rows are counted in.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::points::Places;
use crate::space::{Metric, Sigma};

/// A cube of space, for some of the groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Cell {
    /// The group modulo the number of classes. Groups of one class are treated as if they could touch.
    pub(super) group: i64,
    /// The number of the cube along each axis that spans the space.
    pub(super) cube: [i64; 3],
}

/// How rows fall into cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CellGrid {
    pub(super) metric: Metric,
    /// Sides of cubes are two to this power, in the unit of the axes.
    pub(super) level: i32,
    /// Classes that groups fall into.
    pub(super) classes: u32,
}

/// Rows that one task works on at least: some 10 to 100 µs of work. Chosen, not measured.
pub(super) const ROWS_OF_A_TASK: usize = 1 << 12;

impl CellGrid {
    /// Side of the cubes, in the unit of the axes.
    pub(super) fn side(&self) -> f64 {
        f64::from(self.level).exp2()
    }

    /// The cells of all rows.
    pub(super) fn cells(&self, places: &Places) -> Vec<Cell> {
        match self.metric.axes() {
            1 => self.cells_on::<1>(places),
            2 => self.cells_on::<2>(places),
            3 => self.cells_on::<3>(places),
            _ => self.cells_on::<6>(places),
        }
    }

    fn cells_on<const A: usize>(&self, places: &Places) -> Vec<Cell> {
        let (mut cells, side) = (vec![Cell::default(); places.len()], self.side());
        cells.par_chunks_mut(ROWS_OF_A_TASK).enumerate().for_each(|(task, cells)| {
            let (start, mut coordinates) = (task * ROWS_OF_A_TASK, vec![[0.0; A]; cells.len()]);
            places.coordinates(start, self.metric, &mut coordinates);
            for (at, (cell, place)) in cells.iter_mut().zip(&coordinates).enumerate() {
                cell.group = i64::from(places.group(start + at) % self.classes);
                cell.cube.iter_mut().zip(place).for_each(|(number, x)| *number = cube_number(*x, side));
            }
        });
        cells
    }
}

/// The number of the cube that a coordinate is in. The number of a cube twice as wide is half of it.
pub(super) fn cube_number(x: f64, side: f64) -> i64 {
    // Sides are powers of two, so that a quotient is exact, unless it underflows to zero: then the sign of x decides.
    let quotient = x / side;
    if quotient == 0.0 && x < 0.0 { -1 } else { quotient.floor() as i64 }
}

/// σ in the unit of the axes.
pub(super) fn sigma_on_axes(sigma: Sigma, metric: Metric) -> f64 {
    (0.5 * std::f64::consts::LOG2_E / metric.decay_scale(sigma)).sqrt()
}
