//! The Gaussian kernel: two places to a decay `x = −log₂ K`, a decay to the kernel `K = 2^−x`.
//!
//! Everything here is straight-line arithmetic on one pair, inlined into loops over [`LANES`] pairs. The compiler
//! vectorises these for AVX-512, AVX2, NEON or plain code; `pulp` chooses at run time.

use pulp::Simd;

use crate::space::Metric;

/// Pairs evaluated together: two registers of AVX-512 or four of AVX2, to hide the latency of a fused multiply-add. Chosen, not measured.
pub(crate) const LANES: usize = 16;

/// One number for each of [`LANES`] pairs.
pub(crate) type Lanes = [f64; LANES];

/// Up to sixteen numbers in lanes; spare lanes hold `spare`.
#[inline(always)]
pub(crate) fn lanes(numbers: &[f64], spare: f64) -> Lanes {
    match numbers.first_chunk() {
        Some(whole) => *whole,
        None => few_lanes(numbers, spare),
    }
}

/// The same for fewer numbers than there are lanes: only where a run of places ends.
#[cold]
fn few_lanes(numbers: &[f64], spare: f64) -> Lanes {
    let mut lanes = [spare; LANES];
    lanes[..numbers.len()].copy_from_slice(numbers);
    lanes
}

/// From this decay on the kernel is zero: 2^−1020 is near the smallest normal number, 2^−1022.
pub(crate) const VANISHED: f64 = 1020.0;

/// Relative error of one kernel value apart from that of its decay: the polynomial's 4.3e-17 and the
/// roundings of [`exp2_minus`], in units of 2⁻⁵³.
pub(crate) const KERNEL_ROUNDINGS: f64 = 4.0;

/// Relative error of one decay in units of 2⁻⁵³: three differences, squares and sums, the polynomial of the
/// arc, the scale.
pub(crate) const DECAY_ROUNDINGS: f64 = 12.0;

/// `a·b + c`, fused where the CPU can: without the instruction `mul_add` is a slow library call.
#[inline(always)]
pub(crate) fn fma<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    if S::IS_SCALAR { a * b + c } else { a.mul_add(b, c) }
}

/// A polynomial by Horner's rule, even and odd powers apart: half the latency, which is what limits a long one.
#[inline(always)]
fn horner<S: Simd, const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let square = x * x;
    let (mut last, mut other) = (coefficients[N - 1], coefficients[N - 2]);
    for k in (0..N - 2).rev() {
        (last, other) = (other, fma::<S>(last, square, coefficients[k]));
    }
    // `other` now ends in the constant term, `last` in that of x.
    fma::<S>(last, x, other)
}

/// 2^f on [−½, ½], relative error 4.3e-17, exactly 1 at 0 (`tests/golden/kernel_polynomials.py`).
const EXP2: [f64; 12] = [
    1.0,
    0.693_147_180_559_945_7,
    0.240_226_506_959_100_97,
    0.055_504_108_664_790_39,
    0.009_618_129_107_607_004,
    0.001_333_355_815_344_042,
    0.000_154_035_304_415_694_5,
    1.525_272_738_474_049_7e-5,
    1.321_544_267_655_393_4e-6,
    1.018_064_784_477_427_5e-7,
    7.072_570_220_640_286_5e-9,
    4.078_045_110_840_116_7e-10,
];

/// arcsin²(√m) / m on [0, 1/32], relative error 1.7e-18 (the same script).
const ARC_NEAR: [f64; 8] = [
    1.0,
    0.333_333_333_333_336_26,
    0.177_777_777_775_411_87,
    0.114_285_714_937_117_9,
    0.081_269_756_339_622_93,
    0.061_573_971_261_323_78,
    0.048_488_154_372_727_944,
    0.044_176_827_473_922_35,
];

/// arcsin²(√m) / m on [0, 1/2], relative error 5.9e-17 (the same script).
const ARC_HALF: [f64; 19] = [
    1.0,
    0.333_333_333_333_291_96,
    0.177_777_777_789_598_52,
    0.114_285_713_097_384_46,
    0.081_269_902_085_308_56,
    0.061_566_196_077_016_35,
    0.048_750_792_366_254_39,
    0.039_254_885_503_744_834,
    0.038_634_069_554_651_28,
    -0.011_887_568_340_841_254,
    0.252_838_933_870_328,
    -0.961_952_582_453_726_5,
    3.244_295_736_579_949_6,
    -7.985_323_144_640_498,
    14.810_347_491_867_626,
    -19.784_440_056_467_787,
    18.199_672_688_259_017,
    -10.314_675_579_031_677,
    2.782_396_892_244_486,
];

