//! Boxes around sources, eight at a time, and bounds of what they contribute to a place.

use super::powers::{SMALLEST, power_of_two_above};
use crate::engine::bounds::Bounds;
use crate::kernel::Decay;

/// Boxes that are evaluated together: two registers of four numbers, or one of eight.
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
