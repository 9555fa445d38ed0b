//! A lower bound of the mass around every target, from counts.

use std::collections::BTreeMap;

use crate::engine::bounds::squared_distance;
use crate::engine::fast::lattice::CountedRows;
use crate::engine::fast::sphere::{centre, half_diagonal};

/// Most cubes between all of which distances are computed: 17 million. Chosen, not measured.
const MOST_CUBES: usize = 1 << 12;

/// A lower bound of the mass around every target, by the cubes that rows are counted in.
pub(crate) fn least_mass(counted: &CountedRows) -> f64 {
    // Rows of other groups are not around it, but every row is a source of weight one itself.
    if counted.groups > 1 {
        return 1.0;
    }
    let (cubes, side) = coarse(counted);
    let sources: Vec<([f64; 3], f64)> = cubes.iter().map(|(cube, (_, weight))| (centre(cube, side), *weight)).collect();
    let targets = cubes.iter().filter(|(_, (targets, _))| *targets).map(|(cube, _)| centre(cube, side));
    let masses = targets.map(|target| least_mass_at(&target, &sources, 2.0 * half_diagonal(side), counted.sigma));
    // A little less, for roundings of the sums themselves.
    (1.0 - 1e-9) * masses.fold(f64::INFINITY, f64::min).max(1.0)
}

/// The same for targets around a centre, with the weights around others: two places are farther apart by `off` at most.
fn least_mass_at(target: &[f64; 3], sources: &[([f64; 3], f64)], off: f64, sigma: f64) -> f64 {
    let mass = |(source, weight): &([f64; 3], f64)| {
        let arc = 2.0 * (0.5 * (squared_distance(target, source).sqrt() + off)).min(1.0).asin();
        weight * (-0.5 * (arc / sigma).powi(2)).exp()
    };
    sources.iter().map(mass).sum()
}

/// Counts in cubes that are few enough: whether there are targets, and the weight; and the side of the cubes.
fn coarse(counted: &CountedRows) -> (BTreeMap<[i64; 3], (bool, f64)>, f64) {
    let mut ratio = 1;
    loop {
        let mut cubes: BTreeMap<[i64; 3], (bool, f64)> = BTreeMap::new();
        for cube in counted.cubes {
            let (targets, weight) = cubes.entry(cube.at.map(|number| number.div_euclid(ratio))).or_default();
            (*targets, *weight) = (*targets || cube.targets, *weight + cube.weight);
        }
        if cubes.len() <= MOST_CUBES {
            return (cubes, counted.side * ratio as f64);
        }
        ratio *= 2;
    }
}
