//! Bounds of rounding errors in sums, and sums with small ones.

use crate::kernel::{DECAY_ROUNDINGS, KERNEL_ROUNDINGS};

/// Sums below 2^−900 of all weight are computed again relative to the nearest source. Kernels underflow at 2^−1020; the factor of 2^120
/// between the two covers sources of any weight, so that a sum that is kept lost no contribution to underflow.
const TOO_SMALL: f64 = 1.183e-271;

/// The limit for sums over sources of this total weight.
pub(super) fn too_small(weight: f64) -> f64 {
    TOO_SMALL * weight.max(1.0)
}

/// The relative error that rounding alone can cause in sums of `terms` terms at a time, as a factor of D.
///
/// A kernel value is wrong by a few roundings, and by its decay x times the relative error of the decay.
/// `K·log₂(1/K)` is concave, so over all sources `Σ w K x ≤ D log₂(W/D)` (Jensen), W being their total weight; `spread` is
/// that logarithm or an upper bound of it.
pub(super) fn rounding_error(terms: usize, spread: f64) -> f64 {
    // Two more for the compensated total and the final product.
    (terms as f64 + 2.0 + KERNEL_ROUNDINGS + DECAY_ROUNDINGS * spread.max(0.0)) * (0.5 * f64::EPSILON)
}

/// A plain sum in eight lanes, so that additions do not wait for each other.
pub(super) fn sum(terms: &[f64]) -> f64 {
    let (whole, rest) = terms.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for terms in whole {
        for (lane, term) in lanes.iter_mut().zip(terms) {
            *lane += term;
        }
    }
    lanes.iter().chain(rest).sum()
}
