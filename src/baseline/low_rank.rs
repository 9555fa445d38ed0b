//! A low-rank approximation K ≈ L Lᵀ by pivoted Cholesky factorisation, the preconditioner of conjugate gradients for Gaussian
//! processes. For a wide kernel few columns are enough, since its eigenvalues decay quickly.

use faer::linalg::solvers::{Llt, Solve};
use faer::{Mat, Side};
use rayon::prelude::*;

use super::krylov::{add, dot};
use crate::influence::Influence;

/// The most columns: 40 MB for 10,000 rows, where computing them takes a tenth of the work of a pass over all pairs.
const RANK: usize = 512;
/// After [`GLANCE`] columns, more are computed only if these explain at least [`CAUGHT`] of the trace. Chosen, not measured.
const GLANCE: usize = 64;
const CAUGHT: f64 = 0.5;
/// Rows that one task works on: 32 KiB of each column, so that the updated piece stays in the cache.
const PIECE: usize = 1 << 12;

pub(super) struct LowRank {
    columns: Vec<Vec<f64>>,
    /// `Lᵀ L`.
    gram: Mat<f64>,
    /// The largest diagonal element of K − L Lᵀ.
    pub(super) rest: f64,
}

impl LowRank {
    /// Adds columns until no diagonal element of K − L Lᵀ is above `enough`, or there are [`RANK`] columns or as many as fit in
    /// memory.
    pub(super) fn new(kernel: &Influence, rows: usize, enough: f64, memory: u64) -> Self {
        // L is copied once to compute LᵀL.
        let most = (memory / (16 * rows.max(1) as u64)).clamp(1, RANK as u64) as usize;
        let mut diagonal = vec![1.0; rows];
        let mut low_rank = Self { columns: Vec::new(), gram: Mat::new(), rest: 1.0 };
        loop {
            let larger =
                |best: (usize, f64), (at, &value): (usize, &f64)| if value > best.1 { (at, value) } else { best };
            let (pivot, largest) = diagonal.iter().enumerate().fold((0, 0.0), larger);
            low_rank.rest = largest;
            let rank = low_rank.columns.len();
            let hopeless = rank == GLANCE && diagonal.iter().sum::<f64>() > (1.0 - CAUGHT) * rows as f64;
            if largest <= enough || rank >= most || hopeless {
                let all = Mat::from_fn(rows, rank, |row, k| low_rank.columns[k][row]);
                low_rank.gram = all.transpose() * &all;
                return low_rank;
            }
            let column = low_rank.next_column(kernel.kernel_of_row(pivot), pivot, largest);
            for (rest, value) in diagonal.iter_mut().zip(&column) {
                *rest = (*rest - value * value).max(0.0);
            }
            diagonal[pivot] = 0.0;
            low_rank.columns.push(column);
        }
    }

    fn next_column(&self, mut column: Vec<f64>, pivot: usize, largest: f64) -> Vec<f64> {
        let scale = 1.0 / largest.sqrt();
        column.par_chunks_mut(PIECE).enumerate().for_each(|(piece, values)| {
            let here = piece * PIECE..piece * PIECE + values.len();
            for known in &self.columns {
                add(values, -known[pivot], &known[here.clone()]);
            }
            for value in values {
                *value *= scale;
            }
        });
        column
    }

    /// The Cholesky factor of `Lᵀ L + s I`, which the inverse of `L Lᵀ + s I` needs.
    pub(super) fn factor(&self, shift: f64) -> Option<Llt<f64>> {
        let mut small = self.gram.clone();
        (0..self.columns.len()).for_each(|k| small[(k, k)] += shift);
        small.llt(Side::Lower).ok()
    }

    /// The inverse of `L Lᵀ + s I` times a vector, by the Woodbury identity.
    pub(super) fn solve(&self, factor: &Llt<f64>, shift: f64, vector: &[f64]) -> Vec<f64> {
        let along: Vec<f64> = self.columns.par_iter().map(|column| dot(column, vector)).collect();
        let weights = factor.solve(&Mat::from_fn(along.len(), 1, |k, _| along[k]));
        let mut result = vector.to_vec();
        result.par_chunks_mut(PIECE).enumerate().for_each(|(piece, values)| {
            let here = piece * PIECE..piece * PIECE + values.len();
            for (k, column) in self.columns.iter().enumerate() {
                add(values, -weights[(k, 0)], &column[here.clone()]);
            }
            for value in values {
                *value /= shift;
            }
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Places;
    use crate::scene::Own;
    use crate::space::Sigma;

    #[test]
    fn a_wide_kernel_needs_few_columns() {
        let rows = 300;
        let places = Places::index(vec![(0..rows).map(|row| row as f64).collect()]).unwrap();
        let kernel = Influence::new(Sigma::index(60.0).unwrap(), &places, &places, Own::Counts).unwrap();
        let low_rank = LowRank::new(&kernel, rows, 1e-10, u64::MAX);
        assert!(low_rank.columns.len() < 40 && low_rank.rest <= 1e-10, "{}", low_rank.columns.len());

        let (shift, vector) = (0.01, (0..rows).map(|row| (row as f64).cos()).collect::<Vec<f64>>());
        let solution = low_rank.solve(&low_rank.factor(shift).unwrap(), shift, &vector);
        for row in (0..rows).step_by(37) {
            let product = dot(&kernel.kernel_of_row(row), &solution) + shift * solution[row];
            assert!((product - vector[row]).abs() < 1e-6, "{row}: {product}");
        }
    }

    #[test]
    fn a_narrow_kernel_is_given_up_early() {
        let rows = 1000;
        let places = Places::index(vec![(0..rows).map(|row| row as f64).collect()]).unwrap();
        let kernel = Influence::new(Sigma::index(0.1).unwrap(), &places, &places, Own::Counts).unwrap();
        assert_eq!(LowRank::new(&kernel, rows, 1e-10, u64::MAX).columns.len(), GLANCE);
        assert_eq!(LowRank::new(&kernel, rows, 1e-10, 160_000).columns.len(), 10);
    }
}
