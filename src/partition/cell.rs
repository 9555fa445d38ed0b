//! Cells: cubes of space, for some of the groups, that rows are counted in.

use std::ops::Range;

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

/// Rows in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Count {
    pub(super) to_predict: u64,
    pub(super) labelled: u64,
}

impl Count {
    pub(super) fn all(self) -> u64 {
        self.to_predict + self.labelled
    }

    /// The weight of the rows, with this weight for a label.
    pub(super) fn weight(self, label_weight: f64) -> f64 {
        self.to_predict as f64 + label_weight * self.labelled as f64
    }
}

impl std::iter::Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, count| Self {
            to_predict: sum.to_predict + count.to_predict,
            labelled: sum.labelled + count.labelled,
        })
    }
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

/// Rows that one task puts into cells: some 100 µs of work. Chosen, not measured.
const ROWS_OF_A_TASK: usize = 1 << 14;

impl CellGrid {
    /// Side of the cubes, in the unit of the axes.
    pub(super) fn side(&self) -> f64 {
        f64::from(self.level).exp2()
    }

    /// The cells of all rows.
    pub(super) fn cells(&self, places: &Places) -> Vec<Cell> {
        tasks(places.len()).into_par_iter().flat_map_iter(|rows| self.cells_of(places, rows)).collect()
    }

    /// The cells of consecutive rows.
    pub(super) fn cells_of(&self, places: &Places, rows: Range<usize>) -> Vec<Cell> {
        match self.metric.axes() {
            1 => self.cells_on::<1>(places, rows),
            2 => self.cells_on::<2>(places, rows),
            3 => self.cells_on::<3>(places, rows),
            _ => self.cells_on::<6>(places, rows),
        }
    }

    fn cells_on<const A: usize>(&self, places: &Places, rows: Range<usize>) -> Vec<Cell> {
        let (mut coordinates, side) = (vec![[0.0; A]; rows.len()], self.side());
        places.coordinates(rows.start, self.metric, &mut coordinates);
        let cell = |(row, place): (usize, &[f64; A])| {
            let cube = std::array::from_fn(|k| if k < A.min(3) { cube_number(place[k], side) } else { 0 });
            Cell { group: i64::from(places.group(row) % self.classes), cube }
        };
        rows.zip(&coordinates).map(cell).collect()
    }
}

/// Ranges of rows, one for each task.
pub(super) fn tasks(rows: usize) -> Vec<Range<usize>> {
    (0..rows).step_by(ROWS_OF_A_TASK).map(|start| start..rows.min(start + ROWS_OF_A_TASK)).collect()
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
