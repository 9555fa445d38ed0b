//! The space-filling curve that places are sorted along, so that neighbours are close in memory.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::space::two_sum;

/// A Morton curve (Z-order) over cubes. The sides of cubes are powers of two, so that the corner of each cube is exact at
/// every level. The places of a cube are consecutive.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Curve {
    low: [f64; 3],
    /// Side of the smallest cubes, a power of two.
    side: f64,
    dimensions: usize,
}

impl Curve {
    pub(super) fn around<const A: usize>(places: &[[f64; A]], dimensions: usize) -> Self {
        let (low, high) = places
            .par_chunks(PIECE)
            .map(|places| places.iter().fold(empty_box(), |bounds, place| widen(bounds, (*place, *place))))
            .reduce(empty_box, widen);
        Self::over(leading(low, dimensions), leading(high, dimensions), dimensions)
    }

    /// Through a box, given by its lowest and its highest corner.
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

    /// The cube that a coordinate lies in along one axis; `side` is the side of the smallest cubes times a power of two.
    #[inline]
    pub(crate) fn cube(&self, axis: usize, coordinate: f64, side: f64) -> u64 {
        let offset = two_sum(coordinate, -self.low[axis]);
        // Rounded down. Rounded up, a place near the edge of a cube would be assigned to the next cube, which does not hold it.
        let offset = f64::from_bits(offset.hi.to_bits() - u64::from(offset.lo < 0.0));
        // By way of a signed number: that conversion takes half as long.
        (offset * side.recip()) as i64 as u64
    }

    /// The lower end of a cube along one axis.
    #[inline]
    pub(crate) fn corner(&self, axis: usize, cube: u64, side: f64) -> f64 {
        self.low[axis] + cube as f64 * side
    }

    /// Side of the smallest cubes, a power of two.
    pub(crate) fn side(&self) -> f64 {
        self.side
    }

    /// The position along the curve of the smallest cube that holds a place: the bits of its cube indices, interleaved.
    #[inline]
    pub(crate) fn key<const A: usize>(&self, place: &[f64; A]) -> u64 {
        match self.dimensions {
            1 => self.smallest_cube(0, place),
            2 => spread_by_two(self.smallest_cube(0, place)) << 1 | spread_by_two(self.smallest_cube(1, place)),
            _ => (0..3).fold(0, |key, k| key << 1 | spread_by_three(self.smallest_cube(k, place))),
        }
    }

    #[inline]
    fn smallest_cube<const A: usize>(&self, axis: usize, place: &[f64; A]) -> u64 {
        self.cube(axis, place[axis], self.side)
    }
}

/// Places whose bounding box one task computes. Chosen, not measured.
const PIECE: usize = 1 << 14;

/// The box that holds nothing: its lowest corner is above its highest.
fn empty_box<const A: usize>() -> ([f64; A], [f64; A]) {
    ([f64::INFINITY; A], [f64::NEG_INFINITY; A])
}

/// The axes that span the space; 0 for those that do not exist.
fn leading<const A: usize>(corner: [f64; A], dimensions: usize) -> [f64; 3] {
    std::array::from_fn(|k| if k < dimensions { corner[k] } else { 0.0 })
}

/// The box around two boxes.
fn widen<const A: usize>(a: ([f64; A], [f64; A]), b: ([f64; A], [f64; A])) -> ([f64; A], [f64; A]) {
    (std::array::from_fn(|k| a.0[k].min(b.0[k])), std::array::from_fn(|k| a.1[k].max(b.1[k])))
}

/// The smallest power of two above a number; 1 if the number is not positive.
fn power_of_two_above(x: f64) -> f64 {
    let mut power = if x > 0.0 { x.log2().floor().exp2() } else { 1.0 };
    while power <= x {
        power *= 2.0;
    }
    power
}

/// Puts a zero bit before each of the low 32 bits.
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

/// Puts two zero bits before each of the low 21 bits.
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
    fn every_place_is_in_its_cube_even_if_the_lowest_is_far_away() {
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
