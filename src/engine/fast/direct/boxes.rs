//! Boxes around sources, eight at a time, and bounds of what they contribute to a place, by cheap powers of two and logarithms.

use crate::engine::bounds::Bounds;
use crate::kernel::Decay;

/// Boxes that are evaluated together: two registers of four numbers, or one of eight. Chosen, not measured.
pub(crate) const BOXES: usize = 8;

/// Some boxes, axis by axis; spare ones are empty and infinitely far.
#[derive(Clone)]
pub(crate) struct Boxes {
    low: [[f64; BOXES]; 3],
    high: [[f64; BOXES]; 3],
    /// Logarithm to base 2 of the weight in each box.
    pub(crate) log_mass: [f64; BOXES],
}

/// What a sum may leave out.
#[derive(Clone, Copy)]
pub(crate) struct Omission {
    /// Boxes that contribute at most two to this power.
    pub(crate) little: f64,
    /// Boxes at this decay or beyond.
    pub(crate) farthest: f64,
}

impl Boxes {
    pub(crate) const EMPTY: Self = Self {
        low: [[f64::INFINITY; BOXES]; 3],
        high: [[f64::NEG_INFINITY; BOXES]; 3],
        log_mass: [f64::NEG_INFINITY; BOXES],
    };

    pub(crate) fn new(boxes: impl Iterator<Item = (Bounds, f64)>) -> Self {
        let mut all = Self::EMPTY;
        for (at, (bounds, log_mass)) in boxes.enumerate() {
            for k in 0..3 {
                (all.low[k][at], all.high[k][at]) = (bounds.low[k], bounds.high[k]);
            }
            all.log_mass[at] = log_mass;
        }
        all
    }

    /// Copies one box of others.
    #[inline(always)]
    pub(crate) fn copy(&mut self, at: usize, others: &Self, other: usize) {
        for k in 0..3 {
            (self.low[k][at], self.high[k][at]) = (others.low[k][other], others.high[k][other]);
        }
        self.log_mass[at] = others.log_mass[other];
    }

    /// The box around all.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds {
            low: self.low.map(|low| low.into_iter().fold(f64::INFINITY, f64::min)),
            high: self.high.map(|high| high.into_iter().fold(f64::NEG_INFINITY, f64::max)),
        }
    }

    /// The least decay from somewhere in `from` to each box.
    #[inline(always)]
    pub(crate) fn decays<D: Decay<A>, const A: usize>(&self, decay: D, from: &Bounds) -> [f64; BOXES] {
        let mut square = [0.0; BOXES];
        for k in 0..A.min(3) {
            for (at, square) in square.iter_mut().enumerate() {
                let gap = (self.low[k][at] - from.high[k]).max(from.low[k] - self.high[k][at]).max(0.0);
                *square += gap * gap;
            }
        }
        square.map(|square| decay.least(square))
    }

    /// Logarithms of what boxes at these decays contribute at most; −∞ for those that are left out because they are far.
    #[inline(always)]
    pub(crate) fn carries(&self, decays: &[f64; BOXES], omission: Omission) -> [f64; BOXES] {
        let mut carries = [0.0; BOXES];
        for at in 0..BOXES {
            let near = self.log_mass[at] - decays[at];
            carries[at] = if decays[at] < omission.farthest { near } else { f64::NEG_INFINITY };
        }
        carries
    }
}

/// Adds what boxes contribute that are left out because it is little.
#[inline(always)]
pub(crate) fn leave_out(carries: &[f64; BOXES], little: f64, carried: &mut [f64; BOXES]) {
    for at in 0..BOXES {
        // Selected before the power is taken: in the other order the compiler emits branches.
        carried[at] += power_of_two_above(if carries[at] <= little { carries[at] } else { SMALLEST });
    }
}

/// A whole number that is at most `log₂ x` for a normal x > 0, and less than one below; cheaper than `log2`.
#[inline(always)]
pub(crate) fn log2_below(x: f64) -> f64 {
    ((x.to_bits() >> 52) as i64 - 1023) as f64
}

/// A power of two that is at least `2^(x + 1/4)`, and at most `2^(x + 5/4)` or the smallest; cheaper than `exp2` and
/// never too small.
#[inline(always)]
pub(crate) fn power_of_two_above(x: f64) -> f64 {
    /// Adding 1.5·2⁵² leaves the nearest whole number in the low bits; 1023 is the exponent of one.
    const TO_EXPONENT: f64 = 6_755_399_441_055_744.0 + 1023.0;
    let x = if x > SMALLEST { x } else { SMALLEST };
    f64::from_bits(((x + 0.75) + TO_EXPONENT).to_bits() << 52)
}

/// The least exponent of [`power_of_two_above`], one above that of normal numbers: smaller ones give the same power.
pub(crate) const SMALLEST: f64 = -1021.0;

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
            let slack = power.log2() - x;
            assert!(slack >= 0.25 && (slack <= 1.25 || x < -1020.0), "{x}: {power}");
        }
    }
}
