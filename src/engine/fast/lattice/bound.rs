//! The bound of sums by a lattice.

use serde::{Deserialize, Serialize};

use super::window::Window;

/// The error of sums by the lattice: relative, as a multiple of √(W D), and absolute as a multiple of W.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Bound {
    pub(crate) relative: f64,
    pub(crate) root: f64,
    pub(crate) absolute: f64,
    /// W: the weight on the lattice.
    pub(crate) weight: f64,
}

impl Bound {
    /// For a lattice of one window, with at most this many sources in one block.
    pub(crate) fn of_window(window: &Window, points: usize, weight: f64) -> Self {
        let roundings = window.roundings() + window.additions(points);
        let relative = window.sampling + roundings * 0.5 * f64::EPSILON;
        Self { relative, root: window.truncation, absolute: 0.0, weight }
    }

    /// For sums that are off by at most `off` for each pair of weight one.
    pub(crate) fn absolute(off: f64, weight: f64) -> Self {
        Self { relative: 0.0, root: 0.0, absolute: off, weight }
    }

    /// A bound on the error mass where the lattice computed this D.
    ///
    /// The true D is at most what was computed plus its error, `D ≤ D̃ + ρD + η√(WD) + aW`: a quadratic in √D.
    pub(crate) fn error(&self, computed: f64) -> f64 {
        let room = 1.0 - self.relative;
        let linear = self.root * self.weight.sqrt();
        let constant = computed.max(0.0) + self.absolute * self.weight;
        let root = (linear + (linear * linear + 4.0 * room * constant).sqrt()) / (2.0 * room);
        self.relative * root * root + linear * root + self.absolute * self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_covers_the_error_that_it_allows() {
        let bound = Bound { relative: 1e-7, root: 1e-9, absolute: 0.0, weight: 1e6 };
        for mass in [0.0, 1e-12, 1e-3, 1.0, 1e5_f64] {
            // The largest error that a true sum can have; the computed sum is the difference.
            let error = 1e-7 * mass + 1e-9 * (1e6 * mass).sqrt();
            assert!(bound.error(mass - error) >= error * (1.0 - 1e-12), "{mass}");
        }
    }
}
