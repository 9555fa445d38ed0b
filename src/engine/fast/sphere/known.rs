//! Places as charts are drawn from: known one by one, or by the cubes that they are counted in; and caps around them.

use std::ops::Range;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::engine::bounds::squared_distance;
use crate::engine::fast::lattice::CountedRows;
use crate::scene::{Cloud, Curve};

/// A part of the sphere: its centre, and the largest angle from there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cap {
    pub(crate) centre: [f64; 3],
    pub(crate) radius: f64,
}

impl Cap {
    /// The squared chord between the centre and a place.
    #[inline]
    pub(crate) fn squared_chord(&self, cloud: &Cloud, place: usize) -> f64 {
        squared_distance(&cloud.place(place), &self.centre)
    }
}

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
        let middle: [f64; 3] = std::array::from_fn(|k| middle(&self.cloud.axes[k][self.places.clone()]));
        let length = squared_distance(&middle, &[0.0; 3]).sqrt();
        // The middle of places all around the sphere is inside it; they may have any centre.
        let centre = if length > 0.1 { middle.map(|x| x / length) } else { [0.0, 0.0, 1.0] };
        let cap = Cap { centre, radius: 0.0 };
        Cap { radius: self.farthest(&cap), ..cap }
    }

    /// The largest angle from the centre of a cap to one of them.
    pub(crate) fn farthest(&self, cap: &Cap) -> f64 {
        let places = self.places.clone().into_par_iter().with_min_len(PIECE);
        let squares = places.map(|place| cap.squared_chord(self.cloud, place));
        let radius = angle(squares.reduce(|| 0.0, f64::max));
        if self.off == 0.0 { radius } else { angle(self.farther(squared_chord(radius))) }
    }

    /// The square of a chord that is longer by the largest distance from a centre.
    pub(crate) fn farther(&self, squared_chord: f64) -> f64 {
        if self.off == 0.0 { squared_chord } else { (squared_chord.sqrt() + self.off).powi(2) }
    }
}

/// The range of no numbers.
const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

/// The middle between the least and the largest of some numbers.
fn middle(numbers: &[f64]) -> f64 {
    let (low, high) = numbers
        .par_chunks(PIECE)
        .map(|numbers| numbers.iter().fold(NOTHING, |(low, high), x| (x.min(low), x.max(high))))
        .reduce(|| NOTHING, |a, b| (a.0.min(b.0), a.1.max(b.1)));
    0.5 * (low + high)
}

/// The angle of a squared chord, or a little more: coordinates without low parts are right to 1e-16.
pub(crate) fn angle(squared_chord: f64) -> f64 {
    2.0 * (0.5 * squared_chord.sqrt()).min(1.0).asin() + 1e-14
}

/// The squared chord of an angle, or a little more.
pub(crate) fn squared_chord(angle: f64) -> f64 {
    (2.0 * (0.5 * angle.min(std::f64::consts::PI)).sin() + 1e-14).powi(2)
}

/// No place in a cube is farther than this from its centre.
pub(crate) fn half_diagonal(side: f64) -> f64 {
    0.5 * 3.0_f64.sqrt() * side
}

/// The centre of a cube.
pub(crate) fn centre(cube: &[i64; 3], side: f64) -> [f64; 3] {
    cube.map(|number| (number as f64 + 0.5) * side)
}

/// The centres of cubes.
pub(crate) fn centres(cubes: impl Iterator<Item = [i64; 3]>, side: f64) -> Cloud {
    let mut axes = vec![Vec::new(); 6];
    for cube in cubes {
        axes.iter_mut().zip(centre(&cube, side)).for_each(|(axis, coordinate)| axis.push(coordinate));
    }
    let count = axes[0].len();
    axes[3..].iter_mut().for_each(|low| low.resize(count, 0.0));
    Cloud { axes, groups: Vec::new() }
}

/// The centres of counted cubes, or of those with targets, sorted along a curve as places are.
pub(crate) fn sorted_centres(counted: &CountedRows, only_targets: bool, curve: Curve) -> Cloud {
    let cubes = counted.cubes.iter().filter(|cube| cube.targets || !only_targets);
    let mut cubes: Vec<[i64; 3]> = cubes.map(|cube| cube.at).collect();
    cubes.sort_by_cached_key(|cube| curve.key(&centre(cube, counted.side)));
    centres(cubes.into_iter(), counted.side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::unit_vector;

    #[test]
    fn a_cap_holds_its_places() {
        let rows: Vec<[f64; 6]> = (0..50).map(|i| unit_vector(88.0, 7.2 * f64::from(i))).collect();
        let axes = (0..6).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
        let cap = KnownPlaces::exactly(&Cloud { axes, groups: Vec::new() }, 0..50).cap();
        assert!((cap.radius - 2.0_f64.to_radians()).abs() < 1e-12 && cap.centre[2] > 0.999_999, "{cap:?}");
    }
}
