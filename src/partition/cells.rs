//! What lattices are laid out for: cells with rows in them, of which some are read.

use rustc_hash::FxHashSet;

use super::census::{Cell, Census, Count};
use crate::engine::CountedCube;
use crate::space::Metric;

/// Cells, their rows, and whether lattices smooth those that are to be predicted.
pub(super) struct CountedCells {
    pub(super) metric: Metric,
    /// Side of the cubes, in the unit of the axes.
    pub(super) side: f64,
    pub(super) cells: Vec<(Cell, Count, bool)>,
}

/// Cubes on the sphere are looked at by their centres, so they must not be wider than blocks of nodes, which take up four σ at least.
const WIDEST_IN_SIGMA: f64 = 4.0;
/// Cubes beyond which nobody looks for lattices: laying them out would take seconds, and nodes gigabytes.
const MOST_CUBES: usize = 1 << 18;
/// Bytes of a cube while lattices are laid out for it.
const BYTES_OF_A_CUBE: u64 = 512;
/// Far more than roundings put a row off the sphere.
const OFF_THE_SPHERE: f64 = 1e-9;

impl CountedCells {
    /// All rows of a census.
    pub(super) fn of(census: &Census) -> Self {
        let cells = census.cells().into_iter().map(|(cell, count)| (cell, count, count.to_predict > 0)).collect();
        Self { metric: census.metric(), side: census.side(), cells }
    }

    /// All rows.
    pub(super) fn count(&self) -> Count {
        self.cells.iter().fold(Count::default(), |mut all, (_, count, _)| {
            all.add(*count);
            all
        })
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
    pub(super) fn cubes(
        &self,
        sigma: f64,
        weight: impl Fn(Count) -> f64,
        limit: u64,
    ) -> Option<(Vec<CountedCube>, f64)> {
        let cube = |(cell, count, read): &(Cell, Count, bool)| CountedCube {
            at: cell.cube,
            targets: *read,
            weight: weight(*count),
        };
        let most = MOST_CUBES.min(usize::try_from(limit / BYTES_OF_A_CUBE).unwrap_or(MOST_CUBES));
        let (mut cubes, mut side) = (merged(self.cells.iter().map(cube).collect()), self.side);
        while self.metric == Metric::Sphere && side > WIDEST_IN_SIGMA * sigma {
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

/// Each cube once: one cube of several groups is one.
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

/// The eight cubes of half the side. Nobody knows which of them has the rows, so none is said to have their weight.
fn eighths(cube: &CountedCube) -> impl Iterator<Item = CountedCube> {
    let CountedCube { at, targets, .. } = *cube;
    (0..8).map(move |corner: i64| {
        let at = std::array::from_fn(|k| 2 * at[k] + ((corner >> k) & 1));
        CountedCube { at, targets, weight: 0.0 }
    })
}

/// Whether a cube has places of the unit sphere in it.
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
    use super::*;
    use crate::partition::Role;
    use crate::points::Places;
    use crate::space::Sigma;

    #[test]
    fn rows_on_the_sphere_are_in_the_cubes_that_wide_ones_are_cut_into() {
        let angle = |i: usize, factor: f64| (i as f64 * factor).fract() - 0.5;
        let latitude = (0..2000).map(|i| 180.0 * angle(i, 0.754_877_666)).collect();
        let places = Places::lat_lon(latitude, (0..2000).map(|i| 360.0 * angle(i, 0.569_840_291)).collect()).unwrap();
        let sigma = Sigma::metres(100_000.0).unwrap();
        let mut wide = Census::new(sigma, Metric::Sphere, 30);
        wide.add(&places, Role::ToPredict).unwrap();
        let width = 100_000.0 / 6_371_008.8;
        let (cubes, side) = CountedCells::of(&wide).cubes(width, |count| count.all() as f64, u64::MAX).unwrap();
        assert!(side <= 4.0 * width && wide.side() > 8.0 * width);
        let known: FxHashSet<[i64; 3]> = cubes.iter().map(|cube| cube.at).collect();
        assert_eq!(known.len(), cubes.len());
        assert!(
            super::super::census::cells_of(&places, Metric::Sphere, side, 1)
                .iter()
                .all(|cell| known.contains(&cell.cube))
        );
        assert!(cubes.iter().all(|cube| cube.targets && cube.weight == 0.0));
        // The surface has no more than so many.
        assert!((cubes.len() as f64) < 3.0 * 4.0 * std::f64::consts::PI / (side * side), "{}", cubes.len());
    }
}
