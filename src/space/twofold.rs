//! Double-double arithmetic: a number as an unevaluated sum of two `f64`, about 32 digits. Only what the sphere needs:
//! sums, products, and sine and cosine of an angle in degrees.

use std::ops::{Add, Mul, Neg};
use std::sync::LazyLock;

/// `hi + lo`, with `|lo|` at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Twofold {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// The exact sum of two numbers: Knuth's TwoSum.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> Twofold {
    let hi = a + b;
    let of_b = hi - a;
    Twofold { hi, lo: (a - (hi - of_b)) + (b - of_b) }
}

/// The sum of many terms as if it were computed in twice the precision (Ogita, Rump and Oishi's Sum2).
pub(crate) fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let (total, lost) = terms.fold((0.0, 0.0), |(total, lost), term| {
        let sum = two_sum(total, term);
        (sum.hi, lost + sum.lo)
    });
    total + lost
}

/// The exact product of two numbers, by a fused multiply-add.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> Twofold {
    let hi = a * b;
    Twofold { hi, lo: a.mul_add(b, -hi) }
}

impl Twofold {
    const ZERO: Self = Self { hi: 0.0, lo: 0.0 };
    const ONE: Self = Self { hi: 1.0, lo: 0.0 };
    /// π / 180 to 32 digits.
    const RADIANS_PER_DEGREE: Self = Self { hi: 0.017_453_292_519_943_295, lo: 2.948_652_270_870_169e-19 };

    #[inline(always)]
    fn new(hi: f64, lo: f64) -> Self {
        two_sum(hi, lo)
    }
}

impl Add for Twofold {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        let high = two_sum(self.hi, other.hi);
        let low = two_sum(self.lo, other.lo);
        let carried = Self::new(high.hi, high.lo + low.hi);
        Self::new(carried.hi, carried.lo + low.lo)
    }
}

impl Mul for Twofold {
    type Output = Self;

    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        let product = two_product(self.hi, other.hi);
        Self::new(product.hi, product.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Neg for Twofold {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self { hi: -self.hi, lo: -self.lo }
    }
}

/// Sine and cosine of an angle in degrees, `|degrees| ≤ 360`, to about 26 digits.
/// Multiples of 90° are exact, so that a pole is one point and ±180° are one meridian.
pub(crate) fn sin_cos_degrees(degrees: f64) -> (Twofold, Twofold) {
    let whole = degrees.round();
    rotated(sin_cos_of_whole_degrees(&SINES, whole as i32), degrees - whole)
}

/// Angles computed together: two AVX-512 vectors, or four of AVX2. Chosen, not measured.
pub(crate) const ANGLES: usize = 16;

/// [`ANGLES`] numbers, as high parts and low parts.
#[derive(Clone, Copy)]
pub(crate) struct Twofolds {
    hi: [f64; ANGLES],
    lo: [f64; ANGLES],
}

impl Twofolds {
    const ZERO: Self = Self { hi: [0.0; ANGLES], lo: [0.0; ANGLES] };

    #[inline(always)]
    pub(crate) fn get(&self, at: usize) -> Twofold {
        Twofold { hi: self.hi[at], lo: self.lo[at] }
    }

