//! Cholesky factorisation of `K + s I`: sparse if the kernel is narrow, dense otherwise.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{self, factor::LltRegularization};
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::sparse::{SparseColMat, SymbolicSparseColMat};
use faer::{Mat, Par, Side, Spec};
use rayon::prelude::*;

use super::Solution;
use crate::influence::Influence;

/// Kernel values below this count as 0: even 10,000 of them are less than the rounding error of the diagonal. Products of
/// smaller values would become subnormal numbers, on which CPUs are about a hundred times slower.
const NEGLIGIBLE: f64 = 1e-20;
/// A matrix counts as sparse if at most one in this many values is not negligible. Chosen, not measured.
const SPARSE: usize = 16;
/// Rows whose kernel values are counted to find out. Chosen, not measured.
const SAMPLE: usize = 64;

pub(super) struct Direct<'a> {
    kernel: &'a Influence,
    rows: usize,
    sparse: Option<SparseFactor>,
}

/// The lower triangle of K in compressed columns, and its symbolic factorisation, which is the same for every s.
struct SparseFactor {
    pattern: SymbolicSparseColMat<usize>,
    values: Vec<f64>,
    order: SymbolicLlt<usize>,
}

impl<'a> Direct<'a> {
    /// Decides from the kernel values of some rows whether the matrix is sparse.
    pub(super) fn new(kernel: &'a Influence, rows: usize) -> Self {
        let step = rows.div_ceil(SAMPLE).max(1);
        let seen = (0..rows).step_by(step).collect::<Vec<_>>();
        let counts = seen.par_iter().map(|&row| {
            let values = kernel.kernel_of_row(row);
            values.iter().filter(|&&value| value > NEGLIGIBLE).count()
        });
        let counts: usize = counts.sum();
        let is_sparse = counts * SPARSE <= seen.len() * rows;
        Self { kernel, rows, sparse: if is_sparse { SparseFactor::new(kernel, rows) } else { None } }
    }

    pub(super) fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// The solution for one s; `None` if the matrix is not positive definite after rounding.
    pub(super) fn solve(&self, shift: f64, right: &[f64]) -> Solution {
        let right = Mat::from_fn(self.rows, 1, |row, _| right[row]);
        let solution = match &self.sparse {
            Some(sparse) => sparse.factor(shift)?.solve(&right),
            None => self.dense(shift, right)?,
        };
        let values: Vec<f64> = solution.col(0).iter().copied().collect();
        values.iter().all(|value| value.is_finite()).then_some(values)
    }

    /// Factors the dense matrix in place, since it takes most of the memory.
    fn dense(&self, shift: f64, mut right: Mat<f64>) -> Option<Mat<f64>> {
        let mut matrix = Mat::<f64>::zeros(self.rows, self.rows);
        matrix.par_col_iter_mut().enumerate().for_each(|(row, column)| {
            for (entry, value) in column.iter_mut().zip(self.kernel.kernel_of_row(row)) {
                *entry = if value > NEGLIGIBLE { value } else { 0.0 };
            }
        });
        (0..self.rows).for_each(|row| matrix[(row, row)] += shift);
        let parallel = Par::rayon(0);
        let mut memory =
            MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(self.rows, parallel, Spec::default()));
        let (stack, regularization) = (MemStack::new(&mut memory), LltRegularization::default());
        llt::factor::cholesky_in_place(matrix.as_mut(), regularization, parallel, stack, Spec::default()).ok()?;
        llt::solve::solve_in_place(matrix.as_ref(), right.as_mut(), parallel, stack);
        Some(right)
    }
}

/// The values of a column of K from the diagonal down, without negligible ones.
fn lower_column(kernel: &Influence, row: usize) -> Vec<(usize, f64)> {
    let values = kernel.kernel_of_row(row).into_iter().enumerate().skip(row);
    values.filter(|(_, value)| *value > NEGLIGIBLE).collect()
}

impl SparseFactor {
    fn new(kernel: &Influence, rows: usize) -> Option<Self> {
        let columns: Vec<Vec<(usize, f64)>> = (0..rows).into_par_iter().map(|row| lower_column(kernel, row)).collect();
        let mut starts = vec![0];
        for column in &columns {
            starts.push(starts[starts.len() - 1] + column.len());
        }
        let (places, values): (Vec<usize>, Vec<f64>) = columns.into_iter().flatten().unzip();
        let pattern = SymbolicSparseColMat::new_checked(rows, rows, starts, None, places);
        let order = SymbolicLlt::try_new(pattern.as_ref(), Side::Lower).ok()?;
        Some(Self { pattern, values, order })
    }

    fn factor(&self, shift: f64) -> Option<Llt<usize, f64>> {
        let mut values = self.values.clone();
        // The first element of a column is on the diagonal.
        let starts = self.pattern.col_ptr();
        starts[..starts.len() - 1].iter().for_each(|&start| values[start] += shift);
        let matrix = SparseColMat::new(self.pattern.clone(), values);
        Llt::try_new_with_symbolic(self.order.clone(), matrix.as_ref(), Side::Lower).ok()
    }
}
