//! A smooth Gaussian process on a line, and the best linear smoother of its noisy values.
//!
//! Its kernel matrix has a low numerical rank: `K = L Lᵀ` with some twenty columns, to machine precision. Drawing from it and
//! inverting `K + s I` therefore take n · 20 numbers instead of n².

use faer::linalg::solvers::{Llt, Solve};
use faer::{Col, Mat, Side};

use crate::chance::Chance;

/// The process at some places.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// L, one row for each place.
    factor: Mat<f64>,
}

/// The factorisation stops when the largest remaining variance is below this, relative to 1.
const NEGLIGIBLE: f64 = 1e-12;

impl Process {
    /// The process with kernel `exp(−d² / 2w²)`, by pivoted Cholesky factorisation.
    pub(super) fn new(places: &[f64], width: f64) -> Self {
        let rows = places.len();
        let (mut columns, mut left): (Vec<Vec<f64>>, Vec<f64>) = (Vec::new(), vec![1.0; rows]);
        while let Some(pivot) = (0..rows).max_by(|&a, &b| left[a].total_cmp(&left[b])) {
            if left[pivot] < NEGLIGIBLE || columns.len() == rows {
                break;
            }
            let root = left[pivot].sqrt();
            let column = (0..rows).map(|row| {
                let kernel = (-0.5 * ((places[row] - places[pivot]) / width).powi(2)).exp();
                let known = columns.iter().map(|column| column[row] * column[pivot]).sum::<f64>();
                (kernel - known) / root
            });
            let column: Vec<f64> = column.collect();
            left.iter_mut().zip(&column).for_each(|(left, value)| *left = (*left - value * value).max(0.0));
            left[pivot] = 0.0;
            columns.push(column);
        }
        Self { factor: Mat::from_fn(rows, columns.len(), |row, column| columns[column][row]) }
    }

    /// One draw at all places.
    pub(super) fn draw(&self, chance: &mut Chance) -> Vec<f64> {
        let normals: Vec<f64> = (0..self.factor.ncols()).map(|_| chance.normal()).collect();
        (&self.factor * Col::from_fn(normals.len(), |at| normals[at])).iter().copied().collect()
    }

    /// The same process at some of the places.
    pub(super) fn at(&self, rows: &[usize]) -> Self {
        Self { factor: Mat::from_fn(rows.len(), self.factor.ncols(), |row, column| self.factor[(rows[row], column)]) }
    }

    /// `H = K (K + s I)⁻¹ = L (LᵀL + s I)⁻¹ Lᵀ`: the best linear estimate of the process from its values with noise of variance s.
    pub(super) fn optimal_smoother(&self, noise: f64) -> OptimalSmoother<'_> {
        let gram = self.factor.transpose() * &self.factor;
        let rank = gram.nrows();
        let ridged = Mat::from_fn(rank, rank, |a, b| gram[(a, b)] + if a == b { noise } else { 0.0 });
        // Positive definite because of the noise. If the factorisation fails by rounding, values are not smoothed.
        let solver = ridged.llt(Side::Lower).ok();
        OptimalSmoother { factor: &self.factor, gram, solver }
    }
}

/// The matrix H.
pub(super) struct OptimalSmoother<'a> {
    factor: &'a Mat<f64>,
    gram: Mat<f64>,
    solver: Option<Llt<f64>>,
}

impl OptimalSmoother<'_> {
    /// The product H v.
    pub(super) fn apply(&self, values: &[f64]) -> Vec<f64> {
        let Some(solver) = &self.solver else { return values.to_vec() };
        let inner = self.factor.transpose() * Col::from_fn(values.len(), |row| values[row]);
        (self.factor * solver.solve(&inner)).iter().copied().collect()
    }

    /// `tr H / n`.
    pub(super) fn mean_diagonal(&self) -> f64 {
        self.trace(1)
    }

    /// `‖H‖² / n`, that is `tr H² / n`.
    pub(super) fn mean_square(&self) -> f64 {
        self.trace(2)
    }

    /// The trace of a power of H, divided by n: it is that of the same power of `(LᵀL + s I)⁻¹ LᵀL`.
    fn trace(&self, power: usize) -> f64 {
        let Some(solver) = &self.solver else { return 1.0 };
        let inner = solver.solve(&self.gram);
        let product = if power == 2 { &inner * &inner } else { inner };
        (0..product.nrows()).map(|at| product[(at, at)]).sum::<f64>() / self.factor.nrows() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_and_smoother_agree_with_dense_matrices() {
        let places: Vec<f64> = (0..40).map(|at| f64::from(at) / 40.0).collect();
        let process = Process::new(&places, 0.2);
        let kernel = Mat::from_fn(40, 40, |a, b| (-0.5 * ((places[a] - places[b]) / 0.2).powi(2)).exp());
        assert!((&process.factor * process.factor.transpose() - &kernel).norm_max() < 1e-11);
        let noisy = Mat::from_fn(40, 40, |a, b| kernel[(a, b)] + if a == b { 0.3 } else { 0.0 });
        let dense = noisy.llt(Side::Lower).unwrap().solve(&kernel);
        let smoother = process.optimal_smoother(0.3);
        let values: Vec<f64> = places.iter().map(|t| (7.0 * t).sin()).collect();
        // K and (K + s I)⁻¹ commute.
        let expected = &dense * Col::from_fn(40, |row| values[row]);
        for (row, value) in smoother.apply(&values).into_iter().enumerate() {
            assert!((value - expected[row]).abs() < 1e-10);
        }
        let trace = (0..40).map(|at| dense[(at, at)]).sum::<f64>() / 40.0;
        assert!((smoother.mean_diagonal() - trace).abs() < 1e-10);
        assert!((smoother.mean_square() - dense.squared_norm_l2() / 40.0).abs() < 1e-10);
    }
}