    #[inline(always)]
    fn set(&mut self, at: usize, value: Twofold) {
        (self.hi[at], self.lo[at]) = (value.hi, value.lo);
    }
}

/// [`sin_cos_degrees`] of many angles, with the same bits. Table lookups come first, in a loop of their own: the compiler can
/// vectorise the second loop, which has no branches.
#[inline(always)]
pub(crate) fn sines_and_cosines(degrees: &[f64; ANGLES]) -> (Twofolds, Twofolds) {
    let (mut sines, mut cosines) = (Twofolds::ZERO, Twofolds::ZERO);
    let mut whole = [0.0; ANGLES];
    let table = &*SINES;
    for at in 0..ANGLES {
        whole[at] = degrees[at].round();
        let (sin, cos) = sin_cos_of_whole_degrees(table, whole[at] as i32);
        sines.set(at, sin);
        cosines.set(at, cos);
    }
    for at in 0..ANGLES {
        let (sin, cos) = rotated((sines.get(at), cosines.get(at)), degrees[at] - whole[at]);
        sines.set(at, sin);
        cosines.set(at, cos);
    }
    (sines, cosines)
}

/// Sine and cosine of an angle that lies up to half a degree from one whose sine and cosine are known.
///
/// The difference between an angle and the nearest whole degree is exact by Sterbenz's lemma: the two are within a factor of
/// two of each other, or the whole degree is zero.
#[inline(always)]
fn rotated((sin, cos): (Twofold, Twofold), degrees: f64) -> (Twofold, Twofold) {
    let (sin_rest, cos_rest) = sin_cos_small(two_product_of(degrees, Twofold::RADIANS_PER_DEGREE));
    (sin * cos_rest + cos * sin_rest, cos * cos_rest + -(sin * sin_rest))
}

#[inline(always)]
fn two_product_of(a: f64, b: Twofold) -> Twofold {
    Twofold { hi: a, lo: 0.0 } * b
}

/// Taylor series for at most half a degree, x ≤ 0.0088. The first two terms of each need double-double. The tails are below
/// x⁴/120 ≈ 5e-11 of the result, so that their rounding in `f64` is below 1e-26.
#[inline(always)]
fn sin_cos_small(x: Twofold) -> (Twofold, Twofold) {
    /// −1/6 needs its tail: one sixth is not a binary fraction.
    const MINUS_SIXTH: Twofold = Twofold { hi: -1.0 / 6.0, lo: -9.251_858_538_542_97e-18 };
    const TWENTY_FOURTH: Twofold = Twofold { hi: 1.0 / 24.0, lo: 2.312_964_634_635_743e-18 };
    let square = x * x;
    let z = square.hi;
    let sin_tail = 1.0 / 120.0 - z * (1.0 / 5040.0 - z * (1.0 / 362_880.0 - z / 39_916_800.0));
    let cos_tail = -1.0 / 720.0 + z * (1.0 / 40_320.0 - z / 3_628_800.0);
    let sin = x + x * square * (MINUS_SIXTH + two_product(z, sin_tail));
    let cos =
        Twofold::ONE + square * (Twofold { hi: -0.5, lo: 0.0 } + square * (TWENTY_FOURTH + two_product(z, cos_tail)));
    (sin, cos)
}

/// Sine and cosine at whole degrees, from a table of the first quadrant.
#[inline(always)]
fn sin_cos_of_whole_degrees(sines: &[Twofold; 91], degrees: i32) -> (Twofold, Twofold) {
    let within = degrees.rem_euclid(360);
    let (quadrant, rest) = (within / 90, (within % 90) as usize);
    let (sin, cos) = (sines[rest], sines[90 - rest]);
    match quadrant {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// sin 0°, sin 1°, …, sin 90°, by repeated rotation through twice half a degree.
static SINES: LazyLock<[Twofold; 91]> = LazyLock::new(|| {
    let mut table = [Twofold::ZERO; 91];
    let mut angle = (Twofold::ZERO, Twofold::ONE);
    // From 0° to 45°, with the cosines mirrored: fewer rotations, and sin 90° = cos 0° = 1 exactly.
    for degree in 0..=45 {
        table[degree] = angle.0;
        table[90 - degree] = angle.1;
        angle = rotated(rotated(angle, 0.5), 0.5);
    }
    table
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sines_carry_26_digits() {
        // sin² + cos² = 1 to far below the last digit of an f64, at angles with long fractions.
        for degrees in [0.1, 1.0, 29.999_999, 41.65, -83.602_818, 89.999_999_9, 123.456, -179.3] {
            let (sin, cos) = sin_cos_degrees(degrees);
            let one = sin * sin + cos * cos;
            assert!(((one.hi - 1.0) + one.lo).abs() < 1e-26, "{degrees}: {one:?}");
            assert!((sin.hi - degrees.to_radians().sin()).abs() < 3e-16);
            assert!((cos.hi - degrees.to_radians().cos()).abs() < 3e-16);
        }
    }

    #[test]
    fn known_values_to_26_digits() {
        // sin 30° = 1/2 and cos 60° = 1/2 take 60 rotations.
        for value in [sin_cos_degrees(30.0).0, sin_cos_degrees(60.0).1] {
            assert!(((value.hi - 0.5) + value.lo).abs() < 1e-26, "{value:?}");
        }
        let golden = sin_cos_degrees(18.0).0; // (√5 − 1) / 4
        let four_golden_plus_one = Twofold { hi: 4.0 * golden.hi, lo: 4.0 * golden.lo } + Twofold::ONE;
        let five = four_golden_plus_one * four_golden_plus_one;
        assert!(((five.hi - 5.0) + five.lo).abs() < 1e-25, "{five:?}");
    }

    #[test]
    fn many_angles_give_the_same_bits_as_one() {
        let degrees = std::array::from_fn(|k| {
            [-359.4, -90.0, -0.3, 0.5, 44.49, 45.0, 89.999, 270.5][k % 8] + 0.01 * (k / 8) as f64
        });
        let (sines, cosines) = sines_and_cosines(&degrees);
        for (at, degrees) in degrees.into_iter().enumerate() {
            assert_eq!((sines.get(at), cosines.get(at)), sin_cos_degrees(degrees), "{degrees}");
        }
    }

    #[test]
    fn quadrants_are_exact() {
        for (degrees, sin, cos) in
            [(0.0, 0.0, 1.0), (90.0, 1.0, 0.0), (180.0, 0.0, -1.0), (-90.0, -1.0, 0.0), (360.0, 0.0, 1.0)]
        {
            let (s, c) = sin_cos_degrees(degrees);
            assert_eq!((s.hi, s.lo, c.hi, c.lo), (sin, 0.0, cos, 0.0), "{degrees}");
        }
    }
}
