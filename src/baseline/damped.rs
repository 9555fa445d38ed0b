//! `I − a D^−½ K D^−½` for several a below 1: symmetric, and positive since no eigenvalue of the product exceeds 1. K may be
//! without its diagonal.

use super::krylov::System;
use crate::influence::Kernel;
use crate::scene::Own;

pub(super) struct Damped<'a> {
    pub(super) kernel: &'a Kernel,
    /// Whether K has its diagonal.
    pub(super) own: Own,
    /// D^½ of each row; infinite for a row that takes no part in the product.
    pub(super) roots: &'a [f64],
    /// a of each column.
    pub(super) damping: Vec<f64>,
}

impl System for Damped<'_> {
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let scaled = |vector: &&[f64]| vector.iter().zip(self.roots).map(|(value, root)| value / root).collect();
        let scaled: Vec<Vec<f64>> = vectors.iter().map(scaled).collect();
        let sums = self.kernel.sums(&scaled.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let product = |(k, vector): (usize, &&[f64])| {
            let damping = self.damping[columns[k]];
            let own = |row: usize| if self.own == Own::LeftOut { scaled[k][row] } else { 0.0 };
            let at = |(row, value)| value - damping * (sums.value_at(k, row) - own(row)) / self.roots[row];
            vector.iter().enumerate().map(at).collect()
        };
        vectors.iter().enumerate().map(product).collect()
    }
}
