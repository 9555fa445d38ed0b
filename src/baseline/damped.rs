//! The matrix `I − a D^−½ K D^−½` for several a below 1: symmetric, and positive definite since no eigenvalue of the product
//! exceeds 1. The diagonal of K may be left out.

use super::krylov::System;
use crate::influence::{Kernel, KernelSums};
use crate::scene::Own;

pub(super) struct Damped<'a> {
    pub(super) kernel: &'a Kernel,
    /// Whether K includes its diagonal.
    pub(super) own: Own,
    /// D^½ of each row; infinite for a row that is left out of the product.
    pub(super) roots: &'a [f64],
    /// The factor a of each column.
    pub(super) damping: Vec<f64>,
}

impl System for Damped<'_> {
    fn apply(&self, columns: &[usize], vectors: &[&[f64]]) -> Vec<Vec<f64>> {
        let scaled: Vec<Vec<f64>> = vectors.iter().map(|vector| self.scaled(vector)).collect();
        let sums = self.kernel.sums(&scaled.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let each = vectors.iter().zip(&scaled).enumerate();
        each.map(|(k, (vector, scaled))| self.product(vector, scaled, &sums, k, self.damping[columns[k]])).collect()
    }
}

impl Damped<'_> {
    fn scaled(&self, vector: &[f64]) -> Vec<f64> {
        vector.iter().zip(self.roots).map(|(value, root)| value / root).collect()
    }

    /// The product of column k, from the kernel sums of the scaled vectors.
    fn product(&self, vector: &[f64], scaled: &[f64], sums: &KernelSums, k: usize, damping: f64) -> Vec<f64> {
        let rows = vector.iter().zip(scaled).enumerate();
        rows.map(|(row, (value, scaled))| {
            let own = if self.own == Own::LeftOut { *scaled } else { 0.0 };
            value - damping * (sums.value_at(k, row) - own) / self.roots[row]
        })
        .collect()
    }
}
