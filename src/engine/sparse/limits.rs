//! How far one target of the sparse matrix looks for sources.

use crate::engine::matrix::CHUNK;
use crate::engine::rounding::rounding_error;

/// How far one target looks, in units of decay.
pub(super) struct Limits {
    pub(super) nearest: f64,
    pub(super) farthest: f64,
    /// What is subtracted from every decay at most so that far rows do not underflow; a whole number.
    pub(super) shift: f64,
    /// What rounding can do to the sums at most, as a factor of D.
    pub(super) rounding: f64,
}

impl Limits {
    /// What rounding can do to a sum of such a part of all weight, but for a power of two. The tree knows high parts only, so
    /// that far rows may have nearer sources than it found, by far: what they sum up to tells.
    pub(super) fn rounding_of(&self, weight_per_mass: f64, shift: f64) -> f64 {
        if self.shift == 0.0 {
            return self.rounding;
        }
        self.rounding.min(rounding_error(CHUNK, weight_per_mass.log2() + shift))
    }

    /// For a target whose group has no source, or none but the one that is left out: however far it looks, nothing is missed.
    pub(super) const NOTHING: Self = Self { nearest: 0.0, farthest: f64::INFINITY, shift: 0.0, rounding: 0.0 };
}
