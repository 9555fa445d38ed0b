//! A lower bound of the mass around every target, from counts.

use std::collections::BTreeMap;

use crate::engine::fast::lattice::CountedRows;
use crate::engine::fast::sphere::{centres, half_diagonal};
use crate::scene::Cloud;

/// Most cubes between all of which distances are computed: 17 million. Chosen, not measured.
const MOST_CUBES: usize = 1 << 12;

/// A lower bound of the mass around every target, by the cubes that rows are counted in.
pub(crate) fn least_mass(counted: &CountedRows) -> f64 {
    // Rows of other groups are not around it, but every row is a source of weight one itself.
    if counted.groups > 1 {
        return 1.0;
    }
    let (cubes, side) = coarse(counted);
    let (centres, off) = (centres(cubes.keys().copied(), side), 2.0 * half_diagonal(side));
    let kernel = |target: usize, source: usize| {
        let arc = 2.0 * (0.5 * (distance(&centres, target, source) + off)).min(1.0).asin();
        (-0.5 * (arc / counted.sigma).powi(2)).exp()
    };
    let mass = |target: usize| -> f64 {
        cubes.values().enumerate().map(|(source, (_, weight))| weight * kernel(target, source)).sum()
    };
    let targets = cubes.values().enumerate().filter(|(_, (targets, _))| *targets);
    // A little less, for roundings of the sums themselves.
    (1.0 - 1e-9) * targets.map(|(target, _)| mass(target)).fold(f64::INFINITY, f64::min).max(1.0)
}

/// The chord between two places.
fn distance(cloud: &Cloud, one: usize, other: usize) -> f64 {
    (0..3).map(|k| (cloud.axes[k][other] - cloud.axes[k][one]).powi(2)).sum::<f64>().sqrt()
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
