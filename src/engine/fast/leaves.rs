//! The inner loop of direct sums: one target against leaves of sixteen sources.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::super::bounds::Bounds;
use super::super::matrix::sum;
use crate::kernel::{Decay, LANES, Lanes, exp2_minus};
use crate::scene::Cloud;

/// A few neighbouring sources: as many as there are lanes, or fewer.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) bounds: Bounds,
    /// Logarithm to base 2 of their total weight.
    pub(super) log_mass: f64,
    pub(super) places: Range<u32>,
}

/// Leaves whose sums are added plainly before a total takes them, so that roundings do not pile up.
const BATCH: usize = 64;

/// One target and how its sums are to be taken.
pub(super) struct Target<'a, const A: usize> {
    pub(super) place: &'a [f64; A],
    /// A source that does not count.
    pub(super) left_out: u32,
    /// Leaves that carry at most two to this power are left out.
    pub(super) little: f64,
    /// Subtracted from every decay; a whole number.
    pub(super) shift: f64,
}

/// Sums over leaves and the memory that they need.
pub(super) struct LeafSums {
    partial: Vec<Lanes>,
    total: Vec<Lanes>,
    /// `Σ K x` for each column.
    pub(super) sums: Vec<f64>,
    /// A bound on the weight times kernel of what was left out.
    pub(super) left_out: f64,
    /// Additions in the longest chain.
    pub(super) terms: usize,
}

impl LeafSums {
    pub(super) fn new(columns: usize) -> Self {
        let lanes = || vec![[0.0; LANES]; columns];
        Self { partial: lanes(), total: lanes(), sums: vec![0.0; columns], left_out: 0.0, terms: 0 }
    }

    pub(super) fn add_up<D: Decay<A>, const A: usize>(
        &mut self,
        decay: D,
        sources: &Cloud,
        columns: &[&[f64]],
        leaves: &[Leaf],
        target: &Target<A>,
    ) {
        Arch::new().dispatch(Pass { decay, sources, columns, leaves, target, out: self });
    }

    fn flush(&mut self) {
        for (total, partial) in self.total.iter_mut().zip(&mut self.partial) {
            for lane in 0..LANES {
                total[lane] += partial[lane];
            }
            *partial = [0.0; LANES];
        }
    }
}

struct Pass<'a, D, const A: usize> {
    decay: D,
    sources: &'a Cloud,
    columns: &'a [&'a [f64]],
    leaves: &'a [Leaf],
    target: &'a Target<'a, A>,
    out: &'a mut LeafSums,
}

impl<D: Decay<A>, const A: usize> WithSimd for Pass<'_, D, A> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { decay, sources, columns, leaves, target, out } = self;
        let from = Bounds::at(target.place);
        out.total.fill([0.0; LANES]);
        out.partial.fill([0.0; LANES]);
        out.left_out = 0.0;
        let mut taken = 0;
        for leaf in leaves {
            let carries = leaf.log_mass - decay.least(from.squared_distance(&leaf.bounds));
            if carries <= target.little {
                out.left_out += power_of_two_above(carries);
                continue;
            }
            let many = std::array::from_fn(|k| lanes(&sources.axes[k], &leaf.places, f64::NAN));
            let decays = decay.lanes::<S>(&many, target.place);
            let mut kernel = [0.0; LANES];
            for lane in 0..LANES {
                kernel[lane] = exp2_minus::<S>(decays[lane] - target.shift);
            }
            if leaf.places.contains(&target.left_out) {
                kernel[(target.left_out - leaf.places.start) as usize] = 0.0;
            }
            for (column, partial) in columns.iter().zip(&mut out.partial) {
                let x = lanes(column, &leaf.places, 0.0);
                for lane in 0..LANES {
                    partial[lane] = if S::IS_SCALAR {
                        kernel[lane] * x[lane] + partial[lane]
                    } else {
                        kernel[lane].mul_add(x[lane], partial[lane])
                    };
                }
            }
            taken += 1;
            if taken % BATCH == 0 {
                out.flush();
            }
        }
        out.flush();
        out.terms = BATCH + taken / BATCH + LANES;
        for (sum_of, total) in out.sums.iter_mut().zip(&out.total) {
            *sum_of = sum(total);
        }
    }
}

/// The numbers of a leaf; spare lanes hold `spare`.
#[inline(always)]
fn lanes(all: &[f64], places: &Range<u32>, spare: f64) -> Lanes {
    let (start, end) = (places.start as usize, places.end as usize);
    if let Some(whole) = all[start..end].first_chunk() {
        return *whole;
    }
    let mut lanes = [spare; LANES];
    lanes[..end - start].copy_from_slice(&all[start..end]);
    lanes
}

/// A whole number that is at most `log₂ x` for a normal x > 0, and less than one below; cheaper than `log2`.
#[inline(always)]
pub(super) fn log2_below(x: f64) -> f64 {
    ((x.to_bits() >> 52) as i64 - 1023) as f64
}

/// A power of two that is larger than `2^x`, by a factor of two at most; cheaper than `exp2` and never too small.
#[inline(always)]
pub(super) fn power_of_two_above(x: f64) -> f64 {
    // The sum is positive, so that cutting off its fraction rounds down.
    f64::from_bits(((x.clamp(-1022.0, 1022.0) + 1024.0) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_logarithms_are_never_too_large() {
        for x in [1e-300, 0.3, 0.5, 1.0, 1.5, 2.0, 1e200_f64] {
            assert!((x.log2() - 1.0..=x.log2()).contains(&log2_below(x)), "{x}");
        }
    }

    #[test]
    fn powers_of_two_are_never_too_small() {
        for x in [-1e9, -1022.0, -1021.5, -3.0, -0.25, 0.0, 0.75, 10.0] {
            let power = power_of_two_above(x);
            assert!(power >= x.exp2() && (power <= 2.0 * x.exp2() || x < -1020.0), "{x}: {power}");
        }
    }
}
