//! Pieces of the sums, each written by one task.

use std::ops::Range;

use super::direct::log2_below;
use crate::engine::plan::Sums;

/// What the sums leave of the tolerance for the rounding of averages, which joins their bound afterwards: two roundings for each of
/// shift, division, product and sum.
const LEFT_FOR_ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Where the sums of consecutive targets are.
pub(super) struct Slot<'a> {
    pub(super) targets: Range<usize>,
    pub(super) columns: Vec<&'a mut [f64]>,
    pub(super) error: &'a mut [f64],
    /// Mass besides the sums: that of the own prediction.
    beside: f64,
    /// Mass below which sums may have lost something.
    too_small: f64,
}

impl Slot<'_> {
    /// Logarithm of a lower bound of the D of a target, from the sums so far.
    pub(super) fn least(&self, target: u32) -> f64 {
        let at = self.position(target);
        let least = (self.columns[0][at] - self.error[at]).max(0.0) + self.beside;
        if least > self.too_small { log2_below(least) } else { f64::NEG_INFINITY }
    }

    /// Whether these sums of a target, with their error last, would keep the tolerance.
    pub(super) fn suffices(&self, target: u32, found: &[f64], tolerance: f64) -> bool {
        let at = self.position(target);
        let mass = self.columns[0][at] + found[0] + self.beside;
        mass > self.too_small && self.error[at] + found[found.len() - 1] <= (tolerance - LEFT_FOR_ROUNDING) * mass
    }

    /// Adds sums of a target and their error, which comes last.
    pub(super) fn add(&mut self, target: u32, found: &[f64]) {
        let at = self.position(target);
        for (column, sum) in self.columns.iter_mut().zip(found) {
            column[at] += sum;
        }
        self.error[at] += found[found.len() - 1];
    }

    fn position(&self, target: u32) -> usize {
        target as usize - self.targets.start
    }
}

impl Sums {
    /// The slots of adjacent ranges of targets.
    pub(super) fn slots(
        &mut self,
        targets: impl Iterator<Item = Range<usize>>,
        beside: f64,
        too_small: f64,
    ) -> Vec<Slot<'_>> {
        let columns = std::iter::once(&mut self.mass).chain(&mut self.values).chain([&mut self.error]);
        let mut rest: Vec<&mut [f64]> = columns.map(Vec::as_mut_slice).collect();
        let (mut slots, mut taken) = (Vec::new(), 0);
        for targets in targets {
            split_off(&mut rest, targets.start - taken);
            taken = targets.end;
            let mut columns = split_off(&mut rest, targets.len());
            let error = columns.pop().unwrap_or_default();
            slots.push(Slot { targets, columns, error, beside, too_small });
        }
        slots
    }
}

/// Splits off the first numbers of each column.
fn split_off<'a>(columns: &mut [&'a mut [f64]], count: usize) -> Vec<&'a mut [f64]> {
    columns.iter_mut().map(|column| column.split_off_mut(..count).unwrap_or_default()).collect()
}