/// `2^−x` for x ≥ 0, to about one unit in the last place; zero from [`VANISHED`] on, and for NaN.
///
/// Zero instead of subnormal numbers, which take much longer to add.
#[inline(always)]
pub(crate) fn exp2_minus<S: Simd>(x: f64) -> f64 {
    /// Adding 1.5·2⁵² leaves the nearest integer in the low bits.
    const TO_INTEGER: f64 = 6_755_399_441_055_744.0;
    let shifted = TO_INTEGER - x;
    let fraction = (TO_INTEGER - shifted) - x;
    let mantissa = horner::<S, 12>(&EXP2, fraction);
    let power = f64::from_bits(mantissa.to_bits().wrapping_add(shifted.to_bits() << 52));
    if x < VANISHED { power } else { 0.0 }
}

/// A metric for the inner loops: places with `A` axes, and the decay of the kernel between them.
pub(crate) trait Decay<const A: usize>: Copy + Send + Sync + 'static {
    /// `−log₂ K` between each of some places and one place.
    fn lanes<S: Simd, const L: usize>(self, many: &[[f64; L]; A], one: &[f64; A]) -> [f64; L];

    /// The square of the straight distance up to which the decay can be at or under `decay`: no place
    /// farther than that in the first three axes has a smaller one.
    fn squared_reach(self, decay: f64) -> f64;

    /// A lower bound of the decay at this squared straight distance.
    fn least(self, squared_distance: f64) -> f64;

    /// Relative error of kernels that have not vanished, besides rounding.
    fn off(self) -> f64 {
        0.0
    }
}

/// Euclidean distance on `A` axes.
#[derive(Clone, Copy)]
pub(crate) struct Plane<const A: usize> {
    pub(crate) scale: f64,
}

impl<const A: usize> Decay<A> for Plane<A> {
    #[inline(always)]
    fn lanes<S: Simd, const L: usize>(self, many: &[[f64; L]; A], one: &[f64; A]) -> [f64; L] {
        let mut decay = [0.0; L];
        for l in 0..L {
            let first = many[0][l] - one[0];
            let mut square = first * first;
            for k in 1..A {
                let difference = many[k][l] - one[k];
                square = fma::<S>(difference, difference, square);
            }
            decay[l] = square * self.scale;
        }
        decay
    }

    fn squared_reach(self, decay: f64) -> f64 {
        decay / self.scale
    }

    fn least(self, squared_distance: f64) -> f64 {
        squared_distance * self.scale
    }
}

/// Great-circle distance between unit vectors with low parts, `scale` for radians.
#[derive(Clone, Copy)]
pub(crate) struct Sphere {
    pub(crate) scale: f64,
}

impl Sphere {
    /// Quarter of the squared length of `u + sign·v`: the haversine of the angle between them, or of what
    /// is left of it to 180°.
    #[inline(always)]
    fn haversine<S: Simd, const L: usize>(many: &[[f64; L]; 6], one: &[f64; 6], sign: f64, l: usize) -> f64 {
        let mut square = 0.0;
        for k in 0..3 {
            let difference = (many[k][l] + sign * one[k]) + (many[k + 3][l] + sign * one[k + 3]);
            square = fma::<S>(difference, difference, square);
        }
        0.25 * square
    }
}

/// The haversine of 20° of arc, up to which [`ARC_NEAR`] holds. Chosen, not measured.
const NEAR: f64 = 1.0 / 32.0;

