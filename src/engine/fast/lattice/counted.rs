//! Counts of streamed rows, from which a lattice is planned.

use super::window::{POINTS_PER_VOLUME, Window};
use crate::space::Metric;

/// What is known of all rows before the first is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedRows<'a> {
    pub(crate) metric: Metric,
    /// σ in the unit of the axes.
    pub(crate) sigma: f64,
    pub(crate) tolerance: f64,
    /// Weight of all sources.
    pub(crate) weight: f64,
    pub(crate) rows: u64,
    /// Cubes with rows in them.
    pub(crate) cubes: &'a [CountedCube],
    /// Side of the cubes: a power of two.
    pub(crate) side: f64,
    /// Groups that have rows in these cubes.
    pub(crate) groups: usize,
}

/// A cube with rows in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CountedCube {
    /// Its numbers along the axes.
    pub(crate) at: [i64; 3],
    /// Whether targets are among the rows.
    pub(crate) targets: bool,
    /// Weight of the rows.
    pub(crate) weight: f64,
}

/// Most parts in which rows may come: their bound counts the roundings of this many. Chosen, not measured.
pub(crate) const MOST_PARTS: usize = 1 << 14;

impl CountedRows<'_> {
    /// The lowest and the highest corner of the cubes.
    pub(crate) fn box_around(&self) -> ([f64; 3], [f64; 3]) {
        let low = |k: usize| self.cubes.iter().map(|cube| cube.at[k]).min().unwrap_or(0) as f64;
        let high = |k: usize| (self.cubes.iter().map(|cube| cube.at[k]).max().unwrap_or(0) + 1) as f64;
        (std::array::from_fn(|k| low(k) * self.side), std::array::from_fn(|k| high(k) * self.side))
    }

    /// Points in σ^d next to where the lattice begins to pay.
    pub(crate) fn density(&self) -> f64 {
        let volume = self.cubes.len() as f64 * (self.side / self.sigma).powi(self.metric.dimensions().min(2) as i32);
        (self.rows as f64 / volume / POINTS_PER_VOLUME).max(1.0)
    }

    /// Points of a block, all rows at the worst, and as many more as the parts they come in make of it.
    pub(crate) fn points(&self, window: &Window) -> usize {
        self.rows as usize + window.points_of_parts(MOST_PARTS)
    }
}

/// What a lattice takes for each group and each column, the mass being one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LatticeCost {
    /// Bytes while nodes are convolved, when they take most.
    pub(crate) bytes: u64,
    /// Multiplications for each row that is spread or read.
    pub(crate) row: f64,
    /// Multiplications at the nodes.
    pub(crate) nodes: f64,
}
