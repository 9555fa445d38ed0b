//! What lattices are planned from: cells with rows in them, and which of those rows are read.

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use super::cell::{Cell, sigma_on_axes};
use super::census::Census;
use super::checksum::Checksums;
use crate::engine::{CountedCube, CountedRows, LatticePlan};
use crate::space::{Metric, Sigma};

/// Cells with their rows, and whether the rows to predict in them are read off the lattices.
pub(super) struct CountedCells<'a> {
    pub(super) census: &'a Census,
    cells: Vec<(Cell, Checksums, bool)>,
}

/// A lattice that is accurate enough for every row, and what it takes for all columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct GroupLattice {
    pub(super) plan: LatticePlan,
    pub(super) bytes: u64,
    pub(super) multiplications: f64,
}

/// On the sphere the engine places cubes by their centres, so they must not be wider than blocks of nodes, which are four σ wide at least.
const WIDEST_IN_SIGMA: f64 = 4.0;
/// With more cubes than this there are no lattices: laying them out would take seconds, and their nodes gigabytes. Chosen, not measured.
const MOST_CUBES: usize = 1 << 18;
/// Bytes of a cube while lattices are laid out for it. An estimate from the sizes of its types.
const BYTES_OF_A_CUBE: u64 = 512;
/// Far more than roundings put a row off the unit sphere. Chosen, not measured.
const OFF_THE_SPHERE: f64 = 1e-9;

impl<'a> CountedCells<'a> {
    /// All rows of a census.
    pub(super) fn all(census: &'a Census) -> Self {
        let cells = census.cells().into_iter().map(|(cell, rows)| (cell, rows, rows.to_predict() > 0));
        Self { census, cells: cells.collect() }
    }

    /// The rows near a tile, of which those at home are read.
    pub(super) fn near(census: &'a Census, cells: impl Iterator<Item = (Cell, Checksums, bool)>) -> Self {
        Self { census, cells: cells.collect() }
    }

    /// All rows.
    pub(super) fn rows(&self) -> Checksums {
        self.cells.iter().map(|(_, rows, _)| rows).collect()
    }

    /// The lattice for one σ and label weight, with so many columns, of which the mass is one. `None` if none certifies all rows that are read within so many bytes.
    pub(super) fn lattice(
        &self,
        sigma: Sigma,
        label_weight: f64,
        tolerance: f64,
        columns: usize,
        limit: u64,
    ) -> Option<GroupLattice> {
        let (metric, rows, groups) = (self.census.metric(), self.rows(), self.groups());
        let sigma = sigma_on_axes(sigma, metric);
        let (cubes, side) = self.cubes(sigma, label_weight, limit)?;
        let counted = CountedRows {
            metric,
            sigma,
            tolerance,
            weight: rows.weight(label_weight),
            rows: rows.rows(),
            cubes: &cubes,
            side,
            groups,
        };
        let plan = LatticePlan::new(&counted)?;
        // Groups have lattices of their own, which may be as large as one for all of them.
        let copies = (columns * groups) as u64;
        let cost = plan.cost(&counted, limit / copies)?;
        let read: u64 = self.cells.iter().filter(|(.., read)| *read).map(|(_, rows, _)| rows.to_predict()).sum();
        let multiplications = columns as f64 * (cost.row * (rows.rows() + read) as f64 + cost.nodes);
        Some(GroupLattice { plan, bytes: cost.bytes * copies, multiplications })
    }

    /// Groups that cells tell apart; one if there is no row.
    fn groups(&self) -> usize {
        self.cells.iter().map(|(cell, ..)| cell.group).collect::<FxHashSet<i64>>().len().max(1)
    }

