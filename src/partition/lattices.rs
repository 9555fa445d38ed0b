//! The lattices of a tile group: planned from counts alone, so accurate that no row has to be summed again.

use serde::{Deserialize, Serialize};

use super::cell::sigma_on_axes;
use super::cells::CountedCells;
use super::problem::SmoothingProblem;
use crate::engine::{CountedRows, LatticePlan};
use crate::space::Sigma;

/// The lattices of a tile group, and what they take.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GroupLattices {
    pub(super) sums: LatticePlan,
    /// For the squares of kernels and weights, if effective sources are wanted.
    pub(super) squares: Option<LatticePlan>,
    pub(super) bytes: u64,
    pub(super) multiplications: f64,
}

impl GroupLattices {
    /// Those that certify all rows that are read, within so many bytes. `None` if there are none.
    pub(super) fn new(cells: &CountedCells, problem: &SmoothingProblem, tolerance: f64, limit: u64) -> Option<Self> {
        if problem.cutoff.is_some() {
            return None;
        }
        let (sigma, weight) = (cells.sigma, problem.label_weight);
        let mut lattices = Self::planned(cells, sigma, weight, tolerance, 1 + problem.ranges.len(), limit)?;
        if problem.n_effective {
            // A squared Gaussian is one of σ/√2.
            let (sigma, left) = (sigma.scaled(0.5_f64.sqrt()).ok()?, limit.checked_sub(lattices.bytes)?);
            let squares = Self::planned(cells, sigma, weight * weight, tolerance, 1, left)?;
            lattices.squares = Some(squares.sums);
            lattices.bytes += squares.bytes;
            lattices.multiplications += squares.multiplications;
        }
        Some(lattices)
    }

    /// The lattice for one σ and label weight, with so many columns, of which the mass is one.
    fn planned(
        cells: &CountedCells,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        columns: usize,
        limit: u64,
    ) -> Option<Self> {
        let (cubes, side) = cells.cubes(sigma, label_weight, limit)?;
        let (count, groups) = (cells.count(), cells.groups());
        let rows = CountedRows {
            metric: cells.metric,
            sigma: sigma_on_axes(sigma, cells.metric),
            tolerance,
            weight: count.weight(label_weight),
            rows: count.all(),
            cubes: &cubes,
            side,
            groups,
        };
        let sums = LatticePlan::new(&rows)?;
        // Groups have lattices of their own, which may be as large as one for all of them.
        let copies = (columns * groups) as u64;
        let cost = sums.cost(&rows, limit / copies)?;
        let spread_and_read = (count.all() + cells.read()) as f64;
        let multiplications = columns as f64 * (cost.row * spread_and_read + cost.nodes);
        Some(Self { sums, squares: None, bytes: cost.bytes * copies, multiplications })
    }
}
