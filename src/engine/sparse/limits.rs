//! Where the kernel is cut, and how far one target then looks for sources.

use crate::engine::matrix::CHUNK;
use crate::engine::rounding::rounding_error;

/// Where the kernel is cut.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Truncation {
    /// Such that no row is wrong by more than this, relative to the range of the values.
    Tolerance(f64),
    /// At this many σ; the certificate reports the error.
    Cutoff(f64),
}

/// How far one target looks, in units of decay.
pub(super) struct Limits {
    pub(super) nearest: f64,
    pub(super) farthest: f64,
    /// Most that is subtracted from every decay so that far rows do not underflow; a whole number.
    pub(super) shift: f64,
    /// Bound of the rounding error of the sums, as a factor of D.
    pub(super) rounding: f64,
}

impl Limits {
    /// Bound of the rounding error of a sum with this weight per mass, apart from a power of two. The tree has high parts of coordinates
    /// only, so that a far row may have much nearer sources than it found; the sum itself shows it.
    pub(super) fn rounding_of(&self, weight_per_mass: f64, shift: f64) -> f64 {
        if self.shift == 0.0 {
            return self.rounding;
        }
        self.rounding.min(rounding_error(CHUNK, weight_per_mass.log2() + shift))
    }

    /// For a target whose group has no source, or only the one that is left out: nothing is missed at any distance.
    pub(super) const NOTHING: Self = Self { nearest: 0.0, farthest: f64::INFINITY, shift: 0.0, rounding: 0.0 };
}
