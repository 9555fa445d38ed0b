//! Pieces of the sums, each written by one task.

use super::direct::log2_below;
use crate::engine::plan::Sums;

/// What the sums leave of the tolerance for the rounding of averages, which joins their bound afterwards: two roundings for each of
/// shift, division, product and sum.
const LEFT_FOR_ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Where the sums of consecutive targets are.
pub(super) struct Slot<'a> {
    pub(super) columns: Vec<&'a mut [f64]>,
    pub(super) error: &'a mut [f64],
    /// Mass besides the sums: that of the own prediction.
    beside: f64,
    /// Mass below which sums may have lost something.
    too_small: f64,
}

impl Slot<'_> {
    /// Logarithm of a lower bound of D, from the sums so far.
    fn least(&self, at: usize) -> f64 {
        let least = (self.columns[0][at] - self.error[at]).max(0.0) + self.beside;
        if least > self.too_small { log2_below(least) } else { f64::NEG_INFINITY }
    }

    /// The same for targets by their number, the slot beginning at `start`.
    pub(super) fn from(&self, start: usize) -> impl Fn(u32) -> f64 {
        move |place| self.least(place as usize - start)
    }

    /// Whether these sums, with their error last, would keep the tolerance.
    pub(super) fn suffices(&self, at: usize, found: &[f64], tolerance: f64) -> bool {
        let mass = self.columns[0][at] + found[0] + self.beside;
        mass > self.too_small && self.error[at] + found[found.len() - 1] <= (tolerance - LEFT_FOR_ROUNDING) * mass
    }

    /// Adds sums and their error, which comes last.
    pub(super) fn add(&mut self, at: usize, found: &[f64]) {
        for (column, sum) in self.columns.iter_mut().zip(found) {
            column[at] += sum;
        }
        self.error[at] += found[found.len() - 1];
    }
}

impl Sums {
    /// Cuts the sums into consecutive pieces of these lengths.
    pub(super) fn slots(&mut self, lengths: impl Iterator<Item = usize>, beside: f64, too_small: f64) -> Vec<Slot<'_>> {
        let mut columns: Vec<&mut [f64]> =
            std::iter::once(&mut self.mass).chain(&mut self.values).map(Vec::as_mut_slice).collect();
        let mut error = self.error.as_mut_slice();
        lengths
            .map(|length| Slot {
                columns: columns.iter_mut().map(|column| column.split_off_mut(..length).unwrap_or_default()).collect(),
                error: error.split_off_mut(..length).unwrap_or_default(),
                beside,
                too_small,
            })
            .collect()
    }
}