impl Decay<6> for Sphere {
    #[inline(always)]
    fn lanes<S: Simd, const L: usize>(self, many: &[[f64; L]; 6], one: &[f64; 6]) -> [f64; L] {
        let mut haversine = [0.0; L];
        for (l, haversine) in haversine.iter_mut().enumerate() {
            *haversine = Self::haversine::<S, L>(many, one, -1.0, l);
        }
        let mut decay = [0.0; L];
        // Within 20° of arc a short polynomial does; almost all pairs of almost all runs are that near.
        if haversine.iter().all(|&h| h <= NEAR) {
            for l in 0..L {
                let h = haversine[l];
                decay[l] = 4.0 * self.scale * (h * horner::<S, 8>(&ARC_NEAR, h));
            }
            return decay;
        }
        for l in 0..L {
            // Beyond 90° the angle is measured from the antipode, where the haversine itself has no digits left.
            let rest = Self::haversine::<S, L>(many, one, 1.0, l);
            let near = haversine[l] <= 0.5;
            let h = if near { haversine[l] } else { rest };
            let quarter_square = h * horner::<S, 19>(&ARC_HALF, h);
            let half_angle = std::f64::consts::FRAC_PI_2 - quarter_square.sqrt();
            let beyond = half_angle * half_angle;
            let far = if near { quarter_square } else { beyond };
            // As above within 20°, so that the decay of a pair does not depend on the other lanes: for a decay of 10²⁰ even a
            // difference in the last digit would change the kernel.
            let within = haversine[l] * horner::<S, 8>(&ARC_NEAR, haversine[l]);
            decay[l] = 4.0 * self.scale * (if haversine[l] <= NEAR { within } else { far });
        }
        decay
    }

    fn squared_reach(self, decay: f64) -> f64 {
        let angle = (decay / self.scale).sqrt();
        // The high parts alone may place two neighbours a few units in the last place apart.
        let chord = if angle >= std::f64::consts::PI { 2.0 } else { 2.0 * (0.5 * angle).sin() };
        (chord + 1e-15).powi(2)
    }

    fn least(self, squared_distance: f64) -> f64 {
        // The chord is never longer than the arc; the high parts alone may be a few units in the last place off.
        (squared_distance.sqrt() - 1e-15).max(0.0).powi(2) * self.scale
    }
}

/// [`Sphere`] for a kernel that vanishes within a few degrees and may have a small relative error: without low parts, and with
/// a short series of the arc. A pair takes two thirds of the operations.
#[derive(Clone, Copy)]
pub(crate) struct ShortArcs {
    scale: f64,
}

impl ShortArcs {
    /// arcsin²(√m) / m as far as it goes, and a little more than the next term: the terms after it are smaller, each by m at least.
    const SERIES: [f64; 4] = [1.0, 1.0 / 3.0, 8.0 / 45.0, 4.0 / 35.0];
    const NEXT: f64 = 0.09;
    /// Error of the difference of two high parts: half a unit in the last place for each, on three axes.
    const PLACE: f64 = 2e-16;

    /// This arithmetic, if its kernels have at most this relative error.
    fn within(scale: f64, off: f64) -> Option<Self> {
        let arcs = Self { scale };
        (Self::largest_haversine(scale) < 0.1 && arcs.off() <= off).then_some(arcs)
    }

    /// The haversine beyond which kernels vanish.
    fn largest_haversine(scale: f64) -> f64 {
        0.25 * VANISHED / scale
    }
}

impl Decay<3> for ShortArcs {
    #[inline(always)]
    fn lanes<S: Simd, const L: usize>(self, many: &[[f64; L]; 3], one: &[f64; 3]) -> [f64; L] {
        let mut decay = [0.0; L];
        for l in 0..L {
            let mut square = 0.0;
            for k in 0..3 {
                let difference = many[k][l] - one[k];
                square = fma::<S>(difference, difference, square);
            }
            decay[l] = self.scale * (square * horner::<S, 4>(&Self::SERIES, 0.25 * square));
        }
        decay
    }

    fn squared_reach(self, decay: f64) -> f64 {
        Sphere { scale: self.scale }.squared_reach(decay)
    }

    fn least(self, squared_distance: f64) -> f64 {
        Sphere { scale: self.scale }.least(squared_distance)
    }

    fn off(self) -> f64 {
        let place = 2.0 * (VANISHED * self.scale).sqrt() * Self::PLACE + self.scale * Self::PLACE.powi(2);
        let series = VANISHED * Self::NEXT * Self::largest_haversine(self.scale).powi(4);
        std::f64::consts::LN_2 * (place + series)
    }
}

/// Work that needs to know the metric at compile time.
pub(crate) trait WithDecay {
    type Output;

    fn run<D: Decay<A>, const A: usize, const K: usize>(self, decay: D) -> Self::Output;
}

