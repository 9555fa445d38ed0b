//! What lattices are laid out for: cells with rows in them, and which of those rows are read.

use rustc_hash::FxHashSet;

use super::cell::{Cell, Count, sigma_on_axes};
use super::census::Census;
use super::cut::TileDraft;
use crate::engine::CountedCube;
use crate::space::{Metric, Sigma};

/// Cells with the number of their rows, and whether the rows to predict in them are read off the lattices.
pub(super) struct CountedCells {
    pub(super) sigma: Sigma,
    pub(super) metric: Metric,
    /// Side of the cubes, in the unit of the axes.
    side: f64,
    cells: Vec<(Cell, Count, bool)>,
}

/// On the sphere the engine places cubes by their centres, so they must not be wider than blocks of nodes, which are four σ wide at least.
const WIDEST_IN_SIGMA: f64 = 4.0;
/// With more cubes than this there are no lattices: laying them out would take seconds, and their nodes gigabytes. Chosen, not measured.
const MOST_CUBES: usize = 1 << 18;
/// Bytes of a cube while lattices are laid out for it. An estimate from the sizes of its types.
const BYTES_OF_A_CUBE: u64 = 512;
/// Far more than roundings put a row off the unit sphere.
const OFF_THE_SPHERE: f64 = 1e-9;

impl CountedCells {
    /// All rows of a census.
    pub(super) fn all(census: &Census) -> Self {
        let cells = census.cells().into_iter().map(|(cell, count)| (cell, count, count.to_predict > 0)).collect();
        Self { sigma: census.sigma(), metric: census.metric(), side: census.side(), cells }
    }

    /// The rows near a tile, of which those at home are read.
    pub(super) fn near(census: &Census, cells: &[(Cell, Count)], draft: &TileDraft) -> Self {
        let homes: FxHashSet<u32> = draft.homes.iter().copied().collect();
        let near = draft.near.iter().map(|near| {
            let (cell, count) = cells[*near as usize];
            (cell, count, homes.contains(near))
        });
        Self { sigma: census.sigma(), metric: census.metric(), side: census.side(), cells: near.collect() }
    }

    /// All rows.
    pub(super) fn count(&self) -> Count {
        self.cells.iter().map(|(_, count, _)| *count).sum()
    }

    /// Rows that are read.
    pub(super) fn read(&self) -> u64 {
        self.cells.iter().filter(|(_, _, read)| *read).map(|(_, count, _)| count.to_predict).sum()
    }

    /// Groups that cells tell apart; one if there is no row.
    pub(super) fn groups(&self) -> usize {
        self.cells.iter().map(|(cell, ..)| cell.group).collect::<FxHashSet<i64>>().len().max(1)
    }

    /// The cubes of all groups and their side, small enough beside σ; none if they are too many, or take more bytes than this.
    pub(super) fn cubes(&self, sigma: Sigma, label_weight: f64, limit: u64) -> Option<(Vec<CountedCube>, f64)> {
        let cube = |(cell, count, read): &(Cell, Count, bool)| CountedCube {
            at: cell.cube,
            targets: *read,
            weight: count.weight(label_weight),
        };
        let widest = WIDEST_IN_SIGMA * sigma_on_axes(sigma, self.metric);
        let most = MOST_CUBES.min(usize::try_from(limit / BYTES_OF_A_CUBE).unwrap_or(MOST_CUBES));
        let (mut cubes, mut side) = (merged(self.cells.iter().map(cube).collect()), self.side);
        while self.metric == Metric::Sphere && side > widest {
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
        let (cubes, side) = CountedCells::all(&wide).cubes(sigma, 1.0, u64::MAX).unwrap();
        assert!(side <= 4.0 * width && wide.side() > 8.0 * width);
        let known: FxHashSet<[i64; 3]> = cubes.iter().map(|cube| cube.at).collect();
        assert_eq!(known.len(), cubes.len());
        let grid = CellGrid { metric: Metric::Sphere, level: side.log2() as i32, classes: 1 };
        assert!(grid.cells(&places).iter().all(|cell| known.contains(&cell.cube)));
        assert!(cubes.iter().all(|cube| cube.targets && cube.weight == 0.0));
        // The surface has no more than so many.
        assert!((cubes.len() as f64) < 3.0 * 4.0 * std::f64::consts::PI / (side * side), "{}", cubes.len());
    }
}
