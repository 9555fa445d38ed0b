//! Caps: parts of the sphere around a centre.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::scene::Cloud;

/// Places of one task. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// A part of the sphere: its centre, and the largest angle from there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cap {
    pub(crate) centre: [f64; 3],
    pub(crate) radius: f64,
}

impl Cap {
    /// Around some places.
    pub(crate) fn around(cloud: &Cloud, places: std::ops::Range<usize>) -> Self {
        let middle: [f64; 3] = std::array::from_fn(|k| middle(&cloud.axes[k][places.clone()]));
        let length = dot(&middle, &middle).sqrt();
        // The middle of places all around the sphere is inside it; they may have any centre.
        let centre = if length > 0.1 { middle.map(|x| x / length) } else { [0.0, 0.0, 1.0] };
        let cap = Self { centre, radius: 0.0 };
        let squares = places.into_par_iter().with_min_len(PIECE).map(|place| cap.squared_chord(cloud, place));
        Self { radius: angle(squares.reduce(|| 0.0, f64::max)), ..cap }
    }

    /// The squared chord between the centre and a place.
    #[inline]
    pub(crate) fn squared_chord(&self, cloud: &Cloud, place: usize) -> f64 {
        (0..3).map(|k| (cloud.axes[k][place] - self.centre[k]).powi(2)).sum()
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

pub(super) fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::unit_vector;

    #[test]
    fn a_cap_holds_its_places() {
        let rows: Vec<[f64; 6]> = (0..50).map(|i| unit_vector(88.0, 7.2 * f64::from(i))).collect();
        let axes = (0..6).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
        let cap = Cap::around(&Cloud { axes, groups: Vec::new() }, 0..50);
        assert!((cap.radius - 2.0_f64.to_radians()).abs() < 1e-12 && cap.centre[2] > 0.999_999, "{cap:?}");
    }
}