/// Runs the work with the metric's own arithmetic; `K` is the number of [`Metric::dimensions`].
pub(crate) fn with_decay<W: WithDecay>(metric: Metric, scale: f64, work: W) -> W::Output {
    match metric {
        Metric::Plane(1) => work.run::<_, 1, 1>(Plane::<1> { scale }),
        Metric::Plane(2) => work.run::<_, 2, 2>(Plane::<2> { scale }),
        Metric::Plane(_) => work.run::<_, 3, 3>(Plane::<3> { scale }),
        Metric::Sphere => work.run::<_, 6, 3>(Sphere { scale }),
    }
}

/// The same with cheaper arithmetic, if there is one within this relative error. The error holds only for kernels that have not vanished.
pub(crate) fn with_decay_within<W: WithDecay>(metric: Metric, scale: f64, off: f64, work: W) -> W::Output {
    match ShortArcs::within(scale, off) {
        Some(arcs) if metric == Metric::Sphere => work.run::<_, 3, 3>(arcs),
        _ => with_decay(metric, scale, work),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::arch;
    use crate::space::{EARTH_RADIUS, Metres, great_circle, unit_vector};

    struct Evaluate<'a>(&'a [f64]);

    impl pulp::WithSimd for Evaluate<'_> {
        type Output = Vec<f64>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> Vec<f64> {
            self.0.iter().map(|&x| exp2_minus::<S>(x)).collect()
        }
    }

    #[test]
    fn exp2_is_right_to_the_last_digits() {
        let xs: Vec<f64> = (0..100_000).map(|i| f64::from(i) * 0.010_1).collect();
        for (&x, &value) in xs.iter().zip(&arch().dispatch(Evaluate(&xs))) {
            let expected = (-x).exp2();
            assert!((value / expected - 1.0).abs() < 5e-16, "2^-{x}: {value} against {expected}");
        }
    }

    #[test]
    fn exp2_at_the_ends() {
        let ends = arch().dispatch(Evaluate(&[0.0, VANISHED - 1.0, VANISHED, 1e9, f64::INFINITY, f64::NAN]));
        assert_eq!(ends, [1.0, (1.0 - VANISHED).exp2(), 0.0, 0.0, 0.0, 0.0]);
    }

    struct OnSphere([f64; 6], [f64; 6]);

    impl pulp::WithSimd for OnSphere {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> f64 {
            Sphere { scale: 1.0 }.lanes::<S, LANES>(&self.0.map(|part| [part; LANES]), &self.1)[0]
        }
    }

    /// Decays from a place to others, each in a lane of its own; spare lanes hold the last.
    struct Together<'a>(&'a [[f64; 6]], [f64; 6]);

    impl pulp::WithSimd for Together<'_> {
        type Output = [f64; LANES];

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> [f64; LANES] {
            let place = |lane: usize| self.0[lane.min(self.0.len() - 1)];
            let many = std::array::from_fn(|k| std::array::from_fn(|lane| place(lane)[k]));
            Sphere { scale: 1.0 }.lanes::<S, LANES>(&many, &self.1)
        }
    }

    #[test]
    fn a_pair_has_one_decay_whatever_the_other_lanes_hold() {
        let here = unit_vector(41.65, -83.6);
        for step in 1..200 {
            let there = unit_vector(41.65 - 0.1 * f64::from(step), -83.6 + 0.07 * f64::from(step));
            let alone = arch().dispatch(Together(&[there], here))[0];
            for other in [[f64::NAN; 6], unit_vector(-41.65, 96.4), unit_vector(10.0, 0.0)] {
                assert_eq!(arch().dispatch(Together(&[there, other], here))[0], alone, "{step}");
            }
        }
    }

    #[test]
    fn arcs_agree_with_geo_near_far_and_at_the_antipode() {
        let places = [
            (0.0, 0.0),
            (0.0, 179.99),
            (41.65, -83.6),
            (41.66, -83.6),
            (-41.65, 96.4),
            (89.999, 10.0),
            (-90.0, 0.0),
            (12.0, 190.0),
        ];
        for from in places {
            for to in places {
                let squared = arch().dispatch(OnSphere(unit_vector(from.0, from.1), unit_vector(to.0, to.1)));
                let Metres(expected) = great_circle(from, to);
                // geo's haversine itself loses digits towards the antipode.
                let tolerance = if expected > 2e7 { 1e-8 } else { 1e-12 };
                assert!(
                    (squared.sqrt() * EARTH_RADIUS - expected).abs() <= tolerance * expected + 1e-8,
                    "{from:?} {to:?}"
                );
            }
        }
    }
}