    /// The cubes of all groups and their side, small enough beside σ; none if they are too many, or take more bytes than this.
    fn cubes(&self, sigma: f64, label_weight: f64, limit: u64) -> Option<(Vec<CountedCube>, f64)> {
        let most = MOST_CUBES.min(usize::try_from(limit / BYTES_OF_A_CUBE).unwrap_or(MOST_CUBES));
        let cubes = self.cells.iter().map(|(cell, rows, targets)| {
            let weight = rows.weight(label_weight);
            CountedCube { at: cell.cube, targets: *targets, weight }
        });
        let (mut cubes, mut side) = (merged(cubes.collect()), self.census.grid.side());
        while self.census.metric() == Metric::Sphere && side > WIDEST_IN_SIGMA * sigma {
            side *= 0.5;
            cubes =
                cubes.iter().flat_map(eighths).filter(|cube| is_on_the_sphere(&cube.at, side)).take(most + 1).collect();
            if cubes.len() > most {
                return None;
            }
        }
        Some((cubes, side))
    }
}

/// Each cube once: those of several groups are one.
fn merged(mut cubes: Vec<CountedCube>) -> Vec<CountedCube> {
    cubes.sort_unstable_by_key(|cube| cube.at);
    cubes.dedup_by(|later, first| {
        later.at == first.at && {
            first.targets |= later.targets;
            first.weight += later.weight;
            true
        }
    });
    cubes
}

/// The eight cubes of half the side. It is not known which of them has the rows, so their weight is given as zero.
fn eighths(cube: &CountedCube) -> impl Iterator<Item = CountedCube> {
    let CountedCube { at, targets, .. } = *cube;
    (0..8).map(move |corner: i64| {
        let at = std::array::from_fn(|k| 2 * at[k] + ((corner >> k) & 1));
        CountedCube { at, targets, weight: 0.0 }
    })
}

/// Whether a cube holds places of the unit sphere.
fn is_on_the_sphere(cube: &[i64; 3], side: f64) -> bool {
    let (mut nearest, mut farthest) = (0.0, 0.0);
    for number in cube {
        let (low, high) = (*number as f64 * side, (*number + 1) as f64 * side);
        nearest += low.max(-high).max(0.0).powi(2);
        farthest += low.abs().max(high.abs()).powi(2);
    }
    nearest <= 1.0 + OFF_THE_SPHERE && farthest >= 1.0 - OFF_THE_SPHERE
}

#[cfg(test)]
mod tests {
    use super::super::cell::CellGrid;
    use super::super::role::Role;
    use super::super::rows::SourceRows;
    use super::*;
    use crate::points::Places;

    #[test]
    fn rows_on_the_sphere_are_in_the_cubes_that_wide_ones_are_cut_into() {
        let angle = |i: usize, factor: f64| (i as f64 * factor).fract() - 0.5;
        let latitude = (0..2000).map(|i| 180.0 * angle(i, 0.754_877_666)).collect();
        let places = Places::lat_lon(latitude, (0..2000).map(|i| 360.0 * angle(i, 0.569_840_291)).collect()).unwrap();
        let sigma = Sigma::metres(100_000.0).unwrap();
        let mut wide = Census::new(sigma, Metric::Sphere, 30);
        wide.add(Role::ToPredict, &SourceRows::new(&places, &[])).unwrap();
        let width = 100_000.0 / 6_371_008.8;
        let (cubes, side) = CountedCells::all(&wide).cubes(width, 1.0, u64::MAX).unwrap();
        assert!(side <= 4.0 * width && wide.grid.side() > 8.0 * width);
        let known: FxHashSet<[i64; 3]> = cubes.iter().map(|cube| cube.at).collect();
        assert_eq!(known.len(), cubes.len());
        let grid = CellGrid { metric: Metric::Sphere, level: side.log2() as i32, classes: 1 };
        assert!(grid.cells(&places).iter().all(|cell| known.contains(&cell.cube)));
        assert!(cubes.iter().all(|cube| cube.targets && cube.weight == 0.0));
        // The surface has no more than so many.
        assert!((cubes.len() as f64) < 3.0 * 4.0 * std::f64::consts::PI / (side * side), "{}", cubes.len());
    }
}
