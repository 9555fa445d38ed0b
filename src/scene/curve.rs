//! A curve through space that keeps neighbours together.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::space::two_sum;

/// A Morton curve over cubes whose sides are powers of two, so that the corner of every cube, at every level, is
/// exact and the places of a cube follow each other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Curve {
    low: [f64; 3],
    /// Side of the smallest cubes, a power of two.
    side: f64,
    dimensions: usize,
}

impl Curve {
    pub(super) fn around<const A: usize>(places: &[[f64; A]], dimensions: usize) -> Self {
        let nowhere = || ([f64::INFINITY; A], [f64::NEG_INFINITY; A]);
        let (low, high) = places
            .par_chunks(1 << 14)
            .map(|places| places.iter().fold(nowhere(), |bounds, place| widen(bounds, (*place, *place))))
            .reduce(nowhere, widen);
        let first = |ends: [f64; A]| std::array::from_fn(|k| if k < dimensions { ends[k] } else { 0.0 });
        Self::over(first(low), first(high), dimensions)
    }

    /// Through a box, from its lowest corner to its highest.
    pub(crate) fn over(low: [f64; 3], high: [f64; 3], dimensions: usize) -> Self {
        let extent = (0..dimensions).map(|k| high[k] - low[k]).fold(0.0, f64::max);
        // One bit is left for the corner that lies below the lowest place.
        let cubes = ((1_u64 << (Self::bits(dimensions) - 1)) - 1) as f64;
        let side = power_of_two_above(extent / cubes);
        let corner = |k: usize| if k < dimensions && low[k].is_finite() { (low[k] / side).floor() * side } else { 0.0 };
        Self { low: std::array::from_fn(corner), side, dimensions }
    }

    fn bits(dimensions: usize) -> u32 {
        if dimensions == 1 { 52 } else { 63 / dimensions as u32 }
    }

    /// Bits of a key.
    pub(super) fn key_bits(&self) -> u32 {
        Self::bits(self.dimensions) * self.dimensions as u32
    }

    /// The cube that a coordinate lies in along one axis; `side` is that of the smallest cubes or a power of two times it.
    #[inline]
    pub(crate) fn cube(&self, axis: usize, coordinate: f64, side: f64) -> u64 {
        let offset = two_sum(coordinate, -self.low[axis]);
        // Rounded down: rounded up, a place near the edge of a cube would be put into the next, outside of which it is.
        let offset = f64::from_bits(offset.hi.to_bits() - u64::from(offset.lo < 0.0));
        // Signed on the way: the conversion takes half as long.
        (offset * side.recip()) as i64 as u64
    }

    /// Where a cube begins along one axis.
    #[inline]
    pub(crate) fn corner(&self, axis: usize, cube: u64, side: f64) -> f64 {
        self.low[axis] + cube as f64 * side
    }

    /// Side of the smallest cubes, a power of two.
    pub(crate) fn side(&self) -> f64 {
        self.side
    }

    /// Where a place stands along the curve.
    #[inline]
    pub(crate) fn key<const A: usize>(&self, place: &[f64; A]) -> u64 {
        let cube = |k: usize| self.cube(k, place[k], self.side);
        match self.dimensions {
            1 => cube(0),
            2 => spread_by_two(cube(0)) << 1 | spread_by_two(cube(1)),
            _ => (0..3).fold(0, |key, k| key << 1 | spread_by_three(cube(k))),
        }
    }
}

/// The box around two boxes.
fn widen<const A: usize>(a: ([f64; A], [f64; A]), b: ([f64; A], [f64; A])) -> ([f64; A], [f64; A]) {
    (std::array::from_fn(|k| a.0[k].min(b.0[k])), std::array::from_fn(|k| a.1[k].max(b.1[k])))
}

/// The smallest power of two that is larger; of nothing, one.
fn power_of_two_above(x: f64) -> f64 {
    let mut power = if x > 0.0 { x.log2().floor().exp2() } else { 1.0 };
    while power <= x {
        power *= 2.0;
    }
    power
}

/// Puts a zero between the low 32 bits.
fn spread_by_two(x: u64) -> u64 {
    let mut x = x & 0xFFFF_FFFF;
    for (shift, mask) in [
        (16, 0x0000_FFFF_0000_FFFF),
        (8, 0x00FF_00FF_00FF_00FF),
        (4, 0x0F0F_0F0F_0F0F_0F0F),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

/// Puts two zeros between the low 21 bits.
fn spread_by_three(x: u64) -> u64 {
    let mut x = x & 0x1F_FFFF;
    for (shift, mask) in [
        (32, 0x001F_0000_0000_FFFF),
        (16, 0x001F_0000_FF00_00FF),
        (8, 0x100F_00F0_0F00_F00F),
        (4, 0x10C3_0C30_C30C_30C3),
        (2, 0x1249_2492_4924_9249),
    ] {
        x = (x | x << shift) & mask;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_in_its_cube_however_far_the_lowest_is() {
        let near = |step: i32| f64::from(step) * 0.013 - 1.0;
        for far in [-1e3, -1e9, -8.4e14] {
            let places: Vec<[f64; 1]> = (0..400).map(|step| [near(step)]).chain([[far]]).collect();
            let curve = Curve::around(&places, 1);
            let side = curve.side().max(2.0);
            for [place] in places {
                let corner = curve.corner(0, curve.cube(0, place, side), side);
                assert!((corner..corner + side).contains(&place), "{place} is not in the cube at {corner}");
            }
        }
    }

    #[test]
    fn curve_bits_interleave() {
        assert_eq!(spread_by_two(0b111), 0b1_0101);
        assert_eq!(spread_by_three(0b111), 0b100_1001);
        assert_eq!(spread_by_three((1 << 21) - 1).count_ones(), 21);
        assert_eq!(spread_by_two(u64::from(u32::MAX)).count_ones(), 32);
    }
}
