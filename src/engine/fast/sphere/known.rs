//! Places as charts are drawn from: known one by one, or by the cubes that they are counted in.

use std::ops::Range;

use rayon::prelude::*;

use super::cap::{Cap, angle, squared_chord};
use crate::engine::fast::lattice::CountedRows;
use crate::scene::{Cloud, Curve};

/// Places sorted along a curve, or the centres of cubes that hold them.
pub(crate) struct KnownPlaces<'a> {
    pub(crate) cloud: &'a Cloud,
    pub(crate) places: Range<usize>,
    /// Largest chord between a place and the centre of its cube; 0 for places themselves.
    off: f64,
}

/// Places of one task. Chosen, not measured.
const PIECE: usize = 1 << 14;

impl<'a> KnownPlaces<'a> {
    /// Places themselves.
    pub(crate) fn exactly(cloud: &'a Cloud, places: Range<usize>) -> Self {
        Self { cloud, places, off: 0.0 }
    }

    /// Places in cubes of this side, by the centres of the cubes.
    pub(crate) fn in_cubes(centres: &'a Cloud, side: f64) -> Self {
        Self { cloud: centres, places: 0..centres.len(), off: half_diagonal(side) }
    }

    /// Some of them.
    pub(crate) fn part(&self, places: Range<usize>) -> Self {
        Self { places, ..*self }
    }

    /// A cap that holds them.
    pub(crate) fn cap(&self) -> Cap {
        let cap = Cap::around(self.cloud, self.places.clone());
        Cap { radius: self.farther_angle(cap.radius), ..cap }
    }

    /// The largest angle from the centre of a cap to one of them.
    pub(crate) fn farthest(&self, cap: &Cap) -> f64 {
        let places = self.places.clone().into_par_iter().with_min_len(PIECE);
        let squares = places.map(|place| cap.squared_chord(self.cloud, place));
        self.farther_angle(angle(squares.reduce(|| 0.0, f64::max)))
    }

    /// The square of a chord that is longer by the largest distance from a centre.
    pub(crate) fn farther(&self, squared_chord: f64) -> f64 {
        if self.off == 0.0 { squared_chord } else { (squared_chord.sqrt() + self.off).powi(2) }
    }

    /// The same for an angle.
    fn farther_angle(&self, radius: f64) -> f64 {
        if self.off == 0.0 { radius } else { angle(self.farther(squared_chord(radius))) }
    }
}

/// No place in a cube is farther than this from its centre.
pub(crate) fn half_diagonal(side: f64) -> f64 {
    0.5 * 3.0_f64.sqrt() * side
}

/// The centres of cubes.
pub(crate) fn centres(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Cloud {
    let mut axes = vec![Vec::new(); 6];
    for cube in cubes {
        for k in 0..3 {
            axes[k].push((cube[k] as f64 + 0.5) * side);
        }
    }
    let count = axes[0].len();
    axes[3..].iter_mut().for_each(|low| low.resize(count, 0.0));
    Cloud { axes, groups: Vec::new() }
}

/// The centres of counted cubes, or of those with targets, sorted along a curve as places are.
pub(crate) fn sorted_centres(counted: &CountedRows, only_targets: bool, curve: Curve) -> Cloud {
    let centre = |cube: &[i64; 3]| cube.map(|number| (number as f64 + 0.5) * counted.side);
    let cubes = counted.cubes.iter().filter(|cube| cube.targets || !only_targets);
    let mut cubes: Vec<[i64; 3]> = cubes.map(|cube| cube.at).collect();
    cubes.sort_by_cached_key(|cube| curve.key(&centre(cube)));
    centres(cubes.into_iter(), counted.side)
}
